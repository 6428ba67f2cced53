/* How long computing takes when what it reads comes from a disk meanwhile: an event-driven
 * simulation of ops, of a reader that requests their missing bytes, and of the disk.
 *
 * An op begins when the op before it has ended and its missing bytes have arrived. The disk
 * transfers one request after the other, in the order requested; each takes request_ns and its
 * bytes at bytes_per_s, and arrives latency_ns after its transfer. With one request at a time the
 * latency is part of each; with more it hides behind the transfers of others. `tensortrace doctor
 * --disk` measures the three. */
#ifndef TT_ANALYZE_CACHE_PAGING_H
#define TT_ANALYZE_CACHE_PAGING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_disk_speed {
    double bytes_per_s; /* > 0 */
    double latency_ns;
    double request_ns;
} tt_disk_speed;

#define TT_PAGING_ALWAYS UINT32_MAX

typedef struct tt_paging_op {
    double before_ns;  /* computing between the op before it and this one, which reads nothing */
    double compute_ns; /* with all bytes there */
    double prepare_ns; /* between the two: what requesting the bytes takes the thread, before any of
                          them is requested */
    uint64_t missed_bytes;
    /* From when on they can be requested: when the op of this number is to begin, at most the op's
     * own, ascending from op to op; or TT_PAGING_ALWAYS. */
    uint32_t known_at;
    bool is_guess; /* the bytes are not needed: they are requested until the op is to begin, and not
                      waited for */
    /* Filled in: */
    double wait_ns;     /* for its bytes, with prepare_ns */
    double transfer_ns; /* of these: the disk was transferring, else only latency passed */
} tt_paging_op;

typedef struct tt_paging_reader {
    uint64_t request_bytes; /* of a request, at most; > 0 */
    uint32_t depth;         /* requests under way, at most; > 0 */
    uint64_t ahead_bytes;   /* requested for ops that are not to begin yet, at most */
} tt_paging_reader;

/* Computes n ops, fewer than 2^32 - 1, and fills in their waits. False without memory. Time grows
 * with ops and requests. */
bool tt_paging_run(tt_paging_op *ops, size_t n, const tt_paging_reader *reader,
                   const tt_disk_speed *disk);

#endif
