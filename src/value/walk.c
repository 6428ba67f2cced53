#include "value/walk.h"

#include <string.h>

static uint64_t row_of(const tt_value_data *v, uint64_t i1)
{
    int64_t wide;
    int32_t narrow;
    if (!v->rows) return i1;
    if (v->rows_bytes == sizeof wide) {
        memcpy(&wide, (const uint8_t *)v->rows + i1 * sizeof wide, sizeof wide);
        return (uint64_t)wide;
    }
    memcpy(&narrow, (const uint8_t *)v->rows + i1 * sizeof narrow, sizeof narrow);
    return (uint64_t)narrow;
}

/* Finds element `first`, and how many elements from it on, at most n, are contiguous. first is a
 * whole number of blocks. */
static const uint8_t *value_run(const tt_value_data *v, uint64_t first, uint64_t n,
                                uint64_t *together)
{
    uint32_t block = tt_value_block_elements(v->type), bytes = tt_value_block_bytes(v->type);
    uint64_t i0 = first % v->ne[0], rest = first / v->ne[0];
    uint64_t i1 = rest % v->ne[1], i2 = rest / v->ne[1] % v->ne[2], i3 = rest / v->ne[1] / v->ne[2];
    const uint8_t *at = (const uint8_t *)v->data + i0 / block * v->nb[0] +
                        row_of(v, i1) * v->nb[1] + i2 * v->nb[2] + i3 * v->nb[3];
    if (v->nb[0] != bytes) {
        *together = block;
        return at;
    }
    /* Contiguous rows and planes form one interval. */
    uint64_t here = v->ne[0] - i0, size = v->ne[0], row = size / block * bytes;
    uint64_t index[TT_VALUE_DIMS] = {0, i1, i2, i3};
    for (unsigned d = 1; d < TT_VALUE_DIMS && here < n && !v->rows; d++) {
        if (v->ne[d] == 1) continue; /* its stride does not matter */
        if (v->nb[d] != row) break;
        here += (v->ne[d] - 1 - index[d]) * size;
        size *= v->ne[d];
        row *= v->ne[d];
    }
    *together = here < n ? here : n;
    return at;
}

const uint8_t *tt_value_gather(const tt_value_data *v, uint64_t first, uint64_t n, uint8_t *out)
{
    uint32_t block = tt_value_block_elements(v->type), bytes = tt_value_block_bytes(v->type);
    for (uint64_t done = 0; done < n;) {
        uint64_t together;
        const uint8_t *at = value_run(v, first + done, n - done, &together);
        if (together >= n && done == 0) return at;
        memcpy(out + done / block * bytes, at, together / block * bytes);
        done += together;
    }
    return out;
}
