#include "record/recover.h"

#include "base/clock.h"
#include "format/meta.h"
#include "record/drain.h"
#include "record/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file's whole chunks, and how far each stream got. */
typedef struct scan {
    const uint8_t *data;
    uint64_t size;
    uint64_t end; /* of the last whole chunk */
    tt_file_header header;
    tt_index_entry *index;
    size_t n;
    size_t capacity;
    bool complete;
} scan;

static bool is_part(const char *path)
{
    size_t n = strlen(path), suffix = strlen(TT_PLACE_PART_SUFFIX);
    return n > suffix && strcmp(path + n - suffix, TT_PLACE_PART_SUFFIX) == 0;
}

/* A file with a whole index and tail has had its end, whatever is wrong inside: cutting it at
 * a damaged chunk would throw away the rest. */
static bool has_end(const scan *s)
{
    uint64_t at;
    tt_chunk_header h;
    if (s->size < TT_FILE_HEADER_BYTES + TT_TAIL_BYTES ||
        !tt_tail_decode(s->data + s->size - TT_TAIL_BYTES, &at) || at >= s->size)
        return false;
    return tt_chunk_header_decode(s->data + at, s->size - at, at, &h, NULL) == TT_OK &&
           h.type == TT_CHUNK_INDEX;
}

static tt_status scan_chunks(scan *s, tt_error *err)
{
    tt_status status = tt_file_header_decode(s->data, (size_t)s->size, &s->header, err);
    if (status != TT_OK) return status;
    s->end = TT_FILE_HEADER_BYTES;
    s->complete = has_end(s);
    if (s->complete) return TT_OK;
    while (s->end < s->size) {
        tt_chunk_header h;
        if (tt_chunk_header_decode(s->data + s->end, s->size - s->end, s->end, &h, NULL) != TT_OK) break;
        uint64_t bytes = tt_pad8((uint64_t)TT_CHUNK_HEADER_BYTES + h.stored_bytes);
        if (bytes > s->size - s->end) break;
        if (h.type == TT_CHUNK_INDEX) {
            s->complete = true;
            return TT_OK;
        }
        if (s->n == s->capacity) {
            s->capacity = s->capacity ? s->capacity * 2 : 256;
            tt_index_entry *index = realloc(s->index, s->capacity * sizeof *index);
            if (!index) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory for the index");
            s->index = index;
        }
        tt_index_entry *e = &s->index[s->n++];
        *e = (tt_index_entry){s->end, h.type, h.stream, h.position, h.count, 0, 0};
        s->end += bytes;
    }
    return TT_OK;
}

/* The raw payload of the chunk, unpacked into *unpacked when need be. */
static bool chunk_payload(const scan *s, const tt_index_entry *e, tt_codec_zstd *zstd,
                          tt_bytes *unpacked, tt_span *payload)
{
    tt_chunk_header h;
    if (tt_chunk_header_decode(s->data + e->offset, s->size - e->offset, e->offset, &h, NULL) != TT_OK)
        return false;
    tt_span stored = {s->data + e->offset + TT_CHUNK_HEADER_BYTES, h.stored_bytes};
    if (h.codec == TT_CODEC_NONE) {
        *payload = stored;
        return true;
    }
    if (!zstd || h.codec != TT_CODEC_ZSTD || !tt_codec_zstd_unpack(zstd, stored, h.raw_bytes, unpacked))
        return false;
    *payload = (tt_span){unpacked->data, unpacked->size};
    return true;
}

/* Run bounds of the OPS chunks, and the value of `area` in the ENVIRONMENT. */
static tt_status read_details(scan *s, char *area, size_t area_size, tt_error *err)
{
    tt_codec_zstd *zstd = tt_codec_zstd_new();
    tt_bytes unpacked;
    tt_bytes_init(&unpacked, TT_CHUNK_PAYLOAD_MAX);
    tt_status status = TT_OK;
    for (size_t i = 0; status == TT_OK && i < s->n; i++) {
        tt_index_entry *e = &s->index[i];
        tt_span payload;
        if (!chunk_payload(s, e, zstd, &unpacked, &payload)) {
            status = tt_error_set(err, TT_E_UNSUPPORTED, e->offset,
                                  "a chunk cannot be unpacked (is libzstd.so.1 installed?)");
        } else if (e->type == TT_CHUNK_OPS) {
            tt_ops_block block;
            status = tt_ops_decode(payload, e->count, false, &block, err);
            for (size_t k = 0; status == TT_OK && k < block.n_segments; k++) {
                uint64_t run = block.segments[k].run;
                if (k == 0 || run < e->run_min) e->run_min = run;
                if (k == 0 || run > e->run_max) e->run_max = run;
            }
            tt_ops_block_free(&block);
        } else if (e->type == TT_CHUNK_META && !area[0]) {
            tt_meta_find_environment(payload, "area", area, area_size);
        }
    }
    tt_bytes_free(&unpacked);
    tt_codec_zstd_free(zstd);
    return status;
}

/* Positions that the file already has: a chunk may have been written whole before the
 * area's tail was moved past it. */
static void skip_written(const scan *s, tt_area_map *map)
{
    for (size_t i = 0; i < s->n; i++) {
        const tt_index_entry *e = &s->index[i];
        tt_chunk_header h;
        (void)tt_chunk_header_decode(s->data + e->offset, s->size - e->offset, e->offset, &h, NULL);
        if (e->type == TT_CHUNK_META) {
            uint64_t end = e->position + h.raw_bytes;
            if (end > atomic_load(&map->area->meta_tail) && end <= atomic_load(&map->area->meta_head))
                atomic_store(&map->area->meta_tail, end);
        } else if (e->type == TT_CHUNK_OPS && e->stream >= 1 && e->stream <= map->area->n_rings) {
            tt_ring *ring = &map->rings[e->stream - 1];
            uint64_t end = e->position + e->count;
            if (end > atomic_load(&ring->tail) && end <= atomic_load(&ring->head))
                atomic_store(&ring->tail, end);
        }
    }
}

static uint64_t records_left(const tt_area_map *map)
{
    uint64_t n = 0;
    for (uint32_t r = 0; r < map->area->n_rings; r++)
        n += atomic_load(&map->rings[r].head) - atomic_load(&map->rings[r].tail);
    return n;
}

/* A clock reading made now is on the same counter: the area has not outlived a boot. */
static void push_clock(tt_area_map *map)
{
    tt_bytes payload, record;
    tt_meta_clock k = {tt_ticks(), tt_clock_ns(CLOCK_MONOTONIC), tt_clock_ns(CLOCK_REALTIME)};
    tt_bytes_init(&payload, 64);
    tt_bytes_init(&record, 128);
    tt_meta_put_clock(&payload, &k);
    tt_bytes_u8(&record, TT_META_CLOCK);
    tt_bytes_str(&record, (const char *)payload.data, payload.size);
    if (!record.failed) (void)tt_area_meta_push(map, record.data, record.size);
    tt_bytes_free(&payload);
    tt_bytes_free(&record);
}

static tt_status finish(scan *s, int fd, tt_area_map *map, tt_recover_report *report, tt_error *err)
{
    tt_sink sink;
    tt_drain drain;
    if (map) skip_written(s, map);
    tt_sink_continue(&sink, fd, s->end, s->index, s->n); /* takes over the index */
    s->index = NULL;
    tt_status status = TT_OK;
    if (!map) {
        status = tt_sink_finish(&sink, TT_END_RECOVERED, err);
    } else {
        report->area_records = records_left(map);
        push_clock(map);
        status = tt_drain_begin(&drain, map, &sink, err);
        if (status == TT_OK) status = tt_drain_step(&drain, TT_DRAIN_LAST, err);
        if (status == TT_OK) status = tt_drain_finish(&drain, TT_END_RECOVERED, err);
        tt_drain_end(&drain);
    }
    tt_sink_close(&sink);
    return status;
}

/* The area that belongs to this very run, or TT_E_NOT_FOUND. */
static tt_status open_area(const scan *s, const char *path, tt_area_map *map, tt_error *err)
{
    char guess[TT_AREA_PATH_MAX];
    int n = snprintf(guess, sizeof guess, "/dev/shm/tensortrace-");
    for (int i = 0; i < 8; i++)
        n += snprintf(guess + n, sizeof guess - (size_t)n, "%02x", s->header.run_id[i]);
    (void)snprintf(guess + n, sizeof guess - (size_t)n, ".area");
    /* The path is in the ENVIRONMENT record, unless that had not been drained yet. */
    tt_status status = tt_area_open(map, path[0] ? path : guess, err);
    if (status != TT_OK) return status;
    if (memcmp(map->area->run_id, s->header.run_id, 16) == 0) return TT_OK;
    tt_area_unmap(map);
    return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "the area belongs to another run");
}

/* "X.ttrace.part" gets the name "X.ttrace"; another name stays. */
static tt_status name_finished(const char *part, bool replace, tt_recover_report *report, tt_error *err)
{
    size_t n = strlen(part), suffix = strlen(TT_PLACE_PART_SUFFIX);
    (void)snprintf(report->path, sizeof report->path, "%s", part);
    if (!is_part(part)) return TT_OK;
    report->path[n - suffix] = '\0';
    return tt_place_rename(part, report->path, sizeof report->path, replace, err);
}

/* Takes over *fd (sets it to -1) once it begins to write. */
static tt_status recover_scanned(scan *s, int *fd, const char *part, bool replace,
                                 tt_recover_report *report, tt_error *err)
{
    char area[TT_AREA_PATH_MAX] = "";
    tt_area_map map;
    if (s->complete && !is_part(part))
        return tt_error_set(err, TT_E_EXISTS, TT_NO_OFFSET, "%s is complete: nothing to recover", part);
    /* A process may die between writing the end and giving the name. */
    tt_status status = s->complete ? TT_OK : read_details(s, area, sizeof area, err);
    if (status != TT_OK) return status;
    report->chunks = s->n;
    report->cut_bytes = s->complete ? 0 : s->size - s->end;
    report->area_found = open_area(s, area, &map, NULL) == TT_OK;
    if (!s->complete) {
        status = finish(s, *fd, report->area_found ? &map : NULL, report, err);
        *fd = -1;
    }
    if (status == TT_OK) status = name_finished(part, replace, report, err);
    if (report->area_found) {
        if (status == TT_OK) (void)unlink(map.path);
        tt_area_unmap(&map);
    }
    return status;
}

static tt_status check_dead(const scan *s, const char *part, tt_error *err)
{
    /* Only a process that holds the file open is the one that writes it: pids come again. */
    char exe[64], target[PATH_MAX], real[PATH_MAX];
    pid_t pid = (pid_t)s->header.pid;
    if (s->complete || pid <= 0 || pid == getpid() || (kill(pid, 0) != 0 && errno == ESRCH) || !realpath(part, real))
        return TT_OK;
    for (int fd = 0; fd < 4096; fd++) {
        (void)snprintf(exe, sizeof exe, "/proc/%d/fd/%d", (int)pid, fd);
        ssize_t n = readlink(exe, target, sizeof target - 1);
        if (n < 0) continue;
        target[n] = '\0';
        if (strcmp(target, real) == 0)
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                                "%s is still being written by process %d: wait for its end", part,
                                (int)pid);
    }
    return TT_OK;
}

/* Puts the file's name in front of the message, unless it is in it. */
static void name_file(const char *part, tt_error *err)
{
    char message[sizeof err->message];
    if (!err || strstr(err->message, part)) return;
    (void)snprintf(message, sizeof message, "%s", err->message);
    (void)snprintf(err->message, sizeof err->message, "%.120s: %.190s", part, message);
}

tt_status tt_recover(const char *part, bool replace, tt_recover_report *report, tt_error *err)
{
    memset(report, 0, sizeof *report);
    scan s = {0};
    struct stat st;
    int fd = open(part, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        int why = errno;
        if (fd >= 0) (void)close(fd);
        return tt_error_set(err, why == ENOENT ? TT_E_NOT_FOUND : TT_E_IO, TT_NO_OFFSET,
                            "cannot open %s: %s", part, strerror(why));
    }
    s.size = (uint64_t)st.st_size;
    void *data = s.size ? mmap(NULL, (size_t)s.size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    tt_status status;
    if (data == MAP_FAILED) {
        status = tt_error_set(err, TT_E_TRUNCATED, 0, "%s is empty or cannot be read", part);
    } else {
        s.data = data;
        status = scan_chunks(&s, err);
        if (status == TT_OK) status = check_dead(&s, part, err);
    }
    if (status == TT_OK) status = recover_scanned(&s, &fd, part, replace, report, err);
    if (data != MAP_FAILED) (void)munmap(data, (size_t)s.size);
    free(s.index);
    if (fd >= 0) (void)close(fd);
    if (status != TT_OK) name_file(part, err);
    return status;
}
