/* Private to this folder: the evidence of one batch, from which its cause is decided. */
#ifndef TT_ANALYZE_WHY_BATCH_H
#define TT_ANALYZE_WHY_BATCH_H

#include "analyze/kernel.h"
#include "analyze/why/why.h"

/* An op and what of it is remarkable. */
typedef struct tt_evidence_op {
    uint64_t ticks;
    const char *name; /* NULL: none */
} tt_evidence_op;

typedef struct tt_evidence {
    tt_why *why;
    tt_usual *usual;
    const tt_parts_walker *walker;
    const tt_batch *batch;
    double part_ns[TT_PARTS];
    double excess_ns; /* of its time; and of the time before it: */
    double excess_before_ns;
    tt_evidence_op off;     /* the longest time off CPU in one op, whatever for */
    uint64_t all_off_ticks; /* of it, on all threads */
    uint32_t off_lanes;     /* threads of that op */
    tt_evidence_op gap;     /* the longest gap before an op; behind the last one: "" */
    bool gap_first;         /* it is before the first op */
    const char *gap_after;  /* the op before the gap */
    /* Of attention's ops: excess of their own work over their medians; and what the context, longer
     * than that of a typical batch, explains of it, if it takes the same time a position. */
    double attention_ns, attention_grown_ns;
    uint32_t threads, usable;    /* of its runs; processors; 0: not known */
    double read_ns;              /* excess of the ops that read from a device */
    double expert_disk_ns;       /* of part_ns[TT_PART_DISK], in ops that pick experts */
    tt_amount major, read_bytes; /* of its ops */
    bool kernel_known;           /* the kernel's counts of the process, while it was computed: */
    tt_amount kernel_read_bytes;
    uint64_t kernel_major;
    double kernel_cpu_ns;
    tt_recomputed recomputed; /* n_tokens 0: none */
    uint32_t lanes;           /* the most of an op */
    uint32_t last_lane;       /* the thread for which the others waited longest, and how long: */
    uint64_t last_lane_ticks, last_lane_most; /* in all, and in one op */
    const char *last_lane_op;
    /* Layers whose experts were read from disk; and of these, those that chose an expert which was
     * not chosen in the TT_COLD_BATCHES batches before, and one of them: */
    uint32_t layers_read, layers_cold;
    char expert_name[64];
} tt_evidence;

#define TT_COLD_BATCHES 8u

/* Sets the cause, whether it is slow, and the sentences. */
void tt_why_decide(tt_evidence *e);
/* Counts the experts that were read from disk. */
tt_status tt_why_find_cold(tt_evidence *e, tt_error *err);

#endif
