#include "read/blocks.h"

#include "base/order.h"

#include <stdlib.h>
#include <string.h>

/* How much of a chunk is unpacked at first to find its segments; more when needed. */
#define FRONT_BYTES 65536u
#define RECORD_BYTES (sizeof(uint32_t) + 1 + 3 * sizeof(uint64_t))
/* Work is counted in records. Decoding a chunk costs its records and CHUNK_COST more. Each
 * request is granted the records that it reads and REQUEST_COST more. A walk in order decodes
 * about what it reads, however many walks there are. */
#define CHUNK_COST 256u
#define REQUEST_COST 4u
/* How much work all requests may take before the trace counts as too scattered to be walked. */
#define WORK_FREE (16u << 20)
#define WORK_FACTOR 16u
/* How much work is done before chunks are kept that would be decoded again and again. */
#define KEEP_FREE (1u << 20)
#define KEEP_FACTOR 2u

enum { STATE_NEW, STATE_GOOD, STATE_DAMAGED };

struct tt_blocks {
    const tt_trace *trace;
    tt_unpacker unpacker;
    tt_block **of_chunk; /* per chunk: its decoded block, or NULL */
    uint8_t *state;      /* per chunk */
    tt_recent_list kept; /* blocks */
    tt_ops_block spare;  /* of the block dropped last: memory for the next */
    tt_ops_scratch scratch;
    size_t cache_bytes;
    size_t cache_limit;
    size_t cache_most; /* that cache_limit may grow to */
    uint64_t work;     /* of all decodes */
    uint64_t first;    /* of each chunk's first one */
    uint64_t read;     /* granted for what callers asked for */
    uint64_t lost;
    size_t n_damaged;
    tt_error damage;
};

#define CACHE_FACTOR 64u /* a record takes ten times in memory what it takes in the file */

/* Chunks of the streams alternate in the file, so two of each stream are in use at a time. */
static void set_cache_limits(tt_blocks *b)
{
    const tt_trace *trace = b->trace;
    uint32_t highest = 0, largest = 0;
    for (size_t i = 0; i < trace->n_chunks; i++) {
        const tt_index_entry *e = &trace->chunks[i];
        if (e->type != TT_CHUNK_OPS) continue;
        if (e->stream > highest) highest = e->stream;
        if (e->count > largest) largest = e->count;
    }
    uint64_t need = 2 * ((uint64_t)highest + 1) * RECORD_BYTES;
    if (largest > TT_OPS_CHUNK_RECORDS_MAX) largest = TT_OPS_CHUNK_RECORDS_MAX;
    need *= largest;
    /* A file can claim any number of streams and records: the memory is bounded by its size. */
    uint64_t paid = TT_BLOCKS_CACHE_MIN + CACHE_FACTOR * trace->source.size;
    if (paid > TT_BLOCKS_CACHE_MAX) paid = TT_BLOCKS_CACHE_MAX;
    if (need > paid) need = paid;
    if (need < TT_BLOCKS_CACHE_MIN) need = TT_BLOCKS_CACHE_MIN;
    b->cache_limit = (size_t)need;
    b->cache_most = (size_t)paid;
}

tt_blocks *tt_blocks_new(const tt_trace *trace)
{
    tt_blocks *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->trace = trace;
    set_cache_limits(b);
    tt_unpacker_init(&b->unpacker);
    b->of_chunk = calloc(trace->n_chunks + 1, sizeof(tt_block *));
    b->state = calloc(trace->n_chunks + 1, 1);
    if (b->of_chunk && b->state) return b;
    tt_blocks_free(b);
    return NULL;
}

static void drop(tt_blocks *b, tt_block *block)
{
    tt_recent_remove(&b->kept, &block->last_use);
    b->of_chunk[block->chunk] = NULL;
    b->cache_bytes -= block->ops.n * RECORD_BYTES;
    tt_ops_block_free(&b->spare);
    b->spare = block->ops;
    free(block->by_run);
    free(block);
}

void tt_blocks_free(tt_blocks *b)
{
    if (!b) return;
    while (b->kept.oldest)
        drop(b, (tt_block *)b->kept.oldest);
    tt_ops_block_free(&b->spare);
    tt_ops_scratch_free(&b->scratch);
    tt_unpacker_free(&b->unpacker);
    free(b->of_chunk);
    free(b->state);
    free(b);
}

/* Drops the least recently used blocks until `need` more bytes fit. */
static void make_room(tt_blocks *b, size_t need)
{
    if (b->cache_bytes + need > b->cache_limit && b->work > KEEP_FREE + KEEP_FACTOR * b->read) {
        b->cache_limit = b->cache_bytes + need;
        if (b->cache_limit > b->cache_most) b->cache_limit = b->cache_most;
    }
    while (b->kept.oldest && b->cache_bytes + need > b->cache_limit)
        drop(b, (tt_block *)b->kept.oldest);
}

void tt_blocks_leave_out(tt_blocks *b, uint32_t chunk, const tt_error *why)
{
    if (b->state[chunk] == STATE_DAMAGED) return;
    b->state[chunk] = STATE_DAMAGED;
    b->lost += b->trace->chunks[chunk].count;
    if (b->n_damaged++ == 0) b->damage = *why;
}

/* Leaves a damaged chunk out; passes other errors on. */
static tt_status evaluate(tt_blocks *b, uint32_t chunk, tt_status status, tt_error *why,
                          tt_error *err)
{
    if (status == TT_OK) {
        if (b->state[chunk] == STATE_NEW) b->first += b->trace->chunks[chunk].count + CHUNK_COST;
        b->state[chunk] = STATE_GOOD;
        return TT_OK;
    }
    if (why->offset == TT_NO_OFFSET) why->offset = b->trace->chunks[chunk].offset;
    if (status == TT_E_MEMORY || status == TT_E_IO) {
        if (err) *err = *why;
        return status;
    }
    tt_blocks_leave_out(b, chunk, why);
    return TT_OK;
}

typedef struct numbered {
    uint32_t run, segment;
} numbered;

TT_ORDER_BY(by_run, numbered, run, segment)

/* Sorts segments by run. What one thread recorded is sorted already, unless the trace was made
 * up. */
static bool sort_segments(tt_block *block)
{
    const tt_ops_block *o = &block->ops;
    size_t n = o->n_segments, i = 1;
    while (i < n && o->segments[i - 1].run <= o->segments[i].run)
        i++;
    if (i >= n) return true;
    numbered *list = malloc(n * sizeof *list);
    block->by_run = malloc(n * sizeof *block->by_run);
    if (list && block->by_run) {
        for (i = 0; i < n; i++)
            list[i] = (numbered){o->segments[i].run, (uint32_t)i};
        qsort(list, n, sizeof *list, by_run);
        for (i = 0; i < n; i++)
            block->by_run[i] = list[i].segment;
    }
    free(list);
    return list && block->by_run;
}

static tt_status decode(tt_blocks *b, uint32_t chunk, tt_block *block, tt_error *why)
{
    tt_chunk_header h;
    tt_span payload;
    tt_status status = tt_trace_chunk(b->trace, chunk, SIZE_MAX, &b->unpacker, &h, &payload, why);
    if (status != TT_OK) return status;
    b->work += h.count + CHUNK_COST;
    make_room(b, h.count * RECORD_BYTES);
    block->ops = b->spare;
    b->spare = (tt_ops_block){0};
    status = tt_ops_decode_again(payload, h.count, true, &block->ops, &b->scratch, why);
    if (status == TT_OK && !sort_segments(block)) {
        tt_ops_block_free(&block->ops);
        status = tt_error_memory(why, "a chunk's ops");
    }
    return status;
}

tt_status tt_blocks_get(tt_blocks *b, uint32_t chunk, uint32_t wanted, const tt_block **out,
                        tt_error *err)
{
    tt_error why;
    tt_block *block = b->of_chunk[chunk];
    *out = NULL;
    b->read += wanted + REQUEST_COST;
    if (b->state[chunk] == STATE_DAMAGED) return TT_OK;
    if (!block) {
        if (b->work > WORK_FREE + WORK_FACTOR * (b->first + b->read))
            return tt_error_set(err, TT_E_LIMIT, b->trace->chunks[chunk].offset,
                                "the runs are scattered over the chunks too widely to be walked");
        block = calloc(1, sizeof *block);
        if (!block) return tt_error_memory(err, "a chunk's ops");
        tt_status status = evaluate(b, chunk, decode(b, chunk, block, &why), &why, err);
        if (status != TT_OK || b->state[chunk] == STATE_DAMAGED) {
            free(block);
            return status;
        }
        block->chunk = chunk;
        tt_recent_add(&b->kept, &block->last_use);
        b->cache_bytes += block->ops.n * RECORD_BYTES;
        b->of_chunk[chunk] = block;
    }
    tt_recent_use(&b->kept, &block->last_use);
    *out = block;
    return TT_OK;
}

bool tt_blocks_holds(const tt_blocks *b, uint32_t chunk, const uint64_t *start)
{
    const tt_block *block = b->of_chunk[chunk];
    return block && start >= block->ops.start && start < block->ops.start + block->ops.n;
}

/* Unpacks as little as possible: the segments come first in the payload. */
static tt_status read_front(tt_blocks *b, uint32_t chunk, tt_ops_block *ops, tt_error *why)
{
    for (size_t want = FRONT_BYTES;; want *= 8) {
        tt_chunk_header h;
        tt_span payload;
        tt_status status = tt_trace_chunk(b->trace, chunk, want, &b->unpacker, &h, &payload, why);
        if (status != TT_OK) return status;
        status = tt_ops_decode(payload, h.count, false, ops, why);
        if (status != TT_E_FORMAT || payload.size >= h.raw_bytes) return status;
    }
}

tt_status tt_blocks_front(tt_blocks *b, uint32_t chunk, tt_ops_block *ops, tt_error *err)
{
    tt_error why;
    memset(ops, 0, sizeof *ops);
    if (b->state[chunk] == STATE_DAMAGED) return TT_OK;
    tt_status status = read_front(b, chunk, ops, &why);
    if (status != TT_OK) memset(ops, 0, sizeof *ops);
    return evaluate(b, chunk, status, &why, err);
}

uint64_t tt_blocks_work(const tt_blocks *b)
{
    return b->work;
}

uint64_t tt_blocks_lost(const tt_blocks *b)
{
    return b->lost;
}

size_t tt_blocks_damaged(const tt_blocks *b, tt_error *first)
{
    if (first) {
        *first = b->damage;
        if (!b->n_damaged) first->status = TT_OK;
    }
    return b->n_damaged;
}

size_t tt_block_segment(const tt_block *b, uint64_t run)
{
    size_t low;
    tt_lower_bound(low, b->ops.n_segments, b->ops.segments[tt_block_at(b, low)].run < run);
    return low;
}
