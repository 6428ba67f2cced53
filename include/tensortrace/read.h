/* Reading a trace: open it, look at its batches, runs and tensors, walk its ops.
 *
 * Link with -ltensortrace (pkg-config tensortrace); docs/api.md has an example.
 *
 * A reader may be used by one thread at a time. Strings and arrays belong to the reader and live
 * until tt_reader_close. Times are ns on CLOCK_MONOTONIC of the recording machine. A trace that was
 * cut off opens, with everything before the cut. */
#ifndef TENSORTRACE_READ_H
#define TENSORTRACE_READ_H

#include <tensortrace/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tt_reader tt_reader;

typedef struct tt_reader_summary {
    uint8_t run_id[16];
    uint64_t created_unix_ns;
    uint64_t pid;
    int complete;  /* 0: cut off */
    int has_times; /* 0: ticks cannot be turned into time; all times are 0 */
    uint32_t batches, runs, graphs, weights;
    uint64_t records; /* op records: executed ops x threads */
    uint64_t dropped; /* records known to have been lost while recording */
} tt_reader_summary;

/* One decoded batch of tokens. */
typedef struct tt_reader_batch {
    uint64_t start_ns, end_ns; /* end_ns 0: it did not end */
    uint32_t n_tokens;
    tt_phase phase;
    const int32_t *tokens;    /* n_tokens of them; NULL: not observed */
    const int32_t *positions; /* likewise */
} tt_reader_batch;

/* One computation of one graph. */
typedef struct tt_reader_run {
    uint32_t id;
    uint32_t batch; /* index, or TT_NONE */
    uint32_t graph; /* index, or TT_NONE */
    tt_observed observed;
    uint64_t start_ns, end_ns; /* end_ns 0: it did not end */
} tt_reader_run;

/* A node or leaf of a graph. */
typedef struct tt_reader_tensor {
    const char *name, *op, *type;
    int executes;          /* a node that is computed, not a view */
    uint64_t ne[4], nb[4]; /* elements, and strides in bytes, as in ggml */
    uint64_t size_bytes;
    uint32_t n_sources;
    uint32_t sources[10]; /* tensor indices, or TT_NONE */
    uint32_t view_source; /* likewise */
    tt_origin origin;
    const char *weight;         /* name in the model file; NULL: not a weight */
    uint64_t file_offset_bytes; /* offset of a weight's bytes in the model file */
    int32_t layer_id;           /* -1: none */
    const char *category;       /* "input" "attention" "ffn" "norm" "output" "other" */
} tt_reader_tensor;

/* One executed node on one thread. */
typedef struct tt_reader_op {
    uint32_t node;   /* tensor index in the run's graph */
    uint32_t covers; /* executing nodes after it that the same call also computed */
    uint32_t thread; /* thread index in the engine's pool */
    int open;        /* its end was not observed: only start_ns is valid */
    uint64_t start_ns, arrive_ns, release_ns;
} tt_reader_op;

/* *reader is NULL on failure. err may be NULL. */
TT_API tt_status tt_reader_open(tt_reader **reader, const char *path, tt_error *err);
/* NULL is allowed. */
TT_API void tt_reader_close(tt_reader *reader);

TT_API void tt_reader_get_summary(const tt_reader *reader, tt_reader_summary *out);
/* A key of the recorder's environment ("command", "mode", "engine_version"), or NULL. */
TT_API const char *tt_reader_get_environment(const tt_reader *reader, const char *key);
/* These three return TT_E_USAGE, and leave *out unchanged, when the index is out of range. */
TT_API tt_status tt_reader_get_batch(const tt_reader *reader, uint32_t index, tt_reader_batch *out);
TT_API tt_status tt_reader_get_run(const tt_reader *reader, uint32_t index, tt_reader_run *out);
/* Nodes come first, in execution order, then leafs. 0 for an unknown graph. */
TT_API uint32_t tt_reader_count_tensors(const tt_reader *reader, uint32_t graph);
TT_API tt_status tt_reader_get_tensor(const tt_reader *reader, uint32_t graph, uint32_t index,
                                      tt_reader_tensor *out);

/* Called for each op; nonzero ends the walk. It must not start another walk of the same reader. */
typedef int tt_reader_visit(void *context, const tt_reader_op *op);
/* Visits the ops of a run (by index): thread by thread, each in time order. */
TT_API tt_status tt_reader_walk_ops(tt_reader *reader, uint32_t run, tt_reader_visit *visit,
                                    void *context, tt_error *err);

/* The fingerprint of an op's output (`run --values`). docs/values.md has the formulas. */
typedef struct tt_reader_value {
    uint32_t node;         /* tensor index in the run's graph */
    uint64_t elements;     /* with SET_ROWS: of the rows written */
    uint64_t n_nan, n_inf; /* how many of them are NaN, infinite */
    uint64_t first_bad;    /* index of the first NaN or infinity, dimension 0 fastest; UINT64_MAX:
                              none */
    int has_range;         /* some are finite: min, max and mean are of those; rms is of all */
    float min, max;
    double mean, rms;
    uint8_t hash[16];   /* XXH3-128 of the native bytes */
    int has_blake3;     /* with --values=hash or full: */
    uint8_t blake3[32]; /* of the elements as little-endian float32 */
    uint32_t n_prefix, n_samples;
    float prefix[8];   /* the first elements */
    float samples[16]; /* elements i * (elements - 1) / (n_samples - 1), i from 0 on */
} tt_reader_value;

/* Called for each value; nonzero ends the walk. It must not start another walk of the same reader.
 * */
typedef int tt_reader_visit_value(void *context, const tt_reader_value *value);
/* Visits the values of a run (by index) in execution order; none if none were captured. */
TT_API tt_status tt_reader_walk_values(tt_reader *reader, uint32_t run,
                                       tt_reader_visit_value *visit, void *context, tt_error *err);

#ifdef __cplusplus
}
#endif

#endif
