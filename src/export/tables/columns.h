/* The trace as tables, for CSV and Parquet. docs/tables.md describes each.
 *
 * A table's rows are made in independent parts, so that several threads can work at once. The rows
 * of all parts, in order, are the table. A part has at most about TT_ROWS_MAX rows, more if a
 * single graph computation has more, and may have none. */
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

/* A column whose cells `fill` writes, for a whole part at once. */
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

/* The text's code; TT_NONE if out of memory. */
uint32_t tt_dictionary_code(tt_dictionary *d, const char *text, size_t n);
/* Removes the texts; keeps the memory. */
void tt_dictionary_clear(tt_dictionary *d);
void tt_dictionary_free(tt_dictionary *d);

/* A column's values for the rows of a part, in an array of its type. */
typedef struct tt_values {
    void *values;             /* for a row without a value: 0, not valid */
    uint8_t *valid;           /* one byte per row, 0 or 1; NULL: every row has a value */
    tt_dictionary dictionary; /* of this part */
    uint8_t *valid_memory;    /* private */
} tt_values;

typedef struct tt_export_table tt_export_table;
typedef struct tt_tables_own tt_tables_own;

/* The rows of one part. Memory is reused for each part. Zero-filled is empty and ready; it then
 * serves one model (a share of it) and filter, and one table after another. */
typedef struct tt_rows {
    const tt_export_table *table;
    size_t n;
    size_t capacity;
    size_t usual;      /* private: rows that were taken at once */
    uint64_t left_out; /* bits of columns that the caller does not want: `fill` need not set them */
    bool failed;       /* sticky until tt_rows_begin: out of memory for a text */
    tt_values columns[TT_COLUMNS_MAX];
    tt_tables_own *own; /* private: kept from part to part; if set, freed by ... */
    void (*free_own)(tt_tables_own *own);
} tt_rows;

struct tt_export_table {
    const char *name; /* of the table and its files */
    const char *about;
    const tt_column *columns;
    uint32_t n_columns; /* the first one is run_id */
    bool filtered;      /* restricted to the batches that pass the filter; else the whole trace */
    bool of_ops;        /* layer, op and tensor of the filter count, too */
    /* The number of parts; may be 0. filter NULL: everything. */
    uint32_t (*parts)(const tt_model *m, const tt_filter *filter);
    /* Fills *rows with those of a part. m is the calling thread's own share (tt_model_share), the
     * filter that of `parts`. */
    tt_status (*fill)(const tt_model *m, const tt_filter *filter, uint32_t part, tt_rows *rows,
                      tt_error *err);
};

/* run, tokens, ops, lanes, sources, tensors, buffers, buffer_events, nodes, edges, routing, faults,
 * values. */
const tt_export_table *const *tt_export_tables(size_t *n);
#define TT_EXPORT_TABLES 14u

/* Rows written per table, in that order. */
typedef struct tt_tables_counts {
    uint64_t rows[TT_EXPORT_TABLES];
} tt_tables_counts;

/* Reports which tables are empty, and what else is missing (options->note), and sums the rows
 * (options->sum). For formats made of tables. */
void tt_tables_notes(const tt_model *m, const tt_export_options *options,
                     const tt_tables_counts *counts);

/* Empties the rows and sets their table. */
void tt_rows_begin(tt_rows *rows, const tt_export_table *table);
/* Call it before the model is closed. */
void tt_rows_free(tt_rows *rows);
static inline bool tt_rows_wants(const tt_rows *rows, uint32_t column)
{
    return !(rows->left_out >> column & 1);
}
/* Room for n rows in all, in every column. */
tt_status tt_rows_reserve(tt_rows *rows, size_t n, tt_error *err);
/* Gives the arrays of these columns, whose rows are there, to the caller, who frees them, none
 * longer than it must be: columns[i]'s as values[i]. The rows are gone; their texts stay. */
void tt_rows_take(tt_rows *rows, const uint32_t *columns, uint32_t n, void **values);
/* Bytes of a value of that type in its array. */
size_t tt_cell_size(tt_cell_type type);

/* These set a column of the row `rows->n`, for which there must be room; then increment rows->n. */
void tt_rows_integer(tt_rows *rows, uint32_t column, uint64_t v); /* also BOOL, TIME, negative */
void tt_rows_real(tt_rows *rows, uint32_t column, double v);
void tt_rows_text(tt_rows *rows, uint32_t column, const char *text, size_t n);
void tt_rows_name(tt_rows *rows, uint32_t column, const char *text); /* NULL: null */
void tt_rows_null(tt_rows *rows, uint32_t column);
/* The array `valid` of a nullable column, all 1 at first. */
uint8_t *tt_rows_valid(tt_rows *rows, uint32_t column);

#endif
