# A Node program opens the engine late, locally, from worker threads.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
command -v node >/dev/null || { echo "skipped: no node"; exit 77; }
[ -d "$TT_NODE_MODULES/node-llama-cpp" ] || { echo "skipped: node-llama-cpp is not fetched"; exit 77; }
# Node's warnings about itself name its process, which differs.
export NODE_NO_WARNINGS=1
model tiny
set -- node "$TT_SOURCE_DIR/tests/engine/programs/node.mjs" "$TT_NODE_MODULES" tiny.gguf
"$@" >plain.txt 2>plain.err
expect "untraced exit code" 0 $?
"$TT_BIN" run -q -o n.ttrace -- "$@" >traced.txt 2>traced.err
expect "traced exit code" 0 $?
same "text" plain.txt traced.txt
same "messages" plain.err traced.err
verified n.ttrace
expect "mode" hook "$(field n.ttrace mode)"
finish
