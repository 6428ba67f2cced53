#include "analyze/values/outputs.h"

#include "value/pack.h"

#include <stdlib.h>
#include <string.h>

bool tt_outputs_any(const tt_model *m)
{
    return tt_details_has(m->details, TT_DETAIL_VALUE);
}

static bool add(tt_outputs *o, uint32_t node, const tt_fingerprint *print)
{
    if (o->n == o->capacity) {
        size_t larger = o->capacity ? o->capacity * 2 : 256;
        tt_output *more = realloc(o->list, larger * sizeof *more);
        if (!more) return false;
        o->list = more;
        o->capacity = larger;
    }
    o->list[o->n++] = (tt_output){node, *print};
    return true;
}

/* The parts of one fingerprint, from the first on; returns how many there are. False in *whole when
 * one is missing or there are two of one kind. */
static size_t gather(const tt_detail *list, size_t n, tt_fingerprint *print, bool *whole)
{
    uint8_t bytes[TT_DETAIL_VALUE_PARTS * TT_DETAIL_VALUE_BYTES] = {0};
    size_t parts = 0;
    *whole = true;
    while (parts < n && tt_detail_kind_of(&list[parts]) == TT_DETAIL_VALUE &&
           list[parts].place == list[0].place) {
        const tt_detail_value *v = &list[parts].value;
        if (v->part != parts) *whole = false;
        if (*whole) memcpy(bytes + parts * TT_DETAIL_VALUE_BYTES, v->bytes, TT_DETAIL_VALUE_BYTES);
        parts++;
    }
    if (*whole) *whole = tt_value_unpack(bytes, parts * TT_DETAIL_VALUE_BYTES, print);
    return parts;
}

tt_status tt_outputs_of_run(tt_outputs *o, const tt_model *m, uint32_t run, tt_error *err)
{
    const tt_run *r = &m->runs[run];
    const tt_detail *list;
    size_t n;
    o->n = 0;
    o->graph = r->graph == TT_NONE ? NULL : &m->graphs[r->graph];
    if (!o->graph) return TT_OK;
    tt_status status = tt_details_of_run(m->details, r->id, &list, &n, err);
    if (status != TT_OK) return status;
    for (size_t i = 0; i < n;) {
        tt_fingerprint print;
        bool whole;
        if (tt_detail_kind_of(&list[i]) != TT_DETAIL_VALUE) {
            i++;
            continue;
        }
        uint32_t node = tt_detail_node(&list[i]);
        i += gather(list + i, n - i, &print, &whole);
        /* A second one of the same node is of a damaged trace. */
        if (!whole || node >= o->graph->n_nodes || (o->n && o->list[o->n - 1].node == node)) {
            o->incomplete++;
            continue;
        }
        if (!add(o, node, &print)) return tt_error_memory(err, "a run's values");
    }
    return TT_OK;
}

void tt_outputs_free(tt_outputs *o)
{
    free(o->list);
    memset(o, 0, sizeof *o);
}
