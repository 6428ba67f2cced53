#include "analyze/buffers.h"

#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 wide;

/* The location of a tensor in a buffer. */
typedef struct place {
    uint32_t buffer;
    uint64_t begin, end;
    const char *name; /* equal strings of the trace have the same pointer */
} place;

/* Which graphs count, and in which context each was computed. */
typedef struct graphs {
    const tt_model *m;
    bool *passes; /* by graph; NULL: all do */
    tt_buffer_user *contexts;
} graphs;

typedef struct held_layer {
    uint32_t buffer;
    int32_t layer;
} held_layer;

/* Sums of sizes in a file may exceed 64 bits. */
static uint64_t clamp(wide v)
{
    return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

tt_backing tt_buffer_backing(const tt_buffer *b)
{
    if (b->flags & TT_BUFFER_FILE) return TT_BACKING_FILE;
    return b->flags & TT_BUFFER_PLACE_UNKNOWN ? TT_BACKING_UNKNOWN : TT_BACKING_ALLOCATED;
}

const char *tt_buffer_usage_name(unsigned usage)
{
    static const char *const names[] = {"any", "weights", "compute"};
    return usage < sizeof names / sizeof *names ? names[usage] : "other";
}

const char *tt_backing_name(tt_backing backing)
{
    static const char *const names[] = {"allocated", "file", "unknown"};
    return names[backing];
}

/* --- what is in them --- */

static bool is_root(const tt_graph *g, uint32_t i)
{
    return g->tensors[i].root == i && g->tensors[i].buffer != TT_NONE;
}

/* Layers are listed only for persistent content: values in a compute buffer are temporary. */
static bool holds_layer(const tt_graph *g, uint32_t i)
{
    return i >= g->n_nodes && g->tensors[i].place.layer_id >= 0;
}

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->buffer != y->buffer) return x->buffer < y->buffer ? -1 : 1;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static int by_layer(const void *a, const void *b)
{
    const held_layer *x = a, *y = b;
    if (x->buffer != y->buffer) return x->buffer < y->buffer ? -1 : 1;
    return x->layer < y->layer ? -1 : x->layer > y->layer;
}

static void sum_places(tt_buffers *b, const place *list, size_t n)
{
    uint64_t covered_to = 0;
    for (size_t i = 0; i < n; i++) {
        tt_buffer_life *u = &b->uses[list[i].buffer];
        bool first = i == 0 || list[i].buffer != list[i - 1].buffer;
        if (first) covered_to = 0;
        if (first || by_place(&list[i - 1], &list[i]) != 0) u->n_tensors++;
        uint64_t begin = list[i].begin > covered_to ? list[i].begin : covered_to;
        if (list[i].end <= begin) continue;
        u->used_bytes += list[i].end - begin;
        covered_to = list[i].end;
    }
}

static bool sum_layers(tt_buffers *b, const held_layer *list, size_t n)
{
    size_t kept = 0;
    b->layers = calloc(n + 1, sizeof *b->layers);
    if (!b->layers) return false;
    for (size_t i = 0; i < n; i++) {
        tt_buffer_life *u = &b->uses[list[i].buffer];
        if (i > 0 && by_layer(&list[i - 1], &list[i]) == 0) continue;
        if (u->n_layers++ == 0) u->layers = b->layers + kept;
        b->layers[kept++] = list[i].layer;
    }
    return true;
}

static void add_user(tt_buffer_user *u, const tt_buffer_user *one)
{
    if (!one->known) return;
    u->several |= one->several || (u->known && u->id != one->id);
    u->id = one->id;
    u->known = true;
}

/* Of a weight that of its file, else that of the graph. */
static tt_buffer_user model_of(const tt_model *m, const tt_graph *g, const tt_tensor *t)
{
    const uint32_t model =
        t->weight == TT_NONE ? g->model : m->files[m->weights[t->weight].file].model;
    return (tt_buffer_user){.id = model, .known = model != TT_NONE};
}

static void collect(const graphs *of, tt_buffers *b, place *places, size_t *n, held_layer *layers,
                    size_t *n_layers)
{
    const tt_model *m = of->m;
    for (uint32_t k = 0; k < m->n_graphs; k++) {
        const tt_graph *g = &m->graphs[k];
        if (of->passes && !of->passes[k]) continue;
        for (uint32_t i = 0; i < g->n_tensors; i++) {
            const tt_tensor *t = &g->tensors[i];
            if (!is_root(g, i)) continue;
            const tt_buffer_user model = model_of(m, g, t);
            add_user(&b->uses[t->buffer].model, &model);
            add_user(&b->uses[t->buffer].context, &of->contexts[k]);
            uint64_t room = m->buffers[t->buffer].size_bytes;
            uint64_t begin = t->location < room ? t->location : room;
            uint64_t end = t->size_bytes < room - begin ? begin + t->size_bytes : room;
            places[(*n)++] = (place){t->buffer, begin, end, t->name};
            if (holds_layer(g, i))
                layers[(*n_layers)++] = (held_layer){t->buffer, t->place.layer_id};
        }
    }
}

static bool find_graphs(graphs *of, const tt_filter *f)
{
    const tt_model *m = of->m;
    if (f && !(of->passes = tt_filter_graphs(f, m))) return false;
    of->contexts = calloc((size_t)m->n_graphs + 1, sizeof *of->contexts);
    for (uint32_t i = 0; of->contexts && i < m->n_runs; i++) {
        const tt_run *r = &m->runs[i];
        if (r->graph == TT_NONE || r->batch == TT_NONE) continue;
        const tt_buffer_user one = {.id = m->batches[r->batch].context, .known = true};
        add_user(&of->contexts[r->graph], &one);
    }
    return of->contexts != NULL;
}

static void count_unused(tt_buffers *b, const tt_model *m)
{
    bool *used = calloc((size_t)m->n_buffers + 1, sizeof *used);
    for (uint32_t k = 0; used && k < m->n_graphs; k++)
        for (uint32_t i = 0; i < m->graphs[k].n_tensors; i++)
            if (is_root(&m->graphs[k], i)) used[m->graphs[k].tensors[i].buffer] = true;
    for (uint32_t i = 0; used && i < m->n_buffers; i++)
        b->n_unused += !used[i];
    free(used);
}

static bool find_uses(tt_buffers *b, const graphs *of)
{
    const tt_model *m = of->m;
    size_t most = 1, most_layers = 1, n = 0, n_layers = 0;
    for (uint32_t k = 0; k < m->n_graphs; k++)
        for (uint32_t i = 0; i < m->graphs[k].n_tensors; i++) {
            if (!is_root(&m->graphs[k], i)) continue;
            most++;
            most_layers += holds_layer(&m->graphs[k], i);
        }
    place *places = calloc(most, sizeof *places);
    held_layer *layers = calloc(most_layers, sizeof *layers);
    bool ok = places && layers;
    if (ok) {
        collect(of, b, places, &n, layers, &n_layers);
        qsort(places, n, sizeof *places, by_place);
        qsort(layers, n_layers, sizeof *layers, by_layer);
        sum_places(b, places, n);
        ok = sum_layers(b, layers, n_layers);
    }
    free(places);
    free(layers);
    return ok;
}

/* --- lifetimes --- */

/* At the same time frees come first, but a buffer is allocated before it is freed. */
static unsigned rank(const tt_buffer_event *e, const tt_model *m)
{
    if (!e->is_free) return 1;
    return m->buffers[e->buffer].alloc_ticks < e->ticks ? 0 : 2;
}

static int by_time(const void *a, const void *b, void *model)
{
    const tt_buffer_event *x = a, *y = b;
    unsigned of_x = rank(x, model), of_y = rank(y, model);
    if (x->ticks != y->ticks) return x->ticks < y->ticks ? -1 : 1;
    if (of_x != of_y) return of_x < of_y ? -1 : 1;
    return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

static void sum_events(tt_buffers *b, const tt_model *m)
{
    wide now[TT_BACKINGS] = {0}, most[TT_BACKINGS] = {0};
    uint32_t n_active = 0;
    for (uint32_t i = 0; i < b->n_events; i++) {
        tt_buffer_event *e = &b->events[i];
        const tt_buffer *buffer = &m->buffers[e->buffer];
        tt_backing backing = tt_buffer_backing(buffer);
        if (e->is_free) {
            now[backing] -= buffer->size_bytes;
            n_active--;
            b->uses[e->buffer].free_event = i;
        } else {
            now[backing] += buffer->size_bytes;
            n_active++;
            b->uses[e->buffer].alloc_event = i;
        }
        e->n_active = n_active;
        for (unsigned k = 0; k < TT_BACKINGS; k++) {
            e->bytes[k] = clamp(now[k]);
            if (now[k] <= most[k]) continue;
            most[k] = now[k];
            b->peak[k] = i;
        }
    }
}

/* used: only of buffers that some graph uses. */
static bool find_events(tt_buffers *b, const tt_model *m, bool used)
{
    b->events = calloc(2 * (size_t)m->n_buffers + 1, sizeof *b->events);
    if (!b->events) return false;
    for (uint32_t i = 0; i < m->n_buffers; i++) {
        const tt_buffer *buffer = &m->buffers[i];
        if (used && !b->uses[i].n_tensors) continue;
        b->events[b->n_events++] = (tt_buffer_event){.ticks = buffer->alloc_ticks, .buffer = i};
        if (!buffer->free_ticks) continue;
        /* `verify` reports a free before its allocation; here it must not count twice. */
        bool sane = buffer->free_ticks >= buffer->alloc_ticks;
        b->events[b->n_events++] = (tt_buffer_event){
            .ticks = sane ? buffer->free_ticks : buffer->alloc_ticks, .buffer = i, .is_free = true};
    }
    qsort_r(b->events, b->n_events, sizeof *b->events, by_time, (void *)m);
    sum_events(b, m);
    return true;
}

tt_status tt_buffers_peaks(const tt_model *m, tt_buffers_peak peaks[TT_BUFFER_KINDS], tt_error *err)
{
    wide now[TT_BUFFER_KINDS] = {0}, most[TT_BUFFER_KINDS] = {0};
    uint32_t alive[TT_BUFFER_KINDS] = {0};
    tt_buffers b = {.uses = calloc((size_t)m->n_buffers + 1, sizeof *b.uses)};
    const bool ok = b.uses && find_events(&b, m, false);
    memset(peaks, 0, TT_BUFFER_KINDS * sizeof *peaks);
    for (uint32_t i = 0; ok && i < b.n_events; i++) {
        const tt_buffer *buffer = &m->buffers[b.events[i].buffer];
        const unsigned kind = buffer->kind;
        if (b.events[i].is_free) {
            now[kind] -= buffer->size_bytes;
            alive[kind]--;
            continue;
        }
        now[kind] += buffer->size_bytes;
        alive[kind]++;
        if (peaks[kind].count && now[kind] <= most[kind]) continue;
        most[kind] = now[kind];
        peaks[kind] = (tt_buffers_peak){alive[kind], clamp(now[kind])};
    }
    free(b.events);
    free(b.uses);
    return ok ? TT_OK : tt_error_memory(err, "the buffers");
}

tt_status tt_buffers_of(const tt_model *m, const tt_filter *f, tt_buffers **out, tt_error *err)
{
    graphs of = {.m = m};
    *out = NULL;
    tt_buffers *b = calloc(1, sizeof *b);
    if (!b) return tt_error_memory(err, "the buffers");
    for (unsigned k = 0; k < TT_BACKINGS; k++)
        b->peak[k] = TT_NONE;
    b->uses = calloc((size_t)m->n_buffers + 1, sizeof *b->uses);
    bool ok = b->uses != NULL;
    for (uint32_t i = 0; ok && i < m->n_buffers; i++)
        b->uses[i].alloc_event = b->uses[i].free_event = TT_NONE;
    ok = ok && find_graphs(&of, f) && find_uses(b, &of) && find_events(b, m, f != NULL);
    if (ok && f) count_unused(b, m);
    free(of.passes);
    free(of.contexts);
    if (!ok) {
        tt_buffers_free(b);
        return tt_error_memory(err, "the buffers");
    }
    *out = b;
    return TT_OK;
}

void tt_buffers_free(tt_buffers *b)
{
    if (!b) return;
    free(b->uses);
    free(b->events);
    free(b->layers);
    free(b);
}

const char *tt_buffer_model(const tt_buffers *b, const tt_model *m, uint32_t buffer)
{
    const tt_buffer_user *u = &b->uses[buffer].model;
    if (m->buffers[buffer].flags & TT_BUFFER_FILE) return m->buffers[buffer].path;
    return u->known && !u->several ? tt_model_path(m, u->id) : NULL;
}

bool tt_buffer_of_one_stack(const tt_buffer_life *u)
{
    return u->n_layers > 0 && tt_layer_beside(u->layers[0], u->layers[u->n_layers - 1]);
}

bool tt_buffers_active(const tt_buffers *b, uint32_t buffer, uint32_t event)
{
    const tt_buffer_life *u = &b->uses[buffer];
    return u->alloc_event <= event && (u->free_event == TT_NONE || u->free_event > event);
}

void tt_buffers_by_kind(const tt_buffers *b, const tt_model *m, uint32_t event, tt_backing backing,
                        uint64_t bytes[TT_BUFFER_KINDS])
{
    wide sums[TT_BUFFER_KINDS] = {0};
    for (uint32_t i = 0; i < m->n_buffers; i++)
        if (tt_buffer_backing(&m->buffers[i]) == backing && tt_buffers_active(b, i, event))
            sums[m->buffers[i].kind] += m->buffers[i].size_bytes;
    for (unsigned k = 0; k < TT_BUFFER_KINDS; k++)
        bytes[k] = clamp(sums[k]);
}

/* --- the curve --- */

typedef struct walk {
    const tt_model *m;
    const tt_buffers *b;
    uint64_t bytes[TT_BACKINGS][TT_BUFFER_KINDS]; /* after the current event */
} walk;

/* Sums of sizes in a file may exceed 64 bits; then they saturate. */
static void apply(walk *w, const tt_buffer_event *e)
{
    const tt_buffer *b = &w->m->buffers[e->buffer];
    uint64_t *sum = &w->bytes[tt_buffer_backing(b)][b->kind];
    if (e->is_free)
        *sum = *sum > b->size_bytes ? *sum - b->size_bytes : 0;
    else if (__builtin_add_overflow(*sum, b->size_bytes, sum))
        *sum = UINT64_MAX;
}

static double total(const tt_buffer_event *e)
{
    double sum = 0;
    for (unsigned k = 0; k < TT_BACKINGS; k++)
        sum += (double)e->bytes[k];
    return sum;
}

static void put(const walk *w, uint32_t event, tt_buffers_point *out)
{
    out->ticks = w->b->events[event].ticks;
    out->event = event;
    memcpy(out->bytes, w->bytes, sizeof out->bytes);
}

tt_status tt_buffers_curve(const tt_buffers *b, const tt_model *m, uint64_t from_ticks,
                           uint64_t to_ticks, uint32_t most, tt_buffers_point **out, uint32_t *n,
                           tt_error *err)
{
    walk w = {.m = m, .b = b};
    uint32_t i = 0, in_range = 0;
    const uint32_t room = most < 4 ? 4 : most;
    *n = 0;
    *out = calloc((size_t)room + 1, sizeof **out);
    if (!*out) return tt_error_memory(err, "the buffers");
    for (; i < b->n_events && b->events[i].ticks < from_ticks; i++)
        apply(&w, &b->events[i]);
    if (i > 0) put(&w, i - 1, &(*out)[(*n)++]);
    for (uint32_t k = i; k < b->n_events && b->events[k].ticks <= to_ticks; k++)
        in_range++;
    /* Shows the largest and the last event of each interval. */
    const uint32_t intervals = (room - 1) / 2;
    const uint32_t each = in_range <= room - 1 ? 1 : (in_range + intervals - 1) / intervals;
    for (const uint32_t end = i + in_range; i < end;) {
        const uint32_t last = end - i < each ? end - 1 : i + each - 1;
        uint32_t top = i;
        for (uint32_t k = i; k <= last; k++)
            if (total(&b->events[k]) > total(&b->events[top])) top = k;
        for (; i <= last; i++) {
            apply(&w, &b->events[i]);
            if (i == top || i == last) put(&w, i, &(*out)[(*n)++]);
        }
    }
    return TT_OK;
}
