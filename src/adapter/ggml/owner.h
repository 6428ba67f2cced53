/* Identifies this process and thread without repeated system calls. */
#ifndef TT_ADAPTER_GGML_OWNER_H
#define TT_ADAPTER_GGML_OWNER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A page that holds a 1 and that any kind of fork zeroes in the child. NULL: the kernel has no
 * such pages. */
extern _Atomic uint32_t *tt_owner_page;
bool tt_owner_is_marked(void); /* without the page: by a system call */

/* From now on, this process owns the recording. */
void tt_owner_mark(void);
/* Whether this is the marked process, and not a child with its own memory, however it was created.
 * (A vfork child shares the memory and counts as its parent, which records for it.) */
static inline bool tt_owner_is_self(void)
{
    return tt_owner_page ? atomic_load_explicit(tt_owner_page, memory_order_relaxed) != 0
                         : tt_owner_is_marked();
}
/* The operating system's id of this thread. */
uint32_t tt_owner_thread(void);
/* Call in a forked child, whose only thread has a new id. */
void tt_owner_in_child(void);

#endif
