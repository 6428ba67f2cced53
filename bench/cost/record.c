/* tensortrace's own path: the inline code of the hooks (lane.h), writing into a ring of a real
 * area, which the real drain empties into a real trace, $TENSORTRACE_OUT. Linked with the hook
 * library's sources. Without that variable nothing is recorded: then this measures what hooks
 * cost a program that is not traced ("disabled"). With COST_HOOKS the same path is reached as an
 * engine reaches it: by calls of its own functions, which the hooks stand before and pass on; with
 * COST_ALONE, too, the engine's pool has one thread, which waits for nobody. */
#ifdef COST_DISABLED
#define COST_NAME "disabled"
#elif defined(COST_ALONE)
#define COST_NAME "tensortrace: a pool of one thread"
#elif defined(COST_HOOKS)
#define COST_NAME "tensortrace: calls and all"
#else
#define COST_NAME "tensortrace"
#endif
#ifdef COST_HOOKS
#define COST_HALVES 0
#else
#define COST_HALVES 1
#endif
#include "harness.h"

#include "adapter/ggml/lane.h"
#include "adapter/ggml/process.h"
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>

static struct ggml_tensor tensors[COST_ROUND];

#ifdef COST_DISABLED
static void cost_open(void)
{
    if (tt_process_recorder()) exit(2);
}
#else
static void cost_open(void)
{
    static struct ggml_tensor *nodes[COST_ROUND];
    /* No op of this engine has values to be copied. */
    static const tt_engine engine = {
        .op_mul_mat_id = -1, .op_get_rows = -1, .op_mul = -1, .op_sum_rows = -1};
    if (!tt_process_recorder()) {
        (void)fprintf(stderr, "no recorder: TENSORTRACE_OUT is not set, or cannot be written\n");
        exit(2);
    }
    for (uint32_t i = 0; i < COST_ROUND; i++)
        nodes[i] = &tensors[i];
    tt_lanes_prepare();
    /* A trace of no run is not kept. */
    atomic_fetch_add(&tt_recorder_area(tt_process_recorder())->area->counts.runs, 1);
    if (!tt_lanes_run_begin(1, nodes, COST_ROUND, 0, __builtin_frame_address(0), &engine)) exit(2);
}
#endif

static void cost_begin(cost_thread *t)
{
    static __thread struct ggml_compute_params params;
    params.ith = (int32_t)t->index;
#ifdef COST_ALONE
    params.nth = 1;
#else
    params.nth = 2;
#endif
    t->own = &params;
}

/* A graph is computed once more. The first time the lane itself finds it. */
static void cost_round(cost_thread *t)
{
    if (!tt_lane_self.epoch) return;
    tt_lane_self.open = NULL;
    tt_lane_self.cursor = 0;
    tt_lane_self.release = 0;
    tt_lane_self.run = 1 + t->round;
}

static bool cost_has_room(cost_thread *t)
{
    const tt_lane *l = &tt_lane_self;
    (void)t;
    return !l->ring || l->head + COST_ROUND <= atomic_load(&l->ring->tail) + l->mask + 1;
}

#ifdef COST_HOOKS
static inline void cost_first(cost_thread *t, uint32_t i)
{
    engine_op(t->own, &tensors[i]);
}

static inline void cost_second(cost_thread *t, uint32_t i)
{
    (void)t;
    (void)i;
}
#else
/* As ggml_cpu_extra_compute_forward and then ggml_barrier do. */
static inline void cost_first(cost_thread *t, uint32_t i)
{
    tt_lane_begin(t->own, &tensors[i], 0);
    COST_COMPILER_FENCE();
    tt_lane *l = &tt_lane_self;
    if (l->open) (void)tt_lane_arrive(l);
}

static inline void cost_second(cost_thread *t, uint32_t i)
{
    (void)t;
    (void)i;
    tt_lane *l = &tt_lane_self;
    if (l->open) tt_lane_release(l, tt_ticks());
}
#endif

static void cost_end(cost_thread *t)
{
    (void)t;
}

static uint64_t cost_close(void)
{
    uint64_t taken, lost = 0;
#ifndef COST_DISABLED
    (void)tt_lanes_run_end(1);
#endif
    tt_recorder *r = tt_process_recorder_if_open();
    if (!r) return 0;
    /* Whatever is still in the rings is on its way, not lost. */
    for (uint32_t i = 0; i < tt_recorder_area(r)->area->n_rings; i++)
        lost += atomic_load(&tt_recorder_area(r)->rings[i].dropped);
    taken = atomic_load(&tt_recorder_area(r)->area->counts.ops_unresolved);
    return lost + taken;
}
