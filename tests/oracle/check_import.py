"""Imports made-up routing, and compares what the analyses say with counts by a few lines of Python.

Usage: check_import.py TENSORTRACE WORKDIR

As CSV (by token, and by batch with all tokens of a layer together), JSON lines and lists: `routing
--json` has the counts and weights by expert, `heat --by expert` the bytes, and `whatif --unit expert`
misses what an LRU and Belady's rule of a few lines miss. Exits with 1 when anything differs.
"""

import collections
import csv
import io
import json
import random
import subprocess
import sys
from pathlib import Path

TOOL, WORK = sys.argv[1], Path(sys.argv[2])
LAYERS, EXPERTS, PICKED, TOKENS, BATCH, BYTES = (0, 1, 3), 16, 3, 60, 5, 8192
compared = 0


def run(*args):
    done = subprocess.run([TOOL, *map(str, args)], capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode()


def expect(what, got, want):
    global compared
    compared += 1
    if got != want:
        sys.exit(f"{what}: {got!r} instead of {want!r}")


def make():
    """By token, by layer: experts, some liked more."""
    rng = random.Random(7)
    return [{layer: sorted(rng.sample(range(EXPERTS), PICKED), key=lambda e: (e * e + layer) % 11)
             for layer in LAYERS} for _ in range(TOKENS)]


def as_csv(tokens, batches):
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["batch", "token", "layer", "expert"] if batches else ["token", "layer", "expert", "weight"])
    if batches:
        for begin in range(0, TOKENS, BATCH):
            for layer in LAYERS:
                for token in range(begin, begin + BATCH):
                    rows.writerows([begin // BATCH, token, layer, e] for e in tokens[token][layer])
    else:
        for token, layers in enumerate(tokens):
            for layer, experts in layers.items():
                rows.writerows([token, layer, e, 0.5] for e in experts)
    return out.getvalue()


def as_json(tokens):
    return "".join(json.dumps({"token": t, "layers": [layers.get(n, []) for n in range(max(LAYERS) + 1)]}) + "\n"
                   for t, layers in enumerate(tokens))


def as_lists(tokens):
    return "".join(" ".join(",".join(map(str, layers[n])) if n in layers else "-" for n in range(max(LAYERS) + 1))
                   + "\n" for layers in tokens)


def sequence(tokens, batch):
    """What is accessed: in each batch layer by layer, the experts that any token picked, ascending."""
    for begin in range(0, TOKENS, batch):
        for layer in LAYERS:
            for expert in sorted({e for t in tokens[begin : begin + batch] for e in t[layer]}):
                yield layer, expert


def lru(accesses, room):
    kept, missed = collections.OrderedDict(), 0
    for one in accesses:
        if one in kept:
            kept.move_to_end(one)
            continue
        missed += 1
        if len(kept) == room:
            kept.popitem(last=False)
        kept[one] = True
    return missed


def belady(accesses, room):
    kept, missed = set(), 0
    for at, one in enumerate(accesses):
        if one in kept:
            continue
        missed += 1
        if len(kept) == room:
            ahead = accesses[at + 1 :]
            kept.remove(max(kept, key=lambda k: ahead.index(k) if k in ahead else len(ahead)))
        kept.add(one)
    return missed


def check(name, text, tokens, batch):
    source, trace = WORK / name, WORK / f"{name}.ttrace"
    source.write_text(text, encoding="utf-8")
    made = json.loads(run("import", source, "-o", trace, "--force", "--json", "--expert-bytes", f"{BYTES}B",
                          "--experts", EXPERTS))
    expect(f"{name} tokens", (made["n_tokens"], made["batches"]), (TOKENS, TOKENS // batch))
    run("verify", trace)
    counted = collections.Counter((layer, e) for t in tokens for layer in LAYERS for e in t[layer])
    routing = json.loads(run("routing", "--json", trace))
    told = {(l["layer_id"], e["expert_id"]): e["count"] for l in routing["layers"] for e in l["experts"]}
    expect(f"{name} routing", {k: v for k, v in told.items() if v}, dict(counted))
    expect(f"{name} experts", len(told), EXPERTS * len(LAYERS))
    accesses = list(sequence(tokens, batch))
    rams = [4, 8, 16, 32, 48]
    results = json.loads(run("whatif", trace, "--json", "--unit", "expert", "--policy", "lru,belady",
                             *[word for n in rams for word in ("--ram", f"{n * BYTES}B")]))["results"]
    for r in results:
        room = r["ram_bytes"] // BYTES
        rule = {"lru": lru, "belady": belady}[r["policy"]]
        whole = r["unknown"]
        expect(f"{name} {r['policy']} {room}", whole["missed_bytes"], rule(accesses, room) * BYTES)
        expect(f"{name} {r['policy']} {room} read", whole["whole_units_bytes"], len(accesses) * BYTES)
        expect(f"{name} compute time", whole["compute_per_token_ns"], None)


picked = make()
check("tokens.csv", as_csv(picked, False), picked, 1)
check("batches.csv", as_csv(picked, True), picked, BATCH)
check("objects.jsonl", as_json(picked), picked, 1)
check("lists.txt", as_lists(picked), picked, 1)
print(f"{compared} comparisons")
