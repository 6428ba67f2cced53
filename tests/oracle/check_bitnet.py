"""BitNet-style folders against blake3 from PyPI, numpy, Python's json, and a second serde_json layout.

Usage: check_bitnet.py TENSORTRACE WORKDIR

Tiny models (one with experts) are traced with all data. What the trace keeps is decoded by
tests/golden/decode.py, which shares no code with tensortrace; every record of the export must be of one of these outputs, with the BLAKE3, the
sequential RMS to the last bit and the first values that follow from its data, and be laid out byte for byte
as Rust's serde_json does. With fingerprints alone the RMS may be off by 1e-12. Then folders as another
program writes them are read.
"""

import json
import math
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import blake3
import numpy as np

sys.path.insert(0, str(Path(os.environ["TT_SOURCE_DIR"]) / "tests" / "engine"))

import traces  # noqa: E402

TYPES = {"f32": "<f4", "f16": "<f2", "i32": "<i4", "i64": "<i8"}


def run(*args, code=0):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != code:
        sys.exit(f"{' '.join(map(str, args))}: exit {done.returncode}: {done.stdout}{done.stderr.strip()}")
    return done.stdout


# --- serde_json's layout ---


def number(v, whole, small):
    """As the crate ryu lays out the shortest digits; those are Python's and numpy's."""
    sign = "-" if math.copysign(1, v) < 0 else ""
    if v == 0:
        return sign + "0.0"
    text = repr(abs(v)) if isinstance(v, float) else np.format_float_scientific(abs(v), unique=True, trim="-")
    mantissa, _, exponent = text.partition("e")
    front, _, behind = mantissa.partition(".")
    digits, k = (front + behind).lstrip("0"), int(exponent or 0) - len(behind)
    k += len(digits) - len(digits.rstrip("0"))
    digits = digits.rstrip("0")
    point = len(digits) + k
    if k >= 0 and point <= whole:
        return sign + digits + "0" * k + ".0"
    if 0 < point <= whole:
        return sign + digits[:point] + "." + digits[point:]
    if small < point <= 0:
        return sign + "0." + "0" * -point + digits
    return sign + digits[0] + ("." + digits[1:] if digits[1:] else "") + f"e{point - 1}"


def layout(record):
    def array(items):
        return "[\n" + ",\n".join("    " + i for i in items) + "\n  ]" if items else "[]"

    lines = []
    for key, value in record.items():
        if key == "shape":
            text = array([str(n) for n in value])
        elif key == "first_values":
            text = array(["null" if v is None else number(np.float32(v), 13, -6) for v in value])
        elif key == "rms" and value is not None:
            text = number(float(value), 16, -5)
        else:
            text = json.dumps(value, ensure_ascii=False)
        lines.append(f'  "{key}": {text}')
    return "{\n" + ",\n".join(lines) + "\n}"


# --- what the trace holds ---


def shape_of(tensor, op, n):
    """numpy's shape, at least two dimensions; of SET_ROWS, of the rows that were written."""
    ne = tensor["ne"] if op != "SET_ROWS" else [tensor["ne"][0], n // tensor["ne"][0], 1, 1]
    while len(ne) > 2 and ne[-1] == 1:
        ne = ne[:-1]
    return ne[::-1]


def outputs(trace):
    """{(run, node): (type, shape, floats)} of the data that was kept."""
    decoded = traces.decoded(trace)
    names = traces.names_of(decoded)
    graphs = {g["id"]: g for g in traces.records(decoded, "graph")}
    graph_of = {r["id"]: graphs[r["graph"]] for r in traces.records(decoded, "run")}
    parts = {}
    for run_id, node, part, payload in decoded["data"]:
        parts.setdefault((run_id, node), {})[part] = payload
    found = {}
    for (run_id, node), of in parts.items():
        tensor = graph_of[run_id]["tensors"][node]
        kind = names[tensor["type_name"]]
        native = b"".join(of[i] for i in range(len(of)))
        x = np.frombuffer(native, TYPES[kind]).astype("<f4")
        found[run_id, node] = (kind, shape_of(tensor, names[tensor["op_name"]], x.size), x)
    return found


def facts(kind, x):
    total = 0.0
    for v in x.tolist():
        total += v * v
    return {"dtype": kind.upper(), "blake3": blake3.blake3(x.tobytes()).hexdigest(),
            "rms": math.sqrt(total / x.size), "num_elements": int(x.size),
            "first_values": [float(v) for v in x[:8]]}


def folder_of(path, complain):
    records = {}
    for file in sorted(path.iterdir()):
        text = file.read_bytes().decode()
        record = json.loads(text)
        if text != layout(record):
            complain(f"{file.name}: laid out otherwise than serde_json does")
        if file.name != record["name"].replace("/", "_").replace("\\", "_") + ".trace" and ".2.trace" not in file.name:
            complain(f"{file.name}: not the name of {record['name']}")
        records[file.name] = record
    return records


def check_full(records, kept, complain):
    want = Counter()
    for kind, shape, x in kept.values():
        want[json.dumps({**facts(kind, x), "shape": shape})] += 1
    got = Counter(json.dumps({**{k: r[k] for k in ("dtype", "blake3", "rms", "num_elements")},
                              "first_values": [float(np.float32(v)) for v in r["first_values"]],
                              "shape": r["shape"]})
                  for r in records.values())
    for text, n in (want - got).items():
        complain(f"{n} outputs of the trace in no record: {text}")
    for text, n in (got - want).items():
        complain(f"{n} records of no output of the trace: {text}")
    for name, r in records.items():
        place = f"t{r['seq']}/" + (f"blk{r['layer']}/" if r.get("layer", -1) >= 0 else "") + r["stage"]
        complain.expect(f"{name}: name", place, r["name"])
        complain.expect(f"{name}: shape", r["num_elements"], math.prod(r["shape"]))


def check_hash(full, hashed, complain):
    complain.expect("files of full and hash", sorted(full), sorted(hashed))
    for name in set(full) & set(hashed):
        a, b = full[name], hashed[name]
        if not math.isclose(a["rms"], b["rms"], rel_tol=1e-12):
            complain(f"{name}: rms {b['rms']} instead of {a['rms']}")
        complain.expect(f"{name}: all but the RMS", {**a, "rms": 0}, {**b, "rms": 0})


# --- what another program writes ---


def write_folder(path, rng):
    """As BitNet.rs does: nothing of ours is used. How many records."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    lines, n = [], 0
    for layer in range(3):
        for i, stage in enumerate(["attn_norm", "q_proj", "logits/odd\\näme"]):
            x = np.array([rng.gauss(0, 10 ** rng.uniform(-6, 6)) for _ in range(rng.randrange(40))], "<f4")
            f = facts("f32", x) if x.size else {**facts("f32", np.ones(1, "<f4")), "rms": None, "num_elements": 0}
            first = f.pop("first_values")[: x.size]
            record = {"name": f"t0/blk{layer}/{stage}", "shape": [1, int(x.size)], **f}
            if i:
                record.update(seq=0, layer=layer, stage=stage)
            if i == 2:
                record = {**record, "first_values": first, "unknown": {"a": [1, None]}}
            if layer == 2:
                lines.append(json.dumps(record))
            else:
                name = record["name"].replace("/", "_").replace("\\", "_")
                (path / f"{name}.trace").write_text(json.dumps(record, indent=2, ensure_ascii=False), "utf-8")
            n += 1
    (path / "rest.jsonl").write_text("\n".join(lines) + "\n")
    return n


def check_foreign(tool, work, complain):
    folder = work / "foreign"
    for seed in range(5):
        n = write_folder(folder, random.Random(seed))
        checks = {c["check"]: c for c in json.loads(run(tool, "verify", "--json", folder))["checks"]}
        complain.expect("records that verify saw", n, checks["elements"]["examined"])


def main():
    tool, work = sys.argv[1], Path(sys.argv[2])
    engine = Path(os.environ["TT_ENGINES"]) / "v0.5.0"
    if not engine.is_dir():
        print("skipped: engine v0.5.0 was not fetched")
        sys.exit(77)
    complain = traces.Problems("bitnet")
    run(tool, "synth", "-o", work / "tiny.gguf", "--force")
    kept = []
    for preset in ("tiny", "moe"):
        model = work / f"{preset}.gguf"
        run(tool, "synth", "--preset", preset, "-o", model, "--force")
        found = {}
        for level, threads in (("full", 2), ("hash", 1)):
            trace, folder = work / f"{level}.ttrace", work / level
            run(tool, "run", "--force", "-q", "-o", trace, "--engine", engine, "-m", model, "-p", "where is it",
                "-n", "2", "--ignore-eos", "-t", threads, f"--values={level}")
            run(tool, "export", trace, "--format", "bitnet", "--all", "-o", folder, "--force")
            run(tool, "verify", folder)
            found[level] = folder_of(folder, complain)
        data = outputs(work / "full.ttrace")
        check_full(found["full"], data, complain)
        check_hash(found["full"], found["hash"], complain)
        kept += data.values()
    check_foreign(tool, work, complain)
    kinds = ", ".join(sorted({kind for kind, *_ in kept}))
    complain.finish(f"{len(kept)} outputs ({kinds}) as blake3, numpy and serde_json have them")


if __name__ == "__main__":
    main()
