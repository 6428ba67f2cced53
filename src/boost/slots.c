#include "boost/slots.h"

#include "base/array.h"
#include "base/descriptor.h"
#include "boost/mapping.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define HUGE_BYTES (UINT64_C(2) << 20)
#define ROW 16u /* slots of one size */
/* Slices of experts that are no whole pages take a page more or less. So sizes in rows are rounded,
 * and a slot of the next size will do, too. */
#define SIZE_STEP (UINT64_C(16) << 10)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* Contiguous slots of one size, of which some have not been taken yet. A huge page may belong to
 * two. The end of the first one stays in small pages until there is a second. */
typedef struct row {
    uint64_t bytes; /* of a slot */
    uint8_t *at;
    uint64_t offset; /* in the file */
    uint32_t n, left;
} row;

struct tt_slots {
    int fd;
    uint64_t end;   /* of the file; offsets are used once */
    uint8_t *users; /* of each huge page of the file: slots that have a part of it */
    size_t users_capacity;
    row *rows; /* one of each size */
    uint32_t n_rows, rows_capacity;
    tt_slot *free;
    uint32_t n_free, free_capacity;
    uint64_t free_bytes;
    bool moves; /* the kernel moves such pages (Linux 5.13), and has not failed to */
};

/* Moves the entries of the page table; both ranges show the same pages of the file then, so that
 * what is read at the other one is never wrong. After a failure nothing may be mapped at `to`. */
static bool move(void *from, void *to, uint64_t n)
{
    const int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
    return (void *)syscall(SYS_mremap, from, n, n, flags, to) == to;
}

/* Tried where nothing is lost: the kernel may unmap the other range before it refuses. */
static bool can_move(int fd)
{
    const uint64_t n = 4096;
    if (ftruncate(fd, (off_t)n) != 0) return false;
    uint8_t *from = tt_map(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint8_t *to = tt_map(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const bool can = from && to && move(from, to, n);
    tt_unmap(from, n);
    tt_unmap(to, n);
    return can;
}

tt_slots *tt_slots_new(void)
{
    tt_slots *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->fd = tt_descriptor_raise((int)syscall(SYS_memfd_create, "tensortrace-weights", MFD_CLOEXEC));
    if (s->fd < 0) {
        free(s);
        return NULL;
    }
    s->moves = can_move(s->fd);
    return s;
}

static void end_slot(const tt_slots *s, const tt_slot *slot)
{
    tt_unmap(slot->at, slot->bytes);
    tt_slots_lose(s, slot);
}

void tt_slots_trim(tt_slots *s)
{
    for (uint32_t i = 0; i < s->n_free; i++)
        end_slot(s, &s->free[i]);
    s->n_free = 0;
    s->free_bytes = 0;
}

void tt_slots_free(tt_slots *s)
{
    if (!s) return;
    tt_slots_trim(s);
    for (uint32_t i = 0; i < s->n_rows; i++)
        tt_unmap(s->rows[i].at, s->rows[i].left * s->rows[i].bytes);
    (void)close(s->fd);
    free(s->rows);
    free(s->users);
    free(s->free);
    free(s);
}

static bool shares(uint64_t bytes)
{
    return bytes > HUGE_BYTES && bytes % HUGE_BYTES;
}

static uint8_t *huge_from(const uint8_t *at)
{
    return (uint8_t *)((uintptr_t)at / HUGE_BYTES * HUGE_BYTES);
}

/* The part of the file begins where a huge page may, and so do the addresses, if there is one.
 * False: there is no memory. */
static bool map_row(tt_slots *s, row *r, uint32_t n)
{
    const uint64_t bytes = n * r->bytes, room = bytes >= HUGE_BYTES ? bytes + HUGE_BYTES : bytes;
    const uint64_t stride = (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    if (!tt_array_room_zeroed(s->users, s->users_capacity, (s->end + stride) / HUGE_BYTES))
        return false;
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
    /* All of it: it stays one mapping, of which any part moves as a whole. */
    (void)syscall(SYS_madvise, at, bytes, MADV_DONTFORK);
    if (bytes >= HUGE_BYTES) (void)syscall(SYS_madvise, at, bytes, MADV_HUGEPAGE);
    *r = (row){.bytes = r->bytes, .at = at, .offset = s->end, .n = n, .left = n};
    s->end += stride;
    return true;
}

/* NULL: there is no memory. */
static row *row_of(tt_slots *s, uint64_t bytes)
{
    uint32_t i = 0;
    while (i < s->n_rows && s->rows[i].bytes != bytes)
        i++;
    const bool is_new = i == s->n_rows;
    row *r = is_new ? tt_array_add(s->rows, s->n_rows, s->rows_capacity) : &s->rows[i];
    if (!r) return NULL;
    if (is_new) *r = (row){.bytes = bytes};
    const bool ok = r->left || (shares(bytes) && map_row(s, r, ROW)) || map_row(s, r, 1);
    return ok ? r : NULL;
}

static bool make(tt_slots *s, uint64_t n, tt_slot *out)
{
    const uint64_t bytes = shares(n) ? (n + SIZE_STEP - 1) / SIZE_STEP * SIZE_STEP : n;
    row *r = row_of(s, bytes);
    if (!r) return false;
    uint8_t *huge = huge_from(r->at), *end = huge_from(r->at + bytes);
    if (end < r->at + bytes && r->left < r->n && r->left > 1) end += HUGE_BYTES;
    if (bytes < HUGE_BYTES) end = huge; /* it may lie anywhere */
    *out = (tt_slot){.at = r->at,
                     .bytes = bytes,
                     .offset = r->offset,
                     .fresh = true,
                     .huge = huge,
                     .huge_bytes = (uint64_t)(end - huge)};
    for (uint64_t i = r->offset / HUGE_BYTES; i <= (r->offset + bytes - 1) / HUGE_BYTES; i++)
        s->users[i]++;
    r->at += bytes;
    r->offset += bytes;
    r->left--;
    return true;
}

/* The last one that was given back; the number of free ones: none. */
static uint32_t find_free(const tt_slots *s, uint64_t n)
{
    const uint64_t most = shares(n) ? n + 2 * SIZE_STEP : n;
    for (uint32_t i = s->n_free; i-- > 0;)
        if (s->free[i].bytes >= n && s->free[i].bytes <= most) return i;
    return s->n_free;
}

bool tt_slots_has(const tt_slots *s, uint64_t n)
{
    return find_free(s, n) < s->n_free;
}

bool tt_slots_take(tt_slots *s, uint64_t n, tt_slot *out)
{
    const uint32_t i = find_free(s, n);
    if (i == s->n_free) return make(s, n, out);
    *out = s->free[i];
    s->free_bytes -= out->bytes;
    s->n_free--;
    memmove(&s->free[i], &s->free[i + 1], (s->n_free - i) * sizeof *s->free);
    return true;
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
    while (s->free_bytes > TT_SLOTS_FREE_BYTES) {
        end_slot(s, &s->free[gone]);
        s->free_bytes -= s->free[gone++].bytes;
    }
    s->n_free -= gone;
    memmove(s->free, s->free + gone, s->n_free * sizeof *s->free);
}

void tt_slot_fill(const tt_slot *slot)
{
    for (uint64_t i = 0; i < slot->huge_bytes; i += HUGE_BYTES) {
        uint8_t *page = slot->huge + i;
        /* Another thread may have read into it. */
        (void)*(volatile const uint8_t *)(page < slot->at ? slot->at : page);
        (void)syscall(SYS_madvise, page, HUGE_BYTES, MADV_COLLAPSE);
    }
}

tt_slot_shown tt_slots_show(tt_slots *s, const tt_slot *slot, uint64_t from, void *at, uint64_t n)
{
    if (s->moves) {
        if (move(slot->at + from, at, n)) return TT_SLOT_MOVED;
        s->moves = false; /* one of the slot's mappings may have been divided */
    }
    if (tt_map(at, n, PROT_READ, MAP_SHARED | MAP_FIXED | MAP_POPULATE, s->fd,
               slot->offset + from) != at)
        return TT_SLOT_UNKNOWN;
    (void)syscall(SYS_madvise, at, n, MADV_DONTFORK);
    return TT_SLOT_MAPPED;
}

bool tt_slots_take_back(tt_slots *s, const tt_slot *slot, uint64_t from, void *at, uint64_t n)
{
    /* Without it, reading into the slot gets its pages again. */
    if (!s->moves || move(at, slot->at + from, n)) return true;
    s->moves = false;
    return false;
}

/* A huge page goes as a whole with the last slot that has a part of it: of a part alone the kernel
 * may keep the memory. */
void tt_slots_lose(const tt_slots *s, const tt_slot *slot)
{
    const uint64_t end = slot->offset + slot->bytes;
    for (uint64_t at = slot->offset, next; at < end; at = next) {
        const uint64_t i = at / HUGE_BYTES;
        const bool whole = --s->users[i] == 0;
        next = (i + 1) * HUGE_BYTES < end ? (i + 1) * HUGE_BYTES : end;
        (void)fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        (off_t)(whole ? i * HUGE_BYTES : at),
                        (off_t)(whole ? HUGE_BYTES : next - at));
    }
}
