# Why a token was slow: a processor hog, a stopped process, too little memory, experts put out of the
# page cache, a prompt in the same batch, a sleep between decodes and between ops. The answer is right
# for nine of ten, and other tokens are not blamed. For more cases than these 28:
# check_why.py BIN PROGRAMS ENGINE 3
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
about=why
check check_why "$TT_PROGRAMS" "$TT_ENGINES/$(engines | tail -n 1)" 1
finish
