#include "analyze/values/outputs.h"

#include "base/array.h"
#include "base/order.h"
#include "value/pack.h"
#include "value/type.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void tt_output_shape_of(const tt_graph *g, uint32_t node, tt_output_shape *shape)
{
    const tt_tensor *t = &g->tensors[node];
    tt_value_data v = {.type = tt_value_type_of(t->type_name)};
    memcpy(v.ne, t->ne, sizeof v.ne);
    if (strcmp(t->op_name, "SET_ROWS") == 0 && t->n_src > 1 && t->src[1] != TT_NONE)
        v.ne[1] = g->tensors[t->src[1]].ne[0];
    *shape = (tt_output_shape){.type = v.type, .n = tt_value_elements(&v)};
    memcpy(shape->ne, v.ne, sizeof shape->ne);
}

bool tt_output_data_any(const tt_model *m)
{
    size_t n;
    (void)tt_data_all(m->data, &n);
    return n > 0;
}

/* An output with more parts than a chunk can number lacks the rest. */
static uint32_t parts_of(const tt_output_shape *s)
{
    uint64_t n = s->n / TT_VALUE_PART_ELEMENTS + (s->n % TT_VALUE_PART_ELEMENTS > 0);
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static const tt_graph *graph_of(const tt_model *m, uint32_t run, uint32_t node)
{
    uint32_t graph = m->runs[run].graph;
    return graph != TT_NONE && node < m->graphs[graph].n_nodes ? &m->graphs[graph] : NULL;
}

void tt_output_data_find(const tt_model *m, uint32_t run, uint32_t node, tt_output_data *out)
{
    const tt_graph *g = graph_of(m, run, node);
    size_t n;
    memset(out, 0, sizeof *out);
    if (!g) return;
    tt_output_shape_of(g, node, &out->shape);
    out->n_parts = parts_of(&out->shape);
    const tt_data_part *list = tt_data_of(m->data, m->runs[run].id, node, &n);
    for (size_t i = 0; i < n && list[i].part < out->n_parts; i++)
        out->n_kept += i == 0 || list[i].part != list[i - 1].part;
}

static const tt_data_part *find_part(const tt_model *m, uint32_t run, uint32_t node, uint32_t part)
{
    size_t n, at;
    const tt_data_part *list = tt_data_of(m->data, m->runs[run].id, node, &n);
    tt_lower_bound(at, n, list[at].part < part);
    return at < n && list[at].part == part ? &list[at] : NULL;
}

tt_status tt_output_data_read(const tt_model *m, uint32_t run, uint32_t node, uint32_t part,
                              uint64_t *first, tt_span *bytes, tt_error *err)
{
    tt_output_data all;
    tt_output_data_find(m, run, node, &all);
    const tt_data_part *p = part < all.n_parts ? find_part(m, run, node, part) : NULL;
    if (!p)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                            "the trace does not hold part %" PRIu32 " of that output", part);
    tt_status status = tt_data_get(m->data, p, bytes, err);
    if (status != TT_OK) return status;
    *first = (uint64_t)part * TT_VALUE_PART_ELEMENTS;
    uint64_t left = all.shape.n - *first;
    uint64_t n = left < TT_VALUE_PART_ELEMENTS ? left : TT_VALUE_PART_ELEMENTS;
    uint64_t size =
        n / tt_value_block_elements(all.shape.type) * tt_value_block_bytes(all.shape.type);
    if (bytes->size != size)
        return tt_error_set(err, TT_E_FORMAT, m->trace.chunks[p->chunk].offset,
                            "part %" PRIu32 " of an output has %zu bytes instead of %" PRIu64, part,
                            bytes->size, size);
    return TT_OK;
}

bool tt_outputs_any(const tt_model *m)
{
    return tt_details_has(m->details, TT_DETAIL_VALUE);
}

static bool add(tt_outputs *o, uint32_t node, const tt_fingerprint *print)
{
    if (!tt_array_one_more(o->list, o->n, o->capacity)) return false;
    o->list[o->n++] = (tt_output){node, *print};
    return true;
}

/* The parts of one fingerprint, from the first on; returns their number. *whole is false if one is
 * missing or duplicated. */
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
        /* A duplicate for the same node: a damaged trace. */
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
