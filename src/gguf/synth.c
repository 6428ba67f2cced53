#include "gguf/synth.h"

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/idmap.h"
#include "gguf/quantize.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPACE_MARK "\xe2\x96\x81" /* U+2581, how SentencePiece writes a space */
#define FIRST_BYTE 3u
#define FIRST_PIECE (FIRST_BYTE + 256u)
#define PIECE_MAX 32u
#define VOCAB_BYTES_MAX ((size_t)PIECE_MAX * TT_VOCAB_MAX)

/* `enum llama_token_type`. */
enum { TOKEN_NORMAL = 1, TOKEN_UNKNOWN = 2, TOKEN_CONTROL = 3, TOKEN_BYTE = 6 };

/* Every printable ASCII character once, common ones first: earlier pieces get better scores. */
static const char characters[] = "etaoinsrhldcumfpgwybvkxjqzETAOINSRHLDCUMFPGWYBVKXJQZ"
                                 "0123456789.,'\"-()!?:;/[]{}<>@#$%^&*_+=|\\`~";

static const char *const words[] = {
    "the",     "of",      "and",     "to",      "in",    "a",      "is",       "that",    "it",
    "was",     "for",     "on",      "with",    "as",    "be",     "at",       "by",      "this",
    "had",     "not",     "are",     "but",     "from",  "or",     "have",     "an",      "they",
    "which",   "one",     "you",     "were",    "all",   "her",    "she",      "there",   "would",
    "their",   "we",      "him",     "been",    "has",   "when",   "who",      "will",    "no",
    "more",    "if",      "out",     "so",      "up",    "said",   "what",     "its",     "about",
    "than",    "into",    "them",    "can",     "only",  "other",  "time",     "new",     "some",
    "could",   "these",   "two",     "may",     "first", "then",   "do",       "any",     "like",
    "my",      "now",     "over",    "such",    "our",   "man",    "me",       "even",    "most",
    "made",    "after",   "also",    "did",     "many",  "off",    "before",   "must",    "well",
    "back",    "through", "years",   "much",    "where", "your",   "way",      "down",    "should",
    "because", "long",    "each",    "just",    "state", "those",  "people",   "too",     "Mr",
    "how",     "little",  "good",    "world",   "make",  "very",   "year",     "still",   "see",
    "own",     "work",    "men",     "day",     "get",   "here",   "old",      "life",    "both",
    "between", "being",   "under",   "three",   "never", "know",   "same",     "last",    "another",
    "while",   "us",      "might",   "great",   "go",    "come",   "since",    "against", "right",
    "came",    "take",    "used",    "himself", "few",   "house",  "American", "use",     "place",
    "during",  "high",    "without", "again",   "home",  "around", "small",    "however", "found",
    "Hello",   "once",    "upon",
};

static const char *const onsets[] = {"",  "b", "c",  "d",  "f",  "g",  "h",  "j",
                                     "k", "l", "m",  "n",  "p",  "r",  "s",  "t",
                                     "v", "w", "st", "tr", "ch", "sh", "pl", "br"};
static const char *const vowels[] = {"a", "e", "i", "o", "u", "ea", "ou", "y"};
static const char *const codas[] = {"", "n", "r", "s", "t", "l", "m", "nd"};

#define COUNT_OF(a) (sizeof(a) / sizeof(a)[0])
#define SYLLABLES (COUNT_OF(onsets) * COUNT_OF(vowels) * COUNT_OF(codas))

/* The pieces so far, and an index by the hash of their text. */
typedef struct builder {
    tt_bytes text;     /* NUL-terminated pieces */
    uint32_t *offsets; /* of each piece in text */
    uint32_t n;
    uint32_t wanted;
    tt_idmap by_hash;
    const char *piece; /* the piece to look for */
    bool failed;
} builder;

static bool is_wanted(const void *context, uint32_t index)
{
    const builder *b = context;
    return strcmp((const char *)b->text.data + b->offsets[index], b->piece) == 0;
}

static void add_piece(builder *b, const char *piece)
{
    if (b->n == b->wanted || b->text.failed) return;
    uint64_t key = tt_checksum(piece, strlen(piece));
    uint32_t was;
    b->piece = piece;
    if (tt_idmap_find(&b->by_hash, &key, is_wanted, b) != TT_NONE) return;
    if (!tt_idmap_add(&b->by_hash, key, b->n, &was)) b->failed = true;
    b->offsets[b->n++] = (uint32_t)b->text.size;
    tt_bytes_put(&b->text, piece, strlen(piece) + 1);
}

static void add_fixed(builder *b)
{
    char piece[PIECE_MAX];
    add_piece(b, "<unk>");
    add_piece(b, "<s>");
    add_piece(b, "</s>");
    for (unsigned i = 0; i < 256; i++) {
        (void)snprintf(piece, sizeof piece, "<0x%02X>", i);
        add_piece(b, piece);
    }
    add_piece(b, SPACE_MARK);
    for (const char *c = characters; *c; c++) {
        piece[0] = *c;
        piece[1] = '\0';
        add_piece(b, piece);
    }
}

static size_t put_syllable(char *out, size_t room, size_t i)
{
    int n = snprintf(out, room, "%s%s%s", onsets[i % COUNT_OF(onsets)],
                     vowels[i / COUNT_OF(onsets) % COUNT_OF(vowels)],
                     codas[i / COUNT_OF(onsets) / COUNT_OF(vowels)]);
    return n < 0 ? 0 : (size_t)n;
}

static void add_words(builder *b)
{
    char piece[PIECE_MAX];
    size_t mark = strlen(SPACE_MARK);
    memcpy(piece, SPACE_MARK, mark + 1);
    /* Prefixes of words, too, because the tokenizer only joins two pieces into a third. */
    for (size_t i = 0; i < COUNT_OF(words); i++)
        for (int n = 1; n <= (int)strlen(words[i]); n++) {
            (void)snprintf(piece + mark, sizeof piece - mark, "%.*s", n, words[i]);
            add_piece(b, piece);
        }
    for (size_t i = 0; i < SYLLABLES; i++) {
        (void)put_syllable(piece + mark, sizeof piece - mark, i);
        add_piece(b, piece);
        add_piece(b, piece + mark);
    }
    /* Pairs of syllables in a scattered order: the step is coprime to their number (2^18 * 3^2),
     * so each pair comes once. */
    size_t pairs = SYLLABLES * SYLLABLES;
    for (size_t i = 0, at = 0; i < pairs && b->n < b->wanted; i++) {
        size_t n = put_syllable(piece + mark, sizeof piece - mark, at % SYLLABLES);
        (void)put_syllable(piece + mark + n, sizeof piece - mark - n, at / SYLLABLES);
        add_piece(b, piece);
        at = (at + 874567) % pairs;
    }
}

static int32_t token_type(uint32_t i)
{
    if (i == 0) return TOKEN_UNKNOWN;
    if (i < FIRST_BYTE) return TOKEN_CONTROL;
    return i < FIRST_PIECE ? TOKEN_BYTE : TOKEN_NORMAL;
}

static void write_pairs(tt_gguf_writer *w, const builder *b)
{
    tt_gguf_writer_string(w, "tokenizer.ggml.model", "llama");
    tt_gguf_writer_string(w, "tokenizer.ggml.pre", "default");
    tt_gguf_writer_array(w, "tokenizer.ggml.tokens", TT_GGUF_STRING, b->n);
    for (uint32_t i = 0; i < b->n; i++)
        tt_gguf_writer_element(w, (const char *)b->text.data + b->offsets[i]);
    tt_gguf_writer_array(w, "tokenizer.ggml.scores", TT_GGUF_F32, b->n);
    for (uint32_t i = 0; i < b->n; i++) {
        float score = i < FIRST_PIECE ? 0 : -(float)(i - FIRST_PIECE);
        tt_gguf_writer_raw(w, &score, sizeof score);
    }
    tt_gguf_writer_array(w, "tokenizer.ggml.token_type", TT_GGUF_I32, b->n);
    for (uint32_t i = 0; i < b->n; i++) {
        int32_t type = token_type(i);
        tt_gguf_writer_raw(w, &type, sizeof type);
    }
    tt_gguf_writer_u32(w, "tokenizer.ggml.bos_token_id", 1);
    tt_gguf_writer_u32(w, "tokenizer.ggml.eos_token_id", 2);
    tt_gguf_writer_u32(w, "tokenizer.ggml.unknown_token_id", 0);
    tt_gguf_writer_bool(w, "tokenizer.ggml.add_bos_token", true);
    tt_gguf_writer_bool(w, "tokenizer.ggml.add_eos_token", false);
}

tt_status tt_vocab_write(tt_gguf_writer *w, uint32_t n, tt_error *err)
{
    builder b = {.wanted = n};
    if (n < TT_VOCAB_MIN || n > TT_VOCAB_MAX)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "a vocabulary has %u to %u tokens, not %u", TT_VOCAB_MIN, TT_VOCAB_MAX,
                            n);
    tt_bytes_init(&b.text, VOCAB_BYTES_MAX);
    b.offsets = calloc(n, sizeof *b.offsets);
    tt_status status = TT_OK;
    if (b.offsets) {
        add_fixed(&b);
        add_words(&b);
    }
    if (b.n == n && !b.failed)
        write_pairs(w, &b);
    else
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET,
                              "no memory for a vocabulary of %u tokens", n);
    free(b.offsets);
    tt_idmap_free(&b.by_hash);
    tt_bytes_free(&b.text);
    return status;
}

#define LAYERS_MAX 512u  /* llama.cpp's own limit */
#define EXPERTS_MAX 128u /* the oldest supported llama.cpp allows 160 */
#define EMBD_MAX 65536u
#define FFN_MAX 262144u
#define HEADS_MAX 1024u
#define CTX_MAX 1048576u

static const struct {
    const char *summary;
    tt_synth_config config;
} presets[] = {
    {"a few megabytes: 4 layers of width 256, for tests",
     {.name = "tiny",
      .n_layers = 4,
      .n_embd = 256,
      .n_ffn = 512,
      .n_heads = 4,
      .n_heads_kv = 2,
      .n_vocab = 2048,
      .n_ctx = 512,
      .type = TT_GGML_Q4_K,
      .type_embd = TT_GGML_Q4_K,
      .type_output = TT_GGML_Q6_K,
      .type_attn_v = TT_GGML_Q6_K,
      .type_ffn_down = TT_GGML_Q6_K}},
    {"the shape of TinyLlama 1.1B: 22 layers of width 2048, 705 MB",
     {.name = "tinyllama",
      .n_layers = 22,
      .n_embd = 2048,
      .n_ffn = 5632,
      .n_heads = 32,
      .n_heads_kv = 4,
      .n_vocab = 32000,
      .n_ctx = 2048,
      .type = TT_GGML_Q4_K,
      .type_embd = TT_GGML_Q4_K,
      .type_output = TT_GGML_Q6_K,
      .type_attn_v = TT_GGML_Q6_K,
      .type_ffn_down = TT_GGML_Q6_K}},
    {"a mixture of 8 experts, 2 used a token: 4 layers of width 512",
     {.name = "moe",
      .n_layers = 4,
      .n_embd = 512,
      .n_ffn = 768,
      .n_heads = 8,
      .n_heads_kv = 4,
      .n_vocab = 4096,
      .n_ctx = 1024,
      .n_experts = 8,
      .n_experts_used = 2,
      .type = TT_GGML_Q4_K,
      .type_embd = TT_GGML_Q4_K,
      .type_output = TT_GGML_Q6_K,
      .type_attn_v = TT_GGML_Q6_K,
      .type_ffn_down = TT_GGML_Q6_K}},
};

#define PRESET_COUNT (sizeof presets / sizeof presets[0])

bool tt_synth_preset(tt_synth_config *c, const char *name)
{
    for (size_t i = 0; i < PRESET_COUNT; i++) {
        if (strcmp(presets[i].config.name, name) != 0) continue;
        *c = presets[i].config;
        c->seed = 1;
        c->n_parts = 1;
        return true;
    }
    return false;
}

bool tt_synth_preset_at(size_t i, const char **name, const char **summary)
{
    if (i >= PRESET_COUNT) return false;
    *name = presets[i].config.name;
    *summary = presets[i].summary;
    return true;
}

#define USAGE(...) tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, __VA_ARGS__)

static tt_status check_range(const char *what, uint32_t v, uint32_t min, uint32_t max,
                             tt_error *err)
{
    if (v >= min && v <= max) return TT_OK;
    return USAGE("%s must be %" PRIu32 " to %" PRIu32 ", not %" PRIu32, what, min, max, v);
}

/* A matrix whose rows hold `row` elements must consist of whole blocks. */
static tt_status check_type(const char *tensor, uint32_t type, const char *dimension, uint32_t row,
                            tt_error *err)
{
    const tt_ggml_type *t = tt_ggml_type_find(type);
    if (!t || !tt_quantize_supports(type))
        return USAGE("%s: type %s cannot be synthesised", tensor, t ? t->name : "(unknown)");
    if (row % t->block_elements == 0) return TT_OK;
    return USAGE("%s: %s %" PRIu32 " is not a multiple of %" PRIu32 ", the block size of %s",
                 tensor, dimension, row, t->block_elements, t->name);
}

static tt_status check_ranges(const tt_synth_config *c, tt_error *err)
{
    const struct {
        const char *what;
        uint32_t v, min, max;
    } ranges[] = {
        {"the number of layers", c->n_layers, 1, LAYERS_MAX},
        {"the width (embd)", c->n_embd, 2, EMBD_MAX},
        {"the feed-forward width (ffn)", c->n_ffn, 1, FFN_MAX},
        {"the number of heads", c->n_heads, 1, HEADS_MAX},
        {"the number of KV heads", c->n_heads_kv, 1, HEADS_MAX},
        {"the vocabulary", c->n_vocab, TT_VOCAB_MIN, TT_VOCAB_MAX},
        {"the context length", c->n_ctx, 1, CTX_MAX},
        {"the number of experts", c->n_experts, 0, EXPERTS_MAX},
        {"the number of parts", c->n_parts, 1, TT_SYNTH_PARTS_MAX},
        {"the number of threads", c->n_threads, 0, 256},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        tt_status status =
            check_range(ranges[i].what, ranges[i].v, ranges[i].min, ranges[i].max, err);
        if (status != TT_OK) return status;
    }
    return TT_OK;
}

static tt_status check_heads(const tt_synth_config *c, tt_error *err)
{
    if (c->n_embd % c->n_heads != 0)
        return USAGE("the width %" PRIu32 " is not a multiple of the %" PRIu32 " heads", c->n_embd,
                     c->n_heads);
    if (c->n_embd / c->n_heads % 2 != 0)
        return USAGE("a head of %" PRIu32 " elements (width %" PRIu32 " / %" PRIu32
                     " heads) cannot be rotated: it must be even",
                     c->n_embd / c->n_heads, c->n_embd, c->n_heads);
    if (c->n_heads % c->n_heads_kv != 0)
        return USAGE("the %" PRIu32 " heads cannot share %" PRIu32 " KV heads evenly", c->n_heads,
                     c->n_heads_kv);
    if (c->n_experts && (c->n_experts_used < 1 || c->n_experts_used > c->n_experts))
        return USAGE("of %" PRIu32 " experts 1 to %" PRIu32 " can be used a token, not %" PRIu32,
                     c->n_experts, c->n_experts, c->n_experts_used);
    if (!c->n_experts && c->n_experts_used)
        return USAGE("%" PRIu32 " experts cannot be used in a model that has none",
                     c->n_experts_used);
    return TT_OK;
}

tt_status tt_synth_check(const tt_synth_config *c, tt_error *err)
{
    tt_status status = check_ranges(c, err);
    if (status == TT_OK) status = check_heads(c, err);
    if (status == TT_OK) status = check_type("matrices", c->type, "width", c->n_embd, err);
    if (status == TT_OK) status = check_type("token_embd", c->type_embd, "width", c->n_embd, err);
    if (status == TT_OK) status = check_type("output", c->type_output, "width", c->n_embd, err);
    if (status == TT_OK) status = check_type("attn_v", c->type_attn_v, "width", c->n_embd, err);
    if (status == TT_OK)
        status = check_type("ffn_down", c->type_ffn_down, "feed-forward width", c->n_ffn, err);
    uint32_t n_tensors = 3 - c->tied + c->n_layers * (c->n_experts ? 10 : 9);
    if (status == TT_OK && c->n_parts > n_tensors)
        status = USAGE("%" PRIu32 " parts, but the model has only %" PRIu32 " tensors", c->n_parts,
                       n_tensors);
    return status;
}

#define CHUNK_BYTES ((size_t)1 << 20)
#define THREADS_MAX 256u

tt_status tt_synth_file_init(tt_synth_file *f, size_t tensors_max, uint32_t n_parts, tt_error *err)
{
    memset(f, 0, sizeof *f);
    f->n_parts = n_parts;
    f->tensors_max = tensors_max;
    f->parts = calloc(n_parts, sizeof *f->parts);
    f->tensors = calloc(tensors_max ? tensors_max : 1, sizeof *f->tensors);
    if (!f->parts || !f->tensors)
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    for (uint32_t i = 0; i < n_parts; i++)
        tt_gguf_writer_init(&f->parts[i].writer);
    return TT_OK;
}

void tt_synth_file_free(tt_synth_file *f)
{
    for (uint32_t i = 0; f->parts && i < f->n_parts; i++) {
        if (f->parts[i].open) tt_outfile_abandon(&f->parts[i].file);
        tt_gguf_writer_free(&f->parts[i].writer);
    }
    free(f->parts);
    free(f->tensors);
    free(f->first_chunk);
}

tt_gguf_writer *tt_synth_file_metadata(tt_synth_file *f)
{
    return &f->parts[0].writer;
}

void tt_synth_file_add(tt_synth_file *f, const char *name, uint32_t type, float sigma,
                       uint32_t n_dims, const uint64_t *ne)
{
    if (f->n_tensors == f->tensors_max) return;
    tt_synth_tensor *t = &f->tensors[f->n_tensors++];
    (void)snprintf(t->name, sizeof t->name, "%s", name);
    t->type = tt_ggml_type_find(type);
    t->n_dims = n_dims;
    for (uint32_t i = 0; i < 3; i++)
        t->ne[i] = i < n_dims ? ne[i] : 1;
    t->sigma = sigma;
}

/* The path of part i: `path` itself, or "NAME-00001-of-00003.gguf". malloc'ed. */
static char *part_path(const char *path, uint32_t i, uint32_t n)
{
    char *out = NULL;
    size_t size = strlen(path);
    if (n == 1) return strdup(path);
    if (size > 5 && strcmp(path + size - 5, ".gguf") == 0) size -= 5;
    if (asprintf(&out, "%.*s-%05" PRIu32 "-of-%05" PRIu32 ".gguf", (int)size, path, i + 1, n) < 0)
        return NULL;
    return out;
}

/* Adds tensor descriptions and the keys of a split file; tensors get their data offsets. */
static void describe(tt_synth_file *f)
{
    uint32_t n_parts = f->n_parts;
    for (uint32_t i = 0; i < n_parts && n_parts > 1; i++) {
        tt_gguf_writer *w = &f->parts[i].writer;
        tt_gguf_writer_u16(w, "split.no", (uint16_t)i);
        tt_gguf_writer_u16(w, "split.count", (uint16_t)n_parts);
        tt_gguf_writer_i32(w, "split.tensors.count", (int32_t)f->n_tensors);
    }
    for (size_t i = 0; i < f->n_tensors; i++) {
        tt_synth_tensor *t = &f->tensors[i];
        t->part = (uint32_t)(i * n_parts / f->n_tensors);
        t->offset = tt_gguf_writer_tensor(&f->parts[t->part].writer, t->name, t->type, t->n_dims,
                                          t->ne, &t->size_bytes);
        f->data_bytes += t->size_bytes;
    }
}

/* Creates every part's file and writes its header; offsets become absolute. */
static tt_status begin_files(tt_synth_file *f, const char *path, bool force, uint64_t *total_bytes,
                             tt_error *err)
{
    tt_bytes header;
    tt_status status = TT_OK;
    tt_bytes_init(&header, TT_GGUF_HEADER_MAX);
    for (uint32_t i = 0; i < f->n_parts && status == TT_OK; i++) {
        tt_synth_part *p = &f->parts[i];
        char *name = part_path(path, i, f->n_parts);
        tt_bytes_clear(&header);
        status = tt_gguf_writer_header(&p->writer, &header, err);
        if (status == TT_OK && !name)
            status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
        if (status == TT_OK) status = tt_outfile_open(&p->file, name, force, err);
        p->open = status == TT_OK;
        if (p->open && (fwrite(header.data, 1, header.size, p->file.stream) != header.size ||
                        fflush(p->file.stream) != 0))
            status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write %s: %s", name,
                                  strerror(errno));
        for (size_t k = 0; k < f->n_tensors; k++)
            if (f->tensors[k].part == i) f->tensors[k].offset += header.size;
        *total_bytes += header.size + p->writer.data_size;
        free(name);
    }
    tt_bytes_free(&header);
    return status;
}

static size_t chunk_blocks(const tt_synth_tensor *t)
{
    return CHUNK_BYTES / t->type->block_bytes;
}

static tt_status plan_chunks(tt_synth_file *f, tt_error *err)
{
    f->first_chunk = calloc(f->n_tensors + 1, sizeof *f->first_chunk);
    if (!f->first_chunk) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    for (size_t i = 0; i < f->n_tensors; i++) {
        const tt_synth_tensor *t = &f->tensors[i];
        uint64_t blocks = t->size_bytes / t->type->block_bytes;
        f->first_chunk[i + 1] =
            f->first_chunk[i] + (blocks + chunk_blocks(t) - 1) / chunk_blocks(t);
    }
    return TT_OK;
}

static bool write_all(int fd, const uint8_t *data, size_t n, uint64_t offset)
{
    while (n) {
        ssize_t put = pwrite(fd, data, n, (off_t)offset);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        data += put;
        n -= (size_t)put;
        offset += (uint64_t)put;
    }
    return true;
}

/* Makes chunk `k` of tensor `i` in `buffer` and writes it to its offset, with padding after the
 * tensor's last chunk. */
static bool write_chunk(const tt_synth_file *f, size_t i, uint64_t k, uint8_t *buffer, size_t *size)
{
    const tt_synth_tensor *t = &f->tensors[i];
    tt_random r;
    uint64_t begin = k * chunk_blocks(t);
    uint64_t left = t->size_bytes / t->type->block_bytes - begin;
    size_t blocks = left < chunk_blocks(t) ? (size_t)left : chunk_blocks(t);
    *size = blocks * t->type->block_bytes;
    if (t->sigma > 0) {
        tt_random_init(&r, f->seed * 0x9e3779b97f4a7c15u ^ (uint64_t)i << 40 ^ k);
        (void)tt_quantize_random(t->type, buffer, blocks, t->sigma, &r);
    } else {
        const float one = 1;
        for (size_t b = 0; b < blocks; b++)
            memcpy(buffer + b * sizeof one, &one, sizeof one);
    }
    size_t padding = 0;
    if (blocks == left) padding = (size_t)(-(t->size_bytes) % TT_GGUF_ALIGNMENT_DEFAULT);
    memset(buffer + *size, 0, padding);
    return write_all(fileno(f->parts[t->part].file.stream), buffer, *size + padding,
                     t->offset + begin * t->type->block_bytes);
}

static void work(tt_synth_file *f, bool reports)
{
    uint8_t *buffer = malloc(CHUNK_BYTES + TT_GGUF_ALIGNMENT_DEFAULT);
    uint64_t chunks = f->first_chunk[f->n_tensors];
    size_t tensor_at = 0;
    int none = 0;
    if (!buffer) (void)atomic_compare_exchange_strong(&f->failed, &none, ENOMEM);
    while (atomic_load(&f->failed) == 0) {
        uint64_t chunk = atomic_fetch_add(&f->next, 1);
        size_t size = 0;
        if (chunk >= chunks) break;
        while (chunk >= f->first_chunk[tensor_at + 1])
            tensor_at++;
        if (!write_chunk(f, tensor_at, chunk - f->first_chunk[tensor_at], buffer, &size)) {
            (void)atomic_compare_exchange_strong(&f->failed, &none, errno ? errno : EIO);
            break;
        }
        uint64_t done = atomic_fetch_add(&f->done_bytes, size) + size;
        if (reports && f->progress) f->progress(f->user, done, f->data_bytes);
    }
    free(buffer);
}

static void *work_thread(void *arg)
{
    work(arg, false);
    return NULL;
}

static tt_status write_data(tt_synth_file *f, tt_error *err)
{
    pthread_t threads[THREADS_MAX];
    uint32_t wanted = f->n_threads;
    uint32_t n = 0;
    tt_status status = plan_chunks(f, err);
    if (status != TT_OK) return status;
    if (wanted == 0) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        wanted = processors < 1 ? 1 : processors > 4 ? 4 : (uint32_t)processors;
    }
    /* With fewer threads than wanted it only takes longer. */
    while (n + 1 < wanted && n < THREADS_MAX &&
           pthread_create(&threads[n], NULL, work_thread, f) == 0)
        n++;
    work(f, true);
    for (uint32_t i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
    int failed = atomic_load(&f->failed);
    if (failed)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write %s: %s",
                            f->parts[0].file.path, strerror(failed));
    return TT_OK;
}

static tt_status commit_files(tt_synth_file *f, tt_error *err)
{
    for (uint32_t i = 0; i < f->n_parts; i++) {
        tt_status status = tt_outfile_commit(&f->parts[i].file, err);
        f->parts[i].open = false;
        if (status != TT_OK) return status;
    }
    return TT_OK;
}

tt_status tt_synth_file_write(tt_synth_file *f, const char *path, bool force,
                              tt_synth_progress *progress, void *user, uint64_t *total_bytes,
                              tt_error *err)
{
    uint64_t total = 0;
    f->progress = progress;
    f->user = user;
    describe(f);
    tt_status status = begin_files(f, path, force, &total, err);
    if (status == TT_OK) status = write_data(f, err);
    if (status == TT_OK) status = commit_files(f, err);
    if (status == TT_OK && total_bytes) *total_bytes = total;
    return status;
}

/* Standard deviations, times 1/sqrt(fan in); 1 preserves the size of a matrix's input. Queries
 * and keys are larger, so that attention prefers some positions, and so is the output, so that
 * some tokens are likelier: generated text then depends on the whole context and does not loop. */
#define GAIN_QK 2.0f
#define GAIN_OUTPUT 4.0f
#define GAIN_ROUTER 2.0f
#define GAIN_PLAIN 1.0f

/* A model whose tensors are being listed. */
typedef struct job {
    const tt_synth_config *c;
    tt_synth_file file;
} job;

static void add_tensor(job *j, const char *name, uint32_t type, float gain, uint32_t n_dims,
                       const uint64_t ne[3])
{
    char full[TT_SYNTH_NAME_MAX];
    (void)snprintf(full, sizeof full, "%s.weight", name);
    tt_synth_file_add(&j->file, full, type, gain / sqrtf((float)ne[0]), n_dims, ne);
}

static void add_matrix(job *j, const char *name, uint32_t type, float gain, uint64_t ne0,
                       uint64_t ne1)
{
    add_tensor(j, name, type, gain, 2, (const uint64_t[3]){ne0, ne1, 1});
}

static void add_norm(job *j, const char *name)
{
    add_tensor(j, name, TT_GGML_F32, 0, 1, (const uint64_t[3]){j->c->n_embd, 1, 1});
}

static const char *layer_name(char out[TT_SYNTH_NAME_MAX - 8], uint32_t layer, const char *what)
{
    (void)snprintf(out, TT_SYNTH_NAME_MAX - 8, "blk.%" PRIu32 ".%s", layer, what);
    return out;
}

static void add_ffn(job *j, uint32_t layer)
{
    const tt_synth_config *c = j->c;
    char n[TT_SYNTH_NAME_MAX - 8];
    if (c->n_experts == 0) {
        add_matrix(j, layer_name(n, layer, "ffn_gate"), c->type, GAIN_PLAIN, c->n_embd, c->n_ffn);
        add_matrix(j, layer_name(n, layer, "ffn_down"), c->type_ffn_down, GAIN_PLAIN, c->n_ffn,
                   c->n_embd);
        add_matrix(j, layer_name(n, layer, "ffn_up"), c->type, GAIN_PLAIN, c->n_embd, c->n_ffn);
        return;
    }
    const uint64_t in[3] = {c->n_embd, c->n_ffn, c->n_experts};
    const uint64_t out[3] = {c->n_ffn, c->n_embd, c->n_experts};
    /* The router stays F32, as real quantisers leave it. */
    add_matrix(j, layer_name(n, layer, "ffn_gate_inp"), TT_GGML_F32, GAIN_ROUTER, c->n_embd,
               c->n_experts);
    add_tensor(j, layer_name(n, layer, "ffn_gate_exps"), c->type, GAIN_PLAIN, 3, in);
    add_tensor(j, layer_name(n, layer, "ffn_down_exps"), c->type_ffn_down, GAIN_PLAIN, 3, out);
    add_tensor(j, layer_name(n, layer, "ffn_up_exps"), c->type, GAIN_PLAIN, 3, in);
}

static void add_tensors(job *j)
{
    const tt_synth_config *c = j->c;
    uint64_t kv_width = (uint64_t)c->n_embd / c->n_heads * c->n_heads_kv;
    char n[TT_SYNTH_NAME_MAX - 8];
    add_matrix(j, "token_embd", c->type_embd, sqrtf((float)c->n_embd), c->n_embd, c->n_vocab);
    for (uint32_t i = 0; i < c->n_layers; i++) {
        add_norm(j, layer_name(n, i, "attn_norm"));
        add_matrix(j, layer_name(n, i, "attn_q"), c->type, GAIN_QK, c->n_embd, c->n_embd);
        add_matrix(j, layer_name(n, i, "attn_k"), c->type, GAIN_QK, c->n_embd, kv_width);
        add_matrix(j, layer_name(n, i, "attn_v"), c->type_attn_v, GAIN_PLAIN, c->n_embd, kv_width);
        add_matrix(j, layer_name(n, i, "attn_output"), c->type, GAIN_PLAIN, c->n_embd, c->n_embd);
        add_norm(j, layer_name(n, i, "ffn_norm"));
        add_ffn(j, i);
    }
    add_norm(j, "output_norm");
    if (!c->tied) add_matrix(j, "output", c->type_output, GAIN_OUTPUT, c->n_embd, c->n_vocab);
}

/* `enum llama_ftype` for a model mostly of that type; llama.cpp only displays it. */
static uint32_t file_type(uint32_t type)
{
    static const struct {
        uint32_t type, file_type;
    } known[] = {
        {TT_GGML_F32, 0},     {TT_GGML_F16, 1},   {TT_GGML_Q4_0, 2},   {TT_GGML_Q4_1, 3},
        {TT_GGML_Q8_0, 7},    {TT_GGML_Q5_0, 8},  {TT_GGML_Q5_1, 9},   {TT_GGML_Q2_K, 10},
        {TT_GGML_Q3_K, 12},   {TT_GGML_Q4_K, 15}, {TT_GGML_Q5_K, 17},  {TT_GGML_Q6_K, 18},
        {TT_GGML_IQ4_NL, 25}, {TT_GGML_BF16, 32}, {TT_GGML_TQ2_0, 37}, {TT_GGML_MXFP4, 38}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].type == type) return known[i].file_type;
    return 0;
}

static tt_status write_metadata(tt_gguf_writer *w, const tt_synth_config *c, tt_error *err)
{
    uint32_t head = c->n_embd / c->n_heads;
    tt_gguf_writer_string(w, "general.architecture", "llama");
    tt_gguf_writer_string(w, "general.type", "model");
    tt_gguf_writer_string(w, "general.name", c->name);
    tt_gguf_writer_string(w, "general.description", "random weights, made by tensortrace synth");
    tt_gguf_writer_u32(w, "llama.block_count", c->n_layers);
    tt_gguf_writer_u32(w, "llama.context_length", c->n_ctx);
    tt_gguf_writer_u32(w, "llama.embedding_length", c->n_embd);
    tt_gguf_writer_u32(w, "llama.feed_forward_length", c->n_ffn);
    tt_gguf_writer_u32(w, "llama.attention.head_count", c->n_heads);
    tt_gguf_writer_u32(w, "llama.attention.head_count_kv", c->n_heads_kv);
    tt_gguf_writer_f32(w, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    tt_gguf_writer_u32(w, "llama.rope.dimension_count", head);
    tt_gguf_writer_f32(w, "llama.rope.freq_base", 10000.0f);
    tt_gguf_writer_u32(w, "llama.vocab_size", c->n_vocab);
    if (c->n_experts) {
        tt_gguf_writer_u32(w, "llama.expert_count", c->n_experts);
        tt_gguf_writer_u32(w, "llama.expert_used_count", c->n_experts_used);
    }
    tt_gguf_writer_u32(w, "general.file_type", file_type(c->type));
    tt_gguf_writer_u32(w, "general.quantization_version", 2);
    return tt_vocab_write(w, c->n_vocab, err);
}

tt_status tt_synth_write(const tt_synth_config *c, const char *path, bool force,
                         tt_synth_progress *progress, void *user, uint64_t *total_bytes,
                         tt_error *err)
{
    job j = {.c = c};
    tt_status status = tt_synth_check(c, err);
    if (status != TT_OK) return status;
    status = tt_synth_file_init(&j.file, 3 + (size_t)c->n_layers * 10, c->n_parts, err);
    j.file.seed = c->seed;
    j.file.n_threads = c->n_threads;
    if (status == TT_OK) status = write_metadata(tt_synth_file_metadata(&j.file), c, err);
    if (status == TT_OK) {
        add_tensors(&j);
        status = tt_synth_file_write(&j.file, path, force, progress, user, total_bytes, err);
    }
    tt_synth_file_free(&j.file);
    return status;
}
