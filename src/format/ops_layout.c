#include "format/ops_layout.h"

#include <stdlib.h>
#include <string.h>

bool tt_ops_layout_make(tt_ops_layout *l, const tt_ops_part *parts, size_t n_parts,
                        size_t n_positions)
{
    /* First the steps in the number of segments from position to position, then their sums. */
    l->n_positions = n_positions;
    l->ends = calloc(n_positions + 1, sizeof *l->ends);
    l->next = malloc(n_positions * sizeof *l->next);
    if (!l->ends || !l->next) {
        tt_ops_layout_free(l);
        return false;
    }
    for (size_t i = 0; i < n_parts; i++) {
        l->ends[parts[i].position]++;
        l->ends[parts[i].position + parts[i].count]--;
    }
    uint32_t place = 0, group = 0;
    for (size_t p = 0; p < n_positions; p++) {
        group += l->ends[p]; /* modulo 2^32, the steps down too */
        l->next[p] = place;
        place += group;
        l->ends[p] = place;
    }
    return true;
}

void tt_ops_layout_free(tt_ops_layout *l)
{
    free(l->ends);
    free(l->next);
    memset(l, 0, sizeof *l);
}
