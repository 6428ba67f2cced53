# values --first-bad on real engines: nothing in healthy models; in a model with one NaN, one infinity
# or an overflow, the op that reads or makes it, its place, and its sources.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model tiny
model moe
"$TT_BIN" synth --preset tiny --type F32 -o sound.gguf 2>/dev/null || fail synth

# offset TENSOR ROW COLUMN: where the element is in sound.gguf.
offset() {
    "$TT_BIN" gguf sound.gguf --csv | awk -F, -v name="$1" -v row="$2" -v column="$3" '
        $1 == name { print $2 + 4 * (row * $8 + column) }'
}

# patch FILE OFFSET BYTES: four bytes of a copy, or of FILE when it is there.
patch() {
    [ -f "$1" ] || cp sound.gguf "$1"
    # shellcheck disable=SC2059
    printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none || fail "patch $1"
}

patch nan.gguf "$(offset blk.2.ffn_down.weight 5 3)" '\000\000\300\177'
patch inf.gguf "$(offset blk.2.ffn_down.weight 5 3)" '\000\000\200\177'
# 1e30 each: what comes out of both is finite, their product is not.
patch large.gguf "$(offset blk.2.ffn_gate.weight 7 3)" '\312\362\111\161'
patch large.gguf "$(offset blk.2.ffn_up.weight 7 3)" '\312\362\111\161'
# 1e6: a value that a cache of halves cannot hold.
patch half.gguf "$(offset blk.1.attn_v.weight 0 0)" '\000\044\164\111'

# traced MODEL OPTION...: t.ttrace of a short run.
traced() {
    file=$1
    shift
    "$TT_BIN" run --force -q -o t.ttrace --engine "$TT_ENGINES/$engine" -n 2 --ignore-eos -p "Once upon a time" \
        -m "$file" "$@" >/dev/null 2>err.txt || fail "$about: exit code"
}

# first_bad EXIT ARG...: t.ttrace's, in first.out and first.json.
first_bad() {
    wanted=$1
    shift
    "$TT_BIN" values --first-bad t.ttrace "$@" >first.out 2>&1
    expect "$about: exit" "$wanted" $?
    "$TT_BIN" values --first-bad --json t.ttrace "$@" >first.json 2>/dev/null
    expect "$about: exit with --json" "$wanted" $?
}

# says WORDS...: a line of first.out, blanks put together.
says() {
    tr -s ' ' <first.out | grep -qF -- "$*" || {
        fail "$about: does not say '$*'"
        cat first.out
    }
}

nan_is_found() {
    says "first bad ffn_out-2, output of MUL_MAT"
    says "in batch 0 (prompt)"
    says "the first at [5, 0, 0, 0], element 5"
    says "made here"
    says "blk.2.ffn_down.weight weight, NOT FINITE"
    says "nan.gguf: 1 NaN and 0 infinite of"
    says "elements, the first at [3, 5, 0, 0]"
    says "the model file itself contains it"
    says "finite ffn_" # by the activation, whatever the engine calls it
    says "logits reached in batch 0 (prompt)"
    grep -q '"origins_total": 2' first.json || fail "$about: made once per batch"
}

for engine in $(engines); do
    about="$engine tiny"
    traced tiny.gguf -t 2 --values=stats
    first_bad 0
    # As `values` says it: infinities of a mask are no fault.
    ! grep NaN err.txt || fail "$about: run tells of NaN or infinity"
    says "nothing bad in"
    about="$engine moe"
    traced moe.gguf -t 2 --values=stats --mode=callback
    first_bad 0
    about="$engine nan"
    traced nan.gguf -t 2 --values=stats
    first_bad 1
    nan_is_found
    bad=$(sed -n 's/^ *"bad": \([0-9]*\),$/\1/p' first.json)
    grep -q ": $bad outputs hold NaN or infinity, first: ffn_out-2 in batch 0: see" err.txt ||
        fail "$about: run does not tell of the $bad that values does"
    about="$engine large"
    traced large.gguf -t 2 --values=stats
    first_bad 1
    # The activation, times the other; older graphs take two ops for it.
    says "-2, output of"
    says "made here"
    says "the first at [7, "
    grep -q '"looked_at"' first.json && fail "$about: a weight is no source of it"
    grep -q '"max": [0-9.]*e+\{0,1\}2[89]\|"max": [0-9.]*e+\{0,1\}30' first.json || fail "$about: no large source"
done

for engine in $(engines); do
    about="$engine half"
    traced half.gguf -t 2 --values=stats
    first_bad 1
    # Rows that are copied into the cache; what it held before is no source of them.
    grep -q '^first bad .*cache.*, output of [A-Z+]*\(SET_ROWS\|CPY\), ' first.out || fail "$about: $(cat first.out)"
    says "made here"
    grep -q "  not measured" first.out && fail "$about: what is written into is told as a source"
    says "finite Vcur-1"
    grep -q '^overflow  *the op converts Vcur-1[a-z ()]* to f16, in which what is beyond 65504 becomes infinite' first.out ||
        fail "$about: $(cat first.out)"
done
# One layer is finite: no line, so no plot.
"$TT_BIN" report --no-measure -o half.html t.ttrace >/dev/null 2>&1 || fail "$about: exit of report"
grep -q "l_out over the layers" half.html || fail "$about: no table over the layers"
grep -q "RMS and largest magnitude of l_out" half.html && fail "$about: a plot of nothing"

# 1e9 in a norm: a factor that a product narrows as its weight's type demands. Half a float has 65504 at most, and a
# block of q8_0 as its scale 127 times less than its largest element.
for narrow in "F16 f16 65504" "Q8_0 q8_0 8.31901e+06"; do
    set -- $narrow
    "$TT_BIN" synth --preset tiny --type "$1" --force -o narrow.gguf 2>/dev/null || fail "synth $1"
    at=$("$TT_BIN" gguf narrow.gguf --csv | awk -F, '$1 == "blk.2.ffn_norm.weight" { print $2 + 12 }')
    printf '\050\153\156\116' | dd of=narrow.gguf bs=1 seek="$at" conv=notrunc status=none || fail "patch $1"
    engine=$(engines | tail -n 1)
    about="factor of $1"
    traced narrow.gguf -t 2 --values=stats --no-repack
    first_bad 1
    says "overflow the op converts ffn_norm-2 to $2, in which what is beyond $3 becomes infinite: it reaches"
    # What it reaches is the largest magnitude of that output, as the table has it.
    "$TT_BIN" values t.ttrace --tensor ffn_norm-2 --csv --limit 0 --columns name,batch_id,min,max 2>/dev/null | awk -F, '
        $1 == "ffn_norm-2" && $2 == 0 { print ($4 > -$3 ? $4 : -$3) }' >largest
    sed -n 's/^ *"narrowed_largest": \([0-9.e+]*\),*$/\1/p' first.json | head -n 1 | awk 'NR == FNR { want = $1; next }
        { if ($1 < want * 0.999 || $1 > want * 1.001) bad = 1 } END { exit bad || !want }' largest - ||
        fail "$about: $(grep narrowed_largest first.json | head -n 1) instead of $(cat largest)"
done
engine=$(engines | tail -n 1)
about="a selection of nothing"
traced tiny.gguf -t 2 --values='stats:blk.*'
grep -q 'no output was taken: --values=stats:blk.\* selects no node that was computed' err.txt || fail "$about: not told"
first_bad 2
says "no output was taken: --values=stats:blk.* selected none that was executed"
about="one thread"
traced nan.gguf -t 1 --values=stats
first_bad 1
nan_is_found
"$TT_BIN" report --no-measure --markdown t.ttrace >first.out 2>err.txt || fail "$about: exit of report"
says "the model file itself contains it: blk.2.ffn"
says "| weight, NOT FINITE | 1 NaN and 0 infinite of"
about="inf"
traced inf.gguf -t 2 --values=hash
first_bad 1
says "first bad ffn_out-2, output of MUL_MAT"
says " 0 NaN and "
says "the first at [5, 0, 0, 0], element 5"
says "inf.gguf: 0 NaN and 1 infinite of"
grep -q '"n_bad": 1,' first.json || fail "$about: n_bad of the weight"

about="a quantised type whose scales are looked at"
"$TT_BIN" synth --preset tiny --type Q4_K -o q4_k.gguf 2>/dev/null || fail synth
# A block of 256 elements is 144 bytes: row 5 begins with block 5 * columns / 256; its scale comes first.
at=$("$TT_BIN" gguf q4_k.gguf --csv | awk -F, '$1 == "blk.2.ffn_down.weight" { print $2 + 5 * $8 / 256 * 144 }')
printf '\000\176' | dd of=q4_k.gguf bs=1 seek="$at" conv=notrunc status=none || fail "patch q4_k.gguf"
traced q4_k.gguf -t 2 --values=stats
first_bad 1
says "first bad ffn_out-2, output of MUL_MAT"
says "the first at [5, 0, 0, 0], element 5"
says "q4_k.gguf: 256 of"
says "elements are not finite, the first at [0, 5, 0, 0]"

about="a model that is not as it was"
cp nan.gguf gone.gguf
traced gone.gguf -t 2 --values=stats
touch -d 2001-01-01 gone.gguf
first_bad 1
says "gone.gguf: was not looked at: it was modified after it was traced"
says "if it holds NaN or infinities, they come from there"
grep -q '"looked_at": false' first.json || fail "$about: looked_at"
rm gone.gguf
first_bad 1
says "gone.gguf: was not looked at: No such file or directory"
says "blk.2.ffn_down.weight weight, not looked at"
about="a selection"
traced nan.gguf -t 2 --values=stats:ffn_out-*
first_bad 1
says "uncertain"
says "not measured"
says "logits not measured"
first_bad 2 --layer 7
about="what else is told"
traced tiny.gguf -t 2 --values=hash
"$TT_BIN" values t.ttrace --name 'l_out-?' --sort rms --limit 3 >first.out 2>err.txt || fail "$about: exit"
says "outputs 8 measured in 2 graph computations"
expect "$about: rows" 4 "$(sed -n '/^BATCH/,$p' first.out | grep -c .)"
grep -q "5 more rows; --limit 0 shows all" err.txt || fail "$about: not told of more rows"
"$TT_BIN" values t.ttrace --name 'l_out-?' --csv --columns name,rms,max_abs --sort largest >first.out 2>err.txt ||
    fail "$about: exit of --csv"
expect "$about: rows of CSV" 9 "$(grep -c . first.out)"
expect "$about: columns of CSV" name,rms,max_abs "$(head -n 1 first.out)"
sed 1d first.out >sorted.out
sort -t, -k3,3gr sorted.out | diff - sorted.out || fail "$about: order"
"$TT_BIN" values t.ttrace --growth >first.out 2>err.txt || fail "$about: exit of --growth"
says "l_out over the layers"
expect "$about: rows of growth" 8 "$("$TT_BIN" values t.ttrace --growth --json | grep -c '"ratio"')"
expect "$about: layers of two phases" 8 "$(grep -c '^prompt\|^generate' first.out)"
"$TT_BIN" values t.ttrace --by base_name >first.out 2>err.txt || fail "$about: exit of --by"
says "ffn_out 8 "
"$TT_BIN" values t.ttrace --outliers >first.out 2>err.txt || fail "$about: exit of --outliers"
says "outputs stand out among those of the same base name and phase"
"$TT_BIN" report --no-measure --markdown t.ttrace >first.out 2>err.txt || fail "$about: exit of report"
says "Yes: no NaN and no infinity in"
"$TT_BIN" report --no-measure -o sound.html t.ttrace >/dev/null 2>&1 || fail "$about: exit of report"
grep -q "RMS and largest magnitude of l_out" sound.html || fail "$about: no plot"
about="without values"
traced tiny.gguf -t 2
first_bad 2
grep -q "values were not recorded" first.out || fail "$about: does not say how to take them"
finish
