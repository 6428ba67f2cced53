/* settings.json of `tensortrace crossval`: scenarios, and the two sides that run each.
 *
 * man/tensortrace-crossval.1 and docs/crossval.md have all keys. Files named in the settings are
 * not opened here. */
#ifndef TT_CROSSVAL_SETTINGS_H
#define TT_CROSSVAL_SETTINGS_H

#include "base/status.h"
#include "experiment/diagnostics.h"
#include "experiment/setting_value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_CROSSVAL_SCENARIOS_MAX 1024u
#define TT_CROSSVAL_NAME_MAX 64u
#define TT_CROSSVAL_IDS_MAX ((size_t)1 << 20) /* of one list */
#define TT_CROSSVAL_WORDS_MAX 1024u           /* of a command; variables of an environment */
#define TT_CROSSVAL_TIMEOUT_S 600
#define TT_CROSSVAL_TOKENS 8

typedef struct tt_id_list {
    int32_t *ids;
    size_t n;
} tt_id_list;

typedef struct tt_crossval_scenario {
    const char *name; /* also of its folder */
    const char *prompt, *prompt_file;
    tt_id_list token_ids; /* of the prompt; n 0: not given */
    tt_id_list force_ids; /* to be generated; n 0: not given */
    int64_t tokens;       /* to generate */
} tt_crossval_scenario;

typedef enum tt_side_kind {
    TT_SIDE_ENGINE,  /* the built-in runner on an engine */
    TT_SIDE_COMMAND, /* a program */
    TT_SIDE_TRACE    /* an existing trace or folder of records */
} tt_side_kind;

/* How a command's values are recorded. */
typedef enum tt_side_records {
    TT_RECORDS_TRACE,  /* it writes a trace to $TENSORTRACE */
    TT_RECORDS_BITNET, /* it writes records into $BITNET_TRACE_DIR */
    TT_RECORDS_PRELOAD /* it is traced from outside, like `run -- PROGRAM` */
} tt_side_records;

typedef struct tt_side_variable {
    const char *name, *value; /* value NULL: removed */
} tt_side_variable;

typedef struct tt_crossval_side {
    tt_side_kind kind;
    const char *label;    /* NULL: none */
    const char *engine;   /* folder; NULL: the one that `run` finds */
    const char *model;    /* NULL: none */
    const char *trace;    /* a path; "{scenario}" in it is the scenario's name */
    const char **command; /* words with placeholders */
    size_t n_command;
    tt_side_records records;
    bool prints_ids;                    /* a command prints the list of the ids that it chose */
    const char *stages;                 /* a map of its names; NULL: the built-in one */
    const char *mode, *flash_attention; /* NULL: not given */
    int64_t threads, context_tokens, batch_tokens, ubatch_tokens; /* 0: not given */
    bool no_mmap, no_repack;
    tt_side_variable *environment;
    size_t n_environment;
} tt_crossval_side;

typedef struct tt_crossval_settings {
    tt_crossval_scenario *scenarios;
    size_t n_scenarios;
    tt_crossval_side sides[2]; /* a, b */
    const char *values;        /* LEVEL[:SELECT] */
    bool has_values;           /* it was given */
    const char *output;        /* folder of the results, absolute */
    bool exact, has_tolerance;
    double rel_l2, cosine, max_abs; /* NAN: the default */
    int64_t timeout_s;
    void *json; /* private: owns the texts */
    tt_made made;
} tt_crossval_settings;

/* Like tt_settings_parse: all errors go to *diagnostics; on failure *s is empty. */
tt_status tt_crossval_settings_parse(tt_crossval_settings *s, const char *text, size_t size,
                                     const char *name, const char *folder,
                                     tt_diagnostics *diagnostics, tt_error *err);
tt_status tt_crossval_settings_read(tt_crossval_settings *s, const char *path,
                                    tt_diagnostics *diagnostics, tt_error *err);
void tt_crossval_settings_free(tt_crossval_settings *s);

/* Which side determines the ids for both. */
typedef enum tt_crossval_lead {
    TT_LEAD_A =
        0, /* this side: an engine tokenizes the prompt and chooses the generated tokens; or, */
    TT_LEAD_B = 1,   /* in a scenario without a prompt, a trace has them */
    TT_LEAD_SETTINGS /* the settings' own ids: no side provides them */
} tt_crossval_lead;
tt_crossval_lead tt_crossval_leader(const tt_crossval_settings *s, const tt_crossval_scenario *c);

/* Values of the placeholders in a command. */
typedef struct tt_crossval_words {
    const char *scenario, *model, *out; /* NULL: "" */
    const char *prompt;
    const char *token_ids, *prompt_ids, *force_ids; /* "1,2,3" */
    int64_t n;                                      /* tokens to generate */
} tt_crossval_words;

/* The word with its placeholders replaced; malloc'ed. NULL: out of memory. */
char *tt_crossval_fill(const char *word, const tt_crossval_words *w);
/* The first "{name}" in the word that is not a placeholder, its length in *n; NULL: none. Other
 * braces are text. */
const char *tt_crossval_unknown_placeholder(const char *word, size_t *n);

/* "engine", "command", "trace"; "trace", "bitnet", "preload" */
const char *tt_side_kind_name(tt_side_kind kind);
const char *tt_side_records_name(tt_side_records records);

#endif
