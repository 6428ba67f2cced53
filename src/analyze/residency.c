#include "analyze/residency.h"

#include "base/saturate.h"

#include <stdlib.h>
#include <string.h>

/* The last sample of a file. */
typedef struct seen {
    tt_ranges observed, present;
    bool any;
} seen;

typedef struct walk {
    const tt_model *m;
    tt_residency_visit *visit;
    void *context;
    tt_residency_weight *weights;
    seen *files; /* m->n_files: the previous sample */
    seen now;
    tt_ranges stayed;         /* present before and now */
    tt_ranges comparable;     /* present now, observed before */
    tt_ranges comparable_was; /* present before, observed now */
    bool failed;
} walk;

static uint64_t bytes_of_pages(uint64_t pages, uint64_t page_bytes, uint64_t most)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(pages, page_bytes, &bytes) || bytes > most) return most;
    return bytes;
}

void tt_residency_add(const tt_residency *r, uint64_t size_bytes, tt_ranges *observed,
                      tt_ranges *present)
{
    uint64_t page = r->first_page, left = r->n_pages;
    for (uint32_t i = 0; i < r->n_intervals; i++) {
        uint64_t n = r->intervals[i] < left ? r->intervals[i] : left, end;
        if (__builtin_add_overflow(page, n, &end)) return;
        uint64_t from = bytes_of_pages(page, r->page_bytes, size_bytes);
        uint64_t to = bytes_of_pages(end, r->page_bytes, size_bytes);
        tt_ranges_add(observed, from, to);
        if (i % 2 == 1) tt_ranges_add(present, from, to);
        page = end;
        left -= n;
    }
}

static uint64_t weight_end(const tt_weight *w)
{
    return tt_plus(w->offset_bytes, w->size_bytes);
}

static void see_weight(const walk *k, uint32_t at, bool compared)
{
    const tt_weight *w = &k->m->weights[at];
    tt_residency_weight *r = &k->weights[at];
    const uint64_t from = w->offset_bytes, to = weight_end(w);
    if (w->size_bytes == 0 || tt_ranges_within(&k->now.observed, from, to) != to - from) return;
    uint64_t bytes = tt_ranges_within(&k->now.present, from, to);
    if (r->samples++ == 0) r->first_bytes = r->least_bytes = bytes;
    r->last_bytes = bytes;
    if (bytes < r->least_bytes) r->least_bytes = bytes;
    if (bytes > r->most_bytes) r->most_bytes = bytes;
    if (!compared) return;
    uint64_t stayed = tt_ranges_within(&k->stayed, from, to);
    r->came_bytes += tt_ranges_within(&k->comparable, from, to) - stayed;
    r->went_bytes += tt_ranges_within(&k->comparable_was, from, to) - stayed;
}

static void compare(walk *k, tt_residency_sample *s)
{
    seen *before = &k->files[s->file];
    s->compared = before->any;
    if (s->compared) {
        tt_ranges_both(&before->present, &k->now.present, &k->stayed);
        tt_ranges_both(&k->now.present, &before->observed, &k->comparable);
        tt_ranges_both(&before->present, &k->now.observed, &k->comparable_was);
        s->came_bytes = tt_ranges_total(&k->comparable) - tt_ranges_total(&k->stayed);
        s->went_bytes = tt_ranges_total(&k->comparable_was) - tt_ranges_total(&k->stayed);
    }
    const tt_model_file *f = &k->m->files[s->file];
    for (uint32_t i = 0; k->weights && i < f->n_weights; i++)
        see_weight(k, f->first_weight + i, s->compared);
}

static bool is_broken(const seen *s)
{
    return s->observed.failed || s->present.failed;
}

static bool is_same_sample(const tt_residency *a, const tt_residency *b)
{
    return a->file == b->file && a->batch == b->batch && a->moment == b->moment;
}

/* Consecutive records of one file, batch and moment are one sample. */
static uint32_t see_sample(walk *k, uint32_t first)
{
    const tt_residency *r = &k->m->residencies[first];
    tt_residency_sample s = {.file = r->file,
                             .batch = r->batch,
                             .moment = r->moment,
                             .begin_ticks = r->begin_ticks,
                             .end_ticks = r->end_ticks};
    uint32_t end = first;
    if (r->file >= k->m->n_files) return first + 1;
    tt_ranges_clear(&k->now.observed);
    tt_ranges_clear(&k->now.present);
    for (; end < k->m->n_residencies; end++) {
        const tt_residency *part = &k->m->residencies[end];
        /* Outside of batches only the pages separate two samples. */
        if (!is_same_sample(part, r) || (end > first && part->first_page <= part[-1].first_page))
            break;
        tt_residency_add(part, k->m->files[r->file].size_bytes, &k->now.observed, &k->now.present);
        if (part->end_ticks > s.end_ticks) s.end_ticks = part->end_ticks;
    }
    tt_ranges_merge(&k->now.observed);
    tt_ranges_merge(&k->now.present);
    s.observed_bytes = tt_ranges_total(&k->now.observed);
    s.resident_bytes = tt_ranges_total(&k->now.present);
    compare(k, &s);
    if (k->visit) k->visit(k->context, &s, &k->now.present);
    k->failed |=
        is_broken(&k->now) || k->stayed.failed || k->comparable.failed || k->comparable_was.failed;
    seen before = k->files[s.file];
    k->files[s.file] = k->now;
    k->files[s.file].any = true;
    k->now = before;
    return end;
}

static void free_seen(seen *s)
{
    tt_ranges_free(&s->observed);
    tt_ranges_free(&s->present);
}

tt_status tt_residency_walk(const tt_model *m, tt_residency_visit *visit, void *context,
                            tt_residency_weight *weights, tt_error *err)
{
    walk k = {.m = m, .visit = visit, .context = context, .weights = weights};
    k.files = calloc((size_t)m->n_files + 1, sizeof *k.files);
    k.failed = !k.files;
    if (weights) memset(weights, 0, m->n_weights * sizeof *weights);
    for (uint32_t i = 0; !k.failed && i < m->n_residencies;)
        i = see_sample(&k, i);
    for (uint32_t i = 0; k.files && i < m->n_files; i++)
        free_seen(&k.files[i]);
    free(k.files);
    free_seen(&k.now);
    tt_ranges_free(&k.stayed);
    tt_ranges_free(&k.comparable);
    tt_ranges_free(&k.comparable_was);
    if (!k.failed) return TT_OK;
    return tt_error_memory(err, "the residency samples");
}
