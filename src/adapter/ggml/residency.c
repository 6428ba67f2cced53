#include "adapter/ggml/residency.h"

#include "adapter/ggml/buffers.h"
#include "adapter/ggml/models.h"
#include "adapter/ggml/process.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "format/meta.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534u            /* the kernel's overflow user and group, unless changed */
#define PAGES_AT_ONCE 16384u     /* per call of mincore */
#define LOOKS_MAX 256u           /* intervals of PAGES_AT_ONCE of a file that is sampled in parts */
#define INTERVALS_MAX (1u << 17) /* of one record, so that it stays well below the meta stream */

typedef struct mapping {
    uint8_t *at; /* NULL: not available */
    size_t size_bytes;
    uint64_t n_pages;
} mapping;

/* As in tt_models_list. */
static mapping mappings[TT_MODELS_MAX];
static uint32_t n_mappings;

/* Whether this process counts as the file's owner by CAP_FOWNER, which is valid for users and
 * groups in its user namespace: others appear as "nobody". */
static bool stands_in_for_owner(const struct stat *st)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(SYS_capget, &head, caps) != 0) return false;
    return (caps[0].effective & 1u << CAP_FOWNER) && st->st_uid != NOBODY && st->st_gid != NOBODY;
}

/* For files that the user neither owns nor may write, the kernel reports all pages as present. */
static bool kernel_reports(int fd, const char *path)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return false;
    return st.st_uid == geteuid() || stands_in_for_owner(&st) || eaccess(path, W_OK) == 0;
}

static const char *map_file(const tt_model_seen *model, uint64_t page_bytes, mapping *m)
{
    const char *problem = NULL;
    int fd = open(model->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return strerror(errno);
    if (!tt_descriptor_is(fd, model->file.device, model->file.inode)) {
        problem = "the file was replaced meanwhile";
    } else if (!kernel_reports(fd, model->path)) {
        problem = "the kernel tells it only to a file's owner, or who may write it";
    } else {
        size_t size = (size_t)model->file.size_bytes;
        void *at = mmap(NULL, size, PROT_NONE, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED)
            problem = strerror(errno);
        else
            *m = (mapping){at, size, (size + page_bytes - 1) / page_bytes};
    }
    (void)close(fd);
    return problem;
}

/* Intervals of pages, alternately absent and present. */
typedef struct intervals {
    tt_bytes lengths;
    uint32_t n;
    bool present;
    uint64_t length;      /* of the current one */
    uint64_t first, done; /* pages of the record */
} intervals;

static void begin_record(intervals *s, uint64_t page)
{
    tt_bytes_clear(&s->lengths);
    s->n = 0;
    s->present = false;
    s->length = 0;
    s->first = page;
    s->done = 0;
}

static void end_interval(intervals *s)
{
    tt_bytes_varint(&s->lengths, s->length);
    s->n++;
    s->length = 0;
    s->present = !s->present;
}

static void put_record(tt_recorder *r, tt_meta_residency *h, intervals *s)
{
    tt_bytes payload;
    if (s->length) end_interval(s);
    h->end_ticks = tt_ticks();
    h->first_page = s->first;
    h->n_pages = s->done;
    h->n_intervals = s->n;
    tt_bytes_init(&payload, TT_META_RECORD_MAX);
    tt_meta_put_residency(&payload, h);
    tt_bytes_put(&payload, s->lengths.data, s->lengths.size);
    payload.failed |= s->lengths.failed;
    (void)tt_process_put(r, TT_META_RESIDENCY, &payload);
}

/* The engine's own mapping of a model file; base NULL: none. Whole pages only. */
typedef struct engine_mapping {
    uint8_t *base;
    uint64_t first_page, end_page;
} engine_mapping;

static engine_mapping find_engine_mapping(const char *path, uint64_t page_bytes)
{
    uint64_t offset = 0, size = 0;
    engine_mapping e = {.base = tt_buffers_mapping(path, &offset, &size)};
    uint64_t skip = (page_bytes - offset % page_bytes) % page_bytes;
    if (!e.base || skip >= size || ((uintptr_t)e.base + skip) % page_bytes != 0)
        return (engine_mapping){0};
    e.base += skip;
    e.first_page = (offset + skip) / page_bytes;
    e.end_page = (offset + size) / page_bytes;
    return e;
}

/* Reads the state of up to n pages from `page` on: in the engine's mapping if they are in it and it
 * still exists; else in ours. Returns their number; 0 on failure. */
static uint64_t ask(const mapping *m, const engine_mapping *e, uint64_t page, uint64_t n,
                    uint64_t page_bytes, uint8_t *present)
{
    if (e->base && page < e->first_page && n > e->first_page - page) n = e->first_page - page;
    if (e->base && page >= e->first_page && page < e->end_page) {
        if (n > e->end_page - page) n = e->end_page - page;
        uint8_t *at = e->base + (page - e->first_page) * page_bytes;
        if (mincore(at, n * page_bytes, present) == 0) return n;
    }
    return mincore(m->at + page * page_bytes, n * page_bytes, present) == 0 ? n : 0;
}

/* Samples the pages from `from` up to `to`. */
static void sample(tt_recorder *r, const mapping *m, const engine_mapping *e, tt_meta_residency *h,
                   uint64_t from, uint64_t to)
{
    static uint8_t present[PAGES_AT_ONCE]; /* tt_process_lock guards it */
    intervals s = {0};
    tt_bytes_init(&s.lengths, TT_META_RECORD_MAX);
    h->begin_ticks = tt_ticks();
    begin_record(&s, from);
    for (uint64_t page = from; page < to;) {
        uint64_t n = to - page;
        n = ask(m, e, page, n > PAGES_AT_ONCE ? PAGES_AT_ONCE : n, h->page_bytes, present);
        if (n == 0) break;
        for (uint64_t i = 0; i < n; i++) {
            if ((present[i] & 1) != s.present) end_interval(&s);
            s.length++;
        }
        page += n;
        s.done += n;
        if (s.n < INTERVALS_MAX) continue;
        put_record(r, h, &s);
        h->begin_ticks = tt_ticks();
        begin_record(&s, page);
    }
    if (s.done) put_record(r, h, &s);
    tt_bytes_free(&s.lengths);
}

static void sample_file(tt_recorder *r, uint32_t i, uint32_t batch, enum tt_moment moment)
{
    const tt_model_seen *models;
    const mapping *m = &mappings[i];
    (void)tt_models_list(&models);
    tt_meta_residency h = {.model = models[i].file.id,
                           .batch = batch,
                           .moment = (uint8_t)moment,
                           .page_bytes = (uint32_t)sysconf(_SC_PAGESIZE)};
    if (!m->at) return;
    engine_mapping e = find_engine_mapping(models[i].path, h.page_bytes);
    if (moment < TT_AT_MAP_BEGIN || m->n_pages <= (uint64_t)LOOKS_MAX * PAGES_AT_ONCE) {
        sample(r, m, &e, &h, 0, m->n_pages);
        return;
    }
    for (uint64_t look = 0; look < LOOKS_MAX; look++) {
        const uint64_t from = m->n_pages / LOOKS_MAX * look;
        sample(r, m, &e, &h, from, from + PAGES_AT_ONCE);
    }
}

void tt_residency_look(tt_recorder *r, uint32_t model, enum tt_moment moment)
{
    if (model < n_mappings) sample_file(r, model, 0, moment);
}

void tt_residency_record(tt_recorder *r, uint32_t batch, enum tt_moment moment)
{
    for (uint32_t i = 0; i < n_mappings; i++)
        sample_file(r, i, batch, moment);
}

void tt_residency_begin(tt_recorder *r)
{
    const tt_model_seen *models;
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    for (uint32_t n = tt_models_list(&models); n_mappings < n; n_mappings++) {
        char text[512];
        const tt_model_seen *model = &models[n_mappings];
        const char *problem = map_file(model, page_bytes, &mappings[n_mappings]);
        if (!problem) {
            sample_file(r, n_mappings, 0, TT_AT_BEGIN);
            continue;
        }
        (void)snprintf(text, sizeof text, "not observed: pages of %.300s: %s", model->path,
                       problem);
        tt_process_environment(r, "capture_residency", text);
    }
}

void tt_residency_reset(void)
{
    for (uint32_t i = 0; i < n_mappings; i++)
        if (mappings[i].at) (void)munmap(mappings[i].at, mappings[i].size_bytes);
    memset(mappings, 0, sizeof mappings);
    n_mappings = 0;
}
