#include "analyze/log/log.h"

#include "analyze/log/log_cursor.h"

#include <stdlib.h>

static tt_status walk(tt_log_cursor *c, tt_log_visit *visit, void *context, tt_error *err)
{
    for (;;) {
        tt_log_event event;
        tt_log_op op;
        tt_status status = tt_log_cursor_step(c, &event, err);
        if (status != TT_OK || event == TT_LOG_END) return status;
        if (event != TT_LOG_ROW) continue;
        if (!tt_log_cursor_op(c, &op)) return tt_error_memory(err, "a run's ops");
        if (!visit(context, &op)) return TT_OK;
    }
}

tt_status tt_log_walk(const tt_model *m, const tt_filter *filter, bool by_lane, tt_log_visit *visit,
                      void *context, tt_error *err)
{
    tt_log_cursor *c = NULL;
    uint32_t *order = tt_log_order(m);
    tt_status status = order ? tt_log_cursor_open(m, filter, by_lane, order, &c, err)
                             : tt_error_memory(err, "a log");
    if (status == TT_OK) status = walk(c, visit, context, err);
    tt_log_cursor_close(c);
    free(order);
    return status;
}
