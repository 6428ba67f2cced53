/* The size of names in struct ggml_tensor (GGML_MAX_NAME). Builds of ggml differ only in that: only
 * a pointer and padding follow the name, so all other fields keep their offsets. */
#ifndef TT_BASE_GGML_LAYOUT_H
#define TT_BASE_GGML_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TT_GGML_NAME_AT 256u /* offset of the name */
#define TT_GGML_NAME_BYTES 64u
#define TT_GGML_NAME_BYTES_MAX 1024u
/* What ggml_tensor_overhead() returns with names of that size: struct ggml_object and ggml_tensor.
 * */
#define TT_GGML_TENSOR_OVERHEAD (32u + 336u)

/* The next step with an unknown layout. */
#define TT_GGML_LAYOUT_ADVICE                                                                      \
    "builds of llama.cpp before December 2024 and forks from that time have others; use a "        \
    "current "                                                                                     \
    "build of llama.cpp itself"
/* What was observed of it: the overhead, tt_ggml_name_at. */
#define TT_GGML_LAYOUT_WHERE "%zu bytes with its header, a name at byte %zu"

/* Where the engine's ggml_set_name puts a name; 0: unknown. */
static inline size_t tt_ggml_name_at(void *(*set_name)(void *tensor, const char *name))
{
    _Alignas(16) char tensor[TT_GGML_NAME_AT + 3 * TT_GGML_NAME_BYTES_MAX] = {0};
    if (set_name) (void)set_name(tensor, "x");
    const char *at = memchr(tensor, 'x', sizeof tensor);
    return at ? (size_t)(at - tensor) : 0;
}

/* The size of a name's array, derived from `overhead`, the result of ggml_tensor_overhead(), and
 * confirmed by `set_name`, the engine's ggml_set_name, which is called on a tensor of zeros: before
 * December 2024 structs of the usual size had other offsets. NULL: it has none, and only the usual
 * size is accepted. 0: an unknown layout. */
static inline uint32_t tt_ggml_name_bytes(size_t overhead,
                                          void *(*set_name)(void *tensor, const char *name))
{
    _Alignas(16) char tensor[TT_GGML_NAME_AT + 3 * TT_GGML_NAME_BYTES_MAX] = {0};
    char long_name[2 * TT_GGML_NAME_BYTES_MAX];
    if (overhead == TT_GGML_TENSOR_OVERHEAD && !set_name) return TT_GGML_NAME_BYTES;
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
