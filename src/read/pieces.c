#include "read/pieces.h"

#include "base/array.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

/* How much of a chunk is unpacked at first to find its segments; more on demand. */
#define FRONT_BYTES 65536u
#define RECORD_BYTES (sizeof(uint32_t) + 1 + 3 * sizeof(uint64_t))
/* Work is counted in records. Decoding a chunk costs its records plus CHUNK_COST. Each request is
 * granted the records that it reads plus REQUEST_COST. A walk in order decodes about what it reads,
 * however many walks there are. */
#define CHUNK_COST 256u
#define REQUEST_COST 4u
/* How much work all requests may take before the trace counts as too scattered to be walked. */
#define WORK_FREE (16u << 20)
#define WORK_FACTOR 16u
/* The work after which repeatedly decoded chunks are kept. */
#define KEEP_FREE (1u << 20)
#define KEEP_FACTOR 2u

enum { STATE_NEW, STATE_GOOD, STATE_DAMAGED };

struct tt_blocks {
    const tt_trace *trace;
    tt_unpacker unpacker;
    tt_block **of_chunk; /* per chunk: its decoded block, or NULL */
    uint8_t *state;      /* per chunk */
    tt_recent_list kept; /* blocks */
    tt_ops_block spare;  /* of the last evicted block: memory for the next */
    tt_ops_scratch scratch;
    size_t cache_bytes;
    size_t cache_limit;
    size_t cache_most; /* limit for cache_limit */
    uint64_t work;     /* of all decodes */
    uint64_t first;    /* of each chunk's first one */
    uint64_t read;     /* granted for requests */
    uint64_t lost;
    size_t n_damaged;
    tt_error damage;
};

#define CACHE_FACTOR 64u /* a record takes ten times as much memory as space in the file */

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
static void make_space(tt_blocks *b, size_t need)
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

/* Sorts segments by run. Those of one thread are sorted already, unless the trace is synthetic. */
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
    make_space(b, h.count * RECORD_BYTES);
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

/* How many chunks may be read to find runs, over all calls, before a survey is cheaper. A survey
 * lists all pieces once; after it no chunk is read in vain. */
#define VISITS_FREE ((uint64_t)1 << 18)
#define VISIT_BYTES 8u /* of the file, granting one more */

/* An OPS chunk, by the index. */
typedef struct listed {
    uint32_t chunk;
    uint32_t run_min, run_max;
    uint32_t run_max_so_far; /* over this and all chunks before it in the list */
} listed;

struct tt_pieces {
    const tt_trace *trace;
    tt_blocks *blocks;
    listed *chunks; /* by ascending run_min */
    size_t n_chunks;
    uint64_t records; /* as counted in the index; of readable chunks after a survey */
    bool surveyed;
    tt_piece *list; /* all of them, after a survey; else those of the last requested run */
    size_t n, capacity;
    uint64_t visits;
};

TT_ORDER_BY(compare, tt_piece, run, lane, chunk, segment)

static tt_status make_room(tt_pieces *p, size_t more_pieces, tt_error *err)
{
    return tt_array_room(p->list, p->capacity, p->n + more_pieces)
               ? TT_OK
               : tt_error_memory(err, "the op index");
}

static void add_piece(tt_pieces *p, uint32_t chunk, const tt_ops_block *b, uint32_t segment)
{
    const tt_ops_segment *s = &b->segments[segment];
    p->list[p->n++] = (tt_piece){s->run, s->lane, chunk, segment, s->count};
}

/* --- by the index --- */

TT_ORDER_BY(by_run_min, listed, run_min, chunk)

/* Runs have 32-bit ids. An index with larger ones is found wrong when the chunk is read. */
static uint32_t run_of(uint64_t run)
{
    return run > UINT32_MAX ? UINT32_MAX : (uint32_t)run;
}

static void list_chunks(tt_pieces *p)
{
    uint32_t highest = 0;
    bool sorted = true;
    for (size_t i = 0; i < p->trace->n_chunks; i++) {
        const tt_index_entry *e = &p->trace->chunks[i];
        if (e->type != TT_CHUNK_OPS) continue;
        p->records += e->count;
        listed *c = &p->chunks[p->n_chunks++];
        *c = (listed){(uint32_t)i, run_of(e->run_min), run_of(e->run_max), 0};
        sorted &= c == p->chunks || c[-1].run_min <= c->run_min;
    }
    if (!sorted) qsort(p->chunks, p->n_chunks, sizeof *p->chunks, by_run_min);
    for (size_t i = 0; i < p->n_chunks; i++) {
        if (p->chunks[i].run_max > highest) highest = p->chunks[i].run_max;
        p->chunks[i].run_max_so_far = highest;
    }
}

/* Whether the chunk has the runs listed in the index. If not, reading it to find runs is
 * useless. */
static bool is_as_listed(tt_pieces *p, const listed *c, const tt_block *b)
{
    const tt_ops_segment *s = b->ops.segments;
    uint32_t first = s[tt_block_at(b, 0)].run, last = s[tt_block_at(b, b->ops.n_segments - 1)].run;
    if (first == c->run_min && last == c->run_max) return true;
    tt_error why;
    (void)tt_error_set(&why, TT_E_FORMAT, p->trace->chunks[c->chunk].offset,
                       "a chunk holds runs %u to %u, the index says %u to %u", first, last,
                       c->run_min, c->run_max);
    tt_blocks_leave_out(p->blocks, c->chunk, &why);
    return false;
}

/* The chunk's pieces of runs first to last. */
static tt_status collect(tt_pieces *p, const listed *c, uint32_t first, uint32_t last,
                         tt_error *err)
{
    const tt_block *b;
    tt_status status = tt_blocks_get(p->blocks, c->chunk, 0, &b, err);
    if (status != TT_OK || !b || !is_as_listed(p, c, b)) return status;
    size_t from = tt_block_segment(b, first), to = tt_block_segment(b, (uint64_t)last + 1);
    status = make_room(p, to - from, err);
    for (size_t i = from; i < to && status == TT_OK; i++)
        add_piece(p, c->chunk, &b->ops, tt_block_at(b, i));
    return status;
}

static tt_status find_run(tt_pieces *p, uint32_t run, tt_error *err)
{
    size_t end;
    p->n = 0;
    /* After the last chunk that begins with this run or an earlier one. */
    tt_lower_bound(end, p->n_chunks, p->chunks[end].run_min <= run);
    for (size_t i = end; i-- > 0 && p->chunks[i].run_max_so_far >= run;) {
        if (++p->visits > VISITS_FREE + p->trace->source.size / VISIT_BYTES)
            return tt_pieces_survey(p, err);
        if (p->chunks[i].run_max < run) continue;
        tt_status status = collect(p, &p->chunks[i], run, run, err);
        if (status != TT_OK) return status;
    }
    size_t i = 1;
    while (i < p->n && compare(&p->list[i - 1], &p->list[i]) < 0)
        i++;
    if (i < p->n) qsort(p->list, p->n, sizeof *p->list, compare);
    return TT_OK;
}

/* --- by a survey --- */

tt_status tt_pieces_survey(tt_pieces *p, tt_error *err)
{
    if (p->surveyed) return TT_OK;
    p->n = 0;
    p->records = 0;
    for (size_t i = 0; i < p->trace->n_chunks; i++) {
        tt_ops_block b;
        if (p->trace->chunks[i].type != TT_CHUNK_OPS) continue;
        tt_status status = tt_blocks_front(p->blocks, (uint32_t)i, &b, err);
        if (status != TT_OK) return status;
        if (p->n + b.n_segments > TT_PIECES_MAX)
            status = tt_error_set(err, TT_E_LIMIT, p->trace->chunks[i].offset,
                                  "more than %u intervals of ops; the trace is damaged or was not "
                                  "written by tensortrace",
                                  TT_PIECES_MAX);
        if (status == TT_OK) status = make_room(p, b.n_segments, err);
        for (uint32_t s = 0; s < b.n_segments && status == TT_OK; s++)
            add_piece(p, (uint32_t)i, &b, s);
        p->records += b.n;
        tt_ops_block_free(&b);
        if (status != TT_OK) return status;
    }
    if (p->n) qsort(p->list, p->n, sizeof *p->list, compare);
    p->surveyed = true;
    return TT_OK;
}

static size_t lower_bound(const tt_pieces *p, uint64_t run)
{
    size_t low;
    tt_lower_bound(low, p->n, p->list[low].run < run);
    return low;
}

/* --- both --- */

tt_status tt_pieces_open(const tt_trace *trace, tt_pieces **out, tt_error *err)
{
    *out = NULL;
    tt_pieces *p = calloc(1, sizeof *p);
    if (!p || trace->n_chunks > UINT32_MAX) {
        free(p);
        return tt_error_memory(err, "the op index");
    }
    p->trace = trace;
    p->blocks = tt_blocks_new(trace);
    p->chunks = calloc(trace->n_chunks + 1, sizeof *p->chunks);
    tt_status status = p->blocks && p->chunks ? TT_OK : tt_error_memory(err, "the op index");
    if (status == TT_OK) {
        list_chunks(p);
        /* A list made by scanning lacks the chunks' runs. */
        if (!trace->complete) status = tt_pieces_survey(p, err);
    }
    if (status == TT_OK)
        *out = p;
    else
        tt_pieces_free(p);
    return status;
}

void tt_pieces_free(tt_pieces *p)
{
    if (!p) return;
    tt_blocks_free(p->blocks);
    free(p->chunks);
    free(p->list);
    free(p);
}

const tt_piece *tt_pieces_list(const tt_pieces *p, size_t *n)
{
    *n = p->surveyed ? p->n : 0;
    return p->list;
}

tt_status tt_pieces_of_run(tt_pieces *p, uint32_t run, const tt_piece **list, size_t *n,
                           tt_error *err)
{
    tt_status status = p->surveyed ? TT_OK : find_run(p, run, err);
    size_t first = p->surveyed ? lower_bound(p, run) : 0;
    *list = p->list ? p->list + first : NULL;
    *n = status != TT_OK ? 0 : p->surveyed ? lower_bound(p, (uint64_t)run + 1) - first : p->n;
    return status;
}

uint64_t tt_pieces_work(const tt_pieces *p)
{
    return tt_blocks_work(p->blocks);
}

uint64_t tt_pieces_visits(const tt_pieces *p)
{
    return p->visits;
}

uint64_t tt_pieces_records(const tt_pieces *p)
{
    uint64_t lost = p->surveyed ? 0 : tt_blocks_lost(p->blocks);
    return p->records > lost ? p->records - lost : 0;
}

size_t tt_pieces_damaged(const tt_pieces *p, tt_error *first)
{
    return tt_blocks_damaged(p->blocks, first);
}

tt_status tt_pieces_get(tt_pieces *p, const tt_piece *piece, tt_piece_ops *ops, tt_error *err)
{
    const tt_index_entry *e = &p->trace->chunks[piece->chunk];
    const tt_block *block;
    tt_status status = tt_blocks_get(p->blocks, piece->chunk, piece->count, &block, err);
    *ops = (tt_piece_ops){.run = piece->run, .lane = piece->lane, .stream = e->stream};
    if (status != TT_OK) return status;
    if (!block || piece->segment >= block->ops.n_segments) {
        tt_error damage;
        (void)tt_blocks_damaged(p->blocks, &damage);
        return tt_error_set(err, TT_E_FORMAT, e->offset, "a chunk of ops is damaged: %s",
                            damage.message);
    }
    const tt_ops_block *b = &block->ops;
    const tt_ops_segment *s = &b->segments[piece->segment];
    *ops = (tt_piece_ops){.run = piece->run,
                          .lane = piece->lane,
                          .open = s->open,
                          .stream = e->stream,
                          .position = e->position + s->first,
                          .chunk_offset_bytes = e->offset,
                          .tick_shift = b->tick_shift,
                          .n = s->count,
                          .node = b->node + s->first,
                          .covers = b->covers + s->first,
                          .start = b->start + s->first,
                          .arrive = b->arrive + s->first,
                          .release = b->release + s->first};
    return TT_OK;
}

tt_status tt_pieces_get_together(tt_pieces *p, const tt_piece *pieces, size_t n, tt_piece_ops *ops,
                                 bool *together, tt_error *err)
{
    *together = false;
    for (size_t i = 0; i < n; i++) {
        tt_status status = tt_pieces_get(p, &pieces[i], &ops[i], err);
        if (status != TT_OK) return status;
    }
    /* Loading the later pieces may have dropped the earlier ones from the cache. */
    for (size_t i = 0; i < n; i++)
        if (!tt_blocks_holds(p->blocks, pieces[i].chunk, ops[i].start)) return TT_OK;
    *together = true;
    return TT_OK;
}

static size_t position_of(const uint32_t *known, size_t n, uint64_t run)
{
    size_t low;
    tt_lower_bound(low, n, known[low] < run);
    return low;
}

static uint64_t count_others(const tt_pieces *p, const uint32_t *known, size_t n_known)
{
    uint64_t records = 0;
    for (size_t i = 0; i < p->n; i++) {
        size_t at = position_of(known, n_known, p->list[i].run);
        if (at == n_known || known[at] != p->list[i].run) records += p->list[i].count;
    }
    return records;
}

tt_status tt_pieces_count_others(tt_pieces *p, const uint32_t *known, size_t n_known,
                                 uint64_t *records, tt_error *err)
{
    *records = 0;
    if (p->surveyed) {
        *records = count_others(p, known, n_known);
        return TT_OK;
    }
    for (size_t i = 0; i < p->n_chunks; i++) {
        const listed *c = &p->chunks[i];
        if (c->run_max < c->run_min) continue;
        size_t first = position_of(known, n_known, c->run_min);
        size_t end = position_of(known, n_known, (uint64_t)c->run_max + 1);
        if (end - first == (uint64_t)c->run_max - c->run_min + 1) continue;
        p->n = 0;
        tt_status status = collect(p, c, c->run_min, c->run_max, err);
        if (status != TT_OK) return status;
        *records += count_others(p, known, n_known);
    }
    return TT_OK;
}
