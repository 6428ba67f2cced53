/* Finds the engine's real functions behind the hooks.
 *
 * Backends are opened RTLD_LOCAL, so dlsym(RTLD_NEXT) does not see them, and several may be loaded
 * at once. The right function is the one to which the *calling* library would have been bound: it
 * is looked up in that library and the libraries it links. */
#ifndef TT_ADAPTER_GGML_RESOLVE_H
#define TT_ADAPTER_GGML_RESOLVE_H

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TT_REAL_LIBRARIES 32u

/* One hook's real functions, one per calling library. Zero-initialised; entries are immutable
 * once counted. */
typedef struct tt_real {
    const char *name;
    _Atomic uint32_t n;
    struct {
        uintptr_t low, high; /* the calling library's addresses */
        void *function;
    } entry[TT_REAL_LIBRARIES];
} tt_real;

/* The slow path: looks the function up and stores it. NULL if no loaded library has it. */
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

/* Looks `name` up from the library at `caller`, then anywhere; NULL if not found. The library
 * found stays loaded. */
void *tt_resolve(const void *caller, const char *name);

/* Whether the address is in this library. */
bool tt_resolve_is_ours(const void *address);

/* Call in a forked child: another thread of the parent may have held the lock. */
void tt_resolve_in_child(void);

/* Whether a loaded library calls `function` through its procedure linkage table, so that a hook
 * of that name is reached. */
bool tt_resolve_is_imported(const char *function);
/* Whether any loaded library calls a function that `wanted` accepts, except the library at `except`
 * (if not NULL). wanted must not open libraries. */
bool tt_resolve_any_import(bool (*wanted)(const char *function, const void *user), const void *user,
                           const void *except);

/* A relocation of a loaded library that names a symbol. */
typedef struct tt_resolve_import {
    const char *name;
    uintptr_t *at; /* the word that the dynamic linker fills */
    uint32_t type; /* of the relocation, as of the processor */
    int64_t addend;
    bool is_own; /* the library itself has the symbol */
} tt_resolve_import;

/* Visits the imports of a library, not of this one, until the visit returns true, and then returns
 * true. Call it in a callback of dl_iterate_phdr; the visit must not open libraries. */
typedef bool tt_resolve_visit(void *context, const tt_resolve_import *import);
bool tt_resolve_imports(const struct dl_phdr_info *info, tt_resolve_visit *visit, void *context);
/* Visits each function that this library exports; none if it was linked without DT_HASH. */
void tt_resolve_own(void (*visit)(const char *name, uintptr_t address));

/* How many libraries were loaded so far; tt_resolve_any_import depends on it. */
uint64_t tt_resolve_loaded_count(void);

#endif
