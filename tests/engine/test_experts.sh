# The experts chosen for every token of a batch, their ranks and routing weights: graphs of
# ggml alone whose choices are known, and a model whose choices the engine's own eval callback
# shows; by hooks and by the scheduler's callback.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
model moe
for engine in $(engines); do
    about="$engine known choices"
    "$TT_PROGRAMS/experts" "$TT_ENGINES/$engine" >plain.txt || fail "$about: untraced exit code"
    rm -f e.ttrace
    "$TT_BIN" run -q -o e.ttrace -- "$TT_PROGRAMS/experts" "$TT_ENGINES/$engine" >traced.txt 2>err.txt || fail "$about: exit code"
    same "$about: text" plain.txt traced.txt
    verified e.ttrace
    # Without the hooks, ggml alone shows only that graphs were computed.
    case $engine in
    b4234) : >wanted.txt ;;
    *) cp plain.txt wanted.txt ;;
    esac
    check check_experts e.ttrace wanted.txt graphs

    "$TT_PROGRAMS/choices" "$TT_ENGINES/$engine" moe.gguf 4 watch >wanted.txt 2>err.txt || fail "$engine choices: exit code"
    "$TT_PROGRAMS/choices" "$TT_ENGINES/$engine" moe.gguf 4 >plain.txt 2>err.txt || fail "$engine choices: exit code"
    for mode in auto callback; do
        about="$engine moe --mode $mode"
        rm -f e.ttrace
        "$TT_BIN" run -q --mode $mode -o e.ttrace -- "$TT_PROGRAMS/choices" "$TT_ENGINES/$engine" moe.gguf 4 >traced.txt 2>err.txt || fail "$about: exit code"
        same "$about: text" plain.txt traced.txt
        verified e.ttrace
        check check_experts e.ttrace wanted.txt batches
    done
    about="$engine node by node"
    rm -f e.ttrace
    "$TT_BIN" run -q -o e.ttrace -- "$TT_PROGRAMS/choices" "$TT_ENGINES/$engine" moe.gguf 4 each >wanted.txt 2>err.txt || fail "$about: exit code"
    verified e.ttrace
    check check_experts e.ttrace wanted.txt each
done
finish
