#include "bitnet/write.h"

#include "base/checksum.h"
#include "base/descriptor.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/outfile.h"
#include "bitnet/number.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD_MAX ((size_t)16 << 20)
#define HINTS 4096u           /* a power of two */
#define NUMBERS_MAX 10000000u /* tried per name */

/* Where numbering of a name last stopped. Only a hint, since the file system decides whether a
 * name is taken; it may belong to another name or be lost. */
struct hint {
    uint64_t name; /* checksum of the name */
    uint64_t next;
};

struct tt_bitnet_writer {
    int folder;
    int lines; /* the one file of all records; -1: each has its own */
    char *path;
    pthread_mutex_t lock; /* guards all that follows */
    uint64_t n_files, n_numbered;
    char numbered[TT_BITNET_FILE_NAME];
    struct hint hints[HINTS];
};

static tt_status io_error(tt_error *err, const char *what, const char *path)
{
    char reason[128] = "";
    /* strerror is not thread-safe. */
    const char *text = strerror_r(errno, reason, sizeof reason);
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot %s %.200s: %s", what, path, text);
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

static tt_status check_empty(const char *path, tt_error *err)
{
    tt_status status = TT_OK;
    DIR *folder = opendir(path);
    if (!folder) return io_error(err, "read", path);
    for (struct dirent *e = readdir(folder); e && status == TT_OK; e = readdir(folder))
        if (ends_in(e->d_name, ".trace") || ends_in(e->d_name, ".jsonl"))
            status = tt_error_set(err, TT_E_EXISTS, TT_NO_OFFSET,
                                  "%.160s holds traces already (%.80s), with which new ones would "
                                  "be mixed up; name an empty folder, or remove them",
                                  path, e->d_name);
    (void)closedir(folder);
    return status;
}

tt_status tt_bitnet_writer_open(const char *path, tt_bitnet_layout layout, tt_bitnet_writer **out,
                                tt_error *err)
{
    *out = NULL;
    tt_status status = tt_outdir_make(path, err);
    if (status == TT_OK) status = check_empty(path, err);
    if (status != TT_OK) return status;
    tt_bitnet_writer *w = calloc(1, sizeof *w);
    if (w) w->path = strdup(path);
    if (!w || !w->path) {
        free(w);
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    }
    w->lines = -1;
    w->folder = tt_descriptor_raise(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (w->folder >= 0 && layout == TT_BITNET_ONE_LINE)
        w->lines = tt_descriptor_raise(
            openat(w->folder, TT_BITNET_LINES_FILE,
                   O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (w->folder < 0 || (layout == TT_BITNET_ONE_LINE && w->lines < 0)) {
        status = io_error(err, w->folder < 0 ? "open" : "create " TT_BITNET_LINES_FILE " in", path);
        if (w->folder >= 0) (void)close(w->folder);
        free(w->path);
        free(w);
        return status;
    }
    (void)pthread_mutex_init(&w->lock, NULL);
    *out = w;
    return TT_OK;
}

void tt_bitnet_writer_close(tt_bitnet_writer *w)
{
    if (!w) return;
    if (w->lines >= 0) (void)close(w->lines);
    (void)close(w->folder);
    (void)pthread_mutex_destroy(&w->lock);
    free(w->path);
    free(w);
}

static bool write_all(int fd, const tt_bytes *text)
{
    for (size_t at = 0; at < text->size;) {
        ssize_t n = write(fd, text->data + at, text->size - at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += (size_t)n;
    }
    return true;
}

/* Writes the text to a file under a unique name. */
static bool write_temporary(const tt_bitnet_writer *w, const tt_bytes *text, char name[64])
{
    /* Shared by all writers, since two may write to one folder. */
    static _Atomic uint64_t count;
    uint64_t number = count++;
    (void)snprintf(name, 64, ".%ld-%" PRIu64 ".part", (long)getpid(), number);
    int fd = openat(w->folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) return false;
    bool ok = write_all(fd, text);
    int reason = errno;
    if (close(fd) != 0 && ok) {
        reason = errno;
        ok = false;
    }
    if (!ok) (void)unlinkat(w->folder, name, 0);
    errno = reason;
    return ok;
}

/* Renames the file; false with EEXIST when the name is taken. */
static bool rename_new(int folder, const char *from, const char *to)
{
    if (renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) return false;
    /* Fallback for other file systems: reserve the name with an empty file, then replace it. */
    int fd = openat(folder, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return false;
    (void)close(fd);
    if (renameat(folder, from, folder, to) == 0) return true;
    int reason = errno;
    (void)unlinkat(folder, to, 0);
    errno = reason;
    return false;
}

/* The first number to try; then the next to continue with. */
static uint64_t first_number(tt_bitnet_writer *w, uint64_t name)
{
    (void)pthread_mutex_lock(&w->lock);
    struct hint *h = &w->hints[name & (HINTS - 1)];
    uint64_t number = h->name == name && h->next > 0 ? h->next : 1;
    (void)pthread_mutex_unlock(&w->lock);
    return number;
}

static void remember(tt_bitnet_writer *w, uint64_t name, uint64_t number, const char *file)
{
    (void)pthread_mutex_lock(&w->lock);
    w->hints[name & (HINTS - 1)] = (struct hint){name, number + 1};
    w->n_files++;
    if (number > 1 && w->n_numbered++ == 0) memcpy(w->numbered, file, strlen(file) + 1);
    (void)pthread_mutex_unlock(&w->lock);
}

static tt_status name_file(tt_bitnet_writer *w, const char *name, const char *temporary,
                           char file[TT_BITNET_FILE_NAME], tt_error *err)
{
    (void)tt_bitnet_file_name(name, 1, file);
    uint64_t sum = tt_checksum(file, strlen(file)), first = first_number(w, sum);
    for (uint64_t number = first; number < first + NUMBERS_MAX; number++) {
        (void)tt_bitnet_file_name(name, number, file);
        if (rename_new(w->folder, temporary, file)) {
            remember(w, sum, number, file);
            return TT_OK;
        }
        if (errno != EEXIST) break;
    }
    tt_status status = io_error(err, "create a file in", w->path);
    (void)unlinkat(w->folder, temporary, 0);
    return status;
}

/* After the existing lines, completely or not at all. */
static tt_status add_line(tt_bitnet_writer *w, const tt_bytes *text, tt_error *err)
{
    tt_status status = TT_OK;
    (void)pthread_mutex_lock(&w->lock);
    const off_t end = lseek(w->lines, 0, SEEK_END);
    if (end < 0 || !write_all(w->lines, text)) {
        status = io_error(err, "write " TT_BITNET_LINES_FILE " in", w->path);
        if (end >= 0 && ftruncate(w->lines, end) != 0) errno = 0; /* a partial line stays */
    } else {
        w->n_files++;
    }
    (void)pthread_mutex_unlock(&w->lock);
    return status;
}

tt_status tt_bitnet_writer_put(tt_bitnet_writer *w, const tt_bitnet_record *r,
                               char file[TT_BITNET_FILE_NAME], tt_error *err)
{
    char temporary[64], own[TT_BITNET_FILE_NAME];
    tt_bytes text;
    if (!r->name[0]) return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "a record needs a name");
    tt_bytes_init(&text, RECORD_MAX);
    tt_bitnet_put(&text, r, w->lines >= 0 ? TT_BITNET_ONE_LINE : TT_BITNET_PRETTY);
    if (w->lines >= 0) tt_bytes_u8(&text, '\n');
    tt_status status = TT_OK;
    if (text.failed)
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory for a record");
    else if (w->lines >= 0)
        status = add_line(w, &text, err);
    else if (!write_temporary(w, &text, temporary))
        status = io_error(err, "write a file in", w->path);
    tt_bytes_free(&text);
    if (status == TT_OK && w->lines >= 0) {
        if (file) (void)strcpy(file, TT_BITNET_LINES_FILE);
        return TT_OK;
    }
    return status == TT_OK ? name_file(w, r->name, temporary, file ? file : own, err) : status;
}

void tt_bitnet_writer_count(tt_bitnet_writer *w, uint64_t *n_files, uint64_t *n_numbered,
                            char file[TT_BITNET_FILE_NAME])
{
    (void)pthread_mutex_lock(&w->lock);
    *n_files = w->n_files;
    *n_numbered = w->n_numbered;
    if (file) memcpy(file, w->numbered, sizeof w->numbered);
    (void)pthread_mutex_unlock(&w->lock);
}

/* serde_json's layouts: pretty, with two spaces per level and one element per line; or compact, all
 * on one line. Not base/json.h, which writes numbers and some characters differently, and into a
 * stream. */

typedef struct style {
    tt_bytes *out;
    bool on_one_line;
} style;

static void put_text(tt_bytes *out, const char *text)
{
    tt_bytes_put(out, text, strlen(text));
}

static void put_control(tt_bytes *out, unsigned char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *found = c ? strchr(from, c) : NULL;
    char text[8];
    if (found)
        (void)snprintf(text, sizeof text, "\\%c", to[found - from]);
    else
        (void)snprintf(text, sizeof text, "\\u%04x", c);
    put_text(out, text);
}

static void put_string(tt_bytes *out, const char *text)
{
    size_t left = strlen(text);
    tt_bytes_u8(out, '"');
    while (left > 0) {
        unsigned char c = (unsigned char)*text;
        size_t n = tt_utf8_length(text, left);
        if (n == 0)
            put_text(out, "\xef\xbf\xbd");
        else if (c < 0x20 || c == '"' || c == '\\')
            put_control(out, c);
        else
            tt_bytes_put(out, text, n);
        n += n == 0;
        text += n;
        left -= n;
    }
    tt_bytes_u8(out, '"');
}

/* Writes what precedes a member, an element, or the end of either. */
static void put_break(const style *t, bool first, unsigned level)
{
    if (!first) tt_bytes_u8(t->out, ',');
    if (t->on_one_line) return;
    tt_bytes_u8(t->out, '\n');
    for (unsigned i = 0; i < level; i++)
        put_text(t->out, "  ");
}

static void put_key(const style *t, const char *key)
{
    put_break(t, t->out->data && t->out->size > 0 && t->out->data[t->out->size - 1] == '{', 1);
    put_string(t->out, key);
    put_text(t->out, t->on_one_line ? ":" : ": ");
}

static void put_u64(tt_bytes *out, uint64_t v)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRIu64, v);
    put_text(out, text);
}

static void put_f32(tt_bytes *out, float v)
{
    char text[TT_BITNET_NUMBER] = "null";
    if (isfinite(v)) (void)tt_bitnet_number_f32(v, text);
    put_text(out, text);
}

static void end_array(const style *t, uint32_t n)
{
    if (n > 0) put_break(t, true, 1);
    tt_bytes_u8(t->out, ']');
}

static void put_shape(const style *t, const tt_bitnet_record *r)
{
    put_key(t, "shape");
    tt_bytes_u8(t->out, '[');
    for (uint32_t i = 0; i < r->n_dims; i++) {
        put_break(t, i == 0, 2);
        put_u64(t->out, r->shape[i]);
    }
    end_array(t, r->n_dims);
}

static void put_first_values(const style *t, const tt_bitnet_record *r)
{
    put_key(t, "first_values");
    tt_bytes_u8(t->out, '[');
    for (uint32_t i = 0; i < r->n_first_values; i++) {
        put_break(t, i == 0, 2);
        put_f32(t->out, r->first_values[i]);
    }
    end_array(t, r->n_first_values);
}

static void put_digest(tt_bytes *out, const uint8_t digest[32])
{
    char text[65];
    tt_hex(text, digest, 32);
    put_string(out, text);
}

static void put_rms(tt_bytes *out, const tt_bitnet_record *r)
{
    char text[TT_BITNET_NUMBER] = "null";
    if (r->has_rms && isfinite(r->rms)) (void)tt_bitnet_number_f64(r->rms, text);
    put_text(out, text);
}

void tt_bitnet_put(tt_bytes *out, const tt_bitnet_record *r, tt_bitnet_layout layout)
{
    const style t = {out, layout == TT_BITNET_ONE_LINE};
    tt_bytes_u8(out, '{');
    put_key(&t, "name");
    put_string(out, r->name);
    put_shape(&t, r);
    put_key(&t, "dtype");
    put_string(out, r->dtype);
    put_key(&t, "blake3");
    if (r->has_blake3)
        put_digest(out, r->blake3);
    else
        put_text(out, "null");
    put_key(&t, "rms");
    put_rms(out, r);
    put_key(&t, "num_elements");
    put_u64(out, r->n_elements);
    if (r->has_first_values) put_first_values(&t, r);
    if (r->has_seq) {
        put_key(&t, "seq");
        put_u64(out, r->seq);
    }
    if (r->has_layer) {
        char text[16];
        put_key(&t, "layer");
        (void)snprintf(text, sizeof text, "%" PRId32, r->layer);
        put_text(out, text);
    }
    if (r->stage) {
        put_key(&t, "stage");
        put_string(out, r->stage);
    }
    put_break(&t, true, 0);
    tt_bytes_u8(out, '}');
}
