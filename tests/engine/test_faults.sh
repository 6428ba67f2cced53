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

# Whether faults come one by one is what doctor says.
engine=$TT_ENGINES/$(engines | tail -n 1)
"$TT_BIN" doctor --json --engine "$engine" >doctor.json
"$TT_BIN" run -q --faults -o one.ttrace -m model.gguf --engine "$engine" -p Hello -n 1 -t 2 >out.txt 2>err.txt || fail "one by one: exit code"
"$TT_BIN" info --json one.ttrace | grep -A 1 '"page_faults": {' | grep -q '"state": "on"' && one_by_one=true || one_by_one=false
expect "doctor: page faults one by one" $one_by_one "$(sed -n 's/.*"has_fault_events": \([a-z]*\).*/\1/p' doctor.json)"
finish
