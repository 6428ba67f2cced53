/* limit TRACE: how small the ops of a trace could be stored, exactly, by the best model known here.
 *
 * Each number is priced under a model that learns (price.h), given all that a decoder knows by
 * then. Nothing is spared: this is slow, and far from what a recorder could afford. What is left is
 * what the machine did and nobody can foresee.
 *
 *   step     times are numbers of steps of the clock (step.h), where it has such
 *   gap      an op begins when the one before ended on that lane; else, how much later
 *   busy     until the lane arrives, against the same op's on that lane in runs before
 *   release  all lanes leave when the last one arrives: how much after that
 *
 * Prints a line of CSV: records, ticks a step, then bits a record for each of: nodes, step
 * remainders, gap, busy, release; and bytes a record in all. */
#include "price.h"
#include "read/pieces.h"
#include "step.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANES_MAX 64
#define NODES_MAX (1u << 16)

typedef struct op {
    uint32_t node;
    int64_t start, arrive, release; /* in steps */
} op;

typedef struct lane {
    op *ops;
    size_t n, capacity;
    int64_t last_release;
    int64_t last_rest;
    uint32_t *nodes_before; /* of the run before, in order */
    size_t n_before;
} lane;

/* What an op's busy time was on a lane, in the runs before. */
typedef struct memory {
    double level;  /* a slowly forgetting mean */
    double spread; /* of the error, likewise */
    uint32_t seen;
} memory;

typedef struct bill {
    double nodes, rests, gap, busy, release;
    uint64_t records;
} bill;

static lane lanes[LANES_MAX];
static memory (*memories)[LANES_MAX];
static price_model *nodes_model, *rest_model, *gap_model, *busy_model, *release_model;
static bill total;

static void fail(const char *what)
{
    (void)fprintf(stderr, "limit: %s\n", what);
    exit(1);
}

static void *allocate(size_t n, size_t size)
{
    void *p = calloc(n, size);
    if (!p) fail("out of memory");
    return p;
}

/* Each processor's counter has a phase of its own, which a lane keeps until it moves to another. */
static int64_t steps(const clock_step *s, lane *l, uint64_t time)
{
    int64_t rest, number = clock_step_number(s, time, &rest);
    total.rests += price_of(rest_model, 0, rest - l->last_rest);
    l->last_rest = rest;
    return number;
}

static void add_piece(const tt_piece_ops *p, const clock_step *s)
{
    lane *l = &lanes[p->lane];
    if (l->n + p->n > l->capacity) {
        l->capacity = 2 * (l->n + p->n);
        l->ops = realloc(l->ops, l->capacity * sizeof *l->ops);
        if (!l->ops) fail("out of memory");
    }
    uint64_t before = 0;
    for (size_t i = 0; i < p->n; i++) {
        op *o = &l->ops[l->n++];
        o->node = p->node[i];
        /* A start that is the last release again is no new time. */
        if (i > 0 && p->start[i] == before)
            o->start = l->ops[l->n - 2].release;
        else
            o->start = steps(s, l, p->start[i]);
        o->arrive = steps(s, l, p->arrive[i]);
        o->release = steps(s, l, p->release[i]);
        before = p->release[i];
    }
}

/* Nodes come in the order of the run before, most times. */
static void price_nodes(lane *l)
{
    for (size_t i = 0; i < l->n; i++) {
        int64_t expected = i < l->n_before ? l->nodes_before[i] : 0;
        total.nodes += price_of(nodes_model, 0, (int64_t)l->ops[i].node - expected);
    }
    l->nodes_before = realloc(l->nodes_before, (l->n + 1) * sizeof *l->nodes_before);
    if (!l->nodes_before) fail("out of memory");
    for (size_t i = 0; i < l->n; i++)
        l->nodes_before[i] = l->ops[i].node;
    l->n_before = l->n;
}

static void price_busy(const op *o, uint32_t lane_index)
{
    memory *m = &memories[o->node][lane_index];
    int64_t busy = o->arrive - o->start, expected = m->seen ? llround(m->level) : 0;
    int64_t error = busy - expected;
    total.busy +=
        price_of(busy_model, m->seen ? price_context(m->spread) : PRICE_CONTEXTS - 1, error);
    double rate = m->seen < 8 ? 1.0 / (m->seen + 1) : 0.12;
    /* One that was interrupted says little about the next. */
    double limit = 4 * m->spread + 8, step = (double)busy - m->level;
    if (m->seen > 4 && fabs(step) > limit) step = step > 0 ? limit : -limit;
    m->level += rate * step;
    m->spread += rate * (fabs((double)error) - m->spread);
    m->seen++;
}

/* The i-th op of these lanes, which is the same node: they meet at its end. */
static void price_together(size_t i, uint32_t from, uint32_t to)
{
    static double late = 4;
    int64_t last = INT64_MIN;
    for (uint32_t k = from; k < to; k++) {
        const op *o = &lanes[k].ops[i];
        int64_t gap = o->start - lanes[k].last_release;
        total.gap += price_of(gap_model, i == 0, gap);
        price_busy(o, k);
        if (o->arrive > last) last = o->arrive;
    }
    for (uint32_t k = from; k < to; k++) {
        op *o = &lanes[k].ops[i];
        /* Who arrives last leaves at once; who waited is woken. */
        unsigned context = price_context(late) + (o->arrive == last ? 20u : 0u);
        total.release +=
            price_of(release_model, context < PRICE_CONTEXTS ? context : PRICE_CONTEXTS - 1,
                     o->release - last);
        late += 0.05 * (fabs((double)(o->release - last)) - late);
        if (late > 500) late = 500;
        lanes[k].last_release = o->release;
    }
    total.records += to - from;
}

/* In old engines, and where an op is fused or split, lanes need not compute the same. */
static bool are_alike(uint32_t n_lanes)
{
    for (uint32_t k = 1; k < n_lanes; k++) {
        if (lanes[k].n != lanes[0].n) return false;
        for (size_t i = 0; i < lanes[0].n; i++)
            if (lanes[k].ops[i].node != lanes[0].ops[i].node) return false;
    }
    return true;
}

static void price_run(void)
{
    uint32_t n_lanes = 0;
    for (uint32_t k = 0; k < LANES_MAX; k++) {
        price_nodes(&lanes[k]);
        if (lanes[k].n) n_lanes = k + 1;
    }
    if (are_alike(n_lanes))
        for (size_t i = 0; n_lanes && i < lanes[0].n; i++)
            price_together(i, 0, n_lanes);
    else
        for (uint32_t k = 0; k < n_lanes; k++)
            for (size_t i = 0; i < lanes[k].n; i++)
                price_together(i, k, k + 1);
    for (uint32_t k = 0; k < LANES_MAX; k++)
        lanes[k].n = 0;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* From lane 0's times, in order. */
static clock_step find_step(tt_pieces *pieces, const tt_piece *list, size_t n_pieces)
{
    tt_piece_ops ops;
    size_t n = 0, capacity = (size_t)tt_pieces_records(pieces) * 3;
    uint64_t *times = allocate(capacity + 1, sizeof *times);
    for (size_t i = 0; i < n_pieces; i++) {
        if (tt_pieces_get(pieces, &list[i], &ops, NULL) != TT_OK) fail("cannot read the trace");
        for (size_t k = 0; k < ops.n && ops.lane == 0 && !ops.open; k++) {
            times[n++] = ops.start[k];
            times[n++] = ops.arrive[k];
            times[n++] = ops.release[k];
        }
    }
    qsort(times, n, sizeof *times, by_value);
    clock_step s = clock_step_find(times, n);
    free(times);
    return s;
}

static void price_trace(tt_pieces *pieces)
{
    size_t n;
    const tt_piece *list = tt_pieces_list(pieces, &n);
    clock_step s = find_step(pieces, list, n);
    for (size_t i = 0; i < n; i++) {
        tt_piece_ops ops;
        if (list[i].lane >= LANES_MAX) fail("too many lanes");
        if (tt_pieces_get(pieces, &list[i], &ops, NULL) != TT_OK) fail("cannot read the trace");
        for (size_t k = 0; k < ops.n; k++)
            if (ops.node[k] >= NODES_MAX) fail("too many nodes");
        if (!ops.open) add_piece(&ops, &s);
        if (i + 1 == n || list[i + 1].run != list[i].run) price_run();
    }
    double records = (double)total.records;
    double bits = total.nodes + total.rests + total.gap + total.busy + total.release;
    (void)printf("%llu,%.5f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f\n", (unsigned long long)total.records,
                 s.ticks, total.nodes / records, total.rests / records, total.gap / records,
                 total.busy / records, total.release / records, bits / 8 / records);
}

int main(int argc, char **argv)
{
    tt_trace trace;
    tt_pieces *pieces;
    tt_error err = {.message = ""};
    if (argc != 2) fail("usage: limit TRACE");
    if (tt_trace_open(&trace, argv[1], &err) != TT_OK ||
        tt_pieces_open(&trace, &pieces, &err) != TT_OK || tt_pieces_survey(pieces, &err) != TT_OK)
        fail(err.message);
    memories = allocate(NODES_MAX, sizeof *memories);
    nodes_model = allocate(1, sizeof *nodes_model);
    rest_model = allocate(1, sizeof *rest_model);
    gap_model = allocate(1, sizeof *gap_model);
    busy_model = allocate(1, sizeof *busy_model);
    release_model = allocate(1, sizeof *release_model);
    price_trace(pieces);
    tt_pieces_free(pieces);
    tt_trace_close(&trace);
    return 0;
}
