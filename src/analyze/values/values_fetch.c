#include "analyze/values/values_fetch.h"

#include "analyze/values/values_walk.h"

#include <stdlib.h>

typedef struct fetching {
    const tt_values_ref *refs;
    size_t *order; /* of refs: that of execution */
    size_t n, next;
    tt_values_row *rows;
} fetching;

static tt_status fetch(void *context, tt_values_walk *w, const tt_values_seen *seen, tt_error *err)
{
    fetching *f = context;
    (void)w;
    (void)err;
    if (f->next == f->n || !seen->print) return TT_OK;
    const size_t at = f->order[f->next];
    if (f->refs[at].run != seen->run || f->refs[at].node != seen->node) return TT_OK;
    f->rows[at] = tt_values_seen_row(seen);
    f->next++;
    return TT_OK;
}

static int by_execution(const void *a, const void *b, void *refs)
{
    const tt_values_ref *x = (const tt_values_ref *)refs + *(const size_t *)a;
    const tt_values_ref *y = (const tt_values_ref *)refs + *(const size_t *)b;
    if (x->run != y->run) return x->run < y->run ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

tt_status tt_values_fetch(const tt_model *m, const tt_values_query *q, const tt_values_ref *refs,
                          size_t n, const tt_over *over, tt_values_row *rows, tt_error *err)
{
    fetching f = {.refs = refs, .n = n, .rows = rows};
    tt_values_counts again;
    if (n == 0) return TT_OK;
    f.order = calloc(n, sizeof *f.order);
    if (!f.order) return tt_error_memory(err, "the list of values");
    for (size_t i = 0; i < n; i++)
        f.order[i] = i;
    qsort_r(f.order, n, sizeof *f.order, by_execution, (void *)(uintptr_t)refs);
    tt_status status = tt_values_walk_all(m, q, false, over, fetch, &f, &again, err);
    if (status == TT_OK && f.next < n)
        status = tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                              "the trace's values are not the same when read again");
    free(f.order);
    return status;
}
