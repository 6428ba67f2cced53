#include "record/session.h"

#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool tt_session_faults_way(const char *text, uint64_t *way)
{
    static const char *const ways[] = {[TT_FAULTS_AUTO] = "auto",
                                       [TT_FAULTS_COUNTS] = "counts",
                                       [TT_FAULTS_EVENTS] = "events",
                                       [TT_FAULTS_BOTH] = "both"};
    for (*way = TT_FAULTS_AUTO; *way <= TT_FAULTS_BOTH; ++*way)
        if (strcmp(text, ways[*way]) == 0) return true;
    return false;
}

static const char MAGIC[8] = {'T', 'T', 'S', 'E', 'S', 'S', '5', '\n'};

/* Common to the start of sessions of all versions. */
#define MAGIC_COMMON 6u
#define HEAD_BYTES (offsetof(tt_session, other_builds) + sizeof(uint32_t))
_Static_assert(offsetof(tt_session, other_builds) == 8, "where every version looks for it");

static tt_session *map_file(int fd)
{
    void *at = mmap(NULL, sizeof(tt_session), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* Creates a session file. It is locked before its magic is written. All its pages are allocated
 * now: in a full /dev/shm, touching a page later would raise SIGBUS, in the traced programs too. */
static tt_session *create_in(const char *dir, char *path, size_t size, int *lock)
{
    tt_session *s = NULL;
    int n = snprintf(path, size, "%s/tensortrace-XXXXXX", dir);
    if (n < 0 || (size_t)n >= size) return NULL;
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) return NULL;
    (void)tt_descriptor_lock(fd);
    int why = tt_descriptor_reserve(fd, 0, sizeof(tt_session));
    if (!why && !(s = map_file(fd))) why = errno;
    if (s) {
        *lock = fd;
        return s;
    }
    (void)unlink(path);
    (void)close(fd);
    errno = why;
    return NULL;
}

tt_status tt_session_create(tt_session **session, char *path, size_t size, bool replace, int *lock,
                            tt_error *err)
{
    *session = create_in("/dev/shm", path, size, lock);
    if (!*session) *session = create_in("/tmp", path, size, lock);
    if (!*session)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET,
                            "cannot create a session file in /dev/shm or /tmp: %s",
                            strerror(errno));
    memcpy((*session)->magic, MAGIC, sizeof MAGIC);
    (*session)->replace = replace;
    return TT_OK;
}

/* Maps the part that is common to sessions of all versions. NULL if `fd` is no session, or is one
 * of this build (*ours). */
static tt_session *map_head(int fd, bool *ours)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < (off_t)HEAD_BYTES) return NULL;
    tt_session *s = mmap(NULL, HEAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (s == MAP_FAILED) return NULL;
    *ours = st.st_size == (off_t)sizeof(tt_session) && memcmp(s->magic, MAGIC, sizeof MAGIC) == 0;
    if (!*ours && memcmp(s->magic, MAGIC, MAGIC_COMMON) == 0) return s;
    (void)munmap(s, HEAD_BYTES);
    return NULL;
}

static int open_file(const char *path)
{
    return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
}

tt_session *tt_session_open(const char *path)
{
    bool ours = false;
    int fd = open_file(path);
    if (fd < 0) return NULL;
    tt_session *head = map_head(fd, &ours);
    if (head) (void)munmap(head, HEAD_BYTES);
    tt_session *s = ours ? map_file(fd) : NULL;
    (void)close(fd);
    return s;
}

bool tt_session_is_other_build(const char *path)
{
    bool ours = false;
    int fd = open_file(path);
    if (fd < 0) return false;
    tt_session *head = map_head(fd, &ours);
    (void)close(fd);
    if (!head) return false;
    atomic_fetch_add(&head->other_builds, 1);
    (void)munmap(head, HEAD_BYTES);
    return true;
}

void tt_session_close(tt_session *session)
{
    if (session) (void)munmap(session, sizeof *session);
}

void tt_session_sanitize(tt_session *session)
{
    session->problem[sizeof session->problem - 1] = '\0';
    for (uint32_t i = 0; i < TT_SESSION_FILES; i++) {
        tt_session_file *f = &session->files[i];
        f->path[sizeof f->path - 1] = f->snapshot[sizeof f->snapshot - 1] = '\0';
        f->problem[sizeof f->problem - 1] = '\0';
        if (f->path[0] != '/') atomic_store(&f->state, TT_SESSION_EMPTY);
    }
}

tt_session_file *tt_session_add(tt_session *session, const char *path, const uint8_t run_id[16],
                                uint32_t pid)
{
    uint32_t i = atomic_fetch_add(&session->n_files, 1);
    if (i >= TT_SESSION_FILES) return NULL;
    tt_session_file *f = &session->files[i];
    f->pid = pid;
    memcpy(f->run_id, run_id, sizeof f->run_id);
    atomic_store(&f->snapshots, atomic_load(&session->snapshots)); /* earlier requests are not for
                                                                      it */
    (void)snprintf(f->path, sizeof f->path, "%s", path);
    atomic_store(&f->state, TT_SESSION_WRITING);
    return f;
}

void tt_session_problem(tt_session *session, const char *text)
{
    uint32_t none = 0;
    if (!atomic_compare_exchange_strong(&session->has_problem, &none, 1)) return;
    (void)snprintf(session->problem, sizeof session->problem, "%s", text);
}
