# Fingerprints of what ops put out: of every output, the same on any number of threads, on repeats
# and for both ways to observe; of all types and layouts that there are; and nothing else changes.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
model tiny
model moe

# traced NAME MODEL OPTION...: a trace of a short run, whose text is that of the untraced one.
traced() {
    name=$1
    shift
    "$TT_BIN" run --force -q -o "$name.ttrace" --engine "$TT_ENGINES/$engine" -n 3 --ignore-eos \
        -p "Once upon a time there was" -m "$@" >"$name.txt" 2>err.txt || fail "$about $name: exit code"
    same "$about $name: text" plain.txt "$name.txt"
    verified "$name.ttrace"
    expect "$about $name: dropped" 0 "$(field "$name.ttrace" data_dropped)$(field "$name.ttrace" details_dropped | sed 's/^0$//')"
}

for engine in $(engines); do
    for model in tiny moe; do
        about="$engine $model"
        "$TT_BIN" runner --engine "$TT_ENGINES/$engine" -n 3 --ignore-eos -t 2 \
            -p "Once upon a time there was" -m $model.gguf >plain.txt 2>err.txt || fail "$about: untraced exit code"
        traced off $model.gguf -t 2
        traced two $model.gguf -t 2 --values=full
        # A graph that is split in more parts would be computed in more runs.
        expect "$about: runs" "$(field off.ttrace runs)" "$(field two.ttrace runs)"
        expect "$about: not asked for" 0 "$(field off.ttrace outputs)"
        check check_values whole two.ttrace
        for how in "-t 1" "-t 3" "-t 2 --mode=callback"; do
            [ $model = tiny ] || [ "$how" = "-t 1" ] || continue
            # More threads than processors spin for each other.
            [ "$how" != "-t 3" ] || is_last "$engine" || continue
            # shellcheck disable=SC2086
            traced other $model.gguf $how --values=hash
            about="$engine $model $how"
            check check_values equal two.ttrace other.ttrace
            about="$engine $model"
        done
    done
    case $engine in b4234) continue ;; esac
    about="$engine known outputs"
    for threads in 1 2 3; do
        [ $threads != 3 ] || is_last "$engine" || continue
        "$TT_BIN" run --force -q -o known.ttrace --values=full -- "$TT_PROGRAMS/outputs" "$TT_ENGINES/$engine" $threads 2>err.txt ||
            fail "$about: exit code"
        grep -q "^tensortrace: 2 outputs hold NaN or infinity, first: logarithm: " err.txt ||
            fail "$about: not told of NaN: $(cat err.txt)"
        verified known.ttrace
        check check_values whole known.ttrace
        check check_values known known.ttrace
    done
done
finish
