#include "analyze/heat.h"

#include "analyze/cache/reuse.h"
#include "analyze/filter.h"
#include "analyze/reads.h"
#include "base/array.h"
#include "base/checksum.h"
#include "base/order.h"
#include "base/path.h"
#include "base/saturate.h"

#include <stdlib.h>
#include <string.h>

enum tt_heat_step_kind tt_heat_step_kind_of(const tt_heat_location *last,
                                            const tt_heat_location *next)
{
    if (last->file != next->file) return TT_HEAT_STEP_OTHER_FILE;
    if (next->begin >= last->end)
        return next->begin - last->end <= TT_HEAT_PADDING_BYTES ? TT_HEAT_STEP_ADJACENT
                                                                : TT_HEAT_STEP_FORWARD;
    return next->begin >= last->begin ? TT_HEAT_STEP_AGAIN : TT_HEAT_STEP_BACKWARD;
}

void tt_heat_step(tt_heat_steps *s, const tt_heat_location *last, const tt_heat_location *next)
{
    const enum tt_heat_step_kind kind = tt_heat_step_kind_of(last, next);
    s->steps++;
    s->other_file += kind == TT_HEAT_STEP_OTHER_FILE;
    s->adjacent += kind == TT_HEAT_STEP_ADJACENT;
    s->again += kind == TT_HEAT_STEP_AGAIN;
    if (kind == TT_HEAT_STEP_FORWARD) {
        s->forward.count++;
        tt_quantiles_add(&s->forward.lengths, next->begin - last->end);
    } else if (kind == TT_HEAT_STEP_BACKWARD) {
        const uint64_t jump = last->begin - next->begin;
        s->backward.count++;
        s->sweeps += jump > next->span_bytes / 2;
        tt_quantiles_add(&s->backward.lengths, jump);
    }
}

/* A unit: the slice with that number. */
typedef struct unit {
    uint32_t row; /* or TT_NONE: not examined */
    uint32_t batches;
    uint32_t hint;  /* for tt_reuse_read */
    uint32_t stamp; /* last counted batch, + 1 */
    uint64_t touched;
    uint64_t loose; /* read at unknown places */
    uint64_t read;
} unit;

typedef struct sample {
    uint32_t row;
    uint64_t distance;
} sample;

/* What a context read of a slice. */
typedef struct own {
    uint32_t row, slice;
    uint32_t hint;
    uint64_t touched, loose; /* as in unit */
} own;

typedef struct measure {
    const tt_model *m;
    const tt_reads *reads;
    const tt_filter *filter;
    tt_heat *heat;
    tt_slices slices;
    unit *units;
    bool *was_read; /* by weight */
    tt_reuse reuse;
    sample *samples;
    size_t n_samples, samples_capacity;
    uint64_t *distinct;   /* by batch; the last one: none */
    uint64_t batch_began; /* reads of `reuse` when the current batch began */
    uint32_t *row_of;     /* by batch, the last one: none; NULL: not by context */
    tt_reuse *own_reuses; /* likewise: by row; only for what is read first */
    own *owns;            /* likewise */
    size_t n_owns, owns_capacity;
    tt_idmap own_of;    /* by row << 32 | slice */
    bool too_many;      /* of them */
    uint64_t elsewhere; /* behind all files: bytes that stand for those of unplaced reads */
    /* Of the current read: */
    unit *unit;
    uint32_t batch;
    uint64_t farthest;
} measure;

bool tt_heat_has_experts(const tt_reads *reads)
{
    for (size_t i = 0; i < reads->n_ranges; i++)
        if (reads->ranges[i].expert >= 0) return true;
    return false;
}

/* Whether to list a weight that was not read: the filter can only exclude what it names. */
static bool is_asked_for(const tt_filter *f, const tt_model *m, const tt_weight *w)
{
    if (f->op) return false;
    return tt_filter_weight(f, m, w);
}

typedef struct looked_for {
    const measure *q;
    const char *component;
} looked_for;

static bool is_of_component(const void *context, uint32_t row)
{
    const looked_for *l = context;
    const tt_weight *w = &l->q->m->weights[l->q->heat->rows[row].weight];
    return strcmp(w->place.component, l->component) == 0;
}

/* The row of a slice, made on demand; rows of a layer or component are found by key. */
static uint32_t row_of(measure *q, tt_heat_by by, const tt_slice *s, tt_idmap *rows)
{
    const tt_weight *w = &q->m->weights[s->weight];
    tt_heat *heat = q->heat;
    uint64_t key = (uint64_t)(s - q->slices.list); /* of an expert */
    uint32_t was = TT_NONE;
    /* What is outside the layers is of its model, too. */
    const uint32_t model = q->m->files[w->file].model;
    if (by == TT_HEAT_LAYER)
        key = w->place.layer_id < 0 ? (uint64_t)model << 32 : (uint64_t)w->place.layer_id + 1;
    if (by == TT_HEAT_MODEL) key = model;
    if (by == TT_HEAT_TENSOR) key = s->weight;
    if (by == TT_HEAT_COMPONENT) {
        const looked_for l = {q, w->place.component};
        key = tt_checksum(l.component, strlen(l.component));
        was = tt_idmap_find(rows, &key, is_of_component, &l);
        if (was != TT_NONE) return was;
    }
    if (!tt_idmap_add(rows, key, (uint32_t)heat->n_rows, &was)) return TT_NONE;
    if (was != TT_NONE) return was;
    heat->rows[heat->n_rows] =
        (tt_heat_row){.weight = s->weight,
                      .context = TT_NONE,
                      .expert = by == TT_HEAT_EXPERT ? s->expert : TT_EXPERT_NONE,
                      .first_batch = TT_NONE,
                      .last_batch = TT_NONE};
    return (uint32_t)heat->n_rows++;
}

/* A row for each context, and one for what is read outside any batch. */
static bool make_context_rows(measure *q)
{
    const tt_model *m = q->m;
    tt_idmap rows = {0};
    bool ok = true;
    q->row_of = calloc((size_t)m->n_batches + 1, sizeof *q->row_of);
    q->own_reuses = calloc((size_t)m->n_batches + 1, sizeof *q->own_reuses);
    tt_heat_row *list = realloc(q->heat->rows, ((size_t)m->n_batches + 1) * sizeof *list);
    if (list) q->heat->rows = list;
    if (!list || !q->row_of || !q->own_reuses) return false;
    for (uint32_t i = 0; ok && i <= m->n_batches; i++) {
        const uint32_t context = i < m->n_batches ? m->batches[i].context : TT_NONE;
        uint32_t was = TT_NONE;
        ok = tt_idmap_add(&rows, context, (uint32_t)q->heat->n_rows, &was);
        q->row_of[i] = was == TT_NONE ? (uint32_t)q->heat->n_rows : was;
        if (was == TT_NONE)
            list[q->heat->n_rows++] = (tt_heat_row){.weight = TT_NONE,
                                                    .context = context,
                                                    .expert = TT_EXPERT_NONE,
                                                    .first_batch = TT_NONE,
                                                    .last_batch = TT_NONE};
    }
    tt_idmap_free(&rows);
    return ok;
}

/* The row of what the op read of the unit. */
static uint32_t row_of_read(const measure *q, const unit *u, const tt_read_op *op)
{
    return q->row_of ? q->row_of[op->batch == TT_NONE ? q->m->n_batches : op->batch] : u->row;
}

static bool make_rows(measure *q, tt_heat_by by)
{
    tt_idmap rows = {0};
    bool ok = true;
    for (size_t i = 0; i < q->reads->n_ranges; i++)
        q->was_read[q->reads->ranges[i].weight] = true;
    for (uint32_t i = 0; ok && i < q->slices.n; i++) {
        const tt_slice *s = &q->slices.list[i];
        q->units[i].row = TT_NONE;
        if (!q->was_read[s->weight] && !is_asked_for(q->filter, q->m, &q->m->weights[s->weight]))
            continue;
        uint32_t row = q->row_of ? 0 : row_of(q, by, s, &rows);
        ok = row != TT_NONE;
        if (!ok) break;
        q->units[i].row = row;
        if (!q->row_of) q->heat->rows[row].size_bytes += s->size;
        q->heat->model_bytes += s->size;
    }
    tt_idmap_free(&rows);
    return ok;
}

static void note_part(void *context, const tt_reused *part)
{
    measure *q = context;
    bool first = part->distance == TT_REUSE_FIRST;
    if (first) q->unit->touched += part->size;
    if (!first && part->distance > q->farthest) q->farthest = part->distance;
    if (first || part->last < q->batch_began)
        q->distinct[q->batch == TT_NONE ? q->m->n_batches : q->batch] += part->size;
}

static bool add_sample(measure *q, uint32_t row)
{
    if (!tt_array_one_more(q->samples, q->n_samples, q->samples_capacity)) return false;
    q->samples[q->n_samples++] = (sample){row, q->farthest};
    return true;
}

static void add_use(tt_heat_row *row, const tt_read_op *op, size_t number)
{
    if (row->last_op_plus_1 == number + 1) return; /* by another of its units */
    row->last_op_plus_1 = number + 1;
    if (row->accesses++ == 0) {
        row->first_batch = op->batch;
        row->first_ticks = op->start_ticks;
    }
    row->last_batch = op->batch;
    row->last_ticks = op->start_ticks;
    row->timed += op->timed;
    row->ticks += op->ticks;
}

static void note_elsewhere(void *context, const tt_reused *part)
{
    measure *q = context;
    q->distinct[q->batch == TT_NONE ? q->m->n_batches : q->batch] += part->size;
}

static void note_own(void *context, const tt_reused *part)
{
    if (part->distance == TT_REUSE_FIRST) ((own *)context)->touched += part->size;
}

/* By context: what it read of that slice. NULL: out of memory, or there are too many. */
static own *own_of(measure *q, uint32_t slice, uint32_t row)
{
    uint32_t was;
    if (!tt_idmap_add(&q->own_of, (uint64_t)row << 32 | slice, (uint32_t)q->n_owns, &was))
        return NULL;
    if (was != TT_NONE) return &q->owns[was];
    q->too_many = q->n_owns == TT_HEAT_OWNS_MAX;
    if (q->too_many || !tt_array_one_more(q->owns, q->n_owns, q->owns_capacity)) return NULL;
    if (q->heat->rows[row].weight == TT_NONE)
        q->heat->rows[row].weight = q->slices.list[slice].weight;
    q->owns[q->n_owns] = (own){.row = row, .slice = slice};
    return &q->owns[q->n_owns++];
}

/* What the weight's rows may have of a read whose place is not known. A row of several slices has
 * all of it, once; a slice at most its size. */
static bool add_unplaced(measure *q, const tt_read_range *r, size_t op, uint32_t first,
                         uint32_t last)
{
    const tt_heat_row *before = NULL;
    for (uint32_t i = first; i < last; i++) {
        unit *u = &q->units[i];
        const uint32_t at = row_of_read(q, u, &q->reads->ops[op]);
        tt_heat_row *row = &q->heat->rows[at];
        own *o = q->row_of ? own_of(q, i, at) : NULL;
        if (q->row_of && !o) return false;
        const uint64_t size = q->slices.list[i].size,
                       most = r->size_bytes < size ? r->size_bytes : size;
        const bool is_slice = row->expert != TT_EXPERT_NONE;
        u->loose = tt_plus(u->loose, most);
        u->read += most;
        if (o) o->loose = tt_plus(o->loose, most);
        row->at_most |= r->at_most || is_slice;
        row->unplaced = true;
        if (row != before) {
            row->read_bytes += is_slice ? most : r->size_bytes;
            if (r->copied) row->copied_bytes += is_slice ? most : r->size_bytes;
        }
        before = row;
        add_use(row, &q->reads->ops[op], op);
    }
    return true;
}

static bool add_placed(measure *q, const tt_read_range *r, size_t op, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i < last; i++) {
        uint64_t begin, end;
        q->unit = &q->units[i];
        if (!tt_slices_overlap(&q->slices, q->m, r, i, &begin, &end)) continue;
        const uint32_t at = row_of_read(q, q->unit, &q->reads->ops[op]);
        tt_heat_row *row = &q->heat->rows[at];
        own *o = q->row_of ? own_of(q, i, at) : NULL;
        if (q->row_of &&
            (!o || !tt_reuse_read(&q->own_reuses[at], begin, end, &o->hint, note_own, o)))
            return false;
        q->farthest = 0;
        if (!tt_reuse_read(&q->reuse, begin, end, &q->unit->hint, note_part, q)) return false;
        if (q->farthest > 0 && !add_sample(q, at)) return false;
        q->unit->read += end - begin;
        row->read_bytes += end - begin;
        if (r->copied) row->copied_bytes += end - begin;
        add_use(row, &q->reads->ops[op], op);
    }
    return true;
}

static bool add_read(measure *q, const tt_read_range *r, size_t op)
{
    uint32_t first, last;
    tt_slices_of(&q->slices, q->m, r, &first, &last);
    q->heat->read_bytes += r->size_bytes;
    if (tt_read_range_is_placed(r)) return add_placed(q, r, op, first, last);
    if (!add_unplaced(q, r, op, first, last)) return false;
    /* For the reuse of other weights, as many bytes that nobody else reads. */
    const uint64_t begin = q->elsewhere;
    if (__builtin_add_overflow(begin, r->size_bytes, &q->elsewhere)) return true;
    return tt_reuse_read(&q->reuse, begin, q->elsewhere, NULL, note_elsewhere, q);
}

/* All reads in time order. */
static bool walk(measure *q)
{
    const tt_reads *reads = q->reads;
    q->batch = TT_NONE;
    q->elsewhere = q->slices.layout[q->m->n_files];
    for (size_t k = 0; k < reads->n_ops; k++) {
        const tt_read_op *op = &reads->ops[k];
        if (op->batch != q->batch || k == 0) q->batch_began = q->reuse.reads;
        q->batch = op->batch;
        for (size_t i = op->first; i < op[1].first; i++)
            if (!add_read(q, &reads->ranges[reads->order[i]], k)) return false;
    }
    return true;
}

static void end_stretch(tt_heat_steps *steps)
{
    const uint64_t n = (steps->range_bytes + TT_HEAT_REQUEST_BYTES - 1) / TT_HEAT_REQUEST_BYTES;
    steps->requests += n;
    steps->requests_on += n ? n - 1 : 0;
    steps->range_bytes = 0;
}

/* The first one begins a sweep. */
static void go_on(tt_heat_steps *steps, tt_heat_location *last, const tt_heat_location *next)
{
    const uint64_t adjacent = steps->adjacent;
    if (steps->sweeps > 0)
        tt_heat_step(steps, last, next);
    else
        steps->sweeps = 1;
    if (steps->adjacent == adjacent)
        end_stretch(steps);
    else
        steps->range_bytes += next->begin - last->end; /* padding */
    steps->range_bytes += next->end - next->begin;
    *last = *next;
}

/* An exact end that is also that of an upper bound is exact. */
static void extend(tt_heat_extent *e, const tt_read_range *r)
{
    const uint64_t begin = r->offset_bytes, end = begin + r->span_bytes;
    const bool first = e->end == 0, below = first || begin < e->begin;
    const bool bound = !tt_read_range_is_placed(r);
    if (below || (begin == e->begin && !bound)) e->begin_at_most = bound;
    if (below) e->begin = begin;
    if (end > e->end || (end == e->end && !bound)) e->end_at_most = bound;
    if (end > e->end) e->end = end;
}

/* By file, also of those without reads. `copies`: with the reads of copies. */
static bool add_extents(const measure *q, tt_heat_steps *steps, bool copies)
{
    steps->extents = calloc((size_t)q->m->n_files + 1, sizeof *steps->extents);
    if (!steps->extents) return false;
    steps->n_extents = q->m->n_files;
    for (uint32_t i = 0; i < q->m->n_files; i++)
        steps->extents[i].file = tt_base_name(q->m->files[i].path);
    for (size_t i = 0; i < q->reads->n_ranges; i++) {
        const tt_read_range *r = &q->reads->ranges[i];
        if (copies || !r->copied) extend(&steps->extents[q->m->weights[r->weight].file], r);
    }
    return true;
}

static bool walk_steps(measure *q)
{
    const tt_reads *reads = q->reads;
    tt_heat_location last = {0}, last_of_file = {0};
    if (!add_extents(q, &q->heat->steps, true) || !add_extents(q, &q->heat->file_steps, false))
        return false;
    for (size_t i = 0; i < reads->n; i++) {
        const tt_read_range *r = &reads->ranges[reads->order[i]];
        if (!tt_read_range_is_placed(r)) continue;
        uint32_t file = q->m->weights[r->weight].file;
        const tt_heat_extent *all = &q->heat->steps.extents[file];
        const tt_heat_location next = {file, r->offset_bytes, r->offset_bytes + r->size_bytes,
                                       all->end - all->begin};
        go_on(&q->heat->steps, &last, &next);
        if (!r->copied) go_on(&q->heat->file_steps, &last_of_file, &next);
    }
    end_stretch(&q->heat->steps);
    end_stretch(&q->heat->file_steps);
    return true;
}

/* In how many batches each unit and row was read: batch by batch, as those of two contexts may
 * alternate. */
static bool count_batches(measure *q)
{
    const tt_reads *reads = q->reads;
    const uint32_t n = q->m->n_batches;
    size_t *first = calloc((size_t)n + 2, sizeof *first);
    size_t *ops = calloc(reads->n_ops + 1, sizeof *ops);
    bool ok = first && ops;
    for (size_t i = 0; ok && i < reads->n_ops; i++)
        if (reads->ops[i].batch != TT_NONE) first[reads->ops[i].batch + 1]++;
    for (uint32_t b = 0; ok && b < n; b++) {
        q->heat->batches += first[b + 1] > 0;
        first[b + 1] += first[b];
    }
    for (size_t i = 0; ok && i < reads->n_ops; i++)
        if (reads->ops[i].batch != TT_NONE) ops[first[reads->ops[i].batch]++] = i;
    for (size_t k = 0; ok && n > 0 && k < first[n - 1]; k++) {
        const tt_read_op *op = &reads->ops[ops[k]];
        for (size_t i = op->first; i < op[1].first; i++) {
            uint32_t from, to;
            tt_slices_of(&q->slices, q->m, &reads->ranges[reads->order[i]], &from, &to);
            for (; from < to; from++) {
                unit *u = &q->units[from];
                tt_heat_row *row = &q->heat->rows[row_of_read(q, u, op)];
                u->batches += u->stamp != op->batch + 1;
                u->stamp = op->batch + 1;
                row->batches += row->stamp != op->batch + 1;
                row->stamp = op->batch + 1;
            }
        }
    }
    free(first);
    free(ops);
    return ok;
}

static void add_sets(measure *q)
{
    tt_heat *h = q->heat;
    for (uint32_t i = 0; i < q->slices.n; i++) {
        unit *u = &q->units[i];
        const uint64_t size = q->slices.list[i].size;
        if (u->row == TT_NONE) continue;
        bool every = u->touched == size && size > 0 && u->batches == h->batches && h->batches > 0;
        tt_heat_set *set = every ? &h->every : u->read > 0 ? &h->some : &h->never;
        const uint64_t touched = tt_plus(u->touched, u->loose);
        u->touched = touched < size ? touched : size;
        set->units++;
        if (u->read > 0) set->bytes += u->touched;
        h->partly += u->read > 0 && u->touched < size;
        h->never.bytes += size - u->touched;
        if (!q->row_of) h->rows[u->row].touched_bytes += u->touched;
        h->touched_bytes += u->touched;
    }
}

/* By context: of what it read. Rows that read nothing are left out. */
static void add_owns(measure *q)
{
    tt_heat *h = q->heat;
    size_t kept = 0;
    for (size_t i = 0; i < q->n_owns; i++) {
        const own *o = &q->owns[i];
        tt_heat_row *row = &h->rows[o->row];
        const uint64_t size = q->slices.list[o->slice].size,
                       touched = tt_plus(o->touched, o->loose);
        if (!touched) continue;
        row->size_bytes += size;
        row->touched_bytes += touched < size ? touched : size;
    }
    for (size_t r = 0; r < h->n_rows; r++)
        if (h->rows[r].accesses) h->rows[kept++] = h->rows[r];
    h->n_rows = kept;
}

static void free_owns(measure *q)
{
    for (uint32_t i = 0; q->own_reuses && i <= q->m->n_batches; i++)
        tt_reuse_free(&q->own_reuses[i]);
    tt_idmap_free(&q->own_of);
    free(q->own_reuses);
    free(q->owns);
    free(q->row_of);
}

static int hottest_first(const void *a, const void *b)
{
    const unit *x = a, *y = b;
    /* read / touched, exactly; compared rows never have both 0 */
    unsigned __int128 u = (unsigned __int128)x->read * y->touched;
    unsigned __int128 v = (unsigned __int128)y->read * x->touched;
    if (u != v) return u > v ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Sorts the units, which are then no longer indexed by slice. */
static void add_curve(measure *q)
{
    static const double shares[TT_HEAT_CURVE] = {0.5, 0.8, 0.9, 0.95, 0.99, 1};
    tt_heat *h = q->heat;
    size_t n = 0, at = 0;
    double all = 0, read = 0, bytes = 0;
    for (uint32_t i = 0; i < q->slices.n; i++)
        if (q->units[i].touched > 0) {
            all += (double)q->units[i].read;
            q->units[n++] = q->units[i];
        }
    qsort(q->units, n, sizeof *q->units, hottest_first);
    for (size_t k = 0; k < TT_HEAT_CURVE; k++) {
        double want = shares[k] * all, part = 0;
        while (at < n && read + (double)q->units[at].read <= want) {
            read += (double)q->units[at].read;
            bytes += (double)q->units[at++].touched;
        }
        if (at < n) part = (want - read) / (double)q->units[at].read * (double)q->units[at].touched;
        h->curve[k].reads = shares[k];
        h->curve[k].weights = h->model_bytes ? (bytes + part) / (double)h->model_bytes : 0;
    }
}

static bool add_phases(measure *q)
{
    tt_heat *h = q->heat;
    bool *seen = calloc((size_t)q->m->n_batches + 1, sizeof *seen);
    if (!seen) return false;
    for (size_t k = 0; k < q->reads->n_ops; k++) {
        const tt_read_op *op = &q->reads->ops[k];
        const tt_batch *b = op->batch == TT_NONE ? NULL : &q->m->batches[op->batch];
        const uint32_t at = b ? op->batch : q->m->n_batches;
        tt_heat_phase *of = &h->of_phase[b && b->phase < TT_PHASES ? b->phase : TT_PHASE_UNKNOWN];
        for (size_t i = op->first; i < op[1].first; i++)
            of->read_bytes += q->reads->ranges[q->reads->order[i]].size_bytes;
        if (seen[at]) continue;
        seen[at] = true;
        of->batches += b != NULL;
        of->tokens += b ? b->n_tokens : 0;
        of->distinct_bytes += q->distinct[at];
        if (q->distinct[at] > of->distinct_bytes_max) of->distinct_bytes_max = q->distinct[at];
    }
    free(seen);
    return true;
}

TT_ORDER_BY(by_row_and_distance, sample, row, distance)

static void finish_rows(measure *q)
{
    tt_heat *h = q->heat;
    if (q->n_samples) qsort(q->samples, q->n_samples, sizeof *q->samples, by_row_and_distance);
    for (size_t i = 0, end; i < q->n_samples; i = end) {
        tt_heat_row *row = &h->rows[q->samples[i].row];
        double sum = 0;
        for (end = i; end < q->n_samples && q->samples[end].row == q->samples[i].row; end++)
            sum += (double)q->samples[end].distance;
        row->reuses = end - i;
        row->reuse_mean_bytes = sum / (double)row->reuses;
        row->reuse_p50_bytes = q->samples[i + (end - i - 1) / 2].distance;
        row->reuse_max_bytes = q->samples[end - 1].distance;
    }
    for (size_t i = 0; i < h->n_rows; i++)
        h->copied_bytes += h->rows[i].copied_bytes;
    for (size_t i = 0; i < h->n_rows; i++)
        h->rows[i].reuse_at_most = h->unplaced > 0;
    for (size_t i = 0; i < h->n_rows; i++)
        h->rows[i].time_ns = tt_model_span_ns(q->m, h->rows[i].ticks);
}

/* By file offset, an expert after the previous one. */
static int by_location(const void *a, const void *b, void *context)
{
    const tt_model *m = context;
    const tt_heat_row *x = a, *y = b;
    const tt_weight *w = &m->weights[x->weight], *z = &m->weights[y->weight];
    if (w->file != z->file) return w->file < z->file ? -1 : 1;
    if (w->offset_bytes != z->offset_bytes) return w->offset_bytes < z->offset_bytes ? -1 : 1;
    return x->expert < y->expert ? -1 : x->expert > y->expert;
}

static void finish_jumps(tt_heat_jumps *j)
{
    j->known = j->lengths.n > 0 && !j->lengths.failed;
    if (!j->known) return;
    j->p50_bytes = (uint64_t)tt_quantiles_at(&j->lengths, 0.5);
    j->p95_bytes = (uint64_t)tt_quantiles_at(&j->lengths, 0.95);
}

static bool run(measure *q, tt_heat_by by)
{
    const size_t batches = (size_t)q->m->n_batches + 1;
    if (!tt_slices_make(q->m, q->reads, true, &q->slices)) return false;
    q->units = calloc((size_t)q->slices.n + 1, sizeof *q->units);
    q->was_read = calloc((size_t)q->m->n_weights + 1, sizeof *q->was_read);
    q->distinct = calloc(batches, sizeof *q->distinct);
    q->heat->rows = calloc((size_t)q->slices.n + 1, sizeof *q->heat->rows);
    if (!q->units || !q->was_read || !q->distinct || !q->heat->rows) return false;
    if (by == TT_HEAT_CONTEXT && !make_context_rows(q)) return false;
    if (!make_rows(q, by) || !walk(q) || !count_batches(q)) return false;
    if (!walk_steps(q)) return false;
    add_sets(q);
    if (!add_phases(q)) return false;
    finish_rows(q);
    finish_jumps(&q->heat->steps.forward);
    finish_jumps(&q->heat->steps.backward);
    finish_jumps(&q->heat->file_steps.forward);
    finish_jumps(&q->heat->file_steps.backward);
    add_curve(q);
    if (q->row_of) {
        add_owns(q);
        return true;
    }
    qsort_r(q->heat->rows, q->heat->n_rows, sizeof *q->heat->rows, by_location, (void *)q->m);
    return true;
}

tt_status tt_heat_measure(const tt_model *m, const tt_reads *reads, const tt_filter *filter,
                          tt_heat_by by, tt_heat *heat, tt_error *err)
{
    measure q = {.m = m, .reads = reads, .filter = filter, .heat = heat};
    memset(heat, 0, sizeof *heat);
    heat->ops = reads->n_ops;
    heat->reads = reads->n;
    heat->at_most = reads->at_most;
    heat->unplaced = reads->unplaced;
    /* Ops elsewhere may have read the others. */
    heat->all_weights = !filter->op && !m->remote;
    heat->sliced = tt_heat_has_experts(reads);
    bool ok = run(&q, by);
    tt_slices_free(&q.slices);
    tt_reuse_free(&q.reuse);
    free_owns(&q);
    free(q.units);
    free(q.was_read);
    free(q.distinct);
    free(q.samples);
    if (ok) return TT_OK;
    if (q.too_many)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "the contexts read more than %u weights and experts, each counted for "
                            "each context: ask for one context or fewer batches",
                            TT_HEAT_OWNS_MAX);
    return tt_error_memory(err, "the weights' heat");
}

void tt_heat_free(tt_heat *heat)
{
    free(heat->rows);
    free(heat->steps.extents);
    free(heat->file_steps.extents);
    tt_quantiles_free(&heat->steps.forward.lengths);
    tt_quantiles_free(&heat->steps.backward.lengths);
    tt_quantiles_free(&heat->file_steps.forward.lengths);
    tt_quantiles_free(&heat->file_steps.backward.lengths);
    memset(heat, 0, sizeof *heat);
}
