#include "read/details.h"

#include "base/array.h"
#include "base/order.h"
#include "base/recent.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

/* How much memory the decoded chunks may take: twice the largest chunk of each stream, between
 * these bounds. */
#define CACHE_MIN ((size_t)16 << 20)
#define CACHE_MAX ((size_t)256 << 20)
#define CACHE_FACTOR 64u
/* Bound on the details of one run: enough for each token of a long prompt, many layers and all
 * experts. */
#define RUN_DETAILS_MAX ((size_t)16 << 20)
/* How much work, in details, may be done before the trace counts as too scattered to be walked. */
#define WORK_FREE ((uint64_t)16 << 20)
#define WORK_FACTOR 64u

/* A DETAIL chunk. */
typedef struct listed {
    tt_recent last_use; /* while it has details */
    uint32_t chunk;     /* in tt_trace.chunks */
    bool empty;         /* damaged, or nothing in it was complete */
    uint64_t run_min, run_max;
    uint64_t run_max_so_far; /* over this and all chunks before it in the list */
    tt_detail *details;      /* decoded, or NULL */
    size_t n;
} listed;

struct tt_details {
    const tt_trace *trace;
    tt_unpacker unpacker;
    listed *chunks;
    listed **list; /* all of `chunks`, by ascending run_min */
    size_t n;
    bool ranges_known;
    tt_detail *found; /* of the last requested run */
    size_t capacity;
    size_t cache_bytes, cache_limit;
    tt_recent_list kept;    /* chunks that have details */
    uint64_t records, work; /* according to the headers; done so far */
    unsigned kinds_met;     /* bit by kind */
    size_t looked_into;     /* chunks of the list, from the first on */
    size_t n_damaged;
    tt_error damage;
};

static int by_run_min(const void *a, const void *b)
{
    const listed *x = *(listed *const *)a, *y = *(listed *const *)b;
    if (x->run_min != y->run_min) return x->run_min < y->run_min ? -1 : 1;
    return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
}

static void sort_list(tt_details *d)
{
    if (d->n) qsort(d->list, d->n, sizeof *d->list, by_run_min);
    uint64_t highest = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (d->list[i]->run_max > highest) highest = d->list[i]->run_max;
        d->list[i]->run_max_so_far = highest;
    }
}

tt_status tt_details_open(const tt_trace *trace, tt_details **out, tt_error *err)
{
    *out = NULL;
    tt_details *d = calloc(1, sizeof *d);
    size_t n = 0;
    for (size_t i = 0; i < trace->n_chunks; i++)
        n += trace->chunks[i].type == TT_CHUNK_DETAIL;
    if (d) d->chunks = calloc(n + 1, sizeof *d->chunks);
    if (d) d->list = calloc(n + 1, sizeof *d->list);
    if (!d || !d->chunks || !d->list || trace->n_chunks > UINT32_MAX) {
        if (d) free(d->chunks);
        if (d) free(d->list);
        free(d);
        return tt_error_memory(err, "the list of details");
    }
    d->trace = trace;
    tt_unpacker_init(&d->unpacker);
    uint64_t largest = 0, streams = 1;
    for (size_t i = 0; i < trace->n_chunks; i++) {
        const tt_index_entry *e = &trace->chunks[i];
        if (e->type != TT_CHUNK_DETAIL) continue;
        d->list[d->n] = &d->chunks[d->n];
        d->chunks[d->n++] =
            (listed){.chunk = (uint32_t)i, .run_min = e->run_min, .run_max = e->run_max};
        d->records += e->count;
        if (e->count > largest) largest = e->count;
        if (e->stream > streams && e->stream <= TT_OPS_LANE_MAX) streams = e->stream;
    }
    uint64_t need = 2 * streams * largest * sizeof(tt_detail);
    /* A file can claim any number of streams: the memory is bounded by its size. */
    if (need > CACHE_MIN + CACHE_FACTOR * trace->source.size)
        need = CACHE_MIN + CACHE_FACTOR * trace->source.size;
    d->cache_limit = need < CACHE_MIN ? CACHE_MIN : need > CACHE_MAX ? CACHE_MAX : (size_t)need;
    /* A list made by scanning lacks the chunks' runs. */
    d->ranges_known = trace->complete;
    sort_list(d);
    *out = d;
    return TT_OK;
}

static void drop(tt_details *d, listed *c)
{
    tt_recent_remove(&d->kept, &c->last_use);
    d->cache_bytes -= c->n * sizeof *c->details;
    free(c->details);
    c->details = NULL;
    c->n = 0;
}

void tt_details_free(tt_details *d)
{
    if (!d) return;
    while (d->kept.oldest)
        drop(d, (listed *)d->kept.oldest);
    tt_unpacker_free(&d->unpacker);
    free(d->chunks);
    free(d->list);
    free(d->found);
    free(d);
}

/* Drops the least recently used chunks until `need` more bytes fit. */
static void make_room(tt_details *d, size_t need)
{
    while (d->kept.oldest && d->cache_bytes + need > d->cache_limit)
        drop(d, (listed *)d->kept.oldest);
}

static tt_status decode(tt_details *d, listed *c, tt_error *err)
{
    tt_chunk_header h;
    tt_span payload;
    uint64_t offset = d->trace->chunks[c->chunk].offset;
    if (d->work / WORK_FACTOR > d->records + WORK_FREE / WORK_FACTOR)
        return tt_error_set(err, TT_E_LIMIT, offset,
                            "the details are scattered over the chunks too widely to be walked");
    tt_status status =
        tt_trace_chunk(d->trace, c->chunk, SIZE_MAX, &d->unpacker, &h, &payload, err);
    if (status != TT_OK) return status;
    d->work += h.count + payload.size / sizeof(tt_detail) + 1;
    status = tt_detail_decode(payload, h.count, &c->details, &c->n, err);
    if (status != TT_OK) {
        c->details = NULL;
        c->n = 0;
        if (err && err->offset == TT_NO_OFFSET) err->offset = offset;
        return status;
    }
    tt_recent_add(&d->kept, &c->last_use);
    if (c->n == 0) drop(d, c);
    d->cache_bytes += c->n * sizeof *c->details;
    for (size_t i = 0; i < c->n; i++)
        d->kinds_met |= 1u << tt_detail_kind_of(&c->details[i]);
    return TT_OK;
}

/* Decodes the chunk's details into c; a damaged chunk has none. */
static tt_status load(tt_details *d, listed *c, tt_error *err)
{
    tt_error damage;
    if (c->details) tt_recent_use(&d->kept, &c->last_use);
    if (c->details || c->empty) return TT_OK;
    make_room(d, d->trace->chunks[c->chunk].count * sizeof *c->details);
    tt_status status = decode(d, c, &damage);
    if (status == TT_E_MEMORY || status == TT_E_IO || status == TT_E_LIMIT) {
        if (err) *err = damage;
        return status;
    }
    c->empty = c->n == 0;
    if (status == TT_OK) return TT_OK;
    if (d->n_damaged++ == 0) d->damage = damage;
    return TT_OK;
}

static tt_status find_ranges(tt_details *d, tt_error *err)
{
    for (size_t i = 0; !d->ranges_known && i < d->n; i++) {
        listed *c = d->list[i];
        tt_status status = load(d, c, err);
        if (status != TT_OK) return status;
        c->run_min = c->n ? c->details[0].run : 0;
        c->run_max = c->n ? c->details[c->n - 1].run : 0;
    }
    if (!d->ranges_known) {
        d->looked_into = d->n;
        sort_list(d);
    }
    d->ranges_known = true;
    return TT_OK;
}

bool tt_details_has(tt_details *d, enum tt_detail_kind kind)
{
    while (!(d->kinds_met & 1u << kind) && d->looked_into < d->n)
        if (load(d, d->list[d->looked_into++], NULL) != TT_OK) break;
    return d->kinds_met & 1u << kind;
}

tt_status tt_details_survey(tt_details *d, tt_error *err)
{
    tt_status status = TT_OK;
    for (; status == TT_OK && d->looked_into < d->n; d->looked_into += status == TT_OK)
        status = load(d, d->list[d->looked_into], err);
    return status;
}

/* The first detail of a sorted list with that run or a later one. */
static size_t lower_bound(const listed *c, uint64_t run)
{
    size_t low;
    tt_lower_bound(low, c->n, c->details[low].run < run);
    return low;
}

static tt_status add_found(tt_details *d, const listed *c, uint32_t run, size_t *n, tt_error *err)
{
    size_t first = lower_bound(c, run), count = lower_bound(c, (uint64_t)run + 1) - first;
    if (count == 0) return TT_OK;
    if (count > RUN_DETAILS_MAX - *n)
        return tt_error_set(err, TT_E_LIMIT, d->trace->chunks[c->chunk].offset,
                            "run %" PRIu32 " has more than %zu details", run, RUN_DETAILS_MAX);
    if (!tt_array_room(d->found, d->capacity, *n + count))
        return tt_error_memory(err, "a run's details");
    memcpy(d->found + *n, c->details + first, count * sizeof *d->found);
    *n += count;
    return TT_OK;
}

static int by_counts(const tt_detail_thread *x, const tt_detail_thread *y)
{
    const uint32_t a[] = {x->elapsed_us, x->user_us, x->system_us,
                          x->delay_us,   x->major,   x->switches};
    const uint32_t b[] = {y->elapsed_us, y->user_us, y->system_us,
                          y->delay_us,   y->major,   y->switches};
    size_t i = 0;
    while (i + 1 < sizeof a / sizeof *a && a[i] == b[i])
        i++;
    return tt_order(a[i], b[i]);
}

/* Token and rank are at the same offsets for experts and weights. */
static int by_place(const void *a, const void *b)
{
    const tt_detail *x = a, *y = b;
    uint32_t node_x = tt_detail_node(x), node_y = tt_detail_node(y);
    if (node_x != node_y) return node_x < node_y ? -1 : 1;
    uint32_t lane_x = tt_detail_lane(x), lane_y = tt_detail_lane(y);
    if (lane_x != lane_y) return lane_x < lane_y ? -1 : 1;
    enum tt_detail_kind kind_x = tt_detail_kind_of(x), kind_y = tt_detail_kind_of(y);
    if (kind_x != kind_y) return kind_x < kind_y ? -1 : 1;
    if (kind_x == TT_DETAIL_VALUE) return (int)x->value.part - (int)y->value.part;
    /* Several of one op: in an order that the trace alone decides. */
    if (kind_x == TT_DETAIL_OFF_CPU || kind_x == TT_DETAIL_WAIT_INSIDE) {
        const int order = tt_order(x->off_cpu.ns, y->off_cpu.ns);
        return order ? order : tt_order(x->off_cpu.ticks, y->off_cpu.ticks);
    }
    if (tt_detail_is_thread(x)) return by_counts(&x->thread, &y->thread);
    if (kind_x != TT_DETAIL_EXPERTS && kind_x != TT_DETAIL_WEIGHTS_F32) return 0;
    if (x->experts.token != y->experts.token) return x->experts.token < y->experts.token ? -1 : 1;
    return x->experts.first_rank - y->experts.first_rank;
}

_Static_assert(offsetof(tt_detail, experts.first_rank) == offsetof(tt_detail, weights.first_rank) &&
                   offsetof(tt_detail, experts.token) == offsetof(tt_detail, weights.token),
               "by_place reads either");

tt_status tt_details_of_run(tt_details *d, uint32_t run_id, const tt_detail **list, size_t *n,
                            tt_error *err)
{
    size_t chunks = 0, end;
    *list = NULL;
    *n = 0;
    tt_status status = find_ranges(d, err);
    if (status != TT_OK) return status;
    /* After the last chunk that begins with this run or an earlier one. */
    tt_lower_bound(end, d->n, d->list[end]->run_min <= run_id);
    for (size_t i = end; i-- > 0 && d->list[i]->run_max_so_far >= run_id;) {
        size_t before = *n;
        if (d->list[i]->run_max < run_id) continue;
        status = load(d, d->list[i], err);
        if (status == TT_OK) status = add_found(d, d->list[i], run_id, n, err);
        if (status != TT_OK) {
            *n = 0;
            return status;
        }
        chunks += *n > before;
    }
    if (chunks > 1) qsort(d->found, *n, sizeof *d->found, by_place);
    *list = d->found;
    return TT_OK;
}

size_t tt_details_damaged(const tt_details *d, tt_error *first)
{
    if (first) {
        *first = d->damage;
        if (!d->n_damaged) first->status = TT_OK;
    }
    return d->n_damaged;
}
