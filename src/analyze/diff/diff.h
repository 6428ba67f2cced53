/* A comparison of two runs: what was computed, how long it took, what it read, and its
 * circumstances.
 *
 * Per phase, tokens that both runs computed are paired, the ops of each pair are aligned by the
 * names and kinds of their nodes, and the times of matching ops are compared token by token.
 * docs/diff.md has the method and its formulas. Each side may have several runs of the same thing;
 * their differences are the noise that a difference must exceed. */
#ifndef TT_ANALYZE_DIFF_DIFF_H
#define TT_ANALYZE_DIFF_DIFF_H

#include "analyze/diff/profile.h"
#include "analyze/diff/stats.h"
#include "analyze/summary.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_DIFF_FILES_MAX 64u      /* of both sides */
#define TT_DIFF_CHANGES_MAX 65536u /* listed per phase */
#define TT_DIFF_PHASES 4u
#define TT_DIFF_CAUSES_MAX 4u

typedef struct tt_diff_options {
    double threshold; /* the smallest change that matters, as a share of a token's time (of the
                         geometric mean of both sides') */
    double level;     /* the probability that noise passes for a change: 0.01 */
    bool structure_only;
    tt_profile_progress *progress; /* or NULL; in units of both sides */
    void *context;                 /* for progress */
    tt_over over;                  /* called by several threads */
} tt_diff_options;

/* The dimensions by which samples are summed. */
typedef enum tt_diff_family {
    TT_DIFF_TOTAL,
    TT_DIFF_PARTS,      /* category */
    TT_DIFF_COMPONENTS, /* "attn_q" */
    TT_DIFF_KINDS,      /* "MUL_MAT" */
    TT_DIFF_LAYERS,
    TT_DIFF_OPS, /* each op */
    TT_DIFF_FAMILIES
} tt_diff_family;

/* One side of a row, over its samples; per token. */
typedef struct tt_diff_side {
    bool present;
    uint64_t count;   /* executions of its ops, over all compared tokens and runs */
    size_t n_samples; /* sampled tokens in which any ran */
    double time_ns;   /* of a token, undisturbed, whatever the other side's. Of a row on one side
                         only: its median. Where rows are compared with others
                         (tt_diff_against_others), of all but the whole: its ops' own work, summed;
                         NAN: it has no ops */
    double median_ns, p25_ns, p75_ns; /* as computed by tt_quantiles_sorted */
    double least_ns, p90_ns; /* of the times that time_ns is of; of own work each op's, summed */
    double mean_ns;          /* over all tokens, not only the samples */
    double wait_median_ns;   /* the part of the time in which its threads did not compute, averaged
                                over them; NAN: waits were not observed */
    double weight_bytes;     /* mean */
    bool at_most;
} tt_diff_side;

typedef struct tt_diff_row {
    const char *key;         /* part, component, kind of op; the op's name */
    const char *key_b;       /* of an op with another name in B; else NULL */
    const char *op_a, *op_b; /* of an op: "RMS_NORM+MUL", several joined by ", "; else NULL */
    int32_t layer_id;
    const char *category, *component; /* of an op */
    tt_diff_side a, b;
    double delta_ns;    /* B's time_ns - A's */
    double expected_ns; /* on a busy machine: what B would take if its ops had changed as the others
                           of their kind did; change is from there. NAN: change is from A's time */
    double delta_wait_ns; /* B's wait_median_ns - A's */
    /* The relative increase of a token's time in B: exp(shift) - 1. */
    tt_shift shift;
    double change, low, high; /* low, high: the confidence interval at the level, for this row
                                 alone */
    double p, p_adjusted;     /* of no change; NAN: not tested */
    double p_matters;         /* of a change within the threshold; adjusted */
    bool significant, matters;
    double edge;    /* of shift: its size from which on it matters */
    bool identical; /* all samples of A and B are equal, to the tick */
} tt_diff_row;

enum {
    TT_CHANGE_NAME = 1,
    TT_CHANGE_OP = 2,
    TT_CHANGE_TYPE = 4, /* of its values */
    TT_CHANGE_SHAPE = 8,
    TT_CHANGE_SOURCES = 16, /* their number or types */
    TT_CHANGE_FUSION = 32,
    TT_CHANGE_BACKEND = 64,
    TT_CHANGE_ORDER = 128 /* of execution, relative to others */
};

/* A node that differs. */
typedef struct tt_diff_change {
    const tt_tensor *a, *b;  /* NULL: missing */
    const char *op_a, *op_b; /* of the ops that compute it, "RMS_NORM+MUL" */
    const tt_graph *graph_a, *graph_b;
    unsigned what; /* TT_CHANGE_*, if both exist */
} tt_diff_change;

typedef struct tt_diff_structure {
    uint64_t nodes_a, nodes_b, common; /* counting each distinct pair of graphs once */
    uint64_t added, removed, changed;
    tt_diff_change *list;
    size_t n;
    uint32_t pairs;                          /* distinct pairs of graphs */
    bool shapes_compared;                    /* all pairs have the same positions and numbers of
                                                tokens */
    uint32_t *row_of_slot_a, *row_of_slot_b; /* private: in ops */
} tt_diff_structure;

typedef enum tt_diff_verdict {
    TT_DIFF_UNTESTED,  /* too few tokens */
    TT_DIFF_UNDECIDED, /* it may exceed the threshold or not */
    TT_DIFF_SAME,
    TT_DIFF_SLOWER,
    TT_DIFF_FASTER,
    TT_DIFF_SHIFTED /* the total is not shown to differ, but parts of it are */
} tt_diff_verdict;

/* The component with most of the change of a token's time. */
typedef struct tt_diff_cause {
    const char *component;
    char title[64];        /* for people: "Attention V" */
    uint32_t n_layers;     /* 0: none */
    const int32_t *layers; /* ascending: those with a significant share */
    bool all_layers;
    double delta_ns, delta_wait_ns;
    bool significant; /* the component's own change is significant */
} tt_diff_cause;

typedef struct tt_diff_phase {
    unsigned phase;  /* enum tt_phase */
    tt_units *units; /* by file */
    tt_unit_pairs pairs;
    uint32_t stride, n_samples;
    tt_profile **profiles; /* by file */
    tt_diff_structure structure;
    tt_diff_row *rows[TT_DIFF_FAMILIES];
    size_t n_rows[TT_DIFF_FAMILIES];
    /* Of the time of the ops, the part in which the thread that finished last was off CPU; NAN: not
     * observed on that side. */
    double off_share_a, off_share_b;
    bool undisturbed; /* times are without that; else it was not observed, or differs too */
    double unsteady;  /* the log of a usual batch's time by a fast one's, of the side where that is
                         more */
    bool busy;     /* off CPU TT_OFF_CPU_MUCH or more, or TT_DIFF_UNSTEADY: runs are also tested by
                      their order, or more noise is allowed for (TT_DIFF_SPEEDS) */
    double unseen; /* private: the variance that this adds to a shift */
    size_t left_out; /* ops of repeats that their side's first run does not have */
    tt_diff_verdict verdict;
    tt_diff_cause causes[TT_DIFF_CAUSES_MAX];
    size_t n_causes;
    int32_t *layers; /* private: of the causes */
    tt_arena texts;
} tt_diff_phase;

/* A setting of the environment that differs; NULL: not recorded. */
typedef struct tt_diff_setting {
    const char *key;
    const char *a, *b;
} tt_diff_setting;

typedef struct tt_diff_fault_row {
    int64_t layer_id; /* -1: none; INT64_MIN: all together */
    uint64_t minor_a, minor_b, major_a, major_b, read_a, read_b;
    bool has_reads;
} tt_diff_fault_row;

typedef struct tt_diff_router {
    int32_t layer_id;
    uint32_t experts_a, experts_b;
    uint64_t n_tokens_a, n_tokens_b;
    double divergence_bits; /* Jensen-Shannon, of the shares of the choices: 0 (equal) to 1 */
    double jaccard;         /* of the sets of experts chosen at all */
} tt_diff_router;

/* The model files of both sides, by their content: beginnings (with the metadata) and sizes; then
 * tensors' names, types, shapes and sizes. */
typedef struct tt_diff_models {
    bool differ;    /* no model is on both sides; else one may have more: an adapter, a draft */
    char text[640]; /* what differs, in words; "": nothing that was observed */
} tt_diff_models;

/* Data besides the ops, of the first run of each side. */
typedef struct tt_diff_around {
    tt_diff_models models;
    tt_diff_setting *settings;
    size_t n_settings;
    tt_summary summary_a, summary_b;
    bool has_faults; /* observed in both */
    bool faults_a, faults_b;
    tt_diff_fault_row *faults; /* the first one is the total */
    size_t n_faults;
    tt_diff_router *routers;
    size_t n_routers;
    uint64_t routed_a, routed_b; /* expert matmuls in the graphs */
    tt_arena texts;
} tt_diff_around;

typedef struct tt_diff {
    const tt_model *const *files; /* A's, then B's; owned by the caller */
    size_t n_files, n_a;
    tt_diff_options options;
    tt_diff_phase phases[TT_DIFF_PHASES]; /* generate, prompt, mixed, unknown */
    tt_diff_around around;
    uint64_t records; /* joined, of all files */
    uint64_t orphan;
} tt_diff;

/* Compares the first n_a of the n_files runs with the others. The models must outlive *out, which
 * is freed with tt_diff_free; NULL on failure. Files are read in parallel, one thread per file as
 * far as there are processors: no model may be listed twice. */
tt_status tt_diff_make(const tt_model *const *files, size_t n_files, size_t n_a,
                       const tt_diff_options *options, tt_diff **out, tt_error *err);
void tt_diff_free(tt_diff *d);

/* The noise that a comparison of two runs allows for where programs wait for processors, beyond
 * what it sees: a processor whose other half is in use computes at two thirds of its speed or less
 * for as long as it is, and a short run may have been computed at one speed throughout. The
 * standard deviation of the log of a run's time, of runs that are at most TT_DIFF_SPEED_SECONDS
 * long; its square falls with their length. */
#define TT_DIFF_UNSTEADY 0.025 /* busy, too: a block's usual batch exceeds its fast ones by that   \
                                */
#define TT_DIFF_SPEEDS 0.3
#define TT_DIFF_SPEED_SECONDS 1.0

/* On a busy machine the ops of a run are slower together, so an op is compared with the others of
 * its kind. By how much ops of one program then still differ from one run to another is assumed, as
 * standard deviations of the log of a time: of rows that are compared with ops of their kind, and
 * with others; and of each op by itself. Besides that of an op's time, however short it is. From
 * recorded runs: docs/diff.md. */
#define TT_DIFF_ALIKE_VARY 0.035
#define TT_DIFF_OTHERS_VARY 0.15
#define TT_DIFF_OP_VARIES 0.07
#define TT_DIFF_OP_VARIES_NS 200.0
#define TT_DIFF_ALIKE_SAMPLES 32u /* of fewer batches, nothing is tested so */
#define TT_DIFF_ALIKE_SHARE 0.01  /* nor rows with less of a batch's work on both sides */

/* Whether rows other than the whole are compared with others, by their own work. */
bool tt_diff_against_others(const tt_diff_phase *p);
/* A row's difference that its own change explains: B's time less what is expected of it. */
double tt_diff_own_delta(const tt_diff_row *row);

/* The phase for the verdict: generate, if any of it was compared; else prompt, else any other.
 * NULL: nothing was compared. */
const tt_diff_phase *tt_diff_main(const tt_diff *d);
/* Nodes that both sides computed, in any phase. */
uint64_t tt_diff_common(const tt_diff *d);
/* Whether both sides computed any: without that, nothing was compared. */
bool tt_diff_comparable(const tt_diff *d);
/* Nodes that differ, or exist on one side only, in any phase. */
uint64_t tt_diff_changes(const tt_diff *d);
/* Whether a phase's time is shown to differ by more than the threshold. */
bool tt_diff_times_differ(const tt_diff *d);
const char *tt_diff_verdict_name(tt_diff_verdict verdict);

/* Private, of diff.c and its parts: */
tt_status tt_diff_align_phase(tt_diff_phase *p, size_t n_a, tt_error *err);
tt_status tt_diff_sum_phase(tt_diff_phase *p, const tt_diff *d, tt_error *err);
tt_status tt_diff_evaluate_phase(tt_diff_phase *p, const tt_diff *d, tt_error *err);
tt_status tt_diff_look_around(tt_diff *d, tt_error *err);
void tt_diff_around_free(tt_diff_around *a);
/* False if out of memory. */
bool tt_diff_compare_models(const tt_model *a, const tt_model *b, tt_diff_models *out);

/* A comparison token by token, for plots of two runs.
 *
 * The samples are those of tt_diff's medians and tests: the k-th is the pair of tokens k x stride
 * of its phase. */

/* One side of a pair. */
typedef struct tt_diff_token {
    uint32_t token;    /* see tt_model_batch_number; TT_NONE: a computation outside of batches */
    double begin_ns;   /* since that trace's zero */
    double time_ns;    /* start to end; NAN: not observed */
    uint32_t n_tokens; /* of the batch; 0: not known */
    bool has_position;
    int32_t position; /* in the text, of its first token */
} tt_diff_token;

/* One side of the sample k < p->n_samples; `file` is one of d->files. */
tt_diff_token tt_diff_sample(const tt_diff *d, const tt_diff_phase *p, size_t file, size_t k);
/* The smallest and largest time of the tokens from that sample to the next one, most of which are
 * not samples in a long run. NAN: none was observed. */
void tt_diff_sample_span(const tt_diff_phase *p, size_t file, size_t k, double *least_ns,
                         double *most_ns);
/* Fills out[0 .. p->n_samples - 1] with the time of the part p->rows[TT_DIFF_PARTS][part] in each
 * sample of that file, the first of its side; NAN: it did not run there. */
void tt_diff_part_times(const tt_diff *d, const tt_diff_phase *p, size_t part, size_t file,
                        double *out);

/* The pair of a token, without comparing the runs: costs the time and memory of listing the
 * batches. */
typedef struct tt_diff_pair {
    unsigned phase;
    bool has_a, has_b; /* at least one */
    tt_diff_token a, b;
} tt_diff_pair;

/* `token` is b's if of_b, else a's. TT_E_NOT_FOUND if that trace has no such complete token. */
tt_status tt_diff_pair_find(const tt_model *a, const tt_model *b, bool of_b, uint32_t token,
                            tt_diff_pair *out, tt_error *err);

/* The op with a given name (as in a comparison's tables) in one token of one side. */
typedef struct tt_diff_located {
    uint32_t run;    /* in tt_model.runs; TT_NONE: the token has no op of that name */
    uint32_t node;   /* of its record, in the run's graph */
    uint32_t weight; /* the first that it reads, or TT_NONE */
} tt_diff_located;

/* Reads the token's records: m must not be in use by another thread. */
tt_status tt_diff_locate(const tt_model *m, uint32_t token, const char *name, tt_diff_located *out,
                         tt_error *err);

#endif
