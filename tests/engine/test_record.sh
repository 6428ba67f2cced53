# A Python process that has loaded llama.cpp by ctypes records itself (tt.record): tokens are as without,
# and what is recorded is what preloaded hooks record, op by op; also what is loaded meanwhile, what other
# threads compute, in a forked child, at the end of the process.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
PYTHONPATH=$TT_SOURCE_DIR/python
TENSORTRACE_HOME=$(dirname "$(dirname "$TT_BIN")")
PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH TENSORTRACE_HOME PYTHONDONTWRITEBYTECODE
export OMP_WAIT_POLICY=passive
model tiny

llama() { # WHAT TRACE...: with the engine of this round, into WHAT.txt
    python3 "$TT_SOURCE_DIR/tests/engine/record_llama.py" "$TT_ENGINES/$engine" tiny.gguf "$@" >"$1.txt" 2>"$1.err" || {
        fail "$engine, $1: exit code"
        tail -n 5 "$1.err"
    }
    [ "$1" = plain ] || same "$engine, $1: tokens" plain.txt "$1.txt"
}

tried=0
for engine in $(engines); do
    # Its functions have other names and arguments; its ops pass no hooks.
    [ "$engine" != b4234 ] || continue
    tried=$((tried + 1))
    about=$engine
    rm -f ./*.ttrace ./*.part
    llama plain
    "$TT_BIN" run -q -o preloaded.ttrace -- python3 "$TT_SOURCE_DIR/tests/engine/record_llama.py" \
        "$TT_ENGINES/$engine" tiny.gguf plain >preloaded.txt 2>preloaded.err || fail "$engine: run"
    same "$engine, preloaded: tokens" plain.txt preloaded.txt
    llama late a.ttrace b.ttrace
    grep -q '^6 .*a\.ttrace .*llama_decode' late.err || fail "$engine: llama_decode is not named as unseen: $(cat late.err)"
    llama whole w.ttrace
    for trace in a b w; do
        verified $trace.ttrace
        "$TT_BIN" info --verbose $trace.ttrace >info.txt
        grep -q 'calls not observed: .*llama_decode' info.txt || fail "$engine: info does not name what is not seen"
        expect "$engine: mode" "$(field preloaded.ttrace mode)" "$(field $trace.ttrace mode)"
    done
    check check_record a.ttrace 4 9 preloaded.ttrace
    check check_record b.ttrace 14 17 preloaded.ttrace
    check check_record w.ttrace 0 23 preloaded.ttrace
done
[ "$tried" -gt 0 ] || { echo "skipped: no engine whose ops pass hooks"; exit 77; }

# The rest once, with the last engine.
llama values v.ttrace c.ttrace
verified v.ttrace
verified c.ttrace
expect "$engine: mode asked for" callback "$(field c.ttrace mode)"
llama threads 6 .
for i in 0 1 2 3 4 5; do
    verified $i.ttrace
done
llama child f.ttrace
expect "child: traces" 2 "$(ls f*.ttrace | wc -l)"
for trace in f*.ttrace; do verified "$trace"; done
llama left l.ttrace
verified l.ttrace
expect "left: batches" 24 "$(field l.ttrace batches)"
llama killed k.ttrace
"$TT_BIN" recover k.ttrace.part >/dev/null 2>&1 || fail "killed: recover"
verified k.ttrace
expect "killed: batches" 24 "$(field k.ttrace batches)"
llama refused r.ttrace

# Under `run` the process is recorded already, and by boost its hooks are there.
rm -f o.ttrace
"$TT_BIN" run -q -o o.ttrace -- python3 -c '
import tensortrace as tt
try:
    tt.record("x.ttrace").start()
except tt.TraceError as error:
    print(error)' >twice.txt 2>&1
grep -q 'recorded already' twice.txt || fail "under run: $(cat twice.txt)"

# A program in C that is bound at once: its slots are closed.
for threads in 1 2; do
    rm -f c1.ttrace c2.ttrace
    "$TT_PROGRAMS/loop-attach" $threads c1.ttrace c2.ttrace 2>loop.err || fail "loop-attach: $(cat loop.err)"
    for trace in c1 c2; do
        verified $trace.ttrace
        expect "loop-attach $threads: records" $((3 * 10 * threads)) "$(field $trace.ttrace op_records)"
    done
done
finish
