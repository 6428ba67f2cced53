/* The trace as tables: what CSV and Parquet are written from.
 *
 * A table's rows are made in parts, each on its own, so that several threads can make some at once.
 * The rows of all parts, one part after the other, are the table. A part has at most
 * TT_ROWS_MAX rows, unless a single graph computation has more. */
#ifndef TT_EXPORT_COLUMNS_H
#define TT_EXPORT_COLUMNS_H

#include "base/status.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_ROWS_MAX (1u << 18)
#define TT_COLUMNS_MAX 48u

typedef enum tt_value_type {
    TT_VALUE_BOOL, /* uint8_t, 0 or 1 */
    TT_VALUE_U8,
    TT_VALUE_U16,
    TT_VALUE_U32,
    TT_VALUE_U64,
    TT_VALUE_I32,
    TT_VALUE_I64,
    TT_VALUE_F32,
    TT_VALUE_F64,
    TT_VALUE_TIME, /* int64_t: ns since 1970-01-01 00:00 UTC */
    TT_VALUE_NAME  /* uint32_t: a code of the column's dictionary */
} tt_value_type;

typedef struct tt_column {
    const char *name; /* snake_case, the unit last: as everywhere */
    tt_value_type type;
    bool nullable;     /* not every row has it: what was not observed is null */
    const char *about; /* one line, for the documentation */
} tt_column;

/* Distinct texts, numbered in the order of their first use. They need not be UTF-8. */
typedef struct tt_dictionary {
    const char **texts; /* belong to the model or to static storage */
    size_t *lengths;
    uint32_t n, capacity;
    uint32_t *slots; /* private: a hash table of codes */
    uint32_t n_slots;
} tt_dictionary;

/* The text's code; TT_NONE without memory. */
uint32_t tt_dictionary_code(tt_dictionary *d, const char *text, size_t n);

/* A column's values of the rows of a part, in an array of its type. */
typedef struct tt_values {
    void *values;
    uint8_t *valid; /* a byte a row; NULL: every row has a value */
    tt_dictionary dictionary;
} tt_values;

typedef struct tt_export_table tt_export_table;

/* The rows of one part. Memory is kept from part to part. Zero-filled is empty and ready. */
typedef struct tt_rows {
    const tt_export_table *table;
    size_t n;
    size_t capacity;
    tt_values columns[TT_COLUMNS_MAX];
} tt_rows;

struct tt_export_table {
    const char *name; /* of the table and its files */
    const char *about;
    const tt_column *columns;
    uint32_t n_columns; /* the first one is run_id */
    /* How many parts there are. */
    uint32_t (*parts)(const tt_model *m);
    /* Fills *rows with a part's. m is a share (tt_model_share) of the calling thread's own. */
    tt_status (*fill)(const tt_model *m, uint32_t part, tt_rows *rows, tt_error *err);
};

/* run, tokens, ops, lanes, sources, tensors, buffers, buffer_events, nodes, edges, routing, faults,
 * values. */
const tt_export_table *const *tt_export_tables(size_t *n);

/* Empties the rows and sets the table that they are of. */
void tt_rows_begin(tt_rows *rows, const tt_export_table *table);
void tt_rows_free(tt_rows *rows);
/* Room for n rows in all, in every column. */
tt_status tt_rows_reserve(tt_rows *rows, size_t n, tt_error *err);

#endif
