"""Measures `tensortrace export` against DuckDB's writers of the same rows, in pairs.

Usage: pairs.py TENSORTRACE TRACE WORKDIR PAIRS THREADS...

DuckDB has the tables in memory and writes them; tensortrace reads the trace, makes the tables and
writes them. Each pair is one of each, the first one in turns. Prints CSV:
format,who,threads,pair,rows,bytes,seconds
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import duckdb

# What DuckDB writes, and in which tables the rows of a format are: a dataset's files tell of each op
# with its threads and sources.
ALL = None
FORMATS = {
    "parquet": ("parquet", "FORMAT parquet, COMPRESSION zstd", ALL),
    "csv": ("csv", "FORMAT csv, HEADER", ALL),
    "dataset": ("json", "FORMAT json", ("ops", "lanes", "sources")),
}


def size_of(path):
    return sum(p.stat().st_size for p in path.rglob("*") if p.is_file())


def fresh(path):
    shutil.rmtree(path, ignore_errors=True)
    return path


def ours(tool, trace, out, form, threads):
    begin = time.monotonic()
    subprocess.run([tool, "export", trace, "--format", form, "-o", fresh(out), "--threads", str(threads)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - begin


def theirs(duck, tables, out, form, threads):
    ending, options, _ = FORMATS[form]
    fresh(out).mkdir()
    duck.execute(f"SET threads = {threads}")
    begin = time.monotonic()
    for table in tables:
        duck.execute(f"COPY t_{table} TO '{out}/{table}.{ending}' ({options})")
    return time.monotonic() - begin


def load(tool, trace, work):
    """The tables in DuckDB's memory, as an export has them."""
    out = fresh(work / "export-rows")
    subprocess.run([tool, "export", trace, "--format", "parquet", "-o", out], check=True, stderr=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)
    duck, rows = duckdb.connect(), {}
    for table in sorted(p.name for p in out.iterdir()):
        duck.execute(f"CREATE TABLE t_{table} AS FROM read_parquet('{out}/{table}/*/*.parquet')")
        rows[table] = duck.sql(f"SELECT count(*) FROM t_{table}").fetchall()[0][0]
    fresh(out)
    return duck, rows


def has(tool, form):
    return f"\n  {form} " in subprocess.run([tool, "export", "--help"], capture_output=True, text=True, check=False).stdout


def main():
    tool, trace, work, pairs = sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
    duck, rows = load(tool, trace, work)
    print("format,who,threads,pair,rows,bytes,seconds")
    for form, (_, _, only) in FORMATS.items():
        if not has(tool, form):
            continue
        tables = [t for t in rows if only is None or t in only]
        n = sum(rows[t] for t in tables)
        for threads in map(int, sys.argv[5:]):
            for pair in range(pairs):
                for who in ("tensortrace", "duckdb") if pair % 2 else ("duckdb", "tensortrace"):
                    out = work / f"export-{who}"
                    took = ours(tool, trace, out, form, threads) if who == "tensortrace" else theirs(duck, tables, out, form, threads)
                    print(f"{form},{who},{threads},{pair},{n},{size_of(out)},{took:.4f}", flush=True)
                    fresh(out)


if __name__ == "__main__":
    main()
