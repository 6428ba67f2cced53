/* Graph computations as slices: one for each op on each lane, one for the wait after it. */
#include "base/array.h"
#include "base/order.h"
#include "export/perfetto/flows.h"
#include "export/perfetto/maker.h"
#include "model/faults.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(tt_flows *f, uint32_t n_tensors, uint32_t n_edges)
{
    if (!tt_array_room(f->writers, f->n_writers, n_tensors)) return false;
    uint32_t had = f->capacity;
    return tt_array_room(f->edges, had, n_edges) && tt_array_room(f->by_from, f->capacity, n_edges);
}

static bool is_known(const tt_flows *f, uint32_t from, uint32_t to)
{
    for (uint32_t i = f->n; i > 0 && f->edges[i - 1].to == to; i--)
        if (f->edges[i - 1].from == from) return true;
    return false;
}

static bool add_op(tt_flows *f, const tt_op *op)
{
    const tt_graph *g = op->graph;
    if (!make_room(f, 0, f->n + op->n_sources)) return false;
    for (uint32_t i = 0; i < op->n_sources; i++) {
        uint32_t from = f->writers[g->tensors[op->sources[i].tensor].root];
        if (from != TT_NONE && from != op->node && !is_known(f, from, op->node))
            f->edges[f->n++] = (tt_flow_edge){from, op->node};
    }
    for (uint32_t i = 0; i < op->n_nodes; i++)
        f->writers[g->tensors[op->nodes[i]].root] = op->node;
    return true;
}

static int by_source(const void *a, const void *b, void *edges)
{
    const tt_flow_edge *list = edges;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (list[x].from != list[y].from) return list[x].from < list[y].from ? -1 : 1;
    return x < y ? -1 : x > y;
}

bool tt_flows_find(tt_flows *f, const tt_model *m, uint32_t graph, tt_op_table *ops,
                   const uint32_t *nodes, const uint8_t *covers, uint32_t n)
{
    const tt_graph *g = &m->graphs[graph];
    f->n = 0;
    if (!make_room(f, g->n_tensors, 1)) return false;
    memset(f->writers, 0xff, g->n_tensors * sizeof *f->writers);
    for (uint32_t i = 0; i < n; i++) {
        const tt_op *op = tt_op_table_get(ops, graph, nodes[i], covers[i]);
        if (!op || !add_op(f, op)) return false;
    }
    for (uint32_t i = 0; i < f->n; i++)
        f->by_from[i] = i;
    qsort_r(f->by_from, f->n, sizeof *f->by_from, by_source, f->edges);
    return true;
}

uint32_t tt_flows_to(const tt_flows *f, uint32_t node)
{
    uint32_t low;
    tt_lower_bound(low, f->n, f->edges[low].to < node);
    return low;
}

uint32_t tt_flows_from(const tt_flows *f, uint32_t node)
{
    uint32_t low;
    tt_lower_bound(low, f->n, f->edges[f->by_from[low]].from < node);
    return low;
}

void tt_flows_free(tt_flows *f)
{
    free(f->edges);
    free(f->by_from);
    free(f->writers);
    memset(f, 0, sizeof *f);
}

#define EVENT_ROOM 64u /* of an event, besides its parts */
#define SMALL_LIMIT ((size_t)64 << 20)

/* --- events, assembled as fast as possible --- */

static size_t varint_size(uint64_t v)
{
    return 1 + (63 - (size_t)__builtin_clzll(v | 1)) / 7;
}

/* Like tt_perfetto_event_begin, with lengths known beforehand. */
static void put_event(tt_bytes *out, uint64_t time_ns, const tt_bytes *head, tt_span body,
                      const tt_bytes *tail, const tt_bytes *extra)
{
    const size_t event = head->size + body.size + tail->size + extra->size;
    const size_t packet = 4 + 1 + varint_size(time_ns) + 1 + varint_size(event) + event;
    if (!tt_bytes_reserve(out, packet + EVENT_ROOM)) return;
    uint8_t *at = out->data + out->size;
    *at++ = PB_TRACE_PACKET << 3 | TT_PROTO_LENGTH;
    at += tt_varint_put(at, packet);
    *at++ = PB_SEQUENCE_ID << 3 | TT_PROTO_VARINT;
    *at++ = 1;
    *at++ = PB_SEQUENCE_FLAGS << 3 | TT_PROTO_VARINT;
    *at++ = PB_NEEDS_STATE;
    *at++ = PB_TIMESTAMP << 3 | TT_PROTO_VARINT;
    at += tt_varint_put(at, time_ns);
    *at++ = PB_TRACK_EVENT << 3 | TT_PROTO_LENGTH;
    at += tt_varint_put(at, event);
    memcpy(at, head->data, head->size);
    at += head->size;
    if (body.size) memcpy(at, body.data, body.size);
    at += body.size;
    if (tail->size) memcpy(at, tail->data, tail->size);
    at += tail->size;
    if (extra->size) memcpy(at, extra->data, extra->size);
    out->size = (size_t)(at + extra->size - out->data);
}

static const tt_bytes nothing;

static void put_end(tt_perfetto_maker *k, uint64_t ticks, tt_bytes *out)
{
    put_event(out, tt_model_mono_ns(k->m, ticks), &k->lane.end, (tt_span){0}, &nothing, &nothing);
}

/* --- bodies --- */

static tt_perfetto_bodies *make_bodies(tt_perfetto_maker *k, const tt_op *op, const tt_access *list,
                                       size_t n)
{
    tt_bytes *b = &k->scratch;
    tt_bytes_clear(b);
    tt_perfetto_op_body(k->p, op, list, n, b);
    size_t n_op = b->size;
    tt_perfetto_wait_body(k->p, op, b);
    if (b->failed) return NULL;
    tt_perfetto_bodies *made = malloc(sizeof *made + b->size);
    if (!made) return NULL;
    made->n_op = (uint32_t)n_op;
    made->n_wait = (uint32_t)(b->size - n_op);
    memcpy(made->data, b->data, b->size);
    return made;
}

/* For an op that selects what it reads: for this run, made on its first lane. */
static const tt_perfetto_bodies *picked_bodies(tt_perfetto_maker *k, const tt_op *op, tt_error *err)
{
    const tt_access *list;
    size_t n;
    if (k->picked[op->node]) return k->picked[op->node];
    if (tt_accesses_of(k->accesses, op, &list, &n, err) != TT_OK) return NULL;
    tt_op *measured = malloc(sizeof *measured);
    if (measured) {
        *measured = *op;
        tt_access_apply(measured, list, n);
        k->picked[op->node] = make_bodies(k, measured, list, n);
    }
    free(measured);
    if (!k->picked[op->node]) {
        (void)tt_error_memory(err, "writing the trace");
        return NULL;
    }
    k->picked_nodes[k->n_picked++] = op->node;
    return k->picked[op->node];
}

static const tt_perfetto_bodies *bodies_of(tt_perfetto_maker *k, uint32_t graph, uint32_t node,
                                           uint8_t covers, tt_error *err)
{
    const tt_op *op = tt_op_table_get(k->ops, graph, node, covers);
    if (!op) {
        (void)tt_error_memory(err, "writing the trace");
        return NULL;
    }
    void **note = tt_op_table_note(k->ops, graph, node);
    if (!op->picks && note && *note) return *note;
    if (op->picks || !note) return picked_bodies(k, op, err);
    *note = make_bodies(k, op, NULL, 0);
    if (!*note) (void)tt_error_memory(err, "writing the trace");
    return *note;
}

static bool begin_picks(tt_perfetto_maker *k, uint32_t n_nodes)
{
    for (uint32_t i = 0; i < k->n_picked; i++) {
        free(k->picked[k->picked_nodes[i]]);
        k->picked[k->picked_nodes[i]] = NULL;
    }
    k->n_picked = 0;
    uint32_t had = k->picked_capacity;
    return tt_array_room_zeroed(k->picked, had, n_nodes) &&
           tt_array_room(k->picked_nodes, k->picked_capacity, n_nodes);
}

/* --- flows --- */

static uint64_t flow_id(const tt_perfetto_span *span, uint32_t edge)
{
    return ((uint64_t)span->item + 1) << 32 | edge;
}

static void put_flows(tt_perfetto_maker *k, const tt_perfetto_span *span, uint32_t node)
{
    const tt_flows *f = &k->flows;
    for (uint32_t i = tt_flows_from(f, node); i < f->n && f->edges[f->by_from[i]].from == node; i++)
        tt_proto_fixed64(&k->extra, PB_FLOW_IDS, flow_id(span, f->by_from[i]));
    for (uint32_t i = tt_flows_to(f, node); i < f->n && f->edges[i].to == node; i++)
        tt_proto_fixed64(&k->extra, PB_TERMINATING_FLOW_IDS, flow_id(span, i));
}

/* All lanes compute a value: the arrows connect the slices of the first one. */
static tt_status find_flows(tt_perfetto_maker *k, const tt_run *run, const tt_piece *pieces,
                            size_t n, tt_error *err)
{
    size_t n_nodes = 0, need = 0, had = k->flow_capacity;
    const uint32_t limit = k->m->graphs[run->graph].n_nodes;
    k->flow_lane = pieces[0].lane;
    k->has_flows = true;
    for (size_t i = 0; i < n && pieces[i].lane == k->flow_lane; i++)
        need += pieces[i].count;
    if (!tt_array_room(k->flow_nodes, had, need) ||
        !tt_array_room(k->flow_covers, k->flow_capacity, need))
        return tt_error_memory(err, "writing the trace");
    for (size_t i = 0; i < n && pieces[i].lane == k->flow_lane; i++) {
        tt_piece_ops ops;
        tt_status status = tt_pieces_get(k->m->pieces, &pieces[i], &ops, err);
        if (status != TT_OK) return status;
        for (size_t r = 0; r < ops.n && n_nodes < k->flow_capacity; r++) {
            if (ops.node[r] >= limit) continue;
            k->flow_nodes[n_nodes] = ops.node[r];
            k->flow_covers[n_nodes++] = ops.covers[r];
        }
    }
    if (!tt_flows_find(&k->flows, k->m, run->graph, k->ops, k->flow_nodes, k->flow_covers,
                       (uint32_t)n_nodes))
        return tt_error_memory(err, "writing the trace");
    return TT_OK;
}

/* --- lanes --- */

static void write_track(tt_perfetto_maker *k, uint32_t row, uint32_t lane, tt_bytes *out)
{
    const uint64_t bit = row * TT_PERFETTO_LANES + lane;
    char name[32], full[96];
    if (k->tracks_said[bit / 8] & 1u << bit % 8) return;
    k->tracks_said[bit / 8] = (uint8_t)(k->tracks_said[bit / 8] | 1u << bit % 8);
    (void)snprintf(name, sizeof name, "thread %" PRIu32, lane);
    tt_perfetto_track_put(
        out, &(tt_perfetto_track){.uuid = TT_PERFETTO_THREADS + bit,
                                  .parent = TT_PERFETTO_RUN,
                                  .name = tt_perfetto_row_name(full, &k->p->runs, row, name),
                                  .rank = (int32_t)(1000 + bit)});
}

static void begin_lane(tt_perfetto_maker *k, const tt_perfetto_span *span, uint32_t lane,
                       tt_bytes *out)
{
    const tt_run *run = &k->m->runs[span->item];
    tt_perfetto_lane *l = &k->lane;
    const uint64_t track = TT_PERFETTO_THREADS + span->row * TT_PERFETTO_LANES + lane;
    write_track(k, span->row, lane, out);
    l->lane = lane;
    l->cursor = span->begin;
    l->open = false;
    l->n_slices = 0;
    tt_bytes_clear(&l->head);
    tt_proto_uint(&l->head, PB_TYPE, PB_SLICE_BEGIN);
    tt_proto_uint(&l->head, PB_TRACK_UUID, track);
    tt_bytes_clear(&l->end);
    tt_proto_uint(&l->end, PB_TYPE, PB_SLICE_END);
    tt_proto_uint(&l->end, PB_TRACK_UUID, track);
    tt_bytes_clear(&l->tail);
    unsigned phase = TT_PHASE_UNKNOWN;
    if (run->batch != TT_NONE) {
        tt_perfetto_put_uint(&l->tail, PB_DEBUG_ANNOTATIONS, ARG_BATCH_ID,
                             tt_model_batch_number(k->m, run->batch));
        phase = k->m->batches[run->batch].phase;
    }
    tt_perfetto_put_text(&l->tail, PB_DEBUG_ANNOTATIONS, ARG_PHASE, &k->p->names,
                         tt_phase_name(phase));
    tt_perfetto_put_uint(&l->tail, PB_DEBUG_ANNOTATIONS, ARG_GRAPH_RUN, run->id);
    tt_perfetto_put_uint(&l->tail, PB_DEBUG_ANNOTATIONS, ARG_THREAD_ID, lane);
}

/* An op without an observed end lasts until the next known time of its lane. */
static void close_open(tt_perfetto_maker *k, uint64_t ticks, tt_bytes *out)
{
    if (k->lane.open && ticks != UINT64_MAX) put_end(k, ticks, out);
    k->lane.open = false;
}

static void put_extra(tt_perfetto_maker *k, const tt_perfetto_span *span, uint32_t node, bool open)
{
    const tt_detail_faults *f = k->n_faults ? tt_perfetto_faults_of(k, node, k->lane.lane) : NULL;
    tt_bytes_clear(&k->extra);
    if (open) tt_perfetto_put_true(&k->extra, PB_DEBUG_ANNOTATIONS, ARG_UNFINISHED);
    if (f) {
        tt_perfetto_put_uint(&k->extra, PB_DEBUG_ANNOTATIONS, ARG_MINOR_FAULTS, f->minor);
        tt_perfetto_put_uint(&k->extra, PB_DEBUG_ANNOTATIONS, ARG_MAJOR_FAULTS, f->major);
        if (f->cpu_ns != TT_FAULTS_NO_CPU)
            tt_perfetto_put_uint(&k->extra, PB_DEBUG_ANNOTATIONS, ARG_CPU_NS, f->cpu_ns);
        if (f->read_bytes != UINT64_MAX)
            tt_perfetto_put_uint(&k->extra, PB_DEBUG_ANNOTATIONS, ARG_DEVICE_READ_BYTES,
                                 f->read_bytes);
    }
    if (k->has_flows && k->lane.lane == k->flow_lane) put_flows(k, span, node);
}

static uint64_t within(uint64_t v, uint64_t low, uint64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* By more than the times' rounding. */
static bool is_moved(const tt_piece_ops *ops, uint64_t to, uint64_t from)
{
    return (to > from ? to - from : from - to) >> ops->tick_shift > 1;
}

/* Writes one record. A damaged trace's times are adjusted so that slices nest, and counted. */
static tt_status put_record(tt_perfetto_maker *k, const tt_perfetto_span *span,
                            const tt_piece_ops *ops, size_t i, tt_bytes *out, uint64_t *moved,
                            tt_error *err)
{
    const tt_perfetto_bodies *b =
        bodies_of(k, k->m->runs[span->item].graph, ops->node[i], ops->covers[i], err);
    if (!b) return err->status;
    uint64_t start = within(ops->start[i], k->lane.cursor, span->end);
    uint64_t arrive = within(ops->arrive[i], start, span->end);
    uint64_t release = within(ops->release[i], arrive, span->end);
    *moved += is_moved(ops, start, ops->start[i]) ||
              (!ops->open &&
               (is_moved(ops, arrive, ops->arrive[i]) || is_moved(ops, release, ops->release[i])));
    close_open(k, start, out);
    put_extra(k, span, ops->node[i], ops->open);
    uint64_t start_ns = tt_model_mono_ns(k->m, start), arrive_ns = tt_model_mono_ns(k->m, arrive);
    uint64_t release_ns = tt_model_mono_ns(k->m, release);
    put_event(out, start_ns, &k->lane.head, (tt_span){b->data, b->n_op}, &k->lane.tail, &k->extra);
    k->lane.cursor = start;
    k->lane.open = ops->open;
    k->lane.n_slices++;
    if (ops->open) return TT_OK;
    put_event(out, arrive_ns, &k->lane.end, (tt_span){0}, &nothing, &nothing);
    if (release_ns > arrive_ns) {
        put_event(out, arrive_ns, &k->lane.head, (tt_span){b->data + b->n_op, b->n_wait},
                  &k->lane.tail, &nothing);
        put_event(out, release_ns, &k->lane.end, (tt_span){0}, &nothing, &nothing);
        k->lane.n_slices++;
    }
    k->lane.cursor = release;
    return TT_OK;
}

static tt_status put_lanes(tt_perfetto_maker *k, const tt_perfetto_span *span, tt_bytes *out,
                           tt_error *err)
{
    const tt_run *run = &k->m->runs[span->item];
    const tt_piece *pieces;
    size_t n;
    uint64_t moved = 0, orphan = 0;
    tt_status status = tt_pieces_of_run(k->m->pieces, run->id, &pieces, &n, err);
    k->has_flows = false;
    if (status == TT_OK && k->p->options->flows && n > 0)
        status = find_flows(k, run, pieces, n, err);
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tt_piece_ops ops;
        status = tt_pieces_get(k->m->pieces, &pieces[i], &ops, err);
        if (status != TT_OK) break;
        if (i == 0 || pieces[i].lane != pieces[i - 1].lane)
            begin_lane(k, span, pieces[i].lane, out);
        for (size_t r = 0; r < ops.n && status == TT_OK; r++) {
            if (ops.node[r] < k->m->graphs[run->graph].n_nodes)
                status = put_record(k, span, &ops, r, out, &moved, err);
            else
                orphan++;
        }
        if (i + 1 < n && pieces[i].lane == pieces[i + 1].lane) continue;
        close_open(k, span->end, out);
        atomic_fetch_add(&k->p->n_slices, k->lane.n_slices);
    }
    atomic_fetch_add(&k->p->moved, moved);
    atomic_fetch_add(&k->p->orphan, orphan);
    return status;
}

/* --- the computation itself --- */

static const char *observed_name(uint8_t observed)
{
    return observed == TT_OBSERVED_HOOK       ? "hook"
           : observed == TT_OBSERVED_CALLBACK ? "callback"
           : observed == TT_OBSERVED_BOUNDS   ? "bounds"
                                              : "unknown";
}

static void put_graph(tt_perfetto_maker *k, const tt_perfetto_span *span, tt_bytes *out)
{
    const tt_run *run = &k->m->runs[span->item];
    const uint64_t track = TT_PERFETTO_GRAPHS + span->row;
    char name[32] = "graph not recorded";
    tt_perfetto_event e =
        tt_perfetto_event_begin(out, tt_model_mono_ns(k->m, span->begin), PB_SLICE_BEGIN, track);
    tt_proto_uint(out, PB_CATEGORY_IIDS, TT_PERFETTO_GRAPH);
    if (run->graph != TT_NONE)
        (void)snprintf(name, sizeof name, "graph %" PRIu32, k->m->graphs[run->graph].id);
    tt_proto_text(out, PB_NAME, name);
    tt_perfetto_put_uint(out, PB_DEBUG_ANNOTATIONS, ARG_GRAPH_RUN, run->id);
    if (run->batch != TT_NONE)
        tt_perfetto_put_uint(out, PB_DEBUG_ANNOTATIONS, ARG_BATCH_ID,
                             tt_model_batch_number(k->m, run->batch));
    if (run->graph != TT_NONE) {
        tt_perfetto_put_uint(out, PB_DEBUG_ANNOTATIONS, ARG_GRAPH_ID, k->m->graphs[run->graph].id);
        tt_perfetto_put_uint(out, PB_DEBUG_ANNOTATIONS, ARG_NODES,
                             k->m->graphs[run->graph].n_nodes);
    }
    if (run->threads) tt_perfetto_put_uint(out, PB_DEBUG_ANNOTATIONS, ARG_THREADS, run->threads);
    tt_perfetto_put_text(out, PB_DEBUG_ANNOTATIONS, ARG_OBSERVED, NULL,
                         observed_name(run->observed));
    tt_perfetto_put_uint(out, PB_DEBUG_ANNOTATIONS, ARG_OS_THREAD_ID, run->thread);
    if (run->ended)
        tt_perfetto_put_int(out, PB_DEBUG_ANNOTATIONS, ARG_STATUS, run->status);
    else
        tt_perfetto_put_true(out, PB_DEBUG_ANNOTATIONS, ARG_UNFINISHED);
    tt_perfetto_event_end(out, e);
    if (span->end == UINT64_MAX) return;
    e = tt_perfetto_event_begin(out, tt_model_mono_ns(k->m, span->end), PB_SLICE_END, track);
    tt_perfetto_event_end(out, e);
}

static tt_status put_run(tt_perfetto_maker *k, const tt_perfetto_span *span, tt_bytes *out,
                         tt_error *err)
{
    const tt_run *run = &k->m->runs[span->item];
    if (span->row == TT_NONE) return TT_OK;
    put_graph(k, span, out);
    if (run->graph == TT_NONE) return TT_OK;
    if (!begin_picks(k, k->m->graphs[run->graph].n_nodes))
        return tt_error_memory(err, "writing the trace");
    tt_status status = tt_accesses_run(k->accesses, span->item, err);
    if (status == TT_OK) status = tt_perfetto_faults_load(k, span->item, err);
    if (status == TT_OK) status = put_lanes(k, span, out, err);
    if (status == TT_OK) status = tt_perfetto_faults_rates(k, span, out, err);
    return status;
}

tt_status tt_perfetto_make(void *perfetto, void *maker, const tt_model *m, uint32_t part,
                           tt_bytes *out, tt_error *err)
{
    const tt_perfetto *p = perfetto;
    tt_perfetto_maker *k = maker;
    tt_status status = TT_OK;
    if (!k->accesses) {
        k->m = m;
        k->accesses = tt_accesses_new(m);
        k->ops = tt_op_table_new(m);
        if (!k->accesses || !k->ops) return tt_error_memory(err, "writing the trace");
    }
    memset(k->tracks_said, 0, sizeof k->tracks_said);
    for (uint32_t i = p->parts.parts[part]; i < p->parts.parts[part + 1] && status == TT_OK; i++)
        status = put_run(k, &p->runs.spans[i], out, err);
    if (status == TT_OK && (k->lane.head.failed || k->extra.failed))
        status = tt_error_memory(err, "writing the trace");
    if (status == TT_OK && p->options->compress != TT_COMPRESS_NONE)
        status = tt_perfetto_pack(out, &k->packed, err);
    return status;
}

void *tt_perfetto_maker_open(void *perfetto)
{
    tt_perfetto_maker *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    k->p = perfetto;
    tt_bytes_init(&k->scratch, SMALL_LIMIT);
    tt_bytes_init(&k->extra, SMALL_LIMIT);
    tt_bytes_init(&k->packed, SIZE_MAX / 2);
    tt_bytes_init(&k->lane.head, 256);
    tt_bytes_init(&k->lane.tail, 256);
    tt_bytes_init(&k->lane.end, 256);
    return k;
}

void tt_perfetto_maker_close(void *maker)
{
    tt_perfetto_maker *k = maker;
    (void)begin_picks(k, 0);
    tt_op_table_free(k->ops);
    tt_accesses_free(k->accesses);
    tt_join_free(&k->join);
    tt_flows_free(&k->flows);
    free(k->flow_nodes);
    free(k->flow_covers);
    free(k->faults);
    free(k->picked);
    free(k->picked_nodes);
    tt_bytes_free(&k->scratch);
    tt_bytes_free(&k->extra);
    tt_bytes_free(&k->packed);
    tt_bytes_free(&k->lane.head);
    tt_bytes_free(&k->lane.tail);
    tt_bytes_free(&k->lane.end);
    free(k);
}
