#include "analyze/diff/diff.h"

#include "analyze/join.h"
#include "analyze/ops.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static tt_diff_token token_of(const tt_model *m, const tt_units *units, size_t unit)
{
    const tt_unit *u = &units->list[unit];
    tt_diff_token t = {.token = TT_NONE,
                       .begin_ns = NAN,
                       .time_ns = u->time_ns,
                       .n_tokens = u->n_tokens,
                       .has_position = u->has_position,
                       .position = u->position};
    if (u->batch != TT_NONE) {
        t.token = tt_model_batch_number(m, u->batch);
        t.begin_ns = tt_model_ns(m, m->batches[u->batch].begin_ticks);
    } else if (u->n_runs > 0) {
        t.begin_ns = tt_model_ns(m, m->runs[units->runs[u->first]].begin_ticks);
    }
    return t;
}

tt_diff_token tt_diff_sample(const tt_diff *d, const tt_diff_phase *p, size_t file, size_t k)
{
    return token_of(d->files[file], &p->units[file], p->pairs.units[file][k * p->stride]);
}

void tt_diff_sample_span(const tt_diff_phase *p, size_t file, size_t k, double *least_ns,
                         double *most_ns)
{
    *least_ns = *most_ns = NAN;
    for (size_t i = k * p->stride; i < (k + 1) * p->stride && i < p->pairs.n; i++) {
        double ns = p->units[file].list[p->pairs.units[file][i]].time_ns;
        /* fmin and fmax ignore a NAN. */
        *least_ns = fmin(*least_ns, ns);
        *most_ns = fmax(*most_ns, ns);
    }
}

void tt_diff_part_times(const tt_diff *d, const tt_diff_phase *p, size_t part, size_t file,
                        double *out)
{
    const tt_profile *own = p->profiles[file];
    const uint32_t *rows = file >= d->n_a ? p->structure.row_of_slot_b : p->structure.row_of_slot_a;
    const char *category = p->rows[TT_DIFF_PARTS][part].key;
    for (size_t k = 0; k < p->n_samples; k++)
        out[k] = NAN;
    for (uint32_t i = 0; i < own->n_slots; i++) {
        if (rows[i] == TT_NONE) continue;
        if (strcmp(p->rows[TT_DIFF_OPS][rows[i]].category, category) != 0) continue;
        for (size_t k = 0; k < p->n_samples; k++) {
            double ns = (double)own->slots[i].times_ns[k];
            if (!isnan(ns)) out[k] = isnan(out[k]) ? ns : out[k] + ns;
        }
    }
}

/* --- the pair of one token --- */

static size_t unit_of_token(const tt_model *m, const tt_units *u, uint32_t token)
{
    for (size_t i = 0; i < u->n; i++)
        if (u->list[i].batch != TT_NONE && tt_model_batch_number(m, u->list[i].batch) == token)
            return i;
    return SIZE_MAX;
}

/* In a pair list: the partner of `unit` of one side, or SIZE_MAX. */
static size_t partner_of(const tt_unit_pairs *pairs, size_t side, size_t unit)
{
    for (size_t k = 0; k < pairs->n; k++)
        if (pairs->units[side][k] == unit) return pairs->units[!side][k];
    return SIZE_MAX;
}

static tt_status find_in_phase(const tt_model *const *m, unsigned phase, size_t side,
                               uint32_t token, tt_diff_pair *out, bool *found, tt_error *err)
{
    tt_units units[2];
    tt_unit_pairs pairs;
    tt_diff_token ends[2];
    bool has[2] = {false, false};
    memset(units, 0, sizeof units);
    memset(ends, 0, sizeof ends);
    tt_status status = tt_units_list(m[side], phase, &units[side], err);
    size_t unit = status == TT_OK ? unit_of_token(m[side], &units[side], token) : SIZE_MAX;
    *found = unit != SIZE_MAX;
    if (*found) status = tt_units_list(m[!side], phase, &units[!side], err);
    if (*found && status == TT_OK) status = tt_units_pair(units, 2, 1, &pairs, err);
    if (*found && status == TT_OK) {
        size_t partner = partner_of(&pairs, side, unit);
        has[side] = true;
        ends[side] = token_of(m[side], &units[side], unit);
        has[!side] = partner != SIZE_MAX;
        if (has[!side]) ends[!side] = token_of(m[!side], &units[!side], partner);
        *out = (tt_diff_pair){phase, has[0], has[1], ends[0], ends[1]};
        tt_unit_pairs_free(&pairs);
    }
    tt_units_free(&units[0]);
    tt_units_free(&units[1]);
    return status;
}

tt_status tt_diff_pair_find(const tt_model *a, const tt_model *b, bool of_b, uint32_t token,
                            tt_diff_pair *out, tt_error *err)
{
    const tt_model *const m[2] = {a, b};
    const unsigned phases[] = {TT_PHASE_GENERATE, TT_PHASE_PROMPT, TT_PHASE_UNKNOWN};
    bool found = false;
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        tt_status status = find_in_phase(m, phases[i], of_b, token, out, &found, err);
        if (status != TT_OK || found) return status;
    }
    return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                        "%s has no batch %" PRIu32 " that was computed to its end",
                        of_b ? "B" : "A", token);
}

/* --- the op of a row --- */

static bool locate_in_run(const tt_model *m, const tt_join *join, uint32_t run, const char *name,
                          tt_diff_located *out)
{
    tt_op op;
    for (uint32_t i = 0; i < join->n_touched; i++) {
        uint32_t node = join->touched[i];
        tt_op_describe(m, join->graph, node, join->ops[node].covers, &op);
        if (strcmp(op.name, name) != 0) continue;
        *out = (tt_diff_located){run, node, TT_NONE};
        for (uint32_t s = 0; s < op.n_sources && out->weight == TT_NONE; s++)
            out->weight = op.sources[s].weight;
        return true;
    }
    return false;
}

tt_status tt_diff_locate(const tt_model *m, uint32_t token, const char *name, tt_diff_located *out,
                         tt_error *err)
{
    tt_join join = {0};
    tt_status status = TT_OK;
    bool found = false;
    *out = (tt_diff_located){TT_NONE, TT_NONE, TT_NONE};
    for (uint32_t r = 0; r < m->n_runs && !found && status == TT_OK; r++) {
        uint32_t batch = m->runs[r].batch;
        if (batch == TT_NONE || tt_model_batch_number(m, batch) != token) continue;
        status = tt_join_run(&join, m, r, err);
        if (status == TT_OK && join.graph) found = locate_in_run(m, &join, r, name, out);
    }
    tt_join_free(&join);
    return status;
}
