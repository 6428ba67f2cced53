# A trace of one processor is read on the other: all that is said about it is equal, byte for byte.
. "$TT_SOURCE_DIR/tests/cross/lib.sh"
need_engines
model moe
words="-q -m moe.gguf -p wisteria -n 4 -t 2 --ignore-eos"
# shellcheck disable=SC2086
"$TT_BIN" run -q -o here.ttrace --engine "$TT_ENGINE" $words --values=stats >/dev/null || fail "here: exit code"
# shellcheck disable=SC2086
(export LD_PRELOAD="$TT_CROSS_HOOK" TENSORTRACE_OUT="$PWD/there.ttrace" TENSORTRACE_VALUES=stats &&
    cross runner --engine "$TT_CROSS_ENGINE" $words) >/dev/null 2>err.txt || fail "there: $(cat err.txt)"

for trace in here there; do
    while read -r command; do
        # shellcheck disable=SC2086
        "$TT_BIN" $command $trace.ttrace >here.out 2>&1 || fail "$command $trace: exit code"
        # shellcheck disable=SC2086
        cross $command $trace.ttrace >there.out 2>&1 || fail "$command $trace, there: exit code"
        same "$command $trace.ttrace" here.out there.out
    done <<END
info --json
verify
stats --json
stats --by layer --csv
heat --by expert --json
log --json --limit 300
routing --json
buffers --json
values --json
whatif --ram 1M --json
report --no-measure --json
report --no-measure
END
    for format in perfetto parquet; do
        "$TT_BIN" export --format $format -o here.$format $trace.ttrace >err.txt 2>&1 || fail "export $format $trace: $(cat err.txt)"
        cross export --format $format -o there.$format $trace.ttrace >err.txt 2>&1 || fail "export $format $trace, there: $(cat err.txt)"
        diff -r here.$format there.$format >/dev/null || fail "export $format $trace: the files differ"
        rm -rf here.$format there.$format
    done
done
"$TT_BIN" diff --values here.ttrace there.ttrace >diff.txt 2>&1
[ $? -le 1 ] || fail "diff --values: $(cat diff.txt)"
finish
