/* Fields of the engine's parameter structs, whose layouts no header here defines.
 *
 * llama.cpp passes llama_model_params and llama_context_params by value and extends them between
 * releases. Their defaults are fetched into an over-sized blob, which the C calling conventions
 * of x86-64 and AArch64 allow to pass by value whatever the real size is. The few fields we set
 * are found by the pattern of their defaults; where a pattern is missing or occurs twice, the
 * field counts as not found and the caller refuses the option. */
#ifndef TT_RUNNER_ENGINE_LOAD_H
#define TT_RUNNER_ENGINE_LOAD_H

#include "base/status.h"
#include "runner/engine_find.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Six times the size of the largest of these structs today (160 bytes). */
#define TT_ABI_BLOB_SIZE 1024

/* Large enough to be passed and returned in memory; 8-aligned like the real ones. */
typedef struct tt_abi_blob {
    union {
        uint64_t words[TT_ABI_BLOB_SIZE / 8];
        uint8_t bytes[TT_ABI_BLOB_SIZE];
    } u;
} tt_abi_blob;

typedef struct tt_engine_params {
    tt_abi_blob blob;                  /* passed to the engine; unwritten bytes are 0 */
    uint8_t written[TT_ABI_BLOB_SIZE]; /* 1: the defaults function set this byte */
} tt_engine_params;

/* Fills *p from a `struct X defaults(void)`. Calls it twice over different backgrounds, to
 * distinguish fields from padding and from the space after the struct. */
void tt_engine_params_fetch(tt_engine_params *p, void (*defaults)(void));

#define TT_PARAM_NOT_FOUND ((size_t)-1)

/* Byte offsets in the model parameters, or TT_PARAM_NOT_FOUND. */

/* `bool use_mmap` (releases up to mid 2026). */
size_t tt_engine_params_mmap(const tt_engine_params *model);
/* `int32_t load_mode`, which replaced it; only meaningful where the engine exports
 * llama_load_mode_name. Its default is "auto" (-1) or "mmap" (1). */
size_t tt_engine_params_load_mode(const tt_engine_params *model);
/* `bool use_extra_bufts` (weight repacking); has_load_mode selects one of its two layouts. */
size_t tt_engine_params_extra_bufts(const tt_engine_params *model, bool has_load_mode);

/* Context parameters: n_ctx, n_batch and n_ubatch are the first three words. True when their
 * defaults, and the n_seq_max after them, are plausible. */
bool tt_engine_params_sizes_ok(const tt_engine_params *context);

typedef enum tt_flash_field {
    TT_FLASH_FIELD_NONE = 0,
    TT_FLASH_FIELD_BOOL, /* one byte: off, on */
    TT_FLASH_FIELD_TYPE  /* int32: -1 auto, 0 off, 1 on */
} tt_flash_field;

/* Where, and in which form, the context parameters choose flash attention. */
tt_flash_field tt_engine_params_flash(const tt_engine_params *context, size_t *offset);

/* `at` must be an offset returned by one of the functions above. */
void tt_engine_params_set_u8(tt_engine_params *p, size_t at, uint8_t v);
void tt_engine_params_set_u32(tt_engine_params *p, size_t at, uint32_t v);
uint32_t tt_engine_params_u32(const tt_engine_params *p, size_t at);

/* Loads libllama at run time and finds its functions by name, under any name that releases gave
 * them. No engine header is needed to build this. */

/* The engine's log: not shown, but its diagnostics are kept for error messages, and two of its
 * lines confirm options we set. */

#define TT_ENGINE_LOG_LINES 3
#define TT_ENGINE_LOG_LINE 200

/* ggml's levels. */
enum { TT_ENGINE_LOG_WARN = 3, TT_ENGINE_LOG_ERROR = 4, TT_ENGINE_LOG_CONT = 5 };

/* Called from any of the engine's threads, one at a time. `text` is part of a line or a whole
 * one, as sent by the engine. */
typedef void (*tt_engine_log_sink)(void *user, int level, const char *text);

typedef struct tt_engine_log {
    pthread_mutex_t lock;
    tt_engine_log_sink sink; /* NULL: quiet */
    void *user;
    char errors[TT_ENGINE_LOG_LINES][TT_ENGINE_LOG_LINE]; /* the last ones, oldest first */
    size_t n_errors;
    char flash_attn[16]; /* as the engine reports it: "auto", "enabled", "0", ... */
    bool is_repacking;   /* it reported a CPU_REPACK buffer */
} tt_engine_log;

void tt_engine_log_init(tt_engine_log *log, tt_engine_log_sink sink, void *user);
/* For llama_log_set: user is the tt_engine_log, which must outlive the engine's use. */
void tt_engine_log_callback(int level, const char *text, void *user);
/* The kept error lines joined with "; " ("" when there are none). */
void tt_engine_log_errors(tt_engine_log *log, char *out, size_t n);

/* Opaque types of the engine. */
struct tt_llama_model;
struct tt_llama_vocab; /* the model itself in releases without a separate vocabulary */
struct tt_llama_context;
struct tt_llama_sampler;

/* struct llama_sampler_chain_params holds a single bool so far: it is returned and passed in a
 * register, as any struct of up to eight bytes would be. */
typedef struct tt_sampler_params {
    uint64_t word;
} tt_sampler_params;

/* The functions that a runner calls. Optional ones are NULL where the engine lacks them; the
 * required ones are all set after tt_engine_load. */
typedef struct tt_engine_api {
    void *handle; /* of libllama; never closed: hooks may hold addresses in it */

    void (*backend_init)(void);
    void (*backend_free)(void);
    void (*log_set)(void (*callback)(int, const char *, void *), void *user);
    void (*model_default_params)(void);   /* for tt_engine_params_fetch only */
    void (*context_default_params)(void); /* for tt_engine_params_fetch only */
    struct tt_llama_model *(*model_load)(const char *path, tt_abi_blob params);
    void (*model_free)(struct tt_llama_model *);
    struct tt_llama_context *(*context_new)(struct tt_llama_model *, tt_abi_blob params);
    void (*context_free)(struct tt_llama_context *);
    uint32_t (*n_ctx)(const struct tt_llama_context *);
    uint32_t (*n_batch)(const struct tt_llama_context *);
    void (*set_n_threads)(struct tt_llama_context *, int32_t n, int32_t n_batch);
    /* Only old releases have the arguments position and sequence; pass 0. */
    tt_abi_blob (*batch_get_one)(int32_t *tokens, int32_t n, int32_t pos, int32_t seq);
    int32_t (*decode)(struct tt_llama_context *, tt_abi_blob batch);
    int32_t (*tokenize)(const struct tt_llama_vocab *, const char *text, int32_t text_len,
                        int32_t *tokens, int32_t n_max, bool add_special, bool parse_special);
    int32_t (*token_to_piece)(const struct tt_llama_vocab *, int32_t token, char *buf, int32_t n,
                              int32_t lstrip, bool special);
    bool (*is_eog)(const struct tt_llama_vocab *, int32_t token);
    tt_sampler_params (*chain_default_params)(void);
    struct tt_llama_sampler *(*chain_init)(tt_sampler_params);
    void (*chain_add)(struct tt_llama_sampler *chain, struct tt_llama_sampler *);
    struct tt_llama_sampler *(*sampler_greedy)(void);
    struct tt_llama_sampler *(*sampler_temp)(float);
    struct tt_llama_sampler *(*sampler_dist)(uint32_t seed);
    const float *(*logits)(struct tt_llama_context *); /* of the last call; NULL: none */
    int32_t (*sample)(struct tt_llama_sampler *, struct tt_llama_context *, int32_t at);
    void (*sampler_free)(struct tt_llama_sampler *);

    /* Optional. */
    const struct tt_llama_vocab *(*model_get_vocab)(const struct tt_llama_model *);
    int32_t (*n_vocab)(const struct tt_llama_vocab *);
    int32_t (*n_ctx_train)(const struct tt_llama_model *);
    bool (*has_encoder)(const struct tt_llama_model *);
    /* Returns the length, or -1: no such key. */
    int32_t (*meta_text)(const struct tt_llama_model *, const char *key, char *out, size_t room);
    tt_abi_blob (*perf_context)(const struct tt_llama_context *);
    const char *(*load_mode_name)(int32_t mode);
    const char *(*print_system_info)(void);
    void (*load_backends_from)(const char *dir);
    void (*load_backends)(void);
    size_t (*backend_count)(void);
    const char *(*llama_version)(void);
    const char *(*ggml_version)(void);
    const char *(*ggml_commit)(void);
    size_t (*tensor_overhead)(void);
    void *(*set_name)(void *tensor, const char *name);
} tt_engine_api;

/* Loads the engine's libraries into this process and resolves *api. Backends in separate
 * libraries (one per CPU variant, GPUs) are loaded from the same folder. Symbols become global
 * and are looked up in global scope, as if this program had been linked with the engine, so that
 * a preloaded library sees our calls. The log goes to `log`, which must outlive the use of the
 * engine. Call once per process. */
tt_status tt_engine_load(const tt_engine_found *engine, tt_engine_log *log, tt_engine_api *api,
                         tt_error *err);

#endif
