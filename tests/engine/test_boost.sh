# Models larger than the memory their weights may have: the same tokens and the same digests of every
# value with `boost` and without, whatever the budget and the number of threads; also when the
# file is changed, the model loaded twice, and the program dies or forks.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model tiny
model moe
[ -f dense.gguf ] || "$TT_BIN" synth --preset tinyllama --layers 4 -o dense.gguf 2>/dev/null || fail "synth dense"
[ -f split-00001-of-00003.gguf ] || "$TT_BIN" synth --preset tinyllama --layers 2 --split 3 -o split.gguf 2>/dev/null || fail "synth split"
[ -f tied.gguf ] || "$TT_BIN" synth --preset tiny --embd 512 --tied -o tied.gguf 2>/dev/null || fail "synth tied"
prompt="Once upon a time there was a model that was larger than the memory of its machine"

# read_some FILE: how much was read, as boost says at its end; nothing when it read nothing.
read_some() {
    sed -n 's/.*boost: \([0-9.]* [A-Za-z]*\) read in .*/\1/p' "$1"
}

for name in tiny moe dense tied split; do
    file=$name.gguf
    [ $name != split ] || file=split-00001-of-00003.gguf
    size=$(cat $name*.gguf | wc -c)
    for threads in 1 2; do
        set -- -m $file -t $threads -n 4 -p "$prompt" --ignore-eos
        about="$name, $threads threads"
        rm -f plain.ttrace
        "$TT_BIN" run -q -o plain.ttrace --values=hash "$@" --no-repack >plain.txt 2>plain.err || {
            fail "$about: exit code of run"
            cat plain.err
        }
        [ $threads = 1 ] && budgets=60 || budgets="40 80"
        [ $name != split ] || budgets=40 # much of it is the embeddings, which are not boost's
        for percent in $budgets; do
            about="$name, $threads threads, $percent %"
            rm -f boosted.ttrace
            [ $percent = 80 ] && io=threads || io=io_uring
            "$TT_BIN" boost --ram $((size * percent / 100))B --io $io -o boosted.ttrace --values=hash "$@" >boosted.txt 2>boosted.err || fail "$about: exit code"
            same "$about: text" plain.txt boosted.txt
            "$TT_BIN" diff --values --exact plain.ttrace boosted.ttrace >diff.txt 2>&1 || {
                fail "$about: values differ"
                tail -n 3 diff.txt
            }
            # Of a small model too little is read at a time to know the disk.
            ! grep -F 'allows (-)' boosted.err || fail "$about: says what it does not know"
            # Tiny's memory is the row of its embeddings, which are not ours.
            [ $name = tiny ] || [ -n "$(read_some boosted.err)" ] || {
                fail "$about: nothing was read"
                cat boosted.err
            }
        done
    done
done

# Nobody asked for more than there is: nothing is done.
"$TT_BIN" boost --ram 1G -m moe.gguf -n 4 -t 1 -p "$prompt" >roomy.txt 2>roomy.err || fail "roomy: exit code"
grep -q 'boost: the weights fit' roomy.err || { fail "roomy"; cat roomy.err; }

# Without a trace; the text is that of the engine alone.
size=$(wc -c <dense.gguf)
"$TT_BIN" runner -m dense.gguf --no-repack -n 6 -t 2 -p "$prompt" >plain.txt 2>err.txt || fail "plain"
"$TT_BIN" boost --ram $((size / 2))B -m dense.gguf -n 6 -t 2 -p "$prompt" >boosted.txt 2>boosted.err || fail "boosted: exit code"
same "without a trace" plain.txt boosted.txt
[ -n "$(read_some boosted.err)" ] || { fail "without a trace: nothing was read"; cat boosted.err; }

# As one object: the text is the same, and so are the numbers of tokens and of computations. What
# boost calls the tokens' speed is of the computing in the runner's time.
"$TT_BIN" boost --json --ram $((size / 2))B -m dense.gguf -n 6 -t 2 -p "$prompt" --ignore-eos >boosted.json 2>boosted.err || fail "json: exit code"
"$TT_BIN" runner -m dense.gguf --no-repack -n 6 -t 2 -p "$prompt" --ignore-eos >plain.txt 2>err.txt || fail "json: plain"
python3 - boosted.json plain.txt $((size / 2)) <<'END' || fail "json"
import json, sys
got, text, budget = json.load(open(sys.argv[1])), open(sys.argv[2]).read(), int(sys.argv[3])
b = got["boost"]
assert got["text"].strip() == text.strip(), (got["text"], text)
assert b["graphs"] == got["decode_calls"], b
assert b["n_tokens"] == got["decode_calls"] - 2, b  # not the prompt, nor what follows it
assert b["n_tokens"] / b["tokens_per_s"] <= got["generate_s"], (b, got["generate_s"])
assert b["tokens_per_s"] <= b["compute_tokens_per_s"], b
assert b["at_most_tokens_per_s"] == min(b["compute_tokens_per_s"], b["disk_tokens_per_s"]), b
assert 0 < b["read_bytes_per_token"] * b["n_tokens"] <= b["read_bytes"], b
assert 0 < b["peak_bytes"] <= budget and b["hit_share"] is None and b["problem"] is None, b
END
[ ! -s boosted.err ] || { fail "json: said more"; cat boosted.err; }
"$TT_BIN" boost -m dense.gguf --ram $((size / 2))B -n 6 -t 2 >boosted.txt 2>boosted.err || fail "speed: exit code"
grep -Eq '^tensortrace: boost: [0-9.,]+ tokens/s after the first, [0-9]+ % of the [0-9.,]+ that .* allows?.*; .* read a token$' boosted.err || {
    fail "speed"
    cat boosted.err
}

# The path of the counters may be another file's: nothing is written to that.
head -c 100000 /dev/zero >other.bin
cp other.bin other.was
LD_PRELOAD=$TT_HOOK TENSORTRACE_BOOST=$((size / 2)) TENSORTRACE_BOOST_REPORT=$PWD/other.bin "$TT_BIN" runner --json \
    -m dense.gguf --no-repack -n 3 >boosted.json 2>boosted.err || { fail "another file: exit code"; cat boosted.err; }
cmp other.bin other.was || fail "another file was written to"
grep -q '"boost": null' boosted.json || fail "another file: boost is not null"

# The trace has what was read: as much as the kernel says the processes read from the disk (a little
# else is read besides), and as boost says at its end. Misses are those that whatif predicts.
for name in moe dense; do
    size=$(wc -c <$name.gguf)
    about="$name, reads in the trace"
    rm -f reads.ttrace
    sh -c '"$@"; code=$?; sed -n "s/^read_bytes: //p" /proc/$$/io >read.txt; exit $code' sh \
        "$TT_BIN" boost --ram $((size / 2))B -o reads.ttrace -m $name.gguf -n 8 -t 2 -p "$prompt" --ignore-eos \
        >boosted.txt 2>boosted.err || fail "$about: exit code"
    verified reads.ttrace
    check check_pool reads.ttrace read.txt boosted.err $((size / 2))
done

# What the machine and the control group have left is found, and kept to.
if memory_group tensortrace-test-$$ $((size * 3 / 4)); then
    about="a control group of three quarters"
    "$TT_BIN" runner -m dense.gguf --no-repack -n 8 -t 2 -p "$prompt" --ignore-eos >plain.txt 2>err.txt || fail "$about: plain"
    limited "$TT_BIN" boost -m dense.gguf -n 8 -t 2 -p "$prompt" --ignore-eos >boosted.txt 2>boosted.err || {
        fail "$about: exit code"
        cat boosted.err
    }
    same "$about" plain.txt boosted.txt
    [ -n "$(read_some boosted.err)" ] || { fail "$about: nothing was read"; cat boosted.err; }

    # Another program takes more than was left free, at about 350 MB/s: given back in time.
    about="a neighbour in its control group"
    "$TT_BIN" runner -m dense.gguf --no-repack -n 160 -t 1 -p "$prompt" --ignore-eos >plain.txt 2>err.txt || fail "$about: plain"
    rm -f boosted.code boosted.txt
    : >boosted.txt
    (
        limited "$TT_BIN" boost -m dense.gguf -n 160 -t 1 -p "$prompt" --ignore-eos >boosted.txt 2>boosted.err
        echo $? >boosted.code
    ) &
    tries=0
    until [ "$(wc -c <boosted.txt)" -gt $((${#prompt} + 20)) ] || [ -f boosted.code ] || [ $tries = 3000 ]; do
        sleep 0.02
        tries=$((tries + 1))
    done
    limited python3 -c "
import time
parts = []
for _ in range($((size / 4)) >> 22):
    parts.append(bytes([1]) * (4 << 20))
    time.sleep(0.01)
" >neighbour.txt 2>&1 || fail "$about: was ended"
    [ ! -f boosted.code ] || fail "$about: came too late"
    wait
    [ "$(cat boosted.code)" = 0 ] || { fail "$about: exit code $(cat boosted.code)"; cat boosted.err; }
    same "$about" plain.txt boosted.txt
else
    echo "not tested: $no_group"
fi

# There is room for all weights in the page cache, but not in the pool beside its reserve of 32 MiB: they are left to the
# kernel. (The runner has some 11 MiB of its own.)
[ -f window.gguf ] || "$TT_BIN" synth --embd 1024 --ffn 4096 --heads 16 --kv-heads 4 --layers 4 --type Q8_0 -o window.gguf 2>/dev/null || fail "synth window"
(
    memory_group tensortrace-window-$$ $(($(wc -c <window.gguf) + (20 << 20))) || { echo "not tested: $no_group"; exit 0; }
    limited "$TT_BIN" boost --json -m window.gguf -n 4 -t 1 -p "$prompt" --ignore-eos >window.json 2>boosted.err || { fail "window: exit code"; cat boosted.err; }
    grep -q '"fits": true' window.json || { fail "window: boost takes a model that the page cache holds"; cat window.json boosted.err; }
    [ "$failures" = 0 ]
) || failures=$((failures + 1))

# The model is touched while it runs: everything goes back to the kernel.
(
    sleep 0.3
    while [ ! -f stop ]; do
        touch dense.gguf
        sleep 0.02
    done
) &
"$TT_BIN" boost --ram $((size / 2))B -m dense.gguf -n 12 -t 2 -p "$prompt" --ignore-eos >boosted.txt 2>boosted.err || fail "touched: exit code"
: >stop
wait
"$TT_BIN" runner -m dense.gguf --no-repack -n 12 -t 2 -p "$prompt" --ignore-eos >plain.txt 2>err.txt || fail "plain"
same "touched" plain.txt boosted.txt

# Copied weights are out of reach, and that is said.
"$TT_BIN" boost --ram $((size / 2))B -- "$TT_BIN" runner -m dense.gguf --no-mmap -n 4 -p "$prompt" >boosted.txt 2>boosted.err || fail "copied: exit code"
grep -q 'boost: .*nothing was done' boosted.err || { fail "copied"; cat boosted.err; }

# Programs with other engines: several contexts at once, with a fork; models and an adapter that come
# and go. (F16 is not repacked.)
[ -f halves.gguf ] || "$TT_BIN" synth --preset moe --type F16 -o halves.gguf 2>/dev/null || fail "synth halves"
[ -f lora.gguf ] || "$TT_BIN" synth --lora-for halves.gguf -o lora.gguf 2>/dev/null || fail "synth lora"
for engine in $(engines); do
    case $engine in b4234 | *openmp) continue ;; esac # their ops cannot be seen; OpenMP's wait spins
    for program in contexts fork models; do
        about="$engine $program"
        dir=$TT_ENGINES/$engine
        case $program in
        contexts) set -- "$TT_PROGRAMS/contexts" "$dir" halves.gguf 3 ;;
        fork) set -- "$TT_PROGRAMS/contexts" "$dir" halves.gguf "$(fork_contexts "$engine")" fork ;;
        models) set -- "$TT_PROGRAMS/models" "$dir" halves.gguf moe.gguf lora.gguf no-repack ;;
        esac
        "$@" >plain.txt 2>plain.err || fail "$about: exit code without"
        "$TT_BIN" boost --ram 14M -- "$@" >boosted.txt 2>boosted.err || fail "$about: exit code"
        same "$about" plain.txt boosted.txt
        [ -n "$(read_some boosted.err)" ] || { fail "$about: nothing was read"; cat boosted.err; }
        # All contexts of a process share its memory.
        [ $program = fork ] || awk -v most=14 '/the pool held/ { sub(/.*the pool held /, ""); held = $1 * ($2 == "KiB" ? 1 / 1024 : 1) }
            END { exit !(held > 0 && held <= most) }' boosted.err || { fail "$about: the pool held more than 14 MiB"; cat boosted.err; }
    done
done
finish
