#include "analyze/log/log_cursor.h"

#include "analyze/op_table.h"

#include <stdlib.h>
#include <string.h>

typedef struct active {
    uint32_t position;
    tt_log_item *items;
    size_t n, at;
} active;

struct tt_log_cursor {
    const tt_model *m;
    const uint32_t *order;
    uint32_t next_run;
    tt_log_load load;
    active active[TT_LOG_RUNS_MAX];
    size_t n_active;
    tt_log_item item; /* the last row */
    uint32_t item_position;
    tt_op_table *ops;
};

static int by_begin(const void *a, const void *b, void *context)
{
    const tt_run *runs = context;
    const tt_run *x = &runs[*(const uint32_t *)a], *y = &runs[*(const uint32_t *)b];
    if (x->begin_ticks != y->begin_ticks) return x->begin_ticks < y->begin_ticks ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

uint32_t *tt_log_order(const tt_model *m)
{
    uint32_t *order = malloc(((size_t)m->n_runs + 1) * sizeof *order);
    if (!order) return NULL;
    for (uint32_t i = 0; i < m->n_runs; i++)
        order[i] = i;
    uint32_t sorted = 1;
    while (sorted < m->n_runs && m->runs[sorted - 1].begin_ticks <= m->runs[sorted].begin_ticks)
        sorted++;
    if (sorted < m->n_runs) qsort_r(order, m->n_runs, sizeof *order, by_begin, m->runs);
    return order;
}

tt_status tt_log_cursor_open(const tt_model *m, const tt_filter *filter, bool by_lane,
                             const uint32_t *order, tt_log_cursor **out, tt_error *err)
{
    *out = NULL;
    if (filter->has_from || filter->has_to || filter->has_least || filter->has_most) {
        tt_status status = tt_model_need_clock(m, err);
        if (status != TT_OK) return status;
    }
    tt_log_cursor *c = calloc(1, sizeof *c);
    if (!c) return tt_error_memory(err, "the ops of a log");
    c->m = m;
    c->order = order;
    tt_log_load_begin(&c->load, m, filter, by_lane);
    *out = c;
    return TT_OK;
}

static void forget(tt_log_cursor *c)
{
    for (size_t i = 0; i < c->n_active; i++)
        free(c->active[i].items);
    c->n_active = 0;
}

void tt_log_cursor_close(tt_log_cursor *c)
{
    if (!c) return;
    forget(c);
    tt_log_load_free(&c->load);
    tt_op_table_free(c->ops);
    free(c);
}

/* Takes the run at `position` into the active ones, when it has rows. */
static tt_status look_at(tt_log_cursor *c, uint32_t position, tt_error *err)
{
    uint32_t run = c->order[position];
    if (!tt_log_load_may(&c->load, run)) return TT_OK;
    tt_status status = tt_log_load_run(&c->load, run, err);
    if (status != TT_OK || c->load.n == 0) return status;
    size_t n = c->load.n;
    tt_log_item *items = malloc(n * sizeof *items);
    if (!items) return tt_error_memory(err, "the ops of a log");
    memcpy(items, c->load.items, n * sizeof *items);
    c->active[c->n_active++] = (active){.position = position, .items = items, .n = n};
    return TT_OK;
}

/* The active run whose next op began first; NULL when none is active. */
static active *earliest(tt_log_cursor *c)
{
    active *best = NULL;
    for (size_t i = 0; i < c->n_active; i++)
        if (!best || c->active[i].items[c->active[i].at].start < best->items[best->at].start)
            best = &c->active[i];
    return best;
}

tt_status tt_log_cursor_step(tt_log_cursor *c, tt_log_event *event, tt_error *err)
{
    active *a = earliest(c);
    bool more = c->next_run < c->m->n_runs && c->n_active < TT_LOG_RUNS_MAX;
    /* Ops of a run that began earlier may still be in the file. */
    if (more && (!a || c->m->runs[c->order[c->next_run]].begin_ticks <= a->items[a->at].start)) {
        *event = TT_LOG_LOOKED;
        return look_at(c, c->next_run++, err);
    }
    *event = a ? TT_LOG_ROW : TT_LOG_END;
    if (!a) return TT_OK;
    c->item = a->items[a->at];
    c->item_position = a->position;
    if (++a->at == a->n) {
        free(a->items);
        *a = c->active[--c->n_active];
    }
    return TT_OK;
}

const tt_log_item *tt_log_cursor_item(const tt_log_cursor *c, uint32_t *position)
{
    *position = c->item_position;
    return &c->item;
}

bool tt_log_cursor_op(tt_log_cursor *c, tt_log_op *out)
{
    const tt_log_item *i = &c->item;
    const tt_run *run = &c->m->runs[c->order[c->item_position]];
    if (!c->ops) c->ops = tt_op_table_new(c->m);
    const tt_op *op = c->ops ? tt_op_table_get(c->ops, run->graph, i->node, i->covers) : NULL;
    if (!op) return false;
    *out = (tt_log_op){.op = op,
                       .note = tt_op_table_note(c->ops, run->graph, i->node),
                       .run = run,
                       .lane = i->lane,
                       .lanes = i->lanes,
                       .open = i->open,
                       .start_ticks = i->start,
                       .arrive_ticks = i->arrive,
                       .release_ticks = i->release,
                       .busy_ticks = i->busy,
                       .wait_ticks = i->wait,
                       .off_cpu_ticks = i->off_cpu,
                       .off_cpu_known = i->off_cpu_known};
    return true;
}

bool tt_log_cursor_between(const tt_log_cursor *c, uint32_t *next_run)
{
    *next_run = c->next_run;
    return c->n_active == 0;
}

void tt_log_cursor_save(const tt_log_cursor *c, tt_log_place *out)
{
    out->next_run = c->next_run;
    out->n_active = (uint32_t)c->n_active;
    for (size_t i = 0; i < c->n_active; i++)
        out->active[i] = (tt_log_active){c->active[i].position, (uint32_t)c->active[i].at};
}

tt_status tt_log_cursor_restore(tt_log_cursor *c, const tt_log_place *place, tt_error *err)
{
    forget(c);
    for (uint32_t i = 0; i < place->n_active; i++) {
        tt_status status = look_at(c, place->active[i].position, err);
        if (status != TT_OK) return status;
        /* The same rows as when it was saved: a trace does not change. */
        if (c->n_active != i + 1 || place->active[i].at >= c->active[i].n)
            return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                                "a run has other ops than when it was read before");
        c->active[i].at = place->active[i].at;
    }
    c->next_run = place->next_run;
    return TT_OK;
}
