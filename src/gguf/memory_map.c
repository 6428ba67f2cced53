#include "gguf/memory_map.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 512

typedef struct rule {
    const char *name;      /* exact, without layer and decoration */
    const char *component; /* NULL: the name itself */
    const char *category;
    const char *type;
} rule;

/* Weights by their stored names, then graph values by their weight. The types are the fixed
 * vocabulary of memory-map.json. */
static const rule rules[] = {
    {"token_embd", NULL, TT_CATEGORY_INPUT, "Token Embeddings"},
    {"position_embd", NULL, TT_CATEGORY_INPUT, "Other"},
    {"token_types", NULL, TT_CATEGORY_INPUT, "Other"},
    {"per_layer_token_embd", NULL, TT_CATEGORY_INPUT, "Other"},
    {"output", NULL, TT_CATEGORY_OUTPUT, "Output Projection"},
    {"attn_q", NULL, TT_CATEGORY_ATTENTION, "Attention Q"},
    {"attn_k", NULL, TT_CATEGORY_ATTENTION, "Attention K"},
    {"attn_v", NULL, TT_CATEGORY_ATTENTION, "Attention V"},
    {"attn_output", NULL, TT_CATEGORY_ATTENTION, "Attention Output"},
    {"attn_norm", NULL, TT_CATEGORY_NORM, "Attention Norm"},
    {"ffn_norm", NULL, TT_CATEGORY_NORM, "FFN Norm"},
    {"ffn_up", NULL, TT_CATEGORY_FFN, "FFN Up"},
    {"ffn_gate", NULL, TT_CATEGORY_FFN, "FFN Gate"},
    {"ffn_down", NULL, TT_CATEGORY_FFN, "FFN Down"},
    {"ffn_up_exps", NULL, TT_CATEGORY_FFN, "FFN Up Experts"},
    {"ffn_gate_exps", NULL, TT_CATEGORY_FFN, "FFN Gate Experts"},
    {"ffn_down_exps", NULL, TT_CATEGORY_FFN, "FFN Down Experts"},
    {"ffn_gate_up_exps", NULL, TT_CATEGORY_FFN, "FFN Gate Up Experts"},

    {"inp_embd", "token_embd", TT_CATEGORY_INPUT, "Token Embeddings"},
    {"embd", "token_embd", TT_CATEGORY_INPUT, "Token Embeddings"},
    {"result_output", "output", TT_CATEGORY_OUTPUT, "Output Projection"},
    {"result_norm", "output_norm", TT_CATEGORY_NORM, "Other"},
    {"Qcur", "attn_q", TT_CATEGORY_ATTENTION, "Attention Q"},
    {"Kcur", "attn_k", TT_CATEGORY_ATTENTION, "Attention K"},
    {"Vcur", "attn_v", TT_CATEGORY_ATTENTION, "Attention V"},
    {"q", "attn_q", TT_CATEGORY_ATTENTION, "Attention Q"},
    {"k", "attn_k", TT_CATEGORY_ATTENTION, "Attention K"},
    {"v", "attn_v", TT_CATEGORY_ATTENTION, "Attention V"},
    {"attn_out", "attn_output", TT_CATEGORY_ATTENTION, "Attention Output"},
    {"kqv_out", "attn_output", TT_CATEGORY_ATTENTION, "Attention Output"},
    {"ffn_out", "ffn_down", TT_CATEGORY_FFN, "FFN Down"},
    {"ffn_moe_up", "ffn_up_exps", TT_CATEGORY_FFN, "FFN Up Experts"},
    {"ffn_moe_gate", "ffn_gate_exps", TT_CATEGORY_FFN, "FFN Gate Experts"},
    {"ffn_moe_down", "ffn_down_exps", TT_CATEGORY_FFN, "FFN Down Experts"},
    {"ffn_moe_gate_up", "ffn_gate_up_exps", TT_CATEGORY_FFN, "FFN Gate Up Experts"},
    {"ffn_moe_logits", "ffn_gate_inp", TT_CATEGORY_FFN, "Other"},
};

/* For names without a rule, the first match; `inside` ones match anywhere, the others at the
 * beginning. ffn_moe precedes norm: ffn_moe_weights_norm is a routing step, not a norm layer; and
 * the parts of recurrent layers precede it, whose norms and convolutions belong to them. The end of
 * attention (sa_out, with the residual; cross_inp, before the attention to an encoder's output) or
 * of a layer (l_out, after the feed-forward part) belongs to what it ends. */
static const struct {
    const char *text;
    bool inside;
    const char *category;
} fallbacks[] = {
    {"ffn_moe", false, TT_CATEGORY_FFN},
    {"ssm_", false, TT_CATEGORY_SSM},
    {"time_mix_", false, TT_CATEGORY_RWKV},
    {"channel_mix_", false, TT_CATEGORY_RWKV},
    {"wkv", true, TT_CATEGORY_RWKV},
    {"mm.", false, TT_CATEGORY_PROJECTOR},
    {"resampler.", false, TT_CATEGORY_PROJECTOR},
    {"norm", true, TT_CATEGORY_NORM},
    {"ln", false, TT_CATEGORY_NORM}, /* these two: layer norms of towers and of whisper */
    {"_ln", true, TT_CATEGORY_NORM},
    {"inp_", false, TT_CATEGORY_INPUT},
    {"out_ids", false, TT_CATEGORY_INPUT},
    {"attn_inp_", false, TT_CATEGORY_INPUT},
    {"kq_mask", true, TT_CATEGORY_INPUT},
    {"KQ_mask", true, TT_CATEGORY_INPUT},
    {"attn", false, TT_CATEGORY_ATTENTION},
    {"cross_", false, TT_CATEGORY_ATTENTION},
    {"cache_k", false, TT_CATEGORY_ATTENTION},
    {"cache_v", false, TT_CATEGORY_ATTENTION},
    {"k_cache", false, TT_CATEGORY_ATTENTION},
    {"v_cache", false, TT_CATEGORY_ATTENTION},
    {"cache_r", false, TT_CATEGORY_SSM}, /* these: or of another recurrent part of the network */
    {"cache_s", false, TT_CATEGORY_SSM},
    {"rs_", false, TT_CATEGORY_SSM},
    {"kq", false, TT_CATEGORY_ATTENTION},
    {"Qcur", false, TT_CATEGORY_ATTENTION},
    {"Kcur", false, TT_CATEGORY_ATTENTION},
    {"Vcur", false, TT_CATEGORY_ATTENTION},
    {"pos_bias", false, TT_CATEGORY_ATTENTION},
    {"pos_bucket", false, TT_CATEGORY_ATTENTION},
    {"__fattn__", false, TT_CATEGORY_ATTENTION},
    {"ffn", false, TT_CATEGORY_FFN},
    {"mlp", false, TT_CATEGORY_FFN},
    {"result", false, TT_CATEGORY_OUTPUT},
    {"sa_out", false, TT_CATEGORY_ATTENTION},
    {"l_out", false, TT_CATEGORY_FFN},
    {"output", false, TT_CATEGORY_OUTPUT},
    {"cls", false, TT_CATEGORY_OUTPUT},
    {"conv", true, TT_CATEGORY_CONV},
    {"embd", true, TT_CATEGORY_INPUT},
    {"embedding", true, TT_CATEGORY_INPUT},
};

/* How weights of a stack with a name begin, before the layer's number; as whisper.cpp's files have
 * it, too. */
static const struct {
    const char *front;
    tt_stack stack;
} stacks[] = {
    {"enc.blk.", TT_STACK_ENCODER},
    {"dec.blk.", TT_STACK_DECODER},
    {"encoder.blocks.", TT_STACK_ENCODER},
    {"decoder.blocks.", TT_STACK_DECODER},
    {"v.blk.", TT_STACK_VISION},
    {"v.sam.blk.", TT_STACK_SAM},
    {"a.blk.", TT_STACK_AUDIO},
    {"a.proj_blk.", TT_STACK_QUERIES},
    {"posnet.", TT_STACK_POSNET},
    {"convnext.", TT_STACK_CONVNEXT},
};

/* The whole number from `text` exactly to `end`; -1 when there is none. */
static int32_t number_at(const char *text, const char *end)
{
    int32_t v = 0;
    if (text == end) return -1;
    for (; text < end; text++) {
        if (!isdigit((unsigned char)*text)) return -1;
        v = v * 10 + (*text - '0');
        if (v > TT_LAYOUT_LAYER_MAX) return -1;
    }
    return v;
}

/* Removes what schedulers and view operations add: "CPU#NAME#0" and "NAME (view)". */
static void undecorate(char *name)
{
    char *first = strchr(name, '#');
    char *last = strrchr(name, '#');
    if (first && last > first && number_at(last + 1, last + strlen(last)) >= 0) {
        *last = '\0';
        memmove(name, first + 1, strlen(first + 1) + 1);
    }
    char *view = strstr(name, " (");
    if (view && view > name) *view = '\0';
}

/* Cuts the expert off "NAME[3]" and returns it; -1 when there is none. */
static int32_t take_slice(char *name)
{
    size_t size = strlen(name);
    char *open = strrchr(name, '[');
    if (!open || size < 3 || name[size - 1] != ']') return -1;
    int32_t expert = number_at(open + 1, name + size - 1);
    if (expert >= 0) *open = '\0';
    return expert;
}

/* Cuts the layer out of the name, "DIGITS." from `digits` on with all before; returns its number,
 * -1 when there is none. */
static int32_t take_block(char *name, char *digits)
{
    char *dot = strchr(digits, '.');
    int32_t layer = dot ? number_at(digits, dot) : -1;
    if (layer >= 0) memmove(name, dot + 1, strlen(dot + 1) + 1);
    return layer;
}

/* Cuts the layer's number out of the name and returns it; -1 when there is none. */
static int32_t take_layer(char *name, tt_stack *stack)
{
    *stack = TT_STACK_PLAIN;
    for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
        const size_t n = strlen(stacks[i].front);
        if (strncmp(name, stacks[i].front, n) != 0) continue;
        *stack = stacks[i].stack;
        return take_block(name, name + n);
    }
    /* Stored weights: "blk.3.REST"; stacks that are not known above add a prefix. */
    char *block = strncmp(name, "blk.", 4) == 0 ? name : strstr(name, ".blk.");
    if (block) return take_block(name, block + (block == name ? 4 : 5));
    /* Caches: "cache_k_l3". */
    char *end = name + strlen(name);
    char *mark = strncmp(name, "cache_", 6) == 0 ? strrchr(name, 'l') : NULL;
    if (mark && mark[-1] == '_') {
        int32_t layer = number_at(mark + 1, end);
        if (layer >= 0) mark[-1] = '\0';
        return layer;
    }
    /* Graph values: "ffn_out-3". */
    char *dash = strrchr(name, '-');
    int32_t layer = dash && dash > name ? number_at(dash + 1, end) : -1;
    if (layer >= 0) *dash = '\0';
    return layer;
}

/* Cuts ".weight" and the like; then the number of "ffn_up.3" (files that store experts singly),
 * returning the expert or -1. */
static int32_t take_suffix(char *name)
{
    static const char *const suffixes[] = {".weight", ".bias", ".scale", ".input_scale"};
    size_t size = strlen(name);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        size_t n = strlen(suffixes[i]);
        if (size > n && strcmp(name + size - n, suffixes[i]) == 0) {
            name[size - n] = '\0';
            break;
        }
    }
    char *dot = strrchr(name, '.');
    if (!dot || strncmp(name, "ffn_", 4) != 0) return -1;
    int32_t expert = number_at(dot + 1, dot + strlen(dot));
    if (expert >= 0) *dot = '\0';
    return expert;
}

/* Unnamed values are numbered ("node_12", "leaf_3"): they share one component. */
static void drop_serial(char *name)
{
    if (strncmp(name, "node_", 5) == 0 || strncmp(name, "leaf_", 5) == 0)
        if (number_at(name + 5, name + strlen(name)) >= 0) name[4] = '\0';
}

static void copy_text(char out[TT_COMPONENT_TEXT], const char *text)
{
    (void)snprintf(out, TT_COMPONENT_TEXT, "%.*s", TT_COMPONENT_TEXT - 1, text);
}

/* "FFN Up Experts" (or "FFN Up" in a file with single experts) becomes "FFN Up Expert 3". */
static void name_expert(tt_component *c)
{
    char text[TT_COMPONENT_TEXT];
    copy_text(text, c->component_type);
    if (strncmp(text, "FFN ", 4) != 0) return;
    char *plural = strstr(text, " Experts");
    if (plural) *plural = '\0';
    (void)snprintf(c->component_type, sizeof c->component_type, "%.32s Expert %d", text,
                   c->expert_id);
}

/* The name without the tower that it begins with: "v.patch_embd" is "patch_embd". */
static const char *after_tower(const char *name)
{
    static const char *const towers[] = {"enc.", "dec.",     "v.sam.",  "v.",
                                         "a.",   "encoder.", "decoder."};
    for (size_t i = 0; i < sizeof towers / sizeof towers[0]; i++)
        if (strncmp(name, towers[i], strlen(towers[i])) == 0) return name + strlen(towers[i]);
    return name;
}

tt_component tt_layout_classify(const char *name)
{
    tt_component c = {.category = TT_CATEGORY_OTHER};
    char base[NAME_MAX_BYTES];
    tt_stack stack;
    (void)snprintf(base, sizeof base, "%.*s", NAME_MAX_BYTES - 1, name);
    undecorate(base);
    c.expert_id = take_slice(base);
    const int32_t layer = take_layer(base, &stack);
    c.layer_id = tt_layer_make(layer, stack, 0);
    int32_t stored_expert = take_suffix(base);
    if (c.expert_id < 0) c.expert_id = stored_expert;
    drop_serial(base);
    copy_text(c.component, base);
    copy_text(c.component_type, "Other");
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(rules[i].name, base) != 0) continue;
        c.category = rules[i].category;
        if (rules[i].component) copy_text(c.component, rules[i].component);
        copy_text(c.component_type, rules[i].type);
        if (c.expert_id >= 0) name_expert(&c);
        return c;
    }
    /* What stands before the layers of a tower, an encoder or a decoder is classified without that.
     */
    const char *bare = after_tower(base);
    for (size_t i = 0; i < sizeof fallbacks / sizeof fallbacks[0]; i++) {
        const char *found = strstr(bare, fallbacks[i].text);
        if (!found || (!fallbacks[i].inside && found != bare)) continue;
        c.category = fallbacks[i].category;
        break;
    }
    return c;
}

/* The first part of a name that is found decides, wherever it is: output_norm is an "Output
 * Projection", as earlier converters have it. */
static const struct {
    const char *part, *type, *component;
} old_words[] = {
    {"token_embd", "Token Embeddings", "other"},
    {"output", "Output Projection", "output"},
    {"attn_q", "Attention Q", "query"},
    {"attn_k", "Attention K", "key"},
    {"attn_v", "Attention V", "value"},
    {"attn_norm", "Attention Norm", "norm"},
    {"ffn_up", "FFN Up", "up"},
    {"ffn_down", "FFN Down", "down"},
    {"ffn_gate", "FFN Gate", "gate"},
    {"ffn_norm", "FFN Norm", "norm"},
    {"", "Other", "other"},
};

static const char *old_category(const char *name, const char *type)
{
    if (strstr(type, "Embedding") || strcasestr(name, "embd")) return TT_CATEGORY_EMBEDDING;
    if (strstr(type, "Attention") || strcasestr(name, "attn")) return TT_CATEGORY_ATTENTION;
    if (strstr(type, "FFN")) return TT_CATEGORY_FFN;
    return strstr(type, "Output") ? TT_CATEGORY_OUTPUT : TT_CATEGORY_OTHER;
}

void tt_layout_old_words(const char *name, tt_component *c)
{
    size_t i = 0;
    while (!strstr(name, old_words[i].part))
        i++;
    c->category = old_category(name, old_words[i].type);
    copy_text(c->component, old_words[i].component);
    copy_text(c->component_type, old_words[i].type);
    if (c->expert_id >= 0) name_expert(c);
}

uint32_t tt_memory_map_slices(const tt_gguf_tensor *tensor, int64_t n_experts)
{
    tt_component c = tt_layout_classify(tensor->name);
    size_t size = strlen(c.component);
    if (size < 5 || strcmp(c.component + size - 5, "_exps") != 0) return 1;
    if (tensor->size_bytes == 0)
        return 1; /* slices must take file bytes: a number alone makes none */
    /* Weights have three dimensions, biases two; experts are the last. Without metadata, only
     * tensors with three count. */
    if (tensor->n_dims < (n_experts < 0 ? 3u : 2u)) return 1;
    uint64_t last = tensor->ne[tensor->n_dims - 1];
    if (n_experts >= 0 && last != (uint64_t)n_experts) return 1;
    return last >= 1 && last <= TT_MEMORY_MAP_EXPERTS_MAX ? (uint32_t)last : 1;
}

void tt_memory_map_entry(tt_memory_entry *entry, const tt_gguf_tensor *tensor, uint32_t slice,
                         uint32_t slices)
{
    bool whole = slices <= 1;
    entry->tensor = tensor;
    if (whole)
        (void)snprintf(entry->name, sizeof entry->name, "%s", tensor->name);
    else
        (void)snprintf(entry->name, sizeof entry->name, "%s[%" PRIu32 "]", tensor->name, slice);
    entry->size_bytes = whole ? tensor->size_bytes : tensor->size_bytes / slices;
    entry->offset_start = tensor->offset + (whole ? 0 : slice * entry->size_bytes);
    entry->offset_end = entry->offset_start + entry->size_bytes;
    entry->n_dims = tensor->n_dims;
    memcpy(entry->ne, tensor->ne, sizeof entry->ne);
    if (!whole) {
        entry->n_dims--;
        entry->ne[entry->n_dims] = 1;
    }
    if (entry->n_dims == 0) entry->n_dims = 1;
    while (entry->n_dims > 1 && entry->ne[entry->n_dims - 1] == 1)
        entry->n_dims--;
    entry->component = tt_layout_classify(entry->name);
}
