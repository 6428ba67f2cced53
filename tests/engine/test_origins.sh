# Where every operand of every op lives, and where weights lie in their file: mapped and not,
# repacked and not, split over files, with an adapter, with two models whose tensors have the
# same names, and when addresses are used again after a free.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
export PROGRAM_ONE_THREAD=1
need_python
model tiny
model moe
"$TT_BIN" synth --preset tiny --split 3 -o split.gguf 2>/dev/null || fail "synth --split"
"$TT_BIN" synth --preset tiny --seed 2 -o other.gguf 2>/dev/null || fail "synth --seed 2"
"$TT_BIN" synth --lora-for tiny.gguf -o lora.gguf 2>/dev/null || fail "synth --lora-for"

# origins TRACE HOW MODEL ...
origins() {
    verified "$1"
    check origins "$@"
}

# An engine from before there was repacking has no setting for it either.
may_not_repack() {
    if "$TT_BIN" runner -q -m tiny.gguf --engine "$TT_ENGINES/$engine" -p Hello -n 1 --no-repack >out.txt 2>&1; then
        echo --no-repack
    else
        grep -q 'has no such setting' out.txt || fail "$engine: --no-repack"
    fi
}

for engine in $(engines); do
    no_repack=$(may_not_repack)
    for file in tiny.gguf moe.gguf split-00001-of-00003.gguf; do
        for how in "mapped $no_repack" "copied --no-mmap $no_repack" "repacked"; do
            options=${how#"${how%% *}"}
            rm -f o.ttrace
            "$TT_BIN" run -q -o o.ttrace -m $file --engine "$TT_ENGINES/$engine" -p Hello \
                -n 3 --ignore-eos -t 1 $options >out.txt 2>err.txt || fail "$engine $file $how: exit code"
            about="$engine $file $how"
            origins o.ttrace "${how%% *}" $file
        done
    done
    for how in "mapped no-repack" "copied no-mmap no-repack"; do
        about="$engine models $how"
        options=${how#"${how%% *}"}
        set -- "$TT_PROGRAMS/models" "$TT_ENGINES/$engine" tiny.gguf other.gguf lora.gguf $options
        "$@" >plain.txt 2>plain.err || fail "$about: untraced exit code"
        rm -f o.ttrace
        "$TT_BIN" run -q -o o.ttrace -- "$@" >traced.txt 2>traced.err || fail "$about: exit code"
        same "$about: text" plain.txt traced.txt
        origins o.ttrace "${how%% *}" tiny.gguf b=other.gguf b-alone=other.gguf b-again=other.gguf LORA=lora.gguf
    done
done
finish
