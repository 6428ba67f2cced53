/* What a use costs: a million uses of 100,000 units, Zipf-like, by every policy and 32 capacities. */
#include "policy/policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define USES 1000000u
#define UNITS 100000u
#define CAPACITIES 32u
#define LAYERS 48u

static double cpu_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double run(tt_policy policy, const tt_policy_setup *setup, const tt_policy_use *uses,
                  uint64_t *misses)
{
    const double begin = cpu_s();
    tt_policy_setup s = *setup;
    tt_error err;
    s.policy = policy;
    *misses = 0;
    for (uint32_t i = 1; i <= CAPACITIES; i++) {
        tt_policy_cache *c;
        s.capacity = (uint64_t)UNITS * i / (CAPACITIES + 1);
        if (tt_policy_new(&s, NULL, NULL, &c, &err) != TT_OK) exit(1);
        for (uint32_t k = 0; k < USES; k++)
            *misses += !tt_policy_use_unit(c, &uses[k]);
        tt_policy_free(c);
    }
    return cpu_s() - begin;
}

int main(void)
{
    tt_policy_use *uses = calloc(USES, sizeof *uses);
    uint64_t *count = calloc(UNITS, sizeof *count), *next = malloc(UNITS * sizeof *next);
    uint32_t *layer = calloc(UNITS, sizeof *layer);
    double all = 0;
    if (!uses || !count || !next || !layer) return 1;
    srand48(1);
    for (uint32_t i = 0; i < USES; i++) {
        const uint64_t rank = (uint64_t)(pow(UNITS, drand48()) - 1);
        uses[i].unit = (uint32_t)(rank * 2654435761u % UNITS);
        uses[i].pass = i / 2000;
        count[uses[i].unit]++;
    }
    for (uint32_t i = 0; i < UNITS; i++) {
        layer[i] = i * LAYERS / UNITS;
        next[i] = TT_POLICY_NEVER;
    }
    for (uint32_t i = USES; i-- > 0;) {
        uses[i].next = next[uses[i].unit];
        next[uses[i].unit] = i;
    }
    const tt_policy_setup setup = {.n_units = UNITS, .unit_layer = layer, .unit_count = count};
    printf("policy,cpu_s,ns_a_use,miss_ratio\n");
    for (int p = 0; p < TT_POLICIES; p++) {
        uint64_t misses;
        const double n = (double)USES * CAPACITIES, s = run((tt_policy)p, &setup, uses, &misses);
        printf("%s,%.3f,%.1f,%.4f\n", tt_policies[p].name, s, s * 1e9 / n, (double)misses / n);
        all += s;
    }
    printf("all,%.3f,,\n", all);
    free(uses);
    free(count);
    free(next);
    free(layer);
    return 0;
}
