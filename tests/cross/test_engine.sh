# Real llama.cpp on another processor, traced by that processor's command and hook library: the tokens
# are those of this machine, every op has an end, and the clock is the processor's counter.
. "$TT_SOURCE_DIR/tests/cross/lib.sh"
need_engines

# traced TRACE OPTIONS...: by the other processor's `run`. Without the kernel's help it cannot start a program
# of its own kind, so it starts the emulator.
traced() {
    trace=$1
    shift
    # shellcheck disable=SC2086
    cross run -q --force -o "$trace" "$@" -- $TT_EMULATOR "$TT_CROSS" runner --engine "$TT_CROSS_ENGINE" $words --write-ids "$trace.ids"
}

for preset in tiny moe; do
    model $preset
    for threads in 1 2; do
        about="$preset, $threads threads"
        words="-q -m $preset.gguf -p wisteria -n 8 -t $threads --ignore-eos"
        # shellcheck disable=SC2086
        "$TT_BIN" runner --engine "$TT_ENGINE" $words --write-ids here.ids >here.txt 2>err.txt || fail "$about: $(cat err.txt)"
        # shellcheck disable=SC2086
        cross runner --engine "$TT_CROSS_ENGINE" $words --write-ids plain.ids >plain.txt 2>err.txt || fail "$about: untraced: $(cat err.txt)"
        traced t.ttrace >traced.txt 2>err.txt || fail "$about: traced: $(cat err.txt)"
        same "$about: tokens, untraced" here.ids plain.ids
        same "$about: tokens" here.ids t.ttrace.ids
        same "$about: text" here.txt traced.txt
        verified t.ttrace
        expect "$about: mode" hook "$(field t.ttrace mode)"
        expect "$about: clock" cntvct "$(field t.ttrace ticks)"
        expect "$about: frequency" "$(emulated "$TT_PROGRAMS/counter_hz")" "$(field t.ttrace tick_hz)"
        for what in ops_dropped ops_unresolved; do
            expect "$about: $what" 0 "$(field t.ttrace $what)"
        done
        # This engine is clang's: its barriers between ops are compiled in.
        waits=
        [ $threads = 1 ] || waits="not observed: this build of the engine calls no ggml_barrier between its ops"
        expect "$about: waits" "$waits" "$(field t.ttrace waits)"
    done
done

# Fingerprints that were taken there, of data that is in the trace, too, are those that this machine computes.
words="-q -m tiny.gguf -p wisteria -n 2 -t 2 --ignore-eos"
traced v.ttrace --values=full >/dev/null 2>err.txt || fail "values: $(cat err.txt)"
verified v.ttrace
grep -q '^values  *passed' verify.out || fail "values were not verified: $(cat verify.out)"
finish
