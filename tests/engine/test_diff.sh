# Real runs compared: with themselves, other engines, threads, types of weights, another model.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
[ -d "$TT_ENGINES/v0.5.0" ] || { echo "skipped: engine v0.5.0 was not fetched"; exit 77; }
model tiny
model moe
"$TT_BIN" synth --type Q8_0 --force -o q8.gguf 2>/dev/null || fail "synth q8"
"$TT_BIN" synth --type F16 --force -o f16.gguf 2>/dev/null || fail "synth f16"

# trace NAME MODEL ENGINE ARGS...
trace() {
    name=$1 file=$2 engine=$3
    shift 3
    "$TT_BIN" run --force -q -o "$name.ttrace" -m "$file.gguf" --engine "$TT_ENGINES/$engine" \
        -p "Hello there" -n 40 --ignore-eos "$@" >/dev/null 2>err.txt || fail "run $name: $(cat err.txt)"
}

# compare WANTED-EXIT-CODES ARGS...: leaves the answer in diff.json.
compare() {
    wanted=$1
    shift
    "$TT_BIN" diff --json "$@" >diff.json 2>err.txt
    code=$?
    case " $wanted " in
    *" $code "*) ;;
    *) fail "diff $*: exit code $code, not $wanted: $(cat err.txt)" ;;
    esac
}

# told NAME EXPRESSION: of d, the answer, and g, its first phase.
told() {
    python3 - "$2" <<'PY' || fail "$1: not so: $2"
import json, sys
d = json.load(open("diff.json"))
g = d["phases"][0]
s = g["structure"]
settings = {x["setting"]: (x["a"], x["b"]) for x in d["settings"]}
changes = s["changes"]
sys.exit(0 if eval(sys.argv[1]) else 1)
PY
}

trace one tiny v0.5.0 -t 1
trace again tiny v0.5.0 -t 1
trace two tiny v0.5.0 -t 2
trace experts moe v0.5.0 -t 2
trace experts_again moe v0.5.0 -t 2 --faults=both
trace q8 q8 v0.5.0 -t 1
trace f16 f16 v0.5.0 -t 1

# A run against itself: equal to the tick.
compare 0 one.ttrace one.ttrace
told "itself" 'd["verdict"]["times"] == "same" and not d["verdict"]["differs"] and s["changed"] == 0'
told "itself" 'all((r["delta_ns"] == 0 or r["delta_ns"] is None and r["component"] == "between ops") and r["a"]["median_ns"] == r["b"]["median_ns"] for r in g["nodes"])'
told "itself" 'g["batches_compared"] == 39 and g["paired_by"] == "position" and settings == {}'
[ "$("$TT_BIN" diff one.ttrace one.ttrace | grep -c 'exactly equal')" = 1 ] || fail "itself: not said"

# Again: the same was computed, also when the machine was slower.
compare "0 1" one.ttrace again.ttrace
told "again" 's["added"] + s["removed"] + s["changed"] == 0 and s["shapes_compared"] and settings == {}'
told "again" 'g["tokens_differ"] == 0'
compare 0 --structure-only one.ttrace again.ttrace

# Another number of threads: the same ops, other times.
compare "0 1" one.ttrace two.ttrace
told "threads" 'd["verdict"]["structure_differs"] is False and settings["threads"] == ("1", "2")'
told "threads" 'all(r["a"] and r["b"] for r in g["nodes"])'

# Other types of weights: the same nodes, of other sources; fewer bytes.
compare 1 f16.ttrace q8.ttrace
told "types" 's["added"] == s["removed"] == 0 and s["changed"] > 0'
told "types" 'any("f16 -> q8_0" in c["text"] for c in changes)'
told "types" 'all(c["kind"] == "changed" and "sources" in c["differs"] for c in changes)'
told "types" 'g["total"]["a"]["weight_bytes"] > 1.5 * g["total"]["b"]["weight_bytes"]'

# Another model: what is common is compared, the rest is told.
compare 1 two.ttrace experts.ttrace
told "model" 's["added"] > 0 and s["removed"] > 0 and s["common"] > 0'
told "model" 'any(c["op_b"] == "MUL_MAT_ID" and c["kind"] == "added" for c in changes)'

# Experts: the same text takes the same ones; faults were recorded in one run only.
compare "0 1" experts.ttrace experts_again.ttrace
told "experts" 'len(d["routing"]) > 0 and all(r["divergence_bits"] == 0 and r["jaccard"] == 1 for r in d["routing"])'
told "experts" 'd["faults"] is None and any("recorded page faults" in n for n in d["notes"])'
trace experts_third moe v0.5.0 -t 2 --faults=both
compare "0 1" experts_again.ttrace experts_third.ttrace
told "faults" 'd["faults"][0]["all"] and d["faults"][0]["minor_a"] == sum(f["minor_a"] for f in d["faults"][1:])'

# Other engines fuse other nodes and name some otherwise; nothing else of a model is lost.
for engine in b8352 b6673; do
    [ -d "$TT_ENGINES/$engine" ] || continue
    trace "$engine" tiny "$engine" -t 1
    compare 1 one.ttrace "$engine.ttrace"
    told "$engine" 's["common"] > 0.95 * s["nodes_a"] and s["removed"] == 0'
    told "$engine" 'settings["engine_version"][0] == "v0.5.0"'
    told "$engine" '{"MUL_MAT"} <= {r["op_a"] for r in g["nodes"] if r["op_a"] == r["op_b"]}'
done
[ ! -f b8352.ttrace ] || {
    compare 1 one.ttrace b8352.ttrace
    told "fusions" 'any(r["op_a"] == "RMS_NORM+MUL" and r["op_b"] == "RMS_NORM, MUL" for r in g["nodes"])'
    told "fusions" 'any("fusion" in c["differs"] for c in changes)'
}

# Repeats on both sides.
compare "0 1" one.ttrace again.ttrace -- two.ttrace
told "repeats" 'g["total"]["samples"] == 3 and len(d["files_a"]) == 2'

"$TT_BIN" diff --html page.html --force one.ttrace b8352.ttrace >/dev/null 2>&1
[ -s page.html ] || fail "no page"
finish
