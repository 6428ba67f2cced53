/* Bytes as the notes beside a trace, and as changes of them, one a line after the first: what was
 * taken is written, and read again as the same. */
#include "base/json.h"
#include "notes/notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of a trace that is not there, whose notes are in memory. */
static const char *trace_path(void)
{
    static char path[64];
    if (!*path) (void)snprintf(path, sizeof path, "/dev/shm/tt-fuzz-notes-%d", (int)getpid());
    return path;
}

static char *text_of(const tt_notes *notes)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) abort();
    tt_json j;
    tt_json_begin(&j, out, 0);
    tt_notes_json(&j, notes);
    if (!tt_json_end(&j)) abort();
    (void)fclose(out);
    return text;
}

static void must_say(tt_status status, const tt_error *err)
{
    if (status != TT_OK && (err->status != status || !err->message[0])) abort();
}

/* As of the first line, which is the file. */
static void write_file(const char *line, size_t n)
{
    char path[96];
    (void)snprintf(path, sizeof path, "%s" TT_NOTES_ENDING, trace_path());
    FILE *f = fopen(path, "wbe");
    if (!f) abort();
    (void)fwrite(line, 1, n, f);
    (void)fclose(f);
}

static void remove_file(void)
{
    char path[96];
    (void)snprintf(path, sizeof path, "%s" TT_NOTES_ENDING, trace_path());
    (void)unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *const end = at + size;
    const char *line = size ? memchr(at, '\n', size) : NULL;
    tt_notes notes = {0}, again = {0};
    tt_error err;
    write_file(at, (size_t)((line ? line : end) - at));
    tt_status status = tt_notes_read(trace_path(), &notes, &err);
    must_say(status, &err);
    if (status != TT_OK) tt_notes_free(&notes);
    while (line) {
        at = line + 1;
        line = memchr(at, '\n', (size_t)(end - at));
        const size_t before = notes.n;
        status = tt_notes_change(&notes, at, (size_t)((line ? line : end) - at), &err);
        must_say(status, &err);
        if (status != TT_OK && notes.n != before) abort();
        if (notes.n > TT_NOTES_MAX) abort();
    }
    if (tt_notes_write(trace_path(), &notes, &err) != TT_OK) abort();
    if (tt_notes_read(trace_path(), &again, &err) != TT_OK) abort();
    char *const a = text_of(&notes), *const b = text_of(&again);
    if (strcmp(a, b) != 0) abort();
    free(a);
    free(b);
    tt_notes_free(&notes);
    tt_notes_free(&again);
    remove_file();
    return 0;
}
