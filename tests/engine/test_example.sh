# The example engine (examples/engine) against real llama.cpp, value by value: all stages agree, and
# every bug that it can make on purpose is found at the op that makes it.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
[ -d "$TT_ENGINES/v0.5.0" ] || { echo "skipped: engine v0.5.0 was not fetched"; exit 77; }
for type in F32 F16 Q8_0; do
    "$TT_BIN" synth --type $type -o $type.gguf 2>/dev/null || fail "synth $type"
done
"$TT_BIN" synth -o default.gguf 2>/dev/null || fail "synth"

# ids TRACE PHASE: the text's tokens, or those that were decoded after it: "1,416,269".
ids() {
    "$TT_BIN" export --force --format csv -o ids "$1" >/dev/null 2>&1 || fail "export $1"
    awk -F, -v phase="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
        $column["phase"] == phase { list = list (list == "" ? "" : ",") $column["text_id"] }
        END { print list }' ids/tokens.csv
}

# real NAME MODEL ENGINE: llama.cpp's values; leaves its tokens in $prompt and $then.
real() {
    "$TT_BIN" run --force -q -o "$1.ttrace" --values=hash -m "$2.gguf" --engine "$TT_ENGINES/$3" \
        -p "Hello there" -n 5 --ignore-eos -t 2 >/dev/null 2>err.txt || fail "run $1: $(cat err.txt)"
    prompt=$(ids "$1.ttrace" prompt) then=$(ids "$1.ttrace" generate)
}

# example NAME MODEL ARGS...: the example's, of the same tokens; what it chooses is in $chosen.
example() {
    name=$1 file=$2
    shift 2
    chosen=$(TENSORTRACE="$name.ttrace" "$TT_EXAMPLE" -m "$file.gguf" --tokens "$prompt" --then "$then" "$@") ||
        fail "example $name"
}

# compare WANTED-EXIT-CODE A B: leaves the answer in diff.json.
compare() {
    "$TT_BIN" diff --values --json "$2" "$3" >diff.json 2>err.txt
    code=$?
    [ $code = "$1" ] || fail "diff $2 $3: exit code $code, not $1: $(cat err.txt)"
}

# told NAME EXPRESSION: of d, the answer, and first, the first divergence.
told() {
    python3 - "$2" <<'PY' || fail "$1: not so: $2"
import json, sys
d = json.load(open("diff.json"))
first = d["first"]
counts = d["counts"]
stages = {s["stage"]: s["counts"] for s in d["stages"]}
sys.exit(0 if eval(sys.argv[1]) else 1)
PY
}

# Each engine version: all of the example's values have a partner, and it is close. The last is the
# one that the rest is compared with.
stages='embeddings attn_norm q_proj k_proj v_proj q_rope k_rope k_cache v_cache attn_heads o_proj attn_residual ffn_norm gate_proj up_proj ffn_act down_proj layer_out get_rows final_norm logits'
for engine in b4234 b6673 b8352 v0.5.0; do
    [ -d "$TT_ENGINES/$engine" ] || continue
    real "$engine" F32 "$engine"
    example "$engine-example" F32
    # It also chooses what llama.cpp chose.
    case "$chosen" in
    "$then",*) ;;
    *) fail "$engine: chooses $chosen, llama.cpp $then" ;;
    esac
    compare 0 "$engine.ttrace" "$engine-example.ttrace"
    told "$engine" 'd["verdict"] == "close" and first is None and d["tokens_known"]'
    told "$engine" 'counts["differs"] == counts["nan"] == counts["shape"] == 0'
    # Older versions keep V transposed: that is another value.
    apart=$([ "$engine" = b4234 ] && echo v_cache)
    told "$engine" "[s for s in '$stages'.split() if stages[s]['unmeasured']] == '$apart'.split()"
done
mv v0.5.0.ttrace real.ttrace
mv v0.5.0-example.ttrace one.ttrace
text=$then
compare 0 real.ttrace one.ttrace
# 4 layers of 17 stages, the embeddings, two picked rows, the last norm and the logits; 5 batches.
told "all stages" 'd["compared"] == 5 * (4 * 17 + 5) and counts["unmeasured"] == 0'
verified one.ttrace
"$TT_EXAMPLE" -m F32.gguf --tokens 1 -o named.ttrace >/dev/null || fail "example -o"
"$TT_BIN" report -o named.html named.ttrace 2>/dev/null || fail "report"
grep -q 'on example-engine 1,' named.html || fail "report: the engine is not called by its name"

# What is the same is the same: each value, whatever the number of threads.
example two F32 -t 2
compare 0 one.ttrace two.ttrace
told "threads" 'd["verdict"] == "equal" and counts["equal"] == d["compared"] == 365'
expect "threads" 2 "$(field two.ttrace threads)"
verified two.ttrace

# found BUG POSITION LAYER STAGE: that is where it is made, from inputs that are all right.
found() {
    rm -f bug.ttrace
    example bug F32 --bug "$1"
    compare 1 "${against:-real}.ttrace" bug.ttrace
    told "bug $1" "(first['position'], first['layer'], first['stage']) == ($2, $3, '$4')"
    told "bug $1" 'first["blame"] == "own" and all(i["verdict"] in ("equal", "close") for i in first["inputs"])'
}
n=$(echo "$prompt" | tr ',' '\n' | wc -l)
found rope-base 0 0 q_rope
found norm-epsilon 0 1 attn_norm
found norm-epsilon=0:1e-3 0 0 attn_norm
found transposed-head 0 1 attn_heads
found transposed-head=3 0 3 attn_heads
found kv-heads=2 0 2 attn_heads
found softmax-scale 0 1 attn_heads
found swapped-gate=2 0 2 ffn_act
found transposed-output 0 -1 logits
# Where attention is several ops, the last of which only moves what the others computed.
[ ! -f b4234.ttrace ] || { against=b4234; found kv-heads 0 1 attn_heads; against=; }
# In the prompt all is well: it is found in the first batch behind it.
found position "$n" 0 q_rope

# Weights of other types: llama.cpp rounds what it multiplies them with, the example does not.
for type in F16 Q8_0 default; do
    real $type $type v0.5.0
    example $type-example $type
    compare 0 $type.ttrace $type-example.ttrace
    told "$type" 'd["verdict"] == "close" and counts["close"] > 340 and counts["unmeasured"] == 0'
    verified $type-example.ttrace
    example $type-bug $type --bug transposed-head=2
    compare 1 $type.ttrace $type-bug.ttrace
    told "$type" '(first["layer"], first["stage"], first["blame"]) == (2, "attn_heads", "own")'
done

# BitNet-style files, from the same calls.
then=$text
for bug in none transposed-head; do
    [ $bug = none ] && set -- || set -- --bug $bug
    BITNET_TRACE_DIR=folder-$bug "$TT_EXAMPLE" -m F32.gguf --tokens "$prompt" --then "$then" "$@" >/dev/null ||
        fail "example with a folder"
done
# Of each value a folder has the RMS and the first elements only: those of a prompt are of its first
# token. Where all of these are alike and the hash is not (what was rounded to F16), nobody knows by
# how much the others differ.
compare 1 real.ttrace folder-none
told "folder" 'd["first_certain"] is None and d["compared"] == 365 and counts["close"] > 300'
told "folder" 'counts["differs"] == counts["nan"] == counts["shape"] == 0 < counts["other_bits"] < 30'
told "folder" 'all(s in ("k_cache", "v_cache", "attn_heads") for s in stages if stages[s]["other_bits"])'
compare 1 real.ttrace folder-transposed-head
told "folder" '(d["first_certain"]["position"], d["first_certain"]["layer"], d["first_certain"]["stage"]) == (0, 1, "attn_heads")'

# Between folders the hashes tell all the same: the first value with other bits is where it is made,
# by how much only traces know.
for bug in rope-base transposed-head; do
    BITNET_TRACE_DIR=folder-of-$bug "$TT_EXAMPLE" -m F32.gguf --tokens "$prompt" --then "$text" --bug $bug >/dev/null ||
        fail "example with a folder"
done
compare 1 folder-none folder-of-rope-base
told "folders" '(first["position"], first["layer"], first["stage"]) == (0, 0, "q_rope")'
told "folders" 'first["verdict"] == "other_bits" and first["rel_l2_at_least"]'
told "folders" 'd["first_certain"]["stage"] == "attn_heads"'
compare 1 folder-none folder-of-transposed-head
told "folders" '(first["position"], first["layer"], first["stage"]) == (0, 1, "attn_heads")'
compare 0 folder-none folder-none
told "folders" 'd["verdict"] == "equal"'

# Other text: not comparable, which is not "equal".
then=5,6,7,8
example other F32
compare 1 real.ttrace other.ttrace
told "other text" 'd["not_comparable_from"] is not None'
finish
