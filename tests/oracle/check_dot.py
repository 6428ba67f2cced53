"""Has Graphviz itself read what `export --format dot` writes, and compares it with `graph --json`.

Usage: check_dot.py TENSORTRACE WORKDIR [TRACE...]

`dot -Tplain` names every node and edge that it drew: those have to be the tensors and edges of the
graph. (A leaf that several layers use is drawn once in each: n12_0 is tensor 12.) Without TRACE the
golden ones, with hostile names among them. Exits with 1 when anything differs.
"""

import os
import re
import shlex
import shutil
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(os.environ["TT_SOURCE_DIR"]) / "tests" / "engine"))

import traces  # noqa: E402

GOLDEN = ["good-plain", "good-experts", "good-memory", "good-killed", "good-flight"]


def plain(file):
    """The tensors and edges that Graphviz drew."""
    done = traces.subprocess.run(["dot", "-Tplain", file], capture_output=True, text=True, check=False)
    if done.returncode != 0 or done.stderr:
        return None, done.stderr
    tensors, edges = set(), Counter()
    for line in done.stdout.replace("\\\n", "").splitlines():
        if line.startswith("node "):
            tensors.add(number(shlex.split(line)[1]))
        elif line.startswith("edge "):
            words = shlex.split(line)
            edges[(number(words[1]), number(words[2]))] += 1
    return tensors, edges


def number(name):
    return int(re.fullmatch(r"n([0-9]+)(?:_[0-9]+)?", name)[1])


def compare(file, graph, complain):
    tensors, edges = plain(file)
    if tensors is None:
        complain(f"{file.name}: Graphviz does not read it: {edges}")
        return 0
    wanted = Counter((e["source"], e["target"]) for e in graph["edges"])
    complain.expect(f"{file.name}: tensors", {n["id"] for n in graph["nodes"]}, tensors)
    complain.expect(f"{file.name}: edges", wanted, edges)
    complain.expect(f"{file.name}: how many edges", graph["edges_total"], sum(edges.values()))
    return sum(edges.values())


def export(tool, trace, folder, *options):
    shutil.rmtree(folder, ignore_errors=True)
    traces.subprocess.run([tool, "export", "--format", "dot", "-o", folder, *options, trace], check=True,
                          capture_output=True)
    return sorted(folder.iterdir())


def main():
    tool, work = sys.argv[1], Path(sys.argv[2])
    if not shutil.which("dot"):
        print("skipped: Graphviz is not installed")
        sys.exit(77)
    golden = Path(os.environ["TT_SOURCE_DIR"]) / "tests" / "golden"
    paths = list(map(Path, sys.argv[3:])) or [golden / f"{n}.ttrace" for n in GOLDEN]
    complain = traces.Problems("dot")
    files = edges = 0
    for path in paths:
        ops = traces.ops_of(tool, path)
        for file in export(tool, path, work / "graphs"):
            graph = traces.tool(tool, "graph", "--json", "--graph", int(file.stem.split("_")[1]), path)
            edges += compare(file, graph, complain)
            files += 1
        token = max((o["batch_id"] for o in ops if o["batch_id"] is not None), default=0)
        made = export(tool, path, work / "tokens", "--batch", f"{token}")
        complain.expect(f"{path.name}: files of one token", [f"token_{token:05}.dot"], [f.name for f in made])
        for file in made:
            edges += compare(file, traces.tool(tool, "graph", "--json", "--batch", token, path), complain)
            files += 1
    complain.finish(f"{files} files, {edges} edges drawn by Graphviz as the graphs have them")


if __name__ == "__main__":
    main()
