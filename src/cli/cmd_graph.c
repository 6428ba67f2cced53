/* tensortrace graph FILE: what was computed from what. */
#include "answer/graph.h"
#include "base/outfile.h"
#include "base/status.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/list.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/trace_options.h"
#include "export/dot/dot.h"
#include "export/dot/graph_view.h"

#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMES_SHOWN 12u /* of inputs and outputs */
/* The default columns of the table of nodes. */
#define SHOWN "id,op_desc,name,type,shape,duration_ns,sources"

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void run_lines(const tt_topology *t, FILE *out)
{
    const tt_model *m = t->m;
    char begun[TT_UNITS_TEXT] = "", length[TT_UNITS_TEXT] = "";
    if (t->run == TT_NONE) {
        tt_table_line(out, "run", "none: the graph was described, but no computation of it");
        return;
    }
    const tt_run *r = &m->runs[t->run];
    if (r->batch != TT_NONE)
        tt_table_line(out, "batch", "%" PRIu32 " (%s)", tt_model_batch_number(m, r->batch),
                      tt_phase_name(m->batches[r->batch].phase));
    else
        tt_table_line(out, "batch", "none: the run was outside any batch");
    if (m->clock.known) {
        (void)snprintf(begun, sizeof begun, ", begun at ");
        tt_units_ns(begun + strlen(begun), tt_model_ns(m, r->begin_ticks));
    }
    if (m->clock.known && r->ended)
        tt_units_ns(length, tt_model_span_ns(m, r->end_ticks - r->begin_ticks));
    tt_table_line(out, "run", "%" PRIu32 "%s%s%s", r->id, begun, length[0] ? ", took " : "",
                  r->ended ? length : ", never ended");
}

static void op_line(const tt_topology *t, FILE *out)
{
    if (t->n_ops == 0) {
        tt_table_line(out, "ops", "none recorded%s: no times, and fusions are not known",
                      t->run == TT_NONE ? "" : " in this run");
        return;
    }
    if (t->n_fused_ops)
        tt_table_line(out, "ops",
                      "%" PRIu32 " recorded; %" PRIu32 " of them computed %" PRIu32
                      " nodes (fused)",
                      t->n_ops, t->n_fused_ops, t->n_fused_nodes);
    else
        tt_table_line(out, "ops", "%" PRIu32 " recorded, none of fused nodes", t->n_ops);
    if (t->n_missing)
        tt_table_line(out, "", "of %" PRIu32 " node%s that execute%s no op was recorded",
                      t->n_missing, plural(t->n_missing), t->n_missing == 1 ? "s" : "");
}

static void name_lines(const tt_topology *t, FILE *out, const char *what, uint32_t flag, uint32_t n)
{
    char text[900];
    size_t used = 0;
    uint32_t shown = 0;
    if (n == 0) return;
    for (uint32_t i = 0; i < t->graph->n_tensors && shown < NAMES_SHOWN; i++) {
        const tt_tensor *x = &t->graph->tensors[i];
        if (!(x->flags & flag)) continue;
        int length = snprintf(text + used, sizeof text - used, "%s%.64s", shown++ ? ", " : "",
                              x->name[0] ? x->name : "(no name)");
        if (length > 0 && (size_t)length < sizeof text - used) used += (size_t)length;
    }
    tt_table_line(out, what, "%s%s", text, n > shown ? ", ..." : "");
}

static void backend_lines(const tt_topology *t, FILE *out)
{
    for (uint32_t i = 0; i < t->by_backend.n; i++) {
        const tt_topology_sum *s = &t->by_backend.list[i];
        tt_table_line(out, i == 0 ? "backend" : "", "%s: %" PRIu64 " node%s",
                      s->key[0] ? s->key : "not observed", s->count, plural(s->count));
    }
}

static void summary(const tt_graph_view *v, FILE *out)
{
    const tt_topology *t = v->t;
    const tt_graph *g = t->graph;
    char size[TT_UNITS_TEXT], read[TT_UNITS_TEXT];
    tt_table_line(out, "graph",
                  "%" PRIu32 " of %" PRIu32 " in the trace: %" PRIu32 " nodes, %" PRIu32
                  " leafs, %" PRIu64 " edges",
                  g->id, t->m->n_graphs, g->n_nodes, t->n_leafs, t->n_edges);
    tt_table_line(out, "", "stored once for %" PRIu32 " batch%s in %" PRIu32 " run%s", t->n_batches,
                  t->n_batches == 1 ? "" : "es", t->n_runs, plural(t->n_runs));
    if (*tt_model_label(t->m, g->model))
        tt_table_line(out, "model", "%s", tt_model_label(t->m, g->model));
    run_lines(t, out);
    tt_table_line(out, "nodes", "%" PRIu32 " execute, %" PRIu32 " only view or reshape",
                  g->n_nodes - t->n_views, t->n_views);
    op_line(t, out);
    tt_table_line(out, "weights", "%" PRIu32 " tensor%s, %s; the run reads %s%s", t->n_weights,
                  plural(t->n_weights), tt_units_bytes(size, t->weights_size_bytes),
                  t->total.at_most ? "at most " : "", tt_units_bytes(read, t->total.weight_bytes));
    backend_lines(t, out);
    name_lines(t, out, "inputs", TT_TENSOR_INPUT, t->n_inputs);
    name_lines(t, out, "outputs", TT_TENSOR_OUTPUT, t->n_outputs);
}

/* --- tables --- */

static bool sums_table(const tt_topology *t, uint8_t kind, FILE *out)
{
    const tt_rowset set = tt_topology_sums_rowset(t, kind);
    tt_listing l;
    const bool ok = tt_listing_make(&l, &set, &(tt_listing_wish){.text = true}, NULL) == TT_OK &&
                    fputc('\n', out) != EOF && tt_list_write(&l, &t->total, out);
    tt_listing_free(&l);
    return ok;
}

static bool print_text(const tt_graph_view *v, const tt_listing *nodes, FILE *out)
{
    summary(v, out);
    if (nodes) return fputc('\n', out) != EOF && tt_list_write(nodes, NULL, out) && !ferror(out);
    return sums_table(v->t, TT_TOPOLOGY_BY_OP, out) &&
           sums_table(v->t, TT_TOPOLOGY_BY_LAYER, out) && !ferror(out);
}

extern char **environ;

/* Runs `dot -Tsvg` from one open file to another, without a shell. `in` is read from its start.
 * TT_E_NOT_FOUND: dot is missing; TT_E_IO: it failed and printed why on stderr. */
static tt_status graphviz_svg(int in, int out, tt_error *err)
{
    char program[] = "dot", format[] = "-Tsvg";
    char *const argv[] = {program, format, NULL};
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status = 0,
        why = lseek(in, 0, SEEK_SET) != 0 ? errno : posix_spawn_file_actions_init(&files);
    if (why) return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot run dot: %s", strerror(why));
    why = posix_spawn_file_actions_adddup2(&files, in, 0);
    if (!why) why = posix_spawn_file_actions_adddup2(&files, out, 1);
    if (!why) why = posix_spawnp(&pid, program, &files, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&files);
    if (why == ENOENT)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                            "there is no `dot` on the PATH to draw it: install Graphviz (Debian's "
                            "package graphviz), or take --dot");
    while (!why && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) why = errno;
    if (why) return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot run dot: %s", strerror(why));
    if (WIFSIGNALED(status))
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "dot ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) == 0) return TT_OK;
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "dot failed with exit code %d",
                        WEXITSTATUS(status));
}

enum form { FORM_TEXT = 0, FORM_DOT, FORM_SVG };

struct options {
    tt_input input;
    tt_list_options list;
    bool has_batch, has_graph, has_run;
    uint32_t batch, graph, run;
    tt_filter filter; /* layer, model, context */
    enum form form;
    tt_graph_color color;
    bool collapse, as_ggml;
    const char *output;
    bool force;
};

static const tt_option_name colors[] = {{"time", TT_COLOR_TIME},
                                        {"bytes", TT_COLOR_BYTES},
                                        {"op", TT_COLOR_OP},
                                        {"none", TT_COLOR_NONE}};

static const tt_option option_table[] = {
    {"batch", 'b', "N",
     "As computed for this batch (0 is the first; default: the last one generated)", 1,
     TT_WHOLE(struct options, batch, 0, UINT32_MAX - 1), TT_GIVEN(struct options, has_batch),
     .excludes = "graph run"},
    {"token", 't', TT_FORMER},
    {"run", 0, "ID", "As computed by this run", 1, TT_WHOLE(struct options, run, 0, UINT32_MAX - 1),
     TT_GIVEN(struct options, has_run), .excludes = "graph model context"},
    {"graph", 0, "ID", "This graph, as its last run computed it", 1,
     TT_WHOLE(struct options, graph, 0, UINT32_MAX - 1), TT_GIVEN(struct options, has_graph),
     .excludes = "model context"},
    {"layer", 'l', "N",
     "Only this layer's nodes (none: outside any) and, in pictures, their neighbours", 1,
     TT_FILTER_LAYER(struct options, filter.)},
    TT_FILTER_MODEL(struct options, filter., 1),
    {"dot", 0, 0, "Print it in Graphviz's language", 2, TT_SET(struct options, form, FORM_DOT),
     .excludes = "svg json columns sort limit csv"},
    {"svg", 0, 0, "Print it as a picture, drawn by Graphviz's dot", 2,
     TT_SET(struct options, form, FORM_SVG), .excludes = "json columns sort limit csv"},
    {"color", 0, "WHAT",
     "Colour the picture by time, bytes (of weights read), op or none (default)", 2,
     TT_NAME(struct options, color, colors), .needs = "dot svg"},
    {"collapse", 0, 0, "One box per layer in the picture", 2, TT_FLAG(struct options, collapse),
     .needs = "dot svg", .excludes = "layer"},
    {"ggml", 0, 0, "Print the graph as ggml's own ggml_graph_dump_dot does, whole", 2,
     TT_FLAG(struct options, as_ggml), .needs = "dot svg", .excludes = "color collapse layer"},
    {"output", 'o', "FILE", "Write to FILE instead of standard output", 3,
     TT_TEXT(struct options, output)},
    {"force", 0, 0, "Overwrite FILE if it exists", 3, TT_FLAG(struct options, force)},
    {0},
};

static void check_color(void *options, tt_parse *p)
{
    const struct options *o = options;
    if (o->collapse && o->color == TT_COLOR_OP)
        tt_parse_error(p, "--collapse shows no single ops to colour: --color time or bytes");
}

/* --- which graph --- */

static uint32_t usual_token(const tt_model *m, const tt_filter *f)
{
    uint32_t batch = tt_topology_usual_batch(m, f);
    return batch == TT_NONE ? TT_NONE : tt_model_batch_number(m, batch);
}

static int choose_token(const tt_model *m, const tt_filter *f, uint32_t token, uint32_t *run)
{
    uint32_t n;
    if (m->n_batches == 0) return tt_report_usage("the trace holds no batch; try --graph");
    uint32_t batch = token == UINT32_MAX ? TT_NONE : tt_model_batch(m, token + 1);
    if (batch == TT_NONE)
        return tt_trace_none(
            m, &(tt_filter){.has_batch = true, .batch_first = token, .batch_last = token}, "batch");
    *run = tt_topology_run_of(m, f, batch, &n);
    if (*run == TT_NONE && (f->model || f->has_context)) {
        tt_filter asked = *f;
        asked.has_batch = true;
        asked.batch_first = asked.batch_last = token;
        return tt_trace_none(m, &asked, "graph");
    }
    if (*run == TT_NONE)
        return tt_report_usage("no graph of batch %" PRIu32 " was recorded", token);
    if (n > 1)
        tt_report_note("batch %" PRIu32 " took %" PRIu32
                       " runs; this is the one with the largest graph, --run shows others",
                       token, n);
    return TT_EXIT_OK;
}

static int choose_graph(const tt_model *m, uint32_t id, uint32_t *graph, uint32_t *run)
{
    for (uint32_t i = 0; i < m->n_graphs; i++) {
        if (m->graphs[i].id != id) continue;
        *graph = i;
        *run = tt_topology_last_run(m, i);
        return TT_EXIT_OK;
    }
    return tt_report_usage("there is no graph %" PRIu32 " in the trace", id);
}

static int choose(const struct options *o, const tt_model *m, uint32_t *graph, uint32_t *run)
{
    const tt_filter *f = &o->filter;
    uint32_t token = o->has_batch ? o->batch : usual_token(m, f);
    int code = TT_EXIT_OK;
    *run = TT_NONE;
    if (o->has_graph) return choose_graph(m, o->graph, graph, run);
    if (o->has_run) {
        *run = tt_model_run(m, o->run);
        if (*run == TT_NONE)
            return tt_report_usage("there is no run %" PRIu32 " in the trace", o->run);
    } else if (token != TT_NONE) {
        code = choose_token(m, f, token, run);
    } else if (f->model || f->has_context) {
        return tt_trace_none(m, f, "graph");
    } else if (m->n_graphs > 0) {
        return choose_graph(m, m->graphs[m->n_graphs - 1].id, graph, run);
    } else {
        return tt_report_usage("the trace holds no graph");
    }
    if (code != TT_EXIT_OK) return code;
    *graph = m->runs[*run].graph;
    if (*graph == TT_NONE)
        return tt_report_usage("the graph of run %" PRIu32 " is not in the trace", o->run);
    return TT_EXIT_OK;
}

/* --- output --- */

static bool print_dot(const struct options *o, const tt_graph_view *v, FILE *out)
{
    if (o->as_ggml) return tt_graph_print_ggml(v->t->graph, out);
    return o->collapse ? tt_graph_print_collapsed(v, out) : tt_graph_print_dot(v, out);
}

/* Through a file without a name: dot reads everything before it writes, but does not document
 * that. */
static tt_status print_svg(const struct options *o, const tt_graph_view *v, FILE *out,
                           tt_error *err)
{
    FILE *dot = tmpfile();
    tt_status status = TT_OK;
    if (!dot || !print_dot(o, v, dot) || fflush(out) != 0)
        status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write: %s", strerror(errno));
    if (status == TT_OK) status = graphviz_svg(fileno(dot), fileno(out), err);
    if (dot) (void)fclose(dot);
    return status;
}

static bool print_json(const tt_graph_view *v, const tt_listing *nodes, FILE *out)
{
    tt_json j;
    tt_json_begin(&j, out, 2);
    tt_graph_json(&j, v, nodes);
    return tt_json_end(&j);
}

/* nodes: NULL if the text has sums instead. */
static tt_status print(const struct options *o, const tt_graph_view *v, const tt_listing *nodes,
                       FILE *out, tt_error *err)
{
    if (o->form == FORM_SVG) return print_svg(o, v, out, err);
    bool ok = o->form == FORM_DOT ? print_dot(o, v, out)
              : o->input.json     ? print_json(v, nodes, out)
              : o->list.csv       ? tt_list_write_csv(nodes, out)
                                  : print_text(v, nodes, out);
    if (ok && !ferror(out)) return TT_OK;
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write: %s",
                        strerror(errno ? errno : EIO));
}

static int write_view(const struct options *o, const tt_graph_view *v, const tt_listing *nodes)
{
    tt_error err;
    tt_outfile file;
    if (!o->output) {
        if (print(o, v, nodes, stdout, &err) != TT_OK) return tt_report_error(&err);
        return tt_report_output(true);
    }
    if (tt_outfile_open(&file, o->output, o->force, &err) != TT_OK) return tt_report_error(&err);
    if (print(o, v, nodes, file.stream, &err) != TT_OK) {
        tt_outfile_abandon(&file);
        return tt_report_error(&err);
    }
    return tt_outfile_commit(&file, &err) == TT_OK ? TT_EXIT_OK : tt_report_error(&err);
}

/* In JSON with the leafs, and the neighbours of the layer. */
static int list_nodes(const struct options *o, const tt_graph_view *v)
{
    tt_listing_wish wish = tt_list_wish(&o->list, o->input.json, NULL);
    if (wish.text && !wish.columns) wish.columns = SHOWN;
    wish.passes = o->input.json ? tt_graph_is_shown : tt_graph_is_listed;
    tt_graph_nodes nodes;
    tt_listing list;
    tt_graph_nodes_begin(&nodes, v);
    int code = tt_list_make(&list, &nodes.set, &wish);
    list.chosen = o->list.columns != NULL;
    if (code == TT_EXIT_OK) code = write_view(o, v, &list);
    tt_listing_free(&list);
    return code;
}

static bool lists_nodes(const struct options *o)
{
    return o->form == FORM_TEXT && (o->filter.has_layer || o->input.json || o->list.columns ||
                                    o->list.sort || o->list.limited || o->list.csv);
}

static bool any_shown(const tt_graph_view *v)
{
    for (uint32_t i = 0; i < v->t->graph->n_tensors; i++)
        if (v->shown[i] == TT_GRAPH_SHOW_ASKED) return true;
    return false;
}

static int show(const struct options *o, const tt_model *m)
{
    tt_error err;
    tt_topology *t;
    uint32_t graph = TT_NONE, run = TT_NONE;
    int code = choose(o, m, &graph, &run);
    if (code != TT_EXIT_OK) return code;
    if (tt_topology_make(m, graph, run, &t, &err) != TT_OK) return tt_report_error(&err);
    tt_graph_view v = {.path = o->input.path,
                       .t = t,
                       .has_layer = o->filter.has_layer,
                       .layer = o->filter.layer,
                       .color = o->color};
    if (!tt_graph_view_choose(&v))
        code = tt_report_memory();
    else if (!any_shown(&v))
        code = tt_trace_none(m, &o->filter, "node");
    else
        code = lists_nodes(o) ? list_nodes(o, &v) : write_view(o, &v, NULL);
    tt_graph_view_free(&v);
    tt_topology_free(t);
    return code;
}

int tt_cmd_graph(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE",
        .about = "One graph of the trace FILE, as computed for one batch: its nodes, their "
                 "sources, which were fused, their time and the weights they read.\v"
                 "Fusions and times are those of the run shown. Large models have many nodes: use "
                 "--layer and --collapse for readable pictures. --columns, --sort, "
                 "--limit and --csv list the nodes.",
        .sets = {{option_table, .check = check_color},
                 TT_INPUT(struct options, input),
                 TT_LIST(struct options, list)}};
    struct options o = {.list.schema = &tt_graph_node_schema};
    tt_model *m = NULL;
    tt_options_parse(&command, argc, argv, &o);
    int code = tt_input_open_trace(&o.input, TT_INPUT_NOTES, &m);
    if (code == TT_EXIT_OK) code = show(&o, m);
    tt_model_close(m);
    return code;
}
