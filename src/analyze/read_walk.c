#include "analyze/reads.h"
#include "base/array.h"
#include "base/order.h"
#include "model/faults.h"

#include <stdlib.h>

/* Runs of several contexts alternate op by op: this many are cached. */
#define RUNS_AT_HAND 4u

/* The page faults of an op, summed over its threads. */
typedef struct op_faults {
    uint32_t node;
    uint64_t minor, major;
} op_faults;

/* What was loaded of a run. */
typedef struct at_hand {
    uint32_t run; /* or TT_NONE */
    tt_accesses *accesses;
    op_faults *faults; /* by node */
    size_t n_faults, faults_capacity;
} at_hand;

typedef struct walk {
    const tt_model *m;
    const tt_reads_walker *w;
    at_hand runs[RUNS_AT_HAND];
    uint32_t oldest;
    tt_status status;
    tt_error *err;
} walk;

static tt_status load_faults(walk *q, at_hand *h)
{
    const tt_detail *list;
    size_t n;
    h->n_faults = 0;
    tt_status status = tt_model_faults_of_run(q->m, h->run, &list, &n, q->err);
    for (size_t i = 0; status == TT_OK && i < n; i++) {
        const uint32_t node = tt_detail_node(&list[i]);
        op_faults *f = h->n_faults ? &h->faults[h->n_faults - 1] : NULL;
        if (!f || f->node != node) {
            f = tt_array_add(h->faults, h->n_faults, h->faults_capacity);
            if (!f) return tt_error_memory(q->err, "the page faults of a run");
            *f = (op_faults){.node = node};
        }
        f->minor += list[i].faults.minor;
        f->major += list[i].faults.major;
    }
    return status;
}

/* NULL: see status. */
static at_hand *enter(walk *q, uint32_t run)
{
    for (uint32_t i = 0; i < RUNS_AT_HAND; i++)
        if (q->runs[i].run == run) return &q->runs[i];
    at_hand *h = &q->runs[q->oldest++ % RUNS_AT_HAND];
    h->run = TT_NONE;
    q->status = tt_over_check(&q->w->over, q->err);
    if (q->status == TT_OK) q->status = tt_accesses_run(h->accesses, run, q->err);
    if (q->status != TT_OK) return NULL;
    h->run = run;
    if (q->w->faults) q->status = load_faults(q, h);
    if (q->w->progress) q->w->progress(q->w->progress_context, run, q->m->n_runs);
    return q->status == TT_OK ? h : NULL;
}

static const op_faults *faults_of(const at_hand *h, uint32_t node)
{
    size_t at;
    tt_lower_bound(at, h->n_faults, h->faults[at].node < node);
    return at < h->n_faults && h->faults[at].node == node ? &h->faults[at] : NULL;
}

static bool visit(void *context, const tt_log_op *op)
{
    walk *q = context;
    tt_reading r = {.op = op, .run = (uint32_t)(op->run - q->m->runs)};
    at_hand *h = enter(q, r.run);
    if (!h) return false;
    q->status = tt_accesses_of(h->accesses, op->op, &r.list, &r.n, q->err);
    if (q->status != TT_OK) return false;
    const op_faults *f = q->w->faults ? faults_of(h, op->op->node) : NULL;
    if (f) {
        r.faults_known = true;
        r.minor = f->minor;
        r.major = f->major;
    }
    return q->w->visit(q->w->context, &r);
}

tt_status tt_reads_walk(const tt_model *m, const tt_reads_walker *w, tt_error *err)
{
    walk q = {.m = m, .w = w, .err = err};
    tt_status status = TT_OK;
    for (uint32_t i = 0; i < RUNS_AT_HAND; i++) {
        q.runs[i].run = TT_NONE;
        q.runs[i].accesses = tt_accesses_new(m);
        if (!q.runs[i].accesses) status = tt_error_memory(err, "all reads");
    }
    if (status == TT_OK) status = tt_log_walk(m, w->filter, false, visit, &q, err);
    for (uint32_t i = 0; i < RUNS_AT_HAND; i++) {
        tt_accesses_free(q.runs[i].accesses);
        free(q.runs[i].faults);
    }
    return status == TT_OK ? q.status : status;
}
