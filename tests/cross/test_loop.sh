# The hook library on another processor, on the engine of tests/engine/programs/loop_engine.c, whose
# barriers are calls or compiled in.
. "$TT_SOURCE_DIR/tests/cross/lib.sh"
need_python
for way in called inlined; do
    for threads in 1 2; do
        about="$way, $threads"
        rm -f l.ttrace
        (export LD_PRELOAD="$TT_CROSS_HOOK" TENSORTRACE_OUT="$PWD/l.ttrace" && emulated "$TT_PROGRAMS/loop-$way" $threads) ||
            fail "$about: exit code"
        verified l.ttrace
        check check_times l.ttrace $way $threads
    done
done
# Attached by the program itself, whose slots are closed.
emulated "$TT_PROGRAMS/loop-attach" 2 c1.ttrace c2.ttrace || fail "attached: exit code"
for trace in c1 c2; do
    verified $trace.ttrace
    expect "attached: records" 60 "$(field $trace.ttrace op_records)"
done
finish
