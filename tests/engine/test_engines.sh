# Every engine, with its own pool, one to many threads, flash attention on and off, mapped and
# not: the text is that of the untraced run, the trace is sound, and it was observed as
# promised, and as `doctor` had said.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model tiny
for engine in $(engines); do
    "$TT_BIN" doctor --json --engine "$TT_ENGINES/$engine" >doctor.json
    expect "$engine: doctor exit code" 0 $?
    case $engine in b4234) mode=callback ;; *) mode=hook ;; esac
    for how in "-t 1" "-t 2" "-t 2 --flash-attn on" "-t 2 --flash-attn off" "-t 2 --no-mmap" "-t 2 -b 32 --ubatch 16" "-t 4 -n 1"; do
        # More threads than processors spin for each other.
        [ "$how" != "-t 4 -n 1" ] || is_last "$engine" || continue
        prompt="Once upon a time there was a prompt that was longer than a batch of sixteen tokens"
        set -- -m tiny.gguf --engine "$TT_ENGINES/$engine" -p "$prompt" -n 8 --ignore-eos $how
        "$TT_BIN" runner "$@" --result plain.json >plain.txt 2>plain.err
        expect "$engine $how: untraced exit code" 0 $?
        "$TT_BIN" run --force -q -o t.ttrace "$@" >traced.txt 2>traced.err
        expect "$engine $how: traced exit code" 0 $?
        same "$engine $how: text" plain.txt traced.txt
        same "$engine $how: messages" plain.err traced.err
        verified t.ttrace
        expect "$engine $how: mode" $mode "$(field t.ttrace mode)"
        expect "$engine $how: mode of doctor" $mode "$(sed -n 's/^  "mode": "\(.*\)",$/\1/p' doctor.json)"
        expect "$engine $how: dropped" 0 "$(field t.ttrace ops_dropped)"
        expect "$engine $how: unresolved" 0 "$(field t.ttrace ops_unresolved)"
        decoded=$(sed -n 's/.*"decoded_tokens": \([0-9]*\).*/\1/p' plain.json)
        expect "$engine $how: tokens" "$decoded" "$(field t.ttrace decode_tokens)"
    done
done
finish
