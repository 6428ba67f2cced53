#include "format/ops_layout.h"

#include <string.h>

void tt_ops_layout_fill(tt_ops_layout *l, const tt_ops_part *parts, size_t n_parts,
                        size_t n_positions)
{
    l->n_positions = n_positions;
    memset(l->ends, 0, (n_positions + 1) * sizeof *l->ends);
    /* First the steps in the number of segments from position to position, then their sums. */
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
}
