#include "adapter/ggml/lifecycle.h"

#include "adapter/ggml/batch_ext.h"
#include "adapter/ggml/capture.h"
#include "adapter/ggml/describe.h"
#include "adapter/ggml/engine.h"
#include "adapter/ggml/graphs.h"
#include "adapter/ggml/lane.h"
#include "adapter/ggml/models.h"
#include "adapter/ggml/residency.h"
#include "adapter/ggml/resolve.h"
#include "adapter/ggml/tokens.h"
#include "adapter/ggml/usage.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define LOCK_WAIT_S 2

/* The physical side of memory when recording begins or ends; r is open, or about to be. */
static void observe_memory(tt_recorder *r, enum tt_moment moment)
{
    struct timespec until;
    if (clock_gettime(CLOCK_REALTIME, &until) != 0) return;
    until.tv_sec += LOCK_WAIT_S;
    /* At the exit a thread that is no more may have held it. */
    if (pthread_mutex_timedlock(&tt_process_lock, &until) != 0) return;
    if (tt_capture_options.faults) tt_usage_record(r, 0, moment);
    /* A forked child begins with its parent's models. */
    if (moment == TT_AT_BEGIN && tt_capture_options.residency_every) tt_residency_begin(r);
    if (moment == TT_AT_END && tt_capture_options.residency_every)
        tt_residency_record(r, 0, moment);
    if (moment == TT_AT_END) tt_models_check(r);
    (void)pthread_mutex_unlock(&tt_process_lock);
}

static void observe_begin(tt_recorder *r)
{
    observe_memory(r, TT_AT_BEGIN);
}

static void observe_end(tt_recorder *r)
{
    observe_memory(r, TT_AT_END);
}

/* The kernel's counts come last of what begins a trace: what the others do is not to be in them. */
static const tt_process_part parts[] = {
    {.in_child = tt_engine_in_child},
    {.in_child = tt_resolve_in_child},
    {.in_child = tt_tokens_in_child, .reset = tt_tokens_reset},
    {.before_fork = tt_batch_ext_before_fork,
     .in_parent = tt_batch_ext_in_parent,
     .in_child = tt_batch_ext_in_child},
    {.prepare = tt_lanes_prepare, .stop = tt_lanes_stop, .in_child = tt_lanes_in_child},
    {.reset = tt_graphs_reset},
    {.reset = tt_usage_reset},
    {.reset = tt_residency_reset},
    {.begun = tt_describe_run},
    {.begun = observe_begin, .ending = observe_end},
};

tt_status tt_lifecycle_begin(const tt_process_setup *setup, tt_error *err)
{
    return tt_process_begin(setup, parts, sizeof parts / sizeof *parts, err);
}

/* The program exits while threads still compute: finishing takes milliseconds, in which they
 * must not lose what they use. Exit handlers run last in, first out: this one, registered after
 * the engine was loaded, runs before the engine's own destructors; tt_process_end runs after them.
 */
static void finish_if_computing(void)
{
    if (atomic_load(&tt_runs_hooked) > 0) (void)tt_process_end(NULL);
}

void tt_lifecycle_at_first_run(void)
{
    static bool registered;
    if (registered) return;
    registered = true;
    (void)atexit(finish_if_computing);
}
