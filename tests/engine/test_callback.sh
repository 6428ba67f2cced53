# The scheduler callback can be asked for, works on every engine, and says so.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model tiny
for engine in $(engines); do
    set -- -m tiny.gguf --engine "$TT_ENGINES/$engine" -p Hello -n 6 --ignore-eos -t 2
    "$TT_BIN" runner "$@" >plain.txt 2>/dev/null
    "$TT_BIN" run --force -q --mode callback -o c.ttrace "$@" >traced.txt 2>err.txt
    expect "$engine: exit code" 0 $?
    same "$engine: text" plain.txt traced.txt
    verified c.ttrace
    expect "$engine: mode" callback "$(field c.ttrace mode)"
    "$TT_BIN" log c.ttrace --limit 0 | grep -q "cut off\|no end" && fail "$engine: ops without an end"
done

# How long threads waited is unknown to every command, not zero.
rm -rf c.csv
"$TT_BIN" export --format csv -o c.csv c.ttrace 2>/dev/null || fail "export"
"$TT_BIN" report --json c.ttrace >report.json 2>/dev/null || fail "report"
for command in "info --json" "stats --json" "stats --by thread --json" "log --json --limit 5" "diff --json c.ttrace"; do
    "$TT_BIN" $command c.ttrace >waits.json || fail "$command"
    cat waits.json
done | cat - report.json | tr ',{}' '\n\n\n' | grep -E '"(delta_)?wait(_median)?_ns": *' >waits.txt
[ "$(wc -l <waits.txt)" -gt 20 ] || fail "no waits"
grep -v 'null *$' waits.txt && fail "waits that are known"
need_python
python3 - <<'END' || fail "waits in the tables"
import csv
for table in "ops", "lanes":
    rows = list(csv.DictReader(open(f"c.csv/{table}.csv")))
    assert rows and all(row["wait_ns"] == "" and row["busy_ns"] != "" for row in rows), table
END
# What run says at its end, as the other decoder counts it: an op once, however many threads recorded it.
for mode in hook callback; do
    "$TT_BIN" run --force --mode $mode -o said.ttrace -m tiny.gguf -p Hello -n 6 --ignore-eos -t 2 >/dev/null 2>said.txt
    python3 - said.ttrace said.txt <<'END' || fail "$mode: $(cat said.txt)"
import os, sys
sys.path.insert(0, os.environ["TT_SOURCE_DIR"] + "/tests/engine")
import traces
trace = traces.decoded(sys.argv[1])
batches = [record for kind, record in trace["meta"] if kind == "batch"]
ops, tokens = len({(op[1], op[3]) for op in trace["ops"]}), sum(b["n_tokens"] for b in batches)
want = f"said.ttrace (* KiB): {ops} ops, {tokens} tokens in {len(batches)} batches\n"
said = [line for line in open(sys.argv[2]) if ": wrote " in line]
assert len(said) == 1 and ops > 100 and tokens > 5, said
before, after = want.split("*")
assert before.strip() in said[0] and said[0].endswith(after), (said, want)
END
done
"$TT_BIN" info c.ttrace --verbose | grep -q "waits *not observed: the scheduler's callback sees ops" || fail "info does not say it"
finish
