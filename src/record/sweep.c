#include "record/sweep.h"

#include "base/descriptor.h"
#include "record/area.h"
#include "record/place.h"
#include "record/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 65536u /* looked at */
static const char PREFIX[] = "tensortrace-";

static bool is_gone(const char *path)
{
    struct stat st;
    return lstat(path, &st) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* Whether the trace that the area belongs to is gone: finished or removed, or its folder was.
 * The disk that holds it may not be mounted here: then the nearest existing folder above is on
 * another file system, and the area stays. */
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

/* Whether the process of the area lives. A program that closed our descriptors has no lock any
 * more, so its pid is looked at too. In another pid namespace that number is somebody else's;
 * then the area stays longer than needed. */
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
    /* The magic is looked at before the lock, which is held while the magic is written. */
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
