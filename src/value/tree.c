/* The tree of the BLAKE3 paper, section 2.1: the left part of a subtree is the largest power of
 * two of chunks that leaves something for the right one. */
#include "value/tree.h"

#include <blake3_impl.h>

#include <string.h>

static void parent(const uint8_t left[32], const uint8_t right[32], uint8_t flags, uint8_t out[32])
{
    uint8_t block[64];
    uint32_t cv[8];
    memcpy(block, left, 32);
    memcpy(block + 32, right, 32);
    memcpy(cv, IV, sizeof cv);
    blake3_compress_in_place(cv, block, sizeof block, 0, PARENT | flags);
    store_cv_words(out, cv);
}

void tt_tree_begin(tt_tree *t, uint64_t first)
{
    t->used = 0;
    t->chunks = 0;
    t->first = first;
}

static void push(tt_tree *t, const uint8_t cv[32], uint64_t size)
{
    memcpy(t->stack[t->used++], cv, 32);
    t->chunks += size;
}

/* Before more is added, merges subtrees of equal size, like carries in counting. The end of the
 * tree is merged from the right instead. */
static void merge_equal(tt_tree *t)
{
    uint32_t wanted = (uint32_t)__builtin_popcountll(t->chunks);
    while (t->used > wanted) {
        t->used--;
        parent(t->stack[t->used - 1], t->stack[t->used], 0, t->stack[t->used - 1]);
    }
}

static void chunk(const uint8_t *bytes, size_t n, uint64_t number, uint8_t out[32])
{
    uint32_t cv[8];
    uint8_t block[64];
    uint8_t flags = CHUNK_START;
    memcpy(cv, IV, sizeof cv);
    while (n > 64) {
        blake3_compress_in_place(cv, bytes, 64, number, flags);
        flags = 0;
        bytes += 64;
        n -= 64;
    }
    memset(block, 0, sizeof block);
    memcpy(block, bytes, n);
    blake3_compress_in_place(cv, block, (uint8_t)n, number, flags | CHUNK_END);
    store_cv_words(out, cv);
}

/* Hashes TT_TREE_TOGETHER whole chunks, each level of their subtree at once. */
static void together(const uint8_t *bytes, uint64_t number, uint8_t out[32])
{
    const uint8_t *inputs[TT_TREE_TOGETHER];
    uint8_t a[TT_TREE_TOGETHER * 32], b[TT_TREE_TOGETHER * 16];
    for (size_t i = 0; i < TT_TREE_TOGETHER; i++)
        inputs[i] = bytes + i * TT_TREE_CHUNK;
    blake3_hash_many(inputs, TT_TREE_TOGETHER, TT_TREE_CHUNK / 64, IV, number, true, 0, CHUNK_START,
                     CHUNK_END, a);
    uint8_t *from = a, *to = b;
    for (size_t n = TT_TREE_TOGETHER / 2; n; n /= 2) {
        for (size_t i = 0; i < n; i++)
            inputs[i] = from + i * 64;
        blake3_hash_many(inputs, n, 1, IV, 0, false, PARENT, 0, 0, to);
        uint8_t *swap = from;
        from = to;
        to = swap;
    }
    memcpy(out, from, 32);
}

void tt_tree_add(tt_tree *t, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    uint8_t cv[32];
    for (; n >= TT_TREE_TOGETHER * TT_TREE_CHUNK; n -= TT_TREE_TOGETHER * TT_TREE_CHUNK) {
        merge_equal(t);
        together(at, t->first + t->chunks, cv);
        push(t, cv, TT_TREE_TOGETHER);
        at += TT_TREE_TOGETHER * TT_TREE_CHUNK;
    }
    while (n) {
        size_t part = n < TT_TREE_CHUNK ? n : TT_TREE_CHUNK;
        merge_equal(t);
        chunk(at, part, t->first + t->chunks, cv);
        push(t, cv, 1);
        at += part;
        n -= part;
    }
}

void tt_tree_end(tt_tree *t, uint8_t chaining[32])
{
    while (t->used > 1) {
        t->used--;
        parent(t->stack[t->used - 1], t->stack[t->used], 0, t->stack[t->used - 1]);
    }
    memcpy(chaining, t->stack[0], 32);
}

void tt_tree_root(const uint8_t *chaining, size_t stride, uint32_t n, uint8_t digest[32])
{
    tt_tree t;
    tt_tree_begin(&t, 0);
    for (uint32_t i = 0; i < n; i++) {
        merge_equal(&t);
        push(&t, chaining + i * stride, 1);
    }
    while (t.used > 2) {
        t.used--;
        parent(t.stack[t.used - 1], t.stack[t.used], 0, t.stack[t.used - 1]);
    }
    parent(t.stack[0], t.stack[1], ROOT, digest);
}
