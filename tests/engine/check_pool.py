"""check_pool.py PROGRAM TRACE READ_BYTES STDERR BUDGET: the reads of a boosted run."""
import json
import re
import subprocess
import sys

program, trace, read_file, said_file, budget = *sys.argv[1:5], int(sys.argv[5])


def fail(text):
    sys.exit(f"check_pool: {text}")


def run(*words):
    return subprocess.run([program, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


reads = json.loads(run("faults", "--pool-reads", "--json", trace))
rows, total = reads["rows"], reads["total"]
kernel = int(open(read_file).read())
summed = sum(r["size_bytes"] for r in rows)
if summed != total["read_bytes"] or len(rows) != total["reads"]:
    fail(f"{len(rows)} reads of {summed} bytes, the total says {total}")
if not summed <= kernel <= summed + (48 << 20):
    fail(f"{summed} bytes in the trace, the kernel counted {kernel}")
if total["peak_bytes"] > budget or total["budget_bytes"] != budget:
    fail(f"{total['peak_bytes']} bytes at most, {total['budget_bytes']} the budget; asked for {budget}")
said = re.search(r"([\d.]+) (\wiB) read in (\d+) reads", open(said_file).read())
if not said:
    fail("nothing was said at the end")
# Reads that end after the last computation are for a next one that does not come.
if not len(rows) <= int(said[3]) <= len(rows) + 64:
    fail(f"{len(rows)} reads in the trace, {said[3]} at the end")
for r in rows:
    if r["failed"] or r["duration_ns"] < 0 or r["queued_ns"] < 0 or r["size_bytes"] <= 0:
        fail(f"a read that cannot be: {r}")
    if (r["waiters"] > 0) != (r["waited_ns"] is not None):
        fail(f"who waited for how long: {r}")
# Experts: each slice that was missed is read, those that a batch of many tokens streams as well. A
# dense weight behind an expert's slice may be read from that slice's last page on.
if total["slices_used"]:
    if total["slices_used"] - total["slices_missed"] < 0 or total["slices_left"]:
        fail(f"slices: {total}")
    chosen = sum(r["expert_id"] is not None for r in rows)
    if not 0.9 * total["slices_missed"] <= chosen <= total["slices_missed"] + 4:
        fail(f"{total['slices_missed']} slices missed, {chosen} read")
