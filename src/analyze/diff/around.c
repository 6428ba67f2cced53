/* Data besides the ops of two runs: settings, buffers, page faults, routing. */
#include "analyze/diff/diff.h"

#include "analyze/faults.h"
#include "analyze/loading.h"
#include "analyze/routers.h"
#include "analyze/storage.h"
#include "base/path.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS_MAX 64u

/* --- settings --- */

static const char *keep(tt_diff_around *x, const char *text)
{
    return text ? tt_arena_text(&x->texts, text, strlen(text)) : NULL;
}

static const char *keep_number(tt_diff_around *x, bool known, uint64_t v)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRIu64, v);
    return known ? keep(x, text) : NULL;
}

static void add_setting(tt_diff_around *x, const char *key, const char *a, const char *b)
{
    if (x->n_settings == SETTINGS_MAX) return;
    if (!a && !b) return;
    if (a && b && strcmp(a, b) == 0) return;
    x->settings[x->n_settings++] = (tt_diff_setting){key, a, b};
}

/* "llama.block_count", "qwen2moe.block_count": depends on the model's architecture. */
static const char *value_of_architecture(const tt_model *m, const char *what)
{
    char key[160];
    const tt_file_kv *name = tt_model_file_kv(m, "general.architecture");
    if (!name || !name->value) return NULL;
    int n = snprintf(key, sizeof key, "%s.%s", name->value, what);
    if (n < 0 || (size_t)n >= sizeof key) return NULL;
    const tt_file_kv *v = tt_model_file_kv(m, key);
    return v ? v->value : NULL;
}

/* The model's key figures: another path may be the same model. */
static void compare_models(tt_diff_around *x, const tt_model *a, const tt_model *b)
{
    static const char *const keys[] = {"general.architecture", "general.name", "general.file_type"};
    static const char *const sizes[] = {"block_count", "embedding_length", "expert_count"};
    const tt_model_file *f = a->n_files ? &a->files[0] : NULL;
    const tt_model_file *g = b->n_files ? &b->files[0] : NULL;
    add_setting(x, "model_file", f ? keep(x, tt_base_name(f->path)) : NULL,
                g ? keep(x, tt_base_name(g->path)) : NULL);
    add_setting(x, "model_size_bytes", keep_number(x, f, f ? f->size_bytes : 0),
                keep_number(x, g, g ? g->size_bytes : 0));
    char hash[2][24];
    (void)snprintf(hash[0], sizeof hash[0], "%016" PRIx64, f ? f->head_hash : 0);
    (void)snprintf(hash[1], sizeof hash[1], "%016" PRIx64, g ? g->head_hash : 0);
    add_setting(x, "model_head_hash", f && f->head_hash ? keep(x, hash[0]) : NULL,
                g && g->head_hash ? keep(x, hash[1]) : NULL);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const tt_file_kv *v = tt_model_file_kv(a, keys[i]), *w = tt_model_file_kv(b, keys[i]);
        add_setting(x, keys[i], v ? v->value : NULL, w ? w->value : NULL);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        add_setting(x, sizes[i], value_of_architecture(a, sizes[i]),
                    value_of_architecture(b, sizes[i]));
}

/* The library that computes on the processor: its file name identifies the variant ("zen4"). How
 * many libraries come before it depends on the engine. */
static const char *cpu_library(const tt_model *m)
{
    for (uint32_t i = 0; i < m->n_environment; i++) {
        if (strncmp(m->environment[i].key, "engine_library_", 15) != 0) continue;
        const char *name = tt_base_name(m->environment[i].value);
        if (strstr(name, "ggml-cpu")) return name;
    }
    return NULL;
}

static const char *keep_some(tt_diff_around *x, const char *text)
{
    return text[0] ? keep(x, text) : NULL;
}

/* The storage of the first model file, and how it was mapped. */
static void compare_storage(tt_diff_around *x, const tt_model *a, const tt_model *b)
{
    const tt_model *const sides[2] = {a, b};
    const char *texts[2][6] = {{NULL}, {NULL}};
    static const char *const keys[6] = {"model_file_system", "model_disk",   "model_disk_model",
                                        "model_scheduler",   "model_mapped", "read_ahead_bytes"};
    for (int i = 0; i < 2; i++) {
        tt_host_disk d;
        char how[128];
        if (!sides[i]->n_files) continue;
        tt_disk_of(sides[i], &sides[i]->files[0], &d);
        tt_loading_how(sides[i], 0, how, sizeof how);
        texts[i][0] = keep_some(x, d.file_system);
        texts[i][1] = keep_some(x, d.disk);
        texts[i][2] = keep_some(x, d.disk_model);
        texts[i][3] = keep_some(x, d.scheduler);
        texts[i][4] = keep_some(x, how);
        texts[i][5] = keep_number(x, d.read_ahead_bytes != TT_HOST_UNKNOWN, d.read_ahead_bytes);
    }
    for (int i = 0; i < 6; i++)
        add_setting(x, keys[i], texts[0][i], texts[1][i]);
}

/* Memory and limits; not the available memory, which always differs. */
static void compare_system(tt_diff_around *x, const tt_model *a, const tt_model *b)
{
#define KEY(key, title, unit, about) #key,
    static const char *const keys[] = {TT_HOST_SYSTEM(KEY)};
#undef KEY
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strncmp(keys[i], "memory_available", strlen("memory_available")) != 0)
            add_setting(x, keys[i], tt_model_environment(a, keys[i]),
                        tt_model_environment(b, keys[i]));
}

static void compare_settings(tt_diff *d, const tt_model *a, const tt_model *b)
{
    static const char *const keys[] = {"engine_version",
                                       "engine_ggml_version",
                                       "engine_ggml_commit",
                                       "mode",
                                       "capture",
                                       "capture_experts",
                                       "capture_faults",
                                       "capture_residency",
                                       "cpu",
                                       "processors",
                                       "host",
                                       "kernel",
                                       "command",
                                       "tensortrace_version"};
    tt_diff_around *x = &d->around;
    add_setting(x, "threads", keep_number(x, true, x->summary_a.lanes),
                keep_number(x, true, x->summary_b.lanes));
    compare_models(x, a, b);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *v = tt_model_environment(a, keys[i]), *w = tt_model_environment(b, keys[i]);
        add_setting(x, keys[i], v, w);
    }
    compare_system(x, a, b);
    compare_storage(x, a, b);
    add_setting(x, "engine_cpu_library", cpu_library(a), cpu_library(b));
    add_setting(x, "prompt_tokens", keep_number(x, a->fates_known, x->summary_a.prompt.delivered),
                keep_number(x, b->fates_known, x->summary_b.prompt.delivered));
    add_setting(x, "generated_tokens",
                keep_number(x, a->fates_known, x->summary_a.generate.delivered),
                keep_number(x, b->fates_known, x->summary_b.generate.delivered));
    if (a->losses_total || b->losses_total)
        add_setting(x, "records_dropped", keep_number(x, true, a->losses_total),
                    keep_number(x, true, b->losses_total));
}

/* --- faults --- */

static tt_status sum_faults(const tt_model *m, tt_faults **out, tt_error *err)
{
    static const tt_filter everything;
    *out = tt_faults_new(m, TT_FAULTS_BY_LAYER, &everything);
    if (!*out) return tt_error_memory(err, "the comparison");
    return tt_faults_sum(*out, NULL, NULL, err);
}

static void add_counts(tt_diff_fault_row *row, const tt_fault_counts *c, bool is_b)
{
    *(is_b ? &row->minor_b : &row->minor_a) += c->minor;
    *(is_b ? &row->major_b : &row->major_a) += c->major;
    *(is_b ? &row->read_b : &row->read_a) += c->read_bytes;
    row->has_reads &= c->observed_reads == c->observed;
}

static void add_fault_rows(tt_diff_around *x, tt_faults *f, size_t room, bool is_b)
{
    size_t n;
    const tt_faults_row *rows = tt_faults_rows(f, &n);
    add_counts(&x->faults[0], &tt_faults_total(f)->counts, is_b);
    for (size_t i = 0; i < n; i++) {
        size_t at = 1;
        while (at < x->n_faults && x->faults[at].layer_id != rows[i].number)
            at++;
        if (at == room) continue;
        if (at == x->n_faults)
            x->faults[x->n_faults++] =
                (tt_diff_fault_row){.layer_id = rows[i].number, .has_reads = true};
        add_counts(&x->faults[at], &rows[i].counts, is_b);
    }
}

static tt_status compare_faults(tt_diff *d, const tt_model *a, const tt_model *b, tt_error *err)
{
    tt_diff_around *x = &d->around;
    tt_faults *f = NULL, *g = NULL;
    size_t n_f = 0, n_g = 0;
    x->faults_a = tt_model_captured(a, "capture_faults");
    x->faults_b = tt_model_captured(b, "capture_faults");
    x->has_faults = x->faults_a && x->faults_b;
    if (!x->has_faults) return TT_OK;
    tt_status status = sum_faults(a, &f, err);
    if (status == TT_OK) status = sum_faults(b, &g, err);
    if (status == TT_OK) {
        (void)tt_faults_rows(f, &n_f);
        (void)tt_faults_rows(g, &n_g);
        x->faults = calloc(n_f + n_g + 1, sizeof *x->faults);
        if (!x->faults) status = tt_error_memory(err, "the comparison");
    }
    if (status == TT_OK) {
        x->faults[0] = (tt_diff_fault_row){.layer_id = INT64_MIN, .has_reads = true};
        x->n_faults = 1;
        add_fault_rows(x, f, n_f + n_g + 1, false);
        add_fault_rows(x, g, n_f + n_g + 1, true);
    }
    tt_faults_free(f);
    tt_faults_free(g);
    return status;
}

/* --- routing --- */

static double share_of(const tt_expert_use *uses, uint32_t n, uint32_t i, double all)
{
    return i < n && all > 0 ? (double)uses[i].count / all : 0;
}

/* Jensen-Shannon divergence (Lin 1991), base 2: the mean divergence of both from their mean. */
static void compare_routers(const tt_router *a, const tt_router *b, tt_diff_router *out)
{
    uint32_t n_a, n_b, both = 0, any = 0;
    double all_a = 0, all_b = 0, sum = 0;
    const tt_expert_use *x = tt_router_uses(a, &n_a), *y = tt_router_uses(b, &n_b);
    for (uint32_t i = 0; i < n_a; i++)
        all_a += (double)x[i].count;
    for (uint32_t i = 0; i < n_b; i++)
        all_b += (double)y[i].count;
    out->experts_a = n_a;
    out->experts_b = n_b;
    for (uint32_t i = 0; i < n_a || i < n_b; i++) {
        double p = share_of(x, n_a, i, all_a), q = share_of(y, n_b, i, all_b), mean = (p + q) / 2;
        if (p > 0) sum += p / 2 * log2(p / mean);
        if (q > 0) sum += q / 2 * log2(q / mean);
        both += p > 0 && q > 0;
        any += p > 0 || q > 0;
    }
    bool known = all_a > 0 && all_b > 0;
    out->divergence_bits = known ? sum : NAN;
    out->jaccard = known ? (double)both / (double)any : NAN;
}

static tt_status walk_routers(const tt_model *m, tt_routers **out, tt_error *err)
{
    static const tt_filter everything;
    *out = tt_routers_new(m, &everything, TT_PHASE_PROMPT);
    if (!*out) return tt_error_memory(err, "the comparison");
    return tt_routers_walk(*out, NULL, NULL, err);
}

static tt_status compare_routing(tt_diff *d, const tt_model *a, const tt_model *b, tt_error *err)
{
    tt_diff_around *x = &d->around;
    tt_routers *r = NULL, *s = NULL;
    size_t n = 0, k = 0;
    x->routed_a = tt_routers_expert_nodes(a);
    x->routed_b = tt_routers_expert_nodes(b);
    if (!x->routed_a || !x->routed_b) return TT_OK;
    tt_status status = walk_routers(a, &r, err);
    if (status == TT_OK) status = walk_routers(b, &s, err);
    const tt_router_layer *f = status == TT_OK ? tt_routers_layers(r, &n) : NULL;
    const tt_router_layer *g = status == TT_OK ? tt_routers_layers(s, &k) : NULL;
    if (status == TT_OK) x->routers = calloc(n + 1, sizeof *x->routers);
    if (status == TT_OK && !x->routers) status = tt_error_memory(err, "the comparison");
    for (size_t i = 0, j = 0; status == TT_OK && i < n; i++) {
        /* Both are by file and layer; a layer that B lacks has no partner. */
        for (j = 0; j < k && g[j].layer_id != f[i].layer_id;)
            j++;
        if (j == k || !f[i].router || !g[j].router) continue;
        tt_router_sum sum_a, sum_b;
        tt_router_sum_up(f[i].router, &sum_a);
        tt_router_sum_up(g[j].router, &sum_b);
        tt_diff_router *out = &x->routers[x->n_routers++];
        *out = (tt_diff_router){
            .layer_id = f[i].layer_id, .n_tokens_a = sum_a.tokens, .n_tokens_b = sum_b.tokens};
        compare_routers(f[i].router, g[j].router, out);
    }
    tt_routers_free(r);
    tt_routers_free(s);
    return status;
}

tt_status tt_diff_look_around(tt_diff *d, tt_error *err)
{
    const tt_model *a = d->files[0], *b = d->files[d->n_a];
    tt_diff_around *x = &d->around;
    tt_arena_init(&x->texts, 1u << 20);
    tt_summarize(a, &x->summary_a);
    tt_summarize(b, &x->summary_b);
    x->settings = calloc(SETTINGS_MAX, sizeof *x->settings);
    if (!x->settings || !tt_diff_compare_models(a, b, &x->models))
        return tt_error_memory(err, "the comparison");
    compare_settings(d, a, b);
    tt_status status = compare_faults(d, a, b, err);
    if (status == TT_OK) status = compare_routing(d, a, b, err);
    return status;
}

void tt_diff_around_free(tt_diff_around *a)
{
    free(a->settings);
    free(a->faults);
    free(a->routers);
    tt_arena_free(&a->texts);
}
