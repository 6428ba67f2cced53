"""fits.py COMMAND...: each command line (without "tensortrace") fits 80 columns when COLUMNS says so: no line
is longer, each table has as many rows, and as many different ones, as without a limit; and with COLUMNS=200
the tables have all their columns. Says what does not hold, and how many tables there were."""

import os
import re
import subprocess
import sys
import unicodedata

# Commands to copy stay whole.
COPIED = re.compile(r"^  tensortrace ")


def run(command, columns):
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    if columns:
        env["COLUMNS"] = str(columns)
    made = subprocess.run(["tensortrace", *command.split()], env=env, capture_output=True, check=False)
    if made.returncode > 1:
        print(f"{command}: exit code {made.returncode}: {made.stderr.decode()}")
    return made.stdout.decode().split("\n")


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


count = 0
for command in sys.argv[1:]:
    narrow, whole = run(command, 80), run(command, 0)
    for line in narrow:
        if cells(line) > 80 and not COPIED.match(line):
            print(f"{command}: {cells(line)} columns: {line}")
    before, after = tables(whole), tables(narrow)
    count += len(before)
    if len(before) != len(after):
        print(f"{command}: {len(before)} tables become {len(after)}")
    for (titles, rows), (_, fewer) in zip(before, after):
        if len(set(rows)) > len(set(fewer)):
            print(f"{command}: {titles[0]}: of {len(set(rows))} different rows {len(set(fewer))} are left")
    for (titles, _), (seen, _) in zip(before, tables(run(command, 200))):
        if titles != seen:
            print(f"{command}: with 200 columns {titles} are {seen}")
print(f"{count} tables")
