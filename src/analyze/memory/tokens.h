/* What each batch read: a grid with a row for a batch (or several), and columns for ranges of the
 * model's files, for layers, or for the experts of a layer. Offsets are those of all model files
 * one after another (tt_reads_layout). */
#ifndef TT_ANALYZE_MEMORY_TOKENS_H
#define TT_ANALYZE_MEMORY_TOKENS_H

#include "analyze/filter.h"
#include "analyze/over.h"
#include "base/amount.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_TOKENS_ROWS_MAX 1024u
#define TT_TOKENS_COLUMNS_MAX 2048u

typedef enum tt_tokens_by {
    TT_TOKENS_BY_FILE,  /* offsets */
    TT_TOKENS_BY_LAYER, /* the first column: weights outside of layers */
    TT_TOKENS_BY_EXPERT /* experts of all layers, or of the filter's: by their numbers */
} tt_tokens_by;

typedef struct tt_tokens_query {
    tt_tokens_by by;
    const tt_filter *filter;       /* of ops; the rows are the batches that pass */
    uint32_t rows;                 /* if there are more batches, a row has several */
    uint32_t columns;              /* by file; otherwise there are as many as needed */
    uint64_t from_bytes, to_bytes; /* by file; from < to */
} tt_tokens_query;

typedef struct tt_tokens_cell {
    uint64_t accesses; /* ops that read some of it */
    uint64_t read_bytes;
    uint64_t ticks; /* of these ops; an op's whole time counts in each column that it reads */
    tt_amount major_faults, minor_faults; /* as of tt_path_read */
} tt_tokens_cell;

typedef struct tt_tokens {
    tt_tokens_by by;
    uint64_t from_bytes, to_bytes;
    uint32_t rows, columns;
    uint32_t each;     /* batches of a row (the last one may have fewer) */
    uint32_t *batches; /* in tt_model.batches, by number */
    uint32_t n_batches;
    int32_t *layers;       /* by layer: those of the columns, ascending, the first is none */
    tt_tokens_cell *cells; /* row by row */
    uint64_t ops;          /* that read some of this */
    uint64_t unplaced;     /* by file: reads of which it is not known where they are; left out */
    bool at_most;
    bool faults;  /* page faults of ops were recorded */
    bool experts; /* some choices of experts were observed */
} tt_tokens;

/* Zero-filled, or freed with tt_tokens_free, also after an error. */
tt_status tt_tokens_find(const tt_model *m, const tt_tokens_query *query, const tt_over *over,
                         tt_tokens *out, tt_error *err);
void tt_tokens_free(tt_tokens *t);

#endif
