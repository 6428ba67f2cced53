/* The keys of settings.json: their numbers, and a table of them. */
#ifndef TT_EXPERIMENT_KEYS_H
#define TT_EXPERIMENT_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    TT_SET_MEMORY_LIMIT, /* its integer in bytes, or its number in percent of the model */
    TT_SET_COLD_START,
    TT_SET_READAHEAD,
    TT_SET_SWAPPINESS,
    TT_SET_MLOCK,
    TT_SET_REPETITIONS, /* one number N, meaning the values 1 .. N */
    TT_SET_PROGRAM_ARGUMENTS,
    /* Not swept: */
    TT_SET_LABEL,
    TT_SET_DOMAIN,
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
    TT_SET_DATASET_COPIES,
    TT_SET_ORDER, /* results do not depend on settings from here on */
    TT_SET_ORDER_SEED,
    TT_SET_DATASET_THREADS,
    TT_SET_EXPERIMENT_NAME,
    TT_SET_DESCRIPTION,
    TT_SET_PROMPTS_FILE,
    TT_SET_LLAMA_CPP_DIR,
    TT_SET_LLAMA_BINARY,
    TT_SET_WEBUI_DATA_DIR,
    TT_SET_COUNT
} tt_setting;

typedef enum tt_key_type {
    TT_KEY_TEXT,
    TT_KEY_PATH,   /* relative to the settings file */
    TT_KEY_MODEL,  /* relative to paths.llama_cpp_dir, if present */
    TT_KEY_BINARY, /* relative to paths.llama_cpp_dir, if present */
    TT_KEY_INTEGER,
    TT_KEY_SIZE, /* bytes: a number, a text such as "400M", or null for none; with max 100 also a
                    percentage such as "60%" */
    TT_KEY_NUMBER,
    TT_KEY_BOOL,
    TT_KEY_CHOICE,
    TT_KEY_COUNT, /* an integer N, for the values 1 .. N */
    TT_KEY_TEXTS, /* an array that is a single value */
    TT_KEY_OTHER  /* read by its own function, not by tt_reader_value */
} tt_key_type;

typedef struct tt_key {
    const char *section;
    const char *key;
    tt_key_type type;
    int64_t min, max;
    const char *choices; /* separated by blanks */
    bool required;
} tt_key;

extern const tt_key tt_keys[TT_SET_COUNT];

/* The sections, and NULL; the last one is accepted and ignored. */
extern const char *const tt_key_sections[];
#define TT_KEY_IGNORED_SECTION "temp_files"

#endif
