/* A summary that needs no walk over the op records. */
#ifndef TT_ANALYZE_SUMMARY_H
#define TT_ANALYZE_SUMMARY_H

#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>
#include <stdint.h>

/* Limit of different sequences counted in a trace. */
#define TT_SUMMARY_SEQUENCES_MAX (1u << 20)

/* Batches with tokens of only one phase. */
typedef struct tt_phase_summary {
    uint64_t batches;
    uint64_t tokens;       /* of the phase, including those in mixed batches */
    uint64_t mixed_tokens; /* of these, in mixed batches */
    /* Of the phase, that somebody got: prompts that a verifying context read, generated tokens that
     * were accepted. */
    uint64_t delivered, mixed_delivered;
    bool delivered_known;
    uint64_t timed;      /* delivered, in those of the batches that have an end: of total_ns */
    double total_ns;     /* from batches' start to end, summed; without those that have no end */
    double tokens_per_s; /* delivered, of these batches; 0: unknown, or a warm-up's, which is not a
                            rate */
} tt_phase_summary;

/* Generated tokens, if some of them were guesses. */
typedef struct tt_speculation {
    bool known; /* which ones were */
    bool any;
    bool has_draft;    /* a context of its own drafted */
    uint64_t computed; /* by all contexts */
    uint64_t drafted;  /* of these, by contexts that draft for others */
    uint64_t verified; /* guesses that were checked: accepted + rejected + undecided */
    uint64_t accepted, rejected;
    uint64_t undecided; /* the trace does not show how the sequence went on */
} tt_speculation;

/* The time from the begin of a prompt's first batch to the end of its last, without the time in
 * which no batch was computed: of each prompt behind which tokens were generated. */
typedef struct tt_first_tokens {
    uint32_t n; /* 0: unknown, or nothing was generated */
    double median_ns, worst_ns;
} tt_first_tokens;

/* Buffers of one kind. */
typedef struct tt_kind_summary {
    uint32_t count;
    uint64_t size_bytes; /* summed over all buffers, freed ones included */
} tt_kind_summary;

typedef struct tt_summary {
    tt_phase_summary prompt, generate, mixed, warmup, unknown;
    tt_phase_summary training; /* not among the unknown */
    tt_speculation speculation;
    tt_first_tokens first_tokens;
    double elapsed_ns;  /* from the start of the first batch or run to the end of the last */
    uint64_t records;   /* op records: executed ops x lanes */
    uint64_t ops;       /* executed: of each run the most that a lane recorded */
    uint32_t lanes;     /* the most in any run */
    uint64_t ops_bytes; /* of the file, in OPS chunks */
    uint64_t file_bytes;
    uint64_t details;        /* records of DETAIL streams, incomplete ones included */
    uint64_t data_parts;     /* VALUE chunks: data of outputs */
    uint64_t data_bytes;     /* of the file, in those */
    bool sequences_observed; /* of any batch; then: */
    uint32_t sequences;      /* different ones; those of two contexts are different */
    tt_kind_summary buffers[TT_BUFFER_OUTPUT + 1]; /* by tt_buffer_kind */
    uint64_t model_bytes;                          /* of all weights of all model files */
    /* By how they were observed. */
    uint64_t runs_hooked, runs_called_back, runs_by_program, runs_bounds;
    uint64_t runs_open; /* without an end */
} tt_summary;

void tt_summarize(const tt_model *m, tt_summary *s);

/* For a tt_phase_summary. Context: the tt_model, or NULL: then a time of zero is null. */
extern const tt_schema tt_phase_summary_schema;
extern const tt_schema tt_speculation_schema, tt_first_tokens_schema;

#define TT_SPECULATION_TEXT 320u
/* "of 94 guessed tokens 20 were accepted (21 %); 211 more were computed to draft them"; "" if there
 * were none. */
const char *tt_speculation_say(const tt_speculation *s, char out[TT_SPECULATION_TEXT]);

/* Private to summary.c: of all contexts that do not draft. */
void tt_first_tokens_find(const tt_model *m, tt_first_tokens *out);

#endif
