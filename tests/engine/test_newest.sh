# The programs of the newest llama.cpp, through the loader they are packaged with: what they print is
# what they print untraced, op for op and token for token the trace holds what a counter in the same
# process counts, and it is sound.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_newest
need_python
model tiny
echo "newest: $(tr '\n' ' ' <"$TT_NEWEST/versions")"
counter=$TT_PROGRAMS/libcount_ops.so

# counted OUT ERR TRACE COMMAND...: runs it traced, with the counter in front of the hooks.
counted() {
    out=$1 err=$2 trace=$3
    shift 3
    rm -f "$trace" counts
    COUNT_OPS=$PWD/counts "$TT_BIN" run -q -o "$trace" -- \
        sh -c 'LD_PRELOAD=$0:$LD_PRELOAD exec "$@"' "$counter" "$@" >"$out" 2>"$err" </dev/null
}

# agrees NAME TRACE: the trace has the ops and tokens that were counted.
agrees() {
    verified "$2"
    expect "$1: mode" hook "$(field "$2" mode)"
    expect "$1: dropped" 0 "$(field "$2" ops_dropped)"
    expect "$1: unresolved" 0 "$(field "$2" ops_unresolved)"
    "$TT_BIN" info --json "$2" >info.json || fail "$1: info"
    python3 - info.json counts "$3" <<'END' || fail "$1: other ops or tokens than were counted"
import json, sys
info = json.load(open(sys.argv[1]))
counts = [tuple(map(int, line.split())) for line in open(sys.argv[2])]
if len(counts) != 1:
    sys.exit(f"the counter counted in {len(counts)} processes")
ops, tokens, _ = counts[0]
got = sum(op["count"] for op in info["by_op"])
if not ops or got != ops:
    sys.exit(f"ops: {ops} counted, {got} traced")
# Programs without batches (no scheduler of llama.cpp) have no tokens.
got = sum(info[phase]["n_tokens"] for phase in ("prompt", "generate", "warmup", "unknown"))
if got != tokens or (sys.argv[3] == "tokens") != (tokens > 0):
    sys.exit(f"tokens: {tokens} counted, {got} traced")
END
}

# program NAME tokens|none COMMAND...
program() {
    name=$1 kind=$2
    shift 2
    "$@" >"$name.plain" 2>"$name.plain.err" </dev/null
    expect "$name: untraced exit code" 0 $?
    counted "$name.out" "$name.err" "$name.ttrace" "$@"
    expect "$name: exit code" 0 $?
    # Times, speeds and addresses differ from run to run.
    for f in plain out; do
        sed -E 's/[0-9]+\.[0-9]+ *(s|t\/s|ms|us)//g; s/0x[0-9a-f]+//g; s/speed: *[0-9.]+//g; s/time=[0-9.]+//g' "$name.$f" >"$name.$f.same"
    done
    case $name in
    bench) ;; # prints speeds and nothing else
    simple | backend-ops | runner) same "$name: text" "$name.plain.same" "$name.out.same" ;;
    *)
        # The others end now and then before their logger has printed all, untraced too.
        n=$(wc -c <"$name.plain.same")
        [ "$(wc -c <"$name.out.same")" -ge "$n" ] || n=$(wc -c <"$name.out.same")
        cmp -s -n "$n" "$name.plain.same" "$name.out.same" || fail "$name: other text"
        ;;
    esac
    agrees "$name" "$name.ttrace" "$kind"
}

run=$(newest_command)
bin=$TT_NEWEST/usr/bin
tests=$TT_NEWEST/usr/libexec/x86_64-linux-gnu
program completion tokens $run "$bin/llama-completion" -m tiny.gguf -p "Once upon a time" -n 6 -no-cnv --no-warmup -t 2 --temp 0
program bench tokens $run "$bin/llama-bench" -m tiny.gguf -p 16 -n 4 -r 1 -t 2
program eval-callback tokens $run "$bin/llama-eval-callback" -m tiny.gguf -p Hello -t 1
# Node by node: graphs of one node each, which may differ in their sources alone.
program debug tokens $run "$bin/llama-debug" -m tiny.gguf -p Once -n 1 -t 1
about=debug
check check_printed debug.ttrace debug.out

# until_printed NAME PATTERN COMMAND...: NAME.plain.err has it. Loggers end now and then with their program
# before they have printed all; what is printed is the same each time.
until_printed() {
    name=$1 pattern=$2 n=0
    shift 2
    until grep -q "$pattern" "$name.plain.err"; do
        n=$((n + 1))
        [ $n -lt 20 ] || { fail "$name: prints no $pattern"; return; }
        "$@" >/dev/null 2>"$name.plain.err" </dev/null
    done
}

# counts NAME PROMPT GENERATED: what the program printed of its tokens is in the trace.
counts() {
    for pair in "prompt $2" "generate $3"; do
        got=$("$TT_BIN" info --json "$1.ttrace" | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]]["n_tokens"])' "${pair% *}")
        expect "$1: tokens of ${pair% *}" "${pair#* }" "$got"
    done
}

set -- $run "$bin/llama-batched" -m tiny.gguf -p Hello -n 8 -np 2 -kvu -t 1 -s 1
program batched tokens "$@"
until_printed batched 'decoded [0-9]' "$@"
counts batched 2 "$(sed -n 's/.*decoded \([0-9]*\) tokens.*/\1/p' batched.plain.err)"

set -- $run "$bin/llama-parallel" -m tiny.gguf -c 4096 -n 8 -np 2 -ns 4 -t 1 -s 1 --temp 0
program parallel tokens "$@"
until_printed parallel 'Total gen tokens' "$@"
counts parallel "$(sed -n 's/.*Total prompt tokens: *\([0-9]*\).*/\1/p' parallel.plain.err)" \
    "$(sed -n 's/.*Total gen tokens: *\([0-9]*\).*/\1/p' parallel.plain.err)"

# drafted NAME TRIAL COMMAND...: the target's tokens are those of the prompt and those that the program
# says it checked; TRIAL: how many each context computes before, to try its memory.
drafted() {
    name=$1 trial=$2
    shift 2
    program "$name" tokens "$@"
    until_printed "$name" 'n_accept' "$@"
    about=$name
    check check_drafted "$name.ttrace" "$name.plain.err" "$trial"
}
drafted speculative 0 $run "$bin/llama-speculative" -m tiny.gguf -md tiny.gguf -p "Hello there my friend" -n 24 -t 1 --temp 0 -s 1
drafted speculative-simple 2 $run "$bin/llama-speculative-simple" -m tiny.gguf -md tiny.gguf --spec-type draft-simple -p "Hello there my friend" -n 24 -t 1 --temp 0

program simple tokens $run "$bin/llama-simple" -m tiny.gguf -n 4 "Once upon a time"
program embedding tokens $run "$bin/llama-embedding" -m tiny.gguf -p Hello --pooling mean --no-warmup -t 2
program backend-ops none $run "$tests/ggml/test-backend-ops" test -o SCALE -b CPU

# The server, with clients that come at the same time.
# serve NAME COMMAND...: the answers go to NAME.answers
serve() {
    name=$1
    shift
    COUNT_OPS=$PWD/counts "$@" >"$name.log" 2>&1 </dev/null &
    server=$!
    python3 "$TT_SOURCE_DIR/tests/engine/ask_server.py" "$name.log" "Once upon a time" "Hello" "There was a prompt that was longer" >"$name.answers" || fail "$name: no answers"
    # It ends by itself; `run` hands the signal on.
    kill -TERM $server
    wait $server
    expect "$name: exit code" 0 $?
}
set -- $run "$bin/llama-server" -m tiny.gguf --host 127.0.0.1 --port 0 -np 3 -c 768 -t 1 --no-warmup
serve server.plain "$@"
rm -f counts
serve server.traced "$TT_BIN" run -q -o server.ttrace -- sh -c 'LD_PRELOAD=$0:$LD_PRELOAD exec "$@"' "$counter" "$@"
same "server: answers" server.plain.answers server.traced.answers
expect "server: answers" 5 "$(wc -l <server.traced.answers)"
agrees server server.ttrace tokens
# What was read and made, but for the last token of an answer, which is not computed any more; the
# server itself tries out a few tokens when it begins.
asked=$(awk '{ n += $1 + $2 - 1 } END { print n }' server.traced.answers)
[ "$(cut -d' ' -f2 counts)" -ge "$asked" ] || fail "server: $asked tokens were asked for, $(cat counts) counted"

# The built-in runner needs the engine's glibc.
program runner tokens $run "$TT_BIN" runner --engine "$TT_NEWEST/usr/lib/x86_64-linux-gnu" -m tiny.gguf -p "Once upon a time" -n 6 --ignore-eos -t 2
expect "runner: decode tokens" "$(cut -d' ' -f2 counts)" "$(field runner.ttrace decode_tokens)"

# What `doctor` says of it, and of what is only told by loading it: the CPU library is elsewhere, the
# version is not in a name.
TENSORTRACE_HOOK=$TT_HOOK $run "$TT_BIN" doctor --json --engine "$libraries" >doctor.json
expect "doctor: exit code" 0 $?
for key in mode cpu_library release ggml_version is_loadable; do
    eval "$key=\$(sed -n 's/^ *\"$key\": *\"\{0,1\}\([^\",]*\)\"\{0,1\},\$/\1/p' doctor.json | head -n 1)"
done
expect "doctor: mode" "$(field runner.ttrace mode)" "$mode"
expect "doctor: loadable" true "$is_loadable"
expect "doctor: CPU library" "$(basename "$GGML_BACKEND_PATH")" "$cpu_library"
# As the packages are called: 1:0.7.0+dfsg-2, 0.27.0-1.
version=$(sed -n 's/^llama.cpp-tools \([0-9]*:\)\{0,1\}\([0-9.]*\).*/\2/p' "$TT_NEWEST/versions")
expect "version of llama.cpp: doctor" "$version" "$release"
expect "version of llama.cpp: runner" "$version" "$(field runner.ttrace engine_version)"
expect "version of llama.cpp: server" "$version" "$(field server.ttrace engine_version)"
version=$(sed -n 's/^libggml0 \([0-9]*:\)\{0,1\}\([0-9.]*\).*/\2/p' "$TT_NEWEST/versions")
expect "version of ggml: doctor" "$version" "$ggml_version"
expect "version of ggml: backend-ops" "$version" "$(field backend-ops.ttrace engine_ggml_version)"
# Where it does not load (no loader of its own is asked), what is not known is not claimed.
"$TT_BIN" doctor --engine "$TT_NEWEST/usr" >doctor.txt
case $? in
0) grep -q '^Mode: hook$' doctor.txt || fail "doctor --engine: no mode" ;;
1) grep -q '^Tracing cannot work: cannot load the engine: .*GLIBC' doctor.txt || fail "doctor --engine: no reason" ;;
*) fail "doctor --engine: exit code" ;;
esac
"$TT_BIN" doctor -- "$bin/llama-completion" >doctor.txt
expect "doctor of a program without its libraries: exit code" 1 $?
grep -q '^Tracing cannot work: the program cannot start: lib.*\.so.* is not found' doctor.txt || fail "doctor -- PROGRAM: no missing library"
finish
