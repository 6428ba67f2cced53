/* Measures what a thread loses that waits for weights, besides the time of a plain read. */
#ifndef TT_BOOST_BURSTS_H
#define TT_BOOST_BURSTS_H

#include "base/status.h"
#include "boost/moves.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_boost_bursts {
    uint32_t n;          /* turns that were measured; 0: none, the times are unknown */
    double begin_ns;     /* medians */
    double group_ns;     /* 0 unless grouped */
    double move_ns;      /* of a MiB: tt_boost_moves_measure */
    bool has_moves;      /* there is a move_ns */
    bool grouped;        /* the disk reports requests that it has together, when all are read */
    const char *problem; /* why they are unknown; NULL: they are not */
} tt_boost_bursts;

/* One turn's times: of a group of reads (two, see tt_policy_may_read) through the pool, until the
 * thread that waits for them runs, and until it runs with the first; of as many bytes with one
 * request; of three groups, and of their bytes with one request. */
typedef struct tt_boost_turn {
    double group_ns, first_ns, plain_ns;
    double groups_ns, plain_all_ns;
} tt_boost_turn;
#define TT_BOOST_TURNS_MAX 16u

/* Reads ranges of the file at `path` through a pool, as of experts that were just chosen in a full
 * cache, and plainly, in turns. begin_ns is how much longer a group takes than its bytes, group_ns
 * how much each further one does, besides request_ns for each read. A first turn is not counted;
 * then at least one, until half a second has passed, 320 MiB in all. Then come the moves. Nothing
 * is written, and the page cache stays as it is where the file system has O_DIRECT. disk: its
 * byte_ns, latency_ns and request_ns. */
void tt_boost_bursts_measure(const char *path, const tt_boost_reads *disk, tt_boost_bursts *b);
/* The result of n turns, 1 to TT_BOOST_TURNS_MAX. */
void tt_boost_bursts_judge(const tt_boost_turn *turns, uint32_t n, double request_ns,
                           tt_boost_bursts *b);

#endif
