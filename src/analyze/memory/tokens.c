#include "analyze/memory/tokens.h"

#include "analyze/faults.h"
#include "analyze/memory/path.h"
#include "analyze/reads.h"
#include "base/order.h"
#include "model/faults.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct walk {
    const tt_model *m;
    const tt_tokens_query *query;
    tt_tokens *out;
    uint64_t *layout;  /* of the files */
    uint32_t *row_of;  /* by batch in tt_model.batches; TT_NONE: none */
    uint64_t *last_op; /* by column: number of the last op counted there */
    uint64_t number;   /* of the op */
} walk;

void tt_tokens_free(tt_tokens *t)
{
    free(t->batches);
    free(t->cells);
    free(t->layers);
    memset(t, 0, sizeof *t);
}

/* --- rows and columns --- */

typedef struct numbered {
    uint32_t number, batch;
} numbered;

TT_ORDER_BY(by_number, numbered, number, batch)

static bool list_batches(walk *q)
{
    const tt_model *m = q->m;
    tt_tokens *t = q->out;
    numbered *list = calloc((size_t)m->n_batches + 1, sizeof *list);
    t->batches = calloc((size_t)m->n_batches + 1, sizeof *t->batches);
    q->row_of = malloc(((size_t)m->n_batches + 1) * sizeof *q->row_of);
    const bool ok = list && t->batches && q->row_of;
    for (uint32_t i = 0; ok && i < m->n_batches; i++) {
        q->row_of[i] = TT_NONE;
        if (tt_filter_batch(q->query->filter, m, i))
            list[t->n_batches++] = (numbered){tt_model_batch_number(m, i), i};
    }
    if (ok) qsort(list, t->n_batches, sizeof *list, by_number);
    t->each = (t->n_batches + q->query->rows - 1) / q->query->rows;
    if (t->each == 0) t->each = 1;
    t->rows = (t->n_batches + t->each - 1) / t->each;
    for (uint32_t i = 0; ok && i < t->n_batches; i++) {
        t->batches[i] = list[i].batch;
        q->row_of[list[i].batch] = i / t->each;
    }
    free(list);
    return ok;
}

/* As many as its experts' tensors have slices. */
static uint32_t experts_of(const tt_model *m, const tt_filter *f)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < m->n_weights; i++) {
        const tt_weight *w = &m->weights[i];
        const bool expert = w->n_dims >= 3 && w->ne[2] > 1 && w->place.component &&
                            strstr(w->place.component, "_exps");
        if (expert && (!f->has_layer || tt_layer_passes(f->layer, w->place.layer_id)) &&
            w->ne[2] > most)
            most = w->ne[2];
    }
    return most > TT_SLICES_MAX ? TT_SLICES_MAX : (uint32_t)most;
}

/* The column of that layer, or where it belongs. */
static uint32_t column_of_layer(const tt_tokens *t, int32_t layer)
{
    uint32_t at;
    tt_lower_bound(at, t->columns, t->layers[at] < layer);
    return at;
}

static bool list_layers(const tt_model *m, tt_tokens *t)
{
    t->layers = calloc(TT_TOKENS_COLUMNS_MAX, sizeof *t->layers);
    if (!t->layers) return false;
    t->layers[0] = TT_LAYER_NONE;
    t->columns = 1;
    for (uint32_t i = 0; i < m->n_weights && t->columns < TT_TOKENS_COLUMNS_MAX; i++) {
        const int32_t layer = m->weights[i].place.layer_id;
        const uint32_t at = column_of_layer(t, layer);
        if (layer < 0 || (at < t->columns && t->layers[at] == layer)) continue;
        memmove(t->layers + at + 1, t->layers + at, (t->columns - at) * sizeof *t->layers);
        t->layers[at] = layer;
        t->columns++;
    }
    return true;
}

static bool set_columns(walk *q)
{
    tt_tokens *t = q->out;
    if (t->by == TT_TOKENS_BY_LAYER) return list_layers(q->m, t);
    t->columns =
        t->by == TT_TOKENS_BY_FILE ? q->query->columns : experts_of(q->m, q->query->filter);
    return true;
}

/* The column of a weight's layer, or of its expert; q->out->columns: none. */
static uint32_t column_of(const walk *q, const tt_access *a)
{
    const tt_tokens *t = q->out;
    if (t->by != TT_TOKENS_BY_LAYER) return a->expert < 0 ? t->columns : (uint32_t)a->expert;
    const int32_t layer = q->m->weights[a->weight].place.layer_id;
    const uint32_t at = column_of_layer(t, layer < 0 ? TT_LAYER_NONE : layer);
    return at < t->columns && (layer < 0 || t->layers[at] == layer) ? at : t->columns;
}

/* --- the walk --- */

/* Bytes `before` .. before + bytes of access i. */
static void add(walk *q, const tt_reading *r, size_t i, uint32_t row, uint32_t column,
                uint64_t before, uint64_t bytes)
{
    const tt_access *a = &r->list[i];
    const tt_log_op *op = r->op;
    tt_tokens_cell *c = &q->out->cells[(size_t)row * q->out->columns + column];
    if (q->last_op[column] != q->number) {
        q->last_op[column] = q->number;
        c->accesses++;
        if (!op->open && op->arrive_ticks > op->start_ticks)
            c->ticks += op->arrive_ticks - op->start_ticks;
    }
    c->read_bytes += bytes;
    const uint64_t major = tt_reading_share(q->m, r, i, r->major);
    const uint64_t minor = tt_reading_share(q->m, r, i, r->minor);
    tt_amount_add(
        &c->major_faults,
        tt_amount_of(r->faults_known, tt_faults_share(major, before, bytes, a->size_bytes)));
    tt_amount_add(
        &c->minor_faults,
        tt_amount_of(r->faults_known, tt_faults_share(minor, before, bytes, a->size_bytes)));
    q->out->at_most |= a->at_most;
}

static void add_by_offset(walk *q, const tt_reading *r, size_t i, uint32_t row)
{
    const tt_tokens *t = q->out;
    const tt_access *a = &r->list[i];
    const uint64_t begin = q->layout[q->m->weights[a->weight].file] + a->offset_bytes,
                   end = begin + a->size_bytes;
    const double each = (double)(t->to_bytes - t->from_bytes) / t->columns;
    if (end <= t->from_bytes || begin >= t->to_bytes) return;
    double first = begin > t->from_bytes ? floor((double)(begin - t->from_bytes) / each) : 0;
    for (uint32_t k = (uint32_t)fmin(first, t->columns - 1); k < t->columns; k++) {
        uint64_t from = t->from_bytes + (uint64_t)ceil(k * each),
                 to = k + 1 == t->columns ? t->to_bytes
                                          : t->from_bytes + (uint64_t)ceil((k + 1) * each);
        if (from >= end) break;
        if (from < begin) from = begin;
        if (to > end) to = end;
        if (from < to) add(q, r, i, row, k, from - begin, to - from);
    }
}

static bool visit(void *context, const tt_reading *r)
{
    walk *q = context;
    tt_tokens *t = q->out;
    const uint32_t batch = r->op->run->batch;
    const uint32_t row = batch < q->m->n_batches ? q->row_of[batch] : TT_NONE;
    if (row == TT_NONE) return true;
    q->number++;
    bool reads = false;
    for (size_t i = 0; i < r->n; i++) {
        const tt_access *a = &r->list[i];
        if (!tt_reads_counts(q->m, a)) continue;
        const uint32_t column = t->by == TT_TOKENS_BY_FILE ? 0 : column_of(q, a);
        t->experts |= a->expert >= 0;
        if (t->by == TT_TOKENS_BY_FILE && !tt_access_is_placed(a))
            t->unplaced++;
        else if (t->by == TT_TOKENS_BY_FILE)
            add_by_offset(q, r, i, row);
        else if (column < t->columns)
            add(q, r, i, row, column, 0, a->size_bytes);
        reads = true;
    }
    t->ops += reads;
    return true;
}

tt_status tt_tokens_find(const tt_model *m, const tt_tokens_query *query, const tt_over *over,
                         tt_tokens *out, tt_error *err)
{
    *out = (tt_tokens){.by = query->by,
                       .from_bytes = query->from_bytes,
                       .to_bytes = query->to_bytes,
                       .faults = tt_model_has_faults(m)};
    walk q = {.m = m, .query = query, .out = out};
    const tt_reads_walker w = {.filter = query->filter,
                               .faults = out->faults,
                               .visit = visit,
                               .context = &q,
                               .over = over ? *over : (tt_over){0}};
    tt_status status = TT_OK;
    if (query->filter->has_from || query->filter->has_to) status = tt_model_need_clock(m, err);
    if (status != TT_OK) return status;
    bool ok = list_batches(&q);
    ok &= set_columns(&q);
    q.layout = tt_reads_layout(m, 1, NULL);
    q.last_op = calloc((size_t)out->columns + 1, sizeof *q.last_op);
    out->cells = calloc((size_t)out->rows * out->columns + 1, sizeof *out->cells);
    ok &= q.layout && q.last_op && out->cells;
    status = ok ? tt_reads_walk(m, &w, err) : tt_error_memory(err, "what each batch read");
    free(q.layout);
    free(q.last_op);
    free(q.row_of);
    return status;
}
