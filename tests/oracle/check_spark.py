"""Runs the Spark recipe of docs/recipes.md, and with Spark those that are plain SQL.

Usage: check_spark.py TENSORTRACE WORKDIR

Their results must be duckdb's, row by row, and random columns (tests/unit/test_parquet.c) what pyarrow
reads. Needs a Java runtime (exit 77 without). Exits with 1 and a
list when anything differs.
"""

import io
import math
import os
import shutil
import socketserver
import sys
from contextlib import redirect_stdout
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import parquet_random
import recipes

sys.path.insert(0, str(recipes.SOURCE / "tests" / "engine"))

import traces  # noqa: E402

complain = traces.Problems("spark")

# For a few rows on two processors: planning and compiling is all of the time.
SMALL = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def need_no_names():
    """Spark looks this machine's name up, and pyspark localhost: a new system, or a container, may know neither."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    bind = socketserver.TCPServer.server_bind

    def bind_by_number(server):
        host, port = server.server_address
        server.server_address = ("127.0.0.1" if host == "localhost" else host, port)
        bind(server)

    socketserver.TCPServer.server_bind = bind_by_number


def plain(value):
    """The two have other types for sums, and for times."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime):
        return value.value if hasattr(value, "value") else value
    return value


def differ(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return a is None or b is None or not math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    return a != b


def compare(title, want, got):
    if len(want) != len(got) or not want:
        complain(f"{title}: {len(got)} rows, not {len(want)}")
        return 0
    for n, (a, b) in enumerate(zip(want, got)):
        for key in a:
            x, y = plain(a[key]), plain(b[key])
            if differ(x, y):
                complain(f"{title}: row {n} {key}: {y}, not {x}")
    return len(want)


def check_columns(spark, folder):
    """Random columns of every type, of several pages and row groups."""
    n = 0
    for path in [folder / f"random-{i}.parquet" for i in (1, 2, 4, 6, 8, 9)]:
        names = pq.ParquetFile(path).schema_arrow.names
        if pq.ParquetFile(path).metadata.num_rows > 20000:
            names = [name for name in names if name in ("u16", "i32_null", "u64", "time_null", "name")]
        table, rows = pq.read_table(path, columns=names), spark.read.parquet(str(path)).select(names).collect()
        for k, field in enumerate(table.schema):
            column = table.column(k)
            want = (column.cast(pa.int64()) if pa.types.is_timestamp(field.type) else column).to_pylist()
            got = [plain(row[k]) for row in rows]
            # NaN is NaN here.
            if list(map(repr, want)) != list(map(repr, got)):
                complain(f"{path.name} {field.name}: values differ for Spark")
            n += len(want)
    return n


def main():
    if not shutil.which("java"):
        print("skipped: there is no Java runtime")
        sys.exit(77)
    tool, work = (Path(p).resolve() for p in sys.argv[1:3])
    need_no_names()
    recipes.dataset(tool, work)
    [program] = [text for _, language, text in recipes.read() if "pyspark" in text and language == "python"]
    settings = "".join(f'.config("{key}", "{value}")' for key, value in SMALL.items())
    program = program.replace('"local[*]"', '"local[2]"').replace(".getOrCreate()", f"{settings}.getOrCreate()")
    scope = {}
    with redirect_stdout(io.StringIO()):
        exec(program, scope)  # noqa: S102
    spark, duck, rows = scope["spark"], duckdb.connect(), 0
    recipes.tables(duck)
    starred = [(title, text) for title, language, text in recipes.read() if language == "sql" and title.endswith("*")]
    for title, sql in starred:
        rows += compare(title, duck.sql(sql).to_arrow_table().to_pylist(), [r.asDict() for r in spark.sql(sql).collect()])
    [wait] = [text for title, text in starred if title.startswith("How long did each thread wait")]
    want = [{k: r[k] for k in ("run_id", "thread_id", "busy_ms", "wait_ms")} for r in duck.sql(wait).to_arrow_table().to_pylist()]
    rows += compare("the program", want, [r.asDict() for r in scope["result"].collect()])
    columns = work / "random"
    values = check_columns(spark, parquet_random.make(columns))
    spark.stop()
    if len(starred) < 8:
        complain(f"only {len(starred)} recipes are for Spark")
    complain.finish(f"{len(starred)} recipes and the program, {rows} rows as duckdb has them; {values} random values")


if __name__ == "__main__":
    main()
