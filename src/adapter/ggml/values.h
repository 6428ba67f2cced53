/* Values of tensors, in the program's memory or on a device. */
#ifndef TT_ADAPTER_GGML_VALUES_H
#define TT_ADAPTER_GGML_VALUES_H

#include "adapter/ggml/engine.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the tensor's bytes can be read at t->data. */
bool tt_values_are_here(const tt_engine *e, const struct ggml_tensor *t);
/* A malloc'ed copy of the tensor's first `bytes` bytes; NULL if it has fewer, is not allocated yet,
 * or out of memory. Nothing may write to it. */
void *tt_values_copy(const tt_engine *e, const struct ggml_tensor *t, size_t bytes);

#endif
