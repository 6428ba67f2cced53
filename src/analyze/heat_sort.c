#include "analyze/heat.h"

#include <math.h>
#include <stdlib.h>

typedef struct sorting {
    const tt_model *m;
    tt_heat_sort by;
} sorting;

static double sort_value(const tt_heat_row *r, tt_heat_sort by)
{
    switch (by) {
    case TT_HEAT_SORT_ACCESSES:
        return (double)r->accesses;
    case TT_HEAT_SORT_READ:
        return (double)r->read_bytes;
    case TT_HEAT_SORT_SIZE:
        return (double)r->size_bytes;
    case TT_HEAT_SORT_TIME:
        return r->time_ns;
    case TT_HEAT_SORT_REUSE:
        return (double)r->reuse_p50_bytes;
    case TT_HEAT_SORT_FIRST:
        return r->accesses ? -(double)r->first_ticks : -INFINITY;
    case TT_HEAT_SORT_LAST:
        return r->accesses ? -(double)r->last_ticks : -INFINITY;
    case TT_HEAT_SORT_KEY:
        break;
    }
    return 0;
}

static int compare(const void *a, const void *b, void *context)
{
    const tt_heat_row *x = a, *y = b;
    const sorting *s = context;
    double u = sort_value(x, s->by), v = sort_value(y, s->by);
    if (u != v) return u > v ? -1 : 1;
    const tt_weight *w = &s->m->weights[x->weight], *z = &s->m->weights[y->weight];
    if (w->file != z->file) return w->file < z->file ? -1 : 1;
    if (w->offset_bytes != z->offset_bytes) return w->offset_bytes < z->offset_bytes ? -1 : 1;
    return x->expert < y->expert ? -1 : x->expert > y->expert;
}

void tt_heat_rows_sort(tt_heat *heat, const tt_model *m, tt_heat_sort by)
{
    sorting s = {m, by};
    if (heat->n_rows) qsort_r(heat->rows, heat->n_rows, sizeof *heat->rows, compare, &s);
}
