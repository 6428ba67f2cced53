"""fits.py COMMAND...: each command line (without "tensortrace") fits 80 columns when COLUMNS says so: no line
of its output or its messages is longer, each table has as many rows, and as many different ones, as without a
limit, cells that differ stay different; and with COLUMNS=200 the tables have all their columns. Says what does
not hold, and how many tables there were."""

import os
import re
import subprocess
import sys
import unicodedata

# Commands to copy stay whole, and a word that is too long.
COPIED = re.compile(r"^  tensortrace |^ *\S+$")
# Lists that are cut at their end.
LISTS = {"SOURCES"}


def run(command, columns):
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    if columns:
        env["COLUMNS"] = str(columns)
    made = subprocess.run(["tensortrace", *command.split()], env=env, capture_output=True, check=False)
    if made.returncode > 1:
        print(f"{command}: exit code {made.returncode}: {made.stderr.decode()}")
    return made.stdout.decode().split("\n"), made.stderr.decode().split("\n")


def cells(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def tables(lines):
    """(titles, rows) of each: a head in capitals, and what follows it up to an empty line."""
    found, rows = [], None
    for line in lines:
        if re.match(r"^ *[A-Z][A-Z]", line) and re.search(r"  +\S", line.strip()) and rows is None:
            rows = []
            found.append((re.split(r"  +", line.strip()), rows))
        elif not line.strip():
            rows = None
        elif rows is not None:
            rows.append(line)
    return found


def columns(table):
    """The cells of each column, of the rows that have a cell in each."""
    titles, rows = table
    full = [r for r in (re.split(r"  +", row.strip()) for row in rows) if len(r) == len(titles)]
    return {title: [r[i] for r in full] for i, title in enumerate(titles)}


def lost(whole, narrow):
    """Texts that are cut to the same one as another text of their column."""
    before, after = columns(whole), columns(narrow)
    for title, cells in after.items():
        was = before.get(title, [])
        if title in LISTS or len(was) != len(cells):
            continue
        meant = {}
        for a, b in zip(was, cells):
            if "\N{HORIZONTAL ELLIPSIS}" in b and meant.setdefault(b, a) != a:
                yield title, b, a, meant[b]


count = 0
for command in sys.argv[1:]:
    (narrow, messages), (whole, _) = run(command, 80), run(command, 0)
    for line in narrow + messages:
        if cells(line) > 80 and not COPIED.match(line):
            print(f"{command}: {cells(line)} columns: {line}")
    before, after = tables(whole), tables(narrow)
    count += len(before)
    if len(before) != len(after):
        print(f"{command}: {len(before)} tables become {len(after)}")
    for (titles, rows), (_, fewer) in zip(before, after):
        if len(set(rows)) > len(set(fewer)):
            print(f"{command}: {titles[0]}: of {len(set(rows))} different rows {len(set(fewer))} are left")
    for a, b in zip(before, after):
        for title, cut, one, other in list(lost(a, b))[:1]:
            print(f"{command}: {title}: {one} and {other} are both {cut}")
    for (titles, _), (seen, _) in zip(before, tables(run(command, 200)[0])):
        if titles != seen:
            print(f"{command}: with 200 columns {titles} are {seen}")
print(f"{count} tables")
