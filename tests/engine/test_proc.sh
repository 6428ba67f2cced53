# Where /proc cannot be read, what it would have told is not observed, with the reason; the rest is
# recorded as ever.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"

hide='mount -t tmpfs none /proc'
unshare -m sh -c "$hide" 2>/dev/null || {
    echo "skipped: /proc cannot be hidden here (needs root)"
    exit 77
}
model tiny
hook=$("$TT_BIN" run -q -o none.ttrace -- printenv LD_PRELOAD 2>/dev/null)
for engine in $(engines); do
    set -- runner -m tiny.gguf --engine "$TT_ENGINES/$engine" -p "Once upon" -n 4 -t 1
    "$TT_BIN" "$@" >plain.txt 2>/dev/null
    rm -f t.ttrace
    unshare -m sh -c "$hide"' && exec env LD_PRELOAD="$0" TENSORTRACE_OUT=t.ttrace \
        TENSORTRACE_FAULTS=1 TENSORTRACE_RESIDENCY=1 "$@"' "$hook" "$TT_BIN" "$@" >traced.txt 2>traced.err ||
        fail "$engine: exit code"
    same "$engine: text" plain.txt traced.txt
    verified t.ttrace
    "$TT_BIN" info --json t.ttrace >info.json
    grep -q '"reason": "/proc/self/io: ' info.json || fail "$engine: no reason for the missing io counters"
    # Whether the weights are mapped is unknown; what the engine allocated is memory all the same.
    "$TT_BIN" log --json --batch 1 t.ttrace | tr '{' '\n' >sources.txt
    grep '"name":"blk.0.attn_norm.weight"' sources.txt | grep -q '"origin":"unknown"' ||
        fail "$engine: origin of a mapped weight"
    grep '"name":"inp_tokens"' sources.txt | grep -q '"origin":"file"' && fail "$engine: origin of an input"
    "$TT_BIN" faults --json t.ttrace >faults.json || fail "$engine: faults"
    grep -q '"minor_faults": [1-9]' faults.json || fail "$engine: faults are counted without /proc"
    # (The device's own statistics are not in /proc.)
    sed -n '/"rows": /,/"kernel": /p' faults.json | grep '"read_bytes": ' | grep -vq null &&
        fail "$engine: bytes read, which nobody could see"
done
finish
