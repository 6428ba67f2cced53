/* Error over depth, and the rows by layer and by stage. */
#include "analyze/dumps/valuediff_parts.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Which steps of two dumps belong together. */

/* How far a step's partner is looked for. */
#define AHEAD_MAX 65536u
#define OVERLAP_AHEAD_MAX 4096u

static bool has_place(const tt_dump_head *h)
{
    return h->position != TT_DUMP_POSITION_UNKNOWN;
}

static bool same_place(const tt_dump_head *a, const tt_dump_head *b)
{
    if (a->no_place || b->no_place) return false;
    if (a->position != b->position || a->sequence != b->sequence) return false;
    return a->n_tokens == b->n_tokens || !a->n_tokens || !b->n_tokens;
}

static bool know_tokens(const tt_dump_head *a, const tt_dump_head *b)
{
    return a->tokens && b->tokens && a->n_tokens == b->n_tokens;
}

/* The first token in which they differ, or n_tokens. Tokens of one place, in the order of the
 * batch. */
static uint32_t first_other_token(const tt_dump_head *a, const tt_dump_head *b)
{
    for (uint32_t i = 0; i < a->n_tokens; i++) {
        if (a->tokens[i] != b->tokens[i]) return i;
        if (a->positions && b->positions && a->positions[i] != b->positions[i]) return i;
    }
    return a->n_tokens;
}

/* The step of B from `from` on that step `a` belongs to: at the same place, with the same tokens if
 * there is such a one, as a text may be computed several times. */
static uint32_t partner_of(const tt_valuediff *d, const tt_dump_head *a, uint32_t from)
{
    uint32_t other = TT_NONE;
    for (uint32_t i = from; i < d->b->n_steps && i - from < AHEAD_MAX; i++) {
        const tt_dump_head *b = &d->b->steps[i];
        if (!same_place(a, b)) continue;
        if (!know_tokens(a, b) || first_other_token(a, b) == a->n_tokens) return i;
        if (other == TT_NONE) other = i;
    }
    return other;
}

static bool overlap(const tt_dump_head *a, const tt_dump_head *b)
{
    int64_t na = a->n_tokens ? a->n_tokens : 1, nb = b->n_tokens ? b->n_tokens : 1;
    return has_place(a) && has_place(b) && !a->no_place && !b->no_place &&
           a->sequence == b->sequence && a->position < b->position + nb &&
           b->position < a->position + na;
}

static tt_valuediff_step *add(tt_valuediff *d, tt_valuediff_pairing pairing, uint32_t a, uint32_t b)
{
    const tt_dump_head *h = a != TT_NONE ? &d->a->steps[a] : &d->b->steps[b];
    tt_valuediff_step *s = &d->steps[d->n_steps++];
    *s = (tt_valuediff_step){.pairing = pairing,
                             .a = a,
                             .b = b,
                             .sequence = h->sequence,
                             .position = h->position,
                             .n_tokens = h->n_tokens,
                             .worst_rel_l2 = NAN};
    return s;
}

/* A pair; false when its tokens differ, after which nothing is comparable. */
static bool add_pair(tt_valuediff *d, uint32_t ia, uint32_t ib)
{
    const tt_dump_head *a = &d->a->steps[ia], *b = &d->b->steps[ib];
    uint32_t other = know_tokens(a, b) ? first_other_token(a, b) : a->n_tokens;
    if (!know_tokens(a, b)) d->tokens_known = false;
    if (other == a->n_tokens) {
        (void)add(d, TT_PAIR_BOTH, ia, ib);
        return true;
    }
    (void)add(d, TT_PAIR_TOKENS, ia, ib);
    d->stopped = true;
    d->stopped_sequence = a->sequence;
    d->stopped_position = a->positions ? a->positions[other] : TT_DUMP_POSITION_UNKNOWN;
    d->stopped_token_a = a->tokens[other];
    d->stopped_token_b = b->tokens[other];
    return false;
}

static void pair_by_order(tt_valuediff *d)
{
    d->by_order = true;
    uint32_t na = (uint32_t)d->a->n_steps, nb = (uint32_t)d->b->n_steps;
    for (uint32_t i = 0; i < na || i < nb; i++) {
        if (i >= na || i >= nb)
            (void)add(d, i < na ? TT_PAIR_ONLY_A : TT_PAIR_ONLY_B, i < na ? i : TT_NONE,
                      i < nb ? i : TT_NONE);
        else if (!add_pair(d, i, i))
            return;
    }
}

/* Steps of one side only, where the other one has their tokens, too. */
static void mark_batches(tt_valuediff *d)
{
    for (size_t i = 0; i < d->n_steps; i++) {
        tt_valuediff_step *s = &d->steps[i];
        for (size_t k = i + 1; s->pairing == TT_PAIR_ONLY_A && k < d->n_steps; k++) {
            tt_valuediff_step *o = &d->steps[k];
            if (o->pairing == TT_PAIR_BOTH || k - i > OVERLAP_AHEAD_MAX) break;
            if (o->b != TT_NONE && overlap(&d->a->steps[s->a], &d->b->steps[o->b]))
                s->pairing = TT_PAIR_BATCHES;
        }
    }
    for (size_t i = d->n_steps; i-- > 0;) {
        tt_valuediff_step *s = &d->steps[i];
        for (size_t k = i; s->pairing == TT_PAIR_ONLY_B && k-- > 0;) {
            tt_valuediff_step *o = &d->steps[k];
            if (o->pairing == TT_PAIR_BOTH || i - k > OVERLAP_AHEAD_MAX) break;
            if (o->a != TT_NONE && overlap(&d->a->steps[o->a], &d->b->steps[s->b]))
                s->pairing = TT_PAIR_BATCHES;
        }
    }
}

static void pair_by_place(tt_valuediff *d)
{
    uint32_t next = 0;
    bool alike = true;
    for (uint32_t i = 0; alike && i < d->a->n_steps; i++) {
        uint32_t partner = partner_of(d, &d->a->steps[i], next);
        if (partner == TT_NONE) {
            (void)add(d, TT_PAIR_ONLY_A, i, TT_NONE);
            continue;
        }
        for (; next < partner; next++)
            (void)add(d, TT_PAIR_ONLY_B, TT_NONE, next);
        alike = add_pair(d, i, partner);
        next = partner + 1;
    }
    for (; alike && next < d->b->n_steps; next++)
        (void)add(d, TT_PAIR_ONLY_B, TT_NONE, next);
    mark_batches(d);
}

/* The last position of the text that the trace began with; TT_DUMP_POSITION_UNKNOWN. */
static int32_t end_of_prompt(const tt_dump *d)
{
    int64_t last = TT_DUMP_POSITION_UNKNOWN;
    for (size_t i = 0; i < d->n_steps && d->steps[i].phase == TT_PHASE_PROMPT; i++) {
        const tt_dump_head *h = &d->steps[i];
        if (!has_place(h) || h->sequence != d->steps[0].sequence) break;
        if (i > 0 && h->position != last + 1) break; /* another text, or a warm-up before */
        last = (int64_t)h->position + (h->n_tokens ? h->n_tokens : 1) - 1;
    }
    return last > INT32_MAX ? TT_DUMP_POSITION_UNKNOWN : (int32_t)last;
}

/* Records that may be of any position are of the end of the other side's prompt, as its writer
 * stopped there; where that is not known, of none. */
static void place_records(tt_dump *d, const tt_dump *other)
{
    if (d->places != TT_PLACES_UNKNOWN || other->places == TT_PLACES_UNKNOWN) return;
    int32_t last = other->model ? end_of_prompt(other) : TT_DUMP_POSITION_UNKNOWN;
    if (!other->model && other->n_steps == 1) return; /* one against one */
    for (size_t i = 0; i < d->n_steps; i++) {
        d->steps[i].no_place = last == TT_DUMP_POSITION_UNKNOWN;
        if (!d->steps[i].no_place) d->steps[i].position = last;
    }
}

bool tt_valuediff_pair_steps(tt_valuediff *d, const tt_valuediff_options *o)
{
    bool places = true;
    if (!o->by_order) {
        place_records(d->a, d->b);
        place_records(d->b, d->a);
    }
    size_t most = d->a->n_steps + d->b->n_steps;
    d->steps = calloc(most ? most : 1, sizeof *d->steps);
    if (!d->steps) return false;
    for (size_t i = 0; i < d->a->n_steps; i++)
        places = places && has_place(&d->a->steps[i]);
    for (size_t i = 0; i < d->b->n_steps; i++)
        places = places && has_place(&d->b->steps[i]);
    d->tokens_known = true;
    if (places && !o->by_order)
        pair_by_place(d);
    else
        pair_by_order(d);
    return true;
}

/* Networks have some hundred layers and stages; what a damaged trace claims beyond is not in the
 * rows, though counted. */
#define ROWS_MAX 4096u
#define DEPTH_MAX ((size_t)1 << 20)

/* What rows and plots show: not what an error is at least, of which nothing else is known. */
static double size_of(const tt_valuediff_item *i)
{
    return i->verdict == TT_VALUE_OTHER_BITS ? NAN : i->error.rel_l2;
}

static bool put_depth(tt_valuediff *d, tt_valuediff_tally *t, const tt_valuediff_item *i,
                      bool behind)
{
    tt_valuediff_depth *row = NULL;
    /* Its layer is near the end of the list: the nodes of one are together. */
    for (size_t k = d->n_depth; !row && k-- > 0 && d->depth[k].pair == i->pair;) {
        if (d->depth[k].layer == i->layer && d->depth[k].behind == behind) row = &d->depth[k];
    }
    if (!row) {
        if (d->n_depth == DEPTH_MAX || t->rows_of_step == ROWS_MAX) return true;
        t->rows_of_step++;
        if (!tt_array_one_more(d->depth, d->n_depth, t->depth_capacity)) return false;
        row = &d->depth[d->n_depth++];
        *row = (tt_valuediff_depth){
            .pair = i->pair, .layer = i->layer, .behind = behind, .rel_l2 = NAN, .cosine_gap = NAN};
    }
    row->counts[i->verdict]++;
    if (!isnan(size_of(i)) && !(row->rel_l2 >= size_of(i))) {
        row->rel_l2 = size_of(i);
        row->stage = i->stage;
    }
    row->cosine_gap = tt_larger(row->cosine_gap, tt_cosine_gap(i->error.cosine));
    return true;
}

static void put(tt_valuediff_row *r, const tt_valuediff_item *i)
{
    r->counts[i->verdict]++;
    if (!isnan(size_of(i)) && !(r->rel_l2 >= size_of(i))) {
        r->rel_l2 = size_of(i);
        r->worst_pair = i->pair;
    }
    r->max_abs = tt_larger(r->max_abs, i->error.max_abs);
    r->cosine_gap = tt_larger(r->cosine_gap, tt_cosine_gap(i->error.cosine));
}

static tt_valuediff_row *new_row(tt_valuediff_row **rows, size_t *n, size_t *capacity)
{
    if (!tt_array_one_more(*rows, *n, *capacity)) return NULL;
    tt_valuediff_row *r = &(*rows)[(*n)++];
    *r = (tt_valuediff_row){.layer = TT_STAGE_LAYER_UNKNOWN,
                            .rel_l2 = NAN,
                            .max_abs = NAN,
                            .cosine_gap = NAN,
                            .worst_pair = TT_NONE};
    return r;
}

static bool put_layer(tt_valuediff *d, tt_valuediff_tally *t, const tt_valuediff_item *i,
                      bool behind)
{
    for (size_t k = 0; k < d->n_layers; k++) {
        if (d->layers[k].layer != i->layer || d->layers[k].behind != behind) continue;
        put(&d->layers[k], i);
        return true;
    }
    if (d->n_layers == ROWS_MAX) return true;
    tt_valuediff_row *r = new_row(&d->layers, &d->n_layers, &t->layer_capacity);
    if (!r) return false;
    r->layer = i->layer;
    r->behind = behind;
    put(r, i);
    return true;
}

bool tt_valuediff_tally_item(tt_valuediff *d, tt_valuediff_tally *t, const tt_valuediff_item *i)
{
    bool behind = i->layer < 0 && t->behind;
    if (i->layer >= 0) t->behind = true;
    d->counts[i->verdict]++;
    d->steps[i->pair].counts[i->verdict]++;
    d->steps[i->pair].worst_rel_l2 = tt_larger(d->steps[i->pair].worst_rel_l2, size_of(i));
    if (i->verdict != TT_VALUE_UNMEASURED) d->compared++;
    if (!put_depth(d, t, i, behind) || !put_layer(d, t, i, behind)) return false;
    for (size_t k = 0; k < d->n_stages; k++) {
        if (d->stages[k].stage != i->stage) continue; /* each text is kept once */
        put(&d->stages[k], i);
        return true;
    }
    if (d->n_stages == ROWS_MAX) return true;
    tt_valuediff_row *r = new_row(&d->stages, &d->n_stages, &t->stage_capacity);
    if (!r) return false;
    r->stage = i->stage;
    put(r, i);
    return true;
}

/* Before the layers, the layers, after all of them, logits. */
static int place_of(int32_t layer, bool behind)
{
    if (layer >= 0) return 1;
    return !behind ? 0 : layer == TT_STAGE_LAYER_AFTER_ALL ? 2 : 3;
}

static int by_layer(const void *left, const void *right)
{
    const tt_valuediff_row *a = left, *b = right;
    int pa = place_of(a->layer, a->behind), pb = place_of(b->layer, b->behind);
    if (pa != pb) return pa < pb ? -1 : 1;
    return a->layer < b->layer ? -1 : a->layer > b->layer;
}

static int by_depth(const void *left, const void *right)
{
    const tt_valuediff_depth *a = left, *b = right;
    if (a->pair != b->pair) return a->pair < b->pair ? -1 : 1;
    int pa = place_of(a->layer, a->behind), pb = place_of(b->layer, b->behind);
    if (pa != pb) return pa < pb ? -1 : 1;
    return a->layer < b->layer ? -1 : a->layer > b->layer;
}

void tt_valuediff_tally_end(tt_valuediff *d)
{
    if (d->n_layers) qsort(d->layers, d->n_layers, sizeof *d->layers, by_layer);
    if (d->n_depth) qsort(d->depth, d->n_depth, sizeof *d->depth, by_depth);
}
