/* The graph of a token's run: to draw, to search, to save in Graphviz's language. */
#include "analyze/collapse.h"
#include "analyze/find.h"
#include "analyze/topology.h"
#include "answer/graph.h"
#include "export/dot/dot.h"
#include "serve/endpoints.h"
#include "serve/traces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FOUND_MAX 2000u

/* --- which graph --- */

static tt_status of_run(const tt_model *m, uint64_t run, uint32_t *graph, uint32_t *out,
                        tt_error *err)
{
    if (run >= m->n_runs)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                            "there is no run %" PRIu64 ": the trace has %" PRIu32, run, m->n_runs);
    *out = (uint32_t)run;
    *graph = m->runs[run].graph;
    if (*graph == TT_NONE)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                            "the graph of run %" PRIu32 " was not recorded", m->runs[run].id);
    return TT_OK;
}

static tt_status of_batch(const tt_model *m, const tt_filter *f, uint32_t batch, uint32_t *graph,
                          uint32_t *run, tt_error *err)
{
    uint32_t n;
    *run = tt_topology_run_of(m, f, batch, &n);
    if (*run == TT_NONE)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                            "no graph of batch %" PRIu32 " was recorded%s",
                            tt_model_batch_number(m, batch),
                            f->model || f->has_context ? " of that model or context" : "");
    *graph = m->runs[*run].graph;
    return TT_OK;
}

static tt_status of_token(const tt_model *m, const tt_filter *f, uint64_t token, uint32_t *graph,
                          uint32_t *run, tt_error *err)
{
    uint32_t batch = tt_model_batch(m, (uint32_t)token + 1);
    if (batch == TT_NONE)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                            "there is no batch %" PRIu64 ": the trace has %" PRIu32, token,
                            m->n_batches);
    return of_batch(m, f, batch, graph, run, err);
}

/* By default as in `tensortrace graph`. */
static tt_status usual(const tt_model *m, const tt_filter *f, uint32_t *graph, uint32_t *run,
                       tt_error *err)
{
    uint32_t batch = tt_topology_usual_batch(m, f);
    if (batch != TT_NONE) return of_batch(m, f, batch, graph, run, err);
    if (f->model || f->has_context)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                            "the trace holds no batch of that model or context");
    if (m->n_graphs == 0)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "the trace holds no graph");
    *graph = m->n_graphs - 1;
    *run = tt_topology_last_run(m, *graph);
    return TT_OK;
}

static tt_status choose(const tt_request *q, uint32_t *graph, uint32_t *run, tt_error *err)
{
    uint64_t n = 0;
    tt_filter f;
    if (!tt_request_filter(q, &f, err)) return TT_E_USAGE;
    if (tt_request_text(q, "run")) {
        if (!tt_request_u64(q, "run", 0, UINT32_MAX - 1, 0, &n, err)) return TT_E_USAGE;
        return of_run(q->m, n, graph, run, err);
    }
    if (tt_request_text(q, "batch")) {
        if (!tt_request_u64(q, "batch", 0, UINT32_MAX - 1, 0, &n, err)) return TT_E_USAGE;
        return of_token(q->m, &f, n, graph, run, err);
    }
    return usual(q->m, &f, graph, run, err);
}

static tt_status make(const tt_request *q, tt_topology **out, tt_error *err)
{
    uint32_t graph = TT_NONE, run = TT_NONE;
    tt_status status = choose(q, &graph, &run, err);
    if (status != TT_OK) return status;
    if (q->m->graphs[graph].n_tensors > TT_GRAPH_COLUMNS_MAX)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "graph %" PRIu32 " has %" PRIu32
                            " nodes and leafs, more than can be drawn (%u); `tensortrace graph` "
                            "prints it",
                            q->m->graphs[graph].id, q->m->graphs[graph].n_tensors,
                            TT_GRAPH_COLUMNS_MAX);
    return tt_topology_make(q->m, graph, run, out, err);
}

/* --- reply --- */

tt_status tt_answer_graph(tt_request *q, tt_reply *r, tt_error *err)
{
    tt_topology *t = NULL;
    tt_collapse c = {0};
    tt_critical critical = {0};
    tt_status status = make(q, &t, err);
    if (status == TT_OK) status = tt_collapse_make(t, &c, err);
    if (status == TT_OK) status = tt_critical_find(t, &critical, err);
    if (status == TT_OK && !tt_graph_columns_json(tt_reply_json(r), &c, &critical))
        status = tt_error_memory(err, "the graph");
    tt_critical_free(&critical);
    tt_collapse_free(&c);
    tt_topology_free(t);
    return status;
}

tt_status tt_answer_graph_search(tt_request *q, tt_reply *r, tt_error *err)
{
    uint32_t graph = TT_NONE, run = TT_NONE;
    const char *text = tt_request_text(q, "q");
    tt_status status = choose(q, &graph, &run, err);
    if (status != TT_OK) return status;
    if (!text)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "q: which words to look for is missing");
    uint32_t *found = calloc(FOUND_MAX, sizeof *found);
    if (!found) return tt_error_memory(err, "the graph");
    const uint32_t n = tt_graph_search(&q->m->graphs[graph], text, found, FOUND_MAX);
    tt_json *j = tt_reply_json(r);
    tt_json_object(j);
    tt_json_kv_u64(j, "total", n);
    tt_json_key(j, "ids");
    tt_json_array(j);
    for (uint32_t i = 0; i < n && i < FOUND_MAX; i++)
        tt_json_u64(j, found[i]);
    tt_json_array_end(j);
    tt_json_object_end(j);
    free(found);
    return TT_OK;
}

static tt_status write_dot(const tt_graph_view *v, bool collapse, FILE *out, tt_error *err)
{
    bool ok = collapse ? tt_graph_print_collapsed(v, out) : tt_graph_print_dot(v, out);
    if (ok && !ferror(out)) return TT_OK;
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write the graph: %s",
                        strerror(errno ? errno : EIO));
}

tt_status tt_answer_graph_dot(tt_request *q, tt_reply *r, tt_error *err)
{
    /* In the order of tt_graph_color. */
    static const char *const colors[] = {"none", "time", "bytes", "op", NULL};
    static const char *const whether[] = {"0", "1", NULL};
    size_t color = 0, collapse = 0;
    tt_topology *t = NULL;
    if (!tt_request_choice(q, "color", colors, 0, &color, err) ||
        !tt_request_choice(q, "collapse", whether, 0, &collapse, err))
        return TT_E_USAGE;
    tt_status status = make(q, &t, err);
    if (status != TT_OK) return status;
    tt_graph_view v = {
        .path = tt_traces_name(q->traces, q->trace_id), .t = t, .color = (tt_graph_color)color};
    FILE *out = tt_reply_file(r, "graph.dot", "text/vnd.graphviz");
    if (!out)
        status =
            tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "no room for the file: %s", strerror(errno));
    else if (!tt_graph_view_choose(&v))
        status = tt_error_memory(err, "the graph");
    else
        status = write_dot(&v, collapse, out, err);
    tt_graph_view_free(&v);
    tt_topology_free(t);
    return status;
}
