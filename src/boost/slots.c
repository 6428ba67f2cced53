#include "boost/slots.h"

#include "base/array.h"
#include "base/descriptor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HUGE_BYTES (UINT64_C(2) << 20)
#define FREE_MAX_BYTES (UINT64_C(32) << 20)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

struct tt_slots {
    int fd;
    uint64_t end; /* of the file; offsets are used once */
    tt_slot *free;
    uint32_t n_free, free_capacity;
    uint64_t free_bytes;
};

/* The program's own calls of mmap and munmap are hooked. */
static void *map(void *at, uint64_t n, int prot, int flags, int fd, uint64_t offset)
{
    void *mapped = (void *)syscall(SYS_mmap, at, n, prot, flags, fd, offset);
    return mapped == MAP_FAILED ? NULL : mapped;
}

static void unmap(void *at, uint64_t n)
{
    if (n) (void)syscall(SYS_munmap, at, n);
}

tt_slots *tt_slots_new(void)
{
    tt_slots *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->fd = tt_descriptor_raise((int)syscall(SYS_memfd_create, "tensortrace-weights", MFD_CLOEXEC));
    if (s->fd >= 0) return s;
    free(s);
    return NULL;
}

static void end_slot(const tt_slots *s, const tt_slot *slot)
{
    unmap(slot->at, slot->bytes);
    (void)fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)slot->offset,
                    (off_t)slot->bytes);
}

void tt_slots_free(tt_slots *s)
{
    if (!s) return;
    for (uint32_t i = 0; i < s->n_free; i++)
        end_slot(s, &s->free[i]);
    (void)close(s->fd);
    free(s->free);
    free(s);
}

/* Both begin where a huge page may. */
static bool make(tt_slots *s, uint64_t bytes, tt_slot *out)
{
    const uint64_t stride = (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    const uint64_t room = bytes >= HUGE_BYTES ? bytes + HUGE_BYTES : bytes;
    uint8_t *at = map(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!at) return false;
    const uint64_t head =
        bytes >= HUGE_BYTES ? (HUGE_BYTES - (uintptr_t)at % HUGE_BYTES) % HUGE_BYTES : 0;
    unmap(at, head);
    unmap(at + head + bytes, room - head - bytes);
    at += head;
    if (ftruncate(s->fd, (off_t)(s->end + stride)) != 0 ||
        !map(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, s->fd, s->end)) {
        unmap(at, bytes);
        return false;
    }
    (void)syscall(SYS_madvise, at, bytes, MADV_DONTFORK);
    *out = (tt_slot){at, bytes, s->end, true};
    s->end += stride;
    return true;
}

bool tt_slots_take(tt_slots *s, uint64_t bytes, tt_slot *out)
{
    for (uint32_t i = s->n_free; i-- > 0;) {
        if (s->free[i].bytes != bytes) continue;
        *out = s->free[i];
        s->free_bytes -= bytes;
        s->n_free--;
        for (uint32_t k = i; k < s->n_free; k++)
            s->free[k] = s->free[k + 1];
        return true;
    }
    return make(s, bytes, out);
}

/* The longest unused ones go first. */
void tt_slots_give(tt_slots *s, const tt_slot *slot)
{
    uint32_t gone = 0;
    tt_slot *kept = tt_array_add(s->free, s->n_free, s->free_capacity);
    if (!kept) {
        end_slot(s, slot);
        return;
    }
    *kept = *slot;
    kept->fresh = false;
    s->free_bytes += slot->bytes;
    while (s->free_bytes > FREE_MAX_BYTES) {
        end_slot(s, &s->free[gone]);
        s->free_bytes -= s->free[gone++].bytes;
    }
    s->n_free -= gone;
    for (uint32_t i = 0; gone && i < s->n_free; i++)
        s->free[i] = s->free[i + gone];
}

void tt_slot_fill(const tt_slot *slot, uint64_t huge)
{
    if (huge > slot->bytes) huge = slot->bytes;
    (void)syscall(SYS_madvise, slot->at, huge, MADV_HUGEPAGE);
    for (uint64_t i = 0; i + HUGE_BYTES <= huge; i += HUGE_BYTES) {
        *(volatile uint8_t *)(slot->at + i) = 0;
        (void)syscall(SYS_madvise, slot->at + i, HUGE_BYTES, MADV_COLLAPSE);
    }
}

bool tt_slots_show(const tt_slots *s, const tt_slot *slot, uint64_t from, void *at, uint64_t n)
{
    if (map(at, n, PROT_READ, MAP_SHARED | MAP_FIXED | MAP_POPULATE, s->fd, slot->offset + from) !=
        at)
        return false;
    (void)syscall(SYS_madvise, at, n, MADV_DONTFORK);
    return true;
}
