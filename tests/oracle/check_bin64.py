"""Decodes what `export --format bin64` writes, with Python's struct, and compares it record by record.

Usage: check_bin64.py TENSORTRACE WORKDIR [TRACE...]

The format string is the one that readers of these files use: native alignment puts the four zero bytes
behind tensor_idx. What the records must say is worked out from `log --json` (times, sources, places) and
from tests/golden/decode.py, which shares no code with tensortrace (operation numbers, addresses, choices
of experts and their weights, the order of tensors in the model file). Without TRACE the golden ones.
Exits with 1 when anything differs.
"""

import math
import os
import re
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(os.environ["TT_SOURCE_DIR"]) / "tests" / "engine"))

import traces  # noqa: E402

GOLDEN = ["good-plain", "good-experts", "good-memory", "good-memory-experts", "good-killed", "good-flight",
          "good-old-experts", "good-one-clock"]
READERS = "QIHHBBHIIQQIBBHBBHI"  # native alignment
TABLE = "<QIHHBBHIIIQQIBBHBBHI"  # the table of fields, its four bytes after tensor_idx said
FIELDS = ("timestamp_ns batch_id layer_id thread_id operation_type phase zero_18 zero_20 tensor_idx tensor_ptr "
          "file_offset size_bytes attention_head qkv_type zero_54 expert_id expert_rank routing_score zero_60").split()
NONE_8, NONE_16, NONE_32, MOST_64 = 0xFF, 0xFFFF, 0xFFFFFFFF, (1 << 64) - 1
PHASES = {"prompt": 0, "generate": 1}


def check_string(complain):
    complain.expect("size of a record", 64, struct.calcsize(READERS))
    complain.expect("size of a record by the table", 64, struct.calcsize(TABLE))
    sample = bytes(range(28)) + bytes(4) + bytes(range(32, 64))
    by_table = list(struct.unpack(TABLE, sample))
    complain.expect("the zero bytes", 0, by_table.pop(9))
    complain.expect("fields of both strings", by_table, list(struct.unpack(READERS, sample)))


def read(path):
    data = Path(path).read_bytes()
    if len(data) % 64:
        sys.exit(f"bin64: {path} has {len(data)} bytes, which is not a multiple of 64")
    if any(data[at + 28:at + 32] != bytes(4) for at in range(0, len(data), 64)):
        sys.exit("bin64: the bytes 28 to 31 are not zero")
    return [dict(zip(FIELDS, struct.unpack(READERS, data[at:at + 64]))) for at in range(0, len(data), 64)]


def qkv_of(name):
    base = re.sub(r"^blk\.[0-9]+\.", "", name)
    for i, patterns in enumerate((r"attn_q\b|Qcur|q-", r"attn_k\b|Kcur|k-|cache_k_", r"attn_v\b|Vcur|v-|cache_v_")):
        if re.match(rf"(?:{patterns})", base):
            return i
    return NONE_8


class Wanted:
    def __init__(self, tool, path):
        decoded = traces.decoded(path)
        self.view = traces.decoder.View(decoded)
        self.bases = {b["id"]: b["base"] for b in self.view.all("buffer")}
        self.weights, self.offsets = {}, {}
        for m in self.view.all("model"):
            for w in m["weights"]:
                self.weights.setdefault(w["name"], len(self.weights))
                self.offsets.setdefault(w["name"], w["offset_bytes"])
        self.choices = {}
        for kind, at in (("experts", 0), ("weights", 1)):
            for d in traces.details_of(decoded, kind):
                for i, item in enumerate(d["items"]):
                    key = (d["run"], d["node"])
                    pair = self.choices.setdefault(key, {}).setdefault((d["token"], d["rank"] + i), [None, None])
                    pair[at] = struct.unpack("<f", struct.pack("<I", item))[0] if at else item
        self.ops = traces.tool(tool, "log", "--json", "--limit", "0", path)["ops"]
        lanes = traces.tool(tool, "log", "--json", "--limit", "0", "--lanes", path)["ops"]
        self.lane = {}
        for r in lanes:
            key = (r["graph_run"], r["node"])
            self.lane[key] = min(r["thread_id"], self.lane.get(key, NONE_16))

    def records(self):
        for op in self.ops:
            g = self.view.graphs[op["graph_id"]]
            nodes, at = [op["node"]], op["node"]
            while len(nodes) < op["nodes"]:
                at += 1
                if g["tensors"][at]["flags"] & 1:
                    nodes.append(at)
            tensors = [g["tensors"][i] for i in nodes]
            taken = []
            for node, t in zip(nodes, tensors):
                for s in t["src"]:
                    if s and s - 1 not in nodes and s not in [x for _, _, x in taken]:
                        taken.append((node, t, s))
            for (node, t, s), source in zip(taken, op["sources"], strict=True):
                yield from self.of_source(op, g, node, t, s, source)

    @staticmethod
    def at(g, s):
        """The tensor's root, its offset in the buffer, and in the root; of what it selects nothing is said."""
        t = g["tensors"][s - 1]
        inside, place = 0, t["location"] if t["buffer"] else None
        while t["view_src"]:
            inside += t["view_offset_bytes"]
            t = g["tensors"][t["view_src"] - 1]
        return t, t["location"] + inside if place is None else place, inside

    def of_source(self, op, g, node, t, s, source):
        root = source.get("view_of", source["name"])
        record = dict.fromkeys(FIELDS, 0)
        record.update(
            timestamp_ns=op["start_ns"], batch_id=NONE_32 if op["batch_id"] is None else op["batch_id"],
            layer_id=NONE_16 if op["layer_id"] is None else min(op["layer_id"], NONE_16),
            thread_id=self.lane[(op["graph_run"], op["node"])], operation_type=min(t["op"], NONE_8),
            phase=PHASES.get(op["phase"], NONE_8),
            tensor_idx=self.weights[root] if "file_offset_bytes" in source else NONE_32,
            file_offset=self.at(g, s)[2] + self.offsets[root] if source["origin"] == "file" else 0,
            size_bytes=min(source["size_bytes"], NONE_32), attention_head=NONE_8,
            qkv_type=qkv_of(source["name"]), expert_id=NONE_8, expert_rank=NONE_8)
        if "buffer_id" in source:
            record["tensor_ptr"] = self.bases[source["buffer_id"]] + self.at(g, s)[1] & MOST_64
        else:
            record["tensor_ptr"] = g["tensors"][s - 1]["location"]
        picks = self.view.strings[t["op_name"]] == "MUL_MAT_ID" and t["src"][0] == s
        router = next(i for i, x in enumerate(g["tensors"]) if x["op_name"] == t["op_name"] and
                      x["src"][2] == t["src"][2]) if picks else None
        choices = self.choices.get((op["graph_run"], router), {}) if picks else {}
        if not choices:
            yield record
            return
        from_ = g["tensors"][s - 1]
        for (_, rank), (expert, weight) in sorted(choices.items()):
            offset = expert * from_["nb"][2]
            yield dict(record, expert_id=min(expert, NONE_8), expert_rank=min(rank, NONE_8),
                       tensor_ptr=record["tensor_ptr"] + offset & MOST_64,
                       file_offset=record["file_offset"] + offset if record["file_offset"] else 0,
                       size_bytes=min(source["size_bytes"] // from_["ne"][2], NONE_32), routing_score=weight)


def same(got, wanted):
    wanted = dict(wanted)
    weight = wanted["routing_score"]
    if isinstance(weight, float):
        wanted["routing_score"] = got["routing_score"]
        if math.isnan(weight) or abs(got["routing_score"] - min(max(weight, 0), 1) * 65535) > 0.51:
            return ["routing_score"]
    elif weight is None:
        wanted["routing_score"] = 0
    return [k for k in FIELDS if got[k] != wanted[k]]


def main():
    tool, work = sys.argv[1], Path(sys.argv[2])
    golden = Path(os.environ["TT_SOURCE_DIR"]) / "tests" / "golden"
    paths = list(map(Path, sys.argv[3:])) or [golden / f"{n}.ttrace" for n in GOLDEN]
    complain = traces.Problems("bin64")
    compared = experts = scored = 0
    check_string(complain)
    for path in paths:
        out, one = work / "out.bin", work / "one.bin"
        for file, threads in ((out, 3), (one, 1)):
            traces.subprocess.run([tool, "export", "--force", "--format", "bin64", "--threads", str(threads), "-o",
                                   file, path], check=True, capture_output=True)
        if out.read_bytes() != one.read_bytes():
            complain(f"{path.name}: three threads write something else than one")
        got, wanted = read(out), list(Wanted(tool, path).records())
        complain.expect(f"{path.name}: records", len(wanted), len(got))
        for i, (a, b) in enumerate(zip(got, wanted)):
            for k in same(a, b):
                complain(f"{path.name}: record {i} says {a[k]} instead of {b[k]}: {k}")
            experts += a["expert_id"] != NONE_8
            scored += a["routing_score"] != 0
        compared += len(got)
    if not (experts and scored) and len(sys.argv) <= 3:
        complain("no record has an expert with a score")
    complain.finish(f"{compared} records, {experts} of them of an expert ({scored} with a score), as expected")


if __name__ == "__main__":
    main()
