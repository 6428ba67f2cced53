/* settings.json: what `tensortrace experiment` runs.
 *
 * The form is that of earlier pipelines; man/tensortrace-experiment.1 has all keys. The file is an
 * object of sections, each an object of keys. An array in place of a single value in the sections
 * "experiment" and "conditions" is a sweep: one experiment for each combination. Files named in the
 * settings are not opened here. */
#ifndef TT_EXPERIMENT_SETTINGS_H
#define TT_EXPERIMENT_SETTINGS_H

#include "base/status.h"
#include "experiment/diagnostics.h"
#include "experiment/keys.h"
#include "experiment/setting_value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_SETTINGS_VALUES_MAX 4096u      /* per key */
#define TT_SETTINGS_EXPERIMENTS_MAX 4096u /* combinations */

typedef struct tt_setting_values {
    tt_setting_value *values;
    size_t n; /* 0: the key is absent */
} tt_setting_values;

/* A prompt of a file of prompts; label and domain without a text are absent. */
typedef struct tt_prompt {
    tt_setting_value text, label, domain, tokens;
    bool has_tokens;
} tt_prompt;

typedef struct tt_settings {
    tt_setting_values of[TT_SET_COUNT];
    tt_prompt *prompts; /* those of of[TT_SET_PROMPT], by its values' integers; NULL: no file */
    size_t n_prompts;
    bool tokens_differ;  /* n_predict is also given, with another value */
    char *program;       /* the given llama-completion, absolute; NULL: the built-in runner */
    char *output;        /* the results' folder, absolute */
    bool has_temp_files; /* that section is accepted and ignored */
    bool has_conditions; /* that section is present */
    void *json;          /* private: owns the texts */
    void *prompts_json;  /* private: owns those of prompts */
    tt_made made;        /* private: paths made absolute */
} tt_settings;

/* One combination: for each key its value, or NULL where absent. Program arguments belong
 * together: they are in settings.of. */
typedef struct tt_experiment {
    const tt_setting_value *of[TT_SET_COUNT];
} tt_experiment;

/* Parses `size` bytes. `name` is for messages, `folder` (absolute) is the base of relative paths.
 * With prompts_follow, or with experiment.prompts_file, settings that a file of prompts can give
 * may be missing: call tt_settings_add_prompts then. TT_E_FORMAT, with line and column: not JSON,
 * or a duplicate key. TT_E_USAGE: JSON with the errors listed in *diagnostics. TT_E_LIMIT: too
 * large, too deep or too many combinations. On failure *s is empty. */
tt_status tt_settings_parse(tt_settings *s, const char *text, size_t size, const char *name,
                            const char *folder, bool prompts_follow, tt_diagnostics *diagnostics,
                            tt_error *err);
/* Prompts in place of experiment.prompt, from an object with `prompts`, each with `prompt` and
 * optionally `id` (the label), `domain` and `n_predict`; and optionally `experiment_name` and
 * `description`. Errors as in tt_settings_parse; on failure *s is empty. Call it once. */
tt_status tt_settings_add_prompts(tt_settings *s, const char *text, size_t size, const char *name,
                                  tt_diagnostics *diagnostics, tt_error *err);
/* Both from files; settings from a pipe have paths relative to the current folder. `prompts`: a
 * path, or NULL: as in the settings. TT_E_IO, TT_E_NOT_FOUND: one cannot be read. */
tt_status tt_settings_read(tt_settings *s, const char *path, const char *prompts,
                           tt_diagnostics *diagnostics, tt_error *err);
void tt_settings_free(tt_settings *s);

/* The number of combinations, at least 1; and the combination with that number. */
size_t tt_settings_experiments(const tt_settings *s);
void tt_settings_experiment(const tt_settings *s, size_t number, tt_experiment *e);
/* The order in which to run n combinations: a permutation determined by the seed (Fisher and
 * Yates); with `as_given` unchanged. */
void tt_settings_order(size_t *order, size_t n, bool as_given, uint64_t seed);
/* The first with the same values: itself, unless an array has a value twice. */
size_t tt_settings_first_like(const tt_settings *s, size_t number);

/* The key as in the file, "threads", and its section, "experiment". */
const char *tt_setting_key(tt_setting setting);
const char *tt_setting_section(tt_setting setting);
/* Whether several values of it give several experiments. */
bool tt_setting_is_swept(tt_setting setting);
/* The value as text, for tables and for comparison; in the caller's buffer unless it is a text. */
#define TT_SETTING_TEXT 48
const char *tt_setting_show(tt_setting setting, const tt_setting_value *value,
                            char out[TT_SETTING_TEXT]);

#endif
