/* Reading settings in JSON by a table of keys: what `experiment` and `crossval` share. */
#ifndef TT_EXPERIMENT_READER_H
#define TT_EXPERIMENT_READER_H

#include "base/status.h"
#include "experiment/diagnostics.h"
#include "experiment/keys.h"
#include "experiment/setting_value.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct tt_settings_reader {
    tt_diagnostics *diagnostics;
    const char *folder;       /* what paths are relative to, absolute */
    const char *other_folder; /* what TT_KEY_MODEL and TT_KEY_BINARY are relative to */
    tt_made *made;            /* takes the paths that are made absolute */
    bool no_memory;           /* set when something could not be kept */
} tt_settings_reader;

/* JSON without keys that are there twice; *root is the caller's (json_decref). TT_E_FORMAT, with
 * line and column; TT_E_LIMIT: too large or too deep. `name` is what messages call it. */
tt_status tt_json_load(const char *text, size_t size, const char *name, json_t **root,
                       tt_error *err);
/* "an object", "a number". */
const char *tt_json_type_name(const json_t *v);

/* A settings file as it is, or from a pipe: *text is malloced. `folder` gets what paths in it are
 * relative to: where the file is, links followed; of a pipe, the current folder. TT_E_IO,
 * TT_E_NOT_FOUND: it cannot be read. */
tt_status tt_settings_load(const char *path, char **text, size_t *size, char folder[PATH_MAX],
                           tt_error *err);

/* The path in that folder, unless it is absolute. */
const char *tt_reader_join(tt_settings_reader *r, const char *folder, const char *path);
/* One value, checked; false: it was complained of. In messages the key is k->section, a dot and
 * k->key; the latter alone where the section is "". */
bool tt_reader_value(tt_settings_reader *r, const tt_key *k, const json_t *v,
                     tt_setting_value *out);
/* "a whole number": what a value of this type is. */
const char *tt_key_type_name(tt_key_type type);
/* Complains of a key that is not among those of `section` in the table; `shown` is what the section
 * is called here. */
void tt_reader_unknown(tt_settings_reader *r, const tt_key *keys, size_t n, const char *section,
                       const char *shown, const char *key);

#endif
