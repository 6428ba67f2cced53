#include "gguf.h"

#include "dequant.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT_MAX 100000u /* of keys and of tensors */
#define STRING 8u
#define ARRAY 9u

/* Where the reader is. Once a read goes past the end, all are zero and `bad` stays. */
typedef struct cursor {
    const uint8_t *at, *end;
    bool bad;
} cursor;

static const uint8_t *take(cursor *c, uint64_t n)
{
    if (c->bad || n > (uint64_t)(c->end - c->at)) {
        c->bad = true;
        return NULL;
    }
    const uint8_t *at = c->at;
    c->at += n;
    return at;
}

static uint64_t take_unsigned(cursor *c, unsigned bytes)
{
    const uint8_t *at = take(c, bytes);
    uint64_t v = 0;
    for (unsigned i = 0; at && i < bytes; i++)
        v |= (uint64_t)at[i] << 8 * i;
    return v;
}

static const char *take_string(cursor *c, size_t *length)
{
    uint64_t n = take_unsigned(c, 8);
    const char *text = (const char *)take(c, n);
    *length = text ? (size_t)n : 0;
    return text;
}

/* Bytes of a value's type; 0: of no fixed size, or unknown. */
static unsigned value_bytes(uint32_t type)
{
    static const uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < sizeof bytes ? bytes[type] : 0;
}

static double number_of(uint32_t type, uint64_t bits)
{
    float f;
    double d;
    uint32_t low = (uint32_t)bits;
    switch (type) {
    case 1:
        return (int8_t)bits;
    case 3:
        return (int16_t)bits;
    case 5:
        return (int32_t)bits;
    case 6:
        memcpy(&f, &low, 4);
        return (double)f;
    case 11:
        return (double)(int64_t)bits;
    case 12:
        memcpy(&d, &bits, 8);
        return d;
    default:
        return (double)bits;
    }
}

static void skip_array(cursor *c)
{
    uint32_t type = (uint32_t)take_unsigned(c, 4);
    uint64_t n = take_unsigned(c, 8);
    size_t length;
    if (type == STRING) {
        for (uint64_t i = 0; i < n && !c->bad; i++)
            take_string(c, &length);
    } else if (!value_bytes(type) || n > SIZE_MAX / 8) {
        c->bad = true;
    } else {
        take(c, n * value_bytes(type));
    }
}

static void read_pair(gguf *g, cursor *c)
{
    gguf_number *number = &g->numbers[g->n_numbers];
    size_t length;
    number->key = take_string(c, &number->key_length);
    uint32_t type = (uint32_t)take_unsigned(c, 4);
    if (type == STRING) {
        take_string(c, &length);
    } else if (type == ARRAY) {
        skip_array(c);
    } else if (value_bytes(type)) {
        number->value = number_of(type, take_unsigned(c, value_bytes(type)));
        if (!c->bad) g->n_numbers++;
    } else {
        c->bad = true;
    }
}

static const char *read_tensor(gguf_tensor *t, cursor *c)
{
    size_t length;
    const char *name = take_string(c, &length);
    if (c->bad || length >= GGUF_NAME_MAX) return "a tensor's name is too long";
    memcpy(t->name, name, length);
    t->n_dims = (uint32_t)take_unsigned(c, 4);
    if (t->n_dims < 1 || t->n_dims > 4) return "a tensor has not 1 to 4 dimensions";
    uint64_t n = 1;
    for (uint32_t i = 0; i < 4; i++) {
        t->ne[i] = i < t->n_dims ? take_unsigned(c, 8) : 1;
        if (t->ne[i] < 1 || t->ne[i] > UINT32_MAX / n) return "a tensor's shape is impossible";
        n *= t->ne[i];
    }
    t->type = (uint32_t)take_unsigned(c, 4);
    t->offset = take_unsigned(c, 8);
    const type_layout *layout = type_find(t->type);
    if (!layout) return "a tensor has a type that this engine does not read";
    if (t->ne[0] % layout->block_elements) return "a tensor's rows are not whole blocks";
    t->size_bytes = n / layout->block_elements * layout->block_bytes;
    return c->bad ? "the file is cut off" : NULL;
}

/* Tensors' offsets count from the first multiple of the alignment behind the list of them. */
static const char *place_tensors(gguf *g, const cursor *c)
{
    uint64_t header = (uint64_t)(c->at - g->bytes);
    uint64_t start = (header + g->alignment - 1) / g->alignment * g->alignment;
    uint64_t total = 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        gguf_tensor *t = &g->tensors[i];
        total += t->size_bytes;
        if (total > g->size) return "tensors overlap, or lie behind the end of the file";
        if (start > g->size || t->offset > g->size - start ||
            t->size_bytes > g->size - start - t->offset)
            return "tensors overlap, or lie behind the end of the file";
        t->offset += start;
        t->data = g->bytes + t->offset;
    }
    return NULL;
}

static const char *read_all(gguf *g)
{
    cursor c = {g->bytes, g->bytes + g->size, false};
    const uint8_t *magic = take(&c, 4);
    if (!magic || memcmp(magic, "GGUF", 4) != 0) return "not a GGUF file";
    uint32_t version = (uint32_t)take_unsigned(&c, 4);
    uint64_t n_tensors = take_unsigned(&c, 8);
    uint64_t n_pairs = take_unsigned(&c, 8);
    if (version < 2 || version > 3) return "not of GGUF's version 2 or 3";
    if (c.bad || n_tensors > COUNT_MAX || n_pairs > COUNT_MAX) return "the counts are impossible";
    g->numbers = calloc((size_t)n_pairs + 1, sizeof *g->numbers);
    g->tensors = calloc((size_t)n_tensors + 1, sizeof *g->tensors);
    if (!g->numbers || !g->tensors) return "no memory";
    for (uint64_t i = 0; i < n_pairs && !c.bad; i++)
        read_pair(g, &c);
    if (c.bad) return "the metadata is damaged";
    double alignment = gguf_get(g, "general.alignment", 32);
    if (!(alignment >= 1 && alignment <= 1 << 20)) return "the alignment is impossible";
    g->alignment = (uint64_t)alignment;
    for (; g->n_tensors < n_tensors; g->n_tensors++) {
        const char *wrong = read_tensor(&g->tensors[g->n_tensors], &c);
        if (wrong) return wrong;
    }
    return place_tensors(g, &c);
}

const char *gguf_read(gguf *g, const uint8_t *bytes, size_t size)
{
    *g = (gguf){.bytes = bytes, .size = size};
    const char *wrong = read_all(g);
    if (wrong) gguf_close(g);
    return wrong;
}

const char *gguf_open(gguf *g, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return "cannot be opened";
    struct stat st;
    void *map = MAP_FAILED;
    if (fstat(fd, &st) == 0 && st.st_size > 0)
        map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED) return "cannot be read";
    const char *wrong = gguf_read(g, map, (size_t)st.st_size);
    if (wrong)
        munmap(map, (size_t)st.st_size);
    else
        g->map = map;
    return wrong;
}

void gguf_close(gguf *g)
{
    free(g->numbers);
    free(g->tensors);
    if (g->map) munmap(g->map, g->size);
    memset(g, 0, sizeof *g);
}

double gguf_get(const gguf *g, const char *key, double otherwise)
{
    size_t length = strlen(key);
    for (size_t i = 0; i < g->n_numbers; i++)
        if (g->numbers[i].key_length == length && memcmp(g->numbers[i].key, key, length) == 0)
            return g->numbers[i].value;
    return otherwise;
}

const gguf_tensor *gguf_find(const gguf *g, const char *name)
{
    for (size_t i = 0; i < g->n_tensors; i++)
        if (strcmp(g->tensors[i].name, name) == 0) return &g->tensors[i];
    return NULL;
}
