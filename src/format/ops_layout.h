/* Where the values of an OPS chunk's columns stand: one group after the other, a group being
 * the values of one position of one sequence, over all segments that have it, in their order
 * (docs/format.md, "transposed"). Encoder and decoder, of both encodings. */
#ifndef TT_FORMAT_OPS_LAYOUT_H
#define TT_FORMAT_OPS_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_OPS_ENCODING_1 1u /* read only */
#define TT_OPS_ENCODING_2 2u
#define TT_OPS_OPEN_LANE (1u << 16)
#define TT_OPS_SHIFT_MAX 32u

/* A segment as the layout sees it. Positions are those of all sequences, one after the other. */
typedef struct tt_ops_part {
    uint32_t first; /* index of its first record */
    uint32_t count;
    uint32_t position; /* of its first record */
} tt_ops_part;

typedef struct tt_ops_layout {
    size_t n_positions;
    uint32_t *ends; /* per position: the place after its group's last value */
    uint32_t *next; /* per position: the place of its next value, for who goes through the records
                       in order and counts it up */
} tt_ops_layout;

/* Fills the layout for parts whose positions are below n_positions (more than 0). The caller has
 * given it its arrays: `ends` of n_positions + 1, `next` of n_positions. */
void tt_ops_layout_fill(tt_ops_layout *l, const tt_ops_part *parts, size_t n_parts,
                        size_t n_positions);

/* Cuts an array of n items of `size` bytes off a piece of memory: all that a chunk needs comes as
 * one, since a dozen large ones given back and asked for again for each chunk are, each time,
 * pages that the kernel has to clear. */
static inline void *tt_ops_cut(uint8_t **memory, size_t n, size_t size)
{
    void *array = *memory;
    *memory += (n * size + 7) & ~(size_t)7;
    return array;
}

#endif
