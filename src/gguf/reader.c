#include "gguf/reader.h"

#include "base/order.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A text that is safe to print: control bytes become '?', long ones are cut. */
#define TT_GGUF_SHOWN 72

static const tt_gguf_kv *gguf_part_find(const tt_gguf_part *part, const char *key);

/* Minimum bytes of a pair and of a tensor description; counts are checked against them. */
#define KV_BYTES_MIN (8u + 1u + 4u + 1u)
#define TENSOR_BYTES_MIN (8u + 4u + 4u + 8u)

typedef struct parser {
    tt_cursor c;
    uint64_t file_size;
    tt_gguf_part *part;
    tt_gguf_tensor *tensors;
    tt_span *names; /* the tensors' names inside the header */
    uint64_t n_tensors;
    uint64_t more; /* bytes of the file needed to read past the prefix */
    tt_error *err;
} parser;

static char *gguf_show(char out[TT_GGUF_SHOWN], tt_span text)
{
    size_t n = text.size < TT_GGUF_SHOWN - 4 ? text.size : TT_GGUF_SHOWN - 4;
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(text.data[i] < 0x20 || text.data[i] == 0x7f ? '?' : text.data[i]);
    memcpy(out + n, n < text.size ? "..." : "", n < text.size ? 4 : 1);
    return out;
}

#define FAIL(p, status, at, ...) tt_error_set((p)->err, (status), (at), __VA_ARGS__)

/* Checks that n more bytes are in the file and in the prefix. */
static tt_status need(parser *p, uint64_t n, const char *what)
{
    uint64_t left = p->file_size - p->c.at;
    if (n > left)
        return FAIL(p, TT_E_TRUNCATED, p->c.at,
                    "%s: the file ends within %s (%" PRIu64 " bytes needed, %" PRIu64 " left)",
                    p->part->path, what, n, left);
    if (n <= tt_cursor_left(&p->c)) return TT_OK;
    p->more = p->c.at + n;
    return FAIL(p, TT_E_TRUNCATED, p->c.at,
                "%s: the header goes on beyond the bytes given, within %s", p->part->path, what);
}

static tt_status take_u32(parser *p, uint32_t *v, const char *what)
{
    tt_status status = need(p, 4, what);
    if (status == TT_OK) *v = tt_cursor_u32(&p->c);
    return status;
}

static tt_status take_u64(parser *p, uint64_t *v, const char *what)
{
    tt_status status = need(p, 8, what);
    if (status == TT_OK) *v = tt_cursor_u64(&p->c);
    return status;
}

/* Reads a length field and that many bytes. */
static tt_status take_string(parser *p, tt_span *out, uint64_t max, const char *what)
{
    uint64_t at = p->c.at;
    uint64_t n = 0;
    tt_status status = take_u64(p, &n, what);
    if (status != TT_OK) return status;
    if (n > p->file_size - p->c.at)
        return FAIL(p, TT_E_TRUNCATED, at,
                    "%s: %s claims %" PRIu64 " bytes, but %" PRIu64 " are left in the file",
                    p->part->path, what, n, p->file_size - p->c.at);
    if (n > max)
        return FAIL(p, TT_E_LIMIT, at, "%s: %s is %" PRIu64 " bytes long; the limit is %" PRIu64,
                    p->part->path, what, n, max);
    status = need(p, n, what);
    if (status == TT_OK) *out = tt_cursor_take(&p->c, (size_t)n);
    return status;
}

static tt_status parse_version(parser *p)
{
    uint32_t v = 0;
    tt_status status = take_u32(p, &v, "the version");
    if (status != TT_OK) return status;
    p->part->version = v;
    if (v == 2 || v == TT_GGUF_VERSION) return TT_OK;
    if (v == 1)
        return FAIL(p, TT_E_UNSUPPORTED, 4,
                    "%s: GGUF version 1 is not supported; convert the model again", p->part->path);
    if (v != 0 && (v & 0xffffu) == 0)
        return FAIL(p, TT_E_UNSUPPORTED, 4,
                    "%s: a big-endian GGUF file; only little-endian is supported", p->part->path);
    return FAIL(p, v == 0 ? TT_E_FORMAT : TT_E_UNSUPPORTED, 4,
                "%s: GGUF version %" PRIu32 "; versions 2 and 3 are supported", p->part->path, v);
}

/* Reads a count of items, of at least `each` bytes, that must fit into the rest of the file. */
static tt_status take_count(parser *p, uint64_t *n, uint64_t each, uint64_t max, const char *what)
{
    uint64_t at = p->c.at;
    tt_status status = take_u64(p, n, what);
    if (status != TT_OK) return status;
    if (*n > (p->file_size - p->c.at) / each)
        return FAIL(p, TT_E_TRUNCATED, at,
                    "%s: %s is %" PRIu64 ", more than the %" PRIu64
                    " bytes left in the file can hold",
                    p->part->path, what, *n, p->file_size - p->c.at);
    if (*n > max)
        return FAIL(p, TT_E_LIMIT, at, "%s: %s is %" PRIu64 "; the limit is %" PRIu64,
                    p->part->path, what, *n, max);
    return TT_OK;
}

static tt_status parse_fixed_header(parser *p, uint64_t *n_kvs)
{
    tt_status status = need(p, 4, "the magic number");
    if (status != TT_OK) return status;
    tt_span magic = tt_cursor_take(&p->c, 4);
    if (memcmp(magic.data, "GGUF", 4) != 0)
        return FAIL(p, TT_E_FORMAT, 0, "%s: not a GGUF file (it begins with %02x %02x %02x %02x)",
                    p->part->path, magic.data[0], magic.data[1], magic.data[2], magic.data[3]);
    status = parse_version(p);
    if (status != TT_OK) return status;
    status = take_count(p, &p->n_tensors, TENSOR_BYTES_MIN, TT_GGUF_TENSORS_MAX,
                        "the number of tensors");
    if (status != TT_OK) return status;
    return take_count(p, n_kvs, KV_BYTES_MIN, TT_GGUF_KVS_MAX, "the number of key-value pairs");
}

/* Skips `n` values of a kind; array elements may be arrays. */
static tt_status skip_values(parser *p, uint32_t kind, uint64_t n, unsigned depth)
{
    size_t size = tt_gguf_kind_size((tt_gguf_kind)kind);
    if (size) {
        if (n > (p->file_size - p->c.at) / size)
            return FAIL(p, TT_E_TRUNCATED, p->c.at,
                        "%s: %" PRIu64 " values of type %s do not fit in the %" PRIu64
                        " bytes left in the file",
                        p->part->path, n, tt_gguf_kind_name((tt_gguf_kind)kind),
                        p->file_size - p->c.at);
        tt_status status = need(p, n * size, "a metadata value");
        if (status == TT_OK) (void)tt_cursor_take(&p->c, (size_t)(n * size));
        return status;
    }
    if (kind != TT_GGUF_STRING && kind != TT_GGUF_ARRAY)
        return FAIL(p, TT_E_FORMAT, p->c.at - 12, "%s: unknown metadata value type %" PRIu32,
                    p->part->path, kind);
    if (kind == TT_GGUF_ARRAY && depth == TT_GGUF_NESTING_MAX)
        return FAIL(p, TT_E_LIMIT, p->c.at, "%s: arrays are nested more than %u deep",
                    p->part->path, TT_GGUF_NESTING_MAX);
    for (uint64_t i = 0; i < n; i++) {
        tt_span text;
        uint32_t inner = 0;
        uint64_t count = 0;
        tt_status status;
        if (kind == TT_GGUF_STRING) {
            status = take_string(p, &text, UINT64_MAX, "a metadata string");
        } else {
            status = take_u32(p, &inner, "an array's element type");
            if (status == TT_OK) status = take_count(p, &count, 1, UINT64_MAX, "an array's length");
            if (status == TT_OK) status = skip_values(p, inner, count, depth + 1);
        }
        if (status != TT_OK) return status;
    }
    return TT_OK;
}

static tt_status parse_kv(parser *p, tt_gguf_kv *kv)
{
    uint32_t kind = 0;
    kv->offset = p->c.at;
    tt_status status = take_string(p, &kv->key, TT_GGUF_KEY_MAX, "a metadata key");
    if (status != TT_OK) return status;
    if (kv->key.size == 0)
        return FAIL(p, TT_E_FORMAT, kv->offset, "%s: an empty metadata key", p->part->path);
    status = take_u32(p, &kind, "a metadata value's type");
    if (status != TT_OK) return status;
    kv->count = 1;
    if (kind == TT_GGUF_ARRAY) {
        kv->is_array = true;
        status = take_u32(p, &kind, "an array's element type");
        if (status == TT_OK) status = take_count(p, &kv->count, 1, UINT64_MAX, "an array's length");
        if (status != TT_OK) return status;
    }
    char shown[TT_GGUF_SHOWN];
    if (!tt_gguf_kind_name((tt_gguf_kind)kind))
        return FAIL(p, TT_E_FORMAT, p->c.at - (kv->is_array ? 12 : 4),
                    "%s: metadata key '%s' has unknown value type %" PRIu32, p->part->path,
                    gguf_show(shown, kv->key), kind);
    kv->kind = (tt_gguf_kind)kind;
    size_t begin = p->c.at;
    status = skip_values(p, kind, kv->count, 1);
    kv->value = (tt_span){p->c.data + begin, p->c.at - begin};
    return status;
}

static int compare_spans(tt_span a, tt_span b)
{
    size_t n = a.size < b.size ? a.size : b.size;
    int order = n ? memcmp(a.data, b.data, n) : 0;
    if (order != 0) return order;
    return (a.size > b.size) - (a.size < b.size);
}

static int compare_keys(const void *a, const void *b)
{
    const tt_gguf_kv *const *x = a;
    const tt_gguf_kv *const *y = b;
    int order = compare_spans((*x)->key, (*y)->key);
    return order ? order : ((*x)->offset > (*y)->offset) - ((*x)->offset < (*y)->offset);
}

static tt_status check_keys(parser *p)
{
    const tt_gguf_part *part = p->part;
    if (part->n_kvs < 2) return TT_OK;
    const tt_gguf_kv **sorted = malloc(part->n_kvs * sizeof *sorted);
    if (!sorted) return FAIL(p, TT_E_MEMORY, TT_NO_OFFSET, "%s: out of memory", part->path);
    for (size_t i = 0; i < part->n_kvs; i++)
        sorted[i] = &part->kvs[i];
    qsort(sorted, part->n_kvs, sizeof *sorted, compare_keys);
    tt_status status = TT_OK;
    for (size_t i = 1; i < part->n_kvs && status == TT_OK; i++) {
        char shown[TT_GGUF_SHOWN];
        if (compare_spans(sorted[i - 1]->key, sorted[i]->key) == 0)
            status = FAIL(p, TT_E_FORMAT, sorted[i]->offset,
                          "%s: metadata key '%s' appears twice (first at byte %" PRIu64 ")",
                          part->path, gguf_show(shown, sorted[i]->key), sorted[i - 1]->offset);
    }
    free(sorted);
    return status;
}

static tt_status parse_kvs(parser *p, uint64_t n)
{
    if (n == 0) return TT_OK;
    p->part->kvs = calloc((size_t)n, sizeof *p->part->kvs);
    if (!p->part->kvs)
        return FAIL(p, TT_E_MEMORY, TT_NO_OFFSET, "%s: out of memory", p->part->path);
    for (uint64_t i = 0; i < n; i++) {
        tt_status status = parse_kv(p, &p->part->kvs[i]);
        if (status != TT_OK) return status;
        p->part->n_kvs++;
    }
    return check_keys(p);
}

static tt_status parse_alignment(parser *p)
{
    const tt_gguf_kv *kv = gguf_part_find(p->part, "general.alignment");
    p->part->alignment = TT_GGUF_ALIGNMENT_DEFAULT;
    if (!kv) return TT_OK;
    uint64_t v = 0;
    if (kv->is_array || kv->kind != TT_GGUF_U32 || !tt_gguf_kv_u64(kv, 0, &v))
        return FAIL(p, TT_E_FORMAT, kv->offset, "%s: general.alignment must be one u32",
                    p->part->path);
    if (v == 0 || (v & (v - 1)) != 0)
        return FAIL(p, TT_E_FORMAT, kv->offset,
                    "%s: general.alignment is %" PRIu64 ", which is not a power of two",
                    p->part->path, v);
    p->part->alignment = (uint32_t)v;
    return TT_OK;
}

static tt_status parse_shape(parser *p, tt_gguf_tensor *t, const char *shown)
{
    uint64_t at = p->c.at;
    tt_status status = take_u32(p, &t->n_dims, "a tensor's number of dimensions");
    if (status != TT_OK) return status;
    if (t->n_dims > TT_GGUF_DIMS_MAX)
        return FAIL(p, TT_E_FORMAT, at,
                    "%s: tensor '%s' has %" PRIu32 " dimensions; the limit is %u", p->part->path,
                    shown, t->n_dims, TT_GGUF_DIMS_MAX);
    int64_t elements = 1;
    for (uint32_t i = 0; i < TT_GGUF_DIMS_MAX; i++) {
        t->ne[i] = 1;
        if (i >= t->n_dims) continue;
        at = p->c.at;
        status = take_u64(p, &t->ne[i], "a tensor's dimension");
        if (status != TT_OK) return status;
        if (t->ne[i] > INT64_MAX || __builtin_mul_overflow(elements, (int64_t)t->ne[i], &elements))
            return FAIL(p, TT_E_FORMAT, at, "%s: tensor '%s' has more elements than 63 bits count",
                        p->part->path, shown);
    }
    return TT_OK;
}

static tt_status parse_type(parser *p, tt_gguf_tensor *t, const char *shown)
{
    uint64_t at = p->c.at;
    uint32_t id = 0;
    tt_status status = take_u32(p, &id, "a tensor's type");
    if (status != TT_OK) return status;
    t->type = tt_ggml_type_find(id);
    if (!t->type)
        return FAIL(p, TT_E_UNSUPPORTED, at,
                    "%s: tensor '%s' has type %" PRIu32 ", which ggml does not have"
                    " or had not when this program was made",
                    p->part->path, shown, id);
    if (t->ne[0] % t->type->block_elements != 0)
        return FAIL(p, TT_E_FORMAT, at,
                    "%s: tensor '%s' has rows of %" PRIu64
                    " elements, not a multiple of the %" PRIu32 " that a block of %s holds",
                    p->part->path, shown, t->ne[0], t->type->block_elements, t->type->name);
    uint64_t blocks = t->ne[0] / t->type->block_elements * t->ne[1] * t->ne[2] * t->ne[3];
    if (__builtin_mul_overflow(blocks, (uint64_t)t->type->block_bytes, &t->size_bytes))
        return FAIL(p, TT_E_FORMAT, at, "%s: tensor '%s' has more bytes than 64 bits count",
                    p->part->path, shown);
    return TT_OK;
}

static tt_status parse_tensor(parser *p, tt_gguf_tensor *t, tt_span *name)
{
    char shown[TT_GGUF_SHOWN];
    t->info_offset = p->c.at;
    tt_status status = take_string(p, name, TT_GGUF_NAME_MAX, "a tensor's name");
    if (status != TT_OK) return status;
    gguf_show(shown, *name);
    if (name->size && memchr(name->data, 0, name->size))
        return FAIL(p, TT_E_FORMAT, t->info_offset, "%s: the tensor name '%s' contains a zero byte",
                    p->part->path, shown);
    status = parse_shape(p, t, shown);
    if (status == TT_OK) status = parse_type(p, t, shown);
    if (status != TT_OK) return status;
    uint64_t at = p->c.at;
    status = take_u64(p, &t->offset, "a tensor's offset"); /* relative until place_tensors */
    if (status != TT_OK) return status;
    if (t->offset % p->part->alignment != 0)
        return FAIL(p, TT_E_FORMAT, at,
                    "%s: tensor '%s' begins at data offset %" PRIu64
                    ", not a multiple of the alignment %" PRIu32,
                    p->part->path, shown, t->offset, p->part->alignment);
    return TT_OK;
}

static tt_status parse_tensors(parser *p)
{
    if (p->n_tensors == 0) return TT_OK;
    size_t n = (size_t)p->n_tensors;
    p->tensors = calloc(n, sizeof *p->tensors);
    p->names = calloc(n, sizeof *p->names);
    if (!p->tensors || !p->names)
        return FAIL(p, TT_E_MEMORY, TT_NO_OFFSET, "%s: out of memory", p->part->path);
    for (size_t i = 0; i < n; i++) {
        tt_status status = parse_tensor(p, &p->tensors[i], &p->names[i]);
        if (status != TT_OK) return status;
    }
    return TT_OK;
}

/* Gives every tensor a NUL-terminated name in one allocation. */
static tt_status copy_names(parser *p)
{
    size_t total = 1;
    for (uint64_t i = 0; i < p->n_tensors; i++)
        total += p->names[i].size + 1;
    char *at = p->part->names = malloc(total);
    if (!at) return FAIL(p, TT_E_MEMORY, TT_NO_OFFSET, "%s: out of memory", p->part->path);
    for (uint64_t i = 0; i < p->n_tensors; i++) {
        p->tensors[i].name = at;
        if (p->names[i].size) memcpy(at, p->names[i].data, p->names[i].size);
        at[p->names[i].size] = '\0';
        at += p->names[i].size + 1;
    }
    return TT_OK;
}

TT_ORDER_BY(compare_offsets, tt_gguf_tensor, offset, size_bytes, info_offset)

static uint64_t align_up(uint64_t v, uint64_t alignment)
{
    return v > UINT64_MAX - (alignment - 1) ? UINT64_MAX : (v + alignment - 1) & ~(alignment - 1);
}

static tt_status place_tensors(parser *p)
{
    tt_gguf_part *part = p->part;
    part->data_offset = align_up(p->c.at, part->alignment);
    for (uint64_t i = 0; i < p->n_tensors; i++) {
        tt_gguf_tensor *t = &p->tensors[i];
        uint64_t end = 0;
        char shown[TT_GGUF_SHOWN];
        tt_span name = p->names[i];
        if (__builtin_add_overflow(t->offset, part->data_offset, &t->offset) ||
            __builtin_add_overflow(t->offset, t->size_bytes, &end) || end > p->file_size)
            return FAIL(p, TT_E_TRUNCATED, t->info_offset,
                        "%s: tensor '%s' (%" PRIu64 " bytes at byte %" PRIu64
                        ") does not fit in the file of %" PRIu64 " bytes",
                        part->path, gguf_show(shown, name), t->size_bytes, t->offset, p->file_size);
    }
    tt_status status = copy_names(p);
    if (status != TT_OK) return status;
    if (p->n_tensors) qsort(p->tensors, (size_t)p->n_tensors, sizeof *p->tensors, compare_offsets);
    uint64_t end = part->data_offset;
    for (uint64_t i = 0; i < p->n_tensors; i++) {
        const tt_gguf_tensor *t = &p->tensors[i];
        char one[TT_GGUF_SHOWN], two[TT_GGUF_SHOWN];
        if (t->offset < end && t->size_bytes)
            return FAIL(
                p, TT_E_FORMAT, t->info_offset,
                "%s: tensor '%s' at byte %" PRIu64 " overlaps '%s', which ends at byte %" PRIu64,
                part->path, gguf_show(one, (tt_span){(const uint8_t *)t->name, strlen(t->name)}),
                t->offset,
                gguf_show(two, (tt_span){(const uint8_t *)t[-1].name, strlen(t[-1].name)}), end);
        uint64_t expected = align_up(end, part->alignment);
        if (t->offset > expected) part->gap_bytes += t->offset - expected;
        if (t->offset + t->size_bytes > end) end = t->offset + t->size_bytes;
    }
    return TT_OK;
}

static int compare_names(const void *a, const void *b)
{
    const tt_gguf_tensor *const *x = a;
    const tt_gguf_tensor *const *y = b;
    int order = strcmp((*x)->name, (*y)->name);
    if (order) return order;
    if ((*x)->part != (*y)->part) return (*x)->part < (*y)->part ? -1 : 1;
    return ((*x)->info_offset > (*y)->info_offset) - ((*x)->info_offset < (*y)->info_offset);
}

/* Fails with TT_E_FORMAT, naming both places, when two tensors have the same name. */
static tt_status gguf_check_names(const tt_gguf_part *parts, const tt_gguf_tensor *tensors,
                                  size_t n_tensors, tt_error *err)
{
    if (n_tensors < 2) return TT_OK;
    const tt_gguf_tensor **sorted = malloc(n_tensors * sizeof *sorted);
    if (!sorted) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    for (size_t i = 0; i < n_tensors; i++)
        sorted[i] = &tensors[i];
    qsort(sorted, n_tensors, sizeof *sorted, compare_names);
    tt_status status = TT_OK;
    for (size_t i = 1; i < n_tensors && status == TT_OK; i++) {
        const tt_gguf_tensor *t = sorted[i];
        const tt_gguf_tensor *first = sorted[i - 1];
        char shown[TT_GGUF_SHOWN];
        if (strcmp(first->name, t->name) != 0) continue;
        status = tt_error_set(
            err, TT_E_FORMAT, t->info_offset,
            "%s: tensor '%s' appears twice (first at byte %" PRIu64 " of %s)", parts[t->part].path,
            gguf_show(shown, (tt_span){(const uint8_t *)t->name, strlen(t->name)}),
            first->info_offset, parts[first->part].path);
    }
    free(sorted);
    return status;
}

/* A pair of that part by its key, or NULL. */
static const tt_gguf_kv *gguf_part_find(const tt_gguf_part *part, const char *key)
{
    size_t size = strlen(key);
    for (size_t i = 0; i < part->n_kvs; i++)
        if (part->kvs[i].key.size == size && memcmp(part->kvs[i].key.data, key, size) == 0)
            return &part->kvs[i];
    return NULL;
}

/* Frees what parsing allocated for the part (not its path, not its header bytes). */
static void gguf_part_clear(tt_gguf_part *part)
{
    free(part->kvs);
    free(part->names);
    tt_gguf_part empty = {.path = part->path, .header = part->header};
    *part = empty;
}

/* Parses the header at the start of `prefix` into *part and *tensors (malloc'ed, *n_tensors of
 * them, sorted by offset). part->path must be set; part->kvs point into `prefix`. If the header
 * exceeds `prefix` but the file of `file_size` bytes goes on, *more is set to the minimum of
 * bytes needed and the result is TT_E_TRUNCATED. On failure *part keeps its path only. */
static tt_status gguf_parse_header(tt_gguf_part *part, tt_gguf_tensor **tensors, size_t *n_tensors,
                                   tt_span prefix, uint64_t file_size, uint64_t *more,
                                   tt_error *err)
{
    parser p = {.c = tt_cursor_of(prefix.data, prefix.size),
                .file_size = file_size,
                .part = part,
                .err = err};
    uint64_t n_kvs = 0;
    part->size_bytes = file_size;
    tt_status status = parse_fixed_header(&p, &n_kvs);
    if (status == TT_OK) status = parse_kvs(&p, n_kvs);
    if (status == TT_OK) status = parse_alignment(&p);
    if (status == TT_OK) status = parse_tensors(&p);
    if (status == TT_OK) status = place_tensors(&p);
    if (status == TT_OK) status = gguf_check_names(part, p.tensors, (size_t)p.n_tensors, err);
    free(p.names);
    *more = p.more;
    if (status != TT_OK) {
        free(p.tensors);
        gguf_part_clear(part);
        return status;
    }
    *tensors = p.tensors;
    *n_tensors = (size_t)p.n_tensors;
    return TT_OK;
}

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
        status = gguf_parse_header(part, tensors, n_tensors, prefix, file_size, &more, err);
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
    const tt_gguf_kv *kv = gguf_part_find(part, key);
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
    return gguf_check_names(parts, model->tensors, model->n_tensors, err);
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
        status = gguf_parse_header(&model->parts[0], &model->tensors, &model->n_tensors,
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
        gguf_part_clear(&model->parts[i]);
        free(model->parts[i].header);
        free(model->parts[i].path);
    }
    free(model->parts);
    free(model->tensors);
    memset(model, 0, sizeof *model);
}

const tt_gguf_kv *tt_gguf_find(const tt_gguf *model, const char *key)
{
    return model->n_parts ? gguf_part_find(&model->parts[0], key) : NULL;
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
