#!/usr/bin/env python3
"""check_served.py TENSORTRACE HOSTILE_TRACE [threads]: `serve` against bad input.

Serves each golden trace, good and bad, traces damaged in many ways, and one with hostile names, and
asks every endpoint that the server lists (so new ones are in by themselves) with sane and with odd
parameters, several at a time. The server must answer each in time, with valid HTTP; JSON must be
strict and valid UTF-8; what is the caller's or the trace's fault is 4xx, and nothing is 5xx but 503
for a trace that cannot be read. It must not use much memory, and end with 0 when it is told to: what a
sanitizer finds is another code. `threads`: only what runs at the same time, for the thread
sanitizer.
"""

import concurrent.futures
import http.client
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from urllib.parse import urlencode

HERE = os.path.dirname(os.path.abspath(__file__))
REQUEST_S = 30
START_S = 60
# Far more than the golden traces take, far less than a length that was believed would.
RESIDENT_KB_MAX = 600_000

# What a parameter is asked for with, by its name; others get GENERAL.
SANE = {
    "other": ["1"],
    "measure": ["0"],  # that would measure this machine, for seconds
    "side": ["a", "b"],
    "phase": ["generate", "prompt"],
    "by": ["op", "layer", "tensor"],
    "sort": ["time"],
    "op": ["MUL_MAT", "ADD"],
    "q": ["ffn", "1"],
    "format": ["csv", "json"],
    "color": ["time"],
    "region": ["0", "1"],
    "time_ns": ["1000"],
    "threshold": ["0.03", "0.1"],
    "level": ["0.01", "0.05"],
    "batch": ["0", "1", "3"],
    "tokens": ["0..2", "1"],
    "layer": ["0", "1"],
    "from_ns": ["0", "1000.5"],
    "to_ns": ["1000000000", "5000"],
    "run": ["0", "1"],
    "node": ["0", "5"],
    "name": ["ffn_out-0", "blk.0.attn_q.weight"],
    "tensor": ["blk.0.attn_q.weight", "output_norm.weight"],
    "limit": ["10", "1"],
    "buckets": ["100", "1000"],
    "space": ["file0", "buffer0"],
    "spans": ["file0-0-65536-1", "buffer0-0-65536-2_file0-4096-9000-1"],
}
GENERAL = ["0", "1"]
ODD = [
    "",
    "-1",
    "1e999",
    "nan",
    "99999999999999999999999",
    "18446744073709551615",
    "4294967295",
    "0x10",
    "1..0",
    "%",
    b"\xff\xfe\xc0\x80",
    b"a\x01\n\r\x7f",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "'\" OR 1=1;--",
    "x" * 3000,
]


class Failures:
    def __init__(self):
        self.lock = threading.Lock()
        self.list = []

    def add(self, text):
        with self.lock:
            self.list.append(text)
            if len(self.list) <= 30:
                print("FAILED:", text, flush=True)


def strict(text):
    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text.decode("utf-8", "strict"), parse_constant=refuse)


class Server:
    """A server of some files; None as `host` when it refused to start."""

    def __init__(self, program, paths, work):
        self.errors = open(os.path.join(work, "stderr"), "w+b")
        self.child = subprocess.Popen(
            [program, "serve", "--no-open", "--port", "0", *paths],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.errors,
        )
        self.host, self.cookie = None, None
        timer = threading.Timer(START_S, self.child.kill)
        timer.start()
        for line in self.child.stdout:
            found = re.search(rb"http://(127\.0\.0\.1:\d+)(/open/\S+)", line)
            if found:
                self.host = found.group(1).decode()
                self.open(found.group(2).decode())
                break
        timer.cancel()

    def open(self, path):
        connection = http.client.HTTPConnection(self.host, timeout=REQUEST_S)
        connection.request("GET", path)
        reply = connection.getresponse()
        reply.read()
        self.cookie = reply.getheader("Set-Cookie").split(";")[0]
        connection.close()

    def resident_kb(self):
        with open(f"/proc/{self.child.pid}/status") as status:
            return int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1))

    def stop(self):
        """The exit code; "hangs" when it does not end."""
        if self.host:
            self.child.send_signal(signal.SIGTERM)
        try:
            code = self.child.wait(START_S)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
            code = "hangs"
        self.child.stdout.close()
        self.errors.seek(0)
        said = self.errors.read().decode("utf-8", "replace")
        self.errors.close()
        return code, said


class Client:
    """Keeps a connection a thread."""

    def __init__(self, server):
        self.server = server
        self.local = threading.local()

    def get(self, path):
        for attempt in (0, 1):
            connection = getattr(self.local, "connection", None)
            if not connection:
                connection = http.client.HTTPConnection(self.server.host, timeout=REQUEST_S)
                self.local.connection = connection
            try:
                connection.request("GET", path, headers={"Cookie": self.server.cookie})
                reply = connection.getresponse()
                return reply.status, reply.getheader("Content-Type", ""), reply.read()
            except (http.client.RemoteDisconnected, ConnectionError):
                # A connection that was idle may have been closed; a new one may not.
                self.local.connection = None
                if attempt:
                    raise


def address(endpoint, trace, params):
    path = f"/api/v1/traces/{trace}/{endpoint['name']}" if endpoint["of_trace"] else f"/api/v1/{endpoint['name']}"
    return path + ("?" + urlencode(params) if params else "")


def sane_requests(endpoint, dice, share):
    """Nothing, everything, single parameters and pairs of parameters, in sane values."""
    names = endpoint["params"]
    yield {}
    for i in (0, 1, 2):
        yield {n: (SANE.get(n, GENERAL) * 3)[i] for n in names}
    fixed = {n: SANE[n][0] for n in names if n == "other"}
    for pair in itertools.combinations(names, 2):
        if dice.random() < share:
            yield fixed | {n: SANE.get(n, GENERAL)[0] for n in pair}
    for n in names:
        if dice.random() < 4 * share:
            yield fixed | {n: SANE.get(n, GENERAL)[-1]}


def odd_requests(endpoint, dice, share):
    fixed = {n: SANE[n][0] for n in endpoint["params"] if n in ("other", "batch")}
    for n in endpoint["params"]:
        for odd in ODD:
            if dice.random() < share:
                yield fixed | {n: odd}
    yield {"no_such_parameter": "1"}
    yield [(n, "0") for n in endpoint["params"] * 2 or ["x", "x"]]
    yield {f"p{i}": "" for i in range(100)}


class Check:
    def __init__(self, program, work):
        self.program, self.work = program, work
        self.failures = Failures()
        self.asked = 0
        self.statuses = {}
        self.answered = set()
        self.pool = concurrent.futures.ThreadPoolExecutor(4)
        self.under_asan = b"__asan_init" in open(program, "rb").read()

    def one(self, what, client, endpoint, path, sane):
        if self.gone.is_set():
            return
        try:
            status, kind, body = client.get(path)
        except Exception as problem:  # a crash, a hang, broken HTTP
            if self.gone.is_set():
                return
            self.gone.set()
            self.failures.add(f"{what}: {path[:200]}: {problem!r}")
            return
        with self.failures.lock:
            self.asked += 1
            self.statuses[status] = self.statuses.get(status, 0) + 1
            if status == 200 and sane:
                self.answered.add(endpoint["name"])
        if status >= 500 and status != 503 or status not in (200, 400, 404, 413, 414, 422, 503):
            self.failures.add(f"{what}: {path[:200]}: {status} {body[:300]!r}")
        elif status == 200 and not kind:
            self.failures.add(f"{what}: {path[:200]}: no media type")
        elif kind.startswith("application/json"):
            try:
                value = strict(body)
                if status != 200 and not value["error"]["message"]:
                    raise ValueError("an error without a message")
            except (ValueError, KeyError, TypeError) as problem:
                self.failures.add(f"{what}: {path[:200]}: {status} {problem} in {body[:200]!r}")
        elif status != 200:
            self.failures.add(f"{what}: {path[:200]}: {status} as {kind}")

    def ask_all(self, what, client, share, seed, times=1):
        dice = random.Random(seed)
        self.gone = threading.Event()
        status, _, body = client.get("/api/v1")
        if status != 200:
            self.failures.add(f"{what}: the index: {status}")
            return
        tasks = []
        for endpoint in strict(body)["endpoints"]:
            for params in sane_requests(endpoint, dice, share):
                tasks.append((endpoint, params, True))
            for params in odd_requests(endpoint, dice, share):
                tasks.append((endpoint, params, False))
        tasks *= times
        dice.shuffle(tasks)
        done = [
            self.pool.submit(self.one, what, client, e, address(e, 0, params), sane) for e, params, sane in tasks
        ]
        for each in done:
            each.result()

    def serve(self, what, path, share, times=1, beside="good-memory.ttrace"):
        server = Server(self.program, [path, os.path.join(HERE, beside)], self.work)
        if server.host:
            client = Client(server)
            end = time.monotonic() + START_S
            while strict(client.get("/api/v1/traces/0/state")[2])["state"] in ("opening", "waiting"):
                if time.monotonic() > end:
                    self.failures.add(f"{what}: still not open")
                    break
                time.sleep(0.01)
            self.ask_all(what, client, share, what, times)
            if server.child.poll() is None and not self.under_asan and server.resident_kb() > RESIDENT_KB_MAX:
                self.failures.add(f"{what}: {server.resident_kb()} kB of memory")
        code, said = server.stop()
        if code != 0 and (server.host or code != 2 or not said):
            self.failures.add(f"{what}: ends with {code}: {said[-1500:]}")
        return server.host is not None


def check_diff(check):
    """What is served of two traces is what the command says, and the lines have its medians."""
    paths = [os.path.join(HERE, name + ".ttrace") for name in ("good-zstd", "good-memory-experts")]
    said = subprocess.run([check.program, "diff", "--json", *paths], stdout=subprocess.PIPE, check=False)
    server = Server(check.program, paths, check.work)
    client = Client(server)
    served = [client.get(f"/api/v1/traces/0/{name}?other=1") for name in ("diff", "diff/batches", "diff")]
    server.stop()
    if served[0] != served[2] or served[0][0] != 200 or strict(served[0][2]) != strict(said.stdout):
        check.failures.add("diff: the server says other things than the command")
    compared = 0
    for phase, lines in zip(strict(said.stdout)["phases"], strict(served[1][2])["phases"]):
        for side in ("a", "b"):
            times = sorted(lines[side]["time_ns"])
            median = times[(len(times) - 1) // 2]
            compared += 1
            if abs(median - phase["total"][side]["median_ns"]) > 1e-5 * median:
                check.failures.add(f"diff/batches: the median of {side} is {median}, in {phase['phase']}")
    if compared < 2:
        check.failures.add("diff/batches: nothing was compared")


def damaged(name):
    whole = open(os.path.join(HERE, name + ".ttrace"), "rb").read()
    for part in range(8):
        at = len(whole) * part // 8 + part * 7
        yield f"{name}, cut at {at}", whole[:at]
        yield f"{name}, zeros from {at}", whole[:at] + bytes(600) + whole[at + 600 :]
        letters = bytearray(whole)
        letters[at] = letters[at // 2] = 0x55
        yield f"{name}, a letter at {at} and {at // 2}", bytes(letters)


def main():
    program, hostile = sys.argv[1:3]
    threads = sys.argv[3:] == ["threads"]
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":exitcode=99"
    os.environ["UBSAN_OPTIONS"] = os.environ.get("UBSAN_OPTIONS", "") + ":exitcode=99"
    os.environ["TSAN_OPTIONS"] = os.environ.get("TSAN_OPTIONS", "") + ":exitcode=99"
    with tempfile.TemporaryDirectory() as work:
        check = Check(program, work)
        path = os.path.join(work, "t.ttrace")
        for name in ("good-memory-experts", "good-zstd", "good-pool"):
            check.serve(name, os.path.join(HERE, name + ".ttrace"), 0.3 if threads else 1, 2 if threads else 1)
        subprocess.run([hostile, path], check=True)
        check.serve("hostile names", path, 0.3, beside="good-described.ttrace")
        subprocess.run([hostile, path, "values"], check=True)
        check.serve("hostile values", path, 0.3)
        check_diff(check)
        missing = {e for e in check.answered}
        status_of_good = dict(check.statuses)
        opened = 0
        if not threads:
            rest = sorted(f for f in os.listdir(HERE) if f.endswith(".ttrace"))
            for name in rest:
                opened += check.serve(name, os.path.join(HERE, name), 0.04)
            for what, data in itertools.chain(*map(damaged, ("good-memory-experts", "good-zstd", "good-pool"))):
                with open(path, "wb") as out:
                    out.write(data)
                opened += check.serve(what, path, 0.03)
        check.pool.shutdown()
        listed = list_endpoints(program, work)
        for name in sorted(listed - missing):
            check.failures.add(f"{name or 'the index'}: never answered 200 to a sane request of a good trace")
    print(f"{check.asked} requests, statuses {check.statuses}, {len(check.failures.list)} failures")
    # Fewer are a loop that ended early.
    enough = threads or opened >= 40
    return 0 if not check.failures.list and enough and status_of_good.get(200, 0) >= 20 else 1


def list_endpoints(program, work):
    server = Server(program, [os.path.join(HERE, "good-zstd.ttrace")], work)
    names = {e["name"] for e in strict(Client(server).get("/api/v1")[2])["endpoints"]}
    server.stop()
    return names


if __name__ == "__main__":
    sys.exit(main())
