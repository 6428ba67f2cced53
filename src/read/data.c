#include "read/data.h"

#include "base/order.h"

#include <stdlib.h>

struct tt_data {
    const tt_trace *trace;
    tt_unpacker unpacker;
    tt_data_part *list;
    size_t n;
};

TT_ORDER_BY(compare, tt_data_part, run, node, part, chunk)

tt_status tt_data_open(const tt_trace *trace, tt_data **out, tt_error *err)
{
    size_t n = 0;
    tt_data *d = calloc(1, sizeof *d);
    for (size_t i = 0; i < trace->n_chunks; i++)
        n += trace->chunks[i].type == TT_CHUNK_VALUE;
    *out = NULL;
    if (d) d->list = malloc((n + 1) * sizeof *d->list);
    if (!d || !d->list || trace->n_chunks > UINT32_MAX) {
        free(d ? d->list : NULL);
        free(d);
        return tt_error_memory(err, "the list of data");
    }
    d->trace = trace;
    tt_unpacker_init(&d->unpacker);
    for (size_t i = 0; i < trace->n_chunks; i++) {
        const tt_index_entry *e = &trace->chunks[i];
        if (e->type == TT_CHUNK_VALUE)
            d->list[d->n++] = (tt_data_part){(uint32_t)(e->position >> 32), e->stream,
                                             (uint32_t)e->position, (uint32_t)i};
    }
    if (d->n) qsort(d->list, d->n, sizeof *d->list, compare);
    *out = d;
    return TT_OK;
}

void tt_data_free(tt_data *d)
{
    if (!d) return;
    tt_unpacker_free(&d->unpacker);
    free(d->list);
    free(d);
}

const tt_data_part *tt_data_all(const tt_data *d, size_t *n)
{
    *n = d->n;
    return d->list;
}

/* The first entry that is not below that run and node. */
static size_t lower(const tt_data *d, uint32_t run, uint64_t node)
{
    size_t low;
    tt_lower_bound(low, d->n,
                   d->list[low].run < run || (d->list[low].run == run && d->list[low].node < node));
    return low;
}

const tt_data_part *tt_data_of(const tt_data *d, uint32_t run_id, uint32_t node, size_t *n)
{
    size_t first = lower(d, run_id, node);
    *n = lower(d, run_id, (uint64_t)node + 1) - first;
    return *n ? d->list + first : NULL;
}

tt_status tt_data_get(tt_data *d, const tt_data_part *part, tt_span *bytes, tt_error *err)
{
    tt_chunk_header h;
    tt_status status =
        tt_trace_chunk(d->trace, part->chunk, SIZE_MAX, &d->unpacker, &h, bytes, err);
    if (status != TT_OK && err && err->offset == TT_NO_OFFSET)
        err->offset = d->trace->chunks[part->chunk].offset;
    return status;
}
