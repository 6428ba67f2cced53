"""Fingerprints of values against numpy, gguf's dequantisation, xxhash and blake3 from PyPI."""

import math
import os
import subprocess
import sys

import blake3
import gguf
import numpy as np
import xxhash

PROGRAM = os.environ["TT_TEST_FINGERPRINT"]
WORK = sys.argv[2]
PIECE = 16384
rng = np.random.default_rng(7)
compared = 0


def ours(kind, ne, nb, data):
    path = os.path.join(WORK, "value.bin")
    with open(path, "wb") as out:
        out.write(data)
    words = [PROGRAM, kind] + [str(n) for n in ne] + [str(n) for n in nb] + [path]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return dict(line.split(" ", 1) for line in text.splitlines())


def expect(what, got, want):
    global compared
    compared += 1
    if got != want:
        sys.exit(f"{what}: {got} instead of {want}")


def near(what, got, want):
    global compared
    compared += 1
    if not math.isclose(float(got), float(want), rel_tol=1e-12, abs_tol=1e-15):
        sys.exit(f"{what}: {got} instead of {want}")


def tree_hash(native, n, piece_bytes):
    piece = PIECE
    while n // piece >= 4096:
        piece *= 2
    if n <= piece:
        return xxhash.xxh3_128_hexdigest(native)
    step = piece_bytes(piece)
    parts = [xxhash.xxh3_128_digest(native[i : i + step]) for i in range(0, len(native), step)]
    return xxhash.xxh3_128_hexdigest(b"".join(parts))


def check(what, kind, ne, nb, memory, native, floats, piece_bytes):
    """native: the elements' bytes in logical order; floats: the same as float32."""
    f = ours(kind, ne, nb, memory)
    n = floats.size
    finite = floats[np.isfinite(floats)].astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(floats))
    expect(what + " n", int(f["n"]), n)
    expect(what + " n_nan", int(f["n_nan"]), int(np.isnan(floats).sum()))
    expect(what + " n_inf", int(f["n_inf"]), int(np.isinf(floats).sum()))
    expect(what + " first_bad", int(f["first_bad"]), int(bad[0]) if bad.size else -1)
    if finite.size:
        near(what + " min", f["min"], "%.9g" % finite.min())
        near(what + " max", f["max"], "%.9g" % finite.max())
        near(what + " rms", f["rms"], math.sqrt(math.fsum(finite * finite) / finite.size))
        scale = math.sqrt(math.fsum(finite * finite) / finite.size) or 1.0
        mean = math.fsum(finite) / finite.size
        expect(what + " mean", abs(float(f["mean"]) - mean) < 1e-12 * scale, True)
    expect(what + " hash", f["hash"], tree_hash(native, n, piece_bytes))
    # Which NaN a conversion makes of a NaN is the machine's affair.
    if not np.isnan(floats).any():
        expect(what + " blake3", f["blake3"], blake3.blake3(floats.astype("<f4").tobytes()).hexdigest())
    samples = min(n, 16)
    for i in range(samples):
        at = i * (n - 1) // (samples - 1) if samples > 1 else 0
        if math.isfinite(floats[at]):
            near(f"{what} sample {i}", f[f"sample{i}"], "%.9g" % floats[at])


def strides(ne, size):
    nb = [size]
    for d in range(3):
        nb.append(nb[-1] * ne[d])
    return nb


PLAIN = {
    "f32": np.dtype("<f4"),
    "f16": np.dtype("<f2"),
    "f64": np.dtype("<f8"),
    "i8": np.dtype("i1"),
    "i16": np.dtype("<i2"),
    "i32": np.dtype("<i4"),
    "i64": np.dtype("<i8"),
}
SHAPES = [(1, 1, 1, 1), (3, 5, 1, 1), (64, 7, 3, 2), (2048, 17, 1, 1), (4097, 33, 1, 1)]

for kind, dtype in PLAIN.items():
    for ne in SHAPES:
        n = math.prod(ne)
        if dtype.kind == "f":
            x = (rng.standard_normal(n) * 10.0 ** rng.integers(-4, 4, n)).astype(dtype)
        else:
            info = np.iinfo(dtype)
            x = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
        for bad in (False, True):
            if bad:
                if dtype.kind != "f" or n < 10:
                    continue
                x[n // 2] = np.inf
                x[n // 3] = np.nan
            with np.errstate(over="ignore"):
                floats = x.astype(np.float32)
            data = x.tobytes()
            check(f"{kind} {ne} bad={bad}", kind, ne, strides(ne, dtype.itemsize), data, data, floats,
                  lambda piece, size=dtype.itemsize: piece * size)
        # The same seen with dimensions 0 and 1 swapped.
        nb = strides(ne, dtype.itemsize)
        swapped = (ne[1], ne[0], ne[2], ne[3])
        turned = np.ascontiguousarray(np.swapaxes(x.reshape(ne[::-1]), 2, 3)).ravel()
        with np.errstate(over="ignore"):
            floats = turned.astype(np.float32)
        check(f"{kind} {ne} swapped", kind, swapped, (nb[1], nb[0], nb[2], nb[3]), data, turned.tobytes(), floats,
              lambda piece, size=dtype.itemsize: piece * size)

# Every binary16 there is.
x = np.arange(65536, dtype=np.uint16)
data = x.tobytes()
check("all f16", "f16", (65536, 1, 1, 1), strides((65536, 1, 1, 1), 2), data, data, x.view(np.float16).astype(np.float32),
      lambda piece: piece * 2)
# bfloat16: the upper half of a float32.
data = x.tobytes()
floats = (x.astype(np.uint32) << 16).view(np.float32)
check("all bf16", "bf16", (65536, 1, 1, 1), strides((65536, 1, 1, 1), 2), data, data, floats, lambda piece: piece * 2)

QUANTS = {
    "q8_0": gguf.GGMLQuantizationType.Q8_0,
    "q5_1": gguf.GGMLQuantizationType.Q5_1,
    "q5_0": gguf.GGMLQuantizationType.Q5_0,
    "q4_1": gguf.GGMLQuantizationType.Q4_1,
    "q4_0": gguf.GGMLQuantizationType.Q4_0,
    "iq4_nl": gguf.GGMLQuantizationType.IQ4_NL,
}
for kind, qtype in QUANTS.items():
    block, size = gguf.GGML_QUANT_SIZES[qtype]
    for rows, columns in ((1, 32), (3, 256), (70, 2048)):
        raw = rng.integers(0, 256, (rows, columns // block * size), dtype=np.uint8)
        # Scales are halves at the begin of each block: finite ones.
        blocks = raw.reshape(-1, size)
        scales = 2 if kind in ("q5_1", "q4_1") else 1
        blocks[:, : 2 * scales] = rng.standard_normal((blocks.shape[0], scales)).astype("<f2").view(np.uint8).reshape(-1, 2 * scales)
        floats = gguf.dequantize(raw, qtype).astype(np.float32).ravel()
        ne = (columns, rows, 1, 1)
        nb = (size, columns // block * size, raw.size, raw.size)
        data = raw.tobytes()
        check(f"{kind} {ne}", kind, ne, nb, data, data, floats, lambda piece, b=block, s=size: piece // b * s)

print(f"{compared} figures compared")
