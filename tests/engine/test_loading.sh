# How a model came into RAM: what a trace says is what another library and mincore say, with the file
# cold, warm, and larger than the memory that the program may have.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
pages_in_ram() { "$TT_PROGRAMS/drop_cache" --show "$1" | sed -n 's/^pages \([0-9]*\) .*/\1/p'; }

# load NAME HOW LIMIT WORDS...: `run` with model.gguf behind those words, watched and checked.
load() {
    about=$1 how=$2 limit=$3
    shift 3
    rm -f watch.log
    at_start=$(pages_in_ram model.gguf)
    "$@" env WATCH_FILE="$PWD/model.gguf" WATCH_LOG="$PWD/watch.log" \
        LD_PRELOAD="$TT_PROGRAMS/libwatch_loading.so" "$TT_BIN" run --force -q --faults --residency -o l.ttrace -m model.gguf $repack \
        --engine "$TT_ENGINES/$engine" -p Hello -n 3 -t 1 >out.txt 2>err.txt || {
        fail "$about: exit code"
        cat err.txt
        return
    }
    verified l.ttrace
    check check_loading l.ttrace model.gguf watch.log "$at_start" "$how" "$limit"
}

"$TT_BIN" synth --preset tinyllama --layers 6 -o model.gguf 2>/dev/null || fail synth
sync model.gguf
for engine in $(engines); do
    repack=--no-repack
    [ "$engine" != b4234 ] || repack= # it has no such setting
    "$TT_PROGRAMS/drop_cache" model.gguf >/dev/null
    load "$engine, cold" roomy 0 env
    load "$engine, warm" roomy 0 env
done

# Without a mapping there is no such row, and nothing is said of populating.
"$TT_BIN" run --force -q --faults --residency -o read.ttrace -m model.gguf --no-mmap --engine "$TT_ENGINES/$engine" \
    -p Hello -n 3 -t 1 >out.txt 2>err.txt || fail "without a mapping: exit code"
phases=$("$TT_BIN" faults --loading --csv --columns phase,populate read.ttrace | tr '\n' ' ')
expect "without a mapping" "phase,populate opened, loaded, prompt, generate, end, " "$phases"

limit=$((160 << 20))
memory_group tensortrace-loading-$$ $limit || {
    [ "$failures" = 0 ] || exit 1
    echo "skipped: $no_group"
    exit 77
}
"$TT_PROGRAMS/drop_cache" model.gguf >/dev/null
load "limit of $limit bytes" limited $limit limited
finish
