/* The cache simulators and reuse distances against simulators that take one block at a time. */
#include "tests.h"

#include "analyze/cache/cache.h"
#include "analyze/cache/reuse.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS 64u
#define READS 250u
#define EXTENTS 24u
#define GROUPS 3u
#define NEVER UINT64_MAX

static uint64_t random_state = 88172645463325252u;

static uint32_t below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % n;
}

typedef struct sample {
    tt_extent extents[EXTENTS];
    uint32_t order[READS];
    tt_section sections[READS];
    tt_stream stream;
} sample;

/* Extents that overlap as they like, or that tile the space (`whole`). Some are read far more
 * often than others, and at times everything is read in turn. */
static void make_sample(sample *s, bool whole)
{
    uint32_t n = 2 + below(EXTENTS - 2), space = 4 + below(BLOCKS - 4), at = 0;
    bool loops = below(2) == 0;
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < n; i++) {
        if (whole) {
            s->extents[i].begin = at;
            s->extents[i].end = at += 1 + below(BLOCKS / EXTENTS);
            continue;
        }
        s->extents[i].begin = below(space);
        s->extents[i].end = s->extents[i].begin + 1 + below(space - (uint32_t)s->extents[i].begin);
    }
    s->stream = (tt_stream){s->extents,  n, s->order, 1 + below(READS),
                            s->sections, 0, GROUPS,   below(2) == 0};
    for (uint32_t i = 0; i < s->stream.n; i++) {
        s->order[i] = loops ? i % n : below(1 + below(n));
        if (i == 0 || below(8) == 0)
            s->sections[s->stream.n_sections++] = (tt_section){i, below(GROUPS)};
    }
}

/* One read of one block. */
typedef struct step {
    uint64_t block, next;
    uint32_t group;
    bool counts;
} step;

static step *steps_of(const tt_stream *s, size_t *n)
{
    step *steps = calloc(2 * READS * BLOCKS, sizeof *steps);
    uint64_t next[2 * BLOCKS];
    *n = 0;
    for (int round = 0; round < (s->twice ? 2 : 1); round++)
        for (size_t i = 0; i < s->n; i++) {
            uint32_t group = 0;
            for (size_t k = 0; k < s->n_sections && s->sections[k].first <= i; k++)
                group = s->sections[k].group;
            const tt_extent *e = &s->extents[s->order[i]];
            for (uint64_t b = e->begin; b < e->end; b++)
                steps[(*n)++] = (step){b, NEVER, group, !s->twice || round == 1};
        }
    for (size_t i = 0; i < 2 * BLOCKS; i++)
        next[i] = NEVER;
    for (size_t i = *n; i-- > 0;) {
        steps[i].next = next[steps[i].block];
        next[steps[i].block] = i;
    }
    return steps;
}

typedef struct slot {
    uint64_t block, last, times, next;
} slot;

static bool worse(tt_policy policy, const slot *a, const slot *b)
{
    if (policy == TT_POLICY_BELADY) return a->next > b->next;
    if (policy == TT_POLICY_LFU && a->times != b->times) return a->times < b->times;
    return a->last < b->last;
}

static void slow_cache(const tt_stream *s, tt_policy policy, uint64_t capacity, uint64_t *missed)
{
    size_t n, used = 0;
    slot slots[2 * BLOCKS];
    step *steps = steps_of(s, &n);
    memset(missed, 0, GROUPS * sizeof *missed);
    for (size_t i = 0; i < n; i++) {
        size_t k = 0, victim = 0;
        while (k < used && slots[k].block != steps[i].block)
            k++;
        if (k < used) {
            slots[k] = (slot){steps[i].block, i, slots[k].times + 1, steps[i].next};
            continue;
        }
        if (steps[i].counts) missed[steps[i].group]++;
        if (capacity == 0) continue;
        if (used == capacity) {
            for (size_t v = 1; v < used; v++)
                if (worse(policy, &slots[v], &slots[victim])) victim = v;
            slots[victim] = slots[--used];
        }
        slots[used++] = (slot){steps[i].block, i, 1, steps[i].next};
    }
    free(steps);
}

static void slow_pins(const tt_stream *s, uint64_t capacity, uint64_t *missed)
{
    size_t n;
    uint64_t times[2 * BLOCKS] = {0};
    bool pinned[2 * BLOCKS] = {false}, there[2 * BLOCKS] = {false};
    step *steps = steps_of(s, &n);
    memset(missed, 0, GROUPS * sizeof *missed);
    for (size_t i = 0; i < n; i++)
        times[steps[i].block]++;
    for (uint64_t c = 0; c < capacity; c++) {
        size_t best = SIZE_MAX;
        for (size_t b = 0; b < 2 * BLOCKS; b++)
            if (!pinned[b] && times[b] && (best == SIZE_MAX || times[b] > times[best])) best = b;
        if (best != SIZE_MAX) pinned[best] = true;
    }
    for (size_t i = 0; i < n; i++) {
        bool hit = pinned[steps[i].block] && there[steps[i].block];
        there[steps[i].block] = true;
        if (!hit && steps[i].counts) missed[steps[i].group]++;
    }
    free(steps);
}

/* --- Linux, as slowly as it can be said --- */

typedef struct slow_page {
    bool there, active, referenced, workingset, ahead, mapped, accessed, was_there, was_workingset;
    uint32_t left_at; /* the age when it was evicted */
} slow_page;

typedef struct slow_kernel {
    const tt_cache_job *job;
    slow_page pages[2 * BLOCKS];
    uint32_t lists[2][2 * BLOCKS]; /* inactive, active; the head first */
    size_t n[2], seen[2];
    uint32_t age, activated, seen_activated, last_activated;
    uint64_t starts[2], behind[2], fetched,
        around; /* of the files' windows; pages from their mark to their end */
    uint32_t misses[2];
    double since_ns;
} slow_kernel;

static void slow_drop(slow_kernel *k, int list, uint32_t page)
{
    size_t at = 0;
    while (k->lists[list][at] != page)
        at++;
    memmove(&k->lists[list][at], &k->lists[list][at + 1], (--k->n[list] - at) * sizeof(uint32_t));
}

static void slow_head(slow_kernel *k, int list, uint32_t page)
{
    memmove(&k->lists[list][1], &k->lists[list][0], k->n[list]++ * sizeof(uint32_t));
    k->lists[list][0] = page;
    k->pages[page].active = list == 1;
}

static void slow_move(slow_kernel *k, uint32_t page, int list)
{
    slow_drop(k, k->pages[page].active, page);
    slow_head(k, list, page);
    k->age += list == 1;
}

static int slow_scan_inactive(slow_kernel *k, size_t scan)
{
    uint32_t some[32];
    size_t n = 0;
    int evicted = 0;
    while (n < scan && n < k->n[0]) {
        some[n] = k->lists[0][k->n[0] - 1 - n];
        n++;
    }
    for (size_t i = 0; i < n; i++) {
        slow_page *p = &k->pages[some[i]];
        if (p->accessed) {
            const bool again = p->referenced;
            p->accessed = false;
            p->referenced = true;
            slow_move(k, some[i], again);
            continue;
        }
        slow_drop(k, 0, some[i]);
        k->age++;
        evicted++;
        *p = (slow_page){.was_there = true, .was_workingset = p->workingset, .left_at = k->age};
    }
    return evicted;
}

static int slow_shrink(slow_kernel *k, bool force, bool *skipped)
{
    int evicted = 0;
    for (int priority = 12; priority >= 0 && evicted < 32; priority--) {
        size_t left[2] = {k->n[0] >> priority, k->n[1] >> priority};
        if (!force && k->seen_activated == k->last_activated && k->seen[0] >= k->seen[1]) {
            *skipped |= left[1] > 0;
            left[1] = 0;
        }
        while (left[0] + left[1] > 0 && evicted < 32) {
            const size_t now[2] = {left[0] < 32 ? left[0] : 32, left[1] < 32 ? left[1] : 32};
            evicted += slow_scan_inactive(k, now[0]);
            for (size_t i = 0; i < now[1] && k->n[1] > 0; i++) {
                const uint32_t page = k->lists[1][k->n[1] - 1];
                slow_move(k, page, 0);
                k->pages[page].accessed = false;
                k->pages[page].workingset = true;
            }
            left[0] -= now[0];
            left[1] -= now[1];
        }
    }
    k->last_activated = k->seen_activated;
    return evicted;
}

static void slow_time(slow_kernel *k, double ns)
{
    k->since_ns += ns;
    if (k->since_ns < 8e8) return;
    k->since_ns = 0;
    memcpy(k->seen, k->n, sizeof k->seen);
    k->seen_activated = k->activated;
}

static void slow_add(slow_kernel *k, uint32_t page, bool ahead)
{
    slow_page *p = &k->pages[page];
    bool skipped = false;
    slow_time(k, k->job->page_ns);
    if (k->n[0] + k->n[1] >= *k->job->capacities && !slow_shrink(k, false, &skipped) && skipped)
        slow_shrink(k, true, &skipped);
    const bool back = p->was_there && k->age - p->left_at <= k->seen[1];
    *p = (slow_page){.there = true, .ahead = ahead, .workingset = back && p->was_workingset};
    k->age += back;
    k->activated += back;
    k->fetched++;
    slow_head(k, back, page);
}

static void slow_window(slow_kernel *k, size_t file, uint64_t behind)
{
    const uint64_t end = k->starts[file] + k->job->ahead;
    k->behind[file] = behind;
    for (uint64_t b = k->starts[file]; b < end && b < k->job->files[file + 1]; b++)
        if (!k->pages[b].there) slow_add(k, (uint32_t)b, b == end - behind);
}

static void slow_use(slow_kernel *k, uint32_t page)
{
    const size_t file = page >= k->job->files[1];
    const uint64_t first = k->job->files[file], end = k->job->files[file + 1],
                   ahead = k->job->ahead;
    slow_page *p = &k->pages[page];
    uint32_t hits = 0;
    for (uint64_t b = first + (page - first) / 4 * 4, n = 0; n < 4 && b < end && !p->mapped;
         b++, n++)
        hits += b != page && k->pages[b].there && !k->pages[b].ahead && !k->pages[b].workingset;
    if (!p->mapped) hits += p->there && !p->ahead && !p->workingset;
    const bool fault = !p->mapped, missing = fault && !p->there,
               marked = fault && p->there && p->ahead;
    for (uint64_t b = first + (page - first) / 4 * 4, n = 0; fault && n < 4 && b < end; b++, n++)
        if (k->pages[b].there && !k->pages[b].ahead)
            k->pages[b].mapped = k->pages[b].accessed = true;
    k->misses[file] -= hits < k->misses[file] ? hits : k->misses[file];
    if (missing && k->misses[file] < 1000) k->misses[file]++;
    if (missing && k->misses[file] <= 100) {
        const uint64_t before = k->fetched;
        k->starts[file] = page - first > ahead / 2 ? page - ahead / 2 : first;
        slow_window(k, file, ahead / 4);
        k->around += k->fetched - before;
    }
    if (marked) {
        const bool expected = page == k->starts[file] + ahead - k->behind[file];
        uint64_t next = (uint64_t)page + 1;
        if (k->misses[file]) k->misses[file]--;
        p->ahead = false;
        while (next < end && next - page <= ahead && k->pages[next].there)
            next++;
        if (expected) next = k->starts[file] + ahead;
        if (expected || next - page <= ahead) {
            k->starts[file] = next;
            slow_window(k, file, ahead);
        }
    }
    if (!p->there) slow_add(k, page, false);
    p->mapped = p->accessed = true;
}

static void slow_linux(const tt_cache_job *job, uint64_t *missed, uint64_t *around)
{
    static slow_kernel k;
    size_t n;
    step *steps = steps_of(job->stream, &n);
    k = (slow_kernel){.job = job, .age = 1};
    memset(missed, 0, GROUPS * sizeof *missed);
    memset(around, 0, GROUPS * sizeof *around);
    for (uint32_t b = 0; job->populated && b < job->files[job->n_files]; b++) {
        slow_use(&k, b);
        if (!k.pages[b].referenced) {
            k.pages[b].referenced = true;
        } else if (!k.pages[b].active) {
            slow_move(&k, b, 1);
            k.pages[b].referenced = false;
        }
    }
    for (size_t i = 0; i < n; i++) {
        k.fetched = k.around = 0;
        slow_use(&k, (uint32_t)steps[i].block);
        if (!steps[i].counts) continue;
        missed[steps[i].group] += k.fetched;
        around[steps[i].group] += k.around;
    }
    free(steps);
}

static void linux_as_page_by_page(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        sample s;
        make_sample(&s, false);
        const uint64_t files[3] = {0, 1 + below(BLOCKS), 2 * BLOCKS};
        uint64_t capacity = 1 + below(BLOCKS + 20), missed[GROUPS], around[GROUPS], want[GROUPS],
                 want_around[GROUPS];
        const tt_cache_job job = {.stream = &s.stream,
                                  .ahead = 1 + below(20),
                                  .block_bytes = 16384,
                                  .page_ns = below(2) ? 1e9 : 3e7,
                                  .populated = below(2),
                                  .files = files,
                                  .n_files = 2,
                                  .capacities = &capacity,
                                  .n = 1,
                                  .missed = missed,
                                  .around = around};
        assert_true(tt_cache_run(&job));
        slow_linux(&job, want, want_around);
        assert_memory_equal(missed, want, sizeof want);
        assert_memory_equal(around, want_around, sizeof want_around);
    }
}

/* One read of a page brings a window around it; the first use of its last quarter the next one. */
static void linux_by_hand(void **state)
{
    (void)state;
    const tt_extent extents[] = {{20, 21}, {16, 22}, {22, 23}, {31, 32}};
    const uint32_t order[] = {0, 1, 2, 3};
    const tt_section sections[] = {{0, 0}, {1, 1}, {2, 2}, {3, 3}};
    const tt_stream stream = {extents, 4, order, 4, sections, 4, 4, false};
    const uint64_t files[2] = {0, 64}, capacity = 64;
    uint64_t missed[4], around[4];
    const tt_cache_job job = {.stream = &stream,
                              .ahead = 8,
                              .block_bytes = 65536, /* nothing is mapped around */
                              .page_ns = 1,
                              .files = files,
                              .n_files = 1,
                              .capacities = &capacity,
                              .n = 1,
                              .missed = missed,
                              .around = around};
    assert_true(tt_cache_run(&job));
    assert_int_equal(missed[0], 8); /* 16 to 23, 22 is marked */
    assert_int_equal(missed[1], 0);
    assert_int_equal(missed[2], 8); /* 24 to 31, 24 is marked */
    assert_int_equal(missed[3], 0);
    assert_int_equal(around[0], 8);
    assert_int_equal(around[2], 0);
}

static void check(const sample *s, tt_policy policy)
{
    uint64_t capacities[BLOCKS + 2], missed[(BLOCKS + 2) * GROUPS], want[GROUPS];
    for (uint64_t c = 0; c < BLOCKS + 2; c++)
        capacities[c] = c;
    tt_cache_job job = {.stream = &s->stream,
                        .policy = policy,
                        .capacities = capacities,
                        .n = BLOCKS + 2,
                        .missed = missed};
    assert_true(tt_cache_run(&job));
    for (uint64_t c = 0; c < BLOCKS + 2; c++) {
        if (policy == TT_POLICY_PIN_HOT)
            slow_pins(&s->stream, c, want);
        else
            slow_cache(&s->stream, policy, c, want);
        for (uint32_t g = 0; g < GROUPS; g++)
            if (missed[c * GROUPS + g] != want[g])
                fail_msg("policy %d, %zu blocks, group %u: %zu missed, not %zu", (int)policy,
                         (size_t)c, g, (size_t)missed[c * GROUPS + g], (size_t)want[g]);
    }
}

static void blocks_as_one_by_one(void **state)
{
    (void)state;
    for (int round = 0; round < 25; round++) {
        sample s;
        make_sample(&s, false);
        for (int policy = 0; policy <= TT_POLICY_PIN_HOT; policy++)
            check(&s, (tt_policy)policy);
    }
}

/* What ranges answer, single units do. */
static void both_ways_of_a_policy_agree(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        sample s;
        uint64_t capacities[] = {0, 1, 2, 3, 5, 8, 13, 21, 34, 55}, a[10 * GROUPS], b[10 * GROUPS];
        make_sample(&s, round % 2);
        tt_cache_job job = {.stream = &s.stream,
                            .policy = (tt_policy)(round % (TT_POLICY_PIN_HOT + 1)),
                            .capacities = capacities,
                            .n = 10,
                            .missed = a};
        assert_true(tt_cache_run(&job));
        job.missed = b;
        memset(b, 0, sizeof b);
        assert_true(tt_cache_by_policy(&job));
        assert_memory_equal(a, b, sizeof a);
    }
}

/* Whole extents: what is in the cache, as a list. */
static void slow_whole(const tt_stream *s, tt_policy policy, uint64_t capacity, uint64_t *missed)
{
    size_t used = 0, rounds = s->twice ? 2 : 1, n = s->n * rounds;
    uint64_t full = 0;
    slot slots[EXTENTS];
    memset(missed, 0, GROUPS * sizeof *missed);
    for (size_t i = 0; i < n; i++) {
        uint32_t e = s->order[i % s->n], group = 0;
        uint64_t size = s->extents[e].end - s->extents[e].begin, next = NEVER;
        size_t k = 0;
        for (size_t f = n; f-- > i + 1;)
            if (s->order[f % s->n] == e) next = f;
        for (size_t q = 0; q < s->n_sections && s->sections[q].first <= i % s->n; q++)
            group = s->sections[q].group;
        while (k < used && slots[k].block != e)
            k++;
        if (k < used) {
            slots[k] = (slot){e, i, slots[k].times + 1, next};
            continue;
        }
        if (!s->twice || i >= s->n) missed[group] += size;
        if (size > capacity) continue;
        while (full + size > capacity) {
            size_t victim = 0;
            for (size_t v = 1; v < used; v++) {
                bool tie = policy == TT_POLICY_BELADY && slots[v].next == slots[victim].next;
                if (tie ? slots[v].block > slots[victim].block
                        : worse(policy, &slots[v], &slots[victim]))
                    victim = v;
            }
            full -= s->extents[slots[victim].block].end - s->extents[slots[victim].block].begin;
            slots[victim] = slots[--used];
        }
        slots[used++] = (slot){e, i, 1, next};
        full += size;
    }
}

static void wholes_as_one_by_one(void **state)
{
    static const tt_policy policies[] = {TT_POLICY_LRU, TT_POLICY_LFU, TT_POLICY_BELADY};
    (void)state;
    for (int round = 0; round < 50; round++) {
        sample s;
        make_sample(&s, true);
        for (size_t p = 0; p < 3; p++)
            for (uint64_t c = 0; c < BLOCKS; c++) {
                uint64_t missed[GROUPS], want[GROUPS];
                tt_cache_job job = {.stream = &s.stream,
                                    .policy = policies[p],
                                    .whole = true,
                                    .capacities = &c,
                                    .n = 1,
                                    .missed = missed};
                assert_true(tt_cache_run(&job));
                slow_whole(&s.stream, policies[p], c, want);
                assert_memory_equal(missed, want, sizeof want);
            }
    }
}

/* Three tensors of 4, 2 and 3 blocks; the second is read twice as often. */
static void wholes_that_are_pinned(void **state)
{
    static const tt_extent extents[] = {{0, 4}, {4, 6}, {6, 9}};
    static const uint32_t order[] = {0, 1, 2, 1, 0, 1, 2, 1};
    static const tt_section all = {0, 0};
    const tt_stream s = {extents, 3, order, 8, &all, 1, 1, false};
    const uint64_t capacities[] = {1, 2, 5, 6, 9};
    uint64_t missed[5];
    (void)state;
    tt_cache_job job = {.stream = &s,
                        .policy = TT_POLICY_PIN_HOT,
                        .whole = true,
                        .capacities = capacities,
                        .n = 5,
                        .missed = missed};
    assert_true(tt_cache_run(&job));
    /* 22 blocks are read. Into 5 go the second and the third, as the first does not fit. */
    assert_int_equal(missed[0], 22);
    assert_int_equal(missed[1], 22 - 6);
    assert_int_equal(missed[2], 22 - 6 - 3);
    assert_int_equal(missed[3], 22 - 6 - 4);
    assert_int_equal(missed[4], 9);
}

/* A loop over ten blocks, the case that decides about models larger than RAM. */
static void a_loop_by_hand(void **state)
{
    static const tt_extent extents[] = {{0, 4}, {4, 10}};
    static const uint32_t order[] = {0, 1, 0, 1, 0, 1, 0, 1};
    static const tt_section all = {0, 0};
    const tt_stream s = {extents, 2, order, 8, &all, 1, 1, false};
    const uint64_t capacities[] = {0, 5, 9, 10};
    uint64_t missed[4], read, first;
    (void)state;
    assert_true(tt_cache_demand(&s, &read, &first));
    assert_int_equal(read, 40);
    assert_int_equal(first, 10);
    tt_cache_job job = {
        .stream = &s, .policy = TT_POLICY_LRU, .capacities = capacities, .n = 4, .missed = missed};
    assert_true(tt_cache_run(&job));
    /* Each block is dropped just before it is read again, until all fit. */
    assert_int_equal(missed[0], 40);
    assert_int_equal(missed[2], 40);
    assert_int_equal(missed[3], 10);
    job.policy = TT_POLICY_PIN_HOT;
    assert_true(tt_cache_run(&job));
    assert_int_equal(missed[1], 40 - 3 * 5);
    assert_int_equal(missed[2], 40 - 3 * 9);
    job.policy = TT_POLICY_LFU;
    assert_true(tt_cache_run(&job));
    /* Nothing is read a second time before it is dropped: no better than lru. */
    assert_int_equal(missed[1], 40);
    assert_int_equal(missed[3], 10);
}

typedef struct seen {
    uint64_t distance[2 * BLOCKS];
    uint64_t last[2 * BLOCKS];
} seen;

static void note(void *context, const tt_reused *part)
{
    seen *s = context;
    for (uint64_t b = part->begin; b < part->begin + part->size; b++) {
        s->distance[b] = part->distance;
        s->last[b] = part->last;
    }
}

static void distances_as_counted(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        sample s;
        size_t n, at = 0;
        seen got;
        tt_reuse r = {0};
        uint32_t hints[EXTENTS] = {0};
        make_sample(&s, false);
        s.stream.twice = false;
        step *steps = steps_of(&s.stream, &n);
        for (size_t i = 0; i < s.stream.n; i++) {
            const tt_extent *e = &s.extents[s.order[i]];
            uint32_t *hint = round % 2 ? &hints[s.order[i]] : NULL;
            assert_true(tt_reuse_read(&r, e->begin, e->end, hint, note, &got));
            for (uint64_t b = e->begin; b < e->end; b++, at++) {
                bool between[2 * BLOCKS] = {false};
                uint64_t distance = 0;
                size_t back = at;
                while (back > 0 && steps[back - 1].block != b)
                    between[steps[--back].block] = true;
                for (size_t k = 0; k < 2 * BLOCKS; k++)
                    distance += between[k];
                assert_true(got.distance[b] == (back > 0 ? distance + 1 : TT_REUSE_FIRST));
                if (back == 0) continue;
                const tt_extent *before = &s.extents[s.order[got.last[b]]];
                assert_true(got.last[b] < i && before->begin <= b && b < before->end);
            }
        }
        free(steps);
        tt_reuse_free(&r);
    }
}

static void order_against_a_list(void **state)
{
    enum { N = 40 };
    bool there[N] = {false};
    tt_intervals o = {0};
    (void)state;
    assert_null(tt_intervals_end(&o, true));
    for (int round = 0; round < 4000; round++) {
        uint64_t k = below(N), rank = k / 8, begin = k % 8, above = 0;
        if (there[k])
            tt_intervals_drop(&o, rank, begin);
        else
            assert_true(tt_intervals_put(&o, rank, begin, k + 1, k));
        tt_intervals_drop(&o, rank, 100); /* is not there */
        there[k] = !there[k];
        k = below(N);
        size_t before = N, behind = N;
        for (size_t i = 0; i < N; i++) {
            if (there[i] && i <= k) before = i;
            if (there[i] && i >= k && behind == N) behind = i;
            if (there[i] && i > k) above += i + 1;
        }
        const tt_interval *p = tt_intervals_before(&o, k / 8, k % 8);
        const tt_interval *q = tt_intervals_after(&o, k / 8, k % 8);
        assert_true(p ? p->note == before : before == N);
        assert_true(q ? q->note == behind : behind == N);
        assert_true(tt_intervals_above(&o, k / 8, k % 8) == above);
    }
    tt_intervals_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_against_a_list), cmocka_unit_test(distances_as_counted),
        cmocka_unit_test(blocks_as_one_by_one), cmocka_unit_test(linux_as_page_by_page),
        cmocka_unit_test(linux_by_hand),        cmocka_unit_test(both_ways_of_a_policy_agree),
        cmocka_unit_test(wholes_as_one_by_one), cmocka_unit_test(wholes_that_are_pinned),
        cmocka_unit_test(a_loop_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
