/* tensortrace routing FILE...: which experts were chosen. */
#include "analyze/domains.h"
#include "analyze/expert_steps.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/routing_view.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_MAX 64u

static void take_layer(void *options, char *arg, tt_parse *p)
{
    tt_routing_options *o = options;
    tt_trace_take_layer(&o->filter.layer, arg, p);
    o->list.schema = o->domains ? &tt_domain_expert_schema : &tt_routing_expert_schema;
}

static void take_overlap(void *options, char *arg, tt_parse *p)
{
    tt_routing_options *o = options;
    (void)arg, (void)p;
    o->overlap = true;
    o->list.schema = &tt_routing_pair_schema;
}

static void take_transitions(void *options, char *arg, tt_parse *p)
{
    tt_routing_options *o = options;
    (void)arg, (void)p;
    o->transitions = true;
    o->list.schema = &tt_expert_step_schema;
}

static void take_parts(void *options, char *arg, tt_parse *p)
{
    tt_routing_options *o = options;
    char *end;
    o->parts = strtoul(arg, &end, 10);
    if (*end || end == arg || o->parts == 0 || o->parts > PARTS_MAX)
        tt_parse_error(p, "--over-time: \"%s\" is not a number of 1 to %u", arg, PARTS_MAX);
    o->list.schema = &tt_expert_span_schema;
}

static void take_domains(void *options, char *arg, tt_parse *p)
{
    tt_routing_options *o = options;
    (void)arg, (void)p;
    o->domains = true;
    o->list.schema = o->filter.has_layer ? &tt_domain_expert_schema : &tt_domain_layer_schema;
}

/* The choice of rows comes first, because --columns help depends on it. */
static const tt_option option_table[] = {
    TT_FILTER_BATCH(tt_routing_options, filter., "N[..M]", 1),
    TT_FILTER_PHASE(tt_routing_options, filter., 1),
    TT_FILTER_MODEL(tt_routing_options, filter., 1),
    {"layer", 'l', "N", "The experts of this layer (enc 3: of that stack), one per row", 1,
     .kind = TT_OPTION_TAKE, .take = take_layer, TT_GIVEN(tt_routing_options, filter.has_layer),
     .flags = TT_OPTION_FIRST},
    {"matrix", 0, 0, "A map of all layers and experts, darker where used more", 2,
     TT_FLAG(tt_routing_options, matrix), .excludes = "overlap"},
    {"overlap", 0, 0, "How similar the experts of different prompts are, also across several FILEs",
     2, .kind = TT_OPTION_TAKE, .take = take_overlap, .flags = TT_OPTION_FIRST,
     .excludes = "layer ranges"},
    {"domains", 0, 0,
     "Whether runs of different domains choose different experts: FILEs are DOMAIN=TRACE, or a "
     "folder "
     "of experiments",
     2, .kind = TT_OPTION_TAKE, .take = take_domains, .flags = TT_OPTION_FIRST,
     .excludes = "overlap matrix ranges"},
    {"transitions", 0, 0, "With --layer: which experts the next token chooses, P(next | expert)", 2,
     .kind = TT_OPTION_TAKE, .take = take_transitions, .flags = TT_OPTION_SECOND, .needs = "layer",
     .excludes = "domains overlap matrix ranges over-time"},
    {"over-time", 0, "N", "With --layer: use of its experts in N intervals of the batches", 2,
     .kind = TT_OPTION_TAKE, .take = take_parts, .flags = TT_OPTION_SECOND, .needs = "layer",
     .excludes = "domains overlap matrix ranges"},
    {"where", 0, "COLUMN=VALUE", TT_WHERE_ABOUT, 2,
     TT_TAKE(tt_routing_options, where, tt_where_take)},
    {"tables", 0, "DIR",
     "Of domains: also write all of it into the new folder DIR, with transitions and use over "
     "time: "
     "tables in Parquet, or with --csv in CSV",
     2, TT_TEXT(tt_routing_options, tables), .needs = "domains"},
    {"html", 0, "FILE", "Of domains: also write it as a page with plots that needs no other file",
     2, TT_TEXT(tt_routing_options, html), .needs = "domains"},
    {"force", 0, 0, "Replace DIR and FILE if they exist", 2, TT_FLAG(tt_routing_options, force),
     .needs = "tables html"},
    {"ranges", 0, 0, "With --json: where in the file each expert's bytes lie", 2,
     TT_FLAG(tt_routing_options, ranges), .needs = "json"},
    {"json", 0, 0, "Print JSON", 9, TT_FLAG(tt_routing_options, json)},
    {0},
};

static void take_file(void *options, char *arg, tt_parse *p)
{
    tt_routing_options *o = options;
    if (o->n_paths == TT_ROUTING_FILES_MAX)
        tt_parse_error(p, "at most %u files", TT_ROUTING_FILES_MAX);
    o->paths[o->n_paths++] = arg;
}

static void check_files(void *options, tt_parse *p)
{
    tt_routing_options *o = options;
    if (o->list.schema == &tt_routing_expert_schema) o->list.kind = TT_ROUTING_EXPERTS;
    if (o->n_paths == 0) tt_parse_error(p, "which FILE?");
    if (o->n_paths > 1 && !o->overlap && !o->domains)
        tt_parse_error(p, "one FILE only; several with --overlap and --domains");
}

static void close_view(tt_routing_view *v)
{
    tt_routers_free(v->routers);
    tt_routing_rows_free(&v->rows);
    tt_model_close(v->m);
}

/* Prints why there are no choices to show. */
static int report_none(const tt_routing_options *o, const tt_routing_view *v)
{
    const char *said = tt_model_environment(v->m, "capture_experts");
    char text[256];
    if (tt_routers_expert_nodes(v->m) == 0)
        return tt_report_usage("%s: the trace holds no expert choices: no MUL_MAT_ID was executed",
                               v->path);
    if (tt_details_has(v->m->details, TT_DETAIL_EXPERTS))
        return tt_trace_none(v->m, &o->filter, "choice of experts");
    if (said && strncmp(said, "not observed", strlen("not observed")) == 0)
        return tt_report_usage("%s: experts were not recorded: %s", v->path,
                               tt_trace_text(text, sizeof text, said));
    return tt_report_usage(
        "%s: experts were not recorded: an older version traced it, or they were dropped", v->path);
}

static int open_view(const tt_routing_options *o, const char *path, tt_routing_view *v)
{
    tt_error err;
    tt_progress bar;
    const tt_input input = {.path = path};
    const uint8_t texts_of = (uint8_t)(o->filter.phase ? o->filter.phase : TT_PHASE_PROMPT);
    tt_filter filter = o->filter;
    *v = (tt_routing_view){.path = path};
    int code = tt_input_open_trace(&input, TT_INPUT_NOTES, &v->m);
    if (code != TT_EXIT_OK) return code;
    /* A batch may hold a prompt and a generated token: texts are separated token by token. */
    if (o->overlap) filter.phase = 0;
    v->routers = tt_routers_new(v->m, &filter, texts_of);
    if (!v->routers) return tt_report_memory();
    if (o->transitions) tt_routers_keep_transitions(v->routers);
    tt_progress_begin(&bar, "reading", v->m->n_runs, "runs");
    tt_status status = tt_routers_walk(v->routers, tt_progress_callback, &bar, &err);
    tt_progress_end(&bar);
    if (status != TT_OK) return tt_report_error(&err);
    if (!tt_routing_sum_up(v)) return tt_report_memory();
    return v->n_layers ? TT_EXIT_OK : report_none(o, v);
}

static int show_one(const tt_routing_options *o, const tt_routing_view *v)
{
    const tt_routing_context x = {v->m, &o->filter};
    bool any = false;
    for (size_t i = 0; i < v->n_layers; i++)
        any |= tt_routing_passes(&x, &v->rows.rows[i]);
    if (!any) return tt_trace_none(v->m, &o->filter, "choice of experts");
    if (tt_routers_sequences_assumed(v->routers))
        tt_report_note("which sequence a token belongs to was not observed: those of a context "
                       "were taken for one");
    if (o->transitions) return tt_routing_print_steps(o, v);
    if (o->parts) return tt_routing_print_spans(o, v);
    if (o->matrix && !o->json) return tt_report_output(tt_routing_print_matrix(o, v));
    if (o->filter.has_layer && !o->json) return tt_routing_print_experts(o, v);
    return tt_routing_print_layers(o, v);
}

static int show_overlap(const tt_routing_options *o, const tt_routing_view *views)
{
    size_t texts = 0;
    for (size_t i = 0; i < o->n_paths; i++) {
        if (i > 0 && !tt_routers_same_shape(views[0].routers, views[i].routers))
            return tt_report_usage("%s and %s are of models with different experts", views[0].path,
                                   views[i].path);
        if (views[i].texts_left_out)
            tt_report_note("%s: %" PRIu64 " more texts left out", views[i].path,
                           views[i].texts_left_out);
        texts += views[i].n_texts;
    }
    if (texts < 2)
        return tt_report_usage("there is nothing to compare: %zu %s in %s", texts,
                               texts == 1 ? "text" : "texts",
                               o->n_paths == 1 ? "the trace" : "these traces");
    return tt_routing_print_overlap(o, views, o->n_paths);
}

/* One trace, or those whose texts are compared. */
static int show(void *options)
{
    static tt_routing_view views[TT_ROUTING_FILES_MAX];
    tt_routing_options *o = options;
    int code = TT_EXIT_OK;
    size_t opened = 0;
    if (!o->overlap) o->paths[0] = o->input.path;
    while (opened < o->n_paths && code == TT_EXIT_OK) {
        code = open_view(o, o->paths[opened], &views[opened]);
        opened++;
    }
    if (code == TT_EXIT_OK) code = o->overlap ? show_overlap(o, views) : show_one(o, views);
    for (size_t i = 0; i < opened; i++)
        close_view(&views[i]);
    return code;
}

/* Adds the runs of a folder of experiments, each prompt once. */
static int add_folder(tt_routing_options *o, const char *folder)
{
    tt_chosen_runs runs;
    tt_error err;
    size_t kept = 0;
    int code = TT_EXIT_OK;
    if (tt_chosen_find(&runs, folder, o->where.list, o->where.n, &err) != TT_OK)
        code = tt_report_error(&err);
    for (size_t i = 0; code == TT_EXIT_OK && i < runs.n; i++) {
        const tt_result *r = &runs.results.list[runs.chosen[i]];
        if (r->ending || tt_chosen_repeats(&runs, kept, r)) continue;
        runs.chosen[kept++] = runs.chosen[i];
        if (o->n_paths == TT_ROUTING_FILES_MAX) {
            code = tt_report_usage("%s: more than %u traces: choose some with --where", folder,
                                   TT_ROUTING_FILES_MAX);
            break;
        }
        o->paths[o->n_paths++] = o->owned[o->n_owned++] = runs.paths[i];
        runs.paths[i] = NULL;
    }
    if (code == TT_EXIT_OK && kept < runs.n)
        tt_report_note("%s: %zu of %zu runs left out: they repeat a prompt, or were killed", folder,
                       runs.n - kept, runs.n);
    tt_chosen_free(&runs);
    return code;
}

/* Texts of several runs: a folder of experiments stands for all of them. */
static int show_texts(tt_routing_options *o)
{
    const size_t n = o->n_paths;
    const char *given[TT_ROUTING_FILES_MAX];
    int code = TT_EXIT_OK;
    memcpy(given, o->paths, sizeof given);
    o->n_paths = 0;
    for (size_t i = 0; i < n && code == TT_EXIT_OK; i++) {
        if (tt_chosen_is_folder(given[i]))
            code = add_folder(o, given[i]);
        else if (o->where.n)
            code = tt_report_usage("--where goes with a folder of experiments");
        else if (o->n_paths == TT_ROUTING_FILES_MAX)
            code = tt_report_usage("at most %u traces", TT_ROUTING_FILES_MAX);
        else
            o->paths[o->n_paths++] = given[i];
    }
    if (code == TT_EXIT_OK) code = show(o);
    for (size_t i = 0; i < o->n_owned; i++)
        free(o->owned[i]);
    return code;
}

int tt_cmd_routing(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE...",
        .about = "Shows which experts the routers of a mixture of experts chose: use by layer and "
                 "expert, how even it is, and how often the next token uses the same experts.\v"
                 "ENTROPY of the experts' shares is in bits; EVENNESS is the entropy divided by "
                 "its maximum (all experts used equally). REPEATED is the share of a token's "
                 "experts that the previous token of its sequence chose too; CHANCE is its "
                 "expectation if choices were independent and even.",
        .sets = {{option_table, 0, take_file, check_files, NULL},
                 TT_LIST(tt_routing_options, list)}};
    tt_routing_options o = {.list.schema = &tt_routing_layer_schema};
    tt_options_parse(&command, argc, argv, &o);
    if (o.domains) return tt_routing_show_domains(&o);
    if (o.overlap) return show_texts(&o);
    o.input = (tt_input){.path = o.paths[0], .given = o.paths[0], .json = o.json};
    return tt_runs_each(&o.input, &o.where, o.list.csv, show, &o);
}
