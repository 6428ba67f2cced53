#!/usr/bin/env python3
"""A trace of `run --no-text` holds no token id, no text, and none of the words given.

Usage: check_no_text.py TENSORTRACE TRACE WORD...

The words are looked for in the file as it is and in every chunk unpacked. Row numbers of
the embedding are token ids in another place, so they may not be there either.
"""

import sys
from pathlib import Path

import traces


def unpacked(data):
    at = 64
    while True:
        try:
            chunk, payload, at = traces.decoder.read_chunk(data, at)
        except traces.decoder.Bad:
            return
        yield payload
        if chunk["type"] == 3:
            return


def embedding_indices(trace):
    """(graph, tensor) of the leafs that hold row numbers of the embedding."""
    strings = {r["id"]: r["text"] for r in traces.records(trace, "string")}
    for graph in traces.records(trace, "graph"):
        tensors = graph["tensors"]
        for node in tensors[: graph["n_nodes"]]:
            if strings.get(node["op_name"]) != "GET_ROWS" or len(node["src"]) < 2:
                continue
            table = tensors[node["src"][0] - 1]
            if strings.get(table["name"]) == "token_embd.weight":
                yield graph["id"], node["src"][1] - 1


def main(words):
    _, path, *secrets = words
    complain = traces.Problems(Path(path).name)
    trace = traces.decoded(path)
    data = Path(path).read_bytes()
    batches = traces.records(trace, "batch")
    if not batches:
        complain("no batches: this shows nothing")
    for number, batch in enumerate(batches):
        if batch.get("tokens") or batch["flags"] & 1:
            complain(f"batch {number}: token ids are there")
    complain.expect("records of token texts", 0, len(traces.records(trace, "token_text")))
    graphs = {r["id"]: r["graph"] for r in traces.records(trace, "run")}
    hidden = set(embedding_indices(trace))
    if not hidden:
        complain("no row gather of the embedding: this shows nothing")
    for record in traces.records(trace, "indices"):
        if (graphs.get(record["run"]), record["tensor"]) in hidden:
            complain("the embedding's row numbers, which are token ids, are there")
    for secret in secrets:
        for part in (data, *unpacked(data)):
            if secret.encode() in part:
                complain(f"the word {secret} is there")
    complain.finish(f"{len(batches)} batches without text")


if __name__ == "__main__":
    main(sys.argv[1:])
