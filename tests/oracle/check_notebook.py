"""Executes examples/notebook/questions.ipynb, cell by cell, and looks at what it finds.

Usage: check_notebook.py TENSORTRACE WORKDIR
"""

import ast
import json
import os
import sys
from pathlib import Path

SOURCE, TOOL = Path(os.environ["TT_SOURCE_DIR"]), Path(sys.argv[1])
os.environ["TENSORTRACE_HOME"] = str(TOOL.parent.parent)
os.environ["TENSORTRACE_ENGINE"] = str(Path(os.environ["TT_ENGINES"]) / "v0.5.0")
os.environ["PYTHONPATH"] = str(SOURCE / "python")
os.environ.pop("MODEL", None)
sys.path.insert(0, str(SOURCE / "python"))


def execute(text, names):
    """As a notebook does: the value of a last expression is shown."""
    tree = ast.parse(text)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return value._repr_html_()


def need(what, holds):
    if not holds:
        sys.exit(f"{what}: no")


notebook = json.loads((SOURCE / "examples" / "notebook" / "questions.ipynb").read_text())
cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
need("no output is kept in it", not any(c.get("outputs") for c in notebook["cells"]))
names = {}
shown = [execute(cell, names) for cell in cells]
need("the report is shown, with plots", "&lt;svg" in shown[1])
need("tables are shown", all("<table" in html for html in shown[2:]))
heat, kinds, skew, curve = (names[n] for n in ("heat", "kinds", "skew", "curve"))
need("hottest first", heat["read_bytes"].is_sorted(descending=True) and heat["read_bytes"][0] > 0)
need("some experts are cold", 0 < len(names["never"]) < len(heat))
need("steps are of three kinds", abs(sum(kinds.row(0)) - 1) < 1e-9 and min(kinds.row(0)) > 0)
need("each layer has a distance", len(skew) > 1 and skew["distance"].is_between(0, 1).all() and skew["distance"].sum() > 0)
missed = {policy: rows["miss_ratio"].to_list() for (policy,), rows in curve.group_by("policy", maintain_order=True)}
need("ten sizes of two policies", {k: len(v) for k, v in missed.items()} == {"lru": 10, "belady": 10})
need("no policy beats the one that knows", all(b <= a for a, b in zip(missed["lru"], missed["belady"])))
need("all of it in RAM: as little as can be", missed["lru"][-1] == missed["belady"][-1])
print(f"{len(cells)} cells: {len(heat)} weights, {len(skew)} layers")
