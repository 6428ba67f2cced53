#include "boost/uring.h"

#include "boost/mapping.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>

/* One mapping for both queues, no lost completions, and (introduced with it) IORING_OP_READ. */
#define FEATURES (IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_RW_CUR_POS)

static void *map_ring(int fd, size_t n, uint64_t offset)
{
    return tt_map(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);
}

static uint32_t *member(void *rings, uint32_t offset)
{
    return (void *)((uint8_t *)rings + offset);
}

bool tt_uring_begin(tt_uring *u, uint32_t depth)
{
    struct io_uring_params p;
    memset(&p, 0, sizeof p);
    memset(u, 0, sizeof *u);
    u->fd = (int)syscall(SYS_io_uring_setup, depth, &p);
    if (u->fd < 0) return false;
    const size_t sq = p.sq_off.array + p.sq_entries * sizeof(uint32_t);
    const size_t cq = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
    u->rings_bytes = sq > cq ? sq : cq;
    u->entries_bytes = p.sq_entries * sizeof(struct io_uring_sqe);
    const bool able = (p.features & FEATURES) == FEATURES;
    u->rings = able ? map_ring(u->fd, u->rings_bytes, IORING_OFF_SQ_RING) : NULL;
    u->entries = able ? map_ring(u->fd, u->entries_bytes, IORING_OFF_SQES) : NULL;
    if (!u->rings || !u->entries) {
        tt_uring_end(u);
        return false;
    }
    u->sq_tail = member(u->rings, p.sq_off.tail);
    u->sq_array = member(u->rings, p.sq_off.array);
    u->sq_mask = *member(u->rings, p.sq_off.ring_mask);
    u->cq_head = member(u->rings, p.cq_off.head);
    u->cq_tail = member(u->rings, p.cq_off.tail);
    u->cq_mask = *member(u->rings, p.cq_off.ring_mask);
    u->cqes = member(u->rings, p.cq_off.cqes);
    return true;
}

void tt_uring_end(tt_uring *u)
{
    tt_unmap(u->rings, u->rings_bytes);
    tt_unmap(u->entries, u->entries_bytes);
    if (u->fd >= 0) (void)close(u->fd);
    u->fd = -1;
}

static void add(tt_uring *u, uint8_t opcode, int fd, const void *to, uint32_t n, uint64_t offset,
                uint64_t id)
{
    const uint32_t tail = *u->sq_tail, at = tail & u->sq_mask;
    struct io_uring_sqe *e = (struct io_uring_sqe *)u->entries + at;
    memset(e, 0, sizeof *e);
    e->opcode = opcode;
    e->fd = fd;
    e->addr = (uint64_t)(uintptr_t)to;
    e->len = n;
    e->off = offset;
    e->user_data = id;
    u->sq_array[at] = at;
    __atomic_store_n(u->sq_tail, tail + 1, __ATOMIC_RELEASE);
    u->pending++;
}

void tt_uring_read(tt_uring *u, int fd, void *to, uint32_t n, uint64_t offset, uint64_t id)
{
    add(u, IORING_OP_READ, fd, to, n, offset, id);
}

void tt_uring_readv(tt_uring *u, int fd, const struct iovec *to, uint32_t n, uint64_t offset,
                    uint64_t id)
{
    add(u, IORING_OP_READV, fd, to, n, offset, id);
}

bool tt_uring_submit(tt_uring *u, bool wait)
{
    while (u->pending || wait) {
        const long taken = syscall(SYS_io_uring_enter, u->fd, u->pending, wait ? 1 : 0,
                                   wait ? IORING_ENTER_GETEVENTS : 0, NULL, (size_t)0);
        if (taken >= 0) {
            u->pending -= (uint32_t)taken;
            /* It waits only if it has submitted everything. */
            if (!u->pending) return true;
            continue;
        }
        /* EAGAIN: the kernel is out of memory for now; EBUSY: completions have to be collected
         * first. */
        if (errno == EAGAIN) (void)usleep(200);
        if (errno == EAGAIN || errno == EBUSY) return true;
        if (errno != EINTR) return false;
    }
    return true;
}

bool tt_uring_next(tt_uring *u, uint64_t *id, int32_t *result)
{
    const uint32_t head = *u->cq_head;
    if (head == __atomic_load_n(u->cq_tail, __ATOMIC_ACQUIRE)) return false;
    const struct io_uring_cqe *e = (const struct io_uring_cqe *)u->cqes + (head & u->cq_mask);
    *id = e->user_data;
    *result = e->res;
    __atomic_store_n(u->cq_head, head + 1, __ATOMIC_RELEASE);
    return true;
}
