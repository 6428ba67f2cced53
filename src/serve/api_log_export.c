/* /api/v1/traces/ID/log/export: all matching rows, as a file to save. */
#include "answer/log.h"
#include "serve/endpoints.h"
#include "serve/log_filter.h"
#include "serve/traces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rows between checks that the client still waits. */
#define BLOCK_ROWS 1024u
/* `tensortrace export` is for larger files: it compresses and uses all cores. */
#define FILE_BYTES_MAX ((uint64_t)8 << 30)

static tt_status check(const tt_request *q, FILE *out, tt_error *err)
{
    if (tt_request_is_over(q))
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "nobody waits for the file any more");
    if (ferror(out))
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "the file could not be written: %s",
                            strerror(errno));
    if ((uint64_t)ftello(out) > FILE_BYTES_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "more than 8 GiB: filter, or use `tensortrace export`");
    return TT_OK;
}

static tt_status put_rows(const tt_request *q, tt_log_writer *w, const tt_filter *f, bool by_lane,
                          FILE *out, tt_error *err)
{
    tt_log_cursor *c = NULL;
    tt_log_event event = TT_LOG_LOOKED;
    tt_log_op row;
    uint32_t *order = tt_log_order(q->m);
    uint64_t looked = 0, rows = 0;
    tt_status status =
        order ? tt_log_cursor_open(q->m, f, by_lane, order, &c, err) : tt_error_memory(err, "rows");
    while (status == TT_OK && event != TT_LOG_END) {
        status = tt_log_cursor_step(c, &event, err);
        if (status == TT_OK && event == TT_LOG_ROW)
            status = tt_log_cursor_op(c, &row) ? tt_log_writer_put(w, &row, err)
                                               : tt_error_memory(err, "rows");
        if (status == TT_OK && ((event == TT_LOG_ROW && ++rows % BLOCK_ROWS == 0) ||
                                (event == TT_LOG_LOOKED && ++looked % 256 == 0)))
            status = check(q, out, err);
    }
    tt_log_cursor_close(c);
    free(order);
    return status;
}

tt_status tt_answer_log_export(tt_request *q, tt_reply *r, tt_error *err)
{
    static const char *const formats[] = {"csv", "tsv", "json", NULL};
    static const char *const names[] = {"log.csv", "log.tsv", "log.json"};
    static const char *const types[] = {
        "text/csv; charset=utf-8", "text/tab-separated-values; charset=utf-8", "application/json"};
    tt_filter f;
    bool by_lane;
    size_t format;
    if (!tt_log_filter_of(q, &f, &by_lane, err) ||
        !tt_request_choice(q, "format", formats, 0, &format, err))
        return TT_E_USAGE;
    tt_status status = tt_model_need_clock(q->m, err);
    if (status != TT_OK) return status;
    FILE *out = tt_reply_file(r, names[format], types[format]);
    if (!out)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "no room for a file: %s", strerror(errno));
    tt_log_writer *w = calloc(1, sizeof *w);
    if (!w) return tt_error_memory(err, "a file");
    status =
        tt_log_writer_open(w, q->m, by_lane, (tt_log_format)(TT_LOG_CSV + format), NULL, out, err);
    if (status == TT_OK) {
        tt_log_writer_begin(w, tt_traces_path(q->traces, q->trace_id));
        status = put_rows(q, w, &f, by_lane, out, err);
        if (status == TT_OK) status = tt_log_writer_end(w, false, err);
    }
    tt_log_writer_close(w);
    free(w);
    return status;
}
