#include "record/drain.h"

#include "format/meta.h"
#include "record/compact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATIENCE_SECONDS 10 /* for a disk that accepts nothing */

void tt_data_queue_init(tt_data_queue *q)
{
    pthread_condattr_t attr;
    (void)pthread_mutex_init(&q->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&q->taken, &attr);
    (void)pthread_condattr_destroy(&attr);
    q->first = NULL;
    q->last = &q->first;
    q->bytes = 0;
    q->closed = false;
    q->stuck = false;
}

tt_data_block *tt_data_block_new(uint32_t run, uint32_t node, uint32_t part, size_t n)
{
    tt_data_block *block = malloc(sizeof *block + n);
    if (!block) return NULL;
    *block = (tt_data_block){.run = run, .node = node, .part = part, .n = n};
    return block;
}

/* Whether there is room; the lock is held. */
static bool wait_for_room(tt_data_queue *q, size_t n)
{
    struct timespec until;
    if (q->stuck) return !q->closed && (q->bytes == 0 || q->bytes + n <= TT_DATA_QUEUE_BYTES);
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_SECONDS;
    while (!q->closed && q->bytes > 0 && q->bytes + n > TT_DATA_QUEUE_BYTES)
        if (pthread_cond_timedwait(&q->taken, &q->lock, &until) == ETIMEDOUT) {
            q->stuck = true; /* the next block must not wait as long again */
            return false;
        }
    return !q->closed;
}

bool tt_data_queue_push(tt_data_queue *q, tt_data_block *block)
{
    (void)pthread_mutex_lock(&q->lock);
    bool room = wait_for_room(q, block->n);
    if (room) {
        *q->last = block;
        q->last = &block->next;
        q->bytes += block->n;
    }
    (void)pthread_mutex_unlock(&q->lock);
    if (!room) free(block);
    return room;
}

tt_data_block *tt_data_queue_take(tt_data_queue *q)
{
    (void)pthread_mutex_lock(&q->lock);
    tt_data_block *all = q->first;
    q->first = NULL;
    q->last = &q->first;
    q->bytes = 0;
    q->stuck = false;
    (void)pthread_cond_broadcast(&q->taken);
    (void)pthread_mutex_unlock(&q->lock);
    return all;
}

void tt_data_queue_close(tt_data_queue *q)
{
    (void)pthread_mutex_lock(&q->lock);
    q->closed = true;
    (void)pthread_cond_broadcast(&q->taken);
    (void)pthread_mutex_unlock(&q->lock);
}

#define META_PILE_BYTES (256u << 10)
#define META_RING_PART 32u
#define PACKED_RECORD_BYTES 6u
#define PACKED_DETAIL_BYTES 20u /* of a fingerprint; others are smaller */
#define LIMIT_SPARE 16u         /* of the limit, for what arrives before the stop is noticed */

tt_status tt_drain_begin(tt_drain *d, tt_area_map *map, tt_sink *sink, tt_error *err)
{
    memset(d, 0, sizeof *d);
    d->map = map;
    d->sink = sink;
    d->records_max = (size_t)map->area->ring_records;
    if (d->records_max > TT_OPS_CHUNK_RECORDS_MAX) d->records_max = TT_OPS_CHUNK_RECORDS_MAX;
    d->records = malloc(d->records_max * sizeof(tt_op_record));
    tt_bytes_init(&d->raw, TT_CHUNK_PAYLOAD_MAX);
    if (!d->records) return tt_error_memory(err, "the drain");
    return TT_OK;
}

void tt_drain_end(tt_drain *d)
{
    free(d->records);
    d->records = NULL;
    tt_bytes_free(&d->raw);
}

static tt_status put_meta(tt_drain *d, uint64_t position, tt_error *err)
{
    tt_span raw = {d->raw.data, d->raw.size};
    tt_index_entry entry = {.type = TT_CHUNK_META, .position = position};
    tt_meta_describe(raw, &entry.meta, &entry.count);
    return tt_sink_put(d->sink, &entry, raw, err);
}

/* META bytes to collect before they are written. Descriptions are discarded with the ops that they
 * describe, so a small ring takes small steps. */
static size_t meta_pile(const tt_drain *d)
{
    uint64_t part = d->sink->ring_bytes / META_RING_PART;
    return part && part < META_PILE_BYTES ? (size_t)part : META_PILE_BYTES;
}

/* Notes that a run began or ended. A run may be described more than once. */
static void note_run(tt_drain *d, uint64_t run, bool begins)
{
    size_t i = 0;
    while (i < d->n_under_way && d->under_way[i] != run)
        i++;
    bool known = i < d->n_under_way;
    if (known && !begins) d->under_way[i] = d->under_way[--d->n_under_way];
    if (known || !begins) return;
    d->lost_sight |= d->n_under_way == TT_DRAIN_RUNS;
    if (d->n_under_way < TT_DRAIN_RUNS) d->under_way[d->n_under_way++] = run;
}

static void note_runs(tt_drain *d)
{
    tt_cursor c = tt_cursor_of(d->raw.data, d->raw.size);
    uint8_t type;
    tt_span payload;
    while (tt_meta_next(&c, &type, &payload)) {
        tt_cursor record = tt_cursor_of(payload.data, payload.size);
        if (type == TT_META_RUN || type == TT_META_RUN_END)
            note_run(d, tt_cursor_varint(&record), type == TT_META_RUN);
    }
}

static tt_status drain_meta(tt_drain *d, enum tt_drain_what what, tt_error *err)
{
    tt_area *a = d->map->area;
    uint64_t head = atomic_load_explicit(&a->meta_head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&a->meta_tail, memory_order_relaxed);
    size_t n = (size_t)(head - tail);
    if (n == 0 || n > a->meta_bytes || (what == TT_DRAIN_PILED && n < meta_pile(d))) return TT_OK;
    tt_bytes_clear(&d->raw);
    if (!tt_bytes_reserve(&d->raw, n)) return tt_error_memory(err, "the drain");
    tt_area_meta_copy(d->map, tail, d->raw.data, n);
    d->raw.size = n;
    tt_status status = put_meta(d, tail, err);
    if (status != TT_OK) return status;
    atomic_store_explicit(&a->meta_tail, head, memory_order_release);
    note_runs(d);
    return TT_OK;
}

/* What the drain needs to know of one ring, of ops or of details. */
typedef struct stream {
    tt_ring *ring;
    const uint8_t *slots;
    const _Atomic uint32_t *owner; /* details have their op ring's owner */
    uint32_t number;
    bool of_details;
} stream;

/* Whether the record at `position`, the last of its thread, is complete: its run has ended, and
 * the thread has left the barrier at the end of the run. */
static bool is_final(const tt_drain *d, const stream *s, uint64_t position)
{
    size_t at = (size_t)(position & (d->map->area->ring_records - 1));
    if (d->n_under_way || d->lost_sight) return false;
    if (s->of_details) {
        const tt_detail *last = (const tt_detail *)(const void *)s->slots + at;
        tt_detail view = {.place = __atomic_load_n(&last->place, __ATOMIC_ACQUIRE)};
        return tt_detail_kind_of(&view) != TT_DETAIL_NONE;
    }
    const tt_op_record *last = (const tt_op_record *)(const void *)s->slots + at;
    uint64_t release = __atomic_load_n(&last->release, __ATOMIC_ACQUIRE);
    if (!release || __atomic_load_n(&last->arrive, __ATOMIC_RELAXED) > release) return false;
    /* A run that has begun since is announced in the meta stream before its ops. If there is
     * such an announcement, this may be a barrier inside one of its ops. */
    const tt_area *a = d->map->area;
    return atomic_load(&a->meta_head) == atomic_load(&a->meta_tail);
}

/* How many records of the ring may be taken: all except an incomplete last one. */
static size_t takable(const tt_drain *d, const stream *s, uint64_t tail, enum tt_drain_what what)
{
    uint64_t head = atomic_load_explicit(&s->ring->head, memory_order_acquire);
    uint64_t n = head - tail;
    /* Read after the head: a ring without an owner has no open op. */
    bool owned = atomic_load_explicit(s->owner, memory_order_acquire) != 0;
    if (n > d->map->area->ring_records) return 0; /* a damaged area */
    bool takes_last = !owned || what == TT_DRAIN_LAST ||
                      (what == TT_DRAIN_CALM && n > 0 && is_final(d, s, head - 1));
    if (n > 0 && !takes_last) n--;
    return n > d->records_max ? d->records_max : (size_t)n;
}

/* Copies n slots, from position `tail` on, in order: the ring may wrap. */
static void copy_slots(tt_drain *d, const stream *s, uint64_t tail, size_t n)
{
    const size_t slot = sizeof(tt_op_record);
    uint64_t size = d->map->area->ring_records;
    size_t at = (size_t)(tail & (size - 1));
    size_t first = n < size - at ? n : (size_t)(size - at);
    memcpy(d->records, s->slots + at * slot, first * slot);
    memcpy((uint8_t *)d->records + first * slot, s->slots, (n - first) * slot);
}

/* Copies the last op of a thread, which may still be writing its times. */
static void copy_last_op(tt_drain *d, const stream *s, uint64_t position, size_t i)
{
    const tt_op_record *from = (const tt_op_record *)(const void *)s->slots +
                               (position & (d->map->area->ring_records - 1));
    tt_op_record *to = (tt_op_record *)d->records + i;
    *to = (tt_op_record){.start = from->start,
                         .arrive = __atomic_load_n(&from->arrive, __ATOMIC_RELAXED),
                         .release = __atomic_load_n(&from->release, __ATOMIC_RELAXED),
                         .run = from->run,
                         .place = from->place};
}

/* Copies the last detail of a thread, which may be in the middle of writing it. `place` is read
 * first, because it is written last. */
static void copy_last_detail(tt_drain *d, const stream *s, uint64_t position, size_t i)
{
    const tt_detail *from =
        (const tt_detail *)(const void *)s->slots + (position & (d->map->area->ring_records - 1));
    tt_detail *to = (tt_detail *)d->records + i;
    *to = (tt_detail){.place = __atomic_load_n(&from->place, __ATOMIC_ACQUIRE)};
    if (tt_detail_kind_of(to) == TT_DETAIL_NONE) return;
    *to = *from;
}

static void widen_runs(tt_index_entry *e, uint32_t run)
{
    if (run < e->run_min) e->run_min = run;
    if (run > e->run_max) e->run_max = run;
}

static void find_runs(const tt_drain *d, tt_index_entry *e)
{
    const tt_op_record *ops = d->records;
    const tt_detail *details = d->records;
    e->run_min = UINT64_MAX;
    for (uint32_t i = 0; i < e->count; i++)
        if (e->type == TT_CHUNK_OPS)
            widen_runs(e, ops[i].run);
        else if (tt_detail_kind_of(&details[i]) != TT_DETAIL_NONE)
            widen_runs(e, details[i].run);
    if (e->run_min > e->run_max) e->run_min = e->run_max; /* not of a run */
}

static tt_status put_records(tt_drain *d, const stream *s, uint64_t position, size_t n,
                             tt_error *err)
{
    tt_index_entry entry = {.type = s->of_details ? TT_CHUNK_DETAIL : TT_CHUNK_OPS,
                            .stream = s->number + 1,
                            .position = position,
                            .count = (uint32_t)n};
    find_runs(d, &entry);
    tt_bytes_clear(&d->raw);
    if (s->of_details ? !tt_detail_encode(&d->raw, d->records, n)
                      : !tt_ops_encode(&d->raw, d->records, n, 0))
        return tt_error_memory(err, "the drain");
    return tt_sink_put(d->sink, &entry, (tt_span){d->raw.data, d->raw.size}, err);
}

/* A thread that died at a barrier inside an op has written its arrival there, but `release` is
 * still that of an earlier barrier. The op is left open. */
static void reopen_unfinished(tt_op_record *r)
{
    if (r->arrive > r->release) r->release = 0;
}

/* Copies n records; the last may be the last of its thread. */
static void copy_records(tt_drain *d, const stream *s, uint64_t tail, size_t n)
{
    copy_slots(d, s, tail, n - 1);
    if (s->of_details) {
        copy_last_detail(d, s, tail + n - 1, n - 1);
    } else {
        copy_last_op(d, s, tail + n - 1, n - 1);
        reopen_unfinished((tt_op_record *)d->records + n - 1);
    }
}

static tt_status drain_stream(tt_drain *d, const stream *s, enum tt_drain_what what, tt_error *err)
{
    size_t pile = (size_t)d->map->area->ring_records / 4;
    for (;;) {
        uint64_t tail = atomic_load_explicit(&s->ring->tail, memory_order_relaxed);
        size_t n = takable(d, s, tail, what);
        if (n == 0 || (what == TT_DRAIN_PILED && n < pile)) return TT_OK;
        if (what >= TT_DRAIN_CALM)
            copy_records(d, s, tail, n);
        else
            copy_slots(d, s, tail, n);
        tt_status status = put_records(d, s, tail, n, err);
        if (status != TT_OK) return status;
        atomic_store_explicit(&s->ring->tail, tail + n, memory_order_release);
        if (n < d->records_max) return TT_OK;
    }
}

static tt_status drain_ring(tt_drain *d, uint32_t r, enum tt_drain_what what, tt_error *err)
{
    tt_ring *ring = &d->map->rings[r], *details = tt_area_detail_ring(d->map, r);
    stream s = {ring, (const uint8_t *)tt_area_slots(d->map, r), &ring->owner, r, false};
    tt_status status = drain_stream(d, &s, what, err);
    if (status != TT_OK || !details) return status;
    s.ring = details;
    s.slots = (const uint8_t *)tt_area_detail_slots(d->map, r);
    s.of_details = true;
    return drain_stream(d, &s, what, err);
}

/* Counts the records that are still in the area. */
static void count_kept(const tt_drain *d, uint64_t *ops, uint64_t *details)
{
    *ops = *details = 0;
    for (uint32_t r = 0, n = tt_area_rings_used(d->map); r < n; r++) {
        const tt_ring *companion = tt_area_detail_ring(d->map, r);
        *ops += tt_area_kept(d->map, &d->map->rings[r]);
        if (companion) *details += tt_area_kept(d->map, companion);
    }
}

/* Estimates the size of the area's content in the file: 1.5 times the size of records in real
 * runs. */
static uint64_t expected_bytes(const tt_drain *d)
{
    const tt_area *a = d->map->area;
    uint64_t ops, details;
    count_kept(d, &ops, &details);
    return ops * PACKED_RECORD_BYTES + details * PACKED_DETAIL_BYTES +
           (atomic_load(&a->meta_head) - atomic_load(&a->meta_tail));
}

/* Whether the limit is near enough to stop: early enough for open batches to fit too, so that the
 * trace ends between two batches. */
static bool nears_limit_with(const tt_drain *d, uint64_t more_bytes)
{
    uint64_t limit = d->sink->limit;
    return limit && d->sink->offset + expected_bytes(d) + more_bytes + limit / LIMIT_SPARE >= limit;
}

static bool nears_limit(const tt_drain *d)
{
    return nears_limit_with(d, 0);
}

tt_status tt_drain_step(tt_drain *d, enum tt_drain_what what, tt_error *err)
{
    /* The estimate is deliberately high. Near the limit everything is written, which shows the real
     * remaining space. */
    if (what == TT_DRAIN_PILED && nears_limit(d)) what = TT_DRAIN_ALL;
    tt_status status = drain_meta(d, what, err);
    uint32_t n = tt_area_rings_used(d->map);
    for (uint32_t r = 0; status == TT_OK && !d->full && r < n; r++)
        status = drain_ring(d, r, what, err);
    if (nears_limit(d)) atomic_store(&d->map->area->stopped, 1);
    if (status != TT_E_LIMIT) return status;
    d->full = true;
    return TT_OK;
}

tt_status tt_drain_data(tt_drain *d, const tt_data_block *block, tt_error *err)
{
    tt_index_entry entry = {.type = TT_CHUNK_VALUE,
                            .stream = block->node,
                            .position = tt_value_position(block->run, block->part),
                            .count = 1};
    /* Not if it would leave too little space for the descriptions that are still in the area. */
    bool fits = !d->full && !nears_limit_with(d, block->n);
    tt_status status =
        fits ? tt_sink_put(d->sink, &entry, (tt_span){block->bytes, block->n}, err) : TT_E_LIMIT;
    if (status != TT_OK) atomic_fetch_add(&d->map->area->counts.data_dropped, 1);
    if (status == TT_E_LIMIT) atomic_store(&d->map->area->stopped, 1);
    return status == TT_E_LIMIT ? TT_OK : status;
}

static void put_record(tt_bytes *out, uint8_t type, tt_bytes *payload)
{
    tt_meta_put_record(out, type, payload);
    tt_bytes_clear(payload);
}

static void put_losses_of(const tt_drain *d, bool ended, uint8_t type, uint32_t number,
                          tt_ring *ring, tt_bytes *payload, tt_bytes *out)
{
    uint32_t n = atomic_load(&ring->n_losses);
    uint64_t kept = ended ? tt_area_kept(d->map, ring) : 0;
    if (kept) {
        tt_meta_put_loss(payload, &(tt_meta_loss){number, atomic_load(&ring->tail), kept});
        put_record(out, type, payload);
    }
    for (uint32_t i = 0; i < n && i < TT_AREA_LOSSES; i++) {
        tt_meta_put_loss(
            payload, &(tt_meta_loss){number, ring->losses[i].position, ring->losses[i].dropped});
        put_record(out, type, payload);
    }
}

static void put_losses(const tt_drain *d, bool ended, tt_bytes *payload, tt_bytes *out)
{
    for (uint32_t r = 0, n = tt_area_rings_used(d->map); r < n; r++) {
        tt_ring *details = tt_area_detail_ring(d->map, r);
        put_losses_of(d, ended, TT_META_LOSS, r, &d->map->rings[r], payload, out);
        if (details) put_losses_of(d, ended, TT_META_DETAIL_LOSS, r, details, payload, out);
    }
}

static void put_counts(const tt_drain *d, bool ended, tt_bytes *payload, tt_bytes *out)
{
    uint64_t ops, ops_dropped, details, details_dropped;
    tt_area_totals(d->map, &ops, &ops_dropped);
    tt_area_detail_totals(d->map, &details, &details_dropped);
    if (!ended) {
        uint64_t kept_ops, kept_details;
        count_kept(d, &kept_ops, &kept_details);
        ops_dropped -= kept_ops < ops_dropped ? kept_ops : ops_dropped;
        details_dropped -= kept_details < details_dropped ? kept_details : details_dropped;
    }
    tt_area_counts *c = &d->map->area->counts;
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {{"ops", ops},
                  {"ops_dropped", ops_dropped},
                  {"ops_unresolved", atomic_load(&c->ops_unresolved)},
                  {"meta_dropped", atomic_load(&c->meta_dropped)},
                  {"details", details},
                  {"details_dropped", details_dropped},
                  {"batches", atomic_load(&c->batches)},
                  {"batches_not_asked", atomic_load(&c->batches_not_asked)},
                  {"batches_after_limit", atomic_load(&c->batches_after_limit)},
                  {"runs", atomic_load(&c->runs)},
                  {"runs_left_out", atomic_load(&c->runs_left_out)},
                  {"graphs", atomic_load(&c->graphs)},
                  {"decode_calls", atomic_load(&c->decode_calls)},
                  {"decode_tokens", atomic_load(&c->decode_tokens)},
                  {"decode_unseen", atomic_load(&c->decode_unseen)},
                  {"data_dropped", atomic_load(&c->data_dropped)},
                  {"outputs", atomic_load(&c->outputs)},
                  {"outputs_not_finite", atomic_load(&c->outputs_not_finite)},
                  {"token_texts", atomic_load(&c->token_texts)},
                  {"row_numbers", atomic_load(&c->row_numbers)},
                  {"page_faults", atomic_load(&c->page_faults)},
                  {"page_faults_lost", atomic_load(&c->page_faults_lost)}};
    size_t n = sizeof counts / sizeof *counts;
    tt_bytes_varint(payload, n);
    for (size_t i = 0; i < n; i++) {
        tt_bytes_str(payload, counts[i].name, strlen(counts[i].name));
        tt_bytes_varint(payload, counts[i].value);
    }
    put_record(out, TT_META_COUNTS, payload);
}

bool tt_drain_totals(tt_drain *d, bool ended, tt_bytes *out)
{
    tt_bytes payload;
    tt_bytes_init(&payload, TT_META_RECORD_MAX);
    tt_bytes_clear(out);
    put_losses(d, ended, &payload, out);
    put_counts(d, ended, &payload, out);
    tt_bytes_free(&payload);
    return !out->failed;
}

tt_status tt_drain_finish(tt_drain *d, uint8_t end_flags, const char *path, tt_error *err)
{
    d->sink->hold = true; /* nothing is discarded without a replacement */
    if (!tt_drain_totals(d, true, &d->raw)) return tt_error_memory(err, "the totals");
    tt_status status = put_meta(d, atomic_load(&d->map->area->meta_tail), err);
    /* Best effort: a trace with a hole is valid, so a full disk must not prevent finishing it. */
    if (status == TT_OK) (void)tt_compact(d->sink, path, NULL);
    return status == TT_OK ? tt_sink_finish(d->sink, end_flags, err) : status;
}
