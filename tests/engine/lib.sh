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

# model PRESET: makes PRESET.gguf unless it is there.
model() {
    [ -f "$1.gguf" ] || "$TT_BIN" synth --preset "$1" -o "$1.gguf" 2>/dev/null || fail "synth $1"
}

need_python() {
    command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
}

# check NAME ARGS...: NAME.py of this folder is content; $about says of what.
about=
check() {
    script=$1
    shift
    python3 "$TT_SOURCE_DIR/tests/engine/$script.py" "$TT_BIN" "$@" >check.out 2>&1
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
