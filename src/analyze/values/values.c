#include "analyze/values/values.h"

#include "analyze/join.h"
#include "analyze/values/outputs.h"
#include "analyze/values/values_fetch.h"
#include "analyze/values/values_walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct building {
    const tt_model *m;
    tt_values_marks *out;
    size_t capacity;
} building;

static bool has_room(building *b)
{
    if (b->out->n < b->capacity) return true;
    size_t larger = b->capacity ? b->capacity * 2 : 256;
    tt_values_mark *more = realloc(b->out->list, larger * sizeof *more);
    if (!more) return false;
    b->out->list = more;
    b->capacity = larger;
    return true;
}

static tt_status take_mark(void *context, tt_values_walk *w, const tt_values_seen *seen,
                           tt_error *err)
{
    building *b = context;
    (void)w;
    if (!seen->print || !tt_values_state_is_bad(seen->state)) return TT_OK;
    if (b->out->total++ >= TT_VALUES_MARKS_MAX) return TT_OK;
    if (!has_room(b)) return tt_error_memory(err, "marks of values");
    const uint32_t batch = b->m->runs[seen->run].batch;
    b->out->list[b->out->n++] = (tt_values_mark){
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

/* An output that is wanted, and what it is sorted by. */
typedef struct entry {
    uint32_t run, node;
    double key;
    uint64_t place; /* in the order of execution */
} entry;

typedef struct listing {
    const tt_model *m;
    const tt_values_query *q;
    entry *list;
    size_t n, capacity;
    uint64_t total;
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

static double key_of(tt_values_sort sort, const tt_fingerprint *p)
{
    switch (sort) {
    case TT_VALUES_BY_RMS:
        return p->has_range ? p->rms : -1;
    case TT_VALUES_BY_MAX_ABS:
        return p->has_range ? tt_values_max_abs(p) : -1;
    case TT_VALUES_BY_MEAN:
        return p->has_range ? fabs(p->mean) : -1;
    case TT_VALUES_BY_BAD:
        return (double)p->n_nan + (double)p->n_inf;
    case TT_VALUES_BY_ELEMENTS:
        return (double)p->n;
    case TT_VALUES_BY_EXECUTION:
    case TT_VALUES_BY_NAME:
        return 0;
    }
    return 0;
}

static tt_status take(void *context, tt_values_walk *w, const tt_values_seen *seen, tt_error *err)
{
    listing *l = context;
    (void)w;
    if (!seen->print || !is_wanted(l->q->which, seen)) return TT_OK;
    const uint64_t place = l->total++;
    /* In the order of execution it is known here what is on the page. */
    if (l->q->sort == TT_VALUES_BY_EXECUTION &&
        (place < l->q->offset || (l->q->limit && place - l->q->offset >= l->q->limit)))
        return TT_OK;
    if (l->n == l->capacity) {
        size_t larger = l->capacity ? l->capacity * 2 : 1024;
        entry *more = realloc(l->list, larger * sizeof *more);
        if (!more) return tt_error_memory(err, "the list of values");
        l->list = more;
        l->capacity = larger;
    }
    l->list[l->n++] = (entry){seen->run, seen->node, key_of(l->q->sort, seen->print), place};
    return TT_OK;
}

static int by_place(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_key(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->key > y->key || x->key < y->key) return x->key > y->key ? -1 : 1;
    return by_place(x->place, y->place);
}

static const char *name_of(const tt_model *m, const entry *e)
{
    return m->graphs[m->runs[e->run].graph].tensors[e->node].name;
}

static int by_name(const void *a, const void *b, void *model)
{
    const entry *x = a, *y = b;
    int order = strcmp(name_of(model, x), name_of(model, y));
    return order ? order : by_place(x->place, y->place);
}

/* Leaves the entries of the page, in its order. */
static void cut_page(listing *l)
{
    const tt_values_query *q = l->q;
    if (q->sort == TT_VALUES_BY_EXECUTION) return;
    if (q->sort == TT_VALUES_BY_NAME)
        qsort_r(l->list, l->n, sizeof *l->list, by_name, (void *)(uintptr_t)l->m);
    else if (l->n)
        qsort(l->list, l->n, sizeof *l->list, by_key);
    size_t skip = q->offset < l->n ? (size_t)q->offset : l->n;
    l->n -= skip;
    if (l->n) memmove(l->list, l->list + skip, l->n * sizeof *l->list);
    if (q->limit && l->n > q->limit) l->n = (size_t)q->limit;
}

/* The fingerprints of the page's outputs, in a second walk: so that not all need be held. */
static tt_status fill_page(const listing *l, const tt_over *over, tt_values_page *out,
                           tt_error *err)
{
    tt_values_ref *refs = calloc(l->n + 1, sizeof *refs);
    out->rows = calloc(l->n + 1, sizeof *out->rows);
    tt_status status = refs && out->rows ? TT_OK : tt_error_memory(err, "the list of values");
    for (size_t i = 0; refs && i < l->n; i++)
        refs[i] = (tt_values_ref){l->list[i].run, l->list[i].node};
    if (status == TT_OK) status = tt_values_fetch(l->m, l->q, refs, l->n, over, out->rows, err);
    if (status == TT_OK) out->n = l->n;
    free(refs);
    return status;
}

tt_status tt_values_list(const tt_model *m, const tt_values_query *q, const tt_over *over,
                         tt_values_page *out, tt_error *err)
{
    listing l = {.m = m, .q = q};
    memset(out, 0, sizeof *out);
    tt_status status = tt_values_walk_all(m, q, false, over, take, &l, &out->counts, err);
    if (status == TT_OK) {
        out->total = l.total;
        cut_page(&l);
        status = fill_page(&l, over, out, err);
    }
    free(l.list);
    return status;
}

void tt_values_page_free(tt_values_page *p)
{
    free(p->rows);
    memset(p, 0, sizeof *p);
}
