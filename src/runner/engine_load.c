#include "runner/engine_load.h"

#include "base/bytes.h"
#include "runner/elf_file.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
                       "x13", "x14", "x15", "x16", "x17", "x18", "x30", "v0", "v1", "v2", "v3",
                       "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22",
                       "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "memory",
                       "cc");
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

void tt_engine_log_init(tt_engine_log *log, tt_engine_log_sink sink, void *user)
{
    memset(log, 0, sizeof *log);
    (void)pthread_mutex_init(&log->lock, NULL);
    log->sink = sink;
    log->user = user;
}

static void keep_error(tt_engine_log *log, const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strcspn(text, "\r\n");
    if (length == 0) return;
    if (log->n_errors == TT_ENGINE_LOG_LINES) {
        memmove(log->errors[0], log->errors[1], sizeof log->errors - sizeof log->errors[0]);
        log->n_errors--;
    }
    (void)snprintf(log->errors[log->n_errors++], TT_ENGINE_LOG_LINE, "%.*s",
                   length < TT_ENGINE_LOG_LINE ? (int)length : TT_ENGINE_LOG_LINE - 1, text);
}

/* "llama_context: flash_attn    = auto" */
static void note_flash_attn(tt_engine_log *log, const char *text)
{
    const char *key = strstr(text, "flash_attn ");
    const char *value = key ? strchr(key, '=') : NULL;
    if (!value) return;
    value++;
    while (*value == ' ')
        value++;
    size_t length = strcspn(value, " \r\n");
    if (length == 0 || length >= sizeof log->flash_attn) return;
    memcpy(log->flash_attn, value, length);
    log->flash_attn[length] = '\0';
}

void tt_engine_log_callback(int level, const char *text, void *user)
{
    tt_engine_log *log = user;
    if (!text) return;
    (void)pthread_mutex_lock(&log->lock);
    if (level == TT_ENGINE_LOG_ERROR) keep_error(log, text);
    note_flash_attn(log, text);
    if (strstr(text, "CPU_REPACK model buffer")) log->is_repacking = true;
    if (log->sink) log->sink(log->user, level, text);
    (void)pthread_mutex_unlock(&log->lock);
}

void tt_engine_log_errors(tt_engine_log *log, char *out, size_t n)
{
    size_t used = 0;
    (void)pthread_mutex_lock(&log->lock);
    if (n) out[0] = '\0';
    for (size_t i = 0; i < log->n_errors && used < n; i++) {
        int length = snprintf(out + used, n - used, "%s%s", i ? "; " : "", log->errors[i]);
        if (length > 0) used += (size_t)length;
    }
    (void)pthread_mutex_unlock(&log->lock);
}

#define NEIGHBOUR_DEPTH_MAX 4

typedef struct function {
    size_t at;        /* offset of the pointer in tt_engine_api */
    const char *name; /* current name */
    const char *old;  /* earlier name, or NULL */
    bool optional;
} function;

#define AT(member) offsetof(tt_engine_api, member)

static const function functions[] = {
    {AT(backend_init), "llama_backend_init", NULL, false},
    {AT(backend_free), "llama_backend_free", NULL, false},
    {AT(log_set), "llama_log_set", NULL, false},
    {AT(model_default_params), "llama_model_default_params", NULL, false},
    {AT(context_default_params), "llama_context_default_params", NULL, false},
    {AT(model_load), "llama_model_load_from_file", "llama_load_model_from_file", false},
    {AT(model_free), "llama_model_free", "llama_free_model", false},
    {AT(context_new), "llama_init_from_model", "llama_new_context_with_model", false},
    {AT(context_free), "llama_free", NULL, false},
    {AT(n_ctx), "llama_n_ctx", NULL, false},
    {AT(n_batch), "llama_n_batch", NULL, false},
    {AT(set_n_threads), "llama_set_n_threads", NULL, false},
    {AT(batch_get_one), "llama_batch_get_one", NULL, false},
    {AT(decode), "llama_decode", NULL, false},
    {AT(tokenize), "llama_tokenize", NULL, false},
    {AT(token_to_piece), "llama_token_to_piece", NULL, false},
    {AT(is_eog), "llama_vocab_is_eog", "llama_token_is_eog", false},
    {AT(chain_default_params), "llama_sampler_chain_default_params", NULL, false},
    {AT(chain_init), "llama_sampler_chain_init", NULL, false},
    {AT(chain_add), "llama_sampler_chain_add", NULL, false},
    {AT(sampler_greedy), "llama_sampler_init_greedy", NULL, false},
    {AT(sampler_temp), "llama_sampler_init_temp", NULL, false},
    {AT(sampler_dist), "llama_sampler_init_dist", NULL, false},
    {AT(logits), "llama_get_logits", NULL, false},
    {AT(sample), "llama_sampler_sample", NULL, false},
    {AT(sampler_free), "llama_sampler_free", NULL, false},
    {AT(model_get_vocab), "llama_model_get_vocab", NULL, true},
    {AT(n_vocab), "llama_vocab_n_tokens", "llama_n_vocab", true},
    {AT(n_ctx_train), "llama_model_n_ctx_train", "llama_n_ctx_train", true},
    {AT(has_encoder), "llama_model_has_encoder", NULL, true},
    {AT(meta_text), "llama_model_meta_val_str", NULL, true},
    {AT(perf_context), "llama_perf_context", NULL, true},
    {AT(load_mode_name), "llama_load_mode_name", NULL, true},
    {AT(print_system_info), "llama_print_system_info", NULL, true},
    {AT(load_backends_from), "ggml_backend_load_all_from_path", NULL, true},
    {AT(load_backends), "ggml_backend_load_all", NULL, true},
    {AT(backend_count), "ggml_backend_reg_count", NULL, true},
    {AT(llama_version), "llama_version", NULL, true},
    {AT(ggml_version), "ggml_version", NULL, true},
    {AT(ggml_commit), "ggml_commit", NULL, true},
    {AT(tensor_overhead), "ggml_tensor_overhead", NULL, true},
    {AT(set_name), "ggml_set_name", NULL, true},
};

/* Searches the global scope first: a preloaded library that interposes the name comes first
 * there, as for a program linked with the engine. */
static void *resolve(void *handle, const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    return symbol ? symbol : dlsym(handle, name);
}

static tt_status resolve_all(const tt_engine_found *engine, tt_engine_api *api, tt_error *err)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        const function *f = &functions[i];
        void *symbol = resolve(api->handle, f->name);
        if (!symbol && f->old) symbol = resolve(api->handle, f->old);
        if (!symbol && !f->optional)
            return tt_error_set(err, TT_E_UNSUPPORTED, TT_NO_OFFSET,
                                "%.180s has no %s: this llama.cpp is too old for the built-in "
                                "runner (or is something else); use `tensortrace run -- PROGRAM`",
                                engine->llama, f->name);
        memcpy((char *)api + f->at, &symbol, sizeof symbol);
    }
    return TT_OK;
}

/* First loads a library's dependencies from its own folder, for libraries that were moved away
 * from their run path. `why` gets the reason of the first failure: later ones only report that
 * this one is missing. */
static void load_neighbours(const char *dir, const char *path, int depth, char why[256])
{
    tt_elf_file *elf = NULL;
    if (depth == NEIGHBOUR_DEPTH_MAX || tt_elf_open(path, &elf, NULL) != TT_OK) return;
    for (size_t i = 0; i < tt_elf_n_needed(elf); i++) {
        char neighbour[PATH_MAX + NAME_MAX + 2];
        (void)snprintf(neighbour, sizeof neighbour, "%s/%s", dir, tt_elf_needed(elf, i));
        if (access(neighbour, R_OK) != 0) continue;
        /* Loaded already, from elsewhere: a distribution's folder also has the C library. */
        if (dlopen(tt_elf_needed(elf, i), RTLD_NOW | RTLD_NOLOAD)) continue;
        load_neighbours(dir, neighbour, depth + 1, why);
        if (dlopen(neighbour, RTLD_NOW | RTLD_GLOBAL)) continue;
        const char *reason = dlerror();
        if (!why[0] && reason) (void)snprintf(why, 256, "%s", reason);
    }
    tt_elf_close(elf);
}

static void *open_llama(const tt_engine_found *engine, tt_error *err)
{
    void *handle = dlopen(engine->llama, RTLD_NOW | RTLD_GLOBAL);
    if (handle) return handle;
    char first[256] = "";
    load_neighbours(engine->dir, engine->llama, 0, first);
    handle = dlopen(engine->llama, RTLD_NOW | RTLD_GLOBAL);
    if (handle) return handle;
    const char *why = dlerror();
    (void)tt_error_set(err, TT_E_UNSUPPORTED, TT_NO_OFFSET, "cannot load the engine: %.260s",
                       first[0] ? first
                       : why    ? why
                                : engine->llama);
    return NULL;
}

tt_status tt_engine_load(const tt_engine_found *engine, tt_engine_log *log, tt_engine_api *api,
                         tt_error *err)
{
    memset(api, 0, sizeof *api);
    api->handle = open_llama(engine, err);
    if (!api->handle) return err ? err->status : TT_E_UNSUPPORTED;
    tt_status status = resolve_all(engine, api, err);
    if (status != TT_OK) return status;
    api->log_set(tt_engine_log_callback, log);
    /* A build with linked-in backends has registered them by now. */
    if (api->load_backends_from && api->backend_count && api->backend_count() == 0) {
        api->load_backends_from(engine->dir);
        if (api->backend_count() == 0 && api->load_backends) api->load_backends();
        if (api->backend_count() == 0)
            return tt_error_set(err, TT_E_UNSUPPORTED, TT_NO_OFFSET,
                                "the engine in %.200s has no backend for this machine "
                                "(no libggml-cpu*.so there fits)",
                                engine->dir);
    }
    api->backend_init();
    return TT_OK;
}
