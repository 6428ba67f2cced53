#!/usr/bin/env python3
"""The ops that a program printed from its own eval callback are in the trace, with their sources' shapes.

Usage: check_printed.py TENSORTRACE TRACE PRINTED

PRINTED is what llama.cpp's common callback prints of each node, once it is computed:

    common_debug_cb_eval: NAME = (TYPE) OP(SOURCE{ne...}, SOURCE{ne...}}) = {ne...}
"""

import re
import sys
from pathlib import Path

import traces

LINE = re.compile(r"^common_debug_cb_eval: +(.*) = \((\S+)\) +([A-Z_0-9]+)\((.*)\}\) = \{(.*)\}$")
# Nothing computes them.
EMPTY = {"NONE", "RESHAPE", "VIEW", "PERMUTE", "TRANSPOSE"}


def shape(text):
    return tuple(int(x) for x in text.split(", "))


def printed(path):
    """(name, op, its shape, its first source's shape)"""
    found = []
    for line in Path(path).read_text(errors="replace").splitlines():
        m = LINE.match(line)
        if m and m[3] not in EMPTY:
            found.append((m[1], m[3], shape(m[5]), shape(m[4][m[4].index("{") + 1 : m[4].index("}")])))
    return found


def main(words):
    _, path, said = words
    complain = traces.Problems(Path(path).name)
    trace = traces.decoded(path)
    names = traces.names_of(trace)
    graphs = {g["id"]: g for g in traces.records(trace, "graph")}
    runs = {r["id"]: r["graph"] for r in traces.records(trace, "run")}
    traced = set()
    for _, run, _, node, *_ in trace["ops"]:
        graph = graphs[runs[run]]
        t = graph["tensors"][node]
        if t["src"] and t["src"][0]:
            source = graph["tensors"][t["src"][0] - 1]
            traced.add((names[t["name"]], names[t["op_desc"]], tuple(t["ne"]), tuple(source["ne"])))
    # Nodes that the engine left out of its computations are printed, too.
    known = {op[:2] for op in traced}
    wanted = [op for op in printed(said) if op[:2] in known]
    for op in wanted:
        if op not in traced:
            complain(f"{op[0]}: printed {op}, traced {sorted(o for o in traced if o[0] == op[0])}")
    if len(wanted) < 50:
        complain(f"only {len(wanted)} ops were printed")
    complain.finish(f"{len(wanted)} ops with their sources' shapes")


if __name__ == "__main__":
    main(sys.argv[1:])
