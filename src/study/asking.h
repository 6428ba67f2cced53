/* What the answers are made of: figures in words, with their intervals and the runs behind them.
 * Private to the room. */
#ifndef TT_STUDY_ASKING_H
#define TT_STUDY_ASKING_H

#include "study/study.h"

/* Adds an answer; the runs behind it are those used since the last one. */
void tt_ask(tt_study *s, const char *id, const char *question, tt_study_verdict verdict,
            const char *fmt, ...) __attribute__((format(printf, 5, 6)));

void tt_ask_use_group(tt_study *s, const tt_study_group *g);
/* The runs of all prompts that the model's domains were summed from. */
void tt_ask_use_choices(tt_study *s, const char *model_file);

/* Which runs: of a model (NULL: any), and with which memory limit. */
typedef struct tt_ask_scope {
    const char *model_file;
    bool by_limit; /* else whatever their limit */
    uint64_t memory_limit_bytes;
    size_t at; /* private */
} tt_ask_scope;

/* The median of a figure over the traced runs that ended and have it; these are used now. */
tt_study_median tt_ask_median(tt_study *s, const tt_ask_scope *scope, tt_study_figure *get);
/* Goes through the models and memory limits of the runs, in the order of the groups. Zero-filled is
 * before the first. False behind the last. */
bool tt_ask_next_limit(const tt_study *s, tt_ask_scope *scope);
/* "no limit", "60 % (231.8 MiB)", with the model in front where there are several. */
const char *tt_ask_scope_name(tt_study *s, const tt_ask_scope *scope);
const char *tt_ask_limit_name(tt_study *s, const tt_study_group *g);

/* "83.4 % (83.1 to 83.9)"; alone where all are alike. */
const char *tt_say_shares(tt_study *s, const tt_study_median *m);
const char *tt_say_sizes(tt_study *s, const tt_study_median *m);
const char *tt_say_times(tt_study *s, const tt_study_median *m);
const char *tt_say_numbers(tt_study *s, const tt_study_median *m);
/* "2.3 times (2.1 to 2.6)" */
const char *tt_say_ratio(tt_study *s, const tt_study_ratio *r);
/* The model's name and ": " where there are several; else "". */
const char *tt_say_model(tt_study *s, const char *model_file);
/* Appends with "; " in between. */
const char *tt_say_also(tt_study *s, const char *list, const char *more);

/* Whether what lies between low and high is within least and most: HOLDS; outside: FAILS; both:
 * OPEN. */
tt_study_verdict tt_ask_judge(double low, double high, double least, double most);
/* Of two parts of a hypothesis: it fails with one of them, and is open with one. */
tt_study_verdict tt_ask_both(tt_study_verdict a, tt_study_verdict b);

/* answers_content.c */
void tt_ask_content(tt_study *s);

#endif
