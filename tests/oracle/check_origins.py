"""Compares where traces say that weights are with the gguf package of llama.cpp's makers.

Usage: check_origins.py TENSORTRACE WORKDIR

A dense model, one with experts and one in three files, each traced mapped, copied and (where
the engine does that) repacked: every weight that an op read must be at the offset and have the
size that gguf.GGUFReader gives, and only the rows of the embedding that belong to the batch's
tokens may be read. With --count-copies-as-file the records of an export have the places of copies, too, and
`heat` follows them through the file. `run`, `export` and `heat` say in one line what was copied and what to do.
Exits with 1 and a list when anything differs.
"""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import gguf

sys.path.insert(0, str(Path(os.environ["TT_SOURCE_DIR"]) / "tests" / "engine"))

import origins  # noqa: E402
import traces  # noqa: E402

WAYS = {"mapped": ["--no-repack"], "copied": ["--no-mmap", "--no-repack"], "repacked": []}
SAID = {"copied": "were read from copies in buffers, not from the mapped file: it was loaded without mmap",
        "repacked": "were read from repacked copies, not from the mapped file: --no-repack keeps them there"}


def run(*args):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: exit {done.returncode}: {done.stderr.strip()}")
    return done


def check_said(what, how, copied, said, complain):
    """In one line, and only where it is so. Types that the engine does not repack stay where they are."""
    lines = [line for line in said.splitlines() if "not from the mapped file" in line]
    if len(lines) != (1 if copied else 0) or (copied and SAID[how] not in lines[0]):
        complain(f"{what}, {how}: said {said!r}")


def check_heat(tool, trace, how, copied, complain):
    """Steps from read to read, with those of copies and without."""
    said, steps = {}, {}
    for option in "", "--count-copies-as-file":
        heat = json.loads(run(tool, "heat", "--json", "--limit", "0", "--by", "tensor", *option.split(), trace).stdout)
        said[option], steps[option] = heat["summary"], heat["summary"]["steps"]["count"]
        rows = sum(row["copied_bytes"] for row in heat["rows"])
        if rows != heat["summary"]["copied_bytes"] or (rows > 0) != copied or (how == "copied" and rows != heat["summary"]["read_bytes"]):
            complain(f"heat, {how}: {rows} copied bytes in rows, {heat['summary']['copied_bytes']} in all")
    # Of each op's sources those in the file.
    ops = json.loads(run(tool, "log", "--json", "--limit", "0", trace).stdout)["ops"]
    disk = sum("model_file" in s and s["origin"] == "file" for op in ops for s in op["sources"])
    everything = said["--count-copies-as-file"]["reads"] - 1
    if steps["--count-copies-as-file"] != everything or (not copied and steps[""] != everything) or \
            (copied and steps[""] >= everything) or (disk == 0 and steps[""] != 0):
        complain(f"heat, {how}: {steps} of {everything} steps, {disk} sources in the file")
    check_said("heat", how, copied, run(tool, "heat", trace).stderr, complain)
    check_said("heat --count-copies-as-file", how, False, run(tool, "heat", "--count-copies-as-file", trace).stderr, complain)
    return 2


def layout_of(paths):
    return {t.name: (path.name, int(t.data_offset), int(t.n_bytes))
            for path in paths for t in gguf.GGUFReader(path).tensors}


def check_copies(tool, work, trace, how, tensors, copied, complain):
    """Of each record that names a weight: whether its offset lies in that tensor."""
    placed = 0
    for options in (), ("--count-copies-as-file",):
        done = subprocess.run([tool, "export", "--format", "bin64", "--force", "-o", work / "o.bin", *options, trace],
                              capture_output=True, text=True, check=True)
        check_said(f"export {options}", how, copied and not options, done.stderr, complain)
        data = (work / "o.bin").read_bytes()
        for at in range(0, len(data), 64):
            index, offset = struct.unpack_from("<I", data, at + 24)[0], struct.unpack_from("<Q", data, at + 40)[0]
            if index == 0xffffffff or (not offset and not options):
                continue
            placed += 1
            begin, size = tensors[index]
            if not begin <= offset < begin + size:
                complain(f"{trace}, {options}: record {at // 64}: {offset} is not in tensor {index}, {begin} + {size}")
    return placed


def main():
    tool, work = sys.argv[1], Path(sys.argv[2])
    engine = Path(os.environ["TT_ENGINES"]) / "v0.5.0"
    if not engine.is_dir():
        print("skipped: engine v0.5.0 was not fetched")
        sys.exit(77)
    run(tool, "synth", "-o", work / "dense.gguf", "--force")
    run(tool, "synth", "--preset", "moe", "-o", work / "experts.gguf", "--force")
    run(tool, "synth", "--split", "3", "--type", "Q8_0", "-o", work / "split.gguf", "--force")
    models = {"dense.gguf": [work / "dense.gguf"], "experts.gguf": [work / "experts.gguf"],
              "split-00001-of-00003.gguf": [work / f"split-{i:05}-of-00003.gguf" for i in (1, 2, 3)]}
    complain, compared = traces.Problems("origins"), 0
    for name, paths in models.items():
        for how, options in WAYS.items():
            trace = work / "origins.ttrace"
            done = run(tool, "run", "--force", "-o", trace, "--engine", engine, "-m", work / name, "-p",
                "where is it", "-n", "3", "--ignore-eos", "-t", "2", *options)
            seen = origins.check(tool, trace, how, {"": layout_of(paths)}, complain=complain)
            compared += seen["file"] + seen["buffer"]
            check_said("run", how, seen["buffer"] > 0, done.stderr, complain)
            compared += check_heat(tool, trace, how, seen["buffer"] > 0, complain)
            if len(paths) == 1:
                tensors = [(int(t.data_offset), int(t.n_bytes)) for t in gguf.GGUFReader(paths[0]).tensors]
                compared += check_copies(tool, work, trace, how, tensors, seen["buffer"] > 0, complain)
    complain.finish(f"{compared} places of weights as gguf has them")


if __name__ == "__main__":
    main()
