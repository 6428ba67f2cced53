/* Bytes as a description of a GGUF file: its pairs, arrays in arrays, tensors. The file that comes
 * of it is whole, but for what the bytes say is wrong: a count, a shape, a type, an offset, a
 * length, the alignment, a name twice. */
#include "gguf_looks.h"

#include <stdio.h>
#include <string.h>

#define PAIRS_MAX 24u
#define TENSORS_MAX 24u
#define DEPTH_MAX 6u
#define FILE_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct maker {
    tt_span in; /* what is left of the description */
    tt_bytes file;
    uint32_t alignment;
} maker;

/* The next byte; 0 behind the end. */
static uint8_t next(maker *k)
{
    if (k->in.size == 0) return 0;
    k->in.size--;
    return *k->in.data++;
}

/* `right`, but for one in 64: then something near it, or a number of those that break things. */
static uint64_t nearly(maker *k, uint64_t right)
{
    static const uint64_t set[] = {
        0,          1,         5,          0xffff,          INT32_MAX,      UINT32_MAX, 1ull << 32,
        1ull << 44, INT64_MAX, 1ull << 63, UINT64_MAX - 31, UINT64_MAX - 7, UINT64_MAX};
    const uint8_t way = next(k);
    if (way < 252) return right;
    if (way < 253) return right + next(k);
    if (way < 254) return right - next(k);
    if (way < 255) return right * 2;
    return set[next(k) % (sizeof set / sizeof *set)];
}

static void put_u32(maker *k, uint64_t v)
{
    const uint32_t low = (uint32_t)v;
    tt_bytes_put(&k->file, &low, sizeof low);
}

static void put_text(maker *k, const char *text)
{
    tt_bytes_u64(&k->file, nearly(k, strlen(text)));
    tt_bytes_put(&k->file, text, strlen(text));
}

static void put_value(maker *k, uint32_t type, unsigned depth)
{
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    static const char *const texts[] = {"", "llama", "gpt2", "a\nb\xff", "llama.block_count"};
    if (type == 8) { /* a text */
        put_text(k, texts[next(k) % 5u]);
    } else if (type == 9) { /* an array */
        const uint32_t of = depth < DEPTH_MAX ? next(k) % 13u : 4, n = next(k) % 6u;
        put_u32(k, nearly(k, of));
        tt_bytes_u64(&k->file, nearly(k, n));
        for (uint32_t i = 0; i < n; i++)
            put_value(k, of, depth + 1);
    } else if (type < sizeof sizes) {
        const uint64_t v = nearly(k, next(k));
        tt_bytes_put(&k->file, &v, sizes[type]);
    }
}

static void put_pairs(maker *k, uint32_t n)
{
    static const char *const keys[] = {
        "general.architecture",
        "general.name",
        "llama.block_count",
        "llama.expert_count",
        "split.no",
        "split.count",
        "split.tensors.count",
        "llama.vocab_size",
        "llama.attention.head_count",
        "tokenizer.ggml.tokens",
        "llama.expert_used_count",
        "a",
        "llama.embedding_length",
    };
    put_text(k, "general.alignment");
    put_u32(k, nearly(k, 4));
    put_u32(k, k->alignment);
    for (uint32_t i = 1; i < n; i++) {
        const uint32_t type = next(k) % 13u, n_keys = sizeof keys / sizeof *keys;
        const char *key = keys[(i + next(k) / 252u) % n_keys];
        char other[32];
        (void)snprintf(other, sizeof other, "key.%u", i);
        put_text(k, i < n_keys && next(k) < 250 ? key : other);
        put_u32(k, nearly(k, type));
        put_value(k, type, 0);
    }
}

/* Returns where the tensor's data end. */
static uint64_t put_tensor(maker *k, uint32_t i, uint64_t offset)
{
    static const char *const names[] = {
        "token_embd.weight", "blk.0.attn_q.weight",          "blk.0.ffn_up_exps.weight",
        "output.weight",     "blk.4294967296.ffn_up.weight", "x"};
    /* A type, the values in a block of it, its bytes. */
    static const struct {
        uint32_t type, values, bytes;
    } types[] = {{0, 1, 4}, {1, 1, 2}, {8, 32, 34}, {2, 32, 18}, {12, 256, 144}, {13, 256, 176}};
    const uint8_t kind = next(k) % 6u, n_dims = next(k) % 5u;
    char name[64];
    uint64_t n = 1;
    (void)snprintf(name, sizeof name, next(k) < 230 ? "%s.%u" : "%s", names[next(k) % 6u], i);
    put_text(k, name);
    put_u32(k, nearly(k, n_dims));
    for (uint32_t d = 0; d < n_dims; d++) {
        const uint64_t ne = (uint64_t)(1 + next(k) % 8u) * (d == 0 ? types[kind].values : 1);
        n *= ne;
        tt_bytes_u64(&k->file, nearly(k, ne));
    }
    put_u32(k, nearly(k, types[kind].type));
    tt_bytes_u64(&k->file, nearly(k, offset));
    const uint64_t end = offset + n / types[kind].values * types[kind].bytes;
    const uint32_t to = k->alignment ? k->alignment : 1;
    return (end + to - 1) / to * to;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    maker k = {.in = {data, size}, .alignment = 32};
    uint64_t end = 0;
    tt_bytes_init(&k.file, FILE_MAX);
    const uint32_t n_pairs = 1 + next(&k) % PAIRS_MAX, n_tensors = next(&k) % TENSORS_MAX;
    const uint64_t alignment = nearly(&k, 32);
    k.alignment = (uint32_t)alignment;
    tt_bytes_put(&k.file, "GGUF", 4);
    put_u32(&k, nearly(&k, 3));
    tt_bytes_u64(&k.file, nearly(&k, n_tensors));
    tt_bytes_u64(&k.file, nearly(&k, n_pairs));
    put_pairs(&k, n_pairs);
    for (uint32_t i = 0; i < n_tensors; i++)
        end = put_tensor(&k, i, end);
    static const uint8_t zeros[4096];
    for (uint64_t left = end + 64; left > 0 && k.file.size + sizeof zeros < FILE_MAX;) {
        const size_t part = left < sizeof zeros ? (size_t)left : sizeof zeros;
        tt_bytes_put(&k.file, zeros, part);
        left -= part;
    }
    if (!k.file.failed) try_gguf(k.file.data, k.file.size);
    tt_bytes_free(&k.file);
    return 0;
}
