#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY_TRIES 100
#define OWN_DESCRIPTORS "/proc/self/fd"

static tt_status io_error(tt_error *err, const char *what, const char *path)
{
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot %s %s: %s", what, path,
                        strerror(errno));
}

/* For a file that could not be created: usually because its folder does not exist. */
static tt_status create_error(tt_error *err, const char *path)
{
    struct stat st;
    const char *slash = strrchr(path, '/');
    const int length = slash ? (int)(slash - path) : 0, why = errno;
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%.*s", length, path);
    if (why == ENOENT && length > 0 && stat(folder, &st) != 0 && errno == ENOENT)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "folder %s does not exist", folder);
    errno = why;
    return io_error(err, "create", path);
}

static tt_status exists_error(tt_error *err, const char *path)
{
    return tt_error_set(err, TT_E_EXISTS, TT_NO_OFFSET, "%s exists; --force overwrites it", path);
}

static tt_status memory_error(tt_error *err)
{
    return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
}

/* A file without a name in the folder of f->path, so that nothing is left if the program is
 * interrupted or killed; -1 if the file system has no such files, or could not name it later. */
static int create_nameless(tt_outfile *f)
{
    char *folder = strdup(f->path);
    if (!folder || access(OWN_DESCRIPTORS, X_OK) != 0) {
        free(folder);
        return -1;
    }
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    int fd = open(slash ? folder : ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    free(folder);
    f->nameless = fd >= 0;
    return fd;
}

/* Names the file of fd, or of a new one (fd -1), beside f->path; returns the descriptor. Not
 * mkstemp: its mode 0600 would have to be widened, and the umask cannot be read without changing it
 * for a moment. */
static int name_temporary(tt_outfile *f, int fd)
{
    char own[64];
    size_t size = strlen(f->path) + 40;
    (void)snprintf(own, sizeof own, OWN_DESCRIPTORS "/%d", fd);
    for (int i = 0; i < TEMPORARY_TRIES; i++) {
        (void)snprintf(f->temporary, size, "%s.%ld-%d.part", f->path, (long)getpid(), i);
        int got;
        if (fd < 0)
            got = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        else
            got = linkat(AT_FDCWD, own, AT_FDCWD, f->temporary, AT_SYMLINK_FOLLOW) == 0 ? fd : -1;
        if (got >= 0 || errno != EEXIST) return got;
    }
    return -1;
}

static int create_temporary(tt_outfile *f)
{
    f->temporary = malloc(strlen(f->path) + 40);
    if (!f->temporary) return -1;
    int fd = create_nameless(f);
    return fd >= 0 ? fd : name_temporary(f, -1);
}

static void free_names(tt_outfile *f)
{
    free(f->path);
    free(f->temporary);
    memset(f, 0, sizeof *f);
}

static tt_status open_stream(tt_outfile *f, int fd, const char *path, tt_error *err)
{
    tt_status status;
    f->stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (f->stream) return TT_OK;
    status = create_error(err, path);
    if (fd >= 0) {
        (void)close(fd);
        if (f->temporary && !f->nameless) (void)unlink(f->temporary);
    }
    free_names(f);
    return status;
}

tt_status tt_outfile_open(tt_outfile *f, const char *path, bool force, tt_error *err)
{
    struct stat st;
    memset(f, 0, sizeof *f);
    f->force = force;
    bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "%s is a directory", path);
    if (exists && S_ISREG(st.st_mode) && !force) return exists_error(err, path);
    /* Replaces the target of a symbolic link, not the link. */
    f->path = exists ? realpath(path, NULL) : NULL;
    if (!f->path) f->path = strdup(path);
    if (!f->path) return memory_error(err);
    if (exists && !S_ISREG(st.st_mode)) {
        /* A device or a pipe (/dev/null, /dev/stdout): there is nothing to rename. */
        return open_stream(f, open(path, O_WRONLY | O_CLOEXEC), path, err);
    }
    return open_stream(f, create_temporary(f), path, err);
}

static int rename_into_place(const tt_outfile *f)
{
    if (f->force) return rename(f->temporary, f->path);
    /* Without force, a file created in the meantime is kept too. */
    if (renameat2(AT_FDCWD, f->temporary, AT_FDCWD, f->path, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    return rename(f->temporary, f->path); /* a file system without RENAME_NOREPLACE */
}

static tt_status naming_error(const tt_outfile *f, tt_error *err)
{
    return errno == EEXIST ? exists_error(err, f->path) : io_error(err, "create", f->path);
}

/* Gives a file without a name its own one, in one step unless there is such a file already. */
static tt_status name_in_place(tt_outfile *f, int fd, tt_error *err)
{
    char own[64];
    sigset_t all, before;
    (void)snprintf(own, sizeof own, OWN_DESCRIPTORS "/%d", fd);
    if (linkat(AT_FDCWD, own, AT_FDCWD, f->path, AT_SYMLINK_FOLLOW) == 0) return TT_OK;
    if (errno == EEXIST && !f->force) return exists_error(err, f->path);
    /* It has another name for a moment, in which no signal ends this thread. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    tt_status status = TT_OK;
    f->nameless = name_temporary(f, fd) < 0;
    if (f->nameless || rename_into_place(f) != 0) status = naming_error(f, err);
    if (status != TT_OK && !f->nameless) (void)unlink(f->temporary);
    f->nameless = true; /* no temporary name is left to be removed */
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

tt_status tt_outfile_commit(tt_outfile *f, tt_error *err)
{
    tt_status status = TT_OK;
    bool bad = ferror(f->stream) != 0;
    if (fflush(f->stream) != 0) bad = true;
    if (!bad && f->temporary && fsync(fileno(f->stream)) != 0) bad = true;
    if (bad) status = io_error(err, "write", f->path);
    /* Kept open: it has no name by which to be found again. */
    const int fd = f->nameless ? dup(fileno(f->stream)) : -1;
    if (fclose(f->stream) != 0 && status == TT_OK) status = io_error(err, "write", f->path);
    f->stream = NULL;
    if (status == TT_OK && f->nameless)
        status = name_in_place(f, fd, err);
    else if (status == TT_OK && f->temporary && rename_into_place(f) != 0)
        status = naming_error(f, err);
    if (fd >= 0) (void)close(fd);
    if (status != TT_OK) {
        tt_outfile_abandon(f);
        return status;
    }
    free_names(f);
    return TT_OK;
}

void tt_outfile_abandon(tt_outfile *f)
{
    if (f->stream) (void)fclose(f->stream);
    if (f->temporary && !f->nameless) (void)unlink(f->temporary);
    free_names(f);
}

#define OPEN_FOLDERS 16 /* at once, while a tree is removed */
#define FOREIGN_NAMED 3 /* in the message, which counts the others */

static tt_status folder_exists_error(tt_error *err, const char *path)
{
    return tt_error_set(err, TT_E_EXISTS, TT_NO_OFFSET, "%s exists; --force replaces it", path);
}

/* Makes the folders above the last name of `path`, after its first `above` bytes; modifies and
 * restores it. */
static bool make_parents(char *path, size_t above)
{
    for (char *slash = strchr(path + above, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool failed = mkdir(path, 0777) != 0 && errno != EEXIST;
        *slash = '/';
        if (failed) return false;
    }
    return true;
}

tt_status tt_outdir_make(const char *path, tt_error *err)
{
    struct stat st;
    char *copy = strdup(path);
    if (!copy) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    bool ok = make_parents(copy, 1) && (mkdir(copy, 0777) == 0 || errno == EEXIST);
    if (ok && stat(copy, &st) == 0 && !S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        ok = false;
    }
    free(copy);
    return ok ? TT_OK : io_error(err, "create", path);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st;
    (void)walk;
    return kind == FTW_DP ? rmdir(path) : unlink(path);
}

bool tt_outdir_remove(const char *path)
{
    return nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS) == 0;
}

static void free_folder(tt_outdir *d)
{
    free(d->path);
    free(d->temporary);
    memset(d, 0, sizeof *d);
}

static bool make_temporary(tt_outdir *d)
{
    size_t size = strlen(d->path) + 40;
    d->temporary = malloc(size);
    for (int i = 0; d->temporary && i < TEMPORARY_TRIES; i++) {
        (void)snprintf(d->temporary, size, "%s.%ld-%d.part", d->path, (long)getpid(), i);
        if (mkdir(d->temporary, 0777) == 0) return true;
        if (errno != EEXIST) return false;
    }
    return false;
}

/* Whether the working directory is the folder, or below it. */
static bool is_around_us(const char *path)
{
    char here[PATH_MAX];
    size_t n = strlen(path);
    if (!getcwd(here, sizeof here) || strncmp(here, path, n) != 0) return false;
    return here[n] == '\0' || here[n] == '/' || path[n - 1] == '/';
}

tt_status tt_outdir_open(tt_outdir *d, const char *path, bool force, tt_error *err)
{
    struct stat st;
    memset(d, 0, sizeof *d);
    d->force = force;
    bool exists = lstat(path, &st) == 0;
    if (exists && stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "%s is there and is not a folder; name another place", path);
    if (exists && !force) return folder_exists_error(err, path);
    /* Replaces the target of a symbolic link, not the link. */
    d->path = exists ? realpath(path, NULL) : NULL;
    if (!d->path) d->path = strdup(path);
    if (!d->path) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    for (size_t n = strlen(d->path); n > 1 && d->path[n - 1] == '/'; n--)
        d->path[n - 1] = '\0';
    tt_status status = TT_OK;
    if (exists && is_around_us(d->path))
        status = tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                              "%s is the current folder, or above it, and would be replaced as a "
                              "whole; name another place",
                              path);
    else if (!*d->path)
        status = tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "a folder needs a name");
    else if (!make_parents(d->path, 1) || !make_temporary(d))
        status = io_error(err, "create", path);
    if (status != TT_OK) free_folder(d);
    return status;
}

FILE *tt_outdir_file(const tt_outdir *d, const char *name, tt_error *err)
{
    FILE *file = NULL;
    size_t size = strlen(d->temporary) + strlen(name) + 2;
    char *path = malloc(size);
    if (!path) {
        (void)tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
        return NULL;
    }
    (void)snprintf(path, size, "%s/%s", d->temporary, name);
    /* The folder itself is not created again: whoever removed it wants this to end. */
    if (make_parents(path, strlen(d->temporary) + 1)) file = fopen(path, "wxe");
    if (!file) (void)io_error(err, "create", path);
    free(path);
    return file;
}

tt_status tt_outdir_close(FILE *file, const char *name, tt_error *err)
{
    bool bad = ferror(file) != 0;
    if (fflush(file) != 0) bad = true;
    tt_status status = bad ? io_error(err, "write", name) : TT_OK;
    if (fclose(file) != 0 && status == TT_OK) status = io_error(err, "write", name);
    return status;
}

/* Whether the name, of so many bytes, ends in it and is more than that. */
static bool has_ending(const char *name, size_t end, const char *ending)
{
    const size_t n = strlen(ending);
    return n > 0 && end > n && memcmp(name + end - n, ending, n) == 0;
}

/* What names of one kind have in common: the ending (or NULL); or everything except digits and
 * extensions of compression, and a table in either format. Appended to `kind`, which has room for
 * it. */
static void add_kind(char *kind, const char *name, size_t end, const char *ending)
{
    size_t n = strlen(kind);
    if (ending && has_ending(name, end, ending)) {
        strcpy(kind + n, ending);
        return;
    }
    if (has_ending(name, end, ".zst")) end -= 4;
    if (has_ending(name, end, ".gz")) end -= 3;
    const bool is_table = has_ending(name, end, ".parquet");
    if (is_table) end -= strlen(".parquet");
    for (size_t i = 0; i < end; i++)
        if (name[i] < '0' || name[i] > '9') kind[n++] = name[i];
    strcpy(kind + n, is_table ? ".csv" : "");
}

/* Its kind, comparable with another folder's, malloc'ed: folder or file, and the kinds of the names
 * in its path. NULL if out of memory; "" for a link, a device and unreadable entries. */
static char *kind_of_entry(const FTSENT *e, size_t root, const char *ending)
{
    const char *name = e->fts_path + root + 1;
    char *kind = calloc(1, strlen(name) + (ending ? strlen(ending) : 0) + 3);
    bool is_folder = e->fts_info == FTS_D;
    if (!kind || (!is_folder && e->fts_info != FTS_F)) return kind;
    kind[0] = is_folder ? '/' : '-';
    for (const char *slash; (slash = strchr(name, '/')) != NULL; name = slash + 1) {
        add_kind(kind, name, (size_t)(slash - name), NULL);
        (void)strcat(kind, "/");
    }
    add_kind(kind, name, strlen(name), is_folder ? NULL : ending);
    return kind;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Adds the kinds of everything in the folder to the tree. */
static bool collect_kinds(const char *folder, const char *ending, void **kinds)
{
    char *const roots[] = {(char *)(uintptr_t)folder, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    bool ok = walk != NULL;
    for (FTSENT *e; ok && (e = fts_read(walk)) != NULL;) {
        if (e->fts_level < 1 || e->fts_info == FTS_DP) continue;
        char *kind = kind_of_entry(e, strlen(folder), ending);
        char **found = kind ? tsearch(kind, kinds, by_text) : NULL;
        ok = found != NULL;
        if (!found || *found != kind) free(kind);
    }
    if (walk) (void)fts_close(walk);
    return ok;
}

/* Lists names in the folder with other kinds in `text`: some of them, and the number of others.
 * False if that fails. */
static bool list_foreign(const char *folder, const char *ending, void *const *kinds, char *text,
                         size_t size)
{
    char *const roots[] = {(char *)(uintptr_t)folder, NULL};
    size_t n = 0, used = 0;
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    bool ok = walk != NULL;
    text[0] = '\0';
    for (FTSENT *e; ok && (e = fts_read(walk)) != NULL;) {
        if (e->fts_level < 1) ok = e->fts_errno == 0 || e->fts_errno == ENOENT;
        if (e->fts_level < 1 || e->fts_info == FTS_DP) continue;
        char *kind = kind_of_entry(e, strlen(folder), ending);
        ok = kind != NULL;
        bool foreign = ok && (!kind[0] || !tfind(kind, kinds, by_text));
        free(kind);
        if (!foreign) continue;
        (void)fts_set(walk, e, FTS_SKIP);
        const char *name = e->fts_path + strlen(folder) + 1;
        if (n++ < FOREIGN_NAMED && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%.60s", n > 1 ? ", " : "", name);
    }
    if (n > FOREIGN_NAMED && used < size)
        (void)snprintf(text + used, size - used, " and %zu more", n - FOREIGN_NAMED);
    if (walk) (void)fts_close(walk);
    return ok;
}

/* --force is for what was written here before, not for a folder with other things, on any level. */
static tt_status check_old(const tt_outdir *d, tt_error *err)
{
    char foreign[FOREIGN_NAMED * 64 + 32] = "";
    void *kinds = NULL;
    tt_status status = TT_OK;
    if (!collect_kinds(d->temporary, d->ending, &kinds) ||
        !list_foreign(d->path, d->ending, &kinds, foreign, sizeof foreign))
        status = io_error(err, "replace", d->path);
    tdestroy(kinds, free);
    if (foreign[0])
        status = tt_error_set(err, TT_E_EXISTS, TT_NO_OFFSET,
                              "%s holds %s, which is not of this: it is not replaced; name another "
                              "place, or remove it",
                              d->path, foreign);
    return status;
}

static tt_status remove_old(const tt_outdir *d, const char *old, tt_error *err)
{
    if (tt_outdir_remove(old)) return TT_OK;
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET,
                        "%s is written, but what was there before is left as %s: %s", d->path, old,
                        strerror(errno));
}

/* For a file system that cannot exchange: in between, neither has the name. */
static tt_status replace_in_steps(const tt_outdir *d, tt_error *err)
{
    char *old = NULL;
    /* Not a name that cleaning up after an interrupted export matches. */
    if (asprintf(&old, "%s.old", d->temporary) < 0)
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    tt_status status = TT_OK;
    if (rename(d->path, old) != 0) {
        status = io_error(err, "replace", d->path);
    } else if (rename(d->temporary, d->path) != 0) {
        status = io_error(err, "replace", d->path);
        if (rename(old, d->path) != 0)
            status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET,
                                  "cannot replace %s; what was there before is %s: %s", d->path,
                                  old, strerror(errno));
    } else {
        status = remove_old(d, old, err);
    }
    free(old);
    return status;
}

/* Replaces the existing folder by the temporary one. */
static tt_status replace(const tt_outdir *d, tt_error *err)
{
    tt_status status = check_old(d, err);
    if (status != TT_OK) return status;
    if (renameat2(AT_FDCWD, d->temporary, AT_FDCWD, d->path, RENAME_EXCHANGE) == 0)
        return remove_old(d, d->temporary, err);
    if (errno == ENOENT && rename(d->temporary, d->path) == 0) return TT_OK;
    if (errno == EINVAL || errno == ENOSYS) return replace_in_steps(d, err);
    return io_error(err, "replace", d->path);
}

/* Once for all files and folders in it: one by one takes many times as long. */
tt_status tt_outdir_sync(const tt_outdir *d, tt_error *err)
{
    int fd = open(d->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tt_status status = fd >= 0 && syncfs(fd) == 0 ? TT_OK : io_error(err, "write", d->path);
    if (fd >= 0) (void)close(fd);
    return status;
}

tt_status tt_outdir_commit(tt_outdir *d, tt_error *err)
{
    tt_status status = tt_outdir_sync(d, err);
    if (status == TT_OK && d->force) {
        status = replace(d, err);
    } else if (status == TT_OK &&
               renameat2(AT_FDCWD, d->temporary, AT_FDCWD, d->path, RENAME_NOREPLACE) != 0) {
        /* A file system without this flag: rename refuses a folder that is not empty. */
        bool cannot_tell = errno == EINVAL || errno == ENOSYS;
        if (errno == EEXIST)
            status = folder_exists_error(err, d->path);
        else if (!cannot_tell || rename(d->temporary, d->path) != 0)
            status = io_error(err, "create", d->path);
    }
    if (status != TT_OK) {
        tt_outdir_abandon(d);
        return status;
    }
    free_folder(d);
    return TT_OK;
}

void tt_outdir_abandon(tt_outdir *d)
{
    if (d->temporary) (void)tt_outdir_remove(d->temporary);
    free_folder(d);
}
