# Why nothing is traced, or a trace ends early: what is said is what the kernel and the program's file say,
# and, where it is certain, before the program runs.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
engine=$TT_ENGINES/$(engines | tail -n 1)
ulimit -c 0
cc=$(command -v cc || command -v gcc) || { echo "skipped: no C compiler"; exit 77; }
cat >inside.c <<'END'
#include <stdio.h>
#include <unistd.h>
#ifdef GGML
const char *volatile assertion = "GGML_ASSERT(%s) failed";
void ggml_graph_compute(void) { puts(assertion); }
#endif
int main(int argc, char **argv)
{
    FILE *ran = fopen("ran", "w");
    if (ran) fclose(ran);
#ifdef GGML
    if (argc < 1) ggml_graph_compute();
#endif
    if (argc > 1) execvp(argv[1], argv + 1);
    return argc > 1;
}
END
"$cc" -w -O1 -static -DGGML inside.c -o static-ggml 2>cc.err && "$cc" -w -static inside.c -o static-launcher 2>cc.err &&
    "$cc" -w -O1 -DGGML inside.c -o dynamic-ggml 2>cc.err || { echo "skipped: no static C library: $(head -n 1 cc.err)"; exit 77; }
strip static-ggml

# ggml in a static program: it is not run.
for before in "" "env NAME=value" "nohup"; do
    rm -f ran
    "$TT_BIN" run -o no.ttrace -- $before ./static-ggml 2>err.txt
    expect "$before static: exit code" 3 $?
    [ ! -e ran ] || fail "$before static: it ran"
    expect "$before static: why" "tensortrace: nothing was traced: static-ggml was not run: it is a static program with ggml inside: use a build with shared libraries (BUILD_SHARED_LIBS=ON)" "$(cat err.txt)"
done
# Others may start what can be traced.
for launcher in static-launcher dynamic-ggml; do
    rm -f ran ./*.ttrace
    "$TT_BIN" run -o l.ttrace -- "./$launcher" "$TT_PROGRAMS/raw" "$engine" >out.txt 2>err.txt
    expect "$launcher: exit code" 0 $?
    [ -e ran ] || fail "$launcher: it did not run"
    verified l.ttrace
    grep -q "^tensortrace: $launcher: .*; only what it starts or loads can be traced$" err.txt || fail "$launcher: no warning: $(cat err.txt)"
    expect "$launcher: alone" 3 "$("$TT_BIN" run -o n.ttrace -- "./$launcher" 2>alone.txt; echo $?)"
done
grep -q 'dynamic-ggml: ggml is linked into the program itself' alone.txt || fail "dynamic-ggml: $(cat alone.txt)"
# Nothing is said of programs of which nothing is known: a shell, the dynamic linker, this program.
for program in "sh -c :" "$TT_BIN --version" "env true"; do
    "$TT_BIN" run -o n.ttrace -- $program >out.txt 2>err.txt
    ! grep -q 'what it starts' err.txt || fail "$program: $(cat err.txt)"
done

# The signal that ended the program is named; of an _exit it is not said to be one.
"$TT_BIN" run -o a.ttrace -- "$TT_PROGRAMS/odd" "$engine" abort >out.txt 2>err.txt
expect "abort: exit code" 134 $?
grep -q 'ended before its trace was finished (by signal 6, Aborted); what it recorded' err.txt || fail "abort: $(cat err.txt)"
verified a.ttrace

# A name that was asked for and that another process did not get.
"$TT_BIN" run -o h.ttrace -- "$TT_PROGRAMS/odd" "$engine" hide >out.txt 2>err.txt
expect "hide: exit code" 0 $?
other=$(ls h*.ttrace)
if [ "$other" != h.ttrace ]; then
    grep -q "^tensortrace: h.ttrace was not written: what computed were other processes of the program, in $PWD/$other$" err.txt ||
        fail "hide: $(cat err.txt)"
    "$TT_BIN" info h.ttrace >out.txt 2>err.txt
    expect "hide: exit code of info" 2 $?
    grep -q "^tensortrace: $other is a trace of one of the processes" err.txt || fail "hide: info: $(cat err.txt)"
else
    fail "hide: the child got the name, so that nothing was tried"
fi

# A tensor's struct of another time: which, and what to do.
"$TT_BIN" run -o o.ttrace -- "$TT_PROGRAMS/loop-older" 2 2>err.txt
grep -q 'unknown layout (368 bytes with its header, a name at byte 264): .*use a current build of llama.cpp itself$' err.txt || fail "older: $(cat err.txt)"
finish
