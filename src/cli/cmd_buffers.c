/* tensortrace buffers FILE: what memory the engine requested, when, and for what. */
#include "answer/buffers.h"
#include "cli/buffers_view.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/list.h"
#include "cli/options.h"
#include "cli/report.h"

#include <stdio.h>

#define TABLE_LIMIT 100u /* events or batches, the default of --limit */

struct options {
    tt_input input;
    tt_list_options list;
    bool timeline; /* events and a plot instead of the table of buffers */
    bool cache;    /* the KV caches' layers and tokens instead */
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

/* The options apply to the requested list; the others are complete. */
static int make_lists(view *v)
{
    const struct options *o = v->o;
    const tt_buffers_context *x = &v->x;
    const bool data = o->input.json || o->list.csv;
    const tt_listing_wish whole = {.text = !data, .csv = o->list.csv},
                          asked = {.columns = o->list.columns,
                                   .sort = o->list.sort,
                                   .limit = o->list.limited || data ? o->list.limit : TABLE_LIMIT,
                                   .text = !data,
                                   .csv = o->list.csv};
    const bool is_asked[LISTS] = {!o->timeline && !o->cache, o->timeline, o->cache};
    v->sets[BUFFERS] = TT_ROWSET(&tt_buffer_schema, 0, x, x->m->buffers, x->m->n_buffers);
    v->sets[EVENTS] =
        TT_ROWSET(&tt_buffer_event_schema, 0, x, x->buffers->events, x->buffers->n_events);
    v->sets[STEPS] = tt_kv_step_rowset(x);
    v->sets[TENSORS] = TT_ROWSET(&tt_kv_tensor_schema, 0, x, x->kv->tensors, x->kv->n_tensors);
    int code = TT_EXIT_OK;
    for (unsigned i = 0; i < LISTS && code == TT_EXIT_OK; i++) {
        tt_listing_wish wish = is_asked[i] ? asked : whole;
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
    tt_buffers_print_summary(&v->x);
    if (o->timeline) ok = tt_buffers_plot(&v->x) && tt_list_print(&v->lists[EVENTS], NULL);
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
    tt_status status = tt_buffers_analyze(m, &buffers, &err);
    if (status == TT_OK) status = tt_kv_analyze(m, &kv, &err);
    int code;
    if (status != TT_OK) {
        code = tt_report_error(&err);
    } else {
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
