/* /api/v1/traces/ID/log/export: all matching rows, as a file to save. */
#include "analyze/log/columns.h"
#include "analyze/log/log.h"
#include "serve/endpoints.h"
#include "serve/log_filter.h"
#include "serve/traces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rows between checks that the client still waits. */
#define BLOCK_BYTES ((size_t)1 << 18)
/* `tensortrace export` is for larger files: it compresses and uses all cores. */
#define FILE_BYTES_MAX ((uint64_t)8 << 30)

enum { CSV, TSV, JSON };

typedef struct writer {
    const tt_request *q;
    FILE *out;
    size_t format;
    tt_json json;
    tt_bytes text;
    tt_log_picks picks;
    tt_listing list; /* of CSV and TSV */
    tt_rowset set;
    tt_log_row row;
    tt_bytes cell;
    uint64_t rows;
} writer;

static tt_status check(writer *w, tt_error *err)
{
    if (tt_request_is_over(w->q))
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "nobody waits for the file any more");
    if (ferror(w->out))
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "the file could not be written: %s",
                            strerror(errno));
    if ((uint64_t)ftello(w->out) > FILE_BYTES_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "more than 8 GiB: filter, or use `tensortrace export`");
    return TT_OK;
}

static tt_status flush(writer *w, tt_error *err)
{
    if (w->text.failed) return tt_error_memory(err, "rows");
    if (w->text.size) (void)fwrite(w->text.data, 1, w->text.size, w->out);
    tt_bytes_clear(&w->text);
    return check(w, err);
}

static tt_status put_row(writer *w, tt_log_cursor *c, tt_error *err)
{
    tt_log_op row;
    const tt_op *op;
    const tt_access *list;
    size_t n;
    if (!tt_log_cursor_op(c, &row)) return tt_error_memory(err, "rows");
    tt_status status = tt_log_picks_of(&w->picks, &row, &op, &list, &n, err);
    if (status != TT_OK) return status;
    w->rows++;
    if (w->format == JSON) {
        tt_log_json_op(&w->json, w->q->m, &row, op, list, n);
        return w->rows % 1024 == 0 ? check(w, err) : TT_OK;
    }
    w->row =
        (tt_log_row){.row = &row, .op = op, .accesses = list, .n_accesses = n, .text = &w->cell};
    tt_listing_csv_row(&w->text, &w->list, &w->row);
    w->text.failed |= w->cell.failed;
    return w->text.size >= BLOCK_BYTES || w->text.failed ? flush(w, err) : TT_OK;
}

static tt_status put_rows(writer *w, const tt_filter *f, bool by_lane, tt_error *err)
{
    tt_log_cursor *c = NULL;
    tt_log_event event = TT_LOG_LOOKED;
    uint32_t *order = tt_log_order(w->q->m);
    uint64_t looked = 0;
    tt_status status = order ? tt_log_cursor_open(w->q->m, f, by_lane, order, &c, err)
                             : tt_error_memory(err, "rows");
    while (status == TT_OK && event != TT_LOG_END) {
        status = tt_log_cursor_step(c, &event, err);
        if (status == TT_OK && event == TT_LOG_ROW) status = put_row(w, c, err);
        if (status == TT_OK && event == TT_LOG_LOOKED && ++looked % 256 == 0)
            status = check(w, err);
    }
    tt_log_cursor_close(c);
    free(order);
    return status;
}

/* As `tensortrace log --json` writes it. */
static tt_status write_json(writer *w, const tt_filter *f, bool by_lane, tt_error *err)
{
    tt_json_begin(&w->json, w->out, 0);
    tt_json_object(&w->json);
    tt_json_kv_string(&w->json, "file", tt_traces_path(w->q->traces, w->q->trace_id));
    tt_json_key(&w->json, "ops");
    tt_json_array(&w->json);
    tt_status status = put_rows(w, f, by_lane, err);
    tt_json_array_end(&w->json);
    tt_json_kv_bool(&w->json, "more", false);
    tt_json_object_end(&w->json);
    if (!tt_json_end(&w->json) && status == TT_OK)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "the file could not be written: %s",
                            strerror(errno));
    return status;
}

static tt_status write_table(writer *w, const tt_filter *f, bool by_lane, tt_error *err)
{
    const tt_listing_wish wish = {.csv = true};
    w->set = tt_log_rowset(w->q->m, &w->row, by_lane);
    tt_status status = tt_listing_make(&w->list, &w->set, &wish, err);
    w->list.tabs = w->format == TSV;
    if (status == TT_OK) tt_listing_csv_header(&w->text, &w->list);
    if (status == TT_OK) status = put_rows(w, f, by_lane, err);
    tt_listing_free(&w->list);
    return status == TT_OK ? flush(w, err) : status;
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
    writer *w = calloc(1, sizeof *w);
    if (!w) return tt_error_memory(err, "a file");
    *w = (writer){.q = q, .format = format, .picks = {.m = q->m}};
    tt_bytes_init(&w->text, (size_t)1 << 26);
    tt_bytes_init(&w->cell, (size_t)1 << 20);
    w->out = tt_reply_file(r, names[format], types[format]);
    if (w->out)
        status =
            format == JSON ? write_json(w, &f, by_lane, err) : write_table(w, &f, by_lane, err);
    else
        status =
            tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "no room for a file: %s", strerror(errno));
    tt_log_picks_free(&w->picks);
    tt_bytes_free(&w->text);
    tt_bytes_free(&w->cell);
    free(w);
    return status;
}
