#include "model/load.h"

#include "base/checksum.h"
#include "gguf/layout.h"

#include <inttypes.h>

static uint64_t name_key(const char *name)
{
    return tt_checksum(name, strlen(name));
}

/* Weights of one name are chained from the first. */
static void index_weight(tt_loader *l, uint32_t at)
{
    tt_model *m = l->m;
    uint32_t was;
    if (!tt_idmap_add(&m->weight_by_name, name_key(m->weights[at].name), at, &was)) {
        l->no_memory = true;
        return;
    }
    if (was == TT_NONE) return;
    /* The newest goes second: the chain needs no walk. */
    m->weights[at].next_same_name = m->weights[was].next_same_name;
    m->weights[was].next_same_name = at;
}

static bool load_weight(tt_loader *l, uint32_t file, tt_cursor *c)
{
    tt_meta_weight w;
    tt_model *m = l->m;
    if (!tt_meta_get_weight(c, &w)) return false;
    if (!TT_GROW(l, m->weights, m->n_weights, l->capacity.weights)) return true;
    tt_text name = {.text = tt_loader_text(l, w.name)};
    tt_weight *to = &m->weights[m->n_weights];
    *to = (tt_weight){.name = name.text,
                      .type_name = tt_loader_string(l, w.type_name)->text,
                      .type = w.type,
                      .n_dims = w.n_dims,
                      .offset_bytes = w.offset_bytes,
                      .size_bytes = w.size_bytes,
                      .file = file,
                      .next_same_name = TT_NONE,
                      .place = tt_loader_place(l, &name)};
    memcpy(to->ne, w.ne, sizeof to->ne);
    index_weight(l, m->n_weights++);
    return true;
}

bool tt_load_model_file(tt_loader *l, tt_cursor *c)
{
    tt_meta_model f;
    tt_model *m = l->m;
    uint32_t n;
    if (!tt_meta_get_model(c, &f)) return false;
    if (!TT_GROW(l, m->files, m->n_files, l->capacity.files)) return true;
    tt_file_kv *kvs = tt_arena_take(&m->arena, f.n_kv, sizeof *kvs);
    if (!kvs) {
        l->no_memory = true;
        return true;
    }
    for (uint32_t i = 0; i < f.n_kv; i++) {
        tt_meta_kv kv;
        if (!tt_meta_get_kv(c, &kv)) return false;
        kvs[i] = (tt_file_kv){tt_loader_text(l, kv.key), tt_loader_text(l, kv.value), kv.type};
    }
    /* A weight takes six bytes at least. */
    if (!tt_meta_get_count(c, &n, 6)) return false;
    uint32_t first = m->n_weights, was, at = m->n_files;
    if (!tt_loader_id(l, "model file", f.id))
        was = TT_NONE; /* what it says of its weights stays */
    else if (!tt_idmap_add(&m->file_by_id, f.id, at, &was))
        l->no_memory = true;
    else if (was != TT_NONE)
        tt_loader_problem(l, "model file %" PRIu32 " is described twice", f.id);
    m->files[m->n_files++] = (tt_model_file){.id = f.id,
                                             .path = tt_loader_text(l, f.path),
                                             .size_bytes = f.size_bytes,
                                             .mtime_ns = f.mtime_ns,
                                             .device = f.device,
                                             .inode = f.inode,
                                             .head_hash = f.head_hash,
                                             .data_offset_bytes = f.data_offset_bytes,
                                             .kvs = kvs,
                                             .n_kvs = f.n_kv,
                                             .first_weight = first};
    /* The file is there before its weights: those in front of a malformed one name it too. */
    bool ok = true;
    for (uint32_t i = 0; i < n && ok && !l->no_memory; i++)
        ok = load_weight(l, at, c);
    m->files[at].n_weights = m->n_weights - first;
    return ok;
}

/* A reference of the format (index + 1, 0 for none) as an index. */
static uint32_t reference(tt_loader *l, const tt_graph *g, const char *name, uint32_t stored)
{
    if (stored == 0) return TT_NONE;
    if (stored <= g->n_tensors) return stored - 1;
    tt_loader_problem(l, "graph %" PRIu32 ": tensor %.64s refers to tensor %" PRIu32 " of %" PRIu32,
                      g->id, name, stored - 1, g->n_tensors);
    return TT_NONE;
}

static bool load_tensor(tt_loader *l, const tt_graph *g, tt_tensor *to, tt_cursor *c)
{
    tt_meta_tensor t;
    if (!tt_meta_get_tensor(c, &t)) return false;
    tt_text *name = tt_loader_string(l, t.name);
    to->name = name->text;
    to->op_name = tt_loader_string(l, t.op_name)->text;
    to->op_desc = tt_loader_string(l, t.op_desc)->text;
    to->type_name = tt_loader_string(l, t.type_name)->text;
    to->op = t.op;
    to->type = t.type;
    to->flags = t.flags;
    to->n_src = t.n_src;
    for (uint32_t i = 0; i < t.n_src; i++)
        to->src[i] = reference(l, g, name->text, t.src[i]);
    to->view_src = reference(l, g, name->text, t.view_src);
    to->view_offset_bytes = t.view_offset_bytes;
    memcpy(to->ne, t.ne, sizeof to->ne);
    memcpy(to->nb, t.nb, sizeof to->nb);
    to->size_bytes = t.size_bytes;
    to->buffer = t.buffer ? tt_idmap_get(&l->m->buffer_by_id, t.buffer) : TT_NONE;
    to->location = t.location;
    if (t.buffer && to->buffer == TT_NONE)
        tt_loader_problem(
            l, "graph %" PRIu32 ": tensor %.64s lies in buffer %" PRIu64 ", which is not there",
            g->id, name->text, t.buffer);
    to->backend = "";
    to->root = TT_NONE;
    to->weight = TT_NONE;
    to->place = tt_loader_place(l, name);
    return true;
}

/* The backends of the nodes, as stretches. Traces before 0.1.0 end before them. */
static bool load_backends(tt_loader *l, tt_graph *g, tt_cursor *c)
{
    uint32_t n, at = 0;
    if (tt_cursor_left(c) == 0) return !c->failed;
    if (!tt_meta_get_count(c, &n, 2)) return false;
    for (uint32_t i = 0; i < n; i++) {
        const char *name = tt_loader_string(l, tt_cursor_varint32(c))->text;
        uint32_t count = tt_cursor_varint32(c);
        if (count > g->n_nodes - at) {
            tt_loader_problem(l, "graph %" PRIu32 ": more backends than nodes", g->id);
            return !c->failed;
        }
        for (uint32_t end = at + count; at < end; at++)
            g->tensors[at].backend = name;
    }
    return !c->failed;
}

/* What the program said of its nodes; only programs that record themselves do. */
static bool load_stages(tt_loader *l, tt_graph *g, tt_cursor *c)
{
    uint32_t n;
    if (tt_cursor_left(c) == 0) return !c->failed;
    if (!tt_meta_get_count(c, &n, 3)) return false;
    for (uint32_t i = 0; i < n; i++) {
        tt_meta_stage s;
        if (!tt_meta_get_stage(c, &s)) return false;
        if (s.node >= g->n_nodes) {
            tt_loader_problem(l, "graph %" PRIu32 ": a stage of node %" PRIu32 " of %" PRIu32,
                              g->id, s.node, g->n_nodes);
            continue;
        }
        g->tensors[s.node].stage = tt_loader_string(l, s.stage)->text;
        g->tensors[s.node].stage_layer = s.layer;
    }
    return true;
}

bool tt_load_graph(tt_loader *l, tt_cursor *c)
{
    tt_meta_graph head;
    tt_model *m = l->m;
    uint32_t was;
    if (!tt_meta_get_graph(c, &head)) return false;
    if (!TT_GROW(l, m->graphs, m->n_graphs, l->capacity.graphs)) return true;
    tt_graph g = {.id = head.id,
                  .n_nodes = head.n_nodes,
                  .n_tensors = head.n_tensors,
                  .chunk_offset_bytes = l->chunk_offset};
    g.tensors = tt_arena_take(&m->arena, g.n_tensors, sizeof *g.tensors);
    if (!g.tensors) {
        l->no_memory = true;
        return true;
    }
    for (uint32_t i = 0; i < g.n_tensors; i++) {
        if (!load_tensor(l, &g, &g.tensors[i], c)) return false;
        if (i < g.n_nodes && g.tensors[i].flags & TT_TENSOR_EXECUTES) g.n_executed++;
    }
    if (!load_backends(l, &g, c) || !load_stages(l, &g, c)) return false;
    if (!tt_loader_id(l, "graph", g.id)) return true;
    if (!tt_idmap_add(&m->graph_by_id, g.id, m->n_graphs, &was)) l->no_memory = true;
    if (was != TT_NONE)
        tt_loader_problem(l, "graph %" PRIu32 " is defined twice", g.id);
    else
        m->graphs[m->n_graphs++] = g;
    return true;
}
