#!/usr/bin/env python3
"""A llama-server under trace computes as many tokens of prompts, and generates as many, as it tells
its clients.

Usage: check_server.py TENSORTRACE TRACE MODEL SERVER...

Several clients at once, then one alone. A response's `timings` say how many tokens of the prompt were
computed (prompt_n) and how many were predicted (predicted_n): the last of these is not computed.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import traces

CLIENTS = 5


def ask(port, text, n, results):
    body = {"prompt": text, "n_predict": n, "ignore_eos": True, "stream": True, "cache_prompt": True, "temperature": 0}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/completion", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=240) as reply:
        for line in reply:
            if line.startswith(b"data: "):
                event = json.loads(line[6:])
                if event.get("stop"):
                    results.append(event["timings"])


def wait_until_ready(port, server):
    while server.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as reply:
                if reply.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    sys.exit("the server ended before it was ready")


def main(words):
    binary, path, model, *command = words
    complain = traces.Problems("server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    if os.path.exists(path):
        os.remove(path)
    with open("server.log", "wb") as log:
        server = subprocess.Popen([binary, "run", "-q", "-o", path, "--", *command, "-m", model, "-t", "2", "-np", "3", "-c", "1536",
                                   "-b", "64", "--no-ui", "--host", "127.0.0.1", "--port", str(port)], stdout=log, stderr=log)
    results = []
    try:
        wait_until_ready(port, server)
        clients = [threading.Thread(target=ask, args=(port, "the river and the house " * (i * 3 + 1), 12 + 7 * i, results)) for i in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        ask(port, "a single one", 9, results)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)
    complain.expect("replies", CLIENTS + 1, len(results))
    info = traces.info_of(binary, path)
    complain.expect("tokens of prompts", sum(t["prompt_n"] for t in results), info["prompt"]["n_tokens"])
    complain.expect("generated tokens", sum(t["predicted_n"] - 1 for t in results), info["generate"]["n_tokens"])
    complain.expect("tokens of unknown phase", 0, info["unknown"]["n_tokens"])
    if info["mixed"]["batches"] == 0:
        complain("no batch of prompts and generated tokens: the clients were not served at once")
    complain.finish(f"{len(results)} replies, {info['prompt']['n_tokens']} tokens of prompts, {info['generate']['n_tokens']} generated")


if __name__ == "__main__":
    main(sys.argv[1:])
