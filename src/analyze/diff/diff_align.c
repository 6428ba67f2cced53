#include "analyze/diff/diff_align.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* An element of a stretch. */
typedef struct item {
    uint64_t key;
    uint32_t nth; /* of its key on its side, when that counts */
    uint32_t at;
    uint32_t side;
} item;

typedef struct pair {
    uint32_t a, b;
} pair;

typedef struct aligner {
    const uint64_t *a, *b;
    uint32_t *match;
    item *items;     /* room for both sides */
    pair *pairs;     /* for the smaller side */
    uint32_t *tails; /* likewise: of the longest ascending sequence */
    uint32_t *before;
    uint8_t *steps; /* of the table */
} aligner;

typedef struct stretch {
    size_t a, a_end, b, b_end;
} stretch;

static int by_key(const void *x, const void *y)
{
    const item *p = x, *q = y;
    if (p->key != q->key) return p->key < q->key ? -1 : 1;
    if (p->nth != q->nth) return p->nth < q->nth ? -1 : 1;
    if (p->side != q->side) return p->side < q->side ? -1 : 1;
    return p->at < q->at ? -1 : p->at > q->at;
}

static int by_a(const void *x, const void *y)
{
    const pair *p = x, *q = y;
    return p->a < q->a ? -1 : p->a > q->a;
}

static size_t list_items(aligner *x, stretch s)
{
    size_t n = 0;
    for (size_t i = s.a; i < s.a_end; i++)
        x->items[n++] = (item){x->a[i], 0, (uint32_t)i, 0};
    for (size_t i = s.b; i < s.b_end; i++)
        x->items[n++] = (item){x->b[i], 0, (uint32_t)i, 1};
    qsort(x->items, n, sizeof *x->items, by_key);
    return n;
}

/* Numbers what is alike: then the first one of a belongs to the first one of b. */
static void number_items(item *items, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (items[i].key == items[i - 1].key && items[i].side == items[i - 1].side)
            items[i].nth = items[i - 1].nth + 1;
    qsort(items, n, sizeof *items, by_key);
}

/* Pairs of items that are alone with their key on each side, ascending in a. */
static size_t list_pairs(aligner *x, size_t n)
{
    const item *t = x->items;
    size_t n_pairs = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && t[end].key == t[i].key && t[end].nth == t[i].nth;)
            end++;
        if (end == i + 2 && t[i].side == 0 && t[i + 1].side == 1)
            x->pairs[n_pairs++] = (pair){t[i].at, t[i + 1].at};
    }
    qsort(x->pairs, n_pairs, sizeof *x->pairs, by_a);
    return n_pairs;
}

/* Of the pairs, the longest list that ascends in b too. */
static void match_longest(aligner *x, size_t n)
{
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        size_t low = 0, high = length;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (x->pairs[x->tails[middle]].b < x->pairs[i].b)
                low = middle + 1;
            else
                high = middle;
        }
        x->before[i] = low > 0 ? x->tails[low - 1] : TT_NONE;
        x->tails[low] = (uint32_t)i;
        if (low == length) length++;
    }
    for (uint32_t i = length ? x->tails[length - 1] : TT_NONE; i != TT_NONE; i = x->before[i])
        x->match[x->pairs[i].a] = x->pairs[i].b;
}

static void match_anchors(aligner *x, stretch s, bool numbered)
{
    size_t n = list_items(x, s);
    if (numbered) number_items(x->items, n);
    match_longest(x, list_pairs(x, n));
}

/* The longest common subsequence, by the table: steps[i][j] says where the best of a[i..], b[j..]
 * goes on. */
static tt_status match_table(aligner *x, stretch s, tt_error *err)
{
    const size_t rows = s.a_end - s.a, columns = s.b_end - s.b;
    uint32_t *best = calloc(2 * (columns + 1), sizeof *best);
    if (!x->steps) x->steps = malloc(TT_ALIGN_CELLS_MAX);
    if (!best || !x->steps) {
        free(best);
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to align two graphs");
    }
    for (size_t i = rows; i-- > 0;) {
        uint32_t *here = best + (i & 1) * (columns + 1), *next = best + (~i & 1) * (columns + 1);
        here[columns] = 0;
        for (size_t j = columns; j-- > 0;) {
            bool same = x->a[s.a + i] == x->b[s.b + j];
            uint8_t step = same ? 2 : here[j + 1] > next[j];
            here[j] = same ? next[j + 1] + 1 : step ? here[j + 1] : next[j];
            x->steps[i * columns + j] = step;
        }
    }
    for (size_t i = 0, j = 0; i < rows && j < columns;) {
        uint8_t step = x->steps[i * columns + j];
        if (step == 2) x->match[s.a + i] = (uint32_t)(s.b + j);
        i += step != 1;
        j += step != 0;
    }
    free(best);
    return TT_OK;
}

/* Equal ends need no table. */
static void match_ends(aligner *x, stretch *s)
{
    while (s->a < s->a_end && s->b < s->b_end && x->a[s->a] == x->b[s->b])
        x->match[s->a++] = (uint32_t)s->b++;
    while (s->a < s->a_end && s->b < s->b_end && x->a[s->a_end - 1] == x->b[s->b_end - 1])
        x->match[--s->a_end] = (uint32_t)--s->b_end;
}

static tt_status match_rest(aligner *x, stretch s, tt_error *err)
{
    match_ends(x, &s);
    if (s.a == s.a_end || s.b == s.b_end) return TT_OK;
    if ((s.a_end - s.a) <= TT_ALIGN_CELLS_MAX / (s.b_end - s.b)) return match_table(x, s, err);
    match_anchors(x, s, true);
    return TT_OK;
}

/* Each stretch between matches, in order. Matches made meanwhile lie within it. */
static tt_status for_stretches(aligner *x, size_t n_a, size_t n_b, bool rest, tt_error *err)
{
    stretch s = {0, 0, 0, 0};
    tt_status status = TT_OK;
    for (size_t i = 0; i <= n_a && status == TT_OK; i++) {
        if (i < n_a && x->match[i] == TT_NONE) continue;
        s.a_end = i;
        s.b_end = i < n_a ? x->match[i] : n_b;
        if (s.a < s.a_end && s.b < s.b_end) {
            if (rest)
                status = match_rest(x, s, err);
            else
                match_anchors(x, s, false);
        }
        s.a = i + 1;
        s.b = s.b_end + 1;
    }
    return status;
}

tt_status tt_align(const uint64_t *a, size_t n_a, const uint64_t *b, size_t n_b, uint32_t *match,
                   tt_error *err)
{
    if (n_a == 0 || n_b == 0) return TT_OK;
    size_t least = n_a < n_b ? n_a : n_b;
    aligner x = {.a = a, .b = b, .match = match};
    tt_status status = TT_OK;
    x.items = reallocarray(NULL, n_a + n_b, sizeof *x.items);
    x.pairs = reallocarray(NULL, least, sizeof *x.pairs);
    x.tails = reallocarray(NULL, least, sizeof *x.tails);
    x.before = reallocarray(NULL, least, sizeof *x.before);
    if (!x.items || !x.pairs || !x.tails || !x.before)
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to align two graphs");
    if (status == TT_OK) status = for_stretches(&x, n_a, n_b, false, err);
    if (status == TT_OK) status = for_stretches(&x, n_a, n_b, true, err);
    free(x.items);
    free(x.pairs);
    free(x.tails);
    free(x.before);
    free(x.steps);
    return status;
}
