# Prompts that a llama-server computes again although it had computed them: which, how many tokens, and why.
# Judged by what the server tells its clients, and by its log.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_newest
need_python
"$TT_BIN" synth --ctx 2048 -o tiny.gguf --force 2>/dev/null || fail "synth"
"$TT_BIN" synth --type F32 --layers 2 --heads 4 --kv-heads 4 --ctx 2048 -o f32.gguf --force 2>/dev/null || fail "synth"
python3 "$TT_SOURCE_DIR/tests/engine/make_arch.py" gemma3 f32.gguf window.gguf || fail "window.gguf"
python3 "$TT_SOURCE_DIR/tests/engine/make_arch.py" mamba f32.gguf state.gguf || fail "state.gguf"
run=$(newest_command)

# asked NAME MODEL OPTIONS REQUESTS LOSS...
asked() {
    about=$1 name=$1 model=$2 options=$3 requests=$4
    shift 4
    "$TT_BIN" run -q -o "$name.ttrace" --force -- $run "$TT_NEWEST/usr/bin/llama-server" -m "$model" -t 1 -c 2048 \
        --no-ui --port 0 -lv 5 $options >"$name.log" 2>&1 </dev/null &
    pid=$!
    python3 "$TT_SOURCE_DIR/tests/engine/ask_again.py" "$name.log" $requests >"$name.json" || fail "$name: requests"
    kill -TERM $pid
    wait $pid
    verified "$name.ttrace"
    check check_recomputed "$name.ttrace" "$name.json" "$name.log" "$@"
}

# Another prompt takes the only slot; one that begins alike. The same one again has all but its last token cached.
asked slot tiny.gguf "-np 1 --cache-ram 0" "a a b a c" removed
# The server keeps the states of what it gives up, and restores them: nothing is computed again.
asked restored tiny.gguf "-np 1" "a b a b c"
# Another slot has it.
asked other tiny.gguf "-np 2 --cache-ram 0" "a@0 a@1 b@0 a@1" elsewhere
# Layers whose cache is a window: "c" begins as "a", but the window's begin is behind where they differ.
asked window window.gguf "-np 1 --cache-ram 0 -b 32 -ub 32 --ctx-checkpoints 0" "a c a a" not_held removed
asked checkpoints window.gguf "-np 1 --cache-ram 0 -b 32 -ub 32" "a c a a" not_held removed
asked whole window.gguf "-np 1 --cache-ram 0 -b 32 -ub 32 --swa-full" "a c a a" removed
# Layers with a recurrent state, which cannot go back; but to one that the server saved.
asked state state.gguf "-np 1 --cache-ram 0 --ctx-checkpoints 0" "a c a a" not_held not_held not_held
asked saved state.gguf "-np 1 --cache-ram 0" "a c a a" replaced replaced replaced
# Prompts that differ from their first token on.
asked different tiny.gguf "-np 1 --cache-ram 0" "a b"
finish
