#!/usr/bin/env python3
"""A context that got full and was shifted: which token came behind it, and how late, by the program's log.

Usage: check_shift.py TENSORTRACE TRACE LOG

LOG has, with -v, for each shift how many tokens were in the context ("swapping: n_past = N") and how many are left
("after swap: n_past = N"): the position of the next token.
"""

import re
import sys
from pathlib import Path

import traces


def main():
    binary, trace, log = sys.argv[1:]
    problem = traces.Problems(trace)
    text = Path(log).read_text(encoding="utf-8", errors="replace")
    full = [int(n) for n in re.findall(r"context full, swapping: n_past = (\d+)", text)]
    left = [int(n) for n in re.findall(r"after swap: n_past = (\d+)", text)]
    if not full or len(full) != len(left):
        problem(f"the program logs {len(full)} shifts and the end of {len(left)}")
        problem.finish()
    info = traces.info_of(binary, trace)
    batches = info["batches"]
    moves = [i for i, b in enumerate(batches) if b["n_tokens"] == 0]
    problem.expect("batches without tokens", len(full), len(moves))
    tokens = [b for b in batches if b["phase"] == "generate"]
    behind = [i for i in range(1, len(tokens)) if tokens[i]["positions"][0] != tokens[i - 1]["positions"][0] + 1]
    problem.expect("tokens in front of a shift", [n - 1 for n in full], [tokens[i - 1]["positions"][0] for i in behind])
    problem.expect("tokens behind a shift", left, [tokens[i]["positions"][0] for i in behind])
    for move, i in zip(moves, behind):
        moved, token, before = batches[move], tokens[i], tokens[i - 1]
        problem.expect("batch in front of the move", before["batch_id"], batches[move - 1]["batch_id"])
        problem.expect("batch behind the move", token["batch_id"], batches[move + 1]["batch_id"])
        why = traces.tool(binary, "why", "--json", "--batch", token["batch_id"], trace)
        # Since the token before it: the move is in that time.
        gap_ns = token["start_ns"] - before["end_ns"]
        if abs(why["before_ns"] - gap_ns) > 2:
            problem(f"before_ns: expected {gap_ns}, got {why['before_ns']}")
        if why["late_ns"] is not None and abs(why["late_ns"] - (gap_ns - why["usual_before"]["median_ns"])) > 2:
            problem(f"late_ns: expected {gap_ns} less {why['usual_before']['median_ns']}, got {why['late_ns']}")
        named = f"(batch {moved['batch_id']}, "
        if not any("the context was full" in line and named in line for line in why["text"]):
            problem(f"the shift is not named: {why['text']}")
        if any("computed nothing" in line for line in why["text"]):
            problem(f"the engine moved positions, and is said to have computed nothing: {why['text']}")
        for other in (before, tokens[i + 1]):
            why = traces.tool(binary, "why", "--json", "--batch", other["batch_id"], trace)
            if any("context was full" in line for line in why["text"]):
                problem(f"another token has the shift: {why['text']}")
    # Those that are listed as late say what made them so.
    for slow in traces.tool(binary, "why", "--json", trace)["slow"]:
        is_behind = slow["batch_id"] in [tokens[i]["batch_id"] for i in behind]
        if slow["late_ns"] is not None:
            problem.expect(f"token {slow['batch_id']} is said to be late for a shift", is_behind, "context was full" in slow["text"])
    problem.finish(f"{len(full)} shifts")


main()
