#include "export/records/records.h"

#include "base/array.h"
#include "base/order.h"
#include "base/outfile.h"
#include "export/runs.h"
#include "export/workers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PART_RECORDS 65536u
#define PART_BYTES_MAX ((size_t)1 << 30)

typedef struct job {
    const tt_record_kind *kind;
    const tt_model *m;
    const tt_export_options *options;
    tt_runs runs;
    FILE *out;
    const char *path; /* its path */
    uint64_t n_records;
    _Atomic uint64_t losses[TT_RECORD_LOSSES_MAX];
} job;

/* An op of a run, over its lanes. */
typedef struct executed {
    uint64_t start;
    uint32_t node;
    uint32_t lane; /* the first with a record of it */
    uint8_t covers;
} executed;

typedef struct walk {
    tt_record_maker maker;
    job *j;
    tt_op_table *ops;
    executed *list;
    size_t n, capacity;
    uint32_t *place; /* by node: index in list + 1, 0: none */
    uint32_t n_place;
} walk;

/* --- helpers of kinds --- */

uint64_t tt_record_address(const tt_model *m, const tt_graph *g, const tt_tensor *t)
{
    const tt_tensor *root = &g->tensors[t->root];
    if (t->buffer != TT_NONE) return m->buffers[t->buffer].base + t->location;
    if (root->buffer != TT_NONE)
        return m->buffers[root->buffer].base + root->location + t->root_offset_bytes;
    return t->location;
}

bool tt_record_on_disk(const tt_model *m, const tt_export_options *options, const tt_tensor *t,
                       uint64_t *offset_bytes)
{
    if (t->weight == TT_NONE || (t->origin != TT_ORIGIN_FILE && !options->copies_as_file))
        return false;
    *offset_bytes = m->weights[t->weight].offset_bytes + t->root_offset_bytes;
    return true;
}

uint32_t tt_record_u32(uint64_t v, uint64_t *lost)
{
    if (v > UINT32_MAX) ++*lost;
    return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

uint16_t tt_record_layer(int32_t layer_id)
{
    return layer_id >= 0 ? (uint16_t)tt_layer_number(layer_id) : TT_RECORD_NONE_16;
}

/* --- ops --- */

static const void *described(walk *w, uint32_t graph, const executed *e)
{
    const tt_op *op = tt_op_table_get(w->ops, graph, e->node, e->covers);
    void **note = op ? tt_op_table_note(w->ops, graph, e->node) : NULL;
    if (!note) return NULL;
    if (!*note) *note = w->j->kind->describe(w->j->m, w->j->options, op);
    return *note;
}

static bool put_op(walk *w, const tt_run *run, const executed *e, tt_bytes *out)
{
    const tt_model *m = w->j->m;
    const void *what = described(w, run->graph, e);
    tt_record_now now = {.timestamp_ns = tt_model_mono_ns(m, e->start),
                         .batch_id = TT_RECORD_NONE_32,
                         .thread_id = (uint16_t)e->lane,
                         .phase = TT_RECORD_NONE_8};
    if (!what) return false;
    if (run->batch != TT_NONE) {
        const uint8_t phase = m->batches[run->batch].phase;
        now.batch_id = tt_model_batch_number(m, run->batch);
        now.phase = phase == TT_PHASE_PROMPT     ? 0
                    : phase == TT_PHASE_GENERATE ? 1
                                                 : TT_RECORD_NONE_8;
    }
    return w->j->kind->put(&w->maker, what, &now, out);
}

static bool make_room(walk *w, uint32_t n_nodes)
{
    w->n = 0;
    if (!tt_array_room(w->place, w->n_place, n_nodes)) return false;
    if (!tt_array_room(w->list, w->capacity, n_nodes)) return false;
    if (n_nodes) memset(w->place, 0, n_nodes * sizeof *w->place);
    return true;
}

TT_ORDER_BY(by_start, executed, start, node)

/* The ops of a run, each once, in the order of their start. */
static tt_status list_ops(walk *w, const tt_model *m, const tt_run *run, tt_error *err)
{
    const tt_piece *pieces;
    const uint32_t n_nodes = m->graphs[run->graph].n_nodes;
    size_t n;
    tt_status status = tt_pieces_of_run(m->pieces, run->id, &pieces, &n, err);
    if (!make_room(w, n_nodes)) return tt_error_memory(err, "writing the trace");
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tt_piece_ops ops;
        status = tt_pieces_get(m->pieces, &pieces[i], &ops, err);
        for (size_t r = 0; status == TT_OK && r < ops.n; r++) {
            const uint32_t node = ops.node[r];
            if (node >= n_nodes) continue;
            if (!w->place[node]) {
                w->list[w->n] = (executed){ops.start[r], node, ops.lane, ops.covers[r]};
                w->place[node] = (uint32_t)++w->n;
            } else if (ops.start[r] < w->list[w->place[node] - 1].start) {
                w->list[w->place[node] - 1].start = ops.start[r];
            }
        }
    }
    size_t sorted = 1;
    while (sorted < w->n && by_start(&w->list[sorted - 1], &w->list[sorted]) <= 0)
        sorted++;
    if (sorted < w->n) qsort(w->list, w->n, sizeof *w->list, by_start);
    return status;
}

/* --- parts --- */

static tt_status make(void *context, void *own, const tt_model *m, uint32_t part, tt_bytes *out,
                      tt_error *err)
{
    const job *j = context;
    walk *w = own;
    tt_status status = TT_OK;
    w->maker.m = m;
    if (!w->maker.accesses) w->maker.accesses = tt_accesses_new(m);
    if (!w->maker.accesses) return tt_error_memory(err, "writing the trace");
    for (uint32_t i = j->runs.parts[part]; i < j->runs.parts[part + 1] && status == TT_OK; i++) {
        const tt_run *run = &m->runs[j->runs.order[i]];
        if (run->graph == TT_NONE) continue;
        status = tt_accesses_run(w->maker.accesses, j->runs.order[i], err);
        if (status == TT_OK) status = list_ops(w, m, run, err);
        for (size_t o = 0; o < w->n && status == TT_OK; o++)
            if (!put_op(w, run, &w->list[o], out))
                status = tt_error_memory(err, "writing the trace");
    }
    return status;
}

static tt_status take(void *context, uint32_t part, const tt_bytes *made, tt_error *err)
{
    job *j = context;
    (void)part;
    j->n_records += made->size / j->kind->record_bytes;
    if (made->size == 0 || fwrite(made->data, 1, made->size, j->out) == made->size) return TT_OK;
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write %s: %s", j->path,
                        strerror(errno));
}

static void *open_walk(void *context)
{
    walk *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->j = context;
    w->maker.options = w->j->options;
    w->ops = tt_op_table_new(w->j->m);
    if (w->ops) return w;
    free(w);
    return NULL;
}

static void close_walk(void *own)
{
    walk *w = own;
    for (size_t i = 0; i < TT_RECORD_LOSSES_MAX; i++)
        atomic_fetch_add(&w->j->losses[i], w->maker.losses[i]);
    tt_op_table_free(w->ops);
    tt_accesses_free(w->maker.accesses);
    free(w->list);
    free(w->place);
    free(w);
}

static void report(const job *j)
{
    char text[200];
    const tt_export_options *o = j->options;
    if (o->sum) *o->sum = (tt_export_sum){.n_items = j->n_records, .items = "records"};
    for (size_t i = 0; o->note && i < TT_RECORD_LOSSES_MAX && j->kind->losses[i]; i++) {
        if (j->losses[i] == 0) continue;
        (void)snprintf(text, sizeof text, "%" PRIu64 " %s", (uint64_t)j->losses[i],
                       j->kind->losses[i]);
        o->note(o->note_context, text);
    }
    tt_export_note_copies(j->m, o, true);
}

tt_status tt_records_write(const tt_record_kind *kind, const tt_model *m, const char *path,
                           const tt_export_options *options, tt_error *err)
{
    job j = {.kind = kind, .m = m, .path = path, .options = options};
    tt_outfile file;
    tt_workers_plan plan = {.threads = options->threads,
                            .make = make,
                            .take = take,
                            .open = open_walk,
                            .close = close_walk,
                            .context = &j,
                            .limit_bytes = PART_BYTES_MAX,
                            .progress = options->progress,
                            .progress_context = options->progress_context};
    tt_status status = tt_model_need_clock(m, err);
    if (status == TT_OK) status = tt_outfile_open(&file, path, options->force, err);
    if (status != TT_OK) return status;
    j.out = file.stream;
    status = tt_runs_divide(&j.runs, m, options->filter, PART_RECORDS, err);
    plan.n_parts = j.runs.n_parts;
    if (status == TT_OK) status = tt_workers_run(m, &plan, err);
    tt_runs_free(&j.runs);
    if (status == TT_OK)
        status = tt_outfile_commit(&file, err);
    else
        tt_outfile_abandon(&file);
    if (status == TT_OK) report(&j);
    return status;
}
