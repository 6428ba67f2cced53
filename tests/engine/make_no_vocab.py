#!/usr/bin/env python3
"""A synthetic model without a vocabulary, as models of sounds have none: make_no_vocab.py IN OUT.

The header keeps its length, so that the tensors stay where they are."""

import sys
from pathlib import Path

STRING = 8


def text(value):
    return len(value).to_bytes(8, "little") + value


def main(source, target):
    data = Path(source).read_bytes()
    for key, old, new in ((b"tokenizer.ggml.model", b"llama", b"no_vocab"),
                          (b"tokenizer.ggml.pre", b"default", b"none")):
        before = text(key) + STRING.to_bytes(4, "little")
        assert data.count(before + text(old)) == 1, key
        data = data.replace(before + text(old), before + text(new))
    Path(target).write_bytes(data)


main(*sys.argv[1:])
