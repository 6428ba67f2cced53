#!/usr/bin/env python3
"""Asks a llama-server the same things again, so that parts of prompts are computed twice.

Usage: ask_again.py LOG WAY...

LOG is what the server prints: the port is in it. Each WAY is a request: "a", "b" are prompts of 600 tokens of their
own, "c" is another one that begins like "a", for 400 tokens. After an "@" follows the slot. Prints for each request a line of JSON:
its way, its prompt's tokens, and the "timings" of the answer.
"""

import json
import sys

from ask_cached import post
from ask_server import port_of, wait_until_ready


def tokens(way):
    first, n = {"a": (400, 600), "b": (1100, 600), "c": (400, 400)}[way]
    return [1] + [first + i for i in range(n - 1)] + ([1800 + i for i in range(50)] if way == "c" else [])


def main():
    base = f"http://127.0.0.1:{port_of(sys.argv[1])}"
    wait_until_ready(base)
    for word in sys.argv[2:]:
        way, _, slot = word.partition("@")
        body = {"prompt": tokens(way), "n_predict": 4, "temperature": 0, "ignore_eos": True}
        if slot:
            body["id_slot"] = int(slot)
        print(json.dumps({"way": way, "prompt": tokens(way), "timings": post(base, "/completion", body)["timings"]}))


if __name__ == "__main__":
    main()
