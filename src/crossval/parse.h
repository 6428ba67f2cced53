/* Reads settings.json of crossval; shared by its files. */
#ifndef TT_CROSSVAL_PARSE_H
#define TT_CROSSVAL_PARSE_H

#include "crossval/settings.h"
#include "experiment/reader.h"

#include <jansson.h>

#define TT_CV_SHOWN 64
#define TT_CV_KEYS_MAX 24u

typedef struct tt_cv_reading {
    tt_crossval_settings *s;
    tt_settings_reader reader;
} tt_cv_reading;

/* The values of one object; those of the type TT_KEY_OTHER are in `raw`. */
typedef struct tt_cv_object {
    char shown[TT_CV_SHOWN]; /* "scenarios[2]"; "" is the whole */
    bool has[TT_CV_KEYS_MAX];
    tt_setting_value values[TT_CV_KEYS_MAX];
    const json_t *raw[TT_CV_KEYS_MAX]; /* NULL: absent */
} tt_cv_object;

/* Reads the keys of an object by a table of n <= TT_CV_KEYS_MAX rows, and reports others. False:
 * not an object. */
bool tt_cv_object_read(tt_cv_reading *r, const tt_key *keys, size_t n, json_t *v, tt_cv_object *o);
/* Adds a diagnostic about "SHOWN.KEY"; KEY may be NULL: "SHOWN". */
void tt_cv_diagnose(tt_cv_reading *r, const char *shown, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* sides.a, sides.b; *side already has what applies to both. */
void tt_cv_side_read(tt_cv_reading *r, json_t *v, const char *name, tt_crossval_side *side);
/* Checks the settings as a whole, after the single keys. */
void tt_cv_check(tt_cv_reading *r);

#endif
