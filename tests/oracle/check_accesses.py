"""Replays `export --format oraclegeneral` with libCacheSim, and compares what misses with `whatif`.

Usage: check_accesses.py TENSORTRACE WORKDIR

Of each unit: every record says when its unit is accessed next, every id is in units.csv, and
libCacheSim's LRU, LFU and Belady miss as many accesses, bytes of them, as whatif says for caches
from a tenth to all of what is read. Exits with 1 when anything differs.
"""

import csv
import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

try:
    import libcachesim
except ImportError:
    print("skipped: libcachesim has no package for this Python")
    sys.exit(77)

TOOL, WORK = sys.argv[1], Path(sys.argv[2])
TRACES = Path(os.environ["TT_SOURCE_DIR"]) / "tests" / "golden"
POLICIES = {"lru": libcachesim.LRU, "lfu": libcachesim.LFU, "belady": libcachesim.Belady}
PAGE = 4096
compared = 0


def run(*args):
    done = subprocess.run([TOOL, *map(str, args)], capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def expect(what, got, want):
    global compared
    compared += 1
    if got != want:
        sys.exit(f"{what}: {got!r} instead of {want!r}")


def check_records(what, records):
    """The next access, found from the front; time that does not go back; one size a unit."""
    waiting, sizes, before = {}, {}, 0
    for number, (time, unit, size, following) in enumerate(records, 1):
        expect(f"{what} access {number} is the one announced", waiting.pop(unit, number), number)
        expect(f"{what} access {number} time", time >= before, True)
        expect(f"{what} access {number} size", sizes.setdefault(unit, size), size)
        expect(f"{what} access {number} has a size", size > 0, True)
        expect(f"{what} access {number} next", following == -1 or following > number, True)
        if following != -1:
            waiting[unit] = following
        before = time
    expect(f"{what} announced and not there", waiting, {})
    return sizes


def check_units(what, folder, sizes):
    named = set()
    with open(folder / "units.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            ids = range(int(row["first_id"]), int(row["last_id"]) + 1)
            for unit in ids:
                expect(f"{what} unit {unit} size", sizes.get(unit), int(row["unit_bytes"]))
            named.update(ids)
            expect(f"{what} has a tensor", bool(row["tensor"]), True)
            if what.endswith(" page"):
                begin, size = int(row["offset_bytes"]), int(row["size_bytes"])
                expect(f"{what} pages of {row}", len(ids), (begin + size - 1) // PAGE - begin // PAGE + 1)
    expect(f"{what} ids without a name", set(sizes) - named, set())


def check(trace, unit):
    what = f"{trace} {unit}"
    folder = WORK / f"{trace}-{unit}"
    shutil.rmtree(folder, ignore_errors=True)
    path = TRACES / f"{trace}.ttrace"
    run("export", path, "--format", "oraclegeneral", "--unit", unit, "-o", folder)
    file = folder / "trace.oracleGeneral"
    records = list(struct.iter_unpack("<IQIq", file.read_bytes()))
    sizes = check_records(what, records)
    check_units(what, folder, sizes)
    largest, total = max(sizes.values()), sum(sizes.values())
    rams = sorted({max(largest, total * tenth // 10) for tenth in range(1, 11)})
    told = json.loads(
        run("whatif", path, "--unit", unit, "--policy", "lru,lfu,belady", "--json",
            *[word for ram in rams for word in ("--ram", f"{ram}B")])
    )
    results = {(r["policy"], r["ram_bytes"]): r for r in told["results"]}
    read = sum(record[2] for record in records)
    for name, policy in POLICIES.items():
        for ram in rams:
            of_accesses, of_bytes = policy(ram).process_trace(
                libcachesim.TraceReader(str(file), libcachesim.TraceType.ORACLE_GENERAL_TRACE)
            )
            parts = results[name, ram]
            phases = [parts[p] for p in ("prompt", "generate", "mixed", "warmup", "unknown") if parts.get(p)]
            missed = sum(p["missed_bytes"] for p in phases)
            expect(f"{what} {name} {ram}: bytes missed", round(of_bytes * read), missed)
            if unit == "page":
                expect(f"{what} {name} {ram}: accesses missed", round(of_accesses * len(records)), missed // PAGE)


for trace in ("good-memory-experts", "good-experts", "good-plain"):
    for unit in ("page", "tensor", "expert"):
        check(trace, unit)
print(f"{compared} comparisons")
