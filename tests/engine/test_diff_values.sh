# Values of real runs compared: the same ones, other engines, and a weight that was changed, which
# has to be found at the op that reads it.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
[ -d "$TT_ENGINES/v0.5.0" ] || { echo "skipped: engine v0.5.0 was not fetched"; exit 77; }
"$TT_BIN" synth --type F32 --force -o f32.gguf 2>/dev/null || fail "synth f32"

# trace NAME MODEL ENGINE ARGS...
trace() {
    name=$1 file=$2 engine=$3
    shift 3
    "$TT_BIN" run --force -q -o "$name.ttrace" -m "$file.gguf" --engine "$TT_ENGINES/$engine" \
        -p "the quick brown fox" -n 4 --ignore-eos "$@" >/dev/null 2>err.txt || fail "run $name: $(cat err.txt)"
}

# compare NAME WANTED-EXIT-CODE ARGS...: leaves the answer in out.txt.
compare() {
    name=$1 wanted=$2
    shift 2
    "$TT_BIN" diff --values "$@" >out.txt 2>&1
    expect "$name: exit code" "$wanted" $?
}

# says NAME TEXT: of the last comparison.
says() {
    grep -qF "$2" out.txt || fail "$1: does not say \"$2\": $(head -n 2 out.txt)"
}

# patched NAME WEIGHT ELEMENT BYTES: a copy of f32.gguf with other bytes (printf's) of an element.
patched() {
    "$TT_BIN" gguf --json f32.gguf >weights.json
    offset=$(sed -n "/\"name\": \"$2\"/,/offset_start/s/.*\"offset_start\": \([0-9]*\),/\1/p" weights.json | head -n 1)
    [ -n "$offset" ] || fail "$1: no offset of $2"
    cp f32.gguf "$1.gguf"
    printf "$4" | dd of="$1.gguf" bs=1 seek=$((offset + 4 * $3)) conv=notrunc 2>/dev/null
}

trace one f32 v0.5.0 -t 1 --values=full
trace two f32 v0.5.0 -t 2 --values=hash
compare "threads" 0 one.ttrace two.ttrace
says "threads" "the same to the bit"
says "threads" " 0 close, 0 different."
compare "exact" 0 --exact one.ttrace two.ttrace

# A row of Q's weights in layer 2, element 9 of row 5: 8.0.
patched q blk.2.attn_q.weight $((5 * 256 + 9)) '\000\000\000\101'
trace q q v0.5.0 -t 1 --values=full
compare "q" 1 one.ttrace q.ttrace
says "q" "layer 2, q_proj (Qcur-2, MUL_MAT with blk.2.attn_q.weight)"
says "q" "its inputs are equal: the error is made here"
compare "q, by samples" 1 two.ttrace q.ttrace
says "q, by samples" "layer 2, q_proj (Qcur-2, MUL_MAT with blk.2.attn_q.weight)"

# Weights of other types are said to be: no op is to blame.
"$TT_BIN" synth --type Q8_0 -o q8.gguf 2>/dev/null || fail "synth"
trace q8 q8 v0.5.0 -t 1 --values=hash
compare "q8" 1 one.ttrace q8.ttrace
says "q8" "token_embd.weight, which is f32 in A and q8_0 in B"

# A gain of a norm, 1 percent off in one of 256: far below what an F16 cache may add up to.
patched norm blk.1.attn_norm.weight 0 '\366\050\134\100'
trace norm norm v0.5.0 -t 1 --values=full
compare "norm" 1 one.ttrace norm.ttrace
says "norm" "layer 1, attn_norm (attn_norm-1, MUL with blk.1.attn_norm.weight)"

# NaN is found where it comes up, and differs from itself.
patched nan blk.1.ffn_up.weight 1000 '\000\000\300\177'
trace nan nan v0.5.0 -t 1 --values=hash
compare "nan" 1 one.ttrace nan.ttrace
says "nan" "layer 1, up_proj (ffn_up-1, MUL_MAT with blk.1.ffn_up.weight): NaN: 0 of A's"
compare "nan against itself" 1 nan.ttrace nan.ttrace
says "nan against itself" "NaN"

# Other versions, which name, order and fuse otherwise: nothing differs beyond rounding.
for engine in b4234 b6673 b8352; do
    [ -d "$TT_ENGINES/$engine" ] || continue
    trace "$engine" f32 "$engine" -t 1 --values=hash
    compare "$engine" 0 one.ttrace "$engine.ttrace"
    says "$engine" " 0 different"
    compare "$engine, q" 1 "$engine.ttrace" q.ttrace
    says "$engine, q" "layer 2, q_proj"
done

# A trace and the folder of records that it is exported as: the same float32 by BLAKE3.
"$TT_BIN" export --format bitnet -o records two.ttrace 2>err.txt || fail "export: $(cat err.txt)"
compare "records" 0 two.ttrace records
says "records" "the same to the bit"
compare "records of another" 1 q.ttrace records

# An engine that rotates what goes into a cache of few bits, unless it is told not to; and an adapter.
if [ -n "$TT_NEWEST" ]; then
    need_newest
    model tiny
    "$TT_BIN" synth --lora-for tiny.gguf --alpha 64 --force -o lora.gguf 2>/dev/null || fail "synth lora"
    run=$(newest_command)
    # newest NAME ARGS...
    newest() {
        name=$1
        shift
        "$TT_BIN" run --force -q --values=hash -o "$name.ttrace" -- $run "$TT_NEWEST/usr/bin/llama-completion" \
            -m tiny.gguf -p Once -n 2 -c 256 -fa on -t 1 --temp 0 --no-warmup -no-cnv "$@" >/dev/null 2>err.txt ||
            fail "run $name: $(tail -n 1 err.txt)"
    }
    newest f16
    newest rotated -ctk q8_0 -ctv q8_0
    LLAMA_ATTN_ROT_DISABLE=1 newest straight -ctk q8_0 -ctv q8_0
    # What the rotation does not touch is as far off as without it: the true size of the error.
    compare "a cache of 8 bits" 0 f16.ttrace straight.ttrace
    worst=$(sed -n '1s/.*rel L2 \([0-9.e-]*\),.*/\1/p' out.txt)
    for pair in "f16 rotated" "rotated f16" "straight rotated"; do
        compare "$pair" 0 $(printf '%s.ttrace ' $pair)
        says "$pair" "No divergence"
        says "$pair" "values are along other axes on one side and were not compared"
        says "$pair" "multiplied them with attn_inp_k_rot"
        error=$(sed -n '1s/.*rel L2 \([0-9.e-]*\),.*/\1/p' out.txt)
        awk -v a="$error" -v b="$worst" 'BEGIN { exit !(a > 0 && a < 2 * b) }' || fail "$pair: rel L2 $error, not $worst"
    done
    newest adapted --lora lora.gguf
    compare "an adapter" 1 f16.ttrace adapted.ttrace
    says "an adapter" "layer 0, q_rope (Qcur-0, ROPE)"
    says "an adapter" "its compared inputs are equal: the error is made here or in ops that only B has: MUL_MAT with blk.0.attn_q.weight.lora_a, MUL_MAT with blk.0.attn_q.weight.lora_b, SCALE, ADD."
    says "an adapter" "B also has lora.gguf (an adapter)"
    # The products with the model's own weights are the same, whatever their names.
    "$TT_BIN" diff --values --json f16.ttrace adapted.ttrace >out.json
    python3 -c '
import json, sys
d = json.load(open("out.json"))
q = [s for s in d["stages"] if s["stage"] in ("q_proj", "k_proj", "v_proj")]
sys.exit(0 if len(q) == 3 and all(s["counts"]["equal"] >= 1 and s["counts"]["unmeasured"] == 0 for s in q) else 1)' ||
        fail "an adapter: the products are not paired"
    "$TT_BIN" diff f16.ttrace adapted.ttrace >out.txt
    says "an adapter, times" "B also has lora.gguf (an adapter): "
    "$TT_BIN" diff --json f16.ttrace adapted.ttrace | grep -q '"models_differ": *false' || fail "an adapter: another model"
fi

# Nothing in common is not equal.
trace none f32 v0.5.0 -t 1
compare "no values" 2 one.ttrace none.ttrace
says "no values" "B has no values"
mkdir -p empty
compare "an empty folder" 2 one.ttrace empty
echo "diff --values: $failures failures"
exit $((failures > 0))
