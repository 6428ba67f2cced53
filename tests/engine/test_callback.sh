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
"$TT_BIN" info c.ttrace --verbose | grep -q "waits *not observed: the scheduler's callback sees ops" || fail "info does not say it"
finish
