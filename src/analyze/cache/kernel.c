#include "analyze/cache/cache.h"

#include "base/order.h"

#include <stdlib.h>
#include <string.h>

/* How Linux 6.18 fetches and evicts pages of mapped files under a memory limit, with the names of
 * its functions. Not simulated: folios of several pages, several threads, the multi-generational
 * lists (CONFIG_LRU_GEN) and other users of memory. */

#define AROUND_BYTES 65536u /* mapped with a page that faults, aligned: fault_around_bytes */
#define MISSES_MANY 100u    /* disables reading around: MMAP_LOTSAMISS */
#define MISSES_MOST 1000u   /* upper limit of the count */
#define CLUSTER 32u         /* pages scanned, or to be reclaimed, at once: SWAP_CLUSTER_MAX */
#define PRIORITY 12u        /* a list's length >> this is scanned first: DEF_PRIORITY */
/* A group's counts are summed every two seconds (FLUSH_TIME), and whenever somebody reads them: the
 * total rate is unknown. Chosen so that it reproduces bench/memory's bytes on one machine. */
#define COUNTS_NS 8e8

enum { LIST_INACTIVE, LIST_ACTIVE, LISTS };

/* Flags of a page. */
enum {
    PRESENT = 1,
    ACTIVE = 2,
    REFERENCED = 4, /* PG_referenced */
    WORKINGSET = 8, /* has been active: PG_workingset */
    AHEAD = 16,     /* a fault on it fetches the next window: PG_readahead */
    MAPPED = 32,
    ACCESSED = 64, /* the bit in the page table */
};

/* Of a file: struct file_ra_state. Sizes in pages. */
typedef struct window {
    uint64_t start, async_size;
    uint32_t misses; /* mmap_miss */
} window;

typedef struct kernel {
    const tt_cache_job *job;
    uint8_t *pages;
    /* Links of the present pages; the anchors of the lists follow the last page. Pages are added at
     * a list's head, after the anchor. */
    uint32_t *next, *before;
    /* Of absent pages: the age at eviction, times 2, plus 1 if they were in the working set. 0:
     * never present. */
    uint32_t *shadows;
    uint64_t size[LISTS], capacity, around, n_pages;
    uint32_t age;                         /* nonresident_age: pages evicted or made active */
    uint64_t activated, activated_before; /* pages that returned; value at the last reclaim */
    window *windows;
    uint64_t fetched, fetched_around; /* of these, in windows around a missing page */
    /* A control group's counts when they were last summed. */
    uint64_t seen[LISTS], seen_activated;
    double age_ns; /* since then */
} kernel;

static unsigned list_of(const kernel *k, uint64_t page)
{
    return k->pages[page] & ACTIVE ? LIST_ACTIVE : LIST_INACTIVE;
}

static void take_out(kernel *k, uint32_t page)
{
    k->next[k->before[page]] = k->next[page];
    k->before[k->next[page]] = k->before[page];
    k->size[list_of(k, page)]--;
}

static void put_first(kernel *k, uint32_t page)
{
    const unsigned list = list_of(k, page);
    const uint32_t anchor = (uint32_t)k->n_pages + list, second = k->next[anchor];
    k->next[page] = second;
    k->before[page] = anchor;
    k->before[second] = page;
    k->next[anchor] = page;
    k->size[list]++;
}

static void activate(kernel *k, uint32_t page)
{
    take_out(k, page);
    k->pages[page] |= ACTIVE;
    put_first(k, page);
    k->age++;
}

/* folio_mark_accessed */
static void mark_accessed(kernel *k, uint32_t page)
{
    if (!(k->pages[page] & REFERENCED)) {
        k->pages[page] |= REFERENCED;
        return;
    }
    if (k->pages[page] & ACTIVE) return;
    activate(k, page);
    k->pages[page] &= (uint8_t)~REFERENCED;
}

/* --- reclaim: mm/vmscan.c --- */

/* shrink_active_list */
static void shrink_active(kernel *k, uint64_t scan)
{
    for (; scan && k->size[LIST_ACTIVE]; scan--) {
        const uint32_t page = k->before[k->n_pages + LIST_ACTIVE];
        take_out(k, page);
        k->pages[page] = (uint8_t)((k->pages[page] & ~(ACTIVE | ACCESSED)) | WORKINGSET);
        put_first(k, page);
    }
}

/* shrink_folio_list, for one page: true if it was evicted. */
static bool evict_unless_used(kernel *k, uint32_t page)
{
    const bool accessed = k->pages[page] & ACCESSED, referenced = k->pages[page] & REFERENCED;
    k->pages[page] &= (uint8_t) ~(ACCESSED | REFERENCED);
    if (!accessed) {
        take_out(k, page);
        k->age++;
        k->shadows[page] = k->age << 1 | (k->pages[page] & WORKINGSET ? 1 : 0);
        k->pages[page] = 0;
        return true;
    }
    /* folio_check_references: the first reference comes from mapping it, the second is a use. */
    k->pages[page] |= REFERENCED;
    if (referenced) {
        activate(k, page);
    } else {
        take_out(k, page);
        put_first(k, page);
    }
    return false;
}

/* shrink_inactive_list; returns the pages evicted. */
static uint64_t shrink_inactive(kernel *k, uint64_t scan)
{
    uint32_t pages[CLUSTER];
    uint64_t n = 0, evicted = 0;
    uint32_t page = k->before[k->n_pages + LIST_INACTIVE];
    for (; n < scan && page < k->n_pages; page = k->before[page])
        pages[n++] = page;
    for (uint64_t i = 0; i < n; i++)
        evicted += evict_unless_used(k, pages[i]);
    return evicted;
}

/* Advances the time. Between two sums of a group's counts by mm/memcontrol.c, the kernel decides by
 * old ones. */
static void pass(kernel *k, double ns)
{
    k->age_ns += ns;
    if (k->age_ns < COUNTS_NS) return;
    k->age_ns = 0;
    memcpy(k->seen, k->size, sizeof k->seen);
    k->seen_activated = k->activated;
}

static bool inactive_is_low(const kernel *k)
{
    const uint64_t bytes = (k->seen[LIST_INACTIVE] + k->seen[LIST_ACTIVE]) * k->job->block_bytes;
    const uint64_t square = 10 * (bytes >> 30);
    uint64_t ratio = 1;
    while ((ratio + 1) * (ratio + 1) <= square)
        ratio++;
    return k->seen[LIST_INACTIVE] * ratio < k->seen[LIST_ACTIVE];
}

/* Scans ever larger parts of the lists; returns the pages evicted. *skipped: some active ones could
 * be evicted by force. */
static uint64_t shrink(kernel *k, bool force, bool *skipped)
{
    uint64_t evicted = 0;
    for (unsigned priority = PRIORITY + 1; priority-- > 0 && evicted < CLUSTER;) {
        uint64_t left[LISTS] = {k->size[LIST_INACTIVE] >> priority,
                                k->size[LIST_ACTIVE] >> priority};
        /* prepare_scan_control */
        const bool may_deactivate =
            force || k->seen_activated != k->activated_before || inactive_is_low(k);
        if (!may_deactivate) {
            *skipped |= left[LIST_ACTIVE] > 0;
            left[LIST_ACTIVE] = 0;
        }
        while ((left[LIST_INACTIVE] || left[LIST_ACTIVE]) && evicted < CLUSTER) {
            uint64_t now[LISTS];
            for (unsigned l = 0; l < LISTS; l++) {
                now[l] = left[l] < CLUSTER ? left[l] : CLUSTER;
                left[l] -= now[l];
            }
            evicted += shrink_inactive(k, now[LIST_INACTIVE]);
            shrink_active(k, now[LIST_ACTIVE]);
        }
    }
    k->activated_before = k->seen_activated;
    return evicted;
}

/* do_try_to_free_pages, for the charge of a page that does not fit. */
static void reclaim(kernel *k)
{
    bool skipped = false;
    if (shrink(k, false, &skipped) == 0 && skipped) (void)shrink(k, true, &skipped);
}

/* filemap_add_folio, with workingset_refault: a page that returns after fewer evictions than there
 * are active pages becomes active. */
static void add(kernel *k, uint32_t page, bool ahead)
{
    const uint32_t shadow = k->shadows[page];
    pass(k, k->job->page_ns);
    if (k->size[LIST_INACTIVE] + k->size[LIST_ACTIVE] >= k->capacity) reclaim(k);
    k->pages[page] = (uint8_t)(PRESENT | (ahead ? AHEAD : 0));
    if (shadow && ((k->age - (shadow >> 1)) & UINT32_MAX >> 1) <= k->seen[LIST_ACTIVE]) {
        k->pages[page] |= (uint8_t)(ACTIVE | (shadow & 1 ? WORKINGSET : 0));
        k->age++;
        k->activated++;
    }
    k->fetched++;
    put_first(k, page);
}

/* --- faults: mm/filemap.c, mm/readahead.c --- */

static size_t file_of(const tt_cache_job *job, uint32_t page)
{
    size_t at;
    tt_lower_bound(at, job->n_files, job->files[at] <= page);
    return at ? at - 1 : 0;
}

/* page_cache_ra_unbounded: the missing pages of the window at w->start. */
static void fetch_window(kernel *k, window *w, uint64_t file_end)
{
    const uint64_t end = w->start + k->job->ahead;
    for (uint64_t p = w->start; p < end && p < file_end; p++)
        if (!(k->pages[p] & PRESENT)) add(k, (uint32_t)p, p == end - w->async_size);
}

/* do_sync_mmap_readahead: a missing page. */
static void fetch(kernel *k, window *w, size_t file, uint32_t page)
{
    const uint64_t begin = k->job->files[file], half = k->job->ahead / 2;
    if (w->misses < MISSES_MOST) w->misses++;
    if (w->misses <= MISSES_MANY) {
        w->start = page - begin > half ? page - half : begin;
        w->async_size = k->job->ahead / 4;
        const uint64_t before = k->fetched;
        fetch_window(k, w, k->job->files[file + 1]);
        k->fetched_around += k->fetched - before;
    }
    /* Reading around is disabled, is of a single page, or evicted it at once. */
    if (!(k->pages[page] & PRESENT)) add(k, page, false);
}

/* page_cache_async_ra: the window after the last one, or, if another one has begun since, after the
 * present pages. */
static void fetch_next(kernel *k, window *w, size_t file, uint32_t page)
{
    const uint64_t end = k->job->files[file + 1], ahead = k->job->ahead;
    k->pages[page] &= (uint8_t)~AHEAD;
    if (page == w->start + ahead - w->async_size) {
        w->start += ahead;
    } else {
        uint64_t start = (uint64_t)page + 1;
        while (start < end && start - page <= ahead && k->pages[start] & PRESENT)
            start++;
        if (start - page > ahead) return;
        w->start = start;
    }
    w->async_size = ahead;
    fetch_window(k, w, end);
}

/* filemap_map_pages: maps present pages around it, too. */
static void map_around(kernel *k, window *w, size_t file, uint32_t page)
{
    const uint64_t begin = k->job->files[file], end = k->job->files[file + 1];
    const uint64_t first = begin + (page - begin) / k->around * k->around;
    uint32_t hits = 0;
    for (uint64_t p = first; p < first + k->around && p < end; p++) {
        if ((k->pages[p] & (PRESENT | AHEAD)) != PRESENT) continue;
        hits += !(k->pages[p] & WORKINGSET);
        k->pages[p] |= MAPPED | ACCESSED;
    }
    w->misses -= hits < w->misses ? hits : w->misses;
}

static void use(kernel *k, uint32_t page)
{
    if (!(k->pages[page] & MAPPED)) {
        const size_t file = file_of(k->job, page);
        window *w = &k->windows[file];
        map_around(k, w, file, page);
        if (!(k->pages[page] & PRESENT)) {
            fetch(k, w, file, page);
        } else if (!(k->pages[page] & MAPPED)) {
            if (w->misses) w->misses--;
            fetch_next(k, w, file, page);
            if (!(k->pages[page] & PRESENT)) add(k, page, false); /* evicted by what it fetched */
        }
    }
    k->pages[page] |= MAPPED | ACCESSED;
}

static void empty(kernel *k, uint64_t capacity)
{
    memset(k->pages, 0, k->n_pages);
    memset(k->shadows, 0, k->n_pages * sizeof *k->shadows);
    memset(k->windows, 0, k->job->n_files * sizeof *k->windows);
    for (unsigned l = 0; l < LISTS; l++) {
        k->next[k->n_pages + l] = k->before[k->n_pages + l] = (uint32_t)k->n_pages + l;
        k->size[l] = 0;
    }
    k->capacity = capacity;
    k->age = 1;
    k->activated = k->activated_before = k->seen_activated = 0;
    k->seen[LIST_INACTIVE] = k->seen[LIST_ACTIVE] = 0;
    k->age_ns = 0;
}

static void replay(kernel *k, uint64_t *missed, uint64_t *around)
{
    /* populate_vma_page_range: a fault on each page, and a mark. */
    for (uint32_t p = 0; k->job->populated && p < k->n_pages; p++) {
        use(k, p);
        mark_accessed(k, p);
    }
    uint32_t group = UINT32_MAX;
    for (tt_stream_at a = {0}; tt_stream_next(k->job->stream, &a);) {
        if (a.group != group && k->job->group_ns) pass(k, k->job->group_ns[a.group]);
        group = a.group;
        k->fetched = k->fetched_around = 0;
        for (uint64_t p = a.extent->begin; p < a.extent->end; p++)
            use(k, (uint32_t)p);
        if (!a.counts) continue;
        missed[a.group] += k->fetched;
        if (around) around[a.group] += k->fetched_around;
    }
}

bool tt_cache_by_kernel(const tt_cache_job *job)
{
    kernel k = {.job = job, .n_pages = job->files[job->n_files]};
    if (k.n_pages > TT_CACHE_KERNEL_BLOCKS_MAX) return false;
    const size_t n = (size_t)k.n_pages + LISTS;
    k.around = AROUND_BYTES > job->block_bytes ? AROUND_BYTES / job->block_bytes : 1;
    k.pages = malloc(n);
    k.next = malloc(n * sizeof *k.next);
    k.before = malloc(n * sizeof *k.before);
    k.shadows = malloc(n * sizeof *k.shadows);
    k.windows = malloc((job->n_files + 1) * sizeof *k.windows);
    const bool ok = k.pages && k.next && k.before && k.shadows && k.windows;
    for (size_t i = 0; ok && i < job->n; i++) {
        empty(&k, job->capacities[i]);
        const size_t at = i * job->stream->n_groups;
        replay(&k, job->missed + at, job->around ? job->around + at : NULL);
    }
    free(k.pages);
    free(k.next);
    free(k.before);
    free(k.shadows);
    free(k.windows);
    return ok;
}
