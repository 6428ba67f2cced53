#!/usr/bin/env python3
"""A second decoder of .ttrace files, written from docs/format.md alone.

    decode.py FILE                          the whole file as JSON on standard output
    decode.py --compare PROGRAM DUMP FILE   are PROGRAM (tensortrace) and DUMP (dump_memory)
                                            of the same opinion?

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


def xxh3(data, seed=0):
    if XXHASH is None:
        return None
    XXHASH.XXH3_64bits_withSeed.restype = ctypes.c_uint64
    return XXHASH.XXH3_64bits_withSeed(ctypes.c_char_p(data), ctypes.c_size_t(len(data)), ctypes.c_uint64(seed))


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

    def bytes(self):
        return self.take(self.varint())

    def str(self):
        return self.bytes().decode("utf-8", "replace")

    def many(self, read):
        return [read() for _ in range(self.varint())]

    def sums(self, n):
        """n numbers, each stored as the difference to the one before."""
        values, last = [], 0
        for _ in range(n):
            last += self.zigzag()
            values.append(last)
        return values

    def later(self, read, default):
        """A field that earlier versions did not write."""
        return default if self.done() else read()

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
    if raw > 64 * (40 + stored):
        raise Bad("a chunk unpacks to more than 64 times its size")
    payload = data[at + 40 : at + 40 + stored]
    if len(payload) < stored:
        raise Bad("a chunk is cut off")
    # From minor version 1 on, a run's checksums are its own.
    minor, run = struct.unpack("<H", data[10:12])[0], struct.unpack("<Q", data[16:24])[0]
    if xxh3(data[at : at + 32] + payload, run if minor else 0) not in (None, checksum):
        raise Bad("chunk checksum")
    if codec == 1:
        payload = unzstd(payload, raw)
    elif codec != 0 or raw != stored:
        raise Bad("codec %d" % codec)
    chunk = {"offset": at, "type": kind, "stream": stream, "count": count, "position": position}
    following = at + 40 + (stored + 7) // 8 * 8
    if kind == 5:
        if at != 64 or stored or position < 40 or position % 8 or position > len(data) - at:
            raise Bad("a hole of %d bytes" % position)
        following = at + position
    return chunk, payload, following


def read_index(payload):
    r, entries, offset = Reader(payload), [], 0
    for _ in range(r.varint()):
        offset += r.varint()
        entry = {"offset": offset * 8, "type": r.varint(), "stream": r.varint(), "position": r.varint()}
        entry["count"] = r.varint()
        if entry["type"] in (2, 4):
            entry["run_min"] = r.varint()
            entry["run_max"] = entry["run_min"] + r.varint()
        entries.append(entry)
    flags = r.u8()
    if flags & 8:
        for entry in entries:
            if entry["type"] == 1:
                about = {k: r.varint() for k in ("kinds", "batches", "runs", "run_ends")}
                for what in ("batch", "run", "tick"):
                    low = r.varint()
                    about[what] = [low, low + r.varint()]
                entry["about"] = about
    return entries, flags & 7


def about_meta(records):
    """What META records are about: (type number, record) each."""
    about = {"kinds": 0, "batches": 0, "runs": 0, "run_ends": 0}
    found = {"batch": [], "run": [], "tick": []}
    for number, record in records:
        about["kinds"] |= 1 << (min(number, 32) - 1)
        if number in (7, 8, 9, 10):
            found["tick"].append(record["ticks"])
        if number in (7, 8):
            found["batch"].append(record["id"])
        if number in (9, 10):
            found["run"].append(record["id"])
        if number in (9, 18, 19):
            found["batch"].append(record["batch"])
        if number == 17:
            found["run"].append(record["run"])
        for kind, counted in ((7, "batches"), (9, "runs"), (10, "run_ends")):
            about[counted] += number == kind
    for what, values in found.items():
        values = [v for v in values if v or what == "tick"]
        about[what] = [min(values), max(values)] if values else [0, 0]
    return about


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
    b["model"] = r.later(r.varint, 0)
    b["allocator"] = r.later(r.varint, 0)
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
    g["backends"] = []
    for _ in range(r.later(r.varint, 0)):
        name, n = r.varint(), r.varint()
        if n > g["n_nodes"] - len(g["backends"]):
            raise Bad("more backends than nodes")
        g["backends"] += [name] * n
    return g


def batch(r):
    b = {"id": r.varint(), "context": r.varint(), "ticks": r.u64(), "thread": r.varint(), "n_tokens": r.varint()}
    b.update(n_outputs_plus_1=r.varint(), phase=r.u8(), flags=r.u8(), tokens=None, positions=None)
    if b["flags"] & 1:
        b["tokens"] = [r.zigzag() for _ in range(b["n_tokens"])]
    if b["flags"] & 2:
        b["positions"] = r.sums(b["n_tokens"])
    b["sequences"] = [r.many(r.zigzag) for _ in range(b["n_tokens"])] if b["flags"] & 4 else None
    b["vocabulary"] = r.later(r.varint, 0)
    if b["phase"] == 3:
        b["n_generate"] = r.varint()
    return b


def run(r):
    x = {"id": r.varint(), "batch": r.varint(), "graph": r.varint(), "observed": r.u8(), "threads": r.varint()}
    x.update(ticks=r.u64(), thread=r.varint())
    return x


def end(r):
    return {"id": r.varint(), "ticks": r.u64(), "status": r.zigzag()}


def token_text(r):
    return {"vocabulary": r.varint(), "token": r.zigzag(), "bytes": list(r.bytes())}


def indices(r):
    return {"run": r.varint(), "tensor": r.varint(), "values": r.sums(r.varint())}


def usage(r):
    u = {"batch": r.varint(), "moment": r.u8(), "ticks": r.u64(), "flags": r.u8(), "devices": []}
    if u["flags"] & 1:
        u.update(minor=r.varint(), major=r.varint(), user_ns=r.varint(), system_ns=r.varint())
    if u["flags"] & 2:
        u.update(read_bytes=r.varint(), rchar=r.varint())
    if u["flags"] & 4:
        n = r.varint()
        if n > 16:
            raise Bad("more than 16 devices")
        u["devices"] = [{"device": r.varint(), "read_bytes": r.varint(), "reads": r.varint()} for _ in range(n)]
    return u


def residency(r):
    x = {"model": r.varint(), "batch": r.varint(), "moment": r.u8(), "begin_ticks": r.u64(), "end_ticks": r.u64()}
    x.update(page_bytes=r.varint(), first_page=r.varint(), n_pages=r.varint(), intervals=r.many(r.varint))
    if sum(x["intervals"]) != x["n_pages"]:
        raise Bad("the intervals are not all pages")
    return x


def running(values, start=0):
    """Differences added up, modulo 2^64."""
    sums, last = [], start
    for v in values:
        last = (last + v) & M64
        sums.append(last)
    return sums


def page_faults(r):
    x = {"begin_ticks": r.u64(), "end_ticks": r.u64()}
    n = r.varint()
    if n > 4096 or x["end_ticks"] < x["begin_ticks"]:
        raise Bad("a record of page faults")
    threads = running(map(unzigzag, unpack_column(r, n)))
    since = unpack_column(r, n)
    addresses = running(map(unzigzag, unpack_column(r, n)))
    places = unpack_column(r, n)
    times = running(since, x["begin_ticks"])
    if x["begin_ticks"] + sum(since) > x["end_ticks"] or any(t >> 32 for t in threads):
        raise Bad("a page fault out of range")
    if any(p >> 1 >= (1 << 31) - 1 for p in places):
        raise Bad("a page fault's mapping")
    x["faults"] = [
        {"thread": t, "ticks": at, "address": a, "mapping": p >> 1, "major": p & 1}
        for t, at, a, p in zip(threads, times, addresses, places)
    ]
    return x


def extents(r):
    x = {"model": r.varint(), "ticks": r.u64(), "state": r.u8(), "why": r.str(), "walked_bytes": r.varint()}
    for key in ("extents", "fragments", "backward", "mapped_bytes", "largest_bytes", "long_bytes"):
        x[key] = r.varint()
    x.update(flags=r.u8(), list=[])
    at = disk = 0
    for _ in range(r.varint()):
        hole, size, jump, flags = r.varint(), r.varint(), r.zigzag(), r.u8()
        x["list"].append((at + hole, (disk + jump) % 2**64, size, flags))
        at, disk = at + hole + size, disk + jump + size
    return x


def load_step(r):
    x = {"model": r.varint(), "kind": r.u8(), "begin_ticks": r.u64(), "end_ticks": r.u64()}
    x.update(file_offset_bytes=r.varint(), size_bytes=r.varint(), what=r.u8(), error=r.varint(), flags=r.u8())
    for flag, keys in ((1, ("minor", "major", "call_minor", "call_major")), (2, ("read_bytes", "rchar", "call_read_bytes"))):
        x.update({key: r.varint() for key in keys if x["flags"] & flag})
    return x


def pool(r):
    x = {"ticks": r.u64()}
    x.update({key: r.varint() for key in ("run", "budget_bytes", "present_bytes", "peak_bytes", "used", "missed", "left",
                                          "evictions", "waited_ns", "lost")})
    x["reads"] = []
    for _ in range(r.varint()):
        read = {key: r.varint() for key in ("model", "file_offset_bytes", "size_bytes")}
        read["requested_ticks"] = x["ticks"] + r.zigzag()
        read["begin_ticks"] = read["requested_ticks"] + r.varint()
        read["end_ticks"] = read["begin_ticks"] + r.varint()
        read.update(cause=r.u8(), flags=r.u8(), waiters=r.varint(), thread=r.varint(), waited_ticks=r.varint())
        x["reads"].append(read)
    return x


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
    16: ("token_text", token_text),
    17: ("indices", indices),
    18: ("usage", usage),
    19: ("residency", residency),
    20: ("model_check", fields(("model", V), ("ticks", U64), ("state", Reader.u8))),
    21: ("detail_loss", fields(("ring", V), ("position", V), ("dropped", V))),
    22: ("front", fields(("ring_bytes", V), ("last_run", V), ("ops", V), ("details", V), ("bytes", V))),
    23: ("graphs_end", fields(("graph", V))),
    24: ("mapping", fields(("id", V), ("ticks", U64), ("address", U64), ("size_bytes", V),
                           ("file_offset_bytes", V), ("device", V), ("inode", V), ("path", Reader.str))),
    25: ("page_faults", page_faults),
    26: ("page_fault_loss", fields(("begin_ticks", U64), ("end_ticks", U64), ("lost", V))),
    27: ("extents", extents),
    28: ("load_step", load_step),
    29: ("pool", pool),
    30: ("throttled", fields(("batch", V), ("moment", Reader.u8), ("ticks", U64), ("throttled_ns", V), ("periods", V))),
    31: ("pause", fields(("begin_ticks", U64), ("due_ticks", U64), ("end_ticks", U64), ("delay_ns", V))),
    32: ("fate", fields(("batch", V), ("flags", Reader.u8), ("n_drafted", V), ("n_accepted", V), ("n_rejected", V))),
    34: ("sequences", fields(("context", V), ("ticks", U64), ("kind", Reader.u8), ("flags", Reader.u8), ("sequence", Z),
                             ("source", Z), ("from", Z), ("to", Z), ("by", Z), ("held_first", Z), ("held_last", Z),
                             ("state", U64))),
}


def read_meta(payload, out):
    r, numbered = Reader(payload), []
    while not r.done():
        kind = r.u8()
        body = Reader(r.take(r.varint()))
        numbered.append((kind, None))
        if kind in RECORDS:
            name, read = RECORDS[kind]
            out.append((name, read(body)))
            numbered[-1] = (kind, out[-1][1])
    return numbered


def cut_front(meta):
    """Leaves out what is about runs and batches that are not whole any more."""
    fronts = [record for kind, record in meta if kind == "front"]
    if not fronts:
        return meta
    last = fronts[-1]["last_run"]
    b = max((r["batch"] for kind, r in meta if kind == "run" and r["id"] <= last), default=0)
    batches = {r["id"] for kind, r in meta if kind == "batch" and r["id"] > b}
    runs = {
        r["id"]
        for kind, r in meta
        if kind == "run" and r["id"] > last and (r["batch"] == 0 or r["batch"] in batches)
    }

    def stays(kind, r):
        if kind in ("run", "run_end"):
            return r["id"] in runs
        if kind in ("batch", "batch_end"):
            return r["id"] in batches
        if kind == "indices":
            return r["run"] in runs
        if kind in ("usage", "throttled"):
            return r["batch"] == 0 or r["batch"] in batches
        if kind == "residency":
            return r["batch"] in batches or (r["batch"] == 0 and r["moment"] != 2)
        return True

    return [(kind, r) for kind, r in meta if stays(kind, r)]


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
    return values


def quotient_column(r, ends, granule):
    """A column of encoding 2; ends: where each group of its values ends."""
    n, values, form = ends[-1], [], r.u8()
    if form == 0:
        values = [0] * n
        for place, step in scattered(r, n, r.zigzag):
            values[place] = step * granule
    elif form == 1:
        group = 0
        while len(values) < n:
            begin = len(values)
            at_begin_of_group = begin == (ends[group - 1] if group else 0)
            end = begin
            while end - begin < (8 if at_begin_of_group else 1) and group < len(ends):
                if ends[group] - begin > 64:
                    end = begin + 64
                    break
                end, group = ends[group], group + 1
            values += [v * granule for v in quotient_frame(r, end - begin)]
    else:
        raise Bad("a column's form")
    for place, remainder in scattered(r, n, r.varint):
        if remainder >= granule:
            raise Bad("a remainder is too large")
        values[place] += remainder
    return values


def quotient_frame(r, n):
    header = r.u8()
    width, n_exceptions = header & 63, header >> 6
    if n_exceptions == 3:
        n_exceptions = r.u8()
    base = r.zigzag()
    bits = int.from_bytes(r.take((n * width + 7) // 8), "little")
    offsets = [bits >> (i * width) & ((1 << width) - 1) for i in range(n)]
    for _ in range(n_exceptions):
        index, high = r.u8(), r.varint()
        if index >= n or high << width > M64:
            raise Bad("an exception is out of range")
        offsets[index] |= high << width
    return [base + offset for offset in offsets]


def scattered(r, n, read):
    """Pairs of a place below n and what is read there."""
    found, place = [], -1
    for _ in range(r.varint()):
        place += r.varint() + 1
        if place >= n:
            raise Bad("a place is out of range")
        found.append((place, read()))
    return found


def read_ops(payload, n):
    """The n records of an OPS payload: (run, lane, node, covers, open, start, arrive, release)."""
    r = Reader(payload)
    encoding = r.varint()
    if encoding not in (1, 2):
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
    segments, run_id, n_records = [], 0, 0
    for _ in range(r.varint()):
        run_id += r.zigzag()
        lane, sequence = r.varint(), r.varint()
        skipped, part = 0, 0
        if encoding == 2:
            sequence, part = divmod(sequence, 2)
        count = len(sequences[sequence])
        if part:
            skipped, count = r.varint(), r.varint()
            if count == 0 or skipped + count > len(sequences[sequence]):
                raise Bad("a segment is no part of its sequence")
        segments.append((run_id, lane, sequence, skipped, count))
        n_records += count
    if n_records != n:
        raise Bad("the segments hold %d records, the header says %d" % (n_records, n))
    # The records of each position of each sequence, in the order of the segments.
    groups = [[[] for _ in nodes] for nodes in sequences]
    record = 0
    for run_id, lane, sequence, skipped, count in segments:
        for position in range(skipped, skipped + count):
            groups[sequence][position].append(record)
            record += 1
    order = [i for of_sequence in groups for group in of_sequence for i in group]
    ends, end = [], 0
    for of_sequence in groups:
        for group in of_sequence:
            end += len(group)
            ends.append(end)
    granule = r.varint() if encoding == 2 else 1
    if not 1 <= granule < 1 << 32:
        raise Bad("the granule is out of range")
    columns = []
    for _ in range(3):
        if encoding == 1:
            stored = [unzigzag(v) for v in unpack_column(r, n)]
        else:
            stored = quotient_column(r, ends, granule)
        column = [0] * n
        for i, value in zip(order, stored):
            column[i] = value
        columns.append(column)
    records, last = [], t0
    for run_id, lane, sequence, skipped, count in segments:
        for node, covers in sequences[sequence][skipped : skipped + count]:
            start = (last + columns[0][len(records)]) & M64
            arrive = (start + columns[1][len(records)]) & M64
            last = (arrive + columns[2][len(records)]) & M64
            times = [(t << shift) & M64 for t in (start, arrive, last)]
            records.append((run_id, lane & 0xFFFF, node, covers, bool(lane >> 16), *times))
    return records


# --- DETAIL ---


def column(r, n, top, differences=False):
    values, last = unpack_column(r, n), 0
    if differences:
        for i, v in enumerate(values):
            last += unzigzag(v)
            values[i] = last
    if any(not 0 <= v <= top for v in values):
        raise Bad("a detail is out of range")
    return values


def read_details(payload, count):
    """The details of a DETAIL payload: [run, node, lane, kind, ...], at most `count`."""
    r, details, before = Reader(payload), [], 0
    if r.varint() != 1:
        raise Bad("encoding")
    while not r.done():
        kind, n = r.varint(), r.varint()
        if kind <= before:
            raise Bad("the kinds of details do not ascend")
        if kind > 8:
            break  # its columns are not known, nor where it ends
        before = kind
        if not 0 < n <= count - len(details):
            raise Bad("more details than the chunk has records")
        runs, nodes = column(r, n, (1 << 32) - 1, True), column(r, n, (1 << 20) - 1, True)
        lanes = column(r, n, (1 << 9) - 1)
        if kind == 1:
            minor, major = column(r, n, (1 << 32) - 1), column(r, n, (1 << 32) - 1)
            cpu_ns, read_bytes = column(r, n, M64), column(r, n, M64)
            rest = [list(x) for x in zip(minor, major, cpu_ns, ((v - 1) & M64 for v in read_bytes))]
        elif kind == 5:
            rest = [[ns] for ns in column(r, n, M64)]
        elif kind == 8:
            ticks, off_ns = column(r, n, M64), column(r, n, M64)
            if 0 in ticks:
                raise Bad("a wait inside an op of 0 ticks")
            rest = [[off, waited] for waited, off in zip(ticks, off_ns)]
        elif kind >= 6:
            counts = [column(r, n, (1 << 32) - 1) for _ in range(6)]
            counts[3] = [(us - 1) & 0xFFFFFFFF for us in counts[3]]
            rest = [list(x) for x in zip(*counts)]
        elif kind == 4:
            parts = column(r, n, 8)
            rest = [[part, r.take(23).hex()] for part in parts]
        else:
            tokens, ranks = column(r, n, (1 << 32) - 1, True), column(r, n, (1 << 16) - 1)
            counts = column(r, n, 8 if kind == 2 else 4)
            if any(c < 1 or rank + c > 1 << 16 for rank, c in zip(ranks, counts)):
                raise Bad("a detail's ranks are out of range")
            items = iter(column(r, sum(counts), (1 << 16) - 1 if kind == 2 else (1 << 32) - 1))
            rest = [[t, rank] + [next(items) for _ in range(c)] for t, rank, c in zip(tokens, ranks, counts)]
        details += [[*head, kind, *tail] for *head, tail in zip(runs, nodes, lanes, rest)]
    return details


# --- values ---


def fingerprint(packed):
    """A fingerprint's bytes, filled up with zeros, as a record."""
    r = Reader(packed)
    f = {"n": r.u64(), "n_nan": r.u64(), "n_inf": r.u64(), "first_bad": r.u64()}
    f["min"], f["max"] = struct.unpack("<2f", r.take(8))
    f["mean"], f["rms"] = struct.unpack("<2d", r.take(16))
    f["hash"] = r.take(16).hex()
    flags = r.u8()
    if flags > 3:
        raise Bad("unknown flags of a fingerprint")
    f["prefix"] = list(struct.unpack("<%df" % min(f["n"], 8), r.take(4 * min(f["n"], 8))))
    f["samples"] = list(struct.unpack("<%df" % min(f["n"], 16), r.take(4 * min(f["n"], 16))))
    f["blake3"] = r.take(32).hex() if flags & 2 else None
    if not flags & 1:
        f.update(min=None, max=None, mean=None, rms=None)
    return f


def fingerprints(trace):
    """{(run, node): record} of the fingerprints that are whole."""
    parts = {}
    for run_id, node, _, kind, *rest in trace["details"]:
        if kind == 4:
            parts.setdefault((run_id, node), []).append(rest)
    found = {}
    for key, list_of in parts.items():
        list_of.sort()
        if [part for part, _ in list_of] != list(range(len(list_of))):
            continue
        try:
            found[key] = fingerprint(bytes.fromhex("".join(text for _, text in list_of)))
        except Bad:
            pass
    return found


# --- the whole ---


def runs_of(entry):
    return [entry.get("run_min", 0), entry.get("run_max", 0)]


def decode(data):
    trace = {"header": file_header(data), "complete": False, "end_flags": 0}
    trace.update(chunks=[], meta=[], ops=[], details=[], data=[])
    at, index, base, streams = 64, None, (0, []), []
    try:
        while True:
            chunk, payload, following = read_chunk(data, at)
            if chunk["type"] == 3:
                index, trace["end_flags"] = read_index(payload)
                trace["complete"] = data[following:] == struct.pack("<Q", at) + b"TTRACEND"
                break
            at = following
            if chunk["type"] == 5:
                continue
            if chunk["type"] in (1, 6):
                records = []
                about = about_meta(read_meta(payload, records))
                if chunk["type"] == 6:
                    base = (chunk["position"], records)
                else:
                    chunk["about"] = about
                    streams.append((chunk["position"], records))
            elif chunk["type"] == 2:
                trace["ops"] += [(chunk["stream"],) + record for record in read_ops(payload, chunk["count"])]
            elif chunk["type"] == 4:
                found = read_details(payload, chunk["count"])
                trace["details"] += found
                chunk["runs"] = [min(d[0] for d in found), max(d[0] for d in found)] if found else [0, 0]
            elif chunk["type"] == 8:
                # run, node, part, the bytes
                trace["data"].append([chunk["position"] >> 32, chunk["stream"], chunk["position"] & 0xFFFFFFFF, payload])
            trace["chunks"].append(chunk)
    except Bad as why:
        trace["cut"] = {"offset": at, "reason": str(why)}
    for position, records in [base] + [s for s in streams if s[0] >= base[0]]:
        trace["meta"] += records
    trace["meta"] = cut_front(trace["meta"])
    if index is not None:
        found = [{k: c[k] for k in ("offset", "type", "stream", "position", "count")} for c in trace["chunks"]]
        listed = [{k: e[k] for k in ("offset", "type", "stream", "position", "count")} for e in index]
        trace["index_agrees"] = found == listed and all(
            c.get("runs", runs_of(e)) == runs_of(e) for c, e in zip(trace["chunks"], index)
        ) and all(e.get("about", c.get("about")) == c.get("about") for c, e in zip(trace["chunks"], index))
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
        for b in self.all("batch"):
            self.batches[b["id"]] = dict(b, number=b["id"] - 1)
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
            "batch_id": self.batches[batch_id]["number"] if batch_id else None,
            "graph_run": run_id,
            "graph_id": g["id"],
            "node": node,
            "nodes": len(nodes),
            "thread_id": lane,
            "op": "+".join(self.strings[t["op_name"]] for t in tensors),
            "name": self.strings[tensors[-1]["name"]],
            "sources": [self.strings[g["tensors"][s - 1]["name"]] for s in sources],
        }


def op_key(op):
    return (op["start_ticks"], op["graph_run"], op["node"], op["thread_id"])


def report_json(program, *words):
    done = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise SystemExit("%s %s: exit %d: %s" % (program, words[0], done.returncode, done.stderr.decode()))
    return json.loads(done.stdout)


def looked_for(view, counts):
    """A total is null where the recorder was not asked to look."""
    pages = bool(view.all("page_faults"))
    return {k: None if (k == "outputs_not_finite" and not counts.get("outputs")) or (k.startswith("page_faults") and not pages) else v
            for k, v in counts.items()}


def differences(program, path, trace):
    view = View(trace)
    info = report_json(program, "info", "--json", path)
    expected = {
        "run_id": trace["header"]["run_id"],
        "created_unix_ns": trace["header"]["created_unix_ns"],
        "pid": trace["header"]["pid"],
        "complete": trace["complete"],
        "environment": view.environment(),
        "recorder_counts": looked_for(view, view.all("counts")[-1] if view.all("counts") else {}),
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
    for got, m in zip(info["model_files"], view.all("model")):
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
                yield "log: run %d node %d: %s is %r, decoded %r" % (b["graph_run"], b["node"], key, a[key], value)


def op_faults(view):
    """Minor and major faults of each op whose time the records cover without a loss, by the threads' own."""
    spans = []
    for x in view.all("page_faults"):
        if spans and spans[-1][1] == x["begin_ticks"]:
            spans[-1][1] = x["end_ticks"]
        else:
            spans.append([x["begin_ticks"], x["end_ticks"]])
    lost = [(x["begin_ticks"], x["end_ticks"]) for x in view.all("page_fault_loss")]
    faults = [f for x in view.all("page_faults") for f in x["faults"]]
    observed = {r["id"]: r["observed"] for r in view.all("run")}
    rows = []
    for stream, run, lane, node, _, is_open, start, arrive, _ in view.trace["ops"]:
        thread = [r["thread"] for r in view.all("ring") if r["ring"] == stream - 1 and r["ticks"] <= start]
        if is_open or run not in view.runs or not thread:
            continue
        if not any(a <= start and arrive <= b for a, b in spans):
            continue
        if any(a <= arrive and start <= b for a, b in lost):
            continue
        mine = [f["major"] for f in faults if start <= f["ticks"] <= arrive
                and (observed[run] == 2 or f["thread"] == thread[-1])]
        rows.append([run, node, lane, mine.count(0), mine.count(1)])
    return sorted(rows)


def memory(view):
    """What dump_memory prints, from the decoded records."""
    name, trace, buffers = view.strings, view.trace, {}
    for b in view.all("buffer"):
        buffers[b["id"]] = {
            "id": b["id"],
            "name": name[b["name"]],
            "flags": b["flags"],
            "model": b["model"],
            "allocator": name[b["allocator"]],
        }
    usages = []
    for u in view.all("usage"):
        known = ("batch", "moment", "ticks", "flags", "minor", "major", "user_ns", "system_ns", "read_bytes", "rchar")
        devices = [d[key] for d in u["devices"] for key in ("device", "read_bytes", "reads")]
        usages.append([u[key] for key in known if key in u] + devices)
    head = ("model", "batch", "moment", "begin_ticks", "end_ticks", "page_bytes", "first_page", "n_pages")
    states = {c["model"]: c["state"] for c in view.all("model_check")}
    return {
        "buffers": list(buffers.values()),
        "backends": [
            [name[b] for b in g["backends"]] + [""] * (g["n_nodes"] - len(g["backends"])) for g in view.all("graph")
        ],
        "batches": [{key: b[key] for key in ("id", "vocabulary", "sequences")} for b in view.all("batch")],
        "token_texts": [[t["vocabulary"], t["token"], *t["bytes"]] for t in view.all("token_text")],
        "indices": sorted([x["run"], x["tensor"], *x["values"]] for x in view.all("indices")),
        "usages": usages,
        "throttled": [list(t.values()) for t in view.all("throttled")],
        "pauses": [list(p.values()) for p in view.all("pause")],
        "residencies": [[*(x[key] for key in head), *x["intervals"]] for x in view.all("residency")],
        "mappings": [list(x.values()) for x in {x["id"]: x for x in view.all("mapping")}.values()],
        "page_faults": sorted([f[key] for key in ("ticks", "thread", "address", "mapping", "major")]
                              for x in view.all("page_faults") for f in x["faults"]),
        # Where they were counted as well, the counts hold.
        "op_faults": [] if any(d[3] == 1 for d in trace["details"]) else op_faults(view),
        "end_states": [states.get(m["id"], -1) for m in view.all("model")],
        "extents": [
            [
                *(x[key] for key in ("why", "state", "walked_bytes", "extents", "fragments", "backward")),
                *(x[key] for key in ("mapped_bytes", "largest_bytes", "long_bytes", "flags")),
                *(value for fragment in x["list"] for value in fragment),
            ]
            for x in view.all("extents")
        ],
        "load_steps": [list(x.values()) for x in view.all("load_step")],
        "pool": [
            [*(value for key, value in x.items() if key != "reads"), *(v for read in x["reads"] for v in read.values())]
            for x in view.all("pool")
        ],
        "detail_losses": [[x["ring"], x["position"], x["dropped"]] for x in view.all("detail_loss")],
        "details": sorted(d for d in trace["details"] if d[0] in view.runs),
        "data": sorted([*head, len(payload), xxh3(payload)] for *head, payload in trace["data"]),
    }


def memory_differences(dump, path, trace):
    got, want = report_json(dump, path), memory(View(trace))
    if XXHASH is None:
        del want["data"]
    for key, value in want.items():
        if got[key] != value:
            yield "memory: %s differ: %d, decoded %d" % (key, len(got[key]), len(value))
            for a, b in zip(got[key], value):
                if a != b:
                    yield "memory: %s: %r, decoded %r" % (key, a, b)
                    break
    # Totals and parts, as long as nothing was cut off.
    counts = View(trace).all("counts")
    stored = sum(c["count"] for c in trace["chunks"] if c["type"] == 4)
    if trace["complete"] and counts and counts[-1].get("details", 0) != stored:
        yield "memory: %d details counted, %d stored" % (counts[-1]["details"], stored)


def main(words):
    program = None
    if len(words) == 4 and words[0] == "--compare":
        program, dump = words[1:3]
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
        json.dump(trace, sys.stdout, indent=1, default=bytes.hex)
        print()
        return 0
    found = list(differences(program, path, trace)) + list(memory_differences(dump, path, trace))
    if trace.get("index_agrees") is False:
        found.append("the index does not list what is there")
    for line in found[:20]:
        print("%s: %s" % (path, line))
    parts = (path, len(trace["ops"]), len(trace["details"]), len(found))
    print("%s: %d records, %d details, %d differences" % parts)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
