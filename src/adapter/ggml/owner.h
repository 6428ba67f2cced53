/* Identifies this process and thread without repeated system calls. */
#ifndef TT_ADAPTER_GGML_OWNER_H
#define TT_ADAPTER_GGML_OWNER_H

#include <stdbool.h>
#include <stdint.h>

/* From now on, this process owns the recording. */
void tt_owner_mark(void);
/* Whether this is the marked process, and not a child with its own memory, however it was created.
 * (A vfork child shares the memory and counts as its parent, which records for it.) */
bool tt_owner_is_self(void);
/* The operating system's id of this thread. */
uint32_t tt_owner_thread(void);
/* Call in a forked child, whose only thread has a new id. */
void tt_owner_in_child(void);

#endif
