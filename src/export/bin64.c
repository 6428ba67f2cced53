/* The format `bin64`: records of 64 bytes, one for each source of each op. docs/bin64.md says what
 * is in each field, and what where a number does not fit. */
#include "export/bin64.h"

#include "analyze/access.h"
#include "analyze/ops.h"
#include "base/array.h"
#include "base/order.h"
#include "base/outfile.h"
#include "export/runs.h"
#include "export/workers.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PART_RECORDS 65536u
#define PART_BYTES_MAX ((size_t)1 << 30)

#define NONE_8 UINT8_MAX
#define NONE_16 UINT16_MAX
#define NONE_32 UINT32_MAX

/* As it is in the file, little-endian. */
typedef struct record {
    uint64_t timestamp_ns;
    uint32_t batch_id;
    uint16_t layer_id;
    uint16_t thread_id;
    uint8_t operation_type;
    uint8_t phase;
    uint16_t zero_18;
    uint32_t zero_20;
    uint32_t tensor_idx;
    uint32_t zero_28;
    uint64_t tensor_ptr;
    uint64_t file_offset;
    uint32_t size_bytes;
    uint8_t attention_head;
    uint8_t qkv_type;
    uint16_t zero_54;
    uint8_t expert_id;
    uint8_t expert_rank;
    uint16_t routing_score;
    uint32_t zero_60;
} record;

_Static_assert(sizeof(record) == 64, "the records are 64 bytes");

/* What could not be said in the fields there are. */
typedef struct losses {
    uint64_t sizes, experts, ops;
} losses;

/* A source's record without what differs from time to time. */
typedef struct source {
    record r;
    uint32_t router; /* of an expert matmul's experts; else TT_NONE */
    uint64_t expert_stride, expert_bytes, n_experts;
    losses lost; /* each time that it is written */
} source;

typedef struct sources {
    uint32_t n;
    source list[];
} sources;

typedef struct bin64 {
    const tt_model *m;
    const tt_export_options *options;
    tt_runs runs;
    FILE *out;
    uint64_t n_records;
    const char *path;                     /* of it */
    _Atomic uint64_t sizes, experts, ops; /* lost, see losses */
    _Atomic uint64_t unobserved;          /* expert matmuls */
} bin64;

/* An op of a run, over its lanes. */
typedef struct executed {
    uint64_t start;
    uint32_t node;
    uint32_t lane; /* the first that has a record of it */
    uint8_t covers;
} executed;

typedef struct maker {
    bin64 *b;
    tt_op_table *ops;
    tt_accesses *accesses;
    executed *list;
    size_t n, capacity;
    uint32_t *place; /* by node: in list + 1, 0: not there */
    uint32_t n_place;
    losses lost;
    uint64_t unobserved;
} maker;

/* --- what a source's record says --- */

static uint8_t qkv_type(const tt_tensor *t)
{
    static const char *const names[][2] = {
        {"attn_q", "attn_q"}, {"attn_k", "cache_k"}, {"attn_v", "cache_v"}};
    for (uint8_t i = 0; i < 3; i++)
        if (strcmp(t->place.component, names[i][0]) == 0 ||
            strcmp(t->place.component, names[i][1]) == 0)
            return i;
    return NONE_8;
}

/* The address it had; an address is what `location` is without a buffer. */
static uint64_t address(const tt_model *m, const tt_graph *g, const tt_tensor *t)
{
    const tt_tensor *root = &g->tensors[t->root];
    if (t->buffer != TT_NONE) return m->buffers[t->buffer].base + t->location;
    if (root->buffer != TT_NONE)
        return m->buffers[root->buffer].base + root->location + t->root_offset_bytes;
    return t->location;
}

static uint32_t saturate(uint64_t v, uint64_t *lost)
{
    if (v > UINT32_MAX) ++*lost;
    return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static void describe(const tt_model *m, const tt_op *op, const tt_op_source *s, bool copies_as_file,
                     source *out)
{
    const tt_graph *g = op->graph;
    const tt_tensor *t = &g->tensors[s->tensor];
    const uint32_t type = g->tensors[s->node].op;
    *out = (source){.router = s->slot == 0 ? tt_access_router(g, s->node) : TT_NONE};
    record *r = &out->r;
    /* A model knows no layer beyond that: names with larger numbers belong to none. */
    r->layer_id = op->place.layer_id >= 0 && op->place.layer_id < NONE_16
                      ? (uint16_t)op->place.layer_id
                      : NONE_16;
    out->lost.ops += type > UINT8_MAX;
    r->operation_type = type > UINT8_MAX ? UINT8_MAX : (uint8_t)type;
    r->tensor_idx = t->weight == TT_NONE ? NONE_32 : t->weight;
    r->tensor_ptr = address(m, g, t);
    if ((t->origin == TT_ORIGIN_DISK || copies_as_file) && t->weight != TT_NONE)
        r->file_offset = m->weights[t->weight].offset_bytes + t->root_offset_bytes;
    r->attention_head = NONE_8;
    r->qkv_type = qkv_type(t);
    r->expert_id = r->expert_rank = NONE_8;
    uint64_t lost = 0;
    r->size_bytes = saturate(t->size_bytes, &lost);
    if (out->router == TT_NONE) {
        out->lost.sizes = lost;
        return;
    }
    out->n_experts = t->ne[2];
    out->expert_stride = t->nb[2];
    out->expert_bytes = t->ne[2] ? t->size_bytes / t->ne[2] : 0;
}

static const sources *sources_of(maker *k, uint32_t graph, const executed *e)
{
    const tt_op *op = tt_op_table_get(k->ops, graph, e->node, e->covers);
    void **note = op ? tt_op_table_note(k->ops, graph, e->node) : NULL;
    if (!note) return NULL;
    if (*note) return *note;
    sources *made = calloc(1, sizeof *made + op->n_sources * sizeof *made->list);
    if (!made) return NULL;
    made->n = op->n_sources;
    for (uint32_t i = 0; i < made->n; i++)
        describe(k->b->m, op, &op->sources[i], k->b->options->copies_as_file, &made->list[i]);
    return *note = made;
}

/* --- records --- */

static void put(maker *k, const source *s, const record *now, tt_bytes *out)
{
    record *r = (record *)(void *)(out->data + out->size);
    *r = s->r;
    r->timestamp_ns = now->timestamp_ns;
    r->batch_id = now->batch_id;
    r->thread_id = now->thread_id;
    r->phase = now->phase;
    out->size += sizeof *r;
    k->lost.sizes += s->lost.sizes;
    k->lost.ops += s->lost.ops;
}

static uint16_t score(float weight)
{
    if (!(weight > 0)) return 0; /* also NAN: not observed */
    return weight >= 1 ? UINT16_MAX : (uint16_t)lrintf(weight * 65535.0f);
}

static void put_choice(maker *k, const source *s, const tt_choice *c, const record *now,
                       tt_bytes *out)
{
    uint64_t lost = 0;
    put(k, s, now, out);
    record *r = (record *)(void *)(out->data + out->size - sizeof *r);
    r->tensor_ptr += c->expert * s->expert_stride;
    if (r->file_offset) r->file_offset += c->expert * s->expert_stride;
    r->size_bytes = saturate(s->expert_bytes, &lost);
    k->lost.sizes += lost;
    k->lost.experts += c->expert >= NONE_8 || c->rank >= NONE_8;
    r->expert_id = c->expert < NONE_8 ? (uint8_t)c->expert : NONE_8;
    r->expert_rank = c->rank < NONE_8 ? (uint8_t)c->rank : NONE_8;
    r->routing_score = score(c->weight);
}

static bool put_experts(maker *k, const source *s, const record *now, tt_bytes *out)
{
    size_t n, at, end;
    const tt_choice *list = tt_accesses_choices(k->accesses, &n);
    tt_choices_of(list, n, s->router, &at, &end);
    if (at == end) {
        if (!tt_bytes_reserve(out, sizeof(record))) return false;
        put(k, s, now, out);
        k->unobserved++;
        return true;
    }
    if (!tt_bytes_reserve(out, (end - at) * sizeof(record))) return false;
    for (; at < end; at++)
        put_choice(k, s, &list[at], now, out);
    return true;
}

static tt_status put_op(maker *k, const tt_run *run, const executed *e, tt_bytes *out,
                        tt_error *err)
{
    const tt_model *m = k->b->m;
    const sources *list = sources_of(k, run->graph, e);
    record now = {.timestamp_ns = tt_model_mono_ns(m, e->start),
                  .batch_id = NONE_32,
                  .thread_id = (uint16_t)e->lane,
                  .phase = NONE_8};
    if (!list || !tt_bytes_reserve(out, list->n * sizeof(record)))
        return tt_error_memory(err, "writing the trace");
    if (run->batch != TT_NONE) {
        const uint8_t phase = m->batches[run->batch].phase;
        now.batch_id = tt_model_batch_number(m, run->batch);
        now.phase = phase == TT_PHASE_PROMPT ? 0 : phase == TT_PHASE_GENERATE ? 1 : NONE_8;
    }
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->list[i].router != TT_NONE) {
            if (!put_experts(k, &list->list[i], &now, out))
                return tt_error_memory(err, "writing the trace");
        } else if (tt_bytes_reserve(out, sizeof(record))) {
            put(k, &list->list[i], &now, out);
        } else {
            return tt_error_memory(err, "writing the trace");
        }
    }
    return TT_OK;
}

/* --- runs --- */

static bool make_room(maker *k, uint32_t n_nodes)
{
    k->n = 0;
    if (!tt_array_room(k->place, k->n_place, n_nodes)) return false;
    if (!tt_array_room(k->list, k->capacity, n_nodes)) return false;
    if (n_nodes) memset(k->place, 0, n_nodes * sizeof *k->place);
    return true;
}

TT_ORDER_BY(by_start, executed, start, node)

/* The ops of a run, each once, in the order in which they began. */
static tt_status list_ops(maker *k, const tt_model *m, const tt_run *run, tt_error *err)
{
    const tt_piece *pieces;
    const uint32_t n_nodes = m->graphs[run->graph].n_nodes;
    size_t n;
    tt_status status = tt_pieces_of_run(m->pieces, run->id, &pieces, &n, err);
    if (!make_room(k, n_nodes)) return tt_error_memory(err, "writing the trace");
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tt_piece_ops ops;
        status = tt_pieces_get(m->pieces, &pieces[i], &ops, err);
        for (size_t r = 0; status == TT_OK && r < ops.n; r++) {
            const uint32_t node = ops.node[r];
            if (node >= n_nodes) continue;
            if (!k->place[node]) {
                k->list[k->n] = (executed){ops.start[r], node, ops.lane, ops.covers[r]};
                k->place[node] = (uint32_t)++k->n;
            } else if (ops.start[r] < k->list[k->place[node] - 1].start) {
                k->list[k->place[node] - 1].start = ops.start[r];
            }
        }
    }
    size_t sorted = 1;
    while (sorted < k->n && by_start(&k->list[sorted - 1], &k->list[sorted]) <= 0)
        sorted++;
    if (sorted < k->n) qsort(k->list, k->n, sizeof *k->list, by_start);
    return status;
}

static tt_status make(void *context, void *own, const tt_model *m, uint32_t part, tt_bytes *out,
                      tt_error *err)
{
    bin64 *b = context;
    maker *k = own;
    tt_status status = TT_OK;
    if (!k->accesses) k->accesses = tt_accesses_new(m);
    if (!k->accesses) return tt_error_memory(err, "writing the trace");
    for (uint32_t i = b->runs.parts[part]; i < b->runs.parts[part + 1] && status == TT_OK; i++) {
        const tt_run *run = &m->runs[b->runs.order[i]];
        if (run->graph == TT_NONE) continue;
        status = tt_accesses_run(k->accesses, b->runs.order[i], err);
        if (status == TT_OK) status = list_ops(k, m, run, err);
        for (size_t o = 0; o < k->n && status == TT_OK; o++)
            status = put_op(k, run, &k->list[o], out, err);
    }
    return status;
}

static tt_status take(void *context, uint32_t part, const tt_bytes *made, tt_error *err)
{
    bin64 *b = context;
    (void)part;
    b->n_records += made->size / sizeof(record);
    if (made->size == 0 || fwrite(made->data, 1, made->size, b->out) == made->size) return TT_OK;
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write %s: %s", b->path,
                        strerror(errno));
}

static void *open_maker(void *context)
{
    maker *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    k->b = context;
    k->ops = tt_op_table_new(k->b->m);
    if (k->ops) return k;
    free(k);
    return NULL;
}

static void close_maker(void *own)
{
    maker *k = own;
    atomic_fetch_add(&k->b->sizes, k->lost.sizes);
    atomic_fetch_add(&k->b->experts, k->lost.experts);
    atomic_fetch_add(&k->b->ops, k->lost.ops);
    atomic_fetch_add(&k->b->unobserved, k->unobserved);
    tt_op_table_free(k->ops);
    tt_accesses_free(k->accesses);
    free(k->list);
    free(k->place);
    free(k);
}

static void note(const bin64 *b, uint64_t n, const char *what)
{
    char text[200];
    if (n == 0 || !b->options->note) return;
    (void)snprintf(text, sizeof text, "%" PRIu64 " %s", n, what);
    b->options->note(b->options->note_context, text);
}

static void tell(const bin64 *b)
{
    if (b->options->sum)
        *b->options->sum = (tt_export_sum){.n_items = b->n_records, .items = "records"};
    note(b, b->sizes, "records say a size of 4294967295 bytes: it was as much or more");
    note(b, b->ops, "records say the operation 255: its number is more");
    note(b, b->experts, "records say the expert or the rank 255: its number is as much or more");
    note(b, b->unobserved,
         "expert matmuls have one record, without an expert: which were chosen "
         "was not observed");
    tt_export_note_copies(b->m, b->options);
}

static tt_status write_bin64(const tt_model *m, const char *path, const tt_export_options *options,
                             tt_error *err)
{
    bin64 b = {.m = m, .path = path, .options = options};
    tt_outfile file;
    const tt_workers_plan plan = {.threads = options->threads,
                                  .make = make,
                                  .take = take,
                                  .open = open_maker,
                                  .close = close_maker,
                                  .context = &b,
                                  .limit_bytes = PART_BYTES_MAX,
                                  .progress = options->progress,
                                  .progress_context = options->progress_context};
    tt_status status = tt_model_need_clock(m, err);
    if (status == TT_OK) status = tt_outfile_open(&file, path, options->force, err);
    if (status != TT_OK) return status;
    b.out = file.stream;
    status = tt_runs_divide(&b.runs, m, options->filter, PART_RECORDS, err);
    tt_workers_plan ready = plan;
    ready.n_parts = b.runs.n_parts;
    if (status == TT_OK) status = tt_workers_run(m, &ready, err);
    tt_runs_free(&b.runs);
    if (status == TT_OK)
        status = tt_outfile_commit(&file, err);
    else
        tt_outfile_abandon(&file);
    if (status == TT_OK) tell(&b);
    return status;
}

const tt_export_format tt_format_bin64 = {
    .name = "bin64",
    .summary = "records of 64 bytes, one for each source of each op (one file)",
    .takes = TT_EXPORT_TAKES_FILTER | TT_EXPORT_TAKES_COPIES,
    .write = write_bin64};
