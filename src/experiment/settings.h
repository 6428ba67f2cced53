/* settings.json: what `tensortrace experiment` is asked for.
 *
 * The form is that of earlier pipelines; man/tensortrace-experiment.1 has all keys: an object of
 * sections, each an object of keys. Where one value is expected in the section "experiment" an
 * array of them is a sweep: one experiment for each combination. Nothing here looks at the files
 * that are named. */
#ifndef TT_EXPERIMENT_SETTINGS_H
#define TT_EXPERIMENT_SETTINGS_H

#include "base/status.h"
#include "experiment/diagnostics.h"
#include "experiment/setting_value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_SETTINGS_VALUES_MAX 4096u      /* of one key */
#define TT_SETTINGS_EXPERIMENTS_MAX 4096u /* combinations */

/* In the order of a sweep: the first changes slowest. */
typedef enum tt_setting {
    TT_SET_MODEL_PATH,
    TT_SET_ENGINE_PATH,
    TT_SET_PROMPT,
    TT_SET_PROMPT_FILE,
    TT_SET_TOKENS_TO_GENERATE,
    TT_SET_THREADS,
    TT_SET_CONTEXT_TOKENS,
    TT_SET_BATCH_TOKENS,
    TT_SET_UBATCH_TOKENS,
    TT_SET_TEMPERATURE,
    TT_SET_SEED,
    TT_SET_FLASH_ATTENTION,
    TT_SET_MMAP,
    TT_SET_REPACK,
    TT_SET_IGNORE_EOS,
    TT_SET_REPETITIONS, /* one number N, read as the values 1 .. N */
    TT_SET_PROGRAM_ARGUMENTS,
    /* Not swept: */
    TT_SET_CAPTURE_MODE,
    TT_SET_CAPTURE_TOKENS,
    TT_SET_CAPTURE_EVERY,
    TT_SET_CAPTURE_LIMIT_BYTES,
    TT_SET_CAPTURE_THREAD_MEMORY_BYTES,
    TT_SET_CAPTURE_FAULTS,
    TT_SET_CAPTURE_RESIDENCY_EVERY,
    TT_SET_CAPTURE_VALUES,
    TT_SET_CAPTURE_TEXT,
    TT_SET_DATASET_EXPERTS,
    TT_SET_DATASET_COMPRESS,
    TT_SET_DATASET_THREADS,
    TT_SET_LLAMA_CPP_DIR,
    TT_SET_LLAMA_BINARY,
    TT_SET_WEBUI_DATA_DIR,
    TT_SET_COUNT
} tt_setting;

typedef struct tt_setting_values {
    tt_setting_value *values;
    size_t n; /* 0: the key is not there */
} tt_setting_values;

typedef struct tt_settings {
    tt_setting_values of[TT_SET_COUNT];
    char *program;       /* the named llama-completion, absolute; NULL: the built-in runner */
    char *output;        /* the folder of the results, absolute */
    bool has_temp_files; /* that section is accepted and means nothing */
    void *json;          /* private: owns the texts */
    tt_made made;        /* private: paths that were made absolute */
} tt_settings;

/* One combination: of each key its value, or NULL where it is not there. Program arguments belong
 * together: they are in settings.of. */
typedef struct tt_experiment {
    const tt_setting_value *of[TT_SET_COUNT];
} tt_experiment;

/* Reads `size` bytes. `name` is what messages call them, `folder` (absolute) what paths in them are
 * relative to. TT_E_FORMAT, with line and column: not JSON, or a key twice. TT_E_USAGE: JSON, with
 * what is listed in *diagnostics. TT_E_LIMIT: too large, too deep or too many combinations. On
 * failure *s is empty. */
tt_status tt_settings_parse(tt_settings *s, const char *text, size_t size, const char *name,
                            const char *folder, tt_diagnostics *diagnostics, tt_error *err);
/* The same from a file, or from a pipe: then paths are relative to the current folder. TT_E_IO,
 * TT_E_NOT_FOUND: it cannot be read. */
tt_status tt_settings_read(tt_settings *s, const char *path, tt_diagnostics *diagnostics,
                           tt_error *err);
void tt_settings_free(tt_settings *s);

/* How many combinations there are, at least 1; and the one of that number. */
size_t tt_settings_experiments(const tt_settings *s);
void tt_settings_experiment(const tt_settings *s, size_t number, tt_experiment *e);
/* The first with the values that this one has: itself, unless a value stands in an array twice. */
size_t tt_settings_first_like(const tt_settings *s, size_t number);

/* The key as it stands in the file: "threads", and its section: "experiment". */
const char *tt_setting_key(tt_setting setting);
const char *tt_setting_section(tt_setting setting);
/* Whether more than one value of it makes more experiments. */
bool tt_setting_is_swept(tt_setting setting);
/* The value as text, for tables and for telling whether something changed; in the caller's buffer
 * where it is no text. */
#define TT_SETTING_TEXT 48
const char *tt_setting_show(tt_setting setting, const tt_setting_value *value,
                            char out[TT_SETTING_TEXT]);

#endif
