#include "adapter/program/batch.h"

#include "adapter/ggml/buffers.h"
#include "adapter/ggml/capture.h"
#include "adapter/ggml/graphs.h"
#include "adapter/ggml/lifecycle.h"
#include "adapter/ggml/owner.h"
#include "adapter/ggml/process.h"
#include "adapter/program/engine.h"
#include "adapter/program/memory.h"
#include "base/array.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

/* A node as the program holds it: number + 1 (17 bits), slot (6 bits), generation (32 bits). */
#define NODE_BITS 17
#define PLACE_BITS 6
_Static_assert(1u << PLACE_BITS == TT_PROGRAM_BATCHES, "a place fits");
_Static_assert(TT_PROGRAM_NODES_MAX < 1u << NODE_BITS, "a node fits");

static tt_program_batch slots[TT_PROGRAM_BATCHES];

/* --- tensors by key --- */

static struct tt_program_index *slot_of(tt_program_batch *b, uint64_t key)
{
    uint32_t stamp = atomic_load(&b->generation);
    uint32_t i = (uint32_t)(key ^ key >> 32) & (b->index_capacity - 1);
    while (b->index[i].stamp == stamp && b->index[i].key != key)
        i = (i + 1) & (b->index_capacity - 1);
    return &b->index[i];
}

static bool grow_index(tt_program_batch *b)
{
    struct tt_program_index *old = b->index;
    uint32_t n = b->index_capacity, stamp = atomic_load(&b->generation);
    uint32_t larger = n ? n * 2 : 1024;
    struct tt_program_index *fresh = calloc(larger, sizeof *fresh);
    if (!fresh) return false;
    b->index = fresh;
    b->index_capacity = larger;
    for (uint32_t i = 0; i < n; i++)
        if (old[i].stamp == stamp) *slot_of(b, old[i].key) = old[i];
    free(old);
    return true;
}

/* Enters what was added since by tt_program_again. False if out of memory: then it is not found. */
static bool catch_up(tt_program_batch *b)
{
    for (; b->n_indexed < b->n_tensors; b->n_indexed++) {
        const struct tt_program_key *k = &b->keys[b->n_indexed];
        if (b->n_indexed >= b->index_capacity / 2 && !grow_index(b)) return false;
        *slot_of(b, k->key) = (struct tt_program_index){k->key, b->tensors[b->n_indexed], k->node,
                                                        atomic_load(&b->generation)};
    }
    return true;
}

struct ggml_tensor *tt_program_batch_find(tt_program_batch *b, uint64_t key, uint32_t *node)
{
    (void)catch_up(b);
    struct tt_program_index *slot = b->index_capacity ? slot_of(b, key) : NULL;
    bool is_there = slot && slot->stamp == atomic_load(&b->generation);
    if (node) *node = is_there ? slot->node : 0;
    return is_there ? slot->tensor : NULL;
}

/* --- tensors --- */

static void put_run(tt_recorder *r, tt_program_batch *b, uint32_t graph)
{
    tt_bytes payload;
    b->meta.graph = graph;
    tt_bytes_init(&payload, 128);
    tt_meta_put_run(&payload, &b->meta);
    (void)tt_process_put(r, TT_META_RUN, &payload);
}

/* The batch's graph is not the expected one. */
static void differs(tt_recorder *r, tt_program_batch *b)
{
    if (!b->same) return;
    b->same = false;
    if (b->meta.graph && b->described) put_run(r, b, 0);
    b->meta.graph = 0;
}

/* The slot's next tensor, set to *t; usually it is that already. */
static struct ggml_tensor *next_tensor(tt_recorder *r, tt_program_batch *b,
                                       const struct ggml_tensor *t, uint64_t key, uint32_t node)
{
    if (b->n_tensors >= TT_PROGRAM_TENSORS_MAX ||
        !tt_array_room_zeroed(b->tensors, b->tensors_capacity, b->n_tensors + 1) ||
        !tt_array_room_zeroed(b->keys, b->keys_capacity, b->n_tensors + 1))
        return NULL;
    struct ggml_tensor *to = b->tensors[b->n_tensors];
    if (!to) to = b->tensors[b->n_tensors] = calloc(1, sizeof *to);
    if (!to) return NULL;
    struct ggml_tensor next = *t;
    /* Stage and layer set by a value also hold for the same node of later batches. */
    if (!t->op_params[0] && b->engine->stage && strcmp(to->name, t->name) == 0)
        memcpy(next.op_params, to->op_params, sizeof next.op_params);
    if (memcmp(to, &next, sizeof next) != 0) {
        differs(r, b);
        memcpy(to, &next, sizeof next);
    }
    b->keys[b->n_tensors++] = (struct tt_program_key){key, node};
    if (catch_up(b)) return to;
    b->n_tensors--;
    return NULL;
}

struct ggml_tensor *tt_program_batch_add_leaf(tt_recorder *r, tt_program_batch *b,
                                              const struct ggml_tensor *t, uint64_t key)
{
    return next_tensor(r, b, t, key, 0);
}

uint32_t tt_program_batch_add(tt_recorder *r, tt_program_batch *b, const struct ggml_tensor *t,
                              uint64_t key)
{
    uint32_t n = b->n_nodes, had = b->nodes_capacity;
    if (n >= TT_PROGRAM_NODES_MAX || !tt_array_one_more(b->taken, n, had) ||
        !tt_array_one_more(b->nodes, n, b->nodes_capacity))
        return 0;
    struct ggml_tensor *to = next_tensor(r, b, t, key, n + 1);
    if (!to) return 0;
    if (b->same && (n >= b->n_before || b->nodes[n] != to)) differs(r, b);
    b->nodes[n] = to;
    b->taken[n] = 0;
    if (n < b->reported_capacity) b->reported[n].op = NULL;
    return ++b->n_nodes;
}

/* --- batches --- */

static tt_program_batch *unused_slot(uint32_t context)
{
    tt_program_batch *any = NULL;
    for (uint32_t i = 0; i < TT_PROGRAM_BATCHES; i++) {
        tt_program_batch *b = &slots[i];
        if (atomic_load(&b->generation) & 1u) continue;
        /* A context is likely to compute the same again. */
        if (b->n_nodes && b->context == context) return b;
        if (!any || (any->n_nodes && !b->n_nodes)) any = b;
    }
    return any;
}

static bool leave_out(tt_area *a, uint32_t id)
{
    bool stopped = atomic_load_explicit(&a->stopped, memory_order_relaxed);
    if (!stopped && tt_capture_wants(id - 1u, id - 1u)) return false;
    atomic_fetch_add(stopped ? &a->counts.batches_after_limit : &a->counts.batches_not_asked, 1);
    return true;
}

tt_program_batch *tt_program_batch_begin(tt_recorder *r, const tt_engine *e, uint32_t context,
                                         uint32_t threads)
{
    tt_area *a = tt_recorder_area(r)->area;
    uint32_t id = (uint32_t)atomic_fetch_add(&a->counts.batches, 1) + 1;
    if (leave_out(a, id)) return NULL;
    tt_program_batch *b = unused_slot(context);
    if (!b) {
        atomic_fetch_add(&a->counts.runs_left_out, 1);
        return NULL;
    }
    uint64_t now = tt_ticks();
    uint32_t before = b->meta.graph;
    b->n_before = b->n_nodes;
    b->same = b->engine == e && before && tt_graphs_knows(before) &&
              b->buffers == tt_buffers_generation();
    b->buffers_begin = tt_buffers_generation();
    b->engine = e;
    b->n_nodes = b->n_tensors = b->n_indexed = 0;
    b->id = id;
    b->described = b->is_loose = false;
    b->context = context;
    atomic_store(&b->own_ticks, 0);
    atomic_store(&b->last_ticks, now);
    b->meta = (tt_meta_run){.id = (uint32_t)atomic_fetch_add(&a->counts.runs, 1) + 1,
                            .batch = id,
                            .graph = b->same ? before : 0,
                            .observed = TT_OBSERVED_PROGRAM,
                            .threads = threads,
                            .ticks = now,
                            .thread = tt_owner_thread()};
    atomic_store(&b->run, b->meta.id);
    const uint64_t stamp = atomic_fetch_add(&b->generation, 1) + 1u;
    b->node_0 = (uint32_t)stamp * (UINT64_C(1) << (NODE_BITS + PLACE_BITS)) | (uint64_t)(b - slots)
                                                                                  << NODE_BITS;
    return b;
}

void tt_program_batch_describe(tt_recorder *r, tt_program_batch *b, tt_meta_batch *m,
                               const int32_t *tokens, const int32_t *positions)
{
    const tt_batch_sequences none = {NULL, NULL};
    tt_bytes payload;
    m->id = b->id;
    m->context = b->context;
    m->ticks = b->meta.ticks;
    m->thread = b->meta.thread;
    if (tokens) m->flags |= TT_BATCH_TOKENS;
    if (positions) m->flags |= TT_BATCH_POSITIONS;
    tt_bytes_init(&payload, TT_META_RECORD_MAX);
    tt_meta_put_batch(&payload, m, tokens, positions, &none);
    (void)tt_process_put(r, TT_META_BATCH, &payload);
    tt_lifecycle_at_first_run();
    b->described = true;
    put_run(r, b, b->meta.graph);
}

static uint32_t identify(tt_recorder *r, tt_program_batch *b)
{
    if (b->same && __atomic_load_n(&b->n_nodes, __ATOMIC_RELAXED) == b->n_before && b->meta.graph &&
        b->buffers == tt_buffers_generation())
        return b->meta.graph;
    /* A buffer of the program that was removed during the batch can no longer be examined. */
    bool some_went = b->engine->stage && b->buffers_begin != tt_buffers_generation();
    for (uint32_t i = 0; some_went && i < b->n_tensors; i++)
        if (!tt_program_buffer_is_there(b->tensors[i]->buffer)) {
            b->tensors[i]->buffer = NULL;
            b->tensors[i]->data = NULL;
        }
    uint32_t graph = tt_graphs_identify(r, b->engine, b->nodes, (int)b->n_nodes, NULL, 0);
    b->buffers = tt_buffers_generation();
    if (graph != b->meta.graph) put_run(r, b, graph);
    return graph;
}

void tt_program_batch_end(tt_recorder *r, tt_program_batch *b, uint64_t ticks, int status)
{
    const uint64_t own = atomic_load(&b->own_ticks), other = atomic_load(&b->last_ticks);
    tt_meta_end end = {b->meta.id, ticks ? ticks : own > other ? own : other, status};
    tt_meta_batch nothing = {.phase = TT_PHASE_UNKNOWN};
    tt_bytes payload;
    if (!b->described) tt_program_batch_describe(r, b, &nothing, NULL, NULL);
    (void)identify(r, b);
    tt_bytes_init(&payload, 64);
    tt_meta_put_end(&payload, &end);
    (void)tt_process_put(r, TT_META_RUN_END, &payload);
    end.id = b->id;
    tt_bytes_init(&payload, 64);
    tt_meta_put_end(&payload, &end);
    (void)tt_process_put(r, TT_META_BATCH_END, &payload);
    atomic_fetch_add(&b->generation, 1);
}

void tt_program_batches_end(tt_recorder *r)
{
    for (uint32_t i = 0; i < TT_PROGRAM_BATCHES; i++)
        if (atomic_load(&slots[i].generation) & 1u) tt_program_batch_end(r, &slots[i], 0, 0);
}

void tt_program_batches_reset(void)
{
    for (uint32_t i = 0; i < TT_PROGRAM_BATCHES; i++) {
        if (atomic_load(&slots[i].generation) & 1u) atomic_fetch_add(&slots[i].generation, 1);
        slots[i].meta.graph = 0;
    }
}

void tt_program_batch_stage(tt_recorder *r, tt_program_batch *b, struct ggml_tensor *t,
                            uint32_t stage, int32_t layer)
{
    struct ggml_tensor was = *t;
    tt_program_set_stage(t, stage, layer);
    if (memcmp(was.op_params, t->op_params, sizeof was.op_params) == 0) return;
    differs(r, b);
    for (uint32_t i = 0; i < b->reported_capacity; i++)
        b->reported[i].op = NULL;
}

/* --- nodes as numbers for the program --- */

tt_program_batch *tt_program_batch_of(uint64_t node, uint32_t *run, uint32_t *number)
{
    uint64_t generation = node >> (NODE_BITS + PLACE_BITS);
    uint32_t plus_1 = (uint32_t)node & ((1u << NODE_BITS) - 1);
    tt_program_batch *b = &slots[node >> NODE_BITS & (TT_PROGRAM_BATCHES - 1)];
    if (!plus_1 || !(generation & 1u)) return NULL;
    if (atomic_load(&b->generation) != generation) return NULL;
    *run = atomic_load(&b->run);
    *number = plus_1 - 1;
    return atomic_load(&b->generation) == generation ? b : NULL;
}
