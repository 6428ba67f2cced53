#include "arrow/options.h"

#include "base/units.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind {
    FLAG,   /* bool */
    TEXT,   /* const char * */
    COUNT,  /* uint64_t */
    NUMBER, /* uint32_t */
    BATCH,  /* these: of the filter */
    LAYER,
    CONTEXT,
    PHASE,
    ORIGIN,
    FROM,
    TO,
    LEAST,
    MOST
} kind;

static const struct option {
    const char *name;
    kind kind;
    size_t offset;
} options[] = {
#define OF(member) offsetof(tt_arrow_options, member)
    {"columns", TEXT, OF(columns)},
    {"sort", TEXT, OF(sort)},
    {"limit", COUNT, OF(limit)},
    {"threads", NUMBER, OF(threads)},
    {"batch", BATCH, 0},
    {"layer", LAYER, 0},
    {"context", CONTEXT, 0},
    {"model", TEXT, OF(filter.model)},
    {"phase", PHASE, 0},
    {"op", TEXT, OF(filter.op)},
    {"tensor", TEXT, OF(filter.tensor)},
    {"text", TEXT, OF(filter.text)},
    {"origin", ORIGIN, 0},
    {"thread", NUMBER, OF(filter.lane)},
    {"from", FROM, 0},
    {"to", TO, 0},
    {"min-duration", LEAST, 0},
    {"max-duration", MOST, 0},
    {"by", TEXT, OF(by)},
    {"ram", TEXT, OF(ram)},
    {"policy", TEXT, OF(policy)},
    {"unit", TEXT, OF(unit)},
    {"order", TEXT, OF(order)},
    {"reader", TEXT, OF(reader)},
    {"disk", TEXT, OF(disk)},
    {"reserve", TEXT, OF(reserve)},
    {"readahead", TEXT, OF(readahead)},
    {"ahead", TEXT, OF(ahead)},
    {"page-size", TEXT, OF(page_size)},
    {"guess", TEXT, OF(guess)},
    {"base_name", TEXT, OF(base_name)},
    {"only", TEXT, OF(only)},
    {"name", TEXT, OF(name)},
    {"depth", NUMBER, OF(depth)},
    {"over-time", NUMBER, OF(over_time)},
    {"cold", FLAG, OF(cold)},
    {"curve", FLAG, OF(curve)},
    {"warm", FLAG, OF(warm)},
    {"boost", FLAG, OF(boost)},
    {"pages", FLAG, OF(pages)},
    {"mappings", FLAG, OF(mappings)},
    {"loading", FLAG, OF(loading)},
    {"pool", FLAG, OF(pool)},
    {"pool-reads", FLAG, OF(pool_reads)},
    {"transitions", FLAG, OF(transitions)},
    {"timeline", FLAG, OF(timeline)},
    {"kv", FLAG, OF(kv)},
    {"lanes", FLAG, OF(lanes)},
    {"outliers", FLAG, OF(outliers)},
    {"growth", FLAG, OF(growth)},
    {"samples", FLAG, OF(samples)},
#undef OF
};
#define OPTIONS (sizeof options / sizeof *options)

/* "-" and "_" are alike: names of Python's have no dashes. */
static bool same_name(const char *text, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if ((text[i] == '_' ? '-' : text[i]) != name[i]) return false;
    return name[n] == '\0';
}

static size_t find_option(const char *text, size_t n)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (same_name(text, n, options[i].name)) return i;
    return OPTIONS;
}

/* Whether the blank-separated words have this one. */
static bool has_word(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = words; *at;) {
        const size_t n = strcspn(at, " ");
        if (n == length && memcmp(at, word, n) == 0) return true;
        at += n + strspn(at + n, " ");
    }
    return false;
}

static bool read_number(const char *v, uint64_t most, uint64_t *out)
{
    int64_t n;
    if (tt_units_parse_int(v, "", 0, INT64_MAX, &n, NULL) != TT_OK || (uint64_t)n > most)
        return false;
    *out = (uint64_t)n;
    return true;
}

static bool read_context(tt_filter *f, const char *v)
{
    uint64_t n = 0;
    f->has_context = read_number(v, UINT32_MAX, &n);
    f->context = (uint32_t)n;
    return f->has_context;
}

static bool read_phase(tt_filter *f, const char *v)
{
    for (unsigned phase = TT_PHASE_PROMPT; phase <= TT_PHASE_WARMUP; phase++)
        if (strcmp(v, tt_phase_name(phase)) == 0) f->phase = phase;
    return f->phase != 0;
}

static bool read_origin(tt_filter *f, const char *v)
{
    f->origin = strcmp(v, "file") == 0     ? TT_ORIGIN_FILE
                : strcmp(v, "buffer") == 0 ? TT_ORIGIN_BUFFER
                                           : TT_ORIGIN_UNKNOWN;
    return f->origin != TT_ORIGIN_UNKNOWN;
}

static bool read_of_filter(tt_filter *f, kind k, const char *v)
{
    switch (k) {
    case BATCH:
        f->has_batch = true;
        return tt_units_parse_range(v, &f->batch_first, &f->batch_last);
    case LAYER:
        return (f->has_layer = tt_layer_read(v, &f->layer));
    case CONTEXT:
        return read_context(f, v);
    case PHASE:
        return read_phase(f, v);
    case ORIGIN:
        return read_origin(f, v);
    case FROM:
        return (f->has_from = tt_units_parse_time(v, &f->from_ns));
    case TO:
        return (f->has_to = tt_units_parse_time(v, &f->to_ns));
    case LEAST:
        return (f->has_least = tt_units_parse_time(v, &f->least_ns));
    case MOST:
        return (f->has_most = tt_units_parse_time(v, &f->most_ns));
    case FLAG:
    case TEXT:
    case COUNT:
    case NUMBER:
        break;
    }
    return false;
}

static bool read_value(tt_arrow_options *o, const struct option *option, char *v)
{
    void *at = (char *)o + option->offset;
    uint64_t n;
    switch (option->kind) {
    case FLAG:
        *(bool *)at = true;
        return !v;
    case TEXT:
        *(const char **)at = v;
        return v && *v;
    case COUNT:
        return v && read_number(v, INT64_MAX, at);
    case NUMBER:
        if (!v || !read_number(v, UINT32_MAX - 1, &n)) return false;
        *(uint32_t *)at = (uint32_t)n;
        return true;
    case BATCH:
    case LAYER:
    case CONTEXT:
    case PHASE:
    case ORIGIN:
    case FROM:
    case TO:
    case LEAST:
    case MOST:
        break;
    }
    return v && read_of_filter(&o->filter, option->kind, v);
}

/* `text` is changed. */
static tt_status read_one(tt_arrow_options *o, const char *what, const char *takes, char *text,
                          bool *given, tt_error *err)
{
    char *v = strchr(text, '=');
    const size_t n = v ? (size_t)(v - text) : strlen(text), i = find_option(text, n);
    if (v) *v++ = '\0';
    if (i == OPTIONS)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "there is no option \"%.40s\"", text);
    if (!has_word(takes, options[i].name))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "%s takes no \"%s\"", what,
                            options[i].name);
    if (given[i])
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "\"%s\" is given twice",
                            options[i].name);
    given[i] = true;
    if (!read_value(o, &options[i], v))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "%s: \"%.80s\" is no such value",
                            options[i].name, v ? v : "");
    o->filter.has_lane |= options[i].offset == offsetof(tt_arrow_options, filter.lane);
    return TT_OK;
}

tt_status tt_arrow_options_read(tt_arrow_options *o, const char *what, const char *takes,
                                const char *const *list, tt_error *err)
{
    static const tt_filter none;
    bool given[OPTIONS] = {false};
    size_t bytes = 1;
    tt_status status = TT_OK;
    memset(o, 0, sizeof *o);
    for (size_t i = 0; list && list[i]; i++)
        bytes += strlen(list[i]) + 1;
    char *p = o->memory = malloc(bytes);
    if (!p) return tt_error_memory(err, "the options");
    for (size_t i = 0; list && list[i] && status == TT_OK; i++) {
        const size_t n = strlen(list[i]) + 1;
        memcpy(p, list[i], n);
        status = read_one(o, what, takes, p, given, err);
        p += n;
    }
    o->filtered = memcmp(&o->filter, &none, sizeof none) != 0;
    return status;
}

void tt_arrow_options_free(tt_arrow_options *o)
{
    free(o->memory);
    memset(o, 0, sizeof *o);
}
