/* tensortrace faults FILE: what had to be read from disk, for which weights, when. */
#include "analyze/loading.h"
#include "analyze/page_faults.h"
#include "analyze/pool.h"
#include "cli/command.h"
#include "cli/faults/faults_view.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/trace_options.h"
#include "model/faults.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_LIMIT 30u /* rows of a table, the default of --limit */

static void take_pages(void *options, char *arg, tt_parse *p)
{
    tt_faults_options *o = options;
    (void)arg;
    (void)p;
    o->pages = true;
    o->list.schema = &tt_fault_pages_schema;
    o->pages_by = TT_FAULT_PAGES_BY_PAGE;
}

static void take_mappings(void *options, char *arg, tt_parse *p)
{
    tt_faults_options *o = options;
    take_pages(options, arg, p);
    o->pages_by = TT_FAULT_PAGES_BY_MAPPING;
}

static void take_loading(void *options, char *arg, tt_parse *p)
{
    tt_faults_options *o = options;
    (void)arg;
    (void)p;
    o->loading = true;
    o->list.schema = &tt_loading_schema;
}

static void take_pool(void *options, char *arg, tt_parse *p)
{
    tt_faults_options *o = options;
    (void)arg;
    (void)p;
    o->list.schema = &tt_pool_schema;
}

static void take_pool_reads(void *options, char *arg, tt_parse *p)
{
    tt_faults_options *o = options;
    (void)arg;
    (void)p;
    o->list.schema = &tt_pool_reads_schema;
}

static bool is_of_pool(const tt_faults_options *o)
{
    return o->list.schema == &tt_pool_schema || o->list.schema == &tt_pool_reads_schema;
}

static const tt_option option_table[] = {
    {"by", 0, "WHAT", "Sum up by tensor (default), batch, layer, op or thread", 1,
     TT_ROW(tt_faults_options, by, tt_faults_dimensions, TT_FAULTS_DIMENSIONS),
     TT_GIVEN(tt_faults_options, by_given)},
    {"reads", 0, 0, "Each op that had to wait for a device, in time order", 1,
     TT_FLAG(tt_faults_options, reads), .excludes = "by columns csv residency sort"},
    {"pages", 0, 0,
     "Each page that faulted, in ops and outside: its offset in the file, its tensor and expert", 1,
     .kind = TT_OPTION_TAKE, .take = take_pages, .flags = TT_OPTION_FIRST,
     .excludes = "by reads residency loading"},
    {"mappings", 0, 0, "Faults by mapped file and kind of memory", 1, .kind = TT_OPTION_TAKE,
     .take = take_mappings, .flags = TT_OPTION_FIRST, .excludes = "by reads residency loading"},
    {"loading", 0, 0,
     "How the model came into RAM: when it was mapped, with which flags and advice, what was "
     "fetched before the first batch, and whether ops used it",
     1, .kind = TT_OPTION_TAKE, .take = take_loading, .flags = TT_OPTION_FIRST,
     .excludes = "by reads residency pages mappings"},
    {"pool", 0, 0, "What `boost` read and kept in memory, by batch", 1, .kind = TT_OPTION_TAKE,
     .take = take_pool, .flags = TT_OPTION_FIRST,
     .excludes = "by reads residency pages mappings loading"},
    {"pool-reads", 0, 0, "Each read of `boost`", 1, .kind = TT_OPTION_TAKE, .take = take_pool_reads,
     .flags = TT_OPTION_FIRST, .excludes = "by reads residency pages mappings loading pool"},
    {"residency", 0, 0, "Which bytes of the model were in RAM: by batch, or with --by tensor", 1,
     TT_FLAG(tt_faults_options, residency), .excludes = "columns csv sort"},
    {0},
};

static void check_by(void *options, tt_parse *p)
{
    const tt_faults_options *o = options;
    if (o->residency && o->by->by != TT_FAULTS_BY_TENSOR && o->by->by != TT_FAULTS_BY_BATCH)
        tt_parse_error(p, "--residency is by batch or by tensor");
    const tt_filter *f = &o->filter;
    const tt_filter none = {0};
    if ((o->loading || is_of_pool(o)) && memcmp(f, &none, sizeof none) != 0)
        tt_parse_error(p, "%s is of the whole run: it goes with no filter",
                       o->loading                          ? "--loading"
                       : o->list.schema == &tt_pool_schema ? "--pool"
                                                           : "--pool-reads");
    if (o->pages && (f->op || f->text || f->has_lane || f->origin || f->has_least || f->has_most))
        tt_parse_error(p, "--pages and --mappings go with --batch, --phase, --layer and --tensor "
                          "alone: faults outside of ops are of no op");
}

/* Why something is not in the trace, according to the recorder; or which option would have recorded
 * it. */
static void reason_text(const tt_model *m, const char *key, const char *option, char *out,
                        size_t room)
{
    const char *said = tt_model_environment(m, key);
    char text[300];
    if (said && strncmp(said, "not observed", strlen("not observed")) == 0)
        (void)snprintf(out, room, "%s", tt_trace_text(text, sizeof text, said));
    else if (said && strcmp(said, "on") == 0)
        (void)snprintf(out, room, "%s was on, but nothing was recorded", option);
    else
        (void)snprintf(out, room, "run with %s", option);
}

/* TT_EXIT_OK if there is something to show. Reports what is missing. */
static int report_missing(const tt_faults_options *o, const tt_faults_view *v)
{
    char reason[320];
    const tt_model *m = v->m;
    if (v->residency) {
        if (m->n_residencies) return TT_EXIT_OK;
        reason_text(m, "capture_residency", "--residency", reason, sizeof reason);
        return tt_report_usage("%s: residency was not recorded: %s", v->path, reason);
    }
    if (v->counted) return TT_EXIT_OK;
    reason_text(m, "capture_faults", "--faults", reason, sizeof reason);
    if (o->reads || (!m->n_residencies && !m->n_usages))
        return tt_report_usage("%s: faults were not recorded: %s", v->path, reason);
    tt_report_note("faults of ops were not recorded: %s", reason);
    return TT_EXIT_OK;
}

static bool print_json(tt_faults_view *v)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    bool ok = tt_faults_json(&j, v);
    return tt_json_end(&j) && ok;
}

static bool print_pages_json(const tt_faults_options *o, const tt_model *m, const tt_listing *l)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_json_object(&j);
    tt_json_kv_string(&j, "file", o->input.path);
    tt_json_kv_u64(&j, "faults", m->n_page_faults);
    uint64_t lost = 0;
    bool known = tt_model_count(m, "page_faults_lost", &lost);
    tt_json_kv_u64_or_null(&j, "faults_lost", known, lost);
    tt_json_key(&j, "pages");
    tt_listing_json(&j, l);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

static int list_pages(const tt_faults_options *o, const tt_page_faults *f)
{
    tt_fault_page *pages;
    tt_listing l;
    tt_error err;
    size_t n;
    const tt_listing_wish wish = {.columns = o->list.columns,
                                  .sort = o->list.sort                               ? o->list.sort
                                          : o->pages_by == TT_FAULT_PAGES_BY_MAPPING ? "faults"
                                                                                     : NULL,
                                  .limit = o->list.limit,
                                  .text = !o->input.json && !o->list.csv,
                                  .csv = o->list.csv};
    if (tt_fault_pages_sum(f, (tt_fault_pages_by)o->pages_by, &o->filter, &pages, &n, &err) !=
        TT_OK) {
        free(pages);
        return tt_report_error(&err);
    }
    const tt_rowset set = tt_fault_pages_rowset(f, (tt_fault_pages_by)o->pages_by, pages, n);
    int code = tt_list_make(&l, &set, &wish);
    if (code == TT_EXIT_OK)
        code = tt_report_output(o->input.json ? print_pages_json(o, f->m, &l)
                                : o->list.csv ? tt_list_print_csv(&l)
                                              : tt_list_print(&l, NULL));
    tt_listing_free(&l);
    free(pages);
    return code;
}

static void note_lost(const tt_model *m)
{
    uint64_t lost;
    if (!tt_model_count(m, "page_faults_lost", &lost) || lost == 0) return;
    tt_report_note("%" PRIu64 " page faults were lost: they came faster than they could be "
                   "recorded; ops of that time are not counted",
                   lost);
}

/* Single faults. */
static int show_pages(const tt_faults_options *o, const tt_model *m)
{
    char reason[320];
    tt_page_faults f;
    tt_error err;
    if (m->n_fault_spans == 0) {
        reason_text(m, "capture_page_faults", "--faults", reason, sizeof reason);
        return tt_report_usage("%s: page faults were not recorded one by one: %s", o->input.path,
                               reason);
    }
    tt_status status = tt_page_faults_find(&f, m, &err);
    int code = status == TT_OK ? list_pages(o, &f) : tt_report_error(&err);
    tt_page_faults_free(&f);
    note_lost(m);
    return code;
}

static bool print_loading_json(const tt_faults_options *o, const tt_listing *l)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_loading_json(&j, o->input.path, l);
    return tt_json_end(&j);
}

/* How each file was mapped; then the rows. */
static bool print_loading_text(const tt_loading *found, const tt_listing *l)
{
    for (size_t i = 0; i < found->n; i++) {
        const tt_loading_row *r = &found->rows[i];
        char how[128], path[300], size[TT_UNITS_TEXT];
        if (!r->map) continue;
        tt_loading_describe(r, how, sizeof how);
        printf("%s: %s mapped, %s\n", tt_trace_text(path, sizeof path, r->path),
               tt_units_bytes(size, r->map->size_bytes), how);
    }
    return tt_list_print(l, NULL);
}

static int show_loading(const tt_faults_options *o, const tt_model *m)
{
    tt_loading found;
    tt_listing l;
    tt_error err;
    const tt_listing_wish wish = {.columns = o->list.columns,
                                  .sort = o->list.sort,
                                  .limit = o->list.limit,
                                  .text = !o->input.json && !o->list.csv,
                                  .csv = o->list.csv};
    if (tt_loading_find(&found, m, true, &err) != TT_OK) {
        tt_loading_free(&found);
        return tt_report_error(&err);
    }
    if (found.n == 0) {
        tt_loading_free(&found);
        return tt_report_usage("%s: how the model was loaded was not recorded: run with "
                               "--residency",
                               o->input.path);
    }
    if (m->n_residencies == 0)
        tt_report_note("pages in RAM were not recorded: run with --residency");
    const tt_rowset set = tt_loading_rowset(&found);
    int code = tt_list_make(&l, &set, &wish);
    if (code == TT_EXIT_OK)
        code = tt_report_output(o->input.json ? print_loading_json(o, &l)
                                : o->list.csv ? tt_list_print_csv(&l)
                                              : print_loading_text(&found, &l));
    tt_listing_free(&l);
    tt_loading_free(&found);
    return code;
}

static bool print_pool_json(const tt_faults_options *o, const tt_pool_report *pool,
                            const tt_listing *l)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_json_object(&j);
    tt_json_kv_string(&j, "file", o->input.path);
    tt_json_key(&j, "total");
    tt_row_json(&j, NULL, &tt_pool_schema, pool, &pool->total);
    tt_json_key(&j, "rows");
    tt_listing_json(&j, l);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

static int list_pool(const tt_faults_options *o, const tt_pool_report *pool)
{
    tt_listing l;
    const tt_listing_wish wish = {.columns = o->list.columns,
                                  .sort = o->list.sort,
                                  .limit = o->list.limit,
                                  .text = !o->input.json && !o->list.csv,
                                  .csv = o->list.csv};
    const tt_rowset set =
        o->list.schema == &tt_pool_schema ? tt_pool_rowset(pool) : tt_pool_reads_rowset(pool);
    int code = tt_list_make(&l, &set, &wish);
    if (code == TT_EXIT_OK)
        code = tt_report_output(o->input.json ? print_pool_json(o, pool, &l)
                                : o->list.csv ? tt_list_print_csv(&l)
                                              : tt_list_print(&l, NULL));
    tt_listing_free(&l);
    return code;
}

static int show_pool(const tt_faults_options *o, const tt_model *m)
{
    tt_pool_report pool;
    tt_error err;
    if (m->n_pool_states == 0)
        return tt_report_usage("%s: `tensortrace boost` did not read in this run (or had nothing "
                               "to do)",
                               o->input.path);
    int code = tt_pool_find(&pool, m, &err) == TT_OK ? list_pool(o, &pool) : tt_report_error(&err);
    tt_pool_free(&pool);
    return code;
}

static int show(const tt_faults_options *o, const tt_model *m)
{
    if (is_of_pool(o)) return show_pool(o, m);
    if (o->loading) return show_loading(o, m);
    if (o->pages) return show_pages(o, m);
    tt_faults_view v = {.path = o->input.path,
                        .m = m,
                        .filter = &o->filter,
                        .by = o->by,
                        .by_given = o->by_given,
                        .wish = {.columns = o->list.columns,
                                 .sort = o->list.sort ? o->list.sort : o->by->sort,
                                 .limit = o->list.limit,
                                 .text = !o->input.json && !o->list.csv,
                                 .csv = o->list.csv},
                        .residency = o->residency,
                        .counted = tt_model_has_faults(m)};
    tt_error err;
    int code = report_missing(o, &v);
    if (code != TT_EXIT_OK) return code;
    if (o->reads) return tt_faults_print_reads(o, m);
    tt_progress bar;
    tt_progress_begin(&bar, "reading", m->n_runs, "runs");
    tt_status status = tt_faults_collect(&v, tt_progress_callback, &bar, &err);
    tt_progress_end(&bar);
    int none = TT_EXIT_OK;
    if (status == TT_OK && !v.residency && v.sums && tt_faults_total(v.sums)->count == 0)
        none = tt_trace_none(m, &o->filter, "op");
    if (status != TT_OK)
        code = tt_list_error(&err);
    else if (o->input.json)
        code = tt_report_output(print_json(&v));
    else if (o->list.csv && v.rows)
        code = tt_report_output(tt_list_print_csv(v.rows));
    else if (none == TT_EXIT_OK) /* the kernel's totals are not of missing ops */
        code = tt_report_output(tt_faults_print_text(&v));
    if (!v.residency) note_lost(m);
    if (code == TT_EXIT_OK) code = none;
    tt_faults_view_free(&v);
    return code;
}

int tt_cmd_faults(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE",
        .about = "Shows what the traced program had to read from disk: page faults and bytes read, "
                 "for which weights, when, at what rate, in which batch.\v"
                 "Needs a trace that was made with --faults (and --residency for pages in RAM). "
                 "READ: bytes that the kernel requested from a device while a thread was in the "
                 "op, including readahead. USED: bytes of weights that the ops read in the mapped "
                 "file, each byte once. BLOCKED: the threads' time in the ops on no processor.",
        .sets = {{option_table, .check = check_by},
                 TT_INPUT(tt_faults_options, input),
                 TT_LIST(tt_faults_options, list),
                 TT_FILTER(tt_faults_options, filter)},
    };
    tt_faults_options o = {.list.schema = &tt_faults_schema, .by = &tt_faults_dimensions[0]};
    tt_model *m = NULL;
    tt_options_parse(&command, argc, argv, &o);
    if (!o.list.limited && !o.input.json && !o.list.csv) o.list.limit = TABLE_LIMIT;
    int code = tt_input_open_trace(&o.input, TT_INPUT_NOTES, &m);
    if (code == TT_EXIT_OK) code = show(&o, m);
    tt_model_close(m);
    return code;
}
