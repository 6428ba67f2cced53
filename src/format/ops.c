#include "format/ops.h"

#include "base/checksum.h"
#include "format/pack.h"

#include <inttypes.h>
#include <stdlib.h>

#define ENCODING 1u
#define OPEN_LANE (1u << 16)

/* A segment: a stretch of records whose nodes are those of a sequence. */
typedef struct segment {
    uint32_t first; /* index of its first record */
    uint32_t count;
    uint32_t sequence;
    bool open;
} segment;

/* Record indices in the order of docs/format.md: by sequence, position, segment. */
static bool transpose(const segment *segments, size_t n_segments, size_t n_sequences,
                      uint32_t *order)
{
    uint32_t *end = calloc(n_sequences + 1, sizeof *end);
    uint32_t *list = malloc(n_segments * sizeof *list); /* segments, by sequence */
    bool ok = end && list;
    if (ok) {
        for (size_t i = 0; i < n_segments; i++)
            end[segments[i].sequence + 1]++;
        for (size_t i = 0; i < n_sequences; i++)
            end[i + 1] += end[i];
        for (size_t i = 0; i < n_segments; i++)
            list[end[segments[i].sequence]++] = (uint32_t)i;
        size_t out = 0, from = 0;
        for (size_t s = 0; s < n_sequences; s++) {
            size_t to = end[s]; /* after the loop above; before, it was where s begins */
            uint32_t length = from < to ? segments[list[from]].count : 0;
            for (uint32_t at = 0; at < length; at++)
                for (size_t i = from; i < to; i++)
                    order[out++] = segments[list[i]].first + at;
            from = to;
        }
    }
    free(end);
    free(list);
    return ok;
}

/* --- encode --- */

typedef struct sequence {
    uint32_t first; /* index of the record where it was first met */
    uint32_t count;
    uint64_t hash;
} sequence;

/* What encoding needs besides its output; one allocation each, freed together. */
typedef struct encoder {
    const tt_op_record *records;
    size_t n;
    unsigned shift;
    segment *segments;
    size_t n_segments;
    sequence *sequences;
    size_t n_sequences;
    uint32_t *table; /* sequence number + 1 by hash, 0: empty; a power of two, half full at most */
    size_t table_size;
    uint64_t *column;
    uint32_t *order; /* transposed order: record index per place in a column */
    uint64_t *place; /* node and covers per record, for hashing and comparing */
} encoder;

static bool continues(const tt_op_record *a, const tt_op_record *b)
{
    return a->run == b->run && tt_op_lane(a) == tt_op_lane(b) && tt_op_node(b) > tt_op_node(a) &&
           a->release != 0 && b->release != 0;
}

static bool make_table(encoder *e)
{
    e->table_size = 16;
    while (e->table_size < 2 * e->n)
        e->table_size *= 2;
    e->table = calloc(e->table_size, sizeof *e->table);
    return e->table != NULL;
}

static uint32_t find_sequence(encoder *e, uint32_t first, uint32_t count)
{
    uint64_t hash = tt_checksum(e->place + first, count * sizeof *e->place);
    size_t at = (size_t)hash & (e->table_size - 1);
    for (; e->table[at]; at = (at + 1) & (e->table_size - 1)) {
        const sequence *s = &e->sequences[e->table[at] - 1];
        if (s->hash == hash && s->count == count &&
            memcmp(e->place + s->first, e->place + first, count * sizeof *e->place) == 0)
            return e->table[at] - 1;
    }
    e->sequences[e->n_sequences++] = (sequence){first, count, hash};
    e->table[at] = (uint32_t)e->n_sequences;
    return (uint32_t)e->n_sequences - 1;
}

static void find_segments(encoder *e)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i <= e->n; i++) {
        if (i < e->n && continues(&e->records[i - 1], &e->records[i])) continue;
        segment *s = &e->segments[e->n_segments++];
        s->first = first;
        s->count = i - first;
        s->open = e->records[first].release == 0;
        s->sequence = find_sequence(e, first, s->count);
        first = i;
    }
}

static uint64_t gap_of(const encoder *e, uint32_t i)
{
    if (i == 0) return 0;
    const tt_op_record *before = &e->records[i - 1];
    uint64_t end = before->release ? before->release : before->start;
    return (e->records[i].start >> e->shift) - (end >> e->shift);
}

static uint64_t busy_of(const encoder *e, uint32_t i)
{
    const tt_op_record *r = &e->records[i];
    return r->release ? (r->arrive >> e->shift) - (r->start >> e->shift) : 0;
}

static uint64_t wait_of(const encoder *e, uint32_t i)
{
    const tt_op_record *r = &e->records[i];
    return r->release ? (r->release >> e->shift) - (r->arrive >> e->shift) : 0;
}

static void put_column(tt_bytes *out, encoder *e, uint64_t (*value)(const encoder *, uint32_t))
{
    for (size_t i = 0; i < e->n; i++)
        e->column[i] = tt_zigzag_map((int64_t)value(e, e->order[i]));
    tt_pack_column(out, e->column, e->n);
}

static void put_sequences(tt_bytes *out, const encoder *e)
{
    tt_bytes_varint(out, e->n_sequences);
    for (size_t s = 0; s < e->n_sequences; s++) {
        int64_t previous = -1;
        tt_bytes_varint(out, e->sequences[s].count);
        for (uint32_t i = 0; i < e->sequences[s].count; i++) {
            const tt_op_record *r = &e->records[e->sequences[s].first + i];
            uint32_t covers = tt_op_covers(r);
            int64_t skip = (int64_t)tt_op_node(r) - previous - 1;
            previous = tt_op_node(r);
            tt_bytes_varint(out, (uint64_t)skip * 2 + (covers ? 1 : 0));
            if (covers) tt_bytes_varint(out, covers);
        }
    }
}

static void put_segments(tt_bytes *out, const encoder *e)
{
    int64_t run = 0;
    tt_bytes_varint(out, e->n_segments);
    for (size_t i = 0; i < e->n_segments; i++) {
        const segment *s = &e->segments[i];
        const tt_op_record *r = &e->records[s->first];
        tt_bytes_zigzag(out, (int64_t)r->run - run);
        run = r->run;
        tt_bytes_varint(out, tt_op_lane(r) + (s->open ? OPEN_LANE : 0));
        tt_bytes_varint(out, s->sequence);
    }
}

bool tt_ops_encode(tt_bytes *out, const tt_op_record *records, size_t n, unsigned tick_shift)
{
    encoder e = {.records = records, .n = n, .shift = tick_shift};
    e.segments = malloc(n * sizeof *e.segments);
    e.sequences = malloc(n * sizeof *e.sequences);
    e.column = malloc(n * sizeof *e.column);
    e.order = malloc(n * sizeof *e.order);
    e.place = malloc(n * sizeof *e.place);
    bool ok = n > 0 && n <= TT_OPS_CHUNK_RECORDS_MAX && e.segments && e.sequences && e.column &&
              e.order && e.place;
    ok = ok && make_table(&e);
    if (ok) {
        for (size_t i = 0; i < n; i++)
            e.place[i] = (uint64_t)tt_op_node(&records[i]) | (uint64_t)tt_op_covers(&records[i])
                                                                 << 32;
        find_segments(&e);
        ok = transpose(e.segments, e.n_segments, e.n_sequences, e.order);
    }
    if (ok) {
        tt_bytes_varint(out, ENCODING);
        tt_bytes_varint(out, tick_shift);
        tt_bytes_u64(out, records[0].start >> tick_shift);
        put_sequences(out, &e);
        put_segments(out, &e);
        put_column(out, &e, gap_of);
        put_column(out, &e, busy_of);
        put_column(out, &e, wait_of);
    } else {
        out->failed = true;
    }
    free(e.segments);
    free(e.sequences);
    free(e.table);
    free(e.column);
    free(e.order);
    free(e.place);
    return !out->failed;
}

/* --- decode --- */

typedef struct decoder {
    tt_cursor c;
    tt_ops_block *block;
    uint32_t *node; /* the sequences' nodes, one after the other */
    uint8_t *covers;
    uint32_t *begin;   /* per sequence, where it begins; one more for the end */
    segment *segments; /* as many as the block has */
    size_t n_sequences;
    uint64_t t0;
} decoder;

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

static const char *get_segments(decoder *d, size_t n)
{
    tt_ops_block *b = d->block;
    uint64_t count = tt_cursor_varint(&d->c);
    if (d->c.failed || count == 0 || count > n) return "too many segments";
    b->segments = calloc((size_t)count, sizeof *b->segments);
    d->segments = malloc((size_t)count * sizeof *d->segments);
    if (!b->segments || !d->segments) return "no memory";
    int64_t run = 0;
    size_t first = 0;
    for (uint64_t i = 0; i < count; i++) {
        tt_ops_segment *s = &b->segments[i];
        int64_t step = tt_cursor_zigzag(&d->c);
        uint64_t lane = tt_cursor_varint(&d->c);
        uint64_t which = tt_cursor_varint(&d->c);
        if (step < -(int64_t)UINT32_MAX || step > (int64_t)UINT32_MAX)
            return "a run is out of range";
        run += step;
        if (d->c.failed || run < 0 || run > UINT32_MAX) return "a run is out of range";
        if ((lane & ~(uint64_t)OPEN_LANE) > TT_OPS_LANE_MAX) return "a lane is out of range";
        if (which >= d->n_sequences) return "a segment names no sequence";
        s->run = (uint32_t)run;
        s->lane = (uint32_t)(lane & (OPEN_LANE - 1));
        s->open = (lane & OPEN_LANE) != 0;
        s->first = (uint32_t)first;
        s->count = d->begin[which + 1] - d->begin[which];
        d->segments[i] = (segment){s->first, s->count, (uint32_t)which, s->open};
        if (s->count > n - first) return "the segments hold more records than the chunk";
        first += s->count;
    }
    b->n_segments = (size_t)count;
    return first == n ? NULL : "the segments hold fewer records than the chunk";
}

static void fill_nodes(decoder *d)
{
    tt_ops_block *b = d->block;
    for (size_t i = 0; i < b->n_segments; i++) {
        const tt_ops_segment *s = &b->segments[i];
        uint32_t from = d->begin[d->segments[i].sequence];
        memcpy(b->node + s->first, d->node + from, s->count * sizeof *b->node);
        memcpy(b->covers + s->first, d->covers + from, s->count);
    }
}

/* Puts a column, read in transposed order, where its records are. */
static bool get_column(decoder *d, uint64_t *scratch, uint64_t *to, const uint32_t *order)
{
    size_t n = d->block->n;
    if (!tt_unpack_column(&d->c, scratch, n)) return false;
    for (size_t i = 0; i < n; i++)
        to[order[i]] = (uint64_t)tt_zigzag_unmap(scratch[i]);
    return true;
}

static const char *get_times(decoder *d)
{
    tt_ops_block *b = d->block;
    uint32_t *order = malloc(b->n * sizeof *order);
    uint64_t *scratch = malloc(b->n * sizeof *scratch);
    b->start = malloc(b->n * sizeof *b->start);
    b->arrive = malloc(b->n * sizeof *b->arrive);
    b->release = malloc(b->n * sizeof *b->release);
    const char *wrong = NULL;
    if (!order || !scratch || !b->start || !b->arrive || !b->release ||
        !transpose(d->segments, b->n_segments, d->n_sequences, order))
        wrong = "no memory";
    else if (!get_column(d, scratch, b->start, order) ||
             !get_column(d, scratch, b->arrive, order) ||
             !get_column(d, scratch, b->release, order))
        wrong = "a column is malformed";
    free(order);
    free(scratch);
    if (wrong) return wrong;
    uint64_t end = d->t0;
    for (size_t i = 0; i < b->n; i++) {
        uint64_t start = end + b->start[i], arrive = start + b->arrive[i];
        end = arrive + b->release[i];
        b->start[i] = start << b->tick_shift;
        b->arrive[i] = arrive << b->tick_shift;
        b->release[i] = end << b->tick_shift;
    }
    return NULL;
}

static const char *get_payload(decoder *d, size_t n, bool times)
{
    tt_ops_block *b = d->block;
    uint64_t encoding = tt_cursor_varint(&d->c);
    uint64_t shift = tt_cursor_varint(&d->c);
    d->t0 = tt_cursor_u64(&d->c);
    if (d->c.failed) return "it is cut off";
    if (encoding != ENCODING) return "an encoding this build does not know";
    if (shift > 32) return "the tick shift is out of range";
    b->tick_shift = (unsigned)shift;
    const char *wrong = get_sequences(d, n);
    if (!wrong) wrong = get_segments(d, n);
    if (wrong) return wrong;
    b->n = n;
    b->node = malloc(n * sizeof *b->node);
    b->covers = malloc(n);
    if (!b->node || !b->covers) return "no memory";
    fill_nodes(d);
    return times ? get_times(d) : NULL;
}

tt_status tt_ops_decode(tt_span payload, size_t n, bool times, tt_ops_block *block, tt_error *err)
{
    decoder d = {.c = tt_cursor_of(payload.data, payload.size), .block = block};
    memset(block, 0, sizeof *block);
    if (n == 0 || n > TT_OPS_CHUNK_RECORDS_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "an OPS chunk of %zu records (1 to %u)",
                            n, TT_OPS_CHUNK_RECORDS_MAX);
    const char *wrong = get_payload(&d, n, times);
    free(d.node);
    free(d.covers);
    free(d.begin);
    free(d.segments);
    if (!wrong) return TT_OK;
    tt_ops_block_free(block);
    return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "an OPS chunk is malformed: %s", wrong);
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
