/* Fields of the engine's parameter structs, whose layouts no header here defines.
 *
 * llama.cpp passes llama_model_params and llama_context_params by value and extends them between
 * releases. Their defaults are fetched into an over-sized blob, which the C calling conventions
 * of x86-64 and AArch64 allow to pass by value whatever the real size is. The few fields we set
 * are found by the pattern of their defaults; where a pattern is missing or occurs twice, the
 * field counts as not found and the caller refuses the option. */
#ifndef TT_RUNNER_ENGINE_PARAMS_H
#define TT_RUNNER_ENGINE_PARAMS_H

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

#endif
