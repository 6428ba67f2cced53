/* memory/pages: page faults by page. memory/loading: loading of the model by page. Below both, bins
 * for a map. */
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

#define SPANS_MAX 256u           /* per request */
#define BIN_PAGES_MAX (1u << 30) /* per bin */
#define FAULTS_USUAL 20u
#define FAULTS_MAX 10000u

static const tt_listing_wish all;

/* Computed once per trace. */
typedef struct known_pages {
    tt_page_faults faults;
    tt_memory_layout *layout;
    tt_page_index index;
} known_pages;

static void release(known_pages *p)
{
    tt_page_index_free(&p->index);
    tt_memory_layout_free(p->layout);
    tt_page_faults_free(&p->faults);
}

static tt_status find(known_pages *p, tt_model *m, tt_error *err)
{
    tt_status status = tt_page_faults_find(&p->faults, m, err);
    if (status == TT_OK) status = tt_memory_layout_make(m, &p->layout, err);
    if (status == TT_OK) status = tt_page_index_make(&p->index, &p->faults, p->layout, err);
    return status;
}

TT_SOURCE_MEMO(pages_memo, known_pages, "the pages", find, release)

/* --- common members --- */

TT_COLUMN_VALUE(get_observed, known_pages, p, boolean, p->faults.m->n_fault_spans > 0)
TT_COLUMN_KNOWN(has_pages, known_pages, p, p->faults.m->n_fault_spans > 0)
TT_COLUMN_VALUE(get_faults, known_pages, p, u64, p->faults.m->n_page_faults)
TT_COLUMN_GET(get_lost, known_pages, p,
              cell->known = tt_model_count(p->faults.m, "page_faults_lost", &cell->u64);)
TT_COLUMN_ROWS(mappings, known_pages, p, p->faults.m->mappings, p->faults.m->n_mappings)

static const tt_column path_column =
    TT_FIELD("path", "what is mapped", TT_MEMBER(tt_mapping, path));
static const tt_schema mapping_schema = {"mappings", "a mapping", &path_column, 1};

/* Kinds of replies. */
enum { PAGES = 1, BINS = 2 };

static const tt_column head_columns[] = {
    TT_FIELD("observed", "page by page", .type = TT_CELL_BOOL, .get = get_observed),
    TT_FIELD("page_bytes", "of a page", TT_MEMBER(known_pages, faults.page_bytes)),
    TT_FIELD("faults", "of the trace", .type = TT_CELL_U64, .known = has_pages, .get = get_faults),
    TT_FIELD("faults_lost", "when it was recorded", .type = TT_CELL_U64, .known = has_pages,
             .get = get_lost),
    TT_FIELD("mappings", "their files", .type = TT_CELL_LIST, .inner = &mapping_schema,
             .rows = mappings),
    TT_FIELD("on_map", "faults in a segment", .known = has_pages, TT_MEMBER(known_pages, index.n),
             .kinds = BINS),
};
static const tt_schema head_schema = TT_SCHEMA("pages", "all faults", head_columns);

/* --- pages --- */

TT_COLUMN_KNOWN(is_mapped, tt_fault_page, p, p->first.mapping != TT_MAPPING_NONE)
TT_COLUMN_KNOWN(of_file, tt_fault_page, p,
                p->first.mapping != TT_MAPPING_NONE &&
                    ((const tt_page_faults *)context)->m->mappings[p->first.mapping].inode)
TT_COLUMN_VALUE(get_file_offset, tt_fault_page, p, u64,
                p->first.file_offset_bytes & ~(((const tt_page_faults *)context)->page_bytes - 1))
TT_COLUMN_KNOWN(of_expert, tt_fault_page, p, p->first.expert != TT_EXPERT_NONE)
TT_COLUMN_VALUE(get_expert, tt_fault_page, p, u64, (uint64_t)p->first.expert)
TT_COLUMN_KNOWN(in_batch, tt_fault_page, p, p->first_batch != TT_NONE)
TT_COLUMN_VALUE(get_batch, tt_fault_page, p, u64,
                tt_model_batch_number(((const tt_page_faults *)context)->m, p->first_batch))

/* TT_NONE means "not known" in a column, too. */
static const tt_column page_columns[] = {
    TT_FIELD("address", "of the page", TT_MEMBER(tt_fault_page, address)),
    TT_FIELD("file_offset_bytes", "of the page", .type = TT_CELL_U64, .get = get_file_offset,
             .known = of_file),
    TT_FIELD("minor_faults", "of it", TT_MEMBER(tt_fault_page, minor)),
    TT_FIELD("major_faults", "of it", TT_MEMBER(tt_fault_page, major)),
    TT_FIELD("in_ops", "of these", TT_MEMBER(tt_fault_page, in_ops)),
    TT_FIELD("first_relative_ns", "the first fault", TT_MEMBER(tt_fault_page, first_ns)),
    TT_FIELD("last_relative_ns", "the last one", TT_MEMBER(tt_fault_page, last_ns)),
    TT_FIELD("mapping", "of the first", TT_MEMBER(tt_fault_page, first.mapping),
             .known = is_mapped),
    TT_FIELD("model_file_id", "of the first", TT_MEMBER(tt_fault_page, first.file)),
    TT_FIELD("weight", "of the first", TT_MEMBER(tt_fault_page, first.weight)),
    TT_FIELD("expert_id", "of the first", .type = TT_CELL_U32, .get = get_expert,
             .known = of_expert),
    TT_FIELD("first_batch_id", "of the first", .type = TT_CELL_U32, .get = get_batch,
             .known = in_batch),
};
static const tt_schema page_schema = TT_SCHEMA("pages", "a page", page_columns);

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
    const known_pages *p = made;
    status = tt_fault_pages_sum(&p->faults, TT_FAULT_PAGES_BY_PAGE, &filter, &list, &n, err);
    if (status == TT_OK) {
        tt_columns_begin(&c, &TT_ROWSET(&head_schema, PAGES, NULL, p, 1));
        tt_columns_add_rows(&c, &TT_ROWSET(&page_schema, 0, &p->faults, list, n), &all);
        status = tt_columns_end(&c, r, err);
    }
    free(list);
    return status;
}

/* --- bins --- */

/* "0-4096-819200-1": the part, start and end byte, pages per bin. *at is advanced past it. */
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
                          numbers[1], numbers[2], numbers[3] * tt_model_page_bytes(m)};
    return true;
}

/* Up to `most` of them, separated by _. */
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

static const tt_column bin_columns[] = {
    TT_FIELD("span", "number of the request's span", TT_MEMBER(tt_page_bin, span)),
    TT_FIELD("pages", "that faulted", TT_MEMBER(tt_page_bin, pages)),
    TT_FIELD("offset_bytes", "of the bin", TT_MEMBER(tt_page_bin, offset_bytes)),
    TT_FIELD("minor_faults", "of the bin", TT_MEMBER(tt_page_bin, minor)),
    TT_FIELD("major_faults", "of the bin", TT_MEMBER(tt_page_bin, major)),
};
static const tt_schema bin_schema = TT_SCHEMA("page_bins", "a bin", bin_columns);

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
        tt_columns_begin(&c, &TT_ROWSET(&head_schema, BINS, NULL, p, 1));
        tt_columns_add_rows(&c, &TT_ROWSET(&bin_schema, 0, NULL, bins, n), &all);
        status = tt_columns_end(&c, r, err);
    }
    free(bins);
    return status;
}

/* --- single faults --- */

/* A fault and its context. */
typedef struct fault_row {
    const tt_page_fault *fault;
    tt_fault_target target;
    double end_relative_ns;
    const char *tensor, *op, *name; /* NULL: none */
    bool of_file, of_run, of_lane;
    uint32_t batch, run, node, lane; /* batch: TT_NONE: none */
} fault_row;

static fault_row show(const tt_page_faults *f, uint32_t fault)
{
    const tt_model *m = f->m;
    const tt_fault_location *at = &f->places[fault];
    const tt_fault_target t = tt_page_faults_target(f, fault);
    const uint32_t batch = tt_page_faults_batch(f, fault);
    const tt_run *run = at->run == TT_NONE ? NULL : &m->runs[at->run];
    const tt_graph *g = run && run->graph != TT_NONE ? &m->graphs[run->graph] : NULL;
    const tt_tensor *node = g && at->node < g->n_nodes ? &g->tensors[at->node] : NULL;
    return (fault_row){
        .fault = &m->page_faults[fault],
        .target = t,
        .end_relative_ns = m->clock.known ? tt_model_ns(m, m->page_faults[fault].ticks) : NAN,
        .tensor =
            t.weight != TT_NONE && *m->weights[t.weight].name ? m->weights[t.weight].name : NULL,
        .op = node && *node->op_name ? node->op_name : NULL,
        .name = node && *node->name ? node->name : NULL,
        .of_file = t.mapping != TT_MAPPING_NONE && m->mappings[t.mapping].inode,
        .of_run = run != NULL,
        .of_lane = run && run->observed == TT_OBSERVED_HOOK,
        .batch = batch == TT_NONE ? TT_NONE : tt_model_batch_number(m, batch),
        .run = at->run,
        .node = at->node,
        .lane = at->lane};
}

TT_COLUMN_KNOWN(fault_of_file, fault_row, f, f->of_file)
TT_COLUMN_KNOWN(fault_of_expert, fault_row, f, f->target.expert != TT_EXPERT_NONE)
TT_COLUMN_KNOWN(fault_in_batch, fault_row, f, f->batch != TT_NONE)
TT_COLUMN_KNOWN(fault_in_run, fault_row, f, f->of_run)
TT_COLUMN_KNOWN(fault_of_lane, fault_row, f, f->of_lane)

TT_COLUMN_VALUE(get_major, fault_row, f, boolean, f->fault->major)

#define OF_FAULT(key_, member_)                                                                    \
    TT_FIELD(key_, "", TT_THROUGH(fault_row, fault), TT_MEMBER(tt_page_fault, member_))
static const tt_column fault_columns[] = {
    TT_FIELD("end_relative_ns", "its end", TT_MEMBER(fault_row, end_relative_ns)),
    TT_FIELD("major", "", .type = TT_CELL_BOOL, .get = get_major),
    OF_FAULT("address", address),
    TT_FIELD("file_offset_bytes", "", TT_MEMBER(fault_row, target.file_offset_bytes),
             .known = fault_of_file),
    TT_FIELD("tensor", "the weight", TT_MEMBER(fault_row, tensor)),
    TT_FIELD("expert_id", "", TT_MEMBER(fault_row, target.expert), .known = fault_of_expert),
    TT_FIELD("batch_id", "", TT_MEMBER(fault_row, batch), .known = fault_in_batch),
    TT_FIELD("run", "", TT_MEMBER(fault_row, run), .known = fault_in_run),
    TT_FIELD("node", "", TT_MEMBER(fault_row, node), .known = fault_in_run),
    TT_FIELD("op", "", TT_MEMBER(fault_row, op)),
    TT_FIELD("name", "of the node", TT_MEMBER(fault_row, name)),
    TT_FIELD("thread_id", "", TT_MEMBER(fault_row, lane), .known = fault_of_lane),
    OF_FAULT("os_thread_id", thread),
};
static const tt_schema fault_schema = TT_SCHEMA("faults", "a fault", fault_columns);

typedef struct faults_row {
    bool observed;
    size_t n, shown;
    fault_row *list;
} faults_row;

TT_COLUMN_KNOWN(was_observed, faults_row, r, r->observed)
TT_COLUMN_ROWS(listed_faults, faults_row, r, r->list, r->shown)

static const tt_column faults_columns[] = {
    TT_FIELD("observed", "page by page", TT_MEMBER(faults_row, observed)),
    TT_FIELD("n", "that pass", .known = was_observed, TT_MEMBER(faults_row, n)),
    TT_FIELD("faults", "the first of them", .type = TT_CELL_ROWS, .inner = &fault_schema,
             .rows = listed_faults),
};
static const tt_schema faults_schema = TT_SCHEMA("faults", "of a range", faults_columns);

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
    if (status != TT_OK) return status;
    faults_row row = {.observed = q->m->n_fault_spans > 0, .n = n, .shown = n < limit ? n : limit};
    row.list = calloc(row.shown + 1, sizeof *row.list);
    for (size_t i = 0; row.list && i < row.shown; i++)
        row.list[i] = show(&p->faults, faults[i]);
    status =
        row.list ? tt_reply_row(r, &faults_schema, NULL, &row) : tt_error_memory(err, "the answer");
    free(row.list);
    free(faults);
    return status;
}

/* --- loading --- */

typedef struct loading {
    tt_loading found;
    tt_memory_layout *layout;
} loading;

static void release_loading(loading *l)
{
    tt_loading_free(&l->found);
    tt_memory_layout_free(l->layout);
}

static tt_status find_loading(loading *l, tt_model *m, tt_error *err)
{
    tt_status status = tt_loading_find(&l->found, m, true, err);
    if (status == TT_OK) status = tt_memory_layout_make(m, &l->layout, err);
    return status;
}

TT_SOURCE_MEMO(loading_memo, loading, "the loading of models", find_loading, release_loading)

tt_status tt_answer_memory_loading(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *made;
    tt_listing rows = {0};
    tt_status status = tt_source_get(q, &loading_memo, &made, err);
    if (status != TT_OK) return status;
    const tt_rowset set = tt_loading_rowset(&((const loading *)made)->found);
    status = tt_listing_make(&rows, &set, &all, err);
    if (status == TT_OK)
        tt_loading_json(tt_reply_json(r), tt_traces_path(q->traces, q->trace_id), &rows);
    tt_listing_free(&rows);
    return status;
}

/* By model file: which sets of pages are known, and for which the outcome is. */
static void put_flags(tt_json *j, const bool *flags)
{
    tt_json_array(j);
    for (unsigned s = 0; s < TT_LOADING_SETS; s++)
        tt_json_bool(j, flags[s]);
    tt_json_array_end(j);
}
TT_COLUMN_JSON(json_known, tt_loading_pages, p, put_flags(j, p->known);)
TT_COLUMN_JSON(json_evaluated, tt_loading_pages, p, put_flags(j, p->evaluated);)

static const tt_column known_columns[] = {
    TT_FIELD("known", "", .type = TT_CELL_ROWS, .json = json_known),
    TT_FIELD("judged", "", .type = TT_CELL_ROWS, .json = json_evaluated),
};
static const tt_schema known_schema = TT_SCHEMA("model_files", "a model file", known_columns);

TT_COLUMN_VALUE(get_page_bytes, tt_loading, l, u64, tt_model_page_bytes(l->m))
TT_COLUMN_ROWS(files, tt_loading, l, l->pages, l->m->n_files)

static const tt_column loading_head_columns[] = {
    TT_FIELD("page_bytes", "of a page", .type = TT_CELL_U64, .get = get_page_bytes),
    TT_FIELD("model_files", "", .type = TT_CELL_ROWS, .inner = &known_schema, .rows = files),
};
static const tt_schema loading_head_schema = TT_SCHEMA("loading", "", loading_head_columns);

#define OF_KIND(key_, kind_)                                                                       \
    TT_FIELD(key_, "", TT_MEMBER(tt_loading_bin, bytes[TT_LOADING_##kind_]))
static const tt_column loading_bin_columns[] = {
    TT_FIELD("span", "number of the request's span", TT_MEMBER(tt_loading_bin, span)),
    TT_FIELD("offset_bytes", "of the bin", TT_MEMBER(tt_loading_bin, offset_bytes)),
    OF_KIND("resident_bytes", CAME_WARM),
    OF_KIND("mapped_bytes", CAME_MAPPED),
    OF_KIND("loaded_bytes", CAME_LOADED),
    OF_KIND("used_bytes", PAGES_USED),
    OF_KIND("unused_bytes", PAGES_UNUSED),
    OF_KIND("evicted_bytes", PAGES_EVICTED),
    OF_KIND("fetched_again_bytes", PAGES_AGAIN),
};
static const tt_schema loading_bin_schema = TT_SCHEMA("loading_bins", "a bin", loading_bin_columns);

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
        tt_columns_begin(&c, &TT_ROWSET(&loading_head_schema, 0, NULL, &l->found, 1));
        tt_columns_add_rows(&c, &TT_ROWSET(&loading_bin_schema, 0, NULL, bins, n), &all);
        status = tt_columns_end(&c, r, err);
    }
    free(bins);
    return status;
}
