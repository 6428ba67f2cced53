"""fits.py COMMAND...: each command line (without "tensortrace") fits lines of 60, 80, 100 and 120 columns when COLUMNS
says so. No line of its output or its messages is longer. Each table has as many rows, and as many different ones, as
without a limit; names that differ stay different; no number is cut, and the numbers are those of --csv. With 200
columns the tables have all their columns. Says what does not hold, and how many tables and numbers there were."""

import csv
import io
import os
import re
import subprocess
import sys
import unicodedata

WIDTHS = (60, 80, 100, 120)
WHOLE = 0
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
# Commands to copy stay whole, and a word that is too long.
COPIED = re.compile(r"^  \S*tensortrace |^ *\S+$")
# Lists that are cut at their end.
LISTS = {"SOURCES"}
# A number, its unit, and how exactly it is known.
NUMBER = re.compile(r"(?:<= |>= |~)?([+-]?[\d,]*\.?\d+(?:e[+-]?\d+)?)(?: (\S+))?$")
UNITS = {None: 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "ns": 1, "us": 1e3, "ms": 1e6,
         "s": 1e9, "%": 0.01, "B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9}


def run(command, columns, *more):
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    if columns:
        env["COLUMNS"] = str(columns)
    made = subprocess.run(["tensortrace", *command.split(), *more], env=env, capture_output=True, check=False)
    if made.returncode > 1 and not more:
        print(f"{command}: exit code {made.returncode}: {made.stderr.decode()}")
    return made.stdout.decode().split("\n"), made.stderr.decode().split("\n")


def cells(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def columns_of(lines):
    """The cells of lines that are one table: columns are parted by two places that are empty in all lines."""
    width = max(len(line) for line in lines)
    used = [any(place < len(line) and line[place] != " " for line in lines) for place in range(width)]
    starts = [i for i in range(width) if used[i] and (i == 0 or not any(used[max(0, i - 2):i]))]
    ends = [*starts[1:], width]
    return [[line[a:b].strip() for a, b in zip(starts, ends)] for line in lines]


def tables(lines):
    """(titles, rows of cells, lines) of each: a head in capitals, and what follows it up to an empty line."""
    found, part = [], None
    for line in [*lines, ""]:
        if re.match(r"^ *[A-Z][A-Z]", line) and re.search(r"  +\S", line.strip()) and part is None:
            part = [line]
        elif not line.strip() and part:
            rows = columns_of(part)
            found.append((rows[0], rows[1:], part[1:]))
            part = None
        elif part:
            part.append(line)
    return found


def lost(whole, narrow):
    """Texts that are cut to the same one as another text of their column, and numbers that are cut."""
    for i, title in enumerate(narrow[0]):
        if title in LISTS or title not in whole[0] or len(whole[1]) != len(narrow[1]):
            continue
        meant = {}
        for a, b in zip([row[whole[0].index(title)] for row in whole[1]], [row[i] for row in narrow[1]]):
            if ELLIPSIS in b and (NUMBER.match(a) or meant.setdefault(b, a) != a):
                yield title, b, a, meant.get(b, b)


def titles_of(command):
    """Keys of --csv by the titles of the columns."""
    lines = run(command, WHOLE, "--columns=help")[0]
    if not lines[0].startswith("COLUMN"):
        return {}
    at, end = lines[0].index("TITLE"), lines[0].index("MEANS")
    keys = {}
    for line in lines[1:]:
        if line[at:end].strip():
            keys.setdefault(line[at:end].strip(), []).append(line[:at].strip())
    return keys


def is_same(text, value):
    """Whether a cell is that number of --csv, in the digits that it shows; None: it is no number."""
    number = NUMBER.match(text)
    if not number or number[2] not in UNITS:
        return None
    try:
        exact = float(value)
    except ValueError:
        return None
    digits, unit = number[1].replace(",", ""), UNITS[number[2]]
    mantissa, _, power = digits.partition("e")
    step = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2])) * unit
    # Bytes are rounded down, and times of --csv may be whole nanoseconds.
    share, more = (1.0001, 0) if number[2] in ("KiB", "MiB", "GiB", "TiB") else (0.5001, 0.5 * (unit != 0.01 and number[2] is not None))
    return abs(float(digits) * unit - exact) <= step * share + more


def numbers(command, keys, table, rows):
    """How many numbers of the table were compared with the rows of --csv, and those that differ."""
    titles, shown, _ = table
    compared, wrong = 0, []
    if not any(title in keys for title in titles):
        return 0, wrong
    if shown and "all" in shown[-1]:
        shown = shown[:-1]
    for row, values in zip(shown, rows):
        for title, text in zip(titles, row):
            key = next((key for key in keys.get(title, []) if key in values), None)
            same = is_same(text + " ms" * title.endswith(" ms"), values[key]) if key else None
            compared += same is not None
            if same is False:
                wrong.append(f"{title}: {text} is {values[key]} in --csv")
    return compared, wrong


def rows_of_csv(command):
    lines, _ = run(command, WHOLE, "--csv")
    return list(csv.DictReader(io.StringIO("\n".join(lines)))) if lines[0] and "," in lines[0] else []


n_tables = n_numbers = 0
for command in sys.argv[1:]:
    whole = tables(run(command, WHOLE)[0])
    keys = titles_of(command)
    # These list rows only if asked to.
    sums = command.startswith("diff") and "--by" not in command or command.startswith("graph") and "--layer" not in command
    rows = rows_of_csv(command) if keys and not sums else []
    n_tables += len(whole)
    for width in (WHOLE, *WIDTHS):
        narrow, messages = run(command, width)
        for line in narrow + messages:
            if width and cells(line) > width and not COPIED.match(line):
                print(f"{command}: {width}: {cells(line)} columns: {line}")
        fewer = tables(narrow)
        if len(whole) != len(fewer):
            print(f"{command}: {width}: {len(whole)} tables become {len(fewer)}")
        listed = min(fewer, key=lambda table: abs(len(table[1]) - len(rows) - ("all" in (table[1] or [""])[-1])), default=None)
        for before, after in zip(whole, fewer):
            if len(set(before[2])) > len(set(after[2])):
                print(f"{command}: {width}: {before[0][0]}: of {len(set(before[2]))} different rows {len(set(after[2]))} are left")
            for title, cut, one, other in list(lost(before, after))[:1]:
                print(f"{command}: {width}: {title}: {one} and {other} are both {cut}")
        compared, wrong = numbers(command, keys, listed, rows) if rows and listed else (0, [])
        for what in wrong[:2]:
            print(f"{command}: {width}: {what}")
        if rows and not compared:
            print(f"{command}: {width}: no number could be compared with --csv")
        n_numbers += compared
    for (titles, _, _), (seen, _, _) in zip(whole, tables(run(command, 200)[0])):
        if titles != seen:
            print(f"{command}: with 200 columns {titles} are {seen}")
print(f"{n_tables} tables, {n_numbers} numbers")
