"""Reads the Parquet that `tensortrace export` writes with pyarrow, duckdb and pandas.

Usage: check_parquet.py TENSORTRACE WORKDIR

Random columns (tests/unit/test_parquet.c) value by value and bound by bound; every table of the golden
traces and of a made-up one of several row groups against the CSV of the same trace; a dataset of
several runs; what is left out by statistics; a run that is there already. Exits with 1 and a list when
anything differs.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq

import parquet_random

SOURCE = Path(os.environ["TT_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "tests" / "engine"))

import traces  # noqa: E402

complain = traces.Problems("parquet")
compared = 0


def run(*args, code=0):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != code:
        sys.exit(f"{' '.join(map(str, args))}: exit {done.returncode}, not {code}: {done.stderr.strip()}")
    return done.stderr


def folder(path):
    shutil.rmtree(path, ignore_errors=True)
    return path


def parts(dataset, table):
    return sorted((dataset / table).glob("run_id=*/part-0.parquet"))


def from_csv(path, schema):
    """The table's CSV with the types of the Parquet file."""
    types = {f.name: f.type for f in schema}
    options = pyarrow.csv.ConvertOptions(column_types={"run_id": pa.string(), **types}, null_values=[""],
                                         strings_can_be_null=True, include_columns=list(types))
    return pyarrow.csv.read_csv(path, parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
                                convert_options=options)


def plain(column):
    """CSV has no NUL, and no difference between a text that is missing and one without characters."""
    column = column.combine_chunks()
    if not pa.types.is_string(column.type):
        return column
    return pc.replace_substring(pc.fill_null(column, ""), "\0", "\ufffd")


def same(where, want, got):
    global compared
    if want.num_rows != got.num_rows:
        complain(f"{where}: {got.num_rows} rows, not {want.num_rows}")
        return
    for name in want.column_names:
        a, b = plain(want.column(name)), plain(got.column(name).cast(want.schema.field(name).type))
        if not a.equals(b):
            row = next(i for i in range(len(a)) if a[i] != b[i])
            complain(f"{where}.{name}: row {row}: {b[row]}, not {a[row]}")
        compared += len(a)


def check_nulls(where, table):
    """What may not be null never is, and nothing is a number where nothing was observed."""
    for field in table.schema:
        if not field.nullable and table.column(field.name).null_count:
            complain(f"{where}.{field.name}: null")


def check_trace(tool, trace, work):
    dataset, texts = folder(work / "one"), folder(work / "csv")
    run(tool, "export", trace, "--format", "parquet", "-o", dataset)
    run(tool, "export", trace, "--format", "csv", "-o", texts)
    tables = sorted(p.name for p in dataset.iterdir())
    if tables != sorted(p.stem for p in texts.glob("*.csv")) or len(tables) != 14:
        complain(f"{trace.name}: tables {tables}")
    for table in tables:
        where = f"{trace.name} {table}"
        [path] = parts(dataset, table)
        file = pq.ParquetFile(path)
        got = file.read()
        same(where, from_csv(texts / f"{table}.csv", file.schema_arrow), got)
        check_nulls(where, got)
        same(f"{where} (duckdb)", got, duckdb.sql(f"SELECT * EXCLUDE (run_id) FROM '{path}'").to_arrow_table())
        frame = pd.read_parquet(path, dtype_backend="pyarrow").drop(columns="run_id", errors="ignore")
        same(f"{where} (pandas)", got, pa.Table.from_pandas(frame, preserve_index=False))


def check_bounds(dataset):
    """Each row group's bounds are those of its values."""
    for table in sorted(p.name for p in dataset.iterdir()):
        file = pq.ParquetFile(parts(dataset, table)[0])
        for g in range(file.num_row_groups):
            rows = file.read_row_group(g)
            for k, name in enumerate(rows.column_names):
                parquet_random.check_bounds(file.metadata.row_group(g).column(k), rows.column(k).combine_chunks(),
                                            f"{table} group {g} {name}", complain)


def check_pruning(dataset):
    """A filter leaves row groups out, and finds the same."""
    path = parts(dataset, "lanes")[0]
    rows = pq.ParquetFile(path).read()
    low = pc.quantile(rows["op_id"], 0.5)[0].as_py()
    for name, wanted in {"op_id": pc.field("op_id") < int(low), "start_ns": pc.field("start_ns") > pc.max(rows["start_ns"]).as_py() - 1000}.items():
        [fragment] = pyarrow.dataset.dataset(path).get_fragments()
        left, found = fragment.subset(wanted), rows.filter(wanted).num_rows
        if not 0 < len(left.row_groups) < len(fragment.row_groups):
            complain(f"{name}: {len(left.row_groups)} of {len(fragment.row_groups)} row groups are read")
        if left.to_table(filter=wanted).num_rows != found or found == 0:
            complain(f"{name}: not the same rows")
    sql = f"FROM '{path}' WHERE op_id < {int(low)}"
    if duckdb.sql(f"SELECT count(*) {sql}").fetchall()[0][0] != rows.filter(pc.field("op_id") < int(low)).num_rows:
        complain("duckdb: not the same rows")


def check_runs(tool, sources, work):
    """Several runs in one dataset: each reader finds them by id."""
    dataset, want = folder(work / "many"), {}
    for trace in sources:
        before = set(parts(dataset, "lanes")) if dataset.exists() else set()
        run(tool, "export", trace, "--format", "parquet", "-o", dataset)
        [new] = set(parts(dataset, "lanes")) - before
        want[new.parent.name.removeprefix("run_id=")] = pq.ParquetFile(new).metadata.num_rows
    lanes = dataset / "lanes"
    readers = {
        "duckdb": dict(duckdb.sql(f"SELECT run_id, count(*) FROM read_parquet('{lanes}/*/*.parquet') GROUP BY 1").fetchall()),
        "pandas": pd.read_parquet(lanes).groupby("run_id", observed=True).size().to_dict(),
        "pyarrow": {v["values"]: v["counts"] for v in pc.value_counts(pq.read_table(lanes)["run_id"].cast(pa.string())).to_pylist()},
        "pyarrow.dataset": {r: pyarrow.dataset.dataset(lanes, partitioning="hive").count_rows(filter=pc.field("run_id") == r) for r in want},
    }
    for reader, got in readers.items():
        if got != want:
            complain(f"runs by {reader}: {got}, not {want}")
    for table in sorted(p.name for p in dataset.iterdir()):
        if pq.read_table(dataset / table).num_rows != duckdb.sql(f"SELECT count(*) FROM '{dataset}/{table}/*/*.parquet'").fetchall()[0][0]:
            complain(f"{table}: pyarrow and duckdb count differently")
    before = {p: p.read_bytes() for p in dataset.rglob("*.parquet")}
    if "--force" not in run(tool, "export", sources[0], "--format", "parquet", "-o", dataset, code=2):
        complain("a run that is there: nothing said of --force")
    run(tool, "export", sources[0], "--format", "parquet", "-o", dataset, "--force")
    if before != {p: p.read_bytes() for p in dataset.rglob("*.parquet")}:
        complain("written again, the dataset is another")
    if any(p.name.startswith(".") for p in dataset.iterdir()):
        complain("something hidden is left")


def main():
    tool, work = sys.argv[1], Path(sys.argv[2])
    golden = SOURCE / "tests" / "golden"
    values = parquet_random.check(parquet_random.make(work / "random"), complain)
    large = work / "large.ttrace"
    run(os.environ["TT_GENTRACE"], "-o", large, "--records", "600000", "--experts", "8", "--layers", "4", "--faults")
    for trace in [*sorted(golden.glob("good-*.ttrace")), large]:
        check_trace(tool, trace, work)
    check_bounds(work / "one")
    check_pruning(work / "one")
    check_runs(tool, [golden / f"good-{n}.ttrace" for n in ("plain", "old-plain", "flight", "killed-flight")], work)
    complain.finish(f"{values} random values and {compared} values of tables")


if __name__ == "__main__":
    main()
