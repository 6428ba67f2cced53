/* A comparison of several runs: a study. Runs of one model under one condition
 * (tt_result.condition) are a group, whatever their prompts; groups are compared with the group
 * that differs only in having no memory limit, and with those that differ in a single setting. */
#ifndef TT_STUDY_STUDY_H
#define TT_STUDY_STUDY_H

#include "base/status.h"
#include "model/arena.h"
#include "study/figures.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_STUDY_LEVEL 0.05 /* of tests; the confidence of intervals is 1 minus this */
#define TT_STUDY_MODELS_MAX 16u
#define TT_STUDY_PICTURES_MAX 6u

/* The median of n runs. From TT_STUDY_INTERVAL_MIN runs on, low and high are its 95 % confidence
 * interval (order statistics: the binomial distribution); for fewer runs the minimum and
 * maximum. */
#define TT_STUDY_INTERVAL_MIN 6u
typedef struct tt_study_median {
    uint32_t n; /* 0: the rest is not valid */
    bool is_interval;
    double value, low, high;
} tt_study_median;

/* A ratio b / a, each prompt compared with itself (a linear model of the logarithms, with the
 * prompt and the side; for a single prompt that is a t test with pooled variance). */
typedef struct tt_study_ratio {
    bool known, tested; /* tested: the members after the value are valid */
    double value, low, high;
    double p_value, p_corrected; /* of no difference; Holm's over the study's ratios of its kind */
} tt_study_ratio;

#define TT_STUDY_SETTINGS_MAX 64u
#define TT_STUDY_GROUPS_MAX 512u

/* "memory_limit=60%" of a condition; in the study's memory. */
typedef struct tt_study_pair {
    const char *key, *value;
} tt_study_pair;

typedef struct tt_study_group {
    const char *model_file, *condition;
    tt_study_pair *settings; /* of the condition */
    size_t n_settings;
    const char *differs; /* the part of the condition that not all of the study's runs have */
    size_t order;        /* private: of its first run */
    uint32_t n_runs, n_killed, n_outliers, n_unmet;
    uint64_t memory_limit_bytes, model_bytes;
    double memory_share; /* of the model's size; 0: no limit */
    bool has_experts;
    tt_study_median tokens_per_s, prompt_tokens_per_s, first_token_ns, token_read_bytes,
        token_major, read_bytes_per_s, batch_weights_bytes, loaded_bytes, vain_bytes;
    /* Relative to the group without a limit that is otherwise equal: how many times as long a token
     * takes. */
    const struct tt_study_group *baseline; /* NULL: none */
    tt_study_ratio slowdown;
} tt_study_group;

/* Two groups that differ in one setting. */
typedef struct tt_study_effect {
    const char *model_file, *setting, *from, *to, *others;
    const tt_study_group *a, *b;
    bool is_unmet;               /* the system did not allow it: nothing is compared */
    tt_study_ratio tokens_per_s; /* of `to` / of `from` */
    tt_study_ratio token_read;   /* bytes read per token, likewise */
} tt_study_effect;

typedef enum tt_study_verdict {
    TT_STUDY_ANSWERED, /* a question, not a hypothesis */
    TT_STUDY_HOLDS,
    TT_STUDY_FAILS,
    TT_STUDY_OPEN /* these runs cannot decide it, because ... */
} tt_study_verdict;

/* A question or hypothesis, and the answer of these runs. */
typedef struct tt_study_answer {
    const char *id;       /* "H1.1"; "Q1" */
    const char *question; /* or the hypothesis */
    tt_study_verdict verdict;
    const char *answer; /* with the figure, and its interval if there is one */
    const char *runs;   /* behind it: "4 runs: 01, 03-05" */
} tt_study_answer;

typedef struct tt_study_model {
    const char *file; /* its path */
    bool has_experts;
    tt_domains domains; /* of its runs; empty: no experts */
    bool has_choices;   /* of experts: the domains' sums are valid */
    bool has_domains;   /* there are at least two, and they were tested */
} tt_study_model;

typedef struct tt_study {
    const char *folder;
    const char *common;      /* the settings that all runs have */
    tt_study_run *runs;      /* in the order they were run */
    size_t n_runs, n_unread; /* runs; those of them whose trace is missing or broken */
    tt_study_group *groups;  /* by model, then from no memory limit to the smallest */
    size_t n_groups;
    tt_study_effect *effects;
    size_t n_effects;
    tt_study_answer *answers;
    size_t n_answers, answers_capacity;
    tt_study_model models[TT_STUDY_MODELS_MAX];
    size_t n_models;
    double disk_bytes_per_s; /* given; 0: unknown */
    uint32_t n_prompts;      /* private */
    bool *used;              /* private: runs behind the current answer */
    tt_arena arena;          /* texts */
    bool failed;             /* out of memory */
} tt_study;

/* Called with the runs read and the total. */
typedef void tt_study_progress(void *context, uint64_t done, uint64_t total);

/* Reads n runs: results[i] with the trace paths[i] (NULL: none). They must outlive the study, which
 * is freed with tt_study_free, also after an error. TT_E_LIMIT: too many models or conditions. */
tt_status tt_study_make(tt_study *s, const char *folder, const tt_result *const *results,
                        char *const *paths, size_t n, double disk_bytes_per_s,
                        tt_study_progress *progress, void *context, tt_error *err);
void tt_study_free(tt_study *s);

/* Pure: the median of n values. False if out of memory. */
bool tt_study_median_of(const double *values, size_t n, tt_study_median *m);
/* Pure: which of n >= 4 rates are outliers: the logarithm's distance from the median is above 3.5
 * times the median absolute deviation scaled to a standard one (Iglewicz and Hoaglin 1993). If
 * there are several prompts (prompt[i]) with three values each, distances are from the prompt's
 * median, compared with the deviations of the others. False if out of memory. */
bool tt_study_outliers(const double *values, const uint32_t *prompt, size_t n, bool *outlier);
/* Pure: b / a of n rates, of which the first n_a are a's. False if out of memory. */
bool tt_study_compare(const double *values, const uint32_t *prompt, size_t n, size_t n_a,
                      tt_study_ratio *ratio);

/* Private, for tests: the settings of a condition, "memory_limit=60% threads=2": stores at most n
 * in list and returns their number. */
size_t tt_study_split(tt_study *s, const char *condition, tt_study_pair *list, size_t n);
/* The value of a setting of a group; NULL: none. */
const char *tt_study_setting(const tt_study_group *g, const char *key);

const char *tt_study_verdict_name(tt_study_verdict verdict);
/* A text in the study's memory; never NULL. */
const char *tt_study_text(tt_study *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* b / a of a figure over the runs of two groups that have it. */
typedef double tt_study_figure(const tt_study_run *r); /* NAN: not known */
tt_study_ratio tt_study_ratio_of(tt_study *s, const tt_study_group *a, const tt_study_group *b,
                                 tt_study_figure *get);
/* Whether the run is of the group. */
bool tt_study_is_in(const tt_study_group *g, const tt_study_run *r);

/* answers.c: fills s->answers. */
void tt_study_ask(tt_study *s);

extern const tt_schema tt_study_group_schema, tt_study_effect_schema, tt_study_answer_schema;

#endif
