"""Compares what `export --format perfetto` writes with `log`, `buffers`, `faults` and `graph --json`.

Usage: check_perfetto.py TENSORTRACE WORKDIR [TRACE...]

The file is decoded with the published schema (the descriptors of PyPI's package `perfetto`), no code
of tensortrace's: packets, interned texts and defaults as a reader of the format resolves them, slices
by a stack for each track, events by time and then by place, as Perfetto's trace processor sorts them.
Then each slice on a thread's track has to be a row of `log --json --lanes`, with equal times,
arguments and sources, and a wait behind it; batches, graph computations, counters and flows have to
be what the other commands say. The SQL of docs/perfetto.md is run on tables as the trace processor makes
them (in SQLite, which it is built on). Without TRACE the golden ones. Exits with 1 when anything differs.
"""

import bisect
import json
import os
import re
import sqlite3
import sys
import zlib
from collections import defaultdict
from pathlib import Path

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

sys.path.insert(0, str(Path(os.environ["TT_SOURCE_DIR"]) / "tests" / "engine"))

import traces  # noqa: E402

GOLDEN = ["good-plain", "good-experts", "good-memory", "good-memory-experts", "good-killed", "good-flight",
          "good-shift", "good-old-memory-experts", "good-one-clock"]
MONOTONIC, REALTIME = 3, 1
CLEARED, NEEDS_STATE = 1, 2
Event = schema.TrackEvent
REPLACED = "�"


class Slice:
    def __init__(self, begin, event, name, categories, args):
        self.begin, self.end = begin, None
        self.name, self.categories, self.args = name, categories, args
        self.flows, self.terminated = list(event.flow_ids), list(event.terminating_flow_ids)
        self.children = []

    def duration(self):
        return None if self.end is None else self.end - self.begin


class Trace:
    """What a reader makes of the file; what it must not meet goes to `complain`."""

    def __init__(self, path, complain):
        self.complain = complain
        self.names, self.categories, self.keys, self.texts = {}, {}, {}, {}
        self.tracks, self.attributes, self.clocks = {}, {}, {}
        self.slices = defaultdict(list)
        self.counters = defaultdict(list)
        self.instants = []
        self.packed = False
        events = []
        whole = schema.Trace()
        whole.ParseFromString(Path(path).read_bytes())
        for packet in self.unpacked(whole):
            self.packet(packet, events)
        events.sort(key=lambda e: e[0])
        self.play(events)

    def unpacked(self, whole):
        for packet in whole.packet:
            if not packet.HasField("compressed_packets"):
                yield packet
                continue
            inner = schema.Trace()
            inner.ParseFromString(zlib.decompress(packet.compressed_packets))
            self.packed = True
            yield from inner.packet

    def packet(self, p, events):
        if p.trusted_packet_sequence_id != 1:
            self.complain("a packet is of another sequence")
        if p.sequence_flags == CLEARED:
            if self.clocks:
                self.complain("the state is cleared in the middle")
            self.default_clock = p.trace_packet_defaults.timestamp_clock_id
        elif p.sequence_flags != NEEDS_STATE or not self.clocks:
            self.complain("a packet does not say that it needs the state, or comes before it")
        if p.HasField("clock_snapshot"):
            self.clocks = {c.clock_id: c.timestamp for c in p.clock_snapshot.clocks}
            self.primary = p.clock_snapshot.primary_trace_clock
        for table, entries in ((self.names, p.interned_data.event_names),
                               (self.categories, p.interned_data.event_categories),
                               (self.keys, p.interned_data.debug_annotation_names)):
            for entry in entries:
                if entry.iid in table or entry.iid == 0:
                    self.complain(f"interned twice: {entry.name}")
                table[entry.iid] = entry.name
        for entry in p.interned_data.debug_annotation_string_values:
            if entry.iid in self.texts:
                self.complain("interned twice")
            self.texts[entry.iid] = entry.str.decode()
        if p.HasField("track_descriptor"):
            t = p.track_descriptor
            known = self.tracks.setdefault(t.uuid, t)
            if known != t:
                self.complain(f"track {t.uuid} is described in two ways")
        for a in p.trace_attributes.attribute:
            self.attributes[a.key] = a.string_value if a.HasField("string_value") else a.long_value
        if p.HasField("track_event"):
            if p.HasField("timestamp_clock_id") or not p.HasField("timestamp"):
                self.complain("an event has no time of the default clock")
            events.append((p.timestamp, p.track_event))

    def value(self, a):
        if a.dict_entries:
            return {self.keys[e.name_iid]: self.value(e) for e in a.dict_entries}
        if a.array_values:
            return [self.value(e) for e in a.array_values]
        kind = a.WhichOneof("value")
        return self.texts[a.string_value_iid] if kind == "string_value_iid" else getattr(a, kind)

    def args(self, event):
        return {self.keys[a.name_iid] if a.name_iid else a.name: self.value(a) for a in event.debug_annotations}

    def play(self, events):
        stacks = defaultdict(list)
        for time, e in events:
            if e.track_uuid not in self.tracks:
                self.complain(f"an event is on track {e.track_uuid}, which is not described")
            if e.type == Event.TYPE_COUNTER:
                kind = e.WhichOneof("counter_value_field")
                self.counters[e.track_uuid].append((time, getattr(e, kind)))
            elif e.type == Event.TYPE_INSTANT:
                self.instants.append((e.name, self.args(e)))
            elif e.type == Event.TYPE_SLICE_BEGIN:
                name = self.names[e.name_iid] if e.name_iid else e.name
                s = Slice(time, e, name, [self.categories[i] for i in e.category_iids], self.args(e))
                stack = stacks[e.track_uuid]
                (stack[-1].children if stack else self.slices[e.track_uuid]).append(s)
                stack.append(s)
            elif e.type == Event.TYPE_SLICE_END:
                if not stacks[e.track_uuid]:
                    self.complain(f"a slice ends that did not begin: {self.tracks[e.track_uuid].name}")
                else:
                    stacks[e.track_uuid].pop().end = time

    def of_track(self, name):
        found = [u for u, t in self.tracks.items() if t.name == name or t.name.startswith(name + ",")]
        return sorted(found)


def near(a, b, by=1):
    return a is not None and b is not None and abs(a - b) <= by


def clean(v):
    """A row of the JSON as the arguments have it: what is null is absent."""
    if isinstance(v, dict):
        return {k: clean(x) for k, x in v.items() if x is not None}
    return [clean(x) for x in v] if isinstance(v, list) else v


def row_args(row):
    keep = ["batch_id", "phase", "graph_run", "thread_id", "graph_id", "node", "nodes", "op", "layer_id", "category",
            "component", "weight_bytes", "weight_bytes_at_most", "sources", "destination"]
    args = clean({k: row[k] for k in keep if k in row})
    args["destination"].pop("name")
    if not args["sources"]:
        args.pop("sources")
    return args


def without(args, *names):
    """Without what the log does not have, at any depth."""
    if isinstance(args, dict):
        return {k: without(v, *names) for k, v in args.items() if k not in names}
    return [without(v, *names) for v in args] if isinstance(args, list) else args


def check_ops(t, tool, trace, complain):
    """Every record is a slice, and the other way round."""
    rows = {(r["graph_run"], r["node"], r["thread_id"]): r for r in
            traces.tool(tool, "log", "--json", "--limit", "0", "--lanes", trace)["ops"]}
    seen, waits = set(), 0
    for uuid in t.of_track("thread 0") + [u for n in range(1, 512) for u in t.of_track(f"thread {n}")]:
        last = None
        for s in t.slices[uuid]:
            if s.children:
                complain(f"{t.tracks[uuid].name}: a slice lies in another: {s.name}")
            if s.categories == ["wait"]:
                waits += 1
                row = rows.get((s.args["graph_run"], s.args["node"], s.args["thread_id"]))
                if row is None or last is None or s.begin != last.end or last.args["node"] != s.args["node"]:
                    complain(f"a wait does not follow its op: {s.args}")
                elif not near(s.duration(), row["wait_ns"]):
                    complain(f"a wait lasts {s.duration()} instead of: {row['wait_ns']}")
                elif (s.args["op"], s.args.get("layer_id")) != (row["op"], row["layer_id"]):
                    complain(f"a wait is of another op: {s.args}")
                last = None
                continue
            if last is not None and not last.args.get("unfinished"):
                row = rows[(last.args["graph_run"], last.args["node"], last.args["thread_id"])]
                if row["wait_ns"] > 1:
                    complain(f"no wait where there was one of: {row['wait_ns']}")
            key = (s.args["graph_run"], s.args["node"], s.args["thread_id"])
            row, last = rows.get(key), s
            if row is None or key in seen:
                complain(f"no such row in the log, or twice: {key}")
                continue
            seen.add(key)
            compare_op(t, uuid, s, row, complain)
    if len(seen) != len(rows):
        complain(f"{len(rows) - len(seen)} rows of the log have no slice")
    return len(seen), waits


def compare_op(t, uuid, s, row, complain):
    name = t.tracks[uuid].name
    if s.categories != ["op"] or f"thread {row['thread_id']}" != name.split(",")[0].split(" (")[0]:
        complain(f"a slice is on the wrong track: {name}")
    if s.name != (row["name"] or row["op"]):
        complain(f"a slice is called {s.name!r}: {row['name']!r}")
    if not near(s.begin, row["start_ns"], 3):
        complain(f"a slice begins at {s.begin} instead of: {row['start_ns']}")
    if row["duration_ns"] is None:
        if not s.args.get("unfinished"):
            complain(f"an op without an end does not say so: {s.name}")
    elif not near(s.duration(), row["duration_ns"], 3):
        complain(f"a slice lasts {s.duration()} instead of: {row['duration_ns']}")
    ours = without(s.args, "shape", "unfinished", "minor_faults", "major_faults", "cpu_ns", "device_read_bytes")
    theirs = row_args(row)
    for k in sorted(ours.keys() | theirs.keys()):
        if ours.get(k) != theirs.get(k):
            complain(f"{s.name}: {k} is {ours.get(k)} instead of: {theirs.get(k)}")


def check_shapes(t, tool, trace, complain):
    """The one argument that the log does not have: against the graph of the last token."""
    g = traces.tool(tool, "graph", "--json", trace)
    nodes = {n["id"]: n for n in g["nodes"]}
    for uuid in t.of_track("thread 0"):
        for s in t.slices[uuid]:
            if s.categories != ["op"] or s.args["graph_run"] != g["graph_run"]:
                continue
            ne = nodes[s.args["node"]]["ne"] if s.args["nodes"] == 1 else None
            while ne and len(ne) > 1 and ne[-1] == 1:
                ne = ne[:-1]
            if ne and s.args["destination"]["shape"] != " x ".join(map(str, ne)):
                complain(f"{s.name}: the shape is {s.args['destination']['shape']} instead of: {ne}")


def check_batches(t, tool, trace, info, complain):
    ops = traces.tool(tool, "log", "--json", "--limit", "0", trace)["ops"]
    runs = {o["graph_run"]: o["batch_id"] for o in ops}
    tokens = [s for u in t.of_track("tokens") for s in t.slices[u]]
    graphs = [s for u in t.of_track("graph computations") for s in t.slices[u]]
    by_token = {s.args["batch_id"]: s for s in tokens}
    complain.expect("batches on the track of tokens", info["prompt_batches"] + info["generate_batches"],
                    len([s for s in tokens if s.args["phase"] != "unknown"])) if "prompt_batches" in info else None
    for run, token in runs.items():
        found = [g for g in graphs if g.args["graph_run"] == run]
        if len(found) != 1 or found[0].args.get("batch_id") != token:
            complain(f"the computation has no slice of its own: {run}")
            continue
        mine = [o for o in ops if o["graph_run"] == run]
        if found[0].begin > min(o["start_ns"] for o in mine) + 2:
            complain(f"a computation begins behind its first op: {run}")
        batch = by_token.get(token)
        if token is not None and (batch is None or batch.begin > found[0].begin):
            complain(f"a computation lies outside of its token: {run}")
    return len(tokens), len(graphs)


def check_buffers(t, tool, trace, complain):
    buffers = traces.tool(tool, "buffers", "--json", trace)
    by_id = {b["buffer_id"]: b for b in buffers["buffers"]}
    sums, wanted = defaultdict(int), defaultdict(list)
    for e in buffers["events"]:
        b = by_id[e["buffer_id"]]
        mark = {"file": " (mapped)", "unknown": " (unknown)"}.get(b["backing"], "")
        track = f"buffers: {b['kind']}{mark}"
        sums[track] += -e["size_bytes"] if e["event"] == "free" else e["size_bytes"]
        wanted[track].append(sums[track])
    got = {t.tracks[u].name: [v for _, v in c] for u, c in t.counters.items()
           if t.tracks[u].name.startswith("buffers: ")}
    complain.expect("counters of buffers", dict(wanted), got)
    for i, c in enumerate(buffers["kv_caches"]):
        cells = [v for u in t.of_track(f"KV cache {i}: cells") for _, v in t.counters[u]]
        size = [v for u in t.of_track(f"KV cache {i}: bytes") for _, v in t.counters[u]]
        steps = c.get("batches") or []
        complain.expect(f"cells of cache {i}", [s["cells_written"] for s in steps], cells)
        complain.expect(f"bytes of cache {i}", [s["written_bytes"] for s in steps], size)
    return sum(map(len, wanted.values()))


def check_faults(t, tool, trace, complain):
    recorded = "minor faults" in {x.name.split(",")[0] for x in t.tracks.values()}
    done = traces.subprocess.run([tool, "faults", "--json", trace], capture_output=True, text=True, check=False)
    if done.returncode == 2:
        if recorded or t.attributes.get("faults") != "not observed":
            complain("that faults were not observed is not said")
        return 0
    faults = json.loads(done.stdout)
    total, counted = defaultdict(int), 0
    work = defaultdict(lambda: [0, 0, 0, False])
    for uuid in (u for u, x in t.tracks.items() if x.name.startswith("thread ")):
        for s in t.slices[uuid]:
            if s.categories == ["op"] and "minor_faults" in s.args:
                counted += 1
                sums = work[(s.args["graph_run"], s.args["node"])]
                for i, k in enumerate(("minor_faults", "major_faults", "device_read_bytes")):
                    total[k] += s.args.get(k, 0)
                    sums[i] += s.args.get(k, 0)
                sums[3] |= "device_read_bytes" in s.args
    for ours, theirs in (("minor_faults", "minor_faults"), ("major_faults", "major_faults"),
                         ("device_read_bytes", "read_bytes")):
        complain.expect(f"sum of {ours}", faults["total"][theirs] or 0, total[ours])
    ops = {(o["graph_run"], o["node"]): o for o in traces.ops_of(tool, trace)}
    for i, name in enumerate(("minor faults", "major faults", "read from devices")):
        steps = [c for u in t.of_track(name) for c in t.counters[u]]
        times = [time for time, _ in steps]
        for key, sums in work.items():
            begin, length = ops[key]["start_ns"], ops[key]["duration_ns"]
            if length is None or (i == 2 and not sums[3]):
                continue
            at = bisect.bisect_right(times, begin + 2) - 1
            rate = sums[i] * 1e9 / max(length, 1)
            # The length is rounded to ns here.
            if at < 0 or abs(steps[at][1] - rate) > rate / max(length, 1) + 1e-6:
                complain(f"{name} while {key}: {steps[at][1] if at >= 0 else None} instead of: {rate}")
    residency = faults.get("residency") or {}
    got = [v for u, x in t.tracks.items() if x.name.startswith("in RAM: ") for _, v in t.counters[u]]
    complain.expect("bytes in RAM", sorted(s["resident_bytes"] for s in residency.get("samples", [])), sorted(got))
    return counted


def check_flows(t, tool, trace, complain):
    """Each arrow joins two slices, from a value's last writer to its reader; none is missing."""
    graphs, begun, ended, got = {}, {}, {}, defaultdict(set)
    ops = defaultdict(list)
    for uuid in (u for u, x in t.tracks.items() if x.name.startswith("thread ")):
        for s in t.slices[uuid]:
            for f in s.flows:
                complain(f"a flow begins twice: {f}") if f in begun else begun.setdefault(f, s)
            for f in s.terminated:
                complain(f"a flow ends twice: {f}") if f in ended else ended.setdefault(f, s)
            if s.categories == ["op"]:
                ops[s.args["graph_run"]].append(s)
    if begun.keys() != ended.keys():
        complain("flows have only one end")
    for f in begun.keys() & ended.keys():
        a, b = begun[f], ended[f]
        if a.begin > b.begin or a.args["graph_run"] != b.args["graph_run"]:
            complain(f"a flow goes back, or into another computation: {a.name} -> {b.name}")
        got[a.args["graph_run"]].add((a.args["node"], b.args["node"]))
    for run, list_ in ops.items():
        graph = list_[0].args["graph_id"]
        if graph not in graphs:
            graphs[graph] = traces.tool(tool, "graph", "--json", "--graph", graph, trace)
        first = min(s.args["thread_id"] for s in list_)
        mine = sorted(((s.args["node"], s.args["nodes"]) for s in list_ if s.args["thread_id"] == first))
        wanted = edges_of(graphs[graph], mine)
        if got[run] != wanted:
            complain(f"run {run}: flows missing {sorted(wanted - got[run])[:4]}, too many "
                     f"{sorted(got[run] - wanted)[:4]}")
    return len(begun)


def edges_of(graph, ops):
    """(node, how many it computes) in order -> pairs of nodes, by the graph alone."""
    tensors = {n["id"]: n for n in graph["nodes"]}
    sources = defaultdict(list)
    for e in graph["edges"]:
        if e["label"].startswith("src"):
            sources[e["target"]].append(e["source"])

    def root(i):
        for _ in range(64):
            view = tensors[i]["view_of_id"] if i in tensors else None
            if view is None:
                return i
            i = view
        return i

    executes = sorted(i for i, n in tensors.items() if n["kind"] == "node" and n["executes"])
    writers, edges = {}, set()
    for node, n in ops:
        at = executes.index(node)
        inside = executes[at:at + n]
        reads = {s for i in inside for s in sources[i]} - set(inside)
        for s in reads:
            writer = writers.get(root(s))
            if writer is not None and writer != node:
                edges.add((writer, node))
        for i in inside:
            writers[root(i)] = node
    return edges


def check_about(t, info, complain):
    complain.expect("the default clock", MONOTONIC, t.default_clock)
    complain.expect("the primary clock", MONOTONIC, t.primary)
    complain.expect("run_id", info["run_id"], t.attributes.get("run_id"))
    complain.expect("complete", info["complete"], t.attributes.get("complete") == "yes")
    for name, args in t.instants:
        complain.expect("what the instant event says", t.attributes, args)
    complain.expect("instant events", 1, len(t.instants))
    if REALTIME in t.clocks:
        zero = t.clocks[REALTIME] - t.clocks[MONOTONIC]
        created = info["created_unix_ns"]
        first = min((s.begin for list_ in t.slices.values() for s in list_), default=None)
        if first is not None and not -10**9 < first + zero - created < 3600 * 10**9:
            complain("the real time of the first slice is not near that of the recording")
    process = t.tracks[1]
    if not process.HasField("process") or process.process.pid != info["pid"] & 0x7FFFFFFF:
        complain("the process is not described")
    if info["run_id"][:8] not in process.process.process_name:
        complain("the process is not named after the run")


class Tables:
    """Tables of the trace processor, as far as the documentation's queries use them."""

    def __init__(self, t):
        self.db, self.values, self.sets = sqlite3.connect(":memory:"), {}, 0
        self.db.create_function("EXTRACT_ARG", 2, lambda n, key: self.values.get((n, key)), deterministic=True)
        self.db.executescript("""
            CREATE TABLE slice (ts INT, dur INT, track_id INT, category TEXT, name TEXT, arg_set_id INT);
            CREATE TABLE track (id INT, name TEXT); CREATE TABLE counter_track (id INT, name TEXT);
            CREATE TABLE counter (ts INT, track_id INT, value REAL);
            CREATE TABLE args (arg_set_id INT, key TEXT, int_value INT, string_value TEXT, real_value REAL);""")
        for uuid, x in t.tracks.items():
            table = "counter_track" if x.HasField("counter") else "track"
            self.db.execute(f"INSERT INTO {table} VALUES (?, ?)", (uuid, x.name))
            for s in t.slices[uuid]:
                self.slice(s.begin, -1 if s.end is None else s.duration(), uuid, s.categories, s.name, s.args)
            for time, value in t.counters[uuid]:
                self.db.execute("INSERT INTO counter VALUES (?, ?, ?)", (time, uuid, value))
        for name, args in t.instants:
            self.slice(0, 0, 3, [], name, args)

    def slice(self, begin, length, track, categories, name, args):
        self.sets += 1
        for key, v in args.items():
            self.arg(f"debug.{key}", v)
        self.db.execute("INSERT INTO slice VALUES (?, ?, ?, ?, ?, ?)",
                        (begin, length, track, ",".join(categories) or None, name, self.sets))

    def arg(self, key, v):
        if isinstance(v, dict):
            for k, x in v.items():
                self.arg(f"{key}.{k}", x)
        elif isinstance(v, list):
            for i, x in enumerate(v):
                self.arg(f"{key}[{i}]", x)
        else:
            self.values[(self.sets, key)] = v
            self.db.execute("INSERT INTO args VALUES (?, ?, ?, ?, ?)",
                            (self.sets, key, v if isinstance(v, int) else None, v if isinstance(v, str) else None,
                             v if isinstance(v, float) else None))


def check_sql(t, tool, trace, complain):
    page = (Path(os.environ["TT_SOURCE_DIR"]) / "docs" / "perfetto.md").read_text()
    queries = re.findall(r"^```sql\n(.*?)^```$", page, re.M | re.S)
    db = Tables(t).db
    results = [db.execute(q).fetchall() for q in queries]
    for q, rows in zip(queries, results):
        if not rows or all(None in r[1:] for r in rows):
            complain(f"a query of the documentation gives nothing: {q.split(chr(10))[0]}")
    busy = defaultdict(int)
    for r in traces.tool(tool, "log", "--json", "--limit", "0", "--lanes", trace)["ops"]:
        busy[r["op"]] += r["duration_ns"] or 0
    for op, _, ms, _ in results[0]:
        if not near(ms * 1e6, busy[op], 2 + busy[op] / 100):
            complain(f"the first query says {ms} ms of {op}: {busy[op] / 1e6}")
    complain.expect("ops of the first query", sorted(busy), sorted(r[0] for r in results[0]))
    return len(queries)


def main():
    tool, work = sys.argv[1], Path(sys.argv[2])
    golden = Path(os.environ["TT_SOURCE_DIR"]) / "tests" / "golden"
    paths = list(map(Path, sys.argv[3:])) or [golden / f"{n}.ttrace" for n in GOLDEN]
    complain = traces.Problems("perfetto")
    sums = defaultdict(int)
    for path in paths:
        info = traces.info_of(tool, path)
        out, packed = work / "perfetto.pftrace", work / "perfetto-packed.pftrace"
        for file, options in ((out, ["--flows"]), (packed, ["--flows", "--compress", "gzip", "--threads", "3"])):
            traces.subprocess.run([tool, "export", "--force", "--format", "perfetto", *options, "-o", file, path],
                                  check=True, capture_output=True)
        before = sum(map(len, complain.found.values()))
        t, same = Trace(out, complain), Trace(packed, complain)
        if not same.packed or t.packed or [vars(s) for s in flat(t)] != [vars(s) for s in flat(same)]:
            complain("the packed trace is another one")
        check_about(t, info, complain)
        ops, waits = check_ops(t, tool, path, complain)
        check_shapes(t, tool, path, complain)
        tokens, computations = check_batches(t, tool, path, info, complain)
        sums["counter values"] += check_buffers(t, tool, path, complain)
        sums["counted ops"] += check_faults(t, tool, path, complain)
        sums["flows"] += check_flows(t, tool, path, complain)
        if path.stem in ("good-memory", "good-memory-experts"):
            sums["queries"] += check_sql(t, tool, path, complain)
        for name, n in (("op slices", ops), ("waits", waits), ("tokens", tokens), ("computations", computations)):
            sums[name] += n
        if sum(map(len, complain.found.values())) > before:
            print(f"perfetto: in {path.name}:")
    for needed in ("op slices", "waits", "flows", "counted ops", "counter values", "queries"):
        if not sums[needed] and len(sys.argv) <= 3:
            complain(f"nothing was compared of: {needed}")
    complain.finish(", ".join(f"{n} {name}" for name, n in sums.items()) + " as the other commands say")


def flat(t):
    class Plain:
        def __init__(self, track, s):
            self.track, self.begin, self.end, self.name, self.args = track, s.begin, s.end, s.name, s.args

    return [Plain(u, s) for u in sorted(t.slices) for s in t.slices[u]]


if __name__ == "__main__":
    main()
