#include "cli/trace_options.h"

#include "cli/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAMES_TEXT 256 /* of all rows of a table */

bool tt_trace_parse_time(const char *text, double *ns)
{
    static const struct {
        const char *suffix;
        double ns;
    } units[] = {{"", 1e6}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end;
    size_t digits = strspn(text, "0123456789.");
    double v = strtod(text, &end);
    /* strtod also takes 0x10, 1e3 and inf, which are slips here. */
    if (digits == 0 || end != text + digits) return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].suffix) != 0) continue;
        *ns = v * units[i].ns;
        return isfinite(*ns);
    }
    return false;
}

static void set_layer(const char *arg, struct argp_state *state, tt_filter *f)
{
    uint32_t layer = 0;
    f->has_layer = true;
    f->layer = TT_LAYER_NONE;
    if (strcmp(arg, "none") == 0) return;
    if (!tt_units_parse_u32(arg, arg + strlen(arg), &layer) || layer > INT32_MAX)
        argp_error(state, "--layer: \"%.40s\" is not a layer's number (or none)", arg);
    f->layer = (int32_t)layer;
}

static void set_phase(const char *arg, struct argp_state *state, tt_filter *f)
{
    f->phase = tt_phase_parse(arg);
    if (!f->phase)
        argp_error(state, "--phase: \"%.40s\" is not prompt, generate, mixed or warmup", arg);
}

static void set_origin(const char *arg, struct argp_state *state, tt_filter *f)
{
    if (strcasecmp(arg, "disk") == 0)
        f->origin = TT_ORIGIN_DISK;
    else if (strcasecmp(arg, "buffer") == 0)
        f->origin = TT_ORIGIN_BUFFER;
    else
        argp_error(state, "--origin: \"%.40s\" is not disk or buffer", arg);
}

static void set_time(const char *what, const char *arg, struct argp_state *state, double *ns)
{
    if (!tt_trace_parse_time(arg, ns))
        argp_error(state, "%s: \"%.40s\" is not a time: write 12.5ms, 300us, 4000ns or 2s", what,
                   arg);
}

bool tt_trace_filter_option(int key, char *arg, struct argp_state *state, tt_filter *f)
{
    switch (key) {
    case TT_OPT_BATCH:
    case TT_OPT_TOKEN:
        f->has_batch = true;
        if (!tt_units_parse_range(arg, &f->batch_first, &f->batch_last))
            argp_error(state, "--batch: \"%.40s\" is not a number or a range like 3..9", arg);
        return true;
    case TT_OPT_LAYER:
        set_layer(arg, state, f);
        return true;
    case TT_OPT_OP:
        f->op = arg;
        return true;
    case TT_OPT_PHASE:
        set_phase(arg, state, f);
        return true;
    case TT_OPT_TENSOR:
        f->tensor = arg;
        return true;
    case TT_OPT_THREAD:
        f->has_lane = true;
        if (!tt_units_parse_u32(arg, arg + strlen(arg), &f->lane))
            argp_error(state, "--thread: \"%.40s\" is not a thread's number", arg);
        return true;
    case TT_OPT_ORIGIN:
        set_origin(arg, state, f);
        return true;
    case TT_OPT_FROM:
        f->has_from = true;
        set_time("--from", arg, state, &f->from_ns);
        return true;
    case TT_OPT_TO:
        f->has_to = true;
        set_time("--to", arg, state, &f->to_ns);
        return true;
    case TT_OPT_TEXT:
        f->text = *arg ? arg : NULL;
        return true;
    case TT_OPT_MIN_DURATION:
        f->has_least = true;
        set_time("--min-duration", arg, state, &f->least_ns);
        return true;
    case TT_OPT_MAX_DURATION:
        f->has_most = true;
        set_time("--max-duration", arg, state, &f->most_ns);
        return true;
    default:
        return false;
    }
}

static const struct argp_option filter_options[] = {
    TT_OPTIONS_BATCH("N[..M]", "Only these batches (0 is the first)", 2),
    {"layer", TT_OPT_LAYER, "N", 0, "Only this layer (none: outside any)", 2},
    {"op", TT_OPT_OP, "NAME", 0, "Only this op", 2},
    {"tensor", TT_OPT_TENSOR, "GLOB", 0, "Only ops whose node or a source has such a name", 2},
    {"phase", TT_OPT_PHASE, "PHASE", 0, "Only prompt, generate, mixed or warmup", 2},
    {0},
};

static error_t parse_filter(int key, char *arg, struct argp_state *state)
{
    return tt_trace_filter_option(key, arg, state, state->input) ? 0 : ARGP_ERR_UNKNOWN;
}

const struct argp tt_trace_filter_argp = {filter_options, parse_filter, NULL, NULL,
                                          NULL,           NULL,         NULL};

static const char *row_name(const void *table, size_t i, size_t row_bytes)
{
    const char *name;
    memcpy(&name, (const char *)table + i * row_bytes, sizeof name);
    return name;
}

size_t tt_trace_name_option(const char *option, const char *arg, struct argp_state *state,
                            const void *table, size_t n, size_t row_bytes)
{
    char names[NAMES_TEXT] = "";
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        const char *name = row_name(table, i, row_bytes);
        const bool former = strcmp(name, "batch") == 0 && strcmp(arg, "token") == 0;
        if (former || strcmp(arg, name) == 0) return i;
        const char *between = i == 0 ? "" : i + 1 == n ? " or " : ", ";
        int wrote = snprintf(names + used, sizeof names - used, "%s%s", between, name);
        if (wrote > 0 && (size_t)wrote < sizeof names - used) used += (size_t)wrote;
    }
    argp_error(state, "%s: \"%.40s\" is not %s", option, arg, names);
    return 0; /* argp_error has ended the process */
}

uint64_t tt_trace_limit_option(const char *arg, struct argp_state *state)
{
    tt_error err;
    int64_t n = 0;
    if (tt_units_parse_int(arg, "--limit", 0, INT64_MAX, &n, &err) != TT_OK)
        argp_error(state, "%s", err.message);
    return (uint64_t)n;
}

void tt_trace_note_cut(const tt_model *m)
{
    if (!m->trace.complete)
        tt_report_note("the trace was cut off at byte %" PRIu64 ": %s; what is before is shown",
                       m->trace.end_bytes, m->trace.cut.message);
    if (m->meta_damage.status != TT_OK)
        tt_report_note("damaged at byte %" PRIu64 ": %s; runs described behind it are not shown",
                       m->meta_damage.offset, m->meta_damage.message);
}

void tt_trace_note_damage(const tt_model *m)
{
    tt_error damage;
    size_t n = tt_pieces_damaged(m->pieces, &damage);
    if (n > 0)
        tt_report_note("%zu damaged OPS chunk%s left out; the first at byte %" PRIu64 ": %s", n,
                       n == 1 ? " is" : "s are", damage.offset, damage.message);
}

void tt_trace_note_more(uint64_t rows)
{
    tt_report_note("there %s more than %" PRIu64 " row%s; --limit 0 shows all",
                   rows == 1 ? "is" : "are", rows, rows == 1 ? "" : "s");
}

char *tt_trace_text(char *out, size_t room, const char *text)
{
    size_t n = 0;
    for (; text[n] && n + 1 < room; n++)
        out[n] = (unsigned char)text[n] < 0x20 || text[n] == 0x7f ? '?' : text[n];
    out[n] = '\0';
    return out;
}
