#include "analyze/spaces/space_uses.h"

#include "analyze/reads.h"

#include <stdlib.h>
#include <string.h>

void tt_unit_pieces_free(tt_unit_pieces *p)
{
    free(p->list);
    memset(p, 0, sizeof *p);
}

/* An interval of a space that an op uses, and how much of it. */
typedef struct interval {
    uint64_t begin, end;
    uint64_t bytes; /* less than end - begin: of it, but not which */
    bool writes, at_most;
} interval;

static void add(tt_unit_pieces *p, uint32_t unit, const interval *s, uint64_t begin, uint64_t end)
{
    const uint64_t size = s->end - s->begin, part = end - begin;
    if (p->n == p->capacity) {
        size_t more = p->capacity ? p->capacity * 2 : 64;
        tt_unit_piece *list = reallocarray(p->list, more, sizeof *list);
        p->failed |= !list;
        if (!list) return;
        p->list = list;
        p->capacity = more;
    }
    p->list[p->n++] = (tt_unit_piece){
        .unit = unit,
        .writes = s->writes,
        .at_most = s->at_most,
        .placed = s->bytes == size,
        .bytes = s->bytes == size ? part : (uint64_t)((unsigned __int128)s->bytes * part / size),
        .begin = begin,
        .end = end};
}

static void add_slices(tt_unit_pieces *p, const tt_region *r, const interval *s, uint64_t begin,
                       uint64_t end)
{
    uint32_t first, last;
    tt_spaces_slices_of(r, begin, end, &first, &last);
    for (uint32_t i = first; i < last && !p->failed; i++) {
        uint64_t from, to;
        tt_spaces_slice(r, i, &from, &to);
        add(p, r->first_slice + i, s, from > begin ? from : begin, to < end ? to : end);
    }
}

/* The interval's part in each region of the space. */
static void add_interval(tt_unit_pieces *p, const tt_spaces *s, uint32_t space, interval t)
{
    const tt_space *of = &s->spaces[space];
    uint32_t r = t.end > t.begin ? tt_spaces_find(s, space, t.begin) : TT_NONE;
    if (r == TT_NONE) {
        p->impossible += t.end > t.begin;
        return;
    }
    if (t.bytes > t.end - t.begin) t.bytes = t.end - t.begin;
    for (; r < of->first_region + of->n_regions && s->regions[r].begin < t.end && !p->failed; r++) {
        const tt_region *region = &s->regions[r];
        uint64_t begin = region->begin > t.begin ? region->begin : t.begin;
        uint64_t end = region->end < t.end ? region->end : t.end;
        add(p, r, &t, begin, end);
        if (region->n_slices) add_slices(p, region, &t, begin, end);
    }
}

/* Bytes [begin, begin + size) of a tensor's root, where that lies in a buffer. */
static void add_in_buffer(const tt_model *m, const tt_spaces *s, const tt_graph *g, uint32_t tensor,
                          uint64_t begin, uint64_t size, interval t, tt_unit_pieces *p)
{
    const tt_tensor *root = &g->tensors[g->tensors[tensor].root];
    if (root->buffer >= m->n_buffers || s->space_of_buffer[root->buffer] == TT_NONE) return;
    if (__builtin_add_overflow(begin, root->location, &t.begin) ||
        __builtin_add_overflow(t.begin, size, &t.end)) {
        p->impossible++;
        return;
    }
    add_interval(p, s, s->space_of_buffer[root->buffer], t);
}

static void add_access(const tt_model *m, const tt_spaces *s, const tt_op *op, const tt_access *a,
                       tt_unit_pieces *p)
{
    if (a->size_bytes == 0) return;
    if (!tt_reads_is_possible(m, a)) {
        p->impossible++;
        return;
    }
    const tt_weight *w = &m->weights[a->weight];
    const interval t = {.begin = a->offset_bytes,
                        .end = a->offset_bytes + a->size_bytes,
                        .bytes = a->size_bytes,
                        .at_most = a->at_most};
    /* A copy may be laid out otherwise inside, but holds the same rows and experts in order. */
    add_in_buffer(m, s, op->graph, a->tensor, a->offset_bytes - w->offset_bytes, a->size_bytes, t,
                  p);
    if (w->file < s->n_spaces) add_interval(p, s, w->file, t);
}

/* Written by the op: for SET_ROWS as many rows as it is given, somewhere in the result. */
static void add_result(const tt_model *m, const tt_spaces *s, const tt_op *op, tt_unit_pieces *p)
{
    const uint32_t node = op->nodes[op->n_nodes - 1];
    const tt_tensor *t = &op->graph->tensors[node];
    uint64_t bytes = t->size_bytes;
    if (strcmp(t->op_name, "SET_ROWS") == 0 && t->n_src > 0 && t->src[0] != TT_NONE) {
        const tt_tensor *from = &op->graph->tensors[t->src[0]];
        uint64_t rows = from->ne[0] ? tt_elements(from) / from->ne[0] : 0, all;
        if (!__builtin_mul_overflow(rows, t->nb[1], &all) && all < bytes) bytes = all;
    }
    add_in_buffer(m, s, op->graph, node, t->root_offset_bytes, t->size_bytes,
                  (interval){.bytes = bytes, .writes = true}, p);
}

void tt_unit_pieces_of(const tt_model *m, const tt_spaces *s, const tt_op *op,
                       const tt_access *accesses, size_t n_accesses, tt_unit_pieces *p)
{
    p->n = 0;
    for (size_t i = 0; i < n_accesses && !p->failed; i++)
        add_access(m, s, op, &accesses[i], p);
    for (uint32_t i = 0; i < op->n_sources && !p->failed; i++) {
        const tt_op_source *source = &op->sources[i];
        const tt_tensor *t = &op->graph->tensors[source->tensor];
        if (source->weight != TT_NONE) continue;
        add_in_buffer(m, s, op->graph, source->tensor, t->root_offset_bytes, t->size_bytes,
                      (interval){.bytes = source->read_bytes, .at_most = source->at_most}, p);
    }
    if (!p->failed) add_result(m, s, op, p);
}
