/* Which process and thread this is, without a system call each time. */
#ifndef TT_ADAPTER_GGML_OWNER_H
#define TT_ADAPTER_GGML_OWNER_H

#include <stdbool.h>
#include <stdint.h>

/* What is recorded from here on is this process's. */
void tt_owner_mark(void);
/* Whether this is the process that was marked, and not a child of it with memory of its own,
 * however that was made. (One that shares the memory, by vfork, is taken for its parent: what it
 * would record is recorded by the parent.) */
bool tt_owner_is_self(void);
/* The OS's id of this thread. */
uint32_t tt_owner_thread(void);
/* In a forked child, whose only thread has a new id. */
void tt_owner_in_child(void);

#endif
