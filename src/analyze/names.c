#include "analyze/names.h"

#include "base/array.h"
#include "base/checksum.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 1024u /* a power of two */

/* Names by their text. */
typedef struct set {
    tt_name *list;
    uint32_t n, capacity;
    uint32_t *slots; /* index in list + 1; 0: free */
    uint32_t n_slots;
    bool failed, cut;
} set;

static uint32_t *slot_of(const set *s, const char *name)
{
    uint32_t at = (uint32_t)tt_checksum(name, strlen(name)) & (s->n_slots - 1);
    while (s->slots[at] && strcmp(s->list[s->slots[at] - 1].name, name) != 0)
        at = (at + 1) & (s->n_slots - 1);
    return &s->slots[at];
}

/* At most half of the slots are taken. */
static bool make_room(set *s)
{
    if (!tt_array_one_more(s->list, s->n, s->capacity)) return false;
    if (s->n < s->n_slots / 2) return true;
    uint32_t n_slots = s->n_slots ? s->n_slots * 2 : SLOTS_MIN;
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (!slots) return false;
    free(s->slots);
    s->slots = slots;
    s->n_slots = n_slots;
    for (uint32_t i = 0; i < s->n; i++)
        *slot_of(s, s->list[i].name) = i + 1;
    return true;
}

/* The entry of that name, new ones zero-filled but for it; NULL when there is no room. */
static tt_name *entry_of(set *s, const char *name)
{
    if (!make_room(s)) {
        s->failed = true;
        return NULL;
    }
    uint32_t *slot = slot_of(s, name);
    if (*slot) return &s->list[*slot - 1];
    if (s->n == TT_NAMES_MAX) {
        s->cut = true;
        return NULL;
    }
    s->list[s->n] = (tt_name){.name = name, .weight = TT_NONE, .graph = TT_NONE};
    *slot = ++s->n;
    return &s->list[s->n - 1];
}

static void add_graph(set *tensors, set *ops, const tt_model *m, uint32_t graph)
{
    const tt_graph *g = &m->graphs[graph];
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const tt_tensor *t = &g->tensors[i];
        tt_name *name = *t->name ? entry_of(tensors, t->name) : NULL;
        if (name && name->count++ == 0) {
            name->graph = graph;
            name->tensor = i;
            name->layer_id = t->place.layer_id;
        }
        if (i >= g->n_nodes || !(t->flags & TT_TENSOR_EXECUTES)) continue;
        tt_name *op = entry_of(ops, t->op_name);
        if (op && op->count++ == 0) {
            op->graph = graph;
            op->tensor = i;
            op->layer_id = TT_LAYER_NONE;
        }
    }
}

bool tt_names_make(const tt_model *m, tt_names *out)
{
    set tensors = {0}, ops = {0};
    for (uint32_t i = 0; i < m->n_weights; i++) {
        tt_name *name = entry_of(&tensors, m->weights[i].name);
        if (!name || name->weight != TT_NONE) continue;
        name->weight = i;
        name->layer_id = m->weights[i].place.layer_id;
    }
    for (uint32_t i = 0; i < m->n_graphs && !tensors.failed && !ops.failed; i++)
        add_graph(&tensors, &ops, m, i);
    free(tensors.slots);
    free(ops.slots);
    *out = (tt_names){.tensors = tensors.list,
                      .ops = ops.list,
                      .n_tensors = tensors.n,
                      .n_ops = ops.n,
                      .cut = tensors.cut || ops.cut};
    if (!tensors.failed && !ops.failed) return true;
    tt_names_free(out);
    return false;
}

void tt_names_free(tt_names *names)
{
    free(names->tensors);
    free(names->ops);
    memset(names, 0, sizeof *names);
}
