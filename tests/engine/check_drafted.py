#!/usr/bin/env python3
"""Prompt and generated tokens of speculative decoding, as the program counts them.

Usage: check_drafted.py TENSORTRACE TRACE OUTPUT TRIAL

OUTPUT: what llama-speculative or llama-speculative-simple printed. The target checks each drafted
token, and with them the one that is certain: as many as it chose itself, but the last one, which is
never computed. TRIAL: tokens that each context computed before, to try its memory.
"""

import re
import sys
from collections import Counter, defaultdict

import traces

PHASES = {0: "unknown", 1: "prompt", 2: "generated", 4: "warm-up"}


def main():
    _, trace, output, trial = sys.argv[1:]
    problem = traces.Problems(trace)
    printed = open(output, encoding="utf-8").read()
    said = {}
    for name, pattern in (
        ("prompt", r"encoded +(\d+) tokens"),
        ("n_predict", r"n_predict *= *(\d+)"),
        ("n_drafted", r"n_drafted *= *(\d+)"),
        ("n_accept", r"n_accept *= *(\d+)"),
    ):
        found = re.search(pattern, printed)
        said[name] = int(found.group(1)) if found else None
        problem.expect(f"{name} is printed", True, found is not None)
    if None in said.values():
        problem.finish()
    counts = defaultdict(Counter)
    for batch in traces.records(traces.decoded(trace), "batch"):
        generated = batch["n_generate"] if batch["phase"] == 3 else 0
        rest = batch["n_tokens"] - generated
        counts[batch["context"]]["generated"] += generated
        counts[batch["context"]]["prompt" if batch["phase"] == 3 else PHASES[batch["phase"]]] += rest
    problem.expect("contexts", 2, len(counts))
    target, draft = counts[1], counts[2]
    trial = int(trial)
    problem.expect("target: prompt", said["prompt"] + trial, target["prompt"])
    checked = said["n_drafted"] + said["n_predict"] - said["n_accept"] - 1
    problem.expect("target: checked", checked, target["generated"])
    # Its prompt's last token may be computed once more, with what was checked first.
    again = draft["prompt"] - said["prompt"] - trial
    problem.expect("draft: prompt", True, 0 <= again <= 1)
    problem.expect("draft: generated", True, draft["generated"] >= said["n_drafted"])
    for context in counts:
        problem.expect(f"context {context}: unknown", 0, counts[context]["unknown"])
    problem.finish()


main()
