/* The cache simulators and reuse distances against simulators that take one block at a time. */
#include "tests.h"

#include "analyze/cache/cache_kinds.h"
#include "analyze/cache/reuse.h"
#include "analyze/order.h"

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

/* A list of blocks, the one used last in front. */
static void to_front(uint64_t *list, size_t *used, uint64_t capacity, uint64_t block)
{
    size_t at = 0;
    while (at < *used && list[at] != block)
        at++;
    if (at == *used) ++*used;
    memmove(list + 1, list, at * sizeof *list);
    list[0] = block;
    if (*used > capacity) *used = (size_t)capacity;
}

static bool holds(const uint64_t *list, size_t used, uint64_t block)
{
    for (size_t i = 0; i < used; i++)
        if (list[i] == block) return true;
    return false;
}

typedef struct slow_window {
    uint64_t list[2 * BLOCKS + 1]; /* in the cache */
    size_t used;
    bool marked[2 * BLOCKS];
    int64_t end, expected;
} slow_window;

static uint64_t slow_fetch(slow_window *w, uint64_t capacity, int64_t begin, int64_t end,
                           int64_t marked)
{
    uint64_t fetched = 0;
    w->end = end;
    w->expected = marked;
    for (; begin < end; begin++) {
        if (holds(w->list, w->used, (uint64_t)begin)) continue;
        to_front(w->list, &w->used, capacity, (uint64_t)begin);
        w->marked[begin] = begin == marked;
        fetched++;
    }
    return fetched;
}

/* One file's pages as Linux fetches them: around a missing one, and behind a marked one. */
static void slow_ahead(const tt_stream *s, uint64_t capacity, uint32_t ahead, const uint64_t *files,
                       uint64_t *missed)
{
    size_t n;
    slow_window w = {.expected = -1};
    step *steps = steps_of(s, &n);
    memset(missed, 0, GROUPS * sizeof *missed);
    for (size_t i = 0; i < n; i++) {
        const int64_t block = (int64_t)steps[i].block;
        const size_t file = (uint64_t)block >= files[1];
        const int64_t first = (int64_t)files[file], last = (int64_t)files[file + 1];
        const bool hit = holds(w.list, w.used, (uint64_t)block);
        uint64_t fetched = 0;
        if (!hit) {
            int64_t begin = block - ahead / 2;
            if (begin < first) begin = first;
            int64_t end = begin + ahead > last ? last : begin + ahead;
            if (end <= block) end = block + 1;
            fetched = slow_fetch(&w, capacity, begin, end, end - (end - begin) / 4);
        }
        to_front(w.list, &w.used, capacity, (uint64_t)block);
        if (hit && w.marked[block]) {
            int64_t begin = w.end;
            w.marked[block] = false;
            if (block != w.expected)
                for (begin = block + 1; begin < last && holds(w.list, w.used, (uint64_t)begin);)
                    begin++;
            const bool near = block == w.expected || begin - block <= ahead;
            if (near && begin < last)
                fetched = slow_fetch(&w, capacity, begin,
                                     begin + ahead > last ? last : begin + ahead, begin);
        }
        if (steps[i].counts) missed[steps[i].group] += fetched;
    }
    free(steps);
}

static void reading_ahead_as_block_by_block(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        sample s;
        make_sample(&s, false);
        const uint64_t files[3] = {0, 1 + below(BLOCKS), 2 * BLOCKS};
        uint64_t capacity = below(BLOCKS + 20), missed[GROUPS], want[GROUPS];
        uint32_t ahead = 1 + below(20);
        const tt_cache_job job = {.stream = &s.stream,
                                  .policy = TT_POLICY_LRU,
                                  .ahead = ahead,
                                  .files = files,
                                  .n_files = 2,
                                  .capacities = &capacity,
                                  .n = 1,
                                  .missed = missed};
        assert_true(tt_cache_run(&job));
        slow_ahead(&s.stream, capacity, ahead, files, want);
        assert_memory_equal(missed, want, sizeof want);
    }
}

/* A window of one block is no reading ahead. */
static void a_window_of_one_is_plain_lru(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        sample s;
        make_sample(&s, false);
        const uint64_t files[2] = {0, 2 * BLOCKS};
        uint64_t capacity = below(BLOCKS), missed[GROUPS], want[GROUPS];
        tt_cache_job job = {.stream = &s.stream,
                            .policy = TT_POLICY_LRU,
                            .ahead = 1,
                            .files = files,
                            .n_files = 1,
                            .capacities = &capacity,
                            .n = 1,
                            .missed = missed};
        assert_true(tt_cache_run(&job));
        job.ahead = 0;
        job.missed = want;
        assert_true(tt_cache_run(&job));
        assert_memory_equal(missed, want, sizeof want);
    }
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
    tt_order o = {0};
    (void)state;
    assert_null(tt_order_end(&o, true));
    for (int round = 0; round < 4000; round++) {
        uint64_t k = below(N), rank = k / 8, begin = k % 8, above = 0;
        if (there[k])
            tt_order_drop(&o, rank, begin);
        else
            assert_true(tt_order_put(&o, rank, begin, k + 1, k));
        tt_order_drop(&o, rank, 100); /* is not there */
        there[k] = !there[k];
        k = below(N);
        size_t before = N, behind = N;
        for (size_t i = 0; i < N; i++) {
            if (there[i] && i <= k) before = i;
            if (there[i] && i >= k && behind == N) behind = i;
            if (there[i] && i > k) above += i + 1;
        }
        const tt_order_node *p = tt_order_before(&o, k / 8, k % 8);
        const tt_order_node *q = tt_order_behind(&o, k / 8, k % 8);
        assert_true(p ? p->note == before : before == N);
        assert_true(q ? q->note == behind : behind == N);
        assert_true(tt_order_above(&o, k / 8, k % 8) == above);
    }
    tt_order_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_against_a_list),
        cmocka_unit_test(distances_as_counted),
        cmocka_unit_test(blocks_as_one_by_one),
        cmocka_unit_test(reading_ahead_as_block_by_block),
        cmocka_unit_test(a_window_of_one_is_plain_lru),
        cmocka_unit_test(both_ways_of_a_policy_agree),
        cmocka_unit_test(wholes_as_one_by_one),
        cmocka_unit_test(wholes_that_are_pinned),
        cmocka_unit_test(a_loop_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
