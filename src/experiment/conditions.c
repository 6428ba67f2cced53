#include "experiment/conditions.h"

#include "base/units.h"
#include "host/system.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static void __attribute__((format(printf, 2, 3))) note_unmet(tt_held *held, const char *fmt, ...)
{
    va_list args;
    size_t n = strlen(held->unmet);
    if (n) n += (size_t)snprintf(held->unmet + n, sizeof held->unmet - n, "; ");
    if (n >= sizeof held->unmet) return;
    va_start(args, fmt);
    (void)vsnprintf(held->unmet + n, sizeof held->unmet - n, fmt, args);
    va_end(args);
}

/* --- one at a time --- */

/* The lock, from tt_conditions_claim to the end of this process; -1: not claimed. */
static int claim = -1;

tt_status tt_conditions_claim(const char *folder, tt_error *err)
{
    if (claim >= 0) return TT_OK;
    claim = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (claim < 0 || flock(claim, LOCK_EX | LOCK_NB) == 0) return TT_OK;
    const bool is_taken = errno == EWOULDBLOCK;
    (void)close(claim);
    claim = -1;
    if (!is_taken) return TT_OK; /* no locks there */
    return tt_error_set(err, TT_E_EXISTS, TT_NO_OFFSET,
                        "another `tensortrace experiment` is at work with conditions.readahead or "
                        "conditions.swappiness, which are the whole machine's");
}

/* --- files of the kernel --- */

static bool write_text(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    const int why = errno;
    (void)close(fd);
    errno = why;
    return ok;
}

static bool write_number(const char *dir, const char *name, uint64_t value)
{
    char path[PATH_MAX], text[32];
    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return write_text(path, text);
}

/* Writes a setting of the whole machine, and keeps the old value. */
static bool change(tt_held *held, const char *dir, const char *name, uint64_t value)
{
    tt_kept_file *kept = &held->kept[held->n_kept];
    if (held->n_kept == sizeof held->kept / sizeof *held->kept) return errno = E2BIG, false;
    const int n = snprintf(kept->path, sizeof kept->path, "%s/%s", dir, name);
    if (n < 0 || (size_t)n >= sizeof kept->path) return errno = ENAMETOOLONG, false;
    if (!tt_host_line(dir, name, kept->before, sizeof kept->before)) return errno = ENOENT, false;
    if (tt_host_number(dir, name) == value) return true;
    if (access(kept->path, W_OK) != 0) return false;
    if (!tt_restorer_file(&held->restorer, kept->path, kept->before)) return false;
    if (!write_number(dir, name, value)) return false;
    held->n_kept++;
    if (tt_host_number(dir, name) == value) return true;
    errno = EINVAL;
    return false;
}

/* --- the memory limit --- */

typedef struct group_search {
    tt_held *held;
    int why;
} group_search;

/* Creates a group below that one, unless there is one already. In version 2, a group below one that
 * has processes cannot count memory: then the next one above may. */
static void try_group(void *context, const char *dir, bool is_v1)
{
    group_search *s = context;
    char limit[PATH_MAX];
    tt_held *h = s->held;
    if (h->group[0]) return;
    const int n = snprintf(h->group, sizeof h->group, "%s/tensortrace-%ld", dir, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof h->group || mkdir(h->group, 0755) != 0) {
        s->why = errno;
        h->group[0] = '\0';
        return;
    }
    h->is_v1 = is_v1;
    (void)snprintf(limit, sizeof limit, "%s/%s", h->group,
                   is_v1 ? "memory.limit_in_bytes" : "memory.max");
    (void)snprintf(h->procs, sizeof h->procs, "%s/cgroup.procs", h->group);
    if (access(limit, W_OK) == 0 && access(h->procs, W_OK) == 0 &&
        tt_restorer_group(&h->restorer, h->group))
        return;
    s->why = errno;
    (void)rmdir(h->group);
    h->group[0] = h->procs[0] = '\0';
}

/* The socket of the user's systemd exists. */
static bool has_systemd(void)
{
    char path[PATH_MAX];
    const char *folder = getenv("XDG_RUNTIME_DIR");
    if (!folder) return false;
    (void)snprintf(path, sizeof path, "%s/systemd/private", folder);
    if (access(path, F_OK) != 0) return false;
    const char *at = getenv("PATH");
    for (size_t n; at && *at; at += n + (at[n] == ':')) {
        n = strcspn(at, ":");
        (void)snprintf(path, sizeof path, "%.*s/systemd-run", (int)n, at);
        if (access(path, X_OK) == 0) return true;
    }
    return false;
}

static tt_status find_group(tt_held *held, tt_error *err)
{
    group_search search = {held, ENOENT};
    tt_host_each_group("", "memory", try_group, &search);
    if (held->group[0]) return TT_OK;
    held->by_systemd = has_systemd();
    if (held->by_systemd) return TT_OK;
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                        "no memory limit can be set: no control group can be made here (%s), and "
                        "the user's systemd does not answer",
                        strerror(search.why));
}

tt_status tt_conditions_can_limit(tt_error *err)
{
    tt_held held = {0};
    tt_status status = tt_restorer_begin(&held.restorer, -1, err);
    if (status == TT_OK) status = find_group(&held, err);
    tt_restorer_end(&held.restorer);
    return status;
}

static bool has_swap(void)
{
    char line[256];
    int lines = 0;
    FILE *f = fopen("/proc/swaps", "re");
    while (f && fgets(line, sizeof line, f))
        lines++;
    if (f) (void)fclose(f);
    return lines > 1; /* a header, and one for each */
}

static void keep_swap_out(tt_held *held, uint64_t bytes)
{
    char path[PATH_MAX];
    const char *name = held->is_v1 ? "memory.memsw.limit_in_bytes" : "memory.swap.max";
    (void)snprintf(path, sizeof path, "%s/%s", held->group, name);
    if (access(path, F_OK) == 0 ? write_number(held->group, name, held->is_v1 ? bytes : 0)
                                : !has_swap())
        return;
    note_unmet(held, "memory_limit: swap cannot be kept out of it (%s)", strerror(errno));
}

static tt_status limit_memory(tt_held *held, const tt_conditions *wish, tt_error *err)
{
    char wanted[TT_UNITS_TEXT];
    tt_status status = find_group(held, err);
    if (status != TT_OK) return status;
    held->limit_bytes = wish->memory_bytes;
    held->has_swap = wish->swappiness >= 0;
    if (held->by_systemd) return TT_OK; /* the trace shows whether it was in force */
    const char *name = held->is_v1 ? "memory.limit_in_bytes" : "memory.max";
    if (!write_number(held->group, name, wish->memory_bytes))
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot limit the memory to %s: %s",
                            tt_units_bytes(wanted, wish->memory_bytes), strerror(errno));
    held->limit_bytes = tt_host_number(held->group, name);
    if (held->limit_bytes > wish->memory_bytes || held->limit_bytes + 65536 < wish->memory_bytes)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET,
                            "the memory limit of %s is not in force: the kernel says %" PRIu64
                            " bytes",
                            tt_units_bytes(wanted, wish->memory_bytes), held->limit_bytes);
    if (!held->has_swap) keep_swap_out(held, wish->memory_bytes);
    return TT_OK;
}

char **tt_conditions_words(const tt_held *held, char *const *words)
{
    static const char *const front[] = {"systemd-run", "--user", "--scope", "--quiet", "--collect",
                                        "-p",          NULL,     "-p",      NULL,      "--"};
    enum { FRONT = sizeof front / sizeof *front, LIMIT = 6, SWAP = 8 };
    size_t n = 0;
    while (words[n])
        n++;
    char **all = calloc(FRONT + n + 1, sizeof *all);
    char *limit = NULL;
    if (!all || asprintf(&limit, "MemoryMax=%" PRIu64, held->limit_bytes) < 0) {
        free(all);
        return NULL;
    }
    for (size_t i = 0; i < FRONT; i++)
        all[i] = (char *)front[i];
    all[LIMIT] = limit;
    all[SWAP] = held->has_swap ? "MemorySwapMax=infinity" : "MemorySwapMax=0";
    memcpy(all + FRONT, words, n * sizeof *all);
    return all;
}

/* --- what is in RAM --- */

static tt_status io_error(tt_error *err, const char *path)
{
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot read %.250s: %s", path,
                        strerror(errno));
}

tt_status tt_conditions_resident(const char *path, uint64_t *bytes, tt_error *err)
{
    struct stat st;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    *bytes = 0;
    if (fd < 0) return io_error(err, path);
    tt_status status = fstat(fd, &st) == 0 ? TT_OK : io_error(err, path);
    /* For other users mincore reports all pages as present (CVE-2019-5489). */
    if (status == TT_OK && st.st_uid != geteuid() && access(path, W_OK) != 0)
        status = tt_error_set(err, TT_E_UNSUPPORTED, TT_NO_OFFSET,
                              "the kernel tells what of %.250s is in RAM only who owns it or may "
                              "write it",
                              path);
    const size_t size = status == TT_OK ? (size_t)st.st_size : 0, pages = (size + page - 1) / page;
    void *at = size ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) : NULL;
    unsigned char *seen = size ? malloc(pages) : NULL;
    if (size && (at == MAP_FAILED || !seen || mincore(at, size, seen) != 0))
        status = io_error(err, path);
    for (size_t i = 0; status == TT_OK && i < pages; i++)
        *bytes += seen[i] & 1u ? page : 0;
    free(seen);
    if (at && at != MAP_FAILED) (void)munmap(at, size);
    (void)close(fd);
    return status;
}

#define READ_BYTES ((size_t)4 << 20)

/* Preparing the files of a model. */
typedef struct preparing {
    tt_held *held;
    tt_start start;
    tt_conditions_progress *progress;
    void *context;
    uint64_t read_bytes, all_bytes;
} preparing;

static tt_status read_whole(preparing *p, int fd, const char *path, tt_error *err)
{
    tt_status status = TT_OK;
    char *buffer = malloc(READ_BYTES);
    ssize_t n;
    if (!buffer) return tt_error_memory(err, "reading a model");
    while (status == TT_OK && (n = read(fd, buffer, READ_BYTES)) != 0) {
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            status = io_error(err, path);
            break;
        }
        p->read_bytes += (uint64_t)n;
        if (p->progress && !p->progress(p->context, p->read_bytes, p->all_bytes))
            status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "reading %.250s was stopped", path);
    }
    free(buffer);
    return status;
}

/* Drops the file's pages, or reads it completely. */
static tt_status prepare_file(preparing *p, const char *path, tt_error *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    tt_status status = TT_OK;
    if (fd < 0) return io_error(err, path);
    if (p->start == TT_START_WARM) {
        status = read_whole(p, fd, path, err);
    } else {
        (void)fsync(fd); /* dirty pages would stay */
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    }
    (void)close(fd);
    return status;
}

/* How much of the files is in RAM now, and whether that is what was requested. */
static tt_status evaluate_start(preparing *p, char *const *files, size_t n, tt_error *err)
{
    char left[TT_UNITS_TEXT];
    uint64_t in_ram, resident = 0;
    tt_held *held = p->held;
    for (size_t i = 0; i < n; i++) {
        tt_status status = tt_conditions_resident(files[i], &in_ram, err);
        if (status == TT_E_UNSUPPORTED) {
            if (p->start != TT_START_AS_IS)
                note_unmet(held, "cold_start: cannot be proven: %s", err->message);
            return TT_OK;
        }
        if (status != TT_OK) return status;
        resident += in_ram;
    }
    held->has_resident = true;
    held->resident_bytes = resident;
    if (p->start == TT_START_COLD && resident)
        note_unmet(held,
                   "cold_start: %s of the model stay in RAM (another process has it open, or "
                   "it is not on a disk)",
                   tt_units_bytes(left, resident));
    if (p->start == TT_START_WARM && resident < p->all_bytes)
        note_unmet(held, "cold_start: false: %s of the model do not stay in RAM",
                   tt_units_bytes(left, p->all_bytes - resident));
    return TT_OK;
}

static tt_status prepare_files(preparing *p, char *const *files, size_t n, tt_error *err)
{
    tt_status status = TT_OK;
    struct stat st;
    for (size_t i = 0; i < n; i++)
        if (stat(files[i], &st) == 0) p->all_bytes += (uint64_t)st.st_size;
    for (size_t i = 0; i < n && status == TT_OK && p->start != TT_START_AS_IS; i++)
        status = prepare_file(p, files[i], err);
    return status == TT_OK ? evaluate_start(p, files, n, err) : status;
}

/* --- the kernel's settings --- */

static void set_readahead(tt_held *held, uint64_t bytes, char *const *files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct stat st;
        char dir[64];
        if (stat(files[i], &st) != 0) continue;
        (void)snprintf(dir, sizeof dir, "/sys/class/bdi/%u:%u", major(st.st_dev), minor(st.st_dev));
        if (change(held, dir, "read_ahead_kb", bytes >> 10)) continue;
        note_unmet(held, "readahead: cannot be set (%s: %s)", dir, strerror(errno));
        return;
    }
}

/* Version 1 has one for each group; the machine's does not apply to groups that are not ours. */
static void set_swappiness(tt_held *held, int64_t swappiness)
{
    bool is_set;
    if (held->group[0] && held->is_v1)
        is_set = write_number(held->group, "memory.swappiness", (uint64_t)swappiness) &&
                 tt_host_number(held->group, "memory.swappiness") == (uint64_t)swappiness;
    else
        is_set = change(held, "/proc/sys/vm", "swappiness", (uint64_t)swappiness);
    if (!is_set)
        note_unmet(held, "swappiness: cannot be set (%s)", strerror(errno));
    else if (!has_swap())
        note_unmet(held, "swappiness: there is no swap");
}

tt_status tt_conditions_begin(tt_held *held, const tt_conditions *wish, char *const *files,
                              size_t n, tt_conditions_progress *progress, void *context,
                              tt_error *err)
{
    preparing p = {.held = held, .start = wish->start, .progress = progress, .context = context};
    memset(held, 0, sizeof *held);
    tt_status status = TT_OK;
    if (wish->memory_bytes || wish->readahead_bytes >= 0 || wish->swappiness >= 0)
        status = tt_restorer_begin(&held->restorer, claim, err);
    if (status == TT_OK && wish->memory_bytes) status = limit_memory(held, wish, err);
    if (status != TT_OK) return status;
    if (wish->memory_bytes && p.start != TT_START_COLD) {
        /* Pages that are present already are charged to another group. */
        if (p.start == TT_START_WARM)
            note_unmet(held, "cold_start: false: a limit does not count what is in RAM already, so "
                             "it began cold");
        p.start = TT_START_COLD;
    }
    if (wish->readahead_bytes >= 0) set_readahead(held, (uint64_t)wish->readahead_bytes, files, n);
    if (wish->swappiness >= 0) set_swappiness(held, wish->swappiness);
    return prepare_files(&p, files, n, err);
}

static uint64_t count_kills(const tt_held *held)
{
    char line[128], path[PATH_MAX];
    uint64_t n, kills = TT_HOST_UNKNOWN;
    (void)snprintf(path, sizeof path, "%s/%s", held->group,
                   held->is_v1 ? "memory.oom_control" : "memory.events");
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "oom_kill %" SCNu64, &n) == 1) kills = n;
    if (f) (void)fclose(f);
    return kills;
}

void tt_conditions_end(tt_held *held)
{
    if (held->group[0]) {
        held->kills = count_kills(held);
        held->has_kills = held->kills != TT_HOST_UNKNOWN;
        held->peak_bytes =
            tt_host_number(held->group, held->is_v1 ? "memory.max_usage_in_bytes" : "memory.peak");
        held->has_peak = held->peak_bytes < TT_HOST_UNLIMITED;
    }
    tt_restorer_end(&held->restorer);
    held->group[0] = '\0';
    while (held->n_kept) {
        char now[TT_RESTORER_TEXT];
        const tt_kept_file *kept = &held->kept[--held->n_kept];
        if (!tt_host_line("", kept->path, now, sizeof now) || strcmp(now, kept->before) != 0)
            note_unmet(held, "%s could not be put back to %s: it is %s", kept->path, kept->before,
                       now);
    }
}
