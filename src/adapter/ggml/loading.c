#include "adapter/ggml/loading.h"

#include "adapter/ggml/capture.h"
#include "adapter/ggml/models.h"
#include "adapter/ggml/process.h"
#include "adapter/ggml/residency.h"
#include "adapter/ggml/resolve.h"
#include "adapter/ggml/usage.h"
#include "base/clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>

#define STEPS_MAX 4096u /* per trace: a program that maps in a loop must not fill it */
#define MAPPINGS_MAX 64u

typedef struct mapping {
    uintptr_t address;
    uint64_t size_bytes, file_offset_bytes;
    uint32_t model; /* in tt_models_list */
} mapping;

/* tt_process_lock guards them. */
static mapping mappings[MAPPINGS_MAX]; /* the newest ones: programs advise right after they map */
static uint32_t n_mappings;            /* of all mappings so far */
static uint32_t n_steps;
static _Atomic bool no_batch = true; /* since the last mapping */

static void put_step(tt_recorder *r, const tt_meta_load_step *s)
{
    tt_bytes payload;
    if (n_steps >= STEPS_MAX) return;
    n_steps++;
    tt_bytes_init(&payload, 128);
    tt_meta_put_load_step(&payload, s);
    (void)tt_process_put(r, TT_META_LOAD_STEP, &payload);
}

static void read_totals(tt_recorder *r, tt_meta_usage *u)
{
    *u = (tt_meta_usage){0};
    tt_usage_read_process(r, u);
}

static void begin_step(tt_recorder *r, tt_meta_load_step *s)
{
    tt_meta_usage u;
    read_totals(r, &u);
    s->flags = u.flags;
    s->minor = u.minor;
    s->major = u.major;
    s->read_bytes = u.read_bytes;
    s->rchar = u.rchar;
    s->begin_ticks = s->end_ticks = tt_ticks();
}

static void end_step(tt_recorder *r, tt_meta_load_step *s)
{
    tt_meta_usage u;
    s->end_ticks = tt_ticks();
    read_totals(r, &u);
    s->flags &= u.flags;
    s->call_minor = u.minor - s->minor;
    s->call_major = u.major - s->major;
    s->call_read_bytes = u.read_bytes - s->read_bytes;
}

static void begin_call(tt_loading_call *c, tt_recorder *r, uint32_t model, enum tt_load_kind kind)
{
    const tt_model_seen *models;
    (void)tt_models_list(&models);
    c->recorder = r;
    c->model = model;
    c->step = (tt_meta_load_step){.model = models[model].file.id, .kind = (uint8_t)kind};
    if (kind == TT_LOAD_MAP && tt_capture_options.residency_every)
        tt_residency_look(r, model, TT_AT_MAP_BEGIN);
    begin_step(r, &c->step);
}

/* The recorder of a process that has opened models; NULL: there is nothing to record. */
static tt_recorder *recorder_with_models(uint32_t *n, const tt_model_seen **models)
{
    tt_recorder *r = tt_process_recorder_if_open();
    if (!r || atomic_load(&tt_recorder_area(r)->area->stopped)) return NULL;
    *n = tt_models_list(models);
    return *n ? r : NULL;
}

void tt_loading_file(tt_loading_call *c, enum tt_load_kind kind, int fd, const void *caller)
{
    const int error = errno;
    const tt_model_seen *models;
    uint32_t n, i = 0;
    struct stat st;
    tt_recorder *r = recorder_with_models(&n, &models);
    c->recorder = NULL;
    if (r && fstat(fd, &st) == 0) {
        while (i < n && (models[i].file.device != (uint64_t)st.st_dev ||
                         models[i].file.inode != (uint64_t)st.st_ino))
            i++;
        if (i < n && !tt_resolve_is_ours(caller)) {
            (void)pthread_mutex_lock(&tt_process_lock);
            begin_call(c, r, i, kind);
            (void)pthread_mutex_unlock(&tt_process_lock);
        }
    }
    errno = error;
}

void tt_loading_memory(tt_loading_call *c, const void *address, const void *caller)
{
    const int error = errno;
    const tt_model_seen *models;
    const uintptr_t at = (uintptr_t)address;
    uint32_t n;
    tt_recorder *r = recorder_with_models(&n, &models);
    c->recorder = NULL;
    /* Later the mapping may be gone, and an allocator may use its addresses. Allocators give advice
     * while holding their own locks, which the recorder's threads may want: so do not wait. */
    if (r && atomic_load(&no_batch) && pthread_mutex_trylock(&tt_process_lock) == 0) {
        for (uint32_t i = 0; i < n_mappings && i < MAPPINGS_MAX && !c->recorder; i++) {
            const mapping *m = &mappings[(n_mappings - 1 - i) % MAPPINGS_MAX];
            if (at - m->address >= m->size_bytes || tt_resolve_is_ours(caller)) continue;
            begin_call(c, r, m->model, TT_LOAD_MAP_ADVICE);
            c->step.file_offset_bytes = m->file_offset_bytes + (at - m->address);
        }
        (void)pthread_mutex_unlock(&tt_process_lock);
    }
    errno = error;
}

static void put_call(tt_loading_call *c, uint64_t offset, uint64_t size, uint8_t what, int error)
{
    end_step(c->recorder, &c->step);
    c->step.file_offset_bytes = offset;
    c->step.size_bytes = size;
    c->step.what = what;
    c->step.error = (uint32_t)error;
    put_step(c->recorder, &c->step);
}

void tt_loading_done(tt_loading_call *c, uint64_t file_offset_bytes, uint64_t size_bytes,
                     uint8_t what, int error)
{
    const int was = errno;
    if (!c->recorder) return;
    (void)pthread_mutex_lock(&tt_process_lock);
    put_call(c, file_offset_bytes, size_bytes, what, error);
    (void)pthread_mutex_unlock(&tt_process_lock);
    errno = was;
}

void tt_loading_mapped(tt_loading_call *c, const void *address, uint64_t file_offset_bytes,
                       uint64_t size_bytes, uint8_t what, int error)
{
    const int was = errno;
    if (!c->recorder) return;
    (void)pthread_mutex_lock(&tt_process_lock);
    put_call(c, file_offset_bytes, size_bytes, what, error);
    if (!error) {
        mappings[n_mappings++ % MAPPINGS_MAX] =
            (mapping){(uintptr_t)address, size_bytes, file_offset_bytes, c->model};
        atomic_store(&no_batch, true);
        if (tt_capture_options.residency_every)
            tt_residency_look(c->recorder, c->model, TT_AT_MAP_END);
    }
    (void)pthread_mutex_unlock(&tt_process_lock);
    errno = was;
}

void tt_loading_batch(tt_recorder *r)
{
    const tt_model_seen *models;
    if (!atomic_load(&no_batch)) return;
    atomic_store(&no_batch, false);
    const uint32_t n = tt_models_list(&models);
    tt_meta_load_step s = {.kind = TT_LOAD_FIRST_BATCH};
    if (!n) return;
    begin_step(r, &s);
    put_step(r, &s);
    for (uint32_t i = 0; tt_capture_options.residency_every && i < n; i++)
        tt_residency_look(r, i, TT_AT_FIRST_BATCH);
}

void tt_loading_end(tt_recorder *r)
{
    tt_meta_load_step s = {.kind = TT_LOAD_END};
    if (!n_steps) return;
    n_steps = 0; /* it is at least one place in the table */
    begin_step(r, &s);
    put_step(r, &s);
}

void tt_loading_reset(void)
{
    n_mappings = n_steps = 0;
    atomic_store(&no_batch, true);
}
