/* The engine's parameter structs, whose layouts no header here knows.
 *
 * llama.cpp passes llama_model_params and llama_context_params by value and
 * lets them grow between releases. Their defaults are fetched into an over-sized
 * blob, which by the C calling conventions of x86-64 and AArch64 may be handed
 * on by value whatever the real size is. The few fields we set are found by the
 * pattern their defaults make; where a pattern is not there, or is there twice,
 * the field counts as not found and the caller refuses the option. */
#ifndef TT_RUNNER_ENGINE_PARAMS_H
#define TT_RUNNER_ENGINE_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Six times what the largest of these structs needs today (160 bytes). */
#define TT_ABI_BLOB_SIZE 1024

/* Big enough to be passed and returned in memory, 8-aligned as the real ones. */
typedef struct tt_abi_blob {
    union {
        uint64_t words[TT_ABI_BLOB_SIZE / 8];
        uint8_t bytes[TT_ABI_BLOB_SIZE];
    } u;
} tt_abi_blob;

typedef struct tt_engine_params {
    tt_abi_blob blob;                  /* what is passed to the engine; unwritten bytes are 0 */
    uint8_t written[TT_ABI_BLOB_SIZE]; /* 1: the engine's defaults set this byte */
} tt_engine_params;

/* Fills *p from a `struct X defaults(void)`. The function is called twice over
 * different backgrounds, which tells fields from padding and from the space
 * behind the struct. */
void tt_engine_params_fetch(tt_engine_params *p, void (*defaults)(void));

#define TT_PARAM_NOT_FOUND ((size_t)-1)

/* Byte offsets in the model parameters, or TT_PARAM_NOT_FOUND. */

/* `bool use_mmap` (releases up to mid 2026). */
size_t tt_engine_params_mmap(const tt_engine_params *model);
/* `int32_t load_mode`, which took its place; only meaningful where the engine
 * exports llama_load_mode_name. Its default is "auto" (-1) or "mmap" (1). */
size_t tt_engine_params_load_mode(const tt_engine_params *model);
/* `bool use_extra_bufts` (weight repacking); has_load_mode says which of the
 * two layouts the engine uses. */
size_t tt_engine_params_extra_bufts(const tt_engine_params *model, bool has_load_mode);

/* Context parameters: n_ctx, n_batch and n_ubatch are the first three words.
 * True when their defaults, and the n_seq_max behind them, are believable. */
bool tt_engine_params_sizes_ok(const tt_engine_params *context);

typedef enum tt_flash_field {
    TT_FLASH_FIELD_NONE = 0,
    TT_FLASH_FIELD_BOOL, /* one byte: off, on */
    TT_FLASH_FIELD_TYPE  /* int32: -1 auto, 0 off, 1 on */
} tt_flash_field;

/* Where flash attention is chosen in the context parameters, and how. */
tt_flash_field tt_engine_params_flash(const tt_engine_params *context, size_t *offset);

/* `at` must be an offset one of the functions above returned. */
void tt_engine_params_set_u8(tt_engine_params *p, size_t at, uint8_t v);
void tt_engine_params_set_u32(tt_engine_params *p, size_t at, uint32_t v);
uint32_t tt_engine_params_u32(const tt_engine_params *p, size_t at);

#endif
