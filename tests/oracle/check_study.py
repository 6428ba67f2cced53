"""Runs an experiment on a real engine and compares `report DIR --json` with numpy and scipy.

Usage: check_study.py TENSORTRACE WORKDIR

Medians, the intervals of order statistics (scipy's binomial distribution), the t test of logarithms and
its interval, outliers, rank correlations and the share of requests in sequence are computed again from
what `info`, `heat` and `log` say of each trace. The runs under a memory limit are copies whose run.json
says so: no control group is needed here. Exits with 1 when anything differs.
"""

import itertools
import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy import stats

TOOL, WORK = sys.argv[1], Path(sys.argv[2])
ENGINE = Path(os.environ["TT_ENGINES"]) / "v0.5.0"
compared = 0


def run(*args, codes=(0,)):
    done = subprocess.run([TOOL, *map(str, args)], capture_output=True, check=False,
                          env={**os.environ, "TENSORTRACE_ENGINE": str(ENGINE)})
    if done.returncode not in codes:
        sys.exit(f"{' '.join(map(str, args))}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode()


def expect(what, ok, said):
    global compared
    compared += 1
    if not ok:
        sys.exit(f"{what}: {said}")


def near(what, got, want, relative=1e-6):
    expect(what, got is not None and math.isclose(got, want, rel_tol=relative, abs_tol=1e-9), f"{got!r} instead of {want!r}")


def rate_of(trace):
    """Tokens a second of the batches that generate, from their begins and ends."""
    batches = [b for b in json.loads(run("info", "--json", trace))["batches"] if b["phase"] == "generate"]
    return len(batches) / (sum(b["end_ns"] - b["start_ns"] for b in batches) / 1e9)


def slices_of(trace):
    """How often each expert was read in generated batches."""
    rows = json.loads(run("heat", "--json", "--phase", "generate", "--by", "expert", trace))["rows"]
    return {(r["tensor"], r["expert_id"]): r["accesses"] for r in rows if r["expert_id"] is not None}


def in_sequence_of(trace):
    """The share of requests of 128 KiB that go on, from the places in the file that `log` says: what is read in a row
    (but for padding of less than 4 KiB) is split into them. Of rows of token embeddings only the tensor is known: they
    are never in a row with others."""
    reads = []
    for op in json.loads(run("log", "--json", "--phase", "generate", "--limit", "0", trace))["ops"]:
        for source in op["sources"]:
            if source["origin"] != "file":
                continue
            for part in source.get("experts") or [source]:
                reads.append((part["file_offset_bytes"], part["file_offset_bytes"] + part["read_bytes"]))
    requests, stretches, begin, end = 0, 0, None, None
    for read in [*reads, (-1, -1)]:
        if end is not None and 0 <= read[0] - end < 4096:
            end = read[1]
            continue
        if end is not None:
            requests += math.ceil((end - begin) / 131072)
            stretches += 1
        begin, end = read
    return (requests - stretches) / requests


def check_median(what, got, values):
    values = np.sort(values)
    near(f"{what}: median", got["median"], float(np.median(values)))
    expect(f"{what}: runs", got["n"] == len(values), got["n"])
    # The largest k with P(X < k) <= 2.5 %, X of a fair coin thrown n times.
    k = int(stats.binom.ppf(0.025, len(values), 0.5))
    expect(f"{what}: interval", got["is_interval"] == (k > 0), got)
    near(f"{what}: low", got["low"], values[max(k, 1) - 1])
    near(f"{what}: high", got["high"], values[len(values) - max(k, 1)])


def edit(folder, **keys):
    path = folder / "run.json"
    result = json.loads(path.read_text())
    result.update(keys)
    path.write_text(json.dumps(result))


if not ENGINE.exists():
    print("skipped: the engine is not there")
    sys.exit(77)
os.chdir(WORK)
shutil.rmtree("out", ignore_errors=True)
run("synth", "--preset", "moe", "--experts", "8", "--experts-used", "2", "--layers", "4", "--force", "-o", "m.gguf")
prompts = ["int main(void)", "Once upon a time there was", "1 + 1 ="]
Path("s.json").write_text(json.dumps({
    "experiment": {"model_path": "m.gguf", "tokens_to_generate": 9, "threads": [1, 2], "prompt": prompts, "repetitions": 3,
                   "repack": False, "ignore_eos": True},
    "conditions": {"order_seed": 4}, "paths": {"webui_data_dir": "out"}}))
run("experiment", "s.json")
folders = sorted(p for p in Path("out").iterdir() if re.match(r"\d\d-", p.name) and not p.is_symlink())
expect("experiment", len(folders) == 18, len(folders))
model_bytes = Path("m.gguf").stat().st_size
# Of the runs with two threads copies "under a limit", and one that "was killed" without a trace.
number = len(folders)
for folder in folders[:]:
    result = json.loads((folder / "run.json").read_text())
    if result["condition"] != "threads=2 repack=false ignore_eos=true":
        continue
    number += 1
    copy = folder.with_name(f"{number:02d}-copy")
    other = next(f for f in folders if "threads=1" in json.loads((f / "run.json").read_text())["condition"] and
                 json.loads((f / "run.json").read_text())["prompt"] == result["prompt"] and
                 json.loads((f / "run.json").read_text())["repetition"] == result["repetition"])
    shutil.copytree(folder, copy)
    shutil.copy(other / "run.ttrace", copy / "run.ttrace")
    edit(copy, experiment_id=f"{number:032x}", condition="threads=2 repack=false ignore_eos=true memory_limit=50%",
         memory_limit_bytes=model_bytes // 2, start="cold")
    folders.append(copy)
killed = Path(f"out/{number + 1:02d}-killed")
killed.mkdir()
shutil.copy(folders[-1] / "run.json", killed / "run.json")
edit(killed, experiment_id=f"{number + 1:032x}", ending="killed at the memory limit of 1.0 MiB", tokens_per_s=None)

study = json.loads(run("report", "--json", "--disk", "1G", "out"))
answers = {a["id"]: a for a in study["answers"]}
runs = {r["folder"]: r for r in study["runs"]}
expect("runs", len(runs) == 28, len(runs))

# --- each run, and its condition ---
rates = {}
for folder in folders:
    r = runs[folder.name]
    near(f"{folder}: tokens/s", r["tokens_per_s"], rate_of(folder / "run.ttrace"))
    rates.setdefault(r["condition"], []).append((folder.name, r["tokens_per_s"]))
    heat = json.loads(run("heat", "--json", "--phase", "generate", folder / "run.ttrace"))["summary"]
    steps = heat["steps"]
    near(f"{folder}: in sequence", r["in_sequence"], in_sequence_of(folder / "run.ttrace"))
    near(f"{folder}: adjacent", r["adjacent"], steps["adjacent"] / steps["count"])
conditions = {c["condition"]: c for c in study["conditions"]}
expect("conditions", set(conditions) == set(rates) and len(rates) == 3, list(conditions))
for condition, values in rates.items():
    numbers = np.array([v for _, v in values])
    check_median(condition, conditions[condition]["tokens_per_s"], numbers)
    # Iglewicz and Hoaglin's modified score of logarithms, 0.6745 |x - median| / MAD > 3.5: around the median of
    # each prompt, and with the deviations of the other runs, where each prompt has three runs.
    logs = np.log(numbers)
    prompts_of = [json.loads((Path("out") / name / "run.json").read_text())["prompt"] for name, _ in values]
    many = len(set(prompts_of)) > 1 and min(prompts_of.count(p) for p in prompts_of) >= 3
    middle = {p: np.median(logs[[q == p or not many for q in prompts_of]]) for p in prompts_of}
    far_by = np.abs(logs - np.array([middle[p] for p in prompts_of]))
    limit = 3.5 * 1.4826 * np.median(np.sort(far_by)[len(set(prompts_of)) if many else 0:])
    for (name, _), distance in zip(values, far_by):
        far = limit > 0 and distance > limit * (1 + 1e-4)
        near_by = limit == 0 or distance < limit * (1 - 1e-4)
        expect(f"{name}: outlier", runs[name]["is_outlier"] == far or not (far or near_by), runs[name]["is_outlier"])


def compare(a, b):
    """b / a by least squares of log(rate) = its prompt's + (of b) shift: the ratio, its interval, and p."""
    rows = [(n, v, 0) for n, v in rates[a]] + [(n, v, 1) for n, v in rates[b]]
    prompt = [json.loads((Path("out") / n / "run.json").read_text())["prompt"] for n, _, _ in rows]
    names = sorted(set(prompt))
    design = np.array([[float(p == q) for q in names] + [side] for p, (_, _, side) in zip(prompt, rows)])
    y = np.log([v for _, v, _ in rows])
    solution, residual, rank, _ = np.linalg.lstsq(design, y, rcond=None)
    df = len(rows) - rank
    se = math.sqrt(float(residual[0]) / df * np.linalg.inv(design.T @ design)[-1, -1])
    margin = se * stats.t.ppf(0.975, df)
    return (math.exp(solution[-1]), math.exp(solution[-1] - margin), math.exp(solution[-1] + margin),
            2 * stats.t.sf(abs(solution[-1]) / se, df))


base, limited = "threads=2 repack=false ignore_eos=true", "threads=2 repack=false ignore_eos=true memory_limit=50%"
one = "threads=1 repack=false ignore_eos=true"
ratio, low, high, p = compare(base, limited)
slowdown = conditions[limited]["slowdown"]
near("slowdown", slowdown["ratio"], 1 / ratio)
near("slowdown: low", slowdown["low"], 1 / high, 1e-4)
near("slowdown: high", slowdown["high"], 1 / low, 1e-4)
near("slowdown: p", slowdown["p_value"], p, 1e-4)
near("slowdown: corrected: one of one", slowdown["p_corrected"], p, 1e-4)
expect("killed", conditions[limited]["n_killed"] == 1 and conditions[limited]["n_runs"] == 10, conditions[limited])
expect("effects", [(e["setting"], e["from"], e["to"]) for e in study["effects"]] in
       ([("threads", "1", "2")], [("threads", "2", "1")]), study["effects"])
effect = study["effects"][0]
ratio, low, high, p = compare(one, base) if effect["from"] == "1" else compare(base, one)
near("effect", effect["tokens_per_s"]["ratio"], ratio)
near("effect: low", effect["tokens_per_s"]["low"], low, 1e-4)
near("effect: high", effect["tokens_per_s"]["high"], high, 1e-4)


def judge(least, most):
    """Holds where the interval is within, fails where it is outside, else these runs cannot tell."""
    if slowdown["low"] >= least and slowdown["high"] <= most:
        return "holds"
    return "fails" if slowdown["high"] < least or slowdown["low"] > most else "open"


expect("H2.1", answers["H2.1"]["verdict"] == judge(1, math.inf), answers["H2.1"])
expect("H2.2", answers["H2.2"]["verdict"] == judge(2, 5), answers["H2.2"])
expect("H2.3", answers["H2.3"]["verdict"] == judge(0, 2), answers["H2.3"])

# --- prompts: how alike they read the experts ---
first = {}
for folder in sorted(folders, key=lambda f: json.loads((f / "run.json").read_text())["timestamp_start"]):
    result = json.loads((folder / "run.json").read_text())
    first.setdefault(result["prompt"], slices_of(folder / "run.ttrace"))
expect("prompts", len(first) == 3, len(first))
correlations = []
for a, b in itertools.combinations(first.values(), 2):
    keys = sorted(a)
    expect("slices", keys == sorted(b), len(b))
    correlations.append(stats.spearmanr([a[k] for k in keys], [b[k] for k in keys]).statistic)
said = re.search(r"rank correlation of (-?[\d.]+) \(least (-?[\d.]+), 3 pairs of prompts\)", answers["Q8"]["answer"])
expect("rank correlation", said is not None, answers["Q8"])
expect("rank correlation", abs(float(said[1]) - np.mean(correlations)) < 0.006, (said[1], correlations))
expect("rank correlation: least", abs(float(said[2]) - min(correlations)) < 0.006, (said[2], correlations))

# --- how much of what a token reads the one before it read: from the units that each batch reads. Rows of token
# embeddings are told apart by the study, and here not: they are some bytes only. ---
trace = folders[0] / "run.ttrace"
numbers = [b["batch_id"] for b in json.loads(run("info", "--json", trace))["batches"] if b["phase"] == "generate"]
units = []
for number in numbers:
    rows = json.loads(run("heat", "--json", "--batch", number, "--by", "expert", trace))["rows"]
    units.append({(r["tensor"], r["expert_id"]): r["touched_bytes"] for r in rows if r["accesses"]})
again = sum(size for before, now in zip(units, units[1:]) for key, size in now.items() if key in before)
near("repeated", runs[folders[0].name]["repeated"], again / sum(sum(now.values()) for now in units[1:]), 0.01)

# --- a prompt counts once for the experts of its domain ---
expect("Q12", answers["Q12"]["runs"].startswith("3 runs: "), answers["Q12"])
for question in "H3", "H3.1", "Q2", "Q3", "Q4", "H5.1", "Q16":
    expect(question, answers[question]["verdict"] == "open", answers[question])
one_run = run("report", "--json", "--where", f"folder={folders[0].name}", "out")
expect("one run", json.loads(one_run)["file"].endswith(f"{folders[0].name}/run.ttrace"), one_run[:200])
run("report", "--json", "--where", "folder=none", "out", codes=(2,))
page = run("report", "out")
# The experts add one of the layers, one a layer, one of transitions, and one a domain over time.
expect("page", page.count("<svg") == 4 + 1 + 4 + 1 + 3 and "Study: out" in page, len(page))
print(f"{compared} comparisons, no difference")
