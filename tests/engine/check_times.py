#!/usr/bin/env python3
"""The ops of programs/loop.c end where they should.

Usage: check_times.py TENSORTRACE TRACE called|inlined THREADS

called: each thread leaves the barrier behind an op when it begins the next one, and not before all
threads have arrived there. inlined: each op ends where its thread begins the next one, whatever
barrier was inside it, or before its computation does; nothing is a wait.
"""

import sys
from itertools import groupby

import traces

OPS, RUNS, VIEW = 10, 3, 7  # in loop.c; node 7 is a reshape


def main():
    _, trace, way, threads = sys.argv[1:]
    problem = traces.Problems(trace)
    trace = traces.decoded(trace)
    ends = {end["id"]: end["ticks"] for end in traces.records(trace, "run_end")}
    lane_of, arrived, left = (lambda op: (op[0], op[1])), {}, {}
    ops = sorted((op[1:] for op in trace["ops"]), key=lambda op: (op[0], op[1], op[5]))
    problem.expect("records", OPS * RUNS * int(threads), len(ops))
    for (run, lane), own in groupby(ops, lane_of):
        own = list(own)
        problem.expect(f"ops of lane {lane}", OPS, len(own))
        for op, following in zip(own, own[1:] + [None]):
            _, _, node, _, is_open, start, arrive, release = op
            arrived.setdefault((run, node), []).append(arrive)
            left.setdefault((run, node), []).append(release)
            if is_open:
                problem(f"run {run}: node {node} has no end")
            if way == "inlined":
                problem.expect(f"run {run}: wait behind node {node}", 0, release - arrive)
            if not following and arrive > ends[run]:
                problem(f"run {run}: lane {lane} ends after its computation")
            # Old and new engines pass a barrier behind the view as well, or do not.
            if following and (way == "called" or node != VIEW - 1) and following[5] != release:
                problem(f"run {run}: node {node} ends at {release}, the next begins at {following[5]}")
    for key in arrived if way == "called" else ():
        if max(arrived[key]) > min(left[key]):
            problem(f"run {key[0]}: node {key[1]} is left before all have arrived")
    problem.finish()


main()
