#include "analyze/values/values_cells.h"

#include "analyze/kvcache.h"

#include <stdlib.h>
#include <string.h>

struct tt_values_stretch {
    uint64_t begin, end; /* bytes, from the memory's begin */
};

typedef struct tt_values_stretch stretch;

/* Puts in the place of the stretches [at, at + n) the others. */
static bool replace(tt_values_cells *c, size_t at, size_t n, const stretch *others, size_t n_others)
{
    size_t total = c->n - n + n_others;
    if (total > TT_VALUES_CELLS_MAX) {
        c->unknown = true;
        return true;
    }
    if (total > c->capacity) {
        size_t larger = total * 2;
        stretch *more = realloc(c->list, larger * sizeof *more);
        if (!more) return false;
        c->list = more;
        c->capacity = larger;
    }
    if (c->n > at + n)
        memmove(c->list + at + n_others, c->list + at + n, (c->n - at - n) * sizeof *c->list);
    if (n_others) memcpy(c->list + at, others, n_others * sizeof *others);
    c->n = total;
    return true;
}

/* The first stretch that ends at `at` or behind it. */
static size_t find(const tt_values_cells *c, uint64_t at)
{
    size_t low = 0, high = c->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->list[middle].end < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool join(tt_values_cells *c, stretch s)
{
    size_t first = find(c, s.begin), last = first;
    for (; last < c->n && c->list[last].begin <= s.end; last++) {
        if (c->list[last].begin < s.begin) s.begin = c->list[last].begin;
        if (c->list[last].end > s.end) s.end = c->list[last].end;
    }
    return replace(c, first, last - first, &s, 1);
}

static bool cut(tt_values_cells *c, stretch s)
{
    size_t first = find(c, s.begin), last = first, n = 0;
    stretch left[2];
    for (; last < c->n && c->list[last].begin < s.end; last++) {
        const stretch was = c->list[last];
        if (was.begin < s.begin) left[n++] = (stretch){was.begin, s.begin};
        if (was.end > s.end) left[n++] = (stretch){s.end, was.end};
    }
    return replace(c, first, last - first, left, n);
}

/* Does `with` to all that the node wrote; *known: which bytes that are is known. */
static bool each(tt_values_cells *c, const tt_model *m, uint32_t run, const tt_graph *g,
                 uint32_t node, bool (*with)(tt_values_cells *, stretch), bool *known)
{
    const tt_tensor *t = &g->tensors[node];
    const uint64_t from = t->root_offset_bytes;
    *known = false;
    if (strcmp(t->op_name, "SET_ROWS") == 0) {
        const tt_indices *rows = tt_kv_row_numbers(m, run, g, t);
        if (!rows || t->ne[2] > 1 || t->ne[3] > 1 || t->nb[1] == 0) return true;
        for (uint32_t i = 0; i < rows->n; i++) {
            uint64_t row = (uint64_t)rows->values[i];
            if (rows->values[i] < 0 || row >= t->size_bytes / t->nb[1]) return true;
        }
        for (uint32_t i = 0; i < rows->n; i++) {
            uint64_t begin = from + (uint64_t)rows->values[i] * t->nb[1];
            if (!with(c, (stretch){begin, begin + t->nb[1]})) return false;
        }
    } else {
        /* A row side by side, as CPY writes it; of others there may be gaps between the rows. */
        if (t->ne[1] > 1 || t->ne[2] > 1 || t->ne[3] > 1) return true;
        if (!with(c, (stretch){from, from + t->size_bytes})) return false;
    }
    *known = true;
    return true;
}

bool tt_values_cells_add(tt_values_cells *c, const tt_model *m, uint32_t run, const tt_graph *g,
                         uint32_t node)
{
    bool known;
    if (!each(c, m, run, g, node, join, &known)) return false;
    c->unknown |= !known;
    return true;
}

bool tt_values_cells_clear(tt_values_cells *c, const tt_model *m, uint32_t run, const tt_graph *g,
                           uint32_t node)
{
    bool known;
    return each(c, m, run, g, node, cut, &known);
}

bool tt_values_cells_empty(const tt_values_cells *c)
{
    return c->n == 0 && !c->unknown;
}

void tt_values_cells_free(tt_values_cells *c)
{
    free(c->list);
    memset(c, 0, sizeof *c);
}
