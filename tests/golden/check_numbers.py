#!/usr/bin/env python3
"""check_numbers.py TENSORTRACE GENTRACE: numbers of `serve` against decode.py, which shares no code with it.

Of golden traces and a made one: which ops were off CPU in a window that begins in the middle of one; the numbers of batches in the timeline, also
of a flight recorder; its merged pieces, with the shares that colour them; the lines of statistics with one asked for by name.
"""

import collections
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import decode  # noqa: E402
from check_served import Client, Server, address  # noqa: E402

LEAST_OFF_NS = 10_000  # docs/format.md: shorter ones are within the error of the clocks
NONE = 0xFFFFFFFF
wrong = []


def expect(what, wanted, got):
    if wanted != got:
        wrong.append(f"{what}: {got}, not {wanted}")


def near(what, wanted, got, slack):
    if not abs(wanted - got) <= slack:
        wrong.append(f"{what}: {got}, not {wanted}")


class Trace:
    def __init__(self, path):
        self.name = path.stem
        self.path = str(path)
        self.trace = decode.decode(path.read_bytes())
        self.view = decode.View(self.trace)
        v = self.view
        # The zero: the first batch or run.
        first = min([b["ticks"] for b in v.batches.values()] + [r["ticks"] for r in v.runs.values()])
        self.ns = lambda ticks: (ticks - first) * v.slope
        # The index of a run is its place among those that are there.
        self.index = {run_id: i for i, run_id in enumerate(v.runs)}
        self.ops = []
        for stream, run_id, lane, node, covers, is_open, start, arrive, release in self.trace["ops"]:
            if run_id in v.runs and not is_open:
                sources = v.op((stream, run_id, lane, node, covers, is_open, start, arrive, release))["sources"]
                self.ops.append((self.index[run_id], node, lane, self.ns(start), self.ns(arrive), run_id, sources))

    def batch(self, run_id):
        batch = self.view.runs[run_id]["batch"]
        return self.view.batches[batch]["number"] if batch else NONE


class Served:
    def __init__(self, client, number):
        self.client, self.number = client, number

    def ask(self, endpoint, **params):
        status, _, body = self.client.get(address({"name": endpoint, "of_trace": True}, self.number, params))
        if status != 200:
            raise SystemExit(f"{endpoint} {params}: {status} {body[:200]}")
        return body

    def json(self, endpoint, **params):
        return json.loads(self.ask(endpoint, **params))

    def columns(self, endpoint, **params):
        body = self.ask(endpoint, **params)
        length, = struct.unpack_from("<I", body)
        head = json.loads(body[4:4 + length])
        begin = (4 + length + 7) // 8 * 8
        kinds = {"u8": "B", "u32": "I", "f64": "d"}
        return head, {c["name"]: struct.unpack_from(f"<{c['n']}{kinds[c['type']]}", body, begin + c["offset_bytes"]) for c in head["columns"]}

    def tile(self, **params):
        """The separate ops and merged pieces of the timeline, by docs/api-http.md."""
        body, at = self.ask("timeline", **params), 72
        _, _, begin, end, _, _, buckets, n_slices, n_merged = struct.unpack_from("<4sIddddIII", body)

        def take(kind, n, each=1):
            nonlocal at
            values = struct.unpack_from(f"<{n * each}{kind}", body, at)
            at = (at + struct.calcsize(kind) * n * each + 7) // 8 * 8
            return values if each == 1 else [values[i * each:(i + 1) * each] for i in range(n)]

        names = [("start", "d"), ("busy", "d"), ("wait", "d"), ("run", "I"), ("node", "I"), ("name", "I"), ("weight", "I"), ("batch", "I"),
                 ("layer", "i"), ("track", "H"), ("kind", "B"), ("flags", "B")]
        slices = {name: take(kind, n_slices) for name, kind in names}
        names = [("busy", "d"), ("wait", "d"), ("bucket", "I"), ("count", "I"), ("marked", "I"), ("track", "H"), ("kind", "B")]
        merged = {name: take(kind, n_merged) for name, kind in names}
        merged["shares"] = take("B", n_merged, 10)
        return begin, (end - begin) / buckets, slices, merged


def check_off_cpu(trace, served):
    """Each op that has time in the window, once: its processor time is that of its FAULTS detail."""
    cpu = {(d[0], d[1], d[2]): d[6] for d in trace.trace["details"] if d[3] == 1}
    wanted = {}
    for index, node, lane, start, arrive, run_id, _ in trace.ops:
        off = arrive - start - cpu.get((run_id, node, lane), math.inf)
        if off >= LEAST_OFF_NS:
            wanted[index, node, lane] = (start, arrive, off)
    if not wanted:
        return 0
    some = sorted(wanted.values())[len(wanted) // 2]
    for window in ((-1, 1e18), ((some[0] + some[1]) / 2, 1e18), (-1, (some[0] + some[1]) / 2), ((some[0] + some[1]) / 2 - 1, (some[0] + some[1]) / 2 + 1)):
        head, c = served.columns("timeline/off_cpu", from_ns=window[0], to_ns=window[1])
        want = {k: v for k, v in wanted.items() if v[1] > window[0] and v[0] < window[1]}
        expect(f"{trace.name}: ops off CPU in {window}", set(want), set(zip(c["run"], c["node"], c["track"])))
        expect(f"{trace.name}: their number in {window}", len(want), head["n"])
        for run, node, track, off in zip(c["run"], c["node"], c["track"], c["off_cpu_ns"]):
            near(f"{trace.name}: off CPU of {run}:{node}", want.get((run, node, track), (0, 0, math.nan))[2], off, 1000)
    return len(wanted)


def check_tile(trace, served, buckets):
    """What is at least as wide as a bucket is there by itself; the rest adds up by track and bucket."""
    begin, width, slices, merged = served.tile(buckets=buckets)
    numbers = {trace.index[run_id]: trace.batch(run_id) for run_id in trace.view.runs}
    for run, batch in zip(slices["run"], slices["batch"]):
        expect(f"{trace.name}: the batch of run {run}", numbers[run], batch)
    ops = {(run, node, lane): (start, arrive) for run, node, lane, start, arrive, _, _ in trace.ops}
    alone = set(zip(slices["run"], slices["node"], slices["track"]))
    for key, start, busy in zip(zip(slices["run"], slices["node"], slices["track"]), slices["start"], slices["busy"]):
        near(f"{trace.name}: start of {key}", ops[key][0], start, 2)
        near(f"{trace.name}: length of {key}", ops[key][1] - ops[key][0], busy, 2)
    busy, count = collections.Counter(), collections.Counter()
    for key, (start, arrive) in ops.items():
        if key in alone:
            continue
        at = math.floor((start - begin) / width)
        count[key[2], at] += 1
        while begin + at * width < arrive:
            left, right = max(start, begin + at * width), min(arrive, begin + (at + 1) * width)
            if right > left:
                busy[key[2], at] += right - left
            at += 1
    seen = 0
    for i, (track, bucket) in enumerate(zip(merged["track"], merged["bucket"])):
        where = f"{trace.name}: track {track}, bucket {bucket}"
        near(f"{where}: busy", busy[track, bucket], merged["busy"][i], max(4, width / 1000))
        seen += merged["count"][i]
        # Six roundings. A full bucket is 255.
        near(f"{where}: shares", 255 * busy[track, bucket] / width, sum(merged["shares"][i]), 4)
    near(f"{trace.name}: merged ops", sum(count.values()), seen, 0)
    near(f"{trace.name}: busy in all", sum(busy.values()), sum(merged["busy"]), 1e-3 * sum(busy.values()) + 10)
    return len(merged["busy"]), len(slices["run"])


def check_series(trace, served):
    """The line asked for by name is there, with the sums of its own ops."""
    totals, spans = collections.Counter(), {}
    for index, node, _, start, arrive, _, sources in trace.ops:
        low, high, _ = spans.get((index, node), (start, arrive, sources))
        spans[index, node] = (min(low, start), max(high, arrive), sources)
    for low, high, sources in spans.values():
        for name in sources:
            totals[name] += high - low
    names = [row["tensor"] for row in served.json("stats", by="tensor", limit=1000)["rows"] if not row["tensor"].startswith("(")]
    for name in names:
        answer = served.json("series", by="tensor", limit=1, **{"with": name})
        rows = {row["tensor"]: row for row in answer["rows"]}
        expect(f"{trace.name}: lines with {name}", [name], list(rows))
        if name in rows:
            near(f"{trace.name}: time of {name}", totals[name], sum(v or 0 for v in rows[name]["total_ns"]), 1e-4 * totals[name] + 10)
    return len(names)


def main():
    with tempfile.TemporaryDirectory() as work:
        made = Path(work) / "made.ttrace"
        # The generator ends without freeing.
        subprocess.run([sys.argv[2], "-o", made, *"--tokens 900 --layers 2 --width 64 --vocab 300 --faults".split()], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
        traces = [Trace(HERE / f"{name}.ttrace") for name in ("good-plain", "good-memory", "good-memory-experts", "good-flight")]
        traces.append(Trace(made))
        server = Server(sys.argv[1], [t.path for t in traces], work)
        client = Client(server)
        for number, trace in enumerate(traces):
            served = Served(client, number)
            off = check_off_cpu(trace, served)
            pieces = [check_tile(trace, served, buckets) for buckets in (3, 40, 4000)]
            names = check_series(trace, served) if trace.name != "good-flight" else 0
            print(f"{trace.name}: {off} ops off CPU, pieces and ops {pieces}, {names} tensors")
        # A fixture that has nothing of it tests nothing.
        if off < 10:
            wrong.append(f"only {off} ops off CPU")
        code, said = server.stop()
        expect("serve's end", 0, code)
    print("\n".join(wrong[:40]))
    return bool(wrong)


sys.exit(main())
