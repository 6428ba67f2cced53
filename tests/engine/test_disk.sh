# Disks that are full or may not be written, and a full /dev/shm: the program goes on as untraced,
# the loss is counted, what is there is sound.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model tiny
engine=$TT_ENGINES/$(engines | tail -n 1)
program="$TT_PROGRAMS/endless $engine tiny.gguf 6000"
$program >plain.txt 2>plain.err
expect "untraced: exit code" 0 $?

# ended NAME: as untraced, and said so, and nothing hangs about.
ended() {
    expect "$1: exit code" "${2:-0}" "$code"
    same "$1: text" plain.txt out.txt
}

# A limit on the size of files that leaves no room for the shared memory: not a signal, a reason.
(ulimit -f 4000 && exec "$TT_BIN" run -o small.ttrace -- $program >out.txt 2>err.txt)
code=$?
ended "file size limit" 3
grep -q "nothing was traced: cannot create .*: File too large" err.txt || fail "file size limit: $(cat err.txt)"
ls small* >/dev/null 2>&1 && fail "file size limit: something is left"
(ulimit -f 10 && exec "$TT_BIN" run -o small.ttrace -- $program >out.txt 2>err.txt)
expect "smaller file size limit: exit code" 2 $?

# A folder that may not be written is found out before the program runs.
mkdir -p closed && chmod 555 closed
if [ ! -w closed ]; then
    "$TT_BIN" run -o closed/t.ttrace -- $program >out.txt 2>err.txt
    expect "read-only folder: exit code" 2 $?
fi

# The rest needs file systems of its own.
unshare -m true 2>/dev/null || {
    echo "file systems of our own cannot be had: full disks and /dev/shm are left out"
    finish
}

# within COMMANDS: in a mount namespace.
within() {
    unshare -m sh -c "$1"
}
longer="$TT_PROGRAMS/endless $engine tiny.gguf 30000"
export TT_BIN program longer
mkdir -p disk
within 'mount -t tmpfs -o size=300k none disk || exit 99
    "$TT_BIN" run -o disk/t.ttrace -- $program >out.txt 2>err.txt
    echo $? >code
    "$TT_BIN" info disk/t.ttrace.part >part.txt 2>&1 || "$TT_BIN" info disk/t.ttrace >part.txt 2>&1
    mount -o remount,size=20m disk
    if [ -f disk/t.ttrace.part ]; then "$TT_BIN" recover disk/t.ttrace >recover.txt 2>&1; fi
    cp disk/t.ttrace full.ttrace'
code=$(cat code)
ended "full disk"
verified full.ttrace
[ "$(field full.ttrace ops_dropped)" -gt 0 ] || fail "full disk: nothing is counted as dropped"

# A flight recorder on a disk with room for it, but not for its copy at the end.
rm -f full.ttrace
within 'mount -t tmpfs -o size=1500k none disk || exit 99
    "$TT_BIN" run --ring 1M -o disk/t.ttrace -- $longer >out.txt 2>err.txt
    echo $? >code
    cp disk/t.ttrace full.ttrace'
code=$(cat code)
cp plain.txt plain.short
$longer >plain.txt 2>plain.err
ended "flight recorder, no room for a copy"
grep -q "wrote" err.txt || fail "flight recorder, no room for a copy: $(cat err.txt)"
"$TT_BIN" info full.ttrace | grep -q "a flight recorder of 1.0 MiB: the last" ||
    fail "flight recorder, no room for a copy: info does not say what it is"
verified full.ttrace

# A file system that does not take back parts of files is refused, in words.
within 'mount -t ramfs none disk || exit 99
    "$TT_BIN" run --ring 1M -o disk/t.ttrace -- $longer >out.txt 2>err.txt
    echo $? >code
    ls disk >left.txt'
code=$(cat code)
ended "no holes" 3
mv plain.short plain.txt
grep -q "cannot take back the space" err.txt || fail "no holes: $(cat err.txt)"
[ ! -s left.txt ] || fail "no holes: left are $(cat left.txt)"

# The target becomes read-only while the program runs.
rm -f full.ttrace
within 'mount -t tmpfs none disk || exit 99
    (sleep 0.3; mount -o remount,ro disk) 2>/dev/null &
    "$TT_BIN" run -o disk/t.ttrace -- $program >out.txt 2>err.txt
    echo $? >code
    wait
    mount -o remount,rw disk
    if [ -f disk/t.ttrace.part ]; then "$TT_BIN" recover disk/t.ttrace >recover.txt 2>&1; fi
    cp disk/t.ttrace full.ttrace'
code=$(cat code)
ended "read-only"
verified full.ttrace

# No shared memory: the area goes to the folder of the trace, or nothing is traced.
rm -f full.ttrace
within 'mount -t tmpfs -o size=200k none /dev/shm || exit 99
    "$TT_BIN" run -o full.ttrace -- $program >out.txt 2>err.txt
    echo $? >code; ls >left.txt; ls /dev/shm >>left.txt'
code=$(cat code)
ended "small /dev/shm"
verified full.ttrace
grep -q area left.txt && fail "small /dev/shm: an area is left"
finish
