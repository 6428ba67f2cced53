/* The flight recorder: the oldest chunks of a container make room for new ones. */
#include "base/descriptor.h"
#include "record/lasting.h"
#include "record/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define STEP 8u /* a part of the ring is thrown away at a time: each time costs a BASE chunk */

bool tt_sink_punch(int fd, uint64_t from, uint64_t to)
{
    int failed;
    do
        failed = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
                           (off_t)(to - from));
    while (failed && errno == EINTR);
    return !failed;
}

/* The records of a META or BASE chunk that still hold. */
static tt_status take_meta(tt_sink *s, const tt_index_entry *e, tt_lasting *l, uint64_t *end,
                           tt_error *err)
{
    tt_bytes chunk, unpacked;
    tt_chunk_header h;
    tt_bytes_init(&chunk, TT_CHUNK_PAYLOAD_MAX + TT_CHUNK_HEADER_BYTES + 8);
    tt_bytes_init(&unpacked, TT_CHUNK_PAYLOAD_MAX);
    tt_status status = tt_sink_read(s, e->offset, &chunk, &h, err);
    if (status == TT_OK) {
        tt_span raw = {chunk.data + TT_CHUNK_HEADER_BYTES, h.stored_bytes};
        if (h.codec == TT_CODEC_ZSTD) {
            if (!s->zstd || !tt_codec_zstd_unpack(s->zstd, raw, h.raw_bytes, &unpacked))
                status = tt_error_set(err, TT_E_FORMAT, e->offset, "a chunk cannot be unpacked");
            raw = (tt_span){unpacked.data, unpacked.size};
        }
        if (status == TT_OK) tt_lasting_add(l, raw);
        *end = e->type == TT_CHUNK_BASE ? h.position : h.position + h.raw_bytes;
    }
    tt_bytes_free(&chunk);
    tt_bytes_free(&unpacked);
    if (status == TT_OK && l->failed) status = tt_error_memory(err, "what is carried over");
    return status;
}

/* Writes a BASE chunk: of the last one, and of the META chunks among the first n entries. */
static tt_status carry_over(tt_sink *s, size_t n, tt_error *err)
{
    tt_lasting lasting;
    tt_bytes raw, front;
    size_t base = SIZE_MAX;
    uint64_t end = 0;
    tt_status status = TT_OK;
    tt_lasting_init(&lasting);
    for (size_t i = 0; i < s->n_index; i++)
        if (s->index[i].type == TT_CHUNK_BASE) base = i;
    if (base != SIZE_MAX) status = take_meta(s, &s->index[base], &lasting, &end, err);
    for (size_t i = 0; i < n && status == TT_OK; i++)
        if (s->index[i].type == TT_CHUNK_META && s->index[i].position >= end)
            status = take_meta(s, &s->index[i], &lasting, &end, err);
    tt_bytes_init(&raw, TT_CHUNK_PAYLOAD_MAX);
    tt_bytes_init(&front, 128);
    if (status == TT_OK) {
        tt_index_entry entry = {.type = TT_CHUNK_BASE, .position = end};
        tt_meta_put_front(&front, &s->front);
        tt_meta_put_record(&raw, TT_META_FRONT, &front);
        tt_lasting_put(&lasting, &raw, &entry.count);
        entry.count++;
        status = raw.failed ? tt_error_memory(err, "the descriptions")
                            : tt_sink_put(s, &entry, (tt_span){raw.data, raw.size}, err);
    }
    tt_bytes_free(&front);
    tt_bytes_free(&raw);
    tt_lasting_free(&lasting);
    return status;
}

/* One write of 40 bytes that never crosses a page: a kill leaves the old hole or the new one. */
static tt_status write_hole(tt_sink *s, uint64_t end, tt_error *err)
{
    uint8_t bytes[TT_CHUNK_HEADER_BYTES];
    tt_chunk_header h = {.type = TT_CHUNK_HOLE, .position = end - TT_FILE_HEADER_BYTES};
    tt_chunk_header_encode(&h, s->seed, NULL, bytes);
    if (!tt_descriptor_is(s->fd, s->device, s->inode) ||
        pwrite(s->fd, bytes, sizeof bytes, TT_FILE_HEADER_BYTES) != (ssize_t)sizeof bytes)
        return tt_error_set(err, TT_E_IO, TT_FILE_HEADER_BYTES, "writing the trace failed: %s",
                            strerror(errno));
    s->hole_end = end;
    uint64_t from = s->punched ? s->punched : PAGE_BYTES, to = end / PAGE_BYTES * PAGE_BYTES;
    if (to > from && tt_sink_punch(s->fd, from, to)) s->punched = to;
    return TT_OK;
}

static void count_retired(tt_meta_front *f, const tt_index_entry *e)
{
    bool is_op = e->type == TT_CHUNK_OPS, is_detail = e->type == TT_CHUNK_DETAIL;
    if (is_op) f->ops += e->count;
    if (is_detail) f->details += e->count;
    if ((is_op || is_detail) && e->run_max > f->last_run) f->last_run = e->run_max;
}

tt_status tt_sink_retire(tt_sink *s, tt_error *err)
{
    const uint64_t begin = s->hole_end ? s->hole_end : TT_FILE_HEADER_BYTES;
    const uint64_t step = s->ring_bytes / STEP;
    const tt_meta_front before = s->front;
    size_t n = 0;
    if (!s->ring_bytes || s->hold || s->offset - begin <= s->ring_bytes ||
        s->offset - s->retired_at < step)
        return TT_OK;
    while (n + 1 < s->n_index && s->offset - s->index[n].offset > s->ring_bytes - step)
        count_retired(&s->front, &s->index[n++]);
    s->retired_at = s->offset;
    if (n == 0) return TT_OK;
    uint64_t end = s->index[n].offset;
    s->front.bytes = end - TT_FILE_HEADER_BYTES;
    tt_status status = carry_over(s, n, err);
    if (status == TT_OK) status = write_hole(s, end, err);
    if (status != TT_OK) {
        s->front = before;
        return status;
    }
    s->n_index -= n;
    memmove(s->index, s->index + n, s->n_index * sizeof *s->index);
    return TT_OK;
}
