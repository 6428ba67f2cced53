#include "adapter/ggml/contexts.h"

#include "adapter/ggml/process.h"
#include "adapter/ggml/resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#define ALL_HOOKED "every op of the CPU library passes the hooks"
#define SCHED_WORDS 512u /* of a scheduler, which has some 170 */

static tt_context *contexts;
static const tt_recorder *mode_recorder; /* the recorder that has the mode */
static uint32_t last_id;
static uint64_t last_layout;

static bool is_gpu(const tt_engine *e, void *backend)
{
    void *device = backend && e->backend_device ? e->backend_device(backend) : NULL;
    int type = device && e->device_type ? e->device_type(device) : GGML_MIRROR_DEVICE_CPU;
    return type == GGML_MIRROR_DEVICE_GPU || type == GGML_MIRROR_DEVICE_IGPU;
}

/* The scheduler's first backend of a kind; NULL: none. */
static void *find_backend(const tt_engine *e, void *sched,
                          bool (*is_kind)(const tt_engine *e, void *backend))
{
    if (!e->sched_n_backends || !e->sched_backend) return NULL;
    for (int i = 0, n = e->sched_n_backends(sched); i < n; i++)
        if (is_kind(e, e->sched_backend(sched, i))) return e->sched_backend(sched, i);
    return NULL;
}

static bool decide_callback(const tt_engine *e, void *sched, char why[200])
{
    void *gpu;
    switch (tt_process_mode()) {
    case TT_MODE_HOOK:
        (void)snprintf(why, 200, "asked for");
        return false;
    case TT_MODE_CALLBACK:
        (void)snprintf(why, 200, "asked for");
        return true;
    case TT_MODE_API:
    case TT_MODE_AUTO:
        break;
    }
    /* Barriers only show the waits: some builds have them in their compute loop. */
    static const char *const needed[] = {"ggml_cpu_extra_compute_forward", "ggml_graph_compute"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!tt_resolve_is_imported(needed[i])) {
            (void)snprintf(why, 200,
                           "no loaded library calls %s through the dynamic linker's table, where "
                           "it could be hooked",
                           needed[i]);
            return true;
        }
    gpu = find_backend(e, sched, is_gpu);
    if (gpu) {
        (void)snprintf(why, 200, "ops run on %s, where there is nothing to hook per op",
                       e->backend_name ? e->backend_name(gpu) : "a GPU");
        return true;
    }
    (void)snprintf(why, 200, ALL_HOOKED);
    return false;
}

static void put_mode(tt_recorder *r, const char *mode, const char *why)
{
    mode_recorder = r;
    tt_process_environment(r, "mode", mode);
    tt_process_environment(r, "mode_reason", why);
}

static void put_remote(tt_recorder *r, const tt_engine *e, void *backend)
{
    char text[256];
    (void)snprintf(text, sizeof text,
                   "%s computes them in another process, and the engine does not wait for it: "
                   "record the server there (`tensortrace run -- rpc-server`)",
                   e->backend_name ? e->backend_name(backend) : "a device");
    tt_process_environment(r, "engine_remote", text);
}

tt_context *tt_contexts_get(tt_recorder *r, const tt_engine *e, void *sched)
{
    char why[200];
    for (tt_context *c = contexts; c; c = c->next)
        if (c->sched == sched) return c;
    tt_context *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->sched = sched;
    c->phases.is_late = tt_process_is_late();
    c->id = ++last_id;
    c->callback = decide_callback(e, sched, why);
    c->next = contexts;
    contexts = c;
    put_mode(r, c->callback ? "callback" : "hook", why);
    void *remote = find_backend(e, sched, tt_engine_is_remote);
    c->has_remote = remote != NULL;
    if (remote) put_remote(r, e, remote);
    return c;
}

void tt_contexts_none(tt_recorder *r)
{
    if (mode_recorder != r && !contexts) put_mode(r, "hook", ALL_HOOKED);
}

void tt_contexts_laid_out(void *sched)
{
    for (tt_context *c = contexts; c; c = c->next)
        if (c->sched == sched) c->layout = ++last_layout;
}

void tt_contexts_find_others(tt_context *c)
{
    tt_phases *p = &c->phases;
    p->n_others = 0;
    for (tt_context *other = contexts; other; other = other->next)
        if (other != c && other->phases.called && p->n_others < TT_PHASES_OTHERS)
            p->others[p->n_others++] = &other->phases;
}

tt_context *tt_contexts_find(const void *handle)
{
    for (tt_context *c = contexts; handle && c; c = c->next)
        if (c->phases.engine_context == handle || c->phases.engine_memory == handle)
            return c;
    return NULL;
}

static void free_context(tt_context *c)
{
    free(c->tracepoints.list);
    tt_fingerprints_free(&c->fingerprints);
    tt_phases_free(&c->phases);
    free(c);
}

void tt_contexts_drop(void *sched)
{
    for (tt_context **at = &contexts; *at; at = &(*at)->next) {
        tt_context *c = *at;
        if (c->sched != sched) continue;
        *at = c->next;
        free_context(c);
        return;
    }
}

/* Copies what can be read from there on. Nothing tells how large a scheduler is, or who has
 * allocated it, so the kernel reads it: beyond mapped memory it stops. */
static void copy_readable(void *to, const void *from, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), first = page - (uintptr_t)from % page;
    const size_t n = first < bytes ? first : bytes;
    const struct iovec local = {to, bytes};
    const struct iovec remote[] = {{(void *)(uintptr_t)from, n},
                                   {(char *)(uintptr_t)from + n, bytes - n}};
    (void)process_vm_readv(getpid(), &local, 1, remote, 2, 0);
}

/* The setter's own stores tell where the callback is. It is called on a copy, so that the
 * scheduler still has what the program has set. */
static size_t find_word(const tt_context *c, tt_set_callback set, tt_eval_callback callback)
{
    void **copy = calloc(2 * SCHED_WORDS, sizeof *copy);
    size_t at = 1;
    if (!copy) return 0;
    copy_readable(copy, c->sched, SCHED_WORDS * sizeof *copy);
    set(copy, callback, (void *)(uintptr_t)c);
    while (at < SCHED_WORDS && !(copy[at] == (void *)callback && copy[at + 1] == c))
        at++;
    free(copy);
    return at < SCHED_WORDS ? at : 0;
}

bool tt_contexts_is_installed(const tt_context *c)
{
    void *const *words = c->sched;
    return c->installed && (!c->callback_word || words[c->callback_word + 1] == c);
}

bool tt_contexts_install(tt_context *c, tt_set_callback set, tt_eval_callback callback,
                         bool is_hooked)
{
    void **words = c->sched;
    if (!c->callback_word) c->callback_word = find_word(c, set, callback);
    if (!c->callback_word && !is_hooked) return false;
    if (c->callback_word) {
        *(void **)&c->user_callback = words[c->callback_word];
        c->user_data = words[c->callback_word + 1];
    }
    c->set_callback = set;
    set(c->sched, callback, c);
    c->installed = true;
    return true;
}

void tt_contexts_uninstall(tt_context *c)
{
    if (tt_contexts_is_installed(c) && c->set_callback)
        c->set_callback(c->sched, c->user_callback, c->user_data);
    c->installed = false;
}

void tt_contexts_leave(tt_context *c)
{
    tt_contexts_uninstall(c);
    free_context(c);
}

bool tt_contexts_compute(void)
{
    for (const tt_context *c = contexts; c; c = c->next)
        if (c->computes) return true;
    return false;
}

void tt_contexts_forget(void)
{
    while (contexts) {
        tt_context *c = contexts;
        contexts = c->next;
        if (c->computes)
            c->forgotten = true;
        else
            tt_contexts_leave(c);
    }
}
