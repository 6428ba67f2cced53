/* Reads by io_uring: one thread requests and collects many.
 *
 * By system calls alone: code in a traced program links only the C library. The interface is that
 * of io_uring_setup(2), io_uring_enter(2) and linux/io_uring.h. */
#ifndef TT_BOOST_URING_H
#define TT_BOOST_URING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

typedef struct tt_uring {
    int fd;
    uint32_t pending; /* queued, but not submitted yet */
    void *rings;      /* submission and completion queue in one mapping */
    size_t rings_bytes;
    void *entries; /* struct io_uring_sqe */
    size_t entries_bytes;
    uint32_t *sq_tail, *sq_array, sq_mask;
    uint32_t *cq_head, *cq_tail, cq_mask;
    const void *cqes; /* struct io_uring_cqe */
} tt_uring;

/* For `depth` reads at a time, at most 4096. False: this kernel lacks io_uring of Linux 5.6 or
 * later, or denies it to this process; nothing stays open. */
bool tt_uring_begin(tt_uring *u, uint32_t depth);
/* All reads must have been collected. */
void tt_uring_end(tt_uring *u);
/* Queues a read of at most n bytes; offset -1: of a descriptor without a position. At most `depth`
 * may be queued or active. */
void tt_uring_read(tt_uring *u, int fd, void *to, uint32_t n, uint64_t offset, uint64_t id);
/* The same into n pieces; `to` must stay until the read has finished. */
void tt_uring_readv(tt_uring *u, int fd, const struct iovec *to, uint32_t n, uint64_t offset,
                    uint64_t id);
/* Submits what is queued; `wait`: then sleeps until a read has finished. False: the kernel
 * refused. */
bool tt_uring_submit(tt_uring *u, bool wait);
/* The next finished read: its bytes, or -errno. False: none. */
bool tt_uring_next(tt_uring *u, uint64_t *id, int32_t *result);

#endif
