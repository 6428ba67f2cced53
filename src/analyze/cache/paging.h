/* Simulates computing with reads from a disk: event-driven, with ops, a reader that requests
 * missing bytes, and the disk.
 *
 * An op begins when the previous one has ended and its missing bytes have arrived. The disk
 * transfers one request after another, in the order of requests; each takes request_ns plus its
 * bytes at bytes_per_s, and arrives latency_ns after its transfer. With one request at a time the
 * latency adds to each; with more it overlaps other transfers. `tensortrace doctor --disk` measures
 * the numbers; begin_ns and move_ns are the caller's to put into prepare_ns.
 *
 * Ops with group_request_bytes have theirs requested in groups, as boost reads experts
 * (tt_policy_may_read). A group arrives as a whole, latency_ns after its transfer. The next begins
 * group_ns after that, or later; if it could have begun before, its latency is part of group_ns. */
#ifndef TT_ANALYZE_CACHE_PAGING_H
#define TT_ANALYZE_CACHE_PAGING_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_disk_speed {
    double bytes_per_s; /* > 0 */
    double latency_ns;
    double request_ns;
    double begin_ns; /* of boost: to begin reading what a thread waits for, and to wake that */
    double group_ns; /* of boost: between two groups of such requests */
    double move_ns;  /* of boost: to move a MiB of experts to their places, and others away */
    bool grouped;    /* there is a group_ns: groups arrive as a whole */
} tt_disk_speed;

/* Reads "RATE[,LATENCY[,REQUEST[,BEGIN[,GROUP[,MOVE]]]]]", as in "1.3G,50us,10us,180us,300us,40us";
 * GROUP may be empty. TT_E_USAGE: it is not like that, in words. */
tt_status tt_disk_speed_parse(const char *text, tt_disk_speed *disk, tt_error *err);

#define TT_PAGING_ALWAYS UINT32_MAX

typedef struct tt_paging_op {
    double before_ns;  /* computing between the previous op and this one, without reads */
    double compute_ns; /* if all bytes are present */
    double prepare_ns; /* between the two: the thread's time to request the bytes, before the first
                          request */
    uint64_t missed_bytes;
    /* When they can be requested: when the op of this number is about to begin. At most the op's
     * own number, ascending; or TT_PAGING_ALWAYS. */
    uint32_t known_at;
    bool is_guess; /* the bytes are not needed: they are requested until the op begins, and not
                      waited for */
    uint64_t group_request_bytes; /* largest of its requests, which are in groups; not with
                                     TT_PAGING_ALWAYS. 0: they are not in groups */
    /* Filled in: */
    double wait_ns;     /* for its bytes, with prepare_ns */
    double transfer_ns; /* part of it with the disk transferring; the rest is latency */
} tt_paging_op;

typedef struct tt_paging_reader {
    uint64_t request_bytes; /* largest request; > 0 */
    uint32_t depth;         /* most requests at a time; > 0 */
    uint64_t ahead_bytes;   /* most bytes requested for later ops */
} tt_paging_reader;

/* Simulates n ops, fewer than 2^32 - 1, and fills in their waits. False if out of memory. Takes
 * time in proportion to ops and requests. */
bool tt_paging_run(tt_paging_op *ops, size_t n, const tt_paging_reader *reader,
                   const tt_disk_speed *disk);

#endif
