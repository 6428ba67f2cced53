# What is asked for is recorded, no more; a full ring drops records and counts them; every trace is
# sound.
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
after=$(field l.ttrace batches_after_limit)
held=$(field l.ttrace batches)
[ "$after" -gt 0 ] || fail "limit: no batch is counted behind it"
grep -q "stopped at the limit: $((300 - after)) of 300" err.txt || fail "limit: nothing is said"
[ $((held + after)) -eq 300 ] || fail "limit: of 300 batches $held are held, $after left out"
verified l.ttrace
hook=$("$TT_BIN" doctor --json 2>/dev/null | sed -n 's/.*"hook_library": "\(.*\)".*/\1/p')
rm -f e.ttrace
LD_PRELOAD=$hook TENSORTRACE_OUT=e.ttrace TENSORTRACE_LIMIT=64k "$TT_BIN" runner "$@" >traced.txt 2>/dev/null
same "limit in the environment: text" plain.txt traced.txt
expect "limit in the environment: batches" 300 $(($(field e.ttrace batches) + $(field e.ttrace batches_after_limit)))
[ "$(field e.ttrace batches_after_limit)" -gt 0 ] || fail "limit in the environment: not kept"
"$TT_BIN" run --force -q --batches 7..11 --every 2 -o t.ttrace "$@" >traced.txt 2>err.txt
expect "tokens: exit code" 0 $?
same "tokens: text" plain.txt traced.txt
verified t.ttrace
tokens=$("$TT_BIN" stats --by token --json t.ttrace | sed -n 's/.*"batch_id": \([0-9]*\).*/\1/p' | tr '\n' ' ')
[ "$tokens" = "7 9 11 " ] || fail "tokens: recorded are $tokens"
[ "$(field t.ttrace batches_not_asked)" -eq 297 ] || fail "tokens: the others are not counted"
"$TT_BIN" info t.ttrace >info.txt
grep -q "^batches  *3 of 300 recorded$" info.txt || fail "tokens: info does not say so: $(cat info.txt)"
"$TT_BIN" run --force -q --mode callback --batches 298.. -o c.ttrace "$@" >traced.txt 2>err.txt
same "tokens, callback: text" plain.txt traced.txt
verified c.ttrace
[ "$(field c.ttrace batches_not_asked)" -eq 298 ] || fail "tokens, callback: the others are not counted"
"$TT_BIN" run --force --batches 1000.. -o n.ttrace "$@" >traced.txt 2>err.txt
expect "no such token: exit code" 3 $?
same "no such token: text" plain.txt traced.txt
[ ! -e n.ttrace ] || fail "no such token: a trace is there"
"$TT_BIN" run --force -q --thread-memory 8K -o r.ttrace "$@" >traced.txt 2>err.txt
expect "thread memory: exit code" 0 $?
same "thread memory: text" plain.txt traced.txt
verified r.ttrace
finish
