# The scheduler callback can be asked for, works on every engine, and says so.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model tiny
for engine in $(engines); do
    set -- -m tiny.gguf --engine "$TT_ENGINES/$engine" -p Hello -n 6 --ignore-eos -t 2
    "$TT_BIN" runner "$@" >plain.txt 2>/dev/null
    "$TT_BIN" run --force -q --mode callback -o c.ttrace "$@" >traced.txt 2>err.txt
    expect "$engine: exit code" 0 $?
    same "$engine: text" plain.txt traced.txt
    verified c.ttrace
    expect "$engine: mode" callback "$(field c.ttrace mode)"
    "$TT_BIN" log c.ttrace --limit 0 | grep -q "cut off\|no end" && fail "$engine: ops without an end"
done
finish
