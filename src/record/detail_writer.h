/* Writes details into the companion of a thread's op ring: one producer at a time, without locks,
 * allocations or system calls.
 *
 *   tt_detail *d = tt_detail_next(&writer);
 *   if (d) {
 *       d->run = run;
 *       d->faults = ...;
 *       tt_detail_complete(d, tt_detail_place(node, lane, TT_DETAIL_FAULTS));
 *   }
 *
 * A slot is of kind NONE before it becomes visible and until it is complete, so a thread that is
 * killed in between leaves nothing half written. While the op ring has an owner, the drain leaves
 * the last slot until another follows it. */
#ifndef TT_RECORD_DETAIL_WRITER_H
#define TT_RECORD_DETAIL_WRITER_H

#include "record/area.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct tt_detail_writer {
    tt_ring *ring;
    tt_detail *slots;
    uint64_t mask;
    uint64_t head;
    uint64_t room;       /* head may advance to here without reading the drain's progress */
    uint64_t dropped_at; /* head at the last dropped detail, + 1 */
} tt_detail_writer;

/* For the owner of op ring `ring`. False if there is no memory for details; *w is then zero. Not on
 * the hot path. */
static inline bool tt_detail_writer_begin(tt_detail_writer *w, tt_area_map *map, uint32_t ring)
{
    *w = (tt_detail_writer){0};
    if (!tt_area_reserve_detail(map, ring)) return false;
    w->ring = tt_area_detail_ring(map, ring);
    w->slots = tt_area_detail_slots(map, ring);
    w->mask = map->area->ring_records - 1;
    w->head = atomic_load(&w->ring->head);
    w->room = atomic_load(&w->ring->tail) + map->area->ring_records;
    return true;
}

/* The next slot, to be filled and completed; the one before must be complete. NULL, and one detail
 * counted as dropped, if the ring is full. */
static inline tt_detail *tt_detail_next(tt_detail_writer *w)
{
    if (__builtin_expect(w->head >= w->room, 0) &&
        !tt_ring_make_room(w->ring, w->head, w->mask + 1, &w->room, &w->dropped_at))
        return NULL;
    tt_detail *d = &w->slots[w->head & w->mask];
    d->run = 0;
    __atomic_store_n(&d->place, 0, __ATOMIC_RELAXED);
    atomic_store_explicit(&w->ring->head, ++w->head, memory_order_release);
    return d;
}

/* Call it last: `place` (tt_detail_place) gives the detail its kind. */
static inline void tt_detail_complete(tt_detail *d, uint32_t place)
{
    __atomic_store_n(&d->place, place, __ATOMIC_RELEASE);
}

#endif
