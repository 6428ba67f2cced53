#!/usr/bin/env python3
"""An attack on a trace with values: which tokens do they tell whoever has the model?

Usage: check_read_back.py MODEL TRACE all|none

Rows of the embedding are looked up in the table of the model by the first elements that a fingerprint keeps, and by
the whole row where the data was kept; the largest logit names the token that was chosen. `all`: every token is read
back so (the attack works), and `none`: no output is in the trace that could be looked up.
The model's embedding is F32 (synth --type=F32).
"""

import struct
import sys
from pathlib import Path

import check_values
import traces


def rows_of_embedding(binary, model):
    _, offset, size = traces.layout_of(binary, model)["token_embd.weight"]
    shown = traces.tool(binary, "gguf", "--json", "--no-experts", model)
    width = next(t["shape"][0] for t in shown["tensors"] if t["name"] == "token_embd.weight")
    data = Path(model).read_bytes()[offset : offset + size]
    return [data[i : i + 4 * width] for i in range(0, size, 4 * width)]


def looked_up(values, table):
    """Of each batch of one token: the rows of the table that the first elements fit."""
    found = {}
    for (run, node), print_ in values.prints.items():
        t = values.tensor(run, node)
        if values.names[t["op_name"]] != "GET_ROWS" or len(print_["prefix"]) < 8 or print_["n"] * 4 != len(table[0]):
            continue
        key = struct.pack("<8f", *print_["prefix"])
        ids = [i for i, row in enumerate(table) if row.startswith(key)]
        if ids:
            found[run] = ids
    return found


def chosen(values):
    found = {}
    for key, parts in values.data.items():
        if values.name(key) != "result_output":
            continue
        logits = check_values.floats_of("f32", b"".join(payload for _, payload in parts))
        vocabulary = values.tensor(*key)["ne"][0]
        last = logits[-vocabulary:]
        found[key[0]] = last.index(max(last))
    return found


def main(binary, model, path, wanted):
    complain = traces.Problems(Path(path).name)
    values = check_values.Values(path)
    table = rows_of_embedding(binary, model)
    found, picks = looked_up(values, table), chosen(values)
    if wanted == "none":
        complain.expect("outputs with values", 0, len(values.prints) + len(values.data))
        complain.finish()
    batches = traces.records(values.trace, "batch")
    tokens = [b["tokens"] for b in batches]
    single = {i: t[0] for i, t in enumerate(tokens) if t and len(t) == 1}
    of_run = {run: record["batch"] - 1 for run, record in values.runs.items()}
    read = {of_run[run]: ids for run, ids in found.items()}
    complain.expect("tokens read back from rows", {i: [t] for i, t in single.items()}, {i: read.get(i) for i in single})
    if not single:
        complain("no batch of one token: this shows nothing")
    for run, token in picks.items():
        after = of_run[run] + 1
        if after < len(tokens):
            complain.expect(f"token read back from the logits of batch {after - 1}", tokens[after][0], token)
    if values.data and not picks:
        complain("no logits: this shows nothing")
    complain.finish()


main(*sys.argv[1:])
