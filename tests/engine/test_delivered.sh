# Tokens that somebody got, guesses and prompts, as the newest llama.cpp's programs count them themselves:
# drafts of a model, of its own head in a second context, of n-grams and of a look ahead, parallel sequences, servers with cached prompts, and programs
# that generate nothing.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_newest
need_python
model tiny
"$TT_BIN" synth --layers 1 -o draft.gguf --force 2>/dev/null || fail "synth"
run=$(newest_command)
bin=$TT_NEWEST/usr/bin

# traced NAME PROGRAM ARGUMENTS...: to NAME.ttrace; what it prints to NAME.log
traced() {
    name=$1 program=$2
    shift 2
    "$TT_BIN" run -q -o "$name.ttrace" --force -- $run "$bin/$program" "$@" >"$name.log" 2>&1 </dev/null
    expect "$name: exit code" 0 $?
    verified "$name.ttrace"
}

# counted NAME NAME=VALUE...
counted() {
    name=$1
    shift
    python3 "$TT_SOURCE_DIR/tests/engine/check_delivered.py" "$TT_BIN" "trace=$name.ttrace" "$@" || fail "$name"
}

# What the loggers print at the end now and then gets lost: the same program once more, without tracing.
complete() {
    name=$1 program=$2 n=0
    shift 2
    until grep -q "$wanted" "$name.log"; do
        n=$((n + 1))
        [ $n -lt 20 ] || { fail "$name: prints no $wanted"; return; }
        $run "$bin/$program" "$@" >"$name.log" 2>&1 </dev/null
    done
}

# guesses NAME PROGRAM ARGUMENTS...
guesses() {
    name=$1 wanted='n_accept  *='
    ahead=no
    [ "$2" = llama-lookahead ] && ahead=yes
    traced "$@"
    complete "$@"
    counted "$name" "log=$name.log" "ahead=$ahead" first_tokens=1
}

all="-t 1 --temp 0 -c 512 -m tiny.gguf"
text="one two three one two three one two three one two three one two three one two three"
guesses simple-bad llama-speculative-simple $all -md draft.gguf --spec-type draft-simple -p "Once upon a time" -n 24
guesses simple-good llama-speculative-simple $all -md tiny.gguf --spec-type draft-simple -p "Once upon a time" -n 24
# Drafts as long as texts that are scored.
guesses simple-long llama-speculative-simple $all -c 1024 -md tiny.gguf --spec-type draft-simple --spec-draft-n-max 100 -p "Once upon a time" -n 200
guesses speculative llama-speculative $all -md tiny.gguf -p "Hello there my friend" -n 24 -s 1
guesses lookahead llama-lookahead $all -p "Hello there my friend" -n 40 -s 1
guesses lookup llama-lookup $all -p "$text" -n 150 -s 1
# A head of the model itself guesses, in a context of its own that shares the target's cache: never rightly, sometimes, always.
"$TT_BIN" synth --type F32 --layers 4 -o four.gguf --force 2>/dev/null || fail "synth"
for arch in qwen35 qwen35-0.05 qwen35-0; do
    python3 "$TT_SOURCE_DIR/tests/engine/make_arch.py" $arch four.gguf $arch.gguf || fail "$arch.gguf"
    guesses $arch llama-speculative-simple $all -m $arch.gguf --spec-type draft-mtp --spec-draft-n-max 3 -p "Once upon a time" -n 40
done
for kind in ngram-simple ngram-map-k ngram-mod ngram-cache; do
    guesses $kind llama-speculative-simple $all --spec-type $kind -p "$text" -n 60
done

wanted='Total gen tokens'
set -- parallel llama-parallel -m tiny.gguf -c 4096 -n 8 -np 2 -ns 4 -t 1 -s 1 --temp 0
traced "$@"
complete "$@"
counted parallel log=parallel.log

# A context that gets full twice, of which half is given up each time.
wanted=' eval time = '
set -- shift llama-completion -m tiny.gguf -c 256 -n 400 --context-shift -no-cnv --ignore-eos -t 1 --temp 0 -v -p "Once upon a time"
traced "$@"
complete "$@"
counted shift log=shift.log first_tokens=1
about=shift
check check_shift shift.ttrace shift.log

# A benchmark: 2 prompts of 16 and 2 x 4 tokens; before each test one to warm up, of 16 and of 1.
traced bench llama-bench -m tiny.gguf -p 16 -n 4 -r 2 -t 1
counted bench prompt=32 delivered=8 warmup=17 first_tokens=0
traced bench-both llama-bench -m tiny.gguf -p 0 -n 0 -pg 16,4 -r 2 -t 1
counted bench-both prompt=32 delivered=8 warmup=17 first_tokens=2
traced bench-cold llama-bench -m tiny.gguf -p 16 -n 4 -r 2 -t 1 --no-warmup
counted bench-cold prompt=32 delivered=8 warmup=0 first_tokens=0
# It warms up by 16 tokens without outputs.
traced batched-bench llama-batched-bench -m tiny.gguf -c 512 -npp 8 -ntg 4 -npl 1,2 -t 1
counted batched-bench prompt=24 delivered=12

# What generates nothing has no time to a first token.
i=0
while [ $i -lt 40 ]; do
    echo "Once upon a time there was a little girl who lived in a house near the wood."
    i=$((i + 1))
done >long.txt
traced perplexity llama-perplexity -m tiny.gguf -f long.txt -c 64 -t 1
counted perplexity delivered=0 first_tokens=0
traced imatrix llama-imatrix -m tiny.gguf -f long.txt -c 64 -t 1 -o imatrix.gguf
counted imatrix delivered=0 first_tokens=0
traced embedding llama-embedding -m tiny.gguf -p Hello --pooling mean -t 1
counted embedding delivered=0 first_tokens=0
"$TT_BIN" synth --type F32 --type-embd F32 --type-output F32 --layers 2 -o f32.gguf --force 2>/dev/null || fail "synth"

traced finetune llama-finetune -m f32.gguf -f long.txt -c 64 -b 64 -ub 64 -epochs 1 -t 1 --cache-type-k f32 --cache-type-v f32 -o trained.gguf
counted finetune prompt=0 delivered=0 unknown=0 first_tokens=0
[ "$(field finetune.ttrace training)" != "" ] || fail "finetune: no training"

# served NAME SLOTS ARGUMENTS...: a server, to which $asks sends several texts.
asks=ask_cached
served() {
    name=$1 slots=$2
    shift 2
    "$TT_BIN" run -q -o "$name.ttrace" --force -- $run "$bin/llama-server" -m tiny.gguf --host 127.0.0.1 --port 0 -c 1536 -t 1 -np $slots "$@" >"$name.log" 2>&1 </dev/null &
    server=$!
    python3 "$TT_SOURCE_DIR/tests/engine/$asks.py" "$name.log" >"$name.answers" || fail "$name: no answers"
    kill -TERM $server
    wait $server
    expect "$name: exit code" 0 $?
    verified "$name.ttrace"
    counted "$name" "answers=$name.answers" "slots=$slots"
}
served server 1
served server-slots 3
served server-draft 1 -md draft.gguf --spec-type draft-simple
served server-good-draft 3 -md tiny.gguf --spec-type draft-simple
served server-head 1 -m qwen35-0.05.gguf --spec-type draft-mtp
served server-good-head 3 -m qwen35-0.gguf --spec-type draft-mtp
served server-ngram 1 --spec-type ngram-cache
# Answers without an end: only the client's hanging up ends them.
"$TT_BIN" synth --ctx 16384 -o long.gguf --force 2>/dev/null || fail "synth"
asks=ask_cancelled
served cancelled 1 -m long.gguf -c 16384
served cancelled-draft 1 -m long.gguf -c 16384 -md long.gguf --spec-type draft-simple
finish
