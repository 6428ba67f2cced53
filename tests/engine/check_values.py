"""What a trace says of the outputs of its ops, read by tests/golden/decode.py.

    check_values.py TENSORTRACE whole TRACE       each output of each op has its fingerprint, nothing
                                                  else has one; with data, it is that of the data
    check_values.py TENSORTRACE equal TRACE OTHER what both observed is the same, bit by bit; what
                                                  runs on one side alone is reported
    check_values.py TENSORTRACE known TRACE       the outputs of programs/outputs.c are as they should be
"""

import ctypes
import math
import struct
import sys

import traces

EXECUTES = 1
PIECE = 16384
FORMATS = {"f32": "f", "f16": "e", "i32": "i", "i64": "q"}
SIZES = {"f32": 4, "f16": 2, "bf16": 2, "i32": 4, "i64": 8}


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def xxh128(data):
    function = traces.decoder.XXHASH.XXH3_128bits
    function.restype = Hash128
    found = function(ctypes.c_char_p(data), ctypes.c_size_t(len(data)))
    return struct.pack(">QQ", found.high, found.low)


class Values:
    """A trace, its outputs in the order of execution."""

    def __init__(self, path):
        self.trace = traces.decoded(path)
        self.names = traces.names_of(self.trace)
        self.graphs = {g["id"]: g for g in traces.records(self.trace, "graph")}
        self.runs = {r["id"]: r for r in traces.records(self.trace, "run")}
        found = traces.decoder.fingerprints(self.trace)
        self.prints = {key: print for key, print in found.items() if key[0] in self.runs}
        self.data = {}
        for run, node, part, payload in sorted(self.trace["data"], key=lambda d: d[:3]):
            if run not in self.runs:
                continue
            self.data.setdefault((run, node), []).append((part, payload))

    def tensor(self, run, node):
        return self.graphs[self.runs[run]["graph"]]["tensors"][node]

    def name(self, key):
        return self.names[self.tensor(*key)["name"]]

    def type(self, key):
        return self.names[self.tensor(*key)["type_name"]]

    def elements(self, key):
        """Of the output: of SET_ROWS the rows that it writes."""
        run, t = key[0], self.tensor(*key)
        ne = list(t["ne"])
        if self.names[t["op_name"]] == "SET_ROWS":
            ne[1] = self.tensor(run, t["src"][1] - 1)["ne"][0]
        return math.prod(ne)

    def executed(self):
        """(run, node) of each op's last node, and of the nodes that stay inside fused ones."""
        last, inner = set(), set()
        for _, run, lane, node, covers, *_ in self.trace["ops"]:
            # A flight recorder's trace may hold ops of runs that are not whole.
            if lane != 0 or run not in self.runs:
                continue
            tensors = self.graphs[self.runs[run]["graph"]]["tensors"]
            for _ in range(covers):
                inner.add((run, node))
                node += 1
                while not tensors[node]["flags"] & EXECUTES:
                    node += 1
            last.add((run, node))
        return last, inner

    def keyed(self):
        """{(batch, run of it, name, occurrence): fingerprint}"""
        found, seen, order = {}, {}, {}
        for run, node in sorted(self.prints):
            batch = self.runs[run]["batch"]
            place = order.setdefault(batch, {}).setdefault(run, len(order[batch]))
            key = (batch, place, self.name((run, node)))
            seen[key] = seen.get(key, -1) + 1
            found[(*key, seen[key])] = self.prints[run, node]
        return found


def floats_of(kind, data):
    if kind == "bf16":
        return [struct.unpack("<f", b"\0\0" + data[i : i + 2])[0] for i in range(0, len(data), 2)]
    found = struct.unpack("<%d%s" % (len(data) // SIZES[kind], FORMATS[kind]), data)
    return [struct.unpack("<f", struct.pack("<f", x))[0] for x in found] if kind[0] == "i" else found


def check_data(values, key, problem):
    """The fingerprint, worked out again from the data."""
    f, kind, what = values.prints[key], values.type(key), "%s of run %d" % (values.name(key), key[0])
    data = b"".join(payload for _, payload in values.data[key])
    if kind not in SIZES:
        return
    problem.expect(f"{what}: bytes of data", f["n"] * SIZES[kind], len(data))
    step = PIECE * SIZES[kind]
    pieces = [xxh128(data[i : i + step]) for i in range(0, len(data), step)]
    problem.expect(f"{what}: hash", (pieces[0] if len(pieces) == 1 else xxh128(b"".join(pieces))).hex(), f["hash"])
    floats = floats_of(kind, data)
    finite = [x for x in floats if math.isfinite(x)]
    bad = [i for i, x in enumerate(floats) if not math.isfinite(x)]
    problem.expect(f"{what}: NaNs", sum(map(math.isnan, floats)), f["n_nan"])
    problem.expect(f"{what}: infinities", len(bad) - f["n_nan"], f["n_inf"])
    problem.expect(f"{what}: the first of them", bad[0] if bad else (1 << 64) - 1, f["first_bad"])
    problem.expect(f"{what}: range", (min(finite), max(finite)) if finite else (None, None), (f["min"], f["max"]))
    if finite:
        rms = math.sqrt(math.fsum(x * x for x in finite) / len(finite))
        near = math.isclose(f["rms"], rms, rel_tol=1e-12) and abs(f["mean"] - math.fsum(finite) / len(finite)) <= 1e-12 * rms
        problem.expect(f"{what}: mean and RMS", True, near)
    at = [i * (len(floats) - 1) // (min(16, len(floats)) - 1) if len(floats) > 1 else 0 for i in range(min(16, len(floats)))]
    problem.expect(f"{what}: prefix", repr(list(floats[:8])), repr(f["prefix"]))
    problem.expect(f"{what}: samples", repr([floats[i] for i in at]), repr(f["samples"]))


def whole(values, problem):
    last, inner = values.executed()
    # Nothing can be said of an output without elements.
    last = {key for key in last if values.elements(key)}
    for key in last - set(values.prints):
        problem(f"run {key[0]}, {values.name(key)}: no fingerprint")
    for key in set(values.prints) - last:
        why = "inside a fused op" if key in inner else "not an output"
        problem(f"run {key[0]}, {values.name(key)}: a fingerprint, but it is {why}")
    for key in set(values.prints) & last:
        problem.expect(f"run {key[0]}, {values.name(key)}: elements", values.elements(key), values.prints[key]["n"])
    for key in values.data:
        check_data(values, key, problem)
    if values.data:
        problem.expect("outputs with data", len(last), len(values.data))
    if not last:
        problem("no output at all")
    return "%d outputs, %d inside fused ops" % (len(last), len(inner))


def equal(values, other, problem):
    a, b = values.keyed(), other.keyed()
    common = set(a) & set(b)
    for key in common:
        # As texts: a NaN among the samples is the same, too.
        problem.expect("batch %d, run %d: %s (%d)" % key, repr(a[key]), repr(b[key]))
    alone = {key[2] for key in set(a) ^ set(b)}
    # Fusing hides the inner one.
    for name in alone:
        if not name.startswith("norm"):
            problem(f"{name} is on one side alone")
    if not common:
        problem("nothing to compare")
    return "%d outputs the same" % len(common)


def known(values, problem):
    a = [((i * 7919) % 2003 - 1001) / 64 for i in range(48000)]
    few, weight = a[:320], a[:48]
    order = [sorted(range(64), key=lambda i, r=r: -few[r * 64 + i]) for r in range(5)]
    pack = {
        "twice": struct.pack("<48000f", *(2 * x for x in a)),
        "half": struct.pack("<48000e", *a),
        "turned": struct.pack("<48000f", *a),
        "left": struct.pack("<48000e", *a),
        "order": struct.pack("<320i", *(i for row in order for i in row)),
        "last": struct.pack("<48f", *(2 * x for x in weight)),
    }
    for run in values.runs:
        names = {values.name(key): key for key in values.prints if key[0] == run}
        for name, data in pack.items():
            key = names.get(name)
            got = key and b"".join(payload for _, payload in values.data.get(key, []))
            if got != data:
                problem(f"run {run}: {name} is not as it should be")
        for name, kind in (("half", "f16"), ("brain", "bf16"), ("order", "i32"), ("twice", "f32")):
            problem.expect(f"{name}: type", kind, names.get(name) and values.type(names[name]))
        f = values.prints[names["logarithm"]]
        problem.expect("NaN of logarithms", sum(x < 0 for x in few), f["n_nan"])
        problem.expect("infinite logarithms", sum(x == 0 for x in few), f["n_inf"])
        problem.expect("an empty output", False, "none" in names)
    return "all as they should be"


def main():
    words = sys.argv[2:]
    if traces.decoder.XXHASH is None:
        print("skipped: no libxxhash")
        sys.exit(77)
    problem = traces.Problems(" ".join(words))
    values = [Values(path) for path in words[1:]]
    problem.finish({"whole": whole, "equal": equal, "known": known}[words[0]](*values, problem))


if __name__ == "__main__":
    main()
