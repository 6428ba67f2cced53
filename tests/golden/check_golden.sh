#!/bin/sh
# check_golden.sh TENSORTRACE MAKE_TRACE DUMP_MEMORY: the golden traces read as they should, and
# the second decoder agrees with the first on them and on traces made now.
set -u
program=$1
make_trace=$2
dump_memory=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
skipped=0
# Lines are looked at whole: no width to cut them to.
unset COLUMNS
export LC_ALL=C

fail() {
    echo "FAILED: $*"
    failed=$((failed + 1))
}

# good FILE [CODE]: CODE is what verify returns.
good() {
    "$program" verify "$1" >"$work/out" 2>&1
    [ $? = "${2:-0}" ] || { fail "verify $1"; cat "$work/out"; }
    for command in info stats log; do
        "$program" "$command" "$1" >"$work/out" 2>&1 || { fail "$command $1"; cat "$work/out"; }
    done
    python3 "$here/decode.py" --compare "$program" "$dump_memory" "$1"
    case $? in
    0) ;;
    77) skipped=$((skipped + 1)) ;;
    *) fail "the two decoders differ on $1" ;;
    esac
}

for file in "$here"/good-*.ttrace; do
    case $file in
    *killed*) good "$file" 1 ;; # cut off, and not recovered
    *) good "$file" ;;
    esac
done

for kind in good-zstd good-plain good-shift good-experts good-killed good-one-clock \
    good-memory good-memory-experts good-extents good-faults good-loading good-pool memory-zstd memory-killed; do
    "$make_trace" "$kind" "$work/fresh.ttrace" 40 4 3 || fail "make_trace $kind"
    case $kind in
    *killed*) good "$work/fresh.ttrace" 1 ;;
    *) good "$work/fresh.ttrace" ;;
    esac
    # What was committed is what is made today, where compression has no say.
    "$make_trace" "$kind" "$work/fresh.ttrace" || fail "make_trace $kind"
    case $kind in
    good-plain | good-memory | good-memory-experts | good-extents | good-faults | good-loading | good-pool)
        cmp "$work/fresh.ttrace" "$here/$kind.ttrace" ||
            fail "make_trace no longer makes $kind.ttrace: make the golden traces anew, and say why"
        ;;
    esac
done

while read -r file command code words; do
    case $file in '#'* | '') continue ;; esac
    "$program" "$command" "$here/$file" >"$work/out" 2>&1
    got=$?
    [ "$got" = "$code" ] || fail "$command $file: exit code $got, expected $code"
    grep -qF -- "$words" "$work/out" || {
        fail "$command $file does not say \"$words\""
        cat "$work/out"
    }
done <"$here/bad.txt"

[ "$skipped" = 0 ] || echo "$skipped comparisons skipped: libzstd or libxxhash is missing"
[ "$failed" = 0 ]
