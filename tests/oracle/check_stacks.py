"""Models, contexts and stacks of layers are told apart: real llama.cpp with a draft model, an encoder
with a decoder, and a state space model.

Usage: check_stacks.py TENSORTRACE WORKDIR

What is right comes from the `gguf` package (names, sizes and metadata of the model files, which it
also writes), from DuckDB on the Parquet tables, and from what the programs print. Exits with 1 and a
list when anything differs, with 77 when the newest engine was not fetched.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import duckdb
import gguf
import numpy as np

SOURCE = Path(os.environ["TT_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "tests" / "engine"))

import traces  # noqa: E402

complain = traces.Problems("stacks")
TOOL = sys.argv[1]
WORK = Path(sys.argv[2])
ROOT = Path(os.environ.get("TT_NEWEST", ""))
LAYERS, EMBD, HEADS, FFN = 2, 128, 4, 256
random = np.random.default_rng(7)


def tool(*args, code=0):
    done = subprocess.run([TOOL, *map(str, args)], capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != code:
        sys.exit(f"tensortrace {' '.join(map(str, args))}: exit {done.returncode}, not {code}: {done.stderr.strip()}")
    return done.stdout


def asked(*args):
    return json.loads(tool(*args, "--json"))


equal = complain.expect


# --- models ---


def matrix(*shape):
    return (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float16)


def ones(*shape):
    return np.ones(shape, np.float32)


def begin(path, arch, tokenizer):
    """A writer with the vocabulary of a model that is there."""
    w = gguf.GGUFWriter(path, arch)
    w.add_context_length(512)
    w.add_embedding_length(EMBD)
    w.add_block_count(LAYERS)
    w.add_layer_norm_rms_eps(1e-6)
    for key, field in tokenizer.fields.items():
        value = field.contents() if key.startswith("tokenizer.") else None
        if isinstance(value, list):
            w.add_array(key, value)
        elif isinstance(value, bool):
            w.add_bool(key, value)
        elif isinstance(value, int):
            w.add_uint32(key, value)
        elif isinstance(value, str):
            w.add_string(key, value)
    w.add_tensor("token_embd.weight", matrix(len(tokenizer.fields["tokenizer.ggml.tokens"].contents()), EMBD))
    return w


def end(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def make_t5(path, tokenizer):
    w = begin(path, "t5", tokenizer)
    w.add_feed_forward_length(FFN)
    w.add_head_count(HEADS)
    w.add_key_length(EMBD // HEADS)
    w.add_value_length(EMBD // HEADS)
    w.add_layer_norm_eps(1e-6)
    w.add_relative_attn_buckets_count(32)
    w.add_decoder_start_token_id(1)
    for stack in "enc", "dec":
        w.add_tensor(f"{stack}.output_norm.weight", ones(EMBD))
        for i in range(LAYERS):
            b = f"{stack}.blk.{i}."
            if i == 0:
                w.add_tensor(b + "attn_rel_b.weight", matrix(32, HEADS))
            for attention in ("attn", "cross_attn") if stack == "dec" else ("attn",):
                w.add_tensor(f"{b}{attention}_norm.weight", ones(EMBD))
                for x in "qkvo":
                    w.add_tensor(f"{b}{attention}_{x}.weight", matrix(EMBD, EMBD))
            w.add_tensor(b + "ffn_norm.weight", ones(EMBD))
            w.add_tensor(b + "ffn_up.weight", matrix(FFN, EMBD))
            w.add_tensor(b + "ffn_gate.weight", matrix(FFN, EMBD))
            w.add_tensor(b + "ffn_down.weight", matrix(EMBD, FFN))
    end(w)


def make_mamba(path, tokenizer):
    inner, kernel, state, rank = 2 * EMBD, 4, 16, 8
    w = begin(path, "mamba", tokenizer)
    w.add_feed_forward_length(0)
    w.add_head_count(0)
    w.add_ssm_conv_kernel(kernel)
    w.add_ssm_inner_size(inner)
    w.add_ssm_state_size(state)
    w.add_ssm_time_step_rank(rank)
    w.add_tensor("output_norm.weight", ones(EMBD))
    for i in range(LAYERS):
        b = f"blk.{i}."
        w.add_tensor(b + "attn_norm.weight", ones(EMBD))
        w.add_tensor(b + "ssm_in.weight", matrix(2 * inner, EMBD))
        w.add_tensor(b + "ssm_conv1d.weight", matrix(inner, kernel).astype(np.float32))
        w.add_tensor(b + "ssm_conv1d.bias", 0 * ones(inner))
        w.add_tensor(b + "ssm_x.weight", matrix(rank + 2 * state, inner))
        w.add_tensor(b + "ssm_dt.weight", matrix(inner, rank))
        w.add_tensor(b + "ssm_dt.bias", 0 * ones(inner))
        w.add_tensor(b + "ssm_a", -np.tile(np.arange(1, state + 1, dtype=np.float32), (inner, 1)))
        w.add_tensor(b + "ssm_d", ones(inner))
        w.add_tensor(b + "ssm_out.weight", matrix(EMBD, inner))
    end(w)


def sizes_of(path):
    return {t.name: int(t.n_bytes) for t in gguf.GGUFReader(path).tensors}


# --- programs ---


def record(trace, program, *args):
    """Runs a program of the newest engine under trace, with statistics of what ops put out; what it prints."""
    libraries = ROOT / "usr/lib/x86_64-linux-gnu"
    has_avx2 = re.search(r"^flags.* avx2 ", Path("/proc/cpuinfo").read_text(), re.M)
    backend = libraries / "ggml/backends0" / f"libggml-cpu-{'haswell' if has_avx2 else 'x64'}.so"
    env = {**os.environ, "GGML_BACKEND_PATH": str(backend), "OMP_WAIT_POLICY": "passive"}
    words = [ROOT / "usr/lib64/ld-linux-x86-64.so.2", "--library-path", f"{libraries}:{libraries}/llama",
             ROOT / "usr/bin" / program, *args, "-t", "1", "--temp", "0", "-c", "256"]
    done = subprocess.run([TOOL, "run", "-q", "--force", "--values=stats", "-o", trace, "--", *map(str, words)], env=env, text=True,
                          errors="replace", capture_output=True, check=False, timeout=300, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"{program}: exit {done.returncode}: {done.stderr[-400:]}")
    return done.stdout + done.stderr


def tables(trace):
    shutil.rmtree("tables", ignore_errors=True)
    tool("export", "--format", "parquet", "-o", "tables", trace)
    return lambda sql: duckdb.sql(re.sub(r"@(\w+)", r"read_parquet('tables/\1/*/*.parquet')", sql)).fetchall()


def reads_of(query):
    """How many ops read each weight whole, by its name and file."""
    rows = query("SELECT s.name, s.model_file, count(*) FROM @sources s JOIN @ops o USING (op_id) "
                 "WHERE s.model_file IS NOT NULL AND o.op NOT LIKE '%GET_ROWS%' GROUP BY ALL")
    return {(name, file): n for name, file, n in rows}


# --- checks ---


def draft_and_target():
    """A row a weight and a model; what is read of each model is what its file says."""
    record("spec.ttrace", "llama-speculative-simple", "-m", "tiny.gguf", "-md", "draft.gguf", "-p", "Once upon a time",
           "-n", "12", "--spec-type", "draft-simple", "--spec-draft-n-max", "4")
    query = tables("spec.ttrace")
    sizes = {str(Path(f).resolve()): sizes_of(f) for f in ("tiny.gguf", "draft.gguf")}
    rows = {(r["tensor"], r["model_file"]): r for r in asked("stats", "--by", "tensor", "spec.ttrace")["rows"]}
    whole = reads_of(query)
    if len({name for name, _ in whole}) >= len(whole) or len({file for _, file in whole}) != 2:
        complain(f"the two models share no names: {len(whole)} weights")
    for (name, file), reads in whole.items():
        row = rows.get((name, file))
        if not row:
            complain(f"stats has no row of {name} of {file}")
            continue
        # The embedding's rows are picked; everything else is read whole by each op.
        if name != "token_embd.weight":
            equal(f"{name} of {Path(file).name}: bytes", reads * sizes[file][name], row["weight_bytes"])
            equal(f"{name} of {Path(file).name}: ops", reads, row["count"])
    heat = asked("heat", "--by", "tensor", "spec.ttrace")["rows"]
    equal("rows of heat", {(n, f) for f in sizes for n in sizes[f]}, {(r["tensor"], r["model_file"]) for r in heat})
    for row in heat:
        equal(f"size of {row['tensor']}", sizes[row["model_file"]][row["tensor"]], row["size_bytes"])
    by_model = {r["model_file"]: r["count"] for r in asked("stats", "--by", "model", "spec.ttrace")["rows"]}
    by_context = {r["context_id"]: r["count"] for r in asked("stats", "--by", "context", "spec.ttrace")["rows"]}
    equal("ops by model", dict(query("SELECT model_file, count(*) FROM @ops GROUP BY 1")), by_model)
    equal("ops by context", dict(query("SELECT context_id, count(*) FROM @ops GROUP BY 1")), by_context)
    equal("contexts", 2, len(by_context))
    layers = Counter()
    for row in asked("stats", "--by", "layer", "spec.ttrace")["rows"]:
        layers[row["model_file"]] += row["layer_id"] is not None
    equal("layers of each model", {f: gguf.GGUFReader(f).fields["llama.block_count"].contents() for f in sizes},
          dict(layers))
    # The filters: each row is what the filter leaves, in text and in numbers, wherever it is given.
    for file, count in by_model.items():
        for name in (file, Path(file).name, f"{Path(file).stem}.*"):
            total = asked("stats", "--model", name, "spec.ttrace")["total"]
            equal(f"ops of --model {name}", count, total["count"])
        log = tool("log", "--csv", "--columns", "node", "--model", Path(file).name, "spec.ttrace").splitlines()
        equal(f"log of {file}", count, len(log) - 1)
        equal(f"weights of heat --model {file}", set(sizes[file]),
              {r["tensor"] for r in asked("heat", "--by", "tensor", "--model", Path(file).name, "spec.ttrace")["rows"]})
    for context, count in by_context.items():
        equal(f"ops of --context {context}", count,
              asked("stats", "--context", context, "spec.ttrace")["total"]["count"])
    filtered_by_model(query, sizes)
    tool("stats", "--model", "none.gguf", "spec.ttrace", code=1)
    tool("stats", "--context", "9", "spec.ttrace", code=1)


def cache_bytes(file, cells):
    """Of keys and values in F16."""
    fields = gguf.GGUFReader(file).fields
    number = {k: fields[f"llama.{k}"].contents() for k in ("block_count", "embedding_length", "attention.head_count", "attention.head_count_kv")}
    head = number["embedding_length"] // number["attention.head_count"]
    return 2 * 2 * cells * number["block_count"] * head * number["attention.head_count_kv"]


def filtered_by_model(query, sizes):
    """--model and --context wherever ops, weights and buffers are listed; the two models have one context each."""
    contexts = dict(query("SELECT DISTINCT model_file, context_id FROM @ops WHERE model_file IS NOT NULL"))
    heat = {r["context_id"]: r for r in asked("heat", "--by", "context", "spec.ttrace")["rows"]}
    read = dict(query("SELECT context_id, sum(weight_bytes) FROM @ops GROUP BY 1"))
    equal("contexts of heat", set(contexts.values()), set(heat))
    for file, context in contexts.items():
        name = Path(file).name
        chosen = ("--model", name), ("--context", str(context))
        equal(f"heat of context {context}: read", read[context], heat[context]["read_bytes"])
        equal(f"heat of context {context}: size", sum(sizes[file].values()), heat[context]["size_bytes"])
        equal(f"heat of context {context}: model", file, heat[context]["model_file"])
        for option in chosen:
            graph = asked("graph", *option, "spec.ttrace")
            equal(f"graph {option}", (file, context), (graph["model_file"], graph["context_id"]))
            equal(f"weights of graph {option}", set(sizes[file]),
                  {n["name"] for n in graph["nodes"] if n.get("model_file")} & set(sizes[file]))
            buffers = asked("buffers", *option, "spec.ttrace")
            equal(f"cache of {option}", [cache_bytes(file, 256)], [c["size_bytes"] for c in buffers["kv_caches"]])
            equal(f"files of buffers {option}", {file}, {b["model_file"] for b in buffers["buffers"]})
            tool("export", "--format", "csv", "-o", "filtered", *option, "--force", "spec.ttrace")
            n = duckdb.sql("SELECT count(*) FROM read_csv('filtered/ops.csv')").fetchall()[0][0]
            equal(f"exported ops of {option}", dict(query("SELECT context_id, count(*) FROM @ops GROUP BY 1"))[context], n)
        equal(f"whatif of {name}", sum(sizes[file].values()), asked("whatif", "--ram", "1G", "--model", name, "spec.ttrace")["weights_size_bytes"])
        # A layer's mean over the batches that generate.
        mean = query(f"SELECT sum(duration_ns) / count(DISTINCT batch_id) FROM @ops WHERE layer_id = 0 AND phase = 'generate' AND context_id = {context}")[0][0]
        for option in chosen:
            why = asked("why", "--layer", "0", *option, "spec.ttrace")
            if abs(why["time_ns"] - mean) > 1e-3 * mean:
                complain(f"why --layer 0 {option}: {why['time_ns']}, not {mean}")
        mean = query(f"SELECT sum(duration_ns) / count(DISTINCT batch_id) FROM @ops WHERE name = 'ffn_out-0' AND phase = 'generate' AND context_id = {context}")[0][0]
        why = asked("why", "--op", "ffn_out-0", "--model", name, "spec.ttrace")
        if abs(why["time_ns"] - mean) > 1e-3 * mean:
            complain(f"why --op ffn_out-0 --model {name}: {why['time_ns']}, not {mean}")
    for asks in (("--layer", "0"), ("--layer", "none"), ("--op", "ffn_out-0")):
        tool("why", *asks, "spec.ttrace", code=2)
    outputs = {(m, i): n for m, i, n in query(
        "SELECT o.model_file, v.layer_id, count(*) FROM @values v JOIN @ops o USING (op_id) GROUP BY ALL")}
    rows = asked("values", "--by", "layer", "spec.ttrace")["rows"]
    equal("values by layer", outputs, {(r["model_file"], r["layer_id"]): r["outputs"] for r in rows})
    named = {(m, n): c for m, n, c in query(
        "SELECT o.model_file, v.name, count(*) FROM @values v JOIN @ops o USING (op_id) GROUP BY ALL")}
    rows = asked("values", "--by", "tensor", "spec.ttrace")["rows"]
    equal("values by tensor", named, {(r["model_file"], r["tensor"]): r["outputs"] for r in rows})
    by_layer = asked("report", "spec.ttrace")["time"]["by_layer"]
    equal("layers of the report", {(m, i) for m, i in outputs if i is not None},
          {(r["model_file"], r["layer_id"]) for r in by_layer if r["layer_id"] is not None})


def encoder_and_decoder():
    record("t5.ttrace", "llama-completion", "-m", "t5.gguf", "-p", "Once upon a time", "-n", "6", "-no-cnv")
    reader = gguf.GGUFReader("t5.gguf")
    query = tables("t5.ttrace")
    stacks = {(s, i) for s in ("enc", "dec") for i in range(reader.fields["t5.block_count"].contents())}
    rows = asked("stats", "--by", "layer", "t5.ttrace")["rows"]
    equal("layers", stacks, {(r["stack"], r["layer_id"]) for r in rows if r["layer_id"] is not None})
    read = {(s, i): n for s, i, n in query("SELECT stack, layer_id, sum(weight_bytes) FROM @ops GROUP BY ALL")}
    for row in rows:
        equal(f"bytes of {row['stack']} {row['layer_id']}", read[row["stack"], row["layer_id"]], row["weight_bytes"])
    # The stack of each weight is that of its name.
    for name, stack, layer in query("SELECT name, stack, layer_id FROM @tensors"):
        found = re.match(r"(enc|dec)\.blk\.(\d+)\.", name)
        equal(name, (found[1], int(found[2])) if found else (None, None), (stack, layer))
    text = tool("stats", "--by", "layer", "t5.ttrace")
    for stack, layer in stacks:
        if not re.search(rf"^{stack} {layer} ", text, re.M):
            complain(f"the text has no row {stack} {layer}")
        one = asked("stats", "--layer", f"{stack} {layer}", "t5.ttrace")["total"]["count"]
        equal(f"--layer {stack} {layer}", [r["count"] for r in rows if (r["stack"], r["layer_id"]) == (stack, layer)], [one])
    equal("--layer 0", sum(r["count"] for r in rows if r["layer_id"] == 0),
          asked("stats", "--layer", "0", "t5.ttrace")["total"]["count"])
    tool("why", "--layer", "0", "t5.ttrace", code=2)
    outputs = {(s, i): n for s, i, n in query("SELECT stack, layer_id, count(*) FROM @values GROUP BY ALL")}
    equal("values by layer", outputs, {(r["stack"], r["layer_id"]): r["outputs"] for r in asked("values", "--by", "layer", "t5.ttrace")["rows"]})
    named = {(s, n): c for s, n, c in query("SELECT stack, name, count(*) FROM @values GROUP BY ALL")}
    equal("values by tensor", named,
          {(r["stack"], r["tensor"]): r["outputs"] for r in asked("values", "--by", "tensor", "t5.ttrace")["rows"]})
    # Only the decoder has a cache; a ratio is to the layer before of the same stack.
    equal("stack of the cache", {"dec"}, {t["stack"] for c in asked("buffers", "t5.ttrace")["kv_caches"] for t in c["tensors"]})
    for row in asked("values", "--growth", "t5.ttrace")["rows"]:
        if row["layer_id"] == 0 and row["ratio"] is not None:
            complain(f"the first layer of {row['stack']} has a ratio")
    keys = {(r["stack"], r["layer_id"]): r.get("layer_key") for r in rows if r["layer_id"] is not None}
    equal("keys are told", len(keys), len(set(keys.values()) - {None}))
    for (stack, layer), key in keys.items():
        equal(f"--layer @{key}", [r["count"] for r in rows if (r["stack"], r["layer_id"]) == (stack, layer)],
              [asked("stats", "--layer", f"@{key}", "t5.ttrace")["total"]["count"]])
    tool("stats", "--layer", "v 0", "t5.ttrace", code=1)
    tool("stats", "--layer", "x 0", "t5.ttrace", code=2)
    for name, category in query("SELECT name, category FROM @tensors WHERE name LIKE '%cross_attn_%'"):
        equal(name, "norm" if "norm" in name else "attention", category)
    equal("other", 0, sum(r["count"] for r in asked("stats", "--by", "category", "t5.ttrace")["rows"]
                          if r["category"] == "other"))


def state_space():
    record("mamba.ttrace", "llama-completion", "-m", "mamba.gguf", "-p", "Once upon a time", "-n", "6", "-no-cnv")
    query = tables("mamba.ttrace")
    for name, category in query("SELECT name, category FROM @tensors WHERE name LIKE '%.ssm_%'"):
        equal(name, "ssm", category)
    rows = {r["category"]: r for r in asked("stats", "--by", "category", "mamba.ttrace")["rows"]}
    equal("other", None, rows.get("other"))
    sizes = sizes_of("mamba.gguf")
    equal("bytes of ssm", sum(n * sizes[name] for (name, _), n in reads_of(query).items() if ".ssm_" in name),
          rows["ssm"]["weight_bytes"])


def make_bert(path, tokenizer):
    """Computes embeddings, and no logits."""
    w = begin(path, "bert", tokenizer)
    w.add_feed_forward_length(FFN)
    w.add_head_count(HEADS)
    w.add_layer_norm_eps(1e-12)
    w.add_causal_attention(False)
    w.add_pooling_type(gguf.PoolingType.MEAN)
    w.add_token_type_count(2)
    w.add_tensor("position_embd.weight", matrix(512, EMBD).astype(np.float32))
    w.add_tensor("token_types.weight", matrix(2, EMBD).astype(np.float32))
    norms = ["token_embd_norm"] + [f"blk.{i}.{x}_output_norm" for i in range(LAYERS) for x in ("attn", "layer")]
    for norm in norms:
        w.add_tensor(norm + ".weight", ones(EMBD))
        w.add_tensor(norm + ".bias", 0 * ones(EMBD))
    for i in range(LAYERS):
        shapes = {x: (EMBD, EMBD) for x in ("attn_q", "attn_k", "attn_v", "attn_output")}
        shapes |= {"ffn_up": (FFN, EMBD), "ffn_down": (EMBD, FFN)}
        for name, shape in shapes.items():
            w.add_tensor(f"blk.{i}.{name}.weight", matrix(*shape))
            w.add_tensor(f"blk.{i}.{name}.bias", 0 * ones(shape[0]))
    end(w)


def embeddings():
    """A model without logits generates nothing: its prompt can be traced, and nothing is said of tokens that nobody got."""
    tool("run", "-q", "--force", "-o", "none.ttrace", "-m", "bert.gguf", "-p", "Once", "-n", "6", "-t", "1", code=2)
    tool("run", "-q", "--force", "-o", "bert.ttrace", "-m", "bert.gguf", "-p", "Once", "-n", "0", "-t", "1")
    info = asked("info", "bert.ttrace")
    equal("generated", 0, info["generate"]["n_tokens"])
    equal("first token", None, info["first_token"])
    equal("other", 0, sum(r["count"] for r in asked("stats", "--by", "category", "bert.ttrace")["rows"]
                          if r["category"] == "other"))


def main():
    if not (ROOT / "usr/bin/llama-speculative-simple").exists():
        print("skipped: the newest engine was not fetched (see engine.newest_engine)")
        sys.exit(77)
    os.chdir(WORK)
    tool("synth", "-o", "tiny.gguf", "--force")
    tool("synth", "--layers", "1", "-o", "draft.gguf", "--force")
    tokenizer = gguf.GGUFReader("tiny.gguf")
    make_t5("t5.gguf", tokenizer)
    make_mamba("mamba.gguf", tokenizer)
    draft_and_target()
    encoder_and_decoder()
    state_space()
    make_bert("bert.gguf", tokenizer)
    embeddings()
    complain.finish()


main()
