/* Finding the engine's real functions behind the hooks.
 *
 * Backends are opened RTLD_LOCAL, so dlsym(RTLD_NEXT) does not see them, and several
 * may be loaded at once. The right function is the one that the *calling* library would
 * have been bound to: it is looked up in that library and what it links. */
#ifndef TT_ADAPTER_GGML_RESOLVE_H
#define TT_ADAPTER_GGML_RESOLVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TT_REAL_LIBRARIES 32u

/* One hook's real functions, one a calling library. Zero-initialised; entries are
 * immutable once counted. */
typedef struct tt_real {
    const char *name;
    _Atomic uint32_t n;
    struct {
        uintptr_t low, high; /* the calling library's addresses */
        void *function;
    } entry[TT_REAL_LIBRARIES];
} tt_real;

/* Not found yet: looks it up, remembers it. NULL when no loaded library has it. */
void *tt_real_find(tt_real *real, uintptr_t caller);

/* The function that the library at `caller` (a return address) would call. */
static inline void *tt_real_get(tt_real *real, const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    uint32_t n = atomic_load_explicit(&real->n, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++)
        if (at >= real->entry[i].low && at < real->entry[i].high) return real->entry[i].function;
    return tt_real_find(real, at);
}

/* Looks `name` up from the library at `caller`, then anywhere; NULL if nowhere. The library
 * found stays loaded. */
void *tt_resolve(const void *caller, const char *name);

/* Whether the address is in this library. */
bool tt_resolve_is_ours(const void *address);

/* In a forked child: another thread of the parent may have held the lock. */
void tt_resolve_in_child(void);

/* Whether a loaded library calls `function` through its procedure linkage table, so that a
 * hook of that name is reached. */
bool tt_resolve_is_imported(const char *function);
/* Whether one calls a function that is wanted so; but not the one at `except`, unless that is NULL.
 * wanted must not open libraries. */
bool tt_resolve_any_import(bool (*wanted)(const char *function, const void *user), const void *user,
                           const void *except);
/* How many libraries were loaded so far: what tt_resolve_any_import found may change with it. */
uint64_t tt_resolve_loaded_count(void);

#endif
