# What `buffers` says against what the engine itself logs: kind, name and size of each buffer,
# the sum of what was allocated, and the cells of the KV cache that were written.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model moe
"$TT_BIN" synth --preset tiny --split 3 -o split.gguf 2>/dev/null || fail "synth --split"

# logged LOG: "KIND NAME MiB" of every buffer that the engine tells of.
logged() {
    sed -n 's/^[^~].*: *\([^ ]*\) *\(model\|KV\|output\|compute\) buffer size *= *\([0-9.]*\) MiB.*/\2 \1 \3/p' "$1" |
        sed 's/^model /weights /; s/^KV /kv_cache /' | sort -u
}

# traced JSON: the same of the buffers that were there when the first batch came.
traced() {
    awk '/"name":/ { name = $2; gsub(/[",]/, "", name) }
         /"kind":/ { kind = $2; gsub(/[",]/, "", kind) }
         /"size_bytes":/ && kind { size = sprintf("%.2f", $2 / 1048576) }
         /"freed_relative_ns":/ && kind { if ($2 !~ /^-/) print kind, name, size; kind = "" }' "$1" |
        sort -u
}

# value JSON KEY: the last value of the key.
value() {
    sed -n "s/^ *\"$2\": *\([0-9]*\),\{0,1\}$/\1/p" "$1" | tail -n 1
}

# The most there was at once, as "MiB"; and whether the engine's own sizes add up to it.
sums_agree() {
    awk -v file="$1" '
        FILENAME == file && !/CPU_Mapped/ { logged += $3; n++ }
        FILENAME != file && /"peak":/ { peak = 1 }
        FILENAME != file && peak && /"size_bytes":/ { allocated = $2 / 1048576; peak = 0 }
        END { d = logged - allocated; exit !(n && d < 0.006 * n && d > -0.006 * n) }' "$1" "$2"
}

compared=0
# compare ENGINE MODEL OPTION...
compare() {
    what="$*" engine=$1 file=$2
    shift 2
    set -- -m "$file" --engine "$TT_ENGINES/$engine" -p "Hello there" -n 6 --ignore-eos -t 1 "$@"
    if ! "$TT_BIN" runner "$@" --json >plain.json 2>err.txt; then
        # Old engines keep some settings where the runner does not find them.
        grep -q "keeps the setting\|has no such setting" err.txt || fail "$what: runner: $(cat err.txt)"
        return
    fi
    "$TT_BIN" run --force -q -o b.ttrace "$@" --verbose >/dev/null 2>log.txt || fail "$what: run"
    "$TT_BIN" buffers --json b.ttrace >b.json || fail "$what: buffers"
    logged log.txt >logged.txt
    traced b.json >traced.txt
    [ -s logged.txt ] || fail "$what: the engine logs no buffer"
    same "$what: buffers" logged.txt traced.txt
    sums_agree logged.txt b.json || fail "$what: the sizes do not add up to the peak"
    expect "$what: cells written" "$(value plain.json decoded_tokens)" \
        "$(sed -n '/"kv_caches"/,$s/^ *"cells_written": *\([0-9]*\),*$/\1/p' b.json | head -n 1)"
    cells=$(sed -n 's/.*( *\([0-9]*\) cells,.*/\1/p' log.txt | head -n 1)
    [ -z "$cells" ] || expect "$what: cells" "$cells" \
        "$(sed -n '/"kv_caches"/,$s/^ *"cells": *\([0-9]*\),*$/\1/p' b.json | head -n 1)"
    grep -q '"written_at_least": true' b.json && fail "$what: some writes to the KV cache were not followed"
    compared=$((compared + 1))
}

for engine in $(engines); do
    compare "$engine" moe.gguf
    compare "$engine" moe.gguf --no-mmap
    compare "$engine" moe.gguf --no-repack
    compare "$engine" moe.gguf --flash-attn off
    compare "$engine" split-00001-of-00003.gguf
done
echo "$compared runs compared"
[ "$compared" -gt 0 ] || fail "nothing was compared"
finish
