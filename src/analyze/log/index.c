#include "analyze/log/index.h"
#include "analyze/join.h"
#include "analyze/log/log.h"
#include "analyze/ops.h"
#include "base/array.h"
#include "base/checksum.h"
#include "base/idmap.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

struct tt_log_survey {
    uint32_t *order;
    tt_log_surveyed *runs; /* by position in the order */
    uint8_t *known;        /* likewise */
    tt_join join;
    tt_log_set *sets;
    uint32_t n_sets, capacity;
    size_t set_bytes;
    tt_idmap set_by_hash;
    /* Of the current run, for comparison: */
    uint32_t graph;
    uint8_t *covers;
    size_t n_covers;
};

tt_log_survey *tt_log_survey_new(const tt_model *m)
{
    tt_log_survey *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->order = tt_log_order(m);
    s->runs = calloc((size_t)m->n_runs + 1, sizeof *s->runs);
    s->known = calloc((size_t)m->n_runs + 1, 1);
    if (s->order && s->runs && s->known) return s;
    tt_log_survey_free(s);
    return NULL;
}

void tt_log_survey_free(tt_log_survey *s)
{
    if (!s) return;
    for (uint32_t i = 0; i < s->n_sets; i++) {
        free(s->sets[i].nodes);
        free(s->sets[i].covers);
    }
    free(s->sets);
    free(s->covers);
    tt_idmap_free(&s->set_by_hash);
    tt_join_free(&s->join);
    free(s->known);
    free(s->runs);
    free(s->order);
    free(s);
}

const uint32_t *tt_log_survey_order(const tt_log_survey *s)
{
    return s->order;
}

const tt_log_set *tt_log_survey_set(const tt_log_survey *s, uint32_t set)
{
    return &s->sets[set];
}

uint32_t tt_log_survey_sets(const tt_log_survey *s)
{
    return s->n_sets;
}

static bool is_joined(const void *context, uint32_t index)
{
    const tt_log_survey *s = context;
    const tt_log_set *set = &s->sets[index];
    const tt_join *j = &s->join;
    return set->graph == s->graph && set->n == j->n_touched &&
           memcmp(set->nodes, j->touched, j->n_touched * sizeof *j->touched) == 0 &&
           memcmp(set->covers, s->covers, j->n_touched) == 0;
}

static uint32_t add_set(tt_log_survey *s, uint64_t key)
{
    const size_t n = s->join.n_touched, bytes = n * (sizeof(uint32_t) + 1);
    if (s->n_sets == TT_LOG_SETS_MAX || s->set_bytes + bytes > TT_LOG_SETS_BYTES_MAX)
        return TT_NONE;
    uint32_t was;
    if (!tt_array_one_more(s->sets, s->n_sets, s->capacity)) return TT_NONE;
    tt_log_set set = {.graph = s->graph, .n = (uint32_t)n};
    set.nodes = malloc(n * sizeof *set.nodes + 1);
    set.covers = malloc(n + 1);
    if (!set.nodes || !set.covers || !tt_idmap_add(&s->set_by_hash, key, s->n_sets, &was)) {
        free(set.nodes);
        free(set.covers);
        return TT_NONE;
    }
    memcpy(set.nodes, s->join.touched, n * sizeof *set.nodes);
    memcpy(set.covers, s->covers, n);
    s->set_bytes += bytes;
    s->sets[s->n_sets] = set;
    return s->n_sets++;
}

/* The set of the join's ops; TT_NONE if there is no room for it. */
static uint32_t set_of(tt_log_survey *s, uint32_t graph)
{
    const tt_join *j = &s->join;
    if (!tt_array_room(s->covers, s->n_covers, j->n_touched)) return TT_NONE;
    for (uint32_t i = 0; i < j->n_touched; i++)
        s->covers[i] = j->ops[j->touched[i]].covers;
    uint64_t key = tt_checksum(j->touched, j->n_touched * sizeof *j->touched) ^
                   tt_checksum(s->covers, j->n_touched) * 31 ^ graph;
    s->graph = graph;
    const uint32_t at = tt_idmap_find(&s->set_by_hash, &key, is_joined, s);
    return at != TT_NONE ? at : add_set(s, key);
}

const tt_log_surveyed *tt_log_survey_run(tt_log_survey *s, const tt_model *m, uint32_t position,
                                         uint64_t *work, tt_error *err)
{
    tt_log_surveyed *r = &s->runs[position];
    const tt_join *j = &s->join;
    const uint32_t run = s->order[position];
    if (s->known[position]) return r;
    *r = (tt_log_surveyed){.set = TT_NONE};
    if (m->runs[run].graph != TT_NONE) {
        if (tt_join_run(&s->join, m, run, err) != TT_OK) return NULL;
        r->n = j->n_touched;
        for (uint32_t i = 0; i < j->n_touched; i++) {
            const tt_joined *o = &j->ops[j->touched[i]];
            if (i == 0 || o->start < r->first_ticks) r->first_ticks = o->start;
            if (i == 0 || o->start > r->last_ticks) r->last_ticks = o->start;
            *work += o->lanes;
        }
        if (r->n > 0) r->set = set_of(s, m->runs[run].graph);
    }
    s->known[position] = 1;
    return r;
}

/* A position before a row. Ascending by row and next_run. */
typedef struct log_index_position {
    uint64_t row;
    uint64_t latest_ticks; /* no earlier row begins later */
    size_t first_active;   /* in tt_log_index.active */
    uint32_t next_run;
    uint32_t n_active;
} log_index_position;

struct tt_log_index {
    tt_filter filter;
    char *texts[4]; /* of the filter */
    bool by_lane;
    tt_log_survey *survey;
    uint32_t n_runs;
    tt_log_load load;
    uint64_t *of_set; /* per set of the survey: its number of rows */
    uint32_t n_of_set;
    log_index_position *places;
    uint32_t n_places, places_capacity;
    tt_log_active *active;
    size_t n_active, active_capacity;
    uint64_t rows_apart;
    uint32_t runs_apart;
    /* Where counting is: */
    uint64_t rows;
    uint64_t latest_ticks; /* no row so far begins later */
    tt_log_position at;
    bool done;
    tt_error ended_by;
};

/* The last position for which `before` holds, which is true up to some position and false then. The
 * first one if none. */
typedef bool place_test(const log_index_position *p, const void *key);

static const log_index_position *last_place(const tt_log_index *x, place_test *before,
                                            const void *key)
{
    uint32_t at;
    tt_lower_bound(at, x->n_places, before(&x->places[at], key));
    return &x->places[at ? at - 1 : 0];
}

static bool by_row(const log_index_position *p, const void *row)
{
    return p->row <= *(const uint64_t *)row;
}

static bool by_run(const log_index_position *p, const void *position)
{
    return p->next_run <= *(const uint32_t *)position;
}

typedef struct moment {
    const tt_model *m;
    double ns;
} moment;

static bool by_time(const log_index_position *p, const void *key)
{
    const moment *k = key;
    return p->row == 0 || tt_model_ns(k->m, p->latest_ticks) < k->ns;
}

static tt_status go_to(const tt_log_index *x, tt_log_cursor *c, const log_index_position *p,
                       tt_error *err)
{
    tt_log_position place = {.next_run = p->next_run, .n_active = p->n_active};
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
            const log_index_position *p = last_place(x, by_row, &row);
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

/* From the position to `row`. */
static tt_status seek_from(const tt_log_index *x, tt_log_cursor *c, const log_index_position *p,
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

/* When the op began, over its lanes, and when it ended; the run's start if it is not there. */
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
        if (!tt_log_item_has(m, run, &load.items[i], node)) continue;
        *start = load.items[i].start;
        *end = load.items[i].arrive > *start ? load.items[i].arrive : *start;
        break;
    }
    tt_log_load_free(&load);
    /* An unreadable run has no row: returns its position. */
    return status == TT_E_MEMORY ? status : TT_OK;
}

typedef struct wanted {
    uint32_t position, run, node;
    uint64_t start, end;
} wanted;

static tt_status walk_to_op(const tt_log_index *x, const tt_model *m, tt_log_cursor *c,
                            const wanted *w, uint64_t *row, bool *found, tt_error *err)
{
    const log_index_position *p = last_place(x, by_run, &w->position);
    bool more = true, passed = false;
    tt_status status = go_to(x, c, p, err);
    *row = x->rows;
    for (uint64_t at = p->row; status == TT_OK; at++) {
        uint32_t position, next_run;
        status = tt_log_index_next(x, c, at, &more, err);
        if (status != TT_OK || !more) break;
        const tt_log_item *i = tt_log_cursor_item(c, &position);
        if (position == w->position && tt_log_item_has(m, w->run, i, w->node)) {
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
    const log_index_position *p = last_place(x, by_time, &key);
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

/* Minimum distance of positions: reading a few thousand rows takes less than a millisecond. */
#define PLACE_ROWS 2048u
#define PLACE_RUNS 16u
#define UNKNOWN UINT64_MAX

static bool copy_texts(tt_log_index *x)
{
    const char **texts[] = {&x->filter.op, &x->filter.tensor, &x->filter.text, &x->filter.model};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!*texts[i]) continue;
        x->texts[i] = strdup(*texts[i]);
        if (!x->texts[i]) return false;
        *texts[i] = x->texts[i];
    }
    return true;
}

tt_status tt_log_index_new(const tt_model *m, tt_log_survey *survey, const tt_filter *filter,
                           bool by_lane, tt_log_index **out, tt_error *err)
{
    *out = NULL;
    if (filter->has_from || filter->has_to || filter->has_least || filter->has_most) {
        tt_status status = tt_model_need_clock(m, err);
        if (status != TT_OK) return status;
    }
    tt_log_index *x = calloc(1, sizeof *x);
    if (!x) return tt_error_memory(err, "an index of the log");
    x->filter = *filter;
    x->by_lane = by_lane || filter->has_lane;
    x->survey = survey;
    x->n_runs = m->n_runs;
    x->rows_apart = PLACE_ROWS;
    x->runs_apart = PLACE_RUNS;
    if (!copy_texts(x)) {
        tt_log_index_free(x);
        return tt_error_memory(err, "an index of the log");
    }
    tt_log_load_begin(&x->load, m, &x->filter, by_lane);
    *out = x;
    return TT_OK;
}

void tt_log_index_free(tt_log_index *x)
{
    if (!x) return;
    tt_log_load_free(&x->load);
    for (size_t i = 0; i < sizeof x->texts / sizeof *x->texts; i++)
        free(x->texts[i]);
    free(x->of_set);
    free(x->places);
    free(x->active);
    free(x);
}

const tt_filter *tt_log_index_filter(const tt_log_index *x)
{
    return &x->filter;
}

/* --- positions --- */

/* Keeps every second position. */
static void thin_out(tt_log_index *x)
{
    size_t n_active = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n_places; i += 2) {
        log_index_position p = x->places[i];
        if (p.n_active)
            memmove(x->active + n_active, x->active + p.first_active,
                    p.n_active * sizeof *x->active);
        p.first_active = n_active;
        n_active += p.n_active;
        x->places[n++] = p;
    }
    x->n_places = n;
    x->n_active = n_active;
    x->rows_apart *= 2;
    x->runs_apart *= 2;
}

static bool make_room(tt_log_index *x, uint32_t n_active)
{
    if (x->n_places == TT_LOG_PLACES_MAX || x->n_active + n_active > TT_LOG_ACTIVE_MAX) thin_out(x);
    if (!tt_array_one_more(x->places, x->n_places, x->places_capacity)) return false;
    return tt_array_room(x->active, x->active_capacity, x->n_active + n_active);
}

/* Saves the current position if it is far enough from the previous one. Of several positions before
 * one row only the first and the last are useful. */
static bool note_place(tt_log_index *x, const tt_log_position *at)
{
    log_index_position *last = x->n_places ? &x->places[x->n_places - 1] : NULL;
    if (last && x->rows - last->row < x->rows_apart &&
        at->next_run - last->next_run < x->runs_apart)
        return true;
    if (x->n_places > 1 && last->row == x->rows && last[-1].row == x->rows && last->n_active == 0 &&
        at->n_active == 0) {
        last->next_run = at->next_run;
        return true;
    }
    if (!make_room(x, at->n_active)) return false;
    x->places[x->n_places++] =
        (log_index_position){x->rows, x->latest_ticks, x->n_active, at->next_run, at->n_active};
    if (at->n_active)
        memcpy(x->active + x->n_active, at->active, at->n_active * sizeof *at->active);
    x->n_active += at->n_active;
    return true;
}

/* --- counting --- */

/* Whether all ops of the run that pass by name and location are rows. */
static bool is_structural(const tt_log_index *x, const tt_log_surveyed *r)
{
    const tt_filter *f = &x->filter;
    if (x->by_lane || r->set == TT_NONE || f->has_least || f->has_most || x->load.slices.pattern)
        return false;
    if (!f->has_from && !f->has_to) return true;
    const double first_ns = tt_model_ns(x->load.m, r->first_ticks);
    const double last_ns = tt_model_ns(x->load.m, r->last_ticks);
    return tt_filter_span(f, first_ns, first_ns) && tt_filter_span(f, last_ns, last_ns);
}

static tt_status count_set(tt_log_index *x, uint32_t set, uint64_t *rows, tt_error *err)
{
    uint32_t n_sets = tt_log_survey_sets(x->survey);
    uint32_t had = x->n_of_set;
    if (!tt_array_room(x->of_set, x->n_of_set, n_sets))
        return tt_error_memory(err, "an index of the log");
    for (; had < x->n_of_set; had++)
        x->of_set[had] = UNKNOWN;
    if (x->of_set[set] == UNKNOWN) {
        const tt_log_set *s = tt_log_survey_set(x->survey, set);
        uint8_t *verdicts = tt_filter_ops_of(&x->load.passing, s->graph);
        uint64_t n = 0;
        for (uint32_t i = 0; i < s->n; i++)
            n +=
                tt_filter_ops_pass(&x->load.passing, verdicts, s->graph, s->nodes[i], s->covers[i]);
        if (x->load.passing.failed) return tt_error_memory(err, "an index of the log");
        x->of_set[set] = n;
    }
    *rows = x->of_set[set];
    return TT_OK;
}

/* Counts the rows of the next run, while none is open; *whole is false, and nothing is counted, if
 * a later run begins before its last op does. */
static tt_status count_run(tt_log_index *x, bool *whole, uint64_t *rows, uint64_t *work,
                           tt_error *err)
{
    const tt_model *m = x->load.m;
    const uint32_t *order = tt_log_survey_order(x->survey), position = x->at.next_run;
    *whole = true;
    *rows = 0;
    if (!tt_log_load_may(&x->load, order[position])) return TT_OK;
    const tt_log_surveyed *r = tt_log_survey_run(x->survey, m, position, work, err);
    if (!r) return err->status;
    if (r->n == 0) return TT_OK;
    *whole = position + 1 == x->n_runs || r->last_ticks < m->runs[order[position + 1]].begin_ticks;
    if (!*whole) return TT_OK;
    if (r->last_ticks > x->latest_ticks) x->latest_ticks = r->last_ticks;
    if (is_structural(x, r)) return count_set(x, r->set, rows, err);
    tt_status status = tt_log_load_run(&x->load, order[position], err);
    *rows = x->load.n;
    *work += r->n;
    return status;
}

/* Counts row by row, until no run is open or the work is done. */
static tt_status count_rows(tt_log_index *x, const tt_model *m, uint64_t *work, uint64_t enough,
                            tt_error *err)
{
    tt_log_cursor *c;
    tt_log_event event = TT_LOG_LOOKED;
    tt_status status =
        tt_log_cursor_open(m, &x->filter, x->by_lane, tt_log_survey_order(x->survey), &c, err);
    if (status == TT_OK) status = tt_log_cursor_restore(c, &x->at, err);
    while (status == TT_OK && event != TT_LOG_END) {
        uint32_t next;
        status = tt_log_cursor_step(c, &event, err);
        if (status != TT_OK) break;
        *work += event == TT_LOG_LOOKED ? 1000 : 1;
        if (event == TT_LOG_ROW) {
            uint32_t position;
            uint64_t start = tt_log_cursor_item(c, &position)->start;
            x->rows++;
            if (start > x->latest_ticks) x->latest_ticks = start;
        }
        bool between = tt_log_cursor_between(c, &next);
        if (x->rows % x->rows_apart != 0 && !between && *work < enough) continue;
        tt_log_cursor_save(c, &x->at);
        if (!note_place(x, &x->at)) status = tt_error_memory(err, "an index of the log");
        if (between || *work >= enough) break;
    }
    if (event == TT_LOG_END) x->at.next_run = x->n_runs;
    tt_log_cursor_close(c);
    return status;
}

static tt_status extend(tt_log_index *x, const tt_model *m, uint64_t work, tt_error *err)
{
    tt_error why = {0};
    tt_status status = TT_OK;
    tt_log_load_model(&x->load, m);
    for (uint64_t done = 0; !x->done && done < work && status == TT_OK; done++) {
        bool whole = false;
        uint64_t rows = 0;
        if (x->at.n_active == 0) {
            if (!note_place(x, &x->at)) return tt_error_memory(err, "an index of the log");
            if (x->at.next_run == x->n_runs) {
                x->done = true;
                break;
            }
            status = count_run(x, &whole, &rows, &done, &why);
        }
        if (status != TT_OK) break;
        if (whole) {
            x->rows += rows;
            x->at.next_run++;
        } else {
            status = count_rows(x, m, &done, work, &why);
        }
    }
    if (status == TT_OK) return TT_OK;
    if (status == TT_E_MEMORY) return tt_error_set(err, status, why.offset, "%s", why.message);
    x->done = true;
    x->ended_by = why;
    return TT_OK;
}

tt_status tt_log_index_extend(tt_log_index *x, const tt_model *m, uint64_t work, tt_error *err)
{
    tt_status status = extend(x, m, work, err);
    /* It refers to this share of the model, which the index outlives. */
    tt_slice_filter_free(&x->load.slices);
    return status;
}

void tt_log_index_count(const tt_log_index *x, tt_log_count *out)
{
    *out = (tt_log_count){.rows = x->rows,
                          .runs_done = x->at.next_run,
                          .runs = x->n_runs,
                          .done = x->done,
                          .ended_by = x->ended_by};
}
