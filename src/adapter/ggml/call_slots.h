/* Points the call slots of loaded libraries to the hooks, in a process in which the hook library
 * was not preloaded. A slot is a word that the dynamic linker fills with a function's address: of
 * the linkage table, or a pointer in data. */
#ifndef TT_ADAPTER_GGML_CALL_SLOTS_H
#define TT_ADAPTER_GGML_CALL_SLOTS_H

#include "base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Slots are being kept, see tt_call_slots_look. */
extern _Atomic bool tt_call_slots_on;

/* Takes the slots of all libraries that call hooked functions, and dlsym's, through which libraries
 * that are loaded later are noticed. On failure all are given back. */
tt_status tt_call_slots_take(tt_error *err);
/* The first slot that could not be taken, of a library loaded later, too. err may be NULL. */
tt_status tt_call_slots_problem(tt_error *err);
/* Gives the slots back by which computations begin: what is being computed goes on in the hooks. */
void tt_call_slots_give_starts(void);
/* Gives all back. Threads may still be in a hook. */
void tt_call_slots_give(void);
/* Looks for libraries that were loaded since, and for slots that the dynamic linker has overwritten
 * because a thread was just resolving them. Any thread; takes the dynamic linker's lock. */
void tt_call_slots_look_now(void);
static inline void tt_call_slots_look(void)
{
    if (__builtin_expect(atomic_load_explicit(&tt_call_slots_on, memory_order_relaxed), 0))
        tt_call_slots_look_now();
}

/* The next hook of llama.cpp, from *n on, that no library calls but perhaps the one that has the
 * function; NULL: there are no more. *n is advanced. Call it without locks. */
const char *tt_call_slots_unseen(size_t *n);

/* Call in a forked child: another thread of the parent may have held the lock. */
void tt_call_slots_in_child(void);

#endif
