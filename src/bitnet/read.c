#include "bitnet/read.h"

#include "base/array.h"
#include "base/bytes.h"
#include "bitnet/names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Parsing one record's JSON. */

/* State of the object being parsed. */
struct parsing {
    tt_bitnet_folder *f;
    const json_t *object;
    tt_error *err;
};

static tt_status wrong(const struct parsing *p, const char *key, const char *what)
{
    return tt_error_set(p->err, TT_E_FORMAT, TT_NO_OFFSET, "\"%s\" %s", key, what);
}

static tt_status no_memory(const struct parsing *p)
{
    return tt_error_set(p->err, TT_E_LIMIT, TT_NO_OFFSET,
                        "its record needs more memory than there is, or than the %zu MiB that "
                        "records may take",
                        TT_BITNET_MEMORY_MAX >> 20);
}

/* The key's value; NULL when absent or null. */
static const json_t *find(const struct parsing *p, const char *key)
{
    const json_t *v = json_object_get(p->object, key);
    return json_is_null(v) ? NULL : v;
}

/* A required key. */
static tt_status demand(const struct parsing *p, const char *key, bool null, const json_t **v)
{
    *v = json_object_get(p->object, key);
    if (!*v) return wrong(p, key, "is missing");
    if (!json_is_null(*v)) return TT_OK;
    *v = NULL;
    return null ? TT_OK : wrong(p, key, "is null");
}

static tt_status take_string(const struct parsing *p, const char *key, const char **out)
{
    const json_t *v;
    tt_status status = demand(p, key, false, &v);
    if (status != TT_OK) return status;
    if (!json_is_string(v)) return wrong(p, key, "is no string");
    size_t n = json_string_length(v);
    if (n == 0) return wrong(p, key, "is empty");
    char *kept = tt_bitnet_keep(p->f, n + 1);
    if (!kept) return no_memory(p);
    memcpy(kept, json_string_value(v), n + 1);
    *out = kept;
    return TT_OK;
}

/* Interned: a few types are repeated in every record. */
static tt_status take_dtype(const struct parsing *p, const char **out)
{
    const char *before = p->f->n > 0 ? p->f->items[p->f->n - 1].record.dtype : NULL;
    const char *text = json_string_value(json_object_get(p->object, "dtype"));
    if (!before || !text || strcmp(before, text) != 0) return take_string(p, "dtype", out);
    *out = before;
    return TT_OK;
}

static tt_status take_count(const struct parsing *p, const char *key, const json_t *v,
                            uint64_t *out)
{
    if (!json_is_integer(v)) return wrong(p, key, "is no whole number");
    if (json_integer_value(v) < 0) return wrong(p, key, "is negative");
    *out = (uint64_t)json_integer_value(v);
    return TT_OK;
}

static tt_status take_shape(const struct parsing *p, tt_bitnet_record *r)
{
    const json_t *v;
    tt_status status = demand(p, "shape", false, &v);
    if (status != TT_OK) return status;
    if (!json_is_array(v)) return wrong(p, "shape", "is no array");
    size_t n = json_array_size(v);
    if (n > TT_BITNET_DIMS_MAX) return wrong(p, "shape", "has more than 16 dimensions");
    uint64_t *shape = tt_bitnet_keep(p->f, (n ? n : 1) * sizeof *shape);
    if (!shape) return no_memory(p);
    for (size_t i = 0; i < n && status == TT_OK; i++)
        status = take_count(p, "shape", json_array_get(v, i), &shape[i]);
    r->shape = shape;
    r->n_dims = (uint32_t)n;
    return status;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static tt_status take_digest(const struct parsing *p, tt_bitnet_record *r)
{
    const json_t *v;
    tt_status status = demand(p, "blake3", true, &v);
    if (status != TT_OK || !v) return status;
    const char *text = json_string_value(v);
    bool ok = text && json_string_length(v) == 64;
    for (size_t i = 0; ok && i < 32; i++) {
        int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
        ok = high >= 0 && low >= 0;
        if (ok) r->blake3[i] = (uint8_t)(high << 4 | low);
    }
    r->has_blake3 = ok;
    return ok ? TT_OK : wrong(p, "blake3", "is not 64 lower-case hexadecimal digits");
}

static tt_status take_rms(const struct parsing *p, tt_bitnet_record *r)
{
    const json_t *v;
    tt_status status = demand(p, "rms", true, &v);
    if (status != TT_OK || !v) return status;
    if (!json_is_number(v)) return wrong(p, "rms", "is no number");
    r->rms = json_number_value(v);
    r->has_rms = true;
    return r->rms < 0 ? wrong(p, "rms", "is negative") : TT_OK;
}

static tt_status take_first_values(const struct parsing *p, tt_bitnet_record *r)
{
    const json_t *v = find(p, "first_values");
    if (!v) return TT_OK;
    if (!json_is_array(v)) return wrong(p, "first_values", "is no array");
    size_t n = json_array_size(v), most = n < TT_BITNET_FIRST_MAX ? n : TT_BITNET_FIRST_MAX;
    float *values = tt_bitnet_keep(p->f, (most ? most : 1) * sizeof *values);
    if (!values) return no_memory(p);
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(v, i);
        if (!json_is_null(one) && !json_is_number(one))
            return wrong(p, "first_values", "holds what is no number");
        float value = json_is_null(one) ? NAN : (float)json_number_value(one);
        if (isinf(value)) return wrong(p, "first_values", "holds a number that is no float32");
        if (i < most) values[i] = value;
    }
    r->first_values = values;
    r->n_first_values = (uint32_t)most;
    r->has_first_values = true;
    return TT_OK;
}

static tt_status take_layer(const struct parsing *p, tt_bitnet_record *r)
{
    const json_t *v = find(p, "layer");
    if (!v) return TT_OK;
    if (!json_is_integer(v)) return wrong(p, "layer", "is no whole number");
    json_int_t layer = json_integer_value(v);
    if (layer < TT_BITNET_LAYER_ALL || layer > INT32_MAX)
        return wrong(p, "layer", "is no layer: 0 and above, -1 or -2");
    r->layer = (int32_t)layer;
    r->has_layer = true;
    return TT_OK;
}

/* The stage is mostly the end of the name. */
static tt_status take_stage(const struct parsing *p, tt_bitnet_record *r)
{
    const json_t *v = find(p, "stage");
    if (!v) return TT_OK;
    const char *text = json_string_value(v);
    size_t n = text ? json_string_length(v) : 0, length = strlen(r->name);
    if (n == 0 || n > length || strcmp(r->name + length - n, text) != 0)
        return take_string(p, "stage", &r->stage);
    r->stage = r->name + length - n;
    return TT_OK;
}

/* Takes what the keys do not give from the name. */
static void complete(tt_bitnet_record *r)
{
    tt_bitnet_parts parts;
    tt_bitnet_name_parts(r->name, &parts);
    if (!r->has_seq && parts.has_seq) {
        r->has_seq = true;
        r->seq = parts.seq;
    }
    if (!r->has_layer && parts.has_layer) {
        r->has_layer = true;
        r->layer = parts.layer;
    }
    if (!r->stage && parts.stage[0]) r->stage = parts.stage;
}

/* Fills the item's record, which points into memory of f. The message names the key, not the file.
 */
static tt_status bitnet_parse(tt_bitnet_folder *f, const json_t *object, tt_bitnet_item *item,
                              tt_error *err)
{
    struct parsing p = {f, object, err};
    const json_t *v;
    tt_bitnet_record *r = &item->record;
    memset(r, 0, sizeof *r);
    if (!json_is_object(object))
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "it is no JSON object");
    tt_status status = take_string(&p, "name", &r->name);
    if (status == TT_OK) status = take_shape(&p, r);
    if (status == TT_OK) status = take_dtype(&p, &r->dtype);
    if (status == TT_OK) status = take_digest(&p, r);
    if (status == TT_OK) status = take_rms(&p, r);
    if (status == TT_OK) status = demand(&p, "num_elements", false, &v);
    if (status == TT_OK) status = take_count(&p, "num_elements", v, &r->n_elements);
    if (status == TT_OK) status = take_first_values(&p, r);
    v = find(&p, "seq");
    r->has_seq = v != NULL;
    if (status == TT_OK && v) status = take_count(&p, "seq", v, &r->seq);
    if (status == TT_OK) status = take_layer(&p, r);
    if (status == TT_OK) status = take_stage(&p, r);
    item->has_stage = r->stage != NULL;
    if (status == TT_OK) complete(r);
    return status;
}

#define BLOCK_BYTES ((size_t)256 << 10)
#define READ_BYTES ((size_t)64 << 10)

/* Memory for what records point to. */
struct tt_bitnet_block {
    struct tt_bitnet_block *next;
    size_t used, size;
    max_align_t bytes[];
};

void *tt_bitnet_keep(tt_bitnet_folder *f, size_t n)
{
    n = (n + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!f->blocks || f->blocks->size - f->blocks->used < n) {
        size_t size = n > BLOCK_BYTES ? n : BLOCK_BYTES;
        if (size > TT_BITNET_MEMORY_MAX - f->size_bytes) return NULL;
        struct tt_bitnet_block *block = malloc(sizeof *block + size);
        if (!block) return NULL;
        *block = (struct tt_bitnet_block){f->blocks, 0, size};
        f->blocks = block;
        f->size_bytes += size;
    }
    void *at = (char *)f->blocks->bytes + f->blocks->used;
    f->blocks->used += n;
    return at;
}

void tt_bitnet_free(tt_bitnet_folder *f)
{
    while (f->blocks) {
        struct tt_bitnet_block *next = f->blocks->next;
        free(f->blocks);
        f->blocks = next;
    }
    free(f->items);
    free(f->files);
    memset(f, 0, sizeof *f);
}

static tt_status add_item(tt_bitnet_folder *f, const tt_bitnet_item *item, tt_error *err)
{
    if (f->n == TT_BITNET_RECORDS_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "it is one record more than the %zu that are read of a folder", f->n);
    if (!tt_array_one_more(f->items, f->n, f->capacity))
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    f->items[f->n++] = *item;
    return TT_OK;
}

/* Prepends the place to the message. */
static tt_status at_place(tt_error *err, tt_status status, const char *file, uint64_t line)
{
    char what[sizeof err->message];
    if (!err) return status;
    memcpy(what, err->message, sizeof what);
    return tt_error_set(err, status, TT_NO_OFFSET, "%.120s, line %" PRIu64 ": %.160s", file, line,
                        what);
}

/* White space at the start of the text; counts the lines it ends. */
static size_t skip_blank(const char *text, size_t n, uint64_t *line)
{
    size_t at = 0;
    for (; at < n && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n');
         at++)
        *line += text[at] == '\n';
    return at;
}

static tt_status not_json(const json_error_t *why, tt_error *err)
{
    if (json_error_code(why) == json_error_out_of_memory)
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    if (json_error_code(why) == json_error_premature_end_of_input)
        return tt_error_set(err, TT_E_TRUNCATED, TT_NO_OFFSET, "it ends in the middle of a record");
    bool utf8 = json_error_code(why) == json_error_invalid_utf8;
    return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "it is %s: %.120s",
                        utf8 ? "not UTF-8" : "no JSON", why->text);
}

tt_status tt_bitnet_read_text(tt_bitnet_folder *f, const char *file, uint64_t line,
                              const char *text, size_t n, tt_error *err)
{
    size_t at = skip_blank(text, n, &line);
    while (at < n) {
        json_error_t why;
        tt_bitnet_item item = {.file = file, .line = line};
        json_t *j =
            json_loadb(text + at, n - at, JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &why);
        if (!j) return at_place(err, not_json(&why, err), file, line + (uint64_t)why.line - 1);
        tt_status status = bitnet_parse(f, j, &item, err);
        json_decref(j);
        if (status == TT_OK) status = add_item(f, &item, err);
        if (status != TT_OK) return at_place(err, status, file, line);
        for (size_t end = at + (size_t)why.position; at < end; at++)
            line += text[at] == '\n';
        at += skip_blank(text + at, n - at, &line);
    }
    return TT_OK;
}

/* Parses the complete lines in `text`, or its rest at the end of the file, and removes them from
 * it. */
static tt_status take_lines(tt_bitnet_folder *f, const char *file, uint64_t *line, tt_bytes *text,
                            bool at_end, tt_error *err)
{
    size_t at = 0;
    tt_status status = TT_OK;
    while (at < text->size && status == TT_OK) {
        const char *start = (const char *)text->data + at;
        const char *end = memchr(start, '\n', text->size - at);
        if (!end && !at_end) break;
        size_t n = end ? (size_t)(end - start) : text->size - at;
        status = tt_bitnet_read_text(f, file, *line, start, n, err);
        at += end ? n + 1 : n;
        *line += end != NULL;
    }
    if (at > 0) memmove(text->data, text->data + at, text->size - at);
    text->size -= at;
    return status;
}

/* Reads to the end of the file; a .jsonl is parsed line by line meanwhile. */
static tt_status read_stream(tt_bitnet_folder *f, const char *file, int fd, bool by_line,
                             tt_bytes *text, tt_error *err)
{
    uint64_t line = 1;
    tt_status status = TT_OK;
    for (;;) {
        if (!tt_bytes_reserve(text, READ_BYTES))
            return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                                "%.120s, line %" PRIu64
                                ": longer than the %zu MiB that are read of "
                                "one %s",
                                file, line, TT_BITNET_TEXT_MAX >> 20, by_line ? "line" : "file");
        ssize_t n = read(fd, text->data + text->size, READ_BYTES);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "%.120s: cannot be read: %s", file,
                                strerror(errno));
        text->size += (size_t)n;
        if (by_line) status = take_lines(f, file, &line, text, n == 0, err);
        if (n == 0 || status != TT_OK) break;
    }
    return by_line || status != TT_OK
               ? status
               : tt_bitnet_read_text(f, file, line, (const char *)text->data, text->size, err);
}

/* Opens a regular file; -1 otherwise. */
static int open_file(const char *folder, const char *file, tt_error *err, tt_status *status)
{
    struct stat st;
    char *path = NULL;
    if (asprintf(&path, "%s%s%s", folder ? folder : "", folder ? "/" : "", file) < 0) {
        *status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
        return -1;
    }
    /* Without O_NONBLOCK, opening a pipe without a writer would block. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    free(path);
    *status = TT_OK;
    if (fd < 0 || fstat(fd, &st) != 0)
        *status = tt_error_set(err, errno == ENOENT ? TT_E_NOT_FOUND : TT_E_IO, TT_NO_OFFSET,
                               "%.120s: cannot be opened: %s", file, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        *status =
            tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                         "%.120s: it is no regular file, and cannot be read as records", file);
    if (*status == TT_OK) return fd;
    if (fd >= 0) (void)close(fd);
    return -1;
}

tt_status tt_bitnet_read_file(tt_bitnet_folder *f, const char *folder, const char *file,
                              tt_error *err)
{
    tt_bytes text;
    tt_status status;
    size_t before = f->n, length = strlen(file);
    bool by_line = length > 6 && strcmp(file + length - 6, ".jsonl") == 0;
    int fd = open_file(folder, file, err, &status);
    if (fd < 0) return status;
    tt_bytes_init(&text, TT_BITNET_TEXT_MAX + READ_BYTES);
    status = read_stream(f, file, fd, by_line, &text, err);
    tt_bytes_free(&text);
    (void)close(fd);
    if (status == TT_OK && f->n == before)
        status = tt_error_set(err, TT_E_TRUNCATED, TT_NO_OFFSET,
                              "%.120s: it is empty: there is no record", file);
    return status;
}

/* Messages begin with the file's name. */
static void put_folder(tt_error *err, tt_status status, const char *path)
{
    char what[sizeof err->message];
    if (!err) return;
    memcpy(what, err->message, sizeof what);
    (void)tt_error_set(err, status, TT_NO_OFFSET, "%.120s/%s", path, what);
}

tt_status tt_bitnet_read(tt_bitnet_folder *f, const char *path, tt_error *err)
{
    bool single;
    memset(f, 0, sizeof *f);
    tt_status status = tt_bitnet_list(f, path, &single, err);
    for (size_t i = 0; i < f->n_files && status == TT_OK; i++) {
        status = tt_bitnet_read_file(f, single ? NULL : path, f->files[i], err);
        if (status != TT_OK && !single) put_folder(err, status, path);
    }
    return status;
}
