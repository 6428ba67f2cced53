#include "format/ops.h"
#include "format/ops_columns.h"
#include "format/ops_layout.h"
#include "format/pack.h"

#include <stdlib.h>
#include <string.h>

typedef struct decoder {
    tt_cursor c;
    tt_ops_block *block;
    uint64_t encoding;
    uint64_t t0;
    uint32_t *node; /* the sequences' nodes, one after the other */
    uint8_t *covers;
    uint32_t *begin; /* per sequence, where it begins; one more for the end */
    size_t n_sequences;
    tt_ops_part *parts; /* as many as the block has segments */
    tt_ops_layout layout;
    uint64_t *gap, *busy, *wait; /* columns, in the layout's order */
    tt_ops_cost *cost;
} decoder;

/* --- the front: what is needed to know the nodes --- */

static const char *get_sequences(decoder *d, size_t n)
{
    uint64_t count = tt_cursor_varint(&d->c);
    if (d->c.failed || count > n) return "too many sequences";
    d->begin = calloc((size_t)count + 1, sizeof *d->begin);
    d->node = malloc((n + 1) * sizeof *d->node);
    d->covers = malloc(n + 1);
    if (!d->begin || !d->node || !d->covers) return "no memory";
    size_t total = 0;
    for (uint64_t s = 0; s < count; s++) {
        uint64_t length = tt_cursor_varint(&d->c);
        if (d->c.failed || length == 0 || length > n - total) return "a sequence is too long";
        int64_t node = -1;
        for (uint64_t i = 0; i < length; i++) {
            uint64_t v = tt_cursor_varint(&d->c);
            uint64_t covers = v & 1 ? tt_cursor_varint(&d->c) : 0;
            if (v / 2 > TT_OPS_NODE_MAX || covers > TT_OPS_COVERS_MAX)
                return "a node is out of range";
            node += 1 + (int64_t)(v / 2);
            if (node > TT_OPS_NODE_MAX) return "a node is out of range";
            d->node[total] = (uint32_t)node;
            d->covers[total++] = (uint8_t)covers;
        }
        d->begin[s + 1] = (uint32_t)total;
    }
    d->n_sequences = (size_t)count;
    return d->c.failed ? "the sequences are cut off" : NULL;
}

/* Which positions a segment's records are of. */
static const char *get_part(decoder *d, tt_ops_part *part)
{
    uint64_t which = tt_cursor_varint(&d->c);
    bool is_part = d->encoding != TT_OPS_ENCODING_1 && which & 1;
    if (d->encoding != TT_OPS_ENCODING_1) which /= 2;
    if (d->c.failed || which >= d->n_sequences) return "a segment names no sequence";
    part->position = d->begin[which];
    part->count = d->begin[which + 1] - d->begin[which];
    if (!is_part) return NULL;
    uint64_t skipped = tt_cursor_varint(&d->c);
    uint64_t count = tt_cursor_varint(&d->c);
    if (d->c.failed || skipped >= part->count || count == 0 || count > part->count - skipped)
        return "a segment is no part of its sequence";
    part->position += (uint32_t)skipped;
    part->count = (uint32_t)count;
    return NULL;
}

static const char *get_segment(decoder *d, int64_t *run, tt_ops_segment *s, tt_ops_part *part)
{
    int64_t step = tt_cursor_zigzag(&d->c);
    uint64_t lane = tt_cursor_varint(&d->c);
    if (d->c.failed || step < -(int64_t)UINT32_MAX || step > (int64_t)UINT32_MAX)
        return "a run is out of range";
    *run += step;
    if (*run < 0 || *run > UINT32_MAX) return "a run is out of range";
    if (lane >= TT_OPS_OPEN_LANE + TT_OPS_LANE_MAX + 1) return "a lane is out of range";
    const char *wrong = get_part(d, part);
    s->run = (uint32_t)*run;
    s->lane = (uint32_t)(lane & (TT_OPS_OPEN_LANE - 1));
    s->open = (lane & TT_OPS_OPEN_LANE) != 0;
    s->first = part->first;
    s->count = part->count;
    return wrong;
}

static const char *get_segments(decoder *d, size_t n)
{
    tt_ops_block *b = d->block;
    uint64_t count = tt_cursor_varint(&d->c);
    if (d->c.failed || count == 0 || count > n) return "too many segments";
    b->segments = calloc((size_t)count, sizeof *b->segments);
    d->parts = malloc((size_t)count * sizeof *d->parts);
    if (!b->segments || !d->parts) return "no memory";
    int64_t run = 0;
    size_t first = 0;
    for (uint64_t i = 0; i < count; i++) {
        d->parts[i].first = (uint32_t)first;
        const char *wrong = get_segment(d, &run, &b->segments[i], &d->parts[i]);
        if (wrong) return wrong;
        if (d->parts[i].count > n - first) return "the segments hold more records than the chunk";
        first += d->parts[i].count;
    }
    b->n_segments = (size_t)count;
    return first == n ? NULL : "the segments hold fewer records than the chunk";
}

static const char *fill_nodes(decoder *d, size_t n)
{
    tt_ops_block *b = d->block;
    b->n = n;
    b->node = malloc(n * sizeof *b->node);
    b->covers = malloc(n);
    if (!b->node || !b->covers) return "no memory";
    for (size_t i = 0; i < b->n_segments; i++) {
        const tt_ops_part *p = &d->parts[i];
        memcpy(b->node + p->first, d->node + p->position, p->count * sizeof *b->node);
        memcpy(b->covers + p->first, d->covers + p->position, p->count);
    }
    return NULL;
}

static const char *get_front(decoder *d, size_t n)
{
    d->encoding = tt_cursor_varint(&d->c);
    uint64_t shift = tt_cursor_varint(&d->c);
    d->t0 = tt_cursor_u64(&d->c);
    if (d->c.failed) return "it is cut off";
    if (d->encoding != TT_OPS_ENCODING_1 && d->encoding != TT_OPS_ENCODING_2)
        return "an encoding this build does not know";
    if (shift > TT_OPS_SHIFT_MAX) return "the tick shift is out of range";
    d->block->tick_shift = (unsigned)shift;
    d->cost->front_bytes = d->c.at;
    const char *wrong = get_sequences(d, n);
    d->cost->sequence_bytes = d->c.at - d->cost->front_bytes;
    if (!wrong) wrong = get_segments(d, n);
    d->cost->segment_bytes = d->c.at - d->cost->front_bytes - d->cost->sequence_bytes;
    return wrong;
}

/* --- the times --- */

static bool get_column_1(decoder *d, uint64_t *values, size_t *bytes)
{
    size_t before = d->c.at;
    if (!tt_unpack_column(&d->c, values, d->block->n)) return false;
    for (size_t i = 0; i < d->block->n; i++)
        values[i] = (uint64_t)tt_zigzag_unmap(values[i]);
    *bytes = d->c.at - before;
    return true;
}

static bool get_column_2(decoder *d, uint64_t *values, uint32_t granule, size_t *bytes)
{
    size_t before = d->c.at, exceptions = 0;
    if (!tt_ops_column_get(&d->c, values, d->block->n, &d->layout, granule, &exceptions))
        return false;
    d->cost->exception_bytes += exceptions;
    *bytes = d->c.at - before - exceptions;
    return true;
}

static bool get_columns(decoder *d)
{
    tt_ops_cost *cost = d->cost;
    if (d->encoding == TT_OPS_ENCODING_1)
        return get_column_1(d, d->gap, &cost->gap_bytes) &&
               get_column_1(d, d->busy, &cost->busy_bytes) &&
               get_column_1(d, d->wait, &cost->wait_bytes);
    size_t before = d->c.at;
    uint32_t granule = tt_cursor_varint32(&d->c);
    cost->front_bytes += d->c.at - before;
    return granule > 0 && get_column_2(d, d->gap, granule, &cost->gap_bytes) &&
           get_column_2(d, d->busy, granule, &cost->busy_bytes) &&
           get_column_2(d, d->wait, granule, &cost->wait_bytes);
}

/* From differences in the layout's order to times in the records' order. */
static void sum_up(decoder *d)
{
    tt_ops_block *b = d->block;
    const unsigned shift = b->tick_shift;
    uint64_t end = d->t0;
    for (size_t i = 0; i < b->n_segments; i++) {
        const tt_ops_part *p = &d->parts[i];
        uint32_t *next = d->layout.next + p->position;
        uint64_t *starts = b->start + p->first, *arrives = b->arrive + p->first,
                 *releases = b->release + p->first;
        for (uint32_t k = 0; k < p->count; k++) {
            uint32_t at = next[k]++;
            uint64_t start = end + d->gap[at];
            uint64_t arrive = start + d->busy[at];
            end = arrive + d->wait[at];
            starts[k] = start << shift;
            arrives[k] = arrive << shift;
            releases[k] = end << shift;
        }
    }
}

static const char *get_times(decoder *d)
{
    tt_ops_block *b = d->block;
    b->start = malloc(b->n * sizeof *b->start);
    b->arrive = malloc(b->n * sizeof *b->arrive);
    b->release = malloc(b->n * sizeof *b->release);
    d->gap = malloc(3 * b->n * sizeof *d->gap);
    if (!b->start || !b->arrive || !b->release || !d->gap ||
        !tt_ops_layout_make(&d->layout, d->parts, b->n_segments, d->begin[d->n_sequences]))
        return "no memory";
    d->busy = d->gap + b->n;
    d->wait = d->busy + b->n;
    if (!get_columns(d)) return "a column is malformed";
    sum_up(d);
    return NULL;
}

static tt_status decode(tt_span payload, size_t n, bool times, tt_ops_block *block,
                        tt_ops_cost *cost, tt_error *err)
{
    decoder d = {.c = tt_cursor_of(payload.data, payload.size), .block = block, .cost = cost};
    memset(block, 0, sizeof *block);
    memset(cost, 0, sizeof *cost);
    if (n == 0 || n > TT_OPS_CHUNK_RECORDS_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "an OPS chunk of %zu records (1 to %u)",
                            n, TT_OPS_CHUNK_RECORDS_MAX);
    const char *wrong = get_front(&d, n);
    if (!wrong) wrong = fill_nodes(&d, n);
    if (!wrong && times) wrong = get_times(&d);
    tt_ops_layout_free(&d.layout);
    free(d.node);
    free(d.covers);
    free(d.begin);
    free(d.parts);
    free(d.gap);
    if (!wrong) return TT_OK;
    tt_ops_block_free(block);
    return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "an OPS chunk is malformed: %s", wrong);
}

tt_status tt_ops_decode(tt_span payload, size_t n, bool times, tt_ops_block *block, tt_error *err)
{
    tt_ops_cost cost;
    return decode(payload, n, times, block, &cost, err);
}

tt_status tt_ops_cost_of(tt_span payload, size_t n, tt_ops_cost *cost, tt_error *err)
{
    tt_ops_block block;
    tt_status status = decode(payload, n, true, &block, cost, err);
    if (status == TT_OK) tt_ops_block_free(&block);
    return status;
}

void tt_ops_block_free(tt_ops_block *block)
{
    free(block->node);
    free(block->covers);
    free(block->start);
    free(block->arrive);
    free(block->release);
    free(block->segments);
    memset(block, 0, sizeof *block);
}
