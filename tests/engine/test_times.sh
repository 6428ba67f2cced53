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

# An engine whose barriers between ops are calls, and the same one with them compiled in.
# On one processor: the clocks of two may differ by more than there is between two moments.
need_python
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
for threads in 1 2 "2 stay" "1 inner" "2 inner" "2 stay inner"; do
    for way in called inlined; do
        about="$way, $threads"
        # shellcheck disable=SC2086
        "$TT_BIN" run --force -q -o l.ttrace -- taskset -c "$cpu" "$TT_PROGRAMS/loop-$way" $threads || fail "$about: exit code"
        verified l.ttrace
        waits=
        case $about in "inlined, 2"*) waits="not observed: this build of the engine calls no ggml_barrier between its ops" ;; esac
        expect "$about: waits" "$waits" "$(field l.ttrace waits)"
        check check_times l.ttrace "$way" "${threads%% *}"
    done
done
finish
