/* The DETAIL chunk's payload: what was observed of ops besides their times. Specified in
 * docs/format.md. */
#ifndef TT_FORMAT_DETAIL_H
#define TT_FORMAT_DETAIL_H

#include "base/bytes.h"
#include "base/status.h"
#include "format/ops.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_DETAIL_CHUNK_RECORDS_MAX TT_OPS_CHUNK_RECORDS_MAX
#define TT_DETAIL_EXPERTS_MAX 8u  /* ids in one record */
#define TT_DETAIL_WEIGHTS_MAX 4u  /* routing weights in one record */
#define TT_DETAIL_VALUE_BYTES 23u /* of a fingerprint in one record */
#define TT_DETAIL_VALUE_PARTS 9u  /* records of one fingerprint, at most */

enum tt_detail_kind {
    TT_DETAIL_NONE = 0, /* never completed: not stored */
    TT_DETAIL_FAULTS = 1,
    TT_DETAIL_EXPERTS = 2,
    TT_DETAIL_WEIGHTS_F32 = 3,
    TT_DETAIL_VALUE = 4,
    TT_DETAIL_OFF_CPU = 5,
    TT_DETAIL_THREAD = 6,
    TT_DETAIL_BETWEEN = 7,
    TT_DETAIL_WAIT_INSIDE = 8
};
#define TT_DETAIL_KINDS 9u

/* The kernel's counts for the thread while it worked on an op (start to arrive). */
typedef struct tt_detail_faults {
    uint32_t minor;
    uint32_t major;
    uint64_t cpu_ns;
    uint64_t read_bytes; /* from the device; UINT64_MAX: not observed */
} tt_detail_faults;

/* The experts chosen for one token of a batch, ranks first_rank to first_rank + n - 1. */
typedef struct tt_detail_experts {
    uint32_t token; /* row of the ids, see docs/format.md */
    uint16_t first_rank;
    uint16_t n;
    uint16_t expert[TT_DETAIL_EXPERTS_MAX];
} tt_detail_experts;

/* Their routing weights. */
typedef struct tt_detail_weights {
    uint32_t token;
    uint16_t first_rank;
    uint16_t n;
    float weight[TT_DETAIL_WEIGHTS_MAX];
} tt_detail_weights;

/* A part of the fingerprint of an op's output (value/type.h): the bytes from part *
 * TT_DETAIL_VALUE_BYTES on. The node is the output's. */
typedef struct tt_detail_value {
    uint8_t part;
    uint8_t bytes[TT_DETAIL_VALUE_BYTES];
} tt_detail_value;

/* How long the thread was off CPU while it worked on an op, or (ticks > 0, WAIT_INSIDE) how long it
 * waited for the others at a barrier inside the op, and of that was off CPU. Several details of one
 * op and lane add up. */
typedef struct tt_detail_off_cpu {
    uint64_t ns;
    uint64_t ticks; /* 0: OFF_CPU */
} tt_detail_off_cpu;

/* The kernel's counts for the thread since its last such reading, in microseconds. Readings are
 * milliseconds apart: the op is the one at whose end this one was made. BETWEEN: the op is the
 * first one of a run, which this thread called; it was read before that, and the time since the
 * last reading is in no op. */
typedef struct tt_detail_thread {
    uint32_t elapsed_us;
    uint32_t user_us;
    uint32_t system_us;
    uint32_t delay_us; /* ready to run, but waiting for a processor; UINT32_MAX: not observed */
    uint32_t major;    /* page faults */
    uint32_t switches; /* how often it gave its processor up */
} tt_detail_thread;

/* One detail of one op on one lane, as the hot path writes it: the size of a tt_op_record.
 *
 *   0     4      8                            32
 *   | run | place| faults | experts | weights |    place: as in tt_op_record, with the kind
 *                                                  instead of `covers`
 *
 * Experts and weights belong to the first node of the graph that uses the same ids tensor. */
typedef struct tt_detail {
    uint32_t run;
    uint32_t place;
    union {
        tt_detail_faults faults;
        tt_detail_experts experts;
        tt_detail_weights weights;
        tt_detail_value value;
        tt_detail_off_cpu off_cpu;
        tt_detail_thread thread;
    };
} tt_detail;

_Static_assert(sizeof(tt_detail) == sizeof(tt_op_record), "rings of both have slots of one size");

static inline uint32_t tt_detail_place(uint32_t node, uint32_t lane, enum tt_detail_kind kind)
{
    /* It has three bits. */
    return tt_op_place(node, lane,
                       (uint32_t)(kind == TT_DETAIL_WAIT_INSIDE ? TT_DETAIL_OFF_CPU : kind));
}

static inline uint32_t tt_detail_node(const tt_detail *d)
{
    return d->place & TT_OPS_NODE_MAX;
}

static inline uint32_t tt_detail_lane(const tt_detail *d)
{
    return (d->place >> 20) & TT_OPS_LANE_MAX;
}

static inline enum tt_detail_kind tt_detail_kind_of(const tt_detail *d)
{
    const enum tt_detail_kind kind = (enum tt_detail_kind)(d->place >> 29);
    return kind == TT_DETAIL_OFF_CPU && d->off_cpu.ticks ? TT_DETAIL_WAIT_INSIDE : kind;
}

static inline bool tt_detail_is_thread(const tt_detail *d)
{
    return tt_detail_kind_of(d) == TT_DETAIL_THREAD || tt_detail_kind_of(d) == TT_DETAIL_BETWEEN;
}

/* Appends the payload for n > 0 details (at most TT_DETAIL_CHUNK_RECORDS_MAX) of one ring, kind by
 * kind. Leaves out those of kind NONE, of an unknown kind, or with a list of an invalid length.
 * False if memory or the limit ran out; then out->failed is set. */
bool tt_detail_encode(tt_bytes *out, const tt_detail *details, size_t n);

/* Decodes a payload. *details (malloc'ed, the caller frees it) gets *n of them, by ascending run,
 * node, lane, kind, token, rank (for values: part). `count`: the chunk header's record count, an
 * upper bound (details of kind NONE count). NULL on failure. Kinds are stored in ascending order
 * and cannot be skipped without knowing their columns: decoding ends at the first unknown kind. */
tt_status tt_detail_decode(tt_span payload, size_t count, tt_detail **details, size_t *n,
                           tt_error *err);
/* The same, and the bytes of the payload that each kind takes, the first with what is before it;
 * unknown kinds count as kind NONE. */
tt_status tt_detail_decode_measured(tt_span payload, size_t count, tt_detail **details, size_t *n,
                                    size_t kind_bytes[TT_DETAIL_KINDS], tt_error *err);

#endif
