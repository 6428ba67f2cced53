"""Compares the rows that libtensortrace hands out as Arrow streams with the CSV of the commands.

Usage: check_arrow.py TENSORTRACE WORKDIR

For each golden trace, also the damaged ones, and two recordings of real llama.cpp (experts; values and
page faults): every table and the rows of every analysis, every column: names and order, values, nulls,
and of tables the types that docs/tables.md says. The same through pyarrow (which also checks the arrays),
polars, duckdb, nanoarrow, pandas, and plain Python. Filters leave the rows that they should. What a
command refuses, the library refuses with a sentence. Exits with 1 and a list when anything differs.
"""

import gc
import math
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import duckdb
import nanoarrow
import numpy
import polars
import pyarrow

SOURCE = Path(os.environ["TT_SOURCE_DIR"])
TOOL, WORK = Path(sys.argv[1]), Path(sys.argv[2])
os.environ["TENSORTRACE_HOME"] = str(TOOL.parent.parent)
sys.path.insert(0, str(SOURCE / "python"))

import tensortrace as tt  # noqa: E402

ENGINE = Path(os.environ["TT_ENGINES"]) / "v0.5.0"
SHOWN = 40
ARROW_TYPES = {
    "text": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
    "bool": pyarrow.bool_(),
    "u8": pyarrow.uint8(),
    "u16": pyarrow.uint16(),
    "u32": pyarrow.uint32(),
    "u64": pyarrow.uint64(),
    "i32": pyarrow.int32(),
    "i64": pyarrow.int64(),
    "f32": pyarrow.float32(),
    "f64": pyarrow.float64(),
    "time": pyarrow.timestamp("ns", "UTC"),
}
HEAT = [{"by": b} for b in ("tensor", "expert", "layer", "component")]
STATS = [{"by": b} for b in "op layer component category tensor thread batch phase".split()]
FAULTS = [{"by": b} for b in "tensor batch layer op thread".split()]
FLAGS = [{name: True} for name in "pages mappings loading pool pool_reads".split()]
VALUES = [{"by": b} for b in "tensor base_name op layer batch".split()]
ANALYSES = {
    "heat": [{}, *HEAT, {"cold": True}, {"layer": 1, "sort": "name", "limit": 3}, {"tensor": "blk.0.*"}],
    "stats": [{}, *STATS, {"phase": "generate"}, {"batch": (1, 2), "op": "mul_mat"}],
    "faults": [{}, *FAULTS, *FLAGS, {"pages": True, "layer": 0}],
    "whatif": [{"curve": True}, {"ram": "2M", "policy": "all"}, {"ram": "1M,4M", "unit": "tensor", "warm": True},
               {"ram": "1M", "disk": "2G,50us", "unit": "expert", "guess": "80%"},
               {"ram": "1M", "order": "use"}, {"ram": "1M", "order": "layer", "readahead": "16K"},
               {"ram": "1M", "disk": "1G", "boost": True}, {"ram": "1M", "readahead": "128K"}],
    "routing": [{}, {"layer": 1}, {"layer": 1, "transitions": True}, {"layer": 1, "over_time": 2}],
    "buffers": [{}, {"timeline": True}, {"kv": True}],
    "log": [{}, {"lanes": True}, {"layer": 0, "columns": "op,name,duration_ns"}, {"limit": 5},
            {"thread": 1, "batch": 1}, {"min_duration": "5us"}],
    "values": [{}, *VALUES, {"outliers": True}, {"growth": True}, {"only": "zero"}, {"samples": True},
               {"name": "*norm*"}],
}
# Each of the commands is started once more: of traces that have what the others have not.
ANALYSED = set("experts values good-described good-faults good-loading good-pool bad-times".split())
EMPTY = {"values --outliers", "values --only=zero"}
problems, compared = [], 0
rows_of = {}  # of each analysis with options: the most rows there were


def problem(what, text):
    problems.append(f"{what}: {text}")


def equal(what, a, b):
    global compared
    compared += 1
    if a != b:
        problem(what, f"{a!r}, but {b!r}"[:400])


def command(*words):
    return subprocess.run([TOOL, *map(str, words)], capture_output=True, check=False)


def fields_of(text):
    """The rows of RFC 4180, as the csv module does not: None for an empty field, "" for a quoted one."""
    pattern = re.compile(r'(?:"((?:[^"]|"")*)"|([^,\n"]*))([,\n])')
    rows, row, at = [], [], 0
    while at < len(text):
        m = pattern.match(text, at)
        if not m:
            sys.exit(f"not CSV: {text[at : at + 80]!r}")
        row.append(m[1].replace('""', '"') if m[1] is not None else m[2] or None)
        if m[3] == "\n":
            rows.append(row)
            row = []
        at = m.end()
    return rows


def is_field(kind, value, field):
    """Whether the value is what the field says, which of a text and an f64 says all of it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return field is None
    if field is None:
        return False
    if pyarrow.types.is_dictionary(kind):
        return value.replace("\0", "\ufffd") == field
    if pyarrow.types.is_boolean(kind):
        return field == ("true" if value else "false")
    if pyarrow.types.is_float32(kind):
        return numpy.float32(field) == numpy.float32(value)
    if pyarrow.types.is_float64(kind):
        return float(field) == value
    return field == str(value)


def time_text(ns):
    seconds, rest = divmod(ns, 10**9)
    return f"{numpy.datetime64(seconds, 's')}.{rest:09d}Z"


def columns_of(table):
    """The columns as lists of Python's; times as CSV has them."""
    lists = {}
    for name in table.column_names:
        column = table[name]
        if pyarrow.types.is_timestamp(column.type):
            lists[name] = [None if v is None else time_text(v) for v in column.cast(pyarrow.int64()).to_pylist()]
        else:
            lists[name] = column.to_pylist()
    return lists


def compare(what, rows, text):
    """With CSV. Returns the table."""
    global compared
    table = rows.to_pyarrow()
    table.validate(full=True)
    lines = fields_of(text)
    equal(f"{what}: columns", table.column_names, lines[0] if lines else [])
    equal(f"{what}: rows", table.num_rows, len(lines) - 1)
    if not lines or table.column_names != lines[0] or table.num_rows != len(lines) - 1:
        return table
    for i, (name, values) in enumerate(columns_of(table).items()):
        kind = table[name].type
        for k, (value, line) in enumerate(zip(values, lines[1:], strict=True)):
            compared += 1
            if not is_field(kind, value, line[i]):
                problem(f"{what}: {name} of row {k}", f"{value!r}, but {line[i]!r}")
    return table


def same_lists(what, a, b):
    for name, values in b.items():
        # Of reals that no number is, one is not equal to the other.
        plain = [None if isinstance(v, float) and math.isnan(v) else v for v in values]
        other = [None if isinstance(v, float) and math.isnan(v) else v for v in a[name]]
        equal(f"{what}: {name}", other, plain)


def of_polars(rows):
    frame = rows.to_polars()
    times = [c for c, t in frame.schema.items() if t == polars.Datetime("ns", "UTC")]
    frame = frame.with_columns(polars.col(c).dt.epoch("ns") for c in times)
    lists = {name: frame[name].to_list() for name in frame.columns}
    for name in times:
        lists[name] = [None if v is None else time_text(v) for v in lists[name]]
    return lists


def of_duckdb(rows):
    relation = duckdb.sql("FROM rows")
    times = {n for n, t in zip(relation.columns, relation.types) if str(t).startswith("TIMESTAMP")}
    parts = [f'epoch_ns("{n}")' if n in times else f'"{n}"' for n in relation.columns]
    lines = duckdb.sql(f"SELECT {', '.join(parts)} FROM rows").fetchall()
    lists = {name: [line[i] for line in lines] for i, name in enumerate(relation.columns)}
    for name in times:
        lists[name] = [None if v is None else time_text(v) for v in lists[name]]
    return lists


def of_nanoarrow(rows):
    names = [f.name for f in nanoarrow.c_schema(rows).children]
    lists = {name: [] for name in names}
    with nanoarrow.ArrayStream(rows) as stream:
        for batch in stream:
            for name, column in zip(names, batch.iter_children()):
                lists[name] += list(column.iter_py())
    return lists


def of_pandas(rows):
    frame = rows.to_pandas()
    lists = {}
    for name in frame.columns:
        values = frame[name].astype(object)
        lists[name] = [None if v is None or v != v else v for v in values.where(frame[name].notna(), None)]
    return lists


def compare_readers(what, rows, table):
    truth = columns_of(table)
    same_lists(f"{what}: polars", of_polars(rows), truth)
    clocks = {f.name for f in table.schema if pyarrow.types.is_timestamp(f.type)}
    rest = {name: values for name, values in truth.items() if name not in clocks}
    same_lists(f"{what}: duckdb", of_duckdb(rows), truth)
    same_lists(f"{what}: nanoarrow", of_nanoarrow(rows), rest)
    same_lists(f"{what}: plain Python", rows.to_dict(), rest)
    # Where a column has nulls, pandas makes whole numbers reals: those beyond 2^53 are not exact.
    small = {n: v for n, v in rest.items() if all(not isinstance(x, int) or abs(x) < 1 << 53 for x in v)}
    if table.num_rows:
        same_lists(f"{what}: pandas", of_pandas(rows), small)


def documented_types():
    """Of docs/tables.md: of each table its columns' types and whether they may be null."""
    types, name = {}, None
    for line in (SOURCE / "docs" / "tables.md").read_text().splitlines():
        head = re.fullmatch(r"## (\w+)", line)
        if head:
            name = head[1]
        cells = re.match(r"\| `(\w+)` \| (\w+) \| (null)? *\|", line)
        if name and cells:
            types.setdefault(name, {})[cells[1]] = (ARROW_TYPES[cells[2]], cells[3] == "null")
    return types


def check_tables(name, path, trace, types, readers):
    folder = WORK / "csv"
    done = command("export", path, "--format", "csv", "-o", folder, "--force")
    equal(f"{name}: export", done.returncode, 0)
    for table_name, rows in trace.tables.items():
        what = f"{name}: {table_name}"
        table = compare(what, rows, (folder / f"{table_name}.csv").read_bytes().decode())
        fields = {f.name: (f.type, f.nullable) for f in table.schema}
        equal(f"{what}: types", fields, types[table_name])
        for column in rows.columns:
            equal(f"{what}: what {column.name} is", bool(column.about), True)
        if readers:
            compare_readers(what, rows, table)


def words_of(options):
    words = []
    for key, value in options.items():
        dashed = f"--{key.replace('_', '-')}"
        text = "..".join(map(str, value)) if isinstance(value, tuple) else value
        words += [dashed] if value is True else [f"{dashed}={text}"]
    return words


def check_analyses(name, path, trace, readers):
    for analysis, choices in ANALYSES.items():
        for options in choices:
            what = f"{name}: {analysis} {' '.join(words_of(options))}"
            done = command(analysis, path, "--csv", *words_of(options))
            try:
                rows = getattr(trace, analysis)(**options)
            except tt.TraceError as error:
                said = bool(str(error)) and (done.returncode == 2 or len(done.stdout.splitlines()) <= 1)
                equal(f"{what}: refused with {str(error)!r}; the command's exit code", said, True)
                continue
            if done.returncode == 2 or not done.stdout:
                equal(f"{what}: refused by the command alone; rows", len(rows), 0)
                continue
            table = compare(what, rows, done.stdout.decode())
            key = what[len(name) + 2 :]
            rows_of[key] = max(table.num_rows, rows_of.get(key, 0))
            if readers:
                compare_readers(what, rows, table)


def check_filters(name, trace):
    """Against the rows of the whole table."""
    ops = list(trace.ops)
    if not ops:
        return
    ids = {r["op_id"]: r for r in ops}
    kinds = sorted({r["op"] for r in ops if "+" not in r["op"]})
    filters = [({"layer": 1}, lambda r: r["layer_id"] == 1),
               ({"layer": "none"}, lambda r: r["layer_id"] is None),
               ({"batch": 1}, lambda r: r["batch_id"] == 1),
               ({"batch": range(1, 3)}, lambda r: r["batch_id"] in (1, 2)),
               ({"phase": "generate"}, lambda r: r["phase"] == "generate"),
               ({"layer": 0, "batch": (0, 1)}, lambda r: r["layer_id"] == 0 and r["batch_id"] in (0, 1))]
    filters += [({"op": k}, lambda r, k=k: k in r["op"].split("+")) for k in kinds[:4]]
    for options, passes in filters:
        wanted = {i for i, r in ids.items() if passes(r)}
        for table in ("ops", "lanes", "sources"):
            whole = trace.tables[table]
            kept = [r for r in (ops if table == "ops" else whole) if r["op_id"] in wanted]
            equal(f"{name}: {table} where {options}", list(whole.where(**options)), kept)
    some = trace.ops.select("duration_ns", "name").where(layer=0)
    equal(f"{name}: select", list(some),
          [{"duration_ns": r["duration_ns"], "name": r["name"]} for r in ops if r["layer_id"] == 0])


def check_refusals(trace):
    """A sentence each, that names what is wrong."""
    for call, part in [
        (lambda: trace.ops.select("no_such"), "no_such"),
        (lambda: trace.ops.select("op", "op"), "twice"),
        (lambda: trace.ops.where(phase="nonsense"), "nonsense"),
        (lambda: trace.tables["tensors"].where(batch=1), "batch"),
        (lambda: trace.tables["tokens"].where(layer=1), "layer"),
        (lambda: trace.heat(by="nonsense"), "nonsense"),
        (lambda: trace.heat(columns="nonsense"), "nonsense"),
        (lambda: trace.whatif(), "ram"),
        (lambda: trace.whatif(ram="8"), "8"),
        (lambda: trace.whatif(ram="1M", policy="nonsense"), 'policy: "nonsense"'),
        (lambda: trace.whatif(ram="1M,2X"), 'ram: "2X"'),
        (lambda: trace.whatif(ram="1M", order="size"), 'order: "size"'),
        (lambda: trace.whatif(ram="1M", disk="1G", guess="2"), 'guess: "2"'),
        (lambda: trace.whatif(ram="1M", readahead="5K"), "readahead: not a multiple of the page size"),
        (lambda: tt.open("/no/such/file"), "/no/such/file"),
        (lambda: trace.tables.nonsense, "nonsense"),
    ]:
        try:
            call()
            problem("refusals", f"nothing said about {part}")
        except (tt.TraceError, AttributeError) as error:
            equal(f"refusals: {error} names {part}", part in str(error), True)


def check_lifetimes(path):
    """What is handed out outlives the trace; what is not taken is freed; streams are independent."""
    trace = tt.open(path)
    rows, other = trace.ops, trace.lanes
    reader = pyarrow.RecordBatchReader.from_stream(rows)
    unused = [rows.__arrow_c_stream__(), rows.__arrow_c_schema__(), other.select("op_id")]
    table = pyarrow.RecordBatchReader.from_stream(other).read_all()
    trace.close()
    del unused, other, rows, trace
    gc.collect()
    equal("lifetimes: ops", reader.read_all().num_rows, len(list(tt.open(path).ops)))
    equal("lifetimes: lanes", table.num_rows, len(tt.open(path).lanes))
    closed = tt.open(path)
    closed.close()
    try:
        closed.heat()
        problem("lifetimes", "a closed trace answers")
    except tt.TraceError:
        pass


def record(name, model, *options):
    """A recording of real llama.cpp."""
    path, model_path = WORK / f"{name}.ttrace", WORK / f"{name}.gguf"
    done = command("synth", "--preset", model, "--force", "-o", model_path)
    equal(f"{name}: synth", done.returncode, 0)
    done = command("run", "-q", "--force", "-o", path, "--engine", ENGINE, "-m", model_path, "-n", 3, "-t", 2,
                   "--ignore-eos", *options)
    if done.returncode != 0:
        sys.exit(f"run: {done.stderr.decode()}")
    return path


warnings.filterwarnings("ignore", message=".*nanoseconds discarded")
types = documented_types()
equal("tables", list(types), tt.table_names())
equal("analyses", sorted(tt.analysis_names()), sorted(ANALYSES))
# What older versions wrote, and long flights, are no different here.
golden = sorted(p for p in (SOURCE / "tests" / "golden").glob("*.ttrace") if not re.search("-old-|flight", p.stem))
recorded = [record("experts", "moe", "--faults=counts", "--residency"), record("values", "tiny", "--values=hash")]
opened = 0
for path in [*golden, *recorded]:
    readers = path.stem in ("experts", "values", "good-faults")
    try:
        trace = tt.open(path)
    except tt.TraceError as error:
        equal(f"{path.name}: refused by the command, too", command("info", path).returncode, 2)
        equal(f"{path.name}: says why", bool(str(error)), True)
        continue
    opened += 1
    check_tables(path.name, path, trace, types, readers)
    if path.stem in ANALYSED:
        check_analyses(path.name, path, trace, readers)
        check_filters(path.name, trace)
check_refusals(tt.open(golden[-1]))
check_lifetimes(recorded[0])
for analysis, choices in ANALYSES.items():
    for options in choices:
        key = f"{analysis} {' '.join(words_of(options))}"
        equal(f"{key}: some trace has rows", rows_of.get(key, 0) > 0 or key in EMPTY, True)
for text in problems[:SHOWN]:
    print(text)
if problems:
    sys.exit(f"{len(problems)} of {compared} differ")
print(f"{compared} values of {opened} traces are the same")
