/* tensortrace buffers FILE: what memory the engine requested, when, and for what. */
#include "analyze/buffers.h"
#include "answer/buffers.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/list.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <langinfo.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory over time as a few lines of text. */

#define PLACES_MAX 72u
#define PLACES_MIN 16u
#define AROUND 32u /* width of the text left and right of the bars */

static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const letters[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
#define LEVELS 8u

/* Each is checked for each column and kind. */
#define POINTS_MAX 2048u

typedef struct plot {
    tt_buffers_point *points;
    uint32_t n;
    uint64_t from, to; /* ticks */
    uint32_t places;
    uint64_t scale_bytes; /* of a full bar */
} plot;

/* The maximum of that kind and backing within the column's time. */
static uint64_t most_at(const plot *p, tt_buffer_kind kind, tt_backing backing, uint32_t place)
{
    uint64_t most = 0;
    unsigned __int128 span = p->to - p->from;
    uint64_t begin = p->from + (uint64_t)(span * place / p->places);
    uint64_t end = p->from + (uint64_t)(span * (place + 1) / p->places);
    for (uint32_t i = 0; i < p->n && p->points[i].ticks <= end; i++) {
        /* The state at the column's start, and all changes in it. */
        if (i + 1 < p->n && p->points[i + 1].ticks <= begin) continue;
        if (p->points[i].bytes[backing][kind] > most) most = p->points[i].bytes[backing][kind];
    }
    return most;
}

static void print_line(const plot *p, tt_buffer_kind kind, tt_backing backing)
{
    static const char *const notes[] = {"", " (file)", " (?)"};
    const char *const *levels = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? blocks : letters;
    uint64_t at[PLACES_MAX], most = 0;
    char name[32], size[TT_UNITS_TEXT];
    for (uint32_t i = 0; i < p->places; i++) {
        at[i] = most_at(p, kind, backing, i);
        if (at[i] > most) most = at[i];
    }
    if (most == 0) return;
    (void)snprintf(name, sizeof name, "%s%s", tt_buffer_kind_name(kind), notes[backing]);
    printf("%-16s|", name);
    for (uint32_t i = 0; i < p->places; i++) {
        /* Non-zero values are visible. */
        uint64_t level = (uint64_t)((unsigned __int128)at[i] * LEVELS / p->scale_bytes);
        fputs(levels[level > 0 || at[i] == 0 ? level : 1], stdout);
    }
    printf("| %s\n", tt_units_bytes(size, most));
}

static uint64_t last_moment(const tt_model *m, const tt_buffers *b)
{
    uint64_t to = b->events[b->n_events - 1].ticks;
    for (uint32_t i = 0; i < m->n_runs; i++)
        if (m->runs[i].ended && m->runs[i].end_ticks > to) to = m->runs[i].end_ticks;
    return to;
}

/* A full bar is the maximum over all kinds. */
static uint64_t largest(const plot *p)
{
    uint64_t most = 1;
    for (uint32_t i = 0; i < p->n; i++)
        for (unsigned k = 0; k < TT_BACKINGS; k++)
            for (unsigned kind = 0; kind < TT_BUFFER_KINDS; kind++)
                if (p->points[i].bytes[k][kind] > most) most = p->points[i].bytes[k][kind];
    return most;
}

static bool plot_text(const tt_buffers_context *r)
{
    const tt_buffers *b = r->buffers;
    size_t width = tt_table_width(stdout);
    char from[TT_UNITS_TEXT], to[TT_UNITS_TEXT];
    if (b->n_events == 0) return true;
    plot p = {.places = PLACES_MAX, .from = b->events[0].ticks, .to = last_moment(r->m, b)};
    if (width > 0 && width < PLACES_MAX + AROUND)
        p.places = width < PLACES_MIN + AROUND ? PLACES_MIN : (uint32_t)(width - AROUND);
    const tt_status status =
        tt_buffers_curve(b, r->m, 0, UINT64_MAX, POINTS_MAX, &p.points, &p.n, NULL);
    p.scale_bytes = largest(&p);
    tt_units_ns(from, tt_model_ns(r->m, p.from));
    tt_units_ns(to, tt_model_ns(r->m, p.to));
    int gap = (int)p.places - (int)strlen(from) - (int)strlen(to);
    if (r->m->clock.known) printf("%-17s%s%*s%s\n", "", from, gap > 1 ? gap : 1, "", to);
    for (unsigned k = 0; k < TT_BACKINGS; k++)
        for (unsigned kind = 0; kind < TT_BUFFER_KINDS; kind++)
            print_line(&p, (tt_buffer_kind)kind, (tt_backing)k);
    putchar('\n');
    free(p.points);
    return status == TT_OK;
}

static const char *time_text(const tt_model *m, char out[TT_UNITS_TEXT], uint64_t ticks)
{
    if (!m->clock.known) return "";
    return tt_units_ns(out, tt_model_ns(m, ticks));
}

/* --- the lines above --- */

/* "weights 14.9 MiB, compute 13.5 MiB", the largest first. */
static void kinds_text(const uint64_t bytes[TT_BUFFER_KINDS], char *out, size_t room)
{
    bool done[TT_BUFFER_KINDS] = {false};
    size_t used = 0;
    out[0] = '\0';
    for (unsigned n = 0; n < TT_BUFFER_KINDS; n++) {
        unsigned best = TT_BUFFER_KINDS;
        for (unsigned k = 0; k < TT_BUFFER_KINDS; k++)
            if (!done[k] && bytes[k] && (best == TT_BUFFER_KINDS || bytes[k] > bytes[best]))
                best = k;
        if (best == TT_BUFFER_KINDS) return;
        done[best] = true;
        char size[TT_UNITS_TEXT];
        int length =
            snprintf(out + used, room - used, "%s%s %s", used ? ", " : "",
                     tt_buffer_kind_name((tt_buffer_kind)best), tt_units_bytes(size, bytes[best]));
        if (length > 0 && (size_t)length < room - used) used += (size_t)length;
    }
}

static void peak_line(const tt_buffers_context *r, const char *what, tt_backing backing)
{
    const tt_buffers *b = r->buffers;
    uint32_t at = b->peak[backing];
    uint64_t bytes[TT_BUFFER_KINDS];
    char size[TT_UNITS_TEXT], when[TT_UNITS_TEXT], kinds[256];
    if (at == TT_NONE) return;
    tt_buffers_by_kind(b, r->m, at, backing, bytes);
    kinds_text(bytes, kinds, sizeof kinds);
    const char *time = time_text(r->m, when, b->events[at].ticks);
    const bool early = time[0] == '-'; /* before the first batch */
    tt_table_line(stdout, what, "%s at the peak%s%s%s",
                  tt_units_bytes(size, b->events[at].bytes[backing]),
                  !time[0] ? ""
                  : early  ? ", reached "
                           : ", reached at ",
                  time + early, early ? " before the first batch" : "");
    tt_table_line(stdout, "", "%s", kinds);
}

static void cache_line(const tt_buffers_context *r, const tt_kv_cache *c, const char *what)
{
    char cells[TT_UNITS_TEXT], of[TT_UNITS_TEXT], bytes[TT_UNITS_TEXT], size[TT_UNITS_TEXT];
    char where[40] = "buffer not observed";
    if (c->buffer != TT_NONE)
        (void)snprintf(where, sizeof where, "buffer %" PRIu64, r->m->buffers[c->buffer].id);
    tt_units_bytes(size, c->size_bytes);
    if (!c->observed) {
        tt_table_line(stdout, what, "%s: %s%s%s; which cells were written was not observed", where,
                      size, c->cells ? ", cells: " : "",
                      c->cells ? tt_units_count(of, c->cells) : "");
        return;
    }
    tt_table_line(stdout, what, "%s: %s%s of %s cells written (%.1f %%), %s of %s", where,
                  c->at_least ? "at least " : "", tt_units_count(cells, c->written),
                  tt_units_count(of, c->cells), 100 * (double)c->written / (double)c->cells,
                  tt_units_bytes(bytes, c->written_bytes), size);
}

static void print_summary(const tt_buffers_context *r)
{
    peak_line(r, "allocated", TT_BACKING_ALLOCATED);
    peak_line(r, "mapped", TT_BACKING_FILE);
    peak_line(r, "not observed", TT_BACKING_UNKNOWN);
    for (uint32_t i = 0; i < r->kv->n_caches; i++)
        cache_line(r, &r->kv->caches[i], i == 0 ? "KV cache" : "");
    putchar('\n');
}

#define TABLE_LIMIT 100u /* events or batches, the default of --limit */

struct options {
    tt_input input;
    tt_list_options list;
    tt_filter filter; /* model, context */
    bool timeline;    /* events and a plot instead of the table of buffers */
    bool cache;       /* the KV caches' layers and tokens instead */
};

static void take_timeline(void *options, char *arg, tt_parse *p)
{
    struct options *o = options;
    (void)arg;
    (void)p;
    o->list.schema = &tt_buffer_event_schema;
    o->timeline = true;
}

static void take_cache(void *options, char *arg, tt_parse *p)
{
    struct options *o = options;
    (void)arg;
    (void)p;
    o->list.schema = &tt_kv_step_schema;
    o->cache = true;
}

static const tt_option option_table[] = {
    {"timeline", 0, 0, "Allocations and frees in order, with the totals after each", 1,
     .kind = TT_OPTION_TAKE, .take = take_timeline, .flags = TT_OPTION_FIRST},
    TT_FILTER_MODEL(struct options, filter., 1),
    {"kv", 0, 0, "The KV cache by layer, and how it fills batch by batch", 1,
     .kind = TT_OPTION_TAKE, .take = take_cache, .flags = TT_OPTION_FIRST},
    {0},
};

static void check_together(void *options, tt_parse *p)
{
    const struct options *o = options;
    const bool chosen = o->list.columns || o->list.sort || o->list.csv;
    if (o->timeline && o->cache && chosen)
        tt_parse_error(p, "--columns, --sort and --csv: --timeline or --kv, not both");
    if (o->cache && o->input.json && (chosen || o->list.limited))
        tt_parse_error(p, "--columns, --sort and --limit do not go with --kv --json");
}

/* --- output --- */

enum { BUFFERS, EVENTS, STEPS, TENSORS, LISTS };

typedef struct view {
    const struct options *o;
    tt_buffers_context x;
    tt_rowset sets[LISTS];
    tt_listing lists[LISTS];
} view;

static bool is_filtered(const struct options *o)
{
    return o->filter.model || o->filter.has_context;
}

/* The options apply to the requested list; the others are complete. */
static int make_lists(view *v)
{
    const struct options *o = v->o;
    const tt_buffers_context *x = &v->x;
    const bool data = o->input.json || o->list.csv;
    const tt_listing_wish whole = {.text = !data, .csv = o->list.csv};
    tt_listing_wish asked = tt_list_wish(&o->list, o->input.json, NULL);
    if (asked.text && !o->list.limited) asked.limit = TABLE_LIMIT;
    const bool is_asked[LISTS] = {!o->timeline && !o->cache, o->timeline, o->cache};
    v->sets[BUFFERS] = TT_ROWSET(&tt_buffer_schema, 0, x, x->m->buffers, x->m->n_buffers);
    v->sets[EVENTS] =
        TT_ROWSET(&tt_buffer_event_schema, 0, x, x->buffers->events, x->buffers->n_events);
    v->sets[STEPS] = tt_kv_step_rowset(x);
    v->sets[TENSORS] = TT_ROWSET(&tt_kv_tensor_schema, 0, x, x->kv->tensors, x->kv->n_tensors);
    int code = TT_EXIT_OK;
    for (unsigned i = 0; i < LISTS && code == TT_EXIT_OK; i++) {
        tt_listing_wish wish = is_asked[i] ? asked : whole;
        if (i == BUFFERS && is_filtered(o)) wish.passes = tt_buffers_is_used;
        if (i == BUFFERS && !o->list.limited) wish.limit = 0;
        code = tt_list_make(&v->lists[i], &v->sets[i], &wish);
    }
    return code;
}

static bool print_json(const view *v)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_buffers_json(&j, v->o->input.path, &v->x, &v->lists[BUFFERS], &v->lists[EVENTS]);
    return tt_json_end(&j);
}

static bool print_cache(const view *v)
{
    const tt_kv *kv = v->x.kv;
    if (kv->n_tensors == 0) tt_report_note("no KV cache was seen");
    if (kv->n_tensors > 0 && !tt_list_print(&v->lists[TENSORS], NULL)) return false;
    if (kv->n_steps == 0) return true;
    putchar('\n');
    return tt_list_print(&v->lists[STEPS], NULL);
}

static bool print_text(const view *v)
{
    const struct options *o = v->o;
    bool ok = true;
    if (v->x.m->n_buffers == 0 && v->x.kv->n_tensors == 0) {
        tt_report_note("the trace holds no buffer");
        return true;
    }
    print_summary(&v->x);
    if (o->timeline) ok = plot_text(&v->x) && tt_list_print(&v->lists[EVENTS], NULL);
    if (o->timeline && o->cache) putchar('\n');
    if (o->cache) ok = print_cache(v) && ok;
    return o->timeline || o->cache ? ok : tt_list_print(&v->lists[BUFFERS], NULL);
}

static int print(const struct options *o, const tt_model *m, const tt_buffers *buffers,
                 const tt_kv *kv)
{
    view v = {.o = o, .x = {.m = m, .buffers = buffers, .kv = kv}};
    int code = make_lists(&v);
    if (code == TT_EXIT_OK)
        code = tt_report_output(o->input.json ? print_json(&v)
                                : o->list.csv ? tt_list_print_csv(&v.lists[o->timeline ? EVENTS
                                                                           : o->cache  ? STEPS
                                                                                       : BUFFERS])
                                              : print_text(&v));
    for (unsigned i = 0; i < LISTS; i++)
        tt_listing_free(&v.lists[i]);
    return code;
}

static int analyze_and_print(const struct options *o, const tt_model *m)
{
    tt_error err;
    tt_buffers *buffers = NULL;
    tt_kv *kv = NULL;
    const tt_filter *f = is_filtered(o) ? &o->filter : NULL;
    tt_status status = tt_buffers_of(m, f, &buffers, &err);
    if (status == TT_OK) status = tt_kv_of(m, f, &kv, &err);
    int code;
    if (status != TT_OK) {
        code = tt_report_error(&err);
    } else if (f && buffers->n_events == 0) {
        code = tt_trace_none(m, f, "buffer");
    } else {
        if (buffers->n_unused)
            tt_report_note("%" PRIu32 " buffer%s no recorded computation used %s left out: whose "
                           "they are was not observed",
                           buffers->n_unused, buffers->n_unused == 1 ? " that" : "s that",
                           buffers->n_unused == 1 ? "is" : "are");
        if (tt_model_need_clock(m, &err) != TT_OK)
            tt_report_note("%s; times are left out", err.message);
        code = print(o, m, buffers, kv);
    }
    tt_buffers_free(buffers);
    tt_kv_free(kv);
    return code;
}

int tt_cmd_buffers(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE",
        .about = "The buffers of the engine in the trace FILE: size, kind, lifetime, location, "
                 "contents, and the peak.\v"
                 "Times are counted from the first batch: buffers that were allocated while the "
                 "model was loaded have negative times. A mapping of a file is not allocated "
                 "memory, so both are summed separately. --json includes --timeline and --kv.",
        .sets = {{.options = option_table, .check = check_together},
                 TT_INPUT(struct options, input),
                 TT_LIST(struct options, list)}};
    struct options o = {.list.schema = &tt_buffer_schema};
    tt_model *m = NULL;
    tt_options_parse(&command, argc, argv, &o);
    int code = tt_input_open_trace(&o.input, TT_INPUT_NOTES, &m);
    if (code == TT_EXIT_OK) code = analyze_and_print(&o, m);
    tt_model_close(m);
    return code;
}
