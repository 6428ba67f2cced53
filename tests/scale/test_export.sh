#!/bin/sh
# test_export.sh TENSORTRACE GENTRACE: what an export takes does not grow with the trace, and
# interrupted it leaves nothing behind. The tables of the trace are larger than all the memory the
# program may have (its libraries included).
set -eu
tensortrace=$1 gentrace=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
kib=600000 # of address space

"$gentrace" --records 2000000 -o large.ttrace >made
if ! (ulimit -v $kib && exec "$tensortrace" export large.ttrace --format csv --compress zstd --threads 2 -o tables) 2>told; then
    echo "FAILED within $kib KiB: $(cat told)"
    exit 1
fi
rows=$(sed -n 's/.* files, \([0-9,]*\) rows.*/\1/p' told | tr -d ,)
records=$(awk '{ print $1 + 0 }' made)
[ "${rows:-0}" -gt "$records" ] || { echo "FAILED: $rows rows of $records records"; exit 1; }
if command -v zstd >/dev/null; then
    bytes=$(cat tables/*.zst | zstd -dc | wc -c)
    [ "$bytes" -gt $((kib * 1024)) ] || { echo "FAILED: tables of $bytes bytes are no test"; exit 1; }
    lanes=$(zstd -dcq tables/lanes.csv.zst | wc -l)
    [ "$lanes" -eq $((records + 1)) ] || { echo "FAILED: $lanes lines of $records records"; exit 1; }
fi

# In the middle of it: the unfinished folder is there.
"$tensortrace" export large.ttrace --format csv --threads 1 -o cut 2>told &
process=$!
tries=0
until ls -d cut.*.part >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 1000 ] || { echo "FAILED: no unfinished folder appeared"; exit 1; }
    sleep 0.01
done
kill -TERM $process
code=0
wait $process || code=$?
[ $code -eq 143 ] || { echo "FAILED: ended by SIGTERM with $code: $(cat told)"; exit 1; }
left=$(ls -d cut* 2>/dev/null || true)
[ -z "$left" ] || { echo "FAILED: SIGTERM left $left"; exit 1; }
echo "passed: $rows rows within $kib KiB"
