# Limits on address space (ulimit -v): at each, a traced program does what it does untraced; where
# too little is left for both, nothing is traced, and that is said.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model tiny
engine=$TT_ENGINES/$(engines | tail -n 1)
program="$TT_PROGRAMS/endless $engine tiny.gguf 200"
traced=0 refused=0 kib=200000
while [ $kib -le 1400000 ]; do
    (ulimit -v $kib && exec $program >plain.txt 2>plain.err)
    wanted=$?
    rm -f l.ttrace
    (ulimit -v $kib && exec "$TT_BIN" run -o l.ttrace -- $program >out.txt 2>err.txt)
    code=$?
    same "$kib KiB: text" plain.txt out.txt
    if [ $code = 3 ]; then
        # Of what untraced fails nothing needs to be said but that.
        [ $wanted != 0 ] || grep -q "nothing was traced: the limit on address space" err.txt ||
            fail "$kib KiB: $(cat err.txt)"
        refused=$((refused + 1))
    else
        expect "$kib KiB: exit code" $wanted $code
        verified l.ttrace
        [ $wanted != 0 ] || traced=$((traced + 1))
    fi
    kib=$((kib + 40000))
done
[ $traced -gt 0 ] || fail "nothing was traced at any limit"
[ $refused -gt 0 ] || fail "nothing was refused at any limit"
finish
