#include "answer/info.h"

#include "base/hex.h"

#include <stdio.h>
#include <string.h>

tt_status tt_info_collect(tt_info *info, const tt_model *m, const char *path, bool findings,
                          tt_stats_progress *progress, void *context, tt_error *err)
{
    memset(info, 0, sizeof *info);
    info->m = m;
    info->path = path;
    tt_summarize(m, &info->summary);
    tt_status status = tt_buffers_peaks(m, info->peaks, err);
    if (status != TT_OK || !findings) return status;
    status = tt_content_measure(m, &info->content, err);
    if (status != TT_OK || !m->clock.known) return status;
    info->by_category = tt_stats_new(m, TT_BY_CATEGORY, NULL);
    info->by_op = tt_stats_new(m, TT_BY_OP, NULL);
    info->by_tensor = tt_stats_new(m, TT_BY_TENSOR, NULL);
    info->by_phase = tt_stats_new(m, TT_BY_PHASE, NULL);
    info->by_thread = tt_stats_new(m, TT_BY_THREAD, NULL);
    tt_stats *const all[] = {info->by_category, info->by_op, info->by_tensor, info->by_phase,
                             info->by_thread};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!all[i]) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
    info->findings = true;
    return tt_stats_walk(all, sizeof all / sizeof *all, m, progress, context, err);
}

void tt_info_free(tt_info *info)
{
    tt_stats_free(info->by_category);
    tt_stats_free(info->by_op);
    tt_stats_free(info->by_tensor);
    tt_stats_free(info->by_phase);
    tt_stats_free(info->by_thread);
    memset(info, 0, sizeof *info);
}

void tt_info_run_id(const tt_info *info, char out[33])
{
    tt_hex(out, info->m->trace.header.run_id, 16);
}

const tt_stats_row *tt_info_row(tt_stats *s, const char *key)
{
    size_t n;
    const tt_stats_row *rows = tt_stats_rows(s, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].key, key) == 0) return &rows[i];
    return NULL;
}
