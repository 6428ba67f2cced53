#include "record/sink.h"

#include "base/array.h"
#include "base/checksum.h"
#include "base/descriptor.h"
#include "format/meta.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define RETAINED_MAX_BYTES ((size_t)512 << 20)

void tt_retained_init(tt_retained *l)
{
    memset(l, 0, sizeof *l);
    tt_bytes_init(&l->data, RETAINED_MAX_BYTES);
}

void tt_retained_free(tt_retained *l)
{
    tt_bytes_free(&l->data);
    free(l->records);
    memset(l, 0, sizeof *l);
}

static void keep(tt_retained *l, uint8_t type, uint64_t key, tt_span payload)
{
    tt_bytes view = {.data = (uint8_t *)(uintptr_t)payload.data, .size = payload.size};
    if (!tt_array_one_more(l->records, l->n, l->capacity)) {
        l->failed = true;
        return;
    }
    size_t at = l->data.size;
    tt_meta_put_record(&l->data, type, &view);
    l->failed |= l->data.failed;
    l->records[l->n++] = (tt_retained_record){at, l->data.size - at, key, type};
}

/* The payload of a kept record. */
static tt_cursor payload_of(const tt_retained *l, const tt_retained_record *r)
{
    tt_cursor c = tt_cursor_of(l->data.data + r->at, r->size);
    uint8_t type;
    tt_span payload = {NULL, 0};
    (void)tt_meta_next(&c, &type, &payload);
    return tt_cursor_of(payload.data, payload.size);
}

static void drop(tt_retained *l, uint8_t type, uint64_t first, uint64_t last)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->records[i].type == type && l->records[i].key >= first && l->records[i].key <= last)
            l->records[i].size = 0;
}

/* --- by type --- */

/* Keeps each key separately: later values replace earlier ones. */
static void add_environment(tt_retained *l, tt_cursor c)
{
    uint32_t n;
    if (!tt_meta_get_count(&c, &n, 2)) return;
    for (uint32_t i = 0; i < n; i++) {
        tt_meta_pair pair;
        if (!tt_meta_get_pair(&c, &pair)) return;
        tt_bytes one;
        tt_bytes_init(&one, TT_META_RECORD_MAX);
        tt_meta_put_pairs(&one, &pair, 1);
        uint64_t key = tt_checksum(pair.key.data, pair.key.size);
        drop(l, TT_META_ENVIRONMENT, key, key);
        if (!one.failed) keep(l, TT_META_ENVIRONMENT, key, (tt_span){one.data, one.size});
        tt_bytes_free(&one);
    }
}

/* Keeps the first record of a buffer, which describes its allocation, and the last, which has the
 * rest. */
static void add_buffer(tt_retained *l, tt_cursor c, tt_span payload)
{
    tt_meta_buffer b;
    size_t seen = 0;
    if (!tt_meta_get_buffer(&c, &b)) return;
    for (size_t i = 0; i < l->n; i++) {
        tt_retained_record *r = &l->records[i];
        if (r->type == TT_META_BUFFER && r->key == b.id && r->size && seen++ > 0) r->size = 0;
    }
    keep(l, TT_META_BUFFER, b.id, payload);
}

static bool graph_uses(const tt_retained *l, const tt_retained_record *r, uint64_t buffer)
{
    tt_meta_graph g;
    tt_cursor c = payload_of(l, r);
    if (!tt_meta_get_graph(&c, &g)) return false;
    for (uint32_t i = 0; i < g.n_tensors; i++) {
        tt_meta_tensor t;
        if (!tt_meta_get_tensor(&c, &t)) return false;
        if (t.buffer == buffer) return true;
    }
    return false;
}

/* Drops the buffer and its graphs. Buffer ids are never reused, so no graph in it will be computed
 * again. */
static void add_buffer_free(tt_retained *l, tt_cursor c)
{
    tt_meta_buffer_free f;
    if (!tt_meta_get_buffer_free(&c, &f)) return;
    drop(l, TT_META_BUFFER, f.id, f.id);
    for (size_t i = 0; i < l->n; i++) {
        tt_retained_record *r = &l->records[i];
        if (r->type == TT_META_GRAPH && r->size && graph_uses(l, r, f.id)) r->size = 0;
    }
}

static void add_ring(tt_retained *l, tt_cursor c, tt_span payload)
{
    tt_meta_ring r;
    if (!tt_meta_get_ring(&c, &r)) return;
    drop(l, TT_META_RING, r.ring, r.ring);
    keep(l, TT_META_RING, r.ring, payload);
}

/* What was in RAM while a model was loaded concerns the whole trace. */
static void add_residency(tt_retained *l, tt_cursor c, tt_span payload)
{
    tt_meta_residency r;
    if (tt_meta_get_residency(&c, &r) && r.batch == 0 && r.moment >= TT_AT_MAP_BEGIN)
        keep(l, TT_META_RESIDENCY, 0, payload);
}

static bool has_clock(const tt_retained *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->records[i].type == TT_META_CLOCK) return true;
    return false;
}

static void add(tt_retained *l, uint8_t type, tt_span payload)
{
    tt_cursor c = tt_cursor_of(payload.data, payload.size);
    switch (type) {
    case TT_META_ENVIRONMENT:
        add_environment(l, c);
        break;
    case TT_META_STRING:
    case TT_META_MODEL:
    case TT_META_EXTENTS:
    case TT_META_LOAD_STEP:
    case TT_META_TOKEN_TEXT:
        keep(l, type, 0, payload);
        break;
    case TT_META_BUFFER:
        add_buffer(l, c, payload);
        break;
    case TT_META_BUFFER_FREE:
        add_buffer_free(l, c);
        break;
    case TT_META_MAPPING: /* one that grew is recorded again, and the last record is valid */
        keep(l, type, 0, payload);
        break;
    case TT_META_RESIDENCY:
        add_residency(l, c, payload);
        break;
    case TT_META_GRAPH:
        keep(l, type, tt_cursor_varint(&c), payload);
        break;
    case TT_META_GRAPHS_END:
        drop(l, TT_META_GRAPH, 0, tt_cursor_varint(&c));
        break;
    case TT_META_RING:
        add_ring(l, c, payload);
        break;
    case TT_META_CLOCK:
        /* Keeps the first one: with the last it gives the most exact tick rate. */
        if (!has_clock(l)) keep(l, type, 0, payload);
        break;
    default:
        break; /* not kept: about a moment that has passed */
    }
}

void tt_retained_add(tt_retained *l, tt_span meta)
{
    tt_cursor c = tt_cursor_of(meta.data, meta.size);
    uint8_t type;
    tt_span payload;
    while (tt_meta_next(&c, &type, &payload))
        add(l, type, payload);
}

void tt_retained_put(const tt_retained *l, tt_bytes *out, uint32_t *n)
{
    *n = 0;
    for (size_t i = 0; i < l->n; i++) {
        const tt_retained_record *r = &l->records[i];
        if (!r->size) continue;
        tt_bytes_put(out, l->data.data + r->at, r->size);
        ++*n;
    }
}

#define LEVEL 3
#define LEVEL_FAST 1 /* a quarter of the time */

struct tt_codec_zstd {
    void *library;
    void *context;
    size_t (*bound)(size_t);
    size_t (*compress)(void *, void *, size_t, const void *, size_t, int);
    size_t (*decompress)(void *, size_t, const void *, size_t);
    unsigned (*is_error)(size_t);
    size_t (*free_context)(void *);
};

tt_codec_zstd *tt_codec_zstd_new(void)
{
    tt_codec_zstd *z = calloc(1, sizeof *z);
    if (!z) return NULL;
    z->library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    void *(*new_context)(void) = NULL;
    if (z->library) {
        *(void **)&new_context = dlsym(z->library, "ZSTD_createCCtx");
        *(void **)&z->bound = dlsym(z->library, "ZSTD_compressBound");
        *(void **)&z->compress = dlsym(z->library, "ZSTD_compressCCtx");
        *(void **)&z->decompress = dlsym(z->library, "ZSTD_decompress");
        *(void **)&z->is_error = dlsym(z->library, "ZSTD_isError");
        *(void **)&z->free_context = dlsym(z->library, "ZSTD_freeCCtx");
    }
    if (new_context && z->bound && z->compress && z->decompress && z->is_error && z->free_context)
        z->context = new_context();
    if (z->context) return z;
    tt_codec_zstd_free(z);
    return NULL;
}

void tt_codec_zstd_free(tt_codec_zstd *z)
{
    if (!z) return;
    if (z->context) (void)z->free_context(z->context);
    if (z->library) (void)dlclose(z->library);
    free(z);
}

/* Compresses into *out (cleared first). fast: for content that a higher level hardly makes smaller,
 * such as fingerprints and data of outputs. False if compression fails or saves less than a
 * sixteenth: then the payload is stored uncompressed. */
static bool codec_zstd_pack(tt_codec_zstd *z, tt_span raw, bool fast, tt_bytes *out)
{
    tt_bytes_clear(out);
    size_t bound = z->bound(raw.size);
    if (!tt_bytes_reserve(out, bound)) return false;
    size_t n =
        z->compress(z->context, out->data, bound, raw.data, raw.size, fast ? LEVEL_FAST : LEVEL);
    if (z->is_error(n) || n > raw.size - raw.size / 16) return false;
    out->size = n;
    return true;
}

bool tt_codec_zstd_unpack(tt_codec_zstd *z, tt_span packed, size_t raw_bytes, tt_bytes *out)
{
    tt_bytes_clear(out);
    if (!tt_bytes_reserve(out, raw_bytes)) return false;
    out->size = z->decompress(out->data, raw_bytes, packed.data, packed.size);
    return !z->is_error(out->size) && out->size == raw_bytes;
}

/* The flight recorder: the oldest chunks of a container make room for new ones. */

#define PAGE_BYTES 4096u
#define STEP                                                                                       \
    8u /* a part of the ring is discarded at a time, because each time costs a BASE                \
          chunk */

/* Writes zeros over bytes `from` to `to` of the file so that the file system frees the pages. False
 * if it cannot. */
static bool sink_punch(int fd, uint64_t from, uint64_t to)
{
    int failed;
    do
        failed = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
                           (off_t)(to - from));
    while (failed && errno == EINTR);
    return !failed;
}

/* Collects the valid records of a META or BASE chunk. */
static tt_status take_meta(tt_sink *s, const tt_index_entry *e, tt_retained *l, uint64_t *end,
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
        if (status == TT_OK) tt_retained_add(l, raw);
        *end = e->type == TT_CHUNK_BASE ? h.position : h.position + h.raw_bytes;
    }
    tt_bytes_free(&chunk);
    tt_bytes_free(&unpacked);
    if (status == TT_OK && l->failed) status = tt_error_memory(err, "what is carried over");
    return status;
}

/* Writes a BASE chunk with the valid records of the last BASE chunk and of the META chunks among
 * the first n entries. */
static tt_status carry_over(tt_sink *s, size_t n, tt_error *err)
{
    tt_retained retained;
    tt_bytes raw, front;
    size_t base = SIZE_MAX;
    uint64_t end = 0;
    tt_status status = TT_OK;
    tt_retained_init(&retained);
    for (size_t i = 0; i < s->n_index; i++)
        if (s->index[i].type == TT_CHUNK_BASE) base = i;
    if (base != SIZE_MAX) status = take_meta(s, &s->index[base], &retained, &end, err);
    for (size_t i = 0; i < n && status == TT_OK; i++)
        if (s->index[i].type == TT_CHUNK_META && s->index[i].position >= end)
            status = take_meta(s, &s->index[i], &retained, &end, err);
    tt_bytes_init(&raw, TT_CHUNK_PAYLOAD_MAX);
    tt_bytes_init(&front, 128);
    if (status == TT_OK) {
        tt_index_entry entry = {.type = TT_CHUNK_BASE, .position = end};
        tt_meta_put_front(&front, &s->front);
        tt_meta_put_record(&raw, TT_META_FRONT, &front);
        tt_retained_put(&retained, &raw, &entry.count);
        entry.count++;
        status = raw.failed ? tt_error_memory(err, "the descriptions")
                            : tt_sink_put(s, &entry, (tt_span){raw.data, raw.size}, err);
    }
    tt_bytes_free(&front);
    tt_bytes_free(&raw);
    tt_retained_free(&retained);
    return status;
}

/* One write of 40 bytes that never crosses a page: after a kill the hole is either the old or the
 * new one. */
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
    if (to > from && sink_punch(s->fd, from, to)) s->punched = to;
    return TT_OK;
}

static void count_retired(tt_meta_front *f, const tt_index_entry *e)
{
    bool is_op = e->type == TT_CHUNK_OPS, is_detail = e->type == TT_CHUNK_DETAIL;
    if (is_op) f->ops += e->count;
    if (is_detail) f->details += e->count;
    if ((is_op || is_detail) && e->run_max > f->last_run) f->last_run = e->run_max;
}

/* Discards the oldest chunks if there are more than ring_bytes. */
static tt_status sink_retire(tt_sink *s, tt_error *err)
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

#define PACK_MIN_BYTES 256u
#define PAGE_ENTRIES 4096u /* 200 KiB of memory */
/* Larger columns of ops are not compressed: zstd saves about 8 % of a large chunk and takes a third
 * of the time of making it, here and again in each reader. In a small chunk the lists of nodes are
 * worth it. */
#define PACK_OPS_MAX_BYTES (8u << 10)

static tt_status write_all(tt_sink *s, struct iovec *part, int n, tt_error *err)
{
    uint64_t at = s->offset;
    if (!tt_descriptor_is(s->fd, s->device, s->inode))
        return tt_error_set(err, TT_E_IO, s->offset,
                            "the traced program has closed the trace's file");
    while (n > 0) {
        ssize_t done = pwritev(s->fd, part, n, (off_t)at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) {
            int why = done < 0 ? errno : ENOSPC;
            /* Cut off the partial chunk, so that the next one follows a complete one. */
            (void)!ftruncate(s->fd, (off_t)s->offset);
            return tt_error_set(err, TT_E_IO, s->offset, "writing the trace failed: %s",
                                strerror(why));
        }
        at += (uint64_t)done;
        while (n > 0 && (size_t)done >= part->iov_len) {
            done -= (ssize_t)part->iov_len;
            part++;
            n--;
        }
        if (n > 0) {
            part->iov_base = (uint8_t *)part->iov_base + done;
            part->iov_len -= (size_t)done;
        }
    }
    s->offset = at;
    return TT_OK;
}

tt_status tt_sink_begin(tt_sink *s, int fd, const tt_file_header *header, uint64_t limit,
                        uint64_t ring_bytes, tt_error *err)
{
    uint8_t bytes[TT_FILE_HEADER_BYTES];
    struct iovec part = {bytes, sizeof bytes};
    tt_sink_continue(s, fd, tt_file_header_seed(header), 0, NULL, 0);
    s->limit = limit;
    s->ring_bytes = s->front.ring_bytes = ring_bytes;
    tt_file_header_encode(header, bytes);
    tt_status status = write_all(s, &part, 1, err);
    if (status == TT_OK && ring_bytes && !sink_punch(fd, TT_FILE_HEADER_BYTES, 4096))
        return tt_error_set(err, TT_E_UNSUPPORTED, TT_NO_OFFSET,
                            "the file system cannot take back the space of old records: a ring "
                            "needs one that can (ext4, xfs, btrfs, tmpfs)");
    return status;
}

void tt_sink_continue(tt_sink *s, int fd, uint64_t seed, uint64_t offset, tt_index_entry *index,
                      size_t n_index)
{
    struct stat st;
    memset(s, 0, sizeof *s);
    s->fd = fd;
    if (fstat(fd, &st) == 0) {
        s->device = (uint64_t)st.st_dev;
        s->inode = (uint64_t)st.st_ino;
    }
    s->seed = seed;
    s->offset = offset;
    s->index = index;
    s->n_index = s->capacity = n_index;
    s->zstd = tt_codec_zstd_new();
    tt_bytes_init(&s->packed, TT_CHUNK_PAYLOAD_MAX);
}

static tt_status put_chunk(tt_sink *s, tt_chunk_header *h, tt_span stored, tt_error *err)
{
    static const uint8_t zeros[8];
    uint8_t header[TT_CHUNK_HEADER_BYTES];
    tt_chunk_header_encode(h, s->seed, stored.data, header);
    struct iovec parts[3] = {
        {header, sizeof header},
        {(void *)(uintptr_t)stored.data, stored.size},
        {(void *)(uintptr_t)zeros, (size_t)(tt_pad8(stored.size) - stored.size)}};
    return write_all(s, parts, 3, err);
}

static bool remember(tt_sink *s, const tt_index_entry *entry)
{
    if (!tt_array_one_more(s->index, s->n_index, s->capacity)) return false;
    s->index[s->n_index++] = *entry;
    return true;
}

static bool worth_packing(const tt_index_entry *entry, tt_span raw)
{
    return raw.size >= PACK_MIN_BYTES && entry->type != TT_CHUNK_PAGE &&
           (entry->type != TT_CHUNK_OPS || raw.size <= PACK_OPS_MAX_BYTES);
}

static tt_status put(tt_sink *s, tt_index_entry *entry, tt_span raw, tt_error *err)
{
    tt_chunk_header h = {.type = entry->type,
                         .codec = TT_CODEC_NONE,
                         .stored_bytes = (uint32_t)raw.size,
                         .raw_bytes = (uint32_t)raw.size,
                         .stream = entry->stream,
                         .count = entry->count,
                         .position = entry->position};
    tt_span stored = raw;
    if (raw.size > TT_CHUNK_PAYLOAD_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "a chunk of %zu bytes", raw.size);
    bool fast = entry->type == TT_CHUNK_DETAIL || entry->type == TT_CHUNK_VALUE;
    if (s->zstd && worth_packing(entry, raw) && codec_zstd_pack(s->zstd, raw, fast, &s->packed) &&
        tt_chunk_ratio_ok(s->packed.size, raw.size)) {
        stored = (tt_span){s->packed.data, s->packed.size};
        h.codec = TT_CODEC_ZSTD;
        h.stored_bytes = (uint32_t)stored.size;
    }
    bool is_op = entry->type == TT_CHUNK_OPS || entry->type == TT_CHUNK_DETAIL ||
                 entry->type == TT_CHUNK_VALUE;
    if (s->limit && is_op && s->offset + TT_CHUNK_HEADER_BYTES + stored.size > s->limit)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "the trace has reached its limit of %" PRIu64 " bytes", s->limit);
    entry->offset = s->offset;
    if (!remember(s, entry)) return tt_error_memory(err, "the index");
    tt_status status = put_chunk(s, &h, stored, err);
    if (status != TT_OK) s->n_index--;
    return status;
}

/* Writes the entries so far into the file as a PAGE chunk. */
static tt_status turn_page(tt_sink *s, tt_error *err)
{
    tt_bytes payload;
    tt_index_entry page = {.type = TT_CHUNK_PAGE, .position = s->page, .count = PAGE_ENTRIES};
    tt_bytes_init(&payload, TT_CHUNK_PAYLOAD_MAX);
    tt_index_encode(&payload, s->index, s->n_index, 0);
    tt_status status = TT_E_MEMORY;
    if (payload.failed)
        tt_error_memory(err, "the index");
    else
        status = put(s, &page, (tt_span){payload.data, payload.size}, err);
    tt_bytes_free(&payload);
    if (status != TT_OK) return status;
    s->page = page.offset;
    s->index[0] = page;
    s->n_index = 1;
    return TT_OK;
}

tt_status tt_sink_put(tt_sink *s, tt_index_entry *entry, tt_span raw, tt_error *err)
{
    tt_status status = TT_OK;
    if (!s->ring_bytes && !s->unpaged && s->n_index == PAGE_ENTRIES) status = turn_page(s, err);
    if (status == TT_OK) status = put(s, entry, raw, err);
    /* If this fails the file is larger than requested, but complete. */
    if (status == TT_OK && entry->type != TT_CHUNK_BASE) (void)sink_retire(s, NULL);
    return status;
}

tt_status tt_sink_put_copy(tt_sink *s, const tt_index_entry *entry, tt_span chunk, tt_error *err)
{
    struct iovec part = {(void *)(uintptr_t)chunk.data, chunk.size};
    tt_index_entry copy = *entry;
    copy.offset = s->offset;
    if (!remember(s, &copy)) return tt_error_memory(err, "the index");
    tt_status status = write_all(s, &part, 1, err);
    if (status != TT_OK) s->n_index--;
    return status;
}

/* --- reading back --- */

static tt_status read_all(const tt_sink *s, uint64_t offset, size_t n, tt_bytes *out, tt_error *err)
{
    tt_bytes_clear(out);
    if (!tt_bytes_reserve(out, n))
        return tt_error_set(err, TT_E_MEMORY, offset, "no memory to read a chunk");
    while (out->size < n) {
        ssize_t done =
            pread(s->fd, out->data + out->size, n - out->size, (off_t)(offset + out->size));
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0)
            return tt_error_set(err, TT_E_IO, offset, "reading the trace back failed: %s",
                                done < 0 ? strerror(errno) : "it ends");
        out->size += (size_t)done;
    }
    return TT_OK;
}

tt_status tt_sink_read(const tt_sink *s, uint64_t offset, tt_bytes *out, tt_chunk_header *h,
                       tt_error *err)
{
    if (!tt_descriptor_is(s->fd, s->device, s->inode))
        return tt_error_set(err, TT_E_IO, offset, "the traced program has closed the trace's file");
    tt_status status = read_all(s, offset, TT_CHUNK_HEADER_BYTES, out, err);
    if (status != TT_OK) return status;
    uint64_t stored = tt_load_u32(out->data + 8);
    if (stored > TT_CHUNK_PAYLOAD_MAX)
        return tt_error_set(err, TT_E_FORMAT, offset, "a chunk is not as it was written");
    status = read_all(s, offset, (size_t)tt_pad8(TT_CHUNK_HEADER_BYTES + stored), out, err);
    return status == TT_OK ? tt_chunk_header_decode(out->data, out->size, offset, s->seed, h, err)
                           : status;
}

/* Prepends the entries of a page, and of the pages before it, to the list. */
static tt_status add_pages(const tt_sink *s, tt_index_entry **list, size_t *n, tt_error *err)
{
    tt_bytes chunk;
    tt_status status = TT_OK;
    tt_bytes_init(&chunk, TT_CHUNK_PAYLOAD_MAX + TT_CHUNK_HEADER_BYTES + 8);
    for (uint64_t at = s->page; at && status == TT_OK;) {
        tt_chunk_header h;
        tt_index_entry *page = NULL;
        size_t n_page = 0;
        uint8_t flags;
        status = tt_sink_read(s, at, &chunk, &h, err);
        if (status != TT_OK) break;
        tt_span payload = {chunk.data + TT_CHUNK_HEADER_BYTES, h.stored_bytes};
        status = tt_index_decode(payload, at, &page, &n_page, &flags, err);
        if (status != TT_OK) break;
        tt_index_entry *more = realloc(page, (n_page + *n) * sizeof *more);
        if (!more) {
            free(page);
            status = tt_error_set(err, TT_E_MEMORY, at, "no memory for the index");
            break;
        }
        if (*n) memcpy(more + n_page, *list, *n * sizeof *more);
        free(*list);
        *list = more;
        *n += n_page;
        at = h.position < at ? h.position : 0;
    }
    tt_bytes_free(&chunk);
    return status;
}

static tt_status all_entries(const tt_sink *s, tt_index_entry **list, size_t *n, tt_error *err)
{
    *n = s->n_index;
    *list = malloc((s->n_index + 1) * sizeof **list);
    if (!*list) return tt_error_memory(err, "the index");
    if (s->n_index) memcpy(*list, s->index, s->n_index * sizeof **list);
    tt_status status = add_pages(s, list, n, err);
    if (status == TT_OK) return TT_OK;
    free(*list);
    *list = NULL;
    return status;
}

tt_status tt_sink_entries(const tt_sink *s, tt_index_entry **list, size_t *n, tt_error *err)
{
    size_t all, base = SIZE_MAX, kept = 0;
    tt_status status = all_entries(s, list, &all, err);
    if (status != TT_OK) return status;
    for (size_t i = 0; i < all; i++)
        if ((*list)[i].type == TT_CHUNK_BASE) base = i;
    uint64_t from = base == SIZE_MAX ? 0 : (*list)[base].position;
    tt_index_entry first = base == SIZE_MAX ? (tt_index_entry){0} : (*list)[base];
    for (size_t i = 0; i < all; i++) {
        const tt_index_entry e = (*list)[i];
        bool is_in_base = e.type == TT_CHUNK_META && e.position < from;
        if (e.type != TT_CHUNK_BASE && e.type != TT_CHUNK_PAGE && !is_in_base) (*list)[kept++] = e;
    }
    if (base != SIZE_MAX) {
        memmove(*list + 1, *list, kept++ * sizeof **list);
        (*list)[0] = first;
    }
    *n = kept;
    return TT_OK;
}

tt_status tt_sink_finish(tt_sink *s, uint8_t end_flags, tt_error *err)
{
    tt_bytes payload;
    tt_index_entry *list = NULL;
    size_t n = 0;
    tt_status status = all_entries(s, &list, &n, err);
    if (status != TT_OK) return status;
    tt_bytes_init(&payload, TT_CHUNK_PAYLOAD_MAX);
    tt_index_encode(&payload, list, n, end_flags);
    free(list);
    uint64_t index_offset = s->offset;
    if (payload.failed) {
        status = tt_error_memory(err, "the index");
    } else {
        tt_chunk_header h = {.type = TT_CHUNK_INDEX,
                             .stored_bytes = (uint32_t)payload.size,
                             .raw_bytes = (uint32_t)payload.size,
                             .count = (uint32_t)n};
        status = put_chunk(s, &h, (tt_span){payload.data, payload.size}, err);
    }
    if (status == TT_OK) {
        uint8_t tail[TT_TAIL_BYTES];
        struct iovec part = {tail, sizeof tail};
        tt_tail_encode(index_offset, tail);
        status = write_all(s, &part, 1, err);
    }
    if (status == TT_OK && ftruncate(s->fd, (off_t)s->offset) != 0)
        status =
            tt_error_set(err, TT_E_IO, s->offset, "cutting the trace failed: %s", strerror(errno));
    tt_bytes_free(&payload);
    return status;
}

void tt_sink_drop(tt_sink *s)
{
    if (s->fd >= 0 && tt_descriptor_is(s->fd, s->device, s->inode)) (void)close(s->fd);
    s->fd = -1;
}

void tt_sink_close(tt_sink *s)
{
    tt_sink_drop(s);
    free(s->index);
    s->index = NULL;
    tt_codec_zstd_free(s->zstd);
    s->zstd = NULL;
    tt_bytes_free(&s->packed);
}
