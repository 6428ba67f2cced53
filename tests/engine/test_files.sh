# Model files that are mapped anew all the while, deleted, replaced or touched while they are
# used: the program does what it does untraced, the trace is sound, keeps every weight's place
# and says what became of the file.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
model tiny
for engine in $(engines); do
    # What becomes of a file is the same for every engine: two of them will do.
    case $engine in
    b4234 | v0.5.0) ways="remap:same touch:changed replace:replaced delete:removed" ;;
    *) ways="remap:same" ;;
    esac
    for how in $ways; do
        about="$engine ${how%:*}"
        cp tiny.gguf used.gguf
        "$TT_PROGRAMS/churn" "$TT_ENGINES/$engine" used.gguf "${how%:*}" >plain.txt 2>plain.err || fail "$about: untraced exit code"
        cp tiny.gguf used.gguf
        rm -f c.ttrace
        "$TT_BIN" run -q --residency -o c.ttrace -- "$TT_PROGRAMS/churn" "$TT_ENGINES/$engine" used.gguf "${how%:*}" \
            >traced.txt 2>traced.err || fail "$about: exit code"
        same "$about: text" plain.txt traced.txt
        verified c.ttrace
        expect "$about: state of the file at the end" "${how#*:}" "$(field c.ttrace end_state)"
        cp tiny.gguf used.gguf
        check origins c.ttrace repacked used.gguf
    done
done
finish
