#include "analyze/pool.h"

#include "analyze/access.h"

#include <stdio.h>
#include <stdlib.h>

const char *tt_pool_cause_name(unsigned cause)
{
    static const char *const names[TT_READ_CAUSES] = {"kept", "ahead", "chosen", "at op"};
    return cause < TT_READ_CAUSES ? names[cause] : "unknown";
}

/* The increase since the previous state; a count that decreased is of another process. */
static uint64_t since(uint64_t now, uint64_t before)
{
    return now >= before ? now - before : now;
}

static void add_reads(tt_pool_row *r, const tt_model *m, const tt_pool_state *s)
{
    for (uint32_t i = s->first_read; i < s->first_read + s->at.n; i++) {
        const tt_pool_read *x = &m->pool_reads[i];
        r->reads++;
        r->read_bytes += x->size_bytes;
        r->discarded_bytes += x->flags & TT_READ_DISCARDED ? x->size_bytes : 0;
        r->failed += (x->flags & TT_READ_FAILED) != 0;
        r->awaited += x->waiters != 0;
    }
    r->lost += s->at.lost;
}

static void add_state(tt_pool_row *r, const tt_model *m, const tt_pool_state *s,
                      const tt_meta_pool *before)
{
    r->runs++;
    r->end_ns = tt_model_ns(m, s->at.ticks);
    r->budget_bytes = s->at.budget_bytes;
    r->present_bytes = s->at.present_bytes;
    r->peak_bytes = s->at.peak_bytes;
    r->used += since(s->at.used, before->used);
    r->missed += since(s->at.missed, before->missed);
    r->left += since(s->at.left, before->left);
    r->evictions += since(s->at.evictions, before->evictions);
    r->waited_ns += since(s->at.waited_ns, before->waited_ns);
    add_reads(r, m, s);
}

tt_status tt_pool_find(tt_pool_report *p, const tt_model *m, tt_error *err)
{
    static const tt_meta_pool none = {0};
    *p = (tt_pool_report){.m = m, .total = {.batch = TT_NONE}};
    tt_status status = tt_weight_locations_find(&p->weights, m, err);
    if (status != TT_OK) return status;
    p->rows = calloc((size_t)m->n_pool_states + 1, sizeof *p->rows);
    if (!p->rows) return tt_error_memory(err, "what boost did");
    for (uint32_t i = 0; i < m->n_pool_states; i++) {
        const tt_pool_state *s = &m->pool_states[i];
        const tt_meta_pool *before = i ? &m->pool_states[i - 1].at : &none;
        const uint32_t batch =
            s->at.run == TT_NONE ? tt_model_batch_at(m, s->at.ticks) : m->runs[s->at.run].batch;
        if (p->n == 0 || p->rows[p->n - 1].batch != batch)
            p->rows[p->n++] = (tt_pool_row){.batch = batch};
        add_state(&p->rows[p->n - 1], m, s, before);
        add_state(&p->total, m, s, before);
    }
    return TT_OK;
}

void tt_pool_free(tt_pool_report *p)
{
    tt_weight_locations_free(&p->weights);
    free(p->rows);
    p->rows = NULL;
    p->n = 0;
}

/* --- columns --- */

static void put_batch(const tt_model *m, uint32_t batch, tt_cell *cell)
{
    cell->known = batch != TT_NONE;
    if (cell->known) cell->u64 = tt_model_batch_number(m, batch);
}

static void get_batch(const void *context, const void *row, tt_cell *cell)
{
    put_batch(((const tt_pool_report *)context)->m, ((const tt_pool_row *)row)->batch, cell);
}

/* Of a dense model no op uses slices. */
static bool has_slices(const void *context, const void *row)
{
    (void)row;
    return ((const tt_pool_report *)context)->total.used > 0;
}

TT_COLUMN_GET(get_hit_share, tt_pool_row, r, cell->known = r->used > 0;
              if (r->used) cell->f64 = 1 - (double)(r->missed + r->left) / (double)r->used;)

static tt_certainty at_least(const void *context, const void *row)
{
    (void)context;
    return ((const tt_pool_row *)row)->lost ? TT_AT_LEAST : TT_EXACT;
}

#define OF_POOL(key_, title_, unit_, about_, member_, ...)                                         \
    TT_COLUMN(key_, title_, unit_, about_, TT_MEMBER(tt_pool_row, member_), __VA_ARGS__)
static const tt_column pool_columns[] = {
    TT_COLUMN("batch_id", "BATCH", ID, "the batch; null: none", .type = TT_CELL_U32,
              .nullable = true, .show = TT_SHOW_LEFT | TT_SHOW_DASH | TT_SHOW_ROW,
              .get = get_batch),
    OF_POOL("end_relative_ns", NULL, MOMENT, "when its computing was over, since the first batch",
            end_ns, .show = TT_SHOW_ROW),
    OF_POOL("read_bytes", "READ", BYTES, "read in its time, also for the next one", read_bytes,
            .bound = at_least),
    OF_POOL("reads", "READS", COUNT, "how many reads these were", reads, .bound = at_least),
    OF_POOL("awaited_reads", "AWAITED", COUNT, "of these, that a thread waited for", awaited,
            .bound = at_least),
    OF_POOL("waited_ns", "WAITED", NS, "by threads at the start of ops, a sum over threads",
            waited_ns),
    OF_POOL("slices_used", "SLICES", COUNT, "slices of experts that ops used", used,
            .show = TT_SHOW_KNOWN, .nullable = true, .known = has_slices),
    OF_POOL("slices_missed", "MISSED", COUNT, "of these, read for that use", missed,
            .show = TT_SHOW_KNOWN, .nullable = true, .known = has_slices),
    OF_POOL("slices_left", "LEFT", COUNT,
            "of these, without room in the pool: left to the kernel's paging", left,
            .show = TT_SHOW_KNOWN | TT_SHOW_WIDE, .nullable = true, .known = has_slices),
    TT_COLUMN("hit_share", "HITS", SHARE,
              "slices that were in the pool when they were asked for, of slices_used",
              .type = TT_CELL_F64, .nullable = true, .show = TT_SHOW_KNOWN, .get = get_hit_share),
    OF_POOL("evictions", NULL, COUNT, "ranges that were given up for others", evictions),
    OF_POOL("discarded_bytes", NULL, BYTES, "of read_bytes, wanted by nobody any more",
            discarded_bytes),
    OF_POOL("failed_reads", NULL, COUNT, "reads that failed: the kernel's paging had to do",
            failed),
    OF_POOL("present_bytes", "IN POOL", BYTES, "when it was over, with what was being read",
            present_bytes),
    OF_POOL("peak_bytes", NULL, BYTES, "the most until then", peak_bytes),
    OF_POOL("budget_bytes", NULL, BYTES, "what the pool may hold", budget_bytes),
    OF_POOL("lost_reads", NULL, COUNT, "reads that the trace has no room for", lost),
};
const tt_schema tt_pool_schema =
    TT_SCHEMA("pool", "a batch: the pool of `tensortrace boost` when it was over", pool_columns);

tt_rowset tt_pool_rowset(const tt_pool_report *p)
{
    return TT_ROWSET(&tt_pool_schema, 0, p, p->rows, p->n);
}

/* --- single reads --- */

static const tt_model *model_of(const void *context)
{
    return ((const tt_pool_report *)context)->m;
}

static double duration(const tt_model *m, uint64_t from, uint64_t to)
{
    return tt_model_ns(m, to) - tt_model_ns(m, from);
}

#define READ_GET(name, body)                                                                       \
    static void name(const void *context, const void *row, tt_cell *cell)                          \
    {                                                                                              \
        const tt_model *m = model_of(context);                                                     \
        const tt_pool_read *r = row;                                                               \
        cell->known = true;                                                                        \
        body                                                                                       \
    }
READ_GET(get_begin, cell->f64 = tt_model_ns(m, r->begin_ticks);)
READ_GET(get_queued, cell->f64 = duration(m, r->requested_ticks, r->begin_ticks);)
READ_GET(get_duration, cell->f64 = duration(m, r->begin_ticks, r->end_ticks);)
READ_GET(get_waited, cell->known = r->waiters > 0;
         if (r->waiters) cell->f64 = duration(m, r->end_ticks - r->waited_ticks, r->end_ticks);)
READ_GET(get_read_batch, put_batch(m, tt_model_batch_at(m, r->begin_ticks), cell);)
READ_GET(get_file, tt_cell_text(cell, m->files[r->file].path);)
READ_GET(get_cause, (void)m; tt_cell_text(cell, tt_pool_cause_name(r->cause));)
READ_GET(get_failed, (void)m; cell->boolean = (r->flags & TT_READ_FAILED) != 0;)
READ_GET(get_discarded, (void)m; cell->boolean = (r->flags & TT_READ_DISCARDED) != 0;)
READ_GET(get_thread, (void)m; cell->known = r->waiters > 0; cell->u64 = r->thread;)

/* By its middle: neighbours may share the first and the last page. */
static tt_weight_location place_of(const void *context, const tt_pool_read *r)
{
    const tt_pool_report *p = context;
    return tt_weight_locations_at(&p->weights, r->file, r->file_offset_bytes + r->size_bytes / 2);
}

READ_GET(get_tensor, {
    const tt_weight_location w = place_of(context, r);
    cell->known = w.weight != TT_NONE;
    if (cell->known) tt_cell_text(cell, m->weights[w.weight].name);
})
READ_GET(get_expert, {
    const tt_weight_location w = place_of(context, r);
    (void)m;
    cell->known = w.expert != TT_EXPERT_NONE;
    cell->i64 = w.expert;
})

static const tt_column read_columns[] = {
    TT_COLUMN("start_relative_ns", "BEGUN", MOMENT, "since the first batch", .type = TT_CELL_F64,
              .get = get_begin),
    TT_COLUMN("batch_id", "BATCH", ID, "in whose time it began; null: outside any",
              .type = TT_CELL_U32, .nullable = true, .show = TT_SHOW_DASH, .get = get_read_batch),
    TT_COLUMN("cause", "CAUSE", NONE,
              "kept: it stays in the pool; ahead: in the graph's order; chosen: of an expert, once "
              "it was chosen; at op: of an expert, when its op began",
              .type = TT_CELL_NAME, .get = get_cause),
    TT_COLUMN("tensor", "TENSOR", NONE, "the weight", .type = TT_CELL_NAME, .nullable = true,
              .show = TT_SHOW_CUT | TT_SHOW_KEY, .get = get_tensor),
    TT_COLUMN("expert_id", "EXPERT", ID, "of a tensor of experts, whose slice it is",
              .type = TT_CELL_I32, .nullable = true, .show = TT_SHOW_KNOWN, .get = get_expert),
    TT_COLUMN("model_file", NULL, NONE, "the model file", .type = TT_CELL_NAME, .get = get_file),
    TT_COLUMN("file_offset_bytes", NULL, ID, "where it began in the file",
              TT_MEMBER(tt_pool_read, file_offset_bytes)),
    TT_COLUMN("size_bytes", "SIZE", BYTES, "of the read", TT_MEMBER(tt_pool_read, size_bytes)),
    TT_COLUMN("queued_ns", "QUEUED", NS, "from the request until it began", .type = TT_CELL_F64,
              .show = TT_SHOW_WIDE, .get = get_queued),
    TT_COLUMN("duration_ns", "TIME", NS, "from then until it was over", .type = TT_CELL_F64,
              .get = get_duration),
    TT_COLUMN("waiters", "WAITERS", COUNT, "threads that waited for it at the start of an op",
              .show = TT_SHOW_WIDE, TT_MEMBER(tt_pool_read, waiters)),
    TT_COLUMN("waited_ns", "WAITED", NS, "by the first of them, until it was over",
              .type = TT_CELL_F64, .nullable = true, .show = TT_SHOW_DASH, .get = get_waited),
    TT_COLUMN("os_thread_id", NULL, ID, "the first of them: its number in the system",
              .type = TT_CELL_U32, .nullable = true, .get = get_thread),
    TT_COLUMN("failed", NULL, NONE, "the kernel's paging had to do", .type = TT_CELL_BOOL,
              .get = get_failed),
    TT_COLUMN("discarded", NULL, NONE, "nobody wanted it any more when it came",
              .type = TT_CELL_BOOL, .get = get_discarded),
};
const tt_schema tt_pool_reads_schema =
    TT_SCHEMA("pool_reads", "a read of `tensortrace boost`", read_columns);

tt_rowset tt_pool_reads_rowset(const tt_pool_report *p)
{
    return TT_ROWSET(&tt_pool_reads_schema, 0, p, p->m->pool_reads, p->m->n_pool_reads);
}
