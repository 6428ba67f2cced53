#include "record/place.h"

#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NUMBERS_MAX 10000L
#define TRIED_BYTES 4096
#define DESCRIPTORS                                                                                \
    "/proc/self/fd/" /* targets of /dev/stdout and similar links, whatever is open there */

static tt_status too_long(const char *path, tt_error *err)
{
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "the path is too long: %.100s...", path);
}

tt_status tt_place_absolute(char *out, size_t size, const char *path, tt_error *err)
{
    char cwd[PATH_MAX];
    int n;
    if (path[0] == '/') {
        n = snprintf(out, size, "%s", path);
    } else {
        if (!getcwd(cwd, sizeof cwd))
            return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "no working directory: %s",
                                strerror(errno));
        n = snprintf(out, size, "%s/%s", cwd, path);
    }
    return n < 0 || (size_t)n >= size ? too_long(path, err) : TT_OK;
}

void tt_place_dir(char *out, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        (void)snprintf(out, size, ".");
    else
        (void)snprintf(out, size, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

tt_status tt_place_part(char *out, size_t size, const char *path, tt_error *err)
{
    int n = snprintf(out, size, "%s" TT_PLACE_PART_SUFFIX, path);
    return n < 0 || (size_t)n >= size ? too_long(path, err) : TT_OK;
}

void tt_place_finished(char *out, size_t size, const char *part)
{
    size_t n = strlen(part), suffix = strlen(TT_PLACE_PART_SUFFIX);
    bool is_part = n > suffix && strcmp(part + n - suffix, TT_PLACE_PART_SUFFIX) == 0;
    (void)snprintf(out, size, "%.*s", (int)(is_part ? n - suffix : n), part);
}

static tt_status number(char *out, size_t size, const char *path, const char *what, long n,
                        tt_error *err)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t stem = dot && dot > (slash ? slash + 1 : path) ? (size_t)(dot - path) : strlen(path);
    int wrote = snprintf(out, size, "%.*s%s-%ld%s", (int)stem, path, what, n, path + stem);
    return wrote < 0 || (size_t)wrote >= size ? too_long(path, err) : TT_OK;
}

tt_status tt_place_numbered(char *out, size_t size, const char *path, long n, tt_error *err)
{
    return number(out, size, path, "", n, err);
}

tt_status tt_place_snapshot(char *out, size_t size, const char *path, long n, tt_error *err)
{
    return number(out, size, path, "-snapshot", n, err);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Like rename, but refuses to replace (EEXIST). */
static int rename_new(const char *part, const char *path)
{
    if (renameat2(AT_FDCWD, part, AT_FDCWD, path, RENAME_NOREPLACE) == 0) return 0;
    if (errno == EEXIST && is_same_file(part, path)) return unlink(part); /* see below */
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) return -1;
    /* A file system without RENAME_NOREPLACE. A kill between the two calls leaves the file with
     * both names. */
    if (link(part, path) == 0) {
        (void)unlink(part);
        return 0;
    }
    if (errno == EEXIST) return is_same_file(part, path) ? unlink(part) : -1;
    if (access(path, F_OK) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(part, path);
}

static const char *kind_of(mode_t mode)
{
    if (S_ISDIR(mode)) return "a folder";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    return S_ISFIFO(mode) ? "a pipe" : "not a file";
}

tt_status tt_place_check(const char *path, tt_error *err)
{
    struct stat st;
    char target[sizeof DESCRIPTORS];
    if (lstat(path, &st) != 0) return TT_OK; /* writing reports other problems */
    ssize_t n = readlink(path, target, sizeof target);
    if (n == (ssize_t)sizeof target && memcmp(target, DESCRIPTORS, sizeof DESCRIPTORS - 1) == 0)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "%s is a name of a descriptor: name a file", path);
    if (stat(path, &st) != 0)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "%s is a link that leads nowhere: name a file", path);
    if (S_ISREG(st.st_mode)) return TT_OK;
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "%s is %s: name a file", path,
                        kind_of(st.st_mode));
}

tt_status tt_place_try(const char *path, tt_error *err)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const int problem = fd < 0 ? errno : tt_descriptor_reserve(fd, 0, TRIED_BYTES);
    if (fd >= 0) {
        (void)close(fd);
        (void)unlink(path);
    }
    if (!problem) return TT_OK;
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write %s: %s", path, strerror(problem));
}

tt_status tt_place_rename(const char *part, char *path, size_t size, bool replace, tt_error *err)
{
    char candidate[PATH_MAX];
    (void)snprintf(candidate, sizeof candidate, "%s", path);
    for (long n = 2; n < NUMBERS_MAX; n++) {
        bool may_replace = replace && n == 2 && tt_place_check(candidate, NULL) == TT_OK;
        int failed = may_replace ? rename(part, candidate) : rename_new(part, candidate);
        if (!failed) {
            (void)snprintf(path, size, "%s", candidate);
            return TT_OK;
        }
        if (errno != EEXIST) break;
        tt_status status = tt_place_numbered(candidate, sizeof candidate, path, n, err);
        if (status != TT_OK) return status;
    }
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot rename %s to %s: %s", part, candidate,
                        strerror(errno));
}
