#include "gguf/lora.h"

#include "gguf/reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GAIN_B 0.25f
#define SUFFIX_A ".lora_a"
#define SUFFIX_B ".lora_b"

static bool is_adapted(const tt_gguf_tensor *t)
{
    static const char end[] = ".weight";
    size_t n = strlen(t->name);
    if (strncmp(t->name, "blk.", 4) != 0 || strstr(t->name, ".ffn_gate_inp.")) return false;
    if (n < sizeof end || strcmp(t->name + n - (sizeof end - 1), end) != 0) return false;
    return t->n_dims >= 2 && t->ne[1] > 1 && t->ne[3] == 1;
}

static tt_status check(const tt_lora_config *c, tt_error *err)
{
    if (c->rank < 1 || c->rank > TT_LORA_RANK_MAX)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "the rank must be 1 to %u, not %" PRIu32,
                            TT_LORA_RANK_MAX, c->rank);
    if (c->type == TT_GGML_F32 || c->type == TT_GGML_F16 || c->type == TT_GGML_BF16) return TT_OK;
    const tt_ggml_type *t = tt_ggml_type_find(c->type);
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                        "an adapter's type must be F32, F16 or BF16, not %s", t ? t->name : "?");
}

static void add_matrix(tt_synth_file *f, const tt_gguf_tensor *t, const char *suffix, uint32_t type,
                       float sigma, const uint64_t ne[3])
{
    char name[TT_SYNTH_NAME_MAX];
    (void)snprintf(name, sizeof name, "%s%s", t->name, suffix);
    tt_synth_file_add(f, name, type, sigma, t->n_dims, ne);
}

static tt_status add_tensors(tt_synth_file *f, const tt_lora_config *c, const tt_gguf *model,
                             tt_error *err)
{
    for (size_t i = 0; i < model->n_tensors; i++) {
        const tt_gguf_tensor *t = &model->tensors[i];
        if (!is_adapted(t)) continue;
        if (strlen(t->name) + sizeof SUFFIX_A > TT_SYNTH_NAME_MAX)
            return tt_error_set(err, TT_E_LIMIT, t->info_offset,
                                "%s: %s has a name too long for an adapter's", c->model, t->name);
        const uint64_t a[3] = {t->ne[0], c->rank, t->ne[2]}, b[3] = {c->rank, t->ne[1], t->ne[2]};
        add_matrix(f, t, SUFFIX_A, c->type, 1 / sqrtf((float)t->ne[0]), a);
        add_matrix(f, t, SUFFIX_B, c->type, GAIN_B / sqrtf((float)c->rank), b);
    }
    if (f->n_tensors) return TT_OK;
    return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                        "%s has no matrices in layers (blk.N.NAME.weight) to adapt", c->model);
}

/* The keys that llama.cpp's llama-adapter.cpp reads. */
static tt_status write_metadata(tt_gguf_writer *w, const tt_lora_config *c, const tt_gguf *model,
                                tt_error *err)
{
    tt_span architecture = tt_gguf_shape_of(model).architecture;
    if (!architecture.data)
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                            "%s does not name its architecture (general.architecture)", c->model);
    char *text = strndup((const char *)architecture.data, architecture.size);
    if (!text) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    tt_gguf_writer_string(w, "general.architecture", text);
    tt_gguf_writer_string(w, "general.type", "adapter");
    tt_gguf_writer_string(w, "general.name", c->name ? c->name : "lora");
    tt_gguf_writer_string(w, "general.description", "random weights, made by tensortrace synth");
    tt_gguf_writer_string(w, "adapter.type", "lora");
    tt_gguf_writer_f32(w, "adapter.lora.alpha", c->alpha);
    free(text);
    return TT_OK;
}

tt_status tt_lora_write(const tt_lora_config *c, const char *path, bool force,
                        tt_synth_progress *progress, void *user, uint64_t *total_bytes,
                        tt_error *err)
{
    tt_gguf model;
    tt_synth_file f;
    tt_status status = check(c, err);
    if (status == TT_OK) status = tt_gguf_open(&model, c->model, err);
    if (status != TT_OK) return status;
    status = tt_synth_file_init(&f, 2 * model.n_tensors, 1, err);
    f.seed = c->seed;
    f.n_threads = c->n_threads;
    if (status == TT_OK) status = write_metadata(tt_synth_file_metadata(&f), c, &model, err);
    if (status == TT_OK) status = add_tensors(&f, c, &model, err);
    if (status == TT_OK)
        status = tt_synth_file_write(&f, path, force, progress, user, total_bytes, err);
    tt_synth_file_free(&f);
    tt_gguf_close(&model);
    return status;
}
