#!/usr/bin/env python3
"""A model of synth in F32 as one of another architecture, with the tensors that it has more or less:
make_arch.py ARCH[-NOISE] IN OUT. What it generates means nothing. qwen35 has a head that predicts the token after
the next one (llama.cpp's --spec-type draft-mtp), mostly wrongly. qwen35-NOISE predicts a token by the one before it
alone, and its head the same: with noise 0 always rightly."""

import array
import random
import struct
import sys
from pathlib import Path

ALIGNMENT = 32
UINT32, INT32, FLOAT32, STRING, ARRAY = 4, 5, 6, 8, 9
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


class Model:
    """keys: name -> (type, its bytes). tensors: name -> (shape, F32 values)."""

    def __init__(self, data):
        self.data, self.at = data, 4
        version, n_tensors, n_keys = self.number("I"), self.number("Q"), self.number("Q")
        assert version == 3
        self.keys, self.tensors = {}, {}
        for _ in range(n_keys):
            name, kind = self.text(), self.number("I")
            begin = self.at
            self.skip(kind)
            self.keys[name] = (kind, data[begin:self.at])
        places = []
        for _ in range(n_tensors):
            name = self.text()
            shape = [self.number("Q") for _ in range(self.number("I"))]
            assert self.number("I") == 0, "F32"
            places.append((name, shape, self.number("Q")))
        begin = -(-self.at // ALIGNMENT) * ALIGNMENT
        for name, shape, offset in places:
            self.tensors[name] = (shape, data[begin + offset:begin + offset + 4 * count(shape)])

    def number(self, form):
        value = struct.unpack_from("<" + form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def text(self):
        n = self.number("Q")
        self.at += n
        return self.data[self.at - n:self.at].decode()

    def skip(self, kind):
        if kind == STRING:
            self.text()
        elif kind == ARRAY:
            inner, n = self.number("I"), self.number("Q")
            for _ in range(n):
                self.skip(inner)
        else:
            self.at += SIZES[kind]

    def get(self, name):
        return struct.unpack("<I", self.keys["llama." + name][1])[0]

    def put(self, name, value):
        kind, form = (UINT32, "<I") if isinstance(value, int) else (FLOAT32, "<f")
        self.keys["llama." + name] = (kind, struct.pack(form, value))

    def add(self, name, *shape, ones=False):
        values = array.array("f", (1.0 if ones else random.uniform(-0.1, 0.1) for _ in range(count(shape))))
        self.tensors[name] = (list(shape), values.tobytes())

    def write(self, path, arch):
        self.keys["general.architecture"] = (STRING, text(arch))
        out, content = bytearray(b"GGUF"), bytearray()
        out += struct.pack("<IQQ", 3, len(self.tensors), len(self.keys))
        for name, (kind, value) in self.keys.items():
            out += text(name.replace("llama.", arch + ".", 1) if name.startswith("llama.") else name)
            out += struct.pack("<I", kind) + value
        for name, (shape, values) in self.tensors.items():
            out += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(content))
            content += values + bytes(-len(values) % ALIGNMENT)
        out += bytes(-len(out) % ALIGNMENT)
        Path(path).write_bytes(out + content)


def count(shape):
    n = 1
    for extent in shape:
        n *= extent
    return n


def add_mtp(m, embd, head, heads, layers, noise):
    """The last layer is the head. noise: None, or added to the token's embedding, which is all that it looks at."""
    for name, value in (("nextn_predict_layers", 1), ("full_attention_interval", 2), ("ssm.conv_kernel", 4),
                        ("ssm.inner_size", embd), ("ssm.state_size", head), ("ssm.time_step_rank", embd // head),
                        ("ssm.group_count", 1), ("attention.key_length", head), ("attention.value_length", head)):
        m.put(name, value)
    sections = [head // 2, 0, 0, 0]
    m.keys["llama.rope.dimension_sections"] = (ARRAY, struct.pack("<IQ4i", INT32, 4, *sections))
    for i in range(layers):
        b = f"blk.{i}."
        del m.tensors[f"{b}ffn_norm.weight"]
        m.add(f"{b}post_attention_norm.weight", embd, ones=True)
        if i % 2 or i == layers - 1:
            m.add(f"{b}attn_q.weight", embd, 2 * head * heads)
            for name in "q", "k":
                m.add(f"{b}attn_{name}_norm.weight", head, ones=True)
            continue
        for name in "q", "k", "v", "output":
            del m.tensors[f"{b}attn_{name}.weight"]
        groups = embd // head
        for name, *shape in (("attn_qkv.weight", embd, 2 * head + embd), ("attn_gate.weight", embd, embd),
                             ("ssm_conv1d.weight", 4, 2 * head + embd), ("ssm_dt.bias", groups), ("ssm_a", groups),
                             ("ssm_beta.weight", embd, groups), ("ssm_alpha.weight", embd, groups),
                             ("ssm_norm.weight", head), ("ssm_out.weight", embd, embd)):
            m.add(b + name, *shape)
    b = f"blk.{layers - 1}.nextn."
    m.add(f"{b}eh_proj.weight", 2 * embd, embd)
    if noise is not None:
        rows = array.array("f")
        for i in range(embd):
            rows.extend(float(i == k) for k in range(embd))
            rows.extend(random.uniform(-noise, noise) for _ in range(embd))
        m.tensors[f"{b}eh_proj.weight"] = ([2 * embd, embd], rows.tobytes())
        for name, (shape, values) in m.tensors.items():
            if name.endswith(("attn_output.weight", "ssm_out.weight", "ffn_down.weight")):
                m.tensors[name] = (shape, bytes(len(values)))
    for name in "enorm", "hnorm":
        m.add(f"{b}{name}.weight", embd, ones=True)


def make_mamba(m, embd, layers):
    """A recurrent state instead of attention and feed-forward."""
    inner, conv, state, rank = 2 * embd, 4, 16, 8
    for name, value in ("conv_kernel", conv), ("inner_size", inner), ("state_size", state), ("time_step_rank", rank):
        m.put(f"ssm.{name}", value)
    for name in "feed_forward_length", "attention.head_count", "attention.head_count_kv":
        m.put(name, 0)
    m.tensors = {name: t for name, t in m.tensors.items() if not name.startswith("blk.") or name.endswith("attn_norm.weight")}
    for i in range(layers):
        b = f"blk.{i}.ssm_"
        shapes = {"in.weight": (embd, 2 * inner), "conv1d.weight": (conv, inner), "conv1d.bias": (inner,), "x.weight": (inner, rank + 2 * state),
                  "dt.weight": (rank, inner), "dt.bias": (inner,), "a": (state, inner), "d": (inner,), "out.weight": (inner, embd)}
        for name, shape in shapes.items():
            m.add(b + name, *shape)


def main(arch, source, target):
    random.seed(1)
    arch, _, noise = arch.partition("-")
    m = Model(Path(source).read_bytes())
    embd, ffn = m.get("embedding_length"), m.get("feed_forward_length")
    heads, kv_heads = m.get("attention.head_count"), m.get("attention.head_count_kv")
    head, layers = embd // heads, m.get("block_count")
    moe = arch in ("qwen3moe", "olmoe")
    if arch == "mamba":
        make_mamba(m, embd, layers)
        m.write(target, arch)
        return
    if arch.startswith("gemma"):
        m.put("attention.key_length", head)
        m.put("attention.value_length", head)
        del m.tensors["output.weight"]
    if arch in ("gemma2", "gemma3"):
        m.put("attention.sliding_window", 64)
    if moe:
        m.put("expert_count", 4)
        m.put("expert_used_count", 2)
        m.put("expert_feed_forward_length", ffn)
    if arch == "qwen35":
        add_mtp(m, embd, head, heads, layers, float(noise) if noise else None)
    for i in range(layers):
        b = f"blk.{i}."
        if arch == "qwen2":
            for name, n in ("q", embd), ("k", head * kv_heads), ("v", head * kv_heads):
                m.add(f"{b}attn_{name}.bias", n)
        if arch in ("qwen3", "qwen3moe", "gemma3"):
            for name in "q", "k":
                m.add(f"{b}attn_{name}_norm.weight", head, ones=True)
        if arch == "olmoe":
            m.add(f"{b}attn_q_norm.weight", embd, ones=True)
            m.add(f"{b}attn_k_norm.weight", embd, ones=True)
        if arch in ("gemma2", "gemma3"):
            m.add(f"{b}post_attention_norm.weight", embd, ones=True)
            m.add(f"{b}post_ffw_norm.weight", embd, ones=True)
        if arch == "phi3":
            for name in "attn_q", "attn_k", "attn_v", "ffn_gate":
                del m.tensors[f"{b}{name}.weight"]
            m.add(f"{b}attn_qkv.weight", embd, head * (heads + 2 * kv_heads))
            m.add(f"{b}ffn_up.weight", embd, 2 * ffn)
        if moe:
            for name, shape in ("gate", (embd, ffn)), ("up", (embd, ffn)), ("down", (ffn, embd)):
                del m.tensors[f"{b}ffn_{name}.weight"]
                m.add(f"{b}ffn_{name}_exps.weight", *shape, 4)
            m.add(f"{b}ffn_gate_inp.weight", embd, 4)
    m.write(target, arch)


main(*sys.argv[1:])
