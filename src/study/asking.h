/* Building blocks of the answers: figures in words, with their intervals and the runs behind them.
 * Private to the room. */
#ifndef TT_STUDY_ASKING_H
#define TT_STUDY_ASKING_H

#include "study/study.h"

/* Adds an answer; it is based on the runs used since the last one. */
void tt_ask(tt_study *s, const char *id, const char *question, tt_study_verdict verdict,
            const char *fmt, ...) __attribute__((format(printf, 5, 6)));

void tt_ask_use_group(tt_study *s, const tt_study_group *g);
/* Uses the runs of all prompts in the sums of the model's domains. */
void tt_ask_use_choices(tt_study *s, const char *model_file);

/* A selection of runs: by model (NULL: any) and memory limit. */
typedef struct tt_ask_scope {
    const char *model_file;
    bool by_limit; /* else any limit */
    uint64_t memory_limit_bytes;
    size_t at; /* private */
} tt_ask_scope;

/* The median of a figure over the traced runs that ended and have it; these count as used. */
tt_study_median tt_ask_median(tt_study *s, const tt_ask_scope *scope, tt_study_figure *get);
/* Iterates over the models and memory limits of the runs, in the order of the groups. Zero-filled
 * is before the first. False after the last. */
bool tt_ask_next_limit(const tt_study *s, tt_ask_scope *scope);
/* "no limit", "60 % (231.8 MiB)", with the model in front if there are several. */
const char *tt_ask_scope_name(tt_study *s, const tt_ask_scope *scope);
const char *tt_ask_limit_name(tt_study *s, const tt_study_group *g);

/* "83.4 % (83.1 to 83.9)"; without the range if all are equal. */
const char *tt_study_text_shares(tt_study *s, const tt_study_median *m);
const char *tt_study_text_sizes(tt_study *s, const tt_study_median *m);
const char *tt_study_text_times(tt_study *s, const tt_study_median *m);
const char *tt_study_text_numbers(tt_study *s, const tt_study_median *m);
/* "2.3 times (2.1 to 2.6)" */
const char *tt_study_text_ratio(tt_study *s, const tt_study_ratio *r);
/* The model's name and ": " if there are several; else "". */
const char *tt_study_text_model(tt_study *s, const char *model_file);
/* Appends with "; " in between. */
const char *tt_study_text_append(tt_study *s, const char *list, const char *more);

/* Whether the interval low to high is within least to most: HOLDS; outside: FAILS; partly: OPEN. */
tt_study_verdict tt_ask_evaluate(double low, double high, double least, double most);
/* Combines two parts of a hypothesis: it fails if one does, and else is open if one is. */
tt_study_verdict tt_ask_both(tt_study_verdict a, tt_study_verdict b);

/* answers_content.c */
void tt_ask_content(tt_study *s);

#endif
