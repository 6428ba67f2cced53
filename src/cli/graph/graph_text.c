/* `tensortrace graph` as text. */
#include "base/units.h"
#include "cli/graph/graph.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define NAMES_SHOWN 12u /* of inputs and outputs */

static void line(FILE *out, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void line(FILE *out, const char *what, const char *fmt, ...)
{
    char text[1024], shown[1024], whole[1024 + 16];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    (void)snprintf(whole, sizeof whole, "%-13s%s", what, tt_trace_text(shown, sizeof shown, text));
    tt_table_text(out, 13, whole);
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void run_lines(const tt_topology *t, FILE *out)
{
    const tt_model *m = t->m;
    char begun[TT_UNITS_TEXT] = "", length[TT_UNITS_TEXT] = "";
    if (t->run == TT_NONE) {
        line(out, "run", "none: the graph was described, but no computation of it");
        return;
    }
    const tt_run *r = &m->runs[t->run];
    if (r->batch != TT_NONE)
        line(out, "batch", "%" PRIu32 " (%s)", tt_model_batch_number(m, r->batch),
             tt_phase_name(m->batches[r->batch].phase));
    else
        line(out, "batch", "none: the run was outside any batch");
    if (m->clock.known) {
        (void)snprintf(begun, sizeof begun, ", begun at ");
        tt_units_ns(begun + strlen(begun), tt_model_ns(m, r->begin_ticks));
    }
    if (m->clock.known && r->ended)
        tt_units_ns(length, tt_model_span_ns(m, r->end_ticks - r->begin_ticks));
    line(out, "run", "%" PRIu32 "%s%s%s", r->id, begun, length[0] ? ", took " : "",
         r->ended ? length : ", never ended");
}

static void op_line(const tt_topology *t, FILE *out)
{
    if (t->n_ops == 0) {
        line(out, "ops", "none recorded%s: no times, and fusions are not known",
             t->run == TT_NONE ? "" : " in this run");
        return;
    }
    if (t->n_fused_ops)
        line(out, "ops",
             "%" PRIu32 " recorded; %" PRIu32 " of them computed %" PRIu32 " nodes (fused)",
             t->n_ops, t->n_fused_ops, t->n_fused_nodes);
    else
        line(out, "ops", "%" PRIu32 " recorded, none of fused nodes", t->n_ops);
    if (t->n_missing)
        line(out, "", "of %" PRIu32 " node%s that execute%s no op was recorded", t->n_missing,
             plural(t->n_missing), t->n_missing == 1 ? "s" : "");
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
    line(out, what, "%s%s", text, n > shown ? ", ..." : "");
}

static void backend_lines(const tt_topology *t, FILE *out)
{
    for (uint32_t i = 0; i < t->by_backend.n; i++) {
        const tt_topology_sum *s = &t->by_backend.list[i];
        line(out, i == 0 ? "backend" : "", "%s: %" PRIu64 " node%s",
             s->key[0] ? s->key : "not observed", s->count, plural(s->count));
    }
}

static void summary(const tt_graph_view *v, FILE *out)
{
    const tt_topology *t = v->t;
    const tt_graph *g = t->graph;
    char size[TT_UNITS_TEXT], read[TT_UNITS_TEXT];
    line(out, "graph",
         "%" PRIu32 " of %" PRIu32 " in the trace: %" PRIu32 " nodes, %" PRIu32 " leafs, %" PRIu64
         " edges",
         g->id, t->m->n_graphs, g->n_nodes, t->n_leafs, t->n_edges);
    line(out, "", "stored once for %" PRIu32 " batch%s in %" PRIu32 " run%s", t->n_batches,
         t->n_batches == 1 ? "" : "es", t->n_runs, plural(t->n_runs));
    run_lines(t, out);
    line(out, "nodes", "%" PRIu32 " execute, %" PRIu32 " only view or reshape",
         g->n_nodes - t->n_views, t->n_views);
    op_line(t, out);
    line(out, "weights", "%" PRIu32 " tensor%s, %s; the run reads %s%s", t->n_weights,
         plural(t->n_weights), tt_units_bytes(size, t->weights_size_bytes),
         t->total.at_most ? "at most " : "", tt_units_bytes(read, t->total.weight_bytes));
    backend_lines(t, out);
    name_lines(t, out, "inputs", TT_TENSOR_INPUT, t->n_inputs);
    name_lines(t, out, "outputs", TT_TENSOR_OUTPUT, t->n_outputs);
}

/* --- tables --- */

static void sum_row(tt_table *table, const tt_topology *t, const char *key,
                    const tt_topology_sum *s)
{
    char name[128], count[TT_UNITS_TEXT], total[TT_UNITS_TEXT] = "", share[16] = "";
    char size[TT_UNITS_TEXT], bytes[TT_UNITS_TEXT + 4] = "";
    if (s->timed && t->m->clock.known) {
        tt_units_ns(total, tt_model_span_ns(t->m, s->ticks));
        if (t->total.ticks)
            (void)snprintf(share, sizeof share, "%.1f %%",
                           100 * (double)s->ticks / (double)t->total.ticks);
    }
    if (s->weight_bytes)
        (void)snprintf(bytes, sizeof bytes, "%s%s", s->at_most ? "<= " : "",
                       tt_units_bytes(size, s->weight_bytes));
    const char *cells[] = {tt_trace_text(name, sizeof name, key), tt_units_count(count, s->count),
                           total, share, bytes};
    tt_table_row(table, cells);
}

static bool sums_table(const tt_topology *t, const char *title, const tt_topology_sums *sums,
                       bool layers, FILE *out)
{
    tt_table *table = tt_table_new(out);
    if (!table) return false;
    tt_table_column(table, title, layers ? TT_COLUMN_RIGHT : TT_COLUMN_SHRINK | TT_COLUMN_KEY);
    tt_table_column(table, "OPS", TT_COLUMN_RIGHT);
    tt_table_column(table, "TOTAL", TT_COLUMN_RIGHT);
    tt_table_column(table, "SHARE", TT_COLUMN_RIGHT);
    tt_table_column(table, "WEIGHTS", TT_COLUMN_RIGHT);
    for (uint32_t i = 0; i < sums->n; i++) {
        char layer[16] = "-";
        if (layers && sums->list[i].layer_id >= 0)
            (void)snprintf(layer, sizeof layer, "%" PRId32, sums->list[i].layer_id);
        sum_row(table, t, layers ? layer : sums->list[i].key, &sums->list[i]);
    }
    sum_row(table, t, "all", &t->total);
    (void)fputc('\n', out);
    return tt_table_print(table);
}

static void sources_text(const tt_graph *g, uint32_t i, char *out, size_t room)
{
    tt_edge edges[TT_EDGES_MAX];
    uint32_t n = tt_topology_edges(g, i, edges);
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t k = 0; k < n; k++) {
        char name[128];
        int length = snprintf(out + used, room - used, "%s%s%s", k ? ", " : "",
                              tt_trace_text(name, sizeof name, g->tensors[edges[k].source].name),
                              edges[k].is_view ? " [view]" : "");
        if (length > 0) used += (size_t)length < room - used ? (size_t)length : room - used - 1;
    }
}

/* The op that computed the node: its own, or that of the covering node. */
static const char *time_text(const tt_topology *t, uint32_t i, char *out, size_t room)
{
    const tt_topology_node *n = &t->nodes[i];
    char text[TT_UNITS_TEXT];
    out[0] = '\0';
    if (n->op != TT_NONE && n->op != i)
        (void)snprintf(out, room, "in %" PRIu32, n->op);
    else if (n->timed && t->m->clock.known)
        (void)snprintf(out, room, "%s", tt_units_ns(text, tt_model_span_ns(t->m, n->ticks)));
    return out;
}

static bool nodes_table(const tt_graph_view *v, FILE *out)
{
    static const char *const titles[] = {"ID", "OP", "NODE", "TYPE", "SHAPE", "TIME", "SOURCES"};
    const tt_topology *t = v->t;
    tt_table *table = tt_table_new(out);
    if (!table) return false;
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        tt_table_column(table, titles[i],
                        i == 0 || i == 5             ? TT_COLUMN_RIGHT
                        : i == 1 || i == 2 || i == 6 ? TT_COLUMN_SHRINK
                                                     : TT_COLUMN_LEFT);
    for (uint32_t i = 0; i < t->graph->n_nodes; i++) {
        const tt_tensor *x = &t->graph->tensors[i];
        char id[16], name[128], op[64], type[32], shape[96], time[TT_UNITS_TEXT + 8], sources[400];
        if (v->shown[i] != TT_GRAPH_SHOW_ASKED) continue;
        (void)snprintf(id, sizeof id, "%" PRIu32, i);
        sources_text(t->graph, i, sources, sizeof sources);
        const char *cells[] = {id,
                               tt_trace_text(op, sizeof op, x->op_desc),
                               tt_trace_text(name, sizeof name, x->name),
                               tt_trace_text(type, sizeof type, x->type_name),
                               tt_graph_shape(x, shape, sizeof shape),
                               time_text(t, i, time, sizeof time),
                               sources};
        tt_table_row(table, cells);
    }
    (void)fputc('\n', out);
    return tt_table_print(table);
}

bool tt_graph_print_text(const tt_graph_view *v, FILE *out)
{
    summary(v, out);
    if (v->has_layer) return nodes_table(v, out) && !ferror(out);
    return sums_table(v->t, "OP", &v->t->by_op, false, out) &&
           sums_table(v->t, "LAYER", &v->t->by_layer, true, out) && !ferror(out);
}
