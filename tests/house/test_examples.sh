#!/bin/sh
# test_examples.sh SOURCES BUILD: the examples, built against an installed tensortrace as a user
# would, by pkg-config and by CMake; recording them, and leaving recording out.
set -eu
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/tt" >/dev/null
cp -r "$source/examples" "$work/examples"
cd "$work/examples/engine"
tensortrace=$work/tt/bin/tensortrace
"$tensortrace" synth --preset tiny -o "$work/tiny.gguf" 2>/dev/null

wrong() {
    echo "$*"
    exit 1
}

# computes ENGINE: it chooses the same tokens as llama.cpp (tests/engine compares the two).
computes() {
    chosen=$("$1" -m "$work/tiny.gguf" --tokens 1,416,269,873,422 -n 6) || wrong "$1 fails"
    [ "$chosen" = 682,410,1347,1732,1798,1223 ] || wrong "$1 chooses $chosen"
}

# records ENGINE NAME: with nothing but the environment set.
records() {
    TENSORTRACE=$work/$2.ttrace "$1" -m "$work/tiny.gguf" --tokens 1,5,9 -n 3 >/dev/null || wrong "$1 fails"
    "$tensortrace" verify "$work/$2.ttrace" >"$work/verify" || { cat "$work/verify"; exit 1; }
    "$tensortrace" info --json "$work/$2.ttrace" | grep -q '"batches": 3,' || wrong "$2: not 3 batches"
}

export PKG_CONFIG_PATH="$work/tt/lib/pkgconfig" LD_LIBRARY_PATH="$work/tt/lib"
# Unquoted: words for the compiler.
flags=$(pkg-config --cflags --libs tensortrace-record)
cc -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror ./*.c $flags -lm -pthread -o "$work/by-pkg-config"
computes "$work/by-pkg-config"
records "$work/by-pkg-config" pkg-config

cmake -S . -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/tt" >/dev/null
cmake --build "$work/cmake" >/dev/null
unset LD_LIBRARY_PATH
computes "$work/cmake/example-engine"
records "$work/cmake/example-engine" cmake

# Compiled out, nothing of it is left: not even the library is needed.
cc -std=c11 -D_GNU_SOURCE -O2 -DTT_RECORD_OFF -I"$work/tt/include" ./*.c -lm -pthread -o "$work/without"
computes "$work/without"
if nm -D "$work/without" | grep ' tt_'; then wrong "compiled out, but there are calls left"; fi
