"""The package as it is installed, by Python alone: check_package.py SOURCES WORK ENGINE|-

Run by test_python.sh in a fresh venv. Prints what differs; exits with 1 then.
"""

import copy
import csv
import io
import os
import pickle
import shutil
import subprocess
import sys
import typing
from pathlib import Path

import tensortrace as tt

SOURCE, WORK = Path(sys.argv[1]), Path(sys.argv[2])
ENGINE = sys.argv[3]
GOLDEN = SOURCE / "tests" / "golden"
bad = 0


def equal(what, a, b):
    global bad
    if a != b:
        bad += 1
        print(f"{what}: {a!r}, but {b!r}"[:400])


def refused(what, part, call):
    try:
        call()
    except tt.TraceError as error:
        equal(f"{what}: names {part}", part in str(error), True)
        return
    equal(what, "taken", "refused")


def command(*words):
    return subprocess.run([sys.executable, "-m", "tensortrace", *words], stdout=subprocess.PIPE, check=False)


def texts(rows, names):
    """As CSV has them."""

    def text(value):
        if value is None:
            return ""
        if isinstance(value, bool):
            return "true" if value else "false"
        return repr(value) if isinstance(value, float) else str(value)

    return [[text(row[name]) for name in names] for row in rows]


def check_open():
    equal("installed from", Path(tt.__file__).is_relative_to(sys.prefix), True)
    equal("py.typed", (Path(tt.__file__).parent / "py.typed").exists(), True)
    equal("--version", command("--version").stdout.decode().split()[-1], tt.__version__)
    trace = tt.open(GOLDEN / "good-faults.ttrace")
    equal("batches", trace.summary["batches"], 5)
    equal("mode", trace.environment("mode"), "hook")
    equal("unknown", trace.environment("nonsense"), None)
    for name in ("heat", "stats", "buffers", "faults"):
        lines = list(csv.reader(io.StringIO(command(name, trace.path, "--csv").stdout.decode())))
        rows = getattr(trace, name)()
        equal(f"{name}: columns", [c.name for c in rows.columns], lines[0])
        whole = [i for i, c in enumerate(rows.columns) if c.type not in ("f32", "f64")]
        found = texts(rows, [rows.columns[i].name for i in whole])
        equal(f"{name}: rows", found, [[line[i] for i in whole] for line in lines[1:]])
    ops = trace.ops.where(layer=0, batch=(1, 2)).select("op", "layer_id", "batch_id")
    equal("where", {(r["layer_id"], r["batch_id"]) for r in ops}, {(0, 1), (0, 2)})
    equal("to_dict", [len(v) for v in ops.to_dict().values()], [len(ops)] * 3)
    equal("twice", list(ops), list(ops))
    equal("dir", dir(trace.tables), sorted(tt.table_names()))
    equal("html", trace.ops._repr_html_().count("<tr>"), 21)
    equal("capsule", "arrow_array_stream" in repr(ops.__arrow_c_stream__()), True)
    refused("a bad name", "nonsense", lambda: trace.heat(by="nonsense"))
    refused("no trace", "header", lambda: tt.open(GOLDEN / "bad-header.ttrace"))
    page = trace._repr_html_()
    equal("the report", page.startswith("<iframe srcdoc=") and page.count("&lt;svg") > 0, True)
    equal("info", trace.info()["trace"]["batches"] if "trace" in trace.info() else True, True)
    view = trace.view(show=False)
    equal("the viewer", view.url.startswith("http://127.0.0.1:"), True)
    view.close()
    for name in dir(tt.Trace):
        item = getattr(tt.Trace, name)
        if not name.startswith("_"):
            equal(f"Trace.{name}: has documentation", bool(item.__doc__), True)
            if callable(item):
                equal(f"Trace.{name}: is typed", "return" in typing.get_type_hints(item), True)


def raises(what, kind, call):
    try:
        call()
    except kind:
        return
    equal(what, "taken", kind.__name__)


def check_capsules():
    """Readers that refuse a capsule drop it while their own exception is raised."""
    trace = tt.open(GOLDEN / "good-faults.ttrace")
    raises("a dropped stream", TypeError, lambda: int(trace.ops.__arrow_c_stream__()))
    raises("a dropped schema", TypeError, lambda: int(trace.ops.__arrow_c_schema__()))
    rows = trace.ops.select("op_id")
    count = len(rows)
    for copied in (copy.copy(rows), copy.deepcopy(rows), pickle.loads(pickle.dumps(rows))):
        equal("a copy", (len(copied), len(list(copied)), repr(copied)), (count, count, repr(rows)))
    other = copy.copy(trace)
    equal("another of its own", (other.path, other.summary), (trace.path, trace.summary))
    trace.close()
    equal("is open when the other is closed", len(other.ops), count)
    equal("a closed one is shown", "closed" in repr(trace), True)


def check_words():
    """What people write: numbers of numpy and floats as sizes, lists, other folders; and what is no word of C."""
    trace = tt.open(os.path.relpath(GOLDEN / "good-faults.ttrace"))
    folder = os.getcwd()
    os.chdir("/")
    equal("from another folder", trace.info()["complete"], True)
    os.chdir(folder)
    shutil.copy(trace.path, WORK / "-v.ttrace")
    os.chdir(WORK)
    equal("no option", tt.open("-v.ttrace").info()["complete"], True)
    equal("a name of bytes", tt.open(b"-v.ttrace").path, os.path.join(os.getcwd(), "-v.ttrace"))
    os.chdir(folder)
    ops = trace.ops
    equal("a list of columns", [c.name for c in ops.select(["op_id", "name"]).columns], ["op_id", "name"])
    equal("a list of batches", len(ops.where(batch=[1, 2])), len(ops.where(batch=(1, 2))))
    for batch in ((1,), (1, 2, 3)):
        refused(f"batch={batch}", "pair", lambda: ops.where(batch=batch))
    refused("no column", "column", lambda: ops.select())
    raises("a NUL in a word", ValueError, lambda: ops.where(op="MUL_MAT\0ADD"))
    raises("a NUL in a path", ValueError, lambda: tt.open(trace.path + "\0.ttrace"))
    size = trace.whatif(ram=1 << 20).to_dict()
    equal("a float of bytes", trace.whatif(ram=2.0**20).to_dict(), size)
    raises("half a byte", TypeError, lambda: trace.whatif(ram=0.5))

    class Number:  # as numpy's: no int, but as good as one
        def __index__(self):
            return 1 << 20

    equal("another's number", trace.whatif(ram=Number()).to_dict(), size)
    equal("others' numbers", len(trace.whatif(ram=[Number(), 2.0**21])), 2)
    raises("a line of a shell", TypeError, lambda: tt.run("llama-cli -m m.gguf"))


def check_run():
    model = WORK / "model.gguf"
    equal("synth", command("synth", "--force", "-o", str(model)).returncode, 0)
    trace = tt.run(model=model, predict=3, engine=ENGINE, ignore_eos=True, t=1)
    equal("generated", trace.summary["batches"] >= 3 and len(trace.ops) > 100, True)
    equal("exit code", trace.exit_code, 0)
    path = Path(trace.path)
    equal("exists", path.exists(), True)
    del trace
    equal("is gone with the trace", path.exists(), False)
    kept = WORK / "kept.ttrace"
    program = [sys.executable, "-m", "tensortrace", "runner", "-m", model, "-n", "2", "--engine", ENGINE]
    again = tt.run(program, path=kept, force=True, env={"OMP_NUM_THREADS": "1"})
    equal("kept", (kept.exists(), bool(again.output)), (True, True))
    refused("no such program", "no-such-program", lambda: tt.run(["no-such-program"]))
    refused("no such option", "nonsense", lambda: tt.run(["true"], nonsense=True))


def check_record():
    """By the hook library of the package; what it records is a matter of the engine's tests."""
    path = WORK / "record.ttrace"
    with tt.record(path) as recording:
        refused("recorded twice", "already", tt.record(WORK / "other.ttrace").start)
    refused("nothing computed", "nothing was recorded", lambda: recording.trace)
    equal("no file", (path.exists(), Path(str(path) + ".part").exists()), (False, False))
    refused("no such option of record", "nonsense", tt.record(path, nonsense=1).start)


check_open()
check_capsules()
check_words()
check_record()
if ENGINE != "-":
    check_run()
sys.exit(bad > 0)
