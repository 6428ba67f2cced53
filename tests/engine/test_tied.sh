# Models that project by the table of token embeddings (Gemma 3, Llama 3.2): one weight, two uses. Its
# product is the output, its rows are the input; and what is read from a copy in a buffer is told apart
# from what is read from the mapped file.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
"$TT_BIN" synth --tied -o tied.gguf 2>/dev/null || fail "synth --tied"
"$TT_BIN" gguf --json tied.gguf | grep -q '"output.weight"' && fail "there is an output.weight"
for engine in $(engines); do
    about=$engine
    rm -f t.ttrace
    "$TT_BIN" run -q --faults -o t.ttrace -m tied.gguf --engine "$TT_ENGINES/$engine" -n 3 --ignore-eos -p hi >/dev/null 2>err.txt ||
        fail "$engine: $(cat err.txt)"
    "$TT_BIN" stats --json --by category t.ttrace >category.json
    "$TT_BIN" stats --json --by component t.ttrace >component.json
    "$TT_BIN" log --json --limit 0 t.ttrace >log.json
    "$TT_BIN" faults --json --by tensor --limit 0 t.ttrace >faults.json
    python3 - <<'PY' || fail "$engine: see above"
import json, sys
def rows(by):
    return {r[by]: r for r in json.load(open(by + ".json"))["rows"]}
bad = []
def check(what, good):
    if not good:
        bad.append(what)
ops = json.load(open("log.json"))["ops"]
for o in ops:
    if o["name"].startswith("result_output"):
        check("result_output", (o["category"], o["component"]) == ("output", "output"))
    if o["op"] == "GET_ROWS" and any(s["name"] == "token_embd.weight" for s in o["sources"]):
        check("embeddings", (o["category"], o["component"]) == ("input", "token_embd"))
check("result_output is there", any(o["name"].startswith("result_output") for o in ops))
check("nothing is other: %s" % {o["name"] for o in ops if o["category"] == "other"}, not any(o["category"] == "other" for o in ops))
check("by category", {"input", "output"} <= set(rows("category")) and "other" not in rows("category"))
check("output's weights are more", rows("category")["output"]["weight_bytes"] > rows("category")["input"]["weight_bytes"])
check("by component", "output" in rows("component"))
table = [r for r in json.load(open("faults.json"))["rows"] if r["tensor"] == "token_embd.weight"]
places = {s.get("origin") for o in ops for s in o["sources"] if s["name"] == "token_embd.weight"}
check("a row for each place it is read from: %s, %s" % (table, places), len(table) == len(places) == len({r["origin"] for r in table}))
for what in sorted(set(bad)):
    print(what)
sys.exit(bool(bad))
PY
done
finish
