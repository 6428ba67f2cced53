#include "adapter/program/describe.h"

#include "adapter/ggml/names.h"
#include "adapter/ggml/process.h"
#include "adapter/program/engine.h"
#include "adapter/program/memory.h"
#include "base/checksum.h"

#include <stdio.h>
#include <string.h>

static char program_name[256], program_values[1024];

void tt_program_set_name(const char *name, const char *values)
{
    /* By default only values passed to tt_value are captured. */
    (void)snprintf(program_values, sizeof program_values, "%s", values ? values : "hash:op=VALUE");
    (void)snprintf(program_name, sizeof program_name, "%s", name ? name : "");
}

void tt_program_describe(tt_recorder *r)
{
    static tt_recorder *_Atomic described;
    if (atomic_load_explicit(&described, memory_order_relaxed) == r) return;
    (void)pthread_mutex_lock(&tt_process_lock);
    if (atomic_load(&described) != r) {
        tt_process_environment(r, "mode", "api");
        tt_process_environment(r, "recorded_by", "the program, by tensortrace/record.h");
        tt_process_environment(r, "capture_values", program_values);
        if (program_name[0]) tt_process_environment(r, "engine_version", program_name);
        atomic_store(&described, r);
    }
    (void)pthread_mutex_unlock(&tt_process_lock);
}

uint64_t tt_program_key(const char *name, const void *data)
{
    if (name && name[0]) return tt_checksum(name, strnlen(name, TT_RECORD_NAME_MAX));
    return (uint64_t)(uintptr_t)data;
}

static int64_t bounded(uint64_t n)
{
    return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

void tt_program_tensor(const tt_record_tensor *from, struct ggml_tensor *to)
{
    unsigned n_dims = from->n_dims > 4 ? 4 : from->n_dims ? from->n_dims : 1;
    memset(to, 0, sizeof *to);
    to->type = (int32_t)from->type;
    for (unsigned d = 0; d < 4; d++)
        to->ne[d] = d < n_dims ? bounded(from->ne[d]) : 1;
    (void)tt_program_strides(to);
    if (from->nb[0])
        for (unsigned d = 0; d < 4; d++) {
            uint64_t next = 0;
            bool fits = d == 0 || !__builtin_mul_overflow(to->nb[d - 1], to->ne[d - 1], &next);
            to->nb[d] = d < n_dims ? from->nb[d] : fits ? next : 0;
        }
    if (from->name) memcpy(to->name, from->name, strnlen(from->name, TT_RECORD_NAME_MAX));
    to->data = (void *)(uintptr_t)from->data;
}

/* An address counts only inside a known buffer: others change from batch to batch. */
static void place(struct ggml_tensor *t)
{
    t->buffer = tt_program_buffer_of(t->data, t->nb[0] ? tt_program_engine()->nbytes(t) : 0);
    if (!t->buffer) t->data = NULL;
}

static struct ggml_tensor *source(tt_recorder *r, tt_program_batch *b, const tt_record_tensor *from)
{
    struct ggml_tensor t;
    if (!from || (!from->name && !from->data)) return NULL;
    uint64_t key = tt_program_key(from->name, from->data);
    struct ggml_tensor *known = tt_program_batch_find(b, key, NULL);
    if (known) return known;
    tt_program_tensor(from, &t);
    place(&t);
    return tt_program_batch_add_leaf(r, b, &t, key);
}

uint32_t tt_program_add(tt_recorder *r, tt_program_batch *b, const tt_record_tensor *output,
                        struct ggml_tensor *copy)
{
    struct ggml_tensor t;
    uint64_t key = tt_program_key(output->name, output->data);
    unsigned n = output->n_sources < TT_RECORD_SOURCES ? output->n_sources : TT_RECORD_SOURCES;
    tt_program_tensor(output, &t);
    *copy = t;
    place(&t);
    t.op = tt_program_op(output->op && output->op[0] ? output->op : "OTHER");
    if (!t.name[0]) (void)snprintf(t.name, sizeof t.name, "node_%u", b->n_nodes);
    unsigned at = 0;
    for (unsigned i = 0; i < n; i++) {
        struct ggml_tensor *s = source(r, b, output->sources[i]);
        if (s) t.src[at++] = s;
    }
    if (output->stage && output->stage[0])
        tt_program_set_stage(
            &t, tt_names_id_n(r, output->stage, strnlen(output->stage, TT_RECORD_NAME_MAX)),
            output->layer);
    copy->op = t.op;
    memcpy(copy->src, t.src, sizeof t.src);
    memcpy(copy->name, t.name, sizeof t.name);
    memcpy(copy->op_params, t.op_params, sizeof t.op_params);
    return tt_program_batch_add(r, b, &t, key);
}
