#include "format/ops.h"

#include "base/checksum.h"
#include "base/order.h"
#include "format/ops_columns.h"
#include "format/pack.h"

#include <stdlib.h>
#include <string.h>

#define LANE_BITS (TT_OPS_LANE_MAX << 20)
/* How many of the newest sequences are searched for a segment. */
#define PARTS_TRIED 8u
#define NONE UINT32_MAX

/* A list of nodes and covers, stored in the records of its first segment. */
typedef struct sequence {
    uint32_t first; /* index of a record */
    uint32_t count;
    uint32_t position; /* index of its first position among those of all sequences */
    uint64_t hash;
} sequence;

/* Consecutive records with the nodes of a sequence or of a part of it. */
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

/* The table's entry for this sequence, or the empty one for it. */
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

/* How many positions of the sequence precede the part; NONE if it is not part of the sequence. */
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

/* Finds the sequences. The first segment comes last: it may be the end of a run that the previous
 * chunk cut in two, and its sequence is known once a complete run was seen. */
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

typedef struct decoder {
    tt_cursor c;
    tt_ops_block *block;
    uint64_t encoding;
    uint64_t t0;
    tt_ops_scratch *scratch; /* memory of everything below */
    uint32_t *node;          /* the sequences' nodes, one after another */
    uint8_t *covers;
    uint32_t *begin; /* per sequence, its start; one more for the end */
    size_t n_sequences;
    tt_ops_part *parts; /* as many as the block has segments */
    tt_ops_layout layout;
    uint64_t *gap, *busy, *wait; /* columns, in the layout's order */
    tt_ops_cost *cost;
} decoder;

/* --- the start: everything needed to know the nodes --- */

static const char *get_sequences(decoder *d, size_t n)
{
    uint64_t count = tt_cursor_varint(&d->c);
    if (d->c.failed || count > n || count > d->c.size) return "too many sequences";
    size_t total = 0;
    d->begin[0] = 0;
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

/* Reads the sequence and positions of a segment's records. */
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
    if ((lane & ~(uint64_t)TT_OPS_OPEN_LANE) > TT_OPS_LANE_MAX) return "a lane is out of range";
    const char *wrong = get_part(d, part);
    s->run = (uint32_t)*run;
    s->lane = (uint32_t)(lane & (TT_OPS_OPEN_LANE - 1));
    s->open = (lane & TT_OPS_OPEN_LANE) != 0;
    s->first = part->first;
    s->count = part->count;
    return wrong;
}

/* What the functions below return if it ran out: that is no fault of the chunk. */
static const char no_memory[] = "no memory";

static const char *get_segments(decoder *d, size_t n)
{
    tt_ops_block *b = d->block;
    uint64_t count = tt_cursor_varint(&d->c);
    if (d->c.failed || count == 0 || count > n || count > d->c.size) return "too many segments";
    b->segments = malloc((size_t)count * sizeof *b->segments);
    if (!b->segments) return no_memory;
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

static void fill_nodes(decoder *d)
{
    tt_ops_block *b = d->block;
    for (size_t i = 0; i < b->n_segments; i++) {
        const tt_ops_part *p = &d->parts[i];
        memcpy(b->node + p->first, d->node + p->position, p->count * sizeof *b->node);
        memcpy(b->covers + p->first, d->covers + p->position, p->count);
    }
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

/* --- times --- */

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

/* Converts differences in the layout's order to times in record order. */
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

/* Makes room for `bytes`. The old content is lost. */
static bool have_room(void **memory, size_t *memory_bytes, size_t bytes)
{
    if (*memory && *memory_bytes >= bytes) return true;
    free(*memory);
    *memory = malloc(bytes);
    *memory_bytes = *memory ? bytes : 0;
    return *memory != NULL;
}

/* Allocates the arrays of the block as one block of memory, and those for decoding as another. Each
 * sequence and segment takes bytes of the payload, which bounds their number. */
static bool take_memory(decoder *d, size_t n, bool times)
{
    tt_ops_block *b = d->block;
    const size_t n_timed = times ? n : 0, most = n < d->c.size ? n : d->c.size;
    const size_t rounding = 64; /* for tt_ops_cut, and items beyond n */
    if (!have_room(&b->memory, &b->memory_bytes,
                   n_timed * 3 * sizeof *b->start + n * (sizeof *b->node + sizeof *b->covers) +
                       rounding) ||
        !have_room(&d->scratch->memory, &d->scratch->memory_bytes,
                   n_timed * (3 * sizeof *d->gap + 2 * sizeof *d->layout.ends) +
                       most * (sizeof *d->parts + sizeof *d->begin) +
                       n * (sizeof *d->node + sizeof *d->covers) + rounding))
        return false;
    uint8_t *left = b->memory;
    if (times) {
        b->start = tt_ops_cut(&left, n, sizeof *b->start);
        b->arrive = tt_ops_cut(&left, n, sizeof *b->arrive);
        b->release = tt_ops_cut(&left, n, sizeof *b->release);
    }
    b->node = tt_ops_cut(&left, n, sizeof *b->node);
    b->covers = tt_ops_cut(&left, n, sizeof *b->covers);
    left = d->scratch->memory;
    d->gap = tt_ops_cut(&left, n_timed, sizeof *d->gap);
    d->busy = tt_ops_cut(&left, n_timed, sizeof *d->busy);
    d->wait = tt_ops_cut(&left, n_timed, sizeof *d->wait);
    d->layout.ends = tt_ops_cut(&left, n_timed + 1, sizeof *d->layout.ends);
    d->layout.next = tt_ops_cut(&left, n_timed, sizeof *d->layout.next);
    d->parts = tt_ops_cut(&left, most, sizeof *d->parts);
    d->begin = tt_ops_cut(&left, most + 1, sizeof *d->begin);
    d->node = tt_ops_cut(&left, n, sizeof *d->node);
    d->covers = tt_ops_cut(&left, n, sizeof *d->covers);
    return true;
}

static const char *get_payload(decoder *d, size_t n, bool times)
{
    if (!take_memory(d, n, times)) return no_memory;
    const char *wrong = get_front(d, n);
    if (wrong) return wrong;
    d->block->n = n;
    fill_nodes(d);
    if (!times) return NULL;
    tt_ops_layout_fill(&d->layout, d->parts, d->block->n_segments, d->begin[d->n_sequences]);
    if (!get_columns(d)) return "a column is malformed";
    sum_up(d);
    return NULL;
}

static tt_status decode(decoder *d, size_t n, bool times, tt_error *err)
{
    tt_ops_block *b = d->block;
    free(b->segments);
    *b = (tt_ops_block){.memory = b->memory, .memory_bytes = b->memory_bytes};
    if (n == 0 || n > TT_OPS_CHUNK_RECORDS_MAX) {
        tt_ops_block_free(b);
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "an OPS chunk of %zu records (1 to %u)",
                            n, TT_OPS_CHUNK_RECORDS_MAX);
    }
    const char *wrong = get_payload(d, n, times);
    if (!wrong) return TT_OK;
    tt_ops_block_free(b);
    if (wrong == no_memory) return tt_error_memory(err, "a chunk's ops");
    return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "an OPS chunk is malformed: %s", wrong);
}

tt_status tt_ops_decode_again(tt_span payload, size_t n, bool times, tt_ops_block *block,
                              tt_ops_scratch *scratch, tt_error *err)
{
    tt_ops_cost cost = {0};
    decoder d = {.c = tt_cursor_of(payload.data, payload.size),
                 .block = block,
                 .scratch = scratch,
                 .cost = &cost};
    return decode(&d, n, times, err);
}

tt_status tt_ops_decode(tt_span payload, size_t n, bool times, tt_ops_block *block, tt_error *err)
{
    tt_ops_scratch scratch = {0};
    memset(block, 0, sizeof *block);
    tt_status status = tt_ops_decode_again(payload, n, times, block, &scratch, err);
    tt_ops_scratch_free(&scratch);
    return status;
}

tt_status tt_ops_cost_of(tt_span payload, size_t n, tt_ops_cost *cost, tt_error *err)
{
    tt_ops_block block = {0};
    tt_ops_scratch scratch = {0};
    decoder d = {.c = tt_cursor_of(payload.data, payload.size),
                 .block = &block,
                 .scratch = &scratch,
                 .cost = cost};
    memset(cost, 0, sizeof *cost);
    tt_status status = decode(&d, n, true, err);
    tt_ops_block_free(&block);
    tt_ops_scratch_free(&scratch);
    return status;
}

void tt_ops_scratch_free(tt_ops_scratch *scratch)
{
    free(scratch->memory);
    memset(scratch, 0, sizeof *scratch);
}

void tt_ops_block_free(tt_ops_block *block)
{
    free(block->memory);
    free(block->segments);
    memset(block, 0, sizeof *block);
}
