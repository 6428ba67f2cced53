#include "record/sweep.h"

#include "base/descriptor.h"
#include "record/area.h"
#include "record/place.h"
#include "record/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 65536u /* looked at */
static const char PREFIX[] = "tensortrace-";

/* The trace that the area belongs to is not there any more, where it can be told. */
static bool is_done(const char *trace)
{
    char part[PATH_MAX], folder[PATH_MAX];
    if (trace[0] != '/' || tt_place_part(part, sizeof part, trace, NULL) != TT_OK) return false;
    tt_place_dir(folder, sizeof folder, trace);
    return access(folder, F_OK) == 0 && access(part, F_OK) != 0 && errno == ENOENT;
}

static bool is_stale_area(const char *path)
{
    tt_area_map map;
    if (tt_area_open(&map, path, NULL) != TT_OK) return false;
    bool done = memchr(map.area->trace, '\0', sizeof map.area->trace) && is_done(map.area->trace);
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
    /* What it is comes before the lock: it is written under its owner's. */
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
