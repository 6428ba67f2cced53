#!/bin/sh
# test_import.sh TENSORTRACE MEASURE: what `import` holds does not grow with the file, and the kernel refuses it
# more than 300 MB of address space: files at its limits are imported in that, and those beyond are refused by name.
set -eu
tensortrace=$1 measure=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
kib=300000

# tokens N: picks of N tokens, two experts in each of two layers.
tokens() {
    awk -v n="$1" 'BEGIN {
        print "token,layer,expert"
        for (i = 0; i < n; i++) print i ",0," i % 60 "\n" i ",0," 60 + i % 4 "\n" i ",1," i % 50 "\n" i ",1," 50 + i % 14
    }'
}
# peak FILE: the largest resident set of importing it, in bytes.
peak() {
    "$measure" 1 "$tensortrace" import "$1" --expert-bytes 1M --force -o "$1.ttrace" | awk '{ print $4 }'
}
# limited CODE FILE [WORDS]: imports it within the limit; the exit code, and what is said.
limited() {
    code=0
    (ulimit -v $kib && exec "$tensortrace" import "$2" --expert-bytes 1M --force -o out.ttrace) >said 2>&1 || code=$?
    [ "$code" = "$1" ] || { echo "FAILED: $2: exit code $code: $(tail -n 1 said)"; exit 1; }
    [ "$code" = 0 ] || grep -q "${3:-}" said || { echo "FAILED: $2 is refused without \"$3\": $(cat said)"; exit 1; }
}

tokens 50000 >short.csv
tokens 400000 >long.csv
short=$(peak short.csv) long=$(peak long.csv)
[ "$short" -gt 1000000 ] && [ "$long" -lt $((short + 4000000)) ] || {
    echo "FAILED: $long bytes for a file eight times as long, $short for the short one"
    exit 1
}
# The highest numbers that there can be: a model of that shape.
printf 'token,layer,expert\n0,0,0\n0,4095,65535\n' >corner.csv
limited 0 corner.csv
printf 'token,layer,expert\n0,4096,0\n' >layers.csv
limited 2 layers.csv 4095
printf 'token,layer,expert\n0,0,65536\n' >experts.csv
limited 2 experts.csv 65535
# All picks of a token are held: 4,194,304 of a batch.
awk 'BEGIN { print "token,layer,expert"; for (l = 0; l < 4096; l++) for (k = 0; k < 1025; k++) print "0," l "," k }' >wide.csv
limited 2 wide.csv 1024
# As many names as are allowed, and one more.
awk 'BEGIN { for (i = 0; i < 1048577; i++) print "{\"token\":0,\"request\":\"r" i "\",\"layer\":0,\"topk_ids\":[1]}" }' >names.jsonl
limited 2 names.jsonl 1048576
head -n 1048576 names.jsonl >most.jsonl
limited 0 most.jsonl
# One line without an end, and lists in lists.
head -c 100000000 /dev/zero | tr '\0' 1 >line.csv
limited 2 line.csv line
head -c 900000 /dev/zero | tr '\0' '[' >deep.jsonl
limited 2 deep.jsonl deep.jsonl
echo "passed: $long bytes for a file of $(wc -c <long.csv)"
