"""Works out what `report` says by other means, and has its page read by an HTML parser.

Usage: check_report.py TENSORTRACE WORKDIR

FLOPs and bytes are computed here, from the shapes that `graph --json` gives and the ops that
`log --json` lists, with formulas written down a second time; who waited for whom from `log --lanes`.
The page is parsed strictly by html5lib, its pictures by an XML parser; it must refer to nothing
outside itself. Exits with 1 and a list when anything differs.
"""

import collections
import json
import math
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import html5lib

GOLDEN = Path(os.environ["TT_SOURCE_DIR"]) / "tests" / "golden"
TRACES = ["good-plain", "good-experts", "good-memory", "good-memory-experts", "good-flight", "good-killed",
          "good-killed-flight", "bad-chunk", "bad-cut", "bad-hole", "bad-no-clock", "bad-times"]
COUNTED = ["good-plain", "good-killed", "good-memory-experts", "good-flight", "good-killed-flight"]

BLOCKS = {"f32": (1, 4), "f16": (1, 2), "bf16": (1, 2), "i32": (1, 4), "i64": (1, 8), "q4_0": (32, 18), "q8_0": (32, 34),
          "q4_K": (256, 144), "q5_K": (256, 176), "q6_K": (256, 210)}
FUNCTIONS = {"SILU": 4, "SWIGLU": 5, "GELU": 8, "GEGLU": 9, "RELU": 1, "SIGMOID": 3}
NOTHING = {"GET_ROWS", "SET_ROWS", "CPY", "CONT", "DUP", "CONCAT", "ARGSORT", "TOP_K"}
ONE_EACH = {"ADD", "SUB", "MUL", "DIV", "SCALE", "CLAMP", "ADD_ID", "SQR", "SQRT"}

problems = []


def complain(text):
    problems.append(text)


def run(tool, *args):
    done = subprocess.run([tool, *map(str, args)], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def elements(t):
    return math.prod(t["ne"])


def flops_of(node, sources):
    op, n = node["op"], elements(node)
    if op in NOTHING:
        return 0
    if op in ONE_EACH:
        return n
    if op in ("MUL_MAT", "MUL_MAT_ID"):
        return 2 * n * sources[0]["ne"][0]
    if op == "FLASH_ATTN_EXT":
        q, k, v = sources[:3]
        per_pair = 2 * q["ne"][0] + 2 * v["ne"][0] + (6 if len(sources) > 3 and sources[3] else 5)
        return q["ne"][1] * q["ne"][2] * q["ne"][3] * k["ne"][1] * per_pair
    if op == "SOFT_MAX":
        return n * (7 if len(sources) > 1 and sources[1] else 6)
    if op in ("RMS_NORM", "L2_NORM"):
        return 3 * n + 3 * (n // node["ne"][0])
    if op == "ROPE":
        return 3 * n
    if op in ("GLU", "UNARY"):
        return FUNCTIONS[node["op_desc"]] * n
    if op in ("SUM_ROWS", "SUM", "MEAN"):
        return elements(sources[0])
    raise KeyError(op)


def packed(t, n=None):
    block, size = BLOCKS[t["type"]]
    return (elements(t) if n is None else n) // block * size


def graphs_of(tool, trace, ids):
    return {i: {n["id"]: n for n in json.loads(run(tool, "graph", "--json", "--graph", i, trace))["nodes"]} for i in ids}


def op_nodes(graph, first, count):
    """The nodes that an op computed: the first, and the executing ones behind it that it covers."""
    rest = [n for i, n in sorted(graph.items()) if i > first and n.get("executes")]
    return [graph[first], *rest[:count - 1]]


def count_ops(tool, trace):
    ops = json.loads(run(tool, "log", "--json", "--limit", 0, trace))["ops"]
    graphs = graphs_of(tool, trace, {o["graph_id"] for o in ops})
    sums = collections.defaultdict(lambda: collections.Counter())
    for o in ops:
        graph = graphs[o["graph_id"]]
        nodes = op_nodes(graph, o["node"], o["nodes"])
        row = sums[o["op"], o["category"], o["phase"]]
        row["count"] += 1
        if o["duration_ns"] is None:
            continue
        ids = {n["id"] for n in nodes}
        seen, read = set(), 0
        by_name = {s["name"]: s["read_bytes"] for s in o["sources"]}
        for n in nodes:
            sources = [graph[s] if s is not None else None for s in n["sources"]]
            row["flops"] += flops_of(n, sources)
            for slot, s in enumerate(sources):
                if s is None or s["id"] in ids or s["id"] in seen:
                    continue
                seen.add(s["id"])
                if (n["op"], slot) in (("CPY", 1), ("SET_ROWS", 2)):
                    continue
                read += min(packed(s), by_name[s["name"]])
        last = nodes[-1]
        n = elements(graph[last["sources"][0]]) if last["op"] == "SET_ROWS" else None
        row["bytes"] += read + packed(last, n)
        row["ns"] += o["duration_ns"]
    return sums


def compare_counts(tool, name, trace, report):
    want, got = count_ops(tool, trace), collections.defaultdict(collections.Counter)
    for r in report["roofline"]["ops"]:
        row = got[r["op"], r["category"], r["phase"]]
        row["count"] += r["count"]
        row["flops"] += r["flops"]
        row["bytes"] += r["moved_bytes"]
        row["ns"] += r["total_ns"] or 0
    if set(want) != set(got):
        complain(f"{name}: ops {set(want) ^ set(got)} are in one of the two only")
    for key in sorted(set(want) & set(got)):
        for what in ("count", "flops", "bytes"):
            if want[key][what] != got[key][what]:
                complain(f"{name}: {key}: {what} {got[key][what]}, worked out {want[key][what]}")
        # log rounds each op to whole ns
        if abs(want[key]["ns"] - got[key]["ns"]) > want[key]["count"]:
            complain(f"{name}: {key}: {got[key]['ns']} ns, worked out {want[key]['ns']}")
    return len(want)


def compare_waits(tool, name, trace, report):
    at = collections.defaultdict(dict)
    for o in json.loads(run(tool, "log", "--json", "--lanes", "--limit", 0, trace))["ops"]:
        at[o["graph_run"], o["node"]][o["thread_id"]] = o
    lanes = len(report["threads"])
    waits, compute, last = [[0] * lanes for _ in range(lanes)], [0] * lanes, [0] * lanes
    ties = 0
    for op in at.values():
        for lane, o in op.items():
            compute[lane] += o["busy_ns"] or 0
        if len(op) < 2 or any(o["duration_ns"] is None for o in op.values()):
            continue
        # arrivals in ticks are exact, ns are rounded
        ends = {lane: o["start_ns"] + o["busy_ns"] for lane, o in op.items()}
        late = max(sorted(ends), key=lambda lane: ends[lane])
        ties += sum(abs(e - ends[late]) <= 2 for e in ends.values()) > 1
        last[late] += 1
        for lane, o in op.items():
            waits[lane][late] += o["wait_ns"]
    n = sum(len(op) for op in at.values())
    for lane, t in enumerate(report["threads"]):
        if abs(t["compute_ns"] - compute[lane]) > n:
            complain(f"{name}: thread {lane} computed {t['compute_ns']} ns, worked out {compute[lane]}")
        if abs(t["last_to_arrive"] - last[lane]) > ties:
            complain(f"{name}: thread {lane} was last {t['last_to_arrive']} times, worked out {last[lane]}")
        for other, ns in enumerate(t["waited_for_ns"]):
            if not ties and abs(ns - waits[lane][other]) > n:
                complain(f"{name}: {lane} waited {ns} ns for {other}, worked out {waits[lane][other]}")
    # The report's own times: who was last of two that arrive together is not told apart above.
    cost = [sum(t["waited_for_ns"][k] for t in report["threads"]) - report["threads"][k]["waited_for_ns"][k]
            for k in range(lanes)] if lanes > 1 else []
    [answer] = [a["answer"] for a in report["answers"] if "waited for whom" in a["question"]]
    if cost and f" for thread {cost.index(max(cost))}: " not in answer:
        complain(f"{name}: threads cost {cost} ns, and it says: {answer}")


def check_sums(name, report):
    t = report["time"]
    if t is None:
        return
    parts = t["compute_ns"] + t["wait_ns"] + t["idle_ns"] + t["between_batches_ns"]
    if abs(parts - t["thread_time_ns"]) > 1e-6 * parts:
        complain(f"{name}: the parts are {parts} ns, the whole {t['thread_time_ns']}")
    for by in ("by_category", "by_op", "by_layer"):
        for r in t[by]:
            if t["work_ns"] and abs(r["share"] - r["work_ns"] / t["work_ns"]) > 1e-9:
                complain(f"{name}: {by}: a share of {r['share']} of {r['work_ns']} ns of own work")
        for what in ("compute_ns", "wait_ns", "work_ns"):
            total = sum(r[what] for r in t[by])
            if abs(total - t[what]) > 1e-6 * max(total, 1):
                complain(f"{name}: {by}: {what} add up to {total}, not {t[what]}")


def check_rest(name, report, page):
    """The two rows of time in no op, below the parts of the network."""
    t = report["time"]
    for title, key in (("idle in a batch", "idle_ns"), ("between batches", "between_batches_ns")):
        rows = re.findall(rf"<tr><th scope=.row.>{title}</th>(.*?)</tr>", page, re.S)
        found = [cell for row in rows for cell in re.findall(r">([\d.]+) %<", row)]
        want = 100 * t[key] / t["thread_time_ns"] if t else 0
        if t and (not found or any(abs(float(cell) - want) > 0.06 for cell in found)):
            complain(f"{name}: {title} is {found} %, worked out {want:.2f}")


def check_page(name, page):
    parser = html5lib.HTMLParser(strict=False)
    parser.parse(page)
    if parser.errors:
        complain(f"{name}: HTML: {parser.errors[:3]}")
    ids = re.findall(r"""\sid=['"]([^'"]+)""", page)
    if len(ids) != len(set(ids)):
        complain(f"{name}: an id is there twice")
    for what in re.findall(r"""(?:href|src|url)\s*[=(]\s*['"]?([^'")\s>]+)""", page):
        if not what.startswith("#"):
            complain(f"{name}: refers to {what}")
    if "<script" in page or "@import" in page:
        complain(f"{name}: holds a script or an import")
    for svg in re.findall(r"<svg.*?</svg>", page, re.S):
        try:
            ET.fromstring(svg)
        except ET.ParseError as e:
            complain(f"{name}: SVG: {e}")
    return page.count("<svg ")


def main():
    tool, work = sys.argv[1], Path(sys.argv[2])
    ops = plots = 0
    for name in TRACES:
        trace = GOLDEN / f"{name}.ttrace"
        report = json.loads(run(tool, "report", "--json", "--no-measure", trace))
        check_sums(name, report)
        if name in COUNTED:
            ops += compare_counts(tool, name, trace, report)
            compare_waits(tool, name, trace, report)
        page = run(tool, "report", "-o", "-", "--bandwidth", "20G", "--peak", "300G", trace)
        plots += check_page(name, page)
        check_rest(name, report, page)
    # A file's own name is part of the page.
    odd = work / """a<b>&"c'`$(x)|*_.ttrace"""
    shutil.copy(GOLDEN / "good-plain.ttrace", odd)
    check_page("odd name", run(tool, "report", "-o", "-", "--no-measure", odd))
    if plots < 5 * len(TRACES):
        complain(f"{plots} plots in {len(TRACES)} pages")
    for text in problems[:40]:
        print(text)
    if problems:
        sys.exit(f"report: {len(problems)} problems")
    print(f"report: {ops} kinds of ops as worked out here, {len(TRACES)} pages with {plots} plots are valid")


if __name__ == "__main__":
    main()
