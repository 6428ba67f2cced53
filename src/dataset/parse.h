/* JSON from bytes that nobody vouches for, with bounds on what it costs. */
#ifndef TT_DATASET_PARSE_H
#define TT_DATASET_PARSE_H

#include "base/status.h"

#include <jansson.h>
#include <stddef.h>

#define TT_DATASET_DEPTH_MAX 16u         /* objects and arrays in each other */
#define TT_DATASET_VALUES_MAX (4u << 20) /* in one file: half a GiB when parsed */

/* An object, which the caller frees with json_decref; NULL with what is wrong, and where, in *err
 * (the message does not name the file). Keys that are there twice, bytes that are not UTF-8,
 * numbers that do not fit and anything behind the object are refused. */
json_t *tt_dataset_parse(const char *text, size_t n, tt_error *err);

#endif
