#!/usr/bin/env python3
"""Prompts that a server computed again, against what it says to its clients and in its log.

Usage: check_recomputed.py TENSORTRACE TRACE ANSWERS LOG LOSS...

ANSWERS: lines of ask_again.py. Of a prompt, as many tokens are computed again as it has in common with any
earlier one, less those that the server says were cached ("cache_n"); one alone is not listed. LOSS: why, of each.
"""

import json
import re
import sys
from pathlib import Path

import traces


def common(a, b):
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


def main():
    binary, trace, answers, log, *losses = sys.argv[1:]
    problem = traces.Problems(trace)
    want, earlier = [], []
    for line in Path(answers).read_text().splitlines():
        request = json.loads(line)
        prompt, timings = request["prompt"], request["timings"]
        again = max((common(prompt, e) for e in earlier), default=0) - timings["cache_n"]
        earlier.append(prompt)
        if again > 1:
            want.append((timings["cache_n"], again, timings["prompt_n"]))
    overview = traces.tool(binary, "why", "--json", trace)
    rows = sorted(overview["recomputed"], key=lambda r: r["batch_id"])
    problem.expect("position, tokens computed again, of the prompt", want, [(r["first_position"], r["n_tokens"], r["n_prompt"]) for r in rows])
    problem.expect("why", losses, [r["loss"] for r in rows])
    findings = [f for f in overview["findings"] if f["kind"] == "recomputed"]
    problem.expect("findings", 1 if want else 0, len(findings))
    if want and f"computed again {sum(w[1] for w in want)} tokens" not in findings[0]["text"].replace(",", ""):
        problem(f"the finding has another number: {findings[0]['text']}")
    forced = len(re.findall("forcing full prompt re-processing", Path(log).read_text(errors="replace")))
    problem.expect("prompts that the server says it was forced to compute", forced, losses.count("not_held"))
    batches = {b["batch_id"]: b for b in traces.info_of(binary, trace)["batches"]}
    for row in rows:
        inside = [b for i, b in batches.items() if row["batch_id"] <= i <= row["last_batch_id"]]
        took = sum(b["end_ns"] - b["start_ns"] for b in inside)
        if not 0 < row["time_ns"] <= took + len(inside):
            problem(f"time_ns {row['time_ns']}: its batches took {took}")
        why = traces.tool(binary, "why", "--json", "--batch", row["batch_id"], trace)
        problem.expect("why of its batch", row, why["recomputed"])
        if not any(f"{row['n_tokens']} of {row['n_prompt']} tokens of a prompt" in text for text in why["text"]):
            problem(f"why does not say it: {why['text']}")
    others = [b["batch_id"] for b in batches.values() if not any(r["batch_id"] <= b["batch_id"] <= r["last_batch_id"] for r in rows)]
    for other in others[:3] + others[-1:]:
        why = traces.tool(binary, "why", "--json", "--batch", other, trace)
        problem.expect(f"of batch {other}", None, why["recomputed"])
    problem.finish(f"{len(rows)} prompts computed again")


if __name__ == "__main__":
    main()
