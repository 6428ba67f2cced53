#include "record/recover.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/hex.h"
#include "format/meta.h"
#include "record/area.h"
#include "record/compact.h"
#include "record/drain.h"
#include "record/place.h"
#include "record/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 65536u /* examined at most */
static const char PREFIX[] = "tensortrace-";

static bool is_gone(const char *path)
{
    struct stat st;
    return lstat(path, &st) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* Whether the area's trace is gone: finished or removed, or its folder was. The disk may not be
 * mounted here: then the nearest existing folder above is on another file system, and the area is
 * kept. */
static bool is_done(const tt_area *a)
{
    char path[PATH_MAX];
    struct stat st;
    if (a->trace[0] != '/' || tt_place_part(path, sizeof path, a->trace, NULL) != TT_OK ||
        !is_gone(path))
        return false;
    do {
        char *slash = strrchr(path, '/');
        slash[slash == path] = '\0';
    } while (path[1] && is_gone(path));
    return stat(path, &st) == 0 && (uint64_t)st.st_dev == a->trace_device;
}

/* Whether the area's process is alive. A program that closed our descriptors has lost the lock, so
 * its pid is checked too. In another pid namespace that number may be another process's; then the
 * area is kept longer than needed. */
static bool is_alive(const tt_area *a)
{
    return a->pid > INT_MAX || kill((pid_t)a->pid, 0) == 0 || errno != ESRCH;
}

static bool is_stale_area(const char *path)
{
    tt_area_map map;
    if (tt_area_open(&map, path, NULL) != TT_OK) return false;
    bool done = memchr(map.area->trace, '\0', sizeof map.area->trace) && is_done(map.area) &&
                !is_alive(map.area);
    tt_area_unmap(&map);
    return done;
}

static bool is_stale_session(const char *path)
{
    tt_session *session = tt_session_open(path);
    tt_session_close(session);
    return session != NULL;
}

static bool sweep_file(const char *path)
{
    struct stat st;
    size_t n = strlen(path);
    bool is_area = n > 5 && strcmp(path + n - 5, ".area") == 0, stale = false;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return false;
    /* The magic is read before the lock, which is held while the magic is written. */
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
        stale = is_area ? is_stale_area(path) : is_stale_session(path);
    stale = stale && tt_descriptor_lock(fd) && unlink(path) == 0;
    (void)close(fd);
    return stale;
}

uint32_t tt_sweep(void)
{
    uint32_t removed = 0;
    DIR *dir = opendir("/dev/shm");
    if (!dir) return 0;
    struct dirent *e;
    for (uint32_t i = 0; i < FILES_MAX && (e = readdir(dir)); i++) {
        char path[sizeof "/dev/shm/" + sizeof e->d_name];
        if (strncmp(e->d_name, PREFIX, sizeof PREFIX - 1) != 0) continue;
        (void)snprintf(path, sizeof path, "/dev/shm/%s", e->d_name);
        removed += sweep_file(path);
    }
    (void)closedir(dir);
    return removed;
}

/* The complete chunks of the file, and the end of each stream. `end` may be beyond the end of the
 * file by the missing padding of the last chunk. */
typedef struct scan {
    const uint8_t *data;
    uint64_t size;
    uint64_t end;      /* of the last complete chunk */
    uint64_t hole_end; /* end of a hole at the start; 0: none */
    tt_file_header header;
    tt_index_entry *index;
    size_t n;
    size_t capacity;
    uint64_t index_end; /* of an INDEX chunk at `end`; 0: none */
    bool complete;      /* it also has its tail */
} scan;

static bool is_part(const char *path)
{
    size_t n = strlen(path), suffix = strlen(TT_PLACE_PART_SUFFIX);
    return n > suffix && strcmp(path + n - suffix, TT_PLACE_PART_SUFFIX) == 0;
}

/* Reads and checks the chunk header at `at`. */
static bool chunk_at(const scan *s, uint64_t at, tt_chunk_header *h)
{
    return tt_chunk_header_decode(s->data + at, s->size - at, at, tt_file_header_seed(&s->header),
                                  h, NULL) == TT_OK;
}

/* The raw payload of the chunk at `at`, unpacked into *unpacked if necessary. */
static bool payload_at(const scan *s, uint64_t at, const tt_chunk_header *h, tt_codec_zstd *zstd,
                       tt_bytes *unpacked, tt_span *payload)
{
    tt_span stored = {s->data + at + TT_CHUNK_HEADER_BYTES, h->stored_bytes};
    if (h->codec == TT_CODEC_NONE) {
        *payload = stored;
        return h->raw_bytes == h->stored_bytes;
    }
    if (!zstd || h->codec != TT_CODEC_ZSTD ||
        !tt_codec_zstd_unpack(zstd, stored, h->raw_bytes, unpacked))
        return false;
    *payload = (tt_span){unpacked->data, unpacked->size};
    return true;
}

static bool chunk_payload(const scan *s, const tt_index_entry *e, tt_codec_zstd *zstd,
                          tt_bytes *unpacked, tt_span *payload)
{
    tt_chunk_header h;
    return chunk_at(s, e->offset, &h) && payload_at(s, e->offset, &h, zstd, unpacked, payload);
}

/* Whether the chunk at `at` is an INDEX that a reader can use. */
static bool is_index(const scan *s, uint64_t at, const tt_chunk_header *h)
{
    tt_index_entry *entries = NULL;
    size_t n;
    uint8_t flags;
    tt_span payload;
    tt_bytes unpacked;
    if (h->type != TT_CHUNK_INDEX) return false;
    tt_bytes_init(&unpacked, TT_CHUNK_PAYLOAD_MAX);
    tt_codec_zstd *zstd = h->codec == TT_CODEC_ZSTD ? tt_codec_zstd_new() : NULL;
    bool ok = payload_at(s, at, h, zstd, &unpacked, &payload) &&
              tt_index_decode(payload, at, &entries, &n, &flags, NULL) == TT_OK;
    free(entries);
    tt_codec_zstd_free(zstd);
    tt_bytes_free(&unpacked);
    return ok;
}

/* Whether the file has a valid index and tail. Then it was finished, whatever is damaged inside:
 * cutting it at a damaged chunk would discard the rest. */
static bool has_end(const scan *s)
{
    uint64_t at;
    tt_chunk_header h;
    if (s->size < TT_FILE_HEADER_BYTES + TT_TAIL_BYTES ||
        !tt_tail_decode(s->data + s->size - TT_TAIL_BYTES, &at) || at >= s->size)
        return false;
    return chunk_at(s, at, &h) && is_index(s, at, &h);
}

static tt_status walk_chunks(scan *s, tt_error *err)
{
    s->end = TT_FILE_HEADER_BYTES;
    while (s->end < s->size) {
        tt_chunk_header h;
        if (!chunk_at(s, s->end, &h)) break;
        uint64_t bytes = tt_chunk_extent(&h);
        /* The padding of the last chunk may be missing. */
        if (h.type == TT_CHUNK_HOLE && bytes > s->size - s->end) break;
        if (h.type == TT_CHUNK_HOLE) {
            s->end += bytes;
            if (s->n == 0) s->hole_end = s->end;
            continue;
        }
        if (h.type == TT_CHUNK_INDEX) {
            /* An INDEX that readers cannot use is rewritten. */
            if (is_index(s, s->end, &h)) s->index_end = s->end + bytes;
            return TT_OK;
        }
        tt_index_entry *e = tt_array_add(s->index, s->n, s->capacity);
        if (!e) return tt_error_memory(err, "the index");
        *e = (tt_index_entry){s->end, h.type, h.stream, h.position, h.count, 0, 0, {0}};
        s->end += bytes;
    }
    return TT_OK;
}

static tt_status scan_chunks(scan *s, tt_error *err)
{
    tt_status status = tt_file_header_decode(s->data, (size_t)s->size, &s->header, err);
    if (status != TT_OK) return status;
    s->complete = has_end(s);
    if (s->complete) return TT_OK;
    status = walk_chunks(s, err);
    size_t good = tt_index_in_order(s->index, s->n);
    if (good == s->n) return status;
    s->end = s->index[good].offset;
    s->n = good;
    s->index_end = 0;
    return status;
}

/* Whether more than one complete chunk follows a damaged one. A kill leaves at most half a chunk,
 * so this is other damage, and the user decides before more is cut off. */
static bool is_more_behind(const scan *s)
{
    unsigned found = 0;
    for (uint64_t at = tt_pad8(s->end + 1);
         found < 2 && at < s->size && s->size - at >= TT_CHUNK_HEADER_BYTES;) {
        tt_chunk_header h;
        bool whole = chunk_at(s, at, &h);
        at += whole && tt_chunk_extent(&h) < s->size - at ? tt_chunk_extent(&h) : 8;
        found += whole;
    }
    return found > 1;
}

static bool has_counts(tt_span payload)
{
    tt_cursor c = tt_cursor_of(payload.data, payload.size);
    uint8_t type;
    tt_span record;
    while (tt_meta_next(&c, &type, &record))
        if (type == TT_META_COUNTS) return true;
    return false;
}

static tt_status read_op_runs(tt_span payload, tt_index_entry *e, tt_error *err)
{
    tt_ops_block block;
    tt_status status = tt_ops_decode(payload, e->count, false, &block, err);
    for (size_t k = 0; status == TT_OK && k < block.n_segments; k++) {
        uint64_t run = block.segments[k].run;
        if (k == 0 || run < e->run_min) e->run_min = run;
        if (k == 0 || run > e->run_max) e->run_max = run;
    }
    tt_ops_block_free(&block);
    return status;
}

static tt_status read_detail_runs(tt_span payload, tt_index_entry *e, tt_error *err)
{
    tt_detail *details;
    size_t n;
    tt_status status = tt_detail_decode(payload, e->count, &details, &n, err);
    if (n > 0) { /* by ascending run */
        e->run_min = details[0].run;
        e->run_max = details[n - 1].run;
    }
    free(details);
    return status;
}

/* What recovery needs from the chunks' payloads. */
typedef struct contents {
    char area[TT_AREA_PATH_MAX]; /* the value of `area` in the ENVIRONMENT */
    bool ends_in_counts;         /* the last chunk has the totals */
} contents;

static tt_status read_payloads(scan *s, contents *t, tt_error *err)
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
            status = read_op_runs(payload, e, err);
        } else if (e->type == TT_CHUNK_DETAIL) {
            status = read_detail_runs(payload, e, err);
        } else if (e->type == TT_CHUNK_META || e->type == TT_CHUNK_BASE) {
            uint32_t n;
            if (e->type == TT_CHUNK_META) tt_meta_describe(payload, &e->meta, &n);
            if (!t->area[0]) tt_meta_find_environment(payload, "area", t->area, sizeof t->area);
            if (i == s->n - 1) t->ends_in_counts = has_counts(payload);
        }
    }
    tt_bytes_free(&unpacked);
    tt_codec_zstd_free(zstd);
    return status;
}

/* The ring of the chunk's records; NULL: none. */
static tt_ring *ring_of(const tt_index_entry *e, const tt_area_map *map)
{
    bool is_of_ring = e->stream >= 1 && e->stream <= map->area->n_rings;
    if (is_of_ring && e->type == TT_CHUNK_OPS) return &map->rings[e->stream - 1];
    if (is_of_ring && e->type == TT_CHUNK_DETAIL) return tt_area_detail_ring(map, e->stream - 1);
    return NULL;
}

static void skip_to(_Atomic uint64_t *tail, const _Atomic uint64_t *head, uint64_t end)
{
    if (end > atomic_load(tail) && end <= atomic_load(head)) atomic_store(tail, end);
}

/* Advances the area's tails past what the file already has: a kill may have come after a chunk was
 * written and before the tail was advanced. */
static void skip_written(const scan *s, tt_area_map *map)
{
    for (size_t i = 0; i < s->n; i++) {
        const tt_index_entry *e = &s->index[i];
        tt_ring *ring = ring_of(e, map);
        tt_chunk_header h;
        if (!chunk_at(s, e->offset, &h)) continue;
        if (e->type == TT_CHUNK_META)
            skip_to(&map->area->meta_tail, &map->area->meta_head, e->position + h.raw_bytes);
        else if (e->type == TT_CHUNK_BASE)
            skip_to(&map->area->meta_tail, &map->area->meta_head, e->position);
        else if (ring)
            skip_to(&ring->tail, &ring->head, e->position + e->count);
    }
}

static uint64_t records_left(const tt_area_map *map)
{
    uint64_t n = 0;
    for (uint32_t r = 0, used = tt_area_rings_used(map); r < used; r++)
        n += tt_area_kept(map, &map->rings[r]);
    return n;
}

/* Removes the chunk of totals and losses at the end of the file, which is not part of the area's
 * stream. The area's remaining content is written there, then the totals again. */
static void take_back_counts(scan *s)
{
    s->n--;
    s->end = s->index[s->n].offset;
}

/* Appends a last clock reading. An area on a disk may be from before a reboot: then current ticks
 * do not continue those of its records. */
static void push_clock(tt_area_map *map)
{
    tt_bytes payload;
    if (!tt_area_is_of_this_boot(map)) return;
    tt_meta_clock k = {tt_ticks(), tt_clock_ns(CLOCK_MONOTONIC), tt_clock_ns(CLOCK_REALTIME)};
    tt_bytes_init(&payload, 64);
    tt_meta_put_clock(&payload, &k);
    (void)tt_area_meta_push(map, TT_META_CLOCK, &payload);
    tt_bytes_free(&payload);
}

static tt_status finish(scan *s, int fd, const char *part, tt_area_map *map,
                        tt_recover_report *report, tt_error *err)
{
    tt_sink sink;
    tt_drain drain;
    if (map) skip_written(s, map);
    tt_sink_continue(&sink, fd, tt_file_header_seed(&s->header), s->end, s->index,
                     s->n); /* takes ownership of the index */
    s->index = NULL;
    sink.unpaged = true;
    sink.hole_end = s->hole_end;
    tt_status status = TT_OK;
    if (!map) {
        (void)tt_compact(&sink, part, NULL); /* it is valid with its hole, too */
        status = tt_sink_finish(&sink, TT_END_RECOVERED, err);
    } else {
        report->area_records = records_left(map);
        push_clock(map);
        status = tt_drain_begin(&drain, map, &sink, err);
        if (status == TT_OK) status = tt_drain_step(&drain, TT_DRAIN_LAST, err);
        if (status == TT_OK) status = tt_drain_finish(&drain, TT_END_RECOVERED, part, err);
        report->outcome = tt_area_outcome(map);
        tt_drain_end(&drain);
    }
    tt_sink_close(&sink);
    return status;
}

static bool open_area_at(const scan *s, const char *path, tt_area_map *map)
{
    if (tt_area_open(map, path, NULL) != TT_OK) return false;
    if (memcmp(map->area->run_id, s->header.run_id, 16) == 0) return true;
    tt_area_unmap(map);
    return false;
}

static bool open_area_in(const scan *s, const char *dir, tt_area_map *map)
{
    char path[TT_AREA_PATH_MAX], id[17];
    tt_hex(id, s->header.run_id, 8);
    int n = snprintf(path, sizeof path, "%s/tensortrace-%s.area", dir, id);
    if (n < 0 || (size_t)n >= sizeof path) return false;
    if (open_area_at(s, path, map)) return true;
    tt_area_remove_unmade(path);
    return false;
}

/* Opens the area of this run. Its path is in the ENVIRONMENT record, unless that was not drained
 * yet or the folders have other names here. */
static bool open_area(const scan *s, const char *recorded, const char *part, tt_area_map *map)
{
    char dir[PATH_MAX];
    tt_place_dir(dir, sizeof dir, part);
    return (recorded[0] && open_area_at(s, recorded, map)) || open_area_in(s, "/dev/shm", map) ||
           open_area_in(s, dir, map);
}

/* Writes the tail of a file that was killed between INDEX and tail, or whose tail was cut off. */
static tt_status write_tail(const scan *s, int fd, tt_error *err)
{
    uint8_t tail[TT_TAIL_BYTES];
    tt_tail_encode(s->end, tail);
    if (pwrite(fd, tail, sizeof tail, (off_t)s->index_end) == (ssize_t)sizeof tail &&
        ftruncate(fd, (off_t)(s->index_end + sizeof tail)) == 0)
        return TT_OK;
    return tt_error_set(err, TT_E_IO, s->index_end, "writing the trace's end failed: %s",
                        strerror(errno));
}

/* Renames "X.ttrace.part" to "X.ttrace"; other names are kept. */
static tt_status name_finished(const char *part, unsigned how, tt_recover_report *report,
                               tt_error *err)
{
    tt_place_finished(report->path, sizeof report->path, part);
    if (!is_part(part)) return TT_OK;
    return tt_place_rename(part, report->path, sizeof report->path, (how & TT_RECOVER_REPLACE) != 0,
                           err);
}

/* Finishes a file without an end. The descriptor stays open, and its lock held. */
static tt_status complete(scan *s, int fd, const char *part, const contents *t, tt_area_map *map,
                          tt_recover_report *report, tt_error *err)
{
    if (s->complete) return TT_OK;
    if (s->index_end) return write_tail(s, fd, err);
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "no descriptor: %s", strerror(errno));
    if (map && t->ends_in_counts) take_back_counts(s);
    return finish(s, copy, part, map, report, err);
}

/* Puts the file's name before a message that lacks it. */
static void name_file(const char *part, tt_error *err)
{
    char message[sizeof err->message];
    if (!err) return;
    (void)snprintf(message, sizeof message, "%s", err->message);
    (void)snprintf(err->message, sizeof err->message, "%.120s: %.190s", part, message);
}

static tt_status recover_scanned(scan *s, int fd, const char *part, unsigned how,
                                 tt_recover_report *report, tt_error *err)
{
    contents t = {.area = ""};
    tt_area_map map;
    tt_status status = TT_OK;
    if (s->complete && !is_part(part))
        return tt_error_set(err, TT_E_EXISTS, TT_NO_OFFSET, "%s is complete: nothing to recover",
                            part);
    if (!s->complete && !s->index_end) {
        if (!(how & TT_RECOVER_CUT) && is_more_behind(s))
            return tt_error_set(err, TT_E_FORMAT, s->end,
                                "%.120s: %" PRIu64 " bytes behind a damaged chunk at byte %" PRIu64
                                " would be lost; use --force",
                                part, s->size - s->end, s->end);
        status = read_payloads(s, &t, err);
        if (status != TT_OK) {
            name_file(part, err);
            return status;
        }
    }
    report->chunks = s->n;
    if (!s->complete && !s->index_end && s->end < s->size) report->cut_bytes = s->size - s->end;
    report->area_found = open_area(s, t.area, part, &map);
    if ((how & TT_RECOVER_DISCARD) && report->area_found && !s->complete &&
        atomic_load(&map.area->counts.runs) == 0) {
        report->discarded = true;
        (void)unlink(map.path);
        tt_area_unmap(&map);
        (void)unlink(part);
        return TT_OK;
    }
    status = complete(s, fd, part, &t, report->area_found ? &map : NULL, report, err);
    if (status != TT_OK) name_file(part, err);
    if (report->area_found) {
        /* Before the file gets its final name: after a kill between the two, nobody would search
         * for the area. */
        if (status == TT_OK) (void)unlink(map.path);
        tt_area_unmap(&map);
    }
    return status == TT_OK ? name_finished(part, how, report, err) : status;
}

bool tt_recover_is_of(const char *part, const uint8_t run_id[16])
{
    uint8_t bytes[TT_FILE_HEADER_BYTES];
    tt_file_header header;
    int fd = open(part, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return false;
    bool is = pread(fd, bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes &&
              tt_file_header_decode(bytes, sizeof bytes, &header, NULL) == TT_OK &&
              memcmp(header.run_id, run_id, sizeof header.run_id) == 0;
    (void)close(fd);
    return is;
}

/* Takes the lock, which the file's writer or another recovery may hold. */
static tt_status lock(int fd, const char *part, tt_error *err)
{
    struct stat ours, named;
    if (!tt_descriptor_lock(fd) && (errno == EAGAIN || errno == EACCES))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "%s is still being written: wait for the end of its program", part);
    if (fstat(fd, &ours) != 0 || stat(part, &named) != 0 || ours.st_dev != named.st_dev ||
        ours.st_ino != named.st_ino)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "%s got its final name meanwhile",
                            part);
    return TT_OK;
}

static tt_status recover_locked(int fd, const char *part, unsigned how, tt_recover_report *report,
                                tt_error *err)
{
    scan s = {0};
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "%s is not a file", part);
    s.size = (uint64_t)st.st_size;
    void *data = s.size ? mmap(NULL, (size_t)s.size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (data == MAP_FAILED)
        return tt_error_set(err, TT_E_TRUNCATED, 0, "%s is empty or cannot be read", part);
    s.data = data;
    tt_status status = scan_chunks(&s, err);
    if (status != TT_OK) name_file(part, err);
    if (status == TT_OK) status = recover_scanned(&s, fd, part, how, report, err);
    (void)munmap(data, (size_t)s.size);
    free(s.index);
    return status;
}

tt_status tt_recover(const char *part, unsigned how, tt_recover_report *report, tt_error *err)
{
    memset(report, 0, sizeof *report);
    int fd = open(part, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return tt_error_set(err, errno == ENOENT ? TT_E_NOT_FOUND : TT_E_IO, TT_NO_OFFSET,
                            "cannot open %s: %s", part, strerror(errno));
    tt_status status = lock(fd, part, err);
    if (status == TT_OK) status = recover_locked(fd, part, how, report, err);
    (void)close(fd);
    return status;
}
