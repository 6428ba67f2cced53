#include "analyze/order.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void tt_order_free(tt_order *o)
{
    free(o->nodes);
    memset(o, 0, sizeof *o);
}

static bool less(uint64_t rank, uint64_t begin, const tt_order_node *n)
{
    return rank != n->rank ? rank < n->rank : begin < n->begin;
}

static void sum_up(tt_order_node *nodes, uint32_t at)
{
    tt_order_node *n = &nodes[at];
    n->sum = n->size + nodes[n->child[0]].sum + nodes[n->child[1]].sum;
}

static uint32_t take(tt_order *o)
{
    uint32_t at = o->unused;
    if (at) {
        o->unused = o->nodes[at].child[0];
        return at;
    }
    if (!tt_array_one_more(o->nodes, o->n, o->capacity)) return 0;
    if (o->n == 0) {
        memset(o->nodes, 0, sizeof *o->nodes);
        o->n = 1;
        o->random = 2463534242u;
    }
    return o->n++;
}

/* Cuts a subtree in what is below the place and what is not. */
static void split(tt_order_node *nodes, uint32_t at, uint64_t rank, uint64_t begin, uint32_t *low,
                  uint32_t *high)
{
    if (!at) {
        *low = *high = 0;
        return;
    }
    if (less(rank, begin, &nodes[at])) {
        split(nodes, nodes[at].child[0], rank, begin, low, &nodes[at].child[0]);
        *high = at;
    } else {
        split(nodes, nodes[at].child[1], rank, begin, &nodes[at].child[1], high);
        *low = at;
    }
    sum_up(nodes, at);
}

static uint32_t merge(tt_order_node *nodes, uint32_t low, uint32_t high)
{
    if (!low || !high) return low ? low : high;
    uint32_t top = nodes[low].priority > nodes[high].priority ? low : high;
    if (top == low)
        nodes[low].child[1] = merge(nodes, nodes[low].child[1], high);
    else
        nodes[high].child[0] = merge(nodes, low, nodes[high].child[0]);
    sum_up(nodes, top);
    return top;
}

bool tt_order_put(tt_order *o, uint64_t rank, uint64_t begin, uint64_t size, uint64_t note)
{
    uint32_t at = take(o);
    if (!at) return false;
    tt_order_node *nodes = o->nodes;
    o->random ^= o->random << 13;
    o->random ^= o->random >> 17;
    o->random ^= o->random << 5;
    nodes[at] = (tt_order_node){rank, begin, size, note, size, {0, 0}, o->random};
    uint32_t *link = &o->root;
    while (*link && nodes[*link].priority >= nodes[at].priority) {
        tt_order_node *n = &nodes[*link];
        n->sum += size;
        link = &n->child[!less(rank, begin, n)];
    }
    split(nodes, *link, rank, begin, &nodes[at].child[0], &nodes[at].child[1]);
    sum_up(nodes, at);
    *link = at;
    return true;
}

void tt_order_drop(tt_order *o, uint64_t rank, uint64_t begin)
{
    tt_order_node *there = tt_order_before(o, rank, begin), *nodes = o->nodes;
    if (!there || there->rank != rank || there->begin != begin) return;
    uint32_t *link = &o->root;
    while (&nodes[*link] != there) {
        tt_order_node *n = &nodes[*link];
        n->sum -= there->size;
        link = &n->child[!less(rank, begin, n)];
    }
    uint32_t at = *link;
    *link = merge(nodes, there->child[0], there->child[1]);
    there->size = 0;
    there->child[0] = o->unused;
    o->unused = at;
}

tt_order_node *tt_order_before(const tt_order *o, uint64_t rank, uint64_t begin)
{
    tt_order_node *best = NULL;
    for (uint32_t at = o->root; at;) {
        bool beyond = less(rank, begin, &o->nodes[at]);
        if (!beyond) best = &o->nodes[at];
        at = o->nodes[at].child[!beyond];
    }
    return best;
}

tt_order_node *tt_order_behind(const tt_order *o, uint64_t rank, uint64_t begin)
{
    tt_order_node *best = NULL;
    for (uint32_t at = o->root; at;) {
        tt_order_node *n = &o->nodes[at];
        bool behind = n->rank != rank ? n->rank > rank : n->begin >= begin;
        if (behind) best = n;
        at = n->child[!behind];
    }
    return best;
}

tt_order_node *tt_order_end(const tt_order *o, bool last)
{
    uint32_t at = o->root;
    while (at && o->nodes[at].child[last])
        at = o->nodes[at].child[last];
    return at ? &o->nodes[at] : NULL;
}

uint64_t tt_order_above(const tt_order *o, uint64_t rank, uint64_t begin)
{
    uint64_t sum = 0;
    for (uint32_t at = o->root; at;) {
        const tt_order_node *n = &o->nodes[at];
        bool above = less(rank, begin, n);
        if (above) sum += n->size + o->nodes[n->child[1]].sum;
        at = n->child[!above];
    }
    return sum;
}
