/* The order in which ops read the model's files, over time: single reads if there are few, else
 * sums over a grid of time and offset. The offsets are those of all model files one after another
 * (tt_reads_layout). */
#ifndef TT_ANALYZE_MEMORY_PATH_H
#define TT_ANALYZE_MEMORY_PATH_H

#include "analyze/heat.h"
#include "analyze/over.h"
#include "analyze/reads.h"
#include "base/amount.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_PATH_COLUMNS_MAX 2048u
#define TT_PATH_ROWS_MAX 1024u
#define TT_PATH_READS_MAX 65536u

/* A part of the picture. */
typedef struct tt_path_window {
    double from_ns, to_ns; /* since the trace's first batch; from < to */
    uint64_t from_bytes, to_bytes;
} tt_path_window;

typedef struct tt_path_query {
    tt_path_window window;
    uint32_t columns, rows; /* of the grid: time, offset */
    uint32_t reads_max;     /* if there are more, they are not listed */
} tt_path_query;

/* From one read to the next one, in the order in which their ops began. */
typedef struct tt_path_steps {
    uint64_t kinds[TT_HEAT_STEPS]; /* by enum tt_heat_step_kind */
} tt_path_steps;

/* An op's read of one range. */
typedef struct tt_path_read {
    double start_ns, end_ns; /* of the op; the same: its end was not observed */
    uint64_t offset_bytes, size_bytes;
    uint32_t weight; /* in tt_model.weights */
    int32_t expert;  /* or TT_EXPERT_NONE */
    uint32_t run, node;
    uint32_t batch; /* in tt_model.batches, or TT_NONE */
    uint8_t step;   /* enum tt_heat_step_kind: from the read before it, in the window or not */
    bool copied;    /* in a copy in a buffer, not in the mapped file */
    tt_amount major_faults, minor_faults; /* of the op, divided as `faults` does */
} tt_path_read;

typedef struct tt_path_cell {
    uint64_t reads; /* a read over several cells counts in each */
    uint64_t read_bytes;
    uint64_t prompt; /* of the reads, those of batches with a prompt */
    uint64_t copied;
    tt_amount major_faults, minor_faults;
} tt_path_cell;

typedef struct tt_path {
    tt_path_window window; /* as asked for, or a little more: whole cells */
    uint32_t columns, rows;
    tt_path_cell *cells;  /* row by row, from the lowest offset; NULL if the reads are listed */
    tt_path_steps *steps; /* by column; private */
    tt_path_steps all_steps;
    tt_path_read *list; /* NULL: there are more than reads_max */
    size_t n, capacity;
    uint64_t reads, read_bytes; /* in the window */
    uint64_t copied_bytes;      /* of these */
    uint64_t impossible;
    uint64_t unplaced; /* reads of which it is not known where they are; left out */
    bool faults;       /* page faults of ops were recorded */
} tt_path;

/* All of the trace: time of its runs, offsets of all files. Needs a clock. */
tt_status tt_path_extent(const tt_model *m, tt_path_window *out, tt_error *err);

/* Zero-filled, or freed with tt_path_free, also after an error. Reads overlap the window; one that
 * is partly outside counts as a whole in `reads`, its bytes only inside. Needs a clock. */
tt_status tt_path_find(const tt_model *m, const tt_path_query *query, const tt_over *over,
                       tt_path *out, tt_error *err);
/* A part of a path that has a grid (reads_max 0), in cells that are whole multiples of its own; at
 * most that many. False if out of memory. */
bool tt_path_cut(const tt_path *whole, const tt_path_window *window, uint32_t columns,
                 uint32_t rows, tt_path *out);
void tt_path_free(tt_path *p);

/* Pure: of an op's total, the part of access i, in proportion to the bytes: among the accesses to
 * the mapped file if there are any, because copies do not fault. */
uint64_t tt_reading_share(const tt_model *m, const tt_reading *r, size_t i, uint64_t total);

#endif
