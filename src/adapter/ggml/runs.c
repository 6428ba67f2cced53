#include "adapter/ggml/runs.h"

#include "adapter/ggml/graphs.h"
#include "adapter/ggml/lane.h"
#include "adapter/ggml/libraries.h"
#include "adapter/ggml/process.h"
#include "format/meta.h"

#include <sys/syscall.h>
#include <unistd.h>

__thread uint32_t tt_runs_batch __attribute__((tls_model("initial-exec")));
__thread bool tt_runs_by_callback __attribute__((tls_model("initial-exec")));

uint32_t tt_runs_begin(tt_recorder *r, const tt_engine *e, struct ggml_cgraph *graph,
                       uint8_t observed, uint32_t threads)
{
    struct ggml_tensor **nodes = e->graph_nodes(graph);
    int n_nodes = e->graph_n_nodes(graph);
    tt_meta_run run = {.batch = tt_runs_batch, .observed = observed, .threads = threads};
    if (n_nodes <= 0) return 0;
    tt_process_saw_graph();
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_libraries_describe(r, e);
    run.graph = tt_graphs_identify(r, e, nodes, n_nodes);
    (void)pthread_mutex_unlock(&tt_process_lock);
    if (!run.graph) return 0;
    run.id = (uint32_t)atomic_fetch_add(&tt_recorder_area(r)->area->counts.runs, 1) + 1;
    run.thread = (uint32_t)syscall(SYS_gettid);
    run.ticks = tt_ticks();
    tt_bytes payload;
    tt_bytes_init(&payload, 128);
    tt_meta_put_run(&payload, &run);
    if (!tt_process_put(r, TT_META_RUN, &payload)) return 0;
    if (observed == TT_OBSERVED_HOOK && !tt_lanes_run_begin(run.id, nodes, (uint32_t)n_nodes)) return 0;
    return run.id;
}

void tt_runs_end(tt_recorder *r, uint32_t run, uint8_t observed, int status)
{
    tt_bytes payload;
    tt_meta_end end = {run, tt_ticks(), status};
    if (observed == TT_OBSERVED_HOOK) tt_lanes_run_end(run);
    tt_bytes_init(&payload, 64);
    tt_meta_put_end(&payload, &end);
    (void)tt_process_put(r, TT_META_RUN_END, &payload);
}
