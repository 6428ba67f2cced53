"""Compares where traces say that weights are with the gguf package of llama.cpp's makers.

Usage: check_origins.py TENSORTRACE WORKDIR

A dense model, one with experts and one in three files, each traced mapped, copied and (where
the engine does that) repacked: every weight that an op read must be at the offset and have the
size that gguf.GGUFReader gives, and only the rows of the embedding that belong to the batch's
tokens may be read. Exits with 1 and a list when anything differs.
"""

import os
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
    complain.finish(f"{compared} places of weights as gguf has them")


if __name__ == "__main__":
    main()
