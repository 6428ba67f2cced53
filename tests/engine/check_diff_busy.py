"""check_diff_busy.py BIN A B C: what `diff` says of runs on a busy machine, recomputed from their tables.

A and B ran the same; C's ffn_down had more work (programs/slow_op.c). Every row's own work, what it would be in B had it
changed as the other ops of its kind, and how sure the change is must be what docs/diff.md makes of the `ops` tables,
whatever the machine did; and C's ffn_down must be found.
"""
import collections
import csv
import json
import math
import os
import shutil
import statistics
import subprocess
import sys

BIN, A, B, C = sys.argv[1:5]
# docs/diff.md
ALIKE, OTHERS, EACH, BRIEF_NS, SHARE = 0.035, 0.15, 0.07, 200, 0.01
NS = 1.5  # of an op, which the table has in whole ns
EVEN = 0.01  # two sums of whole ns are equal within that
FAMILIES = {"parts": "category", "components": "component", "ops": "op", "layers": "layer_id", "nodes": "name"}
problems, ranges = [], {}


def near(what, got, want, relative=1e-4, absolute=1e-9):
    if got is None or not math.isclose(got, want, rel_tol=relative, abs_tol=absolute):
        problems.append(f"{what}: diff says {got}, its table {want}")


def quantile(values, share):
    values, at = sorted(values), share * (len(values) - 1)
    i = int(at)
    return values[i] + (at - i) * (values[min(i + 1, len(values) - 1)] - values[i])


def own_work(trace):
    """By op, as it recurs in each batch: own work a batch (the 0.1 quantile), and what the op is."""
    folder = trace + ".tables"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([BIN, "export", "--format", "csv", "-o", folder, trace], check=True, capture_output=True)
    batches, what, before, everywhere = collections.defaultdict(collections.Counter), {}, collections.Counter(), set()
    with open(os.path.join(folder, "ops.csv"), newline="") as f:
        for op in csv.DictReader(f):
            if op["phase"] != "generate":
                continue
            everywhere.add(op["batch_id"])
            before[op["batch_id"], op["name"], op["op"]] += 1
            key = op["name"], op["op"], before[op["batch_id"], op["name"], op["op"]]
            batches[key][op["batch_id"]] += (int(op["busy_ns"]) - int(op["off_cpu_ns"] or 0) - int(op["wait_inside_ns"] or 0)) / int(op["threads"])
            what[key] = {k: op[k] or None for k in ("category", "component", "op", "layer_id", "name")}
    ranges[trace] = {k: (min(b.values()), sorted(b.values())[math.ceil(0.9 * len(b)) - 1]) for k, b in batches.items() if len(b) == len(everywhere)}
    return {k: quantile(list(b.values()), 0.1) for k, b in batches.items()}, what


def total(keys, *sides):
    return [sum(side[k] for k in keys) for side in sides]


def changes_of(keys, a, b, vary):
    """The weighted median of the ops' changes, and what equal ops differ from it by; of two that whole ns do not tell apart, both; with what
    whole ns leave open of the change of that one op."""
    ns_a, ns_b = total(keys, a, b)
    sd = math.hypot(vary, BRIEF_NS * len(keys) / math.sqrt(ns_a * ns_b))
    changes = sorted((math.log(b[k] / a[k]), math.sqrt(a[k] * b[k])) for k in keys if a[k] > 0 and b[k] > 0)
    half, found = sum(w for _, w in changes) / 2, set()
    for about in (half * (1 - EVEN), half, half * (1 + EVEN)):
        sum_ = 0
        for change, weight in changes:
            sum_ += weight
            if sum_ >= about:
                found.add((change, sd, NS / weight))
                break
    return found


def expected(row, a, b, what):
    """B's time had it changed as others, and the standard error of the log of its change: one, or a few, as above."""
    own_a, own_b = total(row, a, b)
    product = own_a * own_b
    found = {(0, 0, EACH**2 * sum(a[k] * b[k] for k in row) / product + (BRIEF_NS * len(row)) ** 2 / product)}
    for kind in {what[k]["op"] for k in row}:
        keys = [k for k in row if what[k]["op"] == kind]
        alike = [k for k in a if what[k]["op"] == kind and k not in row]
        least, enough = sum(total(keys, a, b)), sum(total(alike, a, b))
        each = set()
        if alike and enough >= least * (1 - EVEN):
            each |= changes_of(alike, a, b, ALIKE)
        if not alike or enough < least * (1 + EVEN):
            each |= changes_of([k for k in a if k not in row], a, b, OTHERS)
        kind_a, kind_b = total(keys, a, b)
        weight = (kind_a / own_a + kind_b / own_b) / 2
        found = {(usual + weight * change, slack + weight * open_, variance + (weight * sd) ** 2)
                 for usual, slack, variance in found for change, sd, open_ in each}
    return [(own_a * math.exp(usual), math.sqrt(variance), slack) for usual, slack, variance in found]


def check_ranges(answer, *traces):
    """One figure in all rows of a table: own work and its range, or nothing of what is not ops."""
    for phase in answer["phases"]:
        for family, column in FAMILIES.items():
            for row in phase[family] if phase["busy"] and phase["undisturbed"] else []:
                for side, trace in zip("ab", traces, strict=True):
                    name, s = f"{phase['phase']} {family} {row[column]} {side}", row[side]
                    figures = s and (s["least_ns"], s["time_ns"], s["p90_ns"])
                    ops = row["op_a"] if family == "nodes" else row[column]
                    if not ops or row[column] in ("", "between ops") or "between ops" in (row.get("category"), row.get("op")):
                        if family != "layers" and s and any(x is not None for x in figures):
                            problems.append(f"{name}: between ops, {figures}")
                    elif not s or None in figures or not figures[0] <= figures[1] <= figures[2]:
                        problems.append(f"{name}: not within its range: {figures}")
                    elif family == "nodes" and phase["phase"] == "generate":
                        own = [r for k, r in ranges[trace].items() if k[0] == row["name"]]
                        if len(own) == 1:
                            near(f"{name}: least", figures[0], own[0][0], 1e-3, 1.5)
                            near(f"{name}: 0.9", figures[2], own[0][1], 1e-3, 1.5)


def check(answer, a, b, what):
    phase = answer["phases"][0]
    all_a, all_b = total(a, a, b)
    for family, column in FAMILIES.items():
        for row in phase[family]:
            key = None if row[column] is None else str(row[column])
            keys = {k for k in a if what[k][column] == key}
            if not keys or (family == "nodes" and len(keys) > 1):
                continue  # between ops; several of one name
            own_a, own_b = total(keys, a, b)
            name = f"{family} {row[column]}"
            rounding = NS * len(keys)  # the table has whole ns
            near(f"{name}: A", row["a"]["time_ns"], own_a, 1e-3, rounding)
            near(f"{name}: B", row["b"]["time_ns"], own_b, 1e-3, rounding)
            want, se, slack = min(expected(keys, a, b, what), key=lambda w: abs(w[0] - row["expected_ns"]))
            near(f"{name}: as others", row["expected_ns"], want, 2e-3 + slack, 2 * rounding)
            tested = max(own_a / all_a, own_b / all_b) >= SHARE
            if tested != (row["p"] is not None):
                problems.append(f"{name}: tested: {row['p']}")
            elif tested:
                near(f"{name}: change", row["change"], own_b / want - 1, 0, 2e-3 + 4 * rounding / own_a + slack * own_b / want)
                normal = statistics.NormalDist()
                width = math.log1p(row["change_high"]) - math.log1p(row["change_low"])
                near(f"{name}: its error", width / 2 / normal.inv_cdf(0.995), se, 0.01)
                z = math.log1p(row["change"]) / (width / 2 / normal.inv_cdf(0.995))
                near(f"{name}: p", row["p"], 2 * normal.cdf(-abs(z)), 1e-2, 1e-6)


def main():
    (a, what), (b, _), (c, _) = own_work(A), own_work(B), own_work(C)
    found = None
    for other, work in ((B, b), (C, c)):
        done = subprocess.run([BIN, "diff", "--json", A, other], capture_output=True, text=True)
        answer = json.loads(done.stdout)
        phase = answer["phases"][0]
        if not phase["busy"] or not phase["undisturbed"]:
            print(f"skipped: off CPU {phase['off_cpu_share_a']}, {phase['off_cpu_share_b']}: not busy alike")
            sys.exit(77)
        check(answer, a, work, what)
        check_ranges(answer, A, other)
        found = done.returncode, [r for r in phase["components"] if r["component"] == "ffn_down"][0], answer["verdict"]["text"]
    code, row, text = found
    if code != 1 or not row["significant"] or not row["matters"] or not 0.5 < row["change"]:
        problems.append(f"ffn_down had more work: exit {code}, {row}")
    if "ffn_down" not in text and "FFN" not in text and "Ffn" not in text:
        problems.append(f"ffn_down is not named: {text}")
    for problem in problems[:20]:
        print(problem)
    sys.exit(f"{len(problems)} figures differ" if problems else 0)


main()
