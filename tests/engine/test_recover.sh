# `recover` killed as it enters each of its system calls: a second one makes the same of what is
# left.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model tiny
engine=$(engines | tail -n 1)
hook=$("$TT_BIN" doctor --json 2>/dev/null | sed -n 's/.*"hook_library": "\(.*\)".*/\1/p')
LD_PRELOAD=$hook TENSORTRACE_OUT=r.ttrace TENSORTRACE_THREAD_MEMORY=64K "$TT_BIN" runner -m tiny.gguf \
    --engine "$TT_ENGINES/$engine" -p Hello -n 100000 -c 4096 --ignore-eos -t 1 >/dev/null 2>&1 &
program=$!
# Some of it in the file, the rest in shared memory.
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ "$(cat r.ttrace.part 2>/dev/null | wc -c)" -gt 60000 ] && break
    sleep 0.3
done
kill -9 $program
wait $program 2>/dev/null
id=$(od -An -tx1 -j16 -N8 r.ttrace.part | tr -d ' \n')
area=/dev/shm/tensortrace-$id.area
[ -f "$area" ] || { echo "skipped: the area is not in /dev/shm"; exit 77; }
cp r.ttrace.part kept.part
cp --sparse=always "$area" kept.area

# whole NAME: r.ttrace is what the first recovery made, and nothing else is left.
whole() {
    "$TT_BIN" verify r.ttrace >verify.out 2>&1 || { fail "$1: verify"; cat verify.out; }
    expect "$1: records" "$records" "$(field r.ttrace op_records)"
    [ -e r.ttrace.part ] && fail "$1: a part file stays"
    [ -e "$area" ] && fail "$1: the area stays"
}

"$TT_BIN" recover r.ttrace >out.txt 2>&1 || { fail "recover"; cat out.txt; }
records=$(field r.ttrace op_records)
[ -n "$records" ] || fail "info tells no op_records"
whole "not interrupted"
n=1
while [ $n -lt 2000 ]; do
    rm -f r.ttrace r.ttrace.part
    cp kept.part r.ttrace.part
    cp --sparse=always kept.area "$area"
    "$TT_PROGRAMS/stop_at" $n "$TT_BIN" recover r.ttrace >/dev/null 2>&1
    case $? in
    0) ;;
    3) break ;;
    77) echo "skipped: no tracing of programs here"; rm -f "$area"; exit 77 ;;
    *) fail "stop_at $n"; break ;;
    esac
    "$TT_BIN" recover r.ttrace >out.txt 2>&1 || { fail "recover after $n"; cat out.txt; }
    whole "after $n system calls"
    [ $failures -gt 5 ] && break
    n=$((n + 1))
done
rm -f "$area"
echo "killed at each of $((n - 1)) system calls"
[ $n -gt 20 ] || fail "only $n system calls"
finish
