/* Reads from disk, and what was in RAM: `tensortrace faults --json`. */
#ifndef TT_ANSWER_FAULTS_H
#define TT_ANSWER_FAULTS_H

#include "analyze/faults.h"
#include "analyze/kernel.h"
#include "analyze/residency.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

/* A model file over all residency samples. */
typedef struct tt_faults_file {
    uint64_t samples;
    tt_residency_sample first, last;
    uint64_t least_bytes, most_bytes;
    uint64_t came_bytes, went_bytes;
} tt_faults_file;

typedef struct tt_faults_view {
    /* The request. */
    const char *path;
    const tt_model *m;
    const tt_filter *filter;
    const tt_faults_dimension *by;
    bool by_given;
    tt_listing_wish wish; /* of the rows; its limit also applies to the samples */
    bool residency;       /* pages instead of faults */
    /* The result of tt_faults_collect. */
    bool counted;    /* the trace has kernel counters of ops */
    tt_faults *sums; /* NULL without counters */
    tt_kernel_sum process;
    tt_faults_context columns; /* for the rows: */
    tt_rowset set;
    tt_listing listing;
    const tt_listing *rows; /* NULL: none */
    tt_kernel *kernel;
    tt_kernel_sum batches, recording;
    tt_residency_sample *samples; /* those that pass the filter */
    size_t n_samples, samples_capacity;
    tt_faults_file *files;        /* m->n_files, over all samples */
    tt_residency_weight *weights; /* m->n_weights, over all samples */
    bool failed;                  /* memory ran out */
} tt_faults_view;

/* Whether the weight's layer and name pass the filter. */
bool tt_faults_passes_weight(const tt_faults_view *v, const tt_weight *w);

/* Walks the trace for the view's request. Free it with tt_faults_view_free, also after an error. */
tt_status tt_faults_collect(tt_faults_view *v, tt_faults_progress *progress, void *context,
                            tt_error *err);
void tt_faults_view_free(tt_faults_view *v);

/* Writes what was collected as one object. False if out of memory. */
bool tt_faults_json(tt_json *j, tt_faults_view *v);
/* Writes one object: the rows of how a model was loaded. */
void tt_loading_json(tt_json *j, const char *path, const tt_listing *rows);
/* Of a view's weights; the context is the view. */
extern const tt_schema tt_faults_weight_schema;

#endif
