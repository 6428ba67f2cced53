"""Imports routing with a known effect of the domain, and with none, and compares `routing --domains`
with scipy.

Usage: check_domains.py TENSORTRACE WORKDIR

Chi-square, its degrees of freedom and P, Cramer's V, the Jensen-Shannon divergence of each pair of
domains, and residuals are scipy's and numpy's; P is corrected for the number of layers as Holm (1979)
describes. Experts that were planted are found, and no other; without an effect, of tokens that stay
with their experts, false alarms are as rare as they should be once they are corrected for it, and are
not before. Transitions and use over time are counted again. Exits with 1 when
anything differs.
"""

import collections
import json
import math
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy.spatial.distance import jensenshannon
from scipy.stats import chi2, chi2_contingency, contingency

TOOL, WORK = sys.argv[1], Path(sys.argv[2])
compared = 0


def run(*args):
    done = subprocess.run([TOOL, *map(str, args)], capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode()


def expect(what, ok, said):
    global compared
    compared += 1
    if not ok:
        sys.exit(f"{what}: {said}")


def near(what, got, want, relative=1e-9):
    expect(what, got is not None and math.isclose(got, want, rel_tol=relative, abs_tol=1e-12), f"{got!r} instead of {want!r}")


def route(rng, tokens, layers, experts, picked, weights, stays=0.0):
    """Tokens of lists of experts by layer; `weights(layer)` of the experts."""
    last, out = {}, []
    for _ in range(tokens):
        token = []
        for layer in range(layers):
            if layer not in last or rng.random() >= stays:
                left, chosen = list(range(experts)), []
                for _ in range(picked):
                    w = weights(layer)
                    chosen.append(rng.choices(left, [w[e] for e in left])[0])
                    left.remove(chosen[-1])
                last[layer] = chosen
            token.append(last[layer])
        out.append(token)
    return out


def write(name, tokens, experts):
    path = WORK / f"{name}.jsonl"
    path.write_text("".join(json.dumps({"token": i, "layers": t}) + "\n" for i, t in enumerate(tokens)))
    trace = WORK / f"{name}.ttrace"
    run("import", path, "-o", trace, "--force", "--expert-bytes", "4K", "--experts", experts)
    return trace


def tables(runs, layers, experts):
    """By layer: domains x experts."""
    out = [np.zeros((len(runs), experts), dtype=int) for _ in range(layers)]
    for row, tokens in enumerate(runs):
        for token in tokens:
            for layer, chosen in enumerate(token):
                for e in chosen:
                    out[layer][row][e] += 1
    return out


def holm(p):
    order, largest, out = sorted(range(len(p)), key=lambda i: p[i]), 0.0, [0.0] * len(p)
    for place, i in enumerate(order):
        largest = max(largest, min(1.0, p[i] * (len(p) - place)))
        out[i] = largest
    return out


def compare(said, want):
    corrected = []
    for layer, table in zip(said["layers"], want):
        used = table[:, table.sum(axis=0) > 0]
        chi, p, df, expected = chi2_contingency(used, correction=False)
        near("chi_square", layer["chi_square"], chi)
        near("p_value", layer["p_value"], p, 1e-8)
        expect("degrees_of_freedom", layer["degrees_of_freedom"] == df, layer["degrees_of_freedom"])
        near("cramers_v", layer["cramers_v"], contingency.association(used, method="cramer"))
        shares = table / table.sum(axis=1, keepdims=True)
        for pair in layer["pairs"]:
            a, b = (int(pair[key][1:]) for key in ("domain", "other_domain"))
            near("jsd_bits", pair["jsd_bits"], jensenshannon(shares[a], shares[b], base=2) ** 2, 1e-7)
        corrected.append(chi2.sf(chi / layer["dependence"], df))
        total, rows, columns = table.sum(), table.sum(axis=1), table.sum(axis=0)
        for expert in layer["experts"]:
            column = columns[expert["expert_id"]]
            for row, use in enumerate(expert["uses"]):
                expect("count", use["count"] == table[row][expert["expert_id"]], use)
                if not column:
                    continue
                e = rows[row] * column / total
                residual = (use["count"] - e) / math.sqrt(e * (1 - rows[row] / total) * (1 - column / total))
                near("residual", use["residual"], residual / math.sqrt(layer["dependence"]), 1e-8)
    for layer, p in zip(said["layers"], holm(corrected)):
        near("p_corrected", layer["p_corrected"], p, 1e-7)


def planted(rng):
    """Layer 0 without an effect, 1 with a small one, 2 with a large one; expert 7 is never chosen."""
    layers, experts, picked, runs = 3, 12, 2, []
    for domain in range(3):
        def weights(layer, domain=domain):
            w = [1.0] * (experts - 1) + [0.0]
            w[domain] *= (1, 2, 30)[layer]
            return w
        runs.append(route(rng, 400, layers, experts, picked, weights))
    traces = [f"d{i}={write(f'planted{i}', t, experts)}" for i, t in enumerate(runs)]
    said = json.loads(run("routing", "--domains", "--json", *traces))
    compare(said, tables(runs, layers, experts))
    none, small, large = said["layers"]
    expect("no effect", none["specialists"] == 0 and none["p_corrected"] > 0.01, none["p_corrected"])
    expect("small effect", small["p_corrected"] < 0.01, small["p_corrected"])
    expect("large effect", large["cramers_v"] > 0.4, large["cramers_v"])
    found = {e["expert_id"]: e["domain"] for e in large["experts"] if e["kind"] == "specialist"}
    expect("specialists", found == {0: "d0", 1: "d1", 2: "d2"}, found)
    expect("unused", [e["expert_id"] for e in large["experts"] if e["kind"] == "unused"] == [11], "not 11")
    expect("one layer", json.loads(run("routing", "--domains", "--layer", 2, "--json", *traces))["layers"] == [large], "another")


def without_effect(rng):
    layers, experts, picked = 200, 8, 2
    for stays, name in ((0.0, "free"), (0.7, "staying")):
        runs = [route(rng, 250, layers, experts, picked, lambda layer: [1.0] * experts, stays) for _ in range(2)]
        traces = [f"d{i}={write(f'{name}{i}', t, experts)}" for i, t in enumerate(runs)]
        said = json.loads(run("routing", "--domains", "--json", *traces))
        compare(said, tables(runs, layers, experts))
        raw = sum(layer["p_value"] < 0.05 for layer in said["layers"]) / layers
        corrected = sum(chi2.sf(layer["chi_square"] / layer["dependence"], layer["degrees_of_freedom"]) < 0.05
                        for layer in said["layers"]) / layers
        dependence = sum(layer["dependence"] for layer in said["layers"]) / layers
        special = sum(layer["specialists"] for layer in said["layers"])
        print(f"{name}: false alarms {raw:.1%}, corrected {corrected:.1%}; dependence {dependence:.2f}; {special} specialists")
        # 0.05 of 200: below 21 in all but 1 of 1000.
        expect(f"{name}: false alarms", corrected <= 0.1, corrected)
        expect(f"{name}: specialists", special <= 20, special)
        if stays:
            expect("without the correction", raw > 0.3, raw)
            near("dependence", dependence, (1 + stays) / (1 - stays), 0.15)


def steps(rng):
    """Which experts follow which, and their use in parts of the run, against counts of a few lines."""
    experts, tokens = 9, route(rng, 230, 2, 9, 3, lambda layer: range(1, 10), 0.3)
    trace = write("steps", tokens, experts)
    said = json.loads(run("routing", "--transitions", "--layer", 1, "--json", trace))["transitions"]
    pairs, followed, uses = collections.Counter(), collections.Counter(), collections.Counter()
    for token, after in zip(tokens, tokens[1:] + [None]):
        uses.update(token[1])
        for e in token[1] if after else ():
            followed[e] += 1
            pairs.update((e, k) for k in after[1])
    expect("transitions", {(s["expert_id"], s["next_expert_id"]): s["count"] for s in said} == dict(pairs), "others")
    for s in said:
        expect("followed", s["followed"] == followed[s["expert_id"]], s)
        near("share", s["share"], s["count"] / followed[s["expert_id"]])
        near("lift", s["lift"], s["share"] / (uses[s["next_expert_id"]] / len(tokens)))
    said = json.loads(run("routing", "--over-time", 7, "--layer", 0, "--json", trace))["spans"]
    expect("spans", len(said) == 7 * experts, len(said))
    seen = 0
    for s in said:
        part = tokens[s["first_batch_id"]:s["last_batch_id"] + 1]
        count = sum(s["expert_id"] in t[0] for t in part)
        seen += count
        expect("span", s["tokens"] == len(part) and len(part) in (32, 33) and s["count"] == count, s)
        near("share", s["share"], count / (3 * len(part)))
    expect("spans: all", seen == 3 * len(tokens), seen)


def main():
    rng = random.Random(3)
    planted(rng)
    steps(rng)
    without_effect(rng)
    print(f"{compared} values compared")


main()
