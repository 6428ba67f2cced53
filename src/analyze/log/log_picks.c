#include "analyze/log/log_picks.h"

#include <string.h>

void tt_log_picks_free(tt_log_picks *p)
{
    for (unsigned i = 0; i < TT_LOG_PICKS_RUNS; i++)
        tt_accesses_free(p->runs[i].accesses);
    memset(p->runs, 0, sizeof p->runs);
}

/* The picks of that run, loaded when they are not kept; NULL on failure. */
static tt_accesses *accesses_of(tt_log_picks *p, const tt_run *run, tt_error *err)
{
    unsigned at = 0;
    for (unsigned k = 0; k < TT_LOG_PICKS_RUNS; k++) {
        if (p->runs[k].run == run) {
            p->runs[k].used = p->rows;
            return p->runs[k].accesses;
        }
        if (p->runs[k].used < p->runs[at].used) at = k;
    }
    if (!p->runs[at].accesses) p->runs[at].accesses = tt_accesses_new(p->m);
    p->runs[at].run = NULL;
    if (!p->runs[at].accesses) {
        (void)tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
        return NULL;
    }
    if (tt_accesses_run(p->runs[at].accesses, (uint32_t)(run - p->m->runs), err) != TT_OK)
        return NULL;
    p->runs[at].run = run;
    p->runs[at].used = p->rows;
    return p->runs[at].accesses;
}

tt_status tt_log_picks_of(tt_log_picks *p, const tt_log_op *row, const tt_op **op,
                          const tt_access **list, size_t *n, tt_error *err)
{
    tt_error why = {0};
    *op = row->op;
    *list = NULL;
    *n = 0;
    p->rows++;
    if (!row->op->picks) return TT_OK;
    tt_accesses *accesses = accesses_of(p, row->run, &why);
    tt_status status = accesses ? tt_accesses_of(accesses, row->op, list, n, &why) : why.status;
    if (status != TT_OK) return tt_error_set(err, status, why.offset, "%s", why.message);
    p->measured = *row->op;
    tt_access_apply(&p->measured, *list, *n);
    *op = &p->measured;
    return TT_OK;
}
