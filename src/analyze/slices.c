#include "analyze/slices.h"

#include <stdlib.h>
#include <string.h>

/* How many slices each weight is cut into, put into first[weight]. */
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
    s->layout = tt_reads_layout(m, 1);
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
    const uint64_t begin = place_of(s, m, r), end = begin + r->size_bytes;
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
    *end = *begin + r->size_bytes;
    if (*begin < u->begin) *begin = u->begin;
    if (*end > u->begin + u->size) *end = u->begin + u->size;
    return *begin < *end;
}
