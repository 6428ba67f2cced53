#include "analyze/values/grid.h"

#include "analyze/values/groups.h"
#include "base/array.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESIDUAL "l_out"

typedef struct entry {
    int32_t layer;
    uint32_t batch;
    tt_values_sum sum;
    tt_values_cell cell;
} entry;

typedef struct building {
    const tt_model *m;
    tt_values_grid *out;
    bool any; /* the last output of each layer, whatever its name */
    entry *list;
    size_t n, capacity;
    tt_idmap by_cell;
    tt_values_keys keys; /* names */
} building;

static bool is_at(const tt_tensor *t, const char *place)
{
    char text[TT_VALUES_KEY_TEXT];
    return strcmp(tt_values_base_name(t, text), place) == 0;
}

static bool has_place(const tt_model *m, const char *place)
{
    for (uint32_t g = 0; g < m->n_graphs; g++)
        for (uint32_t i = 0; i < m->graphs[g].n_nodes; i++) {
            const tt_tensor *t = &m->graphs[g].tensors[i];
            if ((t->flags & TT_TENSOR_EXECUTES) && t->place.layer_id >= 0 && is_at(t, place))
                return true;
        }
    return false;
}

static entry *entry_of(building *b, int32_t layer, uint32_t batch)
{
    const uint64_t key = (uint64_t)(uint32_t)layer << 32 | batch;
    uint32_t at = tt_idmap_get(&b->by_cell, key), was;
    if (at != TT_NONE) return &b->list[at];
    if (!tt_array_one_more(b->list, b->n, b->capacity)) return NULL;
    if (!tt_idmap_add(&b->by_cell, key, (uint32_t)b->n, &was)) return NULL;
    b->list[b->n] = (entry){.layer = layer, .batch = batch};
    return &b->list[b->n++];
}

static tt_status take(void *context, tt_values_walk *w, const tt_values_seen *seen, tt_error *err)
{
    building *b = context;
    const tt_tensor *t = &b->m->graphs[seen->graph].tensors[seen->node];
    const uint32_t batch = b->m->runs[seen->run].batch;
    const tt_fingerprint *p = seen->print;
    if (!p || batch == TT_NONE || (b->any && t->place.layer_id < 0)) return TT_OK;
    const uint32_t place = tt_values_keys_of(&b->keys, w, seen);
    if (place == TT_NONE) return tt_error_memory(err, "values over the layers");
    if (!b->any && strcmp(b->keys.texts.list[place], b->out->place) != 0) return TT_OK;
    if (b->n >= TT_VALUES_GRID_CELLS_MAX) {
        b->out->cut = true;
        return TT_OK;
    }
    entry *e = entry_of(b, t->place.layer_id, batch);
    if (!e) return tt_error_memory(err, "values over the layers");
    if (b->any) *e = (entry){.layer = e->layer, .batch = batch};
    tt_values_sum_add(&e->sum, p);
    e->cell.outputs++;
    e->cell.masking |= seen->state == TT_STATE_MASKING;
    e->cell.elements += p->n;
    e->cell.n_nan += p->n_nan;
    e->cell.n_inf += p->n_inf;
    e->cell.run = seen->run;
    e->cell.node = seen->node;
    return TT_OK;
}

static void finish_cell(tt_values_cell *c, const tt_values_sum *s)
{
    c->has_range = s->finite > 0;
    c->min = s->min;
    c->max = s->max;
    c->rms = tt_values_sum_rms(s);
    c->mean = tt_values_sum_mean(s);
}

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts and removes duplicates of n numbers; returns how many are left. */
static size_t distinct(int64_t *v, size_t n)
{
    size_t out = 0;
    if (n) qsort(v, n, sizeof *v, by_number);
    for (size_t i = 0; i < n; i++)
        if (out == 0 || v[i] != v[out - 1]) v[out++] = v[i];
    return out;
}

static bool make_axes(building *b)
{
    tt_values_grid *out = b->out;
    int64_t *room = calloc(b->n + 1, sizeof *room);
    size_t n;
    if (!room) return false;
    for (size_t i = 0; i < b->n; i++)
        room[i] = b->list[i].layer;
    out->n_layers = (uint32_t)(n = distinct(room, b->n));
    out->layers = calloc(n + 1, sizeof *out->layers);
    for (size_t i = 0; out->layers && i < n; i++)
        out->layers[i] = (int32_t)room[i];
    for (size_t i = 0; i < b->n; i++)
        room[i] = b->list[i].batch;
    n = distinct(room, b->n);
    if (n && n * out->n_layers > TT_VALUES_GRID_CELLS_MAX) {
        n = TT_VALUES_GRID_CELLS_MAX / out->n_layers;
        out->cut = true;
    }
    out->n_batches = (uint32_t)n;
    out->batches = calloc(n + 1, sizeof *out->batches);
    for (size_t i = 0; out->batches && i < n; i++)
        out->batches[i] = (uint32_t)room[i];
    free(room);
    return out->layers && out->batches;
}

static int by_layer(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int by_batch(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool make_cells(building *b)
{
    tt_values_grid *out = b->out;
    if (!make_axes(b)) return false;
    out->cells = calloc((size_t)out->n_layers * out->n_batches + 1, sizeof *out->cells);
    for (size_t i = 0; out->cells && i < b->n; i++) {
        entry *e = &b->list[i];
        const int32_t *layer =
            bsearch(&e->layer, out->layers, out->n_layers, sizeof *out->layers, by_layer);
        const uint32_t *batch =
            bsearch(&e->batch, out->batches, out->n_batches, sizeof *out->batches, by_batch);
        if (!layer || !batch) continue; /* beyond the limit */
        finish_cell(&e->cell, &e->sum);
        out->cells[(size_t)(layer - out->layers) * out->n_batches +
                   (size_t)(batch - out->batches)] = e->cell;
    }
    return out->cells;
}

tt_status tt_values_grid_make(const tt_model *m, const tt_values_query *q, const char *place,
                              const tt_over *over, tt_values_grid *out, tt_error *err)
{
    building b = {.m = m, .out = out, .keys = {.what = TT_VALUES_KEY_BASE_NAME, .m = m}};
    tt_values_counts counts;
    memset(out, 0, sizeof *out);
    if (!place && has_place(m, RESIDUAL)) place = RESIDUAL;
    b.any = !place;
    (void)snprintf(out->place, sizeof out->place, "%s", place ? place : "");
    tt_status status = tt_values_walk_all(m, q, false, over, take, &b, &counts, err);
    if (status == TT_OK && !make_cells(&b)) status = tt_error_memory(err, "values over the layers");
    free(b.list);
    tt_idmap_free(&b.by_cell);
    tt_values_keys_free(&b.keys);
    return status;
}

void tt_values_grid_free(tt_values_grid *g)
{
    free(g->layers);
    free(g->batches);
    free(g->cells);
    memset(g, 0, sizeof *g);
}

static void add_cell(tt_values_growth *out, tt_values_sum *sum, const tt_values_cell *c)
{
    const tt_fingerprint p = {.n = c->elements,
                              .n_nan = c->n_nan,
                              .n_inf = c->n_inf,
                              .has_range = c->has_range,
                              .min = c->min,
                              .max = c->max,
                              .mean = c->mean,
                              .rms = c->rms};
    tt_values_sum_add(sum, &p);
    out->batches++;
    out->outputs += c->outputs;
    out->all.elements += c->elements;
    out->all.n_nan += c->n_nan;
    out->all.n_inf += c->n_inf;
    out->all.masking |= c->masking;
    out->all.run = c->run;
    out->all.node = c->node;
    if (!c->has_range) return;
    if (!out->all.has_range || c->rms < out->rms_min) out->rms_min = c->rms;
    if (!out->all.has_range || c->rms > out->rms_max) out->rms_max = c->rms;
    out->all.has_range = true;
}

uint64_t tt_values_growth_of(const tt_model *m, const tt_values_grid *g, unsigned phase,
                             tt_values_growth *out)
{
    uint64_t batches = 0;
    for (uint32_t b = 0; b < g->n_batches; b++)
        batches += !phase || m->batches[g->batches[b]].phase == phase;
    for (uint32_t l = 0; l < g->n_layers; l++) {
        tt_values_sum sum = {0};
        out[l] = (tt_values_growth){.phase = phase, .layer_id = g->layers[l]};
        for (uint32_t b = 0; b < g->n_batches; b++) {
            const tt_values_cell *c = &g->cells[(size_t)l * g->n_batches + b];
            if (c->outputs && (!phase || m->batches[g->batches[b]].phase == phase))
                add_cell(&out[l], &sum, c);
        }
        out[l].all.outputs = out[l].outputs > UINT32_MAX ? UINT32_MAX : (uint32_t)out[l].outputs;
        finish_cell(&out[l].all, &sum);
        /* The layer before may be the last one of another stack. */
        if (l == 0 || !tt_layer_beside(out[l].layer_id, out[l - 1].layer_id) ||
            !out[l].all.has_range || !(out[l - 1].all.rms > 0))
            continue;
        out[l].has_ratio = true;
        out[l].ratio = out[l].all.rms / out[l - 1].all.rms;
    }
    return batches;
}

tt_values_growth *tt_values_growth_list(const tt_model *m, const tt_values_grid *g, size_t *n)
{
    tt_values_growth *list = calloc((size_t)g->n_layers * TT_PHASE_GENERATE + 1, sizeof *list);
    *n = 0;
    for (unsigned phase = TT_PHASE_PROMPT; list && phase <= TT_PHASE_GENERATE; phase++)
        if (tt_values_growth_of(m, g, phase, &list[*n])) *n += g->n_layers;
    return list;
}
