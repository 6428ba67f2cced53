"""Reads the tables of `export --format csv` with Python's csv module and compares them with the JSON
of the other commands.

Usage: check_tables.py TENSORTRACE WORKDIR

For each golden trace: the files hold the same whatever the number of threads and however they are
compressed; every op of `log --json`, with or without --lanes, is a row with equal values, and there
is no other; what an op read adds up to what `log` and `stats` say; tokens, buffers, nodes, edges,
choices of experts and faults are those of the other commands. Exits with 1 and a list when anything
differs.
"""

import collections
import csv
import gzip
import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TABLES = ("run tokens ops lanes sources tensors buffers buffer_events nodes edges routing faults "
          "page_faults values").split()
PROBLEMS_SHOWN = 40


class Problems:
    def __init__(self):
        self.list, self.compared, self.where = [], 0, ""

    def equal(self, what, a, b):
        self.compared += 1
        if a != b:
            self.list.append(f"{self.where}: {what}: {a!r}, but {b!r}")

    def close(self, what, a, b, most):
        self.compared += 1
        if (a is None) != (b is None) or (a is not None and abs(a - b) > most):
            self.list.append(f"{self.where}: {what}: {a!r}, but {b!r}")


def run(tool, *args, refused=None):
    """The output; None when it was refused for that reason."""
    done = subprocess.run([tool, *map(str, args)], capture_output=True, check=False)
    if refused and done.returncode == 2 and refused in done.stderr.decode():
        return None
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def ask(tool, *args, refused=None):
    answer = run(tool, *args, "--json", refused=refused)
    return answer and json.loads(answer)


def value(text):
    """What a field says: null, a boolean, a whole number, a number, a text."""
    if text == "":
        return None
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    try:
        return float(text) if re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", text) else text
    except ValueError:
        return text


def read(folder):
    tables = {}
    for name in TABLES:
        with open(folder / f"{name}.csv", encoding="utf-8", newline="") as file:
            lines = csv.reader(file, strict=True)
            head = next(lines)
            tables[name] = [dict(zip(head, map(value, row), strict=True)) for row in lines]
    return tables


def check_forms(p, tool, trace, work, plain):
    """The same bytes by one thread or four, and compressed."""
    names = sorted(f"{name}.csv" for name in TABLES)
    p.equal("files", sorted(f.name for f in plain.iterdir()), names)
    for how, options in {"threads": ["--threads", "4"], "gz": ["--compress", "gzip"],
                         "zst": ["--compress", "zstd"]}.items():
        if how == "zst" and not shutil.which("zstd"):
            continue
        folder = work / f"tables-{how}"
        run(tool, "export", trace, "--format", "csv", "-o", folder, "--force", *options)
        for name in names:
            file = folder / (name if how == "threads" else f"{name}.{how}")
            if how == "gz":
                data = gzip.decompress(file.read_bytes())
            elif how == "zst":
                data = subprocess.run(["zstd", "-dcq", file], capture_output=True, check=True).stdout
            else:
                data = file.read_bytes()
            p.equal(f"{how} {name}", data == (plain / name).read_bytes(), True)


def check_times(p, what, row, op):
    p.equal(f"{what} start_ns", row["start_ns"], op["start_ns"])
    for key in ("busy_ns", "wait_ns"):
        p.equal(f"{what} {key}", row[key], op[key])
    if op["busy_ns"] is None:
        p.equal(f"{what} ends", (row["arrive_ns"], row["release_ns"]), (None, None))


def check_ops(p, tables, log):
    ops = {(r["graph_run"], r["node"]): r for r in tables["ops"]}
    p.equal("ops", len(tables["ops"]), len(log))
    p.equal("op_id unique", len({r["op_id"] for r in tables["ops"]}), len(tables["ops"]))
    for run_id in {r["graph_run"] for r in tables["ops"]}:
        ids = [r["op_id"] for r in tables["ops"] if r["graph_run"] == run_id]
        p.equal("op_id ascending", ids, sorted(ids))
    for op in log:
        row = ops.get((op["graph_run"], op["node"]))
        if row is None:
            p.equal("an op", None, (op["graph_run"], op["node"]))
            continue
        what = f"op {row['op_id']}"
        p.equal(f"{what} id", row["op_id"], (op["graph_run"] << 20) + op["node"])
        for key in ("batch_id", "phase", "graph_id", "nodes", "op", "name", "layer_id", "category", "component",
                    "weight_bytes", "duration_ns", "threads"):
            p.equal(f"{what} {key}", row[key], op[key])
        p.equal(f"{what} at_most", row["weight_bytes_at_most"], op.get("weight_bytes_at_most", False))
        p.equal(f"{what} start_relative_ns", row["start_relative_ns"], math.floor(op["start_relative_ns"] + 0.5))
        for key in ("type", "size_bytes"):
            p.equal(f"{what} {key}", row[key], op["destination"][key])
        check_times(p, what, row, op)


def check_lanes(p, tables, log):
    rows = collections.defaultdict(list)
    for r in tables["lanes"]:
        rows[r["op_id"], r["thread_id"]].append(r)
    p.equal("lanes", len(tables["lanes"]), len(log))
    p.equal("lanes in order", [(r["op_id"], r["thread_id"]) for r in tables["lanes"]],
            sorted((r["op_id"], r["thread_id"]) for r in tables["lanes"]))
    for op in log:
        key = (op["graph_run"] << 20) + op["node"], op["thread_id"]
        p.equal(f"lane {key}", len(rows[key]), 1)
        for row in rows[key]:
            check_times(p, f"lane {key}", row, op)
            if row["arrive_ns"] is not None:
                p.close(f"lane {key} busy", row["arrive_ns"] - row["start_ns"], row["busy_ns"], 1)
                p.close(f"lane {key} wait", row["release_ns"] - row["arrive_ns"], row["wait_ns"], 1)


def check_sources(p, tables, log):
    rows = collections.defaultdict(list)
    for r in tables["sources"]:
        rows[r["op_id"]].append(r)
    weights = {r["tensor_id"]: r for r in tables["tensors"]}
    total = 0
    for op in log:
        op_id = (op["graph_run"] << 20) + op["node"]
        mine = collections.defaultdict(list)
        for r in rows[op_id]:
            mine[r["source_index"]].append(r)
        p.equal(f"sources of {op_id}", sorted(mine), list(range(len(op["sources"]))))
        total += sum(map(len, mine.values()))
        p.equal(f"weights read by {op_id}", sum(r["read_bytes"] for r in rows[op_id] if r["tensor_id"] is not None),
                op["weight_bytes"])
        for index, source in enumerate(op["sources"]):
            what = f"source {index} of {op_id}"
            first = mine[index][0]
            p.equal(f"{what} read", sum(r["read_bytes"] for r in mine[index]), source["read_bytes"])
            for key in ("name", "view_of", "type", "size_bytes", "origin", "model_file", "buffer_id"):
                p.equal(f"{what} {key}", {r[key] for r in mine[index]}, {source.get(key)})
            picked = source.get("experts") or source.get("rows")
            p.equal(f"{what} at_most", first["read_bytes_at_most"], source.get("read_bytes_at_most", False))
            if picked:
                for key in ("file_offset_bytes", "read_bytes"):
                    p.equal(f"{what} {key}", [r[key] for r in mine[index]], [s[key] for s in picked])
                p.equal(f"{what} experts", [(r["expert_id"], r["n_tokens"]) for r in mine[index]],
                        [(s.get("expert_id"), s.get("n_tokens")) for s in picked])
            else:
                for key in ("file_offset_bytes", "buffer_offset_bytes"):
                    p.equal(f"{what} {key}", first[key], source.get(key))
            if first["tensor_id"] is not None:
                p.equal(f"{what} tensor", weights[first["tensor_id"]]["model_file"], source["model_file"])
    p.equal("sources of no op", len(tables["sources"]), total)


def check_stats(p, tool, trace, tables):
    for by, key in (("op", "op"), ("layer", "layer_id"), ("batch", "batch_id"), ("component", "component")):
        sums = collections.defaultdict(lambda: [0, 0, 0, 0])
        for r in tables["ops"]:
            name = r["category"] if by == "component" and not r["component"] else r[key]
            for i, v in enumerate((1, r["weight_bytes"], r["duration_ns"] or 0, r["wait_ns"] or 0)):
                sums[name][i] += v
        stats = ask(tool, "stats", trace, "--by", by)
        named = {r[key]: r for r in stats["rows"]}
        p.equal(f"stats by {by}", set(sums), set(named))
        for name in set(sums) & set(named):
            count, bytes_, total, wait = sums[name]
            p.equal(f"{by} {name} count", count, named[name]["count"])
            p.equal(f"{by} {name} weight_bytes", bytes_, named[name]["weight_bytes"])
            # Each op's time is rounded to a ns.
            p.close(f"{by} {name} total_ns", total, named[name]["total_ns"] or 0, count)
            p.close(f"{by} {name} wait_ns", wait, named[name]["wait_ns"] or 0, count)


def check_tokens(p, tables, info):
    batches = collections.defaultdict(list)
    for r in tables["tokens"]:
        batches[r["batch_id"]].append(r)
    p.equal("batches", sorted(batches), sorted(b["batch_id"] for b in info["batches"]))
    for b in info["batches"]:
        rows, what = batches[b["batch_id"]], f"batch {b['batch_id']}"
        p.equal(f"{what} is_first", [r["is_first"] for r in rows], [True] + [False] * (len(rows) - 1))
        for key in ("phase", "context_id", "start_ns", "end_ns", "n_tokens", "runs"):
            p.equal(f"{what} {key}", {r[key] for r in rows}, {b[key]})
        known = b["tokens"] or b["positions"] or b["sequences"]
        p.equal(f"{what} rows", len(rows), b["n_tokens"] if known else 1)
        for key, theirs in (("text_id", "tokens"), ("position", "positions")):
            p.equal(f"{what} {key}", [r[key] for r in rows], b[theirs] or [None] * len(rows))
        for i, r in enumerate(rows):
            text = b["texts"] and b["texts"][i] and b["texts"][i].replace("\0", "\ufffd")
            p.equal(f"{what} text", r["text"], None if text is None else value(text) if text else text)
            sequences = b["sequences"] and b["sequences"][i]
            p.equal(f"{what} sequence", r["sequence"], sequences[0] if sequences else None)
            p.equal(f"{what} sequences", r["sequences"], len(sequences) if sequences is not None else None)


def check_buffers(p, tables, buffers):
    for name, theirs in (("buffers", "buffers"), ("buffer_events", "events")):
        p.equal(name, len(tables[name]), len(buffers[theirs]))
        for row, b in zip(tables[name], buffers[theirs]):
            for key in set(row) & set(b):
                p.equal(f"{name} {key}", row[key], b[key])
    for row, b in zip(tables["buffers"], buffers["buffers"]):
        stacks = {key >> 16 for key in b.get("layer_keys", b["layer_ids"])}
        ids = b["layer_ids"] if len(stacks) == 1 else []
        p.equal("layers", (row["layers"], row["layer_first"], row["layer_last"]),
                (len(b["layer_ids"]), min(ids, default=None), max(ids, default=None)))


def check_graphs(p, tool, trace, tables):
    keys = ("kind name view_of type size_bytes origin model_file file_offset_bytes buffer_id buffer_offset_bytes op "
            "op_desc category component backend view_of_id").split()
    for graph in {r["graph_id"] for r in tables["nodes"]}:
        seen = ask(tool, "graph", trace, "--graph", graph)
        nodes = [r for r in tables["nodes"] if r["graph_id"] == graph]
        p.equal(f"graph {graph} nodes", [r["node"] for r in nodes], [n["id"] for n in seen["nodes"]])
        for r, n in zip(nodes, seen["nodes"]):
            what = f"graph {graph} node {r['node']}"
            for key in keys:
                p.equal(f"{what} {key}", r[key], n.get(key))
            p.equal(f"{what} executes", r["executes"], n.get("executes"))
            p.equal(f"{what} shape", [r[f"n{k}{i}"] for k in "eb" for i in range(4)], n["ne"] + n["nb"])
            p.equal(f"{what} flags", [k for k in ("input", "output") if r[f"is_{k}"]], n["flags"])
        edges = [(e["source"], e["target"], "view" if e["slot"] is None else f"src {e['slot']}", e["is_view"])
                 for e in tables["edges"] if e["graph_id"] == graph]
        p.equal(f"graph {graph} edges", edges,
                [(e["source"], e["target"], e["label"], e["is_view"]) for e in seen["edges"]])


def check_details(p, tool, trace, tables, info):
    routing = ask(tool, "routing", trace, refused="expert")
    p.equal("routing recorded", bool(tables["routing"]), routing is not None)
    if routing:
        for layer in routing["layers"]:
            mine = [r for r in tables["routing"] if r["layer_id"] == layer["layer_id"]]
            what = f"routing of layer {layer['layer_id']}"
            p.equal(what, len(mine), layer["choices"])
            p.equal(f"{what} places", len({r["op_id"] for r in mine if r["token_index"] is None}) > 0,
                    layer["tokens_without_row"] > 0)
            full = ask(tool, "routing", trace, "--layer", layer["layer_id"])["layers"][0]
            chosen = collections.Counter(r["expert_id"] for r in mine)
            weights = collections.defaultdict(list)
            for r in mine:
                weights[r["expert_id"]].append(r["weight"])
            for e in full.get("experts", []):
                p.equal(f"{what} expert {e['expert_id']}", chosen[e["expert_id"]], e["count"])
                known = [w for w in weights[e["expert_id"]] if w is not None]
                p.close(f"{what} weight of {e['expert_id']}", sum(known) / len(known) if known else None,
                        e["mean_weight"], 1e-6)
        p.equal("routing", len(tables["routing"]), sum(layer["choices"] for layer in routing["layers"]))
    ids = {(r["op_id"], r["thread_id"]) for r in tables["lanes"]}
    faults = [r for r in tables["faults"] if (r["op_id"], r["thread_id"]) in ids]
    total = ask(tool, "faults", trace, refused="faults were not recorded")
    recorded = total is not None and total["faults_recorded"]
    p.equal("faults recorded", len(tables["faults"]) > 0, recorded)
    if recorded:
        p.equal("orphan faults", len(tables["faults"]) - len(faults), total["orphan_details"])
        total = total["total"]
        p.equal("faults", len(faults), total["counted"])
        for key in ("minor_faults", "major_faults", "cpu_ns"):
            known = [r[key] for r in faults if r[key] is not None]
            p.equal(key, sum(known) if known else None, total[key])
        reads = [r["read_bytes"] for r in faults if r["read_bytes"] is not None]
        p.equal("read_bytes", sum(reads) if reads else None, total["read_bytes"])
    p.equal("values", tables["values"], [])
    row = tables["run"][0]
    p.equal("rows of run", len(tables["run"]), 1)
    for key in ("run_id", "complete", "recovered", "snapshot", "pid"):
        p.equal(f"run {key}", row[key], info[key])
    for key in ("batches", "runs", "graphs", "buffers", "weights", "op_records", "losses", "detail_losses"):
        p.equal(f"run {key}", row[key], info["counts"][key])
    p.equal("weights", len(tables["tensors"]), info["counts"]["weights"])
    for name in TABLES:
        p.equal(f"run_id in {name}", {r["run_id"] for r in tables[name]} - {info["run_id"]}, set())


def check_filter(p, tool, trace, work, tables):
    """One batch of several: of the tables by batch what belongs to it, of the others all."""
    token = max((r["batch_id"] for r in tables["tokens"]), default=None)
    if token is None:
        return
    folder = work / "tables-one"
    run(tool, "export", trace, "--format", "csv", "-o", folder, "--force", "--batch", token)
    one = read(folder)
    ids = {r["op_id"] for r in tables["ops"] if r["batch_id"] == token}
    runs = {i >> 20 for i in ids}
    for name in TABLES:
        if name in ("tokens", "ops", "page_faults"):
            expected = [r for r in tables[name] if r["batch_id"] == token]
        elif name in ("lanes", "sources"):
            expected = [r for r in tables[name] if r["op_id"] in ids]
        elif name in ("routing", "faults"):
            expected = [r for r in tables[name] if r["op_id"] >> 20 in runs]
        else:
            expected = tables[name]
        p.equal(f"{name} of token {token}", one[name] == expected, True)


def main():
    tool, work = sys.argv[1], Path(sys.argv[2])
    golden = Path(os.environ["TT_SOURCE_DIR"]) / "tests" / "golden"
    p = Problems()
    for trace in sorted(golden.glob("good-*.ttrace")) if len(sys.argv) < 4 else map(Path, sys.argv[3:]):
        p.where = trace.name
        plain = work / "tables"
        run(tool, "export", trace, "--format", "csv", "-o", plain, "--force", "--threads", "1")
        check_forms(p, tool, trace, work, plain)
        tables, info = read(plain), ask(tool, "info", trace)
        log = ask(tool, "log", trace)["ops"]
        check_ops(p, tables, log)
        check_sources(p, tables, log)
        check_lanes(p, tables, ask(tool, "log", "--lanes", trace)["ops"])
        check_stats(p, tool, trace, tables)
        check_tokens(p, tables, info)
        check_buffers(p, tables, ask(tool, "buffers", trace))
        check_graphs(p, tool, trace, tables)
        check_details(p, tool, trace, tables, info)
        check_filter(p, tool, trace, work, tables)
    for line in p.list[:PROBLEMS_SHOWN]:
        print(line)
    if p.list:
        sys.exit(f"{len(p.list)} of {p.compared} comparisons differ")
    print(f"{p.compared} comparisons agree")


if __name__ == "__main__":
    main()
