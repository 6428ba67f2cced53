# A program that owns its context records itself with one line, on every engine: the text is the
# same, the digests are those of the hooks, and of the callback under `run`.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model tiny
for engine in $(engines | grep -v openmp); do
    set -- "$TT_PROGRAMS/owner" "$TT_ENGINES/$engine" tiny.gguf 3
    "$@" >plain.txt 2>err.txt
    expect "$engine: exit code" 0 $?
    rm -f own.ttrace
    TENSORTRACE=own.ttrace TENSORTRACE_VALUES=hash "$@" >recorded.txt 2>err.txt
    expect "$engine: exit code, recorded" 0 $?
    same "$engine: text" plain.txt recorded.txt
    verified own.ttrace
    expect "$engine: mode" api "$(field own.ttrace mode)"
    "$TT_BIN" run --force -q --values=hash --mode callback -o run.ttrace -- "$@" >run.txt 2>err.txt
    same "$engine: text under run" plain.txt run.txt
    "$TT_PROGRAMS/values" own.ttrace >own.values
    "$TT_PROGRAMS/values" run.ttrace >run.values
    [ "$(wc -l <own.values)" -gt 200 ] || fail "$engine: only $(wc -l <own.values) values"
    same "$engine: values" own.values run.values
    "$TT_BIN" run --force -q --values=hash --mode auto -o hook.ttrace -- "$@" >run.txt 2>err.txt
    "$TT_PROGRAMS/values" hook.ttrace | sort >hook.values
    # Where the hooks see two nodes computed in one call, the first has no output of its own.
    sort own.values | comm -13 - hook.values >other.txt
    [ -s hook.values ] && [ ! -s other.txt ] || fail "$engine: the hooks have other values: $(head -n 3 other.txt)"
    for trace in own run; do
        "$TT_BIN" log --limit 0 "$trace.ttrace" | awk 'NR > 1 { print $2, $3, $5, $6 }' >$trace.log
    done
    same "$engine: tokens, phases and ops" own.log run.log
done
engine=$(engines | grep -v openmp | tail -n 1)
set -- "$TT_PROGRAMS/owner" "$TT_ENGINES/$engine" tiny.gguf
rm -f own.ttrace
TENSORTRACE=own.ttrace "$@" 3 chain >chained.txt 2>err.txt
expect "chained: exit code" 0 $?
same "chained: text" plain.txt chained.txt
expect "chained: the program's own callback" 'asked 3, shown 3' "$(cat err.txt)"
verified own.ttrace
rm -f own.ttrace
TENSORTRACE=own.ttrace TENSORTRACE_VALUES=hash "$@" 5 stop >stopped.txt 2>err.txt
expect "stopped: exit code" 0 $?
verified own.ttrace
verified second.ttrace
expect "stopped: batches" '3 2' "$("$TT_PROGRAMS/values" own.ttrace | cut -d' ' -f1 | sort -u | wc -l) $("$TT_PROGRAMS/values" second.ttrace | cut -d' ' -f1 | sort -u | wc -l)"
finish
