#include "gguf/vocab.h"

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/idmap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
