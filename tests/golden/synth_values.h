/* Fingerprints and data for the nodes of a made-up trace, most of which make no sense. */
#ifndef TT_TESTS_SYNTH_VALUES_H
#define TT_TESTS_SYNTH_VALUES_H

#include "synth_trace.h"
#include "value/pack.h"
#include "value/type.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SYNTH_VALUE_RUNS 7u /* of which the last two are not there */
#define SYNTH_VALUE_NODES 90u
#define SYNTH_VALUE_WAYS 12u

/* Wrong in one of so many ways, of which the first is not wrong at all. */
static inline tt_fingerprint synth_print(uint32_t way, uint32_t node)
{
    tt_fingerprint f = {.n = 64 * (node % 5 + 1),
                        .first_bad = TT_VALUE_NONE,
                        .has_range = true,
                        .min = -1,
                        .max = 1,
                        .rms = 0.5,
                        .has_blake3 = true,
                        .n_prefix = TT_VALUE_PREFIX,
                        .n_samples = TT_VALUE_SAMPLES};
    for (unsigned i = 0; i < TT_VALUE_SAMPLES; i++)
        f.samples[i] = way == 1 ? NAN : way == 2 ? INFINITY : way == 3 ? 3e38f : (float)i;
    for (unsigned i = 0; i < TT_VALUE_PREFIX; i++)
        f.prefix[i] = f.samples[i];
    if (way == 1) f.rms = f.mean = NAN;
    if (way == 2) f.rms = INFINITY;
    if (way == 3) f.rms = f.mean = 1e308;
    if (way == 4) f.rms = -1;
    if (way == 5) f.min = NAN, f.max = -INFINITY;
    if (way == 6) f.n = UINT64_MAX;
    if (way == 7) f.n = f.n_nan = UINT64_MAX, f.first_bad = UINT64_MAX - 1, f.has_range = false;
    if (way == 8) f.n_nan = 1, f.first_bad = f.n - 1;
    if (way == 9) f.n_inf = f.n, f.first_bad = 0, f.has_range = false;
    if (way == 10) f.n_nan = f.n_inf = UINT64_MAX / 2 + 1, f.n = 8;
    return f;
}

static inline void synth_put_parts(synth_ring *to, uint32_t run, uint32_t node, uint32_t way)
{
    uint8_t packed[(TT_DETAIL_VALUE_PARTS + 1) * TT_DETAIL_VALUE_BYTES] = {0};
    tt_fingerprint f = synth_print(way, node);
    size_t size = tt_value_pack(&f, packed);
    /* Of the last way one part is missing, and one is there that cannot be. */
    for (unsigned part = way == 11; part * TT_DETAIL_VALUE_BYTES < size; part++) {
        tt_detail *d = &to->details[to->n_details++];
        *d = (tt_detail){.run = run,
                         .place = tt_detail_place(node, 0, TT_DETAIL_VALUE),
                         .value.part = (uint8_t)(way == 11 && part == 2 ? 255 : part)};
        memcpy(d->value.bytes, packed + part * TT_DETAIL_VALUE_BYTES, TT_DETAIL_VALUE_BYTES);
    }
}

static inline void synth_put_prints(synth_plan *plan, synth_ring *rings)
{
    synth_ring *to = &rings[0];
    (void)plan;
    to->detail_capacity =
        to->n_details + (SYNTH_VALUE_RUNS * SYNTH_VALUE_NODES + 1) * (TT_DETAIL_VALUE_PARTS + 1);
    to->details = reallocarray(to->details, to->detail_capacity, sizeof *to->details);
    if (!to->details) abort();
    for (uint32_t run = 1; run <= SYNTH_VALUE_RUNS; run++)
        for (uint32_t node = 0; node < SYNTH_VALUE_NODES; node++)
            synth_put_parts(to, run, node, (run * 5 + node * 7) % SYNTH_VALUE_WAYS);
    synth_put_parts(to, 1, TT_OPS_NODE_MAX, 0);
}

/* Of the size of one token's output, of another one, of none, of a part that cannot be, twice. */
static const synth_data synth_value_data[] = {
    {1, 0, 0, 256, 0x7f},          {2, 5, 0, 256, 0xff},
    {2, 5, 0, 256, 0x00},          {2, 6, 0, 1, 0x7f},
    {3, 7, UINT32_MAX, 256, 0x7f}, {3, 8, 1, 1 << 20, 0x01},
    {UINT32_MAX, 0, 0, 64, 0x7f},  {0, 0, 0, 64, 0x7f},
    {1, UINT32_MAX, 0, 64, 0x7f},  {4, 9, 0, 0, 0},
    {4, 10, 0, 1280, 0x7f},        {4, 11, 0, 512, 0xff},
};

/* The plan's trace has them. */
static inline void synth_values(synth_plan *plan)
{
    plan->edit_ops = synth_put_prints;
    plan->data = synth_value_data;
    plan->n_data = sizeof synth_value_data / sizeof synth_value_data[0];
}

#endif
