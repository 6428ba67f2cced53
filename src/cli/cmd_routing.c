/* tensortrace routing FILE...: which experts were chosen. */
#include "cli/command.h"
#include "cli/report.h"
#include "cli/routing_view.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_MATRIX = 256, OPT_OVERLAP, OPT_RANGES, OPT_JSON };

static const struct argp_option option_table[] = {
    TT_OPTIONS_BATCH("N[..M]", "Only these batches (0 is the first)", 1),
    {"phase", TT_OPT_PHASE, "PHASE", 0, "Only prompt, generate, mixed or warmup", 1},
    {"layer", TT_OPT_LAYER, "N", 0, "The experts of this layer, one a row", 1},
    {"matrix", OPT_MATRIX, 0, 0, "All layers and experts as a map, darker where used more", 2},
    {"overlap", OPT_OVERLAP, 0, 0,
     "How alike the experts of different prompts are, also across several FILEs", 2},
    {"ranges", OPT_RANGES, 0, 0, "With --json: where in the file each expert's bytes lie", 2},
    {"json", OPT_JSON, 0, 0, "Print JSON", 9},
    {0},
};

static void check_together(const tt_routing_options *o, struct argp_state *state)
{
    tt_list_check(&o->list, o->json, state);
    if (o->n_paths == 0) argp_error(state, "which FILE?");
    if (o->n_paths > 1 && !o->overlap) argp_error(state, "one FILE only; several with --overlap");
    if (o->matrix && o->overlap) argp_error(state, "--matrix or --overlap, not both");
    if (o->ranges && !o->json) argp_error(state, "--ranges goes with --json");
    if (o->overlap && (o->filter.has_layer || o->ranges))
        argp_error(state, "--overlap is over all layers, without --layer and --ranges");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    tt_routing_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->list;
        return 0;
    case TT_OPT_BATCH:
    case TT_OPT_TOKEN:
    case TT_OPT_PHASE:
    case TT_OPT_LAYER:
        if (key == TT_OPT_LAYER) o->list.schema = &tt_routing_expert_schema;
        return tt_trace_filter_option(key, arg, state, &o->filter) ? 0 : ARGP_ERR_UNKNOWN;
    case OPT_MATRIX:
        o->matrix = true;
        return 0;
    case OPT_OVERLAP:
        o->list.schema = &tt_routing_pair_schema;
        o->overlap = true;
        return 0;
    case OPT_RANGES:
        o->ranges = true;
        return 0;
    case OPT_JSON:
        o->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (o->n_paths == TT_ROUTING_FILES_MAX)
            argp_error(state, "at most %u files", TT_ROUTING_FILES_MAX);
        o->paths[o->n_paths++] = arg;
        return 0;
    case ARGP_KEY_END:
        check_together(o, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void close_view(tt_routing_view *v)
{
    tt_routers_free(v->routers);
    tt_routing_rows_free(&v->rows);
    tt_model_close(v->m);
}

/* Says why there are no choices to show. */
static int tell_none(const tt_routing_options *o, const tt_routing_view *v)
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
    /* A batch may hold a prompt and a generated token: texts are told apart token by token. */
    if (o->overlap) filter.phase = 0;
    v->routers = tt_routers_new(v->m, &filter, texts_of);
    if (!v->routers) return tt_report_usage("out of memory");
    tt_progress_begin(&bar, "reading", v->m->n_runs, "runs");
    tt_status status = tt_routers_walk(v->routers, tt_progress_callback, &bar, &err);
    tt_progress_end(&bar);
    if (status != TT_OK) return tt_report_error(&err);
    if (!tt_routing_sum_up(v)) return tt_report_usage("out of memory");
    return v->n_layers ? TT_EXIT_OK : tell_none(o, v);
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

static const struct argp_child children[] = {{&tt_list_argp, 0, NULL, 0}, {0}};

int tt_cmd_routing(int argc, char **argv)
{
    static const struct argp argp = {
        option_table,
        parse_option,
        "FILE...",
        "Which experts the routers of a mixture of experts chose in the trace FILE: use by layer "
        "and expert, how even it is, and what stays from token to token.\v"
        "ENTROPY is that of the experts' shares, in bits; EVENNESS is that divided by what it "
        "would be "
        "if all were used alike. REPEATED is the share of a token's experts that the token before "
        "it in its sequence had chosen too; CHANCE what that would be if choices were "
        "independent and even.",
        children,
        NULL,
        NULL};
    static tt_routing_view views[TT_ROUTING_FILES_MAX];
    tt_routing_options o = {.list.schema = &tt_routing_layer_schema};
    int code = TT_EXIT_OK;
    size_t opened = 0;
    tt_report_parse(&argp, argc, argv, 0, &o);
    while (opened < o.n_paths && code == TT_EXIT_OK) {
        code = open_view(&o, o.paths[opened], &views[opened]);
        opened++;
    }
    if (code == TT_EXIT_OK) code = o.overlap ? show_overlap(&o, views) : show_one(&o, views);
    for (size_t i = 0; i < opened; i++)
        close_view(&views[i]);
    return code;
}
