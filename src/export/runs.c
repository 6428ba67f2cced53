#include "export/runs.h"

#include "analyze/log/log.h"

#include <stdlib.h>
#include <string.h>

tt_status tt_runs_divide(tt_runs *r, const tt_model *m, const tt_filter *filter,
                         uint64_t records_a_part, tt_error *err)
{
    uint64_t records = 0;
    memset(r, 0, sizeof *r);
    r->order = tt_log_order(m);
    r->parts = calloc((size_t)m->n_runs + 2, sizeof *r->parts);
    if (!r->order || !r->parts)
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to write the trace");
    for (uint32_t i = 0; i < m->n_runs; i++)
        if (!filter || tt_filter_run(filter, m, &m->runs[r->order[i]]))
            r->order[r->n++] = r->order[i];
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
