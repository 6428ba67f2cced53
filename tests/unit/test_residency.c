/* Sets of ranges and residency samples, against one flag a byte or page. */
#include "tests.h"

#include "analyze/kernel.h"
#include "analyze/ranges.h"
#include "analyze/residency.h"
#include "answer/faults.h"

#include <stdlib.h>
#include <string.h>

static uint64_t state_of_random = 11;

static uint32_t below(uint32_t n)
{
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state_of_random >> 33) % n;
}

enum { SPACE = 400 };

static size_t count(const bool *flags, size_t begin, size_t end)
{
    size_t n = 0;
    for (size_t i = begin; i < end && i < SPACE; i++)
        n += flags[i];
    return n;
}

static void add_some(tt_ranges *r, bool *flags, unsigned times)
{
    while (times-- > 0) {
        uint32_t begin = below(SPACE), end = begin + below(SPACE - begin < 40 ? SPACE - begin : 40);
        tt_ranges_add(r, begin, end);
        for (uint32_t i = begin; i < end; i++)
            flags[i] = true;
    }
    tt_ranges_merge(r);
}

static void sets_of_ranges(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        tt_ranges a = {0}, b = {0}, both = {0};
        bool in_a[SPACE] = {0}, in_b[SPACE] = {0}, in_both[SPACE];
        add_some(&a, in_a, below(60));
        add_some(&a, in_a, below(10)); /* also after it was merged */
        add_some(&b, in_b, below(30));
        tt_ranges_both(&a, &b, &both);
        for (size_t i = 0; i < SPACE; i++)
            in_both[i] = in_a[i] && in_b[i];
        assert_int_equal(tt_ranges_total(&a), count(in_a, 0, SPACE));
        assert_int_equal(tt_ranges_total(&both), count(in_both, 0, SPACE));
        for (unsigned i = 0; i < 50; i++) {
            uint32_t begin = below(SPACE + 20), end = below(SPACE + 20);
            assert_int_equal(tt_ranges_within(&a, begin, end), count(in_a, begin, end));
            assert_int_equal(tt_ranges_within(&both, begin, end), count(in_both, begin, end));
        }
        tt_ranges_free(&a);
        tt_ranges_free(&b);
        tt_ranges_free(&both);
    }
}

static void what_is_added_again_takes_no_room(void **state)
{
    tt_ranges r = {0};
    (void)state;
    for (unsigned i = 0; i < 100000; i++)
        tt_ranges_add(&r, i % 50 * 10, i % 50 * 10 + 5);
    assert_true(r.capacity <= 256);
    tt_ranges_merge(&r);
    assert_int_equal(tt_ranges_total(&r), 250);
    tt_ranges_free(&r);
}

/* --- residency --- */

enum { PAGE = 16, PAGES = 25, FILE_BYTES = PAGE * PAGES - 5, SAMPLES = 12, WEIGHTS = 4 };

/* A record of flags[first..last). */
static tt_residency record_of(const bool *flags, uint64_t first, uint64_t last, uint64_t *intervals)
{
    tt_residency r = {.page_bytes = PAGE,
                      .first_page = first,
                      .n_pages = last - first,
                      .intervals = intervals,
                      .batch = TT_NONE};
    bool present = false;
    intervals[r.n_intervals++] = 0;
    for (uint64_t i = first; i < last; i++) {
        if (flags[i] != present) intervals[r.n_intervals++] = 0;
        present = flags[i];
        intervals[r.n_intervals - 1]++;
    }
    return r;
}

static uint64_t bytes_in(const bool *pages, uint64_t begin, uint64_t end)
{
    uint64_t n = 0;
    for (uint64_t i = begin; i < end && i < FILE_BYTES; i++)
        n += pages[i / PAGE];
    return n;
}

typedef struct expected {
    bool pages[SAMPLES][PAGES];
    size_t seen;
} expected;

static void check_sample(void *context, const tt_residency_sample *s, const tt_ranges *now)
{
    expected *e = context;
    const bool *is = e->pages[e->seen];
    assert_int_equal(s->batch, e->seen);
    assert_int_equal(s->observed_bytes, FILE_BYTES);
    assert_int_equal(s->resident_bytes, bytes_in(is, 0, FILE_BYTES));
    assert_int_equal(tt_ranges_total(now), s->resident_bytes);
    assert_int_equal(s->compared, e->seen > 0);
    if (e->seen > 0) {
        const bool *was = e->pages[e->seen - 1];
        bool came[PAGES], went[PAGES];
        for (size_t i = 0; i < PAGES; i++) {
            came[i] = is[i] && !was[i];
            went[i] = was[i] && !is[i];
        }
        assert_int_equal(s->came_bytes, bytes_in(came, 0, FILE_BYTES));
        assert_int_equal(s->went_bytes, bytes_in(went, 0, FILE_BYTES));
    }
    e->seen++;
}

static void check_weight(const expected *e, const tt_weight *w, const tt_residency_weight *r)
{
    const uint64_t begin = w->offset_bytes, end = begin + w->size_bytes;
    uint64_t came = 0, went = 0, least = UINT64_MAX, most = 0;
    for (size_t s = 0; s < SAMPLES; s++) {
        uint64_t here = bytes_in(e->pages[s], begin, end);
        if (here < least) least = here;
        if (here > most) most = here;
        for (uint64_t i = begin; i < end && s > 0; i++) {
            came += e->pages[s][i / PAGE] && !e->pages[s - 1][i / PAGE];
            went += !e->pages[s][i / PAGE] && e->pages[s - 1][i / PAGE];
        }
    }
    assert_int_equal(r->samples, SAMPLES);
    assert_int_equal(r->first_bytes, bytes_in(e->pages[0], begin, end));
    assert_int_equal(r->last_bytes, bytes_in(e->pages[SAMPLES - 1], begin, end));
    assert_int_equal(r->least_bytes, least);
    assert_int_equal(r->most_bytes, most);
    assert_int_equal(r->came_bytes, came);
    assert_int_equal(r->went_bytes, went);
}

/* Samples of one file, some of them in two records; weights that share pages. */
static void pages_come_and_go(void **state)
{
    static uint64_t intervals[2 * SAMPLES][PAGES + 1];
    tt_residency records[2 * SAMPLES];
    tt_weight weights[WEIGHTS] = {{.offset_bytes = 3, .size_bytes = 40},
                                  {.offset_bytes = 43, .size_bytes = 100},
                                  {.offset_bytes = 143, .size_bytes = 1},
                                  {.offset_bytes = 200, .size_bytes = FILE_BYTES - 200}};
    tt_model_file file = {.size_bytes = FILE_BYTES, .n_weights = WEIGHTS};
    tt_residency_weight seen[WEIGHTS];
    (void)state;
    for (unsigned round = 0; round < 100; round++) {
        expected e = {.seen = 0};
        uint32_t n = 0;
        for (uint32_t s = 0; s < SAMPLES; s++) {
            for (size_t i = 0; i < PAGES; i++)
                e.pages[s][i] = below(3) > 0;
            uint64_t cut = below(2) ? 1 + below(PAGES - 1) : PAGES;
            records[n] = record_of(e.pages[s], 0, cut, intervals[n]);
            records[n++].batch = s;
            if (cut == PAGES) continue;
            records[n] = record_of(e.pages[s], cut, PAGES, intervals[n]);
            records[n++].batch = s;
        }
        tt_model m = {.files = &file,
                      .n_files = 1,
                      .weights = weights,
                      .n_weights = WEIGHTS,
                      .residencies = records,
                      .n_residencies = n};
        assert_int_equal(tt_residency_walk(&m, check_sample, &e, seen, NULL), TT_OK);
        assert_int_equal(e.seen, SAMPLES);
        for (size_t i = 0; i < WEIGHTS; i++)
            check_weight(&e, &weights[i], &seen[i]);
    }
}

/* Pages that only one of two samples looked at neither came nor went. */
static void what_was_not_looked_at_does_not_go(void **state)
{
    const uint64_t all[] = {0, 4}, half[] = {0, 2};
    tt_residency records[] = {
        {.page_bytes = 10, .n_pages = 4, .n_intervals = 2, .intervals = all, .batch = 0},
        {.page_bytes = 10, .n_pages = 2, .n_intervals = 2, .intervals = half, .batch = 1},
    };
    tt_weight weights[] = {{.offset_bytes = 0, .size_bytes = 20},
                           {.offset_bytes = 20, .size_bytes = 20}};
    tt_model_file file = {.size_bytes = 40, .n_weights = 2};
    tt_residency_weight seen[2];
    tt_model m = {.files = &file,
                  .n_files = 1,
                  .weights = weights,
                  .n_weights = 2,
                  .residencies = records,
                  .n_residencies = 2};
    (void)state;
    assert_int_equal(tt_residency_walk(&m, NULL, NULL, seen, NULL), TT_OK);
    assert_int_equal(seen[0].samples, 2);
    assert_int_equal(seen[0].went_bytes, 0);
    assert_int_equal(seen[1].samples, 1);
    assert_int_equal(seen[1].last_bytes, 20);
    assert_int_equal(seen[1].went_bytes, 0);
}

/* Of a file the least and the most over all samples: 4, 1 and 3 pages of 10 bytes. */
static void the_least_of_a_file_is_neither_first_nor_last(void **state)
{
    const uint64_t all[] = {0, 4}, one[] = {0, 1, 3}, three[] = {1, 3};
    tt_residency records[] = {
        {.page_bytes = 10, .n_pages = 4, .n_intervals = 2, .intervals = all, .batch = 0},
        {.page_bytes = 10, .n_pages = 4, .n_intervals = 3, .intervals = one, .batch = 1},
        {.page_bytes = 10, .n_pages = 4, .n_intervals = 2, .intervals = three, .batch = 2},
    };
    tt_batch batches[3] = {0};
    tt_model_file file = {.size_bytes = 40};
    const tt_filter filter = {0};
    const tt_model m = {.files = &file,
                        .n_files = 1,
                        .batches = batches,
                        .n_batches = 3,
                        .residencies = records,
                        .n_residencies = 3};
    tt_faults_view v = {.m = &m, .filter = &filter, .by = tt_faults_dimensions, .residency = true};
    (void)state;
    assert_int_equal(tt_faults_collect(&v, NULL, NULL, NULL), TT_OK);
    assert_int_equal(v.files[0].samples, 3);
    assert_int_equal(v.files[0].first.resident_bytes, 40);
    assert_int_equal(v.files[0].least_bytes, 10);
    assert_int_equal(v.files[0].most_bytes, 40);
    assert_int_equal(v.files[0].last.resident_bytes, 30);
    tt_faults_view_free(&v);
}

/* Numbers that do not fit are cut at the file's end. */
static void wild_numbers_stay_inside(void **state)
{
    const uint64_t lengths[] = {UINT64_MAX, UINT64_MAX, 7, UINT64_MAX};
    tt_ranges observed = {0}, present = {0};
    (void)state;
    for (unsigned i = 0; i < 2000; i++) {
        uint64_t intervals[5];
        for (size_t k = 0; k < 5; k++)
            intervals[k] = below(2) ? lengths[below(4)] : below(9);
        const tt_residency r = {.page_bytes = below(2) ? UINT32_MAX : 1 + below(9),
                                .first_page = below(2) ? UINT64_MAX - below(9) : below(9),
                                .n_pages = below(2) ? UINT64_MAX : below(30),
                                .n_intervals = below(6),
                                .intervals = intervals};
        tt_residency_add(&r, 100, &observed, &present);
    }
    tt_ranges_merge(&observed);
    tt_ranges_merge(&present);
    assert_true(tt_ranges_total(&observed) <= 100);
    assert_true(tt_ranges_total(&present) <= tt_ranges_total(&observed));
    tt_ranges_free(&observed);
    tt_ranges_free(&present);
}

/* --- the kernel's totals --- */

static void totals_are_differences(void **state)
{
    tt_meta_usage u[] = {
        {.moment = TT_AT_BEGIN, .batch = TT_NONE, .flags = 1, .minor = 5},
        {.moment = TT_AT_BATCH_BEGIN,
         .batch = 0,
         .flags = 7,
         .ticks = 10,
         .minor = 100,
         .major = 7,
         .read_bytes = 1000,
         .n_devices = 1,
         .devices = {{8, 50, 1}}},
        {.moment = TT_AT_BATCH_END,
         .batch = 0,
         .flags = 7,
         .ticks = 20,
         .minor = 130,
         .major = 9,
         .read_bytes = 5000,
         .n_devices = 2,
         .devices = {{9, 1, 1}, {8, 90, 4}}},
        {.moment = TT_AT_BATCH_BEGIN,
         .batch = 1,
         .flags = 7,
         .ticks = 15,
         .minor = 130,
         .major = 9,
         .read_bytes = 5000,
         .n_devices = 1,
         .devices = {{8, 90, 4}}},
        {.moment = TT_AT_BATCH_END,
         .batch = 1,
         .flags = 5,
         .ticks = 30,
         .minor = 131,
         .major = 9,
         .n_devices = 1,
         .devices = {{8, 100, 5}}},
        {.moment = TT_AT_BATCH_BEGIN, .batch = 2, .flags = 7},
        {.moment = TT_AT_END, .batch = TT_NONE, .flags = 1, .minor = 135},
    };
    tt_batch batches[3] = {{.phase = TT_PHASE_PROMPT, .n_tokens = 5},
                           {.phase = TT_PHASE_GENERATE, .n_tokens = 1},
                           {.n_tokens = 100}};
    tt_model m = {.usages = u, .n_usages = 7, .batches = batches, .n_batches = 3};
    tt_kernel_sum s;
    tt_kernel *k = tt_kernel_new(&m);
    (void)state;
    assert_non_null(k);
    tt_kernel_batch(k, 0, &s);
    assert_true(s.has_faults && s.has_io && s.windows == 1 && s.n_devices == 1);
    assert_int_equal(s.minor, 30);
    assert_int_equal(s.major, 2);
    assert_int_equal(s.read_bytes, 4000);
    assert_int_equal(s.devices[0].read_bytes, 40);
    tt_kernel_batch(k, 2, &s);
    assert_true(s.windows == 0 && s.missing == 1);
    tt_kernel_batches(k, &(tt_filter){0}, &s);
    assert_true(s.windows == 2 && s.missing == 1 && s.overlap);
    assert_int_equal(s.tokens, 6);          /* of the two that were observed */
    assert_true(s.has_faults && !s.has_io); /* not observed once is not observed */
    assert_int_equal(s.minor, 31);
    assert_int_equal(s.devices[0].read_bytes, 50);
    tt_kernel_batches(k, &(tt_filter){.phase = TT_PHASE_GENERATE}, &s);
    assert_true(s.windows == 1 && !s.overlap);
    assert_int_equal(s.minor, 1);
    tt_kernel_recording(k, &s);
    assert_true(s.windows == 1 && s.has_faults && !s.has_io);
    assert_int_equal(s.minor, 130);
    /* Totals that fall are no totals of one process. */
    u[2].major = 1;
    tt_kernel_batch(k, 0, &s);
    assert_false(s.has_faults);
    assert_true(s.has_io);
    tt_kernel_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_of_ranges),
        cmocka_unit_test(what_is_added_again_takes_no_room),
        cmocka_unit_test(pages_come_and_go),
        cmocka_unit_test(what_was_not_looked_at_does_not_go),
        cmocka_unit_test(the_least_of_a_file_is_neither_first_nor_last),
        cmocka_unit_test(wild_numbers_stay_inside),
        cmocka_unit_test(totals_are_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
