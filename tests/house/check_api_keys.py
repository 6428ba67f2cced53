#!/usr/bin/env python3
"""check_api_keys.py SOURCES TENSORTRACE HOSTILE_TRACE GENTRACE: docs/api-http.md has the keys of the replies of `serve`.

Asks every endpoint about golden traces and made ones. Each key of a reply must be in docs/columns.md, or in code type in the
endpoint's section, in one that it refers to ("as of `NAME`"), or on the page of a command or the document that it names. The
other way round, each word in code type in a section must be a key or a text of some reply, a parameter or an endpoint. What
no test can show is listed in the section, in <!-- not in the tests: WORDS -->.
"""

import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES, (TENSORTRACE, HOSTILE_TRACE, GENTRACE) = Path(sys.argv[1]), sys.argv[2:]
sys.path.insert(0, str(SOURCES / "tests/golden"))
from check_served import Client, Server, address  # noqa: E402

GOLDEN = SOURCES / "tests/golden"
TRACES = ["good-plain", "good-memory-experts", "good-pool", "good-faults", "good-loading"]
NOTE = {"note_id": 1, "text": "slow", "time_ns": 1, "batch_id": 1, "layer_id": 0, "tensor": "output.weight", "fragment": "view=log"}
WHOLE = {"from_ns": -10**12, "to_ns": 10**12}
SPANS = "file0-0-65536-1_buffer0-0-65536-2"
# What an endpoint is asked for besides nothing.
ASKED = {
    "diff": [{"other": i} for i in range(8)], "diff/batches": [{"other": 1}], "diff/values": [{"other": i} for i in (1, 6, 7)],
    "diff/pair": [{"other": 1, "batch": 3, "name": "ffn_out-0"}],
    "experts": [{"batch": 1}], "find": [{"q": "ffn"}, {"q": "MUL"}, {"q": "1"}, {"q": "layer 1"}, {"q": "CPU"}],
    "flame": [{"merged": 1}], "graph/search": [{"q": "ffn"}],
    "log/count": [{"sort": "duration_ns"}], "log/locate": [{"time_ns": 1000}, {"run": 3, "node": 5, "sort": "duration_ns"}],
    "memory/path": [{"reads": 0}], "memory/region": [{"region": r} for r in range(30)],
    "memory/batches": [{"by": by} for by in ("file", "layer", "expert")],
    "memory/loading/bins": [{"spans": SPANS}], "memory/pages/bins": [{"spans": SPANS}],
    "memory/pages/faults": [{"spans": "file0-0-1048576-256"}],
    "op": [{"run": r, "node": n} for r in (1, 3) for n in range(0, 40, 3)],
    "op/times": [{"run": 3, "node": n} for n in range(9)],
    "pool": [WHOLE], "pool/bins": [WHOLE], "pool/reads": [WHOLE], "pool/waits": [WHOLE, WHOLE | {"limit": 0}],
    "series": [{"by": "category"}, {"by": "tensor", "limit": 1}],
    "stats": [{"by": by} for by in "op layer component category tensor thread batch phase".split()],
    "timeline/aggregate": [WHOLE], "timeline/off_cpu": [WHOLE, WHOLE | {"limit": 0}],
    "values/op": [{"run": 3, "node": n} for n in range(12)],
    "values/list": [{"samples": 1}, {"which": "constant"}],
    "why": [{"batch": 3}, {"layer": 1}, {"run": 3, "node": 5}, {"name": "ffn_out-0"}],
}


def sections(text):
    """Of each heading the text; that of a section of two or more ends where the next begins."""
    parts = re.split(r"^## (.*)\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def words(text):
    """Words in code type, and the keys of examples."""
    found = set(re.findall(r'"([A-Za-z_]\w*)":', text))
    for code in re.findall(r"`([^`]+)`", text):
        found.update(re.findall(r"^[a-z_]\w*$", code))
    return found


def of_page(name):
    """Words that a command's page or another document gives in code type."""
    if name.endswith(".md"):
        return words((SOURCES / "docs" / name).read_text())
    page = SOURCES / f"man/tensortrace-{name}.1"
    marked = re.findall(r"^\..*\bCm\b.*$", page.read_text(), flags=re.M) if page.exists() else []
    return set(re.findall(r"\b[a-z]\w*\b", " ".join(marked)))


def add(value, keys, texts):
    if isinstance(value, dict):
        for key, inner in value.items():
            keys.add(key)
            add(inner, keys, texts)
    elif isinstance(value, list):
        for inner in value:
            add(inner, keys, texts)
    elif isinstance(value, str):
        texts.add(value)


def take(reply, keys, texts):
    status, kind, body = reply
    if status != 200:
        return False
    if kind.startswith("application/json"):
        add(json.loads(body), keys, texts)
    elif body[:4] != b"TTTL" and kind == "application/octet-stream":
        n, = struct.unpack_from("<I", body)
        head = json.loads(body[4:4 + n])
        keys.update(c["name"] for c in head.pop("columns"))
        add(head, keys, texts)
    return True


def make(work):
    """The traces: golden ones, one of them with a note; one with page faults and late tokens; two with values."""
    paths = [shutil.copy(GOLDEN / f"{t}.ttrace", work) for t in TRACES]
    (work / f"{TRACES[0]}.ttrace.notes.json").write_text(json.dumps({"version": 1, "notes": [NOTE]}))
    paths += [str(work / f"{name}.ttrace") for name in ("late", "values", "other-values")]
    subprocess.run([GENTRACE, "-o", paths[-3], *"--tokens 40 --layers 3 --width 64 --vocab 300 --experts 4 --faults --usage "
                    "--late 9".split()], check=True, stdout=subprocess.DEVNULL)
    for path in paths[-2:]:
        subprocess.run([HOSTILE_TRACE, path, "values"], check=True)
    return paths


def main():
    docs = sections((SOURCES / "docs/api-http.md").read_text())
    columns = words((SOURCES / "docs/columns.md").read_text())
    wrong = []
    with tempfile.TemporaryDirectory() as work:
        paths = make(Path(work))
        server = Server(TENSORTRACE, paths, work)
        client = Client(server)
        index = json.loads(client.get("/api/v1")[2])
        names = {e["name"] for e in index["endpoints"]}
        for e in index["endpoints"]:
            name, keys, texts, answered = e["name"], set(), set(), 0
            fixed = name == "timeline"  # columns without names
            for trace in range(len(paths) if e["of_trace"] else 1):
                for params in [{}, *ASKED.get(name, [])]:
                    if params.get("other") != trace:
                        answered += take(client.get(address(e, trace, params)), keys, texts)
            title = f"traces/ID/{name}" if e["of_trace"] else name or "The index"
            text = docs.get(title, "")
            if not answered:
                wrong.append(f"{title}: no request was answered")
            here = words(re.sub(r"\| parameter \|(?:.*\n)*?\n", "", text))
            known = words(text) | columns
            for other in re.findall(r"\b[Aa]s (?:of|for|by|in) `([\w/]+)`", text) + ["log/count"] * name.startswith("log/"):
                known |= words(docs.get(f"traces/ID/{other}", ""))
            for page in re.findall(r"\btensortrace[ -]([a-z]+)", text) + re.findall(r"\((\w+\.md)\b", text):
                known |= of_page(page)
            wrong += [f"{title}: its replies have {k}, which is not documented" for k in sorted(keys - known)
                      if re.fullmatch(r"[a-z]\w*", k)]
            told = keys | texts | set(e["params"]) | names | {"boost", "serve", "run"}
            told |= set(" ".join(re.findall(r"<!-- not in the tests: ([^>]*) -->", text)).split())
            if not fixed:
                wrong += [f"{title}: {w} is in no reply" for w in sorted(here - told)]
        code, said = server.stop()
    print("\n".join(wrong))
    if code != 0:
        raise SystemExit(f"the server ended with {code}: {said}")
    print(f"{len(names)} endpoints")
    return bool(wrong)


sys.exit(main())
