# What the scripts of bench/ share; read with `.` from the project's folder.
#
#   build     the build tree          tt       the program           bin   the programs of bench/
#   work      scratch, kept for models from one run to the next      results   tables, as CSV
#
# BENCH_QUICK=1 makes everything short: to see that it works, not to learn a figure.
# shellcheck shell=sh disable=SC2034
build=$(cd "${1:-build}" && pwd)
tt=$build/bin/tensortrace
bin=$build/bench/bin
work=$PWD/bench/work
results=$PWD/bench/results
quick=${BENCH_QUICK:-}
cpus=${BENCH_CPUS:-$(nproc)}
mkdir -p "$work" "$results"

note() { printf 'bench: %s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

# model NAME: its path; made if need be. tiny, moe, tinyllama (that of `make demo` if it is there).
model() {
    if [ "$1" = tinyllama ] && [ -f demo/tinyllama.gguf ]; then
        echo "$PWD/demo/tinyllama.gguf"
        return
    fi
    [ -f "$work/$1.gguf" ] || "$tt" synth --preset "$1" -o "$work/$1.gguf" >&2
    echo "$work/$1.gguf"
}

# publish FILE: what was written to FILE.new takes its name, whole or not at all.
publish() { mv "$1.new" "$1"; }
