/* The trace as tables: what CSV and Parquet are written from. docs/tables.md says what is in each.
 *
 * A table's rows are made in parts, each on its own, so that several threads can make some at once.
 * The rows of all parts, one part after the other, are the table. A part has about TT_ROWS_MAX rows
 * at most, more where a single graph computation has more, and may have none. */
#ifndef TT_EXPORT_TABLES_COLUMNS_H
#define TT_EXPORT_TABLES_COLUMNS_H

#include "base/idmap.h"
#include "base/status.h"
#include "export/export.h"
#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_ROWS_MAX (1u << 18)
#define TT_COLUMNS_MAX 64u

/* A column whose cells `fill` writes, a whole part at once. */
#define TT_EXPORT_COLUMN(key_, type_, nullable_, about_)                                           \
    {                                                                                              \
        .key = (key_), .type = (type_), .nullable = (nullable_), .about = (about_)                 \
    }

/* Distinct texts, numbered in the order of their first use. They need not be UTF-8. */
typedef struct tt_dictionary {
    const char **texts; /* belong to the model, to static storage, or to the rows */
    size_t *lengths;
    uint32_t n, capacity;
    tt_idmap by_hash; /* private */
} tt_dictionary;

/* The text's code; TT_NONE without memory. */
uint32_t tt_dictionary_code(tt_dictionary *d, const char *text, size_t n);
/* Forgets the texts, keeps the memory. */
void tt_dictionary_clear(tt_dictionary *d);
void tt_dictionary_free(tt_dictionary *d);

/* A column's values of the rows of a part, in an array of its type. */
typedef struct tt_values {
    void *values;             /* of a row without a value: 0, which means nothing */
    uint8_t *valid;           /* a byte a row, 0 or 1; NULL: every row has a value */
    tt_dictionary dictionary; /* of this part */
    uint8_t *valid_memory;    /* private */
} tt_values;

typedef struct tt_export_table tt_export_table;
typedef struct tt_tables_own tt_tables_own;

/* The rows of one part. Memory is kept from part to part. Zero-filled is empty and ready; it then
 * serves one model (a share of it) and filter, and one table after the other. */
typedef struct tt_rows {
    const tt_export_table *table;
    size_t n;
    size_t capacity;
    bool failed; /* sticky until tt_rows_begin: a text found no memory */
    tt_values columns[TT_COLUMNS_MAX];
    tt_tables_own *own; /* private: what the tables keep from part to part */
} tt_rows;

struct tt_export_table {
    const char *name; /* of the table and its files */
    const char *about;
    const tt_column *columns;
    uint32_t n_columns; /* the first one is run_id */
    bool filtered;      /* of the batches that pass the filter; else of the whole trace */
    /* How many parts there are; may be 0. filter NULL: everything. Only token and phase count. */
    uint32_t (*parts)(const tt_model *m, const tt_filter *filter);
    /* Fills *rows with a part's. m is a share (tt_model_share) of the calling thread's own, the
     * filter that of `parts`. */
    tt_status (*fill)(const tt_model *m, const tt_filter *filter, uint32_t part, tt_rows *rows,
                      tt_error *err);
};

/* run, tokens, ops, lanes, sources, tensors, buffers, buffer_events, nodes, edges, routing, faults,
 * values. */
const tt_export_table *const *tt_export_tables(size_t *n);
#define TT_EXPORT_TABLES 14u

/* Rows written of each, in that order. */
typedef struct tt_tables_counts {
    uint64_t rows[TT_EXPORT_TABLES];
} tt_tables_counts;

/* Tells the person who exports which tables are empty, and what else is not there (options->note),
 * and sums up the rows (options->sum). For formats made of tables. */
void tt_tables_notes(const tt_model *m, const tt_export_options *options,
                     const tt_tables_counts *counts);

/* Empties the rows and sets the table that they are of. */
void tt_rows_begin(tt_rows *rows, const tt_export_table *table);
/* Before the model is closed. */
void tt_rows_free(tt_rows *rows);
/* Room for n rows in all, in every column. */
tt_status tt_rows_reserve(tt_rows *rows, size_t n, tt_error *err);
/* Bytes of a value of that type in its array. */
size_t tt_cell_size(tt_cell_type type);

/* These set a column of the row `rows->n`, for which there must be room; then rows->n++. */
void tt_rows_integer(tt_rows *rows, uint32_t column, uint64_t v); /* also BOOL, TIME, negative */
void tt_rows_real(tt_rows *rows, uint32_t column, double v);
void tt_rows_text(tt_rows *rows, uint32_t column, const char *text, size_t n);
void tt_rows_name(tt_rows *rows, uint32_t column, const char *text); /* NULL: null */
void tt_rows_null(tt_rows *rows, uint32_t column);
/* The array `valid` of a nullable column, all 1 at first. */
uint8_t *tt_rows_valid(tt_rows *rows, uint32_t column);

#endif
