#include "answer/log.h"

#include <errno.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)1 << 18) /* written together */

tt_status tt_log_writer_open(tt_log_writer *w, const tt_model *m, bool by_lane,
                             tt_log_format format, const char *columns, FILE *out, tt_error *err)
{
    const tt_listing_wish wish = {.columns = columns,
                                  .text = format == TT_LOG_TEXT,
                                  .csv = format == TT_LOG_CSV || format == TT_LOG_TSV};
    *w = (tt_log_writer){.format = format, .out = out, .picks = {.m = m}};
    tt_bytes_init(&w->text, (size_t)1 << 26);
    tt_bytes_init(&w->cell, (size_t)1 << 20);
    w->set = tt_log_rowset(m, &w->row, by_lane);
    const tt_status status = tt_listing_make(&w->list, &w->set, &wish, err);
    w->list.tabs = format == TT_LOG_TSV;
    return status;
}

void tt_log_writer_close(tt_log_writer *w)
{
    tt_listing_free(&w->list);
    tt_log_picks_free(&w->picks);
    tt_bytes_free(&w->text);
    tt_bytes_free(&w->cell);
}

void tt_log_writer_model(tt_log_writer *w, const tt_model *m)
{
    tt_log_picks_free(&w->picks);
    w->set.context = w->picks.m = m;
}

static tt_status flush(tt_log_writer *w, tt_error *err)
{
    if (w->text.failed || w->cell.failed) return tt_error_memory(err, "rows");
    if (w->text.size) (void)fwrite(w->text.data, 1, w->text.size, w->out);
    tt_bytes_clear(&w->text);
    return TT_OK;
}

void tt_log_writer_begin(tt_log_writer *w, const char *path)
{
    if (w->list.tabs || w->format == TT_LOG_CSV) tt_listing_csv_header(&w->text, &w->list);
    if (w->format != TT_LOG_JSON) return;
    tt_json_begin(&w->json, w->out, 0);
    tt_json_object(&w->json);
    tt_json_kv_string(&w->json, "file", path);
    tt_json_key(&w->json, "ops");
    tt_json_array(&w->json);
}

tt_status tt_log_writer_put(tt_log_writer *w, const tt_log_op *op, tt_error *err)
{
    tt_log_row *r = &w->row;
    *r = (tt_log_row){.row = op, .text = &w->cell, .places = r->places, .hex = r->hex};
    const tt_status status =
        tt_log_picks_of(&w->picks, op, &r->op, &r->accesses, &r->n_accesses, err);
    if (status != TT_OK || w->format == TT_LOG_TEXT) return status;
    if (w->format != TT_LOG_JSON) {
        tt_listing_csv_row(&w->text, &w->list, r);
        return w->text.size >= BLOCK_BYTES || w->text.failed ? flush(w, err) : TT_OK;
    }
    if (!w->list.chosen) {
        tt_log_json_op(&w->json, w->picks.m, op, r->op, r->accesses, r->n_accesses);
        return TT_OK;
    }
    tt_json_object(&w->json);
    tt_listing_json_row(&w->json, &w->list, r);
    tt_json_object_end(&w->json);
    return TT_OK;
}

tt_status tt_log_writer_end(tt_log_writer *w, bool more, tt_error *err)
{
    const tt_status status = flush(w, err);
    bool ok = true;
    if (w->format == TT_LOG_JSON) {
        tt_json_array_end(&w->json);
        tt_json_kv_bool(&w->json, "more", more);
        tt_json_object_end(&w->json);
        ok = tt_json_end(&w->json);
    }
    if (status != TT_OK || (ok && !ferror(w->out))) return status;
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "the file could not be written: %s",
                        strerror(errno));
}
