/* The format `dot`: the graphs of a trace in Graphviz's language, a file each. Of the whole trace:
 * graph_NNNNN.dot, each distinct graph once, as its last run computed it. With a filter:
 * token_NNNNN.dot for each batch that passes, as it was computed for that. */
#include "base/outdir.h"
#include "export/dot/dot.h"
#include "export/workers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX ((size_t)1 << 30)

typedef struct picture {
    uint32_t graph; /* in tt_model.graphs */
    uint32_t run;   /* in tt_model.runs, or TT_NONE */
    uint32_t number;
} picture;

typedef struct dot {
    const tt_model *m;
    tt_outdir folder;
    bool by_token;
    picture *list;
    uint32_t n;
    uint64_t n_missing; /* batches without a graph */
    char title[64];
} dot;

static bool is_filtered(const tt_filter *f)
{
    return f && (f->has_token || f->phase);
}

static void list_tokens(dot *d, const tt_filter *filter, const uint32_t *run_of)
{
    for (uint32_t i = 0; i < d->m->n_batches; i++) {
        if (!tt_filter_batch(filter, d->m, i)) continue;
        uint32_t run = run_of[i];
        if (run == TT_NONE)
            d->n_missing++;
        else
            d->list[d->n++] = (picture){d->m->runs[run].graph, run, tt_model_token(d->m, i)};
    }
}

static void list_graphs(dot *d, const uint32_t *last_run)
{
    for (uint32_t i = 0; i < d->m->n_graphs; i++)
        d->list[d->n++] = (picture){i, last_run[i], d->m->graphs[i].id};
}

static tt_status list_pictures(dot *d, const tt_filter *filter, tt_error *err)
{
    const tt_model *m = d->m;
    uint32_t *runs = d->by_token ? tt_topology_run_of_each(m) : tt_topology_last_run_of_each(m);
    d->list = calloc((size_t)m->n_graphs + m->n_batches + 1, sizeof *d->list);
    bool ok = runs && d->list;
    if (ok && d->by_token)
        list_tokens(d, filter, runs);
    else if (ok)
        list_graphs(d, runs);
    free(runs);
    return ok ? TT_OK : tt_error_memory(err, "the list of graphs");
}

static tt_status make(void *context, void *own, const tt_model *m, uint32_t part, tt_bytes *out,
                      tt_error *err)
{
    const dot *d = context;
    const picture *p = &d->list[part];
    tt_topology *t;
    char *text = NULL;
    size_t size = 0;
    (void)own;
    tt_status status = tt_topology_make(m, p->graph, p->run, &t, err);
    if (status != TT_OK) return status;
    tt_graph_view v = {.path = d->title, .t = t, .color = TT_COLOR_OP};
    FILE *stream = open_memstream(&text, &size);
    bool ok = stream && tt_graph_view_choose(&v) && tt_graph_print_dot(&v, stream);
    if (stream) ok &= fclose(stream) == 0;
    if (ok) tt_bytes_put(out, text, size);
    free(text);
    tt_graph_view_free(&v);
    tt_topology_free(t);
    return ok ? TT_OK : tt_error_memory(err, "a graph");
}

static tt_status take(void *context, uint32_t part, const tt_bytes *made, tt_error *err)
{
    const dot *d = context;
    char name[32];
    (void)snprintf(name, sizeof name, "%s_%05" PRIu32 ".dot", d->by_token ? "token" : "graph",
                   d->list[part].number);
    FILE *file = tt_outdir_file(&d->folder, name, err);
    if (!file) return err->status;
    (void)fwrite(made->data, 1, made->size, file);
    return tt_outdir_close(file, name, err);
}

static void tell(const dot *d, const tt_export_options *o)
{
    char text[160];
    if (!o->note) return;
    if (d->n_missing) {
        (void)snprintf(text, sizeof text, "of %" PRIu64 " token%s no graph was recorded",
                       d->n_missing, d->n_missing == 1 ? "" : "s");
        o->note(o->note_context, text);
    }
    if (d->n == 0) o->note(o->note_context, "there is no graph to write: the folder is empty");
}

static tt_status write_files(dot *d, const tt_export_options *options, tt_error *err)
{
    const tt_workers_plan plan = {.n_parts = d->n,
                                  .threads = options->threads,
                                  .make = make,
                                  .take = take,
                                  .context = d,
                                  .limit_bytes = FILE_BYTES_MAX,
                                  .progress = options->progress,
                                  .progress_context = options->progress_context};
    tt_status status = tt_workers_run(d->m, &plan, err);
    return status == TT_OK ? tt_outdir_commit(&d->folder, err) : status;
}

static tt_status write_dot(const tt_model *m, const char *path, const tt_export_options *options,
                           tt_error *err)
{
    const uint8_t *id = m->trace.header.run_id;
    dot d = {.m = m, .by_token = is_filtered(options->filter)};
    (void)snprintf(d.title, sizeof d.title, "run %02x%02x%02x%02x", id[0], id[1], id[2], id[3]);
    /* The folder first: it is the cheapest to fail. */
    tt_status status = tt_outdir_open(&d.folder, path, options->force, err);
    if (status != TT_OK) return status;
    status = list_pictures(&d, options->filter, err);
    if (status == TT_OK) status = write_files(&d, options, err);
    tt_outdir_abandon(&d.folder);
    if (status == TT_OK) tell(&d, options);
    free(d.list);
    return status;
}

const tt_export_format tt_format_dot = {
    .name = "dot",
    .summary = "a folder of graphs for Graphviz: each once, or one a token",
    .takes = TT_EXPORT_TAKES_FILTER,
    .write = write_dot};
