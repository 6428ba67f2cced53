/* tensortrace/record.h: an op that a program tells itself, with its description, tt_op_begin and
 * tt_op_end. Nothing is recorded without $TENSORTRACE_OUT: then this measures what the calls cost a
 * program that could be recorded ("record.h, off"). */
#ifdef COST_DISABLED
#define COST_NAME "record.h, off"
#else
#define COST_NAME "record.h"
#endif
#define COST_HALVES 0
#include "harness.h"

#include "adapter/ggml/process.h"
#include "tensortrace/record.h"

#include <stdio.h>
#include <stdlib.h>

static char names[COST_ROUND][16];

static void cost_open(void)
{
    for (uint32_t i = 0; i < COST_ROUND; i++)
        (void)snprintf(names[i], sizeof names[i], "node-%u", i);
#ifdef COST_DISABLED
    if (TT_RECORDING()) exit(2);
#else
    if (TT_RECORDING()) return;
    (void)fprintf(stderr, "not recording: TENSORTRACE_OUT is not set\n");
    exit(2);
#endif
}

static void cost_begin(cost_thread *t)
{
    (void)t;
}

static void cost_round(cost_thread *t)
{
    (void)t;
    tt_batch_end(0);
    tt_batch_begin(NULL);
}

static bool cost_has_room(cost_thread *t)
{
    (void)t;
    return true;
}

static inline void cost_first(cost_thread *t, uint32_t i)
{
    (void)t;
    /* Described in the call: while recording is off, not even that is done. */
    (void)tt_op_begin(&(tt_record_tensor){.name = names[i], .op = "ADD", .n_dims = 1, .ne = {64}});
}

static inline void cost_second(cost_thread *t, uint32_t i)
{
    (void)t;
    (void)i;
    tt_op_end();
}

static void cost_end(cost_thread *t)
{
    (void)t;
    tt_batch_end(0);
}

static uint64_t cost_close(void)
{
    uint64_t lost = 0;
    tt_recorder *r = tt_process_recorder_if_open();
    if (!r) return 0;
    for (uint32_t i = 0; i < tt_recorder_area(r)->area->n_rings; i++)
        lost += atomic_load(&tt_recorder_area(r)->rings[i].dropped);
    return lost + atomic_load(&tt_recorder_area(r)->area->counts.ops_unresolved);
}
