"""Imports routing with a known effect of the domain, and with none, and compares `routing --domains`
with scipy.

Usage: check_domains.py TENSORTRACE WORKDIR

Chi-square, its degrees of freedom and P, Cramer's V, the Jensen-Shannon divergence of each pair of
domains, and residuals are scipy's and numpy's; P is corrected for the number of layers as Holm (1979)
describes. Experts that were planted are found, and no other; without an effect, of tokens that stay
with their experts, false alarms are as rare as they should be once they are corrected for it, and are
not before. So are their kinds, the V that chance lets a layer come to, and which layers tell the domains apart.
Transitions and use over time are counted again. Tables (Parquet by pyarrow and DuckDB, CSV by Python) hold
what JSON says. Exits with 1 when anything differs.
"""

import collections
import csv
import json
import math
import random
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq
from scipy.spatial.distance import jensenshannon
from scipy.stats import chi2, chi2_contingency, contingency, entropy, norm

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
            two = table[[a, b]]
            near("cramers_v of two", pair["cramers_v"], contingency.association(two[:, two.sum(axis=0) > 0], method="cramer"))
        near("jsd_bits of all", layer["jsd_bits"], entropy(shares.mean(axis=0), base=2) - entropy(shares, base=2, axis=1).mean(), 1e-7)
        corrected.append(chi2.sf(chi / layer["dependence"], df))
        total, rows, columns = table.sum(), table.sum(axis=1), table.sum(axis=0)
        kinds = collections.Counter()
        for expert in layer["experts"]:
            column = columns[expert["expert_id"]]
            kind = kind_of(table, expert["expert_id"], layer["dependence"])
            kinds[kind] += 1
            expect("kind", expert["kind"] == kind, (expert, kind))
            for row, use in enumerate(expert["uses"]):
                expect("count", use["count"] == table[row][expert["expert_id"]], use)
                if not column:
                    continue
                e = rows[row] * column / total
                residual = (use["count"] - e) / math.sqrt(e * (1 - rows[row] / total) * (1 - column / total))
                near("residual", use["residual"], residual / math.sqrt(layer["dependence"]), 1e-8)
                near("use: share", use["share"], shares[row][expert["expert_id"]])
                others = (column - use["count"]) / (total - rows[row])
                expect("use: lift", (use["lift"] is None) == (others == 0), use)
                if others:
                    near("use: lift", use["lift"], use["share"] / others)
        for kind, key in (("specialist", "specialists"), ("generalist", "generalists"), ("unused", "unused_experts")):
            expect(key, layer[key] == kinds[kind], (layer[key], kinds))
    holms = holm(corrected)
    # As Holm's steps go down, the first layer that is not told apart is compared with this level.
    told = sum(p <= 0.05 for p in holms)
    level = 0.05 / max(len(holms) - told, 1)
    for layer, table, p in zip(said["layers"], want, holms):
        near("p_corrected", layer["p_corrected"], p, 1e-7)
        used = table[:, table.sum(axis=0) > 0]
        least = chi2.isf(level, layer["degrees_of_freedom"]) * layer["dependence"]
        near("chance_v", layer["chance_v"], math.sqrt(least / (table.sum() * (min(used.shape) - 1))), 1e-7)
        expect("separates", layer["separates"] == (p <= 0.05) == (layer["cramers_v"] > layer["chance_v"]), layer["layer_id"])


def kind_of(table, e, dependence):
    """By the rule of docs/domains.md."""
    total, rows, column = table.sum(), table.sum(axis=1), table[:, e].sum()
    if not column:
        return "unused"
    shares = table[:, e] / rows
    expected = rows * column / total
    residuals = (table[:, e] - expected) / np.sqrt(expected * (1 - rows / total) * (1 - column / total) * dependence)
    beyond = 2 * norm.sf(np.abs(residuals)) * table.size <= 0.05
    others = (column - table[:, e]) / (total - rows)
    if (beyond & (residuals > 0) & (shares >= 2 * others)).any():
        return "specialist"
    return "generalist" if not beyond.any() and shares.max() < 2 * shares.min() else "mixed"


def same(what, got, want):
    """A cell of a table and a value of JSON."""
    if isinstance(got, float) and isinstance(want, (int, float)) and not isinstance(want, bool):
        near(what, got, want, 1e-14)
    else:
        expect(what, got == want, f"{got!r} instead of {want!r}")


def rows_of(said):
    """The tables as JSON has them, nested."""
    def flat(row, **more):
        return {**more, **{k: v for k, v in row.items() if not isinstance(v, list)}}
    out = {"domains": said["domains"], "layers": [flat(l) for l in said["layers"]], "pairs": [], "experts": [], "matrix": []}
    for layer in said["layers"]:
        at = {"layer_id": layer["layer_id"], "stack": layer["stack"]}
        out["pairs"] += [flat(p, **at) for p in layer["pairs"]]
        for e in layer["experts"]:
            out["experts"].append(flat(e, **at))
            out["matrix"] += [flat(u, **at, expert_id=e["expert_id"]) for u in e["uses"]]
    return out


def check_tables(said, runs, traces):
    """runs: of each domain its tokens."""
    folder = WORK / "tables"
    run("routing", "--domains", "--tables", folder, "--force", *traces)
    for name, want in rows_of(said).items():
        got = pq.read_table(folder / f"{name}.parquet").to_pylist()
        expect(f"{name}: rows", len(got) == len(want), len(got))
        for g, w in zip(got, want):
            expect(f"{name}: columns", list(g) == list(w), (list(g), list(w)))
            for key in w:
                same(f"{name}: {key}", g[key], w[key])
    # DuckDB reads them, too, and joins them.
    special = duckdb.sql(f"""SELECT count(*) FROM '{folder}/experts.parquet' JOIN '{folder}/layers.parquet' USING (layer_id)
                             WHERE kind = 'specialist' AND separates""").fetchall()[0][0]
    expect("duckdb", special == sum(l["specialists"] for l in said["layers"] if l["separates"]), special)
    check_course(pq.read_table(folder / "transitions.parquet").to_pylist(),
                 pq.read_table(folder / "over_time.parquet").to_pylist(), runs)
    other = WORK / "tables-csv"
    run("routing", "--domains", "--tables", other, "--csv", "--force", *traces)
    for path in folder.iterdir():
        got = list(csv.DictReader(open(other / f"{path.stem}.csv", newline="")))
        want = pq.read_table(path).to_pylist()
        expect(f"{path.stem}: rows of CSV", len(got) == len(want), len(got))
        for g, w in zip(got, want):
            expect(f"{path.stem}: columns of CSV", list(g) == list(w), list(g))
            for key in w:
                text = "" if w[key] is None else str(w[key]).lower() if isinstance(w[key], bool) else None
                expect(f"{path.stem}: {key} of CSV", g[key] == text if text is not None else type(w[key])(g[key]) == w[key],
                       (g[key], w[key]))


def check_course(steps, spans, runs):
    """Transitions and use over time of each domain, counted again."""
    pairs, followed, uses, chosen, parts = (collections.Counter() for _ in range(5))
    for d, tokens in enumerate(runs):
        for i, token in enumerate(tokens):
            # Of the stretches as equal as can be, the last that begins at this token or before it.
            part = max(p for p in range(16) if p * len(tokens) // 16 <= i)
            parts[d, part] += 1
            for layer, experts in enumerate(token):
                for e in experts:
                    uses[d, layer, e] += 1
                    chosen[d, layer, part, e] += 1
                    if i + 1 < len(tokens):
                        followed[d, layer, e] += 1
                        pairs.update((d, layer, e, k) for k in tokens[i + 1][layer])
    got = {(int(s["domain"][1:]), s["layer_id"], s["expert_id"], s["next_expert_id"]): s for s in steps}
    expect("transitions", {k: s["count"] for k, s in got.items()} == dict(pairs), "others")
    for (d, layer, e, k), s in got.items():
        expect("followed", s["followed"] == followed[d, layer, e], s)
        near("P(next | expert)", s["share"], s["count"] / followed[d, layer, e])
        near("lift", s["lift"], s["share"] / (uses[d, layer, k] / len(runs[d])))
    expect("over_time: rows", len(spans) == len({(s["domain"], s["layer_id"], s["expert_id"], s["stretch"]) for s in spans}), len(spans))
    picked = len(runs[0][0][0])
    for s in spans:
        d = int(s["domain"][1:])
        expect("over_time: tokens", s["n_tokens"] == parts[d, s["stretch"]], s)
        expect("over_time: count", s["count"] == chosen[d, s["layer_id"], s["stretch"], s["expert_id"]], s)
        near("over_time: share", s["share"], s["count"] / (picked * s["n_tokens"]))
    expect("over_time: all", sum(s["count"] for s in spans) == sum(chosen.values()), "others")


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
    check_tables(said, runs, traces)
    none, small, large = said["layers"]
    expect("no effect", none["specialists"] == 0 and none["p_corrected"] > 0.01, none["p_corrected"])
    expect("small effect", small["p_corrected"] < 0.01, small["p_corrected"])
    expect("large effect", large["cramers_v"] > 0.4, large["cramers_v"])
    found = {e["expert_id"]: e["domain"] for e in large["experts"] if e["kind"] == "specialist"}
    expect("which layers", [l["separates"] for l in said["layers"]] == [False, True, True], "others")
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
        if not stays:
            check_tables(said, runs, traces)
        expect(f"{name}: which layers", sum(l["separates"] for l in said["layers"]) <= 1, "more than 5 % of all sets would have")
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
        expect("span", s["n_tokens"] == len(part) and len(part) in (32, 33) and s["count"] == count, s)
        near("share", s["share"], count / (3 * len(part)))
    expect("spans: all", seen == 3 * len(tokens), seen)


def main():
    rng = random.Random(3)
    planted(rng)
    steps(rng)
    without_effect(rng)
    print(f"{compared} values compared")


main()
