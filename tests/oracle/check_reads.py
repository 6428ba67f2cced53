"""What every command and export says that ops read of weights is one and the same, and what the records say.

Usage: check_reads.py TENSORTRACE WORKDIR

Of each golden trace, and of traces made here with and without experts: a second reader (this file, on what
tests/golden/decode.py decodes) works out how many bytes of which weight each op read, and where, or that it is
not known where. The log, the table `sources`, `stats`, `heat`, `faults`, `whatif`, the export `oraclegeneral` and
the API's memory map agree with it, op by op where they have ops: amounts are equal, and what is not known is
null, an upper bound, or left out with a count. Exits with 1 when anything differs.
"""

import csv
import http.client
import json
import os
import shutil
import struct
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

SOURCE = Path(os.environ["TT_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "tests" / "golden"))
sys.dont_write_bytecode = True

import decode  # noqa: E402

TOOL, WORK = sys.argv[1], Path(sys.argv[2])
PAGE = 4096
compared = 0


def run(*args):
    done = subprocess.run([TOOL, *map(str, args)], capture_output=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(map(str, args))}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def tell(*args):
    said = run(*args, "--json", "--limit", "0")
    return json.loads(said) if said.strip() else None


def expect(what, got, want):
    global compared
    compared += 1
    if got != want:
        sys.exit(f"{what}: {got!r} instead of {want!r}")


# --- what the records say ---


class Read:
    """Of one source of one op: size bytes; at: the intervals (offset, size) in the file, or None."""

    def __init__(self, weight, size, at_most, at, span):
        self.weight, self.size, self.at_most, self.at, self.span = weight, size, at_most, at, span


def product(numbers):
    n = 1
    for x in numbers:
        n *= x
    return n


class Reader:
    def __init__(self, path):
        self.trace = decode.decode(path.read_bytes())
        self.view = v = decode.View(self.trace)
        self.weights = [w for m in v.all("model") for w in m["weights"]]
        self.by_name = {}
        for w in self.weights:
            self.by_name.setdefault(w["name"], w)
        self.indices = {(x["run"], x["tensor"]): x["values"] for x in v.all("indices")}
        self.chosen = defaultdict(dict)
        for run_id, node, _, kind, *rest in self.trace["details"]:
            if kind == 2:
                for i, expert in enumerate(rest[2:]):
                    self.chosen[run_id, node][rest[0], rest[1] + i] = expert

    def root_of(self, graph, at):
        """What the tensor shows, and at which byte of it."""
        offset = 0
        while graph["tensors"][at]["view_src"]:
            offset += graph["tensors"][at]["view_offset_bytes"]
            at = graph["tensors"][at]["view_src"] - 1
        return at, offset

    def numbers_of(self, run_id, graph, at):
        """The row numbers that the tensor holds, or None."""
        t = graph["tensors"][at]
        root, offset = self.root_of(graph, at)
        n, width = product(t["ne"]), t["nb"][0]
        stride = width
        for d in range(1, 4):
            stride *= t["ne"][d - 1]
            if t["ne"][d] > 1 and t["nb"][d] != stride:
                return None
        batch = self.view.batches.get(self.view.runs[run_id]["batch"])
        found = self.indices.get((run_id, root))
        if found is None and batch and self.view.strings[graph["tensors"][root]["name"]] == "inp_tokens":
            found = batch["tokens"]
        first = offset // width
        return None if found is None or first + n > len(found) else found[first : first + n]

    def choices_of(self, run_id, graph, node, ids):
        """The experts of all rows and ranks, under the first node that takes these ids; or None."""
        for i, t in enumerate(graph["tensors"][: graph["n_nodes"]]):
            if self.view.strings[t["op_name"]] == "MUL_MAT_ID" and t["src"][2] == ids:
                found = self.chosen.get((run_id, i), {})
                used = graph["tensors"][ids - 1]["ne"]
                return list(found.values()) if len(found) == product(used) and found else None
        return None

    def read_of(self, run_id, graph, node, slot):
        t = graph["tensors"][node]
        at = t["src"][slot] - 1
        source = graph["tensors"][at]
        root, offset = self.root_of(graph, at)
        weight = self.by_name.get(self.view.strings[graph["tensors"][root]["name"]])
        if weight is None:
            return None
        begin = weight["offset_bytes"] + offset
        span = (begin, source["size_bytes"])
        op = self.view.strings[t["op_name"]]
        kind = {("GET_ROWS", 0): (1, 1), ("MUL_MAT_ID", 0): (2, 2), ("ADD_ID", 1): (2, 1)}.get((op, slot))
        if kind is None or len(t["src"]) <= kind[0]:
            return Read(weight, source["size_bytes"], False, [span], span)
        ids, dimension = t["src"][kind[0]], kind[1]
        picker, part = graph["tensors"][ids - 1], source["nb"][dimension]
        at_once = None
        if op == "GET_ROWS":
            numbers = self.numbers_of(run_id, graph, ids - 1)
            if numbers is not None:
                at_once = set()
                for i, row in enumerate(numbers):
                    plane = i // picker["ne"][0] % picker["ne"][1]
                    cube = i // picker["ne"][0] // picker["ne"][1]
                    if 0 <= row < source["ne"][1] and plane < source["ne"][2] and cube < source["ne"][3]:
                        at_once.add(row * part + plane * source["nb"][2] + cube * source["nb"][3])
        else:
            choices = self.choices_of(run_id, graph, node, ids)
            if choices is not None:
                at_once = {expert * part for expert in choices if expert < source["ne"][dimension]}
        if at_once is None:
            most = product(picker["ne"]) * part
            size, at_most = min(most, source["size_bytes"]), product(picker["ne"]) > 1
            placed = not at_most and size == source["size_bytes"]
            return Read(weight, size, at_most, [span] if placed else None, span)
        joined = []
        for x in sorted(at_once):
            if op == "GET_ROWS" and joined and joined[-1][0] + joined[-1][1] == begin + x:
                joined[-1] = (joined[-1][0], joined[-1][1] + part)
            else:
                joined.append((begin + x, part))
        return Read(weight, sum(size for _, size in joined), False, joined, span)

    def ops(self):
        """(run, node) -> the reads of its sources, in the order in which ops began."""
        first = {}
        for record in self.trace["ops"]:
            _, run_id, _, node, covers, _, start, _, _ = record
            if run_id not in self.view.runs or self.view.runs[run_id]["graph"] not in self.view.graphs:
                continue
            key = run_id, node
            was = first.get(key)
            first[key] = (min(start, was[0]) if was else start, covers)
        begun = {r["id"]: r["ticks"] for r in self.view.all("run")}
        for (run_id, node), (start, covers) in sorted(first.items(), key=lambda x: (x[1][0], begun[x[0][0]], x[0])):
            graph = self.view.graphs[self.view.runs[run_id]["graph"]]
            nodes, at = [node], node
            while len(nodes) <= covers and at + 1 < graph["n_nodes"]:
                at += 1
                if graph["tensors"][at]["flags"] & 1:
                    nodes.append(at)
            reads, seen = [], set()
            for n in nodes:
                for slot, s in enumerate(graph["tensors"][n]["src"]):
                    if s and s - 1 not in nodes and s not in seen:
                        seen.add(s)
                        reads.append(self.read_of(run_id, graph, n, slot))
            yield (run_id, node), reads


# --- what is said of it ---


def check_log(what, path, ops):
    said = {(op["graph_run"], op["node"]): op for op in tell("log", path)["ops"]}
    expect(f"{what} log: ops", len(said), len(ops))
    for key, reads in ops.items():
        op = said[key]
        expect(f"{what} log {key}: sources", len(op["sources"]), len(reads))
        expect(f"{what} log {key}: weight_bytes", op["weight_bytes"], sum(r.size for r in reads if r))
        for r, s in zip(reads, op["sources"]):
            if not r:
                continue
            expect(f"{what} log {key}: read_bytes", s["read_bytes"], r.size)
            expect(f"{what} log {key}: read_bytes_at_most", s.get("read_bytes_at_most", False), r.at_most)
            parts = s.get("rows", s.get("experts"))
            if r.at is None:
                expect(f"{what} log {key}: parts", parts, None)
                expect(f"{what} log {key}: file_offset_bytes", s["file_offset_bytes"], None)
                expect(f"{what} log {key}: buffer_offset_bytes", s.get("buffer_offset_bytes"), None)
            elif parts is not None:
                expect(f"{what} log {key}: parts", [(p["file_offset_bytes"], p["read_bytes"]) for p in parts], r.at)
            else:
                expect(f"{what} log {key}: place", [(s["file_offset_bytes"], s["read_bytes"])], r.at)


def check_sources(what, path, ops):
    folder = WORK / "csv"
    shutil.rmtree(folder, ignore_errors=True)
    run("export", path, "--format", "csv", "-o", folder)
    rows = defaultdict(lambda: defaultdict(list))
    with open(folder / "sources.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["tensor_id"]:
                rows[divmod(int(row["op_id"]), 1 << 20)][int(row["source_index"])].append(row)
    for key, reads in ops.items():
        for index, r in enumerate(reads):
            found = rows[key].pop(index, [])
            if not r:
                expect(f"{what} sources {key}: of a weight", found, [])
                continue
            places = [(int(row["file_offset_bytes"]), int(row["read_bytes"])) for row in found if row["file_offset_bytes"]]
            expect(f"{what} sources {key}: read_bytes", sum(int(row["read_bytes"]) for row in found), r.size)
            expect(f"{what} sources {key}: at most", {row["read_bytes_at_most"] for row in found}, {str(r.at_most).lower()})
            expect(f"{what} sources {key}: places", places or None, r.at)
        expect(f"{what} sources {key}: others", dict(rows[key]), {})


def sums_of(ops):
    """By weight: bytes, at most, whether all are placed, bytes of the unplaced, distinct bytes placed."""
    sums = {}
    for reads in ops.values():
        for r in reads:
            if not r:
                continue
            s = sums.setdefault(r.weight["name"], {"size": 0, "at_most": False, "loose": 0, "unplaced": 0, "bytes": set(), "ops": 0})
            s["size"] += r.size
            s["ops"] += 1
            s["at_most"] |= r.at_most
            if r.at is None:
                s["loose"] += r.size
                s["unplaced"] += 1
            for begin, size in r.at or []:
                s["bytes"].add((begin, size))
    return sums


def distinct(intervals):
    total, end = 0, 0
    for begin, size in sorted(intervals):
        total += max(0, begin + size - max(begin, end))
        end = max(end, begin + size)
    return total


def check_sums(what, path, reader, sums):
    sizes = {w["name"]: w["size_bytes"] for w in reader.weights}
    said = {row["tensor"]: row for row in tell("stats", "--by", "tensor", path)["rows"]}
    for name, s in sums.items():
        expect(f"{what} stats {name}: weight_bytes", said[name]["weight_bytes"], s["size"])
        expect(f"{what} stats {name}: at most", said[name]["weight_bytes_at_most"], s["at_most"])
    touched = {name: min(sizes[name], distinct(s["bytes"]) + s["loose"]) for name, s in sums.items()}
    heat = tell("heat", "--by", "tensor", path)
    for row in heat["rows"]:
        s = sums.get(row["tensor"])
        if s is None:
            expect(f"{what} heat {row['tensor']}: accesses", row["accesses"], 0)
            continue
        expect(f"{what} heat {row['tensor']}: read_bytes", row["read_bytes"], s["size"])
        expect(f"{what} heat {row['tensor']}: at most", row["at_most"], s["at_most"])
        expect(f"{what} heat {row['tensor']}: touched_bytes", row["touched_bytes"], touched[row["tensor"]])
        expect(f"{what} heat {row['tensor']}: touched at most", row["touched_bytes_at_most"], s["unplaced"] > 0)
    expect(f"{what} heat: read_bytes", heat["summary"]["read_bytes"], sum(s["size"] for s in sums.values()))
    expect(f"{what} heat: unplaced_reads", heat["summary"]["unplaced_reads"], sum(s["unplaced"] for s in sums.values()))
    faults = tell("faults", "--by", "tensor", path) if reader.view.all("page_faults") or any(d[3] == 1 for d in reader.trace["details"]) else None
    accessed, used = defaultdict(int), defaultdict(int)
    for row in faults["rows"] if faults else []:
        accessed[row["tensor"]] += row["accessed_bytes"] or 0
        used[row["tensor"]] += row["used_bytes"] or 0
    for name, s in sums.items() if faults else []:
        expect(f"{what} faults {name}: accessed_bytes", accessed[name], s["size"])
        # Of a weight in the file and in a copy, what both read counts in both rows.
        if sum(row["tensor"] == name for row in faults["rows"]) == 1:
            expect(f"{what} faults {name}: used_bytes", used[name], touched[name])
    check_map(what, path, sums, touched)


def check_map(what, path, sums, touched):
    """The memory map of the API, by region."""
    child = subprocess.Popen([TOOL, "serve", "--no-open", "--port", "0", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        line = child.stdout.readline()
        host, _, rest = line[line.index("http://") + 7 :].strip().partition("/")
        get = http.client.HTTPConnection(host, timeout=60)
        get.request("GET", "/" + rest)
        first = get.getresponse()
        cookie = first.getheader("Set-Cookie").split(";")[0]
        first.read()

        def ask(name):
            get.request("GET", f"/api/v1/traces/0/{name}", headers={"Cookie": cookie})
            reply = get.getresponse()
            body = reply.read()
            expect(f"{what} {name}: status", reply.status, 200)
            return body

        layout = json.loads(ask("memory"))
        tensors = json.loads(ask("tensors"))
        body = ask("memory/heat")
        length = struct.unpack("<I", body[:4])[0]
        head = json.loads(body[4 : 4 + length])
        columns = {}
        for c in head["columns"]:
            code, width = {"u8": ("B", 1), "u32": ("I", 4), "f64": ("d", 8)}[c["type"]]
            at = 4 + length + c["offset_bytes"]
            columns[c["name"]] = struct.unpack(f"<{c['n']}{code}", body[at : at + width * c["n"]])
    finally:
        child.terminate()
        child.wait()
    row_of = {unit: i for i, unit in enumerate(columns["unit"])}
    regions = layout["regions"]
    names = tensors["name"]
    for region, weight in enumerate(regions["weight"]):
        if weight is None or region not in row_of:
            continue
        i, s = row_of[region], sums[names[weight]]
        expect(f"{what} map {names[weight]}: read_bytes", columns["read_bytes"][i], s["size"])
        expect(f"{what} map {names[weight]}: at most", columns["at_most"][i], s["at_most"])
        expect(f"{what} map {names[weight]}: touched_bytes", columns["touched_bytes"][i], touched[names[weight]])
        expect(f"{what} map {names[weight]}: touched at most", columns["touched_bytes_at_most"][i], s["unplaced"] > 0)


def check_replay(what, path, reader, ops):
    """Pages of the placed reads, in order; of bounds the whole tensor; the rest is left out."""
    want, left, left_bytes, asked = [], 0, 0, 0
    batches = {r["id"]: r["batch"] for r in reader.view.all("run")}
    time = 0
    for (run_id, _), reads in ops.items():
        batch = reader.view.batches.get(batches[run_id])
        time = max(time, batch["number"]) if batch else time
        for r in reads:
            if not r:
                continue
            asked += r.size
            if r.at is None and not r.at_most:
                left += 1
                left_bytes += r.size
                continue
            for begin, size in r.at or [r.span]:
                want += [(time, page) for page in range(begin // PAGE, (begin + size - 1) // PAGE + 1)]
    if not want:
        return
    folder = WORK / "oracle"
    shutil.rmtree(folder, ignore_errors=True)
    run("export", path, "--format", "oraclegeneral", "-o", folder)
    got = [(t, unit) for t, unit, _, _ in struct.iter_unpack("<IQIq", (folder / "trace.oracleGeneral").read_bytes())]
    expect(f"{what} oraclegeneral: accesses", got, want)
    told = tell("whatif", "--ram", "1G", path)
    total = told["results"][0]["total"]
    expect(f"{what} whatif: unplaced_reads", told["unplaced_reads"], left)
    expect(f"{what} whatif: unplaced_bytes", told["unplaced_bytes"], left_bytes)
    expect(f"{what} whatif: read_bytes", total["read_bytes"], asked)
    expect(f"{what} whatif: whole_units_bytes", total["whole_units_bytes"], len(want) * PAGE)
    expect(f"{what} whatif: missed_bytes", total["missed_bytes"], len({page for _, page in want}) * PAGE)


def check(path):
    what = path.stem
    reader = Reader(path)
    ops = dict(reader.ops())
    check_log(what, path, ops)
    check_sources(what, path, ops)
    sums = sums_of(ops)
    if sums:
        check_sums(what, path, reader, sums)
        check_replay(what, path, reader, ops)
    return sum(s["unplaced"] for s in sums.values())


unplaced = 0
for golden in sorted((SOURCE / "tests" / "golden").glob("good-*.ttrace")):
    unplaced += check(golden)
for name, options in {"dense": [], "experts": ["--experts", "8", "--faults"]}.items():
    made = WORK / f"{name}.ttrace"
    subprocess.run([os.environ["TT_GENTRACE"], "-o", made, "--layers", "3", "--tokens", "12", "--width", "256", "--vocab", "500", *options], check=True, capture_output=True)
    unplaced += check(made)
expect("some reads are of unknown places", unplaced > 0, True)
print(f"{compared} comparisons, {unplaced} reads of unknown places")
