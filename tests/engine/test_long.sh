# Long runs: memory, area and file stay as large as they are; the last is kept; snapshots; a kill.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model tiny
engine=$TT_ENGINES/$(engines | tail -n 1)
batches=20000

# Each context of the engine takes 20 MB and gives it back. As the C library is without this, it soon
# puts them among small allocations, and keeps what was touched of them: 5 MB more, over 100,000
# batches, which are not ours and hide what is.
export MALLOC_MMAP_THRESHOLD_=131072

# flat NAME FILE: what is lost a batch grows in each tenth of the run, by 125 KiB where it is 64
# bytes. Buffers grow in steps, up to what the drain ever found piled up, and where the machine has
# no time for it that may be any tenth: at least three of the nine are to be without growth.
flat() {
    expect "$1: tenths" 10 "$(grep -c '^rss ' "$2")"
    third=$(awk '$1 == "rss" { if (++n > 1) print $3 - last; last = $3 }' "$2" | sort -n | sed -n 3p)
    [ "$third" -lt 100 ] || {
        fail "$1: memory grows all the time"
        grep '^rss ' "$2"
    }
}

# comes FILE PID: waits until the file is there, as long as the process is.
comes() {
    until [ -e "$1" ]; do
        kill -0 "$2" 2>/dev/null || return
        sleep 0.1
    done
}

"$TT_PROGRAMS/endless" "$engine" tiny.gguf $batches >plain.txt 2>plain.err
expect "untraced: exit code" 0 $?

# A flight recorder: the last of it, and no more.
"$TT_BIN" run -q --ring 1M -o flight.ttrace -- "$TT_PROGRAMS/endless" "$engine" tiny.gguf $batches \
    >flight.txt 2>flight.err
expect "ring: exit code" 0 $?
same "ring: text" plain.txt flight.txt
verified flight.ttrace
flat "ring" flight.err
size=$(wc -c <flight.ttrace)
# What it may have too much: a step, and one chunk of a thread's memory.
[ "$size" -le 2097152 ] || fail "ring: $size bytes"
[ "$size" -ge 524288 ] || fail "ring: only $size bytes are left of a megabyte"
held=$("$TT_BIN" stats --by token --json flight.ttrace | grep -c '"batch_id"')
[ "$held" -gt 1000 ] || fail "ring: it holds $held tokens"
last=$("$TT_BIN" stats --by token --json flight.ttrace | sed -n 's/.*"batch_id": \([0-9]*\).*/\1/p' | tail -n 1)
expect "ring: the last token" $((batches - 1)) "$last"
"$TT_BIN" info flight.ttrace | grep -q "a flight recorder of 1.0 MiB: the last .* of 20,000 batches" ||
    fail "ring: info does not say what it is"

# All of it: the file grows, the process does not.
"$TT_BIN" run -q -o all.ttrace -- "$TT_PROGRAMS/endless" "$engine" tiny.gguf $batches >all.txt 2>all.err
expect "all: exit code" 0 $?
same "all: text" plain.txt all.txt
flat "all" all.err
verified all.ttrace

# Some of it costs next to nothing.
"$TT_BIN" run -q --every 1000 -o some.ttrace -- "$TT_PROGRAMS/endless" "$engine" tiny.gguf $batches \
    >some.txt 2>some.err
same "some: text" plain.txt some.txt
verified some.ttrace
expect "some: batches that were not recorded" $((batches - batches / 1000)) "$(field some.ttrace batches_not_asked)"

# Snapshots, one after the other, of a run that goes on.
for ring in "" "--ring 1M"; do
    rm -f s*.ttrace s.err # what is waited for is not to be the last one's
    # shellcheck disable=SC2086
    "$TT_BIN" run $ring -o s.ttrace -- "$TT_PROGRAMS/endless" "$engine" tiny.gguf $batches >s.txt 2>s.err &
    pid=$!
    for n in 1 2; do
        # So much of it is recorded, however long that takes here.
        until [ "$(cat s.err 2>/dev/null | grep -c '^rss ')" -ge $n ] || ! kill -0 $pid 2>/dev/null; do
            sleep 0.1
        done
        kill -USR1 $pid
        comes s-snapshot-$n.ttrace $pid
    done
    wait $pid
    expect "snapshot$ring: exit code" 0 $?
    same "snapshot$ring: text" plain.txt s.txt
    for n in 1 2; do
        [ -f s-snapshot-$n.ttrace ] || fail "snapshot$ring: there is no s-snapshot-$n.ttrace"
        [ -f s-snapshot-$n.ttrace ] || continue
        verified s-snapshot-$n.ttrace
        grep -q "wrote the snapshot .*/s-snapshot-$n.ttrace" s.err || fail "snapshot$ring: nothing is said of $n"
    done
    "$TT_BIN" info s-snapshot-1.ttrace | grep -q "a snapshot: the program went on" ||
        fail "snapshot$ring: info does not say what it is"
    verified s.ttrace
    ls ./*.part >/dev/null 2>&1 && fail "snapshot$ring: a part is left"
done

# `info` of a part that is being written. What it was about to read may be thrown away under it
# each time, which it then says; of one that stands still it can be read.
while_written() {
    for try in 1 2 3 4 5; do
        "$TT_BIN" info "$1" >while.txt 2>&1 ||
            grep -q "the flight recorder threw this part away" while.txt ||
            fail "a part that is written: $(cat while.txt)"
    done
}
standing_still() {
    kill -STOP "$2"
    until [ "$(awk '{ print $3 }' "/proc/$2/stat")" = T ]; do
        sleep 0.1
    done
    "$TT_BIN" info "$1" >while.txt 2>&1 || fail "a part that stands still: $(cat while.txt)"
}

# length FILE: in bytes, of which a flight recorder has thrown most away; 0 while it is not there.
length() {
    stat -c %s "$1" 2>/dev/null || echo 0
}

# Killed in the middle: as it was, readable; finished, without its hole.
for i in 1 2 3; do
    rm -f k.ttrace k.ttrace.part
    "$TT_BIN" run -q --ring 1M -o k.ttrace -- "$TT_PROGRAMS/endless" "$engine" tiny.gguf 10000000 \
        >k.txt 2>k.err &
    pid=$!
    until [ "$(length k.ttrace.part)" -gt $((i * 1500000)) ] || ! kill -0 $pid 2>/dev/null; do
        sleep 0.1
    done
    while_written k.ttrace.part
    program=$(pgrep -P $pid)
    [ $i = 3 ] || standing_still k.ttrace.part "$program"
    kill -9 "$program"
    wait $pid
    verified k.ttrace
    size=$(wc -c <k.ttrace)
    [ "$size" -le 2621440 ] || fail "killed: $size bytes"
done
finish
