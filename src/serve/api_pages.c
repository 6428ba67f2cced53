/* memory/pages: the pages that faulted. memory/loading: how the model came into RAM. */
#include "analyze/access.h"
#include "analyze/loading.h"
#include "analyze/page_faults.h"
#include "answer/faults.h"
#include "serve/columns.h"
#include "serve/endpoints.h"
#include "serve/request.h"
#include "serve/source.h"
#include "serve/traces.h"

#include <math.h>
#include <stdlib.h>

static void drop(void *made)
{
    if (made) tt_page_faults_free(made);
    free(made);
}

static tt_status make(tt_model *m, void **out, tt_error *err)
{
    tt_page_faults *f = calloc(1, sizeof *f);
    *out = NULL;
    if (!f) return tt_error_memory(err, "the pages");
    tt_status status = tt_page_faults_find(f, m, err);
    if (status == TT_OK)
        *out = f;
    else
        drop(f);
    return status;
}

static const tt_source_memo pages_memo = {make, drop};

enum { ADDRESS, OFFSET, MINOR, MAJOR, IN_OPS, FIRST, LAST, NUMBERS };
enum { MAPPING, FILE_, WEIGHT, EXPERT, TOKEN, IDS };

static double number_of(const tt_page_faults *f, const tt_fault_page *p, int column)
{
    const uint32_t mapping = p->first.mapping;
    switch (column) {
    case ADDRESS:
        return (double)p->address;
    case OFFSET:
        return mapping != TT_MAPPING_NONE && f->m->mappings[mapping].inode
                   ? (double)(p->first.file_offset_bytes & ~(f->page_bytes - 1))
                   : NAN;
    case MINOR:
        return (double)p->minor;
    case MAJOR:
        return (double)p->major;
    case IN_OPS:
        return (double)p->in_ops;
    case FIRST:
        return p->first_ns;
    default:
        return p->last_ns;
    }
}

static uint32_t id_of(const tt_page_faults *f, const tt_fault_page *p, int column)
{
    switch (column) {
    case MAPPING:
        return p->first.mapping == TT_MAPPING_NONE ? TT_COLUMNS_NO_U32 : p->first.mapping;
    case FILE_:
        return p->first.file == TT_NONE ? TT_COLUMNS_NO_U32 : p->first.file;
    case WEIGHT:
        return p->first.weight == TT_NONE ? TT_COLUMNS_NO_U32 : p->first.weight;
    case EXPERT:
        return p->first.expert == TT_EXPERT_NONE ? TT_COLUMNS_NO_U32 : (uint32_t)p->first.expert;
    default:
        return p->first_batch == TT_NONE ? TT_COLUMNS_NO_U32
                                         : tt_model_batch_number(f->m, p->first_batch);
    }
}

static void put_header(tt_json *j, const tt_page_faults *f)
{
    uint64_t lost = 0;
    const bool known = tt_model_count(f->m, "page_faults_lost", &lost);
    tt_json_kv_bool(j, "observed", f->m->n_fault_spans > 0);
    tt_json_kv_u64(j, "page_bytes", f->page_bytes);
    tt_json_kv_u64(j, "faults", f->m->n_page_faults);
    tt_json_kv_u64_or_null(j, "faults_lost", known, lost);
    tt_json_key(j, "mappings");
    tt_json_array(j);
    for (uint32_t i = 0; i < f->m->n_mappings; i++)
        tt_json_string(j, f->m->mappings[i].path);
    tt_json_array_end(j);
}

static void put_pages(tt_columns *c, const tt_page_faults *f, const tt_fault_page *pages, size_t n)
{
    static const char *const numbers[NUMBERS] = {
        "address", "file_offset_bytes", "minor_faults", "major_faults",
        "in_ops",  "first_ns",          "last_ns"};
    static const char *const ids[IDS] = {"mapping", "file", "weight", "expert_id", "first_token"};
    for (int column = 0; column < NUMBERS; column++) {
        double *values = tt_columns_add(c, numbers[column], TT_COLUMN_F64, n);
        for (size_t i = 0; values && i < n; i++)
            values[i] = number_of(f, &pages[i], column);
    }
    for (int column = 0; column < IDS; column++) {
        uint32_t *values = tt_columns_add(c, ids[column], TT_COLUMN_U32, n);
        for (size_t i = 0; values && i < n; i++)
            values[i] = id_of(f, &pages[i], column);
    }
}

tt_status tt_answer_memory_pages(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *made;
    tt_filter filter;
    tt_fault_page *pages = NULL;
    tt_columns c;
    size_t n;
    if (!tt_request_filter(q, &filter, err)) return TT_E_USAGE;
    tt_status status = tt_source_get(q, &pages_memo, &made, err);
    if (status == TT_OK)
        status = tt_fault_pages_sum(made, TT_FAULT_PAGES_BY_PAGE, &filter, &pages, &n, err);
    if (status == TT_OK) {
        if (tt_columns_begin(&c)) {
            put_header(c.json, made);
            put_pages(&c, made, pages, n);
        }
        status = tt_columns_end(&c, r, err);
    }
    free(pages);
    return status;
}

static void drop_loading(void *made)
{
    if (made) tt_loading_free(made);
    free(made);
}

static tt_status make_loading(tt_model *m, void **out, tt_error *err)
{
    tt_loading *l = calloc(1, sizeof *l);
    *out = NULL;
    if (!l) return tt_error_memory(err, "the loading of models");
    tt_status status = tt_loading_find(l, m, true, err);
    if (status == TT_OK)
        *out = l;
    else
        drop_loading(l);
    return status;
}

static const tt_source_memo loading_memo = {make_loading, drop_loading};

tt_status tt_answer_memory_loading(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *made;
    tt_listing rows = {0};
    static const tt_listing_wish all;
    tt_status status = tt_source_get(q, &loading_memo, &made, err);
    if (status != TT_OK) return status;
    const tt_rowset set = tt_loading_rowset(made);
    status = tt_listing_make(&rows, &set, &all, err);
    tt_json *j = status == TT_OK ? tt_reply_json(r) : NULL;
    if (j)
        tt_loading_json(j, tt_traces_path(q->traces, q->trace_id), &rows);
    else if (status == TT_OK)
        status = tt_error_memory(err, "the loading of models");
    tt_listing_free(&rows);
    return status;
}
