#include "synth_trace.h"

#include "format/meta.h"
#include "format/page_faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#define STRINGS_MAX(layers) (4096u + 40u * (layers))
#define TENSORS_MAX(layers) (4096u + 64u * (layers))
#define WEIGHTS_MAX(layers) (16u + 8u * (layers))
#define LEAFS_MAX(layers) (64u + 16u * (layers))
#define TYPE_F32 0u
#define TYPE_Q8_0 8u
#define MAP_BASE 0x7f0000000000u
#define SYNTH_CELLS 256u
#define DATA_OFFSET 4096u
#define FIRST_TICK 1000000000u
#define FIRST_MONO_NS 500000000u
#define PATH "/models/synth.gguf"

enum { BUFFER_MAP = 1, BUFFER_REPACK, BUFFER_KV, BUFFER_COMPUTE };

typedef struct synth_weight {
    char name[64];
    uint32_t ne[3];
    uint32_t type;
    uint64_t offset, size;
    bool repacked;
} synth_weight;

typedef struct maker {
    synth_plan *plan;
    tt_bytes *out;
    tt_bytes meta; /* records not yet written as a chunk */
    uint32_t meta_count;
    uint64_t meta_position;
    tt_bytes scratch; /* one record */
    char (*strings)[64];
    uint32_t n_strings;
    synth_weight *weights;
    uint32_t n_weights;
    uint64_t file_size;
    tt_meta_tensor *tensors; /* of the graph being made */
    uint32_t n_tensors, n_nodes;
    synth_ring rings[SYNTH_RINGS_MAX];
    uint64_t ring_position[SYNTH_RINGS_MAX];
    tt_index_entry *index;
    size_t n_index;
    uint64_t random, seed;
    uint64_t tick;
    uint64_t total_tokens, ops;
    /* Of a plan with `memory`: */
    uint64_t memory_random;
    uint64_t details, residencies;
    uint64_t detail_position[SYNTH_RINGS_MAX];
    uint64_t minor, major, cpu_ns, read_bytes; /* of all details so far, and a little more */
    bool *has_text;                            /* by token */
    /* Of a plan with `page_faults`: */
    uint64_t fault_random, fault_ticks, faults, faults_lost;
} maker;

static uint32_t random_below(maker *k, uint32_t n)
{
    k->random = k->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(k->random >> 33) % n;
}

static tt_span span(const char *s)
{
    return (tt_span){(const uint8_t *)s, strlen(s)};
}

static void put_record(maker *k, uint8_t type)
{
    if (k->scratch.failed) abort(); /* larger than a record may be: the plan is to blame */
    if (k->plan->stream)
        k->plan->stream->meta(k->plan->stream->context, type, &k->scratch);
    else
        tt_meta_put_record(&k->meta, type, &k->scratch);
    tt_bytes_clear(&k->scratch);
    k->meta_count++;
}

static uint32_t string_id(maker *k, const char *text)
{
    if (!*text) return 0;
    for (uint32_t i = 1; i < k->n_strings; i++)
        if (strcmp(k->strings[i], text) == 0) return i;
    uint32_t id = k->n_strings++;
    (void)snprintf(k->strings[id], sizeof k->strings[id], "%s", text);
    tt_bytes record = k->scratch; /* the record under way, put aside */
    tt_bytes_init(&k->scratch, 1 << 20);
    tt_meta_put_string(&k->scratch, &(tt_meta_string){id, span(text)});
    put_record(k, TT_META_STRING);
    tt_bytes_free(&k->scratch);
    k->scratch = record;
    return id;
}

/* --- chunks --- */

static void put_chunk(maker *k, tt_chunk_header h, const tt_bytes *raw, tt_index_entry entry)
{
    uint8_t head[TT_CHUNK_HEADER_BYTES];
    tt_bytes packed;
    tt_bytes_init(&packed, TT_CHUNK_PAYLOAD_MAX);
    h.codec = k->plan->codec;
    h.raw_bytes = (uint32_t)raw->size;
    if (h.codec == TT_CODEC_ZSTD && tt_bytes_reserve(&packed, ZSTD_compressBound(raw->size)))
        packed.size = ZSTD_compress(packed.data, packed.capacity, raw->data, raw->size, 3);
    else
        tt_bytes_put(&packed, raw->data, raw->size);
    h.stored_bytes = (uint32_t)packed.size;
    tt_chunk_header_encode(&h, k->seed, packed.data, head);
    entry.offset = k->out->size;
    entry.type = h.type;
    entry.stream = h.stream;
    entry.position = h.position;
    entry.count = h.count;
    if (h.type != TT_CHUNK_INDEX) k->index[k->n_index++] = entry;
    tt_bytes_put(k->out, head, sizeof head);
    tt_bytes_put(k->out, packed.data, packed.size);
    static const uint8_t zeros[8];
    tt_bytes_put(k->out, zeros, tt_pad8(packed.size) - packed.size);
    tt_bytes_free(&packed);
}

static void flush_meta(maker *k)
{
    if (k->meta_count == 0 || k->plan->stream) return;
    tt_chunk_header h = {
        .type = TT_CHUNK_META, .count = k->meta_count, .position = k->meta_position};
    tt_index_entry e = {0};
    if (k->plan->described)
        tt_meta_describe((tt_span){k->meta.data, k->meta.size}, &e.meta, &k->meta_count);
    put_chunk(k, h, &k->meta, e);
    k->meta_position += k->meta.size;
    k->meta_count = 0;
    tt_bytes_clear(&k->meta);
}

static void flush_ring(maker *k, uint32_t ring, bool all)
{
    synth_ring *r = &k->rings[ring];
    size_t done = 0;
    while (r->n - done >= k->plan->chunk_records || (all && r->n > done)) {
        size_t n = r->n - done < k->plan->chunk_records ? r->n - done : k->plan->chunk_records;
        tt_bytes raw;
        tt_bytes_init(&raw, TT_CHUNK_PAYLOAD_MAX);
        tt_ops_encode(&raw, r->records + done, n, k->plan->tick_shift);
        tt_index_entry e = {.run_min = UINT64_MAX};
        for (size_t i = 0; i < n; i++) {
            uint32_t run = r->records[done + i].run;
            if (run < e.run_min) e.run_min = run;
            if (run > e.run_max) e.run_max = run;
        }
        tt_chunk_header h = {.type = TT_CHUNK_OPS,
                             .stream = ring + 1,
                             .count = (uint32_t)n,
                             .position = k->ring_position[ring]};
        put_chunk(k, h, &raw, e);
        k->ring_position[ring] += n;
        tt_bytes_free(&raw);
        done += n;
    }
    memmove(r->records, r->records + done, (r->n - done) * sizeof *r->records);
    r->n -= done;
}

#include "synth_memory.c"

#include "synth_faults.c"

/* --- the model --- */

static void add_weight(maker *k, const char *name, uint32_t a, uint32_t b, uint32_t c,
                       uint32_t type)
{
    synth_weight *w = &k->weights[k->n_weights++];
    (void)snprintf(w->name, sizeof w->name, "%s", name);
    w->ne[0] = a;
    w->ne[1] = b;
    w->ne[2] = c;
    w->type = type;
    w->size = type == TYPE_F32 ? 4ull * a * b * c : 34ull * a / 32 * b * c;
    w->offset = k->file_size;
    w->repacked = strstr(name, "ffn_down") != NULL;
    k->file_size += (w->size + 31) / 32 * 32;
}

static void add_layer_weight(maker *k, uint32_t layer, const char *what, uint32_t a, uint32_t b,
                             uint32_t c, uint32_t type)
{
    char name[64];
    (void)snprintf(name, sizeof name, "blk.%u.%s.weight", layer, what);
    add_weight(k, name, a, b, c, type);
}

static void make_weights(maker *k)
{
    const uint32_t w = k->plan->width, f = k->plan->ffn, e = k->plan->experts;
    k->file_size = DATA_OFFSET;
    add_weight(k, "token_embd.weight", w, k->plan->vocab, 1, TYPE_Q8_0);
    add_weight(k, "output_norm.weight", w, 1, 1, TYPE_F32);
    add_weight(k, "output.weight", w, k->plan->vocab, 1, TYPE_Q8_0);
    for (uint32_t l = 0; l < k->plan->layers; l++) {
        add_layer_weight(k, l, "attn_norm", w, 1, 1, TYPE_F32);
        add_layer_weight(k, l, "attn_q", w, w, 1, TYPE_Q8_0);
        add_layer_weight(k, l, "attn_k", w, w, 1, TYPE_Q8_0);
        add_layer_weight(k, l, "attn_v", w, w, 1, TYPE_Q8_0);
        add_layer_weight(k, l, "attn_output", w, w, 1, TYPE_Q8_0);
        add_layer_weight(k, l, "ffn_norm", w, 1, 1, TYPE_F32);
        add_layer_weight(k, l, e ? "ffn_up_exps" : "ffn_up", w, f, e ? e : 1, TYPE_Q8_0);
        add_layer_weight(k, l, e ? "ffn_down_exps" : "ffn_down", f, w, e ? e : 1, TYPE_Q8_0);
    }
}

static void put_model(maker *k)
{
    static const char *const kvs[][2] = {{"general.architecture", "llama"},
                                         {"general.name", "synth"},
                                         {"tokenizer.ggml.tokens", "[str x 128]"}};
    uint32_t q8 = string_id(k, "q8_0"), f32 = string_id(k, "f32");
    tt_meta_model m = {.id = 1,
                       .path = span(PATH),
                       .size_bytes = k->file_size,
                       .mtime_ns = 1700000000000000000u,
                       .device = SYNTH_DEVICE,
                       .inode = 77,
                       .head_hash = 0x1234,
                       .data_offset_bytes = DATA_OFFSET,
                       .n_kv = 3};
    tt_meta_put_model(&k->scratch, &m);
    for (int i = 0; i < 3; i++) {
        tt_meta_kv kv = {span(kvs[i][0]), i == 2 ? 9 : 8, span(kvs[i][1])};
        tt_meta_put_kv(&k->scratch, &kv);
    }
    tt_bytes_varint(&k->scratch, k->n_weights);
    for (uint32_t i = 0; i < k->n_weights; i++) {
        const synth_weight *s = &k->weights[i];
        tt_meta_weight w = {.name = span(s->name),
                            .type = s->type,
                            .type_name = s->type == TYPE_F32 ? f32 : q8,
                            .n_dims = s->ne[2] > 1   ? 3
                                      : s->ne[1] > 1 ? 2
                                                     : 1,
                            .ne = {s->ne[0], s->ne[1], s->ne[2], 1},
                            .offset_bytes = s->offset,
                            .size_bytes = s->size};
        if (i == 4) {
            w.size_bytes += k->plan->weight_size_delta;
            w.offset_bytes += k->plan->weight_offset_delta;
        }
        tt_meta_put_weight(&k->scratch, &w);
    }
    put_record(k, TT_META_MODEL);
}

static void put_buffers(maker *k)
{
    uint32_t names[] = {string_id(k, "CPU_Mapped"), string_id(k, "CPU_REPACK"), string_id(k, "CPU"),
                        string_id(k, "CPU compute")};
    uint32_t path = string_id(k, PATH);
    uint32_t allocator = k->plan->memory ? string_id(k, "libllama.so") : 0;
    for (uint32_t i = 0; i < 4; i++) {
        tt_meta_buffer b = {.id = i + 1,
                            .ticks = FIRST_TICK - 1000 + i,
                            .name = names[i],
                            .usage = i < 2    ? 1
                                     : i == 3 ? 2
                                              : 0,
                            .flags = TT_BUFFER_HOST | TT_BUFFER_ALLOC_SEEN,
                            .base = MAP_BASE + i * (1ull << 32),
                            .size_bytes = k->file_size + (1 << 20),
                            .model = k->plan->memory ? 1 : 0,
                            .allocator = allocator};
        if (i == 0) {
            b.flags = TT_BUFFER_HOST | TT_BUFFER_FILE;
            b.path = path;
            b.file_offset_bytes = DATA_OFFSET;
            b.size_bytes = k->file_size - DATA_OFFSET;
        }
        tt_meta_put_buffer(&k->scratch, &b);
        put_record(k, TT_META_BUFFER);
    }
    if (k->plan->memory) synth_put_strange_buffer(k);
}

/* --- graphs --- */

static tt_meta_tensor *new_tensor(maker *k, const char *name, const char *op, uint32_t ne0,
                                  uint32_t ne1)
{
    tt_meta_tensor *t = &k->tensors[k->n_tensors++];
    memset(t, 0, sizeof *t);
    t->name = string_id(k, name);
    t->op_name = t->op_desc = string_id(k, op);
    t->type_name = string_id(k, "f32");
    t->op = (uint32_t)strlen(op); /* any number: readers go by the name */
    t->ne[0] = ne0;
    t->ne[1] = ne1;
    t->ne[2] = t->ne[3] = 1;
    t->nb[0] = 4;
    t->nb[1] = 4ull * ne0;
    t->nb[2] = t->nb[3] = t->nb[1] * ne1;
    t->size_bytes = t->nb[2];
    t->buffer = BUFFER_COMPUTE;
    t->location = 4096ull * k->n_tensors % (1 << 20);
    return t;
}

/* Leafs are numbered behind the nodes; while the graph is made they are kept as
 * 1,000,000 + their number, and put right at the end. */
#define LEAF 1000000u

typedef struct graph_maker {
    maker *k;
    tt_meta_tensor *leafs;
    uint32_t n_leafs;
    uint32_t tokens;
    uint32_t cells; /* with `memory`: the leaf that says where keys go */
} graph_maker;

static uint32_t weight_leaf(graph_maker *g, uint32_t layer, const char *what)
{
    char name[64];
    maker *k = g->k;
    if (layer == UINT32_MAX)
        (void)snprintf(name, sizeof name, "%s.weight", what);
    else
        (void)snprintf(name, sizeof name, "blk.%u.%s.weight", layer, what);
    for (uint32_t i = 0; i < k->n_weights; i++) {
        const synth_weight *w = &k->weights[i];
        if (strcmp(w->name, name) != 0) continue;
        uint32_t at = k->n_tensors;
        tt_meta_tensor t = *new_tensor(k, name, "NONE", w->ne[0], w->ne[1]);
        k->n_tensors = at;
        t.type = w->type;
        t.type_name = string_id(k, w->type == TYPE_F32 ? "f32" : "q8_0");
        t.ne[2] = w->ne[2];
        t.nb[1] = w->size / w->ne[1] / w->ne[2];
        t.nb[2] = w->size / w->ne[2];
        t.nb[3] = t.size_bytes = w->size;
        t.buffer = w->repacked ? BUFFER_REPACK : BUFFER_MAP;
        t.location = w->offset - DATA_OFFSET;
        g->leafs[g->n_leafs] = t;
        return LEAF + g->n_leafs++;
    }
    abort();
}

static uint32_t plain_leaf(graph_maker *g, const char *name, uint32_t ne0, uint32_t ne1,
                           uint32_t buffer, uint32_t flags)
{
    uint32_t at = g->k->n_tensors;
    tt_meta_tensor t = *new_tensor(g->k, name, "NONE", ne0, ne1);
    g->k->n_tensors = at;
    t.buffer = buffer;
    t.flags = flags;
    g->leafs[g->n_leafs] = t;
    return LEAF + g->n_leafs++;
}

static void make_integers(maker *k, tt_meta_tensor *t, uint32_t type)
{
    uint64_t bytes = type == SYNTH_I64 ? 8 : 4;
    t->type = type;
    t->type_name = string_id(k, type == SYNTH_I64 ? "i64" : "i32");
    t->nb[0] = bytes;
    t->nb[1] = bytes * t->ne[0];
    t->nb[2] = t->nb[3] = t->size_bytes = t->nb[1] * t->ne[1];
}

static uint32_t node(graph_maker *g, const char *op, const char *base, uint32_t layer, uint32_t ne0,
                     uint32_t a, uint32_t b)
{
    char name[64];
    if (layer == UINT32_MAX)
        (void)snprintf(name, sizeof name, "%s", base);
    else
        (void)snprintf(name, sizeof name, "%s-%u", base, layer);
    tt_meta_tensor *t = new_tensor(g->k, name, op, ne0, g->tokens);
    t->flags = TT_TENSOR_EXECUTES;
    if (a != UINT32_MAX) t->src[t->n_src++] = a + 1;
    if (b != UINT32_MAX) t->src[t->n_src++] = b + 1;
    return g->k->n_tensors - 1;
}

#define NONE UINT32_MAX

static uint32_t view(graph_maker *g, const char *op, uint32_t of, const char *suffix)
{
    maker *k = g->k;
    char name[64];
    tt_meta_tensor *from = of >= LEAF ? &g->leafs[of - LEAF] : &k->tensors[of];
    (void)snprintf(name, sizeof name, "%.40s (%s)", k->strings[from->name], suffix);
    tt_meta_tensor copy = *from;
    tt_meta_tensor *t = new_tensor(k, name, op, (uint32_t)copy.ne[0], (uint32_t)copy.ne[1]);
    t->buffer = copy.buffer;
    t->location = copy.location;
    t->src[t->n_src++] = of + 1;
    t->view_src = of + 1;
    t->view_offset_bytes = 0;
    return k->n_tensors - 1;
}

static uint32_t norm(graph_maker *g, const char *base, uint32_t layer, const char *weight,
                     uint32_t x)
{
    uint32_t n = node(g, "RMS_NORM", "norm", layer, g->k->plan->width, x, NONE);
    return node(g, "MUL", base, layer, g->k->plan->width, n, weight_leaf(g, layer, weight));
}

/* SET_ROWS writes into what it names as a view. */
static void write_through(maker *k, uint32_t set, uint32_t cache)
{
    tt_meta_tensor *t = &k->tensors[set];
    const tt_meta_tensor *to = &k->tensors[cache];
    t->view_src = to->view_src;
    t->buffer = to->buffer;
    t->location = to->location;
    memcpy(t->ne, to->ne, sizeof t->ne);
    memcpy(t->nb, to->nb, sizeof t->nb);
    t->size_bytes = to->size_bytes;
}

static uint32_t make_attention(graph_maker *g, uint32_t l, uint32_t x)
{
    const uint32_t w = g->k->plan->width;
    uint32_t q = node(g, "MUL_MAT", "Qcur", l, w, weight_leaf(g, l, "attn_q"), x);
    uint32_t qr = view(g, "RESHAPE", q, "reshaped");
    uint32_t rope = node(g, "ROPE", "Qcur", l, w, qr, NONE);
    uint32_t key = node(g, "MUL_MAT", "Kcur", l, w, weight_leaf(g, l, "attn_k"), x);
    uint32_t v = node(g, "MUL_MAT", "Vcur", l, w, weight_leaf(g, l, "attn_v"), x);
    char name[64];
    (void)snprintf(name, sizeof name, "cache_k_l%u", l);
    uint32_t cache = plain_leaf(g, name, w, SYNTH_CELLS, BUFFER_KV, 0);
    uint32_t cv = view(g, "VIEW", cache, "view");
    uint32_t set =
        node(g, "SET_ROWS", "node_17", UINT32_MAX, w, key, g->k->plan->memory ? g->cells : cv);
    if (g->k->plan->memory) write_through(g->k, set, cv);
    uint32_t kq = node(g, "MUL_MAT", "kq", l, SYNTH_CELLS, cv, rope);
    uint32_t soft = node(g, "SOFT_MAX", "kq_soft_max", l, SYNTH_CELLS, kq, NONE);
    uint32_t kqv = node(g, "MUL_MAT", "kqv", l, w, v, soft);
    return node(g, "MUL_MAT", "kqv_out", l, w, weight_leaf(g, l, "attn_output"), kqv);
}

static uint32_t make_ffn(graph_maker *g, uint32_t l, uint32_t x)
{
    if (!g->k->plan->experts) {
        uint32_t up =
            node(g, "MUL_MAT", "ffn_up", l, g->k->plan->ffn, weight_leaf(g, l, "ffn_up"), x);
        uint32_t act = node(g, "UNARY", "ffn_silu", l, g->k->plan->ffn, up, NONE);
        g->k->tensors[act].op_desc = string_id(g->k, "SILU");
        return node(g, "MUL_MAT", "ffn_out", l, g->k->plan->width, weight_leaf(g, l, "ffn_down"),
                    act);
    }
    uint32_t ids = node(g, "ARGSORT", "ffn_moe_topk", l, g->k->plan->experts_used, x, NONE);
    make_integers(g->k, &g->k->tensors[ids], SYNTH_I32);
    uint32_t up = node(g, "MUL_MAT_ID", "ffn_moe_up", l, g->k->plan->ffn,
                       weight_leaf(g, l, "ffn_up_exps"), x);
    g->k->tensors[up].src[g->k->tensors[up].n_src++] = ids + 1;
    uint32_t down = node(g, "MUL_MAT_ID", "ffn_moe_down", l, g->k->plan->width,
                         weight_leaf(g, l, "ffn_down_exps"), up);
    g->k->tensors[down].src[g->k->tensors[down].n_src++] = ids + 1;
    return down;
}

static void put_graph(maker *k, uint32_t id, uint32_t tokens)
{
    graph_maker g = {.k = k, .tokens = tokens};
    g.leafs = calloc(LEAFS_MAX(k->plan->layers), sizeof *g.leafs);
    if (!g.leafs) abort();
    k->n_tensors = 0;
    uint32_t inp = plain_leaf(&g, "inp_tokens", tokens, 1, BUFFER_COMPUTE, TT_TENSOR_INPUT);
    make_integers(k, &g.leafs[inp - LEAF], SYNTH_I32);
    if (k->plan->memory) {
        g.cells = plain_leaf(&g, "k_cells", tokens, 1, BUFFER_COMPUTE, TT_TENSOR_INPUT);
        make_integers(k, &g.leafs[g.cells - LEAF], SYNTH_I64);
    }
    uint32_t x = node(&g, "GET_ROWS", "inp_embd", NONE, k->plan->width,
                      weight_leaf(&g, NONE, "token_embd"), inp);
    for (uint32_t l = 0; l < k->plan->layers; l++) {
        uint32_t a = make_attention(&g, l, norm(&g, "attn_norm", l, "attn_norm", x));
        uint32_t mid = node(&g, "ADD", "ffn_inp", l, k->plan->width, a, x);
        uint32_t f = make_ffn(&g, l, norm(&g, "ffn_norm", l, "ffn_norm", mid));
        x = node(&g, "ADD", "l_out", l, k->plan->width, f, mid);
    }
    x = norm(&g, "result_norm", NONE, "output_norm", x);
    x = node(&g, "MUL_MAT", "result_output", NONE, k->plan->vocab, weight_leaf(&g, NONE, "output"),
             x);
    k->tensors[x].flags |= TT_TENSOR_OUTPUT;
    k->n_nodes = k->n_tensors;
    tt_meta_graph head = {id, k->n_nodes, k->n_nodes + g.n_leafs};
    for (uint32_t i = 0; i < g.n_leafs; i++)
        k->tensors[k->n_tensors++] = g.leafs[i];
    free(g.leafs);
    tt_meta_put_graph(&k->scratch, &head);
    for (uint32_t i = 0; i < k->n_tensors; i++) {
        tt_meta_tensor *t = &k->tensors[i];
        for (uint32_t s = 0; s < t->n_src; s++)
            if (t->src[s] > LEAF) t->src[s] = t->src[s] - LEAF + k->n_nodes;
        if (t->view_src > LEAF) t->view_src = t->view_src - LEAF + k->n_nodes;
        if (k->plan->bad_source && id == 1 && i == 2) t->src[0] = k->n_tensors + 5;
        tt_meta_put_tensor(&k->scratch, t);
    }
    if (k->plan->memory)
        synth_put_backends(k, id);
    else
        tt_bytes_varint(&k->scratch, 0);
    put_record(k, TT_META_GRAPH);
}

/* --- what ran --- */

static bool executes(const maker *k, uint32_t i)
{
    return i < k->n_nodes && k->tensors[i].flags & TT_TENSOR_EXECUTES;
}

static void put_op(maker *k, uint32_t ring, tt_op_record r)
{
    synth_ring *to = &k->rings[ring];
    k->ops++;
    if (k->plan->stream) {
        k->plan->stream->op(k->plan->stream->context, ring, &r);
        return;
    }
    if (to->n == to->capacity) {
        to->capacity = to->capacity ? to->capacity * 2 : 1024;
        to->records = reallocarray(to->records, to->capacity, sizeof *to->records);
        if (!to->records) abort();
    }
    to->records[to->n++] = r;
}

static uint64_t busy_ticks(maker *k, uint32_t node)
{
    const synth_stream *s = k->plan->stream;
    return s ? s->busy_ticks(s->context, k->tensors, node, k->strings[k->tensors[node].op_name])
             : 200 + random_below(k, 3000);
}

/* One run over the graph in k->tensors. The norms are fused with the MUL behind them. */
static void run_graph(maker *k, uint32_t run, bool open)
{
    uint32_t rms = string_id(k, "RMS_NORM");
    uint32_t executed = 0;
    for (uint32_t i = 0; i < k->n_nodes; i++) {
        if (!executes(k, i)) continue;
        uint32_t covers = k->tensors[i].op_name == rms;
        bool last = open && executed > k->n_nodes / 2;
        uint64_t begin = k->tick, release = 0;
        uint64_t arrive[SYNTH_RINGS_MAX], busy[SYNTH_RINGS_MAX];
        for (uint32_t lane = 0; lane < k->plan->lanes; lane++) {
            arrive[lane] = begin + 20 * lane + busy_ticks(k, i);
            if (arrive[lane] > release) release = arrive[lane];
            busy[lane] = arrive[lane] - begin - 20 * lane;
        }
        for (uint32_t lane = 0; lane < k->plan->lanes; lane++) {
            tt_op_record r = {begin + 20 * lane, arrive[lane], release + 30 * lane, run,
                              tt_op_place(i, lane, covers)};
            if (last) r.arrive = r.release = 0;
            put_op(k, lane, r);
        }
        if (k->plan->memory && !last) synth_put_details(k, run, i, busy);
        k->tick = release + 30 * k->plan->lanes + random_below(k, 100);
        executed += 1 + covers;
        i += covers;
        if (last) return;
    }
    k->plan->n_executed = executed;
}

static void put_clock(maker *k)
{
    tt_meta_clock c = {k->tick, FIRST_MONO_NS + (k->tick - FIRST_TICK) / SYNTH_TICKS_PER_NS,
                       1700000000000000000u + k->tick};
    tt_meta_put_clock(&k->scratch, &c);
    put_record(k, TT_META_CLOCK);
}

#define SYNTH_BATCH_MAX 256u

typedef struct batch_tokens {
    int32_t ids[SYNTH_BATCH_MAX], positions[SYNTH_BATCH_MAX];
    uint32_t first_sequence[SYNTH_BATCH_MAX + 1];
    int32_t sequences[SYNTH_BATCH_MAX + 1]; /* the first token is of two */
} batch_tokens;

static void put_batch(maker *k, uint32_t id, uint32_t n_tokens, uint32_t position, batch_tokens *t)
{
    memset(t, 0, sizeof *t);
    for (uint32_t i = 0; i < n_tokens; i++) {
        t->ids[i] = (int32_t)random_below(k, k->plan->vocab);
        t->positions[i] = (int32_t)(position + i);
        t->first_sequence[i + 1] = i + 2;
    }
    if (n_tokens > 0) t->sequences[1] = 1;
    if (id == 2) t->ids[0] += k->plan->token_delta;
    const tt_batch_sequences sequences = {t->first_sequence, t->sequences};
    if (k->plan->memory) synth_put_token_texts(k, t->ids, n_tokens);
    tt_meta_batch b = {.id = id,
                       .context = 1,
                       .ticks = k->tick,
                       .thread = 100,
                       .n_tokens = n_tokens,
                       .n_outputs_plus_1 = 2,
                       .phase = n_tokens > 1 ? TT_PHASE_PROMPT : TT_PHASE_GENERATE,
                       .flags = TT_BATCH_TOKENS | TT_BATCH_POSITIONS};
    if (k->plan->memory) {
        b.flags |= TT_BATCH_SEQUENCES;
        b.vocabulary = SYNTH_VOCABULARY;
    }
    tt_meta_put_batch(&k->scratch, &b, t->ids, t->positions, &sequences);
    put_record(k, TT_META_BATCH);
    k->total_tokens += n_tokens;
}

static void decode(maker *k, uint32_t id, uint32_t n_tokens, uint32_t position, bool open)
{
    if (k->plan->late_token && id == k->plan->late_token + 1) k->tick += k->plan->late_ticks;
    uint64_t begin = k->tick;
    batch_tokens tokens;
    k->tick += 50;
    put_batch(k, id, n_tokens, position, &tokens);
    if (k->plan->memory || k->plan->page_faults) synth_put_usage(k, id, TT_AT_BATCH_BEGIN);
    uint32_t graph = n_tokens > 1 ? 1 : 2;
    tt_meta_run r = {.id = id,
                     .batch = id,
                     .graph = k->plan->bad_run && id == 2 ? 9 : graph,
                     .observed = TT_OBSERVED_HOOK,
                     .threads = k->plan->lanes,
                     .ticks = k->tick += 20,
                     .thread = 100};
    tt_meta_put_run(&k->scratch, &r);
    put_record(k, TT_META_RUN);
    if (k->plan->memory) {
        synth_put_indices(k, id, "inp_tokens", tokens.ids, n_tokens);
        /* The cache is a ring of cells. */
        for (uint32_t i = 0; i < n_tokens; i++)
            tokens.positions[i] %= (int32_t)SYNTH_CELLS;
        synth_put_indices(k, id, "k_cells", tokens.positions, n_tokens);
    }
    k->tick += 10;
    if (k->plan->runs_split) flush_meta(k);
    run_graph(k, id, open);
    if (open) return;
    if (k->plan->page_faults) synth_put_page_faults(k, id);
    tt_meta_end e = {id, k->tick += 10, 0};
    tt_meta_put_end(&k->scratch, &e);
    put_record(k, TT_META_RUN_END);
    if (k->plan->memory || k->plan->page_faults) synth_put_usage(k, id, TT_AT_BATCH_END);
    e.ticks = k->tick += 5;
    tt_meta_put_end(&k->scratch, &e);
    put_record(k, TT_META_BATCH_END);
    if (k->plan->memory) synth_put_residency(k, id, TT_AT_BATCH_END);
    tt_meta_decode d = {begin, k->tick += 5, n_tokens, 0, 100};
    if (!k->plan->no_counts && !(k->plan->last_call_open && id == k->plan->generate + 1)) {
        tt_meta_put_decode(&k->scratch, &d);
        put_record(k, TT_META_DECODE);
    }
    k->tick += 500;
}

static void put_counts(maker *k)
{
    const synth_plan *p = k->plan;
    if (p->stream) return;
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {{"ops", k->ops + p->counts_ops_delta},
                  {"ops_dropped", p->counts_dropped_delta},
                  {"ops_unresolved", 0},
                  {"meta_dropped", 0},
                  {"details", k->details},
                  {"details_dropped", p->memory ? SYNTH_DETAILS_DROPPED : 0},
                  {"batches", 1 + p->generate},
                  {"runs", 1 + p->generate},
                  {"graphs", 2},
                  {"decode_calls", 1 + p->generate - p->last_call_open},
                  {"decode_tokens", k->total_tokens + p->decode_tokens_delta - p->last_call_open},
                  {"page_faults", k->faults},
                  {"page_faults_lost", k->faults_lost}};
    const size_t n = sizeof counts / sizeof *counts - (p->page_faults ? 0 : 2);
    tt_bytes_varint(&k->scratch, n);
    for (size_t i = 0; i < n; i++) {
        tt_bytes_str(&k->scratch, counts[i].name, strlen(counts[i].name));
        tt_bytes_varint(&k->scratch, counts[i].value);
    }
    put_record(k, TT_META_COUNTS);
}

static void put_environment(maker *k)
{
    const tt_meta_pair pairs[] = {{span("command"), span("llama-cli -m synth.gguf")},
                                  {span("host"), span("testhost")},
                                  {span("mode"), span("hook")},
                                  {span("mode_reason"), span("all calls found")},
                                  {span("engine_version"), span("b0000")},
                                  {span("tick_hz"), span("2000000000")}};
    tt_meta_put_pairs(&k->scratch, pairs, k->plan->tick_hz ? 6 : 5);
    put_record(k, TT_META_ENVIRONMENT);
}

/* When recording begins or ends. */
static void put_memory_at(maker *k, enum tt_moment moment)
{
    synth_put_usage(k, 0, moment);
    synth_put_residency(k, 0, moment);
    if (moment != TT_AT_END) return;
    if (!k->plan->stream) synth_put_detail_loss(k);
    synth_put_model_check(k);
}

static void flush_rings(maker *k, bool all)
{
    for (uint32_t i = 0; i < k->plan->lanes && !k->plan->stream; i++) {
        flush_ring(k, i, all);
        synth_flush_details(k, i, all);
    }
}

static void put_data(maker *k)
{
    for (size_t i = 0; i < k->plan->n_data; i++) {
        const synth_data *d = &k->plan->data[i];
        tt_bytes raw;
        tt_bytes_init(&raw, TT_CHUNK_PAYLOAD_MAX);
        for (uint32_t n = 0; n < d->bytes; n++)
            tt_bytes_u8(&raw, d->filler);
        tt_chunk_header h = {.type = TT_CHUNK_VALUE,
                             .stream = d->node,
                             .count = 1,
                             .position = tt_value_position(d->run, d->part)};
        put_chunk(k, h, &raw, (tt_index_entry){0});
        tt_bytes_free(&raw);
    }
}

static void put_all(maker *k)
{
    synth_plan *p = k->plan;
    put_environment(k);
    if (p->memory) synth_put_capture_environment(k);
    k->tick = FIRST_TICK;
    put_clock(k);
    make_weights(k);
    if (!p->no_model) put_model(k);
    if (p->extents) synth_put_extents(k);
    put_buffers(k);
    if (p->memory) put_memory_at(k, TT_AT_BEGIN);
    if (p->loading) synth_put_loading(k);
    if (p->page_faults) synth_begin_page_faults(k);
    for (uint32_t i = 0; i < p->lanes; i++) {
        tt_meta_put_ring(&k->scratch, &(tt_meta_ring){i, 100 + i, k->tick});
        put_record(k, TT_META_RING);
    }
    put_graph(k, 1, p->prompt_tokens);
    if (p->loading) synth_put_first_batch(k);
    decode(k, 1, p->prompt_tokens, 0, false);
    if (p->pool) synth_put_pool(k, 1);
    flush_meta(k);
    put_graph(k, 2, 1);
    for (uint32_t i = 0; i < p->generate; i++) {
        decode(k, i + 2, 1, p->prompt_tokens + i, p->last_run_open && i + 1 == p->generate);
        if (p->pool) synth_put_pool(k, i + 2);
        if (p->described) flush_meta(k);
    }
    if (p->edit_ops) p->edit_ops(p, k->rings);
    /* An OPS chunk before the META chunk that describes its runs: readers must cope. */
    flush_rings(k, false);
    put_data(k);
    k->tick += 1000;
    if (p->memory) put_memory_at(k, TT_AT_END);
    if (!p->no_clock_end) put_clock(k);
    if (!p->no_counts) put_counts(k);
    flush_meta(k);
    flush_rings(k, true);
}

static void put_end(maker *k)
{
    uint8_t tail[TT_TAIL_BYTES];
    tt_bytes raw;
    uint64_t at = k->out->size;
    tt_bytes_init(&raw, TT_CHUNK_PAYLOAD_MAX);
    if (k->plan->edit_index) k->plan->edit_index(k->index, k->n_index);
    tt_index_encode(&raw, k->index, k->n_index,
                    k->plan->recovered ? TT_END_RECOVERED : TT_END_NORMAL);
    tt_chunk_header h = {.type = TT_CHUNK_INDEX, .count = (uint32_t)k->n_index};
    put_chunk(k, h, &raw, (tt_index_entry){0});
    tt_tail_encode(at, tail);
    tt_bytes_put(k->out, tail, sizeof tail);
    tt_bytes_free(&raw);
}

synth_plan synth_default(void)
{
    return (synth_plan){.layers = 3,
                        .width = SYNTH_WIDTH,
                        .ffn = SYNTH_FFN,
                        .vocab = SYNTH_VOCAB,
                        .lanes = 2,
                        .prompt_tokens = 5,
                        .generate = 4,
                        .experts_used = 2,
                        .codec = TT_CODEC_ZSTD,
                        .chunk_records = 200,
                        .seed = 1};
}

static bool make_room(maker *k)
{
    const synth_plan *p = k->plan;
    k->strings = calloc(STRINGS_MAX(p->layers), sizeof *k->strings);
    k->tensors = calloc(TENSORS_MAX(p->layers), sizeof *k->tensors);
    k->weights = calloc(WEIGHTS_MAX(p->layers), sizeof *k->weights);
    k->has_text = calloc(p->vocab, sizeof *k->has_text);
    k->index = calloc(1 << 20, sizeof *k->index);
    return k->strings && k->tensors && k->weights && k->has_text && k->index;
}

static void free_room(maker *k)
{
    for (uint32_t i = 0; i < SYNTH_RINGS_MAX; i++) {
        free(k->rings[i].records);
        free(k->rings[i].details);
    }
    free(k->strings);
    free(k->tensors);
    free(k->weights);
    free(k->has_text);
    free(k->index);
    tt_bytes_free(&k->meta);
    tt_bytes_free(&k->scratch);
    free(k);
}

static void put_file(maker *k)
{
    uint8_t head[TT_FILE_HEADER_BYTES];
    tt_file_header h = {TT_FORMAT_MAJOR, TT_FORMAT_MINOR, {0}, 1700000000123456789u, 4242};
    for (uint8_t i = 0; i < 16; i++)
        h.run_id[i] = (uint8_t)(i * 17 + k->plan->seed);
    k->seed = tt_file_header_seed(&h);
    tt_file_header_encode(&h, head);
    tt_bytes_put(k->out, head, sizeof head);
    put_all(k);
    if (!k->plan->no_index) put_end(k);
}

void synth_scatter(synth_plan *plan, synth_ring *rings)
{
    uint64_t random = plan->seed;
    for (uint32_t lane = 0; lane < plan->lanes; lane++)
        for (size_t i = rings[lane].n; i > 1; i--) {
            tt_op_record *a = &rings[lane].records[i - 1], *b;
            random = random * 6364136223846793005u + 1442695040888963407u;
            b = &rings[lane].records[(random >> 33) % i];
            const uint32_t run = a->run, place = a->place;
            a->run = b->run;
            a->place = b->place;
            b->run = run;
            b->place = place;
        }
}

bool synth_build(synth_plan *plan, tt_bytes *out)
{
    maker *k = calloc(1, sizeof *k);
    if (!k) return false;
    k->plan = plan;
    k->out = out;
    k->random = plan->seed;
    k->memory_random = plan->seed + 1;
    k->n_strings = 1;
    tt_bytes_init(&k->meta, TT_CHUNK_PAYLOAD_MAX);
    tt_bytes_init(&k->scratch, TT_CHUNK_PAYLOAD_MAX);
    bool ok = make_room(k);
    if (ok && plan->stream)
        put_all(k);
    else if (ok)
        put_file(k);
    plan->n_records = k->ops;
    plan->n_tokens = k->total_tokens;
    free_room(k);
    return ok && (plan->stream || !out->failed);
}
