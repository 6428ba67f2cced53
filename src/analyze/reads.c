#include "analyze/reads.h"

#include "base/array.h"
#include "base/checksum.h"

#include <stdlib.h>
#include <string.h>

typedef struct collector {
    const tt_model *m;
    tt_reads *reads;
    size_t ranges_capacity, order_capacity, ops_capacity;
    tt_idmap range_by_hash;
    tt_status status;
    tt_error *err;
} collector;

void tt_reads_free(tt_reads *reads)
{
    free(reads->ranges);
    free(reads->order);
    free(reads->ops);
    memset(reads, 0, sizeof *reads);
}

#define one_more(list, n, capacity) tt_array_one_more_within(list, n, capacity, TT_MODEL_MEMORY_MAX)

static void out_of_memory(collector *c)
{
    c->status = tt_error_memory(c->err, "all reads");
}

static bool same(const tt_read_range *a, const tt_read_range *b)
{
    return a->weight == b->weight && a->expert == b->expert && a->at_most == b->at_most &&
           a->copied == b->copied && a->offset_bytes == b->offset_bytes &&
           a->size_bytes == b->size_bytes && a->span_bytes == b->span_bytes;
}

/* The number of that range; TT_NONE if out of memory. */
static uint32_t range_of(collector *c, const tt_read_range *range)
{
    tt_reads *r = c->reads;
    uint64_t hash =
        tt_hash_mix(tt_hash_mix(tt_hash_mix(range->weight, (uint64_t)(int64_t)range->expert),
                                range->offset_bytes * 4 + range->at_most * 2u + range->copied),
                    range->size_bytes ^ range->span_bytes << 32);
    for (;; hash = tt_hash_mix(hash, 1)) {
        uint32_t was = tt_idmap_get(&c->range_by_hash, hash);
        if (was != TT_NONE && same(&r->ranges[was], range)) return was;
        if (was == TT_NONE) break;
    }
    uint32_t was;
    if (!one_more(r->ranges, r->n_ranges, c->ranges_capacity) ||
        !tt_idmap_add(&c->range_by_hash, hash, (uint32_t)r->n_ranges, &was)) {
        out_of_memory(c);
        return TT_NONE;
    }
    r->ranges[r->n_ranges] = *range;
    r->at_most |= range->at_most;
    return (uint32_t)r->n_ranges++;
}

static bool add_access(collector *c, const tt_graph *g, const tt_access *a)
{
    tt_reads *r = c->reads;
    if (!tt_reads_counts(c->m, a)) {
        r->impossible += a->size_bytes > 0;
        return true;
    }
    const tt_read_range range = {a->weight,     a->expert,  a->offset_bytes,         a->size_bytes,
                                 a->span_bytes, a->at_most, tt_reads_is_copied(g, a)};
    uint32_t at = range_of(c, &range);
    if (at == TT_NONE) return false;
    if (!one_more(r->order, r->n, c->order_capacity)) {
        out_of_memory(c);
        return false;
    }
    r->unplaced += !tt_read_range_is_placed(&range);
    r->order[r->n++] = at;
    return true;
}

static bool visit(void *context, const tt_reading *reading)
{
    collector *c = context;
    tt_reads *r = c->reads;
    const tt_log_op *op = reading->op;
    const size_t first = r->n;
    for (size_t i = 0; i < reading->n; i++)
        if (!add_access(c, &c->m->graphs[op->run->graph], &reading->list[i])) return false;
    if (r->n == first) return true;
    if (!one_more(r->ops, r->n_ops + 1, c->ops_capacity)) {
        out_of_memory(c);
        return false;
    }
    uint64_t ticks = op->arrive_ticks > op->start_ticks ? op->arrive_ticks - op->start_ticks : 0;
    r->ops[r->n_ops++] =
        (tt_read_op){first, op->run->batch, !op->open, op->start_ticks, op->open ? 0 : ticks};
    r->ops[r->n_ops] = (tt_read_op){.first = r->n, .batch = TT_NONE};
    return true;
}

tt_status tt_reads_collect(const tt_model *m, const tt_filter *filter, tt_reads *reads,
                           tt_reads_progress *progress, void *context, tt_error *err)
{
    collector c = {.m = m, .reads = reads, .err = err};
    const tt_reads_walker w = {.filter = filter,
                               .visit = visit,
                               .context = &c,
                               .progress = progress,
                               .progress_context = context};
    memset(reads, 0, sizeof *reads);
    tt_status status = tt_reads_walk(m, &w, err);
    tt_idmap_free(&c.range_by_hash);
    return status == TT_OK ? c.status : status;
}

uint64_t *tt_reads_layout(const tt_model *m, uint64_t block_bytes, const uint64_t *places)
{
    uint64_t *layout = calloc((size_t)m->n_files + 1, sizeof *layout);
    if (!layout) return NULL;
    /* First the end of each, shifted by one; then the sums. */
    for (uint32_t i = 0; i < m->n_weights; i++) {
        const tt_weight *w = &m->weights[i];
        if (!tt_reads_has_place(m, w)) continue;
        uint64_t *end = &layout[w->file + 1];
        const uint64_t begin = places ? places[i] : w->offset_bytes;
        if (begin + w->size_bytes > *end) *end = begin + w->size_bytes;
    }
    for (uint32_t i = 0; i < m->n_files; i++)
        layout[i + 1] = layout[i] + layout[i + 1] / block_bytes + 1;
    return layout;
}

/* Puts the number of slices of each weight into first[weight]. */
static void count_slices(const tt_model *m, const tt_reads *reads, bool experts, tt_slices *s)
{
    for (uint32_t i = 0; i < m->n_weights; i++)
        s->first[i] = 1;
    for (size_t i = 0; experts && i < reads->n_ranges; i++) {
        const tt_read_range *r = &reads->ranges[i];
        const tt_weight *w = &m->weights[r->weight];
        if (r->expert < 0 || w->n_dims < 3 || w->ne[2] < 2 || w->ne[2] > TT_SLICES_MAX ||
            w->size_bytes < w->ne[2])
            continue;
        s->first[r->weight] = (uint32_t)w->ne[2];
        s->cut = true;
    }
}

static void fill(const tt_model *m, tt_slices *s, uint32_t weight, uint32_t count)
{
    const tt_weight *w = &m->weights[weight];
    const uint64_t base = w->file < m->n_files ? s->layout[w->file] : 0,
                   size = w->size_bytes / count;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t rest = w->size_bytes - i * size;
        s->list[s->first[weight] + i] =
            (tt_slice){weight, count > 1 ? (int32_t)i : TT_EXPERT_NONE,
                       base + w->offset_bytes + i * size, i + 1 < count ? size : rest};
    }
}

bool tt_slices_make(const tt_model *m, const tt_reads *reads, bool experts, tt_slices *s)
{
    memset(s, 0, sizeof *s);
    s->layout = tt_reads_layout(m, 1, NULL);
    s->first = calloc((size_t)m->n_weights + 1, sizeof *s->first);
    if (!s->layout || !s->first) return false;
    count_slices(m, reads, experts, s);
    uint64_t n = 0;
    for (uint32_t i = 0; i <= m->n_weights; i++) {
        uint32_t count = i < m->n_weights ? s->first[i] : 0;
        s->first[i] = (uint32_t)n;
        n += count;
        if (n >= TT_NONE) return false;
    }
    s->n = (uint32_t)n;
    s->list = calloc((size_t)n + 1, sizeof *s->list);
    for (uint32_t i = 0; s->list && i < m->n_weights; i++)
        fill(m, s, i, s->first[i + 1] - s->first[i]);
    return s->list != NULL;
}

void tt_slices_free(tt_slices *s)
{
    free(s->list);
    free(s->first);
    free(s->layout);
    memset(s, 0, sizeof *s);
}

static uint64_t place_of(const tt_slices *s, const tt_model *m, const tt_read_range *r)
{
    return s->layout[m->weights[r->weight].file] + r->offset_bytes;
}

void tt_slices_of(const tt_slices *s, const tt_model *m, const tt_read_range *r, uint32_t *first,
                  uint32_t *last)
{
    const uint64_t begin = place_of(s, m, r), end = begin + r->span_bytes;
    uint32_t from = s->first[r->weight], to = s->first[r->weight + 1];
    if (to - from > 1 && begin >= s->list[from].begin) {
        const uint64_t base = s->list[from].begin, size = s->list[from].size;
        uint64_t low = (begin - base) / size, high = (end - 1 - base) / size + 1;
        uint32_t count = to - from;
        to = high < count ? from + (uint32_t)high : to;
        from = low < count ? from + (uint32_t)low : to - 1;
    }
    *first = from;
    *last = to;
}

bool tt_slices_overlap(const tt_slices *s, const tt_model *m, const tt_read_range *r,
                       uint32_t slice, uint64_t *begin, uint64_t *end)
{
    const tt_slice *u = &s->list[slice];
    *begin = place_of(s, m, r);
    *end = *begin + r->span_bytes;
    if (*begin < u->begin) *begin = u->begin;
    if (*end > u->begin + u->size) *end = u->begin + u->size;
    return *begin < *end;
}
