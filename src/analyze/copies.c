#include "analyze/copies.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { COPIED = 1, IN_FILE = 2 };

bool tt_copies_find(const tt_model *m, tt_copies *out)
{
    uint8_t *seen = calloc((size_t)m->n_weights + 1, 1);
    *out = (tt_copies){0};
    if (!seen) return false;
    for (uint32_t g = 0; g < m->n_graphs; g++)
        for (uint32_t i = 0; i < m->graphs[g].n_tensors; i++) {
            const tt_tensor *t = &m->graphs[g].tensors[i];
            if (t->weight >= m->n_weights || t->origin == TT_ORIGIN_UNKNOWN) continue;
            seen[t->weight] |= t->origin == TT_ORIGIN_DISK ? IN_FILE : COPIED;
        }
    for (uint32_t w = 0; w < m->n_weights; w++) {
        if (seen[w] & COPIED) out->copied_bytes += m->weights[w].size_bytes, out->n_copied++;
        if (seen[w] & IN_FILE) out->file_bytes += m->weights[w].size_bytes, out->n_file++;
    }
    free(seen);
    return true;
}

const char *tt_copies_text(const tt_copies *c, char out[TT_COPIES_TEXT])
{
    char copied[TT_UNITS_TEXT], all[TT_UNITS_TEXT];
    out[0] = '\0';
    if (c->n_copied)
        (void)snprintf(out, TT_COPIES_TEXT,
                       "%" PRIu32 " weights, %s of %s, were read from copies in buffers, not from "
                       "the mapped file: the engine repacks them or does not map the file "
                       "(llama.cpp: --no-repack keeps the file's layout)",
                       c->n_copied, tt_units_bytes(copied, c->copied_bytes),
                       tt_units_bytes(all, c->copied_bytes + c->file_bytes));
    return out;
}
