/* /api/v1/traces/ID/memory/path: the order of reads over time; memory/batches: what each batch
 * read. */
#include "analyze/memory/path.h"
#include "analyze/memory/tokens.h"
#include "serve/columns.h"
#include "serve/endpoints.h"
#include "serve/request.h"
#include "serve/source.h"

#include <stdlib.h>

/* Some 30,000 years: beyond it is an error. */
#define TIME_MAX 1e21
#define READS_DEFAULT 20000u
/* Up to so many ops a part is walked, which takes a tenth of a second; for more, the grid of the
 * whole run is cut. */
#define WALK_OPS 500000.0
/* A cut must not be coarser than so many cells. */
#define CUT_CELLS 64.0

/* --- the grid of the whole run, computed once --- */

#define WHOLE_COLUMNS 1024u
#define WHOLE_ROWS 256u

typedef struct whole_path {
    tt_path path;
} whole_path;

static void release_whole(whole_path *w)
{
    tt_path_free(&w->path);
}

static tt_status find_whole(whole_path *w, tt_model *m, tt_error *err)
{
    tt_path_query query = {.columns = WHOLE_COLUMNS, .rows = WHOLE_ROWS};
    tt_status status = tt_path_extent(m, &query.window, err);
    if (status == TT_OK) status = tt_path_find(m, &query, NULL, &w->path, err);
    return status;
}

TT_SOURCE_MEMO(whole_memo, whole_path, "the order of reads", find_whole, release_whole)

/* --- memory/path: the header --- */

typedef struct path_head {
    const tt_model *m;
    const tt_path *path;
    tt_path_window all;
    uint64_t *layout; /* of the files */
} path_head;

static void files(const void *context, const void *row, tt_rowset *out)
{
    static const tt_column begin[] = {
        TT_FIELD("offset_bytes", "of its first byte", .type = TT_CELL_U64, .offset = 0)};
    static const tt_schema schema = TT_SCHEMA("model_files", "one after another", begin);
    const path_head *h = row;
    (void)context;
    *out = TT_ROWSET(&schema, 0, NULL, h->layout, h->m->n_files);
}

#define OF_PATH(key, member, value) TT_COLUMN_VALUE(get_path_##key, path_head, h, member, value)
OF_PATH(from_ns, f64, h->path->window.from_ns)
OF_PATH(to_ns, f64, h->path->window.to_ns)
OF_PATH(from_bytes, u64, h->path->window.from_bytes)
OF_PATH(to_bytes, u64, h->path->window.to_bytes)
OF_PATH(grid_columns, u64, h->path->columns)
OF_PATH(grid_rows, u64, h->path->rows)
OF_PATH(listed, boolean, h->path->list != NULL)
OF_PATH(reads, u64, h->path->reads)
OF_PATH(read_bytes, u64, h->path->read_bytes)
OF_PATH(unplaced_reads, u64, h->path->unplaced)
OF_PATH(faults, boolean, h->path->faults)
OF_PATH(adjacent, u64, h->path->all_steps.kinds[TT_HEAT_STEP_ADJACENT])
OF_PATH(forward, u64, h->path->all_steps.kinds[TT_HEAT_STEP_FORWARD])
OF_PATH(backward, u64, h->path->all_steps.kinds[TT_HEAT_STEP_BACKWARD])
OF_PATH(again, u64, h->path->all_steps.kinds[TT_HEAT_STEP_AGAIN])
OF_PATH(other_file, u64, h->path->all_steps.kinds[TT_HEAT_STEP_OTHER_FILE])
OF_PATH(all_from_ns, f64, h->all.from_ns)
OF_PATH(all_to_ns, f64, h->all.to_ns)
OF_PATH(all_bytes, u64, h->all.to_bytes)

#define HEAD(key, type_, about)                                                                    \
    TT_FIELD(#key, about, .type = TT_CELL_##type_, .get = get_path_##key)
static const tt_column path_head_columns[] = {
    HEAD(from_ns, F64, "of the part"),
    HEAD(to_ns, F64, ""),
    HEAD(from_bytes, U64, ""),
    HEAD(to_bytes, U64, ""),
    HEAD(grid_columns, U64, "times"),
    HEAD(grid_rows, U64, "offsets"),
    HEAD(listed, BOOL, "each read is listed"),
    HEAD(reads, U64, "in the part"),
    HEAD(read_bytes, U64, ""),
    HEAD(unplaced_reads, U64, "left out: where in their tensor they are is not known"),
    HEAD(faults, BOOL, "page faults were recorded"),
    HEAD(adjacent, U64, "reads that continue where the one before ended"),
    HEAD(forward, U64, ""),
    HEAD(backward, U64, ""),
    HEAD(again, U64, ""),
    HEAD(other_file, U64, ""),
    HEAD(all_from_ns, F64, "of the whole run"),
    HEAD(all_to_ns, F64, ""),
    HEAD(all_bytes, U64, "of all files"),
    TT_FIELD("model_files", "where each begins", .type = TT_CELL_LIST, .rows = files),
};
static const tt_schema path_head_schema = TT_SCHEMA("path", "of the part", path_head_columns);

/* --- memory/path: cells, or reads --- */

/* Cells with reads; the context is the first of all. */
TT_COLUMN_KNOWN(was_read, tt_path_cell, c, c->reads > 0)
TT_COLUMN_VALUE(get_cell, tt_path_cell, c, u64, (uint64_t)(c - (const tt_path_cell *)context))

#define COUNT32(name, row_type, member)                                                            \
    TT_COLUMN_VALUE(name, row_type, c, u64, c->member < UINT32_MAX ? c->member : UINT32_MAX - 1)
#define AMOUNT32(name, row_type, member)                                                           \
    TT_COLUMN_GET(name, row_type, c, cell->known = c->member.known;                                \
                  cell->u64 = c->member.value < UINT32_MAX ? c->member.value : UINT32_MAX - 1;)
COUNT32(cell_reads, tt_path_cell, reads)
COUNT32(cell_prompt, tt_path_cell, prompt)
COUNT32(cell_copied, tt_path_cell, copied)
AMOUNT32(cell_major, tt_path_cell, major_faults)
AMOUNT32(cell_minor, tt_path_cell, minor_faults)

static const tt_column cell_columns[] = {
    TT_FIELD("cell", "", .type = TT_CELL_U32, .get = get_cell),
    TT_FIELD("reads", "", .type = TT_CELL_U32, .get = cell_reads),
    TT_FIELD("read_bytes", "", TT_MEMBER(tt_path_cell, read_bytes)),
    TT_FIELD("prompt", "", .type = TT_CELL_U32, .get = cell_prompt),
    TT_FIELD("copied", "", .type = TT_CELL_U32, .get = cell_copied),
    TT_FIELD("major_faults", "", .type = TT_CELL_U32, .get = cell_major),
    TT_FIELD("minor_faults", "", .type = TT_CELL_U32, .get = cell_minor),
};
static const tt_schema cell_schema = TT_SCHEMA("cells", "of the grid", cell_columns);

TT_COLUMN_GET(get_batch, tt_path_read, r, cell->known = r->batch != TT_NONE;
              if (cell->known) cell->u64 = tt_model_batch_number(context, r->batch);)
TT_COLUMN_GET(get_phase, tt_path_read, r, const tt_model *m = context; cell->known = true;
              cell->u64 = r->batch == TT_NONE ? TT_PHASE_UNKNOWN : m->batches[r->batch].phase;)
TT_COLUMN_GET(get_expert, tt_path_read, r, cell->known = r->expert >= 0;
              if (cell->known) cell->u64 = (uint64_t)r->expert;)
AMOUNT32(read_major, tt_path_read, major_faults)
AMOUNT32(read_minor, tt_path_read, minor_faults)

static const tt_column read_columns[] = {
    TT_FIELD("start_relative_ns", "of the op", TT_MEMBER(tt_path_read, start_ns)),
    TT_FIELD("end_relative_ns", "", TT_MEMBER(tt_path_read, end_ns)),
    TT_FIELD("offset_bytes", "", TT_MEMBER(tt_path_read, offset_bytes)),
    TT_FIELD("size_bytes", "", TT_MEMBER(tt_path_read, size_bytes)),
    TT_FIELD("weight", "", TT_MEMBER(tt_path_read, weight)),
    TT_FIELD("expert", "", .type = TT_CELL_U32, .get = get_expert),
    TT_FIELD("run", "", TT_MEMBER(tt_path_read, run)),
    TT_FIELD("node", "", TT_MEMBER(tt_path_read, node)),
    TT_FIELD("batch_id", "", .type = TT_CELL_U32, .get = get_batch),
    TT_FIELD("phase", "", .type = TT_CELL_U8, .get = get_phase),
    TT_FIELD("step", "", TT_MEMBER(tt_path_read, step)),
    TT_FIELD("copied", "", TT_MEMBER(tt_path_read, copied)),
    TT_FIELD("major_faults", "", .type = TT_CELL_U32, .get = read_major),
    TT_FIELD("minor_faults", "", .type = TT_CELL_U32, .get = read_minor),
};
static const tt_schema read_schema = TT_SCHEMA("reads", "one after another", read_columns);

static tt_status reply_path(const tt_request *q, const tt_path *p, const tt_path_window *all,
                            tt_reply *r, tt_error *err)
{
    path_head head = {q->m, p, *all, tt_reads_layout(q->m, 1, NULL)};
    const tt_rowset cells =
        TT_ROWSET(&cell_schema, 0, p->cells, p->cells, (size_t)p->columns * p->rows);
    const tt_rowset reads = TT_ROWSET(&read_schema, 0, q->m, p->list, p->n);
    const tt_listing_wish read = {.passes = was_read}, every = {0};
    tt_columns c;
    if (!head.layout) return tt_error_memory(err, "the order of reads");
    tt_columns_begin(&c, &TT_ROWSET(&path_head_schema, 0, NULL, &head, 1));
    if (p->list)
        tt_columns_add_rows(&c, &reads, &every);
    else
        tt_columns_add_rows(&c, &cells, &read);
    tt_status status = tt_columns_end(&c, r, err);
    free(head.layout);
    return status;
}

/* --- memory/path: which part --- */

static tt_status read_query(const tt_request *q, const tt_path_window *all, tt_path_query *out,
                            tt_error *err)
{
    tt_path_window *w = &out->window;
    uint64_t columns, rows, reads;
    if (!tt_request_double(q, "from_ns", -TIME_MAX, TIME_MAX, all->from_ns, &w->from_ns, err) ||
        !tt_request_double(q, "to_ns", -TIME_MAX, TIME_MAX, all->to_ns, &w->to_ns, err) ||
        !tt_request_u64(q, "from_bytes", 0, UINT64_MAX, all->from_bytes, &w->from_bytes, err) ||
        !tt_request_u64(q, "to_bytes", 0, UINT64_MAX, all->to_bytes, &w->to_bytes, err) ||
        !tt_request_u64(q, "columns", 1, TT_PATH_COLUMNS_MAX, WHOLE_COLUMNS, &columns, err) ||
        !tt_request_u64(q, "rows", 1, TT_PATH_ROWS_MAX, WHOLE_ROWS, &rows, err) ||
        !tt_request_u64(q, "reads", 0, TT_PATH_READS_MAX, READS_DEFAULT, &reads, err))
        return TT_E_USAGE;
    out->columns = (uint32_t)columns;
    out->rows = (uint32_t)rows;
    out->reads_max = (uint32_t)reads;
    if (w->from_ns < w->to_ns && w->from_bytes < w->to_bytes) return TT_OK;
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                        w->from_ns < w->to_ns ? "from_bytes is not before to_bytes"
                                              : "from_ns is not before to_ns");
}

/* About how many ops began in that time: each run's, of its graph's size. */
static double ops_within(const tt_model *m, double from_ns, double to_ns)
{
    double n = 0;
    for (uint32_t i = 0; i < m->n_runs; i++) {
        const tt_run *r = &m->runs[i];
        const double from = tt_model_ns(m, r->begin_ticks);
        if (r->graph == TT_NONE || from > to_ns) continue;
        if (!r->ended || tt_model_ns(m, r->end_ticks) >= from_ns) n += m->graphs[r->graph].n_nodes;
    }
    return n;
}

static double shown_share(double from, double to, double begin, double end)
{
    const double a = from > begin ? from : begin, b = to < end ? to : end;
    return b > a ? (b - a) / (end - begin) : 0;
}

/* Whether the grid of the whole run has enough cells there, and a walk would take long. */
static bool is_cut(const tt_model *m, const tt_path_window *w, const tt_path_window *all)
{
    return shown_share(w->from_ns, w->to_ns, all->from_ns, all->to_ns) * WHOLE_COLUMNS >=
               CUT_CELLS &&
           shown_share((double)w->from_bytes, (double)w->to_bytes, (double)all->from_bytes,
                       (double)all->to_bytes) *
                   WHOLE_ROWS >=
               CUT_CELLS &&
           ops_within(m, w->from_ns, w->to_ns) > WALK_OPS;
}

tt_status tt_answer_memory_path(tt_request *q, tt_reply *r, tt_error *err)
{
    tt_path_query query;
    tt_path_window all;
    tt_path path = {0};
    const tt_over over = tt_request_over(q);
    tt_status status = tt_path_extent(q->m, &all, err);
    if (status == TT_OK) status = read_query(q, &all, &query, err);
    if (status != TT_OK) return status;
    if (is_cut(q->m, &query.window, &all)) {
        const void *made;
        status = tt_source_get(q, &whole_memo, &made, err);
        if (status == TT_OK && !tt_path_cut(&((const whole_path *)made)->path, &query.window,
                                            query.columns, query.rows, &path))
            status = tt_error_memory(err, "the order of reads");
    } else {
        status = tt_path_find(q->m, &query, &over, &path, err);
    }
    if (status == TT_OK) status = reply_path(q, &path, &all, r, err);
    tt_path_free(&path);
    return status;
}

/* --- memory/batches --- */

typedef struct cells_context {
    const tt_model *m;
    const tt_tokens *t;
} cells_context;

static const tt_tokens *grid_of(const void *context)
{
    return ((const cells_context *)context)->t;
}

TT_COLUMN_KNOWN(is_used, tt_tokens_cell, c, c->accesses > 0)
TT_COLUMN_VALUE(get_place, tt_tokens_cell, c, u64, (uint64_t)(c - grid_of(context)->cells))
TT_COLUMN_GET(get_ns, tt_tokens_cell, c, const tt_model *m = ((const cells_context *)context)->m;
              cell->known = m->clock.known; cell->f64 = tt_model_span_ns(m, c->ticks);)
COUNT32(used_accesses, tt_tokens_cell, accesses)
AMOUNT32(used_major, tt_tokens_cell, major_faults)
AMOUNT32(used_minor, tt_tokens_cell, minor_faults)

static const tt_column used_columns[] = {
    TT_FIELD("cell", "", .type = TT_CELL_U32, .get = get_place),
    TT_FIELD("accesses", "", .type = TT_CELL_U32, .get = used_accesses),
    TT_FIELD("read_bytes", "", TT_MEMBER(tt_tokens_cell, read_bytes)),
    TT_FIELD("time_ns", "", .type = TT_CELL_F64, .get = get_ns),
    TT_FIELD("major_faults", "", .type = TT_CELL_U32, .get = used_major),
    TT_FIELD("minor_faults", "", .type = TT_CELL_U32, .get = used_minor),
};
static const tt_schema used_schema = TT_SCHEMA("cells", "of the grid", used_columns);

TT_COLUMN_VALUE(get_number, uint32_t, b, u64,
                tt_model_batch_number(((const cells_context *)context)->m, *b))
static const tt_column batch_columns[] = {
    TT_FIELD("batch_id", "", .type = TT_CELL_U32, .get = get_number)};
static const tt_schema batch_schema = TT_SCHEMA("batches", "of the rows", batch_columns);

TT_COLUMN_KNOWN(by_layer, tt_tokens, t, t->layers != NULL)
TT_COLUMN_JSON(json_columns, tt_tokens, t, {
    tt_json_array(j);
    for (uint32_t i = 0; i < t->columns; i++)
        tt_json_u64_or_null(j, t->layers[i] >= 0, (uint64_t)t->layers[i]);
    tt_json_array_end(j);
})

static const tt_column tokens_head_columns[] = {
    TT_FIELD("from_bytes", "of the columns", TT_MEMBER(tt_tokens, from_bytes)),
    TT_FIELD("to_bytes", "", TT_MEMBER(tt_tokens, to_bytes)),
    TT_FIELD("grid_rows", "", TT_MEMBER(tt_tokens, rows)),
    TT_FIELD("grid_columns", "", TT_MEMBER(tt_tokens, columns)),
    TT_FIELD("layers", "by layer: the key of each column; null: outside any", .type = TT_CELL_LIST,
             .known = by_layer, .json = json_columns),
    TT_FIELD("batches_each", "of a row", TT_MEMBER(tt_tokens, each)),
    TT_FIELD("ops", "that read weights", TT_MEMBER(tt_tokens, ops)),
    TT_FIELD("at_most", "upper bounds", TT_MEMBER(tt_tokens, at_most)),
    TT_FIELD("unplaced_reads", "left out by file: it is not known where in their tensor they are",
             TT_MEMBER(tt_tokens, unplaced)),
    TT_FIELD("faults", "page faults were recorded", TT_MEMBER(tt_tokens, faults)),
    TT_FIELD("experts", "choices were observed", TT_MEMBER(tt_tokens, experts)),
};
static const tt_schema tokens_head_schema =
    TT_SCHEMA("tokens", "what each batch read", tokens_head_columns);

static tt_status reply_tokens(const tt_request *q, const tt_tokens *t, tt_reply *r, tt_error *err)
{
    const cells_context x = {q->m, t};
    const tt_rowset cells = TT_ROWSET(&used_schema, 0, &x, t->cells, (size_t)t->rows * t->columns);
    const tt_rowset batches = TT_ROWSET(&batch_schema, 0, &x, t->batches, t->n_batches);
    const tt_listing_wish used = {.passes = is_used}, every = {0};
    tt_columns c;
    tt_columns_begin(&c, &TT_ROWSET(&tokens_head_schema, 0, NULL, t, 1));
    tt_columns_add_rows(&c, &cells, &used);
    tt_columns_add_rows(&c, &batches, &every);
    return tt_columns_end(&c, r, err);
}

tt_status tt_answer_memory_tokens(tt_request *q, tt_reply *r, tt_error *err)
{
    static const char *const by[] = {"file", "layer", "expert", NULL};
    tt_filter filter;
    tt_tokens tokens = {0};
    tt_tokens_query query = {.filter = &filter};
    uint64_t rows, columns;
    size_t choice;
    const tt_over over = tt_request_over(q);
    uint64_t *layout = tt_reads_layout(q->m, 1, NULL);
    if (!layout) return tt_error_memory(err, "what each batch read");
    const uint64_t all = layout[q->m->n_files] ? layout[q->m->n_files] : 1;
    free(layout);
    if (!tt_request_filter(q, &filter, err) ||
        !tt_request_choice(q, "by", by, TT_TOKENS_BY_FILE, &choice, err) ||
        !tt_request_u64(q, "rows", 1, TT_TOKENS_ROWS_MAX, 256, &rows, err) ||
        !tt_request_u64(q, "columns", 1, TT_TOKENS_COLUMNS_MAX, 512, &columns, err) ||
        !tt_request_u64(q, "from_bytes", 0, UINT64_MAX, 0, &query.from_bytes, err) ||
        !tt_request_u64(q, "to_bytes", 0, UINT64_MAX, all, &query.to_bytes, err))
        return TT_E_USAGE;
    if (query.from_bytes >= query.to_bytes)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "from_bytes is not before to_bytes");
    query.by = (tt_tokens_by)choice;
    query.rows = (uint32_t)rows;
    query.columns = (uint32_t)columns;
    tt_status status = tt_tokens_find(q->m, &query, &over, &tokens, err);
    if (status == TT_OK) status = reply_tokens(q, &tokens, r, err);
    tt_tokens_free(&tokens);
    return status;
}
