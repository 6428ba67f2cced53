#include "analyze/log/log_index_parts.h"
#include "analyze/ops.h"

#include <string.h>

/* The last place for which `before` holds; it holds for all up to some. The first one when none. */
typedef bool place_test(const log_index_place *p, const void *key);

static const log_index_place *last_place(const tt_log_index *x, place_test *before, const void *key)
{
    uint32_t low = 0, high = x->n_places;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (before(&x->places[middle], key))
            low = middle;
        else
            high = middle;
    }
    return &x->places[low];
}

static bool by_row(const log_index_place *p, const void *row)
{
    return p->row <= *(const uint64_t *)row;
}

static bool by_run(const log_index_place *p, const void *position)
{
    return p->next_run <= *(const uint32_t *)position;
}

typedef struct moment {
    const tt_model *m;
    double ns;
} moment;

static bool by_time(const log_index_place *p, const void *key)
{
    const moment *k = key;
    return p->row == 0 || tt_model_ns(k->m, p->latest_ticks) < k->ns;
}

static tt_status go_to(const tt_log_index *x, tt_log_cursor *c, const log_index_place *p,
                       tt_error *err)
{
    tt_log_place place = {.next_run = p->next_run, .n_active = p->n_active};
    if (p->n_active)
        memcpy(place.active, x->active + p->first_active, p->n_active * sizeof *place.active);
    return tt_log_cursor_restore(c, &place, err);
}

tt_status tt_log_index_next(const tt_log_index *x, tt_log_cursor *c, uint64_t row, bool *more,
                            tt_error *err)
{
    tt_log_event event = TT_LOG_LOOKED;
    *more = false;
    if (row >= x->rows) return TT_OK;
    while (event == TT_LOG_LOOKED) {
        uint32_t next_run;
        if (tt_log_cursor_between(c, &next_run) && x->n_places) {
            const log_index_place *p = last_place(x, by_row, &row);
            if (p->row == row && p->next_run > next_run) {
                tt_status status = go_to(x, c, p, err);
                if (status != TT_OK) return status;
            }
        }
        tt_status status = tt_log_cursor_step(c, &event, err);
        if (status != TT_OK) return status;
    }
    *more = event == TT_LOG_ROW;
    return TT_OK;
}

/* In front of the place's row, and from there to `row`. */
static tt_status seek_from(const tt_log_index *x, tt_log_cursor *c, const log_index_place *p,
                           uint64_t row, tt_error *err)
{
    bool more = true;
    tt_status status = go_to(x, c, p, err);
    for (uint64_t at = p->row; at < row && more && status == TT_OK; at++)
        status = tt_log_index_next(x, c, at, &more, err);
    return status;
}

tt_status tt_log_index_seek(const tt_log_index *x, tt_log_cursor *c, uint64_t row, tt_error *err)
{
    if (x->n_places == 0) return TT_OK;
    return seek_from(x, c, last_place(x, by_row, &row), row, err);
}

static bool is_op(const tt_model *m, uint32_t run, const tt_log_item *i, uint32_t node)
{
    uint32_t covered[TT_OP_NODES_MAX - 1];
    if (i->node == node) return true;
    uint32_t n = tt_op_covered(&m->graphs[m->runs[run].graph], i->node, i->covers, covered);
    for (uint32_t k = 0; k < n; k++)
        if (covered[k] == node) return true;
    return false;
}

/* When the op began, over its lanes, and when it was over; the run's begin when it is not there. */
static tt_status times_of(const tt_model *m, uint32_t run, uint32_t node, uint64_t *start,
                          uint64_t *end, tt_error *err)
{
    static const tt_filter all;
    tt_log_load load;
    *start = *end = m->runs[run].begin_ticks;
    if (m->runs[run].graph == TT_NONE) return TT_OK;
    tt_log_load_begin(&load, m, &all, false);
    tt_status status = tt_log_load_run(&load, run, err);
    for (size_t i = 0; i < load.n && status == TT_OK; i++) {
        if (!is_op(m, run, &load.items[i], node)) continue;
        *start = load.items[i].start;
        *end = load.items[i].arrive > *start ? load.items[i].arrive : *start;
        break;
    }
    tt_log_load_free(&load);
    /* Of a run that cannot be read there is no row: its place is what can be said. */
    return status == TT_E_MEMORY ? status : TT_OK;
}

typedef struct wanted {
    uint32_t position, run, node;
    uint64_t start, end;
} wanted;

static tt_status walk_to_op(const tt_log_index *x, const tt_model *m, tt_log_cursor *c,
                            const wanted *w, uint64_t *row, bool *found, tt_error *err)
{
    const log_index_place *p = last_place(x, by_run, &w->position);
    bool more = true, passed = false;
    tt_status status = go_to(x, c, p, err);
    *row = x->rows;
    for (uint64_t at = p->row; status == TT_OK; at++) {
        uint32_t position, next_run;
        status = tt_log_index_next(x, c, at, &more, err);
        if (status != TT_OK || !more) break;
        const tt_log_item *i = tt_log_cursor_item(c, &position);
        if (position == w->position && is_op(m, w->run, i, w->node)) {
            *row = at;
            *found = true;
            break;
        }
        (void)tt_log_cursor_between(c, &next_run);
        if (next_run <= w->position || i->start <= w->start) continue;
        if (!passed) *row = at;
        passed = true;
        /* Another lane of it may have begun later. */
        if (!x->by_lane || i->start > w->end) break;
    }
    return status;
}

tt_status tt_log_index_locate_op(const tt_log_index *x, const tt_model *m, uint32_t run,
                                 uint32_t node, uint64_t *row, bool *found, tt_error *err)
{
    const uint32_t *order = tt_log_survey_order(x->survey);
    wanted w = {.run = run, .node = node};
    tt_log_cursor *c;
    *row = 0;
    *found = false;
    if (x->n_places == 0) return TT_OK;
    while (w.position < x->n_runs && order[w.position] != run)
        w.position++;
    tt_status status = times_of(m, run, node, &w.start, &w.end, err);
    if (status != TT_OK) return status;
    status = tt_log_cursor_open(m, &x->filter, x->by_lane, order, &c, err);
    if (status == TT_OK) status = walk_to_op(x, m, c, &w, row, found, err);
    tt_log_cursor_close(c);
    return status;
}

tt_status tt_log_index_locate_time(const tt_log_index *x, const tt_model *m, double ns,
                                   uint64_t *row, tt_error *err)
{
    tt_log_cursor *c;
    *row = 0;
    tt_status status = tt_model_need_clock(m, err);
    if (status != TT_OK || x->n_places == 0) return status;
    const moment key = {m, ns};
    const log_index_place *p = last_place(x, by_time, &key);
    const uint32_t *order = tt_log_survey_order(x->survey);
    status = tt_log_cursor_open(m, &x->filter, x->by_lane, order, &c, err);
    if (status == TT_OK) status = go_to(x, c, p, err);
    for (*row = p->row; status == TT_OK; (*row)++) {
        bool more;
        uint32_t position;
        status = tt_log_index_next(x, c, *row, &more, err);
        if (status != TT_OK || !more) break;
        if (tt_model_ns(m, tt_log_cursor_item(c, &position)->start) >= ns) break;
    }
    tt_log_cursor_close(c);
    return status;
}
