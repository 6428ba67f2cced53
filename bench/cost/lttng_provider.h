/* The tracepoint of lttng.c, in the form LTTng-UST includes several times over. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER tensortrace_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_provider.h"

#if !defined(BENCH_COST_LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_COST_LTTNG_PROVIDER_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(tensortrace_bench, boundary,
                           LTTNG_UST_TP_ARGS(uint32_t, run, uint32_t, place),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, run, run)
                                                   lttng_ust_field_integer(uint32_t, place, place)))

#endif

#include <lttng/tracepoint-event.h>
