/* Bytes as the recording area that a dead process left: what recovery takes out of it must be a
 * whole trace, whatever the area holds. */
#include "decode_chunk.h"
#include "read/trace.h"
#include "record/drain.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RINGS_MAX 2u
#define IMAGE_MAX (160u << 10)
#define FILE_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the input says of a ring, before its slots. */
typedef struct ring_input {
    uint64_t tail;
    uint16_t length;
    uint16_t n_losses;
    uint32_t owner;
    uint64_t dropped;
} ring_input;

typedef struct area_input {
    uint8_t rings, records_log, meta_log;
    uint8_t detailed;
    uint8_t unused[2];
    uint16_t meta_length;
    uint64_t meta_tail;
    ring_input ops[RINGS_MAX], details[RINGS_MAX];
} area_input;

static _Alignas(4096) uint8_t image[IMAGE_MAX];

/* Few most of the time, which is fast, and too many now and then. */
static uint16_t few(uint16_t n, uint16_t most)
{
    return (uint16_t)(n < 0xf000 ? n % most : n);
}

static void set_ring(tt_ring *ring, const ring_input *in)
{
    atomic_store(&ring->tail, in->tail);
    atomic_store(&ring->head, in->tail + few(in->length, 32));
    atomic_store(&ring->owner, in->owner);
    atomic_store(&ring->dropped, in->dropped);
    atomic_store(&ring->n_losses, few(in->n_losses, 4));
}

/* A share of the rest of the input, into a ring of `bytes` (a power of two) from `from` on. */
static void fill(uint8_t *to, size_t bytes, uint64_t from, tt_cursor *rest, size_t n)
{
    if (n > tt_cursor_left(rest)) n = tt_cursor_left(rest);
    if (n > bytes) n = bytes;
    tt_span in = tt_cursor_take(rest, n);
    for (size_t i = 0; i < n; i++)
        to[(from + i) & (bytes - 1)] = in.data[i];
}

/* The sizes of the header that fit each other, found as area.c computes them. */
static uint64_t total_bytes(const tt_area *a)
{
    const uint64_t page = 4096, ring = a->ring_records * sizeof(tt_op_record);
    const uint64_t control = (sizeof(tt_ring) + page - 1) / page * page;
    return (sizeof(tt_area) + page - 1) / page * page +
           (a->n_rings * sizeof(tt_ring) + page - 1) / page * page +
           (a->meta_bytes + page - 1) / page * page + a->n_rings * (2 * ring + control);
}

static void make_area(const area_input *in, tt_cursor *rest, tt_area_map *map)
{
    tt_area *a = (tt_area *)(void *)image;
    const size_t record = sizeof(tt_op_record);
    memset(image, 0, sizeof image);
    memcpy(a->magic, "TTAREA1\n", 8);
    a->version = TT_AREA_VERSION;
    a->n_rings = 1 + in->rings % RINGS_MAX;
    a->ring_records = (uint64_t)256 << in->records_log % 2;
    a->meta_bytes = (uint64_t)1 << in->meta_log % 13;
    a->total_bytes = total_bytes(a);
    atomic_store(&a->meta_tail, in->meta_tail);
    atomic_store(&a->meta_head, in->meta_tail + in->meta_length);
    if (a->total_bytes > sizeof image) abort();
    if (tt_area_view(map, image, a->total_bytes, NULL) != TT_OK) abort();
    fill(map->meta, (size_t)a->meta_bytes, in->meta_tail, rest, in->meta_length);
    for (uint32_t r = 0; r < a->n_rings; r++) {
        size_t bytes = (size_t)a->ring_records * record;
        const ring_input *ops = &in->ops[r], *details = &in->details[r];
        set_ring(&map->rings[r], ops);
        fill((uint8_t *)tt_area_slots(map, r), bytes, ops->tail * record, rest,
             ops->length * record);
        if (!(in->detailed >> r & 1)) continue;
        atomic_store(&map->rings[r].detailed, 1);
        set_ring(tt_area_detail_ring(map, r), details);
        fill((uint8_t *)tt_area_detail_slots(map, r), bytes, details->tail * record, rest,
             details->length * record);
    }
}

/* One for all inputs, and without compression, which is slow and not what is looked at. */
static tt_sink *sink(void)
{
    static tt_sink s;
    static const tt_file_header header = {.major = TT_FORMAT_MAJOR};
    if (s.offset == 0 &&
        tt_sink_begin(&s, memfd_create("fuzz_area", MFD_CLOEXEC), &header, 0, 0, NULL) != TT_OK)
        abort();
    tt_codec_zstd_free(s.zstd);
    s.zstd = NULL;
    s.offset = TT_FILE_HEADER_BYTES;
    s.n_index = s.page = 0;
    return &s;
}

/* META may be what the area held; records are encoded anew. */
static void check_file(int fd)
{
    static uint8_t file[FILE_MAX];
    tt_trace t;
    tt_unpacker u;
    ssize_t n = pread(fd, file, sizeof file, 0);
    if (n <= 0 || n == sizeof file) abort();
    if (tt_trace_open_memory(&t, file, (size_t)n, NULL) != TT_OK || !t.complete) abort();
    tt_unpacker_init(&u);
    for (size_t i = 0; i < t.n_chunks; i++) {
        tt_chunk_header h;
        tt_span payload;
        if (tt_trace_chunk(&t, i, SIZE_MAX, &u, &h, &payload, NULL) != TT_OK) abort();
        if (!decode_chunk(&h, payload) && h.type != TT_CHUNK_META) abort();
    }
    tt_unpacker_free(&u);
    tt_trace_close(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    area_input in;
    tt_area_map map = {.path = "fuzz"};
    tt_drain drain;
    if (size < sizeof in) return 0;
    memcpy(&in, data, sizeof in);
    tt_cursor rest = tt_cursor_of(data + sizeof in, size - sizeof in);
    make_area(&in, &rest, &map);
    tt_sink *s = sink();
    if (tt_drain_begin(&drain, &map, s, NULL) != TT_OK ||
        tt_drain_step(&drain, TT_DRAIN_LAST, NULL) != TT_OK ||
        tt_drain_finish(&drain, TT_END_RECOVERED, "fuzz", NULL) != TT_OK)
        abort();
    tt_drain_end(&drain);
    check_file(s->fd);
    return 0;
}
