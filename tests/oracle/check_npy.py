"""Reads `export --format npy` with NumPy, and compares it with what the trace says of the outputs.

Usage: check_npy.py TENSORTRACE WORKDIR

Real outputs of a model, and of a graph whose outputs are of all types and layouts: each file is an
array of the type and shape that the index says; its bytes have the XXH3-128 and BLAKE3 of the
fingerprint, its elements NaN and infinities, range, mean, RMS, first elements and samples.
`values --json`, the index and the table `values` as CSV and Parquet say the same. Exits with 1 when
anything differs.
"""

import csv
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import blake3
import numpy as np
import pyarrow.parquet
import xxhash

TOOL, WORK = sys.argv[1], Path(sys.argv[2])
ENGINE = Path(os.environ["TT_ENGINES"]) / "v0.5.0"
PIECE = 16384
SAME = "n_nan n_inf first_bad min max mean rms hash blake3 name layer_id type elements node".split()
compared = 0


def run(*args):
    done = subprocess.run([TOOL, *map(str, args)], capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def expect(what, got, want):
    global compared
    compared += 1
    if got != want:
        sys.exit(f"{what}: {got!r} instead of {want!r}")


def near(what, got, want):
    global compared
    compared += 1
    if not math.isclose(got, want, rel_tol=1e-12, abs_tol=1e-15):
        sys.exit(f"{what}: {got!r} instead of {want!r}")


def tree_hash(raw, itemsize):
    step = PIECE * itemsize
    if len(raw) <= step:
        return xxhash.xxh3_128_hexdigest(raw)
    parts = [xxhash.xxh3_128_digest(raw[i : i + step]) for i in range(0, len(raw), step)]
    return xxhash.xxh3_128_hexdigest(b"".join(parts))


def native_bytes(array, entry):
    """Of a converted array of bf16: the upper halves."""
    if not entry["converted"]:
        return array.tobytes(), array.itemsize
    expect("a converted type", entry["type"], "bf16")
    return (np.ascontiguousarray(array).view("<u4") >> 16).astype("<u2").tobytes(), 2


def number(text):
    return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[text] if isinstance(text, str) else text


def check_numbers(what, floats, row):
    flat = floats.ravel()
    bad = np.flatnonzero(~np.isfinite(flat))
    finite = flat[np.isfinite(flat)].astype("f8")
    expect(what + " NaN", row["n_nan"], int(np.isnan(flat).sum()))
    expect(what + " infinite", row["n_inf"], int(np.isinf(flat).sum()))
    expect(what + " first bad", row["first_bad"], int(bad[0]) if bad.size else None)
    if finite.size:
        expect(what + " min", row["min"], float(finite.min()))
        expect(what + " max", row["max"], float(finite.max()))
        near(what + " rms", row["rms"], float(np.sqrt(np.mean(finite * finite))))
        near(what + " mean", row["mean"], math.fsum(finite) / finite.size)
    if bad.size:
        at = np.unravel_index(bad[0], row["shape"][::-1])
        expect(what + " first bad at", row["first_bad_at"], [int(i) for i in at[::-1]])
    for wanted, index in [(row["prefix"], range(len(row["prefix"]))), (row["samples"], row["sample_indexes"])]:
        got = [float(flat[i]) for i in index]
        expect(what + " elements", list(map(repr, got)), [repr(float(number(x))) for x in wanted])


def check_table(rows, index):
    """Of text, or of what pyarrow makes of the columns."""
    expect("rows of the table", len(rows), len(index))
    for got, row in zip(rows, index):
        for key in SAME:
            have = got[key]
            if isinstance(have, str) and not isinstance(row[key], str):
                have = float(have) if have else None
            expect(f"table, {row['name']}, {key}", have, row[key])


def check(trace):
    folder = WORK / "npy"
    for old in ("npy", "csv", "parquet"):
        shutil.rmtree(WORK / old, ignore_errors=True)
    run("export", trace, "--format", "npy", "-o", folder)
    index = json.loads((folder / "index.json").read_text())
    rows = json.loads(run("values", trace, "--json", "--samples"))["rows"]
    files = {str(p.relative_to(folder)) for p in folder.rglob("*.npy")}
    expect("files", files, {e["file"] for e in index["outputs"]})
    expect("outputs", len(index["outputs"]), len(rows))
    for entry, row in zip(index["outputs"], rows):
        what = entry["file"]
        array = np.load(folder / what, allow_pickle=False)
        expect(what + " order", array.flags["C_CONTIGUOUS"], True)
        expect(what + " shape", list(array.shape), entry["shape"])
        expect(what + " dtype", array.dtype, np.dtype(entry["dtype"]))
        expect(what + " ne", entry["ne"], row["shape"])
        for key in [*SAME, "batch_id", "phase", "graph_run", "op_node"]:
            expect(f"{what} {key}", entry[key], row[key])
        raw, itemsize = native_bytes(array, entry)
        expect(what + " hash", tree_hash(raw, itemsize), row["hash"])
        expect(what + " BLAKE3", blake3.blake3(array.astype("<f4").tobytes()).hexdigest(), row["blake3"])
        check_numbers(what, array.astype("<f4"), row)
    run("export", trace, "--format", "csv", "-o", WORK / "csv")
    with open(WORK / "csv" / "values.csv", encoding="utf-8", newline="") as file:
        check_table(list(csv.DictReader(file)), index["outputs"])
    run("export", trace, "--format", "parquet", "-o", WORK / "parquet")
    check_table(pyarrow.parquet.read_table(WORK / "parquet" / "values").to_pylist(), index["outputs"])
    return {e["type"] for e in index["outputs"]}, len(index["outputs"])


if not ENGINE.exists():
    print("skipped: no engine fetched")
    sys.exit(77)
model, trace = WORK / "tiny.gguf", WORK / "t.ttrace"
run("synth", "--preset", "tiny", "--force", "-o", model)
run("run", "-q", "--force", "-o", trace, "--values=full", "--engine", ENGINE, "-m", model, "-p", "Once upon a time", "-n", 3,
    "--ignore-eos", "-t", 2)
types, outputs = check(trace)
run("run", "-q", "--force", "-o", trace, "--values=full", "--", os.environ["TT_OUTPUTS"], ENGINE, 2)
more, known = check(trace)
expect("types", types | more, {"f32", "f16", "bf16", "i32"})
print(f"{outputs + known} arrays of {', '.join(sorted(types | more))}: {compared} comparisons")
