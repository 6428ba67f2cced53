# kill -9 at random moments, of the traced program, of `run`, of both: what was done before is in
# the trace, whole. TT_KILLS says how many (programs/kills.c).
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model tiny
engine=$(engines | tail -n 1)
"$TT_PROGRAMS/kills" "$TT_BIN" "$TT_ENGINES/$engine" tiny.gguf "${TT_KILLS:-120}" 1 >kills.txt ||
    fail "kills: $(tail -n 1 kills.txt)"
cat kills.txt
finish
