/* run_policies CAPACITY... : reads uses from standard input, a line each "UNIT NEXT" (the number of
 * the unit's next use, -1: never), and prints for each policy that needs no counts and each capacity
 * "NAME CAPACITY MISSES". Units are of size 1 and belong to one layer; a pass has 16 uses. */
#include "policy/policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    tt_policy_use *uses = NULL;
    size_t n = 0, room = 0;
    uint32_t units = 0, unit;
    int64_t next;
    while (scanf("%" SCNu32 " %" SCNd64, &unit, &next) == 2) {
        if (n == room) {
            room = room ? room * 2 : 1024;
            tt_policy_use *more = realloc(uses, room * sizeof *uses);
            if (!more) return 1;
            uses = more;
        }
        uses[n] = (tt_policy_use){unit, (uint32_t)(n / 16),
                                  next < 0 ? TT_POLICY_NEVER : (uint64_t)next};
        n++;
        if (unit >= units) units = unit + 1;
    }
    for (int p = 0; p < TT_POLICIES; p++) {
        if (tt_policies[p].needs_counts) continue;
        for (int i = 1; i < argc; i++) {
            const tt_policy_setup setup = {
                .policy = (tt_policy)p, .n_units = units, .capacity = strtoull(argv[i], NULL, 10)};
            tt_policy_cache *c;
            tt_error err;
            uint64_t misses = 0;
            if (tt_policy_new(&setup, NULL, NULL, &c, &err) != TT_OK) return 1;
            for (size_t k = 0; k < n; k++)
                misses += !tt_policy_use_unit(c, &uses[k]);
            tt_policy_free(c);
            printf("%s %s %" PRIu64 "\n", tt_policies[p].name, argv[i], misses);
        }
    }
    free(uses);
    return 0;
}
