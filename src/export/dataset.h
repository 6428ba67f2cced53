/* The format `dataset`: a folder of JSON about one run, as earlier pipelines wrote it. Written step
 * by step, so that the caller can report each. */
#ifndef TT_EXPORT_DATASET_H
#define TT_EXPORT_DATASET_H

#include "export/export.h"

#include <stdbool.h>
#include <stdint.h>

/* Limits of tokens, and of their graphs in total, that the format writes without `all`; the steps
 * below have no limit. */
#define TT_DATASET_TOKENS_MAX 50000u
#define TT_DATASET_RUNS_MAX 100000u

extern const tt_export_format tt_format_dataset;
/* A JSON line for each buffer allocated or freed, for earlier pipelines' readers. */
extern const tt_export_format tt_format_buffer_events;

typedef struct tt_dataset tt_dataset;

/* The size of a step's output. */
typedef struct tt_dataset_sum {
    uint64_t n_files;
    uint64_t size_bytes; /* as stored */
    uint64_t n_items;    /* tensors, entries, nodes, buffer events */
} tt_dataset_sum;

/* Begins a dataset at `path`; nothing is there before the commit. `*options` and what it points to
 * must stay valid until then. Checks that the trace has what a dataset needs (a clock, at least one
 * batch, the model file's layout), and that there is enough disk space for its estimated size. */
tt_status tt_dataset_open(const tt_model *m, const char *path, const tt_export_options *options,
                          tt_dataset **out, tt_error *err);
/* The steps, each once, in any order. *sum may be NULL. */
tt_status tt_dataset_experiment(tt_dataset *d, tt_dataset_sum *sum, tt_error *err);
tt_status tt_dataset_memory_map(tt_dataset *d, tt_dataset_sum *sum, tt_error *err);
tt_status tt_dataset_traces(tt_dataset *d, tt_dataset_sum *sum, tt_error *err);
tt_status tt_dataset_graphs(tt_dataset *d, tt_dataset_sum *sum, tt_error *err);
tt_status tt_dataset_buffers(tt_dataset *d, tt_dataset_sum *sum, tt_error *err);
/* The folder being written, for a caller's own files. */
const char *tt_dataset_folder(const tt_dataset *d);
/* Frees d in either case. */
tt_status tt_dataset_commit(tt_dataset *d, tt_error *err);
void tt_dataset_abandon(tt_dataset *d);

#endif
