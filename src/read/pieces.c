#include "read/pieces.h"

#include <stdlib.h>
#include <string.h>

/* What is unpacked of a chunk to find its segments, at first; more when needed. */
#define FRONT_BYTES 65536u
#define RECORD_BYTES (sizeof(uint32_t) + 1 + 3 * sizeof(uint64_t))
/* Records decoded in all, before a trace counts as too scattered to be walked. */
#define DECODE_FREE (64u << 20)
#define DECODE_FACTOR 64u

typedef struct cached {
    tt_ops_block block;
    uint64_t used; /* when, in requests */
    uint32_t chunk;
    struct cached *next;
} cached;

struct tt_pieces {
    const tt_trace *trace;
    tt_unpacker unpacker;
    tt_piece *list;
    size_t n;
    size_t capacity;
    uint64_t records;
    size_t n_damaged;
    tt_error damage;
    cached **of_chunk; /* per chunk: its decoded block, or NULL */
    cached *all;
    size_t cache_bytes;
    size_t cache_limit;
    uint64_t requests;
    uint64_t decoded; /* records, over all decodes */
};

static int compare(const void *a, const void *b)
{
    const tt_piece *x = a, *y = b;
    if (x->run != y->run) return x->run < y->run ? -1 : 1;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    if (x->chunk != y->chunk) return x->chunk < y->chunk ? -1 : 1;
    return x->segment < y->segment ? -1 : x->segment > y->segment;
}

static tt_status add_pieces(tt_pieces *p, uint32_t chunk, const tt_ops_block *b, tt_error *err)
{
    size_t need = p->n + b->n_segments;
    if (need > TT_PIECES_MAX)
        return tt_error_set(err, TT_E_LIMIT, p->trace->chunks[chunk].offset,
                            "more than %u stretches of ops; the trace is damaged or was not "
                            "written by tensortrace",
                            TT_PIECES_MAX);
    if (need > p->capacity) {
        size_t more = p->capacity ? p->capacity : 256;
        while (more < need)
            more *= 2;
        tt_piece *list = reallocarray(p->list, more, sizeof *list);
        if (!list)
            return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory for the op index");
        p->list = list;
        p->capacity = more;
    }
    for (size_t i = 0; i < b->n_segments; i++)
        p->list[p->n++] = (tt_piece){b->segments[i].run, b->segments[i].lane, chunk, (uint32_t)i,
                                     b->segments[i].count};
    p->records += b->n;
    return TT_OK;
}

/* The segments stand at the payload's front: unpacks as little as will do. */
static tt_status read_front(tt_pieces *p, size_t chunk, tt_ops_block *b, tt_error *err)
{
    for (size_t want = FRONT_BYTES;; want *= 8) {
        tt_chunk_header h;
        tt_span payload;
        tt_status status = tt_trace_chunk(p->trace, chunk, want, &p->unpacker, &h, &payload, err);
        if (status != TT_OK) return status;
        status = tt_ops_decode(payload, h.count, false, b, err);
        if (status != TT_E_FORMAT || payload.size >= h.raw_bytes) {
            if (status != TT_OK && err && err->offset == TT_NO_OFFSET)
                err->offset = p->trace->chunks[chunk].offset;
            return status;
        }
    }
}

static tt_status find_pieces(tt_pieces *p, tt_error *err)
{
    tt_status status = TT_OK;
    for (size_t i = 0; i < p->trace->n_chunks && status == TT_OK; i++) {
        tt_ops_block b;
        tt_error damage;
        if (p->trace->chunks[i].type != TT_CHUNK_OPS) continue;
        status = read_front(p, i, &b, &damage);
        if (status == TT_OK) {
            status = add_pieces(p, (uint32_t)i, &b, err);
            tt_ops_block_free(&b);
        } else if (status == TT_E_MEMORY || status == TT_E_IO) {
            if (err) *err = damage;
        } else {
            if (p->n_damaged++ == 0) p->damage = damage;
            status = TT_OK;
        }
    }
    return status;
}

/* Chunks come round robin from the streams, so two a stream are the ones in use. */
static size_t cache_limit(const tt_trace *trace)
{
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
    if (need < TT_PIECES_CACHE_MIN) return TT_PIECES_CACHE_MIN;
    return need < TT_PIECES_CACHE_MAX ? (size_t)need : TT_PIECES_CACHE_MAX;
}

tt_status tt_pieces_open(const tt_trace *trace, tt_pieces **out, tt_error *err)
{
    *out = NULL;
    tt_pieces *p = calloc(1, sizeof *p);
    if (!p || trace->n_chunks > UINT32_MAX) {
        free(p);
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory for the op index");
    }
    p->trace = trace;
    p->cache_limit = cache_limit(trace);
    tt_unpacker_init(&p->unpacker);
    p->of_chunk = calloc(trace->n_chunks + 1, sizeof(cached *));
    tt_status status =
        p->of_chunk ? find_pieces(p, err)
                    : tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory for the op index");
    if (status != TT_OK) {
        tt_pieces_free(p);
        return status;
    }
    if (p->n) qsort(p->list, p->n, sizeof *p->list, compare);
    *out = p;
    return TT_OK;
}

static void drop(tt_pieces *p, cached *c)
{
    p->of_chunk[c->chunk] = NULL;
    p->cache_bytes -= c->block.n * RECORD_BYTES;
    tt_ops_block_free(&c->block);
    free(c);
}

void tt_pieces_free(tt_pieces *p)
{
    if (!p) return;
    while (p->all) {
        cached *c = p->all;
        p->all = c->next;
        drop(p, c);
    }
    tt_unpacker_free(&p->unpacker);
    free(p->of_chunk);
    free(p->list);
    free(p);
}

const tt_piece *tt_pieces_list(const tt_pieces *p, size_t *n)
{
    *n = p->n;
    return p->list;
}

static size_t lower_bound(const tt_pieces *p, uint64_t run)
{
    size_t low = 0, high = p->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->list[middle].run < run)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t tt_pieces_of_run(const tt_pieces *p, uint32_t run, size_t *n)
{
    size_t first = lower_bound(p, run);
    *n = lower_bound(p, (uint64_t)run + 1) - first;
    return first;
}

uint64_t tt_pieces_records(const tt_pieces *p)
{
    return p->records;
}

size_t tt_pieces_damaged(const tt_pieces *p, tt_error *first)
{
    if (first) {
        *first = p->damage;
        if (!p->n_damaged) first->status = TT_OK;
    }
    return p->n_damaged;
}

/* Drops the blocks unused for longest until `need` more bytes fit. */
static void make_room(tt_pieces *p, size_t need)
{
    while (p->all && p->cache_bytes + need > p->cache_limit) {
        cached **oldest = &p->all;
        for (cached **c = &p->all; *c; c = &(*c)->next)
            if ((*c)->used < (*oldest)->used) oldest = c;
        cached *c = *oldest;
        *oldest = c->next;
        drop(p, c);
    }
}

static tt_status decode(tt_pieces *p, uint32_t chunk, cached **out, tt_error *err)
{
    tt_chunk_header h;
    tt_span payload;
    tt_status status = tt_trace_chunk(p->trace, chunk, SIZE_MAX, &p->unpacker, &h, &payload, err);
    if (status != TT_OK) return status;
    if (p->decoded / DECODE_FACTOR > p->records + DECODE_FREE / DECODE_FACTOR)
        return tt_error_set(err, TT_E_LIMIT, p->trace->chunks[chunk].offset,
                            "the runs are scattered over the chunks too widely to be walked");
    make_room(p, h.count * RECORD_BYTES);
    cached *c = calloc(1, sizeof *c);
    if (!c) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory for a chunk's ops");
    status = tt_ops_decode(payload, h.count, true, &c->block, err);
    if (status != TT_OK) {
        if (err && err->offset == TT_NO_OFFSET) err->offset = p->trace->chunks[chunk].offset;
        free(c);
        return status;
    }
    p->decoded += h.count;
    p->cache_bytes += c->block.n * RECORD_BYTES;
    c->chunk = chunk;
    c->next = p->all;
    p->all = c;
    p->of_chunk[chunk] = c;
    *out = c;
    return TT_OK;
}

tt_status tt_pieces_get(tt_pieces *p, size_t i, tt_piece_ops *ops, tt_error *err)
{
    const tt_piece *piece = &p->list[i];
    const tt_index_entry *e = &p->trace->chunks[piece->chunk];
    cached *c = p->of_chunk[piece->chunk];
    memset(ops, 0, sizeof *ops);
    if (!c) {
        tt_status status = decode(p, piece->chunk, &c, err);
        if (status != TT_OK) return status;
    }
    c->used = ++p->requests;
    const tt_ops_block *b = &c->block;
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
