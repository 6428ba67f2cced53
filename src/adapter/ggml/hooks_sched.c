/* Hooks on ggml's scheduler: batches, and the eval callback for engines and backends whose ops
 * cannot be hooked. */
#include "adapter/ggml/abi.h"
#include "adapter/ggml/batches.h"
#include "adapter/ggml/call_slots.h"
#include "adapter/ggml/capture.h"
#include "adapter/ggml/contexts.h"
#include "adapter/ggml/graphs.h"
#include "adapter/ggml/lane.h"
#include "adapter/ggml/loading.h"
#include "adapter/ggml/process.h"
#include "adapter/ggml/residency.h"
#include "adapter/ggml/resolve.h"
#include "adapter/ggml/runs.h"
#include "adapter/ggml/tokens.h"
#include "adapter/ggml/usage.h"
#include "adapter/ggml/values.h"
#include "format/meta.h"

#include <stdlib.h>

int ggml_backend_sched_graph_compute_async(void *sched, struct ggml_cgraph *graph);
void ggml_backend_sched_set_eval_callback(void *sched, tt_eval_callback callback, void *user_data);
void ggml_backend_sched_free(void *sched);
bool ggml_backend_sched_alloc_graph(void *sched, struct ggml_cgraph *graph);
void ggml_backend_sched_split_graph(void *sched, struct ggml_cgraph *graph);
void ggml_backend_sched_reset(void *sched);

static tt_real real_compute = {.name = "ggml_backend_sched_graph_compute_async"};
static tt_real real_set_callback = {.name = "ggml_backend_sched_set_eval_callback"};
static tt_real real_free = {.name = "ggml_backend_sched_free"};
static tt_real real_alloc_graph = {.name = "ggml_backend_sched_alloc_graph"};
static tt_real real_split_graph = {.name = "ggml_backend_sched_split_graph"};
static tt_real real_reset = {.name = "ggml_backend_sched_reset"};

/* The callback run of this thread; the scheduler calls back on the thread that computes. */
static __thread struct {
    tt_recorder *recorder; /* records the run; a forked child has another one */
    uint32_t run;
    struct ggml_tensor *const *nodes;
    uint32_t n_nodes;
    uint32_t cursor;
    bool marked;
    tt_op_record *record; /* of the current node; barriers inside it do not end it */
    bool takes;           /* its output may be captured */
    const tt_engine *engine;
} current __attribute__((tls_model("initial-exec")));

/* Copies the values for the node's tracepoints: all nodes before it are computed. */
static void copy_values(tt_context *c, tt_lane *l, uint32_t node)
{
    for (; c->next_tracepoint < c->tracepoints.n; c->next_tracepoint++) {
        const tt_tracepoint *t = &c->tracepoints.list[c->next_tracepoint];
        if (t->node > node) return;
        if (t->node < node || !tt_lane_claim_details(l)) continue;
        size_t stride = tt_tracepoint_stride(t);
        size_t bytes = stride * (t->tokens - 1) + t->ranks * sizeof(int32_t);
        void *values = tt_values_copy(current.engine, t->values, bytes);
        if (values) tt_tracepoint_copy(t, values, stride, current.run, &l->details);
        free(values);
    }
}

/* Whether its time would be that of sending it. */
static bool is_remote(const tt_context *c, const struct ggml_tensor *t)
{
    const tt_engine *e = current.engine;
    return c->has_remote && e->sched_tensor_backend &&
           tt_engine_is_remote(e, e->sched_tensor_backend(c->sched, t));
}

/* The scheduler offers a node before it computes it; it calls again when the node is computed. */
static bool on_ask(tt_context *c, struct ggml_tensor *t)
{
    tt_lane *l = &tt_lane_self;
    tt_runs_asked = t;
    current.record = NULL;
    current.takes = false;
    c->user_wants = c->user_callback ? c->user_callback(t, true, c->user_data) : false;
    if (!current.run || current.recorder != tt_process_recorder_if_open() ||
        !tt_graphs_executes(t, current.marked))
        return c->user_wants;
    uint32_t node = current.cursor;
    while (node < current.n_nodes && current.nodes[node] != t)
        node++;
    /* Nodes that the scheduler added are not in the program's graph. */
    if (node == current.n_nodes || !tt_lane_claim(l)) return c->user_wants;
    current.cursor = node + 1;
    l->run = current.run;
    copy_values(c, l, node);
    current.takes = c->fingerprints.any && c->fingerprints.wanted[node];
    if (is_remote(c, t)) return current.takes || c->user_wants;
    tt_lane_open(l, node, 0, 0, tt_ticks());
    if (tt_capture_options.faults && l->open && tt_lane_claim_details(l)) {
        tt_faults_count(&l->faults, TT_FAULTS_OF_PROCESS);
        tt_faults_begin(&l->faults, &l->details, l->run, node, 0, true);
    }
    current.record = l->open;
    l->open = NULL;
    return true;
}

/* Captures the output while the scheduler waits: the node has been computed. */
static void take_output(tt_context *c, const struct ggml_tensor *t)
{
    tt_lane *l = &tt_lane_self;
    uint32_t node = current.cursor - 1;
    if (current.takes && tt_lane_claim_details(l))
        tt_fingerprints_take_alone(&c->fingerprints, t, current.run, node, &l->details);
}

static bool on_eval(struct ggml_tensor *t, bool ask, void *user_data)
{
    tt_context *c = user_data;
    if (ask) return on_ask(c, t);
    const bool is_ours = current.recorder == tt_process_recorder_if_open();
    if (current.record && is_ours) {
        uint64_t now = tt_ticks();
        __atomic_store_n(&current.record->arrive, now, __ATOMIC_RELAXED);
        __atomic_store_n(&current.record->release, now, __ATOMIC_RELAXED);
        tt_faults_arrive(&tt_lane_self.faults);
        tt_lane_self.faults.open = NULL;
    }
    if ((current.record || current.takes) && is_ours) take_output(c, t);
    current.record = NULL;
    current.takes = false;
    /* false would end the computation, which only the program may do. */
    return c->user_wants ? c->user_callback(t, false, c->user_data) : true;
}

TT_EXPORT void ggml_backend_sched_set_eval_callback(void *sched, tt_eval_callback callback,
                                                    void *user_data)
{
    tt_set_callback real;
    *(void **)&real = tt_real_get(&real_set_callback, TT_CALLER);
    tt_recorder *r = tt_process_recorder();
    const tt_engine *e = r ? tt_engine_get(TT_CALLER) : NULL;
    tt_context *c = NULL;
    if (e) {
        (void)pthread_mutex_lock(&tt_process_lock);
        c = tt_contexts_get(r, e, sched);
        (void)pthread_mutex_unlock(&tt_process_lock);
    }
    if (!real) return;
    real(sched, callback, user_data);
    if (!c) return;
    c->user_callback = callback;
    c->user_data = user_data;
    c->set_callback = real;
    c->installed = false;
    if (c->callback) (void)tt_contexts_install(c, real, on_eval, true);
}

/* Computes an unrecorded batch without our callback, so the scheduler does not stop at nodes. */
static int compute_unseen(tt_context *c, struct ggml_cgraph *graph,
                          int (*real)(void *, struct ggml_cgraph *))
{
    tt_contexts_uninstall(c);
    tt_runs_batch = 0;
    tt_runs_layout = 0;
    current.run = 0;
    return real(c->sched, graph);
}

/* Whether the scheduler will call ours. */
static bool install(tt_context *c, const void *caller)
{
    tt_set_callback set = c->set_callback;
    if (tt_contexts_is_installed(c)) return true;
    if (!set) *(void **)&set = tt_resolve(caller, real_set_callback.name);
    return set &&
           tt_contexts_install(c, set, on_eval, tt_resolve_is_imported(real_set_callback.name));
}

static uint32_t begin_callback_run(tt_recorder *r, const tt_engine *e, tt_context *c,
                                   struct ggml_cgraph *graph, const void *caller, const void *frame)
{
    if (!install(c, caller)) return 0;
    current.run = tt_runs_begin(r, e, graph, TT_OBSERVED_CALLBACK, 0, frame, c->sched);
    current.recorder = r;
    current.nodes = e->graph_nodes(graph);
    current.n_nodes = (uint32_t)e->graph_n_nodes(graph);
    current.cursor = 0;
    current.engine = e;
    tt_tracepoints_find(&c->tracepoints, e, current.nodes, current.n_nodes);
    c->next_tracepoint = 0;
    tt_fingerprints_choose(&c->fingerprints, e, &tt_capture_options.values, tt_runs_batch - 1u,
                           current.nodes, current.n_nodes);
    current.marked = tt_graphs_marked(e, current.nodes, (int)current.n_nodes);
    return current.run;
}

/* Samples the kernel's counters and the page cache around a batch. */
static void observe_memory(tt_recorder *r, uint32_t batch, enum tt_moment moment)
{
    uint32_t every = tt_capture_options.residency_every;
    bool pages = every && moment == TT_AT_BATCH_END && batch % every == 0;
    const bool counts = tt_capture_options.faults_way || tt_usage_has_quotas();
    if (!counts && !pages) return;
    (void)pthread_mutex_lock(&tt_process_lock);
    if (counts) tt_usage_record_batch(r, batch, moment);
    if (pages) tt_residency_record(r, batch, moment);
    (void)pthread_mutex_unlock(&tt_process_lock);
}

/* Reads a word of what was computed last on a device that the engine does not wait for: otherwise
 * the batch would end when it was sent. */
static void wait_for_remote(const tt_engine *e, const tt_context *c, struct ggml_cgraph *graph)
{
    struct ggml_tensor *const *nodes = e->graph_nodes(graph);
    uint64_t word;
    if (!c->has_remote || !e->sched_tensor_backend) return;
    for (int i = e->graph_n_nodes(graph); i-- > 0;) {
        const size_t bytes = tt_graphs_is_empty(nodes[i]) ? 0 : e->nbytes(nodes[i]);
        if (!bytes || tt_engine_op_is_empty(nodes[i]->op) ||
            !tt_engine_is_remote(e, e->sched_tensor_backend(c->sched, nodes[i])))
            continue;
        e->tensor_get(nodes[i], &word, 0, bytes < sizeof word ? bytes : sizeof word);
        return;
    }
}

/* The batch's graph, in a batch of that context. */
static int compute_batch(tt_recorder *r, const tt_engine *e, tt_context *c,
                         struct ggml_cgraph *graph, uint32_t batch, const void *caller,
                         int (*real)(void *, struct ggml_cgraph *))
{
    tt_runs_batch = batch;
    current.run = 0;
    observe_memory(r, batch, TT_AT_BATCH_BEGIN);
    if (c->callback) (void)begin_callback_run(r, e, c, graph, caller, __builtin_frame_address(0));
    int status = real(c->sched, graph);
    if (status == 0) wait_for_remote(e, c, graph);
    if (current.run) tt_runs_end(r, current.run, TT_OBSERVED_CALLBACK, status);
    current.run = 0;
    tt_runs_asked = NULL;
    tt_runs_batch = 0;
    tt_runs_layout = 0;
    if (tt_process_recorder_if_open() != r) return status;
    tt_batches_end(r, batch, status);
    observe_memory(r, batch, TT_AT_BATCH_END);
    return status;
}

TT_EXPORT int ggml_backend_sched_graph_compute_async(void *sched, struct ggml_cgraph *graph)
{
    int (*real)(void *, struct ggml_cgraph *);
    *(void **)&real = tt_real_get(&real_compute, TT_CALLER);
    if (!real) return GGML_MIRROR_STATUS_FAILED;
    tt_call_slots_look();
    tt_recorder *r = tt_process_recorder();
    const tt_engine *e = r ? tt_engine_get(TT_CALLER) : NULL;
    tt_context *c = NULL;
    uint32_t batch = 0;
    if (e) {
        (void)pthread_mutex_lock(&tt_process_lock);
        c = tt_contexts_get(r, e, sched);
        if (c) c->computes = true;
        /* llama.cpp repeats a graph unchanged unless it has allocated memory for another one.
         * Other programs may change theirs in place. */
        tt_runs_layout = c && tt_tokens_in_call() ? c->layout : 0;
        if (c) tt_loading_batch(r);
        if (c) batch = tt_batches_begin(r, e, c, graph, tt_runs_layout);
        (void)pthread_mutex_unlock(&tt_process_lock);
    }
    if (!c) return real(sched, graph);
    const int status = batch ? compute_batch(r, e, c, graph, batch, TT_CALLER, real)
                             : compute_unseen(c, graph, real);
    (void)pthread_mutex_lock(&tt_process_lock);
    c->computes = false;
    const bool forgotten = c->forgotten;
    (void)pthread_mutex_unlock(&tt_process_lock);
    if (forgotten) tt_contexts_leave(c);
    return status;
}

TT_EXPORT void ggml_backend_sched_free(void *sched)
{
    void (*real)(void *);
    *(void **)&real = tt_real_get(&real_free, TT_CALLER);
    /* The address may be reused for another scheduler. */
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_contexts_drop(sched);
    (void)pthread_mutex_unlock(&tt_process_lock);
    if (real) real(sched);
}

static void laid_out(void *sched)
{
    if (!tt_process_recorder_if_open()) return;
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_contexts_laid_out(sched);
    (void)pthread_mutex_unlock(&tt_process_lock);
}

TT_EXPORT bool ggml_backend_sched_alloc_graph(void *sched, struct ggml_cgraph *graph)
{
    bool (*real)(void *, struct ggml_cgraph *);
    *(void **)&real = tt_real_get(&real_alloc_graph, TT_CALLER);
    laid_out(sched);
    return real ? real(sched, graph) : false;
}

TT_EXPORT void ggml_backend_sched_split_graph(void *sched, struct ggml_cgraph *graph)
{
    void (*real)(void *, struct ggml_cgraph *);
    *(void **)&real = tt_real_get(&real_split_graph, TT_CALLER);
    laid_out(sched);
    if (real) real(sched, graph);
}

TT_EXPORT void ggml_backend_sched_reset(void *sched)
{
    void (*real)(void *);
    *(void **)&real = tt_real_get(&real_reset, TT_CALLER);
    laid_out(sched);
    if (real) real(sched);
}
