/* The parts of ggml's binary interface that the hooks read. ggml's own headers are not needed to
 * build; layouts are checked against the running engine (engine.c) before any field is read.
 *
 * struct ggml_tensor on 64-bit machines, unchanged since December 2024 (b4234):
 *
 *   byte 0    type        80  op          148 flags       232 view_src   256 name[64]
 *        8    buffer      84  op_params   152 src[10]     240 view_offs  320 extra
 *        16   ne[4]       48  nb[4]                       248 data       336 end */
#ifndef TT_ADAPTER_GGML_ABI_H
#define TT_ADAPTER_GGML_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GGML_MIRROR_SRC 10
#define GGML_MIRROR_NAME 64

struct ggml_tensor {
    int32_t type;
    void *buffer;
    int64_t ne[4];
    size_t nb[4];
    int32_t op;
    int32_t op_params[16];
    int32_t flags;
    struct ggml_tensor *src[GGML_MIRROR_SRC];
    struct ggml_tensor *view_src;
    size_t view_offs;
    void *data;
    char name[GGML_MIRROR_NAME];
    void *extra;
    char padding[8];
};

_Static_assert(sizeof(struct ggml_tensor) == 336, "layout of struct ggml_tensor");
_Static_assert(offsetof(struct ggml_tensor, op) == 80, "layout of struct ggml_tensor");
_Static_assert(offsetof(struct ggml_tensor, src) == 152, "layout of struct ggml_tensor");
_Static_assert(offsetof(struct ggml_tensor, data) == 248, "layout of struct ggml_tensor");
_Static_assert(offsetof(struct ggml_tensor, name) == 256, "layout of struct ggml_tensor");

/* The engine's size of a tensor's name, terminator included; set before any name is read. */
extern uint32_t tt_engine_name_bytes;

/* The tensor's name, which may be longer than the mirror's field; *length is without the
 * terminator. Tensors made by the adapter have the declared field only. */
static inline const char *tt_tensor_name(const struct ggml_tensor *t, size_t *length)
{
    const char *name = (const char *)t + offsetof(struct ggml_tensor, name);
    *length = strnlen(name, tt_engine_name_bytes);
    return name;
}

/* Flags of a tensor. Engines before 2026 do not have COMPUTE: there every node computes. */
enum { GGML_MIRROR_FLAG_INPUT = 1, GGML_MIRROR_FLAG_OUTPUT = 2, GGML_MIRROR_FLAG_COMPUTE = 16 };

/* The first fields of struct ggml_compute_params. */
struct ggml_compute_params {
    int32_t ith; /* this thread's index: the lane */
    int32_t nth; /* how many threads */
};

/* enum ggml_backend_dev_type. */
enum { GGML_MIRROR_DEVICE_CPU = 0, GGML_MIRROR_DEVICE_GPU = 1, GGML_MIRROR_DEVICE_IGPU = 2 };

/* struct gguf_init_params: 16 bytes, passed in two registers. */
struct gguf_init_params {
    uint8_t no_alloc;
    void **ctx;
};

/* struct llama_batch, larger than in any version: the callee reads the fields it knows from its
 * copy on the stack (System V and AAPCS64 pass such structs in memory). The named fields come first
 * in every version. */
struct llama_batch_mirror {
    int32_t n_tokens;
    int32_t *token; /* or embd */
    float *embd;
    int32_t *pos;      /* NULL: the engine continues each sequence */
    int32_t *n_seq_id; /* sequences of each token; NULL with seq_id: one, number 0 */
    int32_t **seq_id;
    int8_t *logits; /* outputs are requested; NULL: the last token's */
    uint8_t rest[72];
};

_Static_assert(sizeof(struct llama_batch_mirror) == 128, "larger than any version's");

struct ggml_cgraph;
struct ggml_threadpool;
struct ggml_cplan;

/* GGML_STATUS_FAILED. */
#define GGML_MIRROR_STATUS_FAILED (-1)

/* In a hook: the return address in the engine. */
#define TT_CALLER __builtin_return_address(0)
#define TT_EXPORT __attribute__((visibility("default")))

#endif
