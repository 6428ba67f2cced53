/* Files of fixed-size records without a header: the common part of bin64 and the records of earlier
 * tools. A kind defines the records of an op. */
#ifndef TT_EXPORT_RECORDS_RECORDS_H
#define TT_EXPORT_RECORDS_RECORDS_H

#include "analyze/access.h"
#include "analyze/ops.h"
#include "base/bytes.h"
#include "export/export.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of a field that is absent or does not fit. */
#define TT_RECORD_NONE_8 UINT8_MAX
#define TT_RECORD_NONE_16 UINT16_MAX
#define TT_RECORD_NONE_32 UINT32_MAX

/* What differs between executions of an op. */
typedef struct tt_record_now {
    uint64_t timestamp_ns; /* CLOCK_MONOTONIC */
    uint32_t batch_id;
    uint16_t thread_id; /* the first with a record of it */
    uint8_t phase;      /* 0 prompt, 1 generate */
} tt_record_now;

#define TT_RECORD_LOSSES_MAX 6u

/* A thread's part of the work. */
typedef struct tt_record_maker {
    const tt_model *m; /* the thread's share */
    const tt_export_options *options;
    tt_accesses *accesses; /* of the current run */
    uint64_t losses[TT_RECORD_LOSSES_MAX];
} tt_record_maker;

typedef struct tt_record_kind {
    size_t record_bytes;
    /* What is the same for each execution of the op, made by malloc; NULL if out of memory. */
    void *(*describe)(const tt_model *m, const tt_export_options *options, const tt_op *op);
    /* Appends the records of an executed op. False if out of memory. */
    bool (*put)(tt_record_maker *k, const void *described, const tt_record_now *now, tt_bytes *out);
    /* Text for a note, after the sum of each of a maker's losses; NULL: end. */
    const char *losses[TT_RECORD_LOSSES_MAX];
} tt_record_kind;

/* Writes a file: by graph computation in the order of their start, then by op likewise; the same
 * for any number of threads. */
tt_status tt_records_write(const tt_record_kind *kind, const tt_model *m, const char *path,
                           const tt_export_options *options, tt_error *err);

/* Its address; without a buffer, `location` is an address. */
uint64_t tt_record_address(const tt_model *m, const tt_graph *g, const tt_tensor *t);
/* Whether its bytes are read in the model file, and where. */
bool tt_record_on_disk(const tt_model *m, const tt_export_options *options, const tt_tensor *t,
                       uint64_t *offset_bytes);
uint32_t tt_record_u32(uint64_t v, uint64_t *lost);
/* Larger layer numbers do not occur in models: names with them belong to none. */
uint16_t tt_record_layer(int32_t layer_id);

#endif
