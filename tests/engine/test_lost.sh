# The file that a trace is written to is removed, replaced or moved meanwhile, or the program has
# closed it: the program goes on as untraced, and what became of the trace is said.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model tiny
engine=$TT_ENGINES/$(engines | tail -n 1)
program="$TT_PROGRAMS/endless $engine tiny.gguf 600 3000"
$program >plain.txt 2>plain.err
expect "untraced: exit code" 0 $?

# meanwhile NAME COMMANDS: traces to x/x.ttrace, and does that as soon as something is in it.
meanwhile() {
    rm -rf x y
    mkdir x
    "$TT_BIN" run -o x/x.ttrace -- $program >out.txt 2>err.txt &
    run=$!
    while kill -0 $run 2>/dev/null && [ ! -s x/x.ttrace.part ]; do sleep 0.01; done
    sh -c "$2" || fail "$1: $2"
    wait $run
    code=$?
    same "$1: text" plain.txt out.txt
}

# lost NAME: nothing was traced, and why.
lost() {
    expect "$1: exit code" 3 $code
    grep -q "nothing was traced: .*x/x.ttrace.part was .*removed or replaced" err.txt || fail "$1: $(cat err.txt)"
    grep -q wrote err.txt && fail "$1: $(cat err.txt)"
}

meanwhile removed 'rm x/x.ttrace.part'
lost removed
[ -z "$(ls x)" ] || fail "removed: left are $(ls x)"

meanwhile "folder removed" 'rm -r x'
lost "folder removed"

echo mine >mine.txt
cp mine.txt kept.txt
meanwhile "replaced by a link" 'rm x/x.ttrace.part && ln -s ../mine.txt x/x.ttrace.part'
lost "replaced by a link"
same "replaced by a link" kept.txt mine.txt
expect "replaced by a link: what is there" x.ttrace.part "$(ls x)"

meanwhile "replaced by a file" 'rm x/x.ttrace.part && cp mine.txt x/x.ttrace.part'
lost "replaced by a file"
same "replaced by a file" kept.txt x/x.ttrace.part

# Killed as well: `run` finds no file that it could finish.
cat >die.sh <<'DIE'
"$@" &
while [ ! -s x/x.ttrace.part ]; do sleep 0.01; done
sleep 0.5
rm x/x.ttrace.part
kill -9 $!
DIE
rm -rf x
mkdir x
"$TT_BIN" run -o x/x.ttrace -- sh die.sh $program >out.txt 2>err.txt
code=$?
lost "removed and killed"

# Moved: it is finished where it is.
meanwhile moved 'mv x/x.ttrace.part x/y.ttrace.part'
expect "moved: exit code" 0 $code
grep -q "wrote .*x/y.ttrace (" err.txt || fail "moved: $(cat err.txt)"
expect "moved: what is there" y.ttrace "$(ls x)"
verified x/y.ttrace

meanwhile "folder moved" 'mv x y'
expect "folder moved: exit code" 0 $code
expect "folder moved: what is there" x.ttrace "$(ls y)"
verified y/x.ttrace

# All descriptors closed, and the exit code 0: not said to have been killed.
"$TT_BIN" run -o d.ttrace -- "$TT_PROGRAMS/odd" "$engine" descriptors >out.txt 2>err.txt
expect "descriptors: exit code" 0 $?
grep -q "process [0-9]* could not finish its trace (.*closed the trace's file" err.txt || fail "descriptors: $(cat err.txt)"
verified d.ttrace

# The same when another process of the run has lost its trace: each is told its own reason.
cat >two.sh <<'TWO'
engine=$1
shift
"$@" &
while [ ! -s x/x.ttrace.part ]; do sleep 0.01; done
rm x/x.ttrace.part
wait $!
exec "$TT_PROGRAMS/odd" "$engine" descriptors
TWO
rm -rf x
mkdir x
"$TT_BIN" run -o x/x.ttrace -- sh two.sh "$engine" $program >out.txt 2>err.txt
grep -q "process [0-9]* could not finish its trace (.*closed the trace's file" err.txt || fail "two reasons: $(cat err.txt)"

# Killed behind the renaming: what became of it is said as of any other, also when it has a number.
for name in x x-2; do
    rm -rf x
    mkdir x
    "$TT_BIN" run --limit 64K -o x/x.ttrace -- sh -c 'LD_PRELOAD=$0:$LD_PRELOAD exec "$@"' \
        "$TT_PROGRAMS/libdie_renamed.so" $program >out.txt 2>err.txt &
    run=$!
    while kill -0 $run 2>/dev/null && [ ! -s x/x.ttrace.part ]; do sleep 0.01; done
    [ $name = x ] || echo other >x/x.ttrace
    wait $run
    expect "killed when named $name: what is there" "$([ $name = x ] || echo x-2.ttrace)x.ttrace" "$(ls x | tr -d '\n')"
    grep -q "wrote .*x/$name.ttrace (" err.txt || fail "killed when named $name: $(cat err.txt)"
    grep -q "recording stopped at the limit: [1-9]" err.txt || fail "killed when named $name: no outcome: $(cat err.txt)"
    verified x/$name.ttrace
done

no_area_left
finish
