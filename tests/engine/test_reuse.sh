# Graphs that llama.cpp computes again as they are are not looked at each time: what is recorded of
# them is what is recorded when the engine is told to build each anew, over changes of topology.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model tiny
model moe

# ops TRACE: all that is said of its ops, but for the times.
ops() {
    "$TT_BIN" log --json --limit 0 "$1" |
        sed -E 's/"[a-z_]*_(ns|ticks)":[-+0-9.e]*,//g; s/"file":"[^"]*ttrace"//; s/,\{"batch_id"/\n&/g'
}

reusing=0
for engine in $(engines); do
    grep -q LLAMA_GRAPH_REUSE_DISABLE "$TT_ENGINES/$engine"/libllama*.so || continue
    reusing=$((reusing + 1))
    [ "$engine" = "$(engines | tail -n 1)" ] && names="tiny moe" || names=tiny
    for name in $names; do
        # 256 cells of the cache at a time are looked at: the graph changes at the 257th.
        set -- -m $name.gguf --engine "$TT_ENGINES/$engine" -p "Once upon a time" -n 280 --ignore-eos -t 1
        "$TT_BIN" run --force -q -o reused.ttrace "$@" >reused.txt 2>err.txt || fail "$engine $name"
        LLAMA_GRAPH_REUSE_DISABLE=1 "$TT_BIN" run --force -q -o anew.ttrace "$@" >anew.txt 2>err.txt ||
            fail "$engine $name, graphs built anew"
        same "$engine $name: text" reused.txt anew.txt
        expect "$engine $name: graphs" "$(field anew.ttrace graphs)" "$(field reused.ttrace graphs)"
        ops reused.ttrace >reused.ops
        ops anew.ttrace >anew.ops
        [ "$(wc -l <reused.ops)" -gt 10000 ] || fail "$engine $name: $(wc -l <reused.ops) ops"
        same "$engine $name: ops" reused.ops anew.ops
        verified reused.ttrace
    done
done
[ $reusing -gt 0 ] || fail "no engine reuses graphs"
finish
