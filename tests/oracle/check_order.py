"""Rewrites a model with its tensors in another order, and compares what that changes with `whatif --order`.

Usage: check_order.py TENSORTRACE WORKDIR

Python's gguf package writes a model with shuffled tensors, and from what is traced of that two others: as their tensors are
first read, and layer by layer. `whatif --order` of the shuffled one's trace says of caches of several sizes, with pages and
with Linux's readahead, exactly what `whatif` says of the traces of the two rewritten files. Exits with 1 when anything differs.
"""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import gguf

TOOL, WORK = sys.argv[1], Path(sys.argv[2])
SIZES = "200K,600K,1200K,2M,8M"


def run(*args):
    done = subprocess.run([TOOL, *map(str, args)], capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, args))}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def rewrite(source, target, order):
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, "llama")
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue
        kind, inner = field.types[0], field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(key, field.contents(), kind, inner)
    tensors = {t.name: t for t in reader.tensors}
    assert sorted(order) == sorted(tensors)
    for name in order:
        writer.add_tensor(name, tensors[name].data, raw_dtype=tensors[name].tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target


def traced(model):
    trace = model.with_suffix(".ttrace")
    run("run", "-q", "--force", "-o", trace, "-m", model, "-p", "Once upon a time", "-n", "4", "--ignore-eos", "-t", "1", "--no-repack")
    return trace


def replayed(trace, *options):
    """What is fetched, by the size and the policy."""
    told = json.loads(run("whatif", trace, "--json", *options))
    results = told["results"] if "results" in told else told["rows"]
    return [{k: v for k, v in r.items() if "bytes" in k or k in ("policy", "phase")} for r in results]


def by_use(trace, names):
    seen = []
    for op in json.loads(run("log", trace, "--json", "--limit", "0"))["ops"]:
        for source in op["sources"]:
            if source["name"] in names and source["name"] not in seen:
                seen.append(source["name"])
    return seen + [n for n in names if n not in seen]


def by_layer(names, use):
    def key(name):
        layer = re.match(r"blk\.(\d+)\.", name)
        return int(layer.group(1)) if layer else -1 if name.startswith("token_embd") else 1 << 30

    return sorted(names, key=key)  # stable: as in the file


def compare(name, *shape):
    model = WORK / f"{name}.gguf"
    run("synth", "--force", "-o", model, *shape)
    names = [t.name for t in gguf.GGUFReader(model).tensors]
    random.Random(name).shuffle(names)
    shuffled = traced(rewrite(model, WORK / f"{name}-shuffled.gguf", names))
    use = by_use(shuffled, names)
    orders = {"use": use, "layer": by_layer(names, use)}
    differ = 0
    for order, wanted in orders.items():
        rewritten = traced(rewrite(model, WORK / f"{name}-{order}.gguf", wanted))
        for options in (["--policy", "lru,belady"], ["--readahead", "64K"], ["--readahead", "256K"], ["--warm"], ["--page-size", "64K"]):
            options = ["--ram", SIZES, *options]
            got = replayed(shuffled, "--order", order, *options)
            want = replayed(rewritten, *options)
            if not got or got != want:
                sys.exit(f"{name} by {order}, {options}: {got} instead of {want}")
            differ += got != replayed(shuffled, *options)
    if not differ:
        sys.exit(f"{name}: the order never mattered, so nothing was compared")
    return differ


def main():
    if not os.path.isdir(os.environ.get("TT_ENGINES", "")):
        print("no engine")
        sys.exit(77)
    print("order:", compare("dense", "--layers", "4"), compare("moe", "--layers", "2", "--experts", "4", "--experts-used", "2"), "replays differ by it")


if __name__ == "__main__":
    main()
