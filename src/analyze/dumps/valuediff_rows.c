/* Error over depth, and the rows by layer and by stage. */
#include "analyze/dumps/valuediff_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool grow(void *list, size_t n, size_t *capacity, size_t size)
{
    void *old;
    if (n < *capacity) return true;
    size_t larger = *capacity ? *capacity * 2 : 64;
    memcpy(&old, list, sizeof old);
    void *more = realloc(old, larger * size);
    if (!more) return false;
    memcpy(list, &more, sizeof more);
    *capacity = larger;
    return true;
}

/* Networks have some hundred layers and stages; what a damaged trace claims beyond is not in the
 * rows, though counted. */
#define ROWS_MAX 4096u
#define DEPTH_MAX ((size_t)1 << 20)

/* What rows and plots show: not what an error is at least, of which nothing else is known. */
static double size_of(const tt_valuediff_item *i)
{
    return i->verdict == TT_VALUE_OTHER_BITS ? NAN : i->error.rel_l2;
}

static bool put_depth(tt_valuediff *d, tt_valuediff_tally *t, const tt_valuediff_item *i,
                      bool behind)
{
    tt_valuediff_depth *row = NULL;
    /* Its layer is near the end of the list: the nodes of one are together. */
    for (size_t k = d->n_depth; !row && k-- > 0 && d->depth[k].pair == i->pair;) {
        if (d->depth[k].layer == i->layer && d->depth[k].behind == behind) row = &d->depth[k];
    }
    if (!row) {
        if (d->n_depth == DEPTH_MAX || t->rows_of_step == ROWS_MAX) return true;
        t->rows_of_step++;
        if (!grow(&d->depth, d->n_depth, &t->depth_capacity, sizeof *d->depth)) return false;
        row = &d->depth[d->n_depth++];
        *row = (tt_valuediff_depth){
            .pair = i->pair, .layer = i->layer, .behind = behind, .rel_l2 = NAN, .cosine_gap = NAN};
    }
    row->counts[i->verdict]++;
    if (!isnan(size_of(i)) && !(row->rel_l2 >= size_of(i))) {
        row->rel_l2 = size_of(i);
        row->stage = i->stage;
    }
    row->cosine_gap = tt_larger(row->cosine_gap, tt_cosine_gap(i->error.cosine));
    return true;
}

static void put(tt_valuediff_row *r, const tt_valuediff_item *i)
{
    r->counts[i->verdict]++;
    if (!isnan(size_of(i)) && !(r->rel_l2 >= size_of(i))) {
        r->rel_l2 = size_of(i);
        r->worst_pair = i->pair;
    }
    r->max_abs = tt_larger(r->max_abs, i->error.max_abs);
    r->cosine_gap = tt_larger(r->cosine_gap, tt_cosine_gap(i->error.cosine));
}

static tt_valuediff_row *new_row(tt_valuediff_row **rows, size_t *n, size_t *capacity)
{
    if (!grow(rows, *n, capacity, sizeof **rows)) return NULL;
    tt_valuediff_row *r = &(*rows)[(*n)++];
    *r = (tt_valuediff_row){.layer = TT_STAGE_LAYER_UNKNOWN,
                            .rel_l2 = NAN,
                            .max_abs = NAN,
                            .cosine_gap = NAN,
                            .worst_pair = TT_NONE};
    return r;
}

static bool put_layer(tt_valuediff *d, tt_valuediff_tally *t, const tt_valuediff_item *i,
                      bool behind)
{
    for (size_t k = 0; k < d->n_layers; k++) {
        if (d->layers[k].layer != i->layer || d->layers[k].behind != behind) continue;
        put(&d->layers[k], i);
        return true;
    }
    if (d->n_layers == ROWS_MAX) return true;
    tt_valuediff_row *r = new_row(&d->layers, &d->n_layers, &t->layer_capacity);
    if (!r) return false;
    r->layer = i->layer;
    r->behind = behind;
    put(r, i);
    return true;
}

bool tt_valuediff_tally_item(tt_valuediff *d, tt_valuediff_tally *t, const tt_valuediff_item *i)
{
    bool behind = i->layer < 0 && t->behind;
    if (i->layer >= 0) t->behind = true;
    d->counts[i->verdict]++;
    d->steps[i->pair].counts[i->verdict]++;
    d->steps[i->pair].worst_rel_l2 = tt_larger(d->steps[i->pair].worst_rel_l2, size_of(i));
    if (i->verdict != TT_VALUE_UNMEASURED) d->compared++;
    if (!put_depth(d, t, i, behind) || !put_layer(d, t, i, behind)) return false;
    for (size_t k = 0; k < d->n_stages; k++) {
        if (d->stages[k].stage != i->stage) continue; /* each text is kept once */
        put(&d->stages[k], i);
        return true;
    }
    if (d->n_stages == ROWS_MAX) return true;
    tt_valuediff_row *r = new_row(&d->stages, &d->n_stages, &t->stage_capacity);
    if (!r) return false;
    r->stage = i->stage;
    put(r, i);
    return true;
}

/* Before the layers, the layers, after all of them, logits. */
static int place_of(int32_t layer, bool behind)
{
    if (layer >= 0) return 1;
    return !behind ? 0 : layer == TT_STAGE_LAYER_AFTER_ALL ? 2 : 3;
}

static int by_layer(const void *left, const void *right)
{
    const tt_valuediff_row *a = left, *b = right;
    int pa = place_of(a->layer, a->behind), pb = place_of(b->layer, b->behind);
    if (pa != pb) return pa < pb ? -1 : 1;
    return a->layer < b->layer ? -1 : a->layer > b->layer;
}

static int by_depth(const void *left, const void *right)
{
    const tt_valuediff_depth *a = left, *b = right;
    if (a->pair != b->pair) return a->pair < b->pair ? -1 : 1;
    int pa = place_of(a->layer, a->behind), pb = place_of(b->layer, b->behind);
    if (pa != pb) return pa < pb ? -1 : 1;
    return a->layer < b->layer ? -1 : a->layer > b->layer;
}

void tt_valuediff_tally_end(tt_valuediff *d)
{
    if (d->n_layers) qsort(d->layers, d->n_layers, sizeof *d->layers, by_layer);
    if (d->n_depth) qsort(d->depth, d->n_depth, sizeof *d->depth, by_depth);
}
