#include "base/layer.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const names[TT_STACKS] = {
    [TT_STACK_ENCODER] = "enc",   [TT_STACK_DECODER] = "dec",       [TT_STACK_VISION] = "v",
    [TT_STACK_SAM] = "v.sam",     [TT_STACK_AUDIO] = "a",           [TT_STACK_QUERIES] = "a.proj",
    [TT_STACK_POSNET] = "posnet", [TT_STACK_CONVNEXT] = "convnext",
};

const char *tt_layer_stack_name(int32_t layer)
{
    const unsigned stack = tt_layer_stack(layer);
    return stack < TT_STACKS ? names[stack] : NULL;
}

char *tt_layer_text(char out[TT_LAYER_TEXT], int32_t layer)
{
    const char *stack = tt_layer_stack_name(layer);
    if (layer < 0)
        (void)snprintf(out, TT_LAYER_TEXT, "-");
    else
        (void)snprintf(out, TT_LAYER_TEXT, "%s%s%" PRId32, stack ? stack : "", stack ? " " : "",
                       tt_layer_number(layer));
    return out;
}

bool tt_layer_read(const char *text, int32_t *layer)
{
    unsigned stack = TT_LAYER_ANY_STACK;
    uint32_t number;
    *layer = -1;
    if (strcmp(text, "none") == 0) return true;
    if (*text == '@') {
        const bool is_key =
            tt_units_parse_u32(text + 1, text + strlen(text), &number) && number <= INT32_MAX;
        *layer = is_key ? (int32_t)number : -1;
        return is_key;
    }
    for (unsigned i = 0; i < TT_STACKS; i++) {
        const size_t n = names[i] ? strlen(names[i]) : 0;
        if (n == 0 || strncmp(text, names[i], n) != 0) continue;
        if ((text[n] != ' ' && text[n] != '.') || text[n + 1] < '0' || text[n + 1] > '9') continue;
        stack = i;
        text += n + 1;
        break;
    }
    if (!tt_units_parse_u32(text, text + strlen(text), &number) || number >= TT_LAYER_NUMBERS)
        return false;
    *layer = tt_layer_make((int32_t)number, stack, 0);
    *layer |= (int32_t)(TT_LAYER_ANY_MODEL << TT_LAYER_MODEL_SHIFT);
    return true;
}
