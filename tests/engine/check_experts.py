#!/usr/bin/env python3
"""The experts that a trace says were chosen are those that were.

Usage: check_experts.py TENSORTRACE TRACE WANTED [graphs|batches|each]

WANTED is what programs/experts.c printed (graphs: "run N", then the choices of the first
and second router of that graph) or programs/choices.c with `watch` (batches: choices and
routing weights by batch and layer; each: computed node by node, so that each expert matmul may show
them again, and weights are not recorded). Nothing may be missing and nothing may be too much; `routing`
and the table of that name must count them once.
"""

import csv
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import traces


def routers(graph, names):
    """Nodes that use their ids first, in order: what EXPERTS records name."""
    found, ids = [], set()
    for node, t in enumerate(graph["tensors"][: graph["n_nodes"]]):
        if names[t["op_name"]] == "MUL_MAT_ID" and t["src"][2] not in ids:
            ids.add(t["src"][2])
            found.append(node)
    return found


def layer_of(graph, node, names):
    """Of the name "ffn_moe_up-3"."""
    return int(re.search(r"-(\d+)$", names[graph["tensors"][node]["name"]]).group(1))


def by_graph(path):
    """{(run, router, token, rank): expert}."""
    wanted, run = {}, None
    for line in Path(path).read_text().splitlines():
        word, *numbers = line.split()
        if word == "run":
            run = int(numbers[0])
        else:
            token, rank, expert = map(int, numbers)
            wanted[run, 0 if word == "choice" else 1, token, rank] = expert
    return wanted, {}


def by_batch(path):
    """The same by (batch, layer, ...), and {...: {NAME: bits}} of the weights."""
    wanted, weights = {}, {}
    for line in Path(path).read_text().splitlines():
        word, *rest = line.split()
        if word == "choice":
            *key, expert = map(int, rest)
            wanted[tuple(key)] = expert
        elif word == "weight":
            *key, bits, name = rest
            weights.setdefault(tuple(map(int, key)), {})[name] = int(bits)
    return wanted, weights


def places(trace, is_graphs):
    """{(run id, node): (run or batch number, router number or layer)}."""
    names = traces.names_of(trace)
    graphs = {g["id"]: g for g in traces.records(trace, "graph")}
    batches = {b["id"]: n for n, b in enumerate(traces.records(trace, "batch"))}
    found = {}
    for number, run in enumerate(traces.records(trace, "run")):
        graph = graphs[run["graph"]]
        for router, node in enumerate(routers(graph, names)):
            if is_graphs:
                found[run["id"], node] = (number, router)
            else:
                found[run["id"], node] = (batches.get(run["batch"]), layer_of(graph, node, names))
    return found


def compare(complain, what, wanted, got):
    for key in sorted(set(wanted) | set(got)):
        if wanted.get(key) != got.get(key):
            complain(f"{what} of {key}: expected {wanted.get(key)}, got {got.get(key)}")


def collect(complain, trace, kind, where, again=False):
    got = {}
    for record in traces.details_of(trace, kind):
        place = where.get((record["run"], record["node"]))
        if place is None:
            complain(f"{kind} of run {record['run']} node {record['node']}, which chooses nothing")
            continue
        for i, value in enumerate(record["items"]):
            key = (*place, record["token"], record["rank"] + i)
            if key in got and not (again and got[key] == value):
                complain(f"{kind} of {key}: there twice")
            got[key] = value
    return got


def compare_routing(complain, shown, wanted):
    """`routing --json` counts the same choices, expert by expert."""
    counts = Counter((layer, expert) for (_, layer, _, _), expert in wanted.items())
    got = {(layer["layer_id"], e["expert_id"]): e["count"]
           for layer in shown["layers"] for e in layer["experts"] if e["count"]}
    compare(complain, "routing: count", dict(counts), got)


def compare_table(complain, binary, path, wanted):
    """So does the table `routing`, choice by choice."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([binary, "export", path, "--format", "csv", "-o", f"{folder}/t"], check=True, capture_output=True)
        with open(f"{folder}/t/routing.csv", newline="", encoding="utf-8") as file:
            columns = ("batch_id", "layer_id", "row", "rank", "expert_id")
            rows = Counter(tuple(int(row[c]) for c in columns) for row in csv.DictReader(file))
    compare(complain, "routing.csv", {(*key, expert): 1 for key, expert in wanted.items()}, rows)


def main(words):
    binary, path, wanted_path, kind = words
    complain = traces.Problems(Path(path).name)
    is_graphs, each = kind == "graphs", kind == "each"
    wanted, wanted_weights = (by_graph if is_graphs else by_batch)(wanted_path)
    trace = traces.decoded(path)
    where = places(trace, is_graphs)
    compare(complain, "choice", wanted, collect(complain, trace, "experts", where, each))
    bits = collect(complain, trace, "weights", where, each)
    if each:
        compare_routing(complain, traces.tool(binary, "routing", "--json", path), wanted)
        compare_table(complain, binary, path, wanted)
    elif wanted_weights:
        # The last of them is what the experts' results are multiplied with.
        final = {key: named.get("weights_norm", named.get("weights")) for key, named in wanted_weights.items()}
        compare(complain, "routing weight", final, bits)
        compare_routing(complain, traces.tool(binary, "routing", "--json", path), wanted)
    elif bits:
        complain("routing weights where the graph has none")
    complain.finish(f"{len(wanted)} choices, {len(wanted_weights)} weights")


if __name__ == "__main__":
    main(sys.argv[1:])
