"""Recomputes what `tensortrace diff` says, from `log --json`, with numpy and scipy.

Usage: check_diff.py TENSORTRACE WORKDIR

Two made-up traces: every op's median, quartiles, mean and change, the rank test of the whole, and
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


def autocorrelation_time(d):
    """Geyer's initial positive (and monotone) sequence, as docs/diff.md writes it down."""
    n = len(d)
    centre = np.median(d)
    limit = 3 * 1.4826 * np.median(np.abs(d - centre))
    x = np.clip(d - centre, -limit, limit) if limit > 0 else d - centre
    x = x - x.mean()
    gamma = [np.dot(x[lag:], x[:n - lag]) / n for lag in range(n)]
    time, last, lag = -1.0, np.inf, 0
    while lag + 1 < n // 2:
        pair = (gamma[lag] + gamma[lag + 1]) / gamma[0]
        if pair <= 0:
            break
        last = min(last, pair)
        time += 2 * last
        lag += 2
    if time <= 1:
        return 1.0
    time /= max(1 - time / n, 0.25)
    return min(time * (1 + 0.5 * np.sqrt(2 * (2 * lag + 1) / n)), n)


def p_value(d):
    """The larger one of the rank test's and of that by intervals."""
    n = len(d)
    effective = n / autocorrelation_time(d)
    # scipy's statistic is the sum of the positive ranks.
    above = stats.wilcoxon(d, alternative="greater", method="asymptotic").statistic
    off = max(abs(above - n * (n + 1) / 4) - 0.5, 0)
    spread = np.sqrt(n * (n + 1) * (2 * n + 1) / 24 * n / effective)
    ranks = min(max(2 * stats.t.sf(off / spread, effective - 1), 2.0 ** (1 - effective)), 1)
    medians = [np.median(d[i * n // 16:(i + 1) * n // 16]) for i in range(16)]
    slow = 2 * stats.t.sf(abs(np.median(walsh(d))) / np.std(medians, ddof=1), 15)
    return max(ranks, slow)


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
        d = np.log(b[key]) - np.log(a[key])
        # log rounds to ns, which is some thousandths of the shortest ops.
        coarse = 4 / np.median(a[key])
        problems.near(f"{row['name']}: change", row["change"], np.expm1(np.median(walsh(d))), 0, coarse)
    return seen


def main():
    tool, work = Path(sys.argv[1]), Path(sys.argv[2])
    gentrace = tool.parent.parent / "tests" / "scale" / "gentrace"
    if not gentrace.exists():
        print("skipped: gentrace was not built")
        sys.exit(77)
    traces = [work / "a.ttrace", work / "b.ttrace"]
    for seed, trace in enumerate(traces):
        run(gentrace, "--tokens", GENERATED, "--layers", 3, "--seed", seed + 1, "-o", trace)
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
    d = np.log(sums[1]) - np.log(sums[0])
    problems.near("MUL_MAT: median", matmul["a"]["median_ns"], nearest_rank(sums[0], 50))
    problems.near("MUL_MAT: change", matmul["change"], np.expm1(np.median(walsh(d))), 0, 1e-5)
    problems.near("MUL_MAT: p", matmul["p"], p_value(d), 0.01, 1e-6)
    problems.near("MUL_MAT: effective", matmul["samples_effective"], len(d) / autocorrelation_time(d), 0.01)
    for family in ("parts", "components", "ops", "layers", "nodes"):
        rows = [r for r in generate[family] if r["p"] is not None]
        for row, want in zip(rows, holm([r["p"] for r in rows]), strict=True):
            problems.near(f"{family}: p_adjusted", row["p_adjusted"], want, 1e-9, 1e-12)
    if problems.count:
        sys.exit(f"{problems.count} of {problems.checked} figures differ")
    print(f"diff: {problems.checked} figures of {seen} ops as numpy and scipy have them")


if __name__ == "__main__":
    main()
