#!/usr/bin/env python3
"""Tokens that a trace counts, against what the program printed of them.

Usage: check_delivered.py TENSORTRACE NAME=VALUE...

Names: trace; log (what the program printed; the patterns below) or answers (a line of JSON for each request to a
server: its "timings"); and numbers to expect of `info`: prompt, delivered, verified, accepted,
first_tokens (0: none), warmup.
"""

import json
import re
import sys
from pathlib import Path

import traces

PATTERNS = {
    "encoded": r"encoded +(\d+) tokens",
    "decoded": r"decoded +(\d+) tokens",
    "n_drafted": r"n_drafted *= *(\d+)",
    "n_accept": r"n_accept *= *(\d+)",
    "total_prompt": r"Total prompt tokens: *(\d+)",
    "total_gen": r"Total gen tokens: *(\d+)",
    "perf_prompt": r"prompt eval time = .*/ *(\d+) tokens",
    "perf_runs": r" eval time = .*/ *(\d+) runs",
}


def printed(path):
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    found = {name: re.search(pattern, text) for name, pattern in PATTERNS.items()}
    return {name: int(match.group(1)) for name, match in found.items() if match}


def of_log(path, looks_ahead):
    said = printed(path)
    want = {}
    if "total_gen" in said:
        return {"prompt": said["total_prompt"], "delivered": said["total_gen"]}
    if "perf_runs" in said and "encoded" not in said:
        return {"prompt": said["perf_prompt"], "delivered": said["perf_runs"]}
    if "encoded" in said:
        want["prompt"] = said["encoded"]
    # The last token is chosen and not computed; the look ahead does not count the first.
    if "decoded" in said:
        want["delivered"] = said["decoded"] - (0 if looks_ahead else 1)
    if "n_accept" in said:
        want["accepted"] = said["n_accept"]
    if "n_drafted" in said:
        want["verified"] = said["n_drafted"]
    if looks_ahead:
        want.pop("verified", None)
    return want


def of_answers(path):
    answers = [json.loads(line) for line in Path(path).read_text().splitlines()]
    total = {key: sum(a.get(key) or 0 for a in answers) for key in ("prompt_n", "draft_n", "draft_n_accepted")}
    want = {
        "prompt": total["prompt_n"],
        "delivered": sum(max(a["predicted_n"] - 1, 0) for a in answers),
        "verified": total["draft_n"],
        "accepted": total["draft_n_accepted"],
        "first_tokens": sum(a["predicted_n"] > 1 for a in answers),
    }
    # Of a request that was cancelled the server does not tell its guesses.
    if any(a.get("cancelled") for a in answers):
        del want["verified"], want["accepted"]
    return want


def main():
    binary, *rest = sys.argv[1:]
    given = dict(word.split("=", 1) for word in rest)
    trace = given.pop("trace")
    problem = traces.Problems(trace)
    want = {}
    if "log" in given:
        want = of_log(given.pop("log"), given.pop("ahead", "") == "yes")
    if "answers" in given:
        want = of_answers(given.pop("answers"))
        # Mixed batches do not say which of their tokens are of which kind.
        if given.pop("slots", "1") != "1":
            del want["first_tokens"]
    want.update({name: int(value) for name, value in given.items()})
    if not want:
        problem("the program printed no numbers")
    info = traces.info_of(binary, trace)
    guesses = info["speculation"] or {"verified_tokens": 0, "accepted_tokens": 0, "undecided_tokens": 0}
    got = {
        "prompt": info["prompt"]["delivered_tokens"],
        "delivered": info["generate"]["delivered_tokens"],
        "verified": guesses["verified_tokens"],
        "accepted": guesses["accepted_tokens"],
        "first_tokens": (info["first_token"] or {"n": 0})["n"],
        "warmup": info["warmup"]["n_tokens"],
        "training": info["training"]["n_tokens"],
        "unknown": info["unknown"]["n_tokens"],
    }
    # Of the last guesses a program may end before it shows which were right.
    open_ = guesses["undecided_tokens"]
    for name, value in want.items():
        if name in ("delivered", "accepted"):
            if not got[name] <= value <= got[name] + open_:
                problem(f"{name}: expected {value}, got {got[name]} and {open_} undecided")
        else:
            problem.expect(name, value, got[name])
    if open_ and open_ > 100:
        problem(f"{open_} undecided")
    sums = guesses["accepted_tokens"] + guesses.get("rejected_tokens", 0) + open_
    problem.expect("guesses", guesses["verified_tokens"], sums)
    problem.finish(" ".join(f"{k} {v}" for k, v in sorted(want.items())))


main()
