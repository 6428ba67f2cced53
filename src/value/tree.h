/* BLAKE3 of a value by pieces: each piece is a subtree and can be hashed on any thread. */
#ifndef TT_VALUE_TREE_H
#define TT_VALUE_TREE_H

#include <stddef.h>
#include <stdint.h>

#define TT_TREE_CHUNK 1024u   /* bytes */
#define TT_TREE_STACK_MAX 24u /* 2^24 chunks: far more than the largest piece */
#define TT_TREE_TOGETHER 16u  /* chunks hashed at once */

/* A subtree that grows on the right. */
typedef struct tt_tree {
    uint8_t stack[TT_TREE_STACK_MAX + 1]
                 [32]; /* chaining values of complete subtrees, largest first */
    uint32_t used;
    uint64_t chunks; /* so far */
    uint64_t first;  /* number of the first chunk in the whole input */
} tt_tree;

/* first: index of its first chunk in the whole input. */
void tt_tree_begin(tt_tree *t, uint64_t first);
/* Adds bytes: multiples of TT_TREE_TOGETHER chunks, except in the last call. */
void tt_tree_add(tt_tree *t, const void *bytes, size_t n);
/* The chaining value; bytes must have been added. */
void tt_tree_end(tt_tree *t, uint8_t chaining[32]);
/* The digest of n > 1 subtrees; all but the last have the same size, a power of two of chunks.
 * Their chaining values are `stride` bytes apart. */
void tt_tree_root(const uint8_t *chaining, size_t stride, uint32_t n, uint8_t digest[32]);

#endif
