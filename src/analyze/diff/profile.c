#include "analyze/diff/profile.h"

#include "analyze/access.h"
#include "analyze/join.h"
#include "analyze/ops.h"
#include "base/array.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static tt_unit unit_of_batch(const tt_model *m, uint32_t batch)
{
    const tt_batch *b = &m->batches[batch];
    tt_unit u = {.batch = batch, .n_tokens = b->n_tokens, .time_ns = NAN};
    if (b->ended && b->end_ticks >= b->begin_ticks)
        u.time_ns = tt_model_span_ns(m, b->end_ticks - b->begin_ticks);
    u.has_token = b->tokens && b->n_tokens > 0;
    if (u.has_token) u.token = b->tokens[0];
    u.has_position = b->positions && b->n_tokens > 0;
    if (u.has_position) u.position = b->positions[0];
    return u;
}

static tt_unit unit_of_run(const tt_model *m, const tt_run *r)
{
    tt_unit u = {.batch = TT_NONE, .time_ns = NAN};
    if (r->ended && r->end_ticks >= r->begin_ticks)
        u.time_ns = tt_model_span_ns(m, r->end_ticks - r->begin_ticks);
    return u;
}

/* Units of all runs, except those in which nothing ran. */
static void list_units(const tt_model *m, unsigned phase, tt_units *u, uint32_t *of_batch)
{
    for (uint32_t i = 0; i < m->n_batches; i++) {
        of_batch[i] = TT_NONE;
        if (m->batches[i].phase != phase || m->batches[i].n_runs == 0) continue;
        of_batch[i] = (uint32_t)u->n;
        u->list[u->n++] = unit_of_batch(m, i);
    }
    for (uint32_t i = 0; i < m->n_runs; i++) {
        uint32_t batch = m->runs[i].batch;
        if (batch != TT_NONE && of_batch[batch] != TT_NONE)
            u->list[of_batch[batch]].n_runs++;
        else if (batch == TT_NONE && phase == TT_PHASE_UNKNOWN) {
            u->list[u->n] = unit_of_run(m, &m->runs[i]);
            u->list[u->n++].n_runs = 1;
        }
    }
}

static void list_runs(const tt_model *m, unsigned phase, tt_units *u, const uint32_t *of_batch,
                      size_t n_of_batches)
{
    uint32_t next = 0, lone = (uint32_t)n_of_batches;
    for (size_t i = 0; i < u->n; i++) {
        u->list[i].first = next;
        next += u->list[i].n_runs;
        u->list[i].n_runs = 0;
    }
    for (uint32_t i = 0; i < m->n_runs; i++) {
        uint32_t batch = m->runs[i].batch, at = TT_NONE;
        if (batch != TT_NONE)
            at = of_batch[batch];
        else if (phase == TT_PHASE_UNKNOWN)
            at = lone++;
        if (at == TT_NONE) continue;
        tt_unit *unit = &u->list[at];
        u->runs[unit->first + unit->n_runs++] = i;
    }
}

/* An incomplete unit lacks ops. */
static void drop_unended(tt_units *u)
{
    size_t kept = 0, ended = 0;
    for (size_t i = 0; i < u->n; i++)
        ended += !isnan(u->list[i].time_ns) && u->list[i].n_runs > 0;
    for (size_t i = 0; i < u->n; i++) {
        bool whole = ended == 0 || !isnan(u->list[i].time_ns);
        u->n_unended += !whole;
        if (whole && u->list[i].n_runs > 0) u->list[kept++] = u->list[i];
    }
    u->n = kept;
}

tt_status tt_units_list(const tt_model *m, unsigned phase, tt_units *out, tt_error *err)
{
    memset(out, 0, sizeof *out);
    uint32_t *of_batch = reallocarray(NULL, (size_t)m->n_batches + 1, sizeof *of_batch);
    out->list = reallocarray(NULL, (size_t)m->n_batches + m->n_runs + 1, sizeof *out->list);
    out->runs = reallocarray(NULL, (size_t)m->n_runs + 1, sizeof *out->runs);
    if (!of_batch || !out->list || !out->runs) {
        free(of_batch);
        tt_units_free(out);
        return tt_error_memory(err, "listing the batches");
    }
    size_t n_of_batches = 0;
    list_units(m, phase, out, of_batch);
    while (n_of_batches < out->n && out->list[n_of_batches].batch != TT_NONE)
        n_of_batches++;
    list_runs(m, phase, out, of_batch, n_of_batches);
    free(of_batch);
    drop_unended(out);
    return TT_OK;
}

void tt_units_free(tt_units *u)
{
    free(u->list);
    free(u->runs);
    memset(u, 0, sizeof *u);
}

/* --- pairs --- */

static bool positions_ascend(const tt_units *u)
{
    for (size_t i = 0; i < u->n; i++)
        if (!u->list[i].has_position || (i && u->list[i].position <= u->list[i - 1].position))
            return false;
    return u->n > 0;
}

/* Pairs units at positions that all files have. */
static size_t pair_by_position(const tt_units *files, size_t n_files, uint32_t **units, size_t *at)
{
    size_t n = 0;
    memset(at, 0, n_files * sizeof *at);
    for (;;) {
        int32_t most = INT32_MIN;
        for (size_t f = 0; f < n_files; f++) {
            if (at[f] >= files[f].n) return n;
            int32_t here = files[f].list[at[f]].position;
            if (here > most) most = here;
        }
        bool all = true;
        for (size_t f = 0; f < n_files; f++) {
            while (at[f] < files[f].n && files[f].list[at[f]].position < most)
                at[f]++;
            all &= at[f] < files[f].n && files[f].list[at[f]].position == most;
        }
        for (size_t f = 0; f < n_files && all; f++)
            units[f][n] = (uint32_t)at[f]++;
        n += all;
    }
}

static bool all_of_one_token(const tt_units *files, const tt_unit_pairs *p)
{
    for (size_t f = 0; f < p->n_files; f++)
        for (size_t k = 0; k < p->n; k++)
            if (files[f].list[p->units[f][k]].n_tokens != 1) return false;
    return p->n > 0;
}

static void compare_texts(const tt_units *files, size_t n_a, tt_unit_pairs *p)
{
    const tt_units *a = &files[0], *b = &files[n_a];
    for (size_t k = 0; k < p->n; k++) {
        const tt_unit *x = &a->list[p->units[0][k]], *y = &b->list[p->units[n_a][k]];
        if (x->has_token && y->has_token) {
            p->tokens_compared++;
            p->tokens_differ += x->token != y->token;
        }
        p->sizes_differ += x->n_tokens != y->n_tokens;
        p->positions_differ += x->has_position && y->has_position && x->position != y->position;
    }
}

tt_status tt_units_pair(const tt_units *files, size_t n_files, size_t n_a, tt_unit_pairs *out,
                        tt_error *err)
{
    size_t least = SIZE_MAX;
    bool ascend = true;
    memset(out, 0, sizeof *out);
    for (size_t f = 0; f < n_files; f++) {
        least = files[f].n < least ? files[f].n : least;
        ascend = ascend && positions_ascend(&files[f]);
    }
    out->units = calloc(n_files + 1, sizeof *out->units);
    out->n_files = n_files;
    size_t *at = calloc(n_files + 1, sizeof *at);
    bool ok = out->units && at;
    for (size_t f = 0; f < n_files && ok; f++)
        ok = (out->units[f] = reallocarray(NULL, least + 1, sizeof **out->units)) != NULL;
    if (!ok) {
        free(at);
        tt_unit_pairs_free(out);
        return tt_error_memory(err, "listing the batches");
    }
    if (ascend) out->n = pair_by_position(files, n_files, out->units, at);
    free(at);
    out->by_position = ascend && out->n > 0 && out->n >= least / 2;
    if (!out->by_position) {
        out->n = least;
        for (size_t f = 0; f < n_files; f++)
            for (size_t k = 0; k < least; k++)
                out->units[f][k] = (uint32_t)k;
    }
    compare_texts(files, n_a, out);
    out->one_token = all_of_one_token(files, out);
    return TT_OK;
}

void tt_unit_pairs_free(tt_unit_pairs *p)
{
    for (size_t f = 0; p->units && f < p->n_files; f++)
        free(p->units[f]);
    free(p->units);
    memset(p, 0, sizeof *p);
}

/* What is the same for each execution of a graph's node. */
typedef struct tt_walk_position {
    uint32_t slot;
    uint8_t covers;
    bool known;
    bool picks; /* what it reads of weights differs from run to run */
    bool at_most;
    uint64_t weight_bytes;
} tt_walk_position;

typedef struct tt_walk_map {
    tt_walk_position *nodes;
    uint32_t *nth;    /* by node: how many earlier ones have its name and kind */
    uint32_t version; /* changes if a node turns out to be another op */
    bool picks;
} tt_walk_map;

typedef struct tt_walk {
    const tt_profile_plan *plan;
    tt_profile *p;
    tt_walk_map *maps; /* by graph */
    size_t maps_bytes;
    tt_join join;
    tt_accesses *accesses;
    tt_op_table *ops; /* of nodes that select; made on demand */
    double ns_per_tick;
    double inverse[TT_OPS_LANE_MAX + 2]; /* 1 / lanes */
} tt_walk;

static inline uint64_t tt_walk_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* The slot of an op in a profile. */

const char *tt_profile_name(const char *name)
{
    if (strncmp(name, "node_", 5) != 0 && strncmp(name, "leaf_", 5) != 0) return name;
    if (!isdigit((unsigned char)name[5])) return name;
    name += 5;
    while (isdigit((unsigned char)*name))
        name++;
    return name;
}

uint64_t tt_profile_hash(uint64_t hash, const char *text)
{
    do
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    while (*text++);
    return hash;
}

/* --- slots --- */

static bool make_samples(tt_profile *p, tt_profile_slot *s)
{
    s->times_ns = malloc(((size_t)p->n_samples + 1) * sizeof *s->times_ns);
    s->waits_ns = malloc(((size_t)p->n_samples + 1) * sizeof *s->waits_ns);
    s->off_ns = calloc((size_t)p->n_samples + 1, sizeof *s->off_ns);
    s->work_ns = calloc((size_t)p->n_samples + 1, sizeof *s->work_ns);
    if (!s->times_ns || !s->waits_ns || !s->off_ns || !s->work_ns) return false;
    for (uint32_t i = 0; i < p->n_samples; i++)
        s->times_ns[i] = s->waits_ns[i] = NAN;
    return true;
}

/* The slot with the key of `like`, made from it on demand. */
static tt_status walk_slot(tt_profile *p, const tt_profile_slot *like, uint32_t *slot,
                           tt_error *err)
{
    *slot = tt_idmap_get(&p->slot_of_key, like->key);
    if (*slot != TT_NONE) return TT_OK;
    if (p->n_slots >= TT_PROFILE_SLOTS_MAX ||
        (p->n_samples > TT_PROFILE_SAMPLES_MIN &&
         (size_t)p->n_slots * p->n_samples > 4 * TT_PROFILE_CELLS_MAX))
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "too many different ops to compare: more than %u", p->n_slots);
    if (!tt_array_one_more(p->slots, p->n_slots, p->slots_capacity))
        return tt_error_memory(err, "the comparison");
    tt_profile_slot *s = &p->slots[p->n_slots];
    uint32_t was;
    *s = *like;
    s->op = tt_arena_text(&p->texts, like->op, strlen(like->op));
    bool ok = make_samples(p, s);
    *slot = p->n_slots++; /* freed with the others from here on */
    if (!ok || !s->op || !tt_idmap_add(&p->slot_of_key, like->key, *slot, &was))
        return tt_error_memory(err, "the comparison");
    return TT_OK;
}

/* --- graphs --- */

static uint64_t node_key(const tt_tensor *t)
{
    return tt_profile_hash(tt_profile_hash(TT_PROFILE_HASH, tt_profile_name(t->name)), t->op_name);
}

static void walk_free(tt_walk *w)
{
    for (uint32_t i = 0; i < w->plan->m->n_graphs; i++) {
        if (!w->maps[i].nodes) continue;
        free(w->maps[i].nodes);
        free(w->maps[i].nth);
        w->maps[i] = (tt_walk_map){.version = w->maps[i].version + 1};
    }
    w->maps_bytes = 0;
}

/* Numbers the nodes of one name and kind. */
static bool number_nodes(const tt_graph *g, uint32_t *nth)
{
    tt_idmap seen = {0};
    uint32_t was;
    bool ok = true;
    for (uint32_t i = 0; i < g->n_nodes && ok; i++) {
        nth[i] = 0;
        if (!(g->tensors[i].flags & TT_TENSOR_EXECUTES)) continue;
        uint64_t key = node_key(&g->tensors[i]);
        ok = tt_idmap_add(&seen, key, 0, &was);
        if (!ok || was == TT_NONE) continue;
        nth[i] = was + 1;
        ok = tt_idmap_set(&seen, key, was + 1);
    }
    tt_idmap_free(&seen);
    return ok;
}

/* The map of a graph's nodes; may drop those of others. NULL if out of memory. */
static tt_walk_map *walk_map_of(tt_walk *w, uint32_t graph)
{
    const tt_graph *g = &w->plan->m->graphs[graph];
    tt_walk_map *x = &w->maps[graph];
    if (x->nodes) return x;
    size_t bytes = ((size_t)g->n_nodes + 1) * (sizeof *x->nodes + sizeof *x->nth);
    if (w->maps_bytes && w->maps_bytes + bytes > TT_PROFILE_MAPS_BYTES_MAX) walk_free(w);
    x->nodes = calloc((size_t)g->n_nodes + 1, sizeof *x->nodes);
    x->nth = malloc(((size_t)g->n_nodes + 1) * sizeof *x->nth);
    w->maps_bytes += bytes;
    if (x->nodes && x->nth && number_nodes(g, x->nth)) return x;
    free(x->nodes);
    free(x->nth);
    x->nodes = NULL;
    x->nth = NULL;
    return NULL;
}

/* Fills the entry of a node with that number of covered nodes. */
static tt_status walk_learn(tt_walk *w, const tt_graph *g, tt_walk_map *x, uint32_t node,
                            uint8_t covers, tt_error *err)
{
    tt_op op;
    tt_op_describe(w->plan->m, g, node, covers, &op);
    tt_profile_slot like = {.key = TT_PROFILE_HASH,
                            .name = op.name,
                            .op = op.op,
                            .n_nodes = op.n_nodes,
                            .place = op.place};
    like.key = tt_walk_mix(like.key, (uint32_t)op.place.layer_id);
    for (uint32_t i = 0; i < op.n_nodes; i++)
        like.key = tt_walk_mix(tt_walk_mix(like.key, node_key(&g->tensors[op.nodes[i]])),
                               x->nth[op.nodes[i]]);
    tt_walk_position *at = &x->nodes[node];
    if (at->known) x->version++;
    *at = (tt_walk_position){.known = true,
                             .covers = covers,
                             .picks = op.picks && op.at_most,
                             .at_most = op.at_most,
                             .weight_bytes = op.weight_bytes};
    x->picks |= at->picks;
    return walk_slot(w->p, &like, &at->slot, err);
}

#define PROGRESS_EVERY 64u

/* Sums of a unit while its runs are read. */
typedef struct totals {
    size_t sample;      /* or SIZE_MAX: this unit is not a sample */
    uint64_t signature; /* of its graphs and what of them ran */
    uint64_t ticks;
} totals;

uint32_t tt_profile_executed(const tt_model *m, const tt_units *units, const uint32_t *list,
                             size_t n)
{
    uint64_t most = 0;
    for (size_t k = 0; k < n; k++) {
        const tt_unit *u = &units->list[list[k]];
        uint64_t sum = 0;
        for (uint32_t i = 0; i < u->n_runs; i++) {
            uint32_t graph = m->runs[units->runs[u->first + i]].graph;
            if (graph != TT_NONE) sum += m->graphs[graph].n_executed;
        }
        if (sum > most) most = sum;
    }
    return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

uint32_t tt_profile_stride(size_t n, uint32_t executed)
{
    size_t room = TT_PROFILE_CELLS_MAX / ((size_t)executed + 1);
    if (room > TT_PROFILE_SAMPLES_MAX) room = TT_PROFILE_SAMPLES_MAX;
    if (room < TT_PROFILE_SAMPLES_MIN) room = TT_PROFILE_SAMPLES_MIN;
    size_t stride = (n + room - 1) / room;
    return stride == 0 ? 1 : stride < UINT32_MAX ? (uint32_t)stride : UINT32_MAX;
}

/* --- runs --- */

static tt_status measure_picks(tt_walk *w, uint32_t graph, uint32_t node,
                               const tt_walk_position *at, uint64_t *bytes, bool *at_most,
                               tt_error *err)
{
    const tt_access *list;
    size_t n;
    if (!w->ops) w->ops = tt_op_table_new(w->plan->m);
    const tt_op *described = w->ops ? tt_op_table_get(w->ops, graph, node, at->covers) : NULL;
    if (!described) return tt_error_memory(err, "the comparison");
    tt_status status = tt_accesses_of(w->accesses, described, &list, &n, err);
    if (status != TT_OK) return status;
    tt_op op = *described;
    tt_access_apply(&op, list, n);
    *bytes = op.weight_bytes;
    *at_most = op.at_most;
    return TT_OK;
}

static inline void add_sample(float *cell, double value)
{
    *cell = isnan(*cell) ? (float)value : *cell + (float)value;
}

static inline void add_op(tt_walk *w, const tt_walk_position *at, const tt_joined *op, totals *t)
{
    tt_profile_slot *s = &w->p->slots[at->slot];
    uint64_t ticks = tt_joined_ticks(op);
    const size_t n_inverse = sizeof w->inverse / sizeof *w->inverse;
    double share = op->lanes < n_inverse ? w->inverse[op->lanes] : 1 / (double)op->lanes;
    const uint64_t inside = w->plan->waits_inside ? op->inside : 0;
    const double computed = (double)(op->busy - inside) * share;
    double wait = (double)ticks > computed ? (double)ticks - computed : 0;
    const uint64_t lost = op->last_off_cpu + tt_joined_held(op), off = lost < ticks ? lost : ticks;
    s->count++;
    if (op->open) return;
    w->p->off_ticks += (double)off;
    s->ticks += ticks;
    s->wait_ticks += wait;
    t->ticks += ticks;
    if (t->sample == SIZE_MAX) return;
    add_sample(&s->times_ns[t->sample], (double)ticks * w->ns_per_tick);
    add_sample(&s->waits_ns[t->sample], wait * w->ns_per_tick);
    s->off_ns[t->sample] += (float)((double)off * w->ns_per_tick);
    s->work_ns[t->sample] += (float)((computed - (double)op->off_cpu * share) * w->ns_per_tick);
}

/* The ops of the run in w->join. */
static tt_status add_run(tt_walk *w, uint32_t run, totals *t, tt_error *err)
{
    const uint32_t graph = w->plan->m->runs[run].graph;
    const tt_join *j = &w->join;
    if (!j->graph || j->n_touched == 0) return TT_OK;
    tt_walk_map *x = walk_map_of(w, graph);
    if (!x) return tt_error_memory(err, "the comparison");
    bool prepared = false;
    for (uint32_t i = 0; i < j->n_touched; i++) {
        const tt_joined *op = &j->ops[j->touched[i]];
        tt_walk_position *at = &x->nodes[j->touched[i]];
        tt_status status = TT_OK;
        if (!at->known || at->covers != op->covers)
            status = walk_learn(w, j->graph, x, j->touched[i], op->covers, err);
        uint64_t bytes = at->weight_bytes;
        bool at_most = at->at_most;
        if (status == TT_OK && at->picks && !prepared) {
            status = tt_accesses_run(w->accesses, run, err);
            prepared = true;
        }
        if (status == TT_OK && at->picks)
            status = measure_picks(w, graph, j->touched[i], at, &bytes, &at_most, err);
        if (status != TT_OK) return status;
        tt_profile_slot *s = &w->p->slots[at->slot];
        if (__builtin_add_overflow(s->weight_bytes, bytes, &s->weight_bytes))
            s->weight_bytes = UINT64_MAX;
        s->at_most |= at_most;
        if (op->lanes > w->p->lanes) w->p->lanes = op->lanes;
        w->p->records += op->lanes;
        add_op(w, at, op, t);
    }
    t->signature =
        tt_walk_mix(tt_walk_mix(tt_walk_mix(t->signature, graph), x->version), j->n_touched);
    return TT_OK;
}

/* --- classes --- */

static tt_status list_nodes(tt_walk *w, const tt_unit *u, tt_profile_node *list, size_t room,
                            size_t *n, tt_error *err)
{
    for (uint32_t r = 0; r < u->n_runs; r++) {
        uint32_t run = w->plan->units->runs[u->first + r], covered[TT_OP_NODES_MAX];
        tt_status status = tt_join_run(&w->join, w->plan->m, run, err);
        const tt_join *j = &w->join;
        tt_walk_map *x = status == TT_OK && j->graph && j->n_touched
                             ? walk_map_of(w, w->plan->m->runs[run].graph)
                             : NULL;
        if (status != TT_OK) return status;
        for (uint32_t i = 0; x && i < j->n_touched; i++) {
            uint32_t node = j->touched[i];
            uint8_t covers = j->ops[node].covers;
            if (!x->nodes[node].known || x->nodes[node].covers != covers) /* dropped meanwhile */
                status = walk_learn(w, j->graph, x, node, covers, err);
            if (status != TT_OK) return status;
            uint32_t slot = x->nodes[node].slot;
            uint32_t more = tt_op_covered(j->graph, node, j->ops[node].covers, covered + 1);
            covered[0] = node;
            for (uint32_t k = 0; k <= more && *n < room; k++)
                list[(*n)++] = (tt_profile_node){r, covered[k], slot};
        }
    }
    return TT_OK;
}

static tt_status add_class(tt_profile *p, tt_profile_node *nodes, size_t n, uint32_t *out,
                           tt_error *err)
{
    uint64_t key = tt_walk_mix(TT_PROFILE_HASH, n);
    for (size_t i = 0; i < n; i++)
        key = tt_walk_mix(tt_walk_mix(key, (uint64_t)nodes[i].run << 32 | nodes[i].node),
                          nodes[i].slot);
    *out = tt_idmap_get(&p->class_of_key, key);
    if (*out != TT_NONE) return TT_OK;
    if (!tt_array_one_more(p->classes, p->n_classes, p->classes_capacity))
        return tt_error_memory(err, "the comparison");
    uint32_t was;
    tt_profile_class *c = &p->classes[p->n_classes];
    *c = (tt_profile_class){.key = key, .n_nodes = (uint32_t)n};
    c->nodes = malloc((n + 1) * sizeof *c->nodes);
    if (!c->nodes) return tt_error_memory(err, "the comparison");
    memcpy(c->nodes, nodes, n * sizeof *nodes);
    *out = p->n_classes++;
    p->n_class_nodes += n;
    return tt_idmap_add(&p->class_of_key, key, *out, &was) ? TT_OK
                                                           : tt_error_memory(err, "the comparison");
}

/* The class of a unit with a new signature: its runs are read again. */
static tt_status learn_class(tt_walk *w, const tt_unit *u, uint64_t signature, uint32_t *out,
                             tt_error *err)
{
    size_t room = 0, n = 0;
    uint32_t was;
    for (uint32_t r = 0; r < u->n_runs; r++) {
        uint32_t graph = w->plan->m->runs[w->plan->units->runs[u->first + r]].graph;
        if (graph != TT_NONE) room += (size_t)w->plan->m->graphs[graph].n_nodes * TT_OP_NODES_MAX;
    }
    size_t most = TT_PROFILE_NODES_MAX - w->p->n_class_nodes;
    if (room > most) room = most;
    tt_profile_node *nodes = malloc((room + 1) * sizeof *nodes);
    if (!nodes) return tt_error_memory(err, "the comparison");
    tt_status status = list_nodes(w, u, nodes, room, &n, err);
    if (status == TT_OK && n == most)
        status = tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                              "too many different graphs to compare: more than %u nodes",
                              TT_PROFILE_NODES_MAX);
    if (status == TT_OK) status = add_class(w->p, nodes, n, out, err);
    free(nodes);
    if (status == TT_OK && !tt_idmap_add(&w->p->class_of_signature, signature, *out, &was))
        status = tt_error_memory(err, "the comparison");
    return status;
}

/* --- units --- */

static void add_between(tt_walk *w, const tt_unit *u, const totals *t)
{
    tt_profile_slot *s = &w->p->slots[TT_PROFILE_BETWEEN];
    if (isnan(u->time_ns)) return;
    double between = u->time_ns - (double)t->ticks * w->ns_per_tick;
    if (between < 0) between = 0;
    s->count++;
    s->ticks += (uint64_t)(between / w->ns_per_tick);
    if (t->sample == SIZE_MAX) return;
    w->p->unit_ns[t->sample] = (float)u->time_ns;
    s->times_ns[t->sample] = (float)between;
    s->waits_ns[t->sample] = 0;
}

static uint64_t signature_of_graphs(const tt_walk *w, const tt_unit *u)
{
    uint64_t signature = TT_PROFILE_HASH;
    for (uint32_t r = 0; r < u->n_runs; r++)
        signature =
            tt_walk_mix(signature, w->plan->m->runs[w->plan->units->runs[u->first + r]].graph);
    return signature;
}

static tt_status add_unit(tt_walk *w, size_t k, tt_error *err)
{
    const tt_unit *u = &w->plan->units->list[w->plan->list[k]];
    const bool structure_only = w->plan->structure_only;
    totals t = {.sample = k % w->plan->stride == 0 ? k / w->plan->stride : SIZE_MAX,
                .signature = TT_PROFILE_HASH};
    uint32_t *class_of = &w->p->class_of[k];
    if (structure_only) {
        t.signature = signature_of_graphs(w, u);
        *class_of = tt_idmap_get(&w->p->class_of_signature, t.signature);
        if (*class_of != TT_NONE) return TT_OK;
    }
    uint64_t graphs = t.signature;
    for (uint32_t r = 0; r < u->n_runs; r++) {
        uint32_t run = w->plan->units->runs[u->first + r];
        tt_status status = tt_join_run(&w->join, w->plan->m, run, err);
        if (status == TT_OK) status = add_run(w, run, &t, err);
        if (status != TT_OK) return status;
    }
    if (structure_only) t.signature = graphs;
    add_between(w, u, &t);
    *class_of = tt_idmap_get(&w->p->class_of_signature, t.signature);
    if (*class_of != TT_NONE) return TT_OK;
    return learn_class(w, u, t.signature, class_of, err);
}

static tt_status begin(tt_walk *w, tt_error *err)
{
    static const tt_profile_slot between = {
        .name = "", .op = "", .place = {TT_LAYER_NONE, "between ops", "between ops"}};
    tt_profile *p = w->p;
    uint32_t slot;
    p->m = w->plan->m;
    p->units = w->plan->units;
    p->n_units = w->plan->n;
    p->stride = w->plan->stride;
    p->n_samples = (uint32_t)((w->plan->n + p->stride - 1) / p->stride);
    tt_arena_init(&p->texts, TT_MODEL_MEMORY_MAX);
    w->maps = calloc((size_t)p->m->n_graphs + 1, sizeof *w->maps);
    w->accesses = tt_accesses_new(p->m);
    p->class_of = malloc((p->n_units + 1) * sizeof *p->class_of);
    p->unit_ns = malloc(((size_t)p->n_samples + 1) * sizeof *p->unit_ns);
    if (!w->maps || !w->accesses || !p->class_of || !p->unit_ns)
        return tt_error_memory(err, "the comparison");
    for (uint32_t i = 0; i < p->n_samples; i++)
        p->unit_ns[i] = NAN;
    w->ns_per_tick = p->m->clock.ns_per_tick;
    for (uint32_t i = 1; i < sizeof w->inverse / sizeof *w->inverse; i++)
        w->inverse[i] = 1 / (double)i;
    return walk_slot(p, &between, &slot, err);
}

tt_status tt_profile_make(const tt_profile_plan *plan, tt_profile **out, tt_error *err)
{
    *out = NULL;
    tt_status status = tt_model_need_clock(plan->m, err);
    if (status != TT_OK) return status;
    tt_walk w = {.plan = plan, .p = calloc(1, sizeof *w.p)};
    if (!w.p) return tt_error_memory(err, "the comparison");
    status = begin(&w, err);
    for (size_t k = 0; k < plan->n && status == TT_OK; k++) {
        status = add_unit(&w, k, err);
        if (k % PROGRESS_EVERY != 0) continue;
        if (plan->progress) plan->progress(plan->context, k, plan->n);
        if (status == TT_OK) status = tt_over_check(&plan->over, err);
    }
    w.p->orphan = w.join.orphan;
    if (w.maps) walk_free(&w);
    free(w.maps);
    tt_join_free(&w.join);
    tt_accesses_free(w.accesses);
    tt_op_table_free(w.ops);
    if (status == TT_OK)
        *out = w.p;
    else
        tt_profile_free(w.p);
    return status;
}

void tt_profile_free(tt_profile *p)
{
    if (!p) return;
    for (uint32_t i = 0; i < p->n_slots; i++) {
        free(p->slots[i].times_ns);
        free(p->slots[i].waits_ns);
        free(p->slots[i].off_ns);
        free(p->slots[i].work_ns);
    }
    for (uint32_t i = 0; i < p->n_classes; i++)
        free(p->classes[i].nodes);
    free(p->slots);
    free(p->classes);
    free(p->class_of);
    free(p->unit_ns);
    tt_idmap_free(&p->slot_of_key);
    tt_idmap_free(&p->class_of_key);
    tt_idmap_free(&p->class_of_signature);
    tt_arena_free(&p->texts);
    free(p);
}
