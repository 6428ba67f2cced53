#include "record/area.h"

#include "base/descriptor.h"
#include "base/hex.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define OWNER_SPARE UINT32_MAX /* being prepared; no thread has this id */
/* For a process with limited address space (ulimit -v). THREAD_BYTES: the drain thread's stack and
 * its allocator arena. The area has all its rings if it takes at most one part in MOST_OF_ROOM of
 * the free address space; fewer rings may take one part in LEAST_OF_ROOM. */
#define THREAD_BYTES (65u << 20)
#define LEAST_OF_ROOM 4u
#define MOST_OF_ROOM 32u
#define RINGS_MIN 16u
static const char AREA_MAGIC[8] = {'T', 'T', 'A', 'R', 'E', 'A', '1', '\n'};

static size_t page_round(size_t n)
{
    return (n + 4095u) & ~(size_t)4095u;
}

static size_t rings_offset(void)
{
    return page_round(sizeof(tt_area));
}

static size_t meta_offset(uint32_t n_rings)
{
    return rings_offset() + page_round(n_rings * sizeof(tt_ring));
}

static size_t slots_offset(uint32_t n_rings, uint64_t meta_bytes)
{
    return meta_offset(n_rings) + page_round(meta_bytes);
}

static size_t details_offset(uint32_t n_rings, uint64_t meta_bytes, uint64_t ring_bytes)
{
    return slots_offset(n_rings, meta_bytes) + n_rings * (size_t)ring_bytes;
}

/* Of a companion: its tt_ring and its slots. */
static size_t detail_bytes(uint64_t ring_bytes)
{
    return page_round(sizeof(tt_ring)) + (size_t)ring_bytes;
}

static size_t area_bytes(uint32_t n_rings, uint64_t meta_bytes, uint64_t ring_bytes)
{
    return details_offset(n_rings, meta_bytes, ring_bytes) + n_rings * detail_bytes(ring_bytes);
}

static uint64_t ring_bytes_of(const tt_area *a)
{
    return a->ring_records * sizeof(tt_op_record);
}

static void set_parts(tt_area_map *map, uint8_t *base)
{
    map->area = (tt_area *)base;
    map->details =
        base + details_offset(map->area->n_rings, map->area->meta_bytes, ring_bytes_of(map->area));
    map->rings = (tt_ring *)(base + rings_offset());
    map->meta = base + meta_offset(map->area->n_rings);
    map->slots = (tt_op_record *)(base + slots_offset(map->area->n_rings, map->area->meta_bytes));
}

static int create_file(tt_area_map *map, const char *dir, const uint8_t run_id[16])
{
    char id[17];
    tt_hex(id, run_id, 8);
    int n = snprintf(map->path, sizeof map->path, "%s/tensortrace-%s.area", dir, id);
    if (n < 0 || (size_t)n >= sizeof map->path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return tt_descriptor_raise(open(map->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

static void read_boot_id(char out[40])
{
    memset(out, 0, 40);
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t n = read(fd, out, 39);
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    (void)close(fd);
}

/* Whether /dev/shm can hold a ring for each processor. If not (a container's small /dev/shm) the
 * area goes to the trace's folder, because a thread without a ring records nothing. */
static bool has_room(int fd, uint64_t bytes)
{
    struct statvfs fs;
    return fstatvfs(fd, &fs) != 0 || (uint64_t)fs.f_bavail * fs.f_frsize >= bytes;
}

static uint32_t rings_for_processors(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t rings = cpus < 1 ? 1 : (uint64_t)cpus + 1;
    return rings > TT_AREA_RINGS ? TT_AREA_RINGS : (uint32_t)rings;
}

static uint64_t wanted_bytes(uint32_t n_rings, uint64_t ring_bytes)
{
    uint32_t rings = rings_for_processors();
    if (rings > n_rings) rings = n_rings;
    return slots_offset(n_rings, TT_AREA_META_BYTES) + rings * ring_bytes;
}

/* What this process may still map; UINT64_MAX: no limit, or unknown. */
static uint64_t free_address_space(void)
{
    struct rlimit limit;
    char text[64];
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) (void)close(fd);
    if (n <= 0) return UINT64_MAX;
    text[n] = '\0';
    uint64_t used = strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
    return used < limit.rlim_cur ? limit.rlim_cur - used : 0;
}

/* How many rings the area gets. A program with a limited address space must not fail because it
 * is traced, so most of it is left to the program. */
static tt_status choose_rings(uint64_t ring_bytes, uint32_t *n_rings, tt_error *err)
{
    uint64_t room = free_address_space();
    *n_rings = TT_AREA_RINGS;
    uint64_t bytes = area_bytes(*n_rings, TT_AREA_META_BYTES, ring_bytes) + THREAD_BYTES;
    if (room == UINT64_MAX || bytes <= room / MOST_OF_ROOM) return TT_OK;
    *n_rings = 2 * rings_for_processors();
    if (*n_rings < RINGS_MIN) *n_rings = RINGS_MIN;
    if (*n_rings > TT_AREA_RINGS) *n_rings = TT_AREA_RINGS;
    bytes = area_bytes(*n_rings, TT_AREA_META_BYTES, ring_bytes) + THREAD_BYTES;
    if (bytes <= room / LEAST_OF_ROOM) return TT_OK;
    return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                        "the limit on address space (ulimit -v) leaves %" PRIu64
                        " MiB: recording takes %" PRIu64
                        " MiB, and %u times as much has to be free",
                        room >> 20, bytes >> 20, LEAST_OF_ROOM);
}

/* Creates and maps the file in `dir`. NULL, with errno set and no file left, on failure. */
static uint8_t *create_in(tt_area_map *map, const char *dir, const uint8_t run_id[16],
                          uint32_t n_rings, uint64_t ring_bytes)
{
    struct stat st;
    const size_t total = area_bytes(n_rings, TT_AREA_META_BYTES, ring_bytes);
    int fd = create_file(map, dir, run_id);
    if (fd < 0) return NULL;
    int why = ftruncate(fd, (off_t)total) == 0 && fstat(fd, &st) == 0 ? 0 : errno;
    if (!why && !has_room(fd, wanted_bytes(n_rings, ring_bytes))) why = ENOSPC;
    if (!why) why = tt_descriptor_reserve(fd, 0, slots_offset(n_rings, TT_AREA_META_BYTES));
    void *base = MAP_FAILED;
    if (!why) {
        base = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (base == MAP_FAILED) why = errno;
    }
    if (why) {
        (void)unlink(map->path);
        (void)close(fd);
        errno = why;
        return NULL;
    }
    /* The lock tells tt_sweep that the area is in use. */
    (void)tt_descriptor_lock(fd);
    map->fd = fd;
    map->device = (uint64_t)st.st_dev;
    map->inode = (uint64_t)st.st_ino;
    return base;
}

tt_status tt_area_create(tt_area_map *map, uint64_t ring_bytes, const uint8_t run_id[16],
                         const char *fallback_dir, tt_error *err)
{
    uint64_t records = TT_AREA_RING_BYTES_MIN / sizeof(tt_op_record);
    if (ring_bytes > TT_AREA_RING_BYTES_MAX) ring_bytes = TT_AREA_RING_BYTES_MAX;
    while (records * sizeof(tt_op_record) < ring_bytes)
        records *= 2;
    ring_bytes = records * sizeof(tt_op_record);
    memset(map, 0, sizeof *map);
    map->fd = -1;
    uint32_t n_rings;
    tt_status status = choose_rings(ring_bytes, &n_rings, err);
    if (status != TT_OK) return status;
    uint8_t *base = create_in(map, "/dev/shm", run_id, n_rings, ring_bytes);
    if (!base) base = create_in(map, fallback_dir, run_id, n_rings, ring_bytes);
    if (!base)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot create %s: %s", map->path,
                            strerror(errno));
    tt_area *a = (tt_area *)base;
    a->version = TT_AREA_VERSION;
    a->n_rings = n_rings;
    atomic_store(&a->n_usable, n_rings);
    a->ring_records = records;
    a->meta_bytes = TT_AREA_META_BYTES;
    a->total_bytes = area_bytes(n_rings, TT_AREA_META_BYTES, ring_bytes);
    memcpy(a->run_id, run_id, 16);
    a->pid = (uint64_t)getpid();
    read_boot_id(a->boot_id);
    set_parts(map, base);
    /* The magic is written last: an area without it is unfinished and holds nothing. */
    atomic_thread_fence(memory_order_release);
    memcpy(a->magic, AREA_MAGIC, sizeof a->magic);
    return TT_OK;
}

bool tt_area_is_of_this_boot(const tt_area_map *map)
{
    char now[40];
    read_boot_id(now);
    return memcmp(now, map->area->boot_id, sizeof now) == 0;
}

static bool is_power_of_two(uint64_t n)
{
    return n && !(n & (n - 1));
}

static const char *check_header(const tt_area *a, uint64_t size)
{
    if (memcmp(a->magic, AREA_MAGIC, sizeof a->magic) != 0) return "not a recording area";
    if (a->version != TT_AREA_VERSION) return "written by another version of tensortrace";
    if (a->total_bytes != size) return "the file has another size than its header says";
    if (!a->n_rings || a->n_rings > 65536 || !is_power_of_two(a->ring_records) ||
        a->ring_records > TT_AREA_RING_BYTES_MAX || ring_bytes_of(a) < TT_AREA_RING_BYTES_MIN ||
        !is_power_of_two(a->meta_bytes) || a->meta_bytes > TT_AREA_RING_BYTES_MAX)
        return "its header is damaged";
    if (area_bytes(a->n_rings, a->meta_bytes, ring_bytes_of(a)) != size)
        return "its header does not fit its size";
    return NULL;
}

tt_status tt_area_view(tt_area_map *map, void *base, uint64_t size, tt_error *err)
{
    const char *wrong = size < sizeof(tt_area) ? "not a recording area" : check_header(base, size);
    map->fd = -1;
    map->area = NULL;
    if (wrong) return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "%s: %s", map->path, wrong);
    set_parts(map, base);
    return TT_OK;
}

tt_status tt_area_open(tt_area_map *map, const char *path, tt_error *err)
{
    memset(map, 0, sizeof *map);
    map->fd = -1;
    (void)snprintf(map->path, sizeof map->path, "%s", path);
    /* The path comes from a file: it may name anything. */
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        int why = errno;
        if (fd >= 0) (void)close(fd);
        return tt_error_set(err, why == ENOENT ? TT_E_NOT_FOUND : TT_E_IO, TT_NO_OFFSET,
                            "cannot open %s: %s", path, strerror(why));
    }
    uint8_t *base = MAP_FAILED;
    if (S_ISREG(st.st_mode) && st.st_size >= (off_t)sizeof(tt_area))
        base = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (base == MAP_FAILED)
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "%s: not a recording area", path);
    tt_status status = tt_area_view(map, base, (uint64_t)st.st_size, err);
    if (status != TT_OK) (void)munmap(base, (size_t)st.st_size);
    return status;
}

void tt_area_remove_unmade(const char *path)
{
    char magic[sizeof AREA_MAGIC], zero[sizeof AREA_MAGIC] = {0};
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return;
    ssize_t n = read(fd, magic, sizeof magic);
    bool unmade = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                  (n == 0 || (n == (ssize_t)sizeof magic && memcmp(magic, zero, sizeof zero) == 0));
    (void)close(fd);
    if (unmade) (void)unlink(path);
}

void tt_area_close(tt_area_map *map)
{
    if (tt_descriptor_is(map->fd, map->device, map->inode)) (void)close(map->fd);
    map->fd = -1;
}

void tt_area_unmap(tt_area_map *map)
{
    tt_area_close(map);
    if (map->area) (void)munmap(map->area, (size_t)map->area->total_bytes);
    map->area = NULL;
}

static bool prefault(void *from, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    /* From the start of its page on: parts begin at multiples of 4 KiB, and kernels of arm64 may
     * have larger pages. */
    const size_t before = (uintptr_t)from & ((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    return madvise((uint8_t *)from - before, before + bytes, MADV_POPULATE_WRITE) == 0;
#else
    (void)from;
    (void)bytes;
    return false;
#endif
}

void tt_area_populate(tt_area_map *map, uint32_t ring)
{
    if (!atomic_exchange(&map->rings[ring].populated, 1))
        (void)prefault(tt_area_slots(map, ring), (size_t)ring_bytes_of(map->area));
}

/* By the ring's owner only: posix_fallocate may write zeros. */
static bool reserve_part(tt_area_map *map, uint8_t *from, size_t bytes)
{
    /* Without our descriptor: populating the pages lets the kernel fail here, not by SIGBUS
     * later. */
    if (!tt_descriptor_is(map->fd, map->device, map->inode)) return prefault(from, bytes);
    return tt_descriptor_reserve(map->fd, (uint64_t)(from - (uint8_t *)map->area), bytes) == 0;
}

static bool reserve_ring(tt_area_map *map, uint32_t i)
{
    tt_ring *ring = &map->rings[i];
    if (atomic_load(&ring->reserved)) return true;
    if (reserve_part(map, (uint8_t *)tt_area_slots(map, i), (size_t)ring_bytes_of(map->area))) {
        atomic_store(&ring->reserved, 1);
        return true;
    }
    uint32_t usable = atomic_load(&map->area->n_usable);
    while (i < usable && !atomic_compare_exchange_weak(&map->area->n_usable, &usable, i))
        continue;
    return false;
}

static uint8_t *companion(const tt_area_map *map, uint32_t ring)
{
    return map->details + ring * detail_bytes(ring_bytes_of(map->area));
}

tt_ring *tt_area_detail_ring(const tt_area_map *map, uint32_t ring)
{
    if (!atomic_load_explicit(&map->rings[ring].detailed, memory_order_acquire)) return NULL;
    return (tt_ring *)companion(map, ring);
}

tt_detail *tt_area_detail_slots(const tt_area_map *map, uint32_t ring)
{
    return (tt_detail *)(companion(map, ring) + page_round(sizeof(tt_ring)));
}

bool tt_area_reserve_detail(tt_area_map *map, uint32_t ring)
{
    size_t bytes = detail_bytes(ring_bytes_of(map->area));
    if (tt_area_detail_ring(map, ring)) return true;
    if (atomic_load(&map->area->details_refused)) return false;
    if (!reserve_part(map, companion(map, ring), bytes)) {
        atomic_store(&map->area->details_refused, 1);
        return false;
    }
    (void)prefault(companion(map, ring), bytes);
    atomic_store_explicit(&map->rings[ring].detailed, 1, memory_order_release);
    return true;
}

/* Counts one dropped record. Consecutive losses share one entry. */
static void count_drop(tt_ring *ring, uint64_t head, uint64_t *dropped_at)
{
    uint32_t n = atomic_load_explicit(&ring->n_losses, memory_order_relaxed);
    atomic_fetch_add_explicit(&ring->dropped, 1, memory_order_relaxed);
    if (*dropped_at != head + 1 && n < TT_AREA_LOSSES) {
        ring->losses[n] = (tt_area_loss){head, 0};
        atomic_store_explicit(&ring->n_losses, ++n, memory_order_release);
    }
    *dropped_at = head + 1;
    ring->losses[n - 1].dropped++;
}

bool tt_ring_make_room(tt_ring *ring, uint64_t head, uint64_t slots, uint64_t *room,
                       uint64_t *dropped_at)
{
    *room = atomic_load_explicit(&ring->tail, memory_order_acquire) + slots;
    if (head < *room) return true;
    count_drop(ring, head, dropped_at);
    return false;
}

static bool take(tt_area_map *map, uint32_t i, uint32_t owner)
{
    uint32_t nobody = 0;
    tt_ring *ring = &map->rings[i];
    /* Loads first, because a thread that finds no free ring tries again at every op. */
    if (atomic_load(&ring->owner) || !atomic_compare_exchange_strong(&ring->owner, &nobody, owner))
        return false;
    if (reserve_ring(map, i)) return true;
    atomic_store(&ring->owner, 0);
    return false;
}

void tt_area_prepare_spares(tt_area_map *map, uint32_t n)
{
    for (uint32_t i = 0; n > 0 && i < atomic_load(&map->area->n_usable); i++) {
        tt_ring *ring = &map->rings[i];
        if (atomic_load(&ring->owner)) continue;
        n--;
        if (atomic_load(&ring->populated) || !take(map, i, OWNER_SPARE)) continue;
        tt_area_populate(map, i);
        atomic_store_explicit(&ring->owner, 0, memory_order_release);
    }
}

static void meta_copy_in(const tt_area_map *map, uint64_t to, const uint8_t *data, size_t n)
{
    const tt_area *a = map->area;
    size_t at = (size_t)(to & (a->meta_bytes - 1));
    size_t first = n < a->meta_bytes - at ? n : (size_t)(a->meta_bytes - at);
    if (first) memcpy(map->meta + at, data, first);
    if (first < n) memcpy(map->meta, data + first, n - first);
}

bool tt_area_meta_push(tt_area_map *map, uint8_t type, const tt_bytes *payload)
{
    tt_area *a = map->area;
    uint8_t head[1 + TT_VARINT_MAX] = {type};
    size_t n_head = 1 + tt_varint_put(head + 1, payload->size);
    uint64_t at = atomic_load_explicit(&a->meta_head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&a->meta_tail, memory_order_acquire);
    uint64_t room = a->meta_bytes - (at - tail);
    if (payload->failed || payload->size > room || n_head > room - payload->size) {
        atomic_fetch_add_explicit(&a->counts.meta_dropped, 1, memory_order_relaxed);
        return false;
    }
    meta_copy_in(map, at, head, n_head);
    meta_copy_in(map, at + n_head, payload->data, payload->size);
    atomic_store_explicit(&a->meta_head, at + n_head + payload->size, memory_order_release);
    return true;
}

void tt_area_meta_copy(const tt_area_map *map, uint64_t from, uint8_t *out, size_t n)
{
    const tt_area *a = map->area;
    size_t at = (size_t)(from & (a->meta_bytes - 1));
    size_t first = n < a->meta_bytes - at ? n : (size_t)(a->meta_bytes - at);
    memcpy(out, map->meta + at, first);
    memcpy(out + first, map->meta, n - first);
}

uint32_t tt_area_rings_used(const tt_area_map *map)
{
    uint32_t n = atomic_load_explicit(&map->area->n_claimed, memory_order_acquire);
    return n < map->area->n_rings ? n : map->area->n_rings;
}

uint64_t tt_area_kept(const tt_area_map *map, const tt_ring *ring)
{
    uint64_t tail = atomic_load(&ring->tail), kept = atomic_load(&ring->head) - tail;
    return kept <= map->area->ring_records ? kept : 0;
}

static void add_totals(const tt_area_map *map, const tt_ring *ring, uint64_t *taken,
                       uint64_t *dropped)
{
    *taken += atomic_load(&ring->tail);
    *dropped += atomic_load(&ring->dropped) + tt_area_kept(map, ring);
}

void tt_area_totals(const tt_area_map *map, uint64_t *ops, uint64_t *dropped)
{
    *ops = *dropped = 0;
    for (uint32_t r = 0, n = tt_area_rings_used(map); r < n; r++)
        add_totals(map, &map->rings[r], ops, dropped);
}

tt_outcome tt_area_outcome(const tt_area_map *map)
{
    const tt_area_counts *c = &map->area->counts;
    tt_outcome o = {.batches = atomic_load(&c->batches),
                    .batches_after_limit = atomic_load(&c->batches_after_limit),
                    .data_dropped = atomic_load(&c->data_dropped),
                    .outputs = atomic_load(&c->outputs),
                    .outputs_not_finite = atomic_load(&c->outputs_not_finite)};
    uint64_t details;
    tt_area_totals(map, &o.ops, &o.dropped);
    tt_area_detail_totals(map, &details, &o.details_dropped);
    return o;
}

void tt_area_detail_totals(const tt_area_map *map, uint64_t *details, uint64_t *dropped)
{
    *details = *dropped = 0;
    for (uint32_t r = 0, n = tt_area_rings_used(map); r < n; r++) {
        const tt_ring *ring = tt_area_detail_ring(map, r);
        if (ring) add_totals(map, ring, details, dropped);
    }
}

tt_ring *tt_area_claim(tt_area_map *map, uint32_t thread)
{
    for (uint32_t i = 0; i < atomic_load(&map->area->n_usable); i++) {
        if (!take(map, i, thread)) continue;
        uint32_t known = atomic_load(&map->area->n_claimed);
        while (known <= i && !atomic_compare_exchange_weak(&map->area->n_claimed, &known, i + 1))
            continue;
        return &map->rings[i];
    }
    return NULL;
}
