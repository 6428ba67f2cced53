# kill -9: `run` finishes the trace itself, `recover` does it where only the environment was
# set; every record up to the last moment is there, and the trace is sound.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model tiny
engine=$(engines | tail -n 1)
set -- -m tiny.gguf --engine "$TT_ENGINES/$engine" -p Hello -n 100000 -c 4096 --ignore-eos -t 2
for i in 1 2 3 4 5 6; do
    "$TT_BIN" run --force -q -o k.ttrace "$@" >/dev/null 2>err.txt &
    run=$!
    sleep "0.$((3 + i))"
    pkill -9 -P $run
    wait $run 2>/dev/null
    expect "run $i: dies as its program did" 137 $?
    [ -f k.ttrace ] || fail "run $i: no trace"
    [ -f k.ttrace ] && verified k.ttrace
    [ -f k.ttrace.part ] && fail "run $i: a part file stays"
    rm -f k.ttrace*
done
hook=$("$TT_BIN" doctor --json 2>/dev/null | sed -n 's/.*"hook_library": "\(.*\)".*/\1/p')
for i in 1 2 3; do
    rm -f e.ttrace e.ttrace.part
    LD_PRELOAD=$hook TENSORTRACE_OUT=e.ttrace "$TT_BIN" runner "$@" >/dev/null 2>&1 &
    program=$!
    sleep "0.$((4 + i))"
    "$TT_BIN" recover e.ttrace >out.txt 2>&1 && fail "recover $i: of a running program"
    kill -9 $program
    wait $program 2>/dev/null
    "$TT_BIN" recover e.ttrace >out.txt 2>&1 || { fail "recover $i"; cat out.txt; }
    verified e.ttrace
done
no_area_left
finish
