#include "analyze/log/log.h"

#include "analyze/ops.h"
#include "base/array.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

static tt_status walk(tt_log_cursor *c, tt_log_visit *visit, void *context, tt_error *err)
{
    for (;;) {
        tt_log_event event;
        tt_log_op op;
        tt_status status = tt_log_cursor_step(c, &event, err);
        if (status != TT_OK || event == TT_LOG_END) return status;
        if (event != TT_LOG_ROW) continue;
        if (!tt_log_cursor_op(c, &op)) return tt_error_memory(err, "a run's ops");
        if (!visit(context, &op)) return TT_OK;
    }
}

tt_status tt_log_walk(const tt_model *m, const tt_filter *filter, bool by_lane, tt_log_visit *visit,
                      void *context, tt_error *err)
{
    tt_log_cursor *c = NULL;
    uint32_t *order = tt_log_order(m);
    tt_status status = order ? tt_log_cursor_open(m, filter, by_lane, order, &c, err)
                             : tt_error_memory(err, "a log");
    if (status == TT_OK) status = walk(c, visit, context, err);
    tt_log_cursor_close(c);
    free(order);
    return status;
}

TT_ORDER_BY(by_start, tt_log_item, start, node, lane)

void tt_log_load_begin(tt_log_load *l, const tt_model *m, const tt_filter *filter, bool by_lane)
{
    *l = (tt_log_load){.m = m,
                       .filter = filter,
                       .by_lane = by_lane || filter->has_lane,
                       .passing = {.m = m, .filter = filter},
                       .slices = tt_slice_filter_of(m, filter)};
}

void tt_log_load_model(tt_log_load *l, const tt_model *m)
{
    tt_slice_filter_free(&l->slices);
    l->m = l->passing.m = l->slices.m = m;
}

void tt_log_load_free(tt_log_load *l)
{
    tt_join_free(&l->join);
    tt_filter_ops_free(&l->passing);
    tt_slice_filter_free(&l->slices);
    free(l->items);
    l->items = NULL;
}

bool tt_log_load_may(const tt_log_load *l, uint32_t run)
{
    const tt_run *r = &l->m->runs[run];
    return r->graph != TT_NONE && tt_filter_run(l->filter, l->m, r);
}

/* What the graph's verdicts do not cover. */
static bool times_pass(const tt_log_load *l, uint64_t start, uint64_t arrive, uint64_t release,
                       bool open)
{
    const tt_filter *f = l->filter;
    if ((f->has_from || f->has_to) &&
        !tt_filter_span(f, tt_model_ns(l->m, start), tt_model_ns(l->m, release)))
        return false;
    if (!f->has_least && !f->has_most) return true;
    return tt_filter_duration(f, open, tt_model_span_ns(l->m, arrive - start));
}

static tt_status load_joined(tt_log_load *l, uint32_t run, uint8_t *verdicts, tt_error *err)
{
    const uint32_t graph = l->m->runs[run].graph;
    tt_status status = tt_join_run(&l->join, l->m, run, err);
    if (status != TT_OK) return status;
    if (!tt_array_room(l->items, l->capacity, l->n + l->join.n_touched))
        return tt_error_memory(err, "a run's ops");
    for (uint32_t i = 0; i < l->join.n_touched; i++) {
        uint32_t node = l->join.touched[i];
        const tt_joined *o = &l->join.ops[node];
        if (!tt_filter_ops_pass(&l->passing, verdicts, graph, node, o->covers) ||
            !times_pass(l, o->start, o->arrive, o->release, o->open))
            continue;
        l->items[l->n++] = (tt_log_item){.start = o->start,
                                         .arrive = o->arrive,
                                         .release = o->release,
                                         .busy = o->busy,
                                         .wait = o->wait,
                                         .off_cpu = o->off_cpu,
                                         .inside = o->inside,
                                         .node = node,
                                         .lane = TT_NONE,
                                         .lanes = o->lanes,
                                         .covers = o->covers,
                                         .open = o->open,
                                         .off_cpu_known = l->join.off_cpu.known,
                                         .inside_known = l->join.off_cpu.inside_known};
    }
    return TT_OK;
}

static tt_status load_lanes(tt_log_load *l, uint32_t run, uint8_t *verdicts, tt_error *err)
{
    const tt_piece *pieces;
    size_t n;
    const uint32_t graph = l->m->runs[run].graph;
    tt_off_cpu *off = &l->join.off_cpu;
    tt_status status = tt_pieces_of_run(l->m->pieces, l->m->runs[run].id, &pieces, &n, err);
    if (status == TT_OK) status = tt_off_cpu_load(off, l->m, &l->m->runs[run], err);
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tt_piece_ops p;
        status = tt_pieces_get(l->m->pieces, &pieces[i], &p, err);
        if (status != TT_OK) return status;
        if (l->filter->has_lane && p.lane != l->filter->lane) continue;
        if (!tt_array_room(l->items, l->capacity, l->n + p.n))
            return tt_error_memory(err, "a run's ops");
        for (size_t k = 0; k < p.n; k++) {
            uint64_t start = p.start[k], arrive = p.arrive[k], release = p.release[k];
            if (p.node[k] >= l->m->graphs[graph].n_nodes ||
                !tt_filter_ops_pass(&l->passing, verdicts, graph, p.node[k], p.covers[k]) ||
                !times_pass(l, start, arrive, release, p.open))
                continue;
            tt_log_item *to = &l->items[l->n++];
            *to = (tt_log_item){.start = start,
                                .arrive = arrive,
                                .release = release,
                                .busy = arrive - start,
                                .wait = release - arrive,
                                .node = p.node[k],
                                .lane = p.lane,
                                .lanes = 1,
                                .covers = p.covers[k],
                                .open = p.open,
                                .off_cpu_known = off->known,
                                .inside_known = off->inside_known};
            tt_waits_inside inside = {0};
            if (arrive > start)
                to->off_cpu = tt_off_cpu_ticks(off, p.node[k], p.lane, to->busy, &inside);
            to->inside = inside.ticks;
        }
    }
    return status;
}

/* Removes ops that read other experts than the requested one. */
static tt_status keep_slices(tt_log_load *l, uint32_t run, tt_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->n; i++) {
        bool passes;
        tt_status status = tt_slice_filter_passes(&l->slices, run, l->items[i].node,
                                                  l->items[i].covers, &passes, err);
        if (status != TT_OK) return status;
        if (passes) l->items[kept++] = l->items[i];
    }
    l->n = kept;
    return TT_OK;
}

tt_status tt_log_load_run(tt_log_load *l, uint32_t run, tt_error *err)
{
    l->n = 0;
    uint8_t *verdicts = tt_filter_ops_of(&l->passing, l->m->runs[run].graph);
    if (l->passing.failed) return tt_error_memory(err, "a run's ops");
    tt_status status =
        l->by_lane ? load_lanes(l, run, verdicts, err) : load_joined(l, run, verdicts, err);
    if (status == TT_OK && l->passing.failed) status = tt_error_memory(err, "a run's ops");
    if (status == TT_OK && l->slices.pattern) status = keep_slices(l, run, err);
    if (status != TT_OK) return status;
    size_t sorted = 1;
    while (sorted < l->n && by_start(&l->items[sorted - 1], &l->items[sorted]) <= 0)
        sorted++;
    if (sorted < l->n) qsort(l->items, l->n, sizeof *l->items, by_start);
    return TT_OK;
}

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

static void clear(tt_log_cursor *c)
{
    for (size_t i = 0; i < c->n_active; i++)
        free(c->active[i].items);
    c->n_active = 0;
}

void tt_log_cursor_close(tt_log_cursor *c)
{
    if (!c) return;
    clear(c);
    tt_log_load_free(&c->load);
    tt_op_table_free(c->ops);
    free(c);
}

/* Adds the run at `position` to the active ones, if it has rows. */
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
    /* Ops of a run that began earlier may follow in the file. */
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

bool tt_log_item_has(const tt_model *m, uint32_t run, const tt_log_item *i, uint32_t node)
{
    uint32_t covered[TT_OP_NODES_MAX - 1];
    if (i->node == node) return true;
    uint32_t n = tt_op_covered(&m->graphs[m->runs[run].graph], i->node, i->covers, covered);
    for (uint32_t k = 0; k < n; k++)
        if (covered[k] == node) return true;
    return false;
}

bool tt_log_item_op(tt_op_table *ops, const tt_run *run, const tt_log_item *i, tt_log_op *out)
{
    const tt_op *op = tt_op_table_get(ops, run->graph, i->node, i->covers);
    if (!op) return false;
    *out = (tt_log_op){.op = op,
                       .note = tt_op_table_note(ops, run->graph, i->node),
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
                       .off_cpu_known = i->off_cpu_known,
                       .inside_ticks = i->inside,
                       .inside_known = i->inside_known};
    return true;
}

bool tt_log_cursor_op(tt_log_cursor *c, tt_log_op *out)
{
    if (!c->ops) c->ops = tt_op_table_new(c->m);
    return c->ops && tt_log_item_op(c->ops, &c->m->runs[c->order[c->item_position]], &c->item, out);
}

bool tt_log_cursor_between(const tt_log_cursor *c, uint32_t *next_run)
{
    *next_run = c->next_run;
    return c->n_active == 0;
}

void tt_log_cursor_save(const tt_log_cursor *c, tt_log_position *out)
{
    out->next_run = c->next_run;
    out->n_active = (uint32_t)c->n_active;
    for (size_t i = 0; i < c->n_active; i++)
        out->active[i] = (tt_log_active){c->active[i].position, (uint32_t)c->active[i].at};
}

tt_status tt_log_cursor_restore(tt_log_cursor *c, const tt_log_position *place, tt_error *err)
{
    clear(c);
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

void tt_log_picks_free(tt_log_picks *p)
{
    for (unsigned i = 0; i < TT_LOG_PICKS_RUNS; i++)
        tt_accesses_free(p->runs[i].accesses);
    memset(p->runs, 0, sizeof p->runs);
}

/* The accesses of that run, loaded if necessary; NULL on failure. */
static tt_accesses *accesses_of(tt_log_picks *p, const tt_run *run, tt_error *err)
{
    unsigned at = 0;
    for (unsigned k = 0; k < TT_LOG_PICKS_RUNS; k++) {
        if (p->runs[k].run == run) {
            p->runs[k].used = p->rows;
            return p->runs[k].accesses;
        }
        if (p->runs[k].used < p->runs[at].used) at = k;
    }
    if (!p->runs[at].accesses) p->runs[at].accesses = tt_accesses_new(p->m);
    p->runs[at].run = NULL;
    if (!p->runs[at].accesses) {
        (void)tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
        return NULL;
    }
    if (tt_accesses_run(p->runs[at].accesses, (uint32_t)(run - p->m->runs), err) != TT_OK)
        return NULL;
    p->runs[at].run = run;
    p->runs[at].used = p->rows;
    return p->runs[at].accesses;
}

tt_status tt_log_picks_of(tt_log_picks *p, const tt_log_op *row, const tt_op **op,
                          const tt_access **list, size_t *n, tt_error *err)
{
    tt_error why = {0};
    *op = row->op;
    *list = NULL;
    *n = 0;
    p->rows++;
    if (!row->op->picks) return TT_OK;
    tt_accesses *accesses = accesses_of(p, row->run, &why);
    tt_status status = accesses ? tt_accesses_of(accesses, row->op, list, n, &why) : why.status;
    if (status != TT_OK) return tt_error_set(err, status, why.offset, "%s", why.message);
    p->measured = *row->op;
    tt_access_apply(&p->measured, *list, *n);
    *op = &p->measured;
    return TT_OK;
}
