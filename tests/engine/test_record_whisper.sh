# whisper.cpp in a Python process, by PyPI's pywhispercpp with a ggml of its own (openmp.txt), records
# itself, and recognises the same as without; the ops are those that preloaded hooks see.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
packages=$TT_ENGINES/b8352-openmp/wheel
python=$TT_ENGINES/../venv/bin/python
[ -d "$packages" ] || { echo "skipped: no pywhispercpp (see engine.openmp_engine)"; exit 77; }
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { echo "skipped: the wheel is for Python 3.11"; exit 77; }
PYTHONPATH=$TT_SOURCE_DIR/python
TENSORTRACE_HOME=$(dirname "$(dirname "$TT_BIN")")
PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH TENSORTRACE_HOME PYTHONDONTWRITEBYTECODE
export OMP_WAIT_POLICY=passive
whisper() { # OUT TRACE...
    out=$1
    shift
    "$python" "$TT_SOURCE_DIR/tests/engine/record_whisper.py" "$packages" whisper.bin "$@" >"$out.txt" 2>"$out.err" || {
        fail "$out: exit code"
        tail -n 5 "$out.err"
    }
}
whisper plain
whisper recorded w.ttrace
same "what is recognised" plain.txt recorded.txt
grep -q '[0-9]' plain.txt || fail "nothing was recognised"
verified w.ttrace
expect mode hook "$(field w.ttrace mode)"
# llama.cpp is not there: nothing of it is unseen.
grep -q '^[0-9]* *$' recorded.err || tail -n 1 recorded.err | grep -qx '[0-9]*' || fail "unseen: $(tail -n 1 recorded.err)"
"$TT_BIN" run -q -o p.ttrace -- "$python" "$TT_SOURCE_DIR/tests/engine/record_whisper.py" "$packages" whisper.bin >preloaded.txt 2>preloaded.err ||
    fail "run"
same "preloaded" plain.txt preloaded.txt
counts() { "$TT_BIN" stats --by op --csv --columns op,count --sort op "$1"; }
counts p.ttrace | awk -F , 'NR > 1 { if ($2 % 3) exit 1; print $1 "," $2 / 3; next } { print }' >p.csv || fail "the three are not alike"
counts w.ttrace >w.csv
same "ops, of which preloaded hooks saw three times as many" p.csv w.csv
[ "$(wc -l <w.csv)" -gt 8 ] || fail "few ops: $(cat w.csv)"
# Its weights count, though their file is not GGUF: each is as large as a tensor of that file, and no smaller part is read.
"$TT_BIN" stats --by tensor --csv --columns tensor,count,weight_bytes w.ttrace >weights.csv
"$python" - whisper.bin weights.csv <<'END' || fail "other weights than in the file"
import csv, struct, sys
sizes = set()
with open(sys.argv[1], "rb") as f:
    number = lambda: struct.unpack("<i", f.read(4))[0]
    f.seek(4 + 11 * 4)
    f.seek(number() * number() * 4, 1)
    for _ in range(number()):
        f.seek(number(), 1)
    while header := f.read(12):
        n_dims, length, kind = struct.unpack("<3i", header)
        bytes_ = 2 if kind == 1 else 4
        for _ in range(n_dims):
            bytes_ *= number()
        f.seek(length + bytes_, 1)
        sizes.add(bytes_)
rows = [r for r in csv.DictReader(open(sys.argv[2])) if r["tensor"].startswith("(no name")]
other = [r for r in rows if int(r["weight_bytes"]) / int(r["count"]) not in sizes]
# Views (of the positions) and single rows (of the tokens) are smaller.
if len(rows) < 100 or len(other) > 4:
    sys.exit(f"{len(rows)} weights, {len(other)} of other sizes: {other[:3]}")
END
for part in attention conv norm; do
    "$TT_BIN" stats --by category --csv --columns category,count w.ttrace | grep -q "^$part," || fail "no $part"
done
finish
