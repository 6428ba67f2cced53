#include "export/dataset/entries.h"

#include "base/array.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

static bool reserve_nodes(tt_entries *e, size_t n)
{
    size_t had = e->nodes_capacity;
    if (!tt_array_room(e->by_node, e->nodes_capacity, n)) return false;
    for (size_t i = had; i < e->nodes_capacity; i++)
        e->by_node[i] = TT_NONE;
    return true;
}

/* There is room for all of p's records. */
static void add_piece(tt_entries *e, const tt_piece_ops *p, uint32_t run, uint32_t n_nodes,
                      uint64_t first_node)
{
    for (size_t i = 0; i < p->n; i++) {
        uint32_t node = p->node[i], at = (uint32_t)e->n_lanes;
        if (node >= n_nodes) {
            e->stray++;
            continue;
        }
        e->lanes[e->n_lanes++] =
            (tt_entry_lane){p->start[i], p->arrive[i], p->release[i], p->lane, TT_NONE, p->open};
        if (e->by_node[node] == TT_NONE) {
            e->by_node[node] = (uint32_t)e->n;
            e->list[e->n++] = (tt_entry){.start = p->start[i],
                                         .arrive = p->arrive[i],
                                         .run = run,
                                         .node = node,
                                         .first = at,
                                         .last = at,
                                         .begun_by = p->lane,
                                         .first_node = first_node,
                                         .covers = p->covers[i],
                                         .open = p->open};
            continue;
        }
        tt_entry *x = &e->list[e->by_node[node]];
        e->lanes[x->last].next = at;
        x->last = at;
        if (p->start[i] < x->start) {
            x->start = p->start[i];
            x->begun_by = p->lane;
        }
        if (p->arrive[i] > x->arrive) x->arrive = p->arrive[i];
        x->covers = p->covers[i];
        x->open |= p->open;
    }
}

static tt_status add_run(tt_entries *e, const tt_model *m, uint32_t run, uint64_t first_node,
                         tt_error *err)
{
    const tt_piece *pieces;
    size_t n, begin = e->n;
    uint32_t graph = m->runs[run].graph;
    uint32_t n_nodes = graph == TT_NONE ? 0 : m->graphs[graph].n_nodes;
    tt_status status = tt_pieces_of_run(m->pieces, m->runs[run].id, &pieces, &n, err);
    if (status == TT_OK && !reserve_nodes(e, n_nodes))
        status = tt_error_memory(err, "a batch's ops");
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tt_piece_ops p;
        status = tt_pieces_get(m->pieces, &pieces[i], &p, err);
        if (status != TT_OK) break;
        size_t all = e->n_lanes + p.n;
        if (all >= TT_NONE || !tt_array_room(e->lanes, e->lanes_capacity, all) ||
            !tt_array_room(e->list, e->capacity, e->n + p.n))
            status = tt_error_memory(err, "a batch's ops");
        else
            add_piece(e, &p, run, n_nodes, first_node);
    }
    for (size_t i = begin; i < e->n; i++)
        e->by_node[e->list[i].node] = TT_NONE;
    return status;
}

TT_ORDER_BY(by_start, tt_entry, start, run, node)

tt_status tt_entries_load(tt_entries *e, const tt_model *m, uint32_t first_run,
                          const uint32_t *next_run, tt_error *err)
{
    uint64_t first_node = 0;
    e->n = e->n_lanes = 0;
    for (uint32_t r = first_run; r != TT_NONE; r = next_run[r]) {
        tt_status status = add_run(e, m, r, first_node, err);
        if (status != TT_OK) return status;
        if (m->runs[r].graph != TT_NONE) first_node += m->graphs[m->runs[r].graph].n_tensors;
    }
    size_t sorted = 1;
    while (sorted < e->n && by_start(&e->list[sorted - 1], &e->list[sorted]) <= 0)
        sorted++;
    if (sorted < e->n) qsort(e->list, e->n, sizeof *e->list, by_start);
    return TT_OK;
}

void tt_entries_free(tt_entries *e)
{
    free(e->list);
    free(e->lanes);
    free(e->by_node);
    memset(e, 0, sizeof *e);
}
