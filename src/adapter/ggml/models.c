#include "adapter/ggml/models.h"

#include "adapter/ggml/engine.h"
#include "adapter/ggml/names.h"
#include "adapter/ggml/process.h"
#include "adapter/ggml/resolve.h"
#include "adapter/ggml/storage.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "format/meta.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES (64u << 10)

/* The engine's GGUF interface. In 2025, indices and counts became 64-bit: passing 64-bit
 * arguments and taking 32-bit results fits old and new. */
typedef struct gguf_api {
    int (*n_kv)(void *);
    const char *(*key)(void *, int64_t);
    int (*kv_type)(void *, int64_t);
    int (*arr_type)(void *, int64_t);
    int (*arr_n)(void *, int64_t);
    const char *(*val_str)(void *, int64_t);
    const void *(*val_data)(void *, int64_t);
    int (*n_tensors)(void *);
    const char *(*tensor_name)(void *, int64_t);
    int (*tensor_type)(void *, int64_t);
    size_t (*tensor_offset)(void *, int64_t);
    size_t (*data_offset)(void *);
    struct ggml_tensor *(*get_tensor)(void *, const char *); /* ggml_get_tensor */
} gguf_api;

static bool find_api(const void *caller, gguf_api *g)
{
    const struct {
        void *member;
        const char *name;
    } functions[] = {{&g->n_kv, "gguf_get_n_kv"},
                     {&g->key, "gguf_get_key"},
                     {&g->kv_type, "gguf_get_kv_type"},
                     {&g->arr_type, "gguf_get_arr_type"},
                     {&g->arr_n, "gguf_get_arr_n"},
                     {&g->val_str, "gguf_get_val_str"},
                     {&g->val_data, "gguf_get_val_data"},
                     {&g->n_tensors, "gguf_get_n_tensors"},
                     {&g->tensor_name, "gguf_get_tensor_name"},
                     {&g->tensor_type, "gguf_get_tensor_type"},
                     {&g->tensor_offset, "gguf_get_tensor_offset"},
                     {&g->data_offset, "gguf_get_data_offset"},
                     {&g->get_tensor, "ggml_get_tensor"}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = tt_resolve(caller, functions[i].name);
        if (!found) return false;
        memcpy(functions[i].member, &found, sizeof found);
    }
    return true;
}

/* enum gguf_type, fixed by the GGUF specification. */
enum { U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64, GGUF_TYPES };
static const char *const type_names[GGUF_TYPES] = {"u8",   "i8",  "u16", "i16", "u32", "i32", "f32",
                                                   "bool", "str", "arr", "u64", "i64", "f64"};

static const char *type_name(int type)
{
    return type >= 0 && type < GGUF_TYPES ? type_names[type] : "?";
}

void tt_models_scalar(int type, const void *p, char *out, size_t size)
{
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        float f32;
        uint64_t u64;
        int64_t i64;
        double f64;
    } v;
    static const uint8_t bytes[GGUF_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    memset(&v, 0, sizeof v);
    if (type >= 0 && type < GGUF_TYPES) memcpy(&v, p, bytes[type]);
    switch (type) {
    case U8:
        (void)snprintf(out, size, "%u", v.u8);
        break;
    case I8:
        (void)snprintf(out, size, "%d", v.i8);
        break;
    case U16:
        (void)snprintf(out, size, "%u", v.u16);
        break;
    case I16:
        (void)snprintf(out, size, "%d", v.i16);
        break;
    case U32:
        (void)snprintf(out, size, "%" PRIu32, v.u32);
        break;
    case I32:
        (void)snprintf(out, size, "%" PRId32, v.i32);
        break;
    case F32:
        (void)snprintf(out, size, "%.9g", (double)v.f32);
        break;
    case BOOL:
        (void)snprintf(out, size, "%s", v.u8 ? "true" : "false");
        break;
    case U64:
        (void)snprintf(out, size, "%" PRIu64, v.u64);
        break;
    case I64:
        (void)snprintf(out, size, "%" PRId64, v.i64);
        break;
    case F64:
        (void)snprintf(out, size, "%.17g", v.f64);
        break;
    default:
        out[0] = '\0';
        break;
    }
}

static void put_kv(const gguf_api *g, void *gguf, int64_t i, tt_bytes *out)
{
    char scalar[64];
    const char *key = g->key(gguf, i), *text = scalar;
    int type = g->kv_type(gguf, i);
    if (type == STRING)
        text = g->val_str(gguf, i);
    else if (type == ARRAY)
        (void)snprintf(scalar, sizeof scalar, "[%s x %d]", type_name(g->arr_type(gguf, i)),
                       g->arr_n(gguf, i));
    else
        tt_models_scalar(type, g->val_data(gguf, i), scalar, sizeof scalar);
    tt_meta_kv kv = {
        {(const uint8_t *)key, strlen(key)}, (uint32_t)type, {(const uint8_t *)text, strlen(text)}};
    tt_meta_put_kv(out, &kv);
}

static void put_weight(tt_recorder *r, const tt_engine *e, const gguf_api *g, void *gguf,
                       const struct ggml_tensor *t, int64_t i, tt_bytes *out)
{
    const char *name = g->tensor_name(gguf, i);
    tt_meta_weight w = {.name = {(const uint8_t *)name, strlen(name)}};
    w.type = (uint32_t)g->tensor_type(gguf, i);
    w.type_name = tt_names_id(r, e->type_name((int)w.type));
    w.offset_bytes = g->data_offset(gguf) + g->tensor_offset(gguf, i);
    w.size_bytes = e->nbytes(t);
    w.n_dims = TT_DIMS;
    while (w.n_dims > 1 && t->ne[w.n_dims - 1] == 1)
        w.n_dims--;
    for (uint32_t d = 0; d < w.n_dims; d++)
        w.ne[d] = (uint64_t)t->ne[d];
    tt_meta_put_weight(out, &w);
}

static bool stat_file(const char *path, tt_meta_model *m)
{
    struct stat st;
    if (stat(path, &st) != 0) return false;
    m->size_bytes = (uint64_t)st.st_size;
    m->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
    m->device = (uint64_t)st.st_dev;
    m->inode = (uint64_t)st.st_ino;
    return true;
}

static bool identify_file(const char *path, tt_meta_model *m)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool ok = stat_file(path, m);
    uint8_t *head = malloc(HEAD_BYTES);
    ssize_t n = head ? pread(fd, head, HEAD_BYTES, 0) : -1;
    if (n > 0) m->head_hash = tt_checksum(head, (size_t)n);
    free(head);
    (void)close(fd);
    return ok;
}

static bool same_file(const tt_meta_model *a, const tt_meta_model *b)
{
    return a->device == b->device && a->inode == b->inode;
}

static bool same_content(const tt_meta_model *a, const tt_meta_model *b)
{
    return a->size_bytes == b->size_bytes && a->mtime_ns == b->mtime_ns;
}

/* Files in the trace; a file that did not fit into the table is recorded again. */
static tt_model_seen known[TT_MODELS_MAX];
static _Atomic uint32_t n_known;
static _Atomic uint64_t opened_count;
static uint32_t last_id;
static _Atomic uint32_t forgotten; /* ids up to this one are of earlier recordings */
static __thread uint32_t last_opened __attribute__((tls_model("initial-exec")));

uint32_t tt_models_last_opened(void)
{
    return last_opened > atomic_load(&forgotten) ? last_opened : 0;
}

uint64_t tt_models_opened_count(void)
{
    return atomic_load(&opened_count);
}

uint32_t tt_models_list(const tt_model_seen **list)
{
    *list = known;
    return atomic_load(&n_known);
}

/* The id of that same file if it is in the trace, else 0. */
static uint32_t find_known(const tt_meta_model *m)
{
    for (uint32_t i = 0; i < atomic_load(&n_known); i++)
        if (same_file(&known[i].file, m) && same_content(&known[i].file, m))
            return known[i].file.id;
    return 0;
}

static void add_known(const tt_meta_model *m, const char *path)
{
    uint32_t n = atomic_load(&n_known);
    char *copy = n < TT_MODELS_MAX ? strdup(path) : NULL;
    if (!copy) return;
    known[n] = (tt_model_seen){.file = *m, .path = copy};
    known[n].file.path = (tt_span){(const uint8_t *)copy, strlen(copy)};
    atomic_store(&n_known, n + 1);
}

void tt_models_forget(void)
{
    /* The paths stay: another thread may be reading them. */
    atomic_store(&n_known, 0);
    atomic_store(&forgotten, last_id);
}

void tt_models_check(tt_recorder *r)
{
    for (uint32_t i = 0; i < atomic_load(&n_known); i++) {
        tt_meta_model now = {0};
        tt_meta_model_check check = {.model = known[i].file.id, .ticks = tt_ticks()};
        if (!stat_file(known[i].path, &now))
            check.state = TT_MODEL_GONE;
        else if (!same_file(&now, &known[i].file))
            check.state = TT_MODEL_REPLACED;
        else if (!same_content(&now, &known[i].file))
            check.state = TT_MODEL_CHANGED;
        tt_bytes payload;
        tt_bytes_init(&payload, 64);
        tt_meta_put_model_check(&payload, &check);
        (void)tt_process_put(r, TT_META_MODEL_CHECK, &payload);
    }
}

typedef struct engines_model {
    const tt_engine *engine;
    const gguf_api *api;
    void *gguf, *tensors;
} engines_model;

static void put_model(tt_recorder *r, tt_meta_model *m, void *context, tt_bytes *payload)
{
    const engines_model *of = context;
    const gguf_api *g = of->api;
    int n = g->n_tensors(of->gguf);
    m->data_offset_bytes = g->data_offset(of->gguf);
    m->n_kv = (uint32_t)g->n_kv(of->gguf);
    tt_meta_put_model(payload, m);
    for (uint32_t i = 0; i < m->n_kv; i++)
        put_kv(g, of->gguf, i, payload);
    tt_bytes weights;
    uint32_t n_weights = 0;
    tt_bytes_init(&weights, TT_META_RECORD_MAX);
    for (int i = 0; i < n; i++) {
        const struct ggml_tensor *t = g->get_tensor(of->tensors, g->tensor_name(of->gguf, i));
        if (!t) continue;
        put_weight(r, of->engine, g, of->gguf, t, i, &weights);
        n_weights++;
    }
    tt_bytes_varint(payload, n_weights);
    tt_bytes_put(payload, weights.data, weights.size);
    payload->failed |= weights.failed;
    tt_bytes_free(&weights);
}

bool tt_models_add(tt_recorder *r, const char *path, tt_models_put *put, void *context)
{
    char real[PATH_MAX];
    tt_meta_model m = {0};
    if (!realpath(path, real)) (void)snprintf(real, sizeof real, "%s", path);
    if (!identify_file(real, &m)) return false;
    (void)pthread_mutex_lock(&tt_process_lock);
    last_opened = find_known(&m);
    if (!last_opened) {
        tt_bytes payload;
        tt_bytes_init(&payload, TT_META_RECORD_MAX);
        last_opened = m.id = ++last_id;
        m.path = (tt_span){(const uint8_t *)real, strlen(real)};
        put(r, &m, context, &payload);
        (void)tt_process_put(r, TT_META_MODEL, &payload);
        add_known(&m, real);
        tt_storage_models(r);
    }
    (void)pthread_mutex_unlock(&tt_process_lock);
    return true;
}

void tt_models_opened(tt_recorder *r, const void *caller, const char *path, void *gguf,
                      void *tensors)
{
    gguf_api g;
    atomic_fetch_add(&opened_count, 1);
    const tt_engine *e = tt_engine_get(caller);
    if (!e || !tensors || !find_api(caller, &g) || g.n_tensors(gguf) <= 0) return;
    engines_model of = {e, &g, gguf, tensors};
    (void)tt_models_add(r, path, put_model, &of);
}
