#include "base/checksum.h"
#include "base/order.h"
#include "format/ops.h"
#include "format/ops_columns.h"

#include <stdlib.h>
#include <string.h>

#define LANE_BITS (TT_OPS_LANE_MAX << 20)
/* Of how many of the newest sequences a segment may be a part. */
#define PARTS_TRIED 8u
#define NONE UINT32_MAX

/* A list of nodes and covers, which stands in the records of its first segment. */
typedef struct sequence {
    uint32_t first; /* index of a record */
    uint32_t count;
    uint32_t position; /* where its positions begin among those of all sequences */
    uint64_t hash;
} sequence;

/* An interval of records that has the nodes of a sequence or of a part of it. */
typedef struct segment {
    uint32_t sequence;
    uint32_t skipped; /* positions of the sequence before its first record */
} segment;

typedef struct encoder {
    const tt_op_record *records;
    size_t n;
    unsigned shift;
    void *memory;       /* of the arrays of as many items as there are records */
    uint32_t *place;    /* node and covers per record, for hashing and comparing */
    tt_ops_part *parts; /* of the segments */
    segment *segments;
    size_t n_segments;
    sequence *sequences;
    size_t n_sequences;
    size_t n_positions;
    uint32_t *table; /* sequence number + 1 by hash, 0: empty; a power of two, half full at most */
    size_t table_size;
    tt_ops_layout layout;
    uint64_t *gap, *busy, *wait; /* columns, in the layout's order */
} encoder;

/* --- segments and sequences --- */

static bool continues(const tt_op_record *a, const tt_op_record *b)
{
    return a->run == b->run && ((a->place ^ b->place) & LANE_BITS) == 0 &&
           tt_op_node(b) > tt_op_node(a) && a->release != 0 && b->release != 0;
}

static bool find_segments(encoder *e)
{
    uint32_t first = 0;
    e->place[0] = e->records[0].place & ~LANE_BITS;
    for (uint32_t i = 1; i < e->n; i++) {
        e->place[i] = e->records[i].place & ~LANE_BITS;
        if (continues(&e->records[i - 1], &e->records[i])) continue;
        e->parts[e->n_segments++] = (tt_ops_part){.first = first, .count = i - first};
        first = i;
    }
    e->parts[e->n_segments++] = (tt_ops_part){.first = first, .count = (uint32_t)e->n - first};
    e->segments = malloc(e->n_segments * sizeof *e->segments);
    e->sequences = malloc(e->n_segments * sizeof *e->sequences);
    return e->segments && e->sequences;
}

static bool make_table(encoder *e)
{
    e->table_size = 16;
    while (e->table_size < 2 * e->n_segments)
        e->table_size *= 2;
    e->table = calloc(e->table_size, sizeof *e->table);
    return e->table != NULL;
}

/* The entry of the table that holds this very sequence, or the empty one where it belongs. */
static uint32_t *find_whole(encoder *e, const tt_ops_part *p, uint64_t hash)
{
    size_t at = (size_t)hash & (e->table_size - 1);
    for (; e->table[at]; at = (at + 1) & (e->table_size - 1)) {
        const sequence *s = &e->sequences[e->table[at] - 1];
        if (s->hash == hash && s->count == p->count &&
            memcmp(e->place + s->first, e->place + p->first, p->count * sizeof *e->place) == 0)
            break;
    }
    return &e->table[at];
}

/* How many positions of the sequence come before the part; NONE when it is no part of the
 * sequence. */
static uint32_t find_in(const encoder *e, const sequence *s, const tt_ops_part *p)
{
    const uint32_t *of_sequence = e->place + s->first, *of_part = e->place + p->first;
    uint32_t node = of_part[0] & TT_OPS_NODE_MAX, low;
    /* Binary search: nodes ascend. */
    tt_lower_bound(low, s->count, (of_sequence[low] & TT_OPS_NODE_MAX) < node);
    if (p->count > s->count - low ||
        memcmp(of_sequence + low, of_part, p->count * sizeof *of_part) != 0)
        return NONE;
    return low;
}

static segment find_sequence(encoder *e, const tt_ops_part *p)
{
    uint64_t hash = tt_checksum(e->place + p->first, p->count * sizeof *e->place);
    uint32_t *entry = find_whole(e, p, hash);
    if (*entry) return (segment){*entry - 1, 0};
    for (size_t i = 0; i < PARTS_TRIED && i < e->n_sequences; i++) {
        size_t s = e->n_sequences - 1 - i;
        uint32_t skipped = find_in(e, &e->sequences[s], p);
        if (skipped != NONE) return (segment){(uint32_t)s, skipped};
    }
    e->sequences[e->n_sequences++] = (sequence){p->first, p->count, (uint32_t)e->n_positions, hash};
    e->n_positions += p->count;
    *entry = (uint32_t)e->n_sequences;
    return (segment){(uint32_t)e->n_sequences - 1, 0};
}

/* Finds the sequences. The first segment comes last: it may be the end of a run that the chunk
 * before cut in two, and what it is a part of is known once a whole run was seen. */
static void find_sequences(encoder *e)
{
    for (size_t i = 1; i <= e->n_segments; i++) {
        size_t k = i < e->n_segments ? i : 0;
        e->segments[k] = find_sequence(e, &e->parts[k]);
        e->parts[k].position =
            e->sequences[e->segments[k].sequence].position + e->segments[k].skipped;
    }
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
        const tt_ops_part *p = &e->parts[i];
        const segment *s = &e->segments[i];
        const tt_op_record *r = &e->records[p->first];
        bool is_part = p->count != e->sequences[s->sequence].count;
        tt_bytes_zigzag(out, (int64_t)r->run - run);
        run = r->run;
        tt_bytes_varint(out, tt_op_lane(r) + (r->release == 0 ? TT_OPS_OPEN_LANE : 0));
        tt_bytes_varint(out, 2 * (uint64_t)s->sequence + is_part);
        if (!is_part) continue;
        tt_bytes_varint(out, s->skipped);
        tt_bytes_varint(out, p->count);
    }
}

/* --- times --- */

static void find_differences(encoder *e)
{
    uint64_t end = e->records[0].start >> e->shift;
    for (size_t i = 0; i < e->n_segments; i++) {
        const tt_op_record *r = &e->records[e->parts[i].first];
        uint32_t *next = e->layout.next + e->parts[i].position;
        for (uint32_t k = 0; k < e->parts[i].count; k++, r++) {
            uint32_t at = next[k]++;
            uint64_t start = r->start >> e->shift;
            uint64_t arrive = r->release ? r->arrive >> e->shift : start;
            uint64_t release = r->release ? r->release >> e->shift : start;
            e->gap[at] = start - end;
            e->busy[at] = arrive - start;
            e->wait[at] = release - arrive;
            end = release;
        }
    }
}

static void put_times(tt_bytes *out, encoder *e)
{
    find_differences(e);
    tt_ops_granule granule = tt_ops_granule_find(e->busy, e->wait, e->n);
    tt_bytes_varint(out, granule.ticks);
    tt_ops_column_put(out, e->gap, e->n, &e->layout, &granule);
    tt_ops_column_put(out, e->busy, e->n, &e->layout, &granule);
    tt_ops_column_put(out, e->wait, e->n, &e->layout, &granule);
}

static bool prepare(encoder *e)
{
    const size_t n = e->n;
    e->memory = malloc(n * (3 * sizeof *e->gap + sizeof *e->place + sizeof *e->parts +
                            2 * sizeof *e->layout.ends) +
                       64);
    if (!e->memory) return false;
    uint8_t *left = e->memory;
    e->gap = tt_ops_cut(&left, n, sizeof *e->gap);
    e->busy = tt_ops_cut(&left, n, sizeof *e->busy);
    e->wait = tt_ops_cut(&left, n, sizeof *e->wait);
    e->place = tt_ops_cut(&left, n, sizeof *e->place);
    e->parts = tt_ops_cut(&left, n, sizeof *e->parts);
    e->layout.ends = tt_ops_cut(&left, n + 1, sizeof *e->layout.ends);
    e->layout.next = tt_ops_cut(&left, n, sizeof *e->layout.next);
    if (!find_segments(e) || !make_table(e)) return false;
    find_sequences(e);
    tt_ops_layout_fill(&e->layout, e->parts, e->n_segments, e->n_positions);
    return true;
}

bool tt_ops_encode(tt_bytes *out, const tt_op_record *records, size_t n, unsigned tick_shift)
{
    encoder e = {.records = records, .n = n, .shift = tick_shift};
    if (n > 0 && n <= TT_OPS_CHUNK_RECORDS_MAX && tick_shift <= TT_OPS_SHIFT_MAX && prepare(&e)) {
        tt_bytes_varint(out, TT_OPS_ENCODING_2);
        tt_bytes_varint(out, tick_shift);
        tt_bytes_u64(out, records[0].start >> tick_shift);
        put_sequences(out, &e);
        put_segments(out, &e);
        put_times(out, &e);
    } else {
        out->failed = true;
    }
    free(e.memory);
    free(e.segments);
    free(e.sequences);
    free(e.table);
    return !out->failed;
}
