/* The figures of one run of a study: its speed, memory and order of reading, compact enough to keep
 * those of many runs. */
#ifndef TT_STUDY_FIGURES_H
#define TT_STUDY_FIGURES_H

#include "analyze/domains.h"
#include "base/status.h"
#include "experiment/results.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads are analysed in the first batches with so many ops. */
#define TT_STUDY_OPS_MAX 1000000u
/* The drawing of what each batch reads: batches, and intervals of the model files. */
#define TT_STUDY_ROWS 48u
#define TT_STUDY_BINS 96u

/* How often a slice of an expert was read. */
typedef struct tt_study_slice {
    uint64_t key; /* weight and expert */
    uint64_t reads;
} tt_study_slice;

typedef struct tt_study_run {
    const tt_result *result; /* the caller's */
    bool is_repeat;          /* an earlier run has the same prompt: set by the study */
    uint32_t prompt;         /* equal for runs of the same prompt: set by the study */
    const char *differs;     /* the part of its condition that not all runs have: set by the
                                study */
    bool traced;             /* there is a trace; else only the result is known */
    const char *unread;      /* why its trace does not count; NULL: it does: set by the study */
    bool has_experts;
    uint64_t model_bytes; /* of its files */
    uint64_t prompt_tokens, generated_tokens;
    double prompt_tokens_per_s, tokens_per_s; /* 0: not known; of generation */
    double first_token_ns;                    /* of all batches of the prompt; 0: unknown */
    double generate_ns;
    bool has_io;                     /* token_read_bytes of the process */
    bool has_all_io;                 /* read_bytes, of each batch */
    uint64_t read_bytes;             /* from the first batch's start to the last one's end */
    double token_read_bytes;         /* per generated token */
    bool has_faults;                 /* of the process */
    double token_major, token_minor; /* per generated token */
    double batch_weights_bytes;      /* distinct bytes of weights that a generated batch reads */
    bool has_reads;                  /* of weights: the members up to hottest */
    uint64_t touched_bytes;          /* of the model, read by any op */
    /* Between consecutive reads of weights, in generation: */
    bool has_steps;
    double adjacent;       /* share of steps that continue where the last read ended */
    double in_sequence;    /* likewise the share of requests of TT_HEAT_REQUEST_BYTES */
    double forward;        /* share of jumps that go forward */
    double jump_bytes;     /* median length of jumps forward; 0: none */
    double sweeps;         /* per batch */
    double every, never;   /* shares of the model that every batch reads, that no batch reads */
    double hottest;        /* share of the weights that receives half of the bytes read */
    uint32_t read_batches; /* analysed batches; fewer than the run's: the first */
    bool has_repeated;     /* share of a generated batch's bytes that the previous one read, too */
    double repeated;
    uint32_t layer_steps, layers_forward; /* from a layer to the next; those that go forward in the
                                             file */
    bool has_major_parts;                 /* major faults in ops of generated batches, by what the
                                             ops read: */
    double major_experts, major_layers, major_others; /* experts; the rest of the layers; anything
                                                         else */
    bool has_loading;
    uint64_t loaded_bytes; /* fetched by mapping and loading, before the first batch */
    bool has_vain;
    uint64_t vain_bytes; /* of these and of what was there before: not read by any op, or evicted
                            first */
    bool has_residency;
    uint64_t first_batch_bytes; /* of the model in RAM when the first batch began */
    bool has_kv;
    uint64_t kv_bytes;     /* written by the end */
    double kv_token_bytes; /* per further token */
    bool has_available;
    uint64_t available_bytes, available_end_bytes; /* memory of the machine, before and after */
    uint64_t fragments;     /* of the first model file on its disk; 0: unknown */
    bool is_outlier;        /* among runs of its condition: set by the study */
    tt_study_slice *slices; /* of experts, ascending; owned */
    size_t n_slices;
    uint64_t (*picture)[TT_STUDY_BINS]; /* bytes read, by batch; owned; NULL: not requested */
    uint32_t picture_rows;
    uint64_t picture_bin_bytes; /* of the model files, one after another */
} tt_study_run;

/* Reads the trace at `path` (NULL: there is none). With `domains`, the run's choices of experts are
 * added there, under its domain. Sets r->result. Free r with tt_study_run_free, also on failure.
 * TT_E_FORMAT also where the trace was cut off, of a run that was not killed: what is missing would
 * be taken for what the run did not do. */
tt_status tt_study_run_make(tt_study_run *r, const tt_result *result, const char *path,
                            bool wants_picture, tt_domains *domains, tt_error *err);
void tt_study_run_free(tt_study_run *r);

/* The name that identifies runs: the domain, else the label, else the prompt. */
const char *tt_study_domain(const tt_result *r);

/* Spearman's rank correlation of how often two runs of a model read each slice (ties share their
 * ranks). NAN if their slices differ, or all are read equally often. False if out of memory. */
bool tt_study_rank_correlation(const tt_study_run *a, const tt_study_run *b, double *rho);

extern const tt_schema tt_study_run_schema; /* rows: tt_study_run */

#endif
