"""Decodes what `export --format bin256` and `bin1024` write, with Python's struct, as docs/bin1024.md has the layout,
and compares it with the dataset of the same trace.

Usage: check_records.py TENSORTRACE WORKDIR [TRACE...]

What a record must say is worked out from traces/, graphs/ and memory-map.json of `export --format dataset`: which
nodes a fused op has, which sources each of them reads, where those lie. The numbers of operations are read from the
table of the document. Without TRACE the golden ones. Exits with 1 when anything differs.
"""

import json
import os
import re
import shutil
import struct
import sys
from pathlib import Path

SOURCE = Path(os.environ["TT_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "tests" / "engine"))

import traces  # noqa: E402

GOLDEN = ["good-plain", "good-experts", "good-memory", "good-memory-experts", "good-killed", "good-old-experts",
          "good-one-clock"]
FRONT = "<QIHHBBB5s"
FRONT_FIELDS = "timestamp_ns token_id layer_id thread_id operation_type phase num_sources zero".split()
LAYOUTS = {"bin256": (256, 24, 20), "bin1024": (1024, 128, 128)}
NONE_8, NONE_16, NONE_32 = 0xFF, 0xFFFF, 0xFFFFFFFF


def numbers():
    """{name: number} of the document."""
    text = (SOURCE / "docs" / "bin1024.md").read_text().split("## Numbers of operations")[1]
    found = {}
    for first, row in re.findall(r"^\| ([0-9]+) \|(.*)\|$", text, re.M):
        for i, name in enumerate(row.split("|")):
            found[name.strip()] = int(first) + i
    return found


def text_of(data):
    text, _, rest = data.partition(b"\0")
    if any(rest) or not data.endswith(b"\0"):
        return None
    return text


def decode(data, layout):
    size, dst, name = LAYOUTS[layout]
    if len(data) % size:
        sys.exit(f"{layout}: {len(data)} bytes are no multiple of {size}")
    for at in range(0, len(data), size):
        record = dict(zip(FRONT_FIELDS, struct.unpack_from(FRONT, data, at)))
        record["dst_name"] = text_of(data[at + 24:at + 24 + dst])
        record["sources"] = []
        place = at + 24 + dst
        for i in range(4):
            raw = struct.unpack_from(f"<{name}sQIHBBQI4s", data, place)
            if i < record["num_sources"]:
                record["sources"].append({"name": text_of(raw[0]), "tensor_ptr": raw[1], "size_bytes": raw[2],
                                          "layer_id": raw[3], "memory_source": raw[4], "place": raw[6],
                                          "tensor_idx": raw[7]})
            elif any(data[place:place + name + 32]):
                record["zero"] = b"source"
            place += name + 32
        record["experts"] = []
        if layout == "bin1024":
            experts = struct.unpack_from("<16iB", data, place)
            record["experts"] = list(experts[:experts[16]])
            if any(experts[experts[16]:16]) or any(data[place + 65:at + size]):
                record["zero"] = b"experts"
        yield record


class Dataset:
    def __init__(self, tool, trace, folder, options):
        shutil.rmtree(folder, ignore_errors=True)
        done = traces.subprocess.run([tool, "export", "--format", "dataset", "-o", folder, "--no-experts", *options,
                                      trace], capture_output=True, check=False)
        self.there = done.returncode == 0
        if not self.there:
            return
        self.index = {t["name"]: i for i, t in
                      enumerate(json.loads((folder / "memory-map.json").read_text())["tensors"])}
        self.tokens = []
        for file in sorted((folder / "traces").iterdir()):
            self.tokens.append((json.loads(file.read_text()),
                                json.loads((folder / "graphs" / file.name).read_text())))

    def records(self, numbers_of):
        for token, graph in self.tokens:
            edges = {}
            for e in graph["edges"]:
                if e["label"] != "view":
                    edges.setdefault(e["target"], []).append((int(e["label"][4:]), e["source"]))
            nodes = {n["id"]: n for n in graph["nodes"]}
            order = [n["id"] for n in graph["nodes"]]
            for entry in token["entries"]:
                yield from self.of_entry(token, entry, nodes, order, edges, numbers_of)

    def of_entry(self, token, entry, nodes, order, edges, numbers_of):
        parts = entry["operation_type"].split("+")
        at, members = order.index(entry["node_id"]), []
        while len(members) < len(parts):
            if nodes[order[at]]["node_type"] == "op":
                members.insert(0, order[at])
            at -= 1
        left = list(entry["sources"])
        for part, member in zip(parts, members):
            mine, seen = [], []
            for _, source in sorted(edges.get(member, [])):
                if source in members or source in seen:
                    continue
                seen.append(source)
                if left and left[0]["name"] == nodes[source]["label"]:
                    mine.append(self.source(left.pop(0)))
            yield {"timestamp_ns": entry["timestamp_ns"], "token_id": token["metadata"]["batch"],
                   "layer_id": NONE_16 if entry["layer_id"] is None else entry["layer_id"],
                   "thread_id": min(t["thread_id"] for t in entry["threads"]),
                   "operation_type": numbers_of.get(part, NONE_8),
                   "phase": {"PROMPT": 0, "GENERATE": 1}.get(entry["phase"], NONE_8),
                   "num_sources": min(len(mine), 4), "zero": bytes(5), "dst_name": nodes[member]["label"],
                   "sources": mine[:4], "experts": entry["expert_ids"] if part == "MUL_MAT_ID" else [],
                   "n_experts": entry["num_experts"]}
        if left:
            sys.exit(f"{entry['dst_name']}: {len(left)} sources belong to no node")

    def source(self, s):
        return {"name": s["name"], "tensor_ptr": int(s["tensor_ptr"] or "0", 16),
                "size_bytes": min(s["size_bytes"], NONE_32),
                "layer_id": NONE_16 if s["layer_id"] is None else s["layer_id"],
                "memory_source": {"DISK": 0, "BUFFER": 1}.get(s["memory_source"], NONE_8),
                "place": s["disk_offset"] if s["memory_source"] == "DISK" else s["buffer_id"] or 0,
                "tensor_idx": self.index.get(s.get("view_of", s["name"]), NONE_32)}


def same_name(got, wanted, room):
    if "\ufffd" in wanted:  # not UTF-8: a dataset cannot say which bytes
        return True
    cut = wanted.encode()[:room - 1].decode(errors="ignore").encode()
    return got == cut


def differences(got, wanted, layout):
    _, dst, name = LAYOUTS[layout]
    for k in FRONT_FIELDS:
        if got[k] != wanted[k]:
            yield k, got[k], wanted[k]
    if not same_name(got["dst_name"], wanted["dst_name"], dst):
        yield "dst_name", got["dst_name"], wanted["dst_name"]
    for a, b in zip(got["sources"], wanted["sources"]):
        if not same_name(a["name"], b["name"], name):
            yield "name", a["name"], b["name"]
        for k in ("tensor_ptr", "size_bytes", "layer_id", "memory_source", "place", "tensor_idx"):
            if a[k] != b[k] and (k != "tensor_ptr" or b[k]):
                yield k, a[k], b[k]
    if layout == "bin1024" and wanted["experts"] is not None and got["experts"] != wanted["experts"][:16]:
        yield "experts", got["experts"], wanted["experts"]


def compare(tool, path, work, layout, options, dataset, complain):
    out, one = work / "out.bin", work / "one.bin"
    for file, threads in ((out, 3), (one, 1)):
        traces.subprocess.run([tool, "export", "--force", "--format", layout, "--threads", str(threads), "-o", file,
                               *options, path], check=True, capture_output=True)
    if out.read_bytes() != one.read_bytes():
        complain(f"{path.name}: {layout}: three threads write something else than one")
    got = [r for r in decode(out.read_bytes(), layout) if r["token_id"] != NONE_32]
    wanted = list(dataset.records(numbers()))
    # The dataset goes by token and in it by time, the records by graph computation.
    for records in (got, wanted):
        records.sort(key=lambda r: (r["token_id"], r["timestamp_ns"]))
    complain.expect(f"{path.name}: {layout}: records", len(wanted), len(got))
    for i, (a, b) in enumerate(zip(got, wanted)):
        for k, is_, right in differences(a, b, layout):
            complain(f"{path.name}: {layout}: record {i} ({b['dst_name']}) says {is_} instead of {right}: {k}")
    return got


def main():
    tool, work = sys.argv[1], Path(sys.argv[2])
    golden = SOURCE / "tests" / "golden"
    paths = list(map(Path, sys.argv[3:])) or [golden / f"{n}.ttrace" for n in GOLDEN]
    complain = traces.Problems("records")
    complain.expect("numbers", 95, len(numbers()))
    compared = experts = fused = disk = copies = 0
    for path in paths:
        for options in ([], ["--count-copies-as-file"]):
            dataset = Dataset(tool, path, work / "dataset", options)
            for layout in LAYOUTS if dataset.there else ():
                got = compare(tool, path, work, layout, options, dataset, complain)
                compared += len(got)
                experts += sum(bool(r["experts"]) for r in got)
                fused += sum(a["timestamp_ns"] == b["timestamp_ns"] for a, b in zip(got, got[1:]))
                n = sum(s["memory_source"] == 0 for r in got for s in r["sources"])
                disk += n
                copies += n if options else -n
    if len(sys.argv) <= 3 and not (experts and fused and disk and copies > 0):
        complain(f"the traces have too little: {experts} experts, {fused} fused, {disk} from disk, {copies} copies")
    complain.finish(f"{compared} records as the datasets have it: {disk} sources on disk, {experts} records with "
                    f"experts, {fused} of fused ops")


if __name__ == "__main__":
    main()
