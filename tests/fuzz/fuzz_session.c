/* Bytes as the session file of a traced program: what `run` reads there must be numbers in range
 * and texts that end, whatever a program has done to it. */
#include "record/session.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static tt_session session;

/* The input, repeated, over n bytes. */
static void fill(void *to, size_t n, const uint8_t *data, size_t size)
{
    for (size_t at = 0; at < n; at += size)
        memcpy((uint8_t *)to + at, data, size < n - at ? size : n - at);
}

static void check_text(const char *text, size_t size)
{
    if (strnlen(text, size) == size) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    size_t head = size < offsetof(tt_session, files) ? size : offsetof(tt_session, files);
    memcpy(&session, data, head);
    tt_session_file *file = &session.files[data[0] % TT_SESSION_FILES];
    fill(file, sizeof *file, data + 1, size - 1);
    tt_session_sanitize(&session);
    for (uint32_t i = 0; i < TT_SESSION_FILES; i++) {
        const tt_session_file *f = &session.files[i];
        if (atomic_load(&f->state) == TT_SESSION_EMPTY) continue;
        check_text(f->path, sizeof f->path);
        if (f->path[0] != '/') abort();
    }
    check_text(session.problem, sizeof session.problem);
    memset(&session, 0, offsetof(tt_session, files));
    memset(file, 0, sizeof *file);
    return 0;
}
