# Long runs: memory, area and file stay as large as they are; the last is kept; snapshots; a kill.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model tiny
engine=$TT_ENGINES/$(engines | tail -n 1)
batches=60000

# rss FILE BATCH: KiB of the process's own memory when so many tenths of the batches were done.
rss() {
    awk -v n="$2" '$1 == "rss" && ++i == n { print $3 }' "$1"
}

# flat NAME FILE: from the fifth tenth to the last, less than two megabytes more: 64 bytes a batch.
flat() {
    half=$(rss "$2" 5)
    whole=$(rss "$2" 10)
    [ $((whole - half)) -lt 2048 ] || fail "$1: memory grows from $half to $whole KiB"
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
[ "$size" -le 1310720 ] || fail "ring: $size bytes"
[ "$size" -ge 524288 ] || fail "ring: only $size bytes are left of a megabyte"
held=$("$TT_BIN" stats --by token --json flight.ttrace | grep -c '"token_id"')
[ "$held" -gt 1000 ] || fail "ring: it holds $held tokens"
last=$("$TT_BIN" stats --by token --json flight.ttrace | sed -n 's/.*"token_id": \([0-9]*\).*/\1/p' | tail -n 1)
expect "ring: the last token" $((batches - 1)) "$last"
"$TT_BIN" info flight.ttrace | grep -q "a flight recorder of 1.0 MiB: the last .* of 60,000 batches" ||
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
    rm -f s*.ttrace
    # shellcheck disable=SC2086
    "$TT_BIN" run $ring -o s.ttrace -- "$TT_PROGRAMS/endless" "$engine" tiny.gguf $batches >s.txt 2>s.err &
    pid=$!
    for n in 1 2; do
        sleep 1
        kill -USR1 $pid
        for i in 1 2 3 4 5 6 7 8 9 10; do
            [ -f s-snapshot-$n.ttrace ] && break
            sleep 0.2
        done
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

# `info` of a part that is being written; what it was about to read may be thrown away under it,
# which it then says.
while_written() {
    for try in 1 2 3 4 5 6 7 8 9 10; do
        "$TT_BIN" info "$1" >while.txt 2>&1 && return
        grep -q "the flight recorder threw this part away" while.txt || break
    done
    fail "a part that is written: $(cat while.txt)"
}

# Killed in the middle: as it was, readable; finished, without its hole.
for i in 1 2 3; do
    rm -f k.ttrace k.ttrace.part
    "$TT_BIN" run -q --ring 1M -o k.ttrace -- "$TT_PROGRAMS/endless" "$engine" tiny.gguf 10000000 \
        >k.txt 2>k.err &
    pid=$!
    sleep $((i + 1))
    while_written k.ttrace.part
    kill -9 "$(pgrep -P $pid)"
    wait $pid
    verified k.ttrace
    size=$(wc -c <k.ttrace)
    [ "$size" -le 2621440 ] || fail "killed: $size bytes"
done
finish
