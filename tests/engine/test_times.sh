# When ops begin and end. An op ends with its graph, whatever is computed next.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
for engine in $(engines); do
    for threads in 1 2; do
        "$TT_BIN" run --force -q -o p.ttrace -- "$TT_PROGRAMS/pause" "$TT_ENGINES/$engine" $threads ||
            fail "$engine, $threads threads: exit code"
        verified p.ttrace
        expect "$engine, $threads threads: graph computations" 4 "$(field p.ttrace runs)"
    done
done
finish
