#include "gguf/reader.h"

#include "gguf/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_READ ((size_t)256 << 10)

/* Length of "-00001-of-00003.gguf". */
#define SPLIT_SUFFIX 20u

static tt_status out_of_memory(const char *path, tt_error *err)
{
    return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "%s: out of memory", path);
}

/* Extends *data, which holds the file's first *size bytes, to `want` bytes. */
static tt_status read_more(int fd, const char *path, uint8_t **data, size_t *size, size_t want,
                           tt_error *err)
{
    uint8_t *bigger = realloc(*data, want);
    if (!bigger) return out_of_memory(path, err);
    *data = bigger;
    while (*size < want) {
        ssize_t got = pread(fd, *data + *size, want - *size, (off_t)*size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return tt_error_set(err, TT_E_IO, *size, "%s: cannot read: %s", path, strerror(errno));
        if (got == 0)
            return tt_error_set(err, TT_E_TRUNCATED, *size, "%s: became shorter while it was read",
                                path);
        *size += (size_t)got;
    }
    return TT_OK;
}

/* Reads longer and longer prefixes until the header is complete, so that a model of many
 * gigabytes costs no more than its header. */
static tt_status read_header(int fd, uint64_t file_size, tt_gguf_part *part,
                             tt_gguf_tensor **tensors, size_t *n_tensors, tt_error *err)
{
    size_t size = 0;
    uint64_t want = FIRST_READ;
    for (;;) {
        uint64_t more = 0;
        if (want > file_size) want = file_size;
        if (want > TT_GGUF_HEADER_MAX) want = TT_GGUF_HEADER_MAX;
        tt_status status = read_more(fd, part->path, &part->header, &size, (size_t)want, err);
        if (status != TT_OK) return status;
        tt_span prefix = {part->header, size};
        status = tt_gguf_parse_header(part, tensors, n_tensors, prefix, file_size, &more, err);
        if (status == TT_OK || more == 0) return status;
        if (more > TT_GGUF_HEADER_MAX)
            return tt_error_set(err, TT_E_LIMIT, size,
                                "%s: the header is longer than the limit of %u bytes", part->path,
                                TT_GGUF_HEADER_MAX);
        want = more > (uint64_t)size * 2 ? more : (uint64_t)size * 2;
    }
}

static tt_status open_part(tt_gguf_part *part, const char *path, tt_gguf_tensor **tensors,
                           size_t *n_tensors, tt_error *err)
{
    struct stat st;
    part->path = strdup(path);
    if (!part->path) return out_of_memory(path, err);
    /* Without O_NONBLOCK, opening a pipe would wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return tt_error_set(err, errno == ENOENT ? TT_E_NOT_FOUND : TT_E_IO, TT_NO_OFFSET,
                            "%s: cannot open: %s", path, strerror(errno));
    tt_status status;
    if (fstat(fd, &st) != 0)
        status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
        status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "%s: not a regular file", path);
    else if (st.st_size <= 0)
        status = tt_error_set(err, TT_E_TRUNCATED, 0, "%s: the file is empty", path);
    else
        status = read_header(fd, (uint64_t)st.st_size, part, tensors, n_tensors, err);
    (void)close(fd);
    return status;
}

/* Appends the tensors of another part; takes over `tensors`. */
static tt_status append_tensors(tt_gguf *model, size_t part, tt_gguf_tensor *tensors, size_t n,
                                tt_error *err)
{
    const char *path = model->parts[part].path;
    for (size_t i = 0; i < n; i++)
        tensors[i].part = (uint32_t)part;
    model->size_bytes += model->parts[part].size_bytes;
    if (model->n_tensors == 0) {
        free(model->tensors);
        model->tensors = tensors;
        model->n_tensors = n;
        return TT_OK;
    }
    tt_status status = TT_OK;
    if (n > TT_GGUF_TENSORS_MAX - model->n_tensors) {
        status = tt_error_set(err, TT_E_LIMIT, 8, "%s: the model has more than %u tensors", path,
                              TT_GGUF_TENSORS_MAX);
    } else if (n) {
        tt_gguf_tensor *all = realloc(model->tensors, (model->n_tensors + n) * sizeof *all);
        if (all) {
            memcpy(all + model->n_tensors, tensors, n * sizeof *all);
            model->tensors = all;
            model->n_tensors += n;
        } else {
            status = out_of_memory(path, err);
        }
    }
    free(tensors);
    return status;
}

/* The part's own integer, or `missing`. */
static uint64_t part_u64(const tt_gguf_part *part, const char *key, uint64_t missing)
{
    const tt_gguf_kv *kv = tt_gguf_part_find(part, key);
    uint64_t v = missing;
    return kv && !kv->is_array && tt_gguf_kv_u64(kv, 0, &v) ? v : missing;
}

/* "NAME-00002-of-00003.gguf" for number 2 of 3, from the path of any part; NULL when that is not
 * a split file's path. malloc'ed. */
static char *sibling_path(const char *path, uint64_t number, uint64_t count)
{
    size_t size = strlen(path);
    unsigned a = 0, b = 0;
    int used = 0;
    if (size < SPLIT_SUFFIX) return NULL;
    const char *tail = path + size - SPLIT_SUFFIX;
    if (sscanf(tail, "-%5u-of-%5u.gguf%n", &a, &b, &used) != 2 || used != (int)SPLIT_SUFFIX)
        return NULL;
    char *out = NULL;
    if (asprintf(&out, "%.*s-%05" PRIu64 "-of-%05" PRIu64 ".gguf", (int)(size - SPLIT_SUFFIX), path,
                 number, count) < 0)
        return NULL;
    return out;
}

static tt_status check_sibling(const tt_gguf_part *part, uint64_t index, uint64_t count,
                               tt_error *err)
{
    uint64_t no = part_u64(part, "split.no", UINT64_MAX);
    uint64_t of = part_u64(part, "split.count", UINT64_MAX);
    if (no == index && of == count) return TT_OK;
    if (no == UINT64_MAX || of == UINT64_MAX)
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                            "%s: lacks split.no or split.count, so it is not part %" PRIu64
                            " of %" PRIu64,
                            part->path, index + 1, count);
    return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                        "%s: says it is part %" PRIu64 " of %" PRIu64 "; part %" PRIu64
                        " of %" PRIu64 " was expected",
                        part->path, no + 1, of, index + 1, count);
}

static tt_status first_part_wanted(const tt_gguf_part *part, uint64_t count, tt_error *err)
{
    char *first = sibling_path(part->path, 1, count);
    tt_status status = tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                                    "%s: a later part of a split model; give the first%s%s",
                                    part->path, first ? ": " : "", first ? first : "");
    free(first);
    return status;
}

static tt_status open_siblings(tt_gguf *model, uint64_t count, tt_error *err)
{
    const char *first = model->parts[0].path;
    if (count > TT_GGUF_PARTS_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "%s: split into %" PRIu64 " files; the limit is %u", first, count,
                            TT_GGUF_PARTS_MAX);
    tt_gguf_part *parts = realloc(model->parts, (size_t)count * sizeof *parts);
    if (!parts) return out_of_memory(first, err);
    model->parts = parts;
    memset(parts + 1, 0, ((size_t)count - 1) * sizeof *parts);
    for (size_t i = 1; i < count; i++) {
        tt_gguf_tensor *tensors = NULL;
        size_t n = 0;
        char *path = sibling_path(parts[0].path, i + 1, count);
        if (!path)
            return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                                "%s: part 1 of %" PRIu64
                                " by its metadata, but not named NAME-00001-of-%05" PRIu64 ".gguf",
                                parts[0].path, count, count);
        model->n_parts = i + 1;
        tt_status status = open_part(&parts[i], path, &tensors, &n, err);
        free(path);
        if (status == TT_OK) status = append_tensors(model, i, tensors, n, err);
        if (status == TT_OK) status = check_sibling(&parts[i], i, count, err);
        if (status != TT_OK) return status;
    }
    uint64_t announced = part_u64(&parts[0], "split.tensors.count", model->n_tensors);
    if (announced != model->n_tensors)
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                            "%s: announces %" PRIu64 " tensors in all parts, but they have %zu",
                            parts[0].path, announced, model->n_tensors);
    return tt_gguf_check_names(parts, model->tensors, model->n_tensors, err);
}

tt_status tt_gguf_open(tt_gguf *model, const char *path, tt_error *err)
{
    tt_gguf_tensor *tensors = NULL;
    size_t n = 0;
    memset(model, 0, sizeof *model);
    model->parts = calloc(1, sizeof *model->parts);
    if (!model->parts) return out_of_memory(path, err);
    model->n_parts = 1;
    tt_status status = open_part(&model->parts[0], path, &tensors, &n, err);
    if (status == TT_OK) status = append_tensors(model, 0, tensors, n, err);
    if (status == TT_OK) {
        uint64_t count = part_u64(&model->parts[0], "split.count", 1);
        if (part_u64(&model->parts[0], "split.no", 0) != 0)
            status = first_part_wanted(&model->parts[0], count, err);
        else if (count > 1)
            status = open_siblings(model, count, err);
    }
    if (status != TT_OK) tt_gguf_close(model);
    return status;
}

tt_status tt_gguf_parse(tt_gguf *model, const char *path, const void *data, size_t size,
                        uint64_t file_size, tt_error *err)
{
    uint64_t more = 0;
    memset(model, 0, sizeof *model);
    model->parts = calloc(1, sizeof *model->parts);
    if (!model->parts) return out_of_memory(path, err);
    model->n_parts = 1;
    model->parts[0].path = strdup(path);
    tt_status status = TT_OK;
    if (!model->parts[0].path)
        status = out_of_memory(path, err);
    else
        status = tt_gguf_parse_header(&model->parts[0], &model->tensors, &model->n_tensors,
                                      (tt_span){data, size}, file_size, &more, err);
    if (status != TT_OK)
        tt_gguf_close(model);
    else
        model->size_bytes = file_size;
    return status;
}

void tt_gguf_close(tt_gguf *model)
{
    for (size_t i = 0; i < model->n_parts; i++) {
        tt_gguf_part_clear(&model->parts[i]);
        free(model->parts[i].header);
        free(model->parts[i].path);
    }
    free(model->parts);
    free(model->tensors);
    memset(model, 0, sizeof *model);
}

const tt_gguf_kv *tt_gguf_find(const tt_gguf *model, const char *key)
{
    return model->n_parts ? tt_gguf_part_find(&model->parts[0], key) : NULL;
}

const tt_gguf_tensor *tt_gguf_tensor_find(const tt_gguf *model, const char *name)
{
    for (size_t i = 0; i < model->n_tensors; i++)
        if (strcmp(model->tensors[i].name, name) == 0) return &model->tensors[i];
    return NULL;
}

/* The integer at "<architecture>.<key>", or -1. */
static int64_t arch_integer(const tt_gguf *model, tt_span architecture, const char *key)
{
    char full[256];
    uint64_t v = 0;
    int n = snprintf(full, sizeof full, "%.*s.%s",
                     (int)(architecture.size < 128 ? architecture.size : 128),
                     (const char *)architecture.data, key);
    if (n < 0 || (size_t)n >= sizeof full) return -1;
    const tt_gguf_kv *kv = tt_gguf_find(model, full);
    return kv && tt_gguf_kv_u64(kv, 0, &v) && v <= INT64_MAX ? (int64_t)v : -1;
}

static tt_span text_of(const tt_gguf *model, const char *key)
{
    const tt_gguf_kv *kv = tt_gguf_find(model, key);
    return kv ? tt_gguf_kv_string(kv) : (tt_span){NULL, 0};
}

tt_gguf_shape tt_gguf_shape_of(const tt_gguf *model)
{
    tt_gguf_shape s = {.n_vocab = -1};
    s.architecture = text_of(model, "general.architecture");
    s.name = text_of(model, "general.name");
    s.n_layers = s.n_embd = s.n_heads = s.n_experts = s.n_experts_used = -1;
    if (s.architecture.data) {
        s.n_layers = arch_integer(model, s.architecture, "block_count");
        s.n_vocab = arch_integer(model, s.architecture, "vocab_size");
        s.n_embd = arch_integer(model, s.architecture, "embedding_length");
        s.n_heads = arch_integer(model, s.architecture, "attention.head_count");
        s.n_experts = arch_integer(model, s.architecture, "expert_count");
        s.n_experts_used = arch_integer(model, s.architecture, "expert_used_count");
    }
    const tt_gguf_kv *tokens = tt_gguf_find(model, "tokenizer.ggml.tokens");
    if (s.n_vocab < 0 && tokens && tokens->is_array) s.n_vocab = (int64_t)tokens->count;
    return s;
}
