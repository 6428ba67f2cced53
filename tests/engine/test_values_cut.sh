# Fingerprints where a trace does not hold everything: of a flight recorder, up to a limit, of a
# program that was killed or stopped for a while; what is there is whole, what is not is counted.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
model tiny
engine=$(engines | tail -n 1)
set -- -m tiny.gguf --engine "$TT_ENGINES/$engine" -p Hello --ignore-eos -t 2
"$TT_BIN" runner "$@" -n 120 >plain.txt 2>/dev/null

"$TT_BIN" run --force -q --ring=1M --values=hash -o ring.ttrace "$@" -n 120 >traced.txt 2>err.txt
about=ring
same "$about: text" plain.txt traced.txt
verified ring.ttrace
[ "$(field ring.ttrace details_dropped)" != 0 ] || check check_values whole ring.ttrace

# The data makes room for what says what it is of.
"$TT_BIN" run --force -q --limit=300K --values=full -o limit.ttrace "$@" -n 120 >traced.txt 2>err.txt
about=limit
same "$about: text" plain.txt traced.txt
verified limit.ttrace
size=$(wc -c <limit.ttrace)
[ "$size" -le 450000 ] || fail "$about: $size bytes"
[ "$(field limit.ttrace outputs)" -gt 0 ] || fail "$about: no outputs"
[ "$(field limit.ttrace data_dropped)" -gt 0 ] || fail "$about: no data was dropped"
grep -q "parts of the data of outputs were dropped (see --limit)" err.txt || fail "$about: nothing is said: $(cat err.txt)"

# Stopped for a moment while threads meet, and killed some time later.
"$TT_BIN" run --force -q --values=hash -o killed.ttrace -- \
    sh -c 'echo $$ >pid; exec "$@"' sh "$TT_BIN" runner "$@" -n 4000 -c 8192 >killed.txt 2>err.txt &
run=$!
tries=0
until [ -s killed.txt ] || [ $tries -gt 600 ]; do
    tries=$((tries + 1))
    sleep 0.05
done
pid=$(cat pid)
for i in 1 2 3 4 5; do
    kill -STOP "$pid"
    sleep 0.05
    kill -CONT "$pid"
    sleep 0.05
done
kill -KILL "$pid"
wait $run
expect "killed: exit code" 137 $?
about=killed
verified killed.ttrace
"$TT_BIN" verify killed.ttrace | grep -q "^values  *passed" || fail "$about: no fingerprints"
finish
