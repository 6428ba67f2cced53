#!/bin/sh
# test_memory.sh TENSORTRACE GENTRACE: what reading takes does not grow with the op records. A trace
# that is larger than all the memory the reader may have (its libraries included) is checked,
# summed up and paged through; the answers are those given without a limit.
set -eu
tensortrace=$1 gentrace=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
kib=90000 # of address space

"$gentrace" --records 24000000 -o large.ttrace >made
bytes=$(wc -c <large.ttrace)
"$gentrace" --records 500000 --lanes 3 --experts 8 --layers 6 --faults --usage -o small.ttrace >made
"$tensortrace" verify small.ttrace >out || { cat out; exit 1; }
# Of a large model what is in RAM does not fit one record.
"$gentrace" --layers 24 --experts 64 --usage --tokens 2 -o wide.ttrace >made
"$tensortrace" verify wide.ttrace >out || { cat out; exit 1; }

# limited ARGS...: the same output, with and without the limit.
limited() {
    "$tensortrace" "$@" >free.out
    if ! (ulimit -v $kib && exec "$tensortrace" "$@") >limited.out; then
        echo "FAILED within $kib KiB: tensortrace $*"
        exit 1
    fi
    cmp free.out limited.out || { echo "FAILED: $* says something else under a limit"; exit 1; }
}

[ "$bytes" -gt $((kib * 1024)) ] || { echo "FAILED: a trace of $bytes bytes is no test"; exit 1; }
limited stats --json large.ttrace
limited stats --json --by layer large.ttrace
limited log --json --batch 20000 large.ttrace
limited log --json --batch 33000..33001 --lanes --op MUL_MAT large.ttrace
limited log --limit 50 large.ttrace
limited log --tensor "*ffn_out-7" --limit 30000 large.ttrace
# What is exported does not have to be in memory either.
for format in perfetto bin64; do
    (ulimit -v $kib && exec "$tensortrace" export --format $format --threads 1 -o /dev/null large.ttrace) || {
        echo "FAILED within $kib KiB: export --format $format"
        exit 1
    }
done
# What is short of memory says so, with an exit code of its own: neither the usage nor the trace is at fault.
short=0
for kib in 20000 24000 28000 32000 36000 40000 45000 50000 55000 60000 70000; do
    for command in heat routing "report --json" "stats --by tensor"; do
        code=0
        (ulimit -v $kib && exec "$tensortrace" $command small.ttrace) >short.out 2>short.err || code=$?
        case $code in
        0) ;;
        4) grep -q "memory" short.err || { echo "FAILED: $command: $(cat short.err)"; exit 1; }
            short=$((short + 1)) ;;
        127) ;; # not even the libraries fit
        *) echo "FAILED within $kib KiB: $command: exit code $code: $(cat short.err)"; exit 1 ;;
        esac
    done
done
[ $short -gt 10 ] || { echo "FAILED: only $short times short of memory"; exit 1; }
count=$("$tensortrace" stats --json --by thread large.ttrace | awk -F '[:,]' '/"count"/ { n = $2 } END { print n }')
records=$("$gentrace" --records 24000000 -o large.ttrace | awk '{ print $1 + 0 }')
[ "$count" -eq "$records" ] || { echo "FAILED: $count of $records records"; exit 1; }
echo "passed: $bytes bytes of trace within $kib KiB"
