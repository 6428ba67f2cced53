"""Random columns, as tests/unit/test_parquet.c wrote them, read by pyarrow and duckdb."""

import json
import math
import os
import shutil
import subprocess
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

INTEGERS = {"bool": pa.bool_(), "u8": pa.uint8(), "u16": pa.uint16(), "u32": pa.uint32(), "u64": pa.uint64(),
            "i32": pa.int32(), "i64": pa.int64()}
REALS = {"f32": (np.uint32, np.float32, pa.float32()), "f64": (np.uint64, np.float64, pa.float64())}


def make(folder):
    """Has the unit test write them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    subprocess.run([os.environ["TT_TEST_PARQUET"]], env={**os.environ, "TT_PARQUET_FOLDER": str(folder)}, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder


def text(hexadecimal):
    """UTF-8, with U+FFFD for each byte that is none."""
    left, out = bytes.fromhex(hexadecimal), ""
    while left:
        for size in (1, 2, 3, 4):
            try:
                out += left[:size].decode("utf-8")
                left = left[size:]
                break
            except UnicodeDecodeError:
                pass
        else:
            out += "\ufffd"
            left = left[1:]
    return out


def expected(name, values):
    kind = name.split("_")[0]
    if kind in REALS:
        bits, real, arrow = REALS[kind]
        raw = np.array([v or 0 for v in values], dtype=bits).view(real)
        return pa.array(raw, arrow, mask=np.array([v is None for v in values], dtype=bool), from_pandas=False)
    if kind == "time":
        return pa.array(values, pa.int64()).cast(pa.timestamp("ns", tz="UTC"))
    if kind == "name":
        known = {v: text(v) for v in set(values) if v is not None}
        return pa.array([None if v is None else known[v] for v in values], pa.string())
    if kind == "bool":
        return pa.array([None if v is None else bool(v) for v in values], pa.bool_())
    return pa.array(values, INTEGERS[kind])


def bits_of(array):
    """For a comparison in which NaN is NaN and -0 is not 0."""
    if pa.types.is_floating(array.type):
        flat = array.fill_null(0).to_numpy(zero_copy_only=False)
        return (flat.view(np.uint32 if array.type == pa.float32() else np.uint64).tolist(), array.is_null().to_pylist())
    if pa.types.is_timestamp(array.type):
        return array.cast(pa.int64()).to_pylist()
    return array.to_pylist()


def check_bounds(column, array, where, complain):
    """What the footer says of a column in a row group against the values."""
    statistics = column.statistics
    if statistics is None or statistics.null_count != array.null_count:
        complain(f"{where}: null_count")
        return
    values = [v for v in bits_of(array.cast(pa.int64()) if pa.types.is_timestamp(array.type) else array) if v is not None] \
        if not pa.types.is_floating(array.type) else array.drop_null().to_pylist()
    odd = any(v != v for v in values)
    if not values or odd:
        if statistics.has_min_max:
            complain(f"{where}: bounds of no values or of NaN")
        return
    if not statistics.has_min_max:
        # A long text of characters that have no next one.
        if not (pa.types.is_string(array.type) and len(max(values, key=str.encode).encode()) > 64):
            complain(f"{where}: no bounds")
        return
    low, high = statistics.min, statistics.max
    if isinstance(low, float) and (math.copysign(1, low) > 0 and low == 0 or math.copysign(1, high) < 0 and high == 0):
        complain(f"{where}: bounds {low} {high}: zeros that are below -0 or above +0 are left out")
    if pa.types.is_timestamp(array.type):
        low, high = (v.value for v in (low, high))
    if pa.types.is_string(array.type):
        low, high, values = low.encode(), high.encode(), [v.encode() for v in values]
    exact = not pa.types.is_string(array.type) or (len(min(values)) <= 64 and len(max(values)) <= 64)
    if not (low <= min(values) and high >= max(values)) or (exact and (low, high) != (min(values), max(values))):
        complain(f"{where}: bounds {low!r} {high!r}, not {min(values)!r} {max(values)!r}")


def check_file(path, complain):
    groups = json.loads(Path(f"{path}.json").read_text())
    file = pq.ParquetFile(path)
    names = file.schema_arrow.names
    if file.num_row_groups != len(groups):
        complain(f"{path}: {file.num_row_groups} row groups, not {len(groups)}")
        return 0
    for g, columns in enumerate(groups):
        table = file.read_row_group(g)
        for k, name in enumerate(names):
            where = f"{path.name} group {g} {name}"
            want, got = expected(name, columns[k]), table.column(k).combine_chunks()
            if got.type != want.type:
                complain(f"{where}: type {got.type}, not {want.type}")
            elif bits_of(got) != bits_of(want):
                complain(f"{where}: values differ for pyarrow")
            check_bounds(file.metadata.row_group(g).column(k), want, where, complain)
    duck = duckdb.sql(f"SELECT * FROM read_parquet('{path}')").to_arrow_table()
    for k, name in enumerate(names):
        want = pa.concat_arrays([expected(name, columns[k]) for columns in groups])
        got = duck.column(k).combine_chunks()
        if pa.types.is_timestamp(want.type):
            got = got.cast(want.type)
        if bits_of(got) != bits_of(want):
            complain(f"{path.name} {name}: values differ for duckdb")
    return sum(len(columns[0]) for columns in groups) * len(names)


def check(folder, complain):
    return sum(check_file(path, complain) for path in sorted(Path(folder).glob("random-*.parquet")))
