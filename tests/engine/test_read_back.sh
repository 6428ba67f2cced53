# Values tell the tokens, at every level: an attack reads them back from the trace with the model at hand.
# So --no-text and --values are not had together.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
engine=v0.5.0
[ -d "$TT_ENGINES/$engine" ] || { echo "skipped: engine $engine was not fetched"; exit 77; }
hook=$("$TT_BIN" doctor --json 2>/dev/null | sed -n 's/.*"hook_library": "\(.*\)".*/\1/p')
"$TT_BIN" synth --type=F32 -o f32.gguf 2>/dev/null || fail "f32.gguf"
for level in stats hash full; do
    about="$engine, $level"
    rm -f s.ttrace
    "$TT_BIN" run -q --values=$level -o s.ttrace -m f32.gguf --engine "$TT_ENGINES/$engine" -n 3 --ignore-eos \
        -p "wisteria" >traced.txt 2>traced.err || fail "$about: exit code"
    check check_read_back f32.gguf s.ttrace all
    rm -f s.ttrace
    "$TT_BIN" run -q --values=$level --no-text -o s.ttrace -m f32.gguf --engine "$TT_ENGINES/$engine" \
        -n 4 -p wisteria >traced.txt 2>traced.err
    expect "$about --no-text: exit code" 2 $?
    [ ! -e s.ttrace ] || fail "$about --no-text: a trace"
    grep -q "whoever has the model" traced.err || fail "$about --no-text: $(cat traced.err)"
    # A program is not stopped: it is traced without values, and the trace says why.
    LD_PRELOAD=$hook TENSORTRACE_OUT=s.ttrace TENSORTRACE_TEXT=0 TENSORTRACE_VALUES=$level \
        "$TT_PROGRAMS/sequences" "$TT_ENGINES/$engine" f32.gguf shared >traced.txt 2>traced.err || fail "$about by the environment"
    "$TT_BIN" info --json s.ttrace | grep -q "values tell the text" || fail "$about: no reason in the trace"
    check check_read_back f32.gguf s.ttrace none
done
finish
