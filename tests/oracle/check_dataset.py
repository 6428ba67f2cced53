"""Reads exported datasets with Python's json and compares them with what else tells the same.

Usage: check_dataset.py TENSORTRACE WORKDIR

A dense model, one with experts and one in three files, each traced: the memory map must be what
gguf.GGUFReader says of the file (with experts' slices that tile their tensors), entries what `log`
shows op by op and thread by thread, graphs what `graph` shows, buffers what `buffers` shows; every
file has the keys that an earlier pipeline's readers know, and no others than are documented.
Compressed datasets hold the same. Exits with 1 and a list when anything differs.
"""

import collections
import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import gguf

sys.path.insert(0, str(Path(os.environ["TT_SOURCE_DIR"]) / "tests" / "engine"))

import traces  # noqa: E402

PROMPT, TOKENS, ALIGNMENT = "where \"is\" it", 4, 32

KEYS = {  # the keys that readers know; behind "|" those that this program adds
    "experiment": "experiment_id timestamp_start model_file model_name prompt num_tokens_generated threads engine "
                  "tensortrace_version command host | model_files num_batches tokens_left_out trace",
    "map": "experiment_id model_name total_size_bytes num_tensors metadata tensors |",
    "map.metadata": "n_layers n_vocab n_embd n_heads n_tensors source |",
    "tensor": "name offset_start offset_end size_bytes shape dtype layer_id category component component_type "
              "| file expert_id",
    "buffers": "experiment_id metadata buffers timeline |",
    "buffers.metadata": "total_events total_buffers peak_occupancy_bytes peak_occupancy_mb duration_ms "
                        "usage_breakdown | timestamp_start_ns peak_allocated_bytes",
    "buffer": "id name size backend usage usage_name layer alloc_time_ms dealloc_time_ms "
              "| alloc_seen kind backing",
    "event": "timestamp_ms event buffer_id buffer_name size cumulative_size num_active_buffers |",
    "trace": "experiment_id token_id metadata entries |",
    "trace.metadata": "total_entries duration_ms timestamp_start_ns format_version | batch n_tokens",
    "entry": "entry_id timestamp_ns timestamp_relative_ms token_id layer_id thread_id phase operation_type dst_name "
             "num_sources sources expert_ids num_experts duration_ns threads | node_id",
    "source": "name tensor_ptr size_bytes layer_id memory_source | disk_offset buffer_id view_of file "
              "file_offset_bytes",
    "thread": "thread_id start_ns arrive_ns release_ns |",
    "graph": "experiment_id token_id metadata nodes edges |",
    "graph.metadata": "total_nodes total_edges layers timestamp_generated |",
    "node": "id address label operation shape dtype layer_id category node_type |",
    "edge": "source target label |",
}

complain = traces.Problems("dataset")


def run(*args):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: exit {done.returncode}: {done.stdout[-500:]} {done.stderr.strip()}")
    return done.stdout


def no_key_twice(pairs):
    keys = [k for k, _ in pairs]
    if len(set(keys)) != len(keys):
        complain(f"keys: {keys}: there twice")
    return dict(pairs)


def load(path):
    packed = Path(f"{path}.gz")
    text = gzip.decompress(packed.read_bytes()) if packed.exists() else Path(path).read_bytes()
    return json.loads(text.decode("utf-8"), object_pairs_hook=no_key_twice)


def check_keys(kind, thing):
    known, _, added = KEYS[kind].partition("|")
    missing = set(known.split()) - set(thing)
    more = set(thing) - set(known.split()) - set(added.split())
    if missing or more:
        complain(f"{kind}: lacks {sorted(missing)}, has {sorted(more)} besides: keys")


def read_dataset(folder):
    out = {"experiment": load(folder / "experiment.json"), "map": load(folder / "memory-map.json"),
           "buffers": load(folder / "buffer-timeline.json"), "graphs": [], "traces": []}
    n = out["experiment"]["num_batches"]
    for kind in ("graphs", "traces"):
        found = sorted(p.name.split(".")[0] for p in (folder / kind).iterdir())
        complain.expect(f"{kind}: files", [f"token-{i:05}" for i in range(n)], found)
        out[kind] = [load(folder / kind / f"token-{i:05}.json") for i in range(n)]
    ids = {x["experiment_id"] for x in [out["experiment"], out["map"], out["buffers"], *out["graphs"], *out["traces"]]}
    complain.expect("experiment ids", 1, len(ids))
    return out


def check_all_keys(d):
    check_keys("experiment", d["experiment"])
    for kind, one, many in (("map", "tensor", "tensors"), ("buffers", "buffer", "buffers"), ("buffers", "event", "timeline")):
        check_keys(kind, d[kind])
        check_keys(f"{kind}.metadata", d[kind]["metadata"])
        for thing in d[kind][many]:
            check_keys(one, thing)
    for graph in d["graphs"]:
        check_keys("graph", graph)
        check_keys("graph.metadata", graph["metadata"])
        for node in graph["nodes"]:
            check_keys("node", node)
        for edge in graph["edges"]:
            check_keys("edge", edge)
    for trace in d["traces"]:
        check_keys("trace", trace)
        check_keys("trace.metadata", trace["metadata"])
        for entry in trace["entries"]:
            check_keys("entry", entry)
            for source in entry["sources"]:
                check_keys("source", source)
            for thread in entry["threads"]:
                check_keys("thread", thread)


def shape_of(t):
    shape = [int(n) for n in t.shape]
    while len(shape) > 1 and shape[-1] == 1:
        shape.pop()
    return shape


def check_map(d, paths):
    """Slices are put together again: then each tensor is where the file has it."""
    got = {}
    before = collections.defaultdict(int)
    for t in d["map"]["tensors"]:
        name, file = t["name"], t.get("file", paths[0].name)
        complain.expect(f"map: {name}: size", t["offset_end"] - t["offset_start"], t["size_bytes"])
        gap = t["offset_start"] - before[file] if before[file] else 0
        if not 0 <= gap < ALIGNMENT:
            complain(f"map: {name}: {gap} bytes behind the one before: gap")
        before[file] = t["offset_end"]
        if "expert_id" in t:
            name = re.sub(r"\[[0-9]+\]$", "", name)
            complain.expect(f"map: {name}: slices", len(got.get((file, name), {"ids": []})["ids"]), t["expert_id"])
        whole = got.setdefault((file, name), {"start": t["offset_start"], "size": 0, "ids": [], "shape": t["shape"],
                                              "dtype": t["dtype"]})
        whole["size"] += t["size_bytes"]
        whole["ids"].append(t.get("expert_id"))
    for path in paths:
        for t in gguf.GGUFReader(path).tensors:
            one = got.pop((path.name, t.name), None)
            if not one:
                complain(f"map: {t.name}: missing")
                continue
            sliced = one["ids"][0] is not None
            shape = one["shape"] + [len(one["ids"])] if sliced else one["shape"]
            complain.expect(f"map: {t.name}", [int(t.data_offset), int(t.n_bytes), shape_of(t), t.tensor_type.name],
                            [one["start"], one["size"], shape, one["dtype"]])
    complain.expect("map: tensors besides", [], sorted(got))
    complain.expect("map: size", sum(p.stat().st_size for p in paths), d["map"]["total_size_bytes"])


def check_entry(where, entry, op, lanes):
    complain.expect(f"{where}: op", [op["op"], op["name"], op["layer_id"], op["phase"].upper()],
                    [entry["operation_type"], entry["dst_name"], entry["layer_id"], entry["phase"]])
    complain.expect(f"{where}: times", [op["start_ns"], op["duration_ns"]],
                    [entry["timestamp_ns"], entry["duration_ns"]])
    complain.expect(f"{where}: threads", [(x["thread_id"], x["start_ns"]) for x in lanes],
                    [(x["thread_id"], x["start_ns"]) for x in entry["threads"]])
    for x, t in zip(lanes, entry["threads"]):
        if abs(t["arrive_ns"] - t["start_ns"] - x["busy_ns"]) > 1 or \
           abs(t["release_ns"] - t["arrive_ns"] - x["wait_ns"]) > 1:
            complain(f"{where}: {t} is not {x}: thread")
    complain.expect(f"{where}: sources", len(op["sources"]), len(entry["sources"]))
    for s, t in zip(op["sources"], entry["sources"]):
        disk = s["origin"] == "file"  # as the format calls it: DISK
        complain.expect(f"{where}: source",
                        [s["name"], s["size_bytes"], "DISK" if disk else s["origin"].upper(), s.get("view_of"),
                         s["file_offset_bytes"] if disk else s["buffer_id"]],
                        [t["name"], t["size_bytes"], t["memory_source"], t.get("view_of"),
                         t["disk_offset"] if disk else t["buffer_id"]])
    chosen = collections.Counter()
    for s in op["sources"]:
        for e in s.get("experts", []):
            chosen[e["expert_id"]] += e["n_tokens"]
    complain.expect(f"{where}: experts", chosen, collections.Counter(entry["expert_ids"]))
    complain.expect(f"{where}: num_experts", len(entry["expert_ids"]), entry["num_experts"])


def check_traces(d, tool, trace):
    by_token, lanes = collections.defaultdict(list), collections.defaultdict(list)
    for op in traces.ops_of(tool, trace):
        by_token[op["batch_id"]].append(op)
    for op in traces.tool(tool, "log", "--json", "--lanes", trace)["ops"]:
        lanes[op["graph_run"], op["node"]].append(op)
    complain.expect("tokens", sorted(by_token), list(range(len(d["traces"]))))
    compared = 0
    for token, t in enumerate(d["traces"]):
        complain.expect(f"token {token}: entries", len(by_token[token]), len(t["entries"]))
        for i, (entry, op) in enumerate(zip(t["entries"], by_token[token])):
            of_op = sorted(lanes[op["graph_run"], op["node"]], key=lambda x: x["thread_id"])
            check_entry(f"token {token}, entry {i}", entry, op, of_op)
            node = d["graphs"][token]["nodes"][int(entry["node_id"].removeprefix("node_"))]
            complain.expect(f"token {token}, entry {i}: node", entry["dst_name"], node["label"])
            compared += 1
    return compared


def check_graphs(d, tool, trace):
    for token, g in enumerate(d["graphs"]):
        shown = traces.tool(tool, "graph", "--json", "--batch", token, trace)
        complain.expect(f"token {token}: nodes",
                        [(n["name"], n["op"], n["type"].upper(), n["layer_id"], n["category"]) for n in shown["nodes"]],
                        [(n["label"], n["operation"], n["dtype"], n["layer_id"], n["category"]) for n in g["nodes"]])
        complain.expect(f"token {token}: edges",
                        [(f"node_{e['source']}", f"node_{e['target']}", e["label"]) for e in shown["edges"]],
                        [(e["source"], e["target"], e["label"]) for e in g["edges"]])


def check_buffers(d, tool, trace):
    shown = traces.tool(tool, "buffers", "--json", trace)
    complain.expect("buffers", [(b["buffer_id"], b["name"], b["size_bytes"], b["usage"].upper()) for b in shown["buffers"]],
                    [(b["id"], b["name"], b["size"], b["usage_name"]) for b in d["buffers"]["buffers"]])
    complain.expect("buffer events", [(e["buffer_id"], e["event"] == "free", e["active_buffers"],
                                       e["allocated_bytes"] + e["mapped_bytes"] + e["unknown_bytes"])
                                      for e in shown["events"]],
                    [(e["buffer_id"], e["event"] == "dealloc", e["num_active_buffers"], e["cumulative_size"])
                     for e in d["buffers"]["timeline"]])
    sums = [e["cumulative_size"] for e in d["buffers"]["timeline"]]
    complain.expect("peak", max(sums), d["buffers"]["metadata"]["peak_occupancy_bytes"])


def check_experiment(d, tool, trace, model):
    e = d["experiment"]
    complain.expect("experiment",
                    [traces.info_of(tool, trace)["run_id"], PROMPT, TOKENS, 2, str(model.resolve()), "llama.cpp", "v0.5.0"],
                    [e["experiment_id"], e["prompt"], e["num_tokens_generated"], e["threads"], e["model_file"],
                     e["engine"]["name"], e["engine"]["version"]])
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z", e["timestamp_start"]):
        complain(f"{e['timestamp_start']}: timestamp_start")


def check_model(tool, work, engine, paths):
    trace, folder = work / "dataset.ttrace", work / "dataset"
    run(tool, "run", "--force", "-q", "-o", trace, "--engine", engine, "-m", paths[0], "-p", PROMPT, "-n", TOKENS,
        "--ignore-eos", "-t", "2")
    run(tool, "export", trace, "--format", "dataset", "-o", folder, "--force")
    run(tool, "verify", folder)
    d = read_dataset(folder)
    check_all_keys(d)
    check_map(d, paths)
    check_graphs(d, tool, trace)
    check_buffers(d, tool, trace)
    check_experiment(d, tool, trace, paths[0])
    compared = check_traces(d, tool, trace)
    run(tool, "export", trace, "--format", "dataset", "-o", folder, "--force", "--compress", "gzip", "--threads", "3")
    run(tool, "verify", folder)
    complain.expect("compressed", True, read_dataset(folder) == d)
    # What the trace holds of the model file is what the file holds.
    moved = [p.rename(p.with_suffix(".moved")) for p in paths]
    run(tool, "export", trace, "--format", "dataset", "-o", folder, "--force")
    gone = read_dataset(folder)
    for p, q in zip(moved, paths):
        p.rename(q)
    complain.expect("without the file: source", "trace", gone["map"]["metadata"].pop("source"))
    d["map"]["metadata"].pop("source")
    for key in d["map"]:
        if d["map"][key] != gone["map"][key]:
            complain(f"without the file: {str(d['map'][key])[:200]} became {str(gone['map'][key])[:200]}: {key}")
    return compared


def main():
    tool, work = sys.argv[1], Path(sys.argv[2])
    engine = Path(os.environ["TT_ENGINES"]) / "v0.5.0"
    if not engine.is_dir():
        print("skipped: engine v0.5.0 was not fetched")
        sys.exit(77)
    run(tool, "synth", "-o", work / "dense.gguf", "--force")
    run(tool, "synth", "--preset", "moe", "-o", work / "experts.gguf", "--force")
    run(tool, "synth", "--split", "3", "--type", "Q8_0", "-o", work / "split.gguf", "--force")
    models = [[work / "dense.gguf"], [work / "experts.gguf"],
              [work / f"split-{i:05}-of-00003.gguf" for i in (1, 2, 3)]]
    compared = sum(check_model(tool, work, engine, paths) for paths in models)
    complain.finish(f"{compared} entries of three models are what the model files and `log` say")


if __name__ == "__main__":
    main()
