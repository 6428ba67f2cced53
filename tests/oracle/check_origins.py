"""Compares where traces say that weights are with the gguf package of llama.cpp's makers.

Usage: check_origins.py TENSORTRACE WORKDIR

A dense model, one with experts and one in three files, each traced mapped, copied and (where
the engine does that) repacked: every weight that an op read must be at the offset and have the
size that gguf.GGUFReader gives, and only the rows of the embedding that belong to the batch's
tokens may be read. With --count-copies-as-file the records of an export have the places of copies, too.
Exits with 1 and a list when anything differs.
"""

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


def run(*args):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: exit {done.returncode}: {done.stderr.strip()}")


def layout_of(paths):
    return {t.name: (path.name, int(t.data_offset), int(t.n_bytes))
            for path in paths for t in gguf.GGUFReader(path).tensors}


def check_copies(tool, work, trace, tensors, copied, complain):
    """Of each record that names a weight: whether its offset lies in that tensor."""
    placed = 0
    for options in (), ("--count-copies-as-file",):
        done = subprocess.run([tool, "export", "--format", "bin64", "--force", "-o", work / "o.bin", *options, trace],
                              capture_output=True, text=True, check=True)
        if ("were read from copies in buffers" in done.stderr) != (copied and not options):
            complain(f"{trace}, {options}: said {done.stderr!r}")
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
            run(tool, "run", "--force", "-q", "-o", trace, "--engine", engine, "-m", work / name, "-p",
                "where is it", "-n", "3", "--ignore-eos", "-t", "2", *options)
            seen = origins.check(tool, trace, how, {"": layout_of(paths)}, complain=complain)
            compared += seen["disk"] + seen["buffer"]
            if len(paths) == 1:
                tensors = [(int(t.data_offset), int(t.n_bytes)) for t in gguf.GGUFReader(paths[0]).tensors]
                compared += check_copies(tool, work, trace, tensors, seen["buffer"] > 0, complain)
    complain.finish(f"{compared} places of weights as gguf has them")


if __name__ == "__main__":
    main()
