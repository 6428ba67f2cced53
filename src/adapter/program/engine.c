#include "adapter/program/engine.h"

#include "gguf/types.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define OPS_MAX 1024
#define OP_FIRST TT_ENGINE_OPS_MAX /* numbers above ggml's, some of which never compute */
#define TYPES_MAX 64
#define TYPE_NAME_BYTES 16

static char *ops[OPS_MAX];
static int32_t n_ops;

int32_t tt_program_op(const char *name)
{
    if (!name || !name[0]) return 0;
    for (int32_t i = 0; i < n_ops; i++)
        if (strncmp(ops[i], name, TT_PROGRAM_OP_MAX) == 0) return OP_FIRST + i;
    if (n_ops == OPS_MAX) return OP_FIRST + OPS_MAX;
    ops[n_ops] = strndup(name, TT_PROGRAM_OP_MAX);
    return ops[n_ops] ? OP_FIRST + n_ops++ : OP_FIRST + OPS_MAX;
}

static const char *op_name(int op)
{
    if (op == 0) return "NONE";
    return op >= OP_FIRST && op < OP_FIRST + n_ops ? ops[op - OP_FIRST] : "OTHER";
}

static const char *op_desc(const struct ggml_tensor *t)
{
    return op_name(t->op);
}

static char type_names[TYPES_MAX][TYPE_NAME_BYTES];
static pthread_once_t type_names_once = PTHREAD_ONCE_INIT;

/* ggml's spelling: "f32" and "q4_K". */
static void make_type_names(void)
{
    for (uint32_t type = 0; type < TYPES_MAX; type++) {
        const tt_ggml_type *t = tt_ggml_type_find(type);
        for (size_t i = 0; t && t->name[i] && i + 1 < TYPE_NAME_BYTES; i++) {
            bool is_k = t->name[i] == 'K' && i > 0 && t->name[i - 1] == '_';
            type_names[type][i] = is_k ? 'K' : (char)tolower((unsigned char)t->name[i]);
        }
    }
}

static const char *type_name(int type)
{
    (void)pthread_once(&type_names_once, make_type_names);
    return type >= 0 && type < TYPES_MAX && type_names[type][0] ? type_names[type] : "unknown";
}

static const tt_ggml_type *type_of(const struct ggml_tensor *t)
{
    return t->type >= 0 ? tt_ggml_type_find((uint32_t)t->type) : NULL;
}

bool tt_program_strides(struct ggml_tensor *t)
{
    const tt_ggml_type *type = type_of(t);
    uint64_t size = type ? type->block_bytes : 0;
    memset(t->nb, 0, sizeof t->nb);
    if (type && t->ne[0] % type->block_elements != 0) return false;
    size_t nb[4] = {size};
    uint64_t n = type ? (uint64_t)t->ne[0] / type->block_elements : 0;
    for (int d = 1; d < 4; d++) {
        if (__builtin_mul_overflow(size, n, &size)) return false;
        nb[d] = size;
        n = (uint64_t)t->ne[d];
    }
    if (__builtin_mul_overflow(size, n, &size) || size > INT64_MAX) return false;
    memcpy(t->nb, nb, sizeof nb);
    return true;
}

/* From the first byte to the last; 0 when unknown. */
static size_t nbytes(const struct ggml_tensor *t)
{
    const tt_ggml_type *type = type_of(t);
    if (!type || t->nb[0] == 0) return 0;
    uint64_t total = type->block_bytes, part;
    for (int d = 0; d < 4; d++) {
        uint64_t n = (uint64_t)t->ne[d];
        if (t->ne[d] <= 0) return 0;
        if (d == 0) n = (n + type->block_elements - 1) / type->block_elements;
        if (__builtin_mul_overflow(n - 1, t->nb[d], &part) ||
            __builtin_add_overflow(total, part, &total))
            return 0;
    }
    return total <= INT64_MAX ? total : 0;
}

static const char *buffer_name(void *buffer)
{
    return ((const tt_program_buffer *)buffer)->name;
}

static void *buffer_base(void *buffer)
{
    return (void *)(uintptr_t)((const tt_program_buffer *)buffer)->base;
}

static size_t buffer_size(void *buffer)
{
    return ((const tt_program_buffer *)buffer)->size_bytes;
}

static bool buffer_is_host(void *buffer)
{
    (void)buffer;
    return true;
}

static int buffer_usage(void *buffer)
{
    return ((const tt_program_buffer *)buffer)->use;
}

static void tensor_get(const struct ggml_tensor *t, void *to, size_t offset, size_t size)
{
    memcpy(to, (const uint8_t *)t->data + offset, size);
}

/* Stored like an op's parameters in ggml, so that comparisons of nodes include them. */
void tt_program_set_stage(struct ggml_tensor *t, uint32_t stage, int32_t layer)
{
    t->op_params[0] = (int32_t)stage;
    t->op_params[1] = layer;
}

static bool stage_of(const struct ggml_tensor *t, uint32_t *stage, int32_t *layer)
{
    *stage = (uint32_t)t->op_params[0];
    *layer = t->op_params[1];
    return *stage != 0;
}

const tt_engine *tt_program_engine(void)
{
    static const tt_engine engine = {.op_name = op_name,
                                     .op_desc = op_desc,
                                     .type_name = type_name,
                                     .nbytes = nbytes,
                                     .buffer_name = buffer_name,
                                     .buffer_base = buffer_base,
                                     .buffer_size = buffer_size,
                                     .buffer_is_host = buffer_is_host,
                                     .buffer_usage = buffer_usage,
                                     .tensor_get = tensor_get,
                                     .stage = stage_of,
                                     .op_mul_mat_id = -1,
                                     .op_get_rows = -1,
                                     .op_mul = -1,
                                     .op_sum_rows = -1,
                                     .op_set_rows = -1};
    return &engine;
}
