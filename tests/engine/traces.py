"""What the Python checks of traces share: running tensortrace, finding what differs.

The checks read traces in two ways: with `tensortrace ... --json`, and with the second
decoder of tests/golden, which shares no code with it.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "golden"))

import decode as decoder  # noqa: E402

PROBLEMS_SHOWN = 12


class Problems:
    """Collects what is wrong; `finish` prints an example of each kind and ends the program."""

    def __init__(self, about):
        self.about = about
        self.found = {}

    def __call__(self, text):
        kind = re.sub("[0-9]+", "", text.rsplit(": ", 1)[-1])
        self.found.setdefault(kind, []).append(text)

    def expect(self, what, wanted, got):
        if wanted != got:
            self(f"{what}: expected {wanted}, got {got}")

    def finish(self, good=""):
        for texts in list(self.found.values())[:PROBLEMS_SHOWN]:
            more = f" (and {len(texts) - 1} alike)" if len(texts) > 1 else ""
            print(f"{self.about}: {texts[0]}{more}")
        if len(self.found) > PROBLEMS_SHOWN:
            print(f"{self.about}: and {len(self.found) - PROBLEMS_SHOWN} other kinds")
        if not self.found and good:
            print(f"{self.about}: {good}")
        sys.exit(1 if self.found else 0)


def tool(binary, *words):
    done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def ops_of(binary, trace):
    return tool(binary, "log", "--json", "--limit", "0", trace)["ops"]


def info_of(binary, trace):
    return tool(binary, "info", "--json", trace)


def decoded(trace):
    """What tests/golden/decode.py reads: {"meta": [(kind, record), ...], ...}."""
    try:
        return decoder.decode(Path(trace).read_bytes())
    except decoder.Skip as why:
        print(f"skipped: {why}")
        sys.exit(77)


def records(trace, kind):
    return [record for name, record in trace["meta"] if name == kind]


def layout_of(binary, model):
    """{name: (file, offset, size)} of a model, or of all parts of a split one."""
    shown = tool(binary, "gguf", "--json", "--no-experts", model)
    return {t["name"]: (t.get("file", Path(model).name), t["offset_start"], t["size_bytes"]) for t in shown["tensors"]}


NOT_OBSERVED = (1 << 64) - 1


def details_of(trace, kind):
    """The details of a kind as records: "faults", or "experts" and "weights" with `items`."""
    found = []
    for run, node, lane, number, *rest in trace["details"]:
        record = {"run": run, "node": node, "lane": lane}
        if number == 1 and kind == "faults":
            record.update(zip(("minor", "major", "cpu_ns", "read_bytes"), rest))
            if record["read_bytes"] == NOT_OBSERVED:
                record["read_bytes"] = None
            found.append(record)
        elif (number, kind) in ((2, "experts"), (3, "weights")):
            record.update(token=rest[0], rank=rest[1], items=rest[2:])
            found.append(record)
    return found


def names_of(trace):
    return {0: "", **{r["id"]: r["text"] for r in records(trace, "string")}}
