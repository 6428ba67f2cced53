#include "analyze/values/values.h"

#include "analyze/join.h"
#include "analyze/values/outputs.h"
#include "analyze/values/values_walk.h"
#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct building {
    const tt_model *m;
    tt_values_marks *out;
    size_t capacity;
} building;

static tt_status take_mark(void *context, tt_values_walk *w, const tt_values_seen *seen,
                           tt_error *err)
{
    building *b = context;
    (void)w;
    if (!seen->print || !tt_values_state_is_bad(seen->state)) return TT_OK;
    if (b->out->total++ >= TT_VALUES_MARKS_MAX) return TT_OK;
    tt_values_mark *mark = tt_array_add(b->out->list, b->out->n, b->capacity);
    if (!mark) return tt_error_memory(err, "marks of values");
    const uint32_t batch = b->m->runs[seen->run].batch;
    *mark = (tt_values_mark){
        .run = seen->run,
        .node = seen->node,
        .op = seen->first,
        .layer = b->m->graphs[seen->graph].tensors[seen->node].place.layer_id,
        .token = batch == TT_NONE ? TT_NONE : tt_model_batch_number(b->m, batch),
        .n_nan = seen->print->n_nan,
        .n_inf = seen->print->n_inf,
    };
    return TT_OK;
}

/* When the ops of the marks were computed. */
static tt_status find_times(building *b, const tt_over *over, tt_error *err)
{
    tt_join j = {0};
    tt_status status = TT_OK;
    for (size_t i = 0; i < b->out->n && status == TT_OK; i++) {
        tt_values_mark *mark = &b->out->list[i];
        if (i == 0 || mark->run != mark[-1].run) {
            status = tt_over_check(over, err);
            if (status == TT_OK) status = tt_join_run(&j, b->m, mark->run, err);
        }
        if (status != TT_OK || !j.graph || j.n_touched == 0) continue;
        const tt_joined *op = &j.ops[mark->op];
        mark->timed = op->stamp == j.stamp && !op->open;
        if (!mark->timed) continue;
        mark->start = op->start;
        mark->end = op->start + tt_joined_ticks(op);
    }
    tt_join_free(&j);
    return status;
}

tt_status tt_values_marks_make(const tt_model *m, const tt_over *over, tt_values_marks *out,
                               tt_error *err)
{
    static const tt_values_query everything;
    tt_values_counts counts = {0};
    building b = {.m = m, .out = out};
    memset(out, 0, sizeof *out);
    if (!tt_outputs_any(m)) return TT_OK;
    tt_status status = tt_values_walk_all(m, &everything, false, over, take_mark, &b, &counts, err);
    if (status == TT_OK && m->clock.known) status = find_times(&b, over, err);
    return status;
}

void tt_values_marks_free(tt_values_marks *marks)
{
    free(marks->list);
    memset(marks, 0, sizeof *marks);
}

double tt_values_max_abs(const tt_fingerprint *p)
{
    return p->has_range ? fmax(fabs((double)p->min), fabs((double)p->max)) : 0;
}

static bool is_finite(const tt_fingerprint *p)
{
    return p->has_range && !p->n_nan && !p->n_inf;
}

bool tt_values_is_constant(const tt_fingerprint *p)
{
    return p->n > 1 && is_finite(p) && !(p->min < p->max);
}

bool tt_values_is_zero(const tt_fingerprint *p)
{
    return is_finite(p) && tt_values_max_abs(p) <= 0;
}

bool tt_values_coordinates(const tt_graph *g, uint32_t node, uint64_t index, uint64_t out[4])
{
    tt_output_shape shape;
    tt_output_shape_of(g, node, &shape);
    for (unsigned d = 0; d < 4; d++) {
        if (shape.ne[d] == 0) return false;
        out[d] = index % shape.ne[d];
        index /= shape.ne[d];
    }
    return index == 0;
}

/* --- a list --- */

typedef struct listing {
    const tt_values_query *q;
    tt_values_page *page;
    size_t capacity;
} listing;

static bool is_wanted(tt_values_which which, const tt_values_seen *seen)
{
    switch (which) {
    case TT_VALUES_ALL:
        return true;
    case TT_VALUES_BAD:
        return tt_values_state_is_bad(seen->state);
    case TT_VALUES_MASKING:
        return seen->state == TT_STATE_MASKING;
    case TT_VALUES_CONSTANT:
        return tt_values_is_constant(seen->print);
    case TT_VALUES_ZERO:
        return tt_values_is_zero(seen->print);
    }
    return false;
}

static tt_status take(void *context, tt_values_walk *w, const tt_values_seen *seen, tt_error *err)
{
    listing *l = context;
    (void)w;
    if (!seen->print || !is_wanted(l->q->which, seen)) return TT_OK;
    const uint64_t place = l->page->total++;
    if (place < l->q->offset || (l->q->limit && place - l->q->offset >= l->q->limit)) return TT_OK;
    tt_values_row *row = tt_array_add(l->page->rows, l->page->n, l->capacity);
    if (!row) return tt_error_memory(err, "the list of values");
    *row = tt_values_seen_row(seen);
    return TT_OK;
}

tt_status tt_values_list(const tt_model *m, const tt_values_query *q, const tt_over *over,
                         tt_values_page *out, tt_error *err)
{
    listing l = {.q = q, .page = out};
    memset(out, 0, sizeof *out);
    return tt_values_walk_all(m, q, false, over, take, &l, &out->counts, err);
}

void tt_values_page_free(tt_values_page *p)
{
    free(p->rows);
    memset(p, 0, sizeof *p);
}
