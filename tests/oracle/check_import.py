"""Imports made-up routing, and compares what the analyses say with counts by a few lines of Python.

Usage: check_import.py TENSORTRACE WORKDIR

As CSV (by token, and by batch with all tokens of a layer together), JSON lines and lists: `routing
--json` has the counts and weights by expert, `heat --by expert` the bytes, and `whatif --unit expert`
misses what an LRU and Belady's rule of a few lines miss. Other published forms, of two interleaved requests:
each choice, weight, position and sequence of the trace, as tests/golden/decode.py reads them. Exits with 1 when
anything differs.
"""

import collections
import csv
import io
import json
import os
import random
import struct
import subprocess
import sys
from pathlib import Path

TOOL, WORK = sys.argv[1], Path(sys.argv[2])
LAYERS, EXPERTS, PICKED, TOKENS, BATCH, BYTES = (0, 1, 3), 16, 3, 60, 5, 8192
KIND_EXPERTS, KIND_WEIGHTS = 2, 3  # of details, by docs/format.md
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


def as_float(bits):
    return None if bits is None else struct.unpack("<f", struct.pack("<I", bits))[0]


def decoded(trace):
    """What the other decoder finds: by (sequence, position) and layer the experts in order with weights."""
    decode = Path(os.environ["TT_SOURCE_DIR"]) / "tests/golden/decode.py"
    text = subprocess.run([sys.executable, decode, trace], capture_output=True, check=True).stdout
    found = json.loads(text)
    meta = collections.defaultdict(list)
    for kind, record in found["meta"]:
        meta[kind].append(record)
    name = {s["id"]: s["text"] if isinstance(s["text"], str) else bytes(s["text"]).decode() for s in meta["string"]}
    graph = {g["id"]: g for g in meta["graph"]}
    batches, out = meta["batch"], collections.defaultdict(dict)
    for run_id, node, _, kind, token, first, *values in found["details"]:
        batch = batches[run_id - 1]
        place = batch["positions"][token] if batch["positions"] else None
        key = (batch["sequences"][token][0] if batch["sequences"] else None, place)
        layer = int(name[graph[meta["run"][run_id - 1]["graph"]]["tensors"][node]["name"]].rsplit("-", 1)[1])
        for i, value in enumerate(values):
            out[key, layer].setdefault(first + i, {})[kind] = value
    return {k: [(v[rank][KIND_EXPERTS], as_float(v[rank].get(KIND_WEIGHTS))) for rank in sorted(v)] for k, v in out.items()}, len(batches)


def requests():
    """By (sequence, position) and layer: experts with weights, in the order of the router."""
    rng = random.Random(11)
    return {((s, t), layer): [(e, rng.randrange(1, 64) / 64) for e in rng.sample(range(EXPERTS), PICKED)]
            for t in range(9) for s in (0, 1) for layer in LAYERS}


def check_form(name, lines, want, batches, *options):
    source, trace = WORK / name, WORK / f"{name}.ttrace"
    source.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    run("import", source, "-o", trace, "--force", "--expert-bytes", f"{BYTES}B", *options)
    expect(name, decoded(trace), (want, batches))


def check_forms():
    asked = requests()
    ids = {k: [e for e, _ in v] for k, v in asked.items()}
    plain = {k: [(e, None) for e in v] for k, v in ids.items()}
    weights = {k: [w for _, w in v] for k, v in asked.items()}
    tokens = len(asked) // len(LAYERS)
    # One object for each token and layer, with the keys of several loggers.
    for form, (request, token, layer, experts, weight) in {
        "vllm_logger": ("req_id", "token_idx", "layer", "topk_ids", "topk_weights"),
        "moevm": ("sequence", "token", "layer", "experts", "scores"),
        "cache_lab": ("session_id", "token_position", "layer_idx", "selected_experts", "selected_probabilities"),
        "gates": ("request_id", "position", "layer_id", "selected_ids", "gate_weights"),
    }.items():
        rows = [json.dumps({"record_type": "metadata", "num_experts": EXPERTS, "layers": [1]})]
        rows += [json.dumps({"type": "route", experts: ids[k, n], token: k[1], "phase": "prompt", layer: n,
                             weight: weights[k, n], request: f"r{k[0]}"}) for k, n in asked]
        check_form(f"{form}.jsonl", rows, asked, tokens)
    # A row of a table for each expert, or for each token and layer; separated by tabs, blanks, semicolons.
    check_form("slots.tsv", ["request_id\tlayer_id\ttoken\troute_slot\texpert_id\tweight"] +
               ["\t".join(map(str, (f"r{k[0]}", n, k[1], i, e, w))) for k, n in asked
                for i, (e, w) in sorted(enumerate(asked[k, n]), reverse=True)], asked, tokens)
    check_form("lists.csv", ["\ufeffseq,token,layer,experts,note"] +
               [f'{k[0]},{k[1]},{n},"{ids[k, n]}",x' for k, n in asked], plain, tokens, "--ignore", "Note")
    check_form("blanks.txt", ["seq token layer experts"] +
               [f"{k[0]} {k[1]} {n} {' '.join(map(str, ids[k, n]))}" for k, n in asked], plain, tokens)
    check_form("semicolons.csv", ["seq;token;layer;experts"] +
               [f"{k[0]};{k[1]};{n};{' '.join(map(str, ids[k, n]))}" for k, n in asked], plain, tokens)
    # A layer of a batch in a line: tokens without numbers, and with.
    both = [(s, t) for t in range(9) for s in (0, 1)]
    rows = [json.dumps({"layer": n, "batch_id": t, "request_id": f"r{s}", "origin_rows": [0],
                        "topk_experts": [ids[(s, t), n]], "positions": [t], "topk_weights": [weights[(s, t), n]]})
            for t in range(9) for n in LAYERS for s in (0, 1)]
    check_form("batches.jsonl", rows, asked, 9)
    rows = [json.dumps({"layer": n, "batch_id": 7, "topk_experts": [ids[k, n] for k in both]}) for n in LAYERS]
    source = WORK / "unnumbered.jsonl"
    source.write_text("\n".join(rows), encoding="utf-8")
    trace = WORK / "unnumbered.ttrace"
    made = json.loads(run("import", source, "-o", trace, "--force", "--json", "--expert-bytes", f"{BYTES}B"))
    expect("unnumbered", (made["n_tokens"], made["batches"], made["n_sequences"], made["picks"]),
           (len(both), 1, None, len(both) * len(LAYERS) * PICKED))
    told = {(l["layer_id"], e["expert_id"]): e["count"] for l in json.loads(run("routing", "--json", trace))["layers"]
            for e in l["experts"]}
    expect("unnumbered counts", {k: v for k, v in told.items() if v},
           dict(collections.Counter((n, e) for (_, n), v in ids.items() for e in v)))
    # A request in a line: tokens x layers x picked.
    rows = [json.dumps({"request_id": s, "routed_experts": [
        [ids[(s, t), n] if n in LAYERS else [] for n in range(max(LAYERS) + 1)] for t in range(9)]}) for s in (0, 1)]
    check_form("routed.jsonl", rows, plain, tokens)


picked = make()
check("tokens.csv", as_csv(picked, False), picked, 1)
check("batches.csv", as_csv(picked, True), picked, BATCH)
check("objects.jsonl", as_json(picked), picked, 1)
check("lists.txt", as_lists(picked), picked, 1)
check_forms()
print(f"{compared} comparisons")
