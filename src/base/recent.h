/* Things in the order of their last use: what is found, used and dropped takes the same few steps
 * however many there are. Each thing holds a tt_recent as its first member. One thread at a time. */
#ifndef TT_BASE_RECENT_H
#define TT_BASE_RECENT_H

#include <stddef.h>

typedef struct tt_recent {
    struct tt_recent *newer, *older; /* NULL: none; of a thing in no list, too */
} tt_recent;

/* Zero-filled at first. */
typedef struct tt_recent_list {
    tt_recent *newest, *oldest;
} tt_recent_list;

/* Takes out a thing that is in the list. */
static inline void tt_recent_remove(tt_recent_list *l, tt_recent *r)
{
    *(r->newer ? &r->newer->older : &l->newest) = r->older;
    *(r->older ? &r->older->newer : &l->oldest) = r->newer;
    r->newer = r->older = NULL;
}

/* Puts in a thing that is in no list, as the one used last. */
static inline void tt_recent_add(tt_recent_list *l, tt_recent *r)
{
    r->newer = NULL;
    r->older = l->newest;
    *(l->newest ? &l->newest->newer : &l->oldest) = r;
    l->newest = r;
}

/* A thing in the list is used. */
static inline void tt_recent_use(tt_recent_list *l, tt_recent *r)
{
    if (l->newest == r) return;
    tt_recent_remove(l, r);
    tt_recent_add(l, r);
}

#endif
