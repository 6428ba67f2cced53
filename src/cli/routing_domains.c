/* `tensortrace routing --domains`: experts in runs of several domains. */
#include "analyze/domains.h"
#include "base/outfile.h"
#include "base/path.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/export_interrupt.h"
#include "cli/report.h"
#include "cli/routing_view.h"
#include "cli/trace_options.h"
#include "experiment/chosen.h"
#include "export/rowfile.h"
#include "report/render.h"
#include "report/sections.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- reading --- */

static int check_outputs(const tt_routing_options *o, const char *path)
{
    const tt_input input = {.path = path};
    const char *const outputs[] = {o->tables, o->html};
    for (size_t i = 0; i < 2; i++)
        if (outputs[i] && tt_input_is_within(&input, outputs[i]))
            return tt_report_usage("%s is, or holds, a trace that is read; name another",
                                   outputs[i]);
    return TT_EXIT_OK;
}

/* is_added: of one of many runs, which is left out when its trace was cut off; or NULL. */
static int add_run(const tt_routing_options *o, const char *path, const char *domain,
                   bool *is_added, tt_domains *d)
{
    tt_error err;
    tt_model *m = NULL;
    tt_progress bar;
    const tt_input input = {.path = path};
    int code = check_outputs(o, path);
    if (code == TT_EXIT_OK)
        code = tt_input_open_trace(&input, is_added ? TT_INPUT_REPORTED : TT_INPUT_NOTES, &m);
    if (code == TT_EXIT_OK && is_added && !m->trace.complete) {
        *is_added = false;
        tt_report_note("%s is left out: it was cut off at byte %" PRIu64, path, m->trace.end_bytes);
    } else if (code == TT_EXIT_OK) {
        if (is_added) tt_trace_note_damage(m);
        tt_progress_begin(&bar, "reading", m->n_runs, "runs");
        tt_status status =
            tt_domains_add_run(d, domain, m, &o->filter, tt_progress_callback, &bar, &err);
        tt_progress_end(&bar);
        if (status != TT_OK) code = tt_report_usage("%s: %s", path, err.message);
    }
    tt_model_close(m);
    return code;
}

/* Two models' experts have nothing in common but their numbers, and two of one model, as of two
 * quantizations, would count each prompt twice. */
static int check_models(const tt_chosen_runs *runs)
{
    const tt_result *first = &runs->results.list[runs->chosen[0]];
    for (size_t i = 1; i < runs->n; i++) {
        const tt_result *r = &runs->results.list[runs->chosen[i]];
        if (strcmp(r->model_file, first->model_file) != 0)
            return tt_report_usage("there are runs of several models: choose one, as with --where "
                                   "model_file=%s",
                                   first->model_file);
    }
    return TT_EXIT_OK;
}

static int add_folder(const tt_routing_options *o, const char *folder, tt_domains *d)
{
    tt_chosen_runs runs;
    tt_error err;
    size_t left_out = 0, added = 0; /* the first of the chosen ones, in the end */
    int code = TT_EXIT_OK;
    if (tt_chosen_find(&runs, folder, o->where.list, o->where.n, &err) != TT_OK)
        code = tt_report_error(&err);
    else
        code = check_models(&runs);
    for (size_t i = 0; code == TT_EXIT_OK && i < runs.n; i++) {
        const tt_result *r = &runs.results.list[runs.chosen[i]];
        const char *domain = r->domain ? r->domain : r->label ? r->label : r->folder;
        bool is_added = true;
        if (r->ending || tt_chosen_repeats(&runs, added, r)) {
            left_out++;
        } else if (access(runs.paths[i], F_OK) != 0) {
            tt_report_note("%s is left out: there is no such file", runs.paths[i]);
        } else {
            code = add_run(o, runs.paths[i], domain, &is_added, d);
            if (is_added) runs.chosen[added++] = runs.chosen[i];
        }
    }
    tt_chosen_free(&runs);
    if (left_out)
        tt_report_note(
            "%zu run%s left out: repetitions of a prompt say nothing new of its routing, "
            "and those that were killed are not whole",
            left_out, left_out == 1 ? " is" : "s are");
    return code;
}

/* A folder of experiments; DOMAIN=FILE, unless a file has that name; or FILE, whose name is the
 * domain. */
static int add_path(const tt_routing_options *o, const char *path, tt_domains *d)
{
    char domain[64];
    const char *equal = strchr(path, '=');
    if (tt_chosen_is_folder(path)) return add_folder(o, path, d);
    if (!equal || access(path, F_OK) == 0) return add_run(o, path, tt_base_name(path), NULL, d);
    if (equal == path || (size_t)(equal - path) >= sizeof domain)
        return tt_report_usage("%s: the name of a domain has 1 to %zu characters", path,
                               sizeof domain - 1);
    (void)snprintf(domain, sizeof domain, "%.*s", (int)(equal - path), path);
    return add_run(o, equal + 1, domain, NULL, d);
}

/* --- showing --- */

static bool passes(const void *context, const void *row)
{
    const tt_filter *f = context;
    return !f->has_layer || tt_layer_passes(f->layer, ((const tt_domain_layer *)row)->layer_id);
}

static int show_layers(const tt_routing_options *o, const tt_domains *d)
{
    const tt_rowset set = TT_ROWSET(&tt_domain_layer_schema, 0, &o->filter, d->layers, d->n_layers);
    const tt_rowset domains = TT_ROWSET(&tt_domain_schema, 0, NULL, d->domains, d->n_domains);
    return tt_routing_print_both(o, "domains", &domains, "layers", &set, passes);
}

static int show_experts(const tt_routing_options *o, const tt_domains *d)
{
    for (size_t i = 0; i < d->n_layers; i++) {
        const tt_domain_layer *l = &d->layers[i];
        const tt_rowset set =
            TT_ROWSET(&tt_domain_expert_schema, 0, NULL, l->experts, l->n_experts);
        if (passes(&o->filter, l)) return tt_list_show(&set, &o->list, "residual");
    }
    return tt_report_usage("there is no layer %s with a router",
                           tt_layer_text((char[TT_LAYER_TEXT]){0}, o->filter.layer));
}

/* --- as files --- */

typedef struct tables {
    const tt_domains *d;
    const tt_outdir *dir;
    bool csv;
    uint64_t n_rows;
} tables;

static tt_status write_whole(tables *t, const char *name, const tt_rowset *set, tt_error *err)
{
    uint64_t rows = 0;
    tt_error late;
    tt_rowfile *f = tt_rowfile_begin(t->dir, name, t->csv, set, err);
    if (!f) return err->status;
    tt_status status = tt_rowfile_put(f, set, err);
    const tt_status ended = tt_rowfile_end(f, &rows, status == TT_OK ? err : &late);
    t->n_rows += rows;
    return status == TT_OK ? ended : status;
}

/* For each layer and domain: its rows, for free(). */
typedef bool make_rows(const tt_domains *d, size_t layer, size_t domain, tt_rowset *out);

static bool make_steps(const tt_domains *d, size_t layer, size_t domain, tt_rowset *out)
{
    tt_expert_step *list = NULL;
    size_t n = 0;
    const bool ok = tt_domain_steps(d, layer, domain, &list, &n);
    *out = TT_ROWSET(&tt_expert_step_schema, TT_EXPERTS_OF_DOMAINS, NULL, list, n);
    return ok;
}

static bool make_spans(const tt_domains *d, size_t layer, size_t domain, tt_rowset *out)
{
    tt_expert_span *list = NULL;
    size_t n = 0;
    const bool ok = tt_domain_spans(d, layer, domain, &list, &n);
    *out = TT_ROWSET(&tt_expert_span_schema, TT_EXPERTS_OF_DOMAINS, NULL, list, n);
    return ok;
}

static tt_status write_parts(tables *t, const char *name, const tt_schema *schema, make_rows *make,
                             tt_error *err)
{
    const tt_rowset like = {.schema = schema, .kind = TT_EXPERTS_OF_DOMAINS};
    uint64_t rows = 0;
    tt_error late;
    tt_rowfile *f = tt_rowfile_begin(t->dir, name, t->csv, &like, err);
    if (!f) return err->status;
    tt_status status = TT_OK;
    for (size_t i = 0; i < t->d->n_layers; i++)
        for (size_t k = 0; k < t->d->n_domains && status == TT_OK; k++) {
            tt_rowset set;
            status = make(t->d, i, k, &set) ? tt_rowfile_put(f, &set, err)
                                            : tt_error_memory(err, "the tables");
            free((void *)(uintptr_t)set.rows);
        }
    const tt_status ended = tt_rowfile_end(f, &rows, status == TT_OK ? err : &late);
    t->n_rows += rows;
    return status == TT_OK ? ended : status;
}

static tt_status write_all(tables *t, tt_error *err)
{
    const tt_domains *d = t->d;
    const struct {
        const char *name;
        tt_rowset set;
    } whole[] = {
        {"domains", TT_ROWSET(&tt_domain_schema, 0, NULL, d->domains, d->n_domains)},
        {"layers", TT_ROWSET(&tt_domain_layer_schema, 0, NULL, d->layers, d->n_layers)},
        {"pairs", TT_ROWSET(&tt_domain_pair_schema, 0, NULL, d->pairs, d->n_pairs)},
        {"experts", TT_ROWSET(&tt_domain_expert_schema, 0, NULL, d->experts, d->n_experts)},
        {"matrix",
         TT_ROWSET(&tt_domain_use_schema, 0, NULL, d->uses, d->n_experts * d->n_domains)}};
    tt_status status = TT_OK;
    for (size_t i = 0; i < sizeof whole / sizeof *whole && status == TT_OK; i++)
        status = write_whole(t, whole[i].name, &whole[i].set, err);
    if (status == TT_OK)
        status = write_parts(t, "transitions", &tt_expert_step_schema, make_steps, err);
    if (status == TT_OK)
        status = write_parts(t, "over_time", &tt_expert_span_schema, make_spans, err);
    return status;
}

static int write_tables(const tt_routing_options *o, const tt_domains *d)
{
    tt_outdir dir;
    tt_error err;
    char rows[TT_UNITS_TEXT];
    tables t = {.d = d, .dir = &dir, .csv = o->list.csv};
    tt_export_guard(o->tables);
    tt_status status = tt_outdir_open(&dir, o->tables, o->force, &err);
    if (status == TT_OK) {
        status = write_all(&t, &err);
        if (status == TT_OK) status = tt_outdir_commit(&dir, &err);
        tt_outdir_abandon(&dir);
    }
    tt_export_guard_end();
    if (status != TT_OK) return tt_report_error(&err);
    tt_report_note("wrote %s: 7 tables, %s rows", o->tables, tt_units_count(rows, t.n_rows));
    return TT_EXIT_OK;
}

static int write_page(const tt_routing_options *o, const tt_domains *d)
{
    tt_outfile file;
    tt_page page;
    tt_error err;
    int code = TT_EXIT_OK;
    if (tt_outfile_open(&file, o->html, o->force, &err) != TT_OK) return tt_report_error(&err);
    tt_page_open(&page);
    tt_domains_page(&page, d);
    if (page.failed)
        code = tt_report_memory();
    else
        tt_page_html(&page, file.stream);
    tt_page_close(&page);
    if (code == TT_EXIT_OK && tt_outfile_commit(&file, &err) != TT_OK) code = tt_report_error(&err);
    tt_outfile_abandon(&file);
    if (code == TT_EXIT_OK) tt_report_note("wrote %s", o->html);
    return code;
}

static int write_files(const tt_routing_options *o, const tt_domains *d)
{
    int code = TT_EXIT_OK;
    if ((o->tables || o->html) && d->course_left_out)
        tt_report_note("transitions and use over time are left out of some layers, which have too "
                       "many experts; --layer N has those of one");
    if (o->tables) code = write_tables(o, d);
    if (code == TT_EXIT_OK && o->html) code = write_page(o, d);
    return code;
}

/* Before the traces are read. */
static int check_files(const tt_routing_options *o)
{
    const char *const outputs[] = {o->tables, o->html};
    for (size_t i = 0; i < 2; i++)
        if (outputs[i] && !o->force && access(outputs[i], F_OK) == 0)
            return tt_report_usage("%s exists; --force replaces it", outputs[i]);
    return TT_EXIT_OK;
}

int tt_routing_show_domains(const tt_routing_options *o)
{
    tt_domains d = {.keeps_course = o->tables || o->html};
    int code = check_files(o);
    for (size_t i = 0; code == TT_EXIT_OK && i < o->n_paths; i++)
        code = add_path(o, o->paths[i], &d);
    if (code == TT_EXIT_OK && d.n_domains < 2)
        code = d.n_domains ? tt_report_usage("there is nothing to compare: all runs are of the "
                                             "domain %s",
                                             d.domains[0].name)
                           : tt_report_usage("none of these runs has a trace that is whole");
    if (code == TT_EXIT_OK && !tt_domains_finish(&d)) code = tt_report_memory();
    if (code == TT_EXIT_OK) code = write_files(o, &d);
    if (code == TT_EXIT_OK)
        code = o->filter.has_layer && !o->json ? show_experts(o, &d) : show_layers(o, &d);
    tt_domains_free(&d);
    return code;
}
