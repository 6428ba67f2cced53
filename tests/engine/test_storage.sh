# Memory, limits, disk and extents in a trace are what the system says of them.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
check="python3 $TT_SOURCE_DIR/tests/engine/check_storage.py"
model tiny
engine=$(engines | tail -n 1)
# The same written from its end to its begin, piece by piece, with a hole behind it.
blocks=$(($(stat -c %s tiny.gguf) / 4096 + 1))
at=$blocks
: >pieces.gguf
while [ $at -gt 0 ]; do
    at=$((at > 50 ? at - 50 : 0))
    dd if=tiny.gguf of=pieces.gguf bs=4096 skip=$at seek=$at count=50 conv=notrunc,fsync status=none
done
truncate -s +1M pieces.gguf
sync tiny.gguf pieces.gguf
for file in tiny pieces; do
    set -- -m $file.gguf --engine "$TT_ENGINES/$engine" -p Hello -n 3 -t 1
    "$TT_BIN" run --force -q -o $file.ttrace "$@" >out.txt 2>err.txt
    expect "$file: exit code" 0 $?
    $check "$TT_BIN" $file.ttrace $file.gguf unlimited || fail "$file: differs from the system"
    verified $file.ttrace
done
# A limit of the process.
(
    ulimit -v 16000000
    "$TT_BIN" run --force -q -o limit.ttrace -m pieces.gguf --engine "$TT_ENGINES/$engine" -p Hello -n 3 -t 1
) >out.txt 2>err.txt
expect "limit: exit code" 0 $?
$check "$TT_BIN" limit.ttrace pieces.gguf 16000000 || fail "limit: differs from the system"
# A file system without a disk.
if [ "$(stat -f -c %T /dev/shm)" = tmpfs ]; then
    shm=$(mktemp -d /dev/shm/tensortrace-test-XXXXXX)
    cp tiny.gguf "$shm"
    "$TT_BIN" run --force -q -o shm.ttrace -m "$shm/tiny.gguf" --engine "$TT_ENGINES/$engine" -p Hello -n 3 -t 1 \
        >out.txt 2>err.txt
    expect "tmpfs: exit code" 0 $?
    $check "$TT_BIN" shm.ttrace "$shm/tiny.gguf" unlimited || fail "tmpfs: differs from the system"
    "$TT_BIN" info --json shm.ttrace | grep -q '"unknown": "tmpfs is memory: there is no disk"' ||
        fail "tmpfs: not said that there is no disk"
    rm -r "$shm"
fi
finish
