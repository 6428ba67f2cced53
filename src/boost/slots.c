#include "boost/slots.h"

#include "base/array.h"
#include "base/descriptor.h"
#include "boost/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define HUGE_BYTES (UINT64_C(2) << 20)
#define WASTE_PART 6u /* of a slot may be wasted */
#define FREE_MAX_BYTES (UINT64_C(32) << 20)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

struct tt_slots {
    int fd;
    uint64_t end; /* of the file; offsets are used once */
    tt_slot *free;
    uint32_t n_free, free_capacity;
    uint64_t free_bytes;
    bool moves; /* the kernel moves pages that stay mapped (Linux 5.13) */
};

uint64_t tt_slots_size(uint64_t n)
{
    const uint64_t rest = n % HUGE_BYTES;
    return rest && (HUGE_BYTES - rest) * WASTE_PART <= n ? n - rest + HUGE_BYTES : n;
}

tt_slots *tt_slots_new(void)
{
    tt_slots *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->fd = tt_descriptor_raise((int)syscall(SYS_memfd_create, "tensortrace-weights", MFD_CLOEXEC));
    s->moves = true;
    if (s->fd >= 0) return s;
    free(s);
    return NULL;
}

static void end_slot(const tt_slots *s, const tt_slot *slot)
{
    tt_unmap(slot->at, slot->bytes);
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
    uint8_t *at = tt_map(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!at) return false;
    const uint64_t head =
        bytes >= HUGE_BYTES ? (HUGE_BYTES - (uintptr_t)at % HUGE_BYTES) % HUGE_BYTES : 0;
    tt_unmap(at, head);
    tt_unmap(at + head + bytes, room - head - bytes);
    at += head;
    if (ftruncate(s->fd, (off_t)(s->end + stride)) != 0 ||
        !tt_map(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, s->fd, s->end)) {
        tt_unmap(at, bytes);
        return false;
    }
    (void)syscall(SYS_madvise, at, bytes, MADV_DONTFORK);
    *out = (tt_slot){at, bytes, s->end, true};
    s->end += stride;
    return true;
}

bool tt_slots_take(tt_slots *s, uint64_t n, tt_slot *out)
{
    const uint64_t bytes = tt_slots_size(n);
    for (uint32_t i = s->n_free; i-- > 0;) {
        if (s->free[i].bytes != bytes) continue;
        *out = s->free[i];
        s->free_bytes -= bytes;
        s->n_free--;
        memmove(&s->free[i], &s->free[i + 1], (s->n_free - i) * sizeof *s->free);
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
    memmove(s->free, s->free + gone, s->n_free * sizeof *s->free);
}

void tt_slot_fill(const tt_slot *slot)
{
    const uint64_t huge = slot->bytes - slot->bytes % HUGE_BYTES;
    (void)syscall(SYS_madvise, slot->at, huge, MADV_HUGEPAGE);
    for (uint64_t i = 0; i < huge; i += HUGE_BYTES) {
        *(volatile uint8_t *)(slot->at + i) = 0;
        (void)syscall(SYS_madvise, slot->at + i, HUGE_BYTES, MADV_COLLAPSE);
    }
}

/* Moves the entries of the page table; both ranges show the same pages of the file then, so that
 * what is read at the other one is never wrong. */
static bool move(tt_slots *s, void *from, void *to, uint64_t n)
{
    if (!s->moves) return false;
    const int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
    if ((void *)syscall(SYS_mremap, from, n, n, flags, to) == to) return true;
    s->moves = errno == ENOMEM;
    return false;
}

bool tt_slots_show(tt_slots *s, const tt_slot *slot, uint64_t from, void *at, uint64_t n)
{
    if (move(s, slot->at + from, at, n)) return true;
    if (tt_map(at, n, PROT_READ, MAP_SHARED | MAP_FIXED | MAP_POPULATE, s->fd,
               slot->offset + from) != at)
        return false;
    (void)syscall(SYS_madvise, at, n, MADV_DONTFORK);
    return true;
}

void tt_slots_hide(tt_slots *s, const tt_slot *slot, uint64_t from, void *at, uint64_t n)
{
    (void)move(s, at, slot->at + from, n);
}
