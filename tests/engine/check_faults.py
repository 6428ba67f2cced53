#!/usr/bin/env python3
"""Faults, bytes read and residency of a trace against the kernel's own totals.

Usage: check_faults.py TENSORTRACE TRACE REPORT HOW

REPORT is what programs/cold.c wrote. HOW: "cold" (the weights were read from the device),
"warm" (nothing was), "limited" (the weights were read again for every token, as far as the
memory did not hold them: LIMIT bytes follow).

What the trace says of the process lies between its first and last batch, what the report
says just around that: no less, and hardly more. What it says of ops is a part of that,
and `faults --json` adds it up as the second decoder does.
"""

import sys
from pathlib import Path

import traces

SLACK_BYTES = 1 << 20  # of what is read outside of ops, or by others of the process
# What was being read ahead when the trace looked has come when the program asks: two windows of
# 8 MiB.
IN_FLIGHT_PAGES = 4096
RESIDENCY_SLACK = 0.01
OPS_SHARE = 0.8  # of the bytes read by a process that computes are read within ops


def read_report(path):
    report = {}
    for line in Path(path).read_text().splitlines():
        name, *values = line.split()
        report[name] = list(map(int, values))
    return report


def bitmap(intervals):
    pages, present = [], False
    for n in intervals:
        pages += [present] * n
        present = not present
    return pages


class Check:
    def __init__(self, complain, trace, report):
        self.complain = complain
        self.report = report
        self.trace = trace
        self.batches = [b["id"] for b in traces.records(trace, "batch")]
        self.batch_of = {r["id"]: r["batch"] for r in traces.records(trace, "run")}
        self.usage = {(u["batch"], u["moment"]): u for u in traces.records(trace, "usage")}
        self.faults = traces.details_of(trace, "faults")

    def between(self, first, last, key):
        a, b = self.usage.get((first, 0)), self.usage.get((last, 1))
        if not a or not b or a.get(key) is None or b.get(key) is None:
            self.complain(f"batches {first} to {last}: {key} was not observed")
            return None
        return b[key] - a[key]

    def process(self):
        for key, name, slack in (("minor", "minor", 200), ("major", "major", 20),
                                 ("read_bytes", "read_bytes", SLACK_BYTES)):
            got, wanted = self.between(self.batches[0], self.batches[-1], key), self.report[name][0]
            if got is not None and not wanted * 0.9 - slack <= got <= wanted:
                self.complain(f"the process: {key} {got}, the kernel says {wanted}")

    def ops(self):
        """Per batch: what ops did is part of what the process did, and most of what it read."""
        sums = {}
        for f in self.faults:
            total = sums.setdefault(self.batch_of[f["run"]], {"minor": 0, "major": 0, "read_bytes": 0})
            for key in total:
                if f[key] is not None:
                    total[key] += f[key]
        for batch in self.batches:
            if batch not in sums:
                self.complain(f"batch {batch}: no faults of its ops were recorded")
                continue
            for key, got in sums[batch].items():
                wanted = self.between(batch, batch, key)
                if wanted is None:
                    continue
                if got > wanted:
                    self.complain(f"batch {batch}: ops have {key} {got}, the process {wanted}")
                if key == "read_bytes" and got < OPS_SHARE * (wanted - SLACK_BYTES):
                    self.complain(f"batch {batch}: ops have {key} {got} of {wanted}")
        return sums

    def events(self):
        """Single faults, by thread and time, come to what was counted of each op."""
        view = traces.decoder.View(self.trace)
        counted = {(f["run"], f["node"], f["lane"]): (f["minor"], f["major"]) for f in self.faults}
        made = {tuple(row[:3]): tuple(row[3:]) for row in traces.decoder.op_faults(view)}
        if view.environment().get("capture_page_faults") != "on":
            print("skipped in part: page faults as events: " + view.environment().get("capture_page_faults", "not asked for"))
            return
        for lost in traces.records(self.trace, "page_fault_loss"):
            self.complain(f"lost {lost['lost']} page faults")
        if set(made) != set(counted):
            self.complain(f"{len(made)} ops of single faults, {len(counted)} were counted")
        for op, got in made.items():
            if op in counted and counted[op] != got:
                self.complain(f"op {op}: minor and major {counted[op]} counted, {got} single ones")

    def command(self, shown, sums):
        """`faults --json` adds up to the same: over ops, over tensors, for the process."""
        total, kernel = shown["total"], shown["kernel"]
        rows = [r for r in shown["rows"] if not r["shared"]]
        for key, name in (("minor", "minor_faults"), ("major", "major_faults"), ("read_bytes", "read_bytes")):
            ops = sum(s[key] for s in sums.values())
            self.complain.expect(f"faults: {name} of all ops", ops, total[name])
            self.complain.expect(f"faults: {name} of ops in batches", ops, kernel["ops_in_batches"][name])
            if len(rows) == len(shown["rows"]):
                self.complain.expect(f"faults: {name} over all rows", ops, sum(r[name] or 0 for r in rows))
            process = [self.between(b, b, key) for b in self.batches]
            if None not in process:
                self.complain.expect(f"faults: {name} of the process", sum(process), kernel["process_in_batches"][name])

    def residency(self):
        """The last one of the last batch is what mincore said to the program itself."""
        records = [r for r in traces.records(self.trace, "residency")
                   if (r["batch"], r["moment"]) == (self.batches[-1], 1)]
        if not records:
            self.complain("no residency at the end of the last batch")
            return
        got = []
        for r in sorted(records, key=lambda r: r["first_page"]):
            if r["first_page"] != len(got) or sum(r["intervals"]) != r["n_pages"]:
                self.complain("residency: pages are missing or there twice")
                return
            got += bitmap(r["intervals"])
        wanted = bitmap(self.report["intervals"])
        self.complain.expect("residency: pages of the file", len(wanted), len(got))
        went = sum(a > b for a, b in zip(got, wanted))
        came = sum(a < b for a, b in zip(got, wanted))
        if went > RESIDENCY_SLACK * len(wanted):
            self.complain(f"residency: {went} of {len(wanted)} pages were there, which mincore denies")
        if came > max(RESIDENCY_SLACK * len(wanted), IN_FLIGHT_PAGES):
            self.complain(f"residency: {came} of {len(wanted)} pages were not there, which mincore tells")

    def volume(self, how, limit):
        model = sum(w["size_bytes"] for m in traces.records(self.trace, "model") for w in m["weights"])
        pages_before = self.report["pages_before"][0]
        if how == "cold":
            if pages_before > len(bitmap(self.report["intervals"])) // 20:
                print("skipped: the file's pages cannot be dropped here")
                sys.exit(77)
            got = self.between(self.batches[0], self.batches[-1], "read_bytes")
            if got is not None and not 0.7 * model <= got <= 1.3 * model:
                self.complain(f"read {got} bytes of a model of {model}")
        if how == "warm" and self.report["read_bytes"][0] == 0:
            for f in self.faults:
                if f["read_bytes"] or f["major"]:
                    self.complain(f"run {f['run']} node {f['node']} read from the device: nothing was read")
        if how == "limited":
            for batch in self.batches[1:]:
                got = self.between(batch, batch, "read_bytes")
                if got is not None and got < 0.8 * (model - limit):
                    self.complain(f"batch {batch}: read only {got} bytes with {limit} for {model}")


def main(words):
    binary, path, report, how, *limit = words
    complain = traces.Problems(Path(path).name)
    trace = traces.decoded(path)
    c = Check(complain, trace, read_report(report))
    if not c.batches:
        complain("no batches")
        complain.finish()
    by_ops = traces.info_of(binary, path)["environment"]["mode"] == "hook"
    c.process()
    sums = c.ops() if by_ops else {}
    if by_ops:
        c.events()
    if by_ops:
        c.command(traces.tool(binary, "faults", "--json", path), sums)
    c.residency()
    c.volume(how, int(limit[0]) if limit else 0)
    total = {key: sum(s[key] for s in sums.values()) for key in ("minor", "major", "read_bytes")}
    complain.finish(f"ops {total}, the kernel {({k: c.report[k][0] for k in total})}")


if __name__ == "__main__":
    main(sys.argv[1:])
