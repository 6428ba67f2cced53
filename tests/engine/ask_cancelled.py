#!/usr/bin/env python3
"""Asks a llama-server one thing after the other, and hangs up in the middle of some answers.

Usage: ask_cancelled.py LOG

LOG is what the server prints: the port is in it, and of a request that it cancels how many tokens were in the slot.
Prints the "timings" of each answer as a line of JSON; those of a cancelled one follow from the log: what is in the slot
is the prompt and all generated tokens but the last one, as it is behind a whole answer.
"""

import json
import re
import sys
import time
import urllib.request
from pathlib import Path

from ask_cached import post
from ask_server import PATIENCE_S, port_of, wait_until_ready

ENDLESS = 1000000
REQUESTS = (  # prompt, tokens to generate, tokens after which the client hangs up (0: never)
    ("Once upon a time", 12, 0),
    ("Hello there", ENDLESS, 5),
    ("The river and the house", 9, 0),
    ("There was a little", ENDLESS, 1),
    ("A prompt that is longer than the others", ENDLESS, 40),
    ("Hi", 7, 0),
)


def ask(base, prompt, n, hang_up_after):
    """Returns the number of tokens that came, and the timings, if the answer was whole."""
    body = {"prompt": prompt, "n_predict": n, "temperature": 0, "ignore_eos": True, "stream": True, "return_tokens": True, "cache_prompt": False}
    request = urllib.request.Request(base + "/completion", json.dumps(body).encode(), {"Content-Type": "application/json"})
    got = 0
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        for line in answer:
            if not line.startswith(b"data: "):
                continue
            event = json.loads(line[6:])
            if event.get("stop"):
                return got, event["timings"]
            got += len(event["tokens"])
            if hang_up_after and got >= hang_up_after:
                return got, None
    sys.exit(f"{prompt}: the answer has no end")


def cancelled(log, n):
    """The number of tokens in the slot when each request was cancelled."""
    until = time.monotonic() + PATIENCE_S
    while True:
        text = Path(log).read_text(errors="replace")
        tasks = re.findall(r"cancel task, id_task = (\d+)", text)
        released = dict(re.findall(r"task (\d+) \| stop processing: n_tokens = (\d+)", text))
        if len(tasks) == n and all(task in released for task in tasks):
            return [int(released[task]) for task in tasks]
        if time.monotonic() > until:
            sys.exit(f"{log}: of {n} requests that were hung up, {len(tasks)} were cancelled")
        time.sleep(0.05)


def main():
    log = sys.argv[1]
    base = f"http://127.0.0.1:{port_of(log)}"
    wait_until_ready(base)
    answers = [ask(base, *request) for request in REQUESTS]
    in_slot = cancelled(log, sum(timings is None for _, timings in answers))
    for (prompt, _, _), (got, timings) in zip(REQUESTS, answers):
        if timings is None:
            prompt_n = len(post(base, "/tokenize", {"content": prompt, "add_special": True})["tokens"])
            timings = {"cancelled": True, "prompt_n": prompt_n, "predicted_n": in_slot.pop(0) - prompt_n + 1}
        if got > timings["predicted_n"]:
            sys.exit(f"{prompt}: {got} tokens came of {timings}")
        print(json.dumps(timings))


if __name__ == "__main__":
    main()
