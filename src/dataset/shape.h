/* Parses untrusted JSON within limits. */
#ifndef TT_DATASET_SHAPE_H
#define TT_DATASET_SHAPE_H

#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_DATASET_DEPTH_MAX 16u         /* nested objects and arrays */
#define TT_DATASET_VALUES_MAX (4u << 20) /* in one file: half a GiB when parsed */

/* An object, which the caller frees with json_decref; NULL with the error and its offset in *err
 * (the message does not name the file). Rejects duplicate keys, bytes that are not UTF-8, numbers
 * that do not fit, and anything after the object. */
json_t *tt_dataset_parse(const char *text, size_t n, tt_error *err);

/* The keys that a JSON object must have, with the types of their values. */

/* The allowed types of a value. */
enum {
    TT_IS_STRING = 1,
    TT_IS_COUNT = 2,  /* a non-negative integer */
    TT_IS_NUMBER = 4, /* any number */
    TT_IS_ARRAY = 8,
    TT_IS_OBJECT = 16,
    TT_IS_BOOL = 32,
    TT_IS_NULL = 64
};

typedef struct tt_shape_key {
    const char *name;
    unsigned kinds;                    /* TT_IS_* */
    const struct tt_shape_key *inside; /* of an object, or of each object in an array */
    unsigned elements;                 /* TT_IS_* of an array's elements; 0: objects (with inside),
                                          or any */
    const char *const *words;          /* the only valid texts; NULL: any */
    bool optional;
} tt_shape_key;

#define TT_SHAPE_PATH 120

/* Checks every key that the shape (ended by a NULL name) lists. False: `path` is the location
 * ("entries[3].sources[0].name") and `why` the error. *examined grows by the number of values
 * checked. */
bool tt_shape_check(const json_t *object, const tt_shape_key *shape, uint64_t *examined,
                    char path[TT_SHAPE_PATH], char why[TT_SHAPE_PATH]);

/* shapes.c: one for each kind of file. */
extern const tt_shape_key tt_shape_experiment[], tt_shape_memory_map[], tt_shape_buffers[],
    tt_shape_trace[], tt_shape_graph[];

#endif
