/* What the parts of `tensortrace experiment` share. */
#ifndef TT_CLI_EXPERIMENT_H
#define TT_CLI_EXPERIMENT_H

#include "base/bytes.h"
#include "base/status.h"
#include "cli/report.h"
#include "experiment/complaints.h"
#include "experiment/results.h"
#include "experiment/settings.h"
#include "experiment/store.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- the log: stderr, and a copy of it for the experiment's folder --- */

#define TT_LOG_FILE "log.txt"

typedef struct tt_log {
    tt_bytes text;    /* of the experiment at work, the stages before all of them included */
    size_t n_common;  /* bytes of those */
    char counter[32]; /* "2/6 " of a sweep */
} tt_log;

void tt_log_begin(tt_log *log);
void tt_log_free(tt_log *log);
/* What was said so far is common to all experiments. */
void tt_log_common(tt_log *log);
/* Begins the copy of an experiment's own; number counts from 0, of `n`. */
void tt_log_experiment(tt_log *log, size_t number, size_t n);
/* "[HH:MM:SS] 2/6 STAGE: text". */
void tt_log_say(tt_log *log, const char *stage, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* --- what experiments are made from, checked --- */

/* A thing that values of a key name: a model, an engine, a file with a prompt. */
typedef struct tt_ingredient {
    char key[TT_STAMP_KEY]; /* what it was: see stamp.h */
    char *about;            /* "4 layers, 37 tensors, 1.2 MiB"; owned */
} tt_ingredient;

typedef struct tt_ingredients {
    tt_ingredient *models, *engines, *prompt_files; /* by number of the value */
    size_t n_models, n_engines, n_prompt_files;     /* engines: at least 1 */
} tt_ingredients;

/* Looks at every file that the settings name, and at the folder of the results. Everything that is
 * missing or wrong goes to *complaints. `replaces`: what an earlier pipeline left may be moved. */
tt_status tt_ingredients_check(tt_ingredients *in, const tt_settings *s, bool replaces,
                               tt_complaints *complaints, tt_error *err);
void tt_ingredients_free(tt_ingredients *in);
/* The identity of one combination. */
tt_status tt_ingredients_identity(const tt_ingredients *in, const tt_settings *s,
                                  const tt_experiment *e, tt_identity *out, tt_error *err);
const tt_ingredient *tt_ingredients_engine(const tt_ingredients *in, const tt_settings *s,
                                           const tt_experiment *e);

/* --- the traced program's words --- */

/* The built-in runner's, or those of the named program. NULL-terminated; freed with
 * tt_words_free. NULL without memory. */
char **tt_experiment_words(const tt_settings *s, const tt_experiment *e);
void tt_words_free(char **words);
/* As a shell takes them; to be freed. NULL without memory. */
char *tt_words_quote(char *const *words);
/* "seed=3 mmap=false": the settings that a table has no column for; to be freed. */
char *tt_experiment_options(const tt_experiment *e);
/* Whether tables have a column for it. */
bool tt_experiment_has_column(tt_setting setting);
/* The prompt, or the name of its file. */
const char *tt_experiment_prompt(const tt_experiment *e);

/* --- being interrupted --- */

/* From now on a broken pipe is an error of that output, not the end: nobody has to look on. */
void tt_interrupt_outlive_pipes(void);
/* Signals to end wait until the next call of tt_interrupt_guard. */
void tt_interrupt_hold(void);
/* From now on a signal to end (SIGINT, SIGTERM, SIGHUP) takes the name from `folder`, so that no
 * writer in it gets any further, whichever it is; more of them change nothing. NULL: there is none,
 * signals have their usual meaning. */
void tt_interrupt_guard(const char *folder);
/* Removes the folder, by whichever name, unless it was given another place; signals have their
 * usual meaning again. */
void tt_interrupt_end(void);
/* A program that was run meanwhile was asked to end by this signal. */
void tt_interrupt_note(int signal);
/* The signal that came; 0: none. */
int tt_interrupted(void);

/* --- running --- */

typedef enum tt_outcome_state {
    TT_OUTCOME_OPEN = 0, /* not tried: the command was interrupted before */
    TT_OUTCOME_DONE,
    TT_OUTCOME_UP_TO_DATE,
    TT_OUTCOME_FAILED,
    TT_OUTCOME_INTERRUPTED
} tt_outcome_state;

/* What became of one experiment of the command. */
typedef struct tt_experiment_end {
    tt_outcome_state state;
    char id[TT_RESULT_ID]; /* of the result, where there is one */
    const char *stage;     /* that failed */
    char cause[320];
    int code; /* what the command exits with, if this is the first that failed */
} tt_experiment_end;

typedef struct tt_bench {
    tt_settings settings;
    tt_ingredients ingredients;
    tt_results results; /* those in the folder, the new ones included */
    tt_store store;
    tt_log log;
    const char *command; /* this command line */
    bool force;
    int interrupted;   /* a signal; 0: none */
    uint64_t begun_ns; /* CLOCK_MONOTONIC */
} tt_bench;

/* Runs the experiment of that number, or finds it up to date. */
void tt_experiment_run(tt_bench *b, size_t number, tt_experiment_end *end);

/* --- showing --- */

/* A table of results, or JSON, on stdout. */
bool tt_experiment_list(const tt_results *results, const char *folder, bool json);
/* What became of each. */
bool tt_experiment_summary(const tt_bench *b, const tt_experiment_end *ends, size_t n, bool json);

#endif
