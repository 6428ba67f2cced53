/* tensortrace synth: a synthetic model, or an adapter for one, with random weights. */
#include "base/units.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/report.h"
#include "gguf/lora.h"
#include "gguf/quantize.h"
#include "gguf/synth.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RANK_DEFAULT 8u

struct options {
    const char *output;
    bool force;
    tt_synth_config config;
    tt_lora_config lora; /* .model NULL: a model is written */
    const char *name;    /* --name, NULL without */
    bool has_alpha;      /* else alpha is the rank */
    bool has_type;       /* --type was given */
};

static void take_preset(void *options, char *arg, tt_parse *p)
{
    struct options *o = options;
    char known[256] = "";
    const char *one, *summary;
    if (tt_synth_preset(&o->config, arg)) return;
    for (size_t i = 0; tt_synth_preset_at(i, &one, &summary); i++) {
        strncat(known, " ", sizeof known - strlen(known) - 1);
        strncat(known, one, sizeof known - strlen(known) - 1);
    }
    tt_parse_error(p, "there is no preset \"%s\"; the presets are%s", arg, known);
}

static const char *preset_at(size_t i)
{
    const char *name, *summary;
    return tt_synth_preset_at(i, &name, &summary) ? name : NULL;
}

static void take_type(void *type, char *arg, tt_parse *p)
{
    const tt_ggml_type *t = tt_ggml_type_parse(arg);
    if (!t || !tt_quantize_supports(t->id))
        tt_parse_refuse(p, "\"%s\" is not a type that can be synthesised", arg);
    *(uint32_t *)type = t->id;
}

static const char *type_at(size_t i)
{
    const tt_ggml_type *t;
    for (size_t k = 0; (t = tt_ggml_type_at(k)) != NULL; k++)
        if (tt_quantize_supports(t->id) && i-- == 0) return t->name;
    return NULL;
}

static void take_types(void *config, char *arg, tt_parse *p)
{
    tt_synth_config *c = config;
    take_type(&c->type, arg, p);
    c->type_embd = c->type_output = c->type_attn_v = c->type_ffn_down = c->type;
}

static void take_alpha(void *alpha, char *arg, tt_parse *p)
{
    char *end = NULL;
    const float v = strtof(arg, &end);
    if (end == arg || *end || !isfinite(v)) tt_parse_refuse(p, "\"%s\" is not a number", arg);
    *(float *)alpha = v;
}

#define NUMBER(m) TT_WHOLE(struct options, m, 0, UINT32_MAX)
#define OF_MODEL .excludes = "lora-for"
#define OF_ADAPTER .needs = "lora-for"

/* The other options change the preset, and the single types change --type. */
static const tt_option option_table[] = {
    {"preset", 0, "NAME", "Start from this preset (default: tiny); see below", 1,
     .kind = TT_OPTION_TAKE, .take = take_preset, .names = preset_at, .flags = TT_OPTION_FIRST,
     OF_MODEL},
    {"output", 'o', "MODEL.gguf", "The file to write (required)", 1,
     TT_TEXT(struct options, output)},
    {"force", 0, 0, "Overwrite the file if it exists", 1, TT_FLAG(struct options, force)},
    {"seed", 0, "N", "Seed of the weights (default: 1)", 1,
     TT_WHOLE(struct options, config.seed, 0, INT64_MAX)},
    {"name", 0, "TEXT", "The model's name in its metadata", 1, TT_TEXT(struct options, name)},
    {"split", 0, "N", "Write N files, MODEL-00001-of-0000N.gguf and so on", 1,
     NUMBER(config.n_parts), OF_MODEL},
    {"threads", 0, "N", "Threads that make weights (default: at most 4)", 1,
     NUMBER(config.n_threads)},
    {.about = "Dimensions:", .group = 2},
    {"layers", 0, "N", "Layers", 2, NUMBER(config.n_layers), OF_MODEL},
    {"embd", 0, "N", "Width of the model", 2, NUMBER(config.n_embd), OF_MODEL},
    {"ffn", 0, "N", "Width of the feed-forward part (of each expert)", 2, NUMBER(config.n_ffn),
     OF_MODEL},
    {"heads", 0, "N", "Attention heads", 2, NUMBER(config.n_heads), OF_MODEL},
    {"kv-heads", 0, "N", "Heads of keys and values", 2, NUMBER(config.n_heads_kv), OF_MODEL},
    {"vocab", 0, "N", "Tokens in the vocabulary (at least 354)", 2, NUMBER(config.n_vocab),
     OF_MODEL},
    {"ctx", 0, "N", "Context length in the metadata", 2, NUMBER(config.n_ctx), OF_MODEL},
    {"experts", 0, "N", "Experts a layer; 0: none", 2, NUMBER(config.n_experts), OF_MODEL},
    {"experts-used", 0, "N", "Experts used a token", 2, NUMBER(config.n_experts_used), OF_MODEL},
    {"tied", 0, 0, "Project by the token embeddings: no output projection of its own", 2,
     TT_FLAG(struct options, config.tied), OF_MODEL},
    {.about = "Types (F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL TQ2_0 "
              "MXFP4):",
     .group = 3},
    {"type", 0, "TYPE", "Type of every matrix without an option of its own", 3,
     TT_TAKE(struct options, config, take_types), TT_GIVEN(struct options, has_type),
     .names = type_at, .flags = TT_OPTION_SECOND},
    {"type-embd", 0, "TYPE", "Type of the token embeddings", 3,
     TT_TAKE(struct options, config.type_embd, take_type), .names = type_at, OF_MODEL},
    {"type-output", 0, "TYPE", "Type of the output projection", 3,
     TT_TAKE(struct options, config.type_output, take_type), .names = type_at, OF_MODEL},
    {"type-attn-v", 0, "TYPE", "Type of attn_v", 3,
     TT_TAKE(struct options, config.type_attn_v, take_type), .names = type_at, OF_MODEL},
    {"type-ffn-down", 0, "TYPE", "Type of ffn_down", 3,
     TT_TAKE(struct options, config.type_ffn_down, take_type), .names = type_at, OF_MODEL},
    {.about = "A LoRA adapter instead of a model (with --type F32, F16 or BF16):", .group = 4},
    {"lora-for", 0, "MODEL.gguf", "Write an adapter for the matrices of this model", 4,
     TT_TEXT(struct options, lora.model)},
    {"rank", 0, "N", "Its rank (default: 8)", 4, NUMBER(lora.rank), OF_ADAPTER},
    {"alpha", 0, "X", "Its scale is alpha / rank (default: the rank)", 4,
     TT_TAKE(struct options, lora.alpha, take_alpha), TT_GIVEN(struct options, has_alpha),
     OF_ADAPTER},
    {0},
};

static void refuse_word(void *options, char *arg, tt_parse *p)
{
    (void)options;
    tt_parse_error(p, "\"%s\": the file to write is given with -o", arg);
}

static void check_output(void *options, tt_parse *p)
{
    const struct options *o = options;
    if (!o->output) tt_parse_error(p, "where to? give -o MODEL.gguf");
}

/* The presets, appended to the help text. */
static char *help_presets(const char *text)
{
    char *out = NULL;
    size_t size = 0;
    const char *name, *summary;
    FILE *f = open_memstream(&out, &size);
    if (!f) return NULL;
    (void)fputs("Presets:\n", f);
    for (size_t i = 0; tt_synth_preset_at(i, &name, &summary); i++)
        (void)fprintf(f, "  %-10s %s\n", name, summary);
    (void)fprintf(f, "\n%s", text ? text : "");
    (void)fclose(f);
    return out;
}

static const tt_options command = {
    .words = NULL,
    .about = "Writes a GGUF model of the llama architecture with random weights. llama.cpp loads "
             "and runs it; what it generates means nothing. With --lora-for, writes a LoRA adapter "
             "for a model. The same options and seed give the same file.\v"
             "Exit codes: 0 done, 2 usage, an impossible shape, or a file that cannot be written.",
    .sets = {{option_table, 0, refuse_word, check_output, NULL}},
    .more = help_presets};

static tt_status write_lora(struct options *o, tt_progress *progress, uint64_t *total,
                            tt_error *err)
{
    tt_lora_config *c = &o->lora;
    c->name = o->name;
    c->seed = o->config.seed;
    c->n_threads = o->config.n_threads;
    c->type = o->has_type ? o->config.type : TT_GGML_F16;
    if (!o->has_alpha) c->alpha = (float)c->rank;
    return tt_lora_write(c, o->output, o->force, tt_progress_callback, progress, total, err);
}

int tt_cmd_synth(int argc, char **argv)
{
    struct options o = {.lora.rank = RANK_DEFAULT};
    tt_error err;
    tt_progress progress;
    uint64_t total = 0;
    char size[TT_UNITS_TEXT];
    (void)tt_synth_preset(&o.config, "tiny");
    tt_options_parse(&command, argc, argv, &o);
    if (o.name) o.config.name = o.name;
    tt_progress_begin(&progress, "writing", 0, "bytes");
    tt_status status = o.lora.model ? write_lora(&o, &progress, &total, &err)
                                    : tt_synth_write(&o.config, o.output, o.force,
                                                     tt_progress_callback, &progress, &total, &err);
    tt_progress_end(&progress);
    if (status != TT_OK) return tt_report_error(&err);
    if (o.config.n_parts > 1)
        tt_report_note("wrote %s in %" PRIu32 " files, %s", o.output, o.config.n_parts,
                       tt_units_bytes(size, total));
    else
        tt_report_note("wrote %s, %s", o.output, tt_units_bytes(size, total));
    return TT_EXIT_OK;
}
