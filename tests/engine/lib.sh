# Shared by the tests of this folder: `. "$TT_SOURCE_DIR/tests/engine/lib.sh"`.
set -u
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# same NAME FILE FILE: the two files are alike.
same() {
    cmp -s "$2" "$3" || {
        fail "$1: $2 and $3 differ"
        diff "$2" "$3" | head -n 6
    }
}

# verified TRACE: `verify` finds nothing wrong with it.
verified() {
    "$TT_BIN" verify "$1" >verify.out 2>&1 || {
        fail "verify $1"
        cat verify.out
    }
}

# field TRACE NAME: the value of a key of `info --json`, wherever it is.
field() {
    "$TT_BIN" info --json "$1" | sed -n "s/^ *\"$2\": *\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" | head -n 1
}

# expect NAME WANTED GOT
expect() {
    [ "$2" = "$3" ] || fail "$1: expected '$2', got '$3'"
}

engines() {
    found=$(ls "$TT_ENGINES")
    [ -n "$found" ] || {
        echo "skipped: no engines fetched"
        exit 77
    }
    echo "$found"
}

# is_last ENGINE: what costs much and is the same with all of them is tried with one.
is_last() {
    [ "$1" = "$(engines | tail -n 1)" ]
}

# fork_contexts ENGINE: how many compute after a fork, where threads of several spin for each other.
fork_contexts() {
    if is_last "$1"; then echo 2; else echo 1; fi
}

# model PRESET: makes PRESET.gguf unless it is there.
model() {
    [ -f "$1.gguf" ] || "$TT_BIN" synth --preset "$1" -o "$1.gguf" 2>/dev/null || fail "synth $1"
}

# The newest engine: skips the test where it could not be fetched.
[ -x "${TT_NEWEST:-}/usr/lib64/ld-linux-x86-64.so.2" ] || TT_NEWEST=
need_newest() {
    [ -n "$TT_NEWEST" ] || {
        echo "skipped: the newest engine was not fetched (see engine.newest_engine)"
        exit 77
    }
    libraries=$TT_NEWEST/usr/lib/x86_64-linux-gnu
    # Elsewhere than in its place its ggml finds no backends by itself.
    variant=x64
    grep -q '^flags.* avx2 .*' /proc/cpuinfo && grep -q '^flags.* fma .*' /proc/cpuinfo && variant=haswell
    export GGML_BACKEND_PATH="$libraries/ggml/backends0/libggml-cpu-$variant.so"
    # Threads of OpenMP that spin take the machine from the others.
    export OMP_WAIT_POLICY=passive
}

# The words before a program of the newest engine, which run it by the loader and with the
# libraries it was packaged with.
newest_command() {
    echo "$TT_NEWEST/usr/lib64/ld-linux-x86-64.so.2 --library-path $libraries:$libraries/llama"
}

# memory_group NAME LIMIT: a control group with that many bytes of memory, made and named in $group; it
# is removed at the exit. Else false, and $no_group says why.
memory_group() {
    no_group="no memory cgroup can be made here"
    if mkdir "/sys/fs/cgroup/memory/$1" 2>/dev/null; then
        group=/sys/fs/cgroup/memory/$1
        knob=memory.limit_in_bytes
    elif mkdir "/sys/fs/cgroup/$1" 2>/dev/null; then
        group=/sys/fs/cgroup/$1
        knob=memory.max
    else
        return 1
    fi
    trap 'rmdir "$group"' EXIT
    no_group="$group/$knob cannot be set"
    [ -f "$group/$knob" ] && echo "$2" >"$group/$knob"
}

# limited COMMAND...: in that group, from its first page on.
limited() {
    sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
}

need_python() {
    command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
}

# check NAME ARGS...: NAME.py of this folder is content; $about says of what.
about=
check() {
    script=$1
    shift
    PYTHONDONTWRITEBYTECODE=1 python3 "$TT_SOURCE_DIR/tests/engine/$script.py" "$TT_BIN" "$@" >check.out 2>&1
    case $? in
    0) ;;
    77) cat check.out; exit 77 ;;
    *) fail "$about: $script"; cat check.out ;;
    esac
}

finish() {
    [ "$failures" = 0 ] || exit 1
    exit 0
}

# No area of a trace in this folder is left in shared memory. Other tests record at the same time:
# an area names its trace in its first page.
no_area_left() {
    for area in /dev/shm/tensortrace-*.area; do
        head -c 4096 "$area" 2>/dev/null | grep -qF "$PWD/" && fail "left behind: $area"
    done
}
