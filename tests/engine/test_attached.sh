# A program of the newest engine, which calls llama_process, records itself (tensortrace/attach.h): its
# trace does not say that llama_decode was called by other ways, and has texts and ops as with `run`.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_newest
model tiny
set -- $(newest_command) "$TT_NEWEST/usr/bin/llama-completion" -no-cnv -m tiny.gguf -n 8 -p Once
"$TT_BIN" run -q -o run.ttrace -- "$@" >run.out 2>run.err </dev/null || fail "run: $(tail -n 1 run.err)"
ATTACH_HOOK=$TT_HOOK ATTACH_TO=$PWD/late.ttrace LD_PRELOAD=$TT_PROGRAMS/libattach.so "$@" >late.out 2>late.err </dev/null ||
    fail "attached: $(tail -n 1 late.err)"
verified late.ttrace
"$TT_BIN" info --verbose late.ttrace >info.txt
grep -q '^attached *while the program ran: what came before is not in it$' info.txt || fail "attached: $(grep '^attached' info.txt)"
for key in ops decode_calls; do
    expect "$key" "$(field run.ttrace $key)" "$(field late.ttrace $key)"
done
finish
