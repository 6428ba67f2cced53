/* Which graph computations and batches share a track: those of one llama context, if they do not
 * overlap. Slices of a track must nest, and two contexts may compute at the same time, with threads
 * of the same numbers. */
#include "export/perfetto/perfetto.h"

#include "base/order.h"

#include <inttypes.h>
#include <stdlib.h>

TT_ORDER_BY(by_begin, tt_perfetto_span, begin, item)

/* A row of the context that is free at that time, or whose last span has no end: a context does one
 * thing at a time, so that span ended before the next began. */
static uint32_t find_row(tt_perfetto_rows *r, uint32_t context, uint64_t begin)
{
    uint32_t nth = 0;
    for (uint32_t i = 0; i < r->n_rows; i++) {
        if (r->rows[i].context != context) continue;
        tt_perfetto_span *last = &r->spans[r->rows[i].last];
        if (last->end == UINT64_MAX) last->end = begin;
        if (last->end <= begin) return i;
        nth++;
    }
    if (r->n_rows == TT_PERFETTO_ROWS_MAX) return TT_NONE;
    r->rows[r->n_rows] = (tt_perfetto_row){.context = context, .nth = nth};
    return r->n_rows++;
}

static void arrange(tt_perfetto_rows *r, const uint32_t *contexts)
{
    uint32_t sorted = 1;
    while (sorted < r->n && by_begin(&r->spans[sorted - 1], &r->spans[sorted]) <= 0)
        sorted++;
    if (sorted < r->n) qsort(r->spans, r->n, sizeof *r->spans, by_begin);
    for (uint32_t i = 0; i < r->n; i++) {
        tt_perfetto_span *s = &r->spans[i];
        s->row = find_row(r, contexts[s->item], s->begin);
        if (s->row == TT_NONE)
            r->left_out++;
        else
            r->rows[s->row].last = i;
    }
}

static bool make_room(tt_perfetto_rows *r, uint32_t n, uint32_t **contexts)
{
    r->spans = calloc((size_t)n + 1, sizeof *r->spans);
    *contexts = calloc((size_t)n + 1, sizeof **contexts);
    return r->spans && *contexts;
}

static void add(tt_perfetto_rows *r, uint32_t item, uint64_t begin, bool ended, uint64_t end)
{
    r->spans[r->n++] = (tt_perfetto_span){.item = item,
                                          .begin = begin,
                                          .end = !ended        ? UINT64_MAX
                                                 : end < begin ? begin
                                                               : end};
}

tt_status tt_perfetto_rows_of_runs(tt_perfetto_rows *r, const tt_model *m, const tt_runs *runs,
                                   tt_error *err)
{
    uint32_t *contexts;
    if (!make_room(r, m->n_runs, &contexts)) {
        free(contexts);
        return tt_error_memory(err, "the tracks");
    }
    for (uint32_t i = 0; i < runs->n; i++) {
        const tt_run *run = &m->runs[runs->order[i]];
        contexts[runs->order[i]] = run->batch == TT_NONE ? TT_NONE : m->batches[run->batch].context;
        add(r, runs->order[i], run->begin_ticks, run->ended, run->end_ticks);
    }
    arrange(r, contexts);
    free(contexts);
    return TT_OK;
}

tt_status tt_perfetto_rows_of_batches(tt_perfetto_rows *r, const tt_model *m,
                                      const tt_filter *filter, tt_error *err)
{
    uint32_t *contexts;
    if (!make_room(r, m->n_batches, &contexts)) {
        free(contexts);
        return tt_error_memory(err, "the tracks");
    }
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &m->batches[i];
        contexts[i] = b->context;
        if (tt_filter_batch(filter, m, i)) add(r, i, b->begin_ticks, b->ended, b->end_ticks);
    }
    arrange(r, contexts);
    free(contexts);
    return TT_OK;
}

void tt_perfetto_rows_free(tt_perfetto_rows *r)
{
    free(r->spans);
    r->spans = NULL;
    r->n = 0;
}

char *tt_perfetto_row_name(char out[96], const tt_perfetto_rows *r, uint32_t row, const char *name)
{
    const tt_perfetto_row *at = &r->rows[row];
    bool several = false;
    for (uint32_t i = 0; i < r->n_rows; i++)
        several |= r->rows[i].context != at->context;
    int used = snprintf(out, 96, "%.40s", name);
    if (several && at->context != TT_NONE)
        used += snprintf(out + used, 96 - (size_t)used, ", context %" PRIu32, at->context);
    else if (several)
        used += snprintf(out + used, 96 - (size_t)used, ", outside batches");
    if (at->nth) (void)snprintf(out + used, 96 - (size_t)used, " (%" PRIu32 ")", at->nth + 1);
    return out;
}
