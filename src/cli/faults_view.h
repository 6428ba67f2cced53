/* What `tensortrace faults` has worked out, and the two ways of printing it. */
#ifndef TT_CLI_FAULTS_VIEW_H
#define TT_CLI_FAULTS_VIEW_H

#include "analyze/faults.h"
#include "analyze/kernel.h"
#include "analyze/residency.h"
#include "cli/input.h"

#include <stdbool.h>
#include <stdint.h>

/* What rows are by, and what their key is called in tables and in JSON. */
typedef struct tt_faults_dimension {
    const char *name;
    const char *title;
    const char *key;
    bool number; /* the key is a number in JSON */
    tt_faults_by by;
    tt_faults_sort sort; /* unless --sort says otherwise */
} tt_faults_dimension;

typedef struct tt_faults_options {
    tt_input input;
    tt_filter filter;
    const tt_faults_dimension *by;
    bool by_given;
    tt_faults_sort sort;
    bool sorted;
    bool limited;
    uint64_t limit; /* 0: none */
    bool residency; /* the pages instead of the faults */
    bool reads;     /* op by op */
} tt_faults_options;

/* A model file over its residency samples. */
typedef struct tt_faults_file {
    uint64_t samples;
    tt_residency_sample first, last;
    uint64_t least_bytes, most_bytes;
    uint64_t came_bytes, went_bytes;
} tt_faults_file;

typedef struct tt_faults_view {
    const tt_faults_options *o;
    const tt_model *m;
    bool counted;    /* the trace has counters of ops */
    tt_faults *sums; /* NULL when it has none */
    tt_kernel *kernel;
    tt_kernel_sum batches, recording;
    tt_residency_sample *samples; /* those that pass the filter */
    size_t n_samples, samples_capacity;
    tt_faults_file *files;        /* m->n_files, over all samples */
    tt_residency_weight *weights; /* m->n_weights, over all samples */
    bool failed;                  /* memory ran out */
} tt_faults_view;

/* Whether the weight's layer and name pass. */
bool tt_faults_passes_weight(const tt_faults_view *v, const tt_weight *w);
/* "batch_begin", "batch_end", "recording_begin", "recording_end" */
const char *tt_faults_moment(uint8_t moment);

/* False when the output failed or memory ran out. */
bool tt_faults_print_json(tt_faults_view *v);
bool tt_faults_print_text(tt_faults_view *v);

#endif
