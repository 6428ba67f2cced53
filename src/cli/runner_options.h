/* The options of the built-in runner, shared by `tensortrace runner` and
 * `tensortrace run -m`. */
#ifndef TT_CLI_RUNNER_OPTIONS_H
#define TT_CLI_RUNNER_OPTIONS_H

#include "base/status.h"
#include "cli/options.h"
#include "runner/runner.h"
#include "runner/token_ids.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct tt_runner_args {
    tt_runner_options options; /* options.prompt stays NULL until tt_runner_args_load_prompt */
    const char *prompt;        /* -p; points into argv */
    const char *prompt_file;   /* --prompt-file; points into argv */
    const char *prompt_ids;    /* --prompt-ids; points into argv, like the next two */
    const char *force_ids;     /* --force-ids */
    const char *write_ids;     /* --write-ids */
    char **program;            /* PROGRAM ARGS..., NULL-terminated; NULL: the built-in runner */
    bool verbose;              /* the engine's log on stderr */
    bool has_predict;          /* -n was given */
    char *loaded;              /* the prompt file's content */
    tt_token_ids loaded_prompt_ids, loaded_force_ids;
} tt_runner_args;

/* The default prompt. */
#define TT_RUNNER_PROMPT_DEFAULT "Once upon a time"
#define TT_RUNNER_PREDICT_DEFAULT 32
#define TT_RUNNER_SEED_DEFAULT 1

/* The set of these options, for a command whose options have a tt_runner_args, initialised with
 * tt_runner_args_init. */
#define TT_RUNNER(S, m)                                                                            \
    {                                                                                              \
        .options = tt_runner_options_table, .at = TT_OF_(tt_runner_args, S, m)                     \
    }
extern const tt_option tt_runner_options_table[];

/* The same for a command that runs a PROGRAM instead, given as its arguments: one of both is
 * needed. */
#define TT_RUNNER_OR_PROGRAM(S, m)                                                                 \
    {                                                                                              \
        .options = tt_runner_options_table, .at = TT_OF_(tt_runner_args, S, m),                    \
        .word = tt_runner_take_program, .check = tt_runner_check_program                           \
    }
tt_option_take tt_runner_take_program;
tt_options_check tt_runner_check_program;
tt_option_take tt_runner_take_values; /* text of --values, checked by tt_select_parse */

/* on, off, auto; NULL: the engine's default. */
tt_runner_flash tt_runner_flash_of(const char *word);

void tt_runner_args_init(tt_runner_args *args);
/* Frees what load_prompt allocated. */
void tt_runner_args_free(tt_runner_args *args);

/* Sets options.prompt and prompt_size from -p, the file ("-": standard input) or the default; and
 * the given token ids. Only the process that runs the model needs it. */
tt_status tt_runner_args_load_prompt(tt_runner_args *args, tt_error *err);

/* The same options as words, for spawning `PROGRAM runner ...`: returns argc and
 * a NULL-terminated *argv, which starts with `program` and "runner" and has room
 * for `extra` more words before the NULL; or -1 when out of memory. Free with
 * tt_runner_argv_free(*argv). */
int tt_runner_args_to_argv(const tt_runner_args *args, const char *program, size_t extra,
                           char ***argv);
void tt_runner_argv_free(char **argv);

/* The lists of a file of --write-ids; the caller frees them. NULL: not wanted. False: it is not
 * there, or is none. */
bool tt_runner_ids_read(const char *path, tt_token_ids *prompt, tt_token_ids *taken,
                        tt_token_ids *chosen);
/* Writes ids as a file for "--prompt-ids @FILE". False: it cannot be written. */
bool tt_runner_ids_write(const char *path, const tt_token_ids *ids);

#endif
