#include "analyze/join.h"

#include <stdlib.h>
#include <string.h>

static void add_piece(tt_join *j, const tt_piece_ops *p)
{
    const uint32_t n_nodes = j->graph->n_nodes;
    for (size_t i = 0; i < p->n; i++) {
        if (p->node[i] >= n_nodes) {
            j->stray++;
            continue;
        }
        tt_joined *op = &j->ops[p->node[i]];
        uint64_t start = p->start[i], arrive = p->arrive[i], release = p->release[i];
        if (op->stamp != j->stamp) {
            *op = (tt_joined){.start = start, .stamp = j->stamp};
            j->touched[j->n_touched++] = p->node[i];
        }
        if (start < op->start) op->start = start;
        if (arrive > op->arrive) op->arrive = arrive;
        if (release > op->release) op->release = release;
        op->busy += arrive - start;
        op->wait += release - arrive;
        op->lanes++;
        op->covers = p->covers[i];
        op->open |= p->open;
    }
}

static bool make_room(tt_join *j, size_t need)
{
    if (need <= j->capacity) return true;
    tt_joined *ops = reallocarray(j->ops, need, sizeof *ops);
    if (ops) j->ops = ops;
    uint32_t *touched = reallocarray(j->touched, need, sizeof *touched);
    if (touched) j->touched = touched;
    if (!ops || !touched) return false;
    memset(ops + j->capacity, 0, (need - j->capacity) * sizeof *ops);
    j->capacity = need;
    return true;
}

/* Work is done per record only: a large graph of which little ran costs little. */
tt_status tt_join_run(tt_join *j, const tt_model *m, uint32_t run, tt_error *err)
{
    const tt_run *r = &m->runs[run];
    const tt_piece *pieces;
    size_t n;
    tt_status status = tt_pieces_of_run(m->pieces, r->id, &pieces, &n, err);
    if (status != TT_OK) return status;
    j->graph = r->graph == TT_NONE ? NULL : &m->graphs[r->graph];
    j->n_touched = 0;
    if (n > 0 && j->graph && !make_room(j, j->graph->n_nodes))
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory for a run's ops");
    if (++j->stamp == 0) {
        /* 2^32 runs on: old stamps must not be taken for new ones. */
        if (j->capacity) memset(j->ops, 0, j->capacity * sizeof *j->ops);
        j->stamp = 1;
    }
    for (size_t i = 0; i < n; i++) {
        tt_piece_ops p;
        status = tt_pieces_get(m->pieces, &pieces[i], &p, err);
        if (status != TT_OK) return status;
        if (j->graph)
            add_piece(j, &p);
        else
            j->stray += p.n;
    }
    return TT_OK;
}

void tt_join_free(tt_join *j)
{
    free(j->ops);
    free(j->touched);
    memset(j, 0, sizeof *j);
}
