#include "analyze/memory/layout.h"
#include "analyze/ranges.h"
#include "analyze/reads.h"
#include "analyze/residency.h"
#include "base/array.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

typedef struct maker {
    const tt_model *m;
    tt_memory_layout *s;
    size_t placed_capacity;
    uint64_t *cuts; /* of the current segment */
    size_t cuts_capacity;
    size_t regions_capacity;
    bool failed;
} maker;

const char *tt_region_kind_name(tt_region_kind kind)
{
    static const char *const names[] = {"gap", "head", "weight", "kv_cache", "compute", "input"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "gap";
}

void tt_memory_layout_free(tt_memory_layout *s)
{
    if (!s) return;
    free(s->segments);
    free(s->regions);
    free(s->placed);
    free(s->region_of_weight);
    free(s->segment_of_buffer);
    free(s);
}

/* --- segments --- */

/* The recorded file size, or more if tensors are beyond it. */
static uint64_t file_size(const tt_model *m, const tt_model_file *f)
{
    uint64_t size = f->size_bytes < TT_READS_FILE_MAX ? f->size_bytes : TT_READS_FILE_MAX;
    for (uint32_t i = f->first_weight; i < f->first_weight + f->n_weights; i++) {
        const tt_weight *w = &m->weights[i];
        if (tt_reads_has_place(m, w) && w->offset_bytes + w->size_bytes > size)
            size = w->offset_bytes + w->size_bytes;
    }
    return size;
}

static void find_mapped_file(const tt_model *m, const tt_buffer *b, tt_memory_segment *s)
{
    s->mapped_file = TT_NONE;
    if (!(b->flags & TT_BUFFER_FILE) || !b->path) return;
    for (uint32_t i = 0; i < m->n_files && i < TT_MEMORY_SEGMENTS_MAX && s->mapped_file == TT_NONE;
         i++)
        if (strcmp(m->files[i].path, b->path) == 0) s->mapped_file = i;
    s->mapped_offset_bytes = b->file_offset_bytes;
}

static bool make_layout(maker *k)
{
    const tt_model *m = k->m;
    tt_memory_layout *s = k->s;
    uint64_t all = (uint64_t)m->n_files + m->n_buffers;
    uint32_t n = all < TT_MEMORY_SEGMENTS_MAX ? (uint32_t)all : TT_MEMORY_SEGMENTS_MAX;
    s->segments = calloc((size_t)n + 1, sizeof *s->segments);
    s->region_of_weight = malloc(((size_t)m->n_weights + 1) * sizeof *s->region_of_weight);
    s->segment_of_buffer = malloc(((size_t)m->n_buffers + 1) * sizeof *s->segment_of_buffer);
    if (!s->segments || !s->region_of_weight || !s->segment_of_buffer) return false;
    memset(s->region_of_weight, 0xff, ((size_t)m->n_weights + 1) * sizeof *s->region_of_weight);
    for (uint32_t i = 0; i < m->n_files && s->n_segments < n; i++)
        s->segments[s->n_segments++] = (tt_memory_segment){.is_file = true,
                                                           .index = i,
                                                           .size_bytes = file_size(m, &m->files[i]),
                                                           .mapped_file = TT_NONE};
    for (uint32_t i = 0; i < m->n_buffers; i++) {
        s->segment_of_buffer[i] = TT_NONE;
        if (s->n_segments == n) continue;
        tt_memory_segment *b = &s->segments[s->n_segments];
        *b = (tt_memory_segment){.index = i, .size_bytes = m->buffers[i].size_bytes};
        find_mapped_file(m, &m->buffers[i], b);
        s->segment_of_buffer[i] = s->n_segments++;
    }
    s->left_out = (uint32_t)(all - n);
    return true;
}

/* --- their contents --- */

static void place(maker *k, const tt_placed *p)
{
    tt_memory_layout *s = k->s;
    const uint64_t size = s->segments[p->segment].size_bytes;
    if (p->begin >= size || p->end <= p->begin || s->n_placed == TT_NONE - 1) return;
    tt_placed *at = tt_array_add(s->placed, s->n_placed, k->placed_capacity);
    k->failed |= !at;
    if (!at) return;
    *at = *p;
    if (p->end > size) at->end = size;
}

static void place_weights(maker *k)
{
    const tt_model *m = k->m;
    for (uint32_t i = 0; i < m->n_weights; i++) {
        const tt_weight *w = &m->weights[i];
        if (w->file >= m->n_files || w->file >= k->s->n_segments || !tt_reads_has_place(m, w))
            continue;
        place(k, &(tt_placed){.segment = w->file,
                              .begin = w->offset_bytes,
                              .end = w->offset_bytes + w->size_bytes,
                              .name = w->name,
                              .type_name = w->type_name,
                              .graph = TT_NONE,
                              .tensor = TT_NONE,
                              .weight = i,
                              .layer_id = w->place.layer_id,
                              .component = w->place.component,
                              .kind = TT_REGION_WEIGHT});
    }
}

static tt_region_kind kind_of(const tt_model *m, const tt_graph *g, uint32_t tensor)
{
    const tt_tensor *t = &g->tensors[tensor];
    if (t->weight != TT_NONE) return TT_REGION_WEIGHT;
    if (tensor < g->n_nodes) return TT_REGION_COMPUTE;
    switch (m->buffers[t->buffer].kind) {
    case TT_BUFFER_WEIGHTS:
        return TT_REGION_WEIGHT;
    case TT_BUFFER_KV_CACHE:
        return TT_REGION_KV_CACHE;
    case TT_BUFFER_COMPUTE:
    case TT_BUFFER_OUTPUT:
    case TT_BUFFER_OTHER:
        break;
    }
    return TT_REGION_INPUT;
}

static void place_graph(maker *k, uint32_t graph)
{
    const tt_graph *g = &k->m->graphs[graph];
    for (uint32_t i = 0; i < g->n_tensors && !k->failed; i++) {
        const tt_tensor *t = &g->tensors[i];
        uint64_t end;
        if (t->root != i || t->buffer == TT_NONE || k->s->segment_of_buffer[t->buffer] == TT_NONE)
            continue;
        if (__builtin_add_overflow(t->location, t->size_bytes, &end)) end = UINT64_MAX;
        place(k, &(tt_placed){.segment = k->s->segment_of_buffer[t->buffer],
                              .begin = t->location,
                              .end = end,
                              .name = t->name,
                              .type_name = t->type_name,
                              .graph = graph,
                              .tensor = i,
                              .weight = t->weight < k->m->n_weights ? t->weight : TT_NONE,
                              .layer_id = t->place.layer_id,
                              .component = t->place.component,
                              .kind = kind_of(k->m, g, i)});
    }
}

TT_ORDER_BY(by_first_met, tt_placed, segment, begin, end, graph, tensor)
TT_ORDER_BY(by_range, tt_placed, segment, begin, end)

/* By offset, then in the order found: graph by graph. */
static int by_location(const void *a, const void *b)
{
    const tt_placed *x = a, *y = b;
    const int order = by_range(a, b);
    /* Equal strings of the trace have the same pointer. */
    if (order == 0 && x->name != y->name) return (uintptr_t)x->name < (uintptr_t)y->name ? -1 : 1;
    return order ? order : by_first_met(a, b);
}

static void sort_placed(tt_memory_layout *s)
{
    uint32_t kept = 0;
    if (s->n_placed == 0) return;
    qsort(s->placed, s->n_placed, sizeof *s->placed, by_location);
    for (uint32_t i = 0; i < s->n_placed; i++) {
        const tt_placed *p = &s->placed[i], *last = kept ? &s->placed[kept - 1] : NULL;
        if (last && last->segment == p->segment && last->begin == p->begin && last->end == p->end &&
            last->name == p->name && p->graph != TT_NONE)
            continue;
        s->placed[kept++] = *p;
    }
    s->n_placed = kept;
    /* Pointers differ from run to run; the output must not. */
    qsort(s->placed, s->n_placed, sizeof *s->placed, by_first_met);
}

/* --- regions --- */

/* Where the segment is cut: ascending, unique, from 0 to its size. */
static size_t find_cuts(maker *k, const tt_memory_segment *s, const tt_placed *list, size_t n)
{
    size_t cuts = 0, kept = 0;
    k->failed |= !tt_array_room(k->cuts, k->cuts_capacity, n * 2 + 3);
    if (k->failed) return 0;
    k->cuts[cuts++] = 0;
    if (s->is_file) k->cuts[cuts++] = k->m->files[s->index].data_offset_bytes;
    for (size_t i = 0; i < n; i++) {
        k->cuts[cuts++] = list[i].begin;
        k->cuts[cuts++] = list[i].end;
    }
    k->cuts[cuts++] = s->size_bytes;
    qsort(k->cuts, cuts, sizeof *k->cuts, tt_by_u64);
    for (size_t i = 0; i < cuts; i++)
        if (k->cuts[i] <= s->size_bytes && (kept == 0 || k->cuts[kept - 1] != k->cuts[i]))
            k->cuts[kept++] = k->cuts[i];
    return kept;
}

/* Removes cuts close to others, so that at most `most` regions are left. */
static size_t drop_cuts(uint64_t *cuts, size_t n, uint64_t size, size_t most)
{
    const uint64_t least = size / most + 1;
    size_t kept = 1;
    for (size_t i = 1; i + 1 < n; i++)
        if (cuts[i] - cuts[kept - 1] >= least) cuts[kept++] = cuts[i];
    /* The last but one may be close to the end. */
    if (kept > most) kept = most;
    cuts[kept++] = size;
    return kept;
}

static bool overlap(const tt_placed *list, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (list[i].begin < list[i - 1].end) return true;
    return false;
}

static size_t regions_left(const maker *k)
{
    const size_t used = k->s->n_regions;
    return used < TT_MEMORY_REGIONS_MAX ? TT_MEMORY_REGIONS_MAX - used : 1;
}

static void add_region(maker *k, uint32_t segment, uint64_t begin, uint64_t end)
{
    tt_memory_layout *s = k->s;
    const tt_memory_segment *of = &s->segments[segment];
    bool head = of->is_file && end <= k->m->files[of->index].data_offset_bytes;
    tt_region *r = tt_array_add(s->regions, s->n_regions, k->regions_capacity);
    k->failed |= !r;
    if (!r) return;
    *r = (tt_region){.segment = segment,
                     .begin = begin,
                     .end = end,
                     .kind = head ? TT_REGION_HEAD : TT_REGION_GAP,
                     .placed = TT_NONE,
                     .weight = TT_NONE};
}

/* The end of the regions that the bytes before `end` touch. */
static uint32_t regions_before(const tt_memory_layout *s, const tt_memory_segment *segment,
                               uint64_t end)
{
    uint32_t at = tt_memory_layout_find(s, (uint32_t)(segment - s->segments), end);
    if (at == TT_NONE) return segment->first_region + segment->n_regions;
    return s->regions[at].begin < end ? at + 1 : at;
}

/* Which regions the tensors of a segment cover, in time linear in both: tensors are sorted by
 * start, so regions before the farthest end so far already have their first tensor. */
static void cover(tt_memory_layout *s, const tt_memory_segment *segment, uint32_t first,
                  uint32_t end)
{
    uint32_t done = segment->first_region, n = 0;
    for (uint32_t i = first; i < end; i++) {
        const tt_placed *p = &s->placed[i];
        uint32_t from = tt_memory_layout_find(s, p->segment, p->begin);
        uint32_t to = regions_before(s, segment, p->end);
        s->regions[from].n_placed++;
        if (to < segment->first_region + segment->n_regions) s->regions[to].n_placed--;
        for (uint32_t r = from > done ? from : done; r < to; r++) {
            s->regions[r].placed = i;
            s->regions[r].kind = p->kind;
        }
        if (to > done) done = to;
    }
    /* So far: the difference to the previous region (wrapping around). */
    for (uint32_t r = segment->first_region; r < segment->first_region + segment->n_regions; r++)
        s->regions[r].n_placed = n += s->regions[r].n_placed;
}

static void cut_segment(maker *k, uint32_t at, uint32_t first, uint32_t end)
{
    tt_memory_segment *segment = &k->s->segments[at];
    const tt_placed *list = first < end ? k->s->placed + first : NULL;
    size_t n = end - first, most = regions_left(k), cuts;
    if (n > 0 && overlap(list, n) && most > TT_MEMORY_OVERLAPS_MAX) most = TT_MEMORY_OVERLAPS_MAX;
    cuts = find_cuts(k, segment, list, n);
    segment->first_region = k->s->n_regions;
    if (cuts > most + 1) {
        segment->coarse = true;
        cuts = drop_cuts(k->cuts, cuts, segment->size_bytes, most);
    }
    for (size_t i = 0; i + 1 < cuts && !k->failed; i++)
        add_region(k, at, k->cuts[i], k->cuts[i + 1]);
    segment->n_regions = k->s->n_regions - segment->first_region;
    if (!k->failed && segment->n_regions) cover(k->s, segment, first, end);
}

static void cut_segments(maker *k)
{
    tt_memory_layout *s = k->s;
    for (uint32_t i = 0, first = 0, end; i < s->n_segments && !k->failed; i++, first = end) {
        for (end = first; end < s->n_placed && s->placed[end].segment == i;)
            end++;
        cut_segment(k, i, first, end);
    }
}

/* --- weights and slices --- */

/* Experts of a tensor are its last dimension. */
static uint32_t slices_of(const tt_weight *w)
{
    size_t n = strlen(w->place.component);
    if (n < 5 || strcmp(w->place.component + n - 5, "_exps") != 0 || w->n_dims < 3 ||
        w->ne[2] < 2 || w->ne[2] > TT_MEMORY_SLICES_MAX || w->size_bytes < w->ne[2])
        return 0;
    return (uint32_t)w->ne[2];
}

static void find_weights(maker *k)
{
    tt_memory_layout *s = k->s;
    s->n_units = s->n_regions;
    for (uint32_t i = 0; i < s->n_regions; i++) {
        tt_region *r = &s->regions[i];
        const tt_placed *p = r->n_placed == 1 ? &s->placed[r->placed] : NULL;
        if (!p || p->weight == TT_NONE || p->begin != r->begin || p->end != r->end) continue;
        const tt_weight *w = &k->m->weights[p->weight];
        if (s->segments[r->segment].is_file) s->region_of_weight[p->weight] = i;
        r->weight = p->weight;
        uint32_t n = slices_of(w);
        if (n == 0 || r->end - r->begin != w->size_bytes || s->n_units > TT_MEMORY_UNITS_MAX - n)
            continue;
        r->n_slices = n;
        r->first_slice = s->n_units;
        s->n_units += n;
    }
}

tt_status tt_memory_layout_make(const tt_model *m, tt_memory_layout **out, tt_error *err)
{
    maker k = {.m = m, .s = calloc(1, sizeof(tt_memory_layout))};
    *out = NULL;
    k.failed = !k.s || !make_layout(&k);
    if (!k.failed) place_weights(&k);
    for (uint32_t i = 0; i < m->n_graphs && !k.failed; i++)
        place_graph(&k, i);
    if (!k.failed) {
        sort_placed(k.s);
        cut_segments(&k);
    }
    if (!k.failed) find_weights(&k);
    free(k.cuts);
    if (!k.failed) {
        *out = k.s;
        return TT_OK;
    }
    tt_memory_layout_free(k.s);
    return tt_error_memory(err, "the map of the memory");
}

/* --- look-ups --- */

uint32_t tt_memory_layout_find(const tt_memory_layout *s, uint32_t segment, uint64_t offset)
{
    const tt_memory_segment *of = &s->segments[segment];
    if (offset >= of->size_bytes || of->n_regions == 0) return TT_NONE;
    uint32_t at;
    tt_lower_bound(at, of->n_regions, s->regions[of->first_region + at].begin <= offset);
    return of->first_region + (at ? at - 1 : 0);
}

void tt_region_slice(const tt_region *r, uint32_t slice, uint64_t *begin, uint64_t *end)
{
    const uint64_t size = (r->end - r->begin) / r->n_slices;
    *begin = r->begin + slice * size;
    *end = slice + 1 < r->n_slices ? *begin + size : r->end;
}

void tt_region_slices_of(const tt_region *r, uint64_t begin, uint64_t end, uint32_t *first,
                         uint32_t *last)
{
    const uint64_t size = (r->end - r->begin) / r->n_slices;
    const uint64_t low = (begin - r->begin) / size, high = (end - 1 - r->begin) / size + 1;
    *first = low < r->n_slices ? (uint32_t)low : r->n_slices - 1;
    *last = high < r->n_slices ? (uint32_t)high : r->n_slices;
}

/* The records of a file's sample are [first, end) of tt_model.residencies. */
typedef struct sample {
    uint32_t first, end;
} sample;

static bool is_before(const tt_model *m, const tt_residency *r, const tt_memory_moment *moment)
{
    if (moment->has_ns && tt_model_ns(m, r->begin_ticks) > moment->ns) return false;
    if (!moment->has_batch) return true;
    if (r->batch != TT_NONE) return tt_model_batch_number(m, r->batch) <= moment->token;
    return r->moment != TT_AT_END;
}

/* The same distinction of samples as in tt_residency_walk. */
static bool goes_on(const tt_residency *r, const tt_residency *before)
{
    return r->file == before->file && r->batch == before->batch && r->moment == before->moment &&
           r->first_page > before->first_page;
}

static void find_samples(const tt_model *m, const tt_memory_moment *moment, sample *of_file)
{
    for (uint32_t i = 0; i < m->n_residencies; i++) {
        const tt_residency *r = &m->residencies[i];
        if (r->file >= m->n_files || !is_before(m, r, moment)) continue;
        sample *s = &of_file[r->file];
        if (s->end == i && i > 0 && goes_on(r, r - 1))
            s->end = i + 1;
        else
            *s = (sample){i, i + 1};
    }
}

static void measure_unit(tt_unit_residency *u, const tt_ranges *observed, const tt_ranges *present,
                         uint64_t begin, uint64_t end, uint64_t offset)
{
    if (__builtin_add_overflow(begin, offset, &begin) || __builtin_add_overflow(end, offset, &end))
        return;
    u->observed_bytes = tt_ranges_within(observed, begin, end);
    u->resident_bytes = tt_ranges_within(present, begin, end);
}

static void measure_segment(const tt_memory_layout *s, const tt_memory_segment *of,
                            const tt_ranges *observed, const tt_ranges *present,
                            tt_unit_residency *units)
{
    const uint64_t offset = of->is_file ? 0 : of->mapped_offset_bytes;
    for (uint32_t i = of->first_region; i < of->first_region + of->n_regions; i++) {
        const tt_region *r = &s->regions[i];
        measure_unit(&units[i], observed, present, r->begin, r->end, offset);
        for (uint32_t k = 0; k < r->n_slices; k++) {
            uint64_t begin, end;
            tt_region_slice(r, k, &begin, &end);
            measure_unit(&units[r->first_slice + k], observed, present, begin, end, offset);
        }
    }
}

/* False if out of memory. */
static bool measure_file(const tt_model *m, const tt_memory_layout *s, uint32_t file,
                         const sample *from, tt_unit_residency *units)
{
    tt_ranges observed = {0}, present = {0};
    for (uint32_t i = from->first; i < from->end; i++)
        tt_residency_add(&m->residencies[i], m->files[file].size_bytes, &observed, &present);
    tt_ranges_merge(&observed);
    tt_ranges_merge(&present);
    const bool ok = !observed.failed && !present.failed;
    for (uint32_t i = 0; ok && i < s->n_segments; i++) {
        const tt_memory_segment *of = &s->segments[i];
        if (of->is_file ? of->index == file : of->mapped_file == file)
            measure_segment(s, of, &observed, &present, units);
    }
    tt_ranges_free(&observed);
    tt_ranges_free(&present);
    return ok;
}

tt_status tt_memory_residency_find(const tt_model *m, const tt_memory_layout *s,
                                   const tt_memory_moment *moment, tt_memory_residency *out,
                                   tt_error *err)
{
    sample *of_file = calloc((size_t)m->n_files + 1, sizeof *of_file);
    memset(out, 0, sizeof *out);
    out->units = calloc((size_t)s->n_units + 1, sizeof *out->units);
    out->samples = calloc((size_t)m->n_files + 1, sizeof *out->samples);
    bool ok = of_file && out->units && out->samples;
    if (ok) find_samples(m, moment, of_file);
    for (uint32_t i = 0; ok && i < m->n_files; i++) {
        out->samples[i] = of_file[i].end ? of_file[i].first : TT_NONE;
        if (of_file[i].end && i < TT_MEMORY_SEGMENTS_MAX)
            ok = measure_file(m, s, i, &of_file[i], out->units);
    }
    free(of_file);
    if (ok) return TT_OK;
    return tt_error_memory(err, "the pages in RAM");
}

void tt_memory_residency_free(tt_memory_residency *r)
{
    free(r->units);
    free(r->samples);
    memset(r, 0, sizeof *r);
}
