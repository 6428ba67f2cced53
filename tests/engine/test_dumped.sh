# `export --format dot --ggml` writes what the engine's own ggml_graph_dump_dot writes of the same graphs.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
model tiny
model moe

# There ggml's own dump crashes on graphs without gradients.
crashes=b4234

for engine in $(engines | grep -v "$crashes"); do
    for name in tiny moe; do
        rm -rf dumped ours
        mkdir dumped
        DUMP_FOLDER=$PWD/dumped TENSORTRACE_ENGINE=$TT_ENGINES/$engine "$TT_BIN" run --force -q -o d.ttrace -- \
            sh -c 'LD_PRELOAD=$0:$LD_PRELOAD exec "$@"' "$TT_PROGRAMS/libdump_graphs.so" \
            "$TT_PROGRAMS/completion" -m $name.gguf -p "Once upon a time" -n 3 -no-cnv >out.txt 2>err.txt ||
            fail "$engine $name: $(cat err.txt)"
        "$TT_BIN" export --format dot --ggml -o ours d.ttrace 2>err.txt || fail "$engine $name: $(cat err.txt)"
        echo "$engine $name"
        python3 "$TT_SOURCE_DIR/tests/engine/check_dumped.py" ours dumped || fail "$engine $name"
    done
done
finish
