#!/usr/bin/env python3
"""A second decoder of .ttrace files, written from docs/format.md alone.

    decode.py FILE                     the whole file as JSON on standard output
    decode.py --compare PROGRAM FILE   is PROGRAM (tensortrace) of the same opinion?

Standard library only. zstd and XXH3 come from the system's shared libraries by
ctypes; without libzstd a compressed trace cannot be read (exit 77: skipped),
without libxxhash checksums are not checked. Exit 1: the two differ; 2: no trace.
It shares no code with the C reader, on purpose: keep it that way.
"""

import ctypes
import ctypes.util
import json
import struct
import subprocess
import sys

M64 = (1 << 64) - 1


class Bad(Exception):
    """The bytes break the format; reading stops here."""


class Skip(Exception):
    """This machine lacks what is needed to read the file."""


def shared_library(name):
    path = ctypes.util.find_library(name)
    return ctypes.CDLL(path) if path else None


XXHASH = shared_library("xxhash")
ZSTD = shared_library("zstd")


def xxh3(data):
    if XXHASH is None:
        return None
    XXHASH.XXH3_64bits.restype = ctypes.c_uint64
    return XXHASH.XXH3_64bits(ctypes.c_char_p(data), ctypes.c_size_t(len(data)))


def unzstd(data, size):
    if ZSTD is None:
        raise Skip("libzstd is not here")
    out = ctypes.create_string_buffer(max(size, 1))
    ZSTD.ZSTD_decompress.restype = ctypes.c_size_t
    got = ZSTD.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    if got != size:
        raise Bad("a payload does not unpack to its announced size")
    return out.raw[:size]


class Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, n):
        if n > len(self.data) - self.at:
            raise Bad("cut off")
        self.at += n
        return self.data[self.at - n : self.at]

    def u8(self):
        return self.take(1)[0]

    def u16(self):
        return struct.unpack("<H", self.take(2))[0]

    def u32(self):
        return struct.unpack("<I", self.take(4))[0]

    def u64(self):
        return struct.unpack("<Q", self.take(8))[0]

    def varint(self):
        value = 0
        for i in range(10):
            byte = self.u8()
            value |= (byte & 0x7F) << (7 * i)
            if byte < 0x80:
                if value > M64:
                    raise Bad("a varint of more than 64 bits")
                return value
        raise Bad("a varint of more than 10 bytes")

    def zigzag(self):
        return unzigzag(self.varint())

    def str(self):
        return self.take(self.varint()).decode("utf-8", "replace")

    def done(self):
        return self.at == len(self.data)


def unzigzag(v):
    return (v >> 1) ^ -(v & 1)


# --- the container ---


def file_header(data):
    if data[:8] != b"TTRACE\x1a\n":
        raise Bad("no magic")
    if len(data) < 64:
        raise Bad("the header is cut off")
    major, minor, size = struct.unpack("<HHI", data[8:16])
    if major != 1 or size != 64:
        raise Bad("version %d, header of %d bytes" % (major, size))
    created, pid, _, checksum = struct.unpack("<QQQQ", data[32:64])
    if xxh3(data[:56]) not in (None, checksum):
        raise Bad("header checksum")
    return {"major": major, "minor": minor, "run_id": data[16:32].hex(), "created_unix_ns": created, "pid": pid}


def read_chunk(data, at):
    """The chunk at byte `at`, and where the next one begins."""
    if len(data) - at < 40:
        raise Bad("a chunk header is cut off")
    magic, kind, codec, _, stored, raw, stream, count, position, checksum = struct.unpack(
        "<IHBBIIIIQQ", data[at : at + 40]
    )
    if magic != 0x4B435454:
        raise Bad("no chunk here")
    if stored > 64 << 20 or raw > 64 << 20:
        raise Bad("a chunk is too large")
    payload = data[at + 40 : at + 40 + stored]
    if len(payload) < stored:
        raise Bad("a chunk is cut off")
    if xxh3(data[at : at + 32] + payload) not in (None, checksum):
        raise Bad("chunk checksum")
    if codec == 1:
        payload = unzstd(payload, raw)
    elif codec != 0 or raw != stored:
        raise Bad("codec %d" % codec)
    chunk = {"offset": at, "type": kind, "stream": stream, "count": count, "position": position}
    return chunk, payload, at + 40 + (stored + 7) // 8 * 8


def read_index(payload):
    r, entries, offset = Reader(payload), [], 0
    for _ in range(r.varint()):
        offset += r.varint()
        entry = {"offset": offset * 8, "type": r.varint(), "stream": r.varint(), "position": r.varint()}
        entry["count"] = r.varint()
        if entry["type"] == 2:
            entry["run_min"] = r.varint()
            entry["run_max"] = entry["run_min"] + r.varint()
        entries.append(entry)
    return entries, r.u8()


# --- META ---


def pairs(r, value):
    return {r.str(): value(r) for _ in range(r.varint())}


def model(r):
    m = {"id": r.varint(), "path": r.str(), "size_bytes": r.u64(), "mtime_ns": r.u64(), "device": r.u64()}
    m.update(inode=r.u64(), head_hash=r.u64(), data_offset_bytes=r.varint(), metadata={}, weights=[])
    for _ in range(r.varint()):
        key, _, value = r.str(), r.varint(), r.str()
        m["metadata"][key] = value
    for _ in range(r.varint()):
        w = {"name": r.str(), "type": r.varint(), "type_name": r.varint()}
        w["ne"] = [r.varint() for _ in range(r.varint())]
        w.update(offset_bytes=r.varint(), size_bytes=r.varint())
        m["weights"].append(w)
    return m


def buffer(r):
    b = {"id": r.varint(), "ticks": r.u64(), "name": r.varint(), "usage": r.u8(), "flags": r.u8()}
    b.update(base=r.u64(), size_bytes=r.varint())
    if b["flags"] & 2:
        b.update(path=r.varint(), file_offset_bytes=r.varint())
    return b


def tensor(r):
    t = {"name": r.varint(), "op": r.varint(), "op_name": r.varint(), "op_desc": r.varint()}
    t.update(type=r.varint(), type_name=r.varint(), flags=r.varint())
    t["ne"] = [r.varint() for _ in range(4)]
    t["nb"] = [r.varint() for _ in range(4)]
    t["size_bytes"] = r.varint()
    t["src"] = [r.varint() for _ in range(r.varint())]
    t["view_src"] = r.varint()
    t["view_offset_bytes"] = r.varint() if t["view_src"] else 0
    t["buffer"] = r.varint()
    t["location"] = r.varint() if t["buffer"] else r.u64()
    return t


def graph(r):
    g = {"id": r.varint(), "n_nodes": r.varint()}
    g["tensors"] = [tensor(r) for _ in range(r.varint())]
    return g


def batch(r):
    b = {"id": r.varint(), "context": r.varint(), "ticks": r.u64(), "thread": r.varint(), "n_tokens": r.varint()}
    b.update(n_outputs_plus_1=r.varint(), phase=r.u8(), flags=r.u8(), tokens=None, positions=None)
    if b["flags"] & 1:
        b["tokens"] = [r.zigzag() for _ in range(b["n_tokens"])]
    if b["flags"] & 2:
        b["positions"], last = [], 0
        for _ in range(b["n_tokens"]):
            last += r.zigzag()
            b["positions"].append(last)
    return b


def run(r):
    x = {"id": r.varint(), "batch": r.varint(), "graph": r.varint(), "observed": r.u8(), "threads": r.varint()}
    x.update(ticks=r.u64(), thread=r.varint())
    return x


def end(r):
    return {"id": r.varint(), "ticks": r.u64(), "status": r.zigzag()}


def fields(*names_and_readers):
    def read(r):
        return {name: reader(r) for name, reader in names_and_readers}

    return read


V, Z, U64 = Reader.varint, Reader.zigzag, Reader.u64
RECORDS = {
    1: ("environment", lambda r: pairs(r, Reader.str)),
    2: ("string", fields(("id", V), ("text", Reader.str))),
    3: ("model", model),
    4: ("buffer", buffer),
    5: ("buffer_free", fields(("id", V), ("ticks", U64))),
    6: ("graph", graph),
    7: ("batch", batch),
    8: ("batch_end", end),
    9: ("run", run),
    10: ("run_end", end),
    11: ("clock", fields(("ticks", U64), ("mono_ns", U64), ("unix_ns", U64))),
    12: ("ring", fields(("ring", V), ("thread", V), ("ticks", U64))),
    13: ("counts", lambda r: pairs(r, V)),
    14: ("decode", fields(("begin_ticks", U64), ("end_ticks", U64), ("n_tokens", V), ("status", Z), ("thread", V))),
    15: ("loss", fields(("ring", V), ("position", V), ("dropped", V))),
}


def read_meta(payload, out):
    r = Reader(payload)
    while not r.done():
        kind = r.u8()
        body = Reader(r.take(r.varint()))
        if kind in RECORDS:
            name, read = RECORDS[kind]
            out.append((name, read(body)))


# --- OPS ---


def unpack_column(r, n):
    values = []
    while len(values) < n:
        count = min(64, n - len(values))
        header, base, exceptions = r.u8(), r.varint(), r.u8()
        width = header & 0x7F
        bits = int.from_bytes(r.take((count * width + 7) // 8), "little")
        frame = [bits >> (i * width) & ((1 << width) - 1) for i in range(count)]
        for _ in range(exceptions):
            index = r.u8()
            frame[index] += r.varint() << width
        last = base
        for v in frame:
            last = (last + unzigzag(v)) & M64 if header & 0x80 else (base + v) & M64
            values.append(last)
    return [unzigzag(v) for v in values]


def read_ops(payload, n):
    """The n records of an OPS payload: (run, lane, node, covers, open, start, arrive, release)."""
    r = Reader(payload)
    if r.varint() != 1:
        raise Bad("encoding")
    shift, t0 = r.varint(), r.u64()
    sequences = []
    for _ in range(r.varint()):
        nodes, previous = [], -1
        for _ in range(r.varint()):
            v = r.varint()
            previous += 1 + v // 2
            nodes.append((previous, r.varint() if v & 1 else 0))
        sequences.append(nodes)
    segments, run_id, first = [], 0, 0
    for _ in range(r.varint()):
        run_id += r.zigzag()
        lane, sequence = r.varint(), r.varint()
        segments.append((run_id, lane, sequence, first))
        first += len(sequences[sequence])
    if first != n:
        raise Bad("the segments hold %d records, the header says %d" % (first, n))
    order = []
    for s, nodes in enumerate(sequences):
        firsts = [seg[3] for seg in segments if seg[2] == s]
        order += [at + position for position in range(len(nodes)) for at in firsts]
    columns = []
    for _ in range(3):
        stored, column = unpack_column(r, n), [0] * n
        for place, value in zip(order, stored):
            column[place] = value
        columns.append(column)
    records, last = [], t0
    for run_id, lane, sequence, first in segments:
        for i, (node, covers) in enumerate(sequences[sequence]):
            start = (last + columns[0][first + i]) & M64
            arrive = (start + columns[1][first + i]) & M64
            last = (arrive + columns[2][first + i]) & M64
            times = [(t << shift) & M64 for t in (start, arrive, last)]
            records.append((run_id, lane & 0xFFFF, node, covers, bool(lane >> 16), *times))
    return records


# --- the whole ---


def decode(data):
    trace = {"header": file_header(data), "complete": False, "end_flags": 0, "chunks": [], "meta": [], "ops": []}
    at, index = 64, None
    try:
        while True:
            chunk, payload, following = read_chunk(data, at)
            if chunk["type"] == 3:
                index, trace["end_flags"] = read_index(payload)
                trace["complete"] = data[following:] == struct.pack("<Q", at) + b"TTRACEND"
                break
            at = following
            if chunk["type"] == 1:
                read_meta(payload, trace["meta"])
            elif chunk["type"] == 2:
                trace["ops"] += [(chunk["stream"],) + record for record in read_ops(payload, chunk["count"])]
            trace["chunks"].append(chunk)
    except Bad as why:
        trace["cut"] = {"offset": at, "reason": str(why)}
    if index is not None:
        found = [{k: c[k] for k in ("offset", "type", "stream", "position", "count")} for c in trace["chunks"]]
        listed = [{k: e[k] for k in ("offset", "type", "stream", "position", "count")} for e in index]
        trace["index_agrees"] = found == listed
    return trace


# --- the comparison ---


def round_ns(x):
    return int(x + 0.5) if x > 0 else 0


class View:
    """What the C reader reports, worked out from the decoded records."""

    def __init__(self, trace):
        self.trace = trace
        self.by_kind = {}
        for kind, record in trace["meta"]:
            self.by_kind.setdefault(kind, []).append(record)
        self.strings = {0: ""}
        self.strings.update({s["id"]: s["text"] for s in self.all("string")})
        self.graphs = {g["id"]: g for g in self.all("graph")}
        self.runs = {r["id"]: r for r in self.all("run")}
        self.batches = {}
        for number, b in enumerate(self.all("batch")):
            self.batches[b["id"]] = dict(b, number=number)
        clocks = self.all("clock")
        self.clock = clocks[0]
        if len(clocks) > 1:
            last = clocks[-1]
            self.slope = (last["mono_ns"] - self.clock["mono_ns"]) / (last["ticks"] - self.clock["ticks"])
        else:
            self.slope = 1e9 / float(self.environment()["tick_hz"])

    def all(self, kind):
        return self.by_kind.get(kind, [])

    def environment(self):
        merged = {}
        for record in self.all("environment"):
            merged.update(record)
        return merged

    def mono_ns(self, ticks):
        return self.clock["mono_ns"] + int((ticks - self.clock["ticks"]) * self.slope)

    def op(self, record):
        stream, run_id, lane, node, covers, is_open, start, arrive, release = record
        g = self.graphs[self.runs[run_id]["graph"]]
        nodes, at = [node], node
        while len(nodes) <= covers:
            at += 1
            if g["tensors"][at]["flags"] & 1:
                nodes.append(at)
        tensors = [g["tensors"][i] for i in nodes]
        sources = []
        for t in tensors:
            for s in t["src"]:
                if s and s - 1 not in nodes and s not in sources:
                    sources.append(s)
        batch_id = self.runs[run_id]["batch"]
        return {
            "start_ns": self.mono_ns(start),
            "duration_ns": None if is_open else round_ns((arrive - start) * self.slope),
            "wait_ns": None if is_open else round_ns((release - arrive) * self.slope),
            "start_ticks": start,
            "token_id": self.batches[batch_id]["number"] if batch_id else None,
            "run_id": run_id,
            "graph_id": g["id"],
            "node": node,
            "nodes": len(nodes),
            "thread_id": lane,
            "op": "+".join(self.strings[t["op_name"]] for t in tensors),
            "name": self.strings[tensors[-1]["name"]],
            "sources": [self.strings[g["tensors"][s - 1]["name"]] for s in sources],
        }


def op_key(op):
    return (op["start_ticks"], op["run_id"], op["node"], op["thread_id"])


def report_json(program, *words):
    done = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise SystemExit("%s %s: exit %d: %s" % (program, words[0], done.returncode, done.stderr.decode()))
    return json.loads(done.stdout)


def differences(program, path, trace):
    view = View(trace)
    info = report_json(program, "info", "--json", path)
    expected = {
        "run_id": trace["header"]["run_id"],
        "created_unix_ns": trace["header"]["created_unix_ns"],
        "pid": trace["header"]["pid"],
        "complete": trace["complete"],
        "environment": view.environment(),
        "recorder_counts": view.all("counts")[-1] if view.all("counts") else {},
    }
    for key, value in expected.items():
        if info[key] != value:
            yield "info: %s is %r, decoded %r" % (key, info[key], value)
    if info["counts"]["op_records"] != len(trace["ops"]):
        yield "info: %d records, decoded %d" % (info["counts"]["op_records"], len(trace["ops"]))
    for got, b in zip(info["batches"], view.all("batch")):
        for key in ("n_tokens", "tokens", "positions"):
            if got[key] != b[key]:
                yield "info: batch %d: %s is %r, decoded %r" % (b["id"], key, got[key], b[key])
    if len(info["batches"]) != len(view.all("batch")):
        yield "info: %d batches, decoded %d" % (len(info["batches"]), len(view.all("batch")))
    for got, m in zip(info["models"], view.all("model")):
        if (got["path"], got["size_bytes"], got["tensors"]) != (m["path"], m["size_bytes"], len(m["weights"])):
            yield "info: model %d differs" % m["id"]
    got = sorted(report_json(program, "log", "--json", "--lanes", path)["ops"], key=op_key)
    want = sorted((view.op(r) for r in trace["ops"] if r[1] in view.runs), key=op_key)
    if len(got) != len(want):
        yield "log: %d ops, decoded %d" % (len(got), len(want))
    for a, b in zip(got, want):
        a = dict(a, sources=[s["name"] for s in a["sources"]])
        for key, value in b.items():
            if a[key] != value:
                yield "log: run %d node %d: %s is %r, decoded %r" % (b["run_id"], b["node"], key, a[key], value)


def main(words):
    program = None
    if len(words) == 3 and words[0] == "--compare":
        program = words[1]
    elif len(words) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    path = words[-1]
    with open(path, "rb") as f:
        data = f.read()
    try:
        trace = decode(data)
    except Bad as why:
        print("%s: %s" % (path, why), file=sys.stderr)
        return 2
    except Skip as why:
        print("%s: %s" % (path, why), file=sys.stderr)
        return 77
    if program is None:
        json.dump(trace, sys.stdout, indent=1)
        print()
        return 0
    found = list(differences(program, path, trace))
    for line in found[:20]:
        print("%s: %s" % (path, line))
    print("%s: %d records, %d differences" % (path, len(trace["ops"]), len(found)))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
