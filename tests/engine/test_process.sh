# llama_batch_ext and llama_process of the newest llama.cpp, by a program that fills batches itself and
# by llama.cpp's own programs: texts, sequences, bounds of calls, and how many tokens are of prompts and
# generated. TT_NEWEST: a folder with that llama.cpp and the C library that it needs (usr/bin, usr/lib).
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
need_newest
lib=$TT_NEWEST/usr/lib/x86_64-linux-gnu
loader=$TT_NEWEST/usr/lib64/ld-linux-x86-64.so.2
GGML_BACKEND_PATH=$lib/ggml/backends0/libggml-cpu-x64.so
export GGML_BACKEND_PATH
mkdir engine
ln -s "$lib"/libllama.so* "$lib"/libggml*.so* "$lib"/ggml/backends0/*.so engine/
# The plain name comes with Debian's package for developers.
[ -e engine/libllama.so ] || ln -s libllama.so.0 engine/libllama.so
model tiny

newest() {
    set -- "$loader" --library-path "$lib:$lib/llama" "$@"
    rm -f p.ttrace
    "$TT_BIN" run -q -o p.ttrace -- "$@" >p.out 2>p.err </dev/null || {
        fail "$about: exit code"
        tail -n 4 p.err
    }
    "$TT_BIN" info --brief p.ttrace >info.txt
    "$TT_BIN" verify p.ttrace >verify.out 2>&1 || {
        fail "$about: verify"
        cat verify.out
    }
    grep -q '^tokens  *passed' verify.out || fail "$about: tokens were not verified"
    grep -q '^text  *passed' verify.out || fail "$about: no texts"
}

# counts PROMPT GENERATE WARMUP: what the program computed.
counts() {
    expect "$about: tokens" "$*" "$("$TT_BIN" info --json p.ttrace | python3 -c '
import json, sys
info = json.load(sys.stdin)
print(*(info[key]["n_tokens"] for key in ("prompt", "generate", "warmup")))
if info["unknown"]["n_tokens"]: print("and unknown ones")')"
}

for how in shared streams; do
    for by in process decode; do
        about="sequences $how $by"
        set -- "$TT_PROGRAMS/sequences" engine tiny.gguf $how $by
        "$loader" --library-path "$lib" "$@" >plain.txt 2>plain.err || {
            fail "$about: untraced exit code"
            tail -n 4 plain.err
        }
        newest "$@"
        same "$about: text" plain.txt p.out
        check check_tokens p.ttrace plain.txt 16
    done
done

# A library is loaded that calls a function of the family which is not known: it may put rows into any
# batch, so that nothing is said of any. The program's results are the same.
about="strange library"
"$TT_BIN" run -q -o strange.ttrace -- "$loader" --library-path "$lib" \
    "$TT_PROGRAMS/sequences" engine tiny.gguf streams process "$TT_PROGRAMS/strange.so" >p.out 2>p.err || fail "$about: exit code"
same "$about: text" plain.txt p.out
"$TT_BIN" verify strange.ttrace >verify.out 2>&1 || fail "$about: verify"
grep -q '^tokens  *not observed' verify.out || fail "$about: tokens are said to be observed"
grep -q 'not seen to be filled' verify.out || fail "$about: verify does not say why"
expect "$about: sequences" null "$(field strange.ttrace sequences)"
expect "$about: calls" 0 "$(field strange.ttrace decode_calls)"

# The prompt's tokens as llama.cpp counts them; of 9 tokens the last is not computed.
about=completion
"$loader" --library-path "$lib:$lib/llama" "$TT_NEWEST/usr/bin/llama-tokenize" -m tiny.gguf -p "hello world a b" --ids \
    --log-disable >ids.txt 2>/dev/null || fail "$about: llama-tokenize"
newest "$TT_NEWEST/usr/bin/llama-completion" -m tiny.gguf -t 2 -no-cnv --ignore-eos -n 9 -p "hello world a b"
expect "$about: prompt" "$(tr , '\n' <ids.txt | grep -c '[0-9]')" \
    "$(sed -n 's/^prompt *\([0-9,]*\) tokens.*/\1/p' info.txt)"
expect "$about: generated" 8 "$(sed -n 's/^generate *\([0-9,]*\) tokens.*/\1/p' info.txt)"
expect "$about: warm-up" 2 "$(sed -n 's/^warm-up *\([0-9,]*\) tokens.*/\1/p' info.txt)"
expect "$about: batches of the warm-up" 2 "$("$TT_BIN" log --json --limit 0 --phase warmup p.ttrace |
    python3 -c 'import json, sys; ops = json.load(sys.stdin)["ops"]; print(2 if ops and all(o["phase"] == "warmup" for o in ops) else 0)')"

# Twice 40 tokens, and twice 16.
about=bench
newest "$TT_NEWEST/usr/bin/llama-bench" -m tiny.gguf -t 2 -p 40 -n 16 -r 2 -b 16 -ub 8 --no-warmup
counts 80 32 0

# Each chunk of 128 in two calls; nothing is generated.
about=perplexity
head -c 1500 "$TT_SOURCE_DIR/README.md" >text.txt
newest "$TT_NEWEST/usr/bin/llama-perplexity" -m tiny.gguf -t 2 -f text.txt -c 128 -b 64
expect "$about: generated" 0 "$(sed -n 's/^generate *\([0-9,]*\) tokens.*/\1/p' info.txt | grep . || echo 0)"

about=embedding
newest "$TT_NEWEST/usr/bin/llama-embedding" -m tiny.gguf -t 2 --pooling mean -p "hello there"
expect "$about: generated" 0 "$(sed -n 's/^generate *\([0-9,]*\) tokens.*/\1/p' info.txt | grep . || echo 0)"

# One shared prompt; all four go on to 16 tokens, in one call each step.
# The program prints by a thread of its own, which now and then ends before its last line, also when it is
# not traced: then it runs again, until it has said how many.
about=batched
decoded= runs=0
while [ -z "$decoded" ] && [ $runs -lt 20 ]; do
    newest "$TT_NEWEST/usr/bin/llama-batched" -m tiny.gguf -t 2 -p "hello my name" -np 4 -n 16 -c 512 -kvu
    decoded=$(sed -n 's/.*decoded \([0-9]*\) tokens.*/\1/p' p.out p.err | head -n 1) runs=$((runs + 1))
done
[ -n "$decoded" ] || fail "$about: it never said how many tokens it decoded"
expect "$about: generated" "$decoded" "$(sed -n 's/^generate *\([0-9,]*\) tokens.*/\1/p' info.txt)"

about=server
check check_server p.ttrace tiny.gguf "$loader" --library-path "$lib:$lib/llama" "$TT_NEWEST/usr/bin/llama-server"
finish
