#!/bin/sh
# check_damaged.sh TENSORTRACE HOSTILE_TRACE [all|half|threads]: every command that reads a trace on
# traces damaged in many ways: it ends, in time, with 0, 1 or 2, and says something when it is not 0.
# Sanitizers take seconds for what takes none without: half of the traces, or a fourth and only the
# commands that have several threads.
set -u
program=$1
which=${3:-all}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$2" "$work/hostile.ttrace" values || exit 1
failed=0
runs=0
unset COLUMNS
export LC_ALL=C
# What a sanitizer finds is not a check that failed.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:exitcode=99" UBSAN_OPTIONS="${UBSAN_OPTIONS:-}:exitcode=99"

# zeros FILE FROM BYTES: as a power cut leaves a block.
zeros() {
    dd if=/dev/zero of="$1" bs=1 seek="$2" count="$3" conv=notrunc 2>/dev/null
}

# letter FILE FROM: one byte is another.
letter() {
    printf '\125' | dd of="$1" bs=1 seek="$2" count=1 conv=notrunc 2>/dev/null
}

threaded="export --format perfetto --flows -o /dev/null
export --format bin64 -o /dev/null
export --format csv --force -o $work/csv
export --format dataset --force -o $work/dataset
export --format parquet --force -o $work/parquet
diff $work/t.ttrace"

# Nothing for a thread sanitizer to find.
single="info
info --json
stats
stats --by tensor --json
log --limit 50
log --json --limit 5
buffers
buffers --json
graph
graph --json
heat
heat --by tensor --json
routing
routing --json
faults
faults --json
whatif --ram 1M --disk 1G
export --format dot --force -o $work/dot
report --no-measure --json
values
values --json --samples
values --by place --json
values --first-bad --json
values --growth --place ffn_out
values --outliers --json
diff --values $work/t.ttrace
diff --values $work/hostile.ttrace --json
diff --values $here/bitnet/good
export --format npy --force -o $work/npy
export --format bitnet --all --force -o $work/bitnet
verify
verify --json"
[ "$which" = threads ] && single=

tries=0

try() {
    tries=$((tries + 1))
    case $which in
    half) [ $((tries % 2)) = 1 ] || return 0 ;;
    threads) [ $((tries % 4)) = 1 ] || return 0 ;;
    esac
    while read -r command <&3; do
        [ "$command" ] || continue
        # shellcheck disable=SC2086 # words
        set -- $command
        verb=$1
        shift
        timeout 60 "$program" "$verb" "$work/t.ttrace" "$@" >"$work/out" 2>"$work/err"
        code=$?
        runs=$((runs + 1))
        case $code in
        0) ;;
        1 | 2) [ -s "$work/out" ] || [ -s "$work/err" ] || {
            echo "FAILED: $command on $what: $code, and not a word"
            failed=$((failed + 1))
        } ;;
        *)
            echo "FAILED: $command on $what: exit code $code"
            head -n 20 "$work/err"
            failed=$((failed + 1))
            ;;
        esac
    done 3<<EOF
$single
$threaded
EOF
}

cp "$here/good-memory-experts.ttrace" "$here/good-zstd.ttrace" "$work"
for file in good-memory-experts good-zstd hostile; do
    size=$(wc -c <"$work/$file.ttrace")
    part=0
    while [ $part -lt 8 ]; do
        at=$((size * part / 8 + part * 7))
        what="$file, cut at $at"
        head -c $at "$work/$file.ttrace" >"$work/t.ttrace"
        try
        what="$file, zeros from $at"
        cp "$work/$file.ttrace" "$work/t.ttrace"
        zeros "$work/t.ttrace" $at 600
        try
        what="$file, a letter at $at and $((at / 2))"
        cp "$work/$file.ttrace" "$work/t.ttrace"
        letter "$work/t.ttrace" $at
        letter "$work/t.ttrace" $((at / 2))
        try
        part=$((part + 1))
    done
done
for file in "$here"/bad-*.ttrace "$work/hostile.ttrace"; do
    what=${file##*/}
    cp "$file" "$work/t.ttrace"
    try
done
echo "$runs commands, $failed failures"
# Fewer commands are a loop that ended early.
[ $failed = 0 ] && [ $runs -ge 90 ]
