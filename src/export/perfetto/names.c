/* The texts that events of a Perfetto trace refer to by number. */
#include "export/perfetto/perfetto.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static bool add(tt_perfetto_names *n, const char *text, bool is_event)
{
    uint32_t was = TT_NONE, had = n->capacity;
    if (!text || !text[0]) return true;
    if (!tt_array_one_more(n->texts, n->n, had) ||
        !tt_array_one_more(n->is_event, n->n, n->capacity))
        return false;
    if (!tt_idmap_add(&n->by_address, (uint64_t)(uintptr_t)text, n->n, &was)) return false;
    if (was != TT_NONE) {
        n->is_event[was] |= is_event;
        return true;
    }
    n->texts[n->n] = text;
    n->is_event[n->n++] = is_event;
    return true;
}

static bool add_place(tt_perfetto_names *n, const tt_place *place)
{
    return add(n, place->category, false) && add(n, place->component, false);
}

static bool add_tensor(tt_perfetto_names *n, const tt_tensor *t)
{
    /* A node that executes names the slices of its op; without a name its op's does. */
    bool executes = t->flags & TT_TENSOR_EXECUTES;
    return add(n, t->name, executes) && add(n, t->op_name, executes && !t->name[0]) &&
           add(n, t->op_desc, false) && add(n, t->type_name, false) && add_place(n, &t->place);
}

tt_status tt_perfetto_names_collect(tt_perfetto_names *n, const tt_model *m, tt_error *err)
{
    bool ok = true;
    for (unsigned i = TT_PHASE_UNKNOWN; i < TT_PHASES; i++)
        ok = ok && add(n, tt_phase_name(i), false);
    for (unsigned i = TT_ORIGIN_UNKNOWN; i <= TT_ORIGIN_BUFFER; i++)
        ok = ok && add(n, tt_origin_name((tt_origin)i), false);
    for (uint32_t i = 0; i < m->n_files && ok; i++)
        ok = add(n, m->files[i].path, false);
    for (uint32_t i = 0; i < m->n_weights && ok; i++)
        ok = add_place(n, &m->weights[i].place);
    for (uint32_t g = 0; g < m->n_graphs && ok; g++)
        for (uint32_t i = 0; i < m->graphs[g].n_tensors && ok; i++)
            ok = add_tensor(n, &m->graphs[g].tensors[i]);
    return ok ? TT_OK : tt_error_memory(err, "the names");
}

void tt_perfetto_names_free(tt_perfetto_names *n)
{
    tt_idmap_free(&n->by_address);
    free(n->texts);
    free(n->is_event);
    memset(n, 0, sizeof *n);
}

uint64_t tt_perfetto_name_iid(const tt_perfetto_names *n, const char *text)
{
    uint32_t i = tt_idmap_get(&n->by_address, (uint64_t)(uintptr_t)text);
    return i == TT_NONE ? 0 : (uint64_t)i + 1;
}

static void put(tt_bytes *b, uint32_t field, uint64_t iid, const char *text)
{
    size_t at = tt_proto_begin(b, field);
    tt_proto_uint(b, 1, iid); /* in each of these messages iid is 1 and the text 2 */
    tt_proto_text(b, 2, text);
    tt_proto_end(b, at);
}

void tt_perfetto_names_put(const tt_perfetto_names *n, uint32_t first, uint32_t last, tt_bytes *b)
{
    enum { EVENT_CATEGORIES = 1, EVENT_NAMES = 2, ANNOTATION_NAMES = 3, STRING_VALUES = 29 };
    static const char *const categories[] = {[TT_PERFETTO_OP] = "op",
                                             [TT_PERFETTO_WAIT] = "wait",
                                             [TT_PERFETTO_TOKEN] = "token",
                                             [TT_PERFETTO_GRAPH] = "graph"};
    if (first == 0) {
        for (uint32_t i = TT_PERFETTO_OP; i <= TT_PERFETTO_GRAPH; i++)
            put(b, EVENT_CATEGORIES, i, categories[i]);
        for (uint32_t i = 1; i < ARGS; i++)
            put(b, ANNOTATION_NAMES, i, tt_perfetto_arg_name((tt_perfetto_arg)i));
        /* Not one of the texts: an op may be called the same. */
        put(b, EVENT_NAMES, (uint64_t)n->n + 1, "wait");
    }
    for (uint32_t i = first; i < last; i++) {
        put(b, STRING_VALUES, (uint64_t)i + 1, n->texts[i]);
        if (n->is_event[i]) put(b, EVENT_NAMES, (uint64_t)i + 1, n->texts[i]);
    }
}
