/* Reading a trace: open it, look at its batches, runs and tensors, walk its ops.
 *
 * A reader is used by one thread at a time. Strings and arrays belong to the reader
 * and live until tensortrace_close. Times are ns on CLOCK_MONOTONIC of the machine
 * that recorded. A trace that was cut off opens: what is before the cut is there. */
#ifndef TENSORTRACE_READ_H
#define TENSORTRACE_READ_H

#include <tensortrace/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tensortrace_reader tensortrace_reader;

typedef struct tensortrace_summary {
    uint8_t run_id[16];
    uint64_t created_unix_ns;
    uint64_t pid;
    int complete;  /* 0: cut off */
    int has_times; /* 0: ticks cannot be turned into time; all times are 0 */
    uint32_t batches, runs, graphs, weights;
    uint64_t records; /* of ops: executed ops x threads */
    uint64_t dropped; /* records that were lost while recording, as counted */
} tensortrace_summary;

/* One decoded batch: what the commands call a token. */
typedef struct tensortrace_batch {
    uint64_t begin_ns, end_ns; /* end_ns 0: it never ended */
    uint32_t n_tokens;
    int phase;
    const int32_t *tokens;    /* n_tokens, or NULL: not observed */
    const int32_t *positions; /* likewise */
} tensortrace_batch;

/* One computation of one graph. */
typedef struct tensortrace_run {
    uint32_t id;
    uint32_t batch; /* index, or TENSORTRACE_NONE */
    uint32_t graph; /* index, or TENSORTRACE_NONE */
    int observed;
    uint64_t begin_ns, end_ns; /* end_ns 0: it never ended */
} tensortrace_run;

/* A node or leaf of a graph. */
typedef struct tensortrace_tensor {
    const char *name, *op, *type;
    int executes;          /* a node that is computed, not a view */
    uint64_t ne[4], nb[4]; /* elements and strides in bytes, as ggml has them */
    uint64_t size_bytes;
    uint32_t n_sources;
    uint32_t sources[10]; /* tensor indices, or TENSORTRACE_NONE */
    uint32_t view_source; /* likewise */
    int origin;
    const char *weight;   /* name in the model file, or NULL: no weight */
    uint64_t file_offset; /* of its bytes in the model file, for a weight */
    int32_t layer_id;     /* -1: belongs to none */
    const char *category; /* "input" "attention" "ffn" "norm" "output" "other" */
} tensortrace_tensor;

/* One executed node on one thread. */
typedef struct tensortrace_op {
    uint32_t node;   /* tensor index in the run's graph */
    uint32_t covers; /* executing nodes behind it that the same call also computed */
    uint32_t thread; /* thread index in the engine's pool */
    int open;        /* its end was not seen: only start_ns is meaningful */
    uint64_t start_ns, arrive_ns, release_ns;
} tensortrace_op;

/* *reader is NULL on failure. err may be NULL. */
TENSORTRACE_API int tensortrace_open(tensortrace_reader **reader, const char *path,
                                     tensortrace_error *err);
/* NULL is allowed. */
TENSORTRACE_API void tensortrace_close(tensortrace_reader *reader);

TENSORTRACE_API void tensortrace_get_summary(const tensortrace_reader *reader,
                                             tensortrace_summary *out);
/* A key of the recorder's environment ("command", "mode", "engine_version"), or NULL. */
TENSORTRACE_API const char *tensortrace_environment(const tensortrace_reader *reader,
                                                    const char *key);
/* Each is TENSORTRACE_E_USAGE when the index is out of range. */
TENSORTRACE_API int tensortrace_get_batch(const tensortrace_reader *reader, uint32_t index,
                                          tensortrace_batch *out);
TENSORTRACE_API int tensortrace_get_run(const tensortrace_reader *reader, uint32_t index,
                                        tensortrace_run *out);
/* Nodes come first, in the order of execution, then leafs. 0 for an unknown graph. */
TENSORTRACE_API uint32_t tensortrace_count_tensors(const tensortrace_reader *reader,
                                                   uint32_t graph);
TENSORTRACE_API int tensortrace_get_tensor(const tensortrace_reader *reader, uint32_t graph,
                                           uint32_t index, tensortrace_tensor *out);

/* Called per op; nonzero ends the walk. */
typedef int tensortrace_visit(void *context, const tensortrace_op *op);
/* The ops of the run with that index, thread after thread, each in the order of time. */
TENSORTRACE_API int tensortrace_walk_ops(tensortrace_reader *reader, uint32_t run,
                                         tensortrace_visit *visit, void *context,
                                         tensortrace_error *err);

#ifdef __cplusplus
}
#endif

#endif
