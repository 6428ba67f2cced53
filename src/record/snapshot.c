#include "record/snapshot.h"

#include "base/descriptor.h"
#include "format/meta.h"
#include "record/place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define STEP_BYTES (4u << 20) /* between two looks at the rings */

tt_status tt_snapshot_begin(tt_snapshot *s, tt_drain *d, const char *trace, uint32_t number,
                            tt_error *err)
{
    memset(s, 0, sizeof *s);
    tt_status status = tt_place_snapshot(s->path, sizeof s->path, trace, (long)number, err);
    if (status == TT_OK) status = tt_place_part(s->part, sizeof s->part, s->path, err);
    if (status != TT_OK) return status;
    int fd = tt_descriptor_raise(open(s->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (fd < 0)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot create %s: %s", s->part,
                            strerror(errno));
    s->active = true;
    tt_bytes_init(&s->totals, TT_CHUNK_PAYLOAD_MAX);
    s->position = atomic_load(&d->map->area->meta_tail);
    d->sink->hold = true;
    status = tt_copy_begin(&s->copy, d->sink, fd, err);
    if (status == TT_OK && !tt_drain_totals(d, false, &s->totals))
        status = tt_error_memory(err, "the totals");
    if (status != TT_OK) tt_snapshot_stop(s, d);
    return status;
}

static tt_status finish(tt_snapshot *s, tt_error *err)
{
    tt_index_entry entry = {.type = TT_CHUNK_META, .position = s->position};
    tt_span totals = {s->totals.data, s->totals.size};
    tt_sink *to = &s->copy.to;
    tt_meta_describe(totals, &entry.meta, &entry.count);
    tt_status status = tt_sink_put(to, &entry, totals, err);
    if (status == TT_OK) status = tt_sink_finish(to, TT_END_SNAPSHOT, err);
    return status == TT_OK ? tt_place_rename(s->part, s->path, sizeof s->path, false, err) : status;
}

static void end(tt_snapshot *s, tt_drain *d)
{
    tt_copy_end(&s->copy);
    tt_bytes_free(&s->totals);
    d->sink->hold = false;
    s->active = false;
}

tt_status tt_snapshot_step(tt_snapshot *s, tt_drain *d, tt_error *err)
{
    bool done = false;
    tt_status status = tt_copy_step(&s->copy, STEP_BYTES, &done, err);
    if (status == TT_OK && !done) return TT_OK;
    if (status == TT_OK) status = finish(s, err);
    if (status != TT_OK) (void)unlink(s->part);
    end(s, d);
    return status;
}

void tt_snapshot_stop(tt_snapshot *s, tt_drain *d)
{
    if (!s->active) return;
    (void)unlink(s->part);
    end(s, d);
}
