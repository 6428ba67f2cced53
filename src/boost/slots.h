/* Memory that weights are read into, taken and given back in pieces, without being cleared each
 * time: a slot that was given back keeps its pages for the next one of its size.
 *
 * The memory is a file in memory (memfd_create), of which a slot is a range: so the same pages can
 * be shown at a second address too, which one system call does. Slots of one size are
 * contiguous, so that a huge page may belong to two; pages are huge if the kernel can make them so
 * (MADV_COLLAPSE, Linux 6.1). No locks: the caller has one. */
#ifndef TT_BOOST_SLOTS_H
#define TT_BOOST_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_slots tt_slots;

#define TT_SLOTS_FREE_BYTES (UINT64_C(32) << 20) /* that were given back keep their pages */

typedef struct tt_slot {
    uint8_t *at; /* readable and writable; NULL: none */
    uint64_t bytes;
    uint64_t offset; /* in the file */
    bool fresh;      /* its pages are not there yet: tt_slot_fill */
    uint8_t *huge;   /* the huge pages that it lies in; its neighbours may have a part of them */
    uint64_t huge_bytes;
} tt_slot;

typedef enum tt_slot_shown {
    TT_SLOT_UNKNOWN, /* failed; it may be that nothing is mapped there any more */
    TT_SLOT_MAPPED,
    TT_SLOT_MOVED,
} tt_slot_shown;

/* NULL: the kernel has no such files, or there is no memory. */
tt_slots *tt_slots_new(void);
/* Slots that are not given back, and mappings at other addresses, keep their pages. NULL does
 * nothing. */
void tt_slots_free(tt_slots *s);
/* Returns the free slots' pages to the kernel. */
void tt_slots_trim(tt_slots *s);
/* Whether a slot for n bytes was given back, so that its pages are there. */
bool tt_slots_has(const tt_slots *s, uint64_t n);
/* For n bytes, in whole pages; it may have a few more. False: there is no memory. */
bool tt_slots_take(tt_slots *s, uint64_t n, tt_slot *out);
/* No other mapping of it must be left. Keeps its pages if there is room for them among the free
 * ones. */
void tt_slots_give(tt_slots *s, const tt_slot *slot);
/* Any thread, without a lock: gets the huge pages of a fresh slot; reading into it gets the others.
 */
void tt_slot_fill(const tt_slot *slot);
/* Shows n bytes of the slot, from byte `from` on, over what is at `at`: their pages are moved there
 * (mremap), and can be written there as in the slot; or, where the kernel cannot, they are mapped
 * there too, read-only, which takes it five times as long. In a forked child nothing is: the parent
 * goes on reading into these pages. */
tt_slot_shown tt_slots_show(tt_slots *s, const tt_slot *slot, uint64_t from, void *at, uint64_t n);
/* Moves pages that were moved there back, before something else is mapped at `at`: until then they
 * can be read there as before. False: who has the slot's addresses is not known; tt_slots_lose. */
bool tt_slots_take_back(tt_slots *s, const tt_slot *slot, uint64_t from, void *at, uint64_t n);
/* Instead of tt_slots_give: its memory is freed, and its addresses are left alone. */
void tt_slots_lose(const tt_slots *s, const tt_slot *slot);

#endif
