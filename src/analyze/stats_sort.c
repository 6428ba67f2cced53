/* The orders of the statistics' rows. */
#include "analyze/stats.h"

#include <stdlib.h>
#include <string.h>

static double sort_value(const tt_stats_row *r, tt_stats_sort by)
{
    switch (by) {
    case TT_SORT_COUNT:
        return (double)r->count;
    case TT_SORT_MEAN:
        return r->mean_ns;
    case TT_SORT_P50:
        return r->p50_ns;
    case TT_SORT_P95:
        return r->p95_ns;
    case TT_SORT_MAX:
        return r->max_ns;
    case TT_SORT_WAIT:
        return r->wait_ns;
    case TT_SORT_BYTES:
        return (double)r->weight_bytes;
    case TT_SORT_RATE:
        return tt_stats_rate(r);
    case TT_SORT_WORK:
        return r->work_ns;
    case TT_SORT_TOTAL:
    case TT_SORT_KEY:
        break;
    }
    return r->total_ns;
}

static int compare(const void *a, const void *b, void *context)
{
    const tt_stats_row *x = a, *y = b;
    tt_stats_sort by = *(const tt_stats_sort *)context;
    double u = sort_value(x, by), v = sort_value(y, by);
    /* What is not known is as good as any other. */
    if (by != TT_SORT_KEY && (u > v || u < v)) return u > v ? -1 : 1;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return strcmp(x->key, y->key);
}

void tt_stats_sort_rows(tt_stats_row *rows, size_t n, tt_stats_sort sort)
{
    if (n) qsort_r(rows, n, sizeof *rows, compare, &sort);
}
