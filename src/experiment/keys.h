/* The keys of settings.json, as a table; settings.h has their numbers. */
#ifndef TT_EXPERIMENT_KEYS_H
#define TT_EXPERIMENT_KEYS_H

#include "experiment/settings.h"

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
