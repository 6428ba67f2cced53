/* Reads settings in JSON by a table of keys, for `experiment` and `crossval`. */
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
    const char *folder;       /* base of relative paths, absolute */
    const char *other_folder; /* base of TT_KEY_MODEL and TT_KEY_BINARY */
    tt_made *made;            /* owns the paths made absolute */
    bool no_memory;           /* out of memory for a text */
} tt_settings_reader;

/* Loads JSON without duplicate keys; *root is the caller's (json_decref). TT_E_FORMAT, with line
 * and column; TT_E_LIMIT: too large or too deep. `name` is for messages. */
tt_status tt_json_load(const char *text, size_t size, const char *name, json_t **root,
                       tt_error *err);
/* "an object", "a number". */
const char *tt_json_type_name(const json_t *v);

/* Loads the text of a settings file or pipe; *text is malloced. `what` it is, "the settings",
 * stands in the error. `folder` gets the base of relative paths: the file's folder, links followed;
 * for a pipe, the current folder. TT_E_IO, TT_E_NOT_FOUND: it cannot be read. */
tt_status tt_settings_load(const char *what, const char *path, char **text, size_t *size,
                           char folder[PATH_MAX], tt_error *err);

/* The path in that folder, unless it is absolute. */
const char *tt_reader_join(tt_settings_reader *r, const char *folder, const char *path);
/* Reads and checks one value; false: a diagnostic was added. Messages name the key as
 * k->section, a dot and k->key; only k->key where the section is "". */
bool tt_reader_value(tt_settings_reader *r, const tt_key *k, const json_t *v,
                     tt_setting_value *out);
/* "a whole number": describes the values of this type. */
const char *tt_key_type_name(tt_key_type type);
/* Adds a diagnostic for a key that is not among those of `section` in the table; `shown` names
 * the section in it. */
void tt_reader_unknown(tt_settings_reader *r, const tt_key *keys, size_t n, const char *section,
                       const char *shown, const char *key);

#endif
