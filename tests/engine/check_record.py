"""check_record.py TENSORTRACE TRACE FIRST LAST PRELOADED [TRACE FIRST LAST]: what a process recorded
of itself is what the hooks see of batches FIRST to LAST in a process in which they were preloaded.
"""

import csv
import subprocess
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
    words = [binary, "heat", "--csv", "--limit", "0", "--batch", f"{begin}..{end}", path]
    lines = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    left_out = [i for i, name in enumerate(lines[0].split(",")) if name.endswith(("_ns", "_batch_id"))]
    return sorted([cell for i, cell in enumerate(row) if i not in left_out] for row in csv.reader(lines))


def models(path):
    return [{key: model[key] for key in ("path", "size_bytes", "data_offset_bytes", "tensors", "metadata")}
            for model in info_of(binary, path)["model_files"]]


def texts(path):
    return [(batch["tokens"], batch["positions"]) for batch in info_of(binary, path)["batches"]]


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
problem.expect("batches", n + 1, len(info["batches"]))
for key in ("ops_dropped", "ops_unresolved", "meta_dropped", "details_dropped"):
    problem.expect(key, 0, info["recorder_counts"][key])
problem.expect("token ids", texts(preloaded)[first : last + 1], texts(trace))
problem.finish(f"{len(here)} ops")
