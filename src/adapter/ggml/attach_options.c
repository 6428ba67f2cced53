#include "adapter/ggml/attach_options.h"

#include "base/units.h"
#include "record/session.h"

#include <inttypes.h>
#include <string.h>

typedef tt_status take(tt_attach_options *o, const char *value, tt_error *err);

static tt_status refuse(tt_error *err, const char *value, const char *wanted)
{
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "\"%.60s\" is not %s", value, wanted);
}

static tt_status take_force(tt_attach_options *o, const char *value, tt_error *err)
{
    (void)value;
    (void)err;
    o->setup.recorder.replace = true;
    return TT_OK;
}

static tt_status take_no_text(tt_attach_options *o, const char *value, tt_error *err)
{
    (void)value;
    (void)err;
    o->capture.text = false;
    return TT_OK;
}

static tt_status take_mode(tt_attach_options *o, const char *value, tt_error *err)
{
    static const char *const modes[] = {
        [TT_MODE_AUTO] = "auto", [TT_MODE_HOOK] = "hook", [TT_MODE_CALLBACK] = "callback"};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(value, modes[i]) != 0) continue;
        o->setup.mode = (enum tt_mode)i;
        return TT_OK;
    }
    return refuse(err, value, "auto, hook or callback");
}

static tt_status take_values(tt_attach_options *o, const char *value, tt_error *err)
{
    o->capture.values_asked = value;
    return tt_select_parse(value, &o->capture.values, err);
}

static tt_status take_faults(tt_attach_options *o, const char *value, tt_error *err)
{
    uint64_t way;
    if (!tt_session_faults_way(value[0] ? value : "auto", &way))
        return refuse(err, value, "auto, events, counts or both");
    o->capture.faults_way = (unsigned)way;
    return TT_OK;
}

static tt_status take_whole(const char *value, const char *what, uint64_t *out, tt_error *err)
{
    int64_t n;
    const tt_status status = tt_units_parse_int(value, what, 1, INT32_MAX, &n, err);
    if (status == TT_OK) *out = (uint64_t)n;
    return status;
}

static tt_status take_residency(tt_attach_options *o, const char *value, tt_error *err)
{
    uint64_t every = 1;
    const tt_status status = value[0] ? take_whole(value, "residency", &every, err) : TT_OK;
    o->capture.residency_every = (uint32_t)every;
    return status;
}

static tt_status take_every(tt_attach_options *o, const char *value, tt_error *err)
{
    return take_whole(value, "every", &o->capture.token_every, err);
}

static tt_status take_batches(tt_attach_options *o, const char *value, tt_error *err)
{
    uint32_t first, last;
    if (!tt_units_parse_range(value, &first, &last))
        return refuse(err, value, "a number or a range like 3..9");
    o->capture.batch_first = first;
    o->capture.batch_last = last == UINT32_MAX - 1 ? UINT64_MAX : last;
    return TT_OK;
}

static tt_status take_limit(tt_attach_options *o, const char *value, tt_error *err)
{
    return tt_units_parse_amount(value, &o->setup.recorder.limit_bytes, err);
}

static tt_status take_ring(tt_attach_options *o, const char *value, tt_error *err)
{
    return tt_units_parse_amount(value, &o->setup.recorder.keep_bytes, err);
}

static tt_status take_thread_memory(tt_attach_options *o, const char *value, tt_error *err)
{
    return tt_units_parse_amount(value, &o->setup.recorder.ring_bytes, err);
}

static tt_status take_model(tt_attach_options *o, const char *value, tt_error *err)
{
    if (o->n_models == TT_ATTACH_MODELS_MAX)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "more than %u models",
                            TT_ATTACH_MODELS_MAX);
    o->models[o->n_models++] = value;
    return TT_OK;
}

enum { FLAG, OPTIONAL, VALUE };

static const struct {
    const char *name;
    int value;
    take *take;
} known[] = {{"force", FLAG, take_force},
             {"no-text", FLAG, take_no_text},
             {"faults", OPTIONAL, take_faults},
             {"residency", OPTIONAL, take_residency},
             {"mode", VALUE, take_mode},
             {"values", VALUE, take_values},
             {"batches", VALUE, take_batches},
             {"every", VALUE, take_every},
             {"limit", VALUE, take_limit},
             {"ring", VALUE, take_ring},
             {"thread-memory", VALUE, take_thread_memory},
             {"model", VALUE, take_model}};

static tt_status take_option(tt_attach_options *o, const char *text, tt_error *err)
{
    const char *equals = strchr(text, '=');
    const size_t n = equals ? (size_t)(equals - text) : strlen(text);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) != n || memcmp(text, known[i].name, n) != 0) continue;
        if (known[i].value == FLAG && equals)
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "%s takes no value", known[i].name);
        if (known[i].value == VALUE && !equals)
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "%s needs a value", known[i].name);
        tt_error why;
        const tt_status status = known[i].take(o, equals ? equals + 1 : "", &why);
        if (status == TT_OK) return TT_OK;
        return tt_error_set(err, status, TT_NO_OFFSET, "%s: %.250s", known[i].name, why.message);
    }
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "there is no option %.60s", text);
}

tt_status tt_attach_options_read(const char *const *options, tt_attach_options *out, tt_error *err)
{
    memset(out, 0, sizeof *out);
    out->capture = TT_CAPTURE_DEFAULTS;
    for (; options && *options; options++) {
        const tt_status status = take_option(out, *options, err);
        if (status != TT_OK) return status;
    }
    if (!out->capture.text && out->capture.values.level != TT_VALUES_OFF)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "no-text keeps the text out of the trace, values puts it in");
    if (out->setup.recorder.limit_bytes && out->setup.recorder.keep_bytes)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "limit or ring, not both");
    out->setup.recorder.page_faults =
        out->capture.faults_way != TT_FAULTS_OFF && out->capture.faults_way != TT_FAULTS_COUNTS;
    return TT_OK;
}
