/* A trace made by a plan (tests/golden/synth_trace.c, which is included before this), opened from
 * memory. */
#ifndef TT_TESTS_UNIT_PLAN_TRACE_H
#define TT_TESTS_UNIT_PLAN_TRACE_H

#include "model/model.h"

typedef struct opened {
    tt_bytes bytes;
    tt_model *m;
} opened;

static inline opened open_plan(synth_plan p)
{
    opened o = {.m = NULL};
    tt_bytes_init(&o.bytes, SIZE_MAX / 2);
    assert_true(synth_build(&p, &o.bytes));
    assert_int_equal(tt_model_open_memory(o.bytes.data, o.bytes.size, &o.m, NULL), TT_OK);
    return o;
}

static inline void close_plan(opened *o)
{
    tt_model_close(o->m);
    tt_bytes_free(&o->bytes);
}

#endif
