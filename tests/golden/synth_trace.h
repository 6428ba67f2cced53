/* Traces made to order, for tests: a small model's graphs, two lanes, a prompt and
 * some generated tokens, with deterministic times. Knobs make them wrong in one
 * way each. Included as source (synth_trace.c) by the tests that need it. */
#ifndef TT_TESTS_SYNTH_TRACE_H
#define TT_TESTS_SYNTH_TRACE_H

#include "base/bytes.h"
#include "format/chunk.h"
#include "format/detail.h"
#include "format/meta.h"
#include "format/ops.h"

#include <stdbool.h>
#include <stdint.h>

#define SYNTH_RINGS_MAX 64
#define SYNTH_WIDTH 64u
#define SYNTH_FFN 192u
#define SYNTH_VOCAB 128u
#define SYNTH_TICKS_PER_NS 2u

typedef struct synth_ring {
    tt_op_record *records;
    size_t n, capacity;
    tt_detail *details;
    size_t n_details, detail_capacity;
} synth_ring;

/* A VALUE chunk: so many bytes, all of them `filler`. */
typedef struct synth_data {
    uint32_t run, node, part, bytes;
    uint8_t filler;
} synth_data;

/* Where a trace of any length goes, record by record. */
typedef struct synth_stream {
    void *context;
    void (*meta)(void *context, uint8_t type, const tt_bytes *payload);
    void (*op)(void *context, uint32_t ring, const tt_op_record *record);
    void (*detail)(void *context, uint32_t ring, const tt_detail *detail);
    /* Ticks that a lane works on a node; all_tensors[node] is it. */
    uint64_t (*busy_ticks)(void *context, const tt_meta_tensor *all_tensors, uint32_t node,
                           const char *op_name);
} synth_stream;

typedef struct synth_plan {
    uint32_t layers;
    uint32_t width, ffn, vocab; /* of the model */
    uint32_t lanes;
    uint32_t prompt_tokens;
    uint32_t generate;     /* batches of one token */
    uint32_t experts;      /* > 0: the FFN is a mixture */
    uint32_t experts_used; /* by a token */
    uint32_t late_token;   /* > 0: the program does something else before it */
    uint64_t late_ticks;   /* so long */
    uint8_t codec;
    unsigned tick_shift;
    uint32_t chunk_records;
    uint32_t seed;
    bool no_clock_end;  /* only one CLOCK record */
    bool tick_hz;       /* say the rate in ENVIRONMENT */
    bool no_model;      /* no MODEL record */
    bool no_counts;     /* no COUNTS and no DECODE records */
    bool last_run_open; /* killed inside the last run */
    bool no_index;      /* the file just ends */
    bool described;     /* META in a chunk a batch, and the index says what each is about */
    bool runs_split;    /* what began a run is in another META chunk than its end */
    /* Also all that is told of memory: texts and sequences of tokens, row numbers, the kernel's
     * counters (flags: 7 - batch id % 8), pages in RAM, what became of the model, backends,
     * allocators, details of ops (and three lost ones). */
    bool memory;
    bool extents;     /* where the model file lies on its disk, and memory and limits */
    bool pool;        /* what `boost` kept and read */
    bool loading;     /* of what `memory` adds: how the model file was mapped */
    bool page_faults; /* each by itself */
    bool no_faults;   /* of what `memory` adds: no FAULTS details ... */
    bool no_usage;    /* ... and neither counters of the kernel nor pages in RAM */
    /* Not NULL: nothing is appended to `out`. Chunks, COUNTS, INDEX and all that the plan says of
     * them are the stream's business, and no details are lost. */
    const synth_stream *stream;
    /* Faults, one check of `verify` each: */
    uint64_t weight_size_delta;   /* of the model's first layer weight */
    uint64_t weight_offset_delta; /* likewise, not followed by the mapping */
    uint64_t counts_ops_delta;
    uint64_t counts_dropped_delta;
    bool last_call_open; /* its batch has ended, the call of the engine has not */
    bool recovered;
    uint64_t decode_tokens_delta;
    int32_t token_delta; /* of one generated token's id */
    bool bad_source;     /* a tensor refers to one that is not there */
    bool bad_run;        /* a RUN names a graph that is not there */
    /* Called before the records are encoded, and before the INDEX is written. */
    void (*edit_ops)(struct synth_plan *plan, synth_ring *rings);
    void (*edit_index)(tt_index_entry *entries, size_t n);
    const synth_data *data;
    size_t n_data;
    /* Filled in while building: */
    uint64_t n_executed; /* nodes of a graph, covered ones included */
    uint64_t n_records;
    uint64_t n_tokens;
} synth_plan;

/* A plan of 3 layers, 2 lanes, a prompt of 5 tokens and 4 generated ones, zstd. */
synth_plan synth_default(void);
/* An edit_ops: the records of all runs are dealt out at random to all chunks, as no recorder does;
 * their times stay. Between two pieces of one run lie more chunks than readers keep at first. */
void synth_scatter(synth_plan *plan, synth_ring *rings);
/* Appends the file. False when memory ran out. */
bool synth_build(synth_plan *plan, tt_bytes *out);
#endif
