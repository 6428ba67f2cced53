"""What the API says of a part of the time is what the records say of it.

Usage: check_timeline.py TENSORTRACE WORKDIR

A second reader (tests/golden/decode.py) knows when each op ran on each lane, and how long the lane was off CPU. This file
works out from it what lies in a window: windows of the whole run, that begin and end within ops, of one op, and empty
ones; of golden traces (some begin in the middle of a run) and of one made here. `timeline` (separate ops and merged ones),
`timeline/aggregate`, `timeline/off_cpu` and `series` agree with it: sums, times, numbers of batches, shares. Exits with 1
when anything differs.
"""

import http.client
import json
import math
import os
import struct
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from urllib.parse import quote

SOURCE = Path(os.environ["TT_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "tests" / "golden"))
sys.dont_write_bytecode = True

import decode  # noqa: E402

TOOL, WORK = sys.argv[1], Path(sys.argv[2])
CATEGORIES = 10
compared = 0


def expect(what, got, want):
    global compared
    compared += 1
    if got != want:
        sys.exit(f"{what}: {got!r} instead of {want!r}")


def near(what, got, want, slack=2.0):
    """Times in ns; the reader adds up doubles in another order."""
    global compared
    compared += 1
    if got is None or not abs(got - want) <= slack + 1e-6 * abs(want):
        sys.exit(f"{what}: {got!r} instead of {want!r}")


# --- what the records say ---


class Op:
    """An op on a lane; times in ns since the trace's zero."""

    def __init__(self, run, node, lane, start, arrive, release, batch):
        self.run, self.node, self.lane, self.start, self.arrive, self.release = run, node, lane, start, arrive, release
        self.batch, self.off_ns = batch, None

    def busy_in(self, begin, end):
        return max(0.0, min(self.arrive, end) - max(self.start, begin))

    def wait_in(self, begin, end):
        return max(0.0, min(self.release, end) - max(self.arrive, begin))


def ops_of(view):
    zero = min([b["ticks"] for b in view.all("batch")] + [r["ticks"] for r in view.all("run")])
    ops, by_place = [], {}
    index = {run: i for i, run in enumerate(view.runs)}
    for _, run, lane, node, _, is_open, start, arrive, release in view.trace["ops"]:
        if run not in view.runs or view.runs[run]["graph"] not in view.graphs:
            continue
        if is_open:
            return None
        times = [(ticks - zero) * view.slope for ticks in (start, arrive, release)]
        batch = view.batches.get(view.runs[run]["batch"])
        op = Op(index[run], node, lane, *times, batch["number"] if batch else None)
        ops.append(op)
        by_place[run, node, lane] = op
    for run, node, lane, kind, *rest in view.trace["details"]:
        op = by_place.get((run, node, lane))
        if op and kind == 5:
            op.off_ns = min(op.arrive - op.start, (op.off_ns or 0) + rest[0])
        elif op and kind == 1:
            # docs/format.md: less than 10 us may be the difference of two clocks.
            off_ns = op.arrive - op.start - rest[2]
            op.off_ns = off_ns if off_ns >= 10000 else 0.0
    return ops


# --- the server ---


class Served:
    def __init__(self, path):
        self.child = subprocess.Popen([TOOL, "serve", "--no-open", "--port", "0", path], stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True)
        line = self.child.stdout.readline()
        host, _, rest = line[line.index("http://") + 7 :].strip().partition("/")
        self.http = http.client.HTTPConnection(host, timeout=120)
        self.http.request("GET", "/" + rest)
        first = self.http.getresponse()
        self.cookie = first.getheader("Set-Cookie").split(";")[0]
        first.read()

    def ask(self, name, **params):
        query = "&".join(f"{key.rstrip('_')}={quote(str(value))}" for key, value in params.items())
        self.http.request("GET", f"/api/v1/traces/0/{name}?{query}", headers={"Cookie": self.cookie})
        reply = self.http.getresponse()
        body = reply.read()
        expect(f"{name}?{query}: status", reply.status, 200)
        return body

    def end(self):
        self.child.terminate()
        self.child.wait()


def columns_of(body):
    length = struct.unpack("<I", body[:4])[0]
    head, columns = json.loads(body[4 : 4 + length]), {}
    for c in head["columns"]:
        code, width = {"u8": ("B", 1), "u16": ("H", 2), "u32": ("I", 4), "f64": ("d", 8)}[c["type"]]
        at = 4 + length + c["offset_bytes"]
        columns[c["name"]] = struct.unpack(f"<{c['n']}{code}", body[at : at + width * c["n"]])
    return head, columns


def tile_of(body):
    """docs/api-http.md, traces/ID/timeline."""
    magic, version, begin, end = struct.unpack("<4sIdd", body[:24])
    expect("timeline: magic", (magic, version), (b"TTTL", 1))
    buckets, n_separate, n_merged = struct.unpack("<III", body[40:52])
    at = 72

    def column(code, width, n):
        nonlocal at
        values = struct.unpack(f"<{n}{code}", body[at : at + width * n])
        at = (at + width * n + 7) // 8 * 8
        return values

    names = (("start", "d", 8), ("busy", "d", 8), ("wait", "d", 8), ("run", "I", 4), ("node", "I", 4), ("name", "I", 4),
             ("weight", "I", 4), ("batch", "I", 4), ("layer", "i", 4), ("track", "H", 2), ("kind", "B", 1), ("flags", "B", 1))
    separate = {name: column(code, width, n_separate) for name, code, width in names}
    names = (("busy", "d", 8), ("wait", "d", 8), ("bucket", "I", 4), ("count", "I", 4), ("marked", "I", 4), ("track", "H", 2), ("kind", "B", 1))
    merged = {name: column(code, width, n_merged) for name, code, width in names}
    shares = column("B", 1, n_merged * CATEGORIES)
    merged["shares"] = [shares[i * CATEGORIES : (i + 1) * CATEGORIES] for i in range(n_merged)]
    return begin, end, buckets, separate, merged


# --- the comparison ---


def check_tile(what, served, ops, begin, end, buckets):
    begin, end, buckets, separate, merged = tile_of(served.ask("timeline", from_ns=begin, to_ns=end, buckets=buckets))
    width = (end - begin) / buckets
    inside = {(op.run, op.node, op.lane): op for op in ops if op.release > begin and op.start < end}
    busy = wait = 0.0
    for i in range(len(separate["run"])):
        key = separate["run"][i], separate["node"][i], separate["track"][i]
        op = inside.pop(key, None)
        if op is None:
            sys.exit(f"{what}: op {key} is not in the window, or listed twice")
        near(f"{what} {key}: start", separate["start"][i], op.start)
        near(f"{what} {key}: busy", separate["busy"][i], op.arrive - op.start)
        near(f"{what} {key}: wait", separate["wait"][i], op.release - op.arrive)
        expect(f"{what} {key}: batch", separate["batch"][i], 4294967295 if op.batch is None else op.batch)
    for op in inside.values():
        busy += op.busy_in(begin, end)
        wait += op.wait_in(begin, end)
    near(f"{what}: merged busy", sum(merged["busy"]), busy, 0.01 * len(ops) + 2)
    near(f"{what}: merged wait", sum(merged["wait"]), wait, 0.01 * len(ops) + 2)
    begun = sum(begin <= op.start < end for op in inside.values())
    expect(f"{what}: merged ops", sum(merged["count"]), begun)
    cells = defaultdict(float)
    for op in inside.values():
        first = max(0, int((op.start - begin) / width))
        for bucket in range(first, min(buckets, int((op.arrive - begin) / width) + 1)):
            cells[op.lane, bucket] += op.busy_in(begin + bucket * width, begin + (bucket + 1) * width)
    for i in range(len(merged["busy"])):
        # A cell's ops are those that are not listed; its shares are of all of them, in 255ths, rounded each.
        where = f"{what}: track {merged['track'][i]}, bucket {merged['bucket'][i]}"
        near(f"{where}: busy", merged["busy"][i], cells[merged["track"][i], merged["bucket"][i]], 0.01 * width + 2)
        near(f"{where}: shares", sum(merged["shares"][i]), 255 * merged["busy"][i] / width, CATEGORIES / 2)
    return len(separate["run"]), len(merged["busy"])


def check_sums(what, served, ops, begin, end, lanes):
    more = {} if lanes is None else {"tracks": ",".join(map(str, lanes))}
    said = json.loads(served.ask("timeline/aggregate", from_ns=begin, to_ns=end, **more))
    found = [op for op in ops if op.release > begin and op.start < end and (lanes is None or op.lane in lanes)]
    expect(f"{what}: count", said["count"], len(found))
    near(f"{what}: busy_ns", said["busy_ns"], sum(op.busy_in(begin, end) for op in found), 0.01 * len(found) + 2)
    near(f"{what}: wait_ns", said["wait_ns"], sum(op.wait_in(begin, end) for op in found), 0.01 * len(found) + 2)
    for key, of in (("count", "count"), ("busy_ns", "busy_ns")):
        near(f"{what}: ops' {key}", sum(row[key] for row in said["ops"]), said[of], 0.01 * len(found) + 2)


def check_off(what, served, ops, begin, end, lanes):
    more = {} if lanes is None else {"tracks": ",".join(map(str, lanes))}
    head, columns = columns_of(served.ask("timeline/off_cpu", from_ns=begin, to_ns=end, limit=65536, **more))
    want = sorted(((op.run, op.node, op.lane), op) for op in ops
                  if op.off_ns and op.arrive > begin and op.start < end and (lanes is None or op.lane in lanes))
    got = sorted(zip(zip(columns["run"], columns["node"], columns["track"]), columns["start_relative_ns"], columns["end_relative_ns"], columns["off_cpu_ns"]))
    observed = any(op.off_ns is not None for op in ops)
    expect(f"{what}: observed", head["observed"], observed)
    expect(f"{what}: n", head["n"], len(want) if observed else None)
    expect(f"{what}: ops", [row[0] for row in got], [row[0] for row in want])
    for (key, start, arrive, off_ns), (_, op) in zip(got, want):
        near(f"{what} {key}: start", start, op.start)
        near(f"{what} {key}: end", arrive, op.arrive)
        near(f"{what} {key}: off CPU", off_ns, op.off_ns)
    return len(want)


def check_series(what, served, view, ops):
    """By op: the sums of each batch, an op being from its first thread's start to the last one's arrival; a row that is asked
    for is listed, wherever it would be by its time."""
    whole = {}
    for record in view.trace["ops"]:
        if record[1] in view.runs and view.runs[record[1]]["graph"] in view.graphs:
            whole[record[1], record[3]] = view.op(record)["op"]
    ids = list(view.runs)
    begin, end, batch = {}, {}, {}
    for op in ops:
        key = ids[op.run], op.node
        begin[key] = min(begin.get(key, op.start), op.start)
        end[key] = max(end.get(key, op.arrive), op.arrive)
        batch[key] = op.batch
    sums = defaultdict(lambda: defaultdict(float))
    for key, name in whole.items():
        if batch.get(key) is not None:
            sums[name][batch[key]] += end[key] - begin[key]
    said = json.loads(served.ask("series", by="op", limit=64, points=1024))
    order = [row["op"] for row in said["rows"]]
    expect(f"{what} series: ops", sorted(order), sorted(sums))
    for row in said["rows"]:
        for first, last, ns in zip(said["first_batch_id"], said["last_batch_id"], row["total_ns"]):
            want = sum(t for b, t in sums[row["op"]].items() if first <= b <= last)
            near(f"{what} series {row['op']} {first}", ns or 0.0, want)
    for name in order[1], order[-1]:
        short = json.loads(served.ask("series", by="op", limit=1, points=1024, with_=name))
        expect(f"{what} series: the row asked for", short["rows"], [row for row in said["rows"] if row["op"] == name])


def windows_of(ops):
    """The whole, from the middle of an op to that of a later one, the middle of one op, and one before everything."""
    begin, end = min(op.start for op in ops), max(op.release for op in ops)
    yield begin - 100.5, end + 100.25
    for a, b in ((0.1, 0.35), (0.5, 0.52), (0.9, 0.999)):
        first, last = ops[int(a * len(ops))], ops[int(b * len(ops))]
        yield (first.start + first.arrive) / 2, max((last.start + last.arrive) / 2, first.arrive + 0.5)
    longest = max(ops, key=lambda op: op.arrive - op.start)
    yield longest.start + 0.4 * (longest.arrive - longest.start), longest.start + 0.6 * (longest.arrive - longest.start)
    yield begin - 500, begin - 400


def check(path):
    view = decode.View(decode.decode(path.read_bytes()))
    ops = ops_of(view)
    if not ops:
        return 0, 0, 0
    ops.sort(key=lambda op: (op.start, op.run, op.node, op.lane))
    served = Served(path)
    separate = merged = off = 0
    try:
        for begin, end in windows_of(ops):
            what = f"{path.stem} {begin:.1f} to {end:.1f}"
            for lanes in (None, [0]):
                check_sums(f"{what} aggregate {lanes}", served, ops, begin, end, lanes)
                off += check_off(f"{what} off_cpu {lanes}", served, ops, begin, end, lanes)
            for buckets in (1, 7, 1000):
                s, m = check_tile(f"{what} timeline {buckets}", served, ops, begin, end, buckets)
                separate, merged = separate + s, merged + m
        check_series(path.stem, served, view, ops)
    finally:
        served.end()
    return separate, merged, off


totals = [0, 0, 0]
paths = [SOURCE / "tests" / "golden" / f"good-{name}.ttrace" for name in ("plain", "memory-experts", "flight", "killed-flight", "shift")]
made = WORK / "made.ttrace"
subprocess.run([os.environ["TT_GENTRACE"], "-o", made, "--layers", "3", "--tokens", "12", "--width", "4096", "--vocab", "4000",
                "--lanes", "3", "--faults"], check=True, capture_output=True)
for path in [*paths, made]:
    totals = [a + b for a, b in zip(totals, check(path))]
expect("separate ops, merged ops and time off CPU were there", [n > 0 for n in totals], [True] * 3)
print(f"{compared} comparisons; {totals[0]} separate ops, {totals[1]} merged pieces, {totals[2]} with time off CPU")
