#include "adapter/ggml/storage.h"

#include "adapter/ggml/models.h"
#include "adapter/ggml/process.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "format/meta.h"
#include "host/disk.h"
#include "host/system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t models_seen; /* as in tt_models_list; tt_process_lock guards it */

static void report_fact(void *context, const char *key, const char *value)
{
    tt_process_environment(context, key, value);
}

static void put_fragments(tt_bytes *payload, const tt_host_extents *e)
{
    uint64_t end = 0, disk_end = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        const tt_host_fragment *f = &e->list[i];
        const tt_meta_fragment one = {.hole_bytes = f->offset_bytes - end,
                                      .size_bytes = f->size_bytes,
                                      .jump_bytes = (int64_t)(f->disk_bytes - disk_end),
                                      .flags = f->flags};
        tt_meta_put_fragment(payload, &one);
        end = f->offset_bytes + f->size_bytes;
        disk_end = f->disk_bytes + f->size_bytes;
    }
}

/* NULL, or why it is not known. */
static const char *look(const tt_model_seen *model, tt_host_extents *e)
{
    const char *problem = "the file was replaced meanwhile";
    const int fd = open(model->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return strerror(errno);
    if (tt_descriptor_is(fd, model->file.device, model->file.inode)) {
        const int error = tt_host_extents_look(fd, model->file.size_bytes, e);
        problem = !error                                   ? NULL
                  : error == EOPNOTSUPP || error == ENOTTY ? "the file system does not tell"
                                                           : strerror(error);
    }
    (void)close(fd);
    return problem;
}

static void record_extents(tt_recorder *r, const tt_model_seen *model)
{
    tt_host_extents e = {.list = malloc(TT_HOST_FRAGMENTS_MAX * sizeof *e.list)};
    if (!e.list) return;
    tt_meta_extents h = {.model = model->file.id, .ticks = tt_ticks()};
    const char *problem = look(model, &e), *why = problem ? problem : "";
    h.state = problem ? TT_EXTENTS_NOT_OBSERVED : e.whole ? TT_EXTENTS_WHOLE : TT_EXTENTS_CUT;
    h.why = (tt_span){(const uint8_t *)why, strlen(why)};
    if (!problem) {
        h.walked_bytes = e.walked_bytes;
        h.n_extents = e.extents;
        h.n_fragments = e.fragments;
        h.n_backward = e.backward;
        h.mapped_bytes = e.mapped_bytes;
        h.largest_bytes = e.largest_bytes;
        h.long_bytes = e.long_bytes;
        h.flags = e.flags;
        h.n_listed = e.n;
    }
    tt_bytes payload;
    tt_bytes_init(&payload, TT_META_RECORD_MAX);
    tt_meta_put_extents(&payload, &h);
    if (!problem) put_fragments(&payload, &e);
    (void)tt_process_put(r, TT_META_EXTENTS, &payload);
    free(e.list);
}

void tt_storage_models(tt_recorder *r)
{
    const tt_model_seen *models;
    for (uint32_t n = tt_models_list(&models); models_seen < n; models_seen++) {
        const tt_model_seen *model = &models[models_seen];
        bool known = false;
        for (uint32_t i = 0; i < models_seen; i++)
            known |= models[i].file.device == model->file.device;
        if (!known) {
            tt_host_disk disk;
            tt_host_disk_look("", model->path, model->file.device, &disk);
            tt_host_disk_report(&disk, report_fact, r);
        }
        record_extents(r, model);
    }
}

void tt_storage_begin(tt_recorder *r)
{
    tt_host_system s;
    tt_host_system_look("", &s);
    tt_host_system_report(&s, report_fact, r);
}

void tt_storage_end(tt_recorder *r)
{
    tt_host_system s;
    tt_host_system_clear(&s);
    s.memory_available_end_bytes = tt_host_memory_available("");
    tt_host_system_report(&s, report_fact, r);
}

void tt_storage_reset(void)
{
    models_seen = 0;
}
