"""Compares `tensortrace gguf` with the gguf package of llama.cpp's makers.

Usage: check_gguf.py TENSORTRACE WORKDIR

For every preset of `tensortrace synth`, every type it can make, a split model, an
adapter and a file written by gguf.GGUFWriter with every type the package knows:
names, types, shapes, offsets and sizes must be equal, experts' slices must tile their tensors,
and the weights must decode to finite values of a sane size. Exits with 1 and a
list when anything differs.
"""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import gguf
import numpy
from gguf import GGMLQuantizationType as Type

SYNTH_TYPES = ("F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K "
               "IQ4_NL TQ2_0 MXFP4").split()
PRESETS = ("tiny", "moe", "tinyllama")

problems = []


def complain(text):
    problems.append(text)
    print("DIFFERS:", text)


def run(*args):
    done = subprocess.run(args, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def without_trailing_ones(shape):
    shape = [int(n) for n in shape]
    while len(shape) > 1 and shape[-1] == 1:
        shape.pop()
    return shape


def expected_tensors(paths):
    """(file, name, dtype, shape, start, size) of every tensor, in file order."""
    for path in paths:
        tensors = gguf.GGUFReader(path).tensors
        for t in sorted(tensors, key=lambda t: int(t.data_offset)):
            yield (path.name, t.name, t.tensor_type.name, without_trailing_ones(t.shape),
                   int(t.data_offset), int(t.n_bytes))


def compare_whole(tool, paths):
    shown = json.loads(run(tool, "gguf", "--json", "--no-experts", paths[0]))
    got = [(t.get("file", paths[0].name), t["name"], t["dtype"], t["shape"], t["offset_start"], t["size_bytes"])
           for t in shown["tensors"]]
    want = list(expected_tensors(paths))
    for a, b in zip(got, want):
        if a != b:
            complain(f"{paths[0].name}: got {a}, expected {b}")
    if not len(got) == len(want) == shown["num_tensors"] == shown["metadata"]["n_tensors"]:
        complain(f"{paths[0].name}: {len(got)} tensors, expected {len(want)}")
    size = sum(p.stat().st_size for p in paths)
    if shown["total_size_bytes"] != size:
        complain(f"{paths[0].name}: total_size_bytes {shown['total_size_bytes']}, expected {size}")
    for t in shown["tensors"]:
        if t["offset_end"] - t["offset_start"] != t["size_bytes"]:
            complain(f"{paths[0].name}: {t['name']}: offset_end - offset_start is not size_bytes")


def compare_metadata(tool, path):
    fields = gguf.GGUFReader(path).fields
    arch = fields["general.architecture"].contents()
    shown = json.loads(run(tool, "gguf", "--json", path))
    want = {
        "n_layers": f"{arch}.block_count",
        "n_vocab": f"{arch}.vocab_size",
        "n_embd": f"{arch}.embedding_length",
        "n_heads": f"{arch}.attention.head_count",
    }
    for name, key in want.items():
        if shown["metadata"][name] != fields[key].contents():
            complain(f"{path.name}: {name} {shown['metadata'][name]}, expected {fields[key].contents()}")


def compare_csv(tool, path):
    """The CSV has the rows of the JSON, experts included."""
    entries = json.loads(run(tool, "gguf", "--json", path))["tensors"]
    rows = list(csv.DictReader(io.StringIO(run(tool, "gguf", "--csv", path))))
    if len(rows) != len(entries):
        complain(f"{path.name}: {len(rows)} CSV rows, {len(entries)} JSON entries")
    for row, e in zip(rows, entries):
        layer = "" if e["layer_id"] is None else str(e["layer_id"])
        want = (e["name"], e["offset_start"], e["size_bytes"], layer, e["component_type"], e["dtype"],
                str(e.get("expert_id", "")))
        got = (row["tensor_name"], int(row["file_offset"]), int(row["size_bytes"]), row["layer_id"],
               row["component_type"], row["dtype"], row["expert_id"])
        if got != want:
            complain(f"{path.name}: CSV {got}, JSON {want}")


def compare_experts(tool, path, n_experts):
    """Slices of a tensor follow each other without gap and cover it."""
    entries = json.loads(run(tool, "gguf", "--json", "--experts", path))["tensors"]
    for _, name, dtype, shape, start, size in expected_tensors([path]):
        if "_exps" not in name:
            continue
        slices = [e for e in entries if e["name"].startswith(name + "[")]
        at = start
        for i, e in enumerate(slices):
            if (e["expert_id"], e["offset_start"], e["shape"], e["dtype"]) != (i, at, shape[:-1], dtype):
                complain(f"{path.name}: slice {e}")
            at = e["offset_end"]
        if len(slices) != n_experts or at != start + size:
            complain(f"{path.name}: {len(slices)} slices of {name} end at {at}, expected {start + size}")


def check_values(path, only=None):
    """Weights decode to finite values, as large as synth means them to be."""
    for t in gguf.GGUFReader(path).tensors:
        if only and t.name not in only:
            continue
        values = gguf.quants.dequantize(t.data, t.tensor_type)
        if not numpy.isfinite(values).all():
            complain(f"{path.name}: {t.name} ({t.tensor_type.name}) decodes to values that are not finite")
            continue
        if len(t.shape) < 2:
            continue
        gain = float(values.std()) * float(numpy.sqrt(float(t.shape[0])))
        if t.name == "token_embd.weight":
            gain = float(values.std())
        if not 0.6 < gain < 5:
            complain(f"{path.name}: {t.name} ({t.tensor_type.name}) has deviation {values.std()}")
        if abs(values.mean()) > 0.05 * values.std():
            complain(f"{path.name}: {t.name} ({t.tensor_type.name}) has mean {values.mean()}")


def write_every_type(path):
    """A file by the package's own writer, alignment 64, one tensor of each type."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_custom_alignment(64)
    writer.add_array("some.strings", ["a", "", "c"])
    for kind, (block, size) in gguf.GGML_QUANT_SIZES.items():
        if kind == Type.Q8_1:  # the package counts its old layout, 40 bytes; ggml has 36
            continue
        rows = numpy.zeros((2, 3, size * (512 // block)), dtype=numpy.uint8)
        writer.add_tensor(f"blk.0.{kind.name}.weight", rows, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    tool, work = sys.argv[1], Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    for preset in PRESETS:
        path = work / f"{preset}.gguf"
        run(tool, "synth", "--preset", preset, "-o", path, "--force")
        compare_whole(tool, [path])
        compare_metadata(tool, path)
        compare_csv(tool, path)
        check_values(path, None if preset != "tinyllama" else {
            "token_embd.weight", "blk.0.attn_v.weight", "blk.21.ffn_down.weight", "output_norm.weight"})
        if preset == "moe":
            compare_experts(tool, path, 8)
            adapter = work / "lora.gguf"
            run(tool, "synth", "--lora-for", path, "-o", adapter, "--force")
            compare_whole(tool, [adapter])
            adapter.unlink()
        path.unlink()
    for name in SYNTH_TYPES:
        path = work / f"{name}.gguf"
        run(tool, "synth", "--type", name, "--layers", "1", "-o", path, "--force")
        compare_whole(tool, [path])
        check_values(path)
        path.unlink()
    run(tool, "synth", "--preset", "moe", "--split", "3", "-o", work / "parts.gguf", "--force")
    parts = [work / f"parts-{i:05}-of-00003.gguf" for i in (1, 2, 3)]
    compare_whole(tool, parts)
    for part in parts:
        part.unlink()
    path = work / "every-type.gguf"
    write_every_type(path)
    compare_whole(tool, [path])
    path.unlink()
    if problems:
        sys.exit(f"{len(problems)} differences")
    print(f"equal to gguf {len(PRESETS)} presets, {len(SYNTH_TYPES)} types, a split model, "
          f"{len(gguf.GGML_QUANT_SIZES) - 1} stored types")


if __name__ == "__main__":
    main()
