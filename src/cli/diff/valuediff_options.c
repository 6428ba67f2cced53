/* The options that `diff` has for values. */
#include "base/units.h"
#include "cli/diff/valuediff_view.h"
#include "cli/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool parse_i32(const char *from, const char *end, int32_t *v)
{
    uint32_t u;
    if (from == end || !tt_units_parse_u32(from, end, &u) || u > INT32_MAX) return false;
    *v = (int32_t)u;
    return true;
}

static void range(const char *arg, tt_parse *p, int32_t *first, int32_t *last)
{
    const char *end = arg + strlen(arg), *dash = strchr(arg, '-');
    bool ok = parse_i32(arg, dash ? dash : end, first) && (!dash || parse_i32(dash + 1, end, last));
    if (ok && !dash) *last = *first;
    if (!ok || *last < *first)
        tt_parse_refuse(p, "\"%.40s\" is not a number, or a range as 3-7", arg);
}

static double number(const char *text, size_t n, double least, double most, tt_parse *p)
{
    char copy[40], *end;
    if (n < sizeof copy) {
        memcpy(copy, text, n);
        copy[n] = '\0';
        double v = strtod(copy, &end);
        if (n && !*end && v >= least && v <= most) return v;
    }
    tt_parse_refuse(p, "\"%.*s\" is not a number from %g to %g", (int)n, text, least, most);
}

static void take_tolerance(void *options, char *arg, tt_parse *p)
{
    tt_valuediff_options *o = options;
    static const struct {
        const char *key;
        double least, most;
    } keys[] = {{"rel_l2=", 0, 1e9}, {"cosine=", -1, 1}, {"max_abs=", 0, 1e300}};
    double *const values[] = {&o->tolerance.rel_l2, &o->tolerance.cosine, &o->tolerance.max_abs};
    for (const char *at = arg;;) {
        size_t n = strcspn(at, ","), k = 0;
        while (k < 3 && strncmp(at, keys[k].key, strlen(keys[k].key)) != 0)
            k++;
        if (k == 3)
            tt_parse_refuse(p, "\"%.*s\" is none of rel_l2=, cosine=, max_abs=", (int)n, at);
        *values[k] = number(at + strlen(keys[k].key), n - strlen(keys[k].key), keys[k].least,
                            keys[k].most, p);
        if (!at[n]) break;
        at += n + 1;
    }
    o->has_tolerance = true;
}

static void take_position(void *options, char *arg, tt_parse *p)
{
    tt_valuediff_options *o = options;
    range(arg, p, &o->step_first, &o->step_last);
}

static void take_layers(void *options, char *arg, tt_parse *p)
{
    tt_valuediff_options *o = options;
    range(arg, p, &o->layer_first, &o->layer_last);
}

static void take_stages(void *settings, char *arg, tt_parse *p)
{
    tt_valuediff_settings *s = settings;
    (void)p;
    s->maps[0] = s->maps[1] = arg;
}

#define OF_VALUES .needs = "values"

const tt_option tt_valuediff_options_table[] = {
    {"values", 0, 0,
     "Compare what was computed, not how long it took; a side may be a folder of BitNet-style "
     "records",
     3, TT_FLAG(tt_valuediff_settings, values)},
    {"exact", 0, 0, "With --values: whatever is not the same to the bit differs", 3,
     TT_FLAG(tt_valuediff_settings, options.exact), OF_VALUES, .excludes = "tolerance"},
    {"tolerance", 0, "LIST",
     "With --values: what is close, instead of what the types allow: rel_l2=1e-3,cosine=0.999,"
     "max_abs=0.1",
     3, TT_TAKE(tt_valuediff_settings, options, take_tolerance),
     TT_GIVEN(tt_valuediff_settings, options.has_tolerance), OF_VALUES},
    {"stages", 0, "FILE", "With --values: the map of stages, instead of the one built in", 3,
     .kind = TT_OPTION_TAKE, .take = take_stages, OF_VALUES},
    {"stages-a", 0, "FILE", "Likewise, of A alone", 3, TT_TEXT(tt_valuediff_settings, maps[0]),
     OF_VALUES},
    {"stages-b", 0, "FILE", "Likewise, of B alone", 3, TT_TEXT(tt_valuediff_settings, maps[1]),
     OF_VALUES},
    {"position", 0, "N[-M]", "With --values: only batches with tokens at these places in the text",
     3, TT_TAKE(tt_valuediff_settings, options, take_position),
     TT_GIVEN(tt_valuediff_settings, options.has_steps), OF_VALUES},
    {"layer", 0, "N[-M]", "With --values: only these layers", 3,
     TT_TAKE(tt_valuediff_settings, options, take_layers),
     TT_GIVEN(tt_valuediff_settings, options.has_layers), OF_VALUES},
    {"stage", 0, "PATTERN", "With --values: only stages that fit (*, ?)", 3,
     TT_TEXT(tt_valuediff_settings, options.stage), OF_VALUES},
    {"by-order", 0, 0,
     "With --values: the first batch with the first, whatever their places in the text", 3,
     TT_FLAG(tt_valuediff_settings, options.by_order), OF_VALUES},
    {"all", 0, 0, "With --values: list equal and unmeasured values, too", 3,
     TT_FLAG(tt_valuediff_settings, options.keep_all), OF_VALUES},
    {"svg", 0, "FILE", "With --values: write the picture of error over depth", 3,
     TT_TEXT(tt_valuediff_settings, svg), OF_VALUES},
    {0},
};
