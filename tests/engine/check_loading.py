"""check_loading.py TENSORTRACE TRACE MODEL LOG PAGES_AT_START roomy|limited [LIMIT]: what a trace says of
how its model was loaded is what a preloaded library saw (LOG), and what mincore says of the file,
asked here when the program has ended."""

import ctypes
import json
import mmap
import os
import subprocess
import sys

MAP_SHARED, MAP_POPULATE = 1, 0x8000
ADVICE = {0: "normal", 1: "random", 2: "sequential", 3: "willneed"}
PAGE = mmap.PAGESIZE


def resident_bytes(path):
    size = os.stat(path).st_size
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    fd = os.open(path, os.O_RDONLY)
    at = libc.mmap(None, size, 0, MAP_SHARED, fd, 0)
    pages = ctypes.create_string_buffer((size + PAGE - 1) // PAGE)
    assert libc.mincore(at, size, pages) == 0
    os.close(fd)
    return bytes_of(pages.raw, size)


def bytes_of(pages, size):
    return sum(min(PAGE, size - i * PAGE) for i in range((size + PAGE - 1) // PAGE) if pages[i] & 1)


def main(program, trace, model, log, at_start, how, limit="0"):
    now = resident_bytes(model)
    size = os.stat(model).st_size
    out = subprocess.run([program, "faults", "--loading", "--json", trace], check=True, stdout=subprocess.PIPE).stdout
    rows = {r["phase"]: r for r in json.loads(out)["loading"]}
    seen = [line.split() for line in open(log)]
    failures = []

    def check(what, holds):
        if not holds:
            failures.append(what)

    maps = [[int(x) for x in line[1:]] for line in seen if line[0] == "map"]
    assert len(maps) == 1, seen
    flags, mapped, before, after = maps[0]
    opened, loading, loaded, end = (rows[p] for p in ("opened", "mapped", "loaded", "end"))
    advice = []
    for line in seen:
        if line[0] != "map" and ADVICE[int(line[1])] not in advice:
            advice.append(ADVICE[int(line[1])])
    check("populate", loading["populate"] == bool(flags & MAP_POPULATE))
    check("advice %s" % advice, loading["advice"] == ", ".join(advice))
    check("mapped", loading["mapped_bytes"] == mapped)
    # The last page is not whole.
    short = -size % PAGE
    slack = 0 if how == "roomy" else 16 << 20
    check("before", 0 <= before * PAGE - opened["resident_bytes"] <= short)
    check("after", -slack <= after * PAGE - loading["resident_bytes"] <= short + slack)
    for row in rows.values():
        check("all was looked at", row["observed_bytes"] == size)
    for row in (opened, loading, loaded):
        whole = row["resident_bytes"] if row is opened else row["fetched_bytes"]
        parts = row["used_bytes"] + row["unused_bytes"] + row["evicted_bytes"]
        check("%s: parts" % row["phase"], parts == whole)
        check("%s: again" % row["phase"], row["fetched_again_bytes"] <= row["fetched_again_most_bytes"] <= whole)
    if how == "roomy":
        # Nobody reads the file now: what is there was there.
        check("resident at the end", now <= end["resident_bytes"] <= size)
        check("populate fetched all", loading["resident_bytes"] == size)
        if now == size:
            check("nothing went", end["resident_bytes"] == size)
            gone = [r["evicted_bytes"] + r["fetched_again_bytes"] for r in (opened, loading, loaded)]
            check("nothing was evicted %s" % gone, not any(gone))
        else:
            print("note: the machine took %d bytes out of RAM, which others may want" % (size - now))
        check("fetched", loading["fetched_bytes"] == size - opened["resident_bytes"])
        check("used", loading["used_bytes"] + opened["used_bytes"] > size * 0.8)
        check("read", loading["read_bytes"] >= loading["fetched_bytes"])
        if int(at_start) == 0:
            check("read cold", loading["fetched_bytes"] > size * 0.8)
        if before * PAGE >= size:
            check("read warm", loading["read_bytes"] == 0 and loading["fetched_bytes"] == 0)
    else:
        limit = int(limit)
        check("it is too large", size > 1.5 * limit)
        check("never above the limit", max(r["resident_bytes"] for r in rows.values()) <= limit and now <= limit)
        check("populate read all", loading["read_bytes"] > size * 0.8)
        check("and lost some", loading["fetched_bytes"] < loading["read_bytes"] - size // 4)
        check("evicted", loading["evicted_bytes"] > 0)
        check("fetched again", loading["fetched_again_bytes"] > 0)
        check("read again", end["read_bytes"] > size)
    for text in failures:
        print(text)
    if failures:
        print(seen, now, [{k: v for k, v in r.items() if v is not None} for r in rows.values()])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
