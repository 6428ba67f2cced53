# What a thread did, against what the kernel counts for it: in user mode and in the kernel, waiting for a
# processor, throttled, stopped; alone, beside two busy loops on each processor, below a quota of processor time, stopped by
# a signal, below a memory limit. And threads that are more than the processors they may use.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
about=threads
check check_threads "$TT_PROGRAMS" "$TT_ENGINES/$(engines | tail -n 1)"
finish
