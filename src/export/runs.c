#include "export/runs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int by_begin(const void *a, const void *b, void *context)
{
    const tt_run *runs = context;
    const tt_run *x = &runs[*(const uint32_t *)a], *y = &runs[*(const uint32_t *)b];
    if (x->begin_ticks != y->begin_ticks) return x->begin_ticks < y->begin_ticks ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void sort(tt_runs *r, const tt_model *m)
{
    uint32_t sorted = 1;
    while (sorted < r->n && by_begin(&r->order[sorted - 1], &r->order[sorted], m->runs) <= 0)
        sorted++;
    if (sorted < r->n) qsort_r(r->order, r->n, sizeof *r->order, by_begin, m->runs);
}

tt_status tt_runs_divide(tt_runs *r, const tt_model *m, const tt_filter *filter,
                         uint64_t records_a_part, tt_error *err)
{
    uint64_t records = 0;
    memset(r, 0, sizeof *r);
    r->order = calloc((size_t)m->n_runs + 1, sizeof *r->order);
    r->parts = calloc((size_t)m->n_runs + 2, sizeof *r->parts);
    if (!r->order || !r->parts)
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to write the trace");
    for (uint32_t i = 0; i < m->n_runs; i++)
        if (!filter || tt_filter_run(filter, m, &m->runs[i])) r->order[r->n++] = i;
    sort(r, m);
    for (uint32_t i = 0; i < r->n; i++) {
        const tt_run *run = &m->runs[r->order[i]];
        if (i == 0 || records >= records_a_part) {
            r->parts[r->n_parts++] = i;
            records = 0;
        }
        if (run->graph == TT_NONE) continue;
        records += (uint64_t)m->graphs[run->graph].n_executed * (run->threads ? run->threads : 1);
    }
    r->parts[r->n_parts] = r->n;
    return TT_OK;
}

void tt_runs_free(tt_runs *r)
{
    free(r->order);
    free(r->parts);
    memset(r, 0, sizeof *r);
}
