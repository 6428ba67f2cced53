/* Keys by which outputs are grouped, as numbers: the node's name, its name without the layer, or
 * the op. */
#ifndef TT_ANALYZE_VALUES_GROUPS_H
#define TT_ANALYZE_VALUES_GROUPS_H

#include "analyze/texts.h"
#include "analyze/values/values.h"
#include "base/idmap.h"
#include "value/fingerprint.h"

#include <math.h>

#define TT_VALUES_KEY_TEXT 160u

typedef enum tt_values_key {
    TT_VALUES_KEY_NAME,
    TT_VALUES_KEY_BASE_NAME, /* the name without its layer */
    TT_VALUES_KEY_OP,
    TT_VALUES_KEY_BASE_NAME_AND_OP /* several nodes of a layer may have the same name: "Qcur-0" */
} tt_values_key;

/* Zero-filled except `what` and `m` is ready. */
typedef struct tt_values_keys {
    tt_values_key what;
    const tt_model *m;
    tt_texts texts;      /* their numbers are the keys' */
    uint32_t **of_graph; /* private: by graph, by node, number + 1 */
} tt_values_keys;

/* The number of an output's key; TT_NONE if out of memory. */
uint32_t tt_values_keys_of(tt_values_keys *k, tt_values_walk *w, const tt_values_seen *seen);
void tt_values_keys_free(tt_values_keys *k);

/* "l_out-3" of layer 3 is "l_out", "cache_k_l0 (view)" of layer 0 "cache_k (view)", "blk.2.q_proj"
 * of layer 2 "q_proj"; a node without a name is its op. Longer ones are cut. Returns out. */
char *tt_values_base_name(const tt_tensor *t, char out[TT_VALUES_KEY_TEXT]);

/* Outputs grouped (by node name, by name without layer, by op, layer, token), outliers, and outputs
 * that never change. */

typedef enum tt_values_by {
    TT_VALUES_BY_TENSOR,    /* the node's name, layer and model */
    TT_VALUES_BY_BASE_NAME, /* the node's name without its layer: "l_out" */
    TT_VALUES_BY_OP,
    TT_VALUES_BY_LAYER,
    TT_VALUES_BY_BATCH
} tt_values_by;

typedef struct tt_values_group {
    const char *key; /* of BY_TENSOR, BY_PLACE, BY_OP; belongs to the groups */
    int64_t number;  /* of BY_BATCH: the batch or -1 */
    int32_t layer;   /* of BY_LAYER, BY_TENSOR: the layer or TT_LAYER_NONE */
    uint32_t model;  /* likewise: tt_model_file.model, or TT_NONE */
    uint64_t outputs, elements;
    uint64_t n_nan, n_inf;
    uint64_t bad, masking, constant, zero; /* outputs */
    uint64_t repeated; /* outputs with the same bytes as that node's output in the previous batch */
    bool has_range;
    float min, max;
    double rms, mean;        /* over the finite elements of all outputs */
    double rms_min, rms_max; /* of one output */
} tt_values_group;

typedef struct tt_values_groups {
    tt_values_by by;
    tt_values_group *list; /* in the order of first execution; layers and tokens ascending */
    size_t n;
    tt_values_counts counts;
    void *names; /* private: texts */
} tt_values_groups;

tt_status tt_values_groups_make(const tt_model *m, const tt_values_query *q, tt_values_by by,
                                const tt_over *over, tt_values_groups *out, tt_error *err);
void tt_values_groups_free(tt_values_groups *g);

/* An output whose RMS or largest magnitude is an outlier among those with the same node name
 * (without layer) and op, over all layers and tokens of the same phase. */
typedef struct tt_values_outlier {
    tt_values_row row;
    bool by_max;         /* by its largest magnitude; else by its RMS */
    double value, usual; /* of the output; the median of its group */
    double score;        /* robust z, signed */
    uint64_t among;      /* outputs compared */
} tt_values_outlier;

typedef struct tt_values_outliers {
    tt_values_outlier *list; /* the largest |score| first */
    size_t n;                /* kept: at most q->limit; 0: all */
    uint64_t total;
    uint64_t compared; /* outputs */
    tt_values_counts counts;
} tt_values_outliers;

/* x = log2 of the RMS (or of the largest magnitude) of an output, over the outputs of its group: z
 * = 0.6745 (x - median) / MAD, or if MAD is 0, (x - median) / (1.2533 meanAD) (Iglewicz and
 * Hoaglin, "How to Detect and Handle Outliers", 1993, their modified z-score). It is an outlier if
 * |z| > TT_VALUES_OUTLIER_SCORE and it is off by more than a factor TT_VALUES_OUTLIER_FACTOR, among
 * TT_VALUES_OUTLIER_AMONG outputs or more. Outputs that are bad, all zero or without a finite
 * element are not compared. */
#define TT_VALUES_OUTLIER_SCORE 3.5
#define TT_VALUES_OUTLIER_FACTOR 2.0
#define TT_VALUES_OUTLIER_AMONG 8u
tt_status tt_values_outliers_make(const tt_model *m, const tt_values_query *q, const tt_over *over,
                                  tt_values_outliers *out, tt_error *err);
void tt_values_outliers_free(tt_values_outliers *o);

/* Sums over several outputs' fingerprints. */

/* Zero-filled is ready. */
typedef struct tt_values_sum {
    uint64_t finite; /* elements */
    double sum, squares;
    float min, max; /* if finite > 0 */
} tt_values_sum;

static inline void tt_values_sum_add(tt_values_sum *s, const tt_fingerprint *p)
{
    if (!p->has_range || p->n_nan + p->n_inf > p->n) return;
    const uint64_t n = p->n - p->n_nan - p->n_inf;
    if (!s->finite || p->min < s->min) s->min = p->min;
    if (!s->finite || p->max > s->max) s->max = p->max;
    s->finite += n;
    s->sum += p->mean * (double)n;
    s->squares += p->rms * p->rms * (double)n;
}

/* 0 if nothing is finite. */
static inline double tt_values_sum_mean(const tt_values_sum *s)
{
    return s->finite ? s->sum / (double)s->finite : 0;
}

static inline double tt_values_sum_rms(const tt_values_sum *s)
{
    return s->finite ? sqrt(s->squares / (double)s->finite) : 0;
}

#endif
