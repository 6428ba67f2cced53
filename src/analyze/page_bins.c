#include "analyze/page_bins.h"

#include "base/array.h"
#include "base/order.h"
#include "model/faults.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- which segment --- */

static bool is_own_memory(const tt_memory_segment *s)
{
    return !s->is_file && s->mapped_file == TT_NONE;
}

/* Buffers with memory of their own, by where they begin. */
typedef struct own_memory {
    uint64_t base;
    uint64_t reach; /* where the last of these and of those before it ends */
    uint32_t segment;
} own_memory;

TT_ORDER_BY(by_base, own_memory, base, segment)

/* Malloc'ed; NULL without memory. */
static own_memory *list_buffers(const tt_page_index *x, size_t *n)
{
    own_memory *list = malloc(((size_t)x->layout->n_segments + 1) * sizeof *list);
    *n = 0;
    for (uint32_t i = 0; list && i < x->layout->n_segments; i++) {
        const tt_memory_segment *s = &x->layout->segments[i];
        if (is_own_memory(s))
            list[(*n)++] = (own_memory){x->faults->m->buffers[s->index].base, 0, i};
    }
    if (list && *n) qsort(list, *n, sizeof *list, by_base);
    for (size_t i = 0; i < *n; i++) {
        uint64_t end;
        if (__builtin_add_overflow(list[i].base, x->layout->segments[list[i].segment].size_bytes,
                                   &end))
            end = UINT64_MAX;
        list[i].reach = i && list[i - 1].reach > end ? list[i - 1].reach : end;
    }
    return list;
}

/* The buffer that was there at that time: of several the one that came last. */
static uint32_t buffer_at(const tt_page_index *x, const own_memory *list, size_t n,
                          const tt_page_fault *p)
{
    size_t i;
    uint32_t found = TT_NONE;
    uint64_t came = 0;
    tt_lower_bound(i, n, list[i].base <= p->address);
    for (; i > 0 && list[i - 1].reach > p->address; i--) {
        const tt_memory_segment *s = &x->layout->segments[list[i - 1].segment];
        const tt_buffer *b = &x->faults->m->buffers[s->index];
        if (p->address - b->base >= s->size_bytes || b->alloc_ticks > p->ticks ||
            (b->free_ticks && b->free_ticks < p->ticks) ||
            (found != TT_NONE && b->alloc_ticks < came))
            continue;
        found = list[i - 1].segment;
        came = b->alloc_ticks;
    }
    return found;
}

static bool place_of(const tt_page_index *x, const own_memory *list, size_t n, uint32_t fault,
                     tt_page_place *out)
{
    const tt_model *m = x->faults->m;
    const tt_page_fault *p = &m->page_faults[fault];
    const uint32_t file = tt_model_fault_file(m, p, &out->at);
    out->fault = fault;
    out->batch = tt_page_faults_batch(x->faults, fault);
    out->major = p->major;
    if (file != TT_NONE) {
        /* Files come first, each in the model's order. */
        out->segment = file & INT32_MAX;
        return file < x->layout->n_segments && x->layout->segments[file].is_file;
    }
    const uint32_t buffer = buffer_at(x, list, n, p);
    if (buffer == TT_NONE) return false;
    out->segment = buffer & INT32_MAX;
    const uint64_t base = m->buffers[x->layout->segments[out->segment].index].base;
    out->at = p->address - (base & ~(x->faults->page_bytes - 1));
    return true;
}

TT_ORDER_BY(by_place, tt_page_place, segment, at, fault)

tt_status tt_page_index_make(tt_page_index *x, const tt_page_faults *faults,
                             const tt_memory_layout *layout, tt_error *err)
{
    const uint32_t n = faults->m->n_page_faults;
    *x = (tt_page_index){.faults = faults, .layout = layout};
    x->places = malloc(((size_t)n + 1) * sizeof *x->places);
    size_t n_own;
    own_memory *own = list_buffers(x, &n_own);
    if (!x->places || !own) {
        free(own);
        return tt_error_memory(err, "the places of page faults");
    }
    for (uint32_t i = 0; i < n; i++)
        x->n += place_of(x, own, n_own, i, &x->places[x->n]);
    free(own);
    if (x->n) qsort(x->places, x->n, sizeof *x->places, by_place);
    return TT_OK;
}

void tt_page_index_free(tt_page_index *x)
{
    free(x->places);
    memset(x, 0, sizeof *x);
}

/* --- spans --- */

/* Where bins are counted: in a file's segment, or in that of a buffer. */
typedef struct counted {
    uint32_t segment; /* TT_NONE: in none, there is nothing */
    uint64_t shift;   /* from an offset in the span's segment to a place */
    uint64_t begin, end;
} counted;

static counted count_from(const tt_memory_layout *layout, const tt_model *m, uint64_t page_bytes,
                          const tt_page_span *span)
{
    const tt_memory_segment *s = &layout->segments[span->segment];
    counted c = {.segment = span->segment};
    if (!s->is_file && s->mapped_file != TT_NONE) {
        c.segment = s->mapped_file;
        c.shift = s->mapped_offset_bytes;
    } else if (!s->is_file) {
        c.shift = m->buffers[s->index].base & (page_bytes - 1);
    }
    const uint64_t end = span->end < s->size_bytes ? span->end : s->size_bytes;
    if (span->begin >= end || __builtin_add_overflow(span->begin, c.shift, &c.begin) ||
        __builtin_add_overflow(end, c.shift, &c.end) || c.end > INT64_MAX)
        c.segment = TT_NONE;
    return c;
}

static tt_status check_spans(const tt_memory_layout *layout, uint64_t page_bytes,
                             const tt_page_span *spans, size_t n, tt_error *err)
{
    uint64_t bins = 0;
    for (size_t i = 0; i < n; i++) {
        const tt_page_span *s = &spans[i];
        if (s->segment >= layout->n_segments)
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                                "span %zu: there are only %u segments", i, layout->n_segments);
        if (s->begin >= s->end || s->bin_bytes == 0 || s->bin_bytes % page_bytes)
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "span %zu is empty", i);
        const uint64_t size = layout->segments[s->segment].size_bytes,
                       end = s->end < size ? s->end : size;
        if (s->begin < end) bins += (end - s->begin) / s->bin_bytes + 2;
        if (bins > TT_PAGE_BINS_MAX)
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                                "these are more than %u bins: ask for less, or for wider ones",
                                TT_PAGE_BINS_MAX);
    }
    return TT_OK;
}

/* --- faults --- */

/* The places on the pages of [begin, end): *first .. *last - 1. */
static void find_places(const tt_page_index *x, const counted *c, size_t *first, size_t *last)
{
    const uint64_t page = x->faults->page_bytes, begin = c->begin & ~(page - 1),
                   end = (c->end + page - 1) & ~(page - 1);
    const tt_page_place *p = x->places;
    tt_lower_bound(*first, x->n,
                   p[*first].segment < c->segment ||
                       (p[*first].segment == c->segment && p[*first].at < begin));
    tt_lower_bound(*last, x->n,
                   p[*last].segment < c->segment ||
                       (p[*last].segment == c->segment && p[*last].at < end));
}

/* The filter, made ready for many places. */
typedef struct sieve {
    const tt_page_index *x;
    const tt_filter *filter;
    uint32_t first, end; /* faults of its time: they ascend by it */
} sieve;

static sieve make_sieve(const tt_page_index *x, const tt_filter *filter)
{
    const tt_model *m = x->faults->m;
    const tt_filter from = {.has_from = filter->has_from, .from_ns = filter->from_ns},
                    to = {.has_to = filter->has_to, .to_ns = filter->to_ns};
    sieve s = {.x = x, .filter = filter};
    tt_lower_bound(s.first, m->n_page_faults,
                   !tt_filter_time(&from, tt_model_ns(m, m->page_faults[s.first].ticks)));
    tt_lower_bound(s.end, m->n_page_faults,
                   tt_filter_time(&to, tt_model_ns(m, m->page_faults[s.end].ticks)));
    return s;
}

static bool passes(const sieve *s, const tt_page_place *p)
{
    if (p->fault < s->first || p->fault >= s->end ||
        !tt_filter_batch(s->filter, s->x->faults->m, p->batch))
        return false;
    return (!s->filter->has_layer && !s->filter->tensor) ||
           tt_page_faults_passes(s->x->faults, s->filter, p->fault);
}

tt_status tt_page_bins_sum(const tt_page_index *x, const tt_filter *filter,
                           const tt_page_span *spans, size_t n_spans, tt_page_bin **bins, size_t *n,
                           tt_error *err)
{
    const tt_model *m = x->faults->m;
    const uint64_t page_bytes = x->faults->page_bytes;
    size_t capacity = 0;
    *bins = NULL;
    *n = 0;
    tt_status status = tt_model_need_clock(m, err);
    if (status == TT_OK) status = check_spans(x->layout, page_bytes, spans, n_spans, err);
    const sieve some = status == TT_OK ? make_sieve(x, filter) : (sieve){0};
    for (uint32_t i = 0; i < n_spans && status == TT_OK; i++) {
        const counted c = count_from(x->layout, m, page_bytes, &spans[i]);
        size_t at, last;
        uint64_t bin = UINT64_MAX, page = UINT64_MAX;
        find_places(x, &c, &at, &last);
        for (; at < last; at++) {
            const tt_page_place *p = &x->places[at];
            if (!passes(&some, p)) continue;
            if (p->at / spans[i].bin_bytes != bin) {
                tt_page_bin *made = tt_array_add(*bins, *n, capacity);
                if (!made) return tt_error_memory(err, "bins of pages");
                bin = p->at / spans[i].bin_bytes;
                *made = (tt_page_bin){.span = i,
                                      .offset_bytes =
                                          (int64_t)(bin * spans[i].bin_bytes) - (int64_t)c.shift};
            }
            tt_page_bin *b = &(*bins)[*n - 1];
            b->pages += p->at / page_bytes != page;
            page = p->at / page_bytes;
            b->major += p->major;
            b->minor += !p->major;
        }
    }
    return status;
}

static int by_number(const void *a, const void *b)
{
    return tt_order(*(const uint32_t *)a, *(const uint32_t *)b);
}

tt_status tt_page_index_list(const tt_page_index *x, const tt_filter *filter,
                             const tt_page_span *span, uint32_t **faults, size_t *n, tt_error *err)
{
    size_t at, last;
    *faults = NULL;
    *n = 0;
    tt_status status = tt_model_need_clock(x->faults->m, err);
    if (status == TT_OK) status = check_spans(x->layout, x->faults->page_bytes, span, 1, err);
    if (status != TT_OK) return status;
    const counted c = count_from(x->layout, x->faults->m, x->faults->page_bytes, span);
    find_places(x, &c, &at, &last);
    *faults = malloc((last > at ? last - at : 1) * sizeof **faults);
    if (!*faults) return tt_error_memory(err, "page faults");
    const sieve some = make_sieve(x, filter);
    for (; at < last; at++)
        if (passes(&some, &x->places[at])) (*faults)[(*n)++] = x->places[at].fault;
    /* They are numbered by time. */
    if (*n) qsort(*faults, *n, sizeof **faults, by_number);
    return TT_OK;
}

/* --- loading --- */

static bool fill_bin(const tt_loading_pages *p, uint64_t begin, uint64_t end, uint64_t *bytes)
{
    const tt_ranges *const kinds[TT_LOADING_KINDS] = {
        &p->came[0], &p->came[1], &p->came[2], &p->used, &p->unused, &p->evicted, &p->again};
    uint64_t any = 0;
    for (int k = 0; k < TT_LOADING_KINDS; k++)
        any |= bytes[k] = tt_ranges_within(kinds[k], begin, end);
    return any > 0;
}

tt_status tt_loading_bins_sum(const tt_loading *l, const tt_memory_layout *layout,
                              const tt_page_span *spans, size_t n_spans, tt_loading_bin **bins,
                              size_t *n, tt_error *err)
{
    const uint64_t page_bytes = tt_page_faults_page_bytes(l->m);
    size_t capacity = 0;
    *bins = NULL;
    *n = 0;
    tt_status status = check_spans(layout, page_bytes, spans, n_spans, err);
    for (uint32_t i = 0; i < n_spans && status == TT_OK; i++) {
        const counted c = count_from(layout, l->m, page_bytes, &spans[i]);
        const uint64_t width = spans[i].bin_bytes;
        if (c.segment >= l->m->n_files || is_own_memory(&layout->segments[spans[i].segment]))
            continue;
        for (uint64_t at = c.begin - c.begin % width; at < c.end; at += width) {
            tt_loading_bin b = {.span = i, .offset_bytes = (int64_t)at - (int64_t)c.shift};
            const uint64_t begin = at < c.begin ? c.begin : at,
                           end = c.end - at < width ? c.end : at + width;
            if (!fill_bin(&l->pages[c.segment], begin, end, b.bytes)) continue;
            tt_loading_bin *made = tt_array_add(*bins, *n, capacity);
            if (!made) return tt_error_memory(err, "bins of pages");
            *made = b;
        }
    }
    return status;
}
