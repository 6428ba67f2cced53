#include "analyze/log/top.h"

#include "analyze/log/columns.h"
#include "base/array.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

/* --- which order --- */

static const char *const keys[] = {
    [TT_LOG_BY_DURATION] = "duration_ns", [TT_LOG_BY_BUSY] = "busy_ns",
    [TT_LOG_BY_WAIT] = "wait_ns",         [TT_LOG_BY_OFF_CPU] = "off_cpu_ns",
    [TT_LOG_BY_BYTES] = "weight_bytes",
};

const char *tt_log_sort_key(size_t i)
{
    return i < sizeof keys / sizeof *keys ? keys[i] : NULL;
}

tt_status tt_log_sort_of(const char *text, tt_log_sort *out, tt_error *err)
{
    const bool has_sign = *text == '+' || *text == '-';
    const char *name = text + has_sign;
    const tt_rowset set = {.schema = &tt_log_schema};
    const tt_column *column = tt_schema_find(&set, name, strlen(name));
    out->ascending = *text == '+';
    for (size_t i = 0; column && i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(column->key, keys[i]) != 0) continue;
        out->by = (tt_log_by)i;
        return TT_OK;
    }
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                        "sort=%.40s: must be duration_ns, busy_ns, wait_ns, off_cpu_ns or "
                        "weight_bytes",
                        text);
}

/* --- the heap: the last of the kept rows is at its top --- */

typedef struct search {
    const tt_model *m;
    tt_log_sort sort;
    size_t limit;
    tt_log_load load;
    tt_op_table *ops; /* for bytes only */
    tt_log_picks picks;
    tt_log_top *out;
    size_t capacity;
} search;

/* The order of rows: negative if a comes before b. */
static int compare(const tt_log_top_row *a, const tt_log_top_row *b, bool ascending)
{
    if (a->known != b->known) return a->known ? -1 : 1;
    if (a->known && a->value != b->value) return (a->value < b->value) == ascending ? -1 : 1;
    if (a->item.start != b->item.start) return a->item.start < b->item.start ? -1 : 1;
    if (a->position != b->position) return a->position < b->position ? -1 : 1;
    if (a->item.node != b->item.node) return a->item.node < b->item.node ? -1 : 1;
    return tt_order(a->item.lane, b->item.lane);
}

static int by_rank(const void *a, const void *b, void *ascending)
{
    return compare(a, b, *(const bool *)ascending);
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
    while (i && compare(&rows[(i - 1) / 2], &rows[i], s->sort.ascending) < 0) {
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
            if (compare(&rows[last], &rows[child], s->sort.ascending) < 0) last = child;
        if (last == i) return;
        swap(&rows[i], &rows[last]);
        i = last;
    }
}

static bool keep(search *s, const tt_log_top_row *row)
{
    tt_log_top *t = s->out;
    if (t->n == s->limit) {
        if (compare(row, &t->rows[0], s->sort.ascending) > 0) return true;
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
    return t->n < s->limit || s->sort.ascending || !t->rows[0].known || at_most >= t->rows[0].value;
}

/* *wanted: whether the value is needed. */
static tt_status bytes_of(search *s, tt_log_top_row *row, bool *wanted, tt_error *err)
{
    tt_log_op full;
    const tt_op *op;
    const tt_access *list;
    size_t n;
    if (!tt_log_item_op(s->ops, &s->m->runs[row->run], &row->item, &full))
        return tt_error_memory(err, "rows of the log");
    row->known = true;
    row->value = full.op->weight_bytes;
    *wanted = can_be_kept(s, row->value);
    if (!*wanted || !full.op->picks) return TT_OK;
    tt_status status = tt_log_picks_of(&s->picks, &full, &op, &list, &n, err);
    if (status == TT_OK) row->value = op->weight_bytes;
    return status;
}

static tt_status value_of(search *s, tt_log_top_row *row, bool *wanted, tt_error *err)
{
    const tt_log_item *i = &row->item;
    *wanted = true;
    row->known = !i->open;
    switch (s->sort.by) {
    case TT_LOG_BY_DURATION:
        row->value = i->arrive - i->start;
        break;
    case TT_LOG_BY_BUSY:
        row->value = i->busy;
        break;
    case TT_LOG_BY_WAIT:
        row->known &= tt_model_waits_known(s->m, &s->m->runs[row->run]);
        row->value = i->wait;
        break;
    case TT_LOG_BY_OFF_CPU:
        row->known &= i->off_cpu_known;
        row->value = i->off_cpu;
        break;
    case TT_LOG_BY_BYTES:
        return bytes_of(s, row, wanted, err);
    }
    if (!row->known) row->value = 0;
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

tt_status tt_log_top_find(const tt_model *m, const tt_filter *filter, bool by_lane,
                          const uint32_t *order, tt_log_sort sort, size_t limit,
                          const tt_over *over, tt_log_top *out, tt_error *err)
{
    search s = {.m = m, .sort = sort, .limit = limit, .picks = {.m = m}, .out = out};
    *out = (tt_log_top){0};
    tt_status status = tt_model_need_clock(m, err);
    if (status != TT_OK) return status;
    tt_log_load_begin(&s.load, m, filter, by_lane);
    if (sort.by == TT_LOG_BY_BYTES && !(s.ops = tt_op_table_new(m)))
        status = tt_error_memory(err, "rows of the log");
    for (uint32_t i = 0; i < m->n_runs && status == TT_OK; i++) {
        status = tt_over_check(over, err);
        if (status != TT_OK) break;
        status = take_run(&s, order[i], i, err);
        /* Damage ends the rows, as it does in the order of time. */
        if (status == TT_OK || status == TT_E_MEMORY) continue;
        out->ended_by = *err;
        status = TT_OK;
        break;
    }
    tt_log_load_free(&s.load);
    tt_log_picks_free(&s.picks);
    tt_op_table_free(s.ops);
    if (status == TT_OK && out->n)
        qsort_r(out->rows, out->n, sizeof *out->rows, by_rank, &sort.ascending);
    return status;
}

void tt_log_top_free(tt_log_top *t)
{
    free(t->rows);
    *t = (tt_log_top){0};
}
