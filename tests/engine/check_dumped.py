"""Compares graphs as ggml itself dumped them with those of `export --format dot --ggml`: check_dumped.py OURS THEIRS

Line by line, but for what a trace does not hold: addresses, by which ggml tells tensors apart, the numbers of
leafs, which ggml lists in another order, and leafs that nothing is computed from.
"""

import re
import sys
from pathlib import Path

import traces

BOX = re.compile(r'  "(0x[0-9a-f]+)" (\[ style = filled; fillcolor = (?:white|pink); shape = record; label="(.*)"; \])')
EDGE = re.compile(r'  "(0x[0-9a-f]+)" -> "(0x[0-9a-f]+)" (\[ .* \])')


def read(path):
    """The lines that are no box or edge, and those of nodes; leafs, and edges by what they join."""
    lines, leafs, edges, names = [], [], [], {}
    for line in path.read_text().splitlines():
        box, edge = BOX.fullmatch(line), EDGE.fullmatch(line)
        if box:
            text = re.sub(r"\|CONST [0-9]+ ", "|CONST ", box[2])
            names[box[1]] = text if "|CONST " in text else f"node {box[3].split('|')[1].split()[0]}"
            (leafs if "|CONST " in text else lines).append(text)
        elif edge:
            edges.append((names[edge[1]], names[edge[2]], edge[3]))
        else:
            lines.append(line)
    used = {source for source, _, _ in edges}
    return lines, sorted(leaf for leaf in leafs if leaf in used), edges


def main():
    ours, theirs = (sorted(Path(p).iterdir()) for p in sys.argv[1:3])
    complain = traces.Problems("dumped graphs")
    complain.expect("files", len(theirs), len(ours))
    compared = 0
    for a, b in zip(ours, theirs):
        for what, mine, its in zip(("lines", "leafs", "edges"), read(a), read(b)):
            complain.expect(f"{a.name}: how many {what}", len(its), len(mine))
            for x, y in zip(mine, its):
                complain.expect(f"{a.name}: {what}", y, x)
            compared += len(mine)
    if not compared:
        complain("there is nothing to compare")
    complain.finish(f"{len(ours)} graphs, {compared} lines as ggml dumps them")


if __name__ == "__main__":
    main()
