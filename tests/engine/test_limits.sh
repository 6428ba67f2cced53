# A full ring and a full file drop records, count them, and leave a sound trace.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model tiny
engine=$(engines | tail -n 1)
set -- -m tiny.gguf --engine "$TT_ENGINES/$engine" -p Hello -n 300 --ignore-eos -t 2
"$TT_BIN" runner "$@" >plain.txt 2>/dev/null
"$TT_BIN" run --force -q --limit 64K -o l.ttrace "$@" >traced.txt 2>err.txt
expect "limit: exit code" 0 $?
same "limit: text" plain.txt traced.txt
size=$(wc -c <l.ttrace)
[ "$size" -le 131072 ] || fail "limit: $size bytes"
[ "$(field l.ttrace ops_dropped)" -gt 0 ] || fail "limit: nothing is counted as dropped"
"$TT_BIN" run --force -q --ring 8K -o r.ttrace "$@" >traced.txt 2>err.txt
expect "ring: exit code" 0 $?
same "ring: text" plain.txt traced.txt
verified r.ttrace
finish
