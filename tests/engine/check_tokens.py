#!/usr/bin/env python3
"""The batches of a trace hold the rows that the program gave to llama_decode or llama_process.

Usage: check_tokens.py TENSORTRACE TRACE ROWS N_UBATCH

ROWS is what programs/sequences.c printed: "decode N" and its rows for each call, and
"piece TOKEN HEX" for the text of each token; token -1 is an embedding. Every row of a call must be in exactly one
batch of it, with its token, position and sequences, in whatever order; but a batch begins with
the first row of the call that was in none before; no batch may have more than N_UBATCH rows; every token has its text; both readers are of one opinion.
"""

import sys
from collections import Counter
from pathlib import Path

import traces

SPECIAL_BELOW = 3  # tokens of a synthetic vocabulary whose text is a matter of taste


def read_rows(path):
    calls, pieces, kinds = [], {}, {}
    for line in Path(path).read_text().splitlines():
        word, *rest = line.split()
        if word == "decode":
            calls.append([])
        elif word == "row":
            token, position, sequences, kind = rest
            row = (int(token) if int(token) >= 0 else None, int(position), tuple(sorted(map(int, sequences.split(",")))))
            calls[-1].append(row)
            kinds.setdefault((len(calls) - 1, row), kind)
        elif word == "piece":
            pieces[int(rest[0])] = bytes.fromhex(rest[1] if len(rest) > 1 else "")
    return calls, pieces, kinds


def rows_of(batch):
    """(token, position, sequences) of each row; None for what was not observed."""
    unknown = [None] * batch["n_tokens"]
    sequences = batch.get("sequences")
    return list(zip(batch.get("tokens") or unknown, batch.get("positions") or unknown,
                    [tuple(sorted(s)) for s in sequences] if sequences else unknown))


def compare_first_rows(complain, number, inside, wanted):
    """However llama.cpp splits a call, it begins a batch with the first row that is left."""
    left = list(wanted)
    for b in inside:
        rows = rows_of(b)
        if rows[0] != left[0]:
            complain(f"call {number}: a batch begins with {rows[0]}, left is {left[0]} first")
        for row in rows:
            if row not in left:
                return
            left.remove(row)


def compare_calls(complain, trace, calls, n_ubatch):
    decodes = traces.records(trace, "decode")
    batches = traces.records(trace, "batch")
    complain.expect("calls of the engine", len(calls), len(decodes))
    taken = 0
    for number, (decode, wanted) in enumerate(zip(decodes, calls)):
        inside = [b for b in batches if decode["begin_ticks"] <= b["ticks"] <= decode["end_ticks"]]
        taken += len(inside)
        got = [row for b in inside for row in rows_of(b)]
        complain.expect(f"call {number}: n_tokens", len(wanted), decode["n_tokens"])
        for row, n in (Counter(wanted) - Counter(got)).items():
            complain(f"call {number}: row {row}, {n} times: not in the trace")
        for row, n in (Counter(got) - Counter(wanted)).items():
            complain(f"call {number}: row {row}, {n} times: in the trace, but not decoded")
        compare_first_rows(complain, number, inside, wanted)
        for b in inside:
            if b["n_tokens"] > n_ubatch:
                complain(f"call {number}: a batch of {b['n_tokens']} rows")
    complain.expect("batches outside of any call", 0, len(batches) - taken)


def phase_of(kinds):
    if "w" in kinds:
        return "warmup"
    return {"p": "prompt", "g": "generate", "gp": "mixed"}.get("".join(sorted(set(kinds))), "not in the call")


def compare_phases(complain, trace, info, kinds):
    """What the program knows its rows to be, against each batch's phase and the totals."""
    decodes = traces.records(trace, "decode")
    totals = Counter()
    for number, batch in enumerate(traces.records(trace, "batch")):
        call = next(i for i, d in enumerate(decodes) if d["begin_ticks"] <= batch["ticks"] <= d["end_ticks"])
        wanted = [kinds.get((call, row), "?") for row in rows_of(batch)]
        totals.update(wanted)
        shown = info["batches"][number]
        complain.expect(f"batch {number}: phase", phase_of(wanted), shown["phase"])
        complain.expect(f"batch {number}: phase number", ["unknown", "prompt", "generate", "mixed", "warmup"].index(shown["phase"]), batch["phase"])
        complain.expect(f"batch {number}: n_generate", wanted.count("g"), shown["n_generate"])
        if batch["phase"] == 3:
            complain.expect(f"batch {number}: n_generate of the other decoder", wanted.count("g"), batch["n_generate"])
    for kind, phase in (("p", "prompt"), ("g", "generate"), ("w", "warmup")):
        complain.expect(f"tokens of {phase}", totals[kind], info[phase]["n_tokens"])
    complain.expect("unknown batches", 0, info["unknown"]["batches"])
    if not totals["p"] or not totals["g"] or info["mixed"]["batches"] == 0:
        complain("there is not every kind of batch")
    if info["warmup"]["tokens_per_s"] is not None:
        complain("a warm-up has a rate")


def compare_texts(complain, trace, pieces):
    texts = {}
    for record in traces.records(trace, "token_text"):
        if (record["vocabulary"], record["token"]) in texts:
            complain(f"token {record['token']}: its text is there twice")
        texts[record["vocabulary"], record["token"]] = bytes(record["bytes"])
    vocabularies = {b.get("vocabulary", 0) for b in traces.records(trace, "batch") if b.get("tokens")}
    complain.expect("the vocabulary of all batches with tokens", {1}, vocabularies)
    for token, piece in pieces.items():
        got = texts.get((1, token))
        if got is None or (got != piece and token >= SPECIAL_BELOW):
            complain(f"token {token}: text {got}, expected {piece}: another text")


def as_json(piece):
    """Bytes that are no UTF-8 are replaced, each by itself."""
    return piece.decode("utf-8", "replace")


def compare_readers(complain, trace, info, pieces):
    shown = info["batches"]
    for number, batch in enumerate(shown):
        for token, text in zip(batch["tokens"] or [], batch["texts"] or []):
            if token >= SPECIAL_BELOW and text != as_json(pieces[token]):
                complain(f"batch {number}: info has {text!r} for token {token}: another text")
    for number, (a, b) in enumerate(zip(shown, traces.records(trace, "batch"))):
        for key in ("n_tokens", "tokens", "positions", "sequences"):
            if a.get(key) != b.get(key):
                complain(f"batch {number}: {key}: info has {a.get(key)}, the other decoder {b.get(key)}")


def main(words):
    binary, path, rows, n_ubatch = words
    complain = traces.Problems(Path(path).name)
    calls, pieces, kinds = read_rows(rows)
    trace = traces.decoded(path)
    if "cut" in trace:
        complain(f"not whole: {trace['cut']}")
    compare_calls(complain, trace, calls, int(n_ubatch))
    compare_phases(complain, trace, traces.info_of(binary, path), kinds)
    compare_texts(complain, trace, pieces)
    compare_readers(complain, trace, traces.info_of(binary, path), pieces)
    complain.finish(f"{len(calls)} calls, {sum(map(len, calls))} rows, {len(pieces)} texts")


if __name__ == "__main__":
    main(sys.argv[1:])
