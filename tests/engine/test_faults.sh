# --faults and --residency against what the kernel counts for the process and what mincore
# says: with the model's pages dropped before the first token, before every token, and warm.
# The text is that of the untraced run. (With too little memory: test_memory_limit.sh.)
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
"$TT_BIN" synth --preset tinyllama --layers 3 -o model.gguf 2>/dev/null || fail synth
for engine in $(engines); do
    for how in cold warm; do
        about="$engine $how"
        set -- "$TT_PROGRAMS/cold" "$TT_ENGINES/$engine" model.gguf 3 $how
        "$@" plain.report >plain.txt 2>plain.err || fail "$about: untraced exit code"
        rm -f f.ttrace
        "$TT_BIN" run -q --faults=both --residency -o f.ttrace -- "$@" traced.report >traced.txt 2>traced.err || {
            fail "$about: exit code"
            cat traced.err
        }
        same "$about: text" plain.txt traced.txt
        [ -f f.ttrace ] || continue
        verified f.ttrace
        check check_faults f.ttrace traced.report $how
        "$TT_BIN" faults f.ttrace >faults.out 2>&1 || { fail "$about: faults"; cat faults.out; }
    done
done
finish
