/* The options that `diff` has for values. */
#include "base/units.h"
#include "cli/diff/valuediff_view.h"
#include "cli/trace_options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_VALUES = 2048, OPT_EXACT, OPT_TOLERANCE, OPT_STAGES, OPT_STAGES_A, OPT_STAGES_B };
enum { OPT_POSITION = 2100, OPT_LAYER, OPT_STAGE, OPT_ALL, OPT_SVG, OPT_BY_ORDER };

static const struct argp_option option_table[] = {
    {"values", OPT_VALUES, 0, 0,
     "Compare what was computed, not how long it took; a side may be a folder of BitNet-style "
     "records",
     3},
    {"exact", OPT_EXACT, 0, 0, "With --values: whatever is not the same to the bit differs", 3},
    {"tolerance", OPT_TOLERANCE, "LIST", 0,
     "With --values: what is close, instead of what the types allow: rel_l2=1e-3,cosine=0.999,"
     "max_abs=0.1",
     3},
    {"stages", OPT_STAGES, "FILE", 0,
     "With --values: the map of stages, instead of the one built in", 3},
    {"stages-a", OPT_STAGES_A, "FILE", 0, "Likewise, of A alone", 3},
    {"stages-b", OPT_STAGES_B, "FILE", 0, "Likewise, of B alone", 3},
    {"position", OPT_POSITION, "N[-M]", 0,
     "With --values: only batches with tokens at these places in the text", 3},
    {"layer", OPT_LAYER, "N[-M]", 0, "With --values: only these layers", 3},
    {"stage", OPT_STAGE, "PATTERN", 0, "With --values: only stages that fit (*, ?)", 3},
    {"by-order", OPT_BY_ORDER, 0, 0,
     "With --values: the first batch with the first, whatever their places in the text", 3},
    {"all", OPT_ALL, 0, 0, "With --values: list equal and unmeasured values, too", 3},
    {"svg", OPT_SVG, "FILE", 0, "With --values: write the picture of error over depth", 3},
    {0},
};

tt_valuediff_by tt_valuediff_by_option(const char *name, struct argp_state *state)
{
    static const struct {
        const char *name;
        tt_valuediff_by by;
    } lists[] = {{"value", TT_VALUEDIFF_BY_VALUE},
                 {"stage", TT_VALUEDIFF_BY_STAGE},
                 {"layer", TT_VALUEDIFF_BY_LAYER},
                 {"batch", TT_VALUEDIFF_BY_BATCH}};
    if (!name) return TT_VALUEDIFF_BY_VALUE;
    return lists[tt_trace_name_option("--by", name, state, lists, sizeof lists / sizeof *lists,
                                      sizeof *lists)]
        .by;
}

static bool parse_i32(const char *from, const char *end, int32_t *v)
{
    uint32_t u;
    if (from == end || !tt_units_parse_u32(from, end, &u) || u > INT32_MAX) return false;
    *v = (int32_t)u;
    return true;
}

static void range(const char *option, const char *arg, struct argp_state *state, bool *has,
                  int32_t *first, int32_t *last)
{
    const char *end = arg + strlen(arg), *dash = strchr(arg, '-');
    bool ok = parse_i32(arg, dash ? dash : end, first) && (!dash || parse_i32(dash + 1, end, last));
    if (ok && !dash) *last = *first;
    if (!ok || *last < *first)
        argp_error(state, "%s: \"%.40s\" is not a number, or a range as 3-7", option, arg);
    *has = true;
}

static double number(const char *text, size_t n, double least, double most,
                     struct argp_state *state)
{
    char copy[40], *end;
    if (n < sizeof copy) {
        memcpy(copy, text, n);
        copy[n] = '\0';
        double v = strtod(copy, &end);
        if (n && !*end && v >= least && v <= most) return v;
    }
    argp_error(state, "--tolerance: \"%.*s\" is not a number from %g to %g", (int)n, text, least,
               most);
    return NAN;
}

static void tolerance(const char *arg, struct argp_state *state, tt_valuediff_options *o)
{
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
            argp_error(state, "--tolerance: \"%.*s\" is none of rel_l2=, cosine=, max_abs=", (int)n,
                       at);
        else
            *values[k] = number(at + strlen(keys[k].key), n - strlen(keys[k].key), keys[k].least,
                                keys[k].most, state);
        if (!at[n]) break;
        at += n + 1;
    }
    o->has_tolerance = true;
}

static const char *option_name(int key)
{
    for (size_t i = 0; option_table[i].name; i++) {
        if (option_table[i].key == key) return option_table[i].name;
    }
    return "";
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    tt_valuediff_settings *s = state->input;
    tt_valuediff_options *o = &s->options;
    if (key > OPT_VALUES && key <= OPT_BY_ORDER) s->other = option_name(key);
    switch (key) {
    case ARGP_KEY_INIT:
        o->tolerance = (tt_tolerance){NAN, NAN, NAN};
        return 0;
    case OPT_VALUES:
        s->values = true;
        return 0;
    case OPT_EXACT:
        o->exact = true;
        return 0;
    case OPT_TOLERANCE:
        tolerance(arg, state, o);
        return 0;
    case OPT_STAGES:
        s->maps[0] = s->maps[1] = arg;
        return 0;
    case OPT_STAGES_A:
    case OPT_STAGES_B:
        s->maps[key == OPT_STAGES_B] = arg;
        return 0;
    case OPT_POSITION:
        range("--position", arg, state, &o->has_steps, &o->step_first, &o->step_last);
        return 0;
    case OPT_LAYER:
        range("--layer", arg, state, &o->has_layers, &o->layer_first, &o->layer_last);
        return 0;
    case OPT_STAGE:
        o->stage = arg;
        return 0;
    case OPT_BY_ORDER:
        o->by_order = true;
        return 0;
    case OPT_ALL:
        o->keep_all = true;
        return 0;
    case OPT_SVG:
        s->svg = arg;
        return 0;
    case ARGP_KEY_END:
        if (s->other && !s->values) argp_error(state, "--%s goes with --values", s->other);
        if (o->exact && o->has_tolerance)
            argp_error(state, "--exact and --tolerance exclude one another");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp tt_valuediff_argp = {option_table, parse_option, NULL, NULL, NULL, NULL, NULL};
