# A mixture of experts, and a split model, on every engine.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model moe
"$TT_BIN" synth --preset tiny --split 3 -o split.gguf 2>/dev/null || fail "synth --split"
for engine in $(engines); do
    for file in moe.gguf split-00001-of-00003.gguf; do
        set -- -m "$file" --engine "$TT_ENGINES/$engine" -p Hello -n 5 --ignore-eos -t 2
        "$TT_BIN" runner "$@" >plain.txt 2>/dev/null
        "$TT_BIN" run --force -q -o m.ttrace "$@" >traced.txt 2>err.txt
        expect "$engine $file: exit code" 0 $?
        same "$engine $file: text" plain.txt traced.txt
        verified m.ttrace
    done
done
finish
