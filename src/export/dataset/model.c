/* The model of a dataset: its file, whether that is still the traced one, and its layout from that
 * file or, without it, from the trace. */
#include "analyze/model_file.h"
#include "base/order.h"
#include "base/path.h"
#include "export/dataset/parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

static const char *file_value(const tt_model_file *f, const char *key)
{
    for (uint32_t i = 0; i < f->n_kvs; i++)
        if (strcmp(f->kvs[i].key, key) == 0) return f->kvs[i].value;
    return NULL;
}

/* The file that describes the model that is asked for: not an adapter or similar, nor a later part
 * of a split model. */
static uint32_t main_file(const tt_model *m, const tt_filter *asked)
{
    uint32_t best = 0;
    bool found = false;
    for (uint32_t i = 0; i < m->n_files; i++) {
        const tt_model_file *f = &m->files[i];
        const char *type = file_value(f, "general.type");
        if (asked && asked->model && !tt_filter_file(asked->model, f)) continue;
        if (!file_value(f, "general.architecture") || (type && strcmp(type, "model") != 0))
            continue;
        if (found && f->size_bytes <= m->files[best].size_bytes) continue;
        best = i;
        found = true;
    }
    return best;
}

/* --- the file --- */

/* NULL: it is the traced file. Otherwise the reason against it. */
static const char *differs(const char *path, const tt_model_file *f)
{
    int fd;
    const char *why = tt_model_file_open(f, path, &fd);
    if (!why) (void)close(fd);
    return why;
}

/* Whether the files of the trace are exactly the parts of that model. (Sources name their part, so
 * these must be unchanged.) */
static bool is_whole_model(const tt_gguf *g, const tt_model *m)
{
    if (g->n_parts != m->n_files) return false;
    for (size_t p = 0; p < g->n_parts; p++) {
        bool found = false;
        for (uint32_t i = 0; i < m->n_files && !found; i++)
            found = !differs(g->parts[p].path, &m->files[i]) &&
                    (g->n_parts == 1 ||
                     strcmp(tt_base_name(g->parts[p].path), tt_base_name(m->files[i].path)) == 0);
        if (!found) return false;
    }
    return true;
}

/* Reads the layout from the file if it is the only one; otherwise the trace has to do. */
static void try_file(tt_dataset *d, const char *path)
{
    tt_error why;
    tt_gguf *g = &d->model.gguf;
    if (tt_gguf_open(g, path, &why) != TT_OK) return;
    if (is_whole_model(g, d->m)) {
        d->model.opened = true;
        d->model.source = g->parts[0].path;
    } else {
        tt_gguf_close(g);
    }
}

static tt_status check_file(tt_dataset *d, uint32_t file, tt_error *err)
{
    const char *given = d->options->model_path;
    const tt_model_file *f = &d->m->files[file];
    d->model.path = realpath(given ? given : f->path, NULL);
    const char *path = given ? given : f->path;
    const char *why = differs(path, f);
    if (why && given)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "--model-file %s: %s (%s, %" PRIu64 " bytes)", given, why, f->path,
                            f->size_bytes);
    if (why) {
        free(d->model.path);
        d->model.path = NULL;
        tt_dataset_note(d,
                        "%s: %s; the memory map is what the trace holds of it (--model-file "
                        "FILE names the file when it was moved)",
                        path, why);
        return TT_OK;
    }
    d->model.main_path = d->model.path ? d->model.path : path;
    try_file(d, d->model.main_path);
    return TT_OK;
}

/* --- from the trace --- */

static void put_number(uint8_t *at, uint64_t v, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)(v >> (8 * i));
}

/* Room for any value as put_value stores it. */
static size_t value_room(const tt_file_kv *kv)
{
    return 8 + strlen(kv->value);
}

/* The value as stored in a GGUF file: tt_gguf_shape_of needs texts, integers, and lengths of
 * arrays. Others are left out. */
static bool put_value(const tt_file_kv *kv, uint8_t *at, tt_gguf_kv *out)
{
    uint64_t v, count;
    char *end;
    *out = (tt_gguf_kv){.key = {(const uint8_t *)kv->key, strlen(kv->key)},
                        .kind = (tt_gguf_kind)kv->type,
                        .count = 1};
    if (kv->type == TT_GGUF_STRING) {
        uint64_t n = strlen(kv->value);
        put_number(at, n, 8);
        memcpy(at + 8, kv->value, n);
        out->value = (tt_span){at, n + 8};
        return true;
    }
    if (kv->type == TT_GGUF_ARRAY) {
        const char *times = strstr(kv->value, " x ");
        out->is_array = true;
        out->kind = TT_GGUF_STRING;
        if (!times || sscanf(times, " x %" SCNu64, &count) != 1) return false;
        out->count = count;
        return true;
    }
    size_t size = tt_gguf_kind_size(out->kind);
    if (size == 0 || out->kind == TT_GGUF_F32 || out->kind == TT_GGUF_F64) return false;
    errno = 0;
    v = strtoull(kv->value, &end, 10);
    if (errno || *end || end == kv->value) return false;
    put_number(at, v, size);
    out->value = (tt_span){at, size};
    return true;
}

typedef struct named {
    const char *name;
    uint32_t file;
} named;

static int by_name(const void *a, const void *b)
{
    const named *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->file > y->file) - (x->file < y->file);
}

/* Numbers n files, sorted by name. */
static bool name_sorted(tt_dataset *d, const named *list, uint32_t n)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i < n; i++) {
        const char *name = list[i].name;
        before = i > 0 && strcmp(name, list[i - 1].name) == 0 ? before + 1 : 0;
        size_t size = strlen(name) + 16;
        char *text = d->model.names[list[i].file] = malloc(size);
        if (!text) return false;
        (void)snprintf(text, size, before ? "%s (%" PRIu32 ")" : "%s", name, before + 1);
    }
    return true;
}

/* Files with the same name in several folders get numbers. */
static bool name_files(tt_dataset *d)
{
    const tt_model *m = d->m;
    named *list = calloc(m->n_files, sizeof *list);
    d->model.names = calloc(m->n_files, sizeof *d->model.names);
    bool ok = list && d->model.names;
    if (ok) d->model.n_names = m->n_files;
    for (uint32_t i = 0; ok && i < m->n_files; i++)
        list[i] = (named){tt_base_name(m->files[i].path), i};
    if (ok) {
        qsort(list, m->n_files, sizeof *list, by_name);
        ok = name_sorted(d, list, m->n_files);
    }
    free(list);
    return ok;
}

TT_ORDER_BY(by_place, tt_gguf_tensor, part, offset)

static void fill_parts(tt_dataset *d, uint32_t main)
{
    const tt_model *m = d->m;
    tt_dataset_model *o = &d->model;
    uint32_t n_kvs = 0;
    for (uint32_t i = 0; i < m->n_files; i++) {
        /* The model's own file comes first: its metadata are the model's. */
        uint32_t at = i == main ? 0 : i < main ? i + 1 : i;
        tt_gguf_part *p = &o->parts[at];
        *p = (tt_gguf_part){.path = o->names ? o->names[i] : (char *)(uintptr_t)m->files[i].path,
                            .size_bytes = m->files[i].size_bytes,
                            .data_offset = m->files[i].data_offset_bytes};
        o->gguf.size_bytes += p->size_bytes;
        for (uint32_t n = 0; n < m->files[i].n_weights; n++) {
            const uint32_t k = m->files[i].first_weight + n;
            const tt_weight *w = &m->weights[k];
            o->types[k] = (tt_ggml_type){w->type, w->type_name, 1, 1};
            const tt_ggml_type *known = tt_ggml_type_find(w->type);
            tt_gguf_tensor *t = &o->tensors[o->gguf.n_tensors++];
            *t = (tt_gguf_tensor){
                .name = w->name,
                .type = known && strcasecmp(known->name, w->type_name) == 0 ? known : &o->types[k],
                .n_dims = w->n_dims,
                .offset = w->offset_bytes,
                .size_bytes = w->size_bytes,
                .part = at};
            for (uint32_t dim = 0; dim < TT_DIMS; dim++)
                t->ne[dim] = dim < w->n_dims ? w->ne[dim] : 1;
        }
    }
    uint8_t *at = o->values;
    for (uint32_t k = 0; k < m->files[main].n_kvs; k++) {
        const tt_file_kv *kv = &m->files[main].kvs[k];
        if (put_value(kv, at, &o->kvs[n_kvs])) n_kvs++;
        at += value_room(kv);
    }
    o->parts[0].kvs = o->kvs;
    o->parts[0].n_kvs = n_kvs;
}

static tt_status from_trace(tt_dataset *d, uint32_t main, tt_error *err)
{
    const tt_model *m = d->m;
    tt_dataset_model *o = &d->model;
    size_t values = 8;
    for (uint32_t i = 0; i < m->n_weights; i++)
        if (m->weights[i].n_dims == 0)
            return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                                "the shape of %.64s was not observed, and the model file is not "
                                "where it was: name it with --model",
                                m->weights[i].name);
    if (m->n_files > 1 && !name_files(d)) return tt_error_memory(err, "the model's layout");
    o->parts = calloc(m->n_files, sizeof *o->parts);
    o->tensors = calloc((size_t)m->n_weights + 1, sizeof *o->tensors);
    o->types = calloc((size_t)m->n_weights + 1, sizeof *o->types);
    o->kvs = calloc((size_t)m->files[main].n_kvs + 1, sizeof *o->kvs);
    for (uint32_t k = 0; k < m->files[main].n_kvs; k++)
        values += value_room(&m->files[main].kvs[k]);
    o->values = malloc(values);
    if (!o->parts || !o->tensors || !o->types || !o->kvs || !o->values)
        return tt_error_memory(err, "the model's layout");
    fill_parts(d, main);
    o->gguf.parts = o->parts;
    o->gguf.n_parts = m->n_files;
    o->gguf.tensors = o->tensors;
    qsort(o->tensors, o->gguf.n_tensors, sizeof *o->tensors, by_place);
    o->source = "trace";
    return TT_OK;
}

tt_status tt_dataset_find_model(tt_dataset *d, tt_error *err)
{
    uint32_t main = main_file(d->m, d->options->filter);
    d->model.main_path = d->m->files[main].path;
    tt_status status = check_file(d, main, err);
    if (status != TT_OK || (d->model.opened && d->m->n_files == 1)) return status;
    if (!d->model.opened) return from_trace(d, main, err);
    return name_files(d) ? TT_OK : tt_error_memory(err, "the model's layout");
}

const char *tt_dataset_file_name(const tt_dataset *d, uint32_t file)
{
    return d->model.names ? d->model.names[file] : NULL;
}

void tt_dataset_free_model(tt_dataset_model *o)
{
    if (o->opened) tt_gguf_close(&o->gguf);
    for (size_t i = 0; i < o->n_names; i++)
        free(o->names[i]);
    free(o->names);
    free(o->parts);
    free(o->kvs);
    free(o->tensors);
    free(o->types);
    free(o->values);
    free(o->path);
    memset(o, 0, sizeof *o);
}
