#include "bugs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *summary;
    double value;
} bugs[BUG_KINDS] = {
    [BUG_ROPE_BASE] = {"rope-base", "rotations with base 500000 (VALUE) in all layers", 500000},
    [BUG_NORM_EPSILON] = {"norm-epsilon", "a layer's first norm with epsilon 1e-2 (VALUE)", 1e-2},
    [BUG_TRANSPOSED_HEAD] = {"transposed-head", "a layer's heads put together elements first", 0},
    [BUG_TRANSPOSED_OUTPUT] = {"transposed-output", "the output matrix read by columns", 0},
    [BUG_KV_HEADS] = {"kv-heads", "a layer's query heads use the wrong heads of keys and values",
                      0},
    [BUG_SOFTMAX_SCALE] = {"softmax-scale", "a layer's scores scaled by the model's width", 0},
    [BUG_POSITION] = {"position", "generated tokens are placed one position too far", 0},
    [BUG_SWAPPED_GATE] = {"swapped-gate", "a layer's gate and up exchanged", 0},
};

const char *bug_name(unsigned i)
{
    return i + 1 < BUG_KINDS ? bugs[i + 1].name : NULL;
}

const char *bug_summary(unsigned i)
{
    return i + 1 < BUG_KINDS ? bugs[i + 1].summary : NULL;
}

bool bug_parse(const char *text, bug *b)
{
    size_t length = strcspn(text, "=");
    *b = (bug){.kind = BUG_NONE, .layer = 1};
    for (unsigned k = 1; k < BUG_KINDS; k++) {
        if (strlen(bugs[k].name) != length || strncmp(bugs[k].name, text, length) != 0) continue;
        b->kind = (bug_kind)k;
        b->value = bugs[k].value;
    }
    if (b->kind == BUG_NONE) return false;
    if (!text[length]) return true;
    char *end;
    unsigned long layer = strtoul(text + length + 1, &end, 10);
    if (end == text + length + 1 || layer > UINT32_MAX) return false;
    b->layer = (uint32_t)layer;
    if (*end == ':') b->value = strtod(end + 1, &end);
    return *end == 0;
}

void bug_apply(const bug *b, op *o, const char *stage, int layer, bool in_prompt)
{
    bool here = layer >= 0 && (uint32_t)layer == b->layer;
    switch (b->kind) {
    case BUG_ROPE_BASE:
        if (o->kind == OP_ROPE) o->rope_base = (float)b->value;
        break;
    case BUG_NORM_EPSILON:
        if (here && strcmp(stage, "attn_norm") == 0) o->epsilon = (float)b->value;
        break;
    case BUG_TRANSPOSED_HEAD:
        if (here && o->kind == OP_ATTENTION) o->transpose_heads = 1;
        break;
    case BUG_TRANSPOSED_OUTPUT:
        if (strcmp(stage, "logits") == 0) o->transpose_weight = 1;
        break;
    case BUG_KV_HEADS:
        if (here && o->kind == OP_ATTENTION) o->interleave_kv_heads = 1;
        break;
    case BUG_SOFTMAX_SCALE:
        if (here && o->kind == OP_ATTENTION) o->scale = 1 / sqrtf((float)o->out->ne[0]);
        break;
    case BUG_POSITION:
        if (o->kind == OP_ROPE && !in_prompt) o->position++;
        break;
    case BUG_SWAPPED_GATE:
        if (here && o->kind == OP_SWIGLU) {
            const tensor *gate = o->in[0];
            o->in[0] = o->in[1];
            o->in[1] = gate;
        }
        break;
    case BUG_NONE:
    case BUG_KINDS:
        break;
    }
}
