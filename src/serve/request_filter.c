#include "serve/request_filter.h"

#include <math.h>
#include <string.h>

#define STARS_MAX 8u

static bool tokens(const tt_request *q, tt_filter *f, tt_error *err)
{
    uint64_t first = 0, last = UINT32_MAX;
    f->has_token = tt_request_text(q, "token") || tt_request_text(q, "token_to");
    if (!f->has_token) return true;
    if (!tt_request_u64(q, "token", 0, UINT32_MAX, 0, &first, err)) return false;
    /* A token alone is that one; an end alone is all up to it. */
    if (!tt_request_u64(q, "token_to", first, UINT32_MAX,
                        tt_request_text(q, "token") ? first : UINT32_MAX, &last, err))
        return false;
    f->token_first = (uint32_t)first;
    f->token_last = (uint32_t)last;
    return true;
}

static bool times(const tt_request *q, tt_filter *f, tt_error *err)
{
    f->has_from = tt_request_text(q, "from_ns") != NULL;
    f->has_to = tt_request_text(q, "to_ns") != NULL;
    return tt_request_double(q, "from_ns", -1e18, 1e18, 0, &f->from_ns, err) &&
           tt_request_double(q, "to_ns", -1e18, 1e18, 0, &f->to_ns, err);
}

static bool layer(const tt_request *q, tt_filter *f, tt_error *err)
{
    uint64_t number = 0;
    const char *text = tt_request_text(q, "layer");
    f->has_layer = text != NULL;
    /* What belongs to none. */
    if (text && strcmp(text, "none") == 0) {
        f->layer = TT_LAYER_NONE;
        return true;
    }
    if (!tt_request_u64(q, "layer", 0, INT32_MAX, 0, &number, err)) return false;
    f->layer = (int32_t)number;
    return true;
}

/* A pattern's stars are tried at every place of a name, one within the other: few will do. */
static bool pattern(const tt_request *q, tt_filter *f, tt_error *err)
{
    unsigned stars = 0;
    f->tensor = tt_request_text(q, "tensor");
    for (const char *p = f->tensor; p && *p; p++) {
        if (*p == '\\' && p[1])
            p++; /* what follows stands for itself */
        else
            stars += *p == '*';
    }
    if (stars <= STARS_MAX) return true;
    (void)tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "tensor=%.40s: more than %u stars", f->tensor,
                       STARS_MAX);
    return false;
}

bool tt_request_filter(const tt_request *q, tt_filter *out, tt_error *err)
{
    static const char *const phases[] = {"any", "prompt", "generate", "mixed", "warmup", NULL};
    static const unsigned numbers[] = {0, TT_PHASE_PROMPT, TT_PHASE_GENERATE, TT_PHASE_MIXED,
                                       TT_PHASE_WARMUP};
    size_t phase = 0;
    memset(out, 0, sizeof *out);
    if (!tokens(q, out, err) || !times(q, out, err) || !layer(q, out, err) ||
        !tt_request_choice(q, "phase", phases, 0, &phase, err) || !pattern(q, out, err))
        return false;
    out->phase = numbers[phase];
    out->op = tt_request_text(q, "op");
    return true;
}

bool tt_request_is_unfiltered(const tt_request *q)
{
    static const char *const names[] = {"token", "token_to", "phase",   "layer",
                                        "op",    "tensor",   "from_ns", "to_ns"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (tt_request_text(q, names[i])) return false;
    return true;
}
