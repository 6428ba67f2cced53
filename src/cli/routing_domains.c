/* `tensortrace routing --domains`: experts of runs of several domains. */
#include "analyze/domains.h"
#include "base/path.h"
#include "cli/command.h"
#include "cli/report.h"
#include "cli/routing_view.h"
#include "cli/trace_options.h"
#include "experiment/chosen.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- reading --- */

static int add_run(const tt_routing_options *o, const char *path, const char *domain, tt_domains *d)
{
    tt_error err;
    tt_model *m = NULL;
    tt_progress bar;
    const tt_input input = {.path = path};
    int code = tt_input_open_trace(&input, TT_INPUT_NOTES, &m);
    tt_routers *r = code == TT_EXIT_OK ? tt_routers_new(m, &o->filter, TT_PHASE_PROMPT) : NULL;
    if (code == TT_EXIT_OK && !r) code = tt_report_usage("out of memory");
    if (r) {
        size_t n = 0;
        tt_progress_begin(&bar, "reading", m->n_runs, "runs");
        tt_status status = tt_routers_walk(r, tt_progress_callback, &bar, &err);
        tt_progress_end(&bar);
        if (status == TT_OK) (void)tt_routers_layers(r, &n);
        if (status == TT_OK && n == 0)
            status =
                tt_error_set(&err, TT_E_USAGE, TT_NO_OFFSET,
                             "holds no choices of experts that pass; `tensortrace routing` says "
                             "more");
        if (status == TT_OK) status = tt_domains_add(d, domain, r, &err);
        if (status != TT_OK) code = tt_report_usage("%s: %s", path, err.message);
    }
    tt_routers_free(r);
    tt_model_close(m);
    return code;
}

/* Whether one before it has the same prompt: as independent observations both would count twice. */
static bool is_repeat(const tt_chosen_runs *runs, size_t at)
{
    const tt_result *list = runs->results.list;
    for (size_t i = 0; i < at; i++)
        if (!list[runs->chosen[i]].ending &&
            tt_chosen_is_repeat(&list[runs->chosen[i]], &list[runs->chosen[at]]))
            return true;
    return false;
}

static int add_folder(const tt_routing_options *o, const char *folder, tt_domains *d)
{
    tt_chosen_runs runs;
    tt_error err;
    size_t left_out = 0;
    int code = TT_EXIT_OK;
    if (tt_chosen_find(&runs, folder, &o->where, o->where != NULL, &err) != TT_OK)
        code = tt_report_error(&err);
    for (size_t i = 0; code == TT_EXIT_OK && i < runs.n; i++) {
        const tt_result *r = &runs.results.list[runs.chosen[i]];
        if (r->ending || is_repeat(&runs, i)) {
            left_out++;
            continue;
        }
        code = add_run(o, runs.paths[i],
                       r->domain  ? r->domain
                       : r->label ? r->label
                                  : r->folder,
                       d);
    }
    tt_chosen_free(&runs);
    if (left_out)
        tt_report_note(
            "%zu run%s left out: repetitions of a prompt say nothing new of its routing, "
            "and those that were killed are not whole",
            left_out, left_out == 1 ? " is" : "s are");
    return code;
}

/* A folder of experiments; DOMAIN=FILE, unless there is a file of that name; or FILE, whose name is
 * the domain. */
static int add_path(const tt_routing_options *o, const char *path, tt_domains *d)
{
    char domain[64];
    const char *equal = strchr(path, '=');
    if (tt_chosen_is_folder(path)) return add_folder(o, path, d);
    if (!equal || access(path, F_OK) == 0) return add_run(o, path, tt_base_name(path), d);
    if (equal == path || (size_t)(equal - path) >= sizeof domain)
        return tt_report_usage("%s: the name of a domain has 1 to %zu characters", path,
                               sizeof domain - 1);
    (void)snprintf(domain, sizeof domain, "%.*s", (int)(equal - path), path);
    return add_run(o, equal + 1, domain, d);
}

/* --- showing --- */

static bool passes(const void *context, const void *row)
{
    const tt_filter *f = context;
    return !f->has_layer || ((const tt_domain_layer *)row)->layer_id == f->layer;
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
    return tt_report_usage("there is no layer %" PRId32 " with a router", o->filter.layer);
}

int tt_routing_show_domains(const tt_routing_options *o)
{
    tt_domains d = {0};
    int code = TT_EXIT_OK;
    for (size_t i = 0; code == TT_EXIT_OK && i < o->n_paths; i++)
        code = add_path(o, o->paths[i], &d);
    if (code == TT_EXIT_OK && d.n_domains < 2)
        code = tt_report_usage("there is nothing to compare: all runs are of the domain %s",
                               d.domains[0].name);
    if (code == TT_EXIT_OK && !tt_domains_finish(&d)) code = tt_report_usage("out of memory");
    if (code == TT_EXIT_OK)
        code = o->filter.has_layer && !o->json ? show_experts(o, &d) : show_layers(o, &d);
    tt_domains_free(&d);
    return code;
}
