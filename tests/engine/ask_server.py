#!/usr/bin/env python3
"""Asks a llama-server several things at once.

Usage: ask_server.py LOG PROMPT...

LOG is what the server prints: the port is in it. Each PROMPT has a client of its own, all begin
together, and two more requests follow. Prints a line for each answer, in the order of the prompts:
how many tokens were read, how many were made, and the text.
"""

import json
import re
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PATIENCE_S = 30


def port_of(log):
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", Path(log).read_text(errors="replace"))
        if found:
            return found.group(1)
        time.sleep(0.05)
    sys.exit(f"{log}: no server is listening after {PATIENCE_S} s")


def wait_until_ready(base):
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(base + "/health", timeout=PATIENCE_S) as answer:
                if answer.status == 200:
                    return
        except OSError:
            pass
        time.sleep(0.05)
    sys.exit(f"the server is not ready after {PATIENCE_S} s")


def ask(base, prompt):
    body = {"prompt": prompt, "n_predict": 8, "temperature": 0, "ignore_eos": True, "cache_prompt": False}
    request = urllib.request.Request(base + "/completion", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        got = json.load(answer)
    return f"{got['tokens_evaluated']} {got['tokens_predicted']} {got['content']!r}"


def main():
    log, *prompts = sys.argv[1:]
    base = f"http://127.0.0.1:{port_of(log)}"
    wait_until_ready(base)
    with ThreadPoolExecutor(len(prompts)) as clients:
        for line in clients.map(lambda p: ask(base, p), prompts):
            print(line)
    for prompt in prompts[:2]:
        print(ask(base, prompt))


if __name__ == "__main__":
    main()
