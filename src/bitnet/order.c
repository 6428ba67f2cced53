#include "bitnet/read.h"

#include <stdlib.h>
#include <string.h>

/* Where in a forward pass: 0 before all layers, 1 + N in layer N, then what is behind them. */
static uint64_t place_of(const tt_bitnet_record *r)
{
    const uint64_t behind = (uint64_t)1 << 32;
    if (!r->has_layer) return behind + 2;
    if (r->layer >= 0) return (uint64_t)r->layer + 1;
    if (r->layer == TT_BITNET_LAYER_ALL) return behind;
    return r->stage && strcmp(r->stage, "logits") == 0 ? behind + 1 : 0;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int in_order(const void *x, const void *y)
{
    const tt_bitnet_item *a = x, *b = y;
    int order = (int)b->record.has_seq - (int)a->record.has_seq;
    if (order == 0) order = compare_numbers(a->record.seq, b->record.seq);
    if (order == 0) order = compare_numbers(place_of(&a->record), place_of(&b->record));
    if (order == 0) order = strcmp(a->record.name, b->record.name);
    return order ? order : compare_numbers(a->order, b->order);
}

void tt_bitnet_order(tt_bitnet_folder *f)
{
    qsort(f->items, f->n, sizeof *f->items, in_order);
}
