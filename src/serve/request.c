#include "serve/request.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STARS_MAX 8u

static bool batches(const tt_request *q, tt_filter *f, tt_error *err)
{
    uint64_t first = 0, last = UINT32_MAX;
    f->has_batch = tt_request_text(q, "batch") || tt_request_text(q, "batch_to");
    if (!f->has_batch) return true;
    if (!tt_request_u64(q, "batch", 0, UINT32_MAX, 0, &first, err)) return false;
    /* A batch alone is a range of one; an end alone starts at the first. */
    if (!tt_request_u64(q, "batch_to", first, UINT32_MAX,
                        tt_request_text(q, "batch") ? first : UINT32_MAX, &last, err))
        return false;
    f->batch_first = (uint32_t)first;
    f->batch_last = (uint32_t)last;
    return true;
}

static bool times(const tt_request *q, tt_filter *f, tt_error *err)
{
    f->has_from = tt_request_text(q, "from_ns") != NULL;
    f->has_to = tt_request_text(q, "to_ns") != NULL;
    f->overlaps = true;
    if (!tt_request_double(q, "from_ns", -1e18, 1e18, 0, &f->from_ns, err) ||
        !tt_request_double(q, "to_ns", -1e18, 1e18, 0, &f->to_ns, err))
        return false;
    if (!f->has_from || !f->has_to || f->from_ns <= f->to_ns) return true;
    (void)tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "from_ns is after to_ns");
    return false;
}

bool tt_request_layer(const tt_request *q, bool *given, int32_t *layer, tt_error *err)
{
    const char *text = tt_request_text(q, "layer");
    *given = text != NULL;
    *layer = TT_LAYER_NONE;
    if (!text || tt_layer_read(text, layer)) return true;
    (void)tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                       "layer is a number, a stack with a number (\"enc 3\"), or none");
    return false;
}

static bool model(const tt_request *q, tt_filter *f, tt_error *err)
{
    uint64_t number;
    f->model = tt_request_text(q, "model");
    f->has_context = tt_request_text(q, "context") != NULL;
    if (!tt_request_u64(q, "context", 0, UINT32_MAX, 0, &number, err)) return false;
    f->context = (uint32_t)number;
    return true;
}

/* Each star of a pattern is tried at every position of a name, nested: a few must do. */
static bool pattern(const tt_request *q, tt_filter *f, tt_error *err)
{
    unsigned stars = 0;
    f->tensor = tt_request_text(q, "tensor");
    for (const char *p = f->tensor; p && *p; p++) {
        if (*p == '\\' && p[1])
            p++; /* the next character is literal */
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
    if (!batches(q, out, err) || !times(q, out, err) ||
        !tt_request_layer(q, &out->has_layer, &out->layer, err) || !model(q, out, err) ||
        !tt_request_choice(q, "phase", phases, 0, &phase, err) || !pattern(q, out, err))
        return false;
    out->phase = numbers[phase];
    out->op = tt_request_text(q, "op");
    return true;
}

bool tt_request_is_unfiltered(const tt_request *q)
{
    static const char *const names[] = {"batch",  "batch_to", "phase", "layer", "op",
                                        "tensor", "from_ns",  "to_ns", "model", "context"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (tt_request_text(q, names[i])) return false;
    return true;
}

bool tt_request_is_over(const tt_request *q)
{
    if (q->is_ending && atomic_load(q->is_ending)) return true;
    if (q->client < 0) return false;
    struct pollfd p = {.fd = q->client, .events = POLLRDHUP};
    return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

static bool is_over(void *request)
{
    return tt_request_is_over(request);
}

tt_over tt_request_over(tt_request *q)
{
    return (tt_over){is_over, q};
}

const char *tt_request_text(const tt_request *q, const char *name)
{
    for (uint32_t i = 0; i < q->n_params; i++)
        if (strcmp(q->params[i].name, name) == 0) return q->params[i].value;
    return NULL;
}

bool tt_request_u64(const tt_request *q, const char *name, uint64_t least, uint64_t most,
                    uint64_t otherwise, uint64_t *out, tt_error *err)
{
    const char *text = tt_request_text(q, name);
    *out = otherwise;
    if (!text) return true;
    /* strtoull accepts blanks and signs, and wraps negative numbers. */
    char *end = NULL;
    errno = 0;
    uint64_t value = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (!end || *end || errno != 0 || value < least || value > most) {
        (void)tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                           "%s=%.40s: not a whole number from %" PRIu64 " to %" PRIu64, name, text,
                           least, most);
        return false;
    }
    *out = value;
    return true;
}

tt_status tt_request_op(const tt_request *q, uint32_t *run, uint32_t *node, tt_error *err)
{
    uint64_t r, n;
    if (!tt_request_u64(q, "run", 0, UINT32_MAX - 1, UINT32_MAX, &r, err) ||
        !tt_request_u64(q, "node", 0, UINT32_MAX - 1, UINT32_MAX, &n, err))
        return TT_E_USAGE;
    if (r == UINT32_MAX || n == UINT32_MAX)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "an op needs the parameters run and node");
    if (r >= q->m->n_runs)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                            "no run %" PRIu64 "; there are %" PRIu32, r, q->m->n_runs);
    *run = (uint32_t)r;
    *node = (uint32_t)n;
    return TT_OK;
}

bool tt_request_double(const tt_request *q, const char *name, double least, double most,
                       double otherwise, double *out, tt_error *err)
{
    const char *text = tt_request_text(q, name);
    *out = otherwise;
    if (!text) return true;
    /* Nor "inf", "nan", or hexadecimal. */
    char *end = NULL;
    double value = *text && text[strspn(text, "+-.0123456789eE")] == '\0' ? strtod(text, &end) : 0;
    if (!end || *end || !(value >= least && value <= most)) {
        (void)tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "%s=%.40s: not a number from %g to %g",
                           name, text, least, most);
        return false;
    }
    *out = value;
    return true;
}

bool tt_request_choice(const tt_request *q, const char *name, const char *const *names,
                       size_t otherwise, size_t *out, tt_error *err)
{
    const char *text = tt_request_text(q, name);
    char known[160] = "";
    *out = otherwise;
    if (!text) return true;
    for (size_t i = 0, used = 0; names[i]; i++) {
        if (strcmp(names[i], text) == 0) {
            *out = i;
            return true;
        }
        int n = snprintf(known + used, sizeof known - used, " %s", names[i]);
        if (n > 0 && used + (size_t)n < sizeof known) used += (size_t)n;
    }
    (void)tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "%s=%.40s: not one of%s", name, text, known);
    return false;
}
