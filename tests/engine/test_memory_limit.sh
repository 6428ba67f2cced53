# A model larger than the memory it may use: every token reads it again, the trace says so as
# the kernel does, and the text is that of the untraced run.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
limit=$((160 << 20))
memory_group tensortrace-test-$$ $limit || { echo "skipped: $no_group"; exit 77; }

"$TT_BIN" synth --preset tinyllama --layers 6 -o model.gguf 2>/dev/null || fail synth
engine=$(engines | tail -n 1)
"$TT_PROGRAMS/drop_cache" model.gguf >/dev/null
set -- "$TT_PROGRAMS/cold" "$TT_ENGINES/$engine" model.gguf 3 as-is
"$@" roomy.report >roomy.txt 2>err.txt || fail "exit code without a limit"
"$TT_PROGRAMS/drop_cache" model.gguf >/dev/null
limited "$@" plain.report >plain.txt 2>err.txt || fail "untraced exit code"
same "text with little memory" roomy.txt plain.txt
"$TT_PROGRAMS/drop_cache" model.gguf >/dev/null
limited "$TT_BIN" run -q --faults=both --residency -o l.ttrace -- "$@" traced.report >traced.txt 2>traced.err || {
    fail "exit code"
    cat traced.err
}
same "text" plain.txt traced.txt
if [ -f l.ttrace ]; then
    verified l.ttrace
    about="limit of $limit bytes"
    check check_faults l.ttrace traced.report limited $limit
    "$TT_BIN" faults l.ttrace >faults.out 2>&1 || { fail "faults"; cat faults.out; }
fi
finish
