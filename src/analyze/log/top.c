#include "analyze/log/top.h"

#include "analyze/log/columns.h"
#include "base/array.h"
#include "base/checksum.h"
#include "base/idmap.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 512u

/* --- the heap: the last of the kept rows is at its top --- */

typedef struct search {
    const tt_model *m;
    tt_sort_key sort;
    size_t limit;
    tt_log_load load;
    tt_op_table *ops;
    tt_log_picks picks;
    bool by_bytes, needs_picks;
    tt_bytes text; /* of a cell */
    char **texts;  /* each once; the values of columns of texts are indexes of it */
    size_t n_texts, texts_capacity;
    tt_idmap by_sum;
    tt_log_top *out;
    size_t capacity;
} search;

static int compare_values(const search *s, const tt_log_top_row *a, const tt_log_top_row *b)
{
    const int order = s->sort.column->type == TT_CELL_NAME
                          ? strcmp(s->texts[a->value], s->texts[b->value])
                          : tt_order(a->value, b->value);
    return s->sort.falling ? -order : order;
}

/* The order of rows: negative if a comes before b. */
static int compare(const search *s, const tt_log_top_row *a, const tt_log_top_row *b)
{
    if (a->known != b->known) return a->known ? -1 : 1;
    const int order = a->known && a->value != b->value ? compare_values(s, a, b) : 0;
    if (order) return order;
    if (a->item.start != b->item.start) return a->item.start < b->item.start ? -1 : 1;
    if (a->position != b->position) return a->position < b->position ? -1 : 1;
    if (a->item.node != b->item.node) return a->item.node < b->item.node ? -1 : 1;
    return tt_order(a->item.lane, b->item.lane);
}

static int by_rank(const void *a, const void *b, void *context)
{
    return compare(context, a, b);
}

static void swap(tt_log_top_row *a, tt_log_top_row *b)
{
    const tt_log_top_row kept = *a;
    *a = *b;
    *b = kept;
}

static void rise(search *s, size_t i)
{
    tt_log_top_row *rows = s->out->rows;
    while (i && compare(s, &rows[(i - 1) / 2], &rows[i]) < 0) {
        swap(&rows[(i - 1) / 2], &rows[i]);
        i = (i - 1) / 2;
    }
}

static void sink(search *s)
{
    tt_log_top_row *rows = s->out->rows;
    const size_t n = s->out->n;
    for (size_t i = 0;;) {
        size_t last = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
            if (compare(s, &rows[last], &rows[child]) < 0) last = child;
        if (last == i) return;
        swap(&rows[i], &rows[last]);
        i = last;
    }
}

static bool keep(search *s, const tt_log_top_row *row)
{
    tt_log_top *t = s->out;
    if (t->n == s->limit) {
        if (compare(s, row, &t->rows[0]) > 0) return true;
        t->rows[0] = *row;
        sink(s);
        return true;
    }
    if (!tt_array_one_more(t->rows, t->n, s->capacity)) return false;
    t->rows[t->n++] = *row;
    rise(s, t->n - 1);
    return true;
}

/* --- the pass --- */

/* Bytes are at most those of the description: if even these are too few, the accesses of the run
 * need not be read. */
static bool can_be_kept(const search *s, uint64_t at_most)
{
    const tt_log_top *t = s->out;
    return t->n < s->limit || !s->sort.falling || !t->rows[0].known || at_most >= t->rows[0].value;
}

/* The index of a text in s->texts, of which only the first bytes count: names in a file may be
 * long. */
static bool put_text(search *s, const tt_cell *cell, uint64_t *index)
{
    uint32_t was;
    const size_t n = strnlen(cell->text.at, cell->text.n < TEXT_MAX ? cell->text.n : TEXT_MAX);
    const uint64_t sum = tt_checksum(cell->text.at, n);
    if (s->n_texts == TT_NONE || !tt_array_one_more(s->texts, s->n_texts, s->texts_capacity) ||
        !tt_idmap_add(&s->by_sum, sum, (uint32_t)s->n_texts, &was))
        return false;
    *index = was;
    if (was != TT_NONE && strncmp(s->texts[was], cell->text.at, n) == 0 && !s->texts[was][n])
        return true;
    /* If two texts share a checksum, the list only gets one more entry. */
    *index = s->n_texts;
    s->texts[s->n_texts] = strndup(cell->text.at, n);
    return s->texts[s->n_texts++] != NULL;
}

/* A number with the order of the cell's. */
static uint64_t rank_of(tt_cell_type type, const tt_cell *cell)
{
    const uint64_t sign = (uint64_t)1 << 63;
    if (type == TT_CELL_BOOL) return cell->boolean;
    if (type == TT_CELL_I32 || type == TT_CELL_I64) return cell->u64 ^ sign;
    if (type != TT_CELL_F64) return cell->u64;
    return cell->u64 & sign ? ~cell->u64 : cell->u64 | sign;
}

/* *wanted: whether the value is needed. */
static tt_status value_of(search *s, tt_log_top_row *row, bool *wanted, tt_error *err)
{
    const tt_column *c = s->sort.column;
    tt_log_op full;
    tt_cell cell;
    *wanted = true;
    if (!tt_log_item_op(s->ops, &s->m->runs[row->run], &row->item, &full))
        return tt_error_memory(err, "rows of the log");
    tt_log_row r = {.row = &full, .op = full.op, .text = &s->text};
    if (s->by_bytes) *wanted = can_be_kept(s, full.op->weight_bytes);
    if (!*wanted) return TT_OK;
    if (s->needs_picks && full.op->picks) {
        tt_status status =
            tt_log_picks_of(&s->picks, &full, &r.op, &r.accesses, &r.n_accesses, err);
        if (status != TT_OK) return status;
    }
    tt_cell_get(c, s->m, &r, &cell);
    row->known = cell.known;
    if (!cell.known) return s->text.failed ? tt_error_memory(err, "rows of the log") : TT_OK;
    if (c->type != TT_CELL_NAME)
        row->value = rank_of(c->type, &cell);
    else if (!put_text(s, &cell, &row->value))
        return tt_error_memory(err, "rows of the log");
    return TT_OK;
}

static tt_status take_run(search *s, uint32_t run, uint32_t position, tt_error *err)
{
    if (!tt_log_load_may(&s->load, run)) return TT_OK;
    tt_status status = tt_log_load_run(&s->load, run, err);
    for (size_t i = 0; i < s->load.n && status == TT_OK; i++) {
        tt_log_top_row row = {.item = s->load.items[i], .run = run, .position = position};
        bool wanted;
        status = value_of(s, &row, &wanted, err);
        if (status == TT_OK && wanted && !keep(s, &row))
            status = tt_error_memory(err, "rows of the log");
        s->out->n_all += status == TT_OK;
    }
    return status;
}

static tt_status find(search *s, const tt_filter *filter, bool by_lane, const uint32_t *order,
                      const tt_over *over, tt_error *err)
{
    tt_log_top *out = s->out;
    tt_status status = s->ops ? TT_OK : tt_error_memory(err, "rows of the log");
    tt_log_load_begin(&s->load, s->m, filter, by_lane);
    for (uint32_t i = 0; i < s->m->n_runs && status == TT_OK; i++) {
        status = tt_over_check(over, err);
        if (status != TT_OK) break;
        status = take_run(s, order[i], i, err);
        /* Damage ends the rows, as it does in the order of time. */
        if (status == TT_OK || status == TT_E_MEMORY) continue;
        out->ended_by = *err;
        status = TT_OK;
        break;
    }
    tt_log_load_free(&s->load);
    if (status == TT_OK && out->n) qsort_r(out->rows, out->n, sizeof *out->rows, by_rank, s);
    return status;
}

tt_status tt_log_top_find(const tt_model *m, const tt_filter *filter, bool by_lane,
                          const uint32_t *order, tt_sort_key sort, size_t limit,
                          const tt_over *over, tt_log_top *out, tt_error *err)
{
    search s = {.m = m,
                .sort = sort,
                .limit = limit,
                .picks = {.m = m},
                .by_bytes = strcmp(sort.column->key, "weight_bytes") == 0,
                .needs_picks = strncmp(sort.column->key, "weight_bytes", 12) == 0,
                .out = out};
    *out = (tt_log_top){0};
    tt_status status = tt_model_need_clock(m, err);
    if (status != TT_OK) return status;
    s.ops = tt_op_table_new(m);
    tt_bytes_init(&s.text, (size_t)1 << 20);
    status = find(&s, filter, by_lane, order, over, err);
    for (size_t i = 0; i < s.n_texts; i++)
        free(s.texts[i]);
    free(s.texts);
    tt_idmap_free(&s.by_sum);
    tt_bytes_free(&s.text);
    tt_log_picks_free(&s.picks);
    tt_op_table_free(s.ops);
    return status;
}

void tt_log_top_free(tt_log_top *t)
{
    free(t->rows);
    *t = (tt_log_top){0};
}
