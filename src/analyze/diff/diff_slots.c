/* Which slot of a profile an op fills. */
#include "analyze/diff/diff_walk.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    if (!s->times_ns || !s->waits_ns) return false;
    for (uint32_t i = 0; i < p->n_samples; i++)
        s->times_ns[i] = s->waits_ns[i] = NAN;
    return true;
}

tt_status tt_walk_slot(tt_profile *p, const tt_profile_slot *like, uint32_t *slot, tt_error *err)
{
    *slot = tt_idmap_get(&p->slot_of_key, like->key);
    if (*slot != TT_NONE) return TT_OK;
    if (p->n_slots >= TT_PROFILE_SLOTS_MAX ||
        (p->n_samples > TT_PROFILE_SAMPLES_MIN &&
         (size_t)p->n_slots * p->n_samples > 4 * TT_PROFILE_CELLS_MAX))
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "too many different ops to compare: more than %u", p->n_slots);
    if (p->n_slots == p->slots_capacity) {
        uint32_t more = p->slots_capacity ? p->slots_capacity * 2 : 256;
        tt_profile_slot *slots = reallocarray(p->slots, more, sizeof *slots);
        if (!slots) return tt_error_memory(err, "the comparison");
        p->slots = slots;
        p->slots_capacity = more;
    }
    tt_profile_slot *s = &p->slots[p->n_slots];
    uint32_t was;
    *s = *like;
    s->op = tt_arena_text(&p->texts, like->op, strlen(like->op));
    bool ok = make_samples(p, s);
    *slot = p->n_slots++; /* from here on freed with the others */
    if (!ok || !s->op || !tt_idmap_add(&p->slot_of_key, like->key, *slot, &was))
        return tt_error_memory(err, "the comparison");
    return TT_OK;
}

/* --- graphs --- */

static uint64_t node_key(const tt_tensor *t)
{
    return tt_profile_hash(tt_profile_hash(TT_PROFILE_HASH, tt_profile_name(t->name)), t->op_name);
}

void tt_walk_forget(tt_walk *w)
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

tt_walk_map *tt_walk_map_of(tt_walk *w, uint32_t graph)
{
    const tt_graph *g = &w->plan->m->graphs[graph];
    tt_walk_map *x = &w->maps[graph];
    if (x->nodes) return x;
    size_t bytes = ((size_t)g->n_nodes + 1) * (sizeof *x->nodes + sizeof *x->nth);
    if (w->maps_bytes && w->maps_bytes + bytes > TT_PROFILE_MAPS_BYTES_MAX) tt_walk_forget(w);
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

tt_status tt_walk_learn(tt_walk *w, const tt_graph *g, tt_walk_map *x, uint32_t node,
                        uint8_t covers, tt_error *err)
{
    tt_op op;
    tt_op_describe(w->plan->m, g, node, covers, &op);
    tt_profile_slot like = {.key = TT_PROFILE_HASH,
                            .name = op.name,
                            .op = op.op,
                            .n_nodes = op.n_nodes,
                            .place = op.place};
    for (uint32_t i = 0; i < op.n_nodes; i++)
        like.key = tt_walk_mix(tt_walk_mix(like.key, node_key(&g->tensors[op.nodes[i]])),
                               x->nth[op.nodes[i]]);
    tt_walk_place *at = &x->nodes[node];
    if (at->known) x->version++;
    *at = (tt_walk_place){.known = true,
                          .covers = covers,
                          .picks = op.picks && op.at_most,
                          .at_most = op.at_most,
                          .weight_bytes = op.weight_bytes};
    x->picks |= at->picks;
    return tt_walk_slot(w->p, &like, &at->slot, err);
}
