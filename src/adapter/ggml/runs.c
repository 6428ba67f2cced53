#include "adapter/ggml/runs.h"

#include "adapter/ggml/capture.h"
#include "adapter/ggml/contexts.h"
#include "adapter/ggml/engine.h"
#include "adapter/ggml/graphs.h"
#include "adapter/ggml/lane.h"
#include "adapter/ggml/libraries.h"
#include "adapter/ggml/lifecycle.h"
#include "adapter/ggml/owner.h"
#include "adapter/ggml/process.h"
#include "adapter/ggml/values.h"
#include "format/meta.h"
#include "record/recorder.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INDICES_MAX (1u << 20)

static void put_values(tt_bytes *out, const void *values, uint32_t n, bool wide)
{
    int64_t last = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t v = wide ? ((const int64_t *)values)[i] : ((const int32_t *)values)[i];
        tt_bytes_zigzag(out, (int64_t)((uint64_t)v - (uint64_t)last));
        last = v;
    }
}

static void record(tt_recorder *r, const tt_engine *e, uint32_t run, uint32_t tensor,
                   const struct ggml_tensor *leaf)
{
    bool wide = strcmp(e->type_name(leaf->type), "i64") == 0;
    if (!wide && strcmp(e->type_name(leaf->type), "i32") != 0) return;
    size_t width = wide ? sizeof(int64_t) : sizeof(int32_t), bytes = e->nbytes(leaf);
    if (bytes == 0 || bytes / width > INDICES_MAX) return;
    void *values = tt_values_copy(e, leaf, bytes);
    if (!values) return;
    tt_meta_indices x = {run, tensor, (uint32_t)(bytes / width)};
    tt_bytes payload;
    tt_bytes_init(&payload, TT_META_RECORD_MAX);
    tt_meta_put_indices(&payload, &x);
    put_values(&payload, values, x.n, wide);
    (void)tt_process_put(r, TT_META_INDICES, &payload);
    free(values);
}

/* Records an INDICES for each leaf of row numbers in that graph, whose nodes are given.
 * tt_process_lock is held. */
static void tt_indices_record(tt_recorder *r, const tt_engine *e, uint32_t run, uint32_t graph,
                              struct ggml_tensor *const *nodes)
{
    uint32_t n;
    const tt_graph_input *inputs = tt_graphs_inputs(graph, &n);
    for (uint32_t i = 0; i < n; i++)
        record(r, e, run, inputs[i].tensor, tt_graphs_input_leaf(nodes[inputs[i].node]));
}

__thread uint32_t tt_runs_batch __attribute__((tls_model("initial-exec")));
__thread uint64_t tt_runs_layout __attribute__((tls_model("initial-exec")));
__thread const struct ggml_tensor *tt_runs_asked __attribute__((tls_model("initial-exec")));

bool tt_runs_by_callback(struct ggml_tensor *const *nodes, int n_nodes)
{
    if (!tt_runs_asked) return false;
    if (n_nodes > 0 && nodes[n_nodes - 1] == tt_runs_asked) return true;
    tt_runs_asked = NULL;
    tt_runs_batch = 0;
    return false;
}

static bool leave_out(tt_area *a)
{
    if (tt_runs_batch) return false;
    if (!atomic_load_explicit(&a->stopped, memory_order_relaxed) && !tt_capture_chooses())
        return false;
    atomic_fetch_add_explicit(&a->counts.runs_left_out, 1, memory_order_relaxed);
    return true;
}

uint32_t tt_runs_begin(tt_recorder *r, const tt_engine *e, struct ggml_cgraph *graph,
                       uint8_t observed, uint32_t threads, const void *frame, void *sched)
{
    struct ggml_tensor **nodes = e->graph_nodes(graph);
    int n_nodes = e->graph_n_nodes(graph);
    tt_meta_run run = {.batch = tt_runs_batch, .observed = observed, .threads = threads};
    if (n_nodes <= 0) return 0;
    tt_process_saw_graph();
    if (leave_out(tt_recorder_area(r)->area)) return 0;
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_lifecycle_at_first_run();
    tt_libraries_describe(r, e);
    if (observed == TT_OBSERVED_HOOK) tt_contexts_none(r);
    run.graph = tt_graphs_identify(r, e, nodes, n_nodes, sched, tt_runs_layout);
    (void)pthread_mutex_unlock(&tt_process_lock);
    if (!run.graph) {
        /* The trace must state once that it is incomplete. */
        static _Atomic bool recorded;
        if (atomic_exchange(&recorded, true)) return 0;
        tt_process_environment(r, "unrecorded", "a graph was too large or too odd to be recorded");
        return 0;
    }
    run.id = (uint32_t)atomic_fetch_add(&tt_recorder_area(r)->area->counts.runs, 1) + 1;
    if (run.id == 0) return 0;
    run.thread = tt_owner_thread();
    run.ticks = tt_ticks();
    tt_bytes payload;
    tt_bytes_init(&payload, 128);
    tt_meta_put_run(&payload, &run);
    if (!tt_process_put(r, TT_META_RUN, &payload)) return 0;
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_indices_record(r, e, run.id, run.graph, nodes);
    (void)pthread_mutex_unlock(&tt_process_lock);
    if (observed == TT_OBSERVED_HOOK &&
        !tt_lanes_run_begin(run.id, nodes, (uint32_t)n_nodes, tt_runs_batch - 1u, frame, e))
        return 0;
    return run.id;
}

static void put_unseen_waits(tt_recorder *r)
{
    static _Atomic bool recorded; /* a child's trace begins with it */
    if (atomic_exchange(&recorded, true)) return;
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_process_environment(r, "waits",
                           "not observed: this build of the engine calls no ggml_barrier between "
                           "its ops");
    (void)pthread_mutex_unlock(&tt_process_lock);
}

void tt_runs_end(tt_recorder *r, uint32_t run, uint8_t observed, int status)
{
    tt_bytes payload;
    tt_meta_end end = {run, tt_ticks(), status};
    if (observed == TT_OBSERVED_HOOK && !tt_lanes_run_end(run)) return;
    if (tt_process_recorder_if_open() != r) return;
    if (tt_lanes_waits_are_unseen()) put_unseen_waits(r);
    tt_bytes_init(&payload, 64);
    tt_meta_put_end(&payload, &end);
    (void)tt_process_put(r, TT_META_RUN_END, &payload);
}
