# Programs with odd habits behave as they do untraced, and leave a sound trace.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
engine=$TT_ENGINES/$(engines | tail -n 1)
for what in fork keys descriptors chdir; do
    "$TT_PROGRAMS/odd" "$engine" $what >plain.txt 2>plain.err
    expect "$what: untraced exit code" 0 $?
    "$TT_BIN" run -q -o $what.ttrace -- "$TT_PROGRAMS/odd" "$engine" $what >traced.txt 2>traced.err
    expect "$what: exit code" 0 $?
    same "$what: text" plain.txt traced.txt
    verified $what.ttrace
done
# Exiting while a thread computes crashes now and then without us too; the trace is sound
# whichever way it goes.
for i in 1 2 3 4 5; do
    "$TT_BIN" run --force -q -o exit.ttrace -- "$TT_PROGRAMS/odd" "$engine" exit >traced.txt 2>traced.err
    case $? in 7 | 139) ;; *) fail "exit: exit code" ;; esac
    verified exit.ttrace
done
# Died before it computed anything: no trace, and what was there stays.
ulimit -c 0
model tiny
echo mine >crash.ttrace
"$TT_BIN" run --force -o crash.ttrace -- "$TT_PROGRAMS/odd" "$engine" crash tiny.gguf >traced.txt 2>traced.err
expect "crash: exit code" 139 $?
expect "crash: what it says" "tensortrace: nothing was traced: a model was opened, but no graph was computed" "$(grep '^tensortrace' traced.err)"
expect "crash: files" "crash.ttrace mine" "$(echo crash*.ttrace*) $(cat crash.ttrace)"
# States of one sequence and of the whole cache are saved and restored.
"$TT_PROGRAMS/states" "$engine" tiny.gguf >plain.txt 2>plain.err
expect "states: untraced exit code" 0 $?
"$TT_BIN" run -q -o states.ttrace -- "$TT_PROGRAMS/states" "$engine" tiny.gguf >traced.txt 2>traced.err
expect "states: exit code" 0 $?
same "states: text" plain.txt traced.txt
verified states.ttrace
# A program between that drops the environment: that is among the reasons.
"$TT_BIN" run -o env.ttrace -- env -i "$TT_PROGRAMS/raw" "$engine" >traced.txt 2>traced.err
expect "env -i: exit code" 3 $?
grep -q 'without LD_PRELOAD (as env -i' traced.err || fail "env -i: $(cat traced.err)"
finish
