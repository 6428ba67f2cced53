/* Reads by io_uring: many of them under way, asked for and taken by one thread.
 *
 * By system calls alone: what runs in a traced program links nothing but the C library. The
 * interface is that of io_uring_setup(2), io_uring_enter(2) and linux/io_uring.h. */
#ifndef TT_BOOST_URING_H
#define TT_BOOST_URING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_uring {
    int fd;
    uint32_t pending; /* queued, and not handed over yet */
    void *rings;      /* submission and completion queue in one mapping */
    size_t rings_bytes;
    void *entries; /* struct io_uring_sqe */
    size_t entries_bytes;
    uint32_t *sq_tail, *sq_array, sq_mask;
    uint32_t *cq_head, *cq_tail, cq_mask;
    const void *cqes; /* struct io_uring_cqe */
} tt_uring;

/* For `depth` reads at a time, at most 4096. False: this kernel has no io_uring of Linux 5.6 or
 * later, or does not let this process have one; nothing is left open. */
bool tt_uring_begin(tt_uring *u, uint32_t depth);
/* What is under way must have been taken. */
void tt_uring_end(tt_uring *u);
/* Queues a read of n bytes at most; offset -1: of a descriptor that has no position. At most
 * `depth` may be queued or under way. */
void tt_uring_read(tt_uring *u, int fd, void *to, uint32_t n, uint64_t offset, uint64_t id);
/* Hands over what is queued; `wait`: then sleeps until a read is over. False: the kernel refused.
 */
bool tt_uring_submit(tt_uring *u, bool wait);
/* The next read that is over: its bytes, or -errno. False: there is none. */
bool tt_uring_next(tt_uring *u, uint64_t *id, int32_t *result);

#endif
