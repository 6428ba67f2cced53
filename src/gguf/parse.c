#include "gguf/parse.h"

#include "base/order.h"

#include <inttypes.h>
#include <stdlib.h>

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
    const tt_gguf_kv *kv = tt_gguf_part_find(p->part, "general.alignment");
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

tt_status tt_gguf_check_names(const tt_gguf_part *parts, const tt_gguf_tensor *tensors,
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

const tt_gguf_kv *tt_gguf_part_find(const tt_gguf_part *part, const char *key)
{
    size_t size = strlen(key);
    for (size_t i = 0; i < part->n_kvs; i++)
        if (part->kvs[i].key.size == size && memcmp(part->kvs[i].key.data, key, size) == 0)
            return &part->kvs[i];
    return NULL;
}

void tt_gguf_part_clear(tt_gguf_part *part)
{
    free(part->kvs);
    free(part->names);
    tt_gguf_part empty = {.path = part->path, .header = part->header};
    *part = empty;
}

tt_status tt_gguf_parse_header(tt_gguf_part *part, tt_gguf_tensor **tensors, size_t *n_tensors,
                               tt_span prefix, uint64_t file_size, uint64_t *more, tt_error *err)
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
    if (status == TT_OK) status = tt_gguf_check_names(part, p.tensors, (size_t)p.n_tensors, err);
    free(p.names);
    *more = p.more;
    if (status != TT_OK) {
        free(p.tensors);
        tt_gguf_part_clear(part);
        return status;
    }
    *tensors = p.tensors;
    *n_tensors = (size_t)p.n_tensors;
    return TT_OK;
}
