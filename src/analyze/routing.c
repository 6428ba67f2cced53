#include "analyze/routing.h"

#include "base/idmap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const uint32_t tt_router_windows[TT_ROUTER_WINDOWS] = {1, 8, 64};

/* The newest token of a sequence. */
typedef struct newest {
    int64_t position;
    uint32_t first; /* of its experts, in tt_router.kept */
    uint32_t n, capacity;
} newest;

struct tt_router {
    uint32_t n_experts;
    tt_expert_use *uses;
    uint64_t *last_token; /* by expert: 1 + number of the last token that chose it; 0: none */
    uint64_t *last_batch; /* likewise, of the batch (as counted here) */
    uint32_t chosen_most;
    uint64_t tokens, choices, out_of_range;
    /* Neighbours: */
    tt_idmap by_sequence;
    newest *newest;
    size_t n_newest, newest_capacity;
    uint32_t *kept;
    size_t n_kept, kept_capacity;
    uint64_t neighbours;
    uint64_t stayed, stayed_of;
    /* How often an expert was in a window, by the window's last token, for each kind. */
    uint64_t in_window[TT_ROUTER_WINDOWS];
    uint64_t batches, batch;
    uint64_t in_batch;
    uint64_t *transitions, *followed; /* NULL: not kept */
};

tt_router *tt_router_new(uint32_t n_experts)
{
    if (n_experts == 0 || n_experts > TT_ROUTER_EXPERTS_MAX) return NULL;
    tt_router *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->n_experts = n_experts;
    r->uses = calloc(n_experts, sizeof *r->uses);
    r->last_token = calloc(n_experts, sizeof *r->last_token);
    r->last_batch = calloc(n_experts, sizeof *r->last_batch);
    if (r->uses && r->last_token && r->last_batch) return r;
    tt_router_free(r);
    return NULL;
}

void tt_router_free(tt_router *r)
{
    if (!r) return;
    tt_idmap_free(&r->by_sequence);
    free(r->uses);
    free(r->last_token);
    free(r->last_batch);
    free(r->newest);
    free(r->kept);
    free(r->transitions);
    free(r->followed);
    free(r);
}

bool tt_router_keep_transitions(tt_router *r)
{
    const size_t n = r->n_experts;
    if (n > TT_ROUTER_TRANSITIONS_MAX) return false;
    r->transitions = calloc(n * n, sizeof *r->transitions);
    r->followed = calloc(n, sizeof *r->followed);
    return r->transitions && r->followed;
}

const uint64_t *tt_router_transitions(const tt_router *r, const uint64_t **followed)
{
    *followed = r->followed;
    return r->transitions;
}

/* A use at token `at` keeps its expert in the windows that end at `at` or later, until a window no
 * longer reaches back to it or a newer use takes over at token `next`. Only windows that do not
 * begin before the first token count: those that end at token window - 1 or later. */
static uint64_t windows_with(uint64_t at, uint64_t next, uint64_t window)
{
    uint64_t from = at > window - 1 ? at : window - 1;
    uint64_t to = next - at < window ? next : at + window; /* exclusive */
    return to > from ? to - from : 0;
}

static void count_use(tt_router *r, uint32_t expert, float weight)
{
    tt_expert_use *use = &r->uses[expert];
    use->count++;
    if (!isnan(weight)) {
        use->weighted++;
        use->weight_sum += (double)weight;
    }
    r->choices++;
    for (size_t i = 0; i < TT_ROUTER_WINDOWS && r->last_token[expert]; i++)
        r->in_window[i] += windows_with(r->last_token[expert] - 1, r->tokens, tt_router_windows[i]);
    r->last_token[expert] = r->tokens + 1;
    if (r->last_batch[expert] == r->batches) return;
    r->last_batch[expert] = r->batches;
    use->batches++;
    use->last_batch = r->batch;
    r->in_batch++;
}

static newest *newest_of(tt_router *r, uint64_t sequence)
{
    uint32_t was;
    if (r->n_newest == r->newest_capacity) {
        size_t more = r->newest_capacity ? r->newest_capacity * 2 : 8;
        newest *list = reallocarray(r->newest, more, sizeof *list);
        if (!list) return NULL;
        r->newest = list;
        r->newest_capacity = more;
    }
    if (r->n_newest >= TT_NONE ||
        !tt_idmap_add(&r->by_sequence, sequence, (uint32_t)r->n_newest, &was))
        return NULL;
    if (was != TT_NONE) return &r->newest[was];
    r->newest[r->n_newest] = (newest){0};
    return &r->newest[r->n_newest++];
}

/* Room for n experts after `first`; a sequence's old space is given up when it grows. */
static bool keep_room(tt_router *r, newest *last, uint32_t n)
{
    if (n <= last->capacity) return true;
    if (r->n_kept + n > UINT32_MAX) return false;
    if (r->n_kept + n > r->kept_capacity) {
        size_t more = r->kept_capacity * 2 + n;
        uint32_t *kept = reallocarray(r->kept, more, sizeof *kept);
        if (!kept) return false;
        r->kept = kept;
        r->kept_capacity = more;
    }
    last->first = (uint32_t)r->n_kept;
    last->capacity = n;
    r->n_kept += n;
    return true;
}

static bool has(const uint32_t *list, size_t n, uint32_t value)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == value) return true;
    return false;
}

static void compare_with(tt_router *r, const newest *last, const tt_routed *t,
                         const uint32_t *chosen, uint32_t n)
{
    if (last->n == 0 || n == 0 || t->position == INT64_MIN || t->position - 1 != last->position)
        return;
    const uint32_t *before = r->kept + last->first;
    for (uint32_t k = 0; r->transitions && k < last->n; k++) {
        r->followed[before[k]]++;
        for (uint32_t i = 0; i < n; i++)
            r->transitions[(size_t)before[k] * r->n_experts + chosen[i]]++;
    }
    r->neighbours++;
    r->stayed_of += n;
    for (uint32_t i = 0; i < n; i++)
        r->stayed += has(before, last->n, chosen[i]);
}

/* The token counts as a neighbour once, and is the newest of all its sequences. */
static bool follow(tt_router *r, const tt_routed *t, const uint32_t *chosen, uint32_t n)
{
    for (size_t s = 0; s < t->n_sequences; s++) {
        newest *last = newest_of(r, t->sequences[s]);
        if (!last) return false;
        if (s == 0) compare_with(r, last, t, chosen, n);
        if (!keep_room(r, last, n)) return false;
        last->position = t->position;
        last->n = n;
        if (n) memcpy(r->kept + last->first, chosen, n * sizeof *chosen);
    }
    return true;
}

bool tt_router_add(tt_router *r, const tt_routed *token)
{
    uint32_t chosen[TT_ROUTER_CHOSEN_MAX], n = 0;
    if (r->batches == 0 || token->batch != r->batch) r->batches++;
    r->batch = token->batch;
    for (size_t i = 0; i < token->n; i++) {
        uint32_t expert = token->experts[i];
        if (expert >= r->n_experts || n == TT_ROUTER_CHOSEN_MAX || has(chosen, n, expert)) {
            r->out_of_range++;
            continue;
        }
        chosen[n++] = expert;
        count_use(r, expert, token->weights[i]);
    }
    if (n > r->chosen_most) r->chosen_most = n;
    r->tokens++;
    return follow(r, token, chosen, n);
}

static int descending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x > y ? -1 : x < y;
}

static void sum_shares(const tt_router *r, tt_router_sum *s)
{
    const uint32_t tops[TT_ROUTER_TOP] = {1, 2, 4, r->chosen_most};
    uint64_t *counts = malloc(r->n_experts * sizeof *counts), taken = 0;
    for (uint32_t i = 0; i < r->n_experts; i++) {
        uint64_t count = r->uses[i].count;
        if (counts) counts[i] = count;
        s->unused += count == 0;
        double share = (double)count / (double)r->choices;
        if (count) s->entropy_bits -= share * log2(share);
    }
    if (counts) qsort(counts, r->n_experts, sizeof *counts, descending);
    for (uint32_t i = 0; counts && i < r->n_experts; i++) {
        taken += counts[i];
        for (size_t k = 0; k < TT_ROUTER_TOP; k++)
            if (i < tops[k]) s->top_share[k] = (double)taken / (double)r->choices;
    }
    free(counts);
}

static void sum_windows(const tt_router *r, tt_router_sum *s)
{
    for (size_t k = 0; k < TT_ROUTER_WINDOWS; k++) {
        const uint64_t window = tt_router_windows[k];
        uint64_t sum = r->in_window[k];
        s->working_set[k] = NAN;
        if (r->tokens < window) continue;
        for (uint32_t i = 0; i < r->n_experts; i++)
            if (r->last_token[i]) sum += windows_with(r->last_token[i] - 1, r->tokens, window);
        s->working_set[k] = (double)sum / (double)(r->tokens - window + 1);
    }
}

void tt_router_sum_up(const tt_router *r, tt_router_sum *s)
{
    *s = (tt_router_sum){.experts = r->n_experts,
                         .chosen_most = r->chosen_most,
                         .tokens = r->tokens,
                         .choices = r->choices,
                         .out_of_range = r->out_of_range,
                         .neighbours = r->neighbours,
                         .batches = r->batches};
    s->evenness = s->stickiness = NAN;
    for (size_t k = 0; k < TT_ROUTER_TOP; k++)
        s->top_share[k] = NAN;
    s->chance = (double)r->chosen_most / r->n_experts;
    if (r->choices)
        sum_shares(r, s);
    else
        s->unused = r->n_experts;
    if (r->n_experts > 1 && r->choices) s->evenness = s->entropy_bits / log2(r->n_experts);
    if (r->stayed_of) s->stickiness = (double)r->stayed / (double)r->stayed_of;
    s->batch_set = r->batches ? (double)r->in_batch / (double)r->batches : NAN;
    sum_windows(r, s);
}

const tt_expert_use *tt_router_uses(const tt_router *r, uint32_t *n_experts)
{
    *n_experts = r->n_experts;
    return r->uses;
}

double tt_routing_jaccard(const uint32_t *a, const uint32_t *b, size_t n)
{
    size_t both = 0, either = 0;
    for (size_t i = 0; i < n; i++) {
        both += a[i] && b[i];
        either += a[i] || b[i];
    }
    return either ? (double)both / (double)either : NAN;
}

double tt_routing_cosine(const uint32_t *a, const uint32_t *b, size_t n)
{
    double product = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < n; i++) {
        product += (double)a[i] * b[i];
        aa += (double)a[i] * a[i];
        bb += (double)b[i] * b[i];
    }
    return aa > 0 && bb > 0 ? product / sqrt(aa * bb) : NAN;
}
