#include "analyze/copies.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COPIED = 1, IN_FILE = 2 };

/* llama.cpp's is called CPU_REPACK; in older versions CPU_AARCH64. */
static bool is_repacked(const tt_model *m, const tt_graph *g, const tt_tensor *t)
{
    const uint32_t buffer = t->buffer != TT_NONE ? t->buffer : g->tensors[t->root].buffer;
    const char *name = buffer < m->n_buffers ? m->buffers[buffer].name : NULL;
    return name && (strstr(name, "REPACK") || strstr(name, "AARCH64"));
}

bool tt_copies_find(const tt_model *m, tt_copies *out)
{
    uint8_t *seen = calloc((size_t)m->n_weights + 1, 1);
    *out = (tt_copies){0};
    if (!seen) return false;
    for (uint32_t g = 0; g < m->n_graphs; g++)
        for (uint32_t i = 0; i < m->graphs[g].n_tensors; i++) {
            const tt_tensor *t = &m->graphs[g].tensors[i];
            if (t->weight >= m->n_weights || t->origin == TT_ORIGIN_UNKNOWN) continue;
            seen[t->weight] |= t->origin == TT_ORIGIN_FILE ? IN_FILE : COPIED;
            if (t->origin != TT_ORIGIN_FILE) out->repacked |= is_repacked(m, &m->graphs[g], t);
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
        (void)snprintf(
            out, TT_COPIES_TEXT,
            "%" PRIu32 " weight%s (%s of %s) w%s read from %s, not from the mapped file: "
            "%s",
            c->n_copied, c->n_copied == 1 ? "" : "s", tt_units_bytes(copied, c->copied_bytes),
            tt_units_bytes(all, c->copied_bytes + c->file_bytes), c->n_copied == 1 ? "as" : "ere",
            c->repacked ? "repacked copies" : "copies in buffers",
            c->repacked ? "--no-repack keeps them there"
                        : "it was loaded without mmap, or they were moved");
    return out;
}
