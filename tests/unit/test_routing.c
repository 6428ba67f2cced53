/* Routers: against the same numbers worked out from the whole stream. */
#include "tests.h"

#include "analyze/routing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 150, EXPERTS = 13, PICKED = 3, SEQUENCES = 3 };

typedef struct stream {
    uint32_t experts[TOKENS][PICKED];
    float weights[TOKENS][PICKED];
    uint64_t sequence[TOKENS];
    int64_t position[TOKENS];
    uint64_t batch[TOKENS];
    bool placed[TOKENS];
    size_t n;
} stream;

static uint64_t state_of_random = 5;

static uint32_t below(uint32_t n)
{
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state_of_random >> 33) % n;
}

/* Skewed choices; positions that go on, jump or start again. */
static void make(stream *s, size_t n)
{
    int64_t next[SEQUENCES] = {0};
    uint64_t batch = 0;
    s->n = n;
    for (size_t t = 0; t < n; t++) {
        uint32_t sequence = below(SEQUENCES);
        for (size_t i = 0; i < PICKED; i++) {
            bool again = true;
            while (again) {
                s->experts[t][i] = below(4) ? below(EXPERTS / 2) : below(EXPERTS);
                again = false;
                for (size_t k = 0; k < i; k++)
                    again |= s->experts[t][k] == s->experts[t][i];
            }
            s->weights[t][i] = below(5) ? (float)below(100) / 100 : NAN;
        }
        if (below(10) == 0) next[sequence] = below(2) ? 0 : next[sequence] + 5;
        s->sequence[t] = sequence;
        s->position[t] = next[sequence]++;
        s->placed[t] = below(20) > 0;
        s->batch[t] = batch += below(3) == 0;
    }
}

static bool chose(const stream *s, size_t t, uint32_t expert)
{
    for (size_t i = 0; i < PICKED; i++)
        if (s->experts[t][i] == expert) return true;
    return false;
}

static double slow_working_set(const stream *s, size_t window)
{
    size_t sum = 0;
    if (s->n < window) return NAN;
    for (size_t first = 0; first + window <= s->n; first++)
        for (uint32_t e = 0; e < EXPERTS; e++) {
            bool in = false;
            for (size_t t = first; t < first + window; t++)
                in |= chose(s, t, e);
            sum += in;
        }
    return (double)sum / (double)(s->n - window + 1);
}

static double slow_stickiness(const stream *s, uint64_t *neighbours)
{
    size_t stayed = 0, of = 0;
    *neighbours = 0;
    for (size_t t = 0; t < s->n; t++) {
        if (!s->placed[t]) continue;
        for (size_t before = t; before-- > 0;) {
            if (!s->placed[before] || s->sequence[before] != s->sequence[t]) continue;
            if (s->position[before] == s->position[t] - 1) {
                ++*neighbours;
                of += PICKED;
                for (size_t i = 0; i < PICKED; i++)
                    stayed += chose(s, before, s->experts[t][i]);
            }
            break; /* only the newest of the sequence */
        }
    }
    return of ? (double)stayed / (double)of : NAN;
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x > y ? -1 : x < y;
}

static bool is_same(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) < 1e-9;
}

static void check(const stream *s, const tt_router *r)
{
    tt_router_sum sum;
    double shares[EXPERTS], entropy = 0, batches = 0;
    uint64_t neighbours;
    uint32_t n, unused = 0;
    const tt_expert_use *uses = tt_router_uses(r, &n);
    tt_router_sum_up(r, &sum);
    assert_int_equal(n, EXPERTS);
    assert_int_equal(sum.tokens, s->n);
    assert_int_equal(sum.choices, s->n * PICKED);
    for (uint32_t e = 0; e < EXPERTS; e++) {
        size_t count = 0, in = 0;
        uint64_t last = UINT64_MAX;
        double weight = 0;
        for (size_t t = 0; t < s->n; t++)
            for (size_t i = 0; i < PICKED; i++) {
                if (s->experts[t][i] != e) continue;
                count++;
                in += s->batch[t] != last;
                last = s->batch[t];
                if (!isnan(s->weights[t][i])) weight += (double)s->weights[t][i];
            }
        assert_int_equal(uses[e].count, count);
        assert_int_equal(uses[e].batches, in);
        if (in) assert_true(uses[e].last_batch == last);
        assert_true(is_same(uses[e].weight_sum, weight));
        unused += count == 0;
        shares[e] = (double)count / (double)sum.choices;
        if (count) entropy -= shares[e] * log2(shares[e]);
    }
    assert_int_equal(sum.unused, unused);
    assert_true(is_same(sum.entropy_bits, entropy));
    assert_true(is_same(sum.evenness, entropy / log2(EXPERTS)));
    qsort(shares, EXPERTS, sizeof *shares, descending);
    assert_true(is_same(sum.top_share[0], shares[0]));
    assert_true(is_same(sum.top_share[1], shares[0] + shares[1]));
    assert_true(is_same(sum.top_share[2], shares[0] + shares[1] + shares[2] + shares[3]));
    assert_true(is_same(sum.top_share[3], shares[0] + shares[1] + shares[2]));
    assert_true(is_same(sum.stickiness, slow_stickiness(s, &neighbours)));
    assert_int_equal(sum.neighbours, neighbours);
    assert_true(is_same(sum.chance, (double)PICKED / (double)EXPERTS));
    for (size_t i = 0; i < TT_ROUTER_WINDOWS; i++)
        assert_true(is_same(sum.working_set[i], slow_working_set(s, tt_router_windows[i])));
    size_t in_batches = 0;
    for (size_t t = 0, first = 0; t < s->n; t++) {
        if (t + 1 < s->n && s->batch[t + 1] == s->batch[t]) continue;
        batches++;
        for (uint32_t e = 0; e < EXPERTS; e++) {
            bool in = false;
            for (size_t k = first; k <= t; k++)
                in |= chose(s, k, e);
            in_batches += in;
        }
        first = t + 1;
    }
    assert_true(is_same((double)sum.batches, batches));
    assert_true(is_same(sum.batch_set, (double)in_batches / batches));
}

static void streams_add_up(void **state)
{
    static stream s;
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        tt_router *r = tt_router_new(EXPERTS);
        assert_non_null(r);
        make(&s, 1 + below(TOKENS));
        for (size_t t = 0; t < s.n; t++) {
            const tt_routed token = {.sequences = &s.sequence[t],
                                     .n_sequences = s.placed[t],
                                     .position = s.position[t],
                                     .batch = s.batch[t],
                                     .experts = s.experts[t],
                                     .weights = s.weights[t],
                                     .n = PICKED};
            assert_true(tt_router_add(r, &token));
        }
        check(&s, r);
        tt_router_free(r);
    }
}

/* Numbers that can be worked out by heart. */
static void a_known_case(void **state)
{
    const uint32_t even[4][2] = {{0, 1}, {2, 3}, {0, 1}, {2, 3}}, same[2] = {1, 0};
    const float weights[2] = {0.75f, 0.25f};
    const uint64_t first = 7, both[] = {8, 9};
    tt_router_sum s;
    tt_router *r = tt_router_new(4);
    (void)state;
    tt_router_sum_up(r, &s);
    assert_true(isnan(s.stickiness) && isnan(s.evenness) && isnan(s.working_set[0]));
    assert_int_equal(s.unused, 4);
    for (int64_t t = 0; t < 4; t++)
        assert_true(tt_router_add(r, &(tt_routed){&first, 1, t, (uint64_t)t, even[t], weights, 2}));
    tt_router_sum_up(r, &s);
    assert_true(is_same(s.entropy_bits, 2) && is_same(s.evenness, 1));
    assert_true(is_same(s.stickiness, 0) && s.neighbours == 3);
    assert_true(is_same(s.chance, 0.5) && is_same(s.working_set[0], 2));
    for (int64_t t = 0; t < 8; t++)
        assert_true(tt_router_add(r, &(tt_routed){both, 2, t, 9, same, weights, 2}));
    tt_router_sum_up(r, &s);
    assert_true(is_same(s.stickiness, 7.0 / 10) && s.neighbours == 10);
    assert_true(is_same(s.top_share[1], 20.0 / 24));
    /* A row of two sequences comes before the next one of either. */
    assert_true(tt_router_add(r, &(tt_routed){both + 1, 1, 8, 10, even[1], weights, 2}));
    tt_router_sum_up(r, &s);
    assert_true(is_same(s.stickiness, 7.0 / 11) && s.neighbours == 11);
    tt_router_free(r);
}

/* Experts that are not there, or twice in a token, are left out and counted. */
static void wild_choices(void **state)
{
    const uint32_t experts[] = {1, 9, 1, 4000000000u};
    const float weights[] = {1, 1, 1, 1};
    const uint64_t zero = 0;
    tt_router_sum s;
    tt_router *r = tt_router_new(4);
    (void)state;
    assert_null(tt_router_new(0));
    assert_null(tt_router_new(TT_ROUTER_EXPERTS_MAX + 1));
    assert_true(tt_router_add(r, &(tt_routed){&zero, 1, INT64_MIN, 0, experts, weights, 4}));
    assert_true(tt_router_add(r, &(tt_routed){&zero, 1, INT64_MIN, 0, experts, weights, 0}));
    assert_true(tt_router_add(r, &(tt_routed){&zero, 1, INT64_MAX, 0, experts, weights, 1}));
    tt_router_sum_up(r, &s);
    assert_int_equal(s.choices, 2);
    assert_int_equal(s.out_of_range, 3);
    assert_int_equal(s.neighbours, 0);
    tt_router_free(r);
}

static void likeness(void **state)
{
    const uint32_t a[] = {3, 0, 4, 0}, b[] = {4, 3, 0, 0}, none[] = {0, 0, 0, 0};
    (void)state;
    assert_true(is_same(tt_routing_jaccard(a, b, 4), 1.0 / 3));
    assert_true(is_same(tt_routing_cosine(a, b, 4), 12.0 / 25));
    assert_true(is_same(tt_routing_jaccard(a, a, 4), 1));
    assert_true(is_same(tt_routing_cosine(a, a, 4), 1));
    assert_true(is_same(tt_routing_jaccard(a, none, 4), 0));
    assert_true(isnan(tt_routing_cosine(a, none, 4)));
    assert_true(isnan(tt_routing_jaccard(none, none, 4)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_add_up),
        cmocka_unit_test(a_known_case),
        cmocka_unit_test(wild_choices),
        cmocka_unit_test(likeness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
