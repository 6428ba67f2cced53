# Ops that an RPC server computes: the engine sends them and does not wait. The client's trace says that
# they were not observed, and where; its batches end when the server has computed them, and the
# server's own trace has as many ops as the client's graphs name.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_newest
need_python
server=$TT_NEWEST/usr/libexec/x86_64-linux-gnu/llama/bin/ggml-rpc-server
[ -x "$server" ] && [ -f "$libraries/ggml/backends0/libggml-rpc.so" ] || {
    echo "skipped: the newest engine was fetched without its RPC backend"
    exit 77
}
model tiny
# Elsewhere than in its place its ggml looks for backends in the folder where it is started.
ln -s "$GGML_BACKEND_PATH" "$libraries/ggml/backends0/libggml-rpc.so" .
unset GGML_BACKEND_PATH
counter=$TT_PROGRAMS/libcount_ops.so

# A free port: two servers never bind the same.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$TT_BIN" run -q -o server.ttrace -- $(newest_command) "$server" -p "$port" >server.log 2>&1 &
running=$!
trap 'kill $running 2>/dev/null' EXIT
n=0
until grep -qs 'endpoint' server.log && python3 -c "import socket; socket.create_connection(('127.0.0.1', $port), 5)" 2>/dev/null; do
    n=$((n + 1))
    [ $n -lt 600 ] && kill -0 $running 2>/dev/null || { fail "the server does not start: $(tail -n 2 server.log)"; finish; }
    sleep 0.1
done

# client TRACE OPTIONS...: with all layers on the server; CPU ops are counted.
client() {
    trace=$1
    shift
    rm -f counts
    COUNT_OPS=$PWD/counts "$TT_BIN" run -o "$trace" "$@" -- sh -c 'LD_PRELOAD=$0:$LD_PRELOAD exec "$@"' "$counter" \
        $(newest_command) "$TT_NEWEST/usr/bin/llama-completion" --rpc "127.0.0.1:$port" -no-cnv -m tiny.gguf -n 8 -ngl 99 -p Once \
        >client.out 2>client.err </dev/null || fail "$trace: $(tail -n 2 client.err)"
    verified "$trace"
    read -r ops tokens graphs <counts
    expect "$trace: ops, which are the CPU's" "$ops" "$(field "$trace" ops)"
    "$TT_BIN" info "$trace" >info.txt
    grep -q "^other ops *not observed: RPC0\[127.0.0.1:$port\] computes them in another process.*tensortrace run -- rpc-server" info.txt ||
        fail "$trace: info does not say where to look"
    grep -q '^ops not recorded ' info.txt || fail "$trace: the server's time is no part"
    "$TT_BIN" stats --by op --csv "$trace" >stats.csv 2>stats.err
    grep -q '^tensortrace: other ops not observed: RPC0' stats.err || fail "$trace: stats"
    ! "$TT_BIN" heat "$trace" 2>/dev/null | grep '^never read' || fail "$trace: what the server read is said to be unread"
    ! "$TT_BIN" stats --by op --csv --columns op "$trace" 2>/dev/null | grep -x MUL_MAT || fail "$trace: times of sending"
}
client client.ttrace
client values.ttrace --values=stats:op=MUL_MAT
[ "$("$TT_BIN" values --csv --columns node values.ttrace 2>/dev/null | wc -l)" -gt 8 ] || fail "no values of the server's ops"
client hook.ttrace --mode=hook

kill $running
wait $running
trap - EXIT
cat >check.py <<'END'
import csv, io, json, subprocess, sys

tool = sys.argv[1]


def output(*words):
    return subprocess.run([tool, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout


def sent(batch):
    """How many ops of a batch's graph the server computes, as the client's graph says."""
    rows = csv.DictReader(io.StringIO(output("graph", "--csv", "--limit", "0", "--batch", str(batch), "client.ttrace")))
    return sum(row["kind"] == "node" and row["executes"] == "true" and row["backend"].startswith("RPC0") for row in rows)


output("export", "--format", "csv", "-o", "server.csv", "server.ttrace")
with open("server.csv/ops.csv") as table:
    ops = list(csv.DictReader(table))
batches = json.loads(output("info", "--json", "client.ttrace"))["batches"]
assert len(batches) > 8, batches
for batch in batches:
    begin, end = batch["start_ns"], batch["end_ns"]
    # Both processes' times are of the kernel's one clock.
    inside = [op for op in ops if begin < int(op["start_ns"]) < end]
    computed, wanted = sum(int(op["nodes"]) for op in inside), sent(batch["batch_id"])
    assert wanted > 50, (batch, wanted)
    assert computed == wanted, f"batch {batch['batch_id']}: {wanted} ops sent, {computed} computed until it ended"
    last = max(int(op["release_ns"]) for op in inside)
    assert last < end, f"batch {batch['batch_id']} ended {last - end} ns before its last op"
END
python3 check.py "$TT_BIN" >check.out 2>&1 || { fail "the two traces"; tail -n 2 check.out; }
finish
