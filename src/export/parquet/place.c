#include "export/parquet/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the hidden folder: NEW/TABLE/part-0.parquet are to be placed, OLD/TABLE is what existed
 * before, and READY exists as long as NEW is complete, so that any process can place it. */
#define HIDDEN ".tensortrace-"
#define HIDDEN_END ".part"
#define NEW "new"
#define OLD "old"
#define READY "ready"
#define FILE_NAME "part-0.parquet"

#define NAME_BYTES 512u
#define TRIES 5

static tt_status io_error(tt_error *err, const char *what, const char *path)
{
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot %s %s: %s", what, path,
                        strerror(errno));
}

static int open_folder(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

static void place_of(char out[NAME_BYTES], const char *table, const char *run_id)
{
    (void)snprintf(out, NAME_BYTES, "%s/run_id=%s", table, run_id);
}

static void staged_of(char out[NAME_BYTES], const char *kind, const char *table)
{
    (void)snprintf(out, NAME_BYTES, "%s/%s", kind, table);
}

static bool is_there(int at, const char *name)
{
    struct stat st;
    return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- placing ---- */

/* Another process that gave up may remove a table's folder before it is used. */
static bool move_in(int hidden, const char *from, int folder, const char *table, const char *to)
{
    for (int i = 0; i < TRIES; i++) {
        if (mkdirat(folder, table, 0777) != 0 && errno != EEXIST) return false;
        if (renameat(hidden, from, folder, to) == 0) return true;
        if (errno != ENOENT) return false;
    }
    return false;
}

/* Existing files go to OLD; for a moment readers see neither. */
static bool place_table(int folder, int hidden, const char *table, const char *run_id, bool force)
{
    char place[NAME_BYTES], fresh[NAME_BYTES], old[NAME_BYTES];
    place_of(place, table, run_id);
    staged_of(fresh, NEW, table);
    staged_of(old, OLD, table);
    if (is_there(folder, place)) {
        errno = EEXIST;
        if (!force || renameat(folder, place, hidden, old) != 0) return false;
    }
    return move_in(hidden, fresh, folder, table, place);
}

/* The inverse. */
static void unplace_table(int folder, int hidden, const char *table, const char *run_id)
{
    char place[NAME_BYTES], fresh[NAME_BYTES], old[NAME_BYTES];
    place_of(place, table, run_id);
    staged_of(fresh, NEW, table);
    staged_of(old, OLD, table);
    if (!is_there(hidden, fresh)) (void)renameat(folder, place, hidden, fresh);
    if (is_there(hidden, old)) (void)renameat(hidden, old, folder, place);
}

/* Places the rest of NEW. */
static bool place_rest(int folder, int hidden, const char *run_id)
{
    int fd = open_folder(hidden, NEW);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    bool ok = list != NULL;
    if (!list && fd >= 0) (void)close(fd);
    if (!list) return false;
    for (struct dirent *d = readdir(list); d && ok; d = readdir(list))
        if (d->d_name[0] != '.') ok = place_table(folder, hidden, d->d_name, run_id, true);
    int error = errno;
    (void)closedir(list);
    errno = error;
    return ok;
}

static bool make_file(int at, const char *name)
{
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    return fd >= 0 && close(fd) == 0;
}

/* ---- leftovers of others ---- */

/* The lock of a hidden folder shows that a process writes to it. */
typedef enum lock_state {
    LOCK_OURS,
    LOCK_OTHERS, /* or the folder is gone */
    LOCK_NONE    /* the file system has no locks: nobody else can take it either */
} lock_state;

static lock_state lock_folder(int fd, int at, const char *name)
{
    struct stat mine, there;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK ? LOCK_OTHERS : LOCK_NONE;
    bool same = fstat(fd, &mine) == 0 && fstatat(at, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
    return same ? LOCK_OURS : LOCK_OTHERS;
}

/* `.tensortrace-HEX.SOMETHING.part`: HEX, or false for other names. */
static bool run_of(const char *name, char run_id[TT_PARQUET_RUN_ID_MAX + 1])
{
    size_t n = strlen(name), begin = strlen(HIDDEN), end = strlen(HIDDEN_END);
    if (n < begin + end || memcmp(name, HIDDEN, begin) != 0) return false;
    if (strcmp(name + n - end, HIDDEN_END) != 0) return false;
    size_t length = strspn(name + begin, "0123456789abcdef");
    if (length == 0 || length > TT_PARQUET_RUN_ID_MAX || name[begin + length] != '.') return false;
    memcpy(run_id, name + begin, length);
    run_id[length] = '\0';
    return true;
}

static tt_status finish(const tt_parquet_place *p, const char *name, tt_error *err)
{
    char run_id[TT_PARQUET_RUN_ID_MAX + 1], path[NAME_BYTES * 8];
    tt_status status = TT_OK;
    if (!run_of(name, run_id)) return TT_OK;
    int hidden = open_folder(p->folder, name);
    if (hidden < 0) return TT_OK;
    (void)snprintf(path, sizeof path, "%s/%s", p->path, name);
    if (lock_folder(hidden, p->folder, name) == LOCK_OURS) {
        if (is_there(hidden, READY) && !place_rest(p->folder, hidden, run_id))
            status = io_error(err, "finish what was left in", path);
        else
            /* Of another user, perhaps: readers ignore it. */
            (void)tt_outdir_remove(path);
    }
    (void)close(hidden);
    return status;
}

static tt_status finish_all(const tt_parquet_place *p, tt_error *err)
{
    int fd = dup(p->folder);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    tt_status status = TT_OK;
    if (!list && fd >= 0) (void)close(fd);
    if (!list) return io_error(err, "read", p->path);
    rewinddir(list);
    for (struct dirent *d = readdir(list); d && status == TT_OK; d = readdir(list))
        status = finish(p, d->d_name, err);
    (void)closedir(list);
    return status;
}

/* ---- the run being written ---- */

static tt_status stage(tt_parquet_place *p, tt_error *err)
{
    size_t size = strlen(p->path) + strlen(HIDDEN) + TT_PARQUET_RUN_ID_MAX + 2;
    char *path = malloc(size);
    tt_status status = TT_OK;
    if (!path) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    (void)snprintf(path, size, "%s/" HIDDEN "%s", p->path, p->run_id);
    for (int i = 0; i < TRIES && p->hidden < 0 && status == TT_OK; i++) {
        status = tt_outdir_open(&p->staged, path, false, err);
        if (status != TT_OK) break;
        const char *name = strrchr(p->staged.temporary, '/') + 1;
        p->hidden = open_folder(p->folder, name);
        if (p->hidden >= 0 && lock_folder(p->hidden, p->folder, name) != LOCK_OTHERS) break;
        if (p->hidden >= 0) (void)close(p->hidden);
        p->hidden = -1;
        tt_outdir_abandon(&p->staged);
    }
    if (status == TT_OK && p->hidden < 0) status = io_error(err, "create", path);
    if (status == TT_OK &&
        (mkdirat(p->hidden, NEW, 0777) != 0 || mkdirat(p->hidden, OLD, 0777) != 0))
        status = io_error(err, "create", p->staged.temporary);
    free(path);
    return status;
}

static tt_status check_free(const tt_parquet_place *p, tt_error *err)
{
    char place[NAME_BYTES];
    for (size_t i = 0; i < p->n_tables; i++) {
        place_of(place, p->tables[i], p->run_id);
        if (is_there(p->folder, place))
            return tt_error_set(err, TT_E_EXISTS, TT_NO_OFFSET,
                                "%s has this run already (%s); --force replaces it", p->path,
                                place);
    }
    return TT_OK;
}

tt_status tt_parquet_place_open(tt_parquet_place *p, const char *path, const char *run_id,
                                const char *const *tables, size_t n, bool force, tt_error *err)
{
    struct stat st;
    memset(p, 0, sizeof *p);
    p->path = path;
    p->tables = tables;
    p->n_tables = n;
    p->force = force;
    p->folder = p->hidden = -1;
    if (strlen(run_id) > TT_PARQUET_RUN_ID_MAX)
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "run id %.80s is too long", run_id);
    (void)snprintf(p->run_id, sizeof p->run_id, "%s", run_id);
    p->made = stat(path, &st) != 0;
    tt_status status = tt_outdir_make(path, err);
    if (status != TT_OK) return status;
    p->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->folder < 0) return io_error(err, "open", path);
    status = finish_all(p, err);
    if (status == TT_OK && !force) status = check_free(p, err);
    if (status == TT_OK) status = stage(p, err);
    if (status != TT_OK) tt_parquet_place_abandon(p);
    return status;
}

FILE *tt_parquet_place_file(const tt_parquet_place *p, const char *table, tt_error *err)
{
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof name, NEW "/%s/" FILE_NAME, table);
    return tt_outdir_file(&p->staged, name, err);
}

/* READY stays until everything is restored: a process that finds it in between places the new
 * files. */
static void undo(const tt_parquet_place *p, size_t n)
{
    int error = errno;
    for (size_t i = n; i-- > 0;)
        unplace_table(p->folder, p->hidden, p->tables[i], p->run_id);
    (void)unlinkat(p->hidden, READY, 0);
    errno = error;
}

tt_status tt_parquet_place_commit(tt_parquet_place *p, tt_error *err)
{
    /* READY promises that the files are complete. */
    tt_status status = tt_outdir_sync(&p->staged, err);
    if (status == TT_OK && !make_file(p->hidden, READY))
        status = io_error(err, "write to", p->path);
    for (size_t i = 0; i < p->n_tables && status == TT_OK; i++) {
        if (place_table(p->folder, p->hidden, p->tables[i], p->run_id, p->force)) continue;
        undo(p, i + 1);
        status =
            errno == EEXIST && !p->force ? check_free(p, err) : io_error(err, "write to", p->path);
    }
    if (status == TT_OK) p->made = false;
    tt_parquet_place_abandon(p);
    return status;
}

void tt_parquet_place_abandon(tt_parquet_place *p)
{
    if (p->staged.temporary) tt_outdir_abandon(&p->staged);
    if (p->hidden >= 0) (void)close(p->hidden);
    /* Created by a failed commit; others are not empty. */
    for (size_t i = 0; i < p->n_tables && p->folder >= 0; i++)
        (void)unlinkat(p->folder, p->tables[i], AT_REMOVEDIR);
    if (p->folder >= 0) (void)close(p->folder);
    if (p->made) (void)rmdir(p->path);
    p->folder = p->hidden = -1;
    p->made = false;
    p->n_tables = 0;
}
