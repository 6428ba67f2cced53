/* JSON from bytes that nobody vouches for, with bounds on what it costs. */
#ifndef TT_DATASET_SHAPE_H
#define TT_DATASET_SHAPE_H

#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_DATASET_DEPTH_MAX 16u         /* objects and arrays in each other */
#define TT_DATASET_VALUES_MAX (4u << 20) /* in one file: half a GiB when parsed */

/* An object, which the caller frees with json_decref; NULL with what is wrong, and where, in *err
 * (the message does not name the file). Keys that are there twice, bytes that are not UTF-8,
 * numbers that do not fit and anything behind the object are refused. */
json_t *tt_dataset_parse(const char *text, size_t n, tt_error *err);

/* What a JSON object must hold: its keys, with the types of their values. */

/* What a value may be. */
enum {
    TT_IS_STRING = 1,
    TT_IS_COUNT = 2,  /* a whole number that is not negative */
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
    unsigned elements;                 /* TT_IS_* of an array's; 0: objects (with inside), or any */
    const char *const *words;          /* the only texts that are right; NULL: any */
    bool optional;
} tt_shape_key;

#define TT_SHAPE_PATH 120

/* Looks at every key that the shape (ended by a NULL name) lists. False: `path` says where
 * ("entries[3].sources[0].name") and `why` what is wrong. *examined grows by the values seen. */
bool tt_shape_check(const json_t *object, const tt_shape_key *shape, uint64_t *examined,
                    char path[TT_SHAPE_PATH], char why[TT_SHAPE_PATH]);

/* shapes.c: one for each kind of file. */
extern const tt_shape_key tt_shape_experiment[], tt_shape_memory_map[], tt_shape_buffers[],
    tt_shape_trace[], tt_shape_graph[];

#endif
