/* OPS payloads. With an odd first byte: bytes as a payload, which must be decoded or refused.
 * Else: bytes as records (a damaged area may hold any), which must come back as they were. */
#include "../golden/allocations.h"
#include "format/ops.h"

#include <string.h>

/* Besides a small constant: what decoding takes for each record a chunk announces. */
#define MEMORY_FREE ((uint64_t)64 << 10)
#define RECORD_MEMORY 256u
#define RECORDS_MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_block(const tt_ops_block *b, size_t n, bool times)
{
    size_t records = 0;
    if (b->n != n || (times && (!b->start || !b->arrive || !b->release))) abort();
    for (size_t i = 0; i < b->n_segments; i++) {
        const tt_ops_segment *s = &b->segments[i];
        if (s->first != records || s->count == 0 || s->lane > TT_OPS_LANE_MAX) abort();
        records += s->count;
        for (uint32_t k = 0; k < s->count; k++) {
            uint32_t node = b->node[s->first + k];
            if (node > TT_OPS_NODE_MAX || (k > 0 && node <= b->node[s->first + k - 1])) abort();
        }
    }
    if (records != n) abort();
}

/* Into memory that another chunk has used before: the same comes out. */
static void decode_again(tt_span payload, size_t n, const tt_ops_block *first)
{
    static tt_ops_block again;
    static tt_ops_scratch scratch;
    if (tt_ops_decode_again(payload, n, true, &again, &scratch, NULL) != TT_OK) abort();
    if (again.n_segments != first->n_segments || again.tick_shift != first->tick_shift ||
        memcmp(again.node, first->node, n * sizeof *again.node) != 0 ||
        memcmp(again.covers, first->covers, n) != 0 ||
        memcmp(again.start, first->start, n * sizeof *again.start) != 0 ||
        memcmp(again.arrive, first->arrive, n * sizeof *again.arrive) != 0 ||
        memcmp(again.release, first->release, n * sizeof *again.release) != 0)
        abort();
}

static void check_cost(tt_span payload, size_t n)
{
    tt_ops_cost c;
    if (tt_ops_cost_of(payload, n, &c, NULL) != TT_OK) abort();
    size_t sum = c.front_bytes + c.sequence_bytes + c.segment_bytes + c.gap_bytes + c.busy_bytes +
                 c.wait_bytes + c.exception_bytes;
    if (sum > payload.size) abort();
}

static void decode(const uint8_t *data, size_t size)
{
    tt_error err = {TT_OK, 0, ""};
    size_t n = size < 2 ? 1 : 1 + ((size_t)data[0] | (size_t)data[1] << 8) % RECORDS_MAX;
    size_t skip = size < 2 ? size : 2;
    const tt_span payload = {data + skip, size - skip};
    for (unsigned times = 0; times < 2; times++) {
        tt_ops_block b;
        if (tt_ops_decode(payload, n, times, &b, &err) == TT_OK) {
            check_block(&b, n, times);
            if (times) decode_again(payload, n, &b);
            if (times) check_cost(payload, n);
        } else if (err.status == TT_OK || !err.message[0] || b.segments || b.node) {
            abort();
        }
        tt_ops_block_free(&b);
    }
    allocations_check(MEMORY_FREE + RECORD_MEMORY * n);
}

static uint64_t tick(uint64_t v, unsigned shift)
{
    return v >> shift << shift;
}

static void check_record(const tt_op_record *r, const tt_ops_block *b, const tt_ops_segment *s,
                         size_t i, unsigned shift)
{
    bool open = r->release == 0;
    if (s->run != r->run || s->lane != tt_op_lane(r) || s->open != open ||
        b->node[i] != tt_op_node(r) || b->covers[i] != tt_op_covers(r))
        abort();
    if (b->start[i] != tick(r->start, shift) ||
        b->arrive[i] != tick(open ? r->start : r->arrive, shift) ||
        b->release[i] != tick(open ? r->start : r->release, shift))
        abort();
}

static void round_trip(const uint8_t *data, size_t size)
{
    static tt_op_record records[RECORDS_MAX];
    size_t n = size / sizeof *records;
    unsigned shift = (unsigned)(size % 33);
    tt_bytes out;
    tt_ops_block b;
    if (n == 0 || n > RECORDS_MAX) return;
    memcpy(records, data, n * sizeof *records);
    tt_bytes_init(&out, SIZE_MAX / 2);
    if (!tt_ops_encode(&out, records, n, shift)) abort();
    if (tt_ops_decode((tt_span){out.data, out.size}, n, true, &b, NULL) != TT_OK) abort();
    check_block(&b, n, true);
    for (size_t k = 0; k < b.n_segments; k++)
        for (size_t i = b.segments[k].first; i < b.segments[k].first + b.segments[k].count; i++)
            check_record(&records[i], &b, &b.segments[k], i, shift);
    tt_ops_block_free(&b);
    tt_bytes_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    allocations_begin();
    if (data[0] & 1)
        decode(data + 1, size - 1);
    else
        round_trip(data + 1, size - 1);
    return 0;
}
