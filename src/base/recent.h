/* An LRU list: finding, using and removing an item take constant time. Each item has a tt_recent as
 * its first member. One thread at a time. */
#ifndef TT_BASE_RECENT_H
#define TT_BASE_RECENT_H

#include <stddef.h>

typedef struct tt_recent {
    struct tt_recent *newer, *older; /* NULL: none, or not in a list */
} tt_recent;

/* Zero-filled at first. */
typedef struct tt_recent_list {
    tt_recent *newest, *oldest;
} tt_recent_list;

/* Removes an item of the list. */
static inline void tt_recent_remove(tt_recent_list *l, tt_recent *r)
{
    *(r->newer ? &r->newer->older : &l->newest) = r->older;
    *(r->older ? &r->older->newer : &l->oldest) = r->newer;
    r->newer = r->older = NULL;
}

/* Adds an item, which is in no list, as the most recently used. */
static inline void tt_recent_add(tt_recent_list *l, tt_recent *r)
{
    r->newer = NULL;
    r->older = l->newest;
    *(l->newest ? &l->newest->newer : &l->oldest) = r;
    l->newest = r;
}

/* Marks an item of the list as the most recently used. */
static inline void tt_recent_use(tt_recent_list *l, tt_recent *r)
{
    if (l->newest == r) return;
    tt_recent_remove(l, r);
    tt_recent_add(l, r);
}

#endif
