#include "analyze/spaces/spaces.h"

#include "analyze/reads.h"

#include <stdlib.h>
#include <string.h>

typedef struct maker {
    const tt_model *m;
    tt_spaces *s;
    size_t placed_capacity;
    uint64_t *cuts; /* of the space under way */
    size_t cuts_capacity;
    size_t regions_capacity;
    bool failed;
} maker;

const char *tt_region_kind_name(tt_region_kind kind)
{
    static const char *const names[] = {"gap", "head", "weight", "kv_cache", "compute", "input"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "gap";
}

void tt_spaces_free(tt_spaces *s)
{
    if (!s) return;
    free(s->spaces);
    free(s->regions);
    free(s->placed);
    free(s->region_of_weight);
    free(s->space_of_buffer);
    free(s);
}

static bool grow(maker *k, void **array, size_t need, size_t *capacity, size_t size)
{
    if (need <= *capacity) return true;
    size_t more = *capacity ? *capacity : 256;
    while (more < need)
        more *= 2;
    void *grown = reallocarray(*array, more, size);
    k->failed |= !grown;
    if (!grown) return false;
    *array = grown;
    *capacity = more;
    return true;
}

/* --- spaces --- */

/* What the file's size was said to be, or more where tensors are said to lie behind it. */
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

static void find_mapped_file(const tt_model *m, const tt_buffer *b, tt_space *s)
{
    s->mapped_file = TT_NONE;
    if (!(b->flags & TT_BUFFER_FILE) || !b->path) return;
    for (uint32_t i = 0; i < m->n_files && i < TT_SPACES_MAX && s->mapped_file == TT_NONE; i++)
        if (strcmp(m->files[i].path, b->path) == 0) s->mapped_file = i;
    s->mapped_offset_bytes = b->file_offset_bytes;
}

static bool make_spaces(maker *k)
{
    const tt_model *m = k->m;
    tt_spaces *s = k->s;
    uint64_t all = (uint64_t)m->n_files + m->n_buffers;
    uint32_t n = all < TT_SPACES_MAX ? (uint32_t)all : TT_SPACES_MAX;
    s->spaces = calloc((size_t)n + 1, sizeof *s->spaces);
    s->region_of_weight = malloc(((size_t)m->n_weights + 1) * sizeof *s->region_of_weight);
    s->space_of_buffer = malloc(((size_t)m->n_buffers + 1) * sizeof *s->space_of_buffer);
    if (!s->spaces || !s->region_of_weight || !s->space_of_buffer) return false;
    memset(s->region_of_weight, 0xff, ((size_t)m->n_weights + 1) * sizeof *s->region_of_weight);
    for (uint32_t i = 0; i < m->n_files && s->n_spaces < n; i++)
        s->spaces[s->n_spaces++] = (tt_space){.is_file = true,
                                              .index = i,
                                              .size_bytes = file_size(m, &m->files[i]),
                                              .mapped_file = TT_NONE};
    for (uint32_t i = 0; i < m->n_buffers; i++) {
        s->space_of_buffer[i] = TT_NONE;
        if (s->n_spaces == n) continue;
        tt_space *b = &s->spaces[s->n_spaces];
        *b = (tt_space){.index = i, .size_bytes = m->buffers[i].size_bytes};
        find_mapped_file(m, &m->buffers[i], b);
        s->space_of_buffer[i] = s->n_spaces++;
    }
    s->left_out = (uint32_t)(all - n);
    return true;
}

/* --- what lies in them --- */

static void place(maker *k, const tt_placed *p)
{
    tt_spaces *s = k->s;
    const uint64_t size = s->spaces[p->space].size_bytes;
    if (p->begin >= size || p->end <= p->begin || s->n_placed == TT_NONE - 1) return;
    if (!grow(k, (void **)&s->placed, (size_t)s->n_placed + 1, &k->placed_capacity,
              sizeof *s->placed))
        return;
    s->placed[s->n_placed] = *p;
    if (p->end > size) s->placed[s->n_placed].end = size;
    s->n_placed++;
}

static void place_weights(maker *k)
{
    const tt_model *m = k->m;
    for (uint32_t i = 0; i < m->n_weights; i++) {
        const tt_weight *w = &m->weights[i];
        if (w->file >= m->n_files || w->file >= k->s->n_spaces || !tt_reads_has_place(m, w))
            continue;
        place(k, &(tt_placed){.space = w->file,
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
        if (t->root != i || t->buffer == TT_NONE || k->s->space_of_buffer[t->buffer] == TT_NONE)
            continue;
        if (__builtin_add_overflow(t->location, t->size_bytes, &end)) end = UINT64_MAX;
        place(k, &(tt_placed){.space = k->s->space_of_buffer[t->buffer],
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

/* By place, then in the order met: the graphs come one after the other. */
static int by_place(const void *a, const void *b)
{
    const tt_placed *x = a, *y = b;
    if (x->space != y->space) return x->space < y->space ? -1 : 1;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    /* One string of the trace is one pointer. */
    if (x->name != y->name) return (uintptr_t)x->name < (uintptr_t)y->name ? -1 : 1;
    if (x->graph != y->graph) return x->graph < y->graph ? -1 : 1;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

static int by_first_met(const void *a, const void *b)
{
    const tt_placed *x = a, *y = b;
    if (x->space != y->space) return x->space < y->space ? -1 : 1;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    if (x->graph != y->graph) return x->graph < y->graph ? -1 : 1;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

static void sort_placed(tt_spaces *s)
{
    uint32_t kept = 0;
    if (s->n_placed == 0) return;
    qsort(s->placed, s->n_placed, sizeof *s->placed, by_place);
    for (uint32_t i = 0; i < s->n_placed; i++) {
        const tt_placed *p = &s->placed[i], *last = kept ? &s->placed[kept - 1] : NULL;
        if (last && last->space == p->space && last->begin == p->begin && last->end == p->end &&
            last->name == p->name && p->graph != TT_NONE)
            continue;
        s->placed[kept++] = *p;
    }
    s->n_placed = kept;
    /* Pointers differ from run to run; what is shown must not. */
    qsort(s->placed, s->n_placed, sizeof *s->placed, by_first_met);
}

/* --- regions --- */

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Where the space is cut: ascending, each once, from 0 to its size. */
static size_t find_cuts(maker *k, const tt_space *s, const tt_placed *list, size_t n)
{
    size_t cuts = 0, kept = 0;
    if (!grow(k, (void **)&k->cuts, n * 2 + 3, &k->cuts_capacity, sizeof *k->cuts)) return 0;
    k->cuts[cuts++] = 0;
    if (s->is_file) k->cuts[cuts++] = k->m->files[s->index].data_offset_bytes;
    for (size_t i = 0; i < n; i++) {
        k->cuts[cuts++] = list[i].begin;
        k->cuts[cuts++] = list[i].end;
    }
    k->cuts[cuts++] = s->size_bytes;
    qsort(k->cuts, cuts, sizeof *k->cuts, by_value);
    for (size_t i = 0; i < cuts; i++)
        if (k->cuts[i] <= s->size_bytes && (kept == 0 || k->cuts[kept - 1] != k->cuts[i]))
            k->cuts[kept++] = k->cuts[i];
    return kept;
}

/* Leaves out cuts that lie close behind another, so that at most `most` regions are left. */
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
    return used < TT_SPACES_REGIONS_MAX ? TT_SPACES_REGIONS_MAX - used : 1;
}

static void add_region(maker *k, uint32_t space, uint64_t begin, uint64_t end)
{
    tt_spaces *s = k->s;
    if (!grow(k, (void **)&s->regions, (size_t)s->n_regions + 1, &k->regions_capacity,
              sizeof *s->regions))
        return;
    const tt_space *of = &s->spaces[space];
    bool head = of->is_file && end <= k->m->files[of->index].data_offset_bytes;
    s->regions[s->n_regions++] = (tt_region){.space = space,
                                             .begin = begin,
                                             .end = end,
                                             .kind = head ? TT_REGION_HEAD : TT_REGION_GAP,
                                             .placed = TT_NONE,
                                             .weight = TT_NONE};
}

/* Where the regions end that the bytes before `end` touch. */
static uint32_t regions_before(const tt_spaces *s, const tt_space *space, uint64_t end)
{
    uint32_t at = tt_spaces_find(s, (uint32_t)(space - s->spaces), end);
    if (at == TT_NONE) return space->first_region + space->n_regions;
    return s->regions[at].begin < end ? at + 1 : at;
}

/* Which regions the tensors of a space cover, in time linear in both: tensors come by begin, so
 * that what lies before the farthest end so far has its first tensor already. */
static void cover(tt_spaces *s, const tt_space *space, uint32_t first, uint32_t end)
{
    uint32_t done = space->first_region, n = 0;
    for (uint32_t i = first; i < end; i++) {
        const tt_placed *p = &s->placed[i];
        uint32_t from = tt_spaces_find(s, p->space, p->begin);
        uint32_t to = regions_before(s, space, p->end);
        s->regions[from].n_placed++;
        if (to < space->first_region + space->n_regions) s->regions[to].n_placed--;
        for (uint32_t r = from > done ? from : done; r < to; r++) {
            s->regions[r].placed = i;
            s->regions[r].kind = p->kind;
        }
        if (to > done) done = to;
    }
    /* Until here: how many more than of the region before (wrapping around). */
    for (uint32_t r = space->first_region; r < space->first_region + space->n_regions; r++)
        s->regions[r].n_placed = n += s->regions[r].n_placed;
}

static void cut_space(maker *k, uint32_t at, uint32_t first, uint32_t end)
{
    tt_space *space = &k->s->spaces[at];
    const tt_placed *list = first < end ? k->s->placed + first : NULL;
    size_t n = end - first, most = regions_left(k), cuts;
    if (n > 0 && overlap(list, n) && most > TT_SPACES_OVERLAPS_MAX) most = TT_SPACES_OVERLAPS_MAX;
    cuts = find_cuts(k, space, list, n);
    space->first_region = k->s->n_regions;
    if (cuts > most + 1) {
        space->coarse = true;
        cuts = drop_cuts(k->cuts, cuts, space->size_bytes, most);
    }
    for (size_t i = 0; i + 1 < cuts && !k->failed; i++)
        add_region(k, at, k->cuts[i], k->cuts[i + 1]);
    space->n_regions = k->s->n_regions - space->first_region;
    if (!k->failed && space->n_regions) cover(k->s, space, first, end);
}

static void cut_spaces(maker *k)
{
    tt_spaces *s = k->s;
    for (uint32_t i = 0, first = 0, end; i < s->n_spaces && !k->failed; i++, first = end) {
        for (end = first; end < s->n_placed && s->placed[end].space == i;)
            end++;
        cut_space(k, i, first, end);
    }
}

/* --- weights and slices --- */

/* Experts of a tensor are its last dimension. */
static uint32_t slices_of(const tt_weight *w)
{
    size_t n = strlen(w->place.component);
    if (n < 5 || strcmp(w->place.component + n - 5, "_exps") != 0 || w->n_dims < 3 ||
        w->ne[2] < 2 || w->ne[2] > TT_SPACES_SLICES_MAX || w->size_bytes < w->ne[2])
        return 0;
    return (uint32_t)w->ne[2];
}

static void find_weights(maker *k)
{
    tt_spaces *s = k->s;
    s->n_units = s->n_regions;
    for (uint32_t i = 0; i < s->n_regions; i++) {
        tt_region *r = &s->regions[i];
        const tt_placed *p = r->n_placed == 1 ? &s->placed[r->placed] : NULL;
        if (!p || p->weight == TT_NONE || p->begin != r->begin || p->end != r->end) continue;
        const tt_weight *w = &k->m->weights[p->weight];
        if (s->spaces[r->space].is_file) s->region_of_weight[p->weight] = i;
        r->weight = p->weight;
        uint32_t n = slices_of(w);
        if (n == 0 || r->end - r->begin != w->size_bytes || s->n_units > TT_SPACES_UNITS_MAX - n)
            continue;
        r->n_slices = n;
        r->first_slice = s->n_units;
        s->n_units += n;
    }
}

tt_status tt_spaces_make(const tt_model *m, tt_spaces **out, tt_error *err)
{
    maker k = {.m = m, .s = calloc(1, sizeof(tt_spaces))};
    *out = NULL;
    k.failed = !k.s || !make_spaces(&k);
    if (!k.failed) place_weights(&k);
    for (uint32_t i = 0; i < m->n_graphs && !k.failed; i++)
        place_graph(&k, i);
    if (!k.failed) {
        sort_placed(k.s);
        cut_spaces(&k);
    }
    if (!k.failed) find_weights(&k);
    free(k.cuts);
    if (!k.failed) {
        *out = k.s;
        return TT_OK;
    }
    tt_spaces_free(k.s);
    return tt_error_memory(err, "the map of the memory");
}

/* --- looking things up --- */

uint32_t tt_spaces_find(const tt_spaces *s, uint32_t space, uint64_t offset)
{
    const tt_space *of = &s->spaces[space];
    if (offset >= of->size_bytes || of->n_regions == 0) return TT_NONE;
    uint32_t low = of->first_region, high = of->first_region + of->n_regions;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (s->regions[middle].begin <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void tt_spaces_slice(const tt_region *r, uint32_t slice, uint64_t *begin, uint64_t *end)
{
    const uint64_t size = (r->end - r->begin) / r->n_slices;
    *begin = r->begin + slice * size;
    *end = slice + 1 < r->n_slices ? *begin + size : r->end;
}

void tt_spaces_slices_of(const tt_region *r, uint64_t begin, uint64_t end, uint32_t *first,
                         uint32_t *last)
{
    const uint64_t size = (r->end - r->begin) / r->n_slices;
    const uint64_t low = (begin - r->begin) / size, high = (end - 1 - r->begin) / size + 1;
    *first = low < r->n_slices ? (uint32_t)low : r->n_slices - 1;
    *last = high < r->n_slices ? (uint32_t)high : r->n_slices;
}
