#!/bin/sh
# BitNet-style folders of real llama.cpp: the same bytes from any number of threads; each compared with
# the trace it comes from; what is damaged, missing or empty is never equal.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"

engine="$TT_ENGINES/v0.5.0"
[ -d "$engine" ] || { echo "skipped: engine v0.5.0 was not fetched"; exit 77; }
model tiny

# count FOLDER: files in it.
count() {
    find "$1" -type f | wc -l
}

# record NAME THREADS LEVEL
record() {
    "$TT_BIN" run -q -o "$1.ttrace" --engine "$engine" -m tiny.gguf -p "where is it" -n 3 --ignore-eos -t "$2" \
        --values="$3" >/dev/null || fail "run $1"
}

# code NAME WANTED COMMAND...: its exit code, and that something is said.
code() {
    what=$1 wanted=$2
    shift 2
    "$TT_BIN" "$@" >said.out 2>&1
    expect "$what: exit code" "$wanted" $?
    [ -s said.out ] || fail "$what: nothing said"
}

record two 2 hash
record one 1 hash
record counts 2 stats
for name in two one; do
    code "export $name" 0 export "$name.ttrace" --format bitnet -o "$name"
    verified "$name"
done
diff -r one two >differ.out || fail "1 and 2 threads: $(head -n 3 differ.out)"

code "export of stats" 2 export counts.ttrace --format bitnet -o counts
grep -q -e "--values=hash" said.out || fail "export of stats does not say what to do: $(cat said.out)"
[ ! -e counts ] || fail "export of stats left something"

# With its trace: everything is equal, on either side; what has no stage only with --all.
for sides in "two.ttrace two" "two two.ttrace" "two one"; do
    # shellcheck disable=SC2086
    code "diff $sides" 0 diff --values $sides
    grep -q "^Equal: all $(count two) values" said.out || fail "diff $sides: $(head -n 2 said.out)"
done
code "export --all" 0 export two.ttrace --format bitnet --all -o all
code "diff of all" 0 diff --values two.ttrace all
grep -q "^Equal: all $(count all) values" said.out || fail "diff of all: $(head -n 2 said.out)"
[ "$(count all)" -gt "$(count two)" ] || fail "--all writes no more than without it"

# One other digest and RMS are found, and called by their place.
cp -r two other
sed -e 's/"blake3": "..../"blake3": "0000/' -e 's/"rms": [0-9]/"rms": 9/' two/t0_blk2_q_proj.trace >other/t0_blk2_q_proj.trace
code "diff of a changed value" 1 diff --values two other
head -n 1 said.out | grep -q "q_proj" || fail "a changed value is not found: $(head -n 1 said.out)"

# Nothing is skipped.
printf '{' >other/t0_blk2_q_proj.trace
code "diff of a damaged file" 2 diff --values two.ttrace other
grep -q "t0_blk2_q_proj.trace, line 1" said.out || fail "a damaged file is not named: $(cat said.out)"
mkdir nothing
code "diff of empty folders" 2 diff --values nothing nothing
code "diff of an empty folder" 2 diff --values two nothing

[ "$failures" -eq 0 ]
