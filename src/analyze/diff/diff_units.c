#include "analyze/diff/diff_units.h"

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

/* Units of all runs, without those of which nothing ran. */
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

/* A unit that was cut off has not all of its ops. */
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

/* Takes what is at a position that all files have. */
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
