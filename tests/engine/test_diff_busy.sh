# Two runs beside a program that wants the same processor, and a third one whose ffn_down has more work.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
command -v taskset >/dev/null || { echo "skipped: no taskset"; exit 77; }
[ -d "$TT_ENGINES/v0.5.0" ] || { echo "skipped: engine v0.5.0 was not fetched"; exit 77; }
"$TT_BIN" synth --force -o m.gguf --embd 256 --ffn 704 --layers 6 --heads 4 --kv-heads 2 --type Q8_0 2>/dev/null || fail synth
cpu=$(taskset -cp $$ | sed 's/.*[:, -]//')

# trace NAME STEPS
trace() {
    SLOW_OP='*ffn_down*' SLOW_STEPS=$2 taskset -c "$cpu" "$TT_BIN" run --force -q -o "$1.ttrace" -- \
        sh -c 'LD_PRELOAD=$0:$LD_PRELOAD exec "$@"' "$TT_PROGRAMS/libslow_op.so" \
        "$TT_BIN" runner -q -m m.gguf --engine "$TT_ENGINES/v0.5.0" -p Once -n 100 -t 1 --ignore-eos \
        >/dev/null 2>err.txt || fail "run $1: $(cat err.txt)"
}

hogs=
for i in 1 2; do
    taskset -c "$cpu" sh -c 'while :; do :; done' &
    hogs="$hogs $!"
done
trap 'kill $hogs' EXIT
trace a 0
trace b 0
trace c 150000
python3 "$TT_SOURCE_DIR/tests/engine/check_diff_busy.py" "$TT_BIN" a.ttrace b.ttrace c.ttrace
code=$?
[ $code = 77 ] && exit 77
[ $code = 0 ] || fail "diff on a busy machine"
finish
