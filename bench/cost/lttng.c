/* LTTng-UST: a tracepoint at each boundary, which takes its own time stamp. Its fields are what a
 * boundary's reader has to know besides. Run it with a session that has the event on. */
#define COST_NAME "LTTng-UST"
#define COST_HALVES 1
#include "harness.h"
#include "nothing.h"

#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "lttng_provider.h"

static inline void cost_first(cost_thread *t, uint32_t i)
{
    lttng_ust_tracepoint(tensortrace_bench, boundary, t->round, i);
}

static inline void cost_second(cost_thread *t, uint32_t i)
{
    lttng_ust_tracepoint(tensortrace_bench, boundary, t->round, i);
}
