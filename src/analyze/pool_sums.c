#include "analyze/pool_sums.h"

#include "base/order.h"

#include <math.h>
#include <stdlib.h>

static bool passes(const tt_pool_report *p, const tt_filter *f, const tt_pool_row *r)
{
    if (!tt_filter_batch(f, p->m, r->batch)) return false;
    const tt_batch *b = r->batch == TT_NONE ? NULL : &p->m->batches[r->batch];
    const double end_ns = b && b->ended ? tt_model_ns(p->m, b->end_ticks) : r->end_ns;
    const double begin_ns = b ? tt_model_ns(p->m, b->begin_ticks) : r->end_ns;
    return !(f->has_from && end_ns < f->from_ns) && !(f->has_to && begin_ns > f->to_ns);
}

static void add_row(tt_pool_row *to, const tt_pool_row *r)
{
    const tt_pool_row before = *to;
    *to = *r; /* its final state */
    to->batch = TT_NONE;
    to->runs += before.runs;
    to->used += before.used;
    to->missed += before.missed;
    to->left += before.left;
    to->evictions += before.evictions;
    to->waited_ns += before.waited_ns;
    to->reads += before.reads;
    to->read_bytes += before.read_bytes;
    to->discarded_bytes += before.discarded_bytes;
    to->failed += before.failed;
    to->awaited += before.awaited;
    to->lost += before.lost;
}

/* The states of a row are consecutive, like the rows. */
static void add_causes(tt_pool_sums *s, const tt_model *m, uint32_t first, uint32_t n,
                       uint8_t *counted)
{
    for (uint32_t i = first; i < first + n; i++)
        for (uint32_t k = 0; k < m->pool_states[i].at.n; k++) {
            const uint32_t read = m->pool_states[i].first_read + k;
            const tt_pool_read *r = &m->pool_reads[read];
            tt_pool_cause *c = &s->causes[r->cause];
            c->reads++;
            c->read_bytes += r->size_bytes;
            c->awaited += r->waiters != 0;
            counted[read] = 1;
        }
}

static void add_pauses(tt_pool_sums *s, const tt_pool_time *t, const uint8_t *counted)
{
    for (uint32_t i = 0; t && i < t->n_pauses; i++) {
        const tt_pool_pause *p = &t->pauses[i];
        if (!counted[p->read]) continue;
        s->causes[t->m->pool_reads[p->read].cause].pause_ns += p->end_ns - p->begin_ns;
        s->pause_ns += p->end_ns - p->begin_ns;
    }
}

tt_status tt_pool_sums_make(tt_pool_sums *s, const tt_pool_report *p, const tt_pool_time *t,
                            const tt_filter *filter, tt_error *err)
{
    const tt_model *m = p->m;
    uint32_t state = 0;
    *s = (tt_pool_sums){.total = {.batch = TT_NONE}, .pause_ns = t ? 0 : NAN};
    for (unsigned i = 0; i < TT_READ_CAUSES; i++)
        s->causes[i].pause_ns = s->pause_ns;
    s->rows = calloc(p->n + 1, sizeof *s->rows);
    uint8_t *counted = calloc((size_t)m->n_pool_reads + 1, 1);
    for (size_t i = 0; s->rows && counted && i < p->n; i++) {
        const tt_pool_row *r = &p->rows[i];
        if (passes(p, filter, r)) {
            s->rows[s->n++] = *r;
            add_row(&s->total, r);
            if (r->batch != TT_NONE) s->tokens += tt_model_got(&m->batches[r->batch]);
            add_causes(s, m, state, r->runs, counted);
        }
        state += r->runs;
    }
    if (s->rows && counted) add_pauses(s, t, counted);
    const bool ok = s->rows && counted;
    free(counted);
    return ok ? TT_OK : tt_error_memory(err, "what boost did");
}

void tt_pool_sums_free(tt_pool_sums *s)
{
    free(s->rows);
    s->rows = NULL;
    s->n = 0;
}

/* --- columns --- */

static const tt_pool_cause *first_cause(const void *context)
{
    return ((const tt_pool_sums *)context)->causes;
}

TT_COLUMN_GET(get_cause, tt_pool_cause, c,
              tt_cell_text(cell, tt_pool_cause_name((unsigned)(c - first_cause(context))));)
TT_COLUMN_KNOWN(has_pause, tt_pool_cause, c, !isnan(c->pause_ns))

static const tt_column cause_columns[] = {
    TT_COLUMN("cause", "CAUSE", NONE, "kept, ahead, chosen, at op", .type = TT_CELL_NAME,
              .get = get_cause),
    TT_COLUMN("reads", "READS", COUNT, "of that cause", TT_MEMBER(tt_pool_cause, reads)),
    TT_COLUMN("read_bytes", "READ", BYTES, "by these", TT_MEMBER(tt_pool_cause, read_bytes)),
    TT_COLUMN("awaited_reads", "AWAITED", COUNT, "of these, that a thread waited for",
              TT_MEMBER(tt_pool_cause, awaited)),
    TT_COLUMN("pause_ns", "PAUSE", NS, "in which some thread waited for one of these last",
              TT_MEMBER(tt_pool_cause, pause_ns), .nullable = true, .known = has_pause),
};
const tt_schema tt_pool_causes_schema =
    TT_SCHEMA("pool_causes", "reads of `tensortrace boost` of one cause", cause_columns);

tt_rowset tt_pool_causes_rowset(const tt_pool_sums *s)
{
    return TT_ROWSET(&tt_pool_causes_schema, 0, s, s->causes, TT_READ_CAUSES);
}

TT_COLUMN_GET(get_token_bytes, tt_pool_sums, s, cell->known = s->tokens > 0;
              if (s->tokens) cell->f64 = (double)s->total.read_bytes / (double)s->tokens;)
TT_COLUMN_GET(get_pause, tt_pool_sums, s, cell->known = !isnan(s->pause_ns);
              cell->f64 = s->pause_ns;)
TT_COLUMN_JSON(json_total, tt_pool_sums, s,
               tt_row_json(j, NULL, &tt_pool_schema, context, &s->total);)
TT_COLUMN_JSON(json_causes, tt_pool_sums, s, {
    const tt_rowset set = tt_pool_causes_rowset(s);
    tt_json_array(j);
    for (size_t i = 0; i < set.n; i++)
        tt_row_json(j, NULL, set.schema, set.context, tt_rowset_row(&set, i));
    tt_json_array_end(j);
    (void)context;
})

static const tt_column sums_columns[] = {
    TT_FIELD("total", "of the batches", .type = TT_CELL_OBJECT, .json = json_total),
    TT_COLUMN("n_tokens", NULL, COUNT, "of these", TT_MEMBER(tt_pool_sums, tokens)),
    TT_COLUMN("read_bytes_per_token", NULL, BYTES, "of these", .type = TT_CELL_F64,
              .nullable = true, .get = get_token_bytes),
    TT_COLUMN("pause_ns", NULL, NS, "in which some thread waited for a read", .type = TT_CELL_F64,
              .nullable = true, .get = get_pause),
    TT_FIELD("causes", "the reads by cause", .type = TT_CELL_ROWS, .json = json_causes),
};
const tt_schema tt_pool_sums_schema =
    TT_SCHEMA("pool_sums", "what `tensortrace boost` did for some batches", sums_columns);
