#include "analyze/cache/whatif.h"

#include "analyze/reads.h"
#include "analyze/why/parts.h"
#include "base/array.h"
#include "base/order.h"
#include "base/units.h"
#include "policy/policy.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limit for the missed bytes of all ops, for as many cache sizes at once as fit. */
#define MISSED_BYTES_MAX ((size_t)64 << 20)
#define REQUEST_BYTES ((uint64_t)1 << 20) /* default size; larger if there are more than: */
#define REQUESTS_MAX 4194304.0
#define REQUESTS_OF_OP 512.0 /* on average: weights may be of any size, a trace is not */
#define USUAL_RATE 1e9       /* default rate of bytes that page faults read */
/* A thread's time to add a page to the page cache of a control group at its limit, and to evict
 * another for it: with 8 MiB of readahead, half of the system time of bench/memory's two threads
 * (0.71 to 0.78 ms per MiB, Linux 6.18 on an AMD EPYC). */
#define ADD_PAGE_NS 1400.0
#define PAGE_BYTES 4096.0
#define MIB 1048576.0
#define DEPTH_MAX 256u /* of the causal bound: more than any disk benefits from */

/* An op that reads weights. */
typedef struct timed_op {
    uint32_t batch;  /* or TT_NONE */
    uint32_t chosen; /* the op whose start makes known what this one reads, or TT_PAGING_ALWAYS */
    uint64_t slice_bytes; /* for boost: of the largest expert that it reads */
    double before_ns, compute_ns;
} timed_op;

struct tt_whatif {
    const tt_model *m;
    tt_whatif_plan plan;
    tt_stream stream;
    tt_extent *extents;
    uint64_t *places; /* by weight, in bytes: its offset in its file, in the plan's order */
    uint64_t *layout; /* in pages: where the files begin */
    uint32_t *order;
    tt_section *sections; /* the reads of each op */
    uint32_t *layers;     /* of the extents */
    uint32_t *batches;    /* of the ops; those without one follow the last */
    timed_op *ops;
    uint32_t n_ops;  /* the stream's groups */
    double *op_ns;   /* by op: from the end of the previous op to its own end */
    double *tail_ns; /* by batch: computing after its last op */
    double *lost_ns; /* likewise: in which threads were off CPU, in none of the above */
    uint64_t *asked, *read, *first; /* by batch, the last one for reads outside of batches */
    uint64_t *op_read;              /* by op, in blocks */
    uint64_t touched;               /* in blocks of the stream */
    uint64_t left_out, left_bytes;  /* reads, and their bytes */
    uint32_t first_generated;       /* batch, or TT_NONE */
    bool populated;                 /* a model file was mapped with MAP_POPULATE */
    /* For boost: */
    uint32_t *expert_order; /* the stream's reads of experts only */
    size_t n_expert_reads;
    tt_section *expert_sections;
    uint64_t *dense, *dense_first;      /* by op: bytes of dense weights; of them, not read for the
                                           first time */
    uint64_t dense_bytes, expert_bytes; /* totals */
};

void tt_whatif_free(tt_whatif *w)
{
    if (!w) return;
    free(w->places);
    free(w->layout);
    free(w->extents);
    free(w->order);
    free(w->sections);
    free(w->layers);
    free(w->batches);
    free(w->ops);
    free(w->op_ns);
    free(w->tail_ns);
    free(w->lost_ns);
    free(w->asked);
    free(w->read);
    free(w->op_read);
    free(w->first);
    free(w->expert_order);
    free(w->expert_sections);
    free(w->dense);
    free(w->dense_first);
    free(w);
}

/* Weights without a layer come before the layers (rows of the embedding) or after them. */
static uint32_t layer_of(const tt_whatif *w, uint32_t weight)
{
    const int32_t layer = w->m->weights[weight].place.layer_id;
    return layer == TT_LAYER_NONE || layer < 0 ? TT_POLICY_NO_LAYER : (uint32_t)layer;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Policies have lists of layers by number: those of several stacks or models are counted through,
 * in their order. False if out of memory. */
static bool number_layers(uint32_t *layers, size_t n)
{
    size_t n_distinct = 0, i = 0, at;
    while (i < n && (layers[i] < TT_LAYER_NUMBERS || layers[i] == TT_POLICY_NO_LAYER))
        i++;
    if (i == n) return true;
    uint32_t *distinct = malloc(n * sizeof *distinct);
    if (!distinct) return false;
    memcpy(distinct, layers, n * sizeof *distinct);
    qsort(distinct, n, sizeof *distinct, by_number);
    for (i = 0; i < n; i++)
        if (n_distinct == 0 || distinct[i] != distinct[n_distinct - 1])
            distinct[n_distinct++] = distinct[i];
    for (i = 0; i < n; i++) {
        if (layers[i] == TT_POLICY_NO_LAYER) continue;
        tt_lower_bound(at, n_distinct, distinct[at] < layers[i]);
        layers[i] = (uint32_t)at;
    }
    free(distinct);
    return true;
}

static void leave_out(tt_whatif *w, const tt_read_range *r)
{
    w->left_out++;
    w->left_bytes += r->size_bytes;
}

/* Also sets where each op's begin. *beyond: a range is outside of the files' layout, on which
 * replays rely. */
static bool make_pages(tt_whatif *w, const tt_reads *reads, size_t *first, bool *beyond)
{
    const uint64_t page = w->plan.page_bytes;
    uint64_t *places = w->places = tt_tensor_order_places(w->m, reads, w->plan.order);
    uint64_t *layout = w->layout = places ? tt_reads_layout(w->m, page, places) : NULL;
    w->extents = calloc(reads->n_ranges + 1, sizeof *w->extents);
    w->layers = calloc(reads->n_ranges + 1, sizeof *w->layers);
    for (size_t i = 0; layout && w->extents && w->layers && i < reads->n_ranges; i++) {
        const tt_read_range *r = &reads->ranges[i];
        const uint32_t file = w->m->weights[r->weight].file;
        const uint64_t base = layout[file];
        const uint64_t offset =
            places[r->weight] + (r->offset_bytes - w->m->weights[r->weight].offset_bytes);
        w->extents[i].begin = base + offset / page;
        w->extents[i].end = base + (offset + r->span_bytes - 1) / page + 1;
        w->layers[i] = layer_of(w, r->weight);
        *beyond |= w->extents[i].end > layout[file + 1];
    }
    w->order = calloc(reads->n + 1, sizeof *w->order);
    size_t n = 0;
    for (size_t k = 0; w->order && k < reads->n_ops; k++) {
        first[k] = n;
        for (size_t i = reads->ops[k].first; i < reads->ops[k + 1].first; i++) {
            const tt_read_range *r = &reads->ranges[reads->order[i]];
            if (tt_whatif_leaves_out(r))
                leave_out(w, r);
            else
                w->order[n++] = reads->order[i];
        }
    }
    first[reads->n_ops] = n;
    w->stream.n_extents = (uint32_t)reads->n_ranges;
    w->stream.order = w->order;
    w->stream.n = n;
    return layout && w->extents && w->layers && w->order &&
           number_layers(w->layers, w->stream.n_extents) && !*beyond;
}

/* The slices of an op's reads, without repetitions (rows of one tensor). */
static size_t units_of_op(tt_whatif *w, const tt_reads *reads, const tt_slices *slices, size_t op,
                          uint32_t *out)
{
    size_t n = 0;
    uint32_t last_unit = TT_NONE;
    for (size_t i = reads->ops[op].first; i < reads->ops[op + 1].first; i++) {
        const tt_read_range *r = &reads->ranges[reads->order[i]];
        uint32_t first, last;
        tt_slices_of(slices, w->m, r, &first, &last);
        if (last - first > 1 && tt_whatif_leaves_out(r)) {
            if (out) leave_out(w, r);
            continue;
        }
        for (; first < last; first++) {
            if (first == last_unit) continue;
            last_unit = first;
            if (out) out[n] = first;
            n++;
        }
    }
    return n;
}

/* --- boost: experts use a cache, dense weights have shares --- */

enum { UNIT_ROWS = 0, UNIT_DENSE, UNIT_EXPERT };

/* Classifies each slice, and sums their sizes. Weights of which ops read only rows are left out. */
static uint8_t *boost_kinds(tt_whatif *w, const tt_reads *reads, const tt_slices *s)
{
    uint8_t *kinds = calloc((size_t)s->n + 1, 1);
    uint32_t last = TT_NONE;
    for (size_t i = 0; kinds && i < reads->n_ranges; i++) {
        const tt_read_range *r = &reads->ranges[i];
        uint32_t first, end;
        tt_slices_of(s, w->m, r, &first, &end);
        if (first < end && s->list[first].expert == TT_EXPERT_NONE && tt_read_range_is_placed(r) &&
            r->size_bytes == s->list[first].size)
            kinds[first] = UNIT_DENSE;
    }
    for (uint32_t i = 0; kinds && i < s->n; i++) {
        if (s->list[i].expert != TT_EXPERT_NONE) kinds[i] = UNIT_EXPERT;
        if (kinds[i] == UNIT_DENSE) w->dense_bytes += s->list[i].size;
        if (kinds[i] == UNIT_EXPERT && s->list[i].weight != last)
            w->expert_bytes += w->m->weights[s->list[i].weight].size_bytes;
        last = s->list[i].weight;
    }
    return kinds;
}

/* Divides the reads among the two. first: index of each op's first one, then the end. */
static bool make_boost(tt_whatif *w, const uint8_t *kinds, const size_t *first, size_t n_ops)
{
    uint8_t *seen = calloc((size_t)w->stream.n_extents + 1, 1);
    size_t n = 0;
    w->expert_order = calloc(w->stream.n + 1, sizeof *w->expert_order);
    w->expert_sections = calloc(n_ops + 1, sizeof *w->expert_sections);
    w->dense = calloc(n_ops + 1, sizeof *w->dense);
    w->dense_first = calloc(n_ops + 1, sizeof *w->dense_first);
    const bool ok = seen && w->expert_order && w->expert_sections && w->dense && w->dense_first;
    for (size_t k = 0; ok && k < n_ops; k++) {
        w->expert_sections[k] = (tt_section){n, (uint32_t)k};
        for (size_t i = first[k]; i < first[k + 1]; i++) {
            const uint32_t unit = w->order[i];
            const uint64_t size = w->extents[unit].end - w->extents[unit].begin;
            if (kinds[unit] == UNIT_EXPERT) {
                w->expert_order[n++] = unit;
                if (w->ops[k].slice_bytes < size) w->ops[k].slice_bytes = size;
            }
            if (kinds[unit] != UNIT_DENSE) continue;
            w->dense[k] += size;
            w->dense_first[k] += seen[unit] ? 0 : size;
            seen[unit] = 1;
        }
    }
    w->n_expert_reads = n;
    free(seen);
    return ok;
}

/* Adds the reads of dense weights for a size of the memory. */
static void add_dense(const tt_whatif *w, uint64_t ram_bytes, uint64_t *missed)
{
    const tt_policy_shares s = tt_policy_share(ram_bytes, w->dense_bytes, w->expert_bytes, 0);
    const double streamed =
        s.fit || !w->dense_bytes ? 0 : 1 - (double)s.pinned_bytes / (double)w->dense_bytes;
    for (uint32_t k = 0; k < w->n_ops; k++) {
        const uint64_t first = w->plan.warm ? 0 : w->dense_first[k];
        missed[k] += first + (uint64_t)(streamed * (double)(w->dense[k] - first));
    }
}

static uint64_t boost_cache_bytes(const tt_whatif *w, uint64_t ram_bytes)
{
    const tt_policy_shares s = tt_policy_share(ram_bytes, w->dense_bytes, w->expert_bytes, 0);
    return s.fit ? w->expert_bytes : s.cache_bytes;
}

/* Also sets where each op's begin. */
static bool make_wholes(tt_whatif *w, const tt_reads *reads, size_t *first)
{
    tt_slices s;
    size_t n = 0;
    bool ok = tt_slices_make(w->m, reads, w->plan.unit == TT_WHATIF_EXPERT, &s);
    for (size_t k = 0; ok && k < reads->n_ops; k++) {
        first[k] = n;
        n += units_of_op(w, reads, &s, k, NULL);
    }
    if (ok) {
        w->extents = calloc((size_t)s.n + 1, sizeof *w->extents);
        w->order =
            n > TT_MODEL_MEMORY_MAX / sizeof *w->order ? NULL : calloc(n + 1, sizeof *w->order);
    }
    ok = ok && w->extents && w->order;
    w->layers = calloc((size_t)s.n + 1, sizeof *w->layers);
    ok = ok && w->layers;
    for (uint32_t i = 0; ok && i < s.n; i++)
        w->layers[i] = layer_of(w, s.list[i].weight);
    ok = ok && number_layers(w->layers, s.n);
    for (uint32_t i = 0; ok && i < s.n; i++)
        w->extents[i] = (tt_extent){s.list[i].begin, s.list[i].begin + s.list[i].size};
    for (size_t k = 0; ok && k < reads->n_ops; k++)
        (void)units_of_op(w, reads, &s, k, w->order + first[k]);
    first[reads->n_ops] = n;
    w->stream.n_extents = s.n;
    w->stream.order = w->order;
    w->stream.n = n;
    if (ok && w->plan.boost) {
        uint8_t *kinds = boost_kinds(w, reads, &s);
        ok = kinds && make_boost(w, kinds, first, reads->n_ops);
        free(kinds);
    }
    tt_slices_free(&s);
    return ok;
}

uint64_t tt_whatif_left_out(const tt_whatif *w, uint64_t *bytes)
{
    *bytes = w->left_bytes;
    return w->left_out;
}

void tt_whatif_left_out_text(const tt_whatif *w, char text[TT_WHATIF_TEXT])
{
    char bytes[TT_UNITS_TEXT];
    text[0] = '\0';
    if (w->left_out)
        (void)snprintf(text, TT_WHATIF_TEXT,
                       "%" PRIu64 " reads (%s in all) are left out: it was not observed which rows "
                       "of their tensors they are",
                       w->left_out, tt_units_bytes(bytes, w->left_bytes));
}

static uint32_t batch_of(const tt_whatif *w, uint32_t op)
{
    return w->ops[op].batch == TT_NONE ? w->m->n_batches : w->ops[op].batch;
}

static bool make_stream(tt_whatif *w, const tt_reads *reads, bool *beyond)
{
    size_t *first = calloc(reads->n_ops + 1, sizeof *first);
    w->sections = calloc(reads->n_ops + 1, sizeof *w->sections);
    w->ops = calloc(reads->n_ops + 1, sizeof *w->ops);
    w->batches = calloc(reads->n_ops + 1, sizeof *w->batches);
    bool ok = first && w->sections && w->ops && w->batches && reads->n_ops < TT_PAGING_ALWAYS;
    if (ok && w->plan.unit == TT_WHATIF_PAGE) {
        ok = make_pages(w, reads, first, beyond);
    } else if (ok) {
        ok = make_wholes(w, reads, first);
    }
    w->n_ops = ok ? (uint32_t)reads->n_ops : 0;
    for (uint32_t k = 0; k < w->n_ops; k++) {
        w->ops[k].batch = reads->ops[k].batch;
        w->batches[k] = batch_of(w, k);
        w->sections[k] = (tt_section){first[k], k};
        for (size_t i = reads->ops[k].first; i < reads->ops[k + 1].first; i++)
            w->asked[batch_of(w, k)] += reads->ranges[reads->order[i]].size_bytes;
    }
    w->stream.extents = w->extents;
    w->stream.sections = w->sections;
    w->stream.n_sections = w->n_ops;
    w->stream.n_groups = w->n_ops;
    free(first);
    return ok;
}

static bool is_timed(const tt_whatif *w, uint32_t batch)
{
    if (batch >= w->m->n_batches || !w->m->clock.known) return false;
    const tt_batch *b = &w->m->batches[batch];
    return b->ended && b->end_ticks > b->begin_ticks;
}

static double batch_ns(const tt_whatif *w, uint32_t batch)
{
    const tt_batch *b = &w->m->batches[batch];
    return tt_model_span_ns(w->m, b->end_ticks - b->begin_ticks);
}

/* The share of a timed batch in which its threads ran. */
static double left_of(const tt_whatif *w, uint32_t batch)
{
    return fmax(0, 1 - w->lost_ns[batch] / batch_ns(w, batch));
}

/* Divides each batch's time at its ops: computing before each op, in it, and after the last. For
 * overlapping ops, only the time after the earlier ones counts. */
static bool make_times(tt_whatif *w, const tt_reads *reads)
{
    const tt_model *m = w->m;
    uint64_t *at = calloc((size_t)m->n_batches + 1, sizeof *at);
    w->tail_ns = calloc((size_t)m->n_batches + 1, sizeof *w->tail_ns);
    w->op_ns = calloc((size_t)w->n_ops + 1, sizeof *w->op_ns);
    bool ok = at && w->tail_ns && w->op_ns;
    for (uint32_t i = 0; ok && i < m->n_batches; i++)
        at[i] = m->batches[i].begin_ticks;
    for (uint32_t k = 0; ok && k < w->n_ops; k++) {
        const tt_read_op *op = &reads->ops[k];
        if (!is_timed(w, op->batch)) continue;
        const uint64_t limit = m->batches[op->batch].end_ticks;
        uint64_t *now = &at[op->batch], begin = op->start_ticks, end = begin;
        if (op->timed) end = begin + op->ticks < begin ? UINT64_MAX : begin + op->ticks;
        if (begin > limit) begin = limit;
        if (end > limit) end = limit;
        if (begin > *now) {
            w->ops[k].before_ns = tt_model_span_ns(m, begin - *now);
            *now = begin;
        }
        if (end > *now) {
            w->ops[k].compute_ns = tt_model_span_ns(m, end - *now);
            *now = end;
        }
        w->op_ns[k] = w->ops[k].before_ns + w->ops[k].compute_ns;
    }
    for (uint32_t i = 0; ok && i < m->n_batches; i++)
        if (is_timed(w, i) && m->batches[i].end_ticks > at[i])
            w->tail_ns[i] = tt_model_span_ns(m, m->batches[i].end_ticks - at[i]);
    free(at);
    return ok;
}

/* Leaves out what is no part of another run, evenly over the batch's ops. */
static tt_status take_lost_times(tt_whatif *w, tt_error *err)
{
    const tt_model *m = w->m;
    w->lost_ns = calloc((size_t)m->n_batches + 1, sizeof *w->lost_ns);
    if (!w->lost_ns) return tt_error_memory(err, "the times");
    if (!m->off_cpu_known || !m->clock.known) return TT_OK;
    tt_parts_walker *walker = tt_parts_open(m);
    tt_parts_state *states = calloc((size_t)m->n_batches + 1, sizeof *states);
    tt_status status = walker && states ? tt_parts_batches(walker, states, NULL, NULL, NULL, err)
                                        : tt_error_memory(err, "the times");
    for (uint32_t i = 0; i < m->n_batches && status == TT_OK; i++)
        if (is_timed(w, i)) w->lost_ns[i] = tt_model_span_ns(m, tt_parts_lost(&states[i].parts));
    free(states);
    tt_parts_close(walker);
    for (uint32_t k = 0; k < w->n_ops && status == TT_OK; k++) {
        timed_op *op = &w->ops[k];
        if (!is_timed(w, op->batch)) continue;
        op->before_ns *= left_of(w, op->batch);
        op->compute_ns *= left_of(w, op->batch);
        w->op_ns[k] = op->before_ns + op->compute_ns;
    }
    for (uint32_t i = 0; i < m->n_batches && status == TT_OK; i++)
        if (is_timed(w, i)) w->tail_ns[i] *= left_of(w, i);
    return status;
}

/* The reads of a layer's experts are known from their first op on: before that the router has not
 * chosen. */
static void find_choices(tt_whatif *w, const tt_reads *reads)
{
    uint32_t first = 0, batch = TT_NONE;
    int32_t layer = TT_LAYER_NONE;
    bool in_layer = false;
    for (uint32_t k = 0; k < w->n_ops; k++) {
        const size_t read = reads->ops[k].first;
        w->ops[k].chosen = TT_PAGING_ALWAYS;
        if (read == reads->ops[k + 1].first) continue;
        const tt_read_range *r = &reads->ranges[reads->order[read]];
        const int32_t its_layer = w->m->weights[r->weight].place.layer_id;
        if (!in_layer || its_layer != layer || w->ops[k].batch != batch) in_layer = false;
        if (r->expert == TT_EXPERT_NONE) continue;
        if (!in_layer) first = k;
        in_layer = true;
        layer = its_layer;
        batch = w->ops[k].batch;
        w->ops[k].chosen = first;
    }
}

/* Sums the demand; `touched` is for a cold start, whatever the plan. */
static bool make_demand(tt_whatif *w)
{
    uint64_t *read = w->op_read = calloc((size_t)w->n_ops + 1, sizeof *read);
    uint64_t *first = calloc((size_t)w->n_ops + 1, sizeof *first);
    bool ok = read && first && tt_cache_demand(&w->stream, read, first);
    for (uint32_t k = 0; ok && k < w->n_ops; k++)
        w->touched += first[k];
    w->stream.twice = w->plan.warm;
    if (ok && w->plan.warm) ok = tt_cache_demand(&w->stream, read, first);
    for (uint32_t k = 0; ok && k < w->n_ops; k++) {
        w->read[batch_of(w, k)] += read[k];
        w->first[batch_of(w, k)] += first[k];
    }
    free(first);
    return ok;
}

tt_status tt_whatif_new(const tt_model *m, const tt_reads *reads, const tt_whatif_plan *plan,
                        tt_whatif **out, tt_error *err)
{
    const size_t groups = (size_t)m->n_batches + 1;
    tt_whatif *w = calloc(1, sizeof *w);
    *out = w;
    bool ok = w != NULL, beyond = false;
    if (ok) {
        w->m = m;
        w->plan = *plan;
        w->asked = calloc(groups, sizeof *w->asked);
        w->read = calloc(groups, sizeof *w->read);
        w->first = calloc(groups, sizeof *w->first);
        ok = w->asked && w->read && w->first && make_stream(w, reads, &beyond) &&
             make_times(w, reads) && make_demand(w);
        if (ok) find_choices(w, reads);
    }
    if (!ok) {
        tt_whatif_free(w);
        *out = NULL;
        if (beyond)
            return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                                "a read lies outside of the weights of its model file");
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to replay all reads");
    }
    if (take_lost_times(w, err) != TT_OK) {
        tt_whatif_free(w);
        *out = NULL;
        return err ? err->status : TT_E_MEMORY;
    }
    w->first_generated = TT_NONE;
    for (size_t i = 0; i < m->n_load_steps; i++)
        w->populated |=
            m->load_steps[i].kind == TT_LOAD_MAP && (m->load_steps[i].what & TT_MAP_POPULATE);
    for (uint32_t i = m->n_batches; i-- > 0;)
        if (m->batches[i].phase == TT_PHASE_GENERATE && w->read[i] > 0) w->first_generated = i;
    return TT_OK;
}

static uint64_t block_bytes(const tt_whatif *w)
{
    return w->plan.unit == TT_WHATIF_PAGE ? w->plan.page_bytes : 1;
}

uint64_t tt_whatif_touched(const tt_whatif *w)
{
    return w->touched * block_bytes(w);
}

void tt_whatif_curve(const tt_whatif *w, size_t n, uint64_t *sizes)
{
    const uint64_t touched = tt_whatif_touched(w);
    for (size_t i = 0; i < n; i++)
        sizes[i] = i + 1 < n ? touched / n * (i + 1) : touched;
}

const tt_stream *tt_whatif_stream(const tt_whatif *w)
{
    return &w->stream;
}

uint32_t tt_whatif_batch(const tt_whatif *w, uint32_t group)
{
    return w->ops[group].batch;
}

/* The result of a replay for a batch. */
typedef struct batch_sum {
    uint64_t missed; /* in blocks */
    double causal_wait_ns;
    double wait_ns, transfer_ns; /* of the plan's reader */
} batch_sum;

static void add_batch(const tt_whatif *w, uint32_t batch, const batch_sum *sum, tt_whatif_part *p)
{
    const tt_batch *b = batch < w->m->n_batches ? &w->m->batches[batch] : NULL;
    const uint64_t block = block_bytes(w), missed = sum->missed * block;
    p->batches += b != NULL;
    p->tokens += b ? tt_model_got(b) : 0;
    p->asked_bytes += w->asked[batch];
    p->read_bytes += w->read[batch] * block;
    p->first_bytes += w->first[batch] * block;
    p->missed_bytes += missed;
    if (!is_timed(w, batch)) return;
    const double compute_ns = fmax(0, batch_ns(w, batch) - w->lost_ns[batch]);
    p->lost_ns += batch_ns(w, batch) - compute_ns;
    p->timed_tokens += tt_model_got(b);
    p->compute_ns += compute_ns;
    if (w->plan.disk.bytes_per_s <= 0) return;
    p->disk_ns += (double)missed / w->plan.disk.bytes_per_s * 1e9;
    p->causal_ns += compute_ns + sum->causal_wait_ns;
    p->ns += compute_ns + sum->wait_ns;
    p->transfer_ns += sum->transfer_ns;
    p->latency_ns += sum->wait_ns - sum->transfer_ns;
}

static void sum_up(const tt_whatif *w, const batch_sum *sums, tt_whatif_result *r)
{
    for (uint32_t i = 0; i <= w->m->n_batches; i++) {
        if (w->read[i] == 0) continue;
        unsigned phase = i < w->m->n_batches ? w->m->batches[i].phase : TT_PHASE_UNKNOWN;
        add_batch(w, i, &sums[i], &r->total);
        add_batch(w, i, &sums[i], &r->of_phase[phase < TT_PHASES ? phase : 0]);
        if (phase == TT_PHASE_GENERATE && i != w->first_generated)
            add_batch(w, i, &sums[i], &r->steady);
    }
}

/* --- times --- */

/* The simulated ops: those of the trace, or parts of them. */
typedef struct paging_list {
    tt_paging_op *ops;
    uint32_t *batches; /* of each */
    size_t n, capacity, batches_capacity;
} paging_list;

static bool add_op(paging_list *l, tt_paging_op op, uint32_t batch)
{
    if (!tt_array_one_more(l->ops, l->n, l->capacity) ||
        !tt_array_one_more(l->batches, l->n, l->batches_capacity))
        return false;
    l->batches[l->n] = batch;
    l->ops[l->n++] = op;
    return true;
}

/* An op's misses by page faults. */
typedef struct faulted {
    uint64_t window_bytes; /* fetched at a time */
    uint64_t around_bytes; /* of the missed ones: in windows started by a missing page */
    uint64_t read_bytes;   /* missed or not */
    double page_ns;        /* to add a page of such a window to the cache */
} faulted;

/* The op is divided into parts that read one window each. A window that a missing page starts is
 * requested when that page is read, after all its pages have been added to the cache. Other windows
 * are requested when the first page of the previous window is used, which arrives when the window
 * before that is complete. */
static bool add_by_faults(paging_list *l, tt_paging_op op, const faulted *f, uint32_t batch)
{
    const uint64_t window = f->window_bytes, ahead = op.missed_bytes - f->around_bytes;
    const uint64_t n_around = f->around_bytes / window + (f->around_bytes % window > 0);
    const uint64_t parts = n_around + ahead / window + (ahead % window > 0);
    const double missing =
        parts && f->read_bytes ? fmin(1, (double)op.missed_bytes / (double)f->read_bytes) : 0;
    uint64_t left = f->around_bytes;
    /* The present part is computed without waiting. */
    op.before_ns += op.compute_ns * (1 - missing);
    op.compute_ns = parts ? op.compute_ns * missing / (double)parts : 0;
    for (uint64_t i = 0; i < parts || i == 0; i++) {
        if (i == n_around) left = ahead;
        op.missed_bytes = left < window ? left : window;
        left -= op.missed_bytes;
        op.prepare_ns = i < n_around ? (double)op.missed_bytes / PAGE_BYTES * f->page_ns : 0;
        size_t known_at = i < n_around ? l->n : l->n > 1 ? l->n - 2 : 0;
        if (l->n && known_at < l->ops[l->n - 1].known_at) known_at = l->ops[l->n - 1].known_at;
        op.known_at = (uint32_t)known_at;
        if (l->n >= TT_PAGING_ALWAYS - 1 || !add_op(l, op, batch)) return false;
        op.before_ns = 0;
    }
    return true;
}

/* Bytes of the experts that are chosen with the op `first`. */
static double chosen_bytes(const tt_whatif *w, const uint64_t *missed, uint32_t first)
{
    double bytes = 0;
    for (uint32_t k = first; k < w->n_ops && w->ops[k].batch == w->ops[first].batch; k++) {
        if (w->ops[k].chosen == first)
            bytes += (double)(missed[k] * block_bytes(w));
        else if (w->ops[k].chosen != TT_PAGING_ALWAYS)
            break;
    }
    return bytes;
}

/* The guessed experts of a layer, known with those of the previous layer: for each wrong guess as
 * many useless bytes; the right ones must arrive. The wrong ones come first, to be conservative. */
static bool add_guesses(const tt_whatif *w, double bytes, double before_ns, uint32_t known_at,
                        paging_list *l, uint32_t batch)
{
    const tt_paging_op wrong = {.before_ns = before_ns,
                                .missed_bytes = (uint64_t)(bytes * (1 - w->plan.guessed)),
                                .known_at = known_at,
                                .is_guess = true};
    const tt_paging_op right = {.missed_bytes = (uint64_t)(bytes * w->plan.guessed),
                                .known_at = known_at};
    return add_op(l, wrong, batch) && add_op(l, right, batch);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool is_generated(const tt_whatif *w, uint32_t batch)
{
    return batch < w->m->n_batches && w->m->batches[batch].phase == TT_PHASE_GENERATE;
}

/* The tail of a batch precedes the next one's first op. `window`: readahead window of page faults;
 * 0: ops are not divided. boost_least: experts are read as boost does, in requests of at least
 * that; begin_ns and move_ns are before the first missing bytes of each choice. 0: they are not.
 * Groups are those of generated tokens: of most prompts boost reads whole layers ahead, which is
 * not simulated. */
static bool list_ops(const tt_whatif *w, const uint64_t *missed, const uint64_t *around,
                     uint64_t window, double guessed, uint64_t boost_least, paging_list *l)
{
    double tail_ns = 0;
    uint32_t choice = 0, choice_batch = TT_NONE; /* the last layer's, in the list */
    const bool by_kernel = w->plan.readahead_bytes > 0;
    bool ok = true, is_guessed = false;
    l->n = 0;
    for (uint32_t k = 0; ok && k < w->n_ops; k++) {
        const timed_op *o = &w->ops[k];
        const uint32_t batch = batch_of(w, k);
        tt_paging_op op = {.before_ns = o->before_ns + tail_ns,
                           .compute_ns = o->compute_ns,
                           .missed_bytes = missed[k] * block_bytes(w),
                           .known_at = o->chosen};
        if (boost_least && w->plan.disk.grouped && o->chosen != TT_PAGING_ALWAYS &&
            is_generated(w, batch))
            op.group_request_bytes = larger(o->slice_bytes, boost_least);
        if (o->chosen == k) {
            const uint32_t last_choice = choice;
            is_guessed = guessed > 0 && choice_batch == o->batch;
            choice = (uint32_t)l->n;
            choice_batch = o->batch;
            const double chosen = boost_least ? chosen_bytes(w, missed, k) : 0;
            if (chosen > 0)
                op.prepare_ns = w->plan.disk.begin_ns + chosen / MIB * w->plan.disk.move_ns;
            if (is_guessed) {
                ok =
                    add_guesses(w, chosen_bytes(w, missed, k), op.before_ns, last_choice, l, batch);
                op.before_ns = 0;
            }
        }
        if (is_guessed && o->chosen != TT_PAGING_ALWAYS)
            op.missed_bytes -= (uint64_t)((double)op.missed_bytes * guessed);
        if (o->chosen != TT_PAGING_ALWAYS) op.known_at = choice;
        const faulted f = {window, (by_kernel ? around[k] : missed[k]) * block_bytes(w),
                           w->op_read[k] * block_bytes(w), by_kernel ? ADD_PAGE_NS : 0};
        ok = ok && (window ? add_by_faults(l, op, &f, batch) : add_op(l, op, batch));
        tail_ns = k + 1 < w->n_ops && w->ops[k + 1].batch != o->batch ? w->tail_ns[batch] : 0;
    }
    return ok;
}

/* Smaller requests would be too many for all missed bytes; > 0. */
static uint64_t least_request(const tt_whatif *w, const uint64_t *missed)
{
    double bytes = 0;
    for (uint32_t k = 0; k < w->n_ops; k++)
        bytes += (double)(missed[k] * block_bytes(w));
    const double most = fmin(REQUESTS_MAX, REQUESTS_OF_OP * w->n_ops);
    return bytes > most ? (uint64_t)(bytes / most) : 1;
}

/* Limit of bytes read before their use. */
static uint64_t ahead_of(const tt_whatif *w, uint64_t ram_bytes)
{
    if (!w->plan.boost) return w->plan.ahead_bytes;
    const tt_policy_shares s = tt_policy_share(ram_bytes, w->dense_bytes, w->expert_bytes, 0);
    return s.window_bytes ? s.window_bytes : UINT64_MAX;
}

static bool make_waits(const tt_whatif *w, const uint64_t *missed, const uint64_t *around,
                       uint64_t ram_bytes, paging_list *l, batch_sum *sums)
{
    const bool by_faults = w->plan.reader == TT_WHATIF_MMAP;
    const uint64_t least = least_request(w, missed), request = larger(REQUEST_BYTES, least);
    const uint64_t window = !by_faults                ? 0
                            : w->plan.readahead_bytes ? larger(w->plan.readahead_bytes, least)
                                                      : larger(w->plan.page_bytes, least);
    const tt_paging_reader bound = {request, DEPTH_MAX, UINT64_MAX};
    const tt_paging_reader reader = {request, by_faults ? DEPTH_MAX : w->plan.depth,
                                     by_faults ? UINT64_MAX : ahead_of(w, ram_bytes)};
    if (!list_ops(w, missed, around, 0, 0, 0, l) ||
        !tt_paging_run(l->ops, l->n, &bound, &w->plan.disk))
        return false;
    for (size_t i = 0; i < l->n; i++)
        sums[l->batches[i]].causal_wait_ns += l->ops[i].wait_ns;
    if (!list_ops(w, missed, around, window, window ? 0 : w->plan.guessed,
                  w->plan.boost ? least : 0, l) ||
        !tt_paging_run(l->ops, l->n, &reader, &w->plan.disk))
        return false;
    for (size_t i = 0; i < l->n; i++) {
        sums[l->batches[i]].wait_ns += l->ops[i].wait_ns;
        sums[l->batches[i]].transfer_ns += l->ops[i].transfer_ns;
    }
    return true;
}

static bool replay(tt_whatif *w, tt_policy policy, const uint64_t *ram_bytes,
                   const uint64_t *capacities, size_t n, uint64_t *missed, uint64_t *around,
                   batch_sum *sums, tt_whatif_result *results)
{
    const size_t batches = (size_t)w->m->n_batches + 1;
    const double rate = w->plan.disk.bytes_per_s > 0 ? w->plan.disk.bytes_per_s : USUAL_RATE;
    tt_stream replayed = w->stream;
    if (w->plan.boost) {
        replayed.order = w->expert_order;
        replayed.n = w->n_expert_reads;
        replayed.sections = w->expert_sections;
    }
    const tt_cache_job job = {.stream = &replayed,
                              .policy = policy,
                              .whole = w->plan.unit != TT_WHATIF_PAGE,
                              .layers = w->layers,
                              .passes = w->batches,
                              .ahead = (uint32_t)(w->plan.readahead_bytes / block_bytes(w)),
                              .block_bytes = block_bytes(w),
                              .page_ns = (double)block_bytes(w) / rate * 1e9,
                              .group_ns = w->op_ns,
                              .populated = w->populated,
                              .files = w->layout,
                              .n_files = w->m->n_files,
                              .capacities = capacities,
                              .n = n,
                              .missed = missed,
                              .around = around};
    paging_list list = {0};
    bool ok = tt_cache_run(&job);
    for (size_t i = 0; ok && i < n; i++) {
        uint64_t *of_size = missed + i * w->n_ops;
        if (w->plan.boost) add_dense(w, ram_bytes[i], of_size);
        memset(sums, 0, batches * sizeof *sums);
        for (uint32_t k = 0; k < w->n_ops; k++)
            sums[batch_of(w, k)].missed += of_size[k];
        if (w->plan.disk.bytes_per_s > 0)
            ok = make_waits(w, of_size, around + i * w->n_ops, ram_bytes[i], &list, sums);
        results[i] = (tt_whatif_result){.policy = policy, .by_kernel = job.ahead > 0};
        if (ok) sum_up(w, sums, &results[i]);
    }
    free(list.ops);
    free(list.batches);
    return ok;
}

tt_status tt_whatif_run(tt_whatif *w, tt_policy policy, const uint64_t *ram_bytes, size_t n,
                        tt_whatif_result *results, tt_error *err)
{
    const uint32_t ahead = (uint32_t)(w->plan.readahead_bytes / block_bytes(w));
    const bool whole = w->plan.unit != TT_WHATIF_PAGE;
    if (!whole && w->layout[w->m->n_files] > tt_cache_blocks_max(policy, whole, ahead))
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "the model has too many pages to replay %s%s; larger pages "
                            "(--page-size) make fewer",
                            tt_policies[policy].name, ahead ? " with reading ahead" : "");
    size_t at_once = MISSED_BYTES_MAX / sizeof(uint64_t) / ((size_t)w->n_ops + 1);
    if (at_once == 0) at_once = 1;
    if (at_once > n) at_once = n;
    uint64_t *capacities = calloc(n + 1, sizeof *capacities);
    uint64_t *missed = calloc(at_once * w->n_ops + 1, sizeof *missed);
    uint64_t *around = calloc(at_once * w->n_ops + 1, sizeof *around);
    batch_sum *sums = calloc((size_t)w->m->n_batches + 1, sizeof *sums);
    bool ok = capacities && missed && around && sums;
    for (size_t i = 0; ok && i < n; i++)
        capacities[i] =
            w->plan.boost ? boost_cache_bytes(w, ram_bytes[i]) : ram_bytes[i] / block_bytes(w);
    for (size_t i = 0; ok && i < n; i += at_once)
        ok = replay(w, policy, ram_bytes + i, capacities + i, n - i < at_once ? n - i : at_once,
                    missed, around, sums, results + i);
    for (size_t i = 0; ok && i < n; i++)
        results[i].ram_bytes = ram_bytes[i];
    free(capacities);
    free(missed);
    free(around);
    free(sums);
    if (ok) return TT_OK;
    return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to replay all reads");
}

/* --- rates --- */

double tt_whatif_lost_share(const tt_whatif_part *p)
{
    return p->lost_ns > 0 ? p->lost_ns / (p->lost_ns + p->compute_ns) : 0;
}

const tt_whatif_part *tt_whatif_told(const tt_whatif_result *r)
{
    return r->steady.tokens                        ? &r->steady
           : r->of_phase[TT_PHASE_GENERATE].tokens ? &r->of_phase[TT_PHASE_GENERATE]
                                                   : &r->total;
}

double tt_whatif_compute_ns(const tt_whatif_part *p)
{
    return p->timed_tokens ? p->compute_ns / (double)p->timed_tokens : 0;
}

double tt_whatif_disk_ns(const tt_whatif_part *p)
{
    return p->timed_tokens ? p->disk_ns / (double)p->timed_tokens : 0;
}

static double rate(const tt_whatif_part *p, double ns)
{
    return p->timed_tokens && ns > 0 && tt_whatif_lost_share(p) <= TT_WHATIF_LOST_MOST
               ? (double)p->timed_tokens / ns * 1e9
               : 0;
}

double tt_whatif_rate_apart(const tt_whatif_part *p)
{
    return rate(p, p->compute_ns + p->disk_ns);
}

double tt_whatif_rate_overlap(const tt_whatif_part *p)
{
    return rate(p, fmax(p->compute_ns, p->disk_ns));
}

double tt_whatif_rate_causal(const tt_whatif_part *p)
{
    /* Time that an earlier batch left for reading is the disk's time all the same. */
    return rate(p, fmax(p->causal_ns, fmax(p->compute_ns, p->disk_ns)));
}

double tt_whatif_rate(const tt_whatif_part *p)
{
    return rate(p, p->ns);
}

const char *tt_whatif_limit(const tt_whatif_part *p)
{
    const double busy_ns = p->ns - p->transfer_ns - p->latency_ns;
    if (!p->timed_tokens || p->ns <= 0) return NULL;
    if (busy_ns >= p->transfer_ns && busy_ns >= p->latency_ns) return "compute";
    return p->transfer_ns >= p->latency_ns ? "disk" : "latency";
}
