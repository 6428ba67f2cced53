# Each op of other architectures than synth's own is known for what it is: none is "other", but for
# the copies of the attention's masks, which belong to no part of the network.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
engine=$(engines | tail -n 1)
"$TT_BIN" synth --type F32 --layers 6 --heads 4 --kv-heads 4 -o f32.gguf 2>/dev/null || fail "synth"
for arch in qwen2 qwen3 gemma gemma2 gemma3 phi3 qwen3moe olmoe; do
    python3 "$TT_SOURCE_DIR/tests/engine/make_arch.py" $arch f32.gguf $arch.gguf || fail "$arch.gguf"
    "$TT_BIN" run -q -o $arch.ttrace -m $arch.gguf --engine "$TT_ENGINES/$engine" -p Hello -n 3 --ignore-eos -t 1 \
        >out.txt 2>err.txt || fail "$arch: $(cat err.txt)"
    verified $arch.ttrace
    "$TT_BIN" log --json --limit 0 $arch.ttrace >log.json || fail "$arch: log"
    rm -f $arch.gguf
    python3 - <<'END' || fail "$arch: ops that are not known"
import json, sys
ops = json.load(open("log.json"))["ops"]
found = {op["category"] for op in ops}
assert found >= {"input", "attention", "ffn", "norm", "output"}, found
other = {(op["op"], op["name"]) for op in ops if op["category"] == "other" and "self_kq_mask" not in op["name"]}
sys.exit(str(other) if other else 0)
END
done
finish
