/* What a buffer is for, derived from its usage and from the tensors in it. */
#include "model/load.h"

#include <stdlib.h>

/* ggml_backend_buffer_usage */
enum { USAGE_ANY = 0, USAGE_WEIGHTS = 1, USAGE_COMPUTE = 2 };

/* What lies in a buffer. */
enum { HOLDS_TENSOR = 1, HOLDS_WEIGHT = 2, HOLDS_CACHE = 4, HOLDS_RESULT = 8 };

/* Recognizes llama.cpp's names: keys and values of attention, and both parts of a recurrent
 * state. */
static bool is_cache(const char *name)
{
    static const char *const names[] = {"cache_k_l", "cache_v_l", "cache_r_l", "cache_s_l"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0) return true;
    return false;
}

static void look_at_graph(const tt_model *m, const tt_graph *g, uint8_t *holds)
{
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const tt_tensor *t = &g->tensors[i];
        uint32_t buffer = t->buffer != TT_NONE ? t->buffer : g->tensors[t->root].buffer;
        if (buffer == TT_NONE || buffer >= m->n_buffers) continue;
        holds[buffer] |= HOLDS_TENSOR;
        if (i < g->n_nodes && t->flags & TT_TENSOR_EXECUTES)
            holds[buffer] |= HOLDS_RESULT;
        else if (t->root == i && t->weight != TT_NONE)
            holds[buffer] |= HOLDS_WEIGHT;
        else if (t->root == i && i >= g->n_nodes && is_cache(t->name))
            holds[buffer] |= HOLDS_CACHE;
    }
}

static tt_buffer_kind kind_of(const tt_buffer *b, uint8_t holds)
{
    if (b->usage == USAGE_WEIGHTS) return TT_BUFFER_WEIGHTS;
    if (b->usage == USAGE_COMPUTE) return TT_BUFFER_COMPUTE;
    if (holds & HOLDS_WEIGHT) return TT_BUFFER_WEIGHTS;
    if (holds & HOLDS_CACHE) return TT_BUFFER_KV_CACHE;
    if (holds & HOLDS_RESULT) return TT_BUFFER_COMPUTE;
    /* A buffer for outputs: llama.cpp itself allocates it, and no graph computes into it. */
    if (b->usage == USAGE_ANY && !(holds & HOLDS_TENSOR) &&
        strncmp(b->allocator, "libllama", strlen("libllama")) == 0)
        return TT_BUFFER_OUTPUT;
    return TT_BUFFER_OTHER;
}

void tt_link_buffers(tt_loader *l)
{
    tt_model *m = l->m;
    uint8_t *holds = calloc((size_t)m->n_buffers + 1, 1);
    if (!holds) {
        l->no_memory = true;
        return;
    }
    for (uint32_t i = 0; i < m->n_graphs; i++)
        look_at_graph(m, &m->graphs[i], holds);
    for (uint32_t i = 0; i < m->n_buffers; i++)
        m->buffers[i].kind = kind_of(&m->buffers[i], holds[i]);
    free(holds);
}
