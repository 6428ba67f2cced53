#include "read/pieces.h"

#include "base/array.h"
#include "base/order.h"
#include "read/blocks.h"

#include <stdlib.h>
#include <string.h>

/* How many chunks may be looked at for runs, over all calls, before a survey is cheaper. A
 * survey lists all pieces once; after it no chunk is looked at in vain. */
#define VISITS_FREE ((uint64_t)1 << 18)
#define VISIT_BYTES 8u /* of the file, that pay for one more */

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
    uint64_t records; /* as the index counts them; of good fronts after a survey */
    bool surveyed;
    tt_piece *list; /* all of them, after a survey; else those of the run asked for last */
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

/* Runs have 32-bit ids. An index that says otherwise is found wrong when the chunk is read. */
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

/* Whether the chunk holds the runs that the index says. If not, looking into it for runs is
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
    /* Behind the last chunk that begins with this run or an earlier one. */
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

/* --- either way --- */

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
        /* A list made by scanning does not say which runs a chunk holds. */
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
