"""Recomputes what `tensortrace diff` says, from `log --json`, with numpy and scipy.

Usage: check_diff.py TENSORTRACE WORKDIR

Two made-up traces: every op's median, quartiles, mean, time and change, the test of a kind of op, and
Holm's correction must be what numpy and scipy make of the ops that `log` lists. Exits with 1 and a
list when anything differs.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy import stats

GENERATED = 150


def run(*args, codes=(0,)):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(map(str, args))}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def ops_of(tool, trace):
    """Time of each op, token by token, of the generated ones: by name, kind and how many of both
    ran before it in its token."""
    times, token, before = {}, None, {}
    log = json.loads(run(tool, "log", "--json", "--limit", "0", "--phase", "generate", trace))["ops"]
    first = min(op["batch_id"] for op in log)
    for op in log:
        if op["batch_id"] != token:
            token, before = op["batch_id"], {}
        key = (op["name"], op["op"])
        before[key] = before.get(key, 0) + 1
        series = times.setdefault((*key, before[key]), np.full(GENERATED, np.nan))
        series[token - first] = op["duration_ns"]
    return times


def nearest_rank(times, share):
    """The method of stats, report and diff: a time that there was."""
    return np.percentile(times, share, method="inverted_cdf")


def walsh(d):
    i, j = np.triu_indices(len(d))
    return (d[i] + d[j]) / 2


def block_lows(times):
    """The 0.1 quantile of the logarithms of each block, as docs/diff.md writes it down."""
    n = len(times)
    k = min(max(n // 4, 3), 16, n)
    return np.array([np.quantile(np.log(times[i * n // k:(i + 1) * n // k]), 0.1) for i in range(k)])


def shift(a, b):
    """The estimate, its p value, and what both sides take."""
    low_a, low_b = block_lows(a), block_lows(b)
    d = low_b - low_a
    cut = int(len(d) >= 12)
    kept = len(d) - 2 * cut
    winsorized = np.asarray(stats.mstats.winsorize(d, (cut / len(d), cut / len(d))))
    se = np.sqrt(3 * np.var(winsorized) * len(d) / (kept * (kept - 1)))
    level_a, level_b = np.median(walsh(low_a)), np.median(walsh(low_b))
    estimate = level_b - level_a
    return estimate, 2 * stats.t.sf(abs(estimate) / se, kept - 1), np.exp([level_a, level_b])


def holm(p):
    order = np.argsort(p)
    stepped = np.maximum.accumulate(np.minimum(np.array(p)[order] * (len(p) - np.arange(len(p))), 1))
    out = np.empty(len(p))
    out[order] = stepped
    return out


class Problems:
    def __init__(self):
        self.count = self.checked = 0

    def near(self, what, got, want, relative=1e-4, absolute=1.5):
        self.checked += 1
        if got is None or not np.isclose(got, want, rtol=relative, atol=absolute):
            self.count += 1
            if self.count <= 20:
                print(f"{what}: diff says {got}, numpy and scipy {want}")


def check_nodes(rows, a, b, problems):
    seen, before = 0, {}
    for row in rows:  # in the order in which they ran
        key = (row["name"], row["op_a"])
        if row["category"] == "between ops":
            continue
        before[key] = before.get(key, 0) + 1
        key = (*key, before[key])
        if key not in a:
            continue
        seen += 1
        for side, times in (("a", a[key]), ("b", b[key])):
            name = f"{row['name']} {side}"
            for what, share in (("median", 50), ("p25", 25), ("p75", 75)):
                problems.near(f"{name}: {what}", row[side][f"{what}_ns"], nearest_rank(times, share))
            problems.near(f"{name}: mean", row[side]["mean_ns"], np.mean(times))
        estimate, _, sides = shift(a[key], b[key])
        # log rounds to ns, which is some thousandths of the shortest ops.
        coarse = 4 / np.median(a[key])
        problems.near(f"{row['name']}: change", row["change"], np.expm1(estimate), 0, coarse)
        for side, want in zip("ab", sides, strict=True):
            problems.near(f"{row['name']} {side}: time", row[side]["time_ns"], want)
    return seen


def main():
    tool, work = Path(sys.argv[1]), Path(sys.argv[2])
    gentrace = tool.parent.parent / "tests" / "scale" / "gentrace"
    if not gentrace.exists():
        print("skipped: gentrace was not built")
        sys.exit(77)
    traces = [work / "a.ttrace", work / "b.ttrace", work / "c.ttrace"]
    for seed, trace in enumerate(traces):
        run(gentrace, "--tokens", GENERATED, "--layers", 3, "--seed", seed + 1, "-o", trace)
    other = traces.pop()
    answer = json.loads(run(tool, "diff", "--json", *traces, codes=(0, 1)))
    generate = answer["phases"][0]
    a, b = (ops_of(tool, trace) for trace in traces)
    problems = Problems()
    seen = check_nodes(generate["nodes"], a, b, problems)
    if seen != len(a):
        sys.exit(f"{seen} of {len(a)} ops are in the comparison")
    # The whole: the ops' own times and what is between them.
    matmul = [r for r in generate["ops"] if r["op"] == "MUL_MAT"][0]
    sums = [sum(t for (_, op, _), t in side.items() if op == "MUL_MAT") for side in (a, b)]
    estimate, p, sides = shift(*sums)
    problems.near("MUL_MAT: median", matmul["a"]["median_ns"], nearest_rank(sums[0], 50))
    problems.near("MUL_MAT: change", matmul["change"], np.expm1(estimate), 0, 1e-5)
    problems.near("MUL_MAT: p", matmul["p"], p, 0.01, 1e-6)
    problems.near("MUL_MAT: blocks", matmul["blocks"], 16, 0, 0)
    problems.near("MUL_MAT: time in B", matmul["b"]["time_ns"], sides[1])
    # What A takes is not a matter of what it is compared with.
    total = generate["total"]
    again = json.loads(run(tool, "diff", "--json", traces[0], other, codes=(0, 1)))["phases"][0]["total"]
    for key in ("time_ns", "median_ns", "least_ns", "p90_ns"):
        problems.near(f"A's {key} with another partner", again["a"][key], total["a"][key], 1e-12, 0)
    for side in "ab":
        s = total[side]
        problems.near(f"{side}: time within its range", np.clip(s["time_ns"], s["least_ns"], s["p90_ns"]), s["time_ns"], 0, 0)
    # The other way round everything is the inverse, and as sure.
    back = json.loads(run(tool, "diff", "--json", *reversed(traces), codes=(0, 1)))["phases"][0]
    for family in ("parts", "components", "ops", "layers"):
        key = {"parts": "category", "components": "component", "ops": "op", "layers": "layer_id"}[family]
        there = {row[key]: row for row in back[family]}
        for row in generate[family]:
            again = there[row[key]]
            problems.near(f"{row[key]}: inverse", (1 + row["change"]) * (1 + again["change"]), 1, 1e-9, 0)
            problems.near(f"{row[key]}: times", row["b"]["time_ns"] / row["a"]["time_ns"], 1 + row["change"], 1e-9, 0)
            problems.near(f"{row[key]}: A and B", row["a"]["time_ns"], again["b"]["time_ns"], 1e-9, 0)
            problems.near(f"{row[key]}: difference", row["delta_ns"], -again["delta_ns"], 1e-9, 1e-6)
            problems.near(f"{row[key]}: p, inverse", row["p_matters"], again["p_matters"], 1e-6, 1e-12)
    for family in ("parts", "components", "ops", "layers", "nodes"):
        rows = [r for r in generate[family] if r["p"] is not None]
        for row, want in zip(rows, holm([r["p"] for r in rows]), strict=True):
            problems.near(f"{family}: p_adjusted", row["p_adjusted"], want, 1e-9, 1e-12)
    if problems.count:
        sys.exit(f"{problems.count} of {problems.checked} figures differ")
    print(f"diff: {problems.checked} figures of {seen} ops as numpy and scipy have them")


if __name__ == "__main__":
    main()
