/* Shared by the parts of `tensortrace experiment`. */
#ifndef TT_CLI_EXPERIMENT_H
#define TT_CLI_EXPERIMENT_H

#include "base/status.h"
#include "cli/interrupt.h"
#include "cli/list.h"
#include "cli/report.h"
#include "cli/runlog.h"
#include "experiment/diagnostics.h"
#include "experiment/results.h"
#include "experiment/settings.h"
#include "experiment/store.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- the checked inputs of experiments --- */

/* A model, an engine, or a file with a prompt. */
typedef struct tt_bench_input {
    char key[TT_STAMP_KEY]; /* its identity: see tt_stamp_key */
    char *about;            /* "4 layers, 37 tensors, 1.2 MiB"; owned */
    char **files;           /* of a model: its parts; owned */
    size_t n_files;
    uint64_t size_bytes; /* of these */
} tt_bench_input;

typedef struct tt_bench_inputs {
    tt_bench_input *models, *engines, *prompt_files; /* by index of the setting's value */
    size_t n_models, n_engines, n_prompt_files;      /* engines: at least 1 */
} tt_bench_inputs;

/* Checks every file that the settings name, and the folder of the results. All errors go to
 * *diagnostics. `replaces`: what an earlier pipeline left may be moved. */
tt_status tt_bench_inputs_check(tt_bench_inputs *in, const tt_settings *s, bool replaces,
                                tt_diagnostics *diagnostics, tt_error *err);
void tt_bench_inputs_free(tt_bench_inputs *in);
/* The identity of one combination. */
tt_status tt_bench_inputs_identity(const tt_bench_inputs *in, const tt_settings *s,
                                   const tt_experiment *e, tt_identity *out, tt_error *err);
const tt_bench_input *tt_bench_inputs_engine(const tt_bench_inputs *in, const tt_settings *s,
                                             const tt_experiment *e);
const tt_bench_input *tt_bench_inputs_model(const tt_bench_inputs *in, const tt_settings *s,
                                            const tt_experiment *e);

/* --- the traced program's arguments --- */

/* The built-in runner's, or those of the given program. NULL-terminated; freed with tt_words_free.
 * NULL if out of memory. */
char **tt_experiment_words(const tt_settings *s, const tt_experiment *e);
void tt_words_free(char **words);
/* "seed=3 mmap=false": the settings without a table column; to be freed. */
char *tt_experiment_options(const tt_experiment *e);
/* The same for the conditions of a run: without its prompt, repetition and number of tokens. */
char *tt_experiment_condition(const tt_experiment *e);
/* Whether tables have a column for it. */
bool tt_experiment_has_column(tt_setting setting);
/* The prompt, or the name of its file. */
const char *tt_experiment_prompt(const tt_experiment *e);

/* --- running --- */

typedef enum tt_outcome_state {
    TT_OUTCOME_OPEN = 0, /* not tried: the command was interrupted before */
    TT_OUTCOME_DONE,
    TT_OUTCOME_UP_TO_DATE,
    TT_OUTCOME_KILLED, /* by the system: a result, too */
    TT_OUTCOME_FAILED,
    TT_OUTCOME_INTERRUPTED
} tt_outcome_state;

/* The outcome of one experiment of the command. */
typedef struct tt_experiment_end {
    tt_outcome_state state;
    char id[TT_RESULT_ID]; /* of the result, if there is one */
    const char *stage;     /* that failed */
    char cause[320];
    int code; /* the command's exit code, if this is the first failure */
} tt_experiment_end;

typedef struct tt_bench {
    tt_settings settings;
    tt_bench_inputs inputs;
    tt_results results; /* those in the folder, including new ones */
    tt_store store;
    tt_log log;
    const char *command; /* this command line */
    bool is_shuffled;    /* the order is random */
    uint64_t order_seed; /* from this seed */
    size_t *place; /* private: in the order, from 1, of the first that came, by the first like it */
    bool force;
    int interrupted;   /* a signal; 0: none */
    uint64_t begun_ns; /* CLOCK_MONOTONIC */
} tt_bench;

/* Runs the experiment with that number, or finds it up to date; it is the one at `position`, from
 * 0. */
void tt_experiment_run(tt_bench *b, size_t number, size_t position, tt_experiment_end *end);
/* The order to run them all in; to be freed. NULL if out of memory. */
size_t *tt_experiment_order(tt_bench *b);
/* The place in that order, from 1, of the one before that the one at `position` is the same as; 0:
 * there is none. To be asked of each, in order: a value that stands in the settings twice makes the
 * same experiment twice. */
size_t tt_experiment_twin(tt_bench *b, size_t number, size_t position);

/* --- output --- */

/* Prints results as a table, CSV or JSON, on stdout. Returns the exit code. */
int tt_experiment_list(const tt_results *results, const char *folder, const tt_list_options *o,
                       bool json);
/* Prints the outcome of each. */
bool tt_experiment_summary(const tt_bench *b, const tt_experiment_end *ends, size_t n, bool json);

#endif
