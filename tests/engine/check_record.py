"""check_record.py TENSORTRACE TRACE FIRST LAST PRELOADED [TRACE FIRST LAST]: what a process recorded
of itself is what the hooks see of batches FIRST to LAST in a process in which they were preloaded.
"""

import sys

from traces import Problems, info_of, tool

binary, trace, first, last, preloaded = sys.argv[1:6]
first, last = int(first), int(last)
problem = Problems(f"{trace}, batches {first} to {last} of {preloaded}")


def ops(path, begin, end):
    """Per batch what was computed, in order, and by how many threads."""
    rows = tool(binary, "log", "--json", "--limit", "0", "--batch", f"{begin}..{end}", path)["ops"]
    return [
        (row["batch_id"] - begin, row["op"], row["name"], row.get("n_threads"), [s["name"] for s in row.get("sources", [])])
        for row in rows
    ]


def counts(path, begin, end):
    rows = tool(binary, "stats", "--json", "--by", "op", "--limit", "0", "--batch", f"{begin}..{end}", path)["rows"]
    return {row["op"]: row["count"] for row in rows}


def weights(path, begin, end):
    rows = tool(binary, "heat", "--json", "--limit", "0", "--batch", f"{begin}..{end}", path)["rows"]
    return sorted((row["name"], row["size_bytes"], row["read_bytes"], row["read_count"]) for row in rows)


def models(path):
    return [{key: model[key] for key in ("path", "size_bytes", "data_offset_bytes", "tensors", "metadata")}
            for model in info_of(binary, path)["models"]]


n = last - first
here, there = ops(trace, 0, n), ops(preloaded, first, last)
problem.expect("ops", len(there), len(here))
for a, b in zip(there, here):
    if a != b:
        problem(f"expected {a}, got {b}")
        break
problem.expect("counts", counts(preloaded, first, last), counts(trace, 0, n))
problem.expect("weights", weights(preloaded, first, last), weights(trace, 0, n))
problem.expect("models", models(preloaded), models(trace))
info = info_of(binary, trace)
problem.expect("batches", n + 1, info["batches"])
for key in ("dropped", "unresolved"):
    problem.expect(key, 0, info.get(key, 0))
problem.finish(f"{len(here)} ops")
