# Node modules that hold a whole engine in one file (npm's @fugood/node-llama and node-whisper): their
# barrier is in the compute loop, and what sets the scheduler's callback is inlined. Ops and graph
# computations are those that a counter of its own sees in the same process, in either mode.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
command -v node >/dev/null || { echo "skipped: no node"; exit 77; }
modules=$TT_NODE_MODULES/@fugood
[ -d "$modules" ] || { echo "skipped: @fugood's modules are not fetched"; exit 77; }
export NODE_NO_WARNINGS=1
# Threads of OpenMP that spin take the machine from the others.
export OMP_WAIT_POLICY=passive
counter=$TT_PROGRAMS/libcount_ops.so
model tiny
python3 "$TT_SOURCE_DIR/tests/engine/record_whisper.py" "" whisper.bin || fail "no model of whisper"

# traced MODE MODULE MODEL: as MODE.ttrace; what is printed and counted is as without.
traced() {
    mode=$1
    shift
    set -- node "$TT_SOURCE_DIR/tests/engine/programs/one_file.cjs" "$@"
    rm -f counts
    "$@" >plain.txt 2>plain.err || fail "$*: $(tail -n 1 plain.err)"
    COUNT_OPS=$PWD/counts "$TT_BIN" run --force -q --mode="$mode" -o "$mode.ttrace" -- \
        sh -c 'LD_PRELOAD=$0:$LD_PRELOAD exec "$@"' "$counter" "$@" >traced.txt 2>traced.err || fail "$mode: $(tail -n 1 traced.err)"
    same "$mode: what is printed" plain.txt traced.txt
    verified "$mode.ttrace"
    read -r ops rows computations <counts
    [ "$ops" -gt 500 ] || fail "$mode: few ops counted: $ops"
    expect "$mode: ops" "$ops" "$(field "$mode.ttrace" ops)"
    expect "$mode: graph computations" "$computations" "$(field "$mode.ttrace" runs)"
}

for module in node-llama-linux-x64 node-whisper-linux-x64; do
    file=tiny.gguf
    [ "$module" = node-llama-linux-x64 ] || file=whisper.bin
    traced auto "$modules/$module" $file
    expect "$module: mode" hook "$(field auto.ttrace mode)"
    # A thread that is alone waits for nobody.
    [ "$(field auto.ttrace threads)" = 1 ] ||
        "$TT_BIN" info auto.ttrace | grep -q '^waits *not observed: this build of the engine calls no ggml_barrier' || fail "$module: waits"
    "$TT_BIN" doctor --engine "$modules/$module" >doctor.txt || fail "$module: doctor"
    grep -qx 'Mode: hook' doctor.txt || fail "$module: doctor: $(grep '^Mode' doctor.txt)"
    grep -q 'no calls of ggml_barrier: threads' doctor.txt || fail "$module: doctor says nothing of waits"
done
traced callback "$modules/node-llama-linux-x64" tiny.gguf
expect "mode" callback "$(field callback.ttrace mode)"
finish
