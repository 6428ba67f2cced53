/* make_trace KIND FILE: writes one of the golden traces, or a larger one.
 * The same words give the same bytes (with the same zstd). */
#include "rechecksum.h"
#include "synth_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void swap_index(tt_index_entry *entries, size_t n)
{
    if (n > 1) entries[1].count++;
}

static void late_arrival(synth_plan *plan, synth_ring *rings)
{
    (void)plan;
    rings[1].records[10].arrive = rings[1].records[10].start - 7;
}

/* The first DETAIL chunk's encoding is none, its checksum right. */
static void spoil_detail(tt_bytes *b)
{
    tt_chunk_header h;
    for (size_t at = TT_FILE_HEADER_BYTES; at < b->size;
         at += tt_pad8((uint64_t)TT_CHUNK_HEADER_BYTES + h.stored_bytes)) {
        if (tt_chunk_header_decode(b->data + at, b->size - at, at, rechecksum_seed(b->data), &h,
                                   NULL) != TT_OK)
            return;
        if (h.type != TT_CHUNK_DETAIL) continue;
        b->data[at + TT_CHUNK_HEADER_BYTES] = 99;
        break;
    }
    rechecksum(b->data, b->size);
}

/* The header of another run before the chunks of this one. */
static void change_run(tt_bytes *b)
{
    b->data[16] ^= 1;
    uint64_t sum = tt_checksum(b->data, 56);
    memcpy(b->data + 56, &sum, sizeof sum);
}

/* The last chunk before the INDEX once more, in a file that was cut off behind it. */
static void repeat_chunk(tt_bytes *b)
{
    tt_chunk_header h;
    size_t at = TT_FILE_HEADER_BYTES, last = at;
    while (tt_chunk_header_decode(b->data + at, b->size - at, at, rechecksum_seed(b->data), &h,
                                  NULL) == TT_OK &&
           h.type != TT_CHUNK_INDEX) {
        last = at;
        at += (size_t)tt_pad8((uint64_t)TT_CHUNK_HEADER_BYTES + h.stored_bytes);
    }
    b->size = at;
    if (tt_bytes_reserve(b, at - last)) tt_bytes_put(b, b->data + last, at - last);
}

/* A RUN of id 0, which no run has, and row numbers of it; nothing else. */
static void make_no_ids(tt_bytes *b)
{
    static const uint8_t payload[] = {TT_META_RUN,     14, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0,
                                      TT_META_INDICES, 3,  0, 0, 0};
    tt_file_header file = {.major = TT_FORMAT_MAJOR, .minor = TT_FORMAT_MINOR};
    tt_chunk_header chunk = {.type = TT_CHUNK_META,
                             .stored_bytes = sizeof payload,
                             .raw_bytes = sizeof payload,
                             .count = 2};
    uint8_t head[TT_FILE_HEADER_BYTES], chunk_head[TT_CHUNK_HEADER_BYTES];
    tt_bytes_clear(b);
    tt_file_header_encode(&file, head);
    tt_chunk_header_encode(&chunk, tt_file_header_seed(&file), payload, chunk_head);
    tt_bytes_put(b, head, sizeof head);
    tt_bytes_put(b, chunk_head, sizeof chunk_head);
    tt_bytes_put(b, payload, sizeof payload);
}

/* Cuts or changes the file's bytes, for kinds that are damaged. */
static void damage(const char *kind, tt_bytes *b)
{
    if (strcmp(kind, "bad-cut") == 0) b->size = b->size * 2 / 3;
    if (strcmp(kind, "bad-header") == 0) b->data[20] ^= 1;
    if (strcmp(kind, "bad-magic") == 0) b->data[0] = 'X';
    if (strcmp(kind, "bad-version") == 0) {
        b->data[8] = 2;
        rechecksum(b->data, b->size);
    }
    if (strcmp(kind, "bad-chunk") == 0) b->data[b->size / 2] ^= 0x40;
    if (strcmp(kind, "bad-memory-detail") == 0) spoil_detail(b);
    if (strcmp(kind, "bad-other-run") == 0) change_run(b);
    if (strcmp(kind, "bad-repeated") == 0) repeat_chunk(b);
    if (strcmp(kind, "bad-empty") == 0) b->size = 0;
    if (strcmp(kind, "bad-headless") == 0) b->size = 40;
    if (strcmp(kind, "bad-no-ids") == 0) make_no_ids(b);
}

int main(int argc, char **argv)
{
    synth_plan p = synth_default();
    tt_bytes b;
    if (argc < 3) {
        fprintf(stderr, "usage: make_trace KIND FILE [BATCHES [LAYERS [LANES]]]\n");
        return 2;
    }
    const char *kind = argv[1];
    if (strcmp(kind, "good-plain") == 0) p.codec = TT_CODEC_NONE;
    if (strcmp(kind, "good-shift") == 0) p.tick_shift = 4;
    if (strcmp(kind, "good-experts") == 0) p.experts = 4;
    p.loading = strcmp(kind, "good-loading") == 0;
    if (strstr(kind, "memory") || p.loading) {
        p.memory = true;
        p.generate = 8; /* a batch for each combination of counters */
        if (!strstr(kind, "zstd")) p.codec = TT_CODEC_NONE;
    }
    if (strcmp(kind, "good-pool") == 0) {
        p.pool = true;
        p.codec = TT_CODEC_NONE;
    }
    if (strcmp(kind, "good-extents") == 0) {
        p.extents = true;
        p.codec = TT_CODEC_NONE;
    }
    if (strcmp(kind, "good-memory-experts") == 0) {
        p.experts = 16;
        p.experts_used = 10; /* more than one record of a token */
    }
    if (strcmp(kind, "good-faults") == 0) {
        p.page_faults = true;
        p.codec = TT_CODEC_NONE;
    }
    if (strstr(kind, "killed")) p.last_run_open = p.no_index = true;
    if (strcmp(kind, "good-described") == 0) p.described = true;
    if (strcmp(kind, "good-one-clock") == 0) p.no_clock_end = p.tick_hz = true;
    if (strcmp(kind, "bad-cut") == 0) p.tick_hz = true;
    if (strcmp(kind, "bad-no-clock") == 0) p.no_clock_end = true;
    if (strcmp(kind, "bad-index") == 0) p.edit_index = swap_index;
    if (strcmp(kind, "bad-times") == 0) p.edit_ops = late_arrival;
    if (strcmp(kind, "large") == 0) p.chunk_records = 1u << 16;
    if (strncmp(kind, "scattered-", 10) == 0) { /* so many records a chunk */
        p.chunk_records = (uint32_t)strtoul(kind + 10, NULL, 10);
        p.edit_ops = synth_scatter;
    }
    if (argc > 3) p.generate = (uint32_t)strtoul(argv[3], NULL, 10);
    if (argc > 4) p.layers = (uint32_t)strtoul(argv[4], NULL, 10);
    if (argc > 5) p.lanes = (uint32_t)strtoul(argv[5], NULL, 10);
    if (p.lanes > SYNTH_RINGS_MAX || p.layers > 30) return 2;
    tt_bytes_init(&b, SIZE_MAX / 2);
    if (!synth_build(&p, &b)) return 1;
    damage(kind, &b);
    FILE *f = fopen(argv[2], "wb");
    bool ok = f && fwrite(b.data, 1, b.size, f) == b.size;
    if (f && fclose(f) != 0) ok = false;
    tt_bytes_free(&b);
    if (!ok) perror(argv[2]);
    return ok ? 0 : 1;
}
