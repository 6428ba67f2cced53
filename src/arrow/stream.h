/* Streams of batches, and where their batches come from. */
#ifndef TT_ARROW_STREAM_H
#define TT_ARROW_STREAM_H

#include "arrow/arrays.h"
#include "arrow/options.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

/* A model that the reader and its streams keep open together: the last one that gives it up closes
 * it. Safe from any thread. */
typedef struct tt_held_model tt_held_model;

/* The model becomes its own. NULL if out of memory. */
tt_held_model *tt_held_model_new(tt_model *m);
const tt_model *tt_held_model_get(const tt_held_model *h);
tt_held_model *tt_held_model_take(tt_held_model *h);
void tt_held_model_give(tt_held_model *h); /* NULL is allowed */

/* What makes batches. */
typedef struct tt_arrow_source {
    /* The next batch; out->release NULL behind the last one. */
    tt_status (*next)(void *own, struct ArrowArray *out, tt_error *err);
    void (*close)(void *own);
    void *own;
} tt_arrow_source;

/* The shape's table lives as long as the source, which becomes the stream's: on failure it is
 * closed. */
tt_status tt_arrow_stream_make(const tt_arrow_shape *shape, const tt_arrow_source *source,
                               struct ArrowArrayStream *out, tt_error *err);

/* A table. The options become the stream's: empty afterwards. */
tt_status tt_arrow_table_stream(tt_held_model *model, const tt_export_table *table,
                                tt_arrow_options *options, struct ArrowArrayStream *out,
                                tt_error *err);

/* Rows of listings, one after the other, kept as batches. Zero-filled is empty. */
#define TT_ARROW_LISTED_ROWS 65536u
typedef struct tt_arrow_listed {
    tt_export_table table; /* with these columns: */
    tt_column columns[TT_COLUMNS_MAX];
    tt_arrow_shape shape;
    tt_rows rows;
    tt_arena texts;
    struct ArrowArray *batches;
    size_t n, capacity;
    size_t next; /* to be handed out */
} tt_arrow_listed;

/* Sets the columns: those of the listing. */
tt_status tt_arrow_listed_begin(tt_arrow_listed *l, const tt_listing *listing, const tt_model *m,
                                tt_error *err);
/* Adds a row of the listing's schema. */
tt_status tt_arrow_listed_add(tt_arrow_listed *l, const tt_listing *listing, const void *row,
                              tt_error *err);
/* The listing's columns, if none are set, and all of its rows. */
tt_status tt_arrow_listed_all(tt_arrow_listed *l, const tt_listing *listing, const tt_model *m,
                              tt_error *err);
/* A stream of what was added. `l`, malloc'ed, becomes the stream's, also on failure. */
tt_status tt_arrow_listed_stream(tt_arrow_listed *l, struct ArrowArrayStream *out, tt_error *err);
void tt_arrow_listed_free(tt_arrow_listed *l); /* with l itself */

#endif
