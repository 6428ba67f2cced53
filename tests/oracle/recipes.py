"""The recipes of docs/recipes.md, and a dataset of several runs to try them on."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(os.environ["TT_SOURCE_DIR"])
# Traced with what the recipes ask for; more threads and tokens in the second.
RUNS = {"a": ["--lanes", "2", "--tokens", "40"], "b": ["--lanes", "3", "--tokens", "60", "--layers", "5"]}


def read():
    """[(title, language, text)], in order; the title of a recipe that is plain SQL ends with a star."""
    found, title = [], ""
    for part in re.split(r"^(## .*)$", (SOURCE / "docs" / "recipes.md").read_text(), flags=re.MULTILINE):
        if part.startswith("## "):
            title = part[3:].strip()
        found += [(title, *block) for block in re.findall(r"^```(\w+)\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)]
    return found


def run(*args):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: exit {done.returncode}: {done.stderr.strip()}")


def dataset(tool, work):
    """Makes work/runs and goes to work."""
    shutil.rmtree(work / "runs", ignore_errors=True)
    for seed, (name, options) in enumerate(RUNS.items(), 1):
        trace = work / f"{name}.ttrace"
        run(os.environ["TT_GENTRACE"], "-o", trace, "--seed", str(seed), "--layers", "4", "--experts", "8", "--faults", *options)
        run(tool, "export", trace, "--format", "parquet", "-o", work / "runs")
    os.chdir(work)


def tables(duck):
    """Makes the views, by the first recipe."""
    [sql] = [text for title, _, text in read() if title == "The tables"]
    duck.execute(sql)
