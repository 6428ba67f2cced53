#include "runner/engine_params.h"

#include "base/bytes.h"

#include <string.h>

/* Calls a function that returns a struct in memory, with our buffer as that memory. In plain C
 * the compiler may return into a temporary, whose unwritten bytes are whatever the stack held. */
#if defined(__aarch64__)
static void call_into(void (*fn)(void), void *out)
{
    register void *x8 __asm__("x8") = out;
    __asm__ volatile("blr %1"
                     : "+r"(x8)
                     : "r"(fn)
                     : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x9", "x10", "x11", "x12",
                       "x13", "x14", "x15", "x16", "x17", "x30", "v0", "v1", "v2", "v3", "v4", "v5",
                       "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",
                       "v25", "v26", "v27", "v28", "v29", "v30", "v31", "memory", "cc");
}
#else
/* System V x86-64: the address of the result is the first, hidden, argument. */
static void call_into(void (*fn)(void), void *out)
{
    ((void *(*)(void *))(void *)fn)(out);
}
#endif

void tt_engine_params_fetch(tt_engine_params *p, void (*defaults)(void))
{
    tt_abi_blob other;
    memset(&p->blob, 0x00, sizeof p->blob);
    memset(&other, 0xff, sizeof other);
    call_into(defaults, &p->blob);
    call_into(defaults, &other);
    for (size_t i = 0; i < TT_ABI_BLOB_SIZE; i++)
        p->written[i] = p->blob.u.bytes[i] == other.u.bytes[i];
}

uint32_t tt_engine_params_u32(const tt_engine_params *p, size_t at)
{
    return tt_load_u32(p->blob.u.bytes + at);
}

void tt_engine_params_set_u8(tt_engine_params *p, size_t at, uint8_t v)
{
    p->blob.u.bytes[at] = v;
}

void tt_engine_params_set_u32(tt_engine_params *p, size_t at, uint32_t v)
{
    memcpy(p->blob.u.bytes + at, &v, sizeof v);
}

static bool is_bytes(const tt_engine_params *p, size_t at, const uint8_t *want, size_t n)
{
    if (at > TT_ABI_BLOB_SIZE - n) return false;
    for (size_t i = 0; i < n; i++)
        if (!p->written[at + i] || p->blob.u.bytes[at + i] != want[i]) return false;
    return true;
}

static bool is_u32(const tt_engine_params *p, size_t at, uint32_t want)
{
    uint8_t bytes[4];
    memcpy(bytes, &want, sizeof want);
    return is_bytes(p, at, bytes, sizeof bytes);
}

/* vocab_only 0, use_mmap 1, and use_mlock or use_direct_io 0: the booleans come
 * after at least four pointers and behind a null kv_overrides. */
static size_t mmap_block(const tt_engine_params *p)
{
    static const uint8_t null_pointer[8] = {0}, booleans[3] = {0, 1, 0};
    size_t found = TT_PARAM_NOT_FOUND;
    for (size_t at = 32; at + 8 <= TT_ABI_BLOB_SIZE; at += 8) {
        if (!is_bytes(p, at, booleans, sizeof booleans) || !is_bytes(p, at - 8, null_pointer, 8))
            continue;
        if (found != TT_PARAM_NOT_FOUND) return TT_PARAM_NOT_FOUND;
        found = at;
    }
    return found;
}

size_t tt_engine_params_mmap(const tt_engine_params *model)
{
    size_t block = mmap_block(model);
    return block == TT_PARAM_NOT_FOUND ? block : block + 1;
}

/* devices, tensor_buft_overrides, n_gpu_layers, split_mode (layer: 1), load_mode. */
size_t tt_engine_params_load_mode(const tt_engine_params *model)
{
    static const uint8_t null_pointer[8] = {0};
    if (!is_bytes(model, 0, null_pointer, 8) || !is_bytes(model, 8, null_pointer, 8))
        return TT_PARAM_NOT_FOUND;
    if (!is_u32(model, 20, 1)) return TT_PARAM_NOT_FOUND;
    bool is_auto = is_u32(model, 24, UINT32_MAX), is_mmap = is_u32(model, 24, 1);
    return is_auto || is_mmap ? 24 : TT_PARAM_NOT_FOUND;
}

/* The booleans are in the last 8-aligned block written. */
static size_t last_block(const tt_engine_params *p)
{
    for (size_t at = TT_ABI_BLOB_SIZE - 8; at >= 32; at -= 8)
        if (p->written[at]) return at;
    return TT_PARAM_NOT_FOUND;
}

size_t tt_engine_params_extra_bufts(const tt_engine_params *model, bool has_load_mode)
{
    size_t block = has_load_mode ? last_block(model) : mmap_block(model);
    if (block == TT_PARAM_NOT_FOUND) return block;
    /* The only boolean after those two that is true by default. */
    size_t found = TT_PARAM_NOT_FOUND;
    for (size_t at = block + (has_load_mode ? 1 : 2); at < block + 8 && model->written[at]; at++) {
        if (model->blob.u.bytes[at] > 1) return TT_PARAM_NOT_FOUND;
        if (model->blob.u.bytes[at] == 0) continue;
        if (found != TT_PARAM_NOT_FOUND) return TT_PARAM_NOT_FOUND;
        found = at;
    }
    return found;
}

bool tt_engine_params_sizes_ok(const tt_engine_params *context)
{
    for (size_t i = 0; i < 16; i++)
        if (!context->written[i]) return false;
    uint32_t n_ctx = tt_engine_params_u32(context, 0);
    uint32_t n_batch = tt_engine_params_u32(context, 4);
    uint32_t n_ubatch = tt_engine_params_u32(context, 8);
    uint32_t n_seq_max = tt_engine_params_u32(context, 12);
    return n_ctx <= (1u << 24) && n_batch >= 32 && n_batch <= (1u << 20) && n_ubatch >= 32 &&
           n_ubatch <= n_batch && n_seq_max >= 1 && n_seq_max <= 1024;
}

/* The number of consecutive words of -1 from `at` on. */
static size_t run_of_minus_one(const tt_engine_params *p, size_t at)
{
    size_t n = 0;
    while (at + 4 * (n + 1) <= TT_ABI_BLOB_SIZE && is_u32(p, at + 4 * n, UINT32_MAX))
        n++;
    return n;
}

/* Before it had a type, flash_attn was one of the booleans: right after type_k and type_v (both
 * F16: 1), or after two more null pointers. */
static size_t flash_bool(const tt_engine_params *p)
{
    static const uint8_t nulls[16] = {0};
    static const uint8_t with_logits_all[5] = {0, 0, 1, 0, 1}, without[4] = {0, 1, 0, 1};
    for (size_t at = 64; at + 40 <= TT_ABI_BLOB_SIZE; at += 8) {
        if (!is_u32(p, at, 1) || !is_u32(p, at + 4, 1)) continue;
        if (is_bytes(p, at + 8, with_logits_all, sizeof with_logits_all)) return at + 8 + 3;
        if (is_bytes(p, at + 8, nulls, sizeof nulls) &&
            is_bytes(p, at + 24, without, sizeof without))
            return at + 24 + 2;
    }
    return TT_PARAM_NOT_FOUND;
}

tt_flash_field tt_engine_params_flash(const tt_engine_params *context, size_t *offset)
{
    /* rope scaling, pooling and attention type are "unspecified" (-1); a fourth -1 after them is
     * flash_attn_type, "auto". */
    for (size_t at = 16; at < 128; at += 4) {
        size_t n = run_of_minus_one(context, at);
        if (n == 0) continue;
        if (n == 4) {
            *offset = at + 12;
            return TT_FLASH_FIELD_TYPE;
        }
        if (n != 3) break;
        *offset = flash_bool(context);
        return *offset == TT_PARAM_NOT_FOUND ? TT_FLASH_FIELD_NONE : TT_FLASH_FIELD_BOOL;
    }
    *offset = TT_PARAM_NOT_FOUND;
    return TT_FLASH_FIELD_NONE;
}
