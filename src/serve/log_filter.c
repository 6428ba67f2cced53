#include "serve/log_filter.h"

#include "base/units.h"

#include <string.h>

/* A pattern's stars are tried at every place of a name, one within the other. */
#define STARS_MAX 8u
#define TEXT_MAX 200u
#define NS_MAX 1e18

static bool refuse(tt_error *err, const char *name, const char *value, const char *what)
{
    (void)tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "%s=%.40s: %s", name, value, what);
    return false;
}

static bool set_token(const tt_request *q, tt_filter *f, tt_error *err)
{
    const char *text = tt_request_text(q, "token");
    if (!text) return true;
    f->has_token = true;
    return tt_units_parse_range(text, &f->token_first, &f->token_last) ||
           refuse(err, "token", text, "not a number or a range like 3..9");
}

static bool set_layer(const tt_request *q, tt_filter *f, tt_error *err)
{
    const char *text = tt_request_text(q, "layer");
    uint64_t layer = 0;
    if (!text) return true;
    f->has_layer = true;
    f->layer = TT_LAYER_NONE;
    if (strcmp(text, "none") == 0) return true;
    if (!tt_request_u64(q, "layer", 0, INT32_MAX, 0, &layer, err))
        return refuse(err, "layer", text, "not a layer's number (or none)");
    f->layer = (int32_t)layer;
    return true;
}

static bool set_lane(const tt_request *q, tt_filter *f, bool *by_lane, tt_error *err)
{
    uint64_t lane, lanes;
    f->has_lane = tt_request_text(q, "thread") != NULL;
    if (!tt_request_u64(q, "thread", 0, UINT32_MAX - 1, 0, &lane, err) ||
        !tt_request_u64(q, "lanes", 0, 1, 0, &lanes, err))
        return false;
    f->lane = (uint32_t)lane;
    *by_lane = lanes || f->has_lane;
    return true;
}

static bool set_texts(const tt_request *q, tt_filter *f, tt_error *err)
{
    const struct {
        const char *name;
        const char **to;
    } texts[] = {{"op", &f->op}, {"tensor", &f->tensor}, {"text", &f->text}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *value = tt_request_text(q, texts[i].name);
        unsigned stars = 0;
        if (!value || !*value) continue;
        for (const char *p = value; *p; p++)
            stars += *p == '*';
        if (strlen(value) > TEXT_MAX) return refuse(err, texts[i].name, value, "too long");
        if (texts[i].to == &f->tensor && stars > STARS_MAX)
            return refuse(err, texts[i].name, value, "a pattern may have 8 stars");
        *texts[i].to = value;
    }
    return true;
}

static bool set_choices(const tt_request *q, tt_filter *f, tt_error *err)
{
    static const char *const phases[] = {"any", "prompt", "generate", NULL};
    static const char *const origins[] = {"any", "disk", "buffer", NULL};
    static const unsigned phase_of[] = {0, TT_PHASE_PROMPT, TT_PHASE_GENERATE};
    static const tt_origin origin_of[] = {TT_ORIGIN_UNKNOWN, TT_ORIGIN_DISK, TT_ORIGIN_BUFFER};
    size_t phase, origin;
    if (!tt_request_choice(q, "phase", phases, 0, &phase, err) ||
        !tt_request_choice(q, "origin", origins, 0, &origin, err))
        return false;
    f->phase = phase_of[phase];
    f->origin = origin_of[origin];
    return true;
}

bool tt_log_filter_of(const tt_request *q, tt_filter *f, bool *by_lane, tt_error *err)
{
    *f = (tt_filter){.has_from = tt_request_text(q, "from_ns") != NULL,
                     .has_to = tt_request_text(q, "to_ns") != NULL,
                     .has_least = tt_request_text(q, "min_duration_ns") != NULL,
                     .has_most = tt_request_text(q, "max_duration_ns") != NULL};
    return set_token(q, f, err) && set_layer(q, f, err) && set_lane(q, f, by_lane, err) &&
           set_texts(q, f, err) && set_choices(q, f, err) &&
           tt_request_double(q, "from_ns", -NS_MAX, NS_MAX, 0, &f->from_ns, err) &&
           tt_request_double(q, "to_ns", -NS_MAX, NS_MAX, 0, &f->to_ns, err) &&
           tt_request_double(q, "min_duration_ns", 0, NS_MAX, 0, &f->least_ns, err) &&
           tt_request_double(q, "max_duration_ns", 0, NS_MAX, 0, &f->most_ns, err);
}
