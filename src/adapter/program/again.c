#include "adapter/program/again.h"

#include "adapter/ggml/buffers.h"
#include "adapter/ggml/graphs.h"
#include "adapter/program/engine.h"
#include "adapter/program/memory.h"
#include "base/array.h"

#include <string.h>

/* Whether the text is the known one of that length, shorter than max, or begins with it if it is as
 * long as max. Names are short: a call of strncmp would cost more than the comparison. */
static inline bool is_text(const char *text, const char *known, size_t length, size_t max)
{
    if (!text) return false;
    for (size_t i = 0; i < length; i++)
        if (text[i] != known[i]) return false;
    return length == max || !text[length];
}

/* Type, shape and strides, of which the given ones and n_dims are as before. */
static inline __attribute__((always_inline)) bool
has_shape(const tt_record_tensor *from, const struct ggml_tensor *t, bool has_strides)
{
    if (from->type != (tt_type)t->type || (from->nb[0] != 0) != has_strides) return false;
    for (unsigned d = 0; d < from->n_dims; d++)
        if (from->ne[d] != (uint64_t)t->ne[d] || (has_strides && from->nb[d] != t->nb[d]))
            return false;
    return true;
}

/* A source that came with its node is compared as a whole, except where its address counts; one
 * that was there before is known by its name. */
static bool has_source(const tt_record_tensor *from, const struct ggml_tensor *t, bool is_new)
{
    if (!from || !t || !from->name || strncmp(from->name, t->name, TT_RECORD_NAME_MAX) != 0)
        return false;
    if (!is_new) return true;
    for (unsigned d = from->n_dims; d < TT_RECORD_DIMS; d++)
        if (t->ne[d] != 1) return false;
    return from->n_dims >= 1 && from->n_dims <= TT_RECORD_DIMS && !from->nb[0] &&
           has_shape(from, t, false) &&
           (t->buffer ? from->data == t->data : !from->data || !tt_program_has_buffers());
}

uint32_t tt_program_again(tt_program_batch *b, uint32_t generation, const tt_record_tensor *output)
{
    if (!b || !b->same || b->is_loose || b->n_nodes >= b->n_before ||
        b->n_nodes >= b->reported_capacity ||
        atomic_load_explicit(&b->generation, memory_order_acquire) != generation ||
        b->buffers_begin != tt_buffers_generation())
        return 0;
    const uint32_t n = b->n_nodes;
    const tt_program_reported *reported = &b->reported[n];
    const struct ggml_tensor *t = b->nodes[n];
    if (!reported->op || reported->n_dims != output->n_dims ||
        reported->n_sources != output->n_sources ||
        (reported->data != output->data && (t->buffer || tt_program_has_buffers())) ||
        !has_shape(output, t, reported->has_strides) ||
        !is_text(output->name, t->name, reported->name_bytes, TT_RECORD_NAME_MAX) ||
        !is_text(output->op, reported->op, reported->op_bytes, TT_PROGRAM_OP_MAX))
        return 0;
    for (uint32_t i = 0; i < reported->n_sources; i++)
        if (!has_source(output->sources[i], t->src[i], reported->new_sources >> i & 1u)) return 0;
    const char *stage = output->stage ? output->stage : "";
    if (stage[0] != reported->stage[0] ||
        (stage[0] && (output->layer != reported->layer ||
                      strncmp(stage, reported->stage, TT_RECORD_NAME_MAX) != 0)))
        return 0;
    b->taken[n] = 0;
    /* The end of the process may look at the batch meanwhile. */
    __atomic_store_n(&b->n_tensors, reported->n_tensors, __ATOMIC_RELAXED);
    __atomic_store_n(&b->n_nodes, n + 1, __ATOMIC_RELAXED);
    return n + 1;
}

/* Which sources came with the node, as bits. False: one is not known by a name, is missing, or came
 * with strides. */
static bool note_sources(tt_program_reported *reported, const tt_program_batch *b,
                         uint32_t n_before, const tt_record_tensor *output)
{
    const struct ggml_tensor *t = b->nodes[b->n_nodes - 1];
    for (uint32_t i = 0; i < reported->n_sources; i++) {
        const tt_record_tensor *from = output->sources[i];
        if (!from || !from->name || !from->name[0] || !t->src[i]) return false;
        bool is_new = false;
        for (uint32_t k = n_before; k < b->n_tensors; k++)
            is_new |= b->tensors[k] == t->src[i];
        if (is_new && from->nb[0]) return false;
        reported->new_sources |= (uint32_t)is_new << i;
    }
    return true;
}

void tt_program_keep(tt_program_batch *b, const tt_record_tensor *output, uint32_t n_before,
                     bool is_wanted)
{
    const uint32_t n = b->n_nodes - 1u;
    if (!tt_array_room_zeroed(b->reported, b->reported_capacity, b->n_nodes)) return;
    tt_program_reported *reported = &b->reported[n];
    *reported = (tt_program_reported){.n_dims = output->n_dims,
                                      .n_sources = output->n_sources,
                                      .n_tensors = b->n_tensors,
                                      .has_strides = output->nb[0] != 0,
                                      .executes = tt_graphs_executes(b->nodes[n], false),
                                      .data = output->data,
                                      .layer = output->layer};
    const bool is_plain = output->n_dims >= 1 && output->n_dims <= TT_RECORD_DIMS &&
                          output->n_sources <= TT_RECORD_SOURCES && output->name &&
                          output->name[0] && output->op && output->op[0];
    if (!is_plain || is_wanted || !note_sources(reported, b, n_before, output)) return;
    if (output->stage)
        memcpy(reported->stage, output->stage, strnlen(output->stage, TT_RECORD_NAME_MAX));
    reported->name_bytes = (uint8_t)strnlen(b->nodes[n]->name, TT_RECORD_NAME_MAX);
    reported->op = b->engine->op_name(b->nodes[n]->op);
    reported->op_bytes = (uint8_t)strnlen(reported->op, TT_PROGRAM_OP_MAX);
}
