#include "adapter/ggml/call_slots.h"

#include "adapter/ggml/resolve.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define HOOKS_MAX 128u
#define SLOTS_MAX 8192u
#define LIBRARIES_MAX 4096u
#define WALK_WAIT_NS 100000000

#if defined(__x86_64__)
enum { IS_JUMP = R_X86_64_JUMP_SLOT, IS_DATA = R_X86_64_GLOB_DAT, IS_WORD = R_X86_64_64 };
#elif defined(__aarch64__)
enum { IS_JUMP = R_AARCH64_JUMP_SLOT, IS_DATA = R_AARCH64_GLOB_DAT, IS_WORD = R_AARCH64_ABS64 };
#endif

_Atomic bool tt_call_slots_on;

enum kind {
    OF_ENGINE,  /* a function of the engine's */
    OF_START,   /* ... by which a computation begins: taken last, given back first */
    OF_MAPPING, /* of the C library: only in libraries that call the engine's */
    OF_LOADER   /* dlsym, everywhere */
};

typedef struct hook {
    const char *name;
    uintptr_t address;
    enum kind kind;
    bool is_called; /* by another library than the one that has it */
} hook;

typedef struct slot {
    uintptr_t *at;
    uintptr_t was;
    const hook *hook;
    bool is_closed; /* its page is read-only since its library was loaded */
    bool is_there;  /* its library has been seen since others were unloaded */
} slot;

/* Everything is guarded by the lock, which is taken in the callbacks of dl_iterate_phdr, that is,
 * after the dynamic linker's. One thread at a time walks through the libraries, and holds the other
 * lock, which comes before both: so nobody may wait for it for long, see take_all. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t walk_lock = PTHREAD_MUTEX_INITIALIZER;
static hook hooks[HOOKS_MAX];
static size_t n_hooks;
static slot slots[SLOTS_MAX];
static size_t n_slots;
/* The libraries whose slots are taken, by the address of their headers. */
typedef struct taken {
    const void *headers;
    bool starts_too;
} taken;
static taken libraries[LIBRARIES_MAX];
static size_t n_libraries;
static unsigned long long n_loaded, n_unloaded; /* the linker's counts then */
static bool is_complete;                        /* no library was still being loaded then */
static bool is_on;
static tt_error problem; /* the first */

#if defined(__x86_64__) || defined(__aarch64__)

/* --- the hooks --- */

/* dlsym for the program: first looks whether libraries were loaded, then goes on in the real one as
 * if the caller had called it, because dlsym depends on its caller. Any library that is loaded
 * late, by an interpreter or by ggml, is used through dlsym. */
void tt_call_slots_dlsym(void);
extern void *tt_call_slots_real_dlsym __attribute__((visibility("hidden")));
void *tt_call_slots_real_dlsym;

#if defined(__x86_64__)
__asm__(".text\n"
        ".hidden tt_call_slots_dlsym\n"
        ".globl tt_call_slots_dlsym\n"
        ".type tt_call_slots_dlsym, @function\n"
        "tt_call_slots_dlsym:\n"
        "    endbr64\n"
        "    pushq %rdi\n"
        "    pushq %rsi\n"
        "    subq $8, %rsp\n"
        "    call tt_call_slots_look_now\n"
        "    addq $8, %rsp\n"
        "    popq %rsi\n"
        "    popq %rdi\n"
        "    jmp *tt_call_slots_real_dlsym(%rip)\n"
        ".size tt_call_slots_dlsym, . - tt_call_slots_dlsym\n");
#else
__asm__(".text\n"
        ".hidden tt_call_slots_dlsym\n"
        ".globl tt_call_slots_dlsym\n"
        ".type tt_call_slots_dlsym, %function\n"
        "tt_call_slots_dlsym:\n"
        "    stp x0, x1, [sp, #-32]!\n"
        "    str x30, [sp, #16]\n"
        "    bl tt_call_slots_look_now\n"
        "    ldr x30, [sp, #16]\n"
        "    ldp x0, x1, [sp], #32\n"
        "    adrp x16, tt_call_slots_real_dlsym\n"
        "    ldr x16, [x16, :lo12:tt_call_slots_real_dlsym]\n"
        "    br x16\n"
        ".size tt_call_slots_dlsym, . - tt_call_slots_dlsym\n");
#endif

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static bool is_engines(const char *name)
{
    return begins(name, "ggml_") || begins(name, "gguf_") || begins(name, "llama_");
}

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, list[i]) == 0) return true;
    return false;
}

static void add_hook(const char *name, uintptr_t address)
{
    static const char *const starts[] = {"ggml_graph_compute",
                                         "ggml_backend_sched_graph_compute_async"};
    /* Those that serve boost alone are not among them. */
    static const char *const mapping[] = {"mmap",          "mmap64",        "madvise",
                                          "posix_madvise", "posix_fadvise", "posix_fadvise64"};
    hook h = {name, address, OF_MAPPING, false};
    if (is_engines(name))
        h.kind = is_one_of(name, starts, sizeof starts / sizeof *starts) ? OF_START : OF_ENGINE;
    else if (!is_one_of(name, mapping, sizeof mapping / sizeof *mapping))
        return;
    if (n_hooks < HOOKS_MAX) hooks[n_hooks++] = h;
}

static void find_hooks(void)
{
    if (n_hooks) return;
    tt_resolve_own(add_hook);
    if (!n_hooks) return;
    tt_call_slots_real_dlsym = (void *)dlsym; // NOLINT
    hooks[n_hooks++] = (hook){"dlsym", (uintptr_t)tt_call_slots_dlsym, OF_LOADER, false};
}

static hook *hook_of(const char *name)
{
    /* Some libraries have a million imports. */
    if (name[0] != 'g' && name[0] != 'l' && name[0] != 'm' && name[0] != 'p' && name[0] != 'd')
        return NULL;
    for (size_t i = 0; i < n_hooks; i++)
        if (strcmp(hooks[i].name, name) == 0) return &hooks[i];
    return NULL;
}

/* --- slots --- */

static void note(const tt_resolve_import *import, const char *what, int error)
{
    if (problem.status == TT_OK)
        (void)tt_error_set(&problem, TT_E_UNSUPPORTED, TT_NO_OFFSET,
                           "the call slot of %.60s cannot be changed: %s%s%s", import->name, what,
                           error ? ": " : "", error ? strerror(error) : "");
}

/* Nobody else changes the protection of a page that the dynamic linker has closed. */
static int store(uintptr_t *at, uintptr_t value, bool is_closed)
{
    const uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)((uintptr_t)at & ~(size - 1)); // NOLINT
    if (is_closed && mprotect(page, size, PROT_READ | PROT_WRITE) != 0) return -1;
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
    if (is_closed) (void)mprotect(page, size, PROT_READ);
    return 0;
}

static slot *slot_at(const uintptr_t *at)
{
    for (size_t i = 0; i < n_slots; i++)
        if (slots[i].at == at) return &slots[i];
    return NULL;
}

/* --- libraries --- */

typedef struct library {
    const struct dl_phdr_info *info;
    uintptr_t closed, closed_end; /* the pages that are read-only once it is loaded */
    bool is_open;                 /* they are not yet: it is still being loaded */
    bool calls_engine;
    bool is_looked_at; /* is_open is known */
    bool starts;       /* only slots of OF_START, else only the others */
} library;

/* Whether the page can be written now, or that is unknown: then it stays as it is. */
static bool is_writable(uintptr_t page)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t size = 0;
    bool found = false, writable = false;
    while (maps && !found && getline(&line, &size, maps) > 0) {
        uint64_t begin, end;
        char rights[8];
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &begin, &end, rights) != 3) continue;
        found = page >= begin && page < end;
        writable = rights[1] == 'w';
    }
    free(line);
    if (maps) (void)fclose(maps);
    return !found || writable;
}

static void find_closed(library *l)
{
    const uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < l->info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &l->info->dlpi_phdr[i];
        if (p->p_type != PT_GNU_RELRO) continue;
        const uintptr_t begin = l->info->dlpi_addr + p->p_vaddr;
        l->closed = begin & ~(size - 1);
        l->closed_end = (begin + p->p_memsz) & ~(size - 1);
    }
}

static bool is_still_loading(library *l)
{
    if (!l->is_looked_at) l->is_open = l->closed < l->closed_end && is_writable(l->closed);
    l->is_looked_at = true;
    return l->is_open;
}

static bool is_in_writable_segment(const library *l, const uintptr_t *at)
{
    const uintptr_t a = (uintptr_t)at;
    for (int i = 0; i < l->info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &l->info->dlpi_phdr[i];
        const uintptr_t begin = l->info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && p->p_flags & PF_W && a >= begin &&
            a - begin + sizeof *at <= p->p_memsz)
            return true;
    }
    return false;
}

static bool calls_engine(void *context, const tt_resolve_import *import)
{
    (void)context;
    return is_engines(import->name) && hook_of(import->name);
}

static bool take(void *context, const tt_resolve_import *import)
{
    library *l = context;
    hook *h = hook_of(import->name);
    if (!h || (h->kind == OF_MAPPING && !l->calls_engine)) return false;
    if (import->type != IS_JUMP && import->type != IS_DATA && import->type != IS_WORD) return false;
    /* 0: a weak reference to a function that is not there. */
    if (import->addend || !*import->at) return false;
    h->is_called |= !import->is_own;
    const uintptr_t a = (uintptr_t)import->at;
    slot *s = slot_at(import->at);
    if (*import->at == h->address) {
        if (s) s->is_there = true;
        return false;
    }
    if ((h->kind == OF_START) != l->starts) return false;
    if (is_still_loading(l)) return true;
    const slot fresh = {import->at, *import->at, h, a >= l->closed && a < l->closed_end, true};
    if (!s && n_slots == SLOTS_MAX)
        note(import, "there are too many", 0);
    else if (!is_in_writable_segment(l, import->at))
        note(import, "it is not in writable memory", 0);
    else if (store(fresh.at, h->address, fresh.is_closed) != 0)
        note(import, "mprotect", errno);
    else
        *(s ? s : &slots[n_slots++]) = fresh;
    return false;
}

static size_t number_of(const struct dl_phdr_info *info)
{
    size_t i = 0;
    while (i < n_libraries && libraries[i].headers != info->dlpi_phdr)
        i++;
    return i;
}

static void begin_walk(const struct dl_phdr_info *info)
{
    /* Other libraries may be where those were that are gone. */
    if (info->dlpi_subs != n_unloaded) {
        n_libraries = 0;
        for (size_t i = 0; i < n_slots; i++)
            slots[i].is_there = false;
    }
    n_loaded = info->dlpi_adds;
    n_unloaded = info->dlpi_subs;
    is_complete = true;
}

static void take_library(const struct dl_phdr_info *info, bool starts)
{
    library l = {.info = info, .starts = starts};
    const size_t i = number_of(info);
    if (starts ? i == n_libraries || libraries[i].starts_too : i < n_libraries) return;
    find_closed(&l);
    l.calls_engine = tt_resolve_imports(info, calls_engine, NULL);
    if (tt_resolve_imports(info, take, &l) || i == LIBRARIES_MAX)
        is_complete = false;
    else if (starts)
        libraries[i].starts_too = true;
    else
        libraries[n_libraries++] = (taken){info->dlpi_phdr, false};
}

typedef struct walk {
    bool starts;
    bool has_begun;
} walk;

static int visit_library(struct dl_phdr_info *info, size_t size, void *data)
{
    walk *w = data;
    (void)size;
    (void)pthread_mutex_lock(&lock);
    const bool goes_on = is_on;
    if (goes_on && !w->starts && !w->has_begun) begin_walk(info);
    w->has_begun = true;
    if (goes_on) take_library(info, w->starts);
    (void)pthread_mutex_unlock(&lock);
    return !goes_on;
}

static void drop_gone(void)
{
    (void)pthread_mutex_lock(&lock);
    size_t n = 0;
    for (size_t i = 0; i < n_slots; i++)
        if (slots[i].is_there) slots[n++] = slots[i];
    n_slots = n;
    (void)pthread_mutex_unlock(&lock);
}

/* What ends an op must be hooked everywhere before a computation is. */
static void take_all(void)
{
    walk others = {false, false}, starts = {true, false};
    struct timespec until;
    /* A library's constructor calls dlsym while its thread holds the dynamic linker's lock, which
     * the walking thread may wait for. */
    if (clock_gettime(CLOCK_REALTIME, &until) != 0) return;
    until.tv_nsec += WALK_WAIT_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    if (pthread_mutex_timedlock(&walk_lock, &until) != 0) return;
    (void)dl_iterate_phdr(visit_library, &others);
    (void)dl_iterate_phdr(visit_library, &starts);
    drop_gone();
    (void)pthread_mutex_unlock(&walk_lock);
}

static void begin(void)
{
    (void)pthread_mutex_lock(&lock);
    n_slots = n_libraries = 0;
    problem = (tt_error){.message = ""};
    for (size_t i = 0; i < n_hooks; i++)
        hooks[i].is_called = false;
    is_on = true;
    (void)pthread_mutex_unlock(&lock);
}

tt_status tt_call_slots_take(tt_error *err)
{
    find_hooks();
    if (!n_hooks)
        return tt_error_set(err, TT_E_UNSUPPORTED, TT_NO_OFFSET,
                            "this build of the hook library cannot be attached");
    if (access("/proc/self/maps", R_OK) != 0)
        return tt_error_set(err, TT_E_UNSUPPORTED, TT_NO_OFFSET, "/proc/self/maps: %s",
                            strerror(errno));
    begin();
    take_all();
    atomic_store(&tt_call_slots_on, true);
    if (tt_call_slots_problem(err) == TT_OK) return TT_OK;
    const tt_status status = problem.status;
    tt_call_slots_give();
    return status;
}

tt_status tt_call_slots_problem(tt_error *err)
{
    (void)pthread_mutex_lock(&lock);
    const tt_error first = problem;
    (void)pthread_mutex_unlock(&lock);
    if (err && first.status != TT_OK) *err = first;
    return first.status;
}

/* Slots of libraries that are loaded, as is certain while none was unloaded. */
static int check(struct dl_phdr_info *info, size_t size, void *data)
{
    bool *is_same = data;
    (void)size;
    (void)pthread_mutex_lock(&lock);
    *is_same =
        !is_on || (is_complete && info->dlpi_adds == n_loaded && info->dlpi_subs == n_unloaded);
    for (size_t i = 0; is_on && *is_same && i < n_slots; i++)
        if (!slots[i].is_closed && *slots[i].at != slots[i].hook->address) {
            slots[i].was = *slots[i].at;
            (void)store(slots[i].at, slots[i].hook->address, false);
        }
    (void)pthread_mutex_unlock(&lock);
    return 1;
}

void tt_call_slots_look_now(void)
{
    bool is_same = true;
    if (!atomic_load(&tt_call_slots_on)) return;
    const int error = errno;
    (void)dl_iterate_phdr(check, &is_same);
    if (!is_same) take_all();
    errno = error;
}

/* --- giving back --- */

static bool give(void *context, const tt_resolve_import *import)
{
    const bool *only_starts = context;
    const slot *s = hook_of(import->name) ? slot_at(import->at) : NULL;
    if (s && *s->at == s->hook->address && (!*only_starts || s->hook->kind == OF_START))
        (void)store(s->at, s->was, s->is_closed);
    return false;
}

/* Through the libraries, because some may have been unloaded. */
static int give_library(struct dl_phdr_info *info, size_t size, void *only_starts)
{
    (void)size;
    (void)pthread_mutex_lock(&lock);
    (void)tt_resolve_imports(info, give, only_starts);
    (void)pthread_mutex_unlock(&lock);
    return 0;
}

static void give_back(bool only_starts)
{
    atomic_store(&tt_call_slots_on, false);
    (void)pthread_mutex_lock(&lock);
    is_on = false;
    (void)pthread_mutex_unlock(&lock);
    (void)dl_iterate_phdr(give_library, &only_starts);
}

void tt_call_slots_give_starts(void)
{
    give_back(true);
}

void tt_call_slots_give(void)
{
    give_back(false);
}

#else

tt_status tt_call_slots_take(tt_error *err)
{
    return tt_error_set(err, TT_E_UNSUPPORTED, TT_NO_OFFSET, "attaching is for x86-64 and aarch64");
}

tt_status tt_call_slots_problem(tt_error *err)
{
    (void)err;
    return TT_OK;
}

void tt_call_slots_look_now(void)
{
}

void tt_call_slots_give_starts(void)
{
}

void tt_call_slots_give(void)
{
}

#endif

const char *tt_call_slots_unseen(size_t *n)
{
    while (*n < n_hooks) {
        const hook *h = &hooks[(*n)++];
        if (strncmp(h->name, "llama_", 6) == 0 && !h->is_called && tt_resolve(NULL, h->name))
            return h->name;
    }
    return NULL;
}

void tt_call_slots_in_child(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    lock = walk_lock = fresh;
}
