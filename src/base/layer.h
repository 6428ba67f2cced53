/* Layers in one number: the layer's own number, the stack that it is of, and the model.
 *
 * Networks may have several stacks, each with a layer 0: an encoder and a decoder, a vision tower
 * and a decoder of text. A process may run several models. So that two layers are equal only if
 * they are the same, all three are in one int32_t, which is the number alone for the only stack of
 * the only model. Negative: no layer. */
#ifndef TT_BASE_LAYER_H
#define TT_BASE_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In this order, which is also that of rows by layer. */
typedef enum tt_stack {
    TT_STACK_PLAIN, /* a decoder, or whatever is the model's only stack: has no name */
    TT_STACK_ENCODER,
    TT_STACK_DECODER,
    TT_STACK_VISION,
    TT_STACK_SAM, /* a second vision tower */
    TT_STACK_AUDIO,
    TT_STACK_QUERIES, /* that read an audio tower's output */
    TT_STACK_POSNET,  /* these two: of speech from codes */
    TT_STACK_CONVNEXT,
    TT_STACKS
} tt_stack;

#define TT_LAYER_NUMBERS 65536 /* 0 to 65535 */
#define TT_LAYER_STACK_SHIFT 16
#define TT_LAYER_MODEL_SHIFT 21
#define TT_LAYER_MODELS_MAX 1023 /* further models share the last number */
#define TT_LAYER_ANY_STACK 31    /* these two: of a filter */
#define TT_LAYER_ANY_MODEL 1023

/* number: 0 to 65535; negative stays. */
static inline int32_t tt_layer_make(int32_t number, unsigned stack, uint32_t model)
{
    if (number < 0) return number;
    if (model >= TT_LAYER_MODELS_MAX) model = TT_LAYER_MODELS_MAX - 1;
    return (int32_t)(model << TT_LAYER_MODEL_SHIFT | stack << TT_LAYER_STACK_SHIFT |
                     (uint32_t)number);
}

/* One number for all three, as JSON calls it: the layer itself. It differs from its number only
 * where there are several stacks or models. */
#define TT_LAYER_KEY "layer_key"

/* Its number; negative stays. */
static inline int32_t tt_layer_number(int32_t layer)
{
    return layer < 0 ? layer : layer % TT_LAYER_NUMBERS;
}

static inline unsigned tt_layer_stack(int32_t layer)
{
    return layer < 0 ? TT_STACK_PLAIN : (uint32_t)layer >> TT_LAYER_STACK_SHIFT & 31;
}

static inline uint32_t tt_layer_model(int32_t layer)
{
    return layer < 0 ? 0 : (uint32_t)layer >> TT_LAYER_MODEL_SHIFT;
}

/* Whether two layers are of one stack of one model. */
static inline bool tt_layer_beside(int32_t a, int32_t b)
{
    return a >> TT_LAYER_STACK_SHIFT == b >> TT_LAYER_STACK_SHIFT;
}

/* Where the layer, the i-th of a list whose last one is `last`, is on an axis: at its number;
 * beside layers of other stacks or models at its place in the list. */
static inline double tt_layer_on_axis(int32_t layer, int32_t last, size_t i)
{
    return layer >= 0 && last < TT_LAYER_NUMBERS ? (double)layer : (double)i;
}

/* "enc", "dec", "v", "a", ...; NULL: the plain stack, or no layer. */
const char *tt_layer_stack_name(int32_t layer);

/* "3", "enc 3", "-". */
#define TT_LAYER_TEXT 24u
char *tt_layer_text(char out[TT_LAYER_TEXT], int32_t layer);

/* What a user typed: "none", "enc 3" or "enc.3", and "3", which is the layer 3 of any stack; of any
 * model; "@131075", a TT_LAYER_KEY, is that layer alone. False: it is none of these. For
 * tt_layer_passes. */
bool tt_layer_read(const char *text, int32_t *layer);
/* Whether a layer is the one asked for: one that was read, or made. */
static inline bool tt_layer_passes(int32_t asked, int32_t layer)
{
    if (asked < 0 || layer < 0) return asked < 0 && layer < 0;
    return tt_layer_number(asked) == tt_layer_number(layer) &&
           (tt_layer_stack(asked) == TT_LAYER_ANY_STACK ||
            tt_layer_stack(asked) == tt_layer_stack(layer)) &&
           (tt_layer_model(asked) == TT_LAYER_ANY_MODEL ||
            tt_layer_model(asked) == tt_layer_model(layer));
}

#endif
