# The hook library on another processor: built for arm64 and run under qemu, on the engine of
# programs/loop_engine.c. Traces are read by the host's tensortrace.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
cc=aarch64-linux-gnu-gcc
for tool in $cc qemu-aarch64-static; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
[ -f "$TT_SOURCE_DIR/.deps/blake3/blake3.h" ] || { echo "skipped: no sources of BLAKE3"; exit 77; }
mkdir include objects
cp /usr/include/xxhash.h /usr/include/xxh3.h /usr/include/zstd*.h include/ || fail "headers"
flags="-std=gnu11 -O1 -fPIC -fvisibility=hidden -ffunction-sections -D_GNU_SOURCE -DBLAKE3_USE_NEON=1 -DTT_VERSION=\\\"test\\\" -I$TT_SOURCE_DIR/src -I$TT_SOURCE_DIR/include -Iinclude"
blake3=$TT_SOURCE_DIR/.deps/blake3
for source in "$TT_SOURCE_DIR"/src/base/*.c "$TT_SOURCE_DIR"/src/value/*.c "$TT_SOURCE_DIR"/src/format/*.c \
    "$TT_SOURCE_DIR"/src/record/*.c "$TT_SOURCE_DIR"/src/host/*.c "$TT_SOURCE_DIR"/src/policy/*.c \
    "$TT_SOURCE_DIR"/src/boost/*.c "$TT_SOURCE_DIR"/src/gguf/reader.c "$TT_SOURCE_DIR"/src/gguf/types.c "$TT_SOURCE_DIR"/src/adapter/ggml/*.c \
    "$blake3/blake3.c" "$blake3/blake3_dispatch.c" "$blake3/blake3_portable.c" "$blake3/blake3_neon.c"; do
    # One source of a name each: the folder is a part of the object's.
    object=objects/$(echo "${source#"$TT_SOURCE_DIR"/}" | tr /. __).o
    echo "$flags -isystem $blake3 -c $source -o $object"
done | xargs -P "$(nproc)" -L 1 $cc 2>build.err || { fail "the hook library does not build for arm64"; head -n 20 build.err; finish; }
$cc -shared -o hook.so objects/*.o -Wl,--gc-sections -Wl,-z,now -Wl,-z,defs -Wl,--hash-style=both -lpthread -ldl -lm || fail "link"
for way in called inlined; do
    defined=
    [ $way = called ] || defined=-DBARRIER_INLINED
    # shellcheck disable=SC2086
    $cc -std=gnu11 -O2 -D_GNU_SOURCE $defined -I"$TT_SOURCE_DIR/src" -fPIC -shared -o libloop-$way.so \
        "$TT_SOURCE_DIR/tests/engine/programs/loop_engine.c" -lpthread || fail "$way: engine"
    $cc -std=gnu11 -O2 -D_GNU_SOURCE -I"$TT_SOURCE_DIR/src" -o loop-$way "$TT_SOURCE_DIR/tests/engine/programs/loop.c" \
        -L. -lloop-$way -Wl,-rpath,"$PWD" || fail "$way: program"
    for threads in 1 2; do
        about="arm64, $way, $threads"
        rm -f l.ttrace
        qemu-aarch64-static -L /usr/aarch64-linux-gnu -E LD_PRELOAD="$PWD/hook.so" -E TENSORTRACE_OUT="$PWD/l.ttrace" \
            ./loop-$way $threads || fail "$about: exit code"
        verified l.ttrace
        check check_times l.ttrace $way $threads
    done
done
# Attached by the program itself, whose slots are closed.
about="arm64, attached"
# shellcheck disable=SC2086
$cc -std=gnu11 -O2 -D_GNU_SOURCE -DLOOP_ATTACH -I"$TT_SOURCE_DIR/src" -I"$TT_SOURCE_DIR/include" -o loop-attach \
    "$TT_SOURCE_DIR/tests/engine/programs/loop.c" -Wl,--no-as-needed -L. -lloop-called -l:hook.so -Wl,-rpath,"$PWD" -Wl,-z,now || fail "$about: program"
qemu-aarch64-static -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$PWD" ./loop-attach 2 c1.ttrace c2.ttrace || fail "$about: exit code"
for trace in c1 c2; do
    verified $trace.ttrace
    expect "$about: records" 60 "$(field $trace.ttrace op_records)"
done
finish
