/* Hooks in libggml-cpu, which every compute thread calls. */
#include "adapter/ggml/abi.h"
#include "adapter/ggml/boost.h"
#include "adapter/ggml/call_slots.h"
#include "adapter/ggml/capture.h"
#include "adapter/ggml/graphs.h"
#include "adapter/ggml/lane.h"
#include "adapter/ggml/process.h"
#include "adapter/ggml/resolve.h"
#include "adapter/ggml/runs.h"
#include "format/meta.h"

#include <stdlib.h>

bool ggml_cpu_extra_compute_forward(struct ggml_compute_params *params, struct ggml_tensor *op);
void ggml_compute_forward_rms_norm_mul_fused(struct ggml_compute_params *params,
                                             struct ggml_tensor *norm, struct ggml_tensor *mul);
void ggml_barrier(struct ggml_threadpool *pool);
int ggml_graph_compute(struct ggml_cgraph *graph, struct ggml_cplan *plan);

static tt_real real_extra = {.name = "ggml_cpu_extra_compute_forward"};
static tt_real real_rms_norm_mul = {.name = "ggml_compute_forward_rms_norm_mul_fused"};
static tt_real real_barrier = {.name = "ggml_barrier"};
static tt_real real_graph_compute = {.name = "ggml_graph_compute"};

/* Used while values are recorded. */
static __attribute__((noinline)) void begin_with_values(const struct ggml_compute_params *params,
                                                        const struct ggml_tensor *op,
                                                        uint32_t covers,
                                                        const struct ggml_tensor *last)
{
    tt_lane_take(params, op, last);
    tt_lane_begin(params, op, covers);
    tt_lane_expect(last);
}

/* last: the op's last node, which holds its output. */
static inline void begin_op(const struct ggml_compute_params *params, const struct ggml_tensor *op,
                            uint32_t covers, const struct ggml_tensor *last)
{
    tt_boost_op(last); /* of a fused op's nodes it has the weight */
    if (__builtin_expect(tt_capture_options.values.level != TT_VALUES_OFF, 0))
        begin_with_values(params, op, covers, last);
    else
        tt_lane_begin(params, op, covers);
}

/* Every thread calls this at the start of every op that is not fused. */
TT_EXPORT bool ggml_cpu_extra_compute_forward(struct ggml_compute_params *params,
                                              struct ggml_tensor *op)
{
    bool (*real)(struct ggml_compute_params *, struct ggml_tensor *);
    *(void **)&real = tt_real_get(&real_extra, TT_CALLER);
    begin_op(params, op, 0, op);
    /* "Not handled" makes the caller continue as if this function did not exist. */
    return real ? real(params, op) : false;
}

TT_EXPORT void ggml_compute_forward_rms_norm_mul_fused(struct ggml_compute_params *params,
                                                       struct ggml_tensor *norm,
                                                       struct ggml_tensor *mul)
{
    void (*real)(struct ggml_compute_params *, struct ggml_tensor *, struct ggml_tensor *);
    *(void **)&real = tt_real_get(&real_rms_norm_mul, TT_CALLER);
    /* Unlike other ops, this one is also called for empty tensors; it then does nothing. */
    if (!tt_graphs_is_empty(norm)) begin_op(params, norm, 1, mul);
    if (real) real(params, norm, mul);
}

/* An op ends here: the thread arrives, and is released when all have arrived. Ops have inner
 * barriers, too; the last one before the next op counts. */
TT_EXPORT void ggml_barrier(struct ggml_threadpool *pool)
{
    void (*real)(struct ggml_threadpool *);
    *(void **)&real = tt_real_get(&real_barrier, TT_CALLER);
    tt_lane *l = &tt_lane_self;
    if (l->open &&
        __builtin_expect(l->epoch != atomic_load_explicit(&tt_runs_epoch, memory_order_acquire), 0))
        tt_lane_look_again(l);
    if (!l->open) {
        if (real) real(pool);
        return;
    }
    uint64_t arrived = tt_lane_arrive(l);
    if (real) real(pool);
    /* A single thread does not wait: one clock reading, the greatest cost here, serves for both. */
    tt_lane_release(l, l->alone ? arrived : tt_ticks());
}

/* The third field of struct ggml_cplan, after work_size and work_data. */
static uint32_t plan_threads(const struct ggml_cplan *plan)
{
    int32_t n = 0;
    if (plan) memcpy(&n, (const uint8_t *)plan + 16, sizeof n);
    return n > 0 && n <= 512 ? (uint32_t)n : 0;
}

/* Whether this CPU library's ops reach the hooks above, which never changes. */
static bool is_hooked(void)
{
    static _Atomic int known; /* 0 not yet, 1 yes, -1 no */
    int k = atomic_load(&known);
    if (k == 0) {
        k = tt_resolve_is_imported("ggml_cpu_extra_compute_forward") ? 1 : -1;
        atomic_store(&known, k);
    }
    return k > 0;
}

static __attribute__((noinline)) bool begin_boosted(struct ggml_cgraph *graph, uint32_t n_threads,
                                                    const void *caller)
{
    const tt_engine *e = is_hooked() ? tt_engine_get(caller) : NULL;
    return e && tt_boost_graph_begin(e, graph, n_threads);
}

TT_EXPORT int ggml_graph_compute(struct ggml_cgraph *graph, struct ggml_cplan *plan)
{
    int (*real)(struct ggml_cgraph *, struct ggml_cplan *);
    *(void **)&real = tt_real_get(&real_graph_compute, TT_CALLER);
    if (!real) return GGML_MIRROR_STATUS_FAILED;
    tt_call_slots_look();
    tt_recorder *r = tt_process_recorder();
    const tt_engine *e = r ? tt_engine_get(TT_CALLER) : NULL;
    if (e && tt_runs_by_callback(e->graph_nodes(graph), e->graph_n_nodes(graph))) e = NULL;
    uint8_t observed = is_hooked() ? TT_OBSERVED_HOOK : TT_OBSERVED_BOUNDS;
    uint32_t run = e ? tt_runs_begin(r, e, graph, observed, plan_threads(plan),
                                     __builtin_frame_address(0), NULL)
                     : 0;
    const bool boosted = atomic_load_explicit(&tt_boost_on, memory_order_relaxed) &&
                         begin_boosted(graph, plan_threads(plan), TT_CALLER);
    int status = real(graph, plan);
    if (boosted) tt_boost_graph_end(run);
    if (run) tt_lanes_run_over(run);
    if (run && status == 0) tt_lane_take_last(run);
    if (run) tt_runs_end(r, run, observed, status);
    return status;
}
