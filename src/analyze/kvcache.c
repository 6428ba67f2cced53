#include "analyze/kvcache.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An op of a graph that writes keys into a cache. */
typedef struct write {
    uint32_t node;
    uint32_t tensor; /* in kv.tensors */
} write;

typedef struct writes {
    write *list;
    uint32_t n;
    bool known;
} writes;

typedef struct follower {
    const tt_model *m;
    const tt_filter *filter; /* NULL: everything */
    bool *passes;            /* by graph; NULL: all do */
    tt_kv *kv;
    writes *of_graph;
    uint32_t *cache_of; /* by tensor */
    uint64_t cells;     /* with bits, over all tensors */
    uint64_t work;      /* cells visited */
} follower;

/* More tensors in a buffer, or cells written in total, do not occur in real traces: further ones
 * are ignored, and counts are lower bounds. */
#define TENSORS_MAX 4096u
#define WORK_MAX ((uint64_t)1 << 32)

/* --- the tensors --- */

/* "cache_k_l12": role k, layer 12. */
static bool parse_name(const char *name, char *role, int32_t *layer)
{
    uint32_t v = 0;
    const char *digits = name + 9;
    if (strncmp(name, "cache_", 6) != 0 || name[6] < 'a' || name[6] > 'z') return false;
    if (name[7] != '_' || name[8] != 'l' || !*digits) return false;
    for (; *digits; digits++) {
        if (*digits < '0' || *digits > '9' || v > 100000) return false;
        v = v * 10 + (uint32_t)(*digits - '0');
    }
    *role = name[6];
    *layer = (int32_t)v;
    return true;
}

static int by_place(const void *a, const void *b)
{
    const tt_kv_tensor *x = a, *y = b;
    if (x->buffer != y->buffer) return x->buffer < y->buffer ? -1 : 1;
    if (x->offset_bytes != y->offset_bytes) return x->offset_bytes < y->offset_bytes ? -1 : 1;
    if (x->size_bytes != y->size_bytes) return x->size_bytes < y->size_bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool as_cache(const tt_graph *g, uint32_t i, tt_kv_tensor *out)
{
    const tt_tensor *t = &g->tensors[i];
    if (i < g->n_nodes || t->root != i) return false;
    *out = (tt_kv_tensor){.name = t->name,
                          .type_name = t->type_name,
                          .buffer = t->buffer,
                          .offset_bytes = t->location,
                          .size_bytes = t->size_bytes};
    if (!parse_name(t->name, &out->role, &out->layer_id)) return false;
    if (tt_layer_number(t->place.layer_id) == out->layer_id) out->layer_id = t->place.layer_id;
    return true;
}

/* The leafs of graph k that may be caches: first .. n_tensors - 1. */
static uint32_t first_leaf(const follower *f, uint32_t k)
{
    const tt_graph *g = &f->m->graphs[k];
    return f->passes && !f->passes[k] ? g->n_tensors : g->n_nodes;
}

static bool find_tensors(follower *f)
{
    size_t n = 0, kept = 0;
    tt_kv_tensor t;
    for (uint32_t k = 0; k < f->m->n_graphs; k++)
        for (uint32_t i = first_leaf(f, k); i < f->m->graphs[k].n_tensors; i++)
            n += as_cache(&f->m->graphs[k], i, &t);
    tt_kv_tensor *list = calloc(n + 1, sizeof *list);
    if (!list) return false;
    n = 0;
    for (uint32_t k = 0; k < f->m->n_graphs; k++)
        for (uint32_t i = first_leaf(f, k); i < f->m->graphs[k].n_tensors; i++)
            n += as_cache(&f->m->graphs[k], i, &list[n]);
    qsort(list, n, sizeof *list, by_place);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || by_place(&list[kept - 1], &list[i]) != 0) list[kept++] = list[i];
    f->kv->tensors = list;
    f->kv->n_tensors = (uint32_t)kept;
    return true;
}

/* The layer's keys in the same buffer; tensors are sorted by buffer. */
static uint32_t find_leader(const tt_kv *kv, uint32_t first, uint32_t n, uint32_t of)
{
    for (uint32_t i = first; i < first + n; i++)
        if (kv->tensors[i].role == 'k' && kv->tensors[i].layer_id == kv->tensors[of].layer_id)
            return i;
    return TT_NONE;
}

static bool find_caches(follower *f)
{
    tt_kv *kv = f->kv;
    kv->caches = calloc((size_t)kv->n_tensors + 1, sizeof *kv->caches);
    f->cache_of = calloc((size_t)kv->n_tensors + 1, sizeof *f->cache_of);
    if (!kv->caches || !f->cache_of) return false;
    for (uint32_t i = 0; i < kv->n_tensors; i++) {
        tt_kv_tensor *t = &kv->tensors[i];
        if (i == 0 || t->buffer != kv->tensors[i - 1].buffer)
            kv->caches[kv->n_caches++] = (tt_kv_cache){.buffer = t->buffer, .first = i};
        tt_kv_cache *c = &kv->caches[kv->n_caches - 1];
        c->n_tensors++;
        if (__builtin_add_overflow(c->size_bytes, t->size_bytes, &c->size_bytes))
            c->size_bytes = UINT64_MAX;
        f->cache_of[i] = kv->n_caches - 1;
        t->leader = TT_NONE;
    }
    for (uint32_t k = 0; k < kv->n_caches; k++) {
        const tt_kv_cache *c = &kv->caches[k];
        if (c->n_tensors > TENSORS_MAX) continue;
        for (uint32_t i = c->first; i < c->first + c->n_tensors; i++) {
            if (kv->tensors[i].role == 'k') kv->tensors[i].leader = i;
            if (kv->tensors[i].role == 'v')
                kv->tensors[i].leader = find_leader(kv, c->first, c->n_tensors, i);
        }
    }
    return true;
}

/* --- the ops that write to them --- */

static uint32_t find_tensor(const follower *f, const tt_graph *g, uint32_t root)
{
    tt_kv_tensor t;
    if (!as_cache(g, root, &t) || t.role != 'k') return TT_NONE;
    const tt_kv_tensor *at =
        bsearch(&t, f->kv->tensors, f->kv->n_tensors, sizeof *f->kv->tensors, by_place);
    if (!at || at->leader == TT_NONE) return TT_NONE;
    return (uint32_t)(at - f->kv->tensors);
}

/* An op whose result is a view of the cache, and whose input is not: shifting and moving cells in
 * the cache fills no new one. */
static uint32_t written_tensor(const follower *f, const tt_graph *g, uint32_t node)
{
    const tt_tensor *t = &g->tensors[node];
    if (!(t->flags & TT_TENSOR_EXECUTES) || t->root == node || t->root < g->n_nodes) return TT_NONE;
    if (strcmp(t->op_name, "SET_ROWS") != 0 && strcmp(t->op_name, "CPY") != 0) return TT_NONE;
    if (t->n_src == 0 || t->src[0] == TT_NONE) return TT_NONE;
    return g->tensors[t->src[0]].root == t->root ? TT_NONE : find_tensor(f, g, t->root);
}

static bool find_writes(const follower *f, const tt_graph *g, writes *w)
{
    uint32_t n = 0;
    w->known = true;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += written_tensor(f, g, i) != TT_NONE;
    if (n == 0) return true;
    w->list = calloc(n, sizeof *w->list);
    if (!w->list) return false;
    for (uint32_t i = 0; i < g->n_nodes && w->n < n; i++) {
        uint32_t tensor = written_tensor(f, g, i);
        if (tensor != TT_NONE) w->list[w->n++] = (write){i, tensor};
    }
    return true;
}

/* --- the cells --- */

/* False: out of memory. A cache of another shape than before, or beyond the limit, is ignored. */
static bool shape(follower *f, tt_kv_tensor *t, uint64_t row_bytes, bool *fits)
{
    *fits = false;
    if (row_bytes == 0 || t->size_bytes < row_bytes) return true;
    if (t->bits) {
        *fits = row_bytes == t->row_bytes;
        return true;
    }
    uint64_t cells = t->size_bytes / row_bytes;
    if (cells > TT_KV_CELLS_MAX - f->cells) return true;
    t->bits = calloc((size_t)(cells / 64 + 1), sizeof *t->bits);
    if (!t->bits) return false;
    f->cells += cells;
    t->cells = cells;
    t->row_bytes = row_bytes;
    *fits = true;
    return true;
}

static void set_cell(tt_kv_tensor *t, uint64_t cell)
{
    uint64_t bit = (uint64_t)1 << (cell % 64);
    if (t->bits[cell / 64] & bit) return;
    t->bits[cell / 64] |= bit;
    t->written++;
}

const tt_indices *tt_kv_row_numbers(const tt_model *m, uint32_t run, const tt_graph *g,
                                    const tt_tensor *t)
{
    if (t->n_src < 2 || t->src[1] == TT_NONE) return NULL;
    const tt_tensor *index = &g->tensors[t->src[1]];
    const tt_indices *rows = tt_model_indices(m, run, t->src[1]);
    if (!rows && index->root_offset_bytes == 0) {
        /* A view of all of them is fine, too. */
        rows = tt_model_indices(m, run, index->root);
        if (rows && g->tensors[index->root].size_bytes != index->size_bytes) rows = NULL;
    }
    return rows;
}

/* Whether n more cells may be visited. */
static bool afford(follower *f, uint64_t n)
{
    if (n > WORK_MAX - f->work) return false;
    f->work += n;
    return true;
}

/* Both: false if out of memory; *done: the cells are known. */
static bool set_rows(follower *f, uint32_t run, const tt_graph *g, const write *w, bool *done)
{
    const tt_tensor *t = &g->tensors[w->node];
    tt_kv_tensor *to = &f->kv->tensors[w->tensor];
    uint64_t row_bytes = t->nb[1];
    bool fits;
    *done = false;
    if (!shape(f, to, row_bytes, &fits)) return false;
    const tt_indices *rows = tt_kv_row_numbers(f->m, run, g, t);
    if (!rows || !fits || t->ne[2] > 1 || t->ne[3] > 1 || t->root_offset_bytes % row_bytes != 0)
        return true;
    uint64_t first = t->root_offset_bytes / row_bytes;
    *done = afford(f, rows->n);
    for (uint32_t i = 0; i < rows->n && *done; i++) {
        uint64_t row = (uint64_t)rows->values[i];
        *done = rows->values[i] >= 0 && first < to->cells && row < to->cells - first;
        if (*done) set_cell(to, first + row);
    }
    return true;
}

static bool copy_rows(follower *f, uint32_t run, const tt_graph *g, const write *w, bool *done)
{
    const tt_tensor *t = &g->tensors[w->node];
    tt_kv_tensor *to = &f->kv->tensors[w->tensor];
    uint32_t batch = f->m->runs[run].batch, n = 0;
    bool fits;
    *done = false;
    /* The batch has as many positions as tokens; each gets a row of its own. */
    if (batch != TT_NONE) n = f->m->batches[batch].n_tokens;
    if (n == 0 || t->size_bytes % n != 0) return true;
    uint64_t row_bytes = t->size_bytes / n;
    if (!shape(f, to, row_bytes, &fits)) return false;
    if (!fits || t->root_offset_bytes % row_bytes != 0) return true;
    uint64_t first = t->root_offset_bytes / row_bytes;
    if (first >= to->cells || n > to->cells - first || !afford(f, n)) return true;
    for (uint32_t i = 0; i < n; i++)
        set_cell(to, first + i);
    *done = true;
    return true;
}

/* --- over the runs --- */

uint64_t tt_kv_written_bytes(const tt_kv *kv, const tt_kv_tensor *t)
{
    const tt_kv_tensor *leader = t->leader == TT_NONE ? NULL : &kv->tensors[t->leader];
    if (!leader || leader->cells == 0) return 0;
    return (uint64_t)((unsigned __int128)t->size_bytes * leader->written / leader->cells);
}

static void sum_up(tt_kv *kv, tt_kv_cache *c)
{
    c->cells = c->written = c->written_bytes = 0;
    for (uint32_t i = c->first; i < c->first + c->n_tensors; i++) {
        const tt_kv_tensor *t = &kv->tensors[i];
        if (t->cells > c->cells) c->cells = t->cells;
        if (t->written > c->written) c->written = t->written;
        c->at_least |= t->at_least;
        c->observed |= t->observed;
        uint64_t bytes = tt_kv_written_bytes(kv, t);
        if (__builtin_add_overflow(c->written_bytes, bytes, &c->written_bytes))
            c->written_bytes = UINT64_MAX;
    }
}

static bool add_step(tt_kv *kv, tt_kv_cache *c, uint32_t batch)
{
    sum_up(kv, c);
    if (batch == TT_NONE) return true;
    if (c->n_steps == 0 || c->steps[c->n_steps - 1].batch != batch) {
        if (!tt_array_one_more(c->steps, c->n_steps, c->capacity)) return false;
        c->n_steps++;
    }
    c->steps[c->n_steps - 1] =
        (tt_kv_step){batch, (uint32_t)(c - kv->caches), c->written, c->written_bytes};
    return true;
}

static bool follow_run(follower *f, uint32_t run)
{
    const tt_run *r = &f->m->runs[run];
    if (r->graph == TT_NONE || (f->filter && !tt_filter_run(f->filter, f->m, r))) return true;
    const tt_graph *g = &f->m->graphs[r->graph];
    writes *w = &f->of_graph[r->graph];
    if (!w->known && !find_writes(f, g, w)) return false;
    for (uint32_t i = 0; i < w->n; i++) {
        tt_kv_tensor *t = &f->kv->tensors[w->list[i].tensor];
        bool rows = strcmp(g->tensors[w->list[i].node].op_name, "SET_ROWS") == 0, done = false;
        /* The progress of an incomplete run is unknown. */
        bool ok = !r->ended || (rows ? set_rows(f, run, g, &w->list[i], &done)
                                     : copy_rows(f, run, g, &w->list[i], &done));
        if (!ok) return false;
        t->observed |= done;
        t->at_least |= !done;
    }
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t cache = f->cache_of[w->list[i].tensor];
        bool next = i + 1 < w->n && f->cache_of[w->list[i + 1].tensor] == cache;
        if (!next && !add_step(f->kv, &f->kv->caches[cache], r->batch)) return false;
    }
    return true;
}

/* Values use the same cells as the keys. */
static void lead(tt_kv *kv)
{
    for (uint32_t i = 0; i < kv->n_tensors; i++) {
        tt_kv_tensor *t = &kv->tensors[i];
        if (t->leader == TT_NONE || t->leader == i) continue;
        const tt_kv_tensor *k = &kv->tensors[t->leader];
        t->cells = k->cells;
        t->written = k->written;
        t->observed = k->observed;
        t->at_least = k->at_least;
    }
}

/* The steps of all caches in one array. */
static bool join_steps(tt_kv *kv)
{
    size_t n = 0;
    for (uint32_t i = 0; i < kv->n_caches; i++) {
        if (!kv->caches[i].observed) kv->caches[i].n_steps = 0;
        n += kv->caches[i].n_steps;
    }
    kv->steps = reallocarray(NULL, n + 1, sizeof *kv->steps);
    if (!kv->steps) return false;
    for (uint32_t i = 0; i < kv->n_caches; i++) {
        tt_kv_cache *c = &kv->caches[i];
        tt_kv_step *at = kv->steps + kv->n_steps;
        if (c->n_steps) memcpy(at, c->steps, c->n_steps * sizeof *at);
        free(c->steps);
        c->steps = at;
        kv->n_steps += c->n_steps;
    }
    return true;
}

static bool follow(follower *f)
{
    const tt_model *m = f->m;
    if (f->filter && !(f->passes = tt_filter_graphs(f->filter, m))) return false;
    if (!find_tensors(f) || !find_caches(f)) return false;
    f->of_graph = calloc((size_t)m->n_graphs + 1, sizeof *f->of_graph);
    if (!f->of_graph) return false;
    bool ok = true;
    for (uint32_t i = 0; i < m->n_runs && f->kv->n_tensors && ok; i++)
        ok = follow_run(f, i);
    for (uint32_t i = 0; i < m->n_graphs; i++)
        free(f->of_graph[i].list);
    lead(f->kv);
    return ok && join_steps(f->kv);
}

tt_status tt_kv_of(const tt_model *m, const tt_filter *filter, tt_kv **out, tt_error *err)
{
    follower f = {.m = m, .filter = filter, .kv = calloc(1, sizeof *f.kv)};
    *out = f.kv;
    bool ok = f.kv && follow(&f);
    free(f.of_graph);
    free(f.cache_of);
    free(f.passes);
    if (ok) return TT_OK;
    tt_kv_free(f.kv);
    *out = NULL;
    return tt_error_memory(err, "the KV caches");
}

void tt_kv_free(tt_kv *kv)
{
    if (!kv) return;
    for (uint32_t i = 0; i < kv->n_tensors; i++)
        free(kv->tensors[i].bits);
    for (uint32_t i = 0; i < kv->n_caches; i++)
        if (!kv->steps) free(kv->caches[i].steps);
    free(kv->steps);
    free(kv->tensors);
    free(kv->caches);
    free(kv);
}
