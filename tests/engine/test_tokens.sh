# Tokens of every batch: ids, texts, positions and sequences, also of parallel sequences and
# of prompts cut into several batches; and none of it with --no-text.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
export PROGRAM_ONE_THREAD=1
need_python
model tiny
python3 "$TT_SOURCE_DIR/tests/engine/make_no_vocab.py" tiny.gguf no_vocab.gguf || fail "no_vocab.gguf"
# sequences_of ABOUT HOW...: the program with these words, untraced and traced, has the same results,
# and the trace what it knows of its rows.
sequences_of() {
    about=$1
    shift
    "$@" >plain.txt 2>plain.err || fail "$about: untraced exit code"
    rm -f s.ttrace
    "$TT_BIN" run -q -o s.ttrace -- "$@" >traced.txt 2>traced.err || fail "$about: exit code"
    same "$about: text" plain.txt traced.txt
    verified s.ttrace
    grep -q '^tokens  *passed' verify.out || fail "$about: tokens were not verified"
    expect "$about: mode of the file" 600 "$(stat -c %a s.ttrace)"
    check check_tokens s.ttrace plain.txt 16
}
for engine in $(engines); do
    for how in shared streams; do
        set -- "$TT_PROGRAMS/sequences" "$TT_ENGINES/$engine" tiny.gguf $how
        sequences_of "$engine $how" "$@"
    done

    # The engine aborts when it is asked for a text of a model without a vocabulary.
    about="$engine, no vocabulary"
    rm -f v.ttrace
    "$TT_BIN" run -q -o v.ttrace -- "$TT_PROGRAMS/contexts" "$TT_ENGINES/$engine" no_vocab.gguf 1 \
        >traced.txt 2>traced.err || fail "$about: exit code"
    [ -f v.ttrace ] && verified v.ttrace && expect "$about: texts" 0 "$(field v.ttrace token_texts)"

    about="$engine --no-text, program"
    rm -f s.ttrace
    "$TT_BIN" run -q --no-text -o s.ttrace -- "$@" wisteria >traced.txt 2>traced.err || fail "$about: exit code"
    same "$about: text" plain.txt traced.txt
    [ -f s.ttrace ] && verified s.ttrace && check check_no_text s.ttrace wisteria

    about="$engine --no-text, runner"
    rm -f s.ttrace
    "$TT_BIN" run -q --no-text -o s.ttrace -m tiny.gguf --engine "$TT_ENGINES/$engine" -n 4 --ignore-eos \
        -p "a wisteria in the garden" >traced.txt 2>traced.err || fail "$about: exit code"
    [ -f s.ttrace ] && verified s.ttrace && check check_no_text s.ttrace wisteria garden

    about="$engine, the command to record it again"
    rm -f s.ttrace
    "$TT_BIN" run -q -o s.ttrace -m tiny.gguf --engine "$TT_ENGINES/$engine" -n 2 --ignore-eos \
        -p "it's a \$garden" >traced.txt 2>traced.err || fail "$about: exit code"
    eval "set -- $("$TT_BIN" why --json s.ttrace | python3 -c 'import json, sys; print(json.load(sys.stdin)["again"])')"
    expect "$about: words" "-m tiny.gguf -p it's a \$garden -n 2 --ignore-eos --engine $TT_ENGINES/$engine" "$*"
    expect "$about: number of words" 9 $#
done
finish
