"""check_unobserved.py TENSORTRACE ENGINE: what was not recorded is no number, anywhere.

Records traces with sets of capture options, and asks every command and every endpoint of `serve` about each. KEYS and WORDS say,
by hand and from the options alone, what such a trace cannot know: there a value must be null or absent (an empty cell of CSV,
the "not observed" of a binary column), and no sentence may state it. A key that a command or endpoint gains is tested by its name.
"""

import concurrent.futures
import csv
import functools
import io
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

SOURCES = Path(os.environ["TT_SOURCE_DIR"])
sys.path.insert(0, str(SOURCES / "tests/golden"))
sys.path.insert(0, str(SOURCES / "python"))
os.environ["TENSORTRACE_HOME"] = str(Path(sys.argv[1]).resolve().parents[1])
import tensortrace  # noqa: E402
import tensortrace._library  # noqa: E402
from check_served import Client, Server, address  # noqa: E402

TENSORTRACE, ENGINE = sys.argv[1:]
NAN_U32 = 0xFFFFFFFF

# Of each trace the model and the options. Pairs of options that could hide each other are here together.
RUNS = {
    "plain": ("tiny", "-t 2"),
    "events": ("tiny", "-t 2 --faults=events --no-repack"),
    "counts": ("moe", "-t 1 --faults=counts --no-repack --values=full:ffn_moe_out-*"),
    "both": ("moe", "-t 2 --faults=both --residency --no-repack --every 2"),
    "callback": ("moe", "-t 2 --mode callback --values=stats"),
    "callback-events": ("tiny", "-t 2 --mode callback --faults=events --no-text"),
    "callback-counts": ("tiny", "-t 1 --mode callback --faults=counts --residency=2"),
    "secret": ("moe", "-t 2 --no-text --batches 2..3"),
    # Only the last of it, only the first, and beside boost, which reads the weights itself.
    "ring": ("moe", "-t 2 --ring=1M --faults=both --values=stats --no-repack"),
    "limit": ("tiny", "-t 1 --limit=1M --faults=counts --values=stats"),
    "boosted": ("moe", "-t 2 --ram=1M"),
}
LONG = ["ring", "limit"]
FLAGS = {
    "faults": lambda o: "--faults" in o,
    "reads": lambda o: "--faults=counts" in o or "--faults=both" in o,
    "events": lambda o: "--faults=events" in o or "--faults=both" in o,
    "threads": lambda o: "callback" not in o,
    "residency": lambda o: "--residency" in o,
    "values": lambda o: "--values" in o,
    "logits": lambda o: "--values=stats" in o,
    "text": lambda o: "--no-text" not in o,
    "batches": lambda o: not re.search("--(every|batches|ring|limit)", o),
}

# What each flag is needed for: keys by the path of the answer, "COMMAND.key.key" or "ENDPOINT.key.key". How a model file is
# mapped and read into memory is always recorded: "loading", and "model_files" (figures of the disk itself).
ALWAYS = re.compile(r"\bloading\b|\bmodel_files\b|\bsystem\b|\bby_loading\b")
KEYS = {
    "faults": r"(\.|^)((major|minor)_faults(_per_s)?|(disk_)?read_bytes_per_s|reading_(ns|count)|(user|system)_ns|page_faults|counted"
              r"|outside_ops|process_(in_batches|while_recording))$(?<!^pool\.reading_ns)|^(faults|report\.disk)\.",
    "reads": r"^faults\..*(?<!process)\b(rows|total|ops_in_batches|outside_ops)(?!\.process)\b.*\b(read_bytes|cpu_ns|amplification|bytes_per_s|off_cpu_ns|busy_ns)$"
             r"|\b(ops_read_bytes|ops_rate_bytes_per_s|disk_read_bytes)$|^why.*\bfaults\.read_bytes$|^op\.lanes\.(read_bytes|cpu_ns)$",
    "events": r"\bpage_faults(_lost)?$|^memory/pages(/\w+)?\.(n|faults|faults_lost|on_map|.*_faults)$",
    "threads": r"(\.|^)(wait_ns|wait_share|merged_wait_ns|last_to_arrive|waited_for_ns|barriers|(merged_)?off_cpu_ns)$"
               r"|^timeline/off_cpu\.n$",
    "residency": r"(\.|^)(resident|came|went|fetched|used|unused|evicted|fetched_again(_most)?)_bytes$(?<!\brows\.used_bytes)",
    "values": r"^(values|report\.values|info\.values).*\b(n_nan|n_inf|bad|masking|constant|zero|elements|min|max|mean|rms\w*|bad_after"
              r"|inherited|origins_total|found|logits_bad)$|\boutputs_not_finite$",
    "logits": r"\blogits_bad$",
    "text": r"(\.|^)(token_ids?|token_text|tokens_text)$",
}
# Bytes of a weight that ops used are not pages in RAM.
USED = re.compile(r"^export buffers|^faults.*\b(rows|total)\.used_bytes$|^buffers|^memory\b(?!/loading|/residency)|^info.*\bby_kind\b")
WORDS = {
    "faults": r"\b0 (major |minor |page )+faults|[Nn]othing came from disk|\b0 B (came|was read|read)\b|never waited (for (it|disk|them))"
              r"|waiting for disk +0 ns|none of its ops had",
    "reads": r"\b0 B came from disk|faults(, and| and)? read 0 B|\b0 B read\.|or read from a device\b|READ +.*\n.* 0 B$",
    "threads": r"never off CPU|never waited for each other|off CPU +0 ns|off CPU for only|waiting for threads +0 ns|waiting for disk +0 ns"
               r"|waited 0 ns|0\.0 % waiting",
    "values": r"\b0 with NaN|[Nn]o (output|value)s? (holds|hold|is|are) (a )?NaN|\b0 of [\d,]+ outputs",
    "batches": r"never (chosen|read)\b(?!, gone)|[\d.]+ % never\b",
}

JSON = ["info", "why", "why --batch 2", "why --layer 1", "stats --by tensor", "stats --by thread", "log --lanes", "heat --by layer", "whatif --ram 4M",
        "buffers", "graph", "faults", "faults --by batch", "faults --by thread", "routing", "values", "values --first-bad", "report", "diff OTHER", "verify"]
TEXT = ["info --verbose", "why", "why --batch 2", "why --layer 1", "stats --by thread", "heat", "faults", "values", "report"]
CSV = ["stats --by tensor", "log --lanes", "heat", "faults", "faults --by batch", "values"]
WHOLE = {"from_ns": -(10**12), "to_ns": 10**12}
SPANS = "file0-0-65536-16"
ASKED = {
    "buffers_curve": [{"points": 20}], "counters": [{"buckets": 20}], "diff": [{"other": -1}], "diff/pair": [{"other": -1, "batch": 2, "name": "ffn_out-0"}],
    "diff/batches": [{"other": -1}], "diff/values": [{"other": -1}], "experts": [{"batch": 2}], "find": [{"q": "ffn"}],
    "flame": [{"merged": 1}, {}], "graph/search": [{"q": "ffn"}], "log/locate": [{"time_ns": 1000}], "log/rows": [{"n": 50}],
    "memory/loading/bins": [{"spans": SPANS}], "memory/pages/bins": [{"spans": SPANS}], "memory/pages/faults": [{"spans": SPANS}],
    "memory/path": [{"columns": 8, "rows": 8}, {"reads": 0}], "memory/region": [{"region": 3}], "memory/batches": [{"by": "layer"}],
    "op": [{"run": r, "node": n} for r in (0, 1) for n in (0, 5, 11)], "op/times": [{"run": 1, "node": 5}],
    "pool": [WHOLE], "pool/bins": [WHOLE | {"buckets": 8}], "pool/reads": [WHOLE], "pool/waits": [WHOLE | {"buckets": 8}],
    "stats": [{"by": by} for by in "op layer thread batch phase".split()], "timeline/aggregate": [WHOLE],
    "timeline/off_cpu": [WHOLE, WHOLE | {"limit": 0}], "timeline/overview": [{"buckets": 16}], "values/op": [{"run": 1, "node": 5}],
    "whatif": [{"steps": 2}], "why": [{"batch": 2}, {"layer": 1}, {"run": 1, "node": 5}],
}

failures, values_seen, known_seen = [], 0, {}


def fail(text):
    if text not in failures:
        failures.append(text)


def record(name):
    model, options = RUNS[name]
    # What the model's pages were read for is then a number where it is recorded.
    with open(f"{model}.gguf", "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    tokens = "250" if name in LONG else "5"
    subprocess.run([TENSORTRACE, "boost" if name == "boosted" else "run", "-q", "-o", f"{name}.ttrace", "--engine", ENGINE, "-m", f"{model}.gguf",
                    "-p", "Once upon", "-n", tokens, "--ignore-eos", *options.split()], check=True, stdout=subprocess.DEVNULL)


@functools.cache
def lacking(name):
    """The flags that a trace lacks, and with which of them values are wrong."""
    return [flag for flag, has in FLAGS.items() if not has(RUNS[name][1])]


@functools.cache
def needs(path):
    """The flags without which a key is not known."""
    if ALWAYS.search(path):
        return []
    return [flag for flag, pattern in KEYS.items() if re.search(pattern, path) and not (flag == "residency" and USED.search(path))]


def take(name, path, value):
    """A number (or a text) of an answer."""
    global values_seen
    values_seen += 1
    if value is None or value == "":
        return
    for flag in needs(path):
        if flag in lacking(name):
            fail(f"{name}: {path} is {value}, though {flag} were not recorded")
        else:
            known_seen[flag] = known_seen.get(flag, 0) + 1


def say(name, where, text):
    for flag, pattern in WORDS.items():
        if flag in lacking(name):
            for found in re.finditer(pattern, text, flags=re.M):
                line = text[text.rfind("\n", 0, found.start()) + 1:found.end() + 60].split("\n")[0]
                if not ALWAYS.search(where) and not re.match(r" *(mapped|loaded|opened)\b|.*until the first batch", line):
                    fail(f"{name}: {where} says \"{line.strip()}\", though {flag} were not recorded")


def walk(name, path, value):
    if isinstance(value, dict):
        for key, inner in value.items():
            walk(name, f"{path}.{key}", inner)
    elif isinstance(value, list):
        for inner in value:
            walk(name, path, inner)
    else:
        if isinstance(value, str):
            say(name, path, value)
        take(name, path, value)


def ask(name, command, form):
    other = "both" if name != "both" else "plain"
    words = [f"{other}.ttrace" if w == "OTHER" else w for w in command.split()]
    # The trace comes first, but for two traces: then it is B.
    asked = [words[0], f"{name}.ttrace", *words[1:]] if "OTHER" not in command else [*words, f"{name}.ttrace"]
    done = subprocess.run([TENSORTRACE, *asked, *form], capture_output=True, text=True)
    if done.returncode not in (0, 1, 2):
        fail(f"{name}: {command} {form} exits with {done.returncode}: {done.stderr[:200]}")
    return done.stdout


def command(job):
    name, command, form = job
    out = ask(name, command, [form] if form else [])
    verb = command.split()[0]
    if "OTHER" in command and form:
        # Keys of the other side are its own; the pair's differences are not known unless both are.
        walk(name, verb, {k: v for k, v in (json.loads(out) if out else {}).items() if not k.endswith("_a")})
    elif form == "--json" and out:
        walk(name, verb, json.loads(out))
    elif form == "--csv" and out:
        for row in csv.DictReader(io.StringIO(out)):
            for key, value in row.items():
                take(name, f"{verb}.rows.{key}", value)
    elif not form and "OTHER" not in command:
        say(name, command, out)


def exported(name):
    """The tables for other tools."""
    subprocess.run([TENSORTRACE, "export", "--format", "csv", "-o", f"{name}.tables", f"{name}.ttrace"], check=True, capture_output=True)
    for path in sorted(Path(f"{name}.tables").rglob("*.csv")):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                for key, value in row.items():
                    take(name, f"export {path.stem}.{key}", value)


def streamed(name):
    """The rows of each analysis, and the tables, as Arrow: what Python's tt.open gives."""
    with tensortrace.open(f"{name}.ttrace") as trace:
        for analysis in tensortrace._library.analysis_names():
            try:
                rows = list(trace._rows(analysis))
            except tensortrace.TraceError:
                continue  # not recorded, and it says so
            for row in rows:
                walk(name, f"{analysis}.rows", row)
        for table in trace.tables:
            for row in trace.tables[table]:
                walk(name, f"export {table}", row)


def columns(name, endpoint, body):
    """A binary reply: its header and columns."""
    length, = struct.unpack_from("<I", body)
    head = json.loads(body[4:4 + length])
    begin = (4 + length + 7) // 8 * 8
    for column in head.pop("columns", []):
        kind, size = {"u8": ("B", 1), "u32": ("I", 4), "f64": ("d", 8)}[column["type"]]
        data = struct.unpack_from(f"<{column['n']}{kind}", body, begin + column["offset_bytes"])
        assert begin + column["offset_bytes"] + size * column["n"] <= len(body)
        for value in data:
            take(name, f"{endpoint}.{column['name']}", None if value != value or (kind == "I" and value == NAN_U32) else value)
    walk(name, endpoint, head)


def served(names):
    server = Server(TENSORTRACE, [f"{name}.ttrace" for name in names], ".")
    client = Client(server)
    endpoints = json.loads(client.get("/api/v1")[2])["endpoints"]
    if len(endpoints) < 40:
        fail(f"only {len(endpoints)} endpoints")
    for e in endpoints:
        for at, name in enumerate(names) if e["of_trace"] else []:
            for params in ASKED.get(e["name"], [{}]):
                if "other" in params:
                    params = params | {"other": (at + 1) % len(names)}
                status, kind, body = client.get(address(e, at, params))
                if status not in (200, 400, 404, 409, 422):
                    fail(f"{name}: {e['name']} {params} answers {status}: {body[:100]}")
                elif status == 200 and kind.startswith("application/json"):
                    # Of two traces, the numbers of the other one are its own.
                    walk(name if "other" not in params else names[-1], e["name"], json.loads(body) if "other" not in params else {})
                elif status == 200 and kind == "application/octet-stream" and body[:4] != b"TTTL":
                    columns(name, e["name"], body)
    code, said = server.stop()
    if code != 0:
        fail(f"serve ended with {code}: {said}")


def main():
    for model in ("tiny", "moe"):
        subprocess.run([TENSORTRACE, "synth", "--preset", model, "--layers", "2", "-o", f"{model}.gguf"], check=True, stderr=subprocess.DEVNULL)
    for name in RUNS:
        record(name)
    jobs = [(n, c, form) for n in RUNS for form, list_of in (("--json", JSON), ("", TEXT), ("--csv", CSV)) for c in list_of]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(command, jobs))
        list(pool.map(exported, RUNS))
    for name in RUNS:
        streamed(name)
    # A server takes eight.
    for at in range(0, len(RUNS), 6):
        served(list(RUNS)[at:at + 6])
    # A pattern that matches nothing tests nothing.
    for flag in KEYS:
        if flag != "text" and not known_seen.get(flag):
            fail(f"no key that needs {flag} was seen where they were recorded")
    print("\n".join(failures[:40]) or f"{values_seen} values")
    return bool(failures)


sys.exit(main())
