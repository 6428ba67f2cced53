# ggml built with longer names (GGML_MAX_NAME) is traced, names in full; tensors that differ in another way
# are refused, by `run` and by `doctor`, also those of the usual size.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
# engine WAY: a folder that doctor takes for ggml.
engine() {
    mkdir "$1"
    cp "$TT_PROGRAMS/libloop_$1_engine.so" "$1/libggml-base.so"
    cp "$TT_PROGRAMS/libloop_$1_engine.so" "$1/libggml-cpu.so"
}
engine named
engine strange
engine older

"$TT_BIN" run -q -o named.ttrace -- "$TT_PROGRAMS/loop-named" 2
expect "named: exit code" 0 $?
verified named.ttrace
expect "named: graphs" 1 "$(field named.ttrace graphs)"
"$TT_BIN" graph --json named.ttrace | grep -o '"node-[0-9]*"' | sort -u >names
expect "named: names" 11 "$(wc -l <names)"
expect "named: their lengths" "129" "$(awk '{ print length($0) }' names | sort -u)"
"$TT_BIN" doctor --json --engine named >doctor.json
expect "named: doctor's exit code" 0 $?
expect "named: doctor's mode" hook "$(sed -n 's/^  "mode": "\(.*\)",$/\1/p' doctor.json)"
grep -q '"is_layout_known": true' doctor.json || fail "named: doctor does not know the layout"
"$TT_BIN" doctor --engine named | grep -q 'ggml_tensor *layout known (432 bytes with its header, names of 128)' || fail "named: doctor does not tell the size of names"

for way in strange older; do
    "$TT_BIN" run -o $way.ttrace -- "$TT_PROGRAMS/loop-$way" 2 2>err.txt
    expect "$way: exit code" 3 $?
    grep -q 'struct ggml_tensor has an unknown layout' err.txt || fail "$way: no reason: $(cat err.txt)"
    "$TT_BIN" doctor --engine $way >doctor.txt
    expect "$way: doctor's exit code" 1 $?
    grep -q "^Tracing cannot work: the engine's struct ggml_tensor has an unknown layout" doctor.txt || fail "$way: doctor has another reason"
    grep -q '^Mode: none$' doctor.txt || fail "$way: doctor names a mode"
done
finish
