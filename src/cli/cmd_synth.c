/* tensortrace synth: a model, or an adapter for one, with made-up weights. */
#include "base/units.h"
#include "cli/command.h"
#include "cli/report.h"
#include "gguf/lora.h"
#include "gguf/quantize.h"
#include "gguf/synth.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RANK_DEFAULT 8u

enum {
    OPT_PRESET = 256,
    OPT_FORCE,
    OPT_SPLIT,
    OPT_THREADS,
    OPT_SEED,
    OPT_NAME,
    OPT_LAYERS,
    OPT_EMBD,
    OPT_FFN,
    OPT_HEADS,
    OPT_KV_HEADS,
    OPT_VOCAB,
    OPT_CTX,
    OPT_EXPERTS,
    OPT_EXPERTS_USED,
    OPT_TIED,
    OPT_TYPE,
    OPT_TYPE_EMBD,
    OPT_TYPE_OUTPUT,
    OPT_TYPE_ATTN_V,
    OPT_TYPE_FFN_DOWN,
    OPT_LORA_FOR,
    OPT_RANK,
    OPT_ALPHA
};

struct options {
    const char *output;
    bool force;
    tt_synth_config config;
    tt_lora_config lora;    /* .model NULL: a model is written */
    const char *name;       /* --name, NULL without */
    bool has_alpha;         /* else alpha is the rank */
    bool has_type;          /* --type was given */
    const char *model_only; /* an option that was given and describes a model, or NULL */
    const char *lora_only;  /* likewise an adapter */
};

static const struct argp_option option_table[] = {
    {"preset", OPT_PRESET, "NAME", 0, "Start from this preset (default: tiny); see below", 1},
    {"output", 'o', "MODEL.gguf", 0, "The file to write (required)", 1},
    {"force", OPT_FORCE, 0, 0, "Overwrite the file if it exists", 1},
    {"seed", OPT_SEED, "N", 0, "Seed of the weights (default: 1)", 1},
    {"name", OPT_NAME, "TEXT", 0, "The model's name in its metadata", 1},
    {"split", OPT_SPLIT, "N", 0, "Write N files, MODEL-00001-of-0000N.gguf and so on", 1},
    {"threads", OPT_THREADS, "N", 0, "Threads that make weights (default: at most 4)", 1},
    {0, 0, 0, 0, "Dimensions:", 2},
    {"layers", OPT_LAYERS, "N", 0, "Layers", 2},
    {"embd", OPT_EMBD, "N", 0, "Width of the model", 2},
    {"ffn", OPT_FFN, "N", 0, "Width of the feed-forward part (of each expert)", 2},
    {"heads", OPT_HEADS, "N", 0, "Attention heads", 2},
    {"kv-heads", OPT_KV_HEADS, "N", 0, "Heads of keys and values", 2},
    {"vocab", OPT_VOCAB, "N", 0, "Tokens in the vocabulary (at least 354)", 2},
    {"ctx", OPT_CTX, "N", 0, "Context length in the metadata", 2},
    {"experts", OPT_EXPERTS, "N", 0, "Experts a layer; 0: none", 2},
    {"experts-used", OPT_EXPERTS_USED, "N", 0, "Experts used a token", 2},
    {"tied", OPT_TIED, 0, 0, "Project by the token embeddings: no output projection of its own", 2},
    {0, 0, 0, 0,
     "Types (F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL TQ2_0 MXFP4):",
     3},
    {"type", OPT_TYPE, "TYPE", 0, "Type of every matrix without an option of its own", 3},
    {"type-embd", OPT_TYPE_EMBD, "TYPE", 0, "Type of the token embeddings", 3},
    {"type-output", OPT_TYPE_OUTPUT, "TYPE", 0, "Type of the output projection", 3},
    {"type-attn-v", OPT_TYPE_ATTN_V, "TYPE", 0, "Type of attn_v", 3},
    {"type-ffn-down", OPT_TYPE_FFN_DOWN, "TYPE", 0, "Type of ffn_down", 3},
    {0, 0, 0, 0, "A LoRA adapter instead of a model (with --type F32, F16 or BF16):", 4},
    {"lora-for", OPT_LORA_FOR, "MODEL.gguf", 0, "Write an adapter for the matrices of this model",
     4},
    {"rank", OPT_RANK, "N", 0, "Its rank (default: 8)", 4},
    {"alpha", OPT_ALPHA, "X", 0, "Its scale is alpha / rank (default: the rank)", 4},
    {0},
};

/* The options' long names, for messages. */
static const char *option_name(int key)
{
    for (const struct argp_option *o = option_table; o->name || o->doc; o++)
        if (o->name && o->key == key) return o->name;
    return "?";
}

/* The preset is the base of all other options wherever it stands, so that the
 * first pass looks for it alone and the second applies the rest: --type before
 * the single types. */
enum pass { PASS_PRESET, PASS_TYPE, PASS_REST };

struct parsing {
    struct options *o;
    enum pass pass;
};

static uint32_t number(struct argp_state *state, const char *arg, const char *what)
{
    tt_error err;
    int64_t v = 0;
    if (tt_units_parse_int(arg, what, 0, UINT32_MAX, &v, &err) != TT_OK)
        argp_error(state, "%s", err.message);
    return (uint32_t)v;
}

static uint32_t type_number(struct argp_state *state, const char *arg)
{
    const tt_ggml_type *t = tt_ggml_type_parse(arg);
    if (!t || !tt_quantize_supports(t->id))
        argp_error(state, "\"%s\" is not a type that can be synthesised", arg);
    return t ? t->id : 0;
}

static uint32_t *type_field(tt_synth_config *c, int key)
{
    switch (key) {
    case OPT_TYPE_EMBD:
        return &c->type_embd;
    case OPT_TYPE_OUTPUT:
        return &c->type_output;
    case OPT_TYPE_ATTN_V:
        return &c->type_attn_v;
    case OPT_TYPE_FFN_DOWN:
        return &c->type_ffn_down;
    default:
        return NULL;
    }
}

static uint32_t *number_field(tt_synth_config *c, int key, const char **what)
{
    const struct {
        int key;
        const char *what;
        uint32_t *field;
    } fields[] = {
        {OPT_LAYERS, "--layers", &c->n_layers},
        {OPT_EMBD, "--embd", &c->n_embd},
        {OPT_FFN, "--ffn", &c->n_ffn},
        {OPT_HEADS, "--heads", &c->n_heads},
        {OPT_KV_HEADS, "--kv-heads", &c->n_heads_kv},
        {OPT_VOCAB, "--vocab", &c->n_vocab},
        {OPT_CTX, "--ctx", &c->n_ctx},
        {OPT_EXPERTS, "--experts", &c->n_experts},
        {OPT_SPLIT, "--split", &c->n_parts},
        {OPT_THREADS, "--threads", &c->n_threads},
        {OPT_EXPERTS_USED, "--experts-used", &c->n_experts_used},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].key != key) continue;
        *what = fields[i].what;
        return fields[i].field;
    }
    return NULL;
}

static void apply_preset(struct argp_state *state, struct options *o, const char *name)
{
    char known[256] = "";
    const char *one, *summary;
    if (tt_synth_preset(&o->config, name)) return;
    for (size_t i = 0; tt_synth_preset_at(i, &one, &summary); i++) {
        strncat(known, " ", sizeof known - strlen(known) - 1);
        strncat(known, one, sizeof known - strlen(known) - 1);
    }
    argp_error(state, "there is no preset \"%s\"; the presets are%s", name, known);
}

static void apply_type(tt_synth_config *c, uint32_t type)
{
    c->type = c->type_embd = c->type_output = c->type_attn_v = c->type_ffn_down = type;
}

/* An option that sets one number or type of a model; false when it is another. */
static bool apply_model_option(int key, const char *arg, struct argp_state *state,
                               struct options *o)
{
    const char *what = NULL;
    uint32_t *field = number_field(&o->config, key, &what);
    if (field)
        *field = number(state, arg, what);
    else if ((field = type_field(&o->config, key)))
        *field = type_number(state, arg);
    else if (key == OPT_TIED)
        o->config.tied = true;
    else
        return false;
    if (key != OPT_THREADS) o->model_only = option_name(key);
    return true;
}

static bool apply_lora_option(int key, char *arg, struct argp_state *state, struct options *o)
{
    char *end = NULL;
    if (key == OPT_LORA_FOR) {
        o->lora.model = arg;
        return true;
    }
    if (key != OPT_RANK && key != OPT_ALPHA) return false;
    o->lora_only = option_name(key);
    if (key == OPT_RANK) {
        o->lora.rank = number(state, arg, "--rank");
        return true;
    }
    o->lora.alpha = strtof(arg, &end);
    o->has_alpha = true;
    if (end == arg || *end || !isfinite(o->lora.alpha))
        argp_error(state, "--alpha: \"%s\" is not a number", arg);
    return true;
}

static void check_kind(struct argp_state *state, const struct options *o)
{
    if (!o->output) argp_error(state, "where to? give -o MODEL.gguf");
    if (o->lora.model && o->model_only)
        argp_error(state, "--%s describes a model; --lora-for writes an adapter", o->model_only);
    if (!o->lora.model && o->lora_only)
        argp_error(state, "--%s describes an adapter; give --lora-for MODEL.gguf", o->lora_only);
}

static error_t apply_option(int key, char *arg, struct argp_state *state, struct options *o)
{
    tt_error err;
    int64_t seed = 0;
    if (apply_model_option(key, arg, state, o) || apply_lora_option(key, arg, state, o)) return 0;
    switch (key) {
    case OPT_SEED:
        if (tt_units_parse_int(arg, "--seed", 0, INT64_MAX, &seed, &err) != TT_OK)
            argp_error(state, "%s", err.message);
        o->config.seed = (uint64_t)seed;
        return 0;
    case OPT_NAME:
        o->name = arg;
        return 0;
    case OPT_FORCE:
        o->force = true;
        return 0;
    case 'o':
        o->output = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\": the file to write is given with -o", arg);
        return 0;
    case ARGP_KEY_END:
        check_kind(state, o);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct parsing *p = state->input;
    if (key == OPT_PRESET) {
        if (p->pass == PASS_PRESET) apply_preset(state, p->o, arg);
        p->o->model_only = "preset";
        return 0;
    }
    if (key == OPT_TYPE) {
        if (p->pass == PASS_TYPE) apply_type(&p->o->config, type_number(state, arg));
        p->o->has_type = true;
        return 0;
    }
    if (p->pass == PASS_REST) return apply_option(key, arg, state, p->o);
    const char *what;
    bool known = number_field(&p->o->config, key, &what) || type_field(&p->o->config, key) ||
                 key == OPT_TIED || key == OPT_SEED || key == OPT_NAME || key == OPT_FORCE ||
                 key == 'o' || key == OPT_LORA_FOR || key == OPT_RANK || key == OPT_ALPHA ||
                 key == ARGP_KEY_ARG;
    return known ? 0 : ARGP_ERR_UNKNOWN;
}

/* The presets, appended to the help text. */
static char *help_filter(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC) return (char *)text;
    char *out = NULL;
    size_t size = 0;
    const char *name, *summary;
    FILE *f = open_memstream(&out, &size);
    if (!f) return (char *)text;
    (void)fputs("Presets:\n", f);
    for (size_t i = 0; tt_synth_preset_at(i, &name, &summary); i++)
        (void)fprintf(f, "  %-10s %s\n", name, summary);
    (void)fprintf(f, "\n%s", text ? text : "");
    (void)fclose(f);
    return out;
}

static const struct argp argp = {
    option_table,
    parse_option,
    NULL,
    "Writes a GGUF model of the llama architecture with random weights. llama.cpp loads and runs "
    "it; what it generates means nothing. With --lora-for, writes a LoRA adapter for a model. The "
    "same options and seed give the same file.\v"
    "Exit codes: 0 done, 2 usage, an impossible shape, or a file that cannot be written.",
    NULL,
    help_filter,
    NULL};

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
    for (enum pass pass = PASS_PRESET; pass <= PASS_REST; pass++) {
        struct parsing p = {&o, pass};
        tt_report_parse(&argp, argc, argv, 0, &p);
    }
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
