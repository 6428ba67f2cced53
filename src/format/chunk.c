#include "format/chunk.h"

#include "base/checksum.h"

#include <inttypes.h>
#include <stdlib.h>

static const uint8_t FILE_MAGIC[8] = {'T', 'T', 'R', 'A', 'C', 'E', 0x1a, '\n'};
static const uint8_t TAIL_MAGIC[8] = {'T', 'T', 'R', 'A', 'C', 'E', 'N', 'D'};
#define CHUNK_MAGIC 0x4b435454u

static void put(uint8_t *out, size_t at, const void *value, size_t n)
{
    memcpy(out + at, value, n);
}

void tt_file_header_encode(const tt_file_header *h, uint8_t out[TT_FILE_HEADER_BYTES])
{
    const uint32_t size = TT_FILE_HEADER_BYTES;
    memset(out, 0, TT_FILE_HEADER_BYTES);
    put(out, 0, FILE_MAGIC, sizeof FILE_MAGIC);
    put(out, 8, &h->major, 2);
    put(out, 10, &h->minor, 2);
    put(out, 12, &size, 4);
    put(out, 16, h->run_id, 16);
    put(out, 32, &h->created_unix_ns, 8);
    put(out, 40, &h->pid, 8);
    uint64_t sum = tt_checksum(out, 56);
    put(out, 56, &sum, 8);
}

tt_status tt_file_header_decode(const uint8_t *data, size_t size, tt_file_header *h, tt_error *err)
{
    tt_cursor c = tt_cursor_of(data, size);
    tt_span magic = tt_cursor_take(&c, 8);
    if (!magic.data || memcmp(magic.data, FILE_MAGIC, 8) != 0)
        return tt_error_set(err, TT_E_FORMAT, 0, "not a tensortrace trace: the magic is missing");
    if (size < TT_FILE_HEADER_BYTES)
        return tt_error_set(err, TT_E_TRUNCATED, size, "the file header is cut off");
    h->major = tt_cursor_u16(&c);
    h->minor = tt_cursor_u16(&c);
    if (h->major != TT_FORMAT_MAJOR)
        return tt_error_set(err, TT_E_UNSUPPORTED, 8,
                            "format version %u.%u; this build reads version %u: use a newer "
                            "tensortrace",
                            h->major, h->minor, TT_FORMAT_MAJOR);
    uint32_t header_bytes = tt_cursor_u32(&c);
    if (header_bytes != TT_FILE_HEADER_BYTES)
        return tt_error_set(err, TT_E_FORMAT, 12, "file header of %" PRIu32 " bytes, expected %u",
                            header_bytes, TT_FILE_HEADER_BYTES);
    tt_span id = tt_cursor_take(&c, 16);
    memcpy(h->run_id, id.data, 16);
    h->created_unix_ns = tt_cursor_u64(&c);
    h->pid = tt_cursor_u64(&c);
    if (tt_checksum(data, 56) != tt_load_u64(data + 56))
        return tt_error_set(err, TT_E_CHECKSUM, 56, "the file header's checksum does not match");
    return TT_OK;
}

uint64_t tt_file_header_seed(const tt_file_header *h)
{
    return h->minor >= 1 ? tt_load_u64(h->run_id) : 0;
}

static uint64_t chunk_checksum(uint64_t seed, const uint8_t *header, const void *payload,
                               size_t payload_bytes)
{
    XXH3_state_t state = {0}; /* the call below checks whether the seed has changed */
    XXH3_64bits_reset_withSeed(&state, seed);
    XXH3_64bits_update(&state, header, 32);
    XXH3_64bits_update(&state, payload, payload_bytes);
    return XXH3_64bits_digest(&state);
}

void tt_chunk_header_encode(tt_chunk_header *h, uint64_t seed, const void *payload,
                            uint8_t out[TT_CHUNK_HEADER_BYTES])
{
    const uint32_t magic = CHUNK_MAGIC;
    memset(out, 0, TT_CHUNK_HEADER_BYTES);
    put(out, 0, &magic, 4);
    put(out, 4, &h->type, 2);
    put(out, 6, &h->codec, 1);
    put(out, 8, &h->stored_bytes, 4);
    put(out, 12, &h->raw_bytes, 4);
    put(out, 16, &h->stream, 4);
    put(out, 20, &h->count, 4);
    put(out, 24, &h->position, 8);
    h->checksum = chunk_checksum(seed, out, payload, h->stored_bytes);
    put(out, 32, &h->checksum, 8);
}

tt_status tt_chunk_header_decode(const uint8_t *data, uint64_t size, uint64_t offset, uint64_t seed,
                                 tt_chunk_header *h, tt_error *err)
{
    if (size < TT_CHUNK_HEADER_BYTES)
        return tt_error_set(err, TT_E_TRUNCATED, offset, "a chunk header is cut off");
    tt_cursor c = tt_cursor_of(data, TT_CHUNK_HEADER_BYTES);
    if (tt_cursor_u32(&c) != CHUNK_MAGIC)
        return tt_error_set(err, TT_E_FORMAT, offset, "no chunk begins here");
    h->type = tt_cursor_u16(&c);
    h->codec = tt_cursor_u8(&c);
    (void)tt_cursor_u8(&c);
    h->stored_bytes = tt_cursor_u32(&c);
    h->raw_bytes = tt_cursor_u32(&c);
    h->stream = tt_cursor_u32(&c);
    h->count = tt_cursor_u32(&c);
    h->position = tt_cursor_u64(&c);
    h->checksum = tt_cursor_u64(&c);
    if (h->stored_bytes > TT_CHUNK_PAYLOAD_MAX || h->raw_bytes > TT_CHUNK_PAYLOAD_MAX)
        return tt_error_set(err, TT_E_LIMIT, offset + 8,
                            "a chunk of %" PRIu32 " bytes (%" PRIu32 " unpacked); the limit is %u",
                            h->stored_bytes, h->raw_bytes, TT_CHUNK_PAYLOAD_MAX);
    if (!tt_chunk_ratio_ok(h->stored_bytes, h->raw_bytes))
        return tt_error_set(err, TT_E_LIMIT, offset + 8,
                            "a chunk of %" PRIu32 " bytes says that it unpacks to %" PRIu32
                            "; the limit is %u times its size",
                            h->stored_bytes, h->raw_bytes, TT_CHUNK_RATIO_MAX);
    if (h->stored_bytes > size - TT_CHUNK_HEADER_BYTES)
        return tt_error_set(err, TT_E_TRUNCATED, offset,
                            "a chunk announces %" PRIu32 " bytes, the file ends after %" PRIu64,
                            h->stored_bytes, size - TT_CHUNK_HEADER_BYTES);
    if (chunk_checksum(seed, data, data + TT_CHUNK_HEADER_BYTES, h->stored_bytes) != h->checksum)
        return tt_error_set(err, TT_E_CHECKSUM, offset, "a chunk's checksum does not match");
    if (h->type == TT_CHUNK_HOLE &&
        (h->stored_bytes || h->position % 8 || h->position < TT_CHUNK_HEADER_BYTES))
        return tt_error_set(err, TT_E_FORMAT, offset, "a hole of %" PRIu64 " bytes", h->position);
    return TT_OK;
}

/* Only chunks that threads recorded belong to runs. */
static bool has_runs(const tt_index_entry *e)
{
    return e->type == TT_CHUNK_OPS || e->type == TT_CHUNK_DETAIL;
}

/* A flag of the INDEX: a description of each META chunk follows the flags. */
#define FLAG_META 8u

static bool is_described(const tt_index_entry *entries, size_t n)
{
    size_t described = 0;
    for (size_t i = 0; i < n; i++) {
        if (entries[i].type != TT_CHUNK_META) continue;
        if (entries[i].meta.kinds == 0) return false;
        described++;
    }
    return described > 0;
}

static void put_meta(tt_bytes *out, const tt_index_meta *m)
{
    tt_bytes_varint(out, m->kinds);
    tt_bytes_varint(out, m->n_batches);
    tt_bytes_varint(out, m->n_runs);
    tt_bytes_varint(out, m->n_run_ends);
    tt_bytes_varint(out, m->batch_min);
    tt_bytes_varint(out, m->batch_max - m->batch_min);
    tt_bytes_varint(out, m->run_min);
    tt_bytes_varint(out, m->run_max - m->run_min);
    tt_bytes_varint(out, m->tick_min);
    tt_bytes_varint(out, m->tick_max - m->tick_min);
}

static void get_meta(tt_cursor *c, tt_index_meta *m)
{
    m->kinds = tt_cursor_varint32(c);
    m->n_batches = tt_cursor_varint32(c);
    m->n_runs = tt_cursor_varint32(c);
    m->n_run_ends = tt_cursor_varint32(c);
    m->batch_min = tt_cursor_varint32(c);
    m->batch_max = m->batch_min + tt_cursor_varint32(c);
    m->run_min = tt_cursor_varint32(c);
    m->run_max = m->run_min + tt_cursor_varint32(c);
    m->tick_min = tt_cursor_varint(c);
    m->tick_max = m->tick_min + tt_cursor_varint(c);
    if (m->batch_max < m->batch_min || m->run_max < m->run_min || m->tick_max < m->tick_min)
        c->failed = true;
}

void tt_index_encode(tt_bytes *out, const tt_index_entry *entries, size_t n, uint8_t end_flags)
{
    uint64_t previous = 0;
    tt_bytes_varint(out, n);
    for (size_t i = 0; i < n; i++) {
        const tt_index_entry *e = &entries[i];
        tt_bytes_varint(out, e->offset / 8 - previous);
        previous = e->offset / 8;
        tt_bytes_varint(out, e->type);
        tt_bytes_varint(out, e->stream);
        tt_bytes_varint(out, e->position);
        tt_bytes_varint(out, e->count);
        if (has_runs(e)) {
            tt_bytes_varint(out, e->run_min);
            tt_bytes_varint(out, e->run_max - e->run_min);
        }
    }
    bool described = is_described(entries, n);
    tt_bytes_u8(out, (uint8_t)(end_flags | (described ? FLAG_META : 0)));
    for (size_t i = 0; i < n && described; i++)
        if (entries[i].type == TT_CHUNK_META) put_meta(out, &entries[i].meta);
}

/* The first entry with an impossible offset; NULL: none. */
static const tt_index_entry *find_misplaced(const tt_index_entry *list, size_t n, uint64_t offset)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].offset < TT_FILE_HEADER_BYTES || list[i].offset >= offset ||
            (i > 0 && list[i].offset <= list[i - 1].offset))
            return &list[i];
    return NULL;
}

tt_status tt_index_decode(tt_span payload, uint64_t offset, tt_index_entry **entries, size_t *n,
                          uint8_t *end_flags, tt_error *err)
{
    tt_cursor c = tt_cursor_of(payload.data, payload.size);
    uint64_t count = tt_cursor_varint(&c);
    *entries = NULL;
    *n = 0;
    /* An entry takes at least five bytes, which bounds the count. */
    if (c.failed || count > payload.size / 5)
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                            "the index announces %" PRIu64 " chunks in %zu bytes", count,
                            payload.size);
    tt_index_entry *list = calloc(count ? count : 1, sizeof *list);
    if (!list) return tt_error_memory(err, "the index");
    uint64_t at = 0;
    for (uint64_t i = 0; i < count; i++) {
        tt_index_entry *e = &list[i];
        at += tt_cursor_varint(&c);
        e->offset = at * 8;
        e->type = (uint16_t)tt_cursor_varint(&c);
        e->stream = (uint32_t)tt_cursor_varint(&c);
        e->position = tt_cursor_varint(&c);
        e->count = (uint32_t)tt_cursor_varint(&c);
        if (has_runs(e)) {
            e->run_min = tt_cursor_varint(&c);
            e->run_max = e->run_min + tt_cursor_varint(&c);
        }
    }
    *end_flags = tt_cursor_u8(&c);
    for (uint64_t i = 0; i < count && *end_flags & FLAG_META; i++)
        if (list[i].type == TT_CHUNK_META) get_meta(&c, &list[i].meta);
    *end_flags &= (uint8_t)~FLAG_META;
    if (c.failed) {
        free(list);
        return tt_error_set(err, TT_E_TRUNCATED, TT_NO_OFFSET, "the index ends inside an entry");
    }
    const tt_index_entry *misplaced = find_misplaced(list, (size_t)count, offset);
    if (misplaced) {
        tt_status status =
            tt_error_set(err, TT_E_FORMAT, offset, "the index lists a chunk at byte %" PRIu64,
                         misplaced->offset);
        free(list);
        return status;
    }
    *entries = list;
    *n = (size_t)count;
    return TT_OK;
}

/* Orders by stream, then by file offset. */
static int by_stream(const void *a, const void *b)
{
    const tt_index_entry *x = *(const tt_index_entry *const *)a;
    const tt_index_entry *y = *(const tt_index_entry *const *)b;
    if (x->type != y->type) return x->type < y->type ? -1 : 1;
    if (x->stream != y->stream) return x->stream < y->stream ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Whether `e` may follow `before` in its stream. An entry does not have a META chunk's length,
 * which is at least one byte. */
static bool follows(const tt_index_entry *before, const tt_index_entry *e)
{
    uint64_t length = has_runs(before) ? before->count : 1;
    return e->position >= before->position && e->position - before->position >= length;
}

size_t tt_index_in_order(const tt_index_entry *entries, size_t n)
{
    size_t good = n;
    const tt_index_entry **list = n ? malloc(n * sizeof *list) : NULL;
    if (!list) return n;
    for (size_t i = 0; i < n; i++)
        list[i] = &entries[i];
    qsort(list, n, sizeof *list, by_stream);
    for (size_t i = 1; i < n; i++) {
        bool same = list[i]->type == list[i - 1]->type && list[i]->stream == list[i - 1]->stream;
        size_t at = (size_t)(list[i] - entries);
        bool known = list[i]->type == TT_CHUNK_META || has_runs(list[i]);
        if (same && known && !follows(list[i - 1], list[i]) && at < good) good = at;
    }
    free(list);
    return good;
}

void tt_tail_encode(uint64_t index_offset, uint8_t out[TT_TAIL_BYTES])
{
    put(out, 0, &index_offset, 8);
    put(out, 8, TAIL_MAGIC, 8);
}

bool tt_tail_decode(const uint8_t tail[TT_TAIL_BYTES], uint64_t *index_offset)
{
    *index_offset = tt_load_u64(tail);
    return memcmp(tail + 8, TAIL_MAGIC, 8) == 0;
}
