/* memory/pages: the pages that faulted. memory/loading: how the model came into RAM. Below both,
 * bins: what a map draws of them. */
#include "analyze/access.h"
#include "analyze/loading.h"
#include "analyze/page_faults.h"
#include "answer/faults.h"
#include "serve/columns.h"
#include "serve/endpoints.h"
#include "serve/request.h"
#include "serve/source.h"
#include "serve/traces.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPANS_MAX 256u           /* of a request */
#define BIN_PAGES_MAX (1u << 30) /* of a bin */
#define FAULTS_USUAL 20u
#define FAULTS_MAX 10000u

/* Computed once a trace. */
typedef struct known_pages {
    tt_page_faults faults;
    tt_memory_layout *layout;
    tt_page_index index;
} known_pages;

static void drop(void *made)
{
    known_pages *p = made;
    if (!p) return;
    tt_page_index_free(&p->index);
    tt_memory_layout_free(p->layout);
    tt_page_faults_free(&p->faults);
    free(p);
}

static tt_status make(tt_model *m, void **out, tt_error *err)
{
    known_pages *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p) return tt_error_memory(err, "the pages");
    tt_status status = tt_page_faults_find(&p->faults, m, err);
    if (status == TT_OK) status = tt_memory_layout_make(m, &p->layout, err);
    if (status == TT_OK) status = tt_page_index_make(&p->index, &p->faults, p->layout, err);
    if (status == TT_OK)
        *out = p;
    else
        drop(p);
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
    tt_fault_page *list = NULL;
    tt_columns c;
    size_t n;
    if (!tt_request_filter(q, &filter, err)) return TT_E_USAGE;
    tt_status status = tt_source_get(q, &pages_memo, &made, err);
    if (status != TT_OK) return status;
    const tt_page_faults *f = &((const known_pages *)made)->faults;
    status = tt_fault_pages_sum(f, TT_FAULT_PAGES_BY_PAGE, &filter, &list, &n, err);
    if (status == TT_OK) {
        if (tt_columns_begin(&c)) {
            put_header(c.json, f);
            put_pages(&c, f, list, n);
        }
        status = tt_columns_end(&c, r, err);
    }
    free(list);
    return status;
}

/* --- bins --- */

/* "0-4096-819200-1": what of it, bytes from and to, pages of a bin. *at gets what follows. */
static bool take_numbers(const char **at, uint64_t numbers[4])
{
    for (int i = 0; i < 4; i++) {
        char *end;
        if (**at < '0' || **at > '9') return false;
        errno = 0;
        numbers[i] = strtoull(*at, &end, 10);
        if (errno || (i < 3 && *end != '-')) return false;
        *at = i < 3 ? end + 1 : end;
    }
    return numbers[3] <= BIN_PAGES_MAX;
}

/* "file0-0-4096-1" or "buffer7-0-4096-1". */
static bool take_span(const char **at, const tt_model *m, const tt_memory_layout *layout,
                      tt_page_span *out)
{
    uint64_t numbers[4];
    const bool is_file = strncmp(*at, "file", 4) == 0;
    if (!is_file && strncmp(*at, "buffer", 6) != 0) return false;
    *at += is_file ? 4 : 6;
    if (!take_numbers(at, numbers) || numbers[0] >= (is_file ? m->n_files : m->n_buffers))
        return false;
    *out = (tt_page_span){is_file ? (uint32_t)numbers[0] : layout->segment_of_buffer[numbers[0]],
                          numbers[1], numbers[2], numbers[3] * tt_page_faults_page_bytes(m)};
    return true;
}

/* Up to `most` of them, with _ between. */
static tt_status take_spans(const tt_request *q, const tt_memory_layout *layout, size_t most,
                            tt_page_span *spans, size_t *n, tt_error *err)
{
    const char *at = tt_request_text(q, "spans");
    for (*n = 0; at && *n < most && take_span(&at, q->m, layout, &spans[*n]); at++) {
        ++*n;
        if (*at == '\0') return TT_OK;
        if (*at != '_') break;
    }
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                        "spans is to be SEGMENT-FROM-TO-PAGES: bytes of a segment of `memory`, and "
                        "the pages of a bin; up to %zu of them, with _ between",
                        most);
}

static void put_bins(tt_columns *c, const tt_page_bin *bins, size_t n)
{
    uint32_t *ids = tt_columns_add(c, "span", TT_COLUMN_U32, n);
    for (size_t i = 0; ids && i < n; i++)
        ids[i] = bins[i].span;
    ids = tt_columns_add(c, "pages", TT_COLUMN_U32, n);
    for (size_t i = 0; ids && i < n; i++)
        ids[i] = bins[i].pages;
    double *values = tt_columns_add(c, "offset_bytes", TT_COLUMN_F64, n);
    for (size_t i = 0; values && i < n; i++)
        values[i] = (double)bins[i].offset_bytes;
    values = tt_columns_add(c, "minor_faults", TT_COLUMN_F64, n);
    for (size_t i = 0; values && i < n; i++)
        values[i] = (double)bins[i].minor;
    values = tt_columns_add(c, "major_faults", TT_COLUMN_F64, n);
    for (size_t i = 0; values && i < n; i++)
        values[i] = (double)bins[i].major;
}

tt_status tt_answer_memory_pages_bins(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *made;
    tt_filter filter;
    tt_page_span spans[SPANS_MAX];
    tt_page_bin *bins = NULL;
    tt_columns c;
    size_t n_spans, n;
    if (!tt_request_filter(q, &filter, err)) return TT_E_USAGE;
    tt_status status = tt_source_get(q, &pages_memo, &made, err);
    if (status != TT_OK) return status;
    const known_pages *p = made;
    status = take_spans(q, p->layout, SPANS_MAX, spans, &n_spans, err);
    if (status == TT_OK)
        status = tt_page_bins_sum(&p->index, &filter, spans, n_spans, &bins, &n, err);
    if (status == TT_OK) {
        if (tt_columns_begin(&c)) {
            put_header(c.json, &p->faults);
            tt_json_kv_u64(c.json, "on_map", p->index.n);
            put_bins(&c, bins, n);
        }
        status = tt_columns_end(&c, r, err);
    }
    free(bins);
    return status;
}

/* --- single faults --- */

static void put_fault(tt_json *j, const tt_page_faults *f, uint32_t fault)
{
    const tt_model *m = f->m;
    const tt_page_fault *p = &m->page_faults[fault];
    const tt_fault_place *at = &f->places[fault];
    const tt_fault_target t = tt_page_faults_target(f, fault);
    const uint32_t batch = tt_page_faults_batch(f, fault);
    const tt_run *run = at->run == TT_NONE ? NULL : &m->runs[at->run];
    const tt_graph *g = run && run->graph != TT_NONE ? &m->graphs[run->graph] : NULL;
    const tt_tensor *node = g && at->node < g->n_nodes ? &g->tensors[at->node] : NULL;
    const bool is_file = t.mapping != TT_MAPPING_NONE && m->mappings[t.mapping].inode,
               has_lane = run && run->observed == TT_OBSERVED_HOOK;
    tt_json_object(j);
    tt_json_kv_double_or_null(j, "end_relative_ns", m->clock.known, tt_model_ns(m, p->ticks));
    tt_json_kv_bool(j, "major", p->major);
    tt_json_kv_u64(j, "address", p->address);
    tt_json_kv_u64_or_null(j, "file_offset_bytes", is_file, t.file_offset_bytes);
    tt_json_kv_text_or_null(j, "tensor", t.weight == TT_NONE ? NULL : m->weights[t.weight].name);
    tt_json_kv_u64_or_null(j, "expert_id", t.expert != TT_EXPERT_NONE, (uint64_t)t.expert);
    tt_json_kv_u64_or_null(j, "batch_id", batch != TT_NONE,
                           batch == TT_NONE ? 0 : tt_model_batch_number(m, batch));
    tt_json_kv_u64_or_null(j, "run", run, at->run);
    tt_json_kv_u64_or_null(j, "node", run, at->node);
    tt_json_kv_text_or_null(j, "op", node ? node->op_name : NULL);
    tt_json_kv_text_or_null(j, "name", node ? node->name : NULL);
    tt_json_kv_u64_or_null(j, "thread_id", has_lane, at->lane);
    tt_json_kv_u64(j, "os_thread_id", p->thread);
    tt_json_object_end(j);
}

tt_status tt_answer_memory_pages_faults(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *made;
    tt_filter filter;
    tt_page_span span;
    uint64_t limit;
    uint32_t *faults = NULL;
    size_t n_spans, n;
    if (!tt_request_filter(q, &filter, err) ||
        !tt_request_u64(q, "limit", 0, FAULTS_MAX, FAULTS_USUAL, &limit, err))
        return TT_E_USAGE;
    tt_status status = tt_source_get(q, &pages_memo, &made, err);
    if (status != TT_OK) return status;
    const known_pages *p = made;
    status = take_spans(q, p->layout, 1, &span, &n_spans, err);
    if (status == TT_OK) status = tt_page_index_list(&p->index, &filter, &span, &faults, &n, err);
    tt_json *j = status == TT_OK ? tt_reply_json(r) : NULL;
    if (j) {
        tt_json_object(j);
        tt_json_kv_bool(j, "observed", q->m->n_fault_spans > 0);
        tt_json_kv_u64(j, "n", n);
        tt_json_key(j, "faults");
        tt_json_array(j);
        for (size_t i = 0; i < n && i < limit; i++)
            put_fault(j, &p->faults, faults[i]);
        tt_json_array_end(j);
        tt_json_object_end(j);
    } else if (status == TT_OK) {
        status = tt_error_memory(err, "the answer");
    }
    free(faults);
    return status;
}

/* --- loading --- */

typedef struct loading {
    tt_loading found;
    tt_memory_layout *layout;
} loading;

static void drop_loading(void *made)
{
    loading *l = made;
    if (!l) return;
    tt_loading_free(&l->found);
    tt_memory_layout_free(l->layout);
    free(l);
}

static tt_status make_loading(tt_model *m, void **out, tt_error *err)
{
    loading *l = calloc(1, sizeof *l);
    *out = NULL;
    if (!l) return tt_error_memory(err, "the loading of models");
    tt_status status = tt_loading_find(&l->found, m, true, err);
    if (status == TT_OK) status = tt_memory_layout_make(m, &l->layout, err);
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
    const tt_rowset set = tt_loading_rowset(&((const loading *)made)->found);
    status = tt_listing_make(&rows, &set, &all, err);
    tt_json *j = status == TT_OK ? tt_reply_json(r) : NULL;
    if (j)
        tt_loading_json(j, tt_traces_path(q->traces, q->trace_id), &rows);
    else if (status == TT_OK)
        status = tt_error_memory(err, "the loading of models");
    tt_listing_free(&rows);
    return status;
}

/* Of each model file, which sets of pages are known and what became of which is known. */
static void put_known(tt_json *j, const tt_loading *l)
{
    static const char *const names[] = {"known", "judged"};
    tt_json_kv_u64(j, "page_bytes", tt_page_faults_page_bytes(l->m));
    tt_json_key(j, "files");
    tt_json_array(j);
    for (uint32_t i = 0; i < l->m->n_files; i++) {
        const bool *const flags[] = {l->pages[i].known, l->pages[i].judged};
        tt_json_object(j);
        for (int k = 0; k < 2; k++) {
            tt_json_key(j, names[k]);
            tt_json_array(j);
            for (unsigned s = 0; s < TT_LOADING_SETS; s++)
                tt_json_bool(j, flags[k][s]);
            tt_json_array_end(j);
        }
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void put_loading_bins(tt_columns *c, const tt_loading_bin *bins, size_t n)
{
    static const char *const names[TT_LOADING_KINDS] = {
        "resident_bytes", "mapped_bytes",  "loaded_bytes",       "used_bytes",
        "unused_bytes",   "evicted_bytes", "fetched_again_bytes"};
    uint32_t *ids = tt_columns_add(c, "span", TT_COLUMN_U32, n);
    for (size_t i = 0; ids && i < n; i++)
        ids[i] = bins[i].span;
    double *values = tt_columns_add(c, "offset_bytes", TT_COLUMN_F64, n);
    for (size_t i = 0; values && i < n; i++)
        values[i] = (double)bins[i].offset_bytes;
    for (int k = 0; k < TT_LOADING_KINDS; k++) {
        values = tt_columns_add(c, names[k], TT_COLUMN_F64, n);
        for (size_t i = 0; values && i < n; i++)
            values[i] = (double)bins[i].bytes[k];
    }
}

tt_status tt_answer_memory_loading_bins(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *made;
    tt_page_span spans[SPANS_MAX];
    tt_loading_bin *bins = NULL;
    tt_columns c;
    size_t n_spans, n;
    tt_status status = tt_source_get(q, &loading_memo, &made, err);
    if (status != TT_OK) return status;
    const loading *l = made;
    status = take_spans(q, l->layout, SPANS_MAX, spans, &n_spans, err);
    if (status == TT_OK)
        status = tt_loading_bins_sum(&l->found, l->layout, spans, n_spans, &bins, &n, err);
    if (status == TT_OK) {
        if (tt_columns_begin(&c)) {
            put_known(c.json, &l->found);
            put_loading_bins(&c, bins, n);
        }
        status = tt_columns_end(&c, r, err);
    }
    free(bins);
    return status;
}
