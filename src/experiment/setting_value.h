/* A value of settings of any kind. */
#ifndef TT_EXPERIMENT_SETTING_VALUE_H
#define TT_EXPERIMENT_SETTING_VALUE_H

#include <stddef.h>
#include <stdint.h>

#define TT_SETTINGS_BYTES_MAX ((size_t)4 << 20) /* of a settings file */

typedef struct tt_setting_value {
    const char *text; /* for texts, choices and paths; paths are absolute */
    int64_t integer;  /* for a bool: 0 or 1 */
    double number;
} tt_setting_value;

/* Texts that are freed with the settings. Zero-initialised is empty. */
typedef struct tt_made {
    char **texts;
    size_t n;
} tt_made;

void tt_made_free(tt_made *made);

#endif
