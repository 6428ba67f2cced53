# What a trace's options did not record is not a number of any command or endpoint, nor in a sentence.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
check check_unobserved "$TT_ENGINES/$(engines | tail -n 1)"
finish
