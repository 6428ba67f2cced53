/* How long the names in struct ggml_tensor are. Builds of ggml differ in that alone
 * (GGML_MAX_NAME): the name is the last field but for a pointer and padding, so that all others
 * stay in place. */
#ifndef TT_BASE_GGML_LAYOUT_H
#define TT_BASE_GGML_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TT_GGML_NAME_AT 256u /* offset of the name */
#define TT_GGML_NAME_BYTES 64u
#define TT_GGML_NAME_BYTES_MAX 1024u
/* What ggml_tensor_overhead() says with names of that size: struct ggml_object and ggml_tensor. */
#define TT_GGML_TENSOR_OVERHEAD (32u + 336u)

/* Room for a name, its end included, by `overhead`, the answer of ggml_tensor_overhead(). Any other
 * size than the usual one has to be confirmed by `set_name`, the engine's ggml_set_name (NULL: it
 * has none), which is let loose on a tensor of zeros. 0: a layout that is not known. */
static inline uint32_t tt_ggml_name_bytes(size_t overhead,
                                          void *(*set_name)(void *tensor, const char *name))
{
    _Alignas(16) char tensor[TT_GGML_NAME_AT + 3 * TT_GGML_NAME_BYTES_MAX] = {0};
    char long_name[2 * TT_GGML_NAME_BYTES_MAX];
    if (overhead == TT_GGML_TENSOR_OVERHEAD) return TT_GGML_NAME_BYTES;
    const size_t bytes = overhead - TT_GGML_TENSOR_OVERHEAD + TT_GGML_NAME_BYTES;
    if (overhead < TT_GGML_TENSOR_OVERHEAD || bytes > TT_GGML_NAME_BYTES_MAX || !set_name) return 0;
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    (void)set_name(tensor, long_name);
    for (size_t i = 0; i < sizeof tensor; i++) {
        bool is_name = i >= TT_GGML_NAME_AT && i < TT_GGML_NAME_AT + bytes - 1;
        if (tensor[i] != (is_name ? 'x' : '\0')) return 0;
    }
    return (uint32_t)bytes;
}

#endif
