#!/usr/bin/env python3
"""A model of synth in F32 as one in Q8_0, as llama.cpp's quantizer rounds: make_q8_0.py IN OUT.

Norms stay as they are. Only numbers of a fixed length change in the header; the tensors are moved."""

import array
import struct
import sys
from pathlib import Path

F32, Q8_0, BLOCK, ALIGNMENT = 0, 8, 32, 32
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9


class Header:
    def __init__(self, data):
        self.data, self.at = data, 4

    def number(self, form):
        v = struct.unpack_from("<" + form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return v

    def text(self):
        n = self.number("Q")
        self.at += n

    def skip(self, kind):
        if kind == STRING:
            self.text()
        elif kind == ARRAY:
            inner, n = self.number("I"), self.number("Q")
            if inner in SIZES:
                self.at += n * SIZES[inner]
            else:
                for _ in range(n):
                    self.skip(inner)
        else:
            self.at += SIZES[kind]


def quantize(floats):
    out = bytearray()
    for i in range(0, len(floats), BLOCK):
        block = floats[i:i + BLOCK]
        scale = max(max(block), -min(block)) / 127
        by = 1 / scale if scale else 0
        out += struct.pack("<e", scale)
        # Halves away from zero, as roundf does.
        out += array.array("b", [int(x * by + (0.5 if x >= 0 else -0.5)) for x in block]).tobytes()
    return bytes(out)


def main(source, target):
    data = bytearray(Path(source).read_bytes())
    h = Header(data)
    assert h.number("I") == 3, "version"
    n_tensors, n_keys = h.number("Q"), h.number("Q")
    for _ in range(n_keys):
        h.text()
        h.skip(h.number("I"))
    places = []
    for _ in range(n_tensors):
        h.text()
        shape = [h.number("Q") for _ in range(h.number("I"))]
        places.append((h.at, shape, h.number("I"), h.number("Q")))
    begin = -(-h.at // ALIGNMENT) * ALIGNMENT
    tensors = bytearray()
    for at, shape, kind, offset in places:
        assert kind == F32, kind
        n = 1
        for extent in shape:
            n *= extent
        content = bytes(data[begin + offset:begin + offset + 4 * n])
        if len(shape) > 1:
            content = quantize(array.array("f", content))
            struct.pack_into("<I", data, at, Q8_0)
        struct.pack_into("<Q", data, at + 4, len(tensors))
        tensors += content + bytes(-len(content) % ALIGNMENT)
    Path(target).write_bytes(bytes(data[:begin]) + tensors)


main(*sys.argv[1:])
