#include "adapter/ggml/values.h"

#include <stdlib.h>
#include <string.h>

bool tt_values_are_here(const tt_engine *e, const struct ggml_tensor *t)
{
    const void *buffer = t->buffer ? t->buffer : t->view_src ? t->view_src->buffer : NULL;
    return t->data && (!buffer || e->buffer_is_host((void *)(uintptr_t)buffer));
}

void *tt_values_copy(const tt_engine *e, const struct ggml_tensor *t, size_t bytes)
{
    if (!t || !t->data || bytes == 0 || e->nbytes(t) < bytes) return NULL;
    void *out = malloc(bytes);
    if (!out) return NULL;
    if (tt_values_are_here(e, t))
        memcpy(out, t->data, bytes);
    else
        e->tensor_get(t, out, 0, bytes);
    return out;
}
