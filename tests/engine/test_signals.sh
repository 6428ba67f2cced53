# Exit codes and signals are the program's; what cannot be traced is said.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
run() {
    "$TT_BIN" run -q -o x.ttrace -- "$@" >out.txt 2>err.txt
}
run true
expect "nothing to trace" 3 $?
grep -q "nothing was traced: .*ggml" err.txt || { fail "no reason is given"; cat err.txt; }
run ./no-such-program
expect "not there" 127 $?
run /
expect "not executable" 126 $?
run sh -c 'kill -TERM $$'
expect "dies by a signal" 143 $?
[ -e x.ttrace ] && fail "an empty trace stays"
[ -e x.ttrace.part ] && fail "an empty part file stays"
"$TT_BIN" run -q -o x.ttrace -m no-such.gguf >out.txt 2>err.txt
expect "no such model" 2 $?
: >x.ttrace
run true
expect "an output that exists" 2 $?
[ -s x.ttrace ] && fail "the existing output was changed"
finish
