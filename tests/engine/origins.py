#!/usr/bin/env python3
"""Every operand of every op has its place, and weights theirs in the file.

Usage: origins.py TENSORTRACE TRACE HOW MODEL [LORA=FILE] [STEP=MODEL ...]

HOW: "mapped" (all weights used where the file is mapped), "copied" (none), "repacked"
(mapped, but some may be copies). MODEL: the model that is used; with STEP=MODEL (for
programs/models.c, 4 batches a step, see STEPS) the one of that step. LORA: an adapter,
always copied. Layouts come from `tensortrace gguf`; tests/oracle/check_origins.py calls
`check` with those of another program.
"""

import sys
from pathlib import Path

import traces

STEPS = ("a", "b", "a+lora", "a-lora", "b-alone", "a-again", "b-again")
BATCHES_A_STEP = 4


def root_name(source):
    return source.get("view_of", source["name"])


class Check:
    def __init__(self, complain, info, how, layouts, lora):
        """layouts: for a batch's number, {name: (file, offset, size)}; lora: the adapter's."""
        self.complain = complain
        self.how = how
        self.layouts = layouts
        self.lora = lora
        self.buffers = {b["buffer_id"]: b for b in info.get("buffer_list", [])}
        self.tokens = {b["batch_id"]: b.get("tokens") for b in info["batches"]}
        self.seen = {"file": 0, "buffer": 0, "adapter": 0, "rows": 0}

    def place(self, what, place):
        """The buffer of an operand, when it has one, holds it."""
        if place.get("origin") not in ("file", "buffer"):
            self.complain(f"{what}: origin {place.get('origin')}")
        if place.get("origin") == "buffer" and "buffer_id" not in place:
            self.complain(f"{what}: in a buffer, but in which?")
        if place.get("origin") == "buffer" and "buffer_offset_bytes" not in place:
            self.complain(f"{what}: where in the buffer?")

    def weight(self, what, source, wanted):
        file, offset, size = wanted
        at = source.get("file_offset_bytes")
        if "model_file" not in source or Path(source["model_file"]).name != file:
            self.complain(f"{what}: file {source.get('model_file')}, expected {file}")
        elif at is None:
            # Rows or experts that were not observed.
            if source["read_bytes"] >= size and not source.get("read_bytes_at_most"):
                self.complain(f"{what}: all of it was read, but where is not said")
        elif "view_of" in source:
            if at is None or not offset <= at <= offset + size - source["size_bytes"]:
                self.complain(f"{what}: view at {at}, expected in {offset}..{offset + size}")
        elif (at, source["size_bytes"]) != (offset, size):
            self.complain(f"{what}: at {at}, {source['size_bytes']} bytes, expected {offset}, {size}")

    def source(self, op, source):
        what = f"batch {op['batch_id']} node {op['node']} {op['op']} {op['name']}: source {source['name']}"
        self.place(what, source)
        name = root_name(source)
        layout = self.layouts(op["batch_id"])
        if name in self.lora:
            self.weight(what, source, self.lora[name])
            self.complain.expect(f"{what}: origin of an adapter's", "buffer", source["origin"])
            self.seen["adapter"] += 1
        elif name in layout:
            self.weight(what, source, layout[name])
            self.seen[source["origin"]] += 1
            if self.how != "repacked":
                self.complain.expect(f"{what}: origin", "file" if self.how == "mapped" else "buffer", source["origin"])
        elif "model_file" in source or source["origin"] == "file":
            self.complain(f"{what}: is no weight, but has a file")

    def rows(self, op):
        """The embedding's rows are the batch's tokens, and only they are read."""
        source = op["sources"][0]
        if op["op"] != "GET_ROWS" or root_name(source) != "token_embd.weight":
            return
        what = f"batch {op['batch_id']} GET_ROWS of the embedding"
        tokens = self.tokens.get(op["batch_id"])
        if tokens is None:
            self.complain(f"{what}: the batch has no tokens")
            return
        rows = source.get("rows")
        if rows is None:
            self.complain(f"{what}: the rows were not observed")
            return
        _, offset, size = self.layouts(op["batch_id"])["token_embd.weight"]
        row_bytes = size // self.n_vocab
        got = [row for r in rows for row in range(r["first"], r["first"] + r["count"])]
        self.complain.expect(f"{what}: rows", sorted(set(tokens)), got)
        for r in rows:
            self.complain.expect(f"{what}: row {r['first']}: bytes", (offset + r["first"] * row_bytes, r["count"] * row_bytes),
                                 (r["file_offset_bytes"], r["read_bytes"]))
        self.complain.expect(f"{what}: bytes read", len(set(tokens)) * row_bytes, source["read_bytes"])
        self.seen["rows"] += 1

    def op(self, op):
        for source in op["sources"]:
            self.source(op, source)
        what = f"batch {op['batch_id']} node {op['node']} {op['op']} {op['name']}: destination"
        if "destination" not in op:
            self.complain(f"{what}: not given")
        else:
            self.place(what, op["destination"])
            self.complain.expect(f"{what}: origin", "buffer", op["destination"].get("origin"))
        self.rows(op)


def check(binary, trace, how, models, lora=None, complain=None):
    """models: one layout, or one a step. Returns the numbers of what was compared."""
    complain = complain or traces.Problems(Path(trace).name)
    ops = traces.ops_of(binary, trace)
    info = traces.info_of(binary, trace)

    def layouts(batch):
        if batch is None:
            return {}
        step = min(batch // BATCHES_A_STEP, len(STEPS) - 1)
        return models[STEPS[step]] if STEPS[step] in models else models[""]

    c = Check(complain, info, how, layouts, lora or {})
    c.n_vocab = int(info["model_files"][0]["metadata"]["llama.vocab_size"])
    for op in ops:
        c.op(op)
    if not ops:
        complain("no ops")
    if c.seen["rows"] == 0:
        complain("no row gather of the embedding was seen")
    if lora and c.seen["adapter"] == 0:
        complain("no op with the adapter's matrices was seen")
    return c.seen


def main(words):
    binary, trace, how, model, *more = words
    complain = traces.Problems(Path(trace).name)
    models, lora = {"": traces.layout_of(binary, model)}, None
    for each in more:
        step, path = each.split("=", 1)
        if step == "LORA":
            lora = traces.layout_of(binary, path)
        elif step in STEPS:
            models[step] = traces.layout_of(binary, path)
        else:
            sys.exit(f"no step {step}")
    seen = check(binary, trace, how, models, lora, complain)
    complain.finish(" ".join(f"{name} {n}" for name, n in seen.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
