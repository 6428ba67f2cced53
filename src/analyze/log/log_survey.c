#include "analyze/log/log_survey.h"

#include "analyze/join.h"
#include "analyze/log/log_cursor.h"
#include "base/array.h"
#include "base/checksum.h"
#include "base/idmap.h"

#include <stdlib.h>
#include <string.h>

struct tt_log_survey {
    uint32_t *order;
    tt_log_surveyed *runs; /* by place in the order */
    uint8_t *known;        /* likewise */
    tt_join join;
    tt_log_set *sets;
    uint32_t n_sets, capacity;
    size_t set_bytes;
    tt_idmap set_by_hash;
    /* Of the run under way, to be compared: */
    uint32_t graph;
    uint8_t *covers;
    size_t n_covers;
};

tt_log_survey *tt_log_survey_new(const tt_model *m)
{
    tt_log_survey *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->order = tt_log_order(m);
    s->runs = calloc((size_t)m->n_runs + 1, sizeof *s->runs);
    s->known = calloc((size_t)m->n_runs + 1, 1);
    if (s->order && s->runs && s->known) return s;
    tt_log_survey_free(s);
    return NULL;
}

void tt_log_survey_free(tt_log_survey *s)
{
    if (!s) return;
    for (uint32_t i = 0; i < s->n_sets; i++) {
        free(s->sets[i].nodes);
        free(s->sets[i].covers);
    }
    free(s->sets);
    free(s->covers);
    tt_idmap_free(&s->set_by_hash);
    tt_join_free(&s->join);
    free(s->known);
    free(s->runs);
    free(s->order);
    free(s);
}

const uint32_t *tt_log_survey_order(const tt_log_survey *s)
{
    return s->order;
}

const tt_log_set *tt_log_survey_set(const tt_log_survey *s, uint32_t set)
{
    return &s->sets[set];
}

uint32_t tt_log_survey_sets(const tt_log_survey *s)
{
    return s->n_sets;
}

static bool is_joined(const void *context, uint32_t index)
{
    const tt_log_survey *s = context;
    const tt_log_set *set = &s->sets[index];
    const tt_join *j = &s->join;
    return set->graph == s->graph && set->n == j->n_touched &&
           memcmp(set->nodes, j->touched, j->n_touched * sizeof *j->touched) == 0 &&
           memcmp(set->covers, s->covers, j->n_touched) == 0;
}

static uint32_t add_set(tt_log_survey *s, uint64_t key)
{
    const size_t n = s->join.n_touched, bytes = n * (sizeof(uint32_t) + 1);
    if (s->n_sets == TT_LOG_SETS_MAX || s->set_bytes + bytes > TT_LOG_SETS_BYTES_MAX)
        return TT_NONE;
    uint32_t was;
    if (!tt_array_one_more(s->sets, s->n_sets, s->capacity)) return TT_NONE;
    tt_log_set set = {.graph = s->graph, .n = (uint32_t)n};
    set.nodes = malloc(n * sizeof *set.nodes + 1);
    set.covers = malloc(n + 1);
    if (!set.nodes || !set.covers || !tt_idmap_add(&s->set_by_hash, key, s->n_sets, &was)) {
        free(set.nodes);
        free(set.covers);
        return TT_NONE;
    }
    memcpy(set.nodes, s->join.touched, n * sizeof *set.nodes);
    memcpy(set.covers, s->covers, n);
    s->set_bytes += bytes;
    s->sets[s->n_sets] = set;
    return s->n_sets++;
}

/* The set of what the join holds; TT_NONE when there is no room for it. */
static uint32_t set_of(tt_log_survey *s, uint32_t graph)
{
    const tt_join *j = &s->join;
    if (!tt_array_room(s->covers, s->n_covers, j->n_touched)) return TT_NONE;
    for (uint32_t i = 0; i < j->n_touched; i++)
        s->covers[i] = j->ops[j->touched[i]].covers;
    uint64_t key = tt_checksum(j->touched, j->n_touched * sizeof *j->touched) ^
                   tt_checksum(s->covers, j->n_touched) * 31 ^ graph;
    s->graph = graph;
    const uint32_t at = tt_idmap_find(&s->set_by_hash, &key, is_joined, s);
    return at != TT_NONE ? at : add_set(s, key);
}

const tt_log_surveyed *tt_log_survey_run(tt_log_survey *s, const tt_model *m, uint32_t position,
                                         uint64_t *work, tt_error *err)
{
    tt_log_surveyed *r = &s->runs[position];
    const tt_join *j = &s->join;
    const uint32_t run = s->order[position];
    if (s->known[position]) return r;
    *r = (tt_log_surveyed){.set = TT_NONE};
    if (m->runs[run].graph != TT_NONE) {
        if (tt_join_run(&s->join, m, run, err) != TT_OK) return NULL;
        r->n = j->n_touched;
        for (uint32_t i = 0; i < j->n_touched; i++) {
            const tt_joined *o = &j->ops[j->touched[i]];
            if (i == 0 || o->start < r->first_ticks) r->first_ticks = o->start;
            if (i == 0 || o->start > r->last_ticks) r->last_ticks = o->start;
            *work += o->lanes;
        }
        if (r->n > 0) r->set = set_of(s, m->runs[run].graph);
    }
    s->known[position] = 1;
    return r;
}
