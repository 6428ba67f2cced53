#include "adapter/ggml/resolve.h"

#include "base/bytes.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#define PATHS_MAX (4u << 20)

static pthread_mutex_t entries_lock = PTHREAD_MUTEX_INITIALIZER;

/* The loaded object around an address. */
typedef struct object {
    uintptr_t address;
    uintptr_t low, high;
    const char *path;
    bool found;
    bool is_main;
} object;

static int match_object(struct dl_phdr_info *info, size_t size, void *data)
{
    object *o = data;
    uintptr_t low = UINTPTR_MAX, high = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD) continue;
        uintptr_t begin = info->dlpi_addr + p->p_vaddr, end = begin + p->p_memsz;
        if (begin < low) low = begin;
        if (end > high) high = end;
    }
    if (o->address < low || o->address >= high) return 0;
    o->low = low;
    o->high = high;
    o->path = info->dlpi_name;
    o->is_main = !info->dlpi_name || !info->dlpi_name[0];
    o->found = true;
    return 1;
}

static object self;

static void find_self(void)
{
    self.address = (uintptr_t)&tt_real_find;
    (void)dl_iterate_phdr(match_object, &self);
}

bool tt_resolve_is_ours(const void *address)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_self);
    return (uintptr_t)address >= self.low && (uintptr_t)address < self.high;
}

/* A symbol as seen from a loaded object. The handle stays open: the function must not be
 * unloaded while it may be called. */
static void *symbol_in(const char *path, const char *name)
{
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) return NULL;
    void *found = dlsym(handle, name);
    if (found && !tt_resolve_is_ours(found)) return found;
    (void)dlclose(handle);
    return NULL;
}

static int collect_path(struct dl_phdr_info *info, size_t size, void *data)
{
    const char *name = info->dlpi_name;
    (void)size;
    if (name && name[0]) tt_bytes_put(data, name, strlen(name) + 1);
    return 0;
}

/* dlopen must not be called while dl_iterate_phdr holds its lock, so collect the names first. */
static void *symbol_anywhere(const char *name)
{
    tt_bytes paths;
    void *found = NULL;
    tt_bytes_init(&paths, PATHS_MAX);
    (void)dl_iterate_phdr(collect_path, &paths);
    for (size_t at = 0; !found && at < paths.size;) {
        const char *path = (const char *)paths.data + at;
        found = symbol_in(path, name);
        at += strlen(path) + 1;
    }
    tt_bytes_free(&paths);
    return found;
}

void *tt_resolve(const void *caller, const char *name)
{
    object o = {.address = (uintptr_t)caller};
    (void)dl_iterate_phdr(match_object, &o);
    void *found = NULL;
    if (o.found && !o.is_main) found = symbol_in(o.path, name);
    if (!found) {
        found = dlsym(RTLD_NEXT, name);
        if (found && tt_resolve_is_ours(found)) found = NULL;
    }
    return found ? found : symbol_anywhere(name);
}

void *tt_real_find(tt_real *real, uintptr_t caller)
{
    object o = {.address = caller};
    void *function = tt_resolve((const void *)caller, real->name);
    (void)dl_iterate_phdr(match_object, &o);
    if (!function || !o.found) return function;
    (void)pthread_mutex_lock(&entries_lock);
    uint32_t n = atomic_load(&real->n), i = 0;
    /* Another thread may have added it first. */
    while (i < n && real->entry[i].low != o.low)
        i++;
    if (i == n && n < TT_REAL_LIBRARIES) {
        real->entry[n].low = o.low;
        real->entry[n].high = o.high;
        real->entry[n].function = function;
        atomic_store_explicit(&real->n, n + 1, memory_order_release);
    }
    (void)pthread_mutex_unlock(&entries_lock);
    return function;
}

void tt_resolve_in_child(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    entries_lock = fresh;
}

/* --- which functions a library imports --- */

typedef struct dynamic {
    const char *strings;
    const ElfW(Sym) * symbols;
    uint32_t n_symbols;                /* 0: unknown */
    const ElfW(Rela) * relocations[2]; /* of the linkage table; of data, used with -fno-plt */
    size_t n_relocations[2];
} dynamic;

static uintptr_t relocated(const struct dl_phdr_info *info, uintptr_t value)
{
    /* glibc has already relocated these entries; musl and the vDSO have not. */
    return value < info->dlpi_addr ? value + info->dlpi_addr : value;
}

static void read_dynamic(const struct dl_phdr_info *info, const ElfW(Dyn) * d, dynamic *out)
{
    for (; d->d_tag != DT_NULL; d++) {
        switch (d->d_tag) {
        case DT_STRTAB:
            out->strings = (const char *)relocated(info, d->d_un.d_ptr);
            break;
        case DT_SYMTAB:
            out->symbols = (const ElfW(Sym) *)relocated(info, d->d_un.d_ptr);
            break;
        case DT_HASH:
            out->n_symbols = ((const uint32_t *)relocated(info, d->d_un.d_ptr))[1];
            break;
        case DT_JMPREL:
            out->relocations[0] = (const ElfW(Rela) *)relocated(info, d->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            out->n_relocations[0] = d->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_RELA:
            out->relocations[1] = (const ElfW(Rela) *)relocated(info, d->d_un.d_ptr);
            break;
        case DT_RELASZ:
            out->n_relocations[1] = d->d_un.d_val / sizeof(ElfW(Rela));
            break;
        default:
            break;
        }
    }
}

static dynamic dynamic_of(const struct dl_phdr_info *info)
{
    dynamic d = {0};
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            read_dynamic(info, (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                         &d);
    if (!d.strings || !d.symbols) d = (dynamic){0};
    return d;
}

bool tt_resolve_imports(const struct dl_phdr_info *info, tt_resolve_visit *visit, void *context)
{
    const dynamic d = dynamic_of(info);
    if (!d.symbols || tt_resolve_is_ours(d.symbols)) return false;
    for (int table = 0; table < 2; table++) {
        for (size_t i = 0; d.relocations[table] && i < d.n_relocations[table]; i++) {
            const ElfW(Rela) *r = &d.relocations[table][i];
            const size_t symbol = ELF64_R_SYM(r->r_info);
            const tt_resolve_import import = {d.strings + d.symbols[symbol].st_name,
                                              (uintptr_t *)(info->dlpi_addr + r->r_offset),
                                              (uint32_t)ELF64_R_TYPE(r->r_info), r->r_addend,
                                              d.symbols[symbol].st_shndx != SHN_UNDEF};
            if (symbol && visit(context, &import)) return true;
        }
    }
    return false;
}

typedef struct own_search {
    void (*visit)(const char *name, uintptr_t address);
} own_search;

static int visit_own(struct dl_phdr_info *info, size_t size, void *data)
{
    const own_search *s = data;
    const dynamic d = dynamic_of(info);
    (void)size;
    if (!d.symbols || !tt_resolve_is_ours(d.symbols)) return 0;
    for (uint32_t i = 1; i < d.n_symbols; i++) {
        const ElfW(Sym) *symbol = &d.symbols[i];
        if (symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
            s->visit(d.strings + symbol->st_name, info->dlpi_addr + symbol->st_value);
    }
    return 1;
}

void tt_resolve_own(void (*visit)(const char *name, uintptr_t address))
{
    own_search s = {visit};
    (void)dl_iterate_phdr(visit_own, &s);
}

typedef struct import_search {
    bool (*wanted)(const char *function, const void *user);
    const void *user;
    const void *except;
} import_search;

static bool is_wanted(void *context, const tt_resolve_import *import)
{
    const import_search *s = context;
    return s->wanted(import->name, s->user);
}

static int find_import(struct dl_phdr_info *info, size_t size, void *data)
{
    const import_search *s = data;
    object except = {.address = (uintptr_t)s->except};
    if (s->except && match_object(info, size, &except)) return 0;
    return tt_resolve_imports(info, is_wanted, data);
}

bool tt_resolve_any_import(bool (*wanted)(const char *function, const void *user), const void *user,
                           const void *except)
{
    import_search s = {wanted, user, except};
    return dl_iterate_phdr(find_import, &s) != 0;
}

static bool is_name(const char *function, const void *user)
{
    return strcmp(function, user) == 0;
}

bool tt_resolve_is_imported(const char *function)
{
    return tt_resolve_any_import(is_name, function, NULL);
}

static int read_count(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    *(uint64_t *)data = info->dlpi_adds;
    return 1;
}

uint64_t tt_resolve_loaded_count(void)
{
    uint64_t n = 0;
    (void)dl_iterate_phdr(read_count, &n);
    return n;
}
