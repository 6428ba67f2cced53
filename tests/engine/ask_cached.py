#!/usr/bin/env python3
"""Asks a llama-server one thing after the other, then several at once.

Usage: ask_cached.py LOG

LOG is what the server prints: the port is in it. Prompts are repeated, longer by a token, and cut short, so that all
but one token, or all but a few, are cached. Prints the "timings" of each answer as a line of JSON.
"""

import json
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from ask_server import PATIENCE_S, port_of, wait_until_ready


def post(base, path, body):
    request = urllib.request.Request(base + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def ask(base, prompt, n):
    body = {"prompt": prompt, "n_predict": n, "temperature": 0, "ignore_eos": True}
    return json.dumps(post(base, "/completion", body)["timings"])


def main():
    base = f"http://127.0.0.1:{port_of(sys.argv[1])}"
    wait_until_ready(base)
    print(ask(base, "Once upon a time there was", 12))
    print(ask(base, "Once upon a time there was", 12))
    print(ask(base, "Once upon a time there was", 1))
    tokens = post(base, "/tokenize", {"content": "Hello there my friend", "add_special": True})["tokens"]
    for longer, n in (([], 1), ([500], 4), ([500, 700], 4), ([500, 700, 900, 1100], 2)):
        print(ask(base, tokens + longer, n))
    print(ask(base, "one two three one two three one two three one two three", 30))
    with ThreadPoolExecutor(3) as clients:
        for line in clients.map(lambda p: ask(base, p, 9), ["There was a", "A prompt that is longer", "Hi"]):
            print(line)


if __name__ == "__main__":
    main()
