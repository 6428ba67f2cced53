#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

/* Of a file that could not be made: most often its folder is not there. */
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

/* A file in the folder of f->path that has no name, so that nothing stays of it when the program
 * is interrupted or killed; -1 where the file system has no such files, or no name could be given
 * to it later. */
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

/* Gives the file behind fd, or a new one (fd -1), a name beside f->path; the descriptor. Not
 * mkstemp: its mode 0600 would have to be widened again, and the umask cannot be read without a
 * moment of changing it. */
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

static void forget(tt_outfile *f)
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
    forget(f);
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
    /* Through a symbolic link the file it points to is replaced, not the link. */
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
    /* Without force, a file that came into being meanwhile is kept too. */
    if (renameat2(AT_FDCWD, f->temporary, AT_FDCWD, f->path, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    return rename(f->temporary, f->path); /* a file system that cannot tell */
}

tt_status tt_outfile_commit(tt_outfile *f, tt_error *err)
{
    tt_status status = TT_OK;
    bool bad = ferror(f->stream) != 0;
    if (fflush(f->stream) != 0) bad = true;
    if (!bad && f->temporary && fsync(fileno(f->stream)) != 0) bad = true;
    if (bad) status = io_error(err, "write", f->path);
    if (status == TT_OK && f->nameless) {
        if (name_temporary(f, fileno(f->stream)) < 0) status = io_error(err, "create", f->path);
        f->nameless = status != TT_OK;
    }
    if (fclose(f->stream) != 0 && status == TT_OK) status = io_error(err, "write", f->path);
    f->stream = NULL;
    if (status == TT_OK && f->temporary && rename_into_place(f) != 0)
        status = errno == EEXIST ? exists_error(err, f->path) : io_error(err, "create", f->path);
    if (status != TT_OK) {
        tt_outfile_abandon(f);
        return status;
    }
    forget(f);
    return TT_OK;
}

void tt_outfile_abandon(tt_outfile *f)
{
    if (f->stream) (void)fclose(f->stream);
    if (f->temporary && !f->nameless) (void)unlink(f->temporary);
    forget(f);
}
