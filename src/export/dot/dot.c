#include "export/dot/dot.h"

#include "base/json.h"
#include "base/outfile.h"
#include "base/path.h"
#include "base/units.h"
#include "export/workers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The format `dot`: the graphs of a trace in Graphviz's language, one file each. For the whole
 * trace: graph_NNNNN.dot, each distinct graph once, as computed by its last run. With a filter:
 * token_NNNNN.dot for each batch that passes, as computed for it. Graphs as ggml dumps them are
 * always of the latter kind. */

#define FILE_BYTES_MAX ((size_t)1 << 30)

typedef struct picture {
    uint32_t graph; /* in tt_model.graphs */
    uint32_t run;   /* in tt_model.runs, or TT_NONE */
    uint32_t number;
} picture;

typedef struct dot {
    const tt_model *m;
    tt_outdir folder;
    bool by_token, as_ggml;
    picture *list;
    uint32_t n;
    uint64_t n_missing; /* batches without a graph */
    char title[64];
} dot;

static bool is_filtered(const tt_filter *f)
{
    return f && (f->has_batch || f->phase || f->model || f->has_context);
}

static void list_tokens(dot *d, const tt_filter *filter, const uint32_t *run_of)
{
    for (uint32_t i = 0; i < d->m->n_batches; i++) {
        if (!tt_filter_batch(filter, d->m, i)) continue;
        uint32_t run = run_of[i];
        if (run == TT_NONE)
            d->n_missing++;
        else
            d->list[d->n++] = (picture){d->m->runs[run].graph, run, tt_model_batch_number(d->m, i)};
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
    tt_topology *t = NULL;
    char *text = NULL;
    size_t size = 0;
    (void)own;
    tt_status status = d->as_ggml ? TT_OK : tt_topology_make(m, p->graph, p->run, &t, err);
    if (status != TT_OK) return status;
    tt_graph_view v = {.path = d->title, .t = t, .color = TT_COLOR_OP};
    FILE *stream = open_memstream(&text, &size);
    bool ok = stream && (d->as_ggml ? tt_graph_print_ggml(&m->graphs[p->graph], stream)
                                    : tt_graph_view_choose(&v) && tt_graph_print_dot(&v, stream));
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

static void report(const dot *d, const tt_export_options *o)
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
    dot d = {.m = m,
             .by_token = options->as_ggml || is_filtered(options->filter),
             .as_ggml = options->as_ggml};
    (void)snprintf(d.title, sizeof d.title, "run %02x%02x%02x%02x", id[0], id[1], id[2], id[3]);
    /* The folder first, because its failure is the cheapest. */
    tt_status status = tt_outdir_open(&d.folder, path, options->force, err);
    if (status != TT_OK) return status;
    status = list_pictures(&d, options->filter, err);
    if (status == TT_OK) status = write_files(&d, options, err);
    tt_outdir_abandon(&d.folder);
    if (status == TT_OK) report(&d, options);
    free(d.list);
    return status;
}

const tt_export_format tt_format_dot = {
    .name = "dot",
    .summary = "a folder of graphs for Graphviz: each once, or one per token",
    .takes = TT_EXPORT_TAKES_FILTER | TT_EXPORT_TAKES_GGML,
    .write = write_dot};

typedef enum label { LABEL_TEXT, LABEL_HTML, LABEL_RECORD } label;

/* One character, escaped for the kind of label. Graphviz resolves entities in all. */
static void put_character(FILE *out, const char *s, size_t n, label kind)
{
    if (n != 1) {
        (void)fwrite(s, 1, n, out);
        return;
    }
    unsigned char c = (unsigned char)*s;
    if (c < 0x20 || c == 0x7f)
        (void)fputc('?', out);
    else if (c == '&')
        (void)fputs("&amp;", out);
    else if (c == '<' && kind == LABEL_HTML)
        (void)fputs("&lt;", out);
    else if (c == '>' && kind == LABEL_HTML)
        (void)fputs("&gt;", out);
    else if (c == '"' && kind == LABEL_HTML)
        (void)fputs("&quot;", out);
    else if (((c == '"' || c == '\\') && kind != LABEL_HTML) ||
             (kind == LABEL_RECORD && strchr("{}|<>", c)))
        (void)fprintf(out, "\\%c", c);
    else
        (void)fputc(c, out);
}

static void put_text(FILE *out, const char *text, size_t most, label kind)
{
    size_t left = strlen(text), characters = 0;
    while (left > 0) {
        size_t n = tt_utf8_length(text, left);
        if (characters++ == most) {
            (void)fputs("...", out);
            return;
        }
        if (n == 0)
            (void)fputc('?', out);
        else
            put_character(out, text, n, kind);
        text += n ? n : 1;
        left -= n ? n : 1;
    }
}

void tt_dot_text(FILE *out, const char *text, size_t most)
{
    put_text(out, text, most, LABEL_TEXT);
}

void tt_dot_html(FILE *out, const char *text, size_t most)
{
    put_text(out, text, most, LABEL_HTML);
}

void tt_dot_record(FILE *out, const char *text, size_t most)
{
    put_text(out, text, most, LABEL_RECORD);
}

/* --- colours --- */

/* One of Graphviz's Brewer schemes: from light to dark, distinguishable for colour-blind people and
 * in grey print. */
#define SCHEME "/ylgnbu9/"
#define STEPS 9u
#define STEP_DARK 6u /* white letters from here on */

/* Kinds of ops, in eight colours that colour-blind people can distinguish. */
static const struct kind {
    const char *name;
    const char *fill;
    bool dark;
    const char *ops[14];
} kinds[] = {
    {"matmul", "#56b4e9", false, {"MUL_MAT", "MUL_MAT_ID", "OUT_PROD"}},
    {"attention", "#0072b2", true, {"FLASH_ATTN_EXT", "SOFT_MAX"}},
    {"norm", "#f0e442", false, {"RMS_NORM", "NORM", "GROUP_NORM", "L2_NORM"}},
    {"position", "#cc79a7", false, {"ROPE", "TIMESTEP_EMBEDDING"}},
    {"activation", "#e69f00", false, {"UNARY", "GLU", "SILU", "LEAKY_RELU"}},
    {"element by element",
     "#009e73",
     true,
     {"ADD", "ADD1", "ADD_ID", "SUB", "MUL", "DIV", "SCALE", "SQR", "SQRT", "CLAMP"}},
    {"moves data",
     "#d55e00",
     true,
     {"GET_ROWS", "SET_ROWS", "CPY", "CONT", "DUP", "SET", "CONCAT", "REPEAT", "PAD"}},
    {"other", "#bbbbbb", false, {NULL}},
};
#define KINDS (sizeof kinds / sizeof *kinds)

static const struct kind *kind_of(const char *op)
{
    for (size_t i = 0; i + 1 < KINDS; i++)
        for (size_t k = 0; k < sizeof kinds[i].ops / sizeof *kinds[i].ops && kinds[i].ops[k]; k++)
            if (strcmp(kinds[i].ops[k], op) == 0) return &kinds[i];
    return &kinds[KINDS - 1];
}

void tt_dot_fill(FILE *out, const tt_dot_scale *scale, const char *op, uint64_t value, bool known)
{
    if (scale->color == TT_COLOR_OP) {
        const struct kind *kind = kind_of(op);
        (void)fprintf(out, ", fillcolor=\"%s\"%s", kind->fill,
                      kind->dark ? ", fontcolor=white" : "");
    } else if (scale->color != TT_COLOR_NONE && known) {
        uint64_t most = scale->most ? scale->most : 1;
        unsigned __int128 at = (unsigned __int128)(value < most ? value : most) * STEPS / most;
        unsigned step = at >= STEPS ? STEPS : (unsigned)at + 1;
        (void)fprintf(out, ", fillcolor=\"" SCHEME "%u\"%s", step,
                      step >= STEP_DARK ? ", fontcolor=white" : "");
    }
}

/* --- title and legend --- */

static void legend(FILE *out, const tt_graph_view *v, const tt_dot_scale *scale)
{
    char most[TT_UNITS_TEXT];
    if (scale->color == TT_COLOR_NONE) return;
    (void)fputs("<TR><TD><TABLE BORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"3\"><TR>", out);
    if (scale->color == TT_COLOR_OP) {
        for (size_t i = 0; i < KINDS; i++)
            (void)fprintf(out, "<TD BGCOLOR=\"%s\"><FONT COLOR=\"%s\">%s</FONT></TD>",
                          kinds[i].fill, kinds[i].dark ? "white" : "black", kinds[i].name);
    } else {
        bool time = scale->color == TT_COLOR_TIME;
        (void)fprintf(out, "<TD>%s &nbsp; 0</TD>", time ? "time" : "weights read");
        for (unsigned i = 1; i <= STEPS; i++)
            (void)fprintf(out, "<TD BGCOLOR=\"" SCHEME "%u\">&nbsp;&nbsp;&nbsp;</TD>", i);
        if (time)
            tt_units_ns(most, tt_model_span_ns(v->t->m, scale->most));
        else
            tt_units_bytes(most, scale->most);
        (void)fprintf(out, "<TD>%s &nbsp; (white: not observed)</TD>", most);
    }
    (void)fputs("</TR></TABLE></TD></TR>", out);
}

static void title(FILE *out, const tt_graph_view *v)
{
    const tt_topology *t = v->t;
    tt_dot_html(out, tt_base_name(v->path), 80);
    (void)fprintf(out, ": graph %" PRIu32, t->graph->id);
    if (t->run == TT_NONE) return;
    const tt_run *r = &t->m->runs[t->run];
    if (r->batch != TT_NONE)
        (void)fprintf(out, ", batch %" PRIu32 " (%s)", tt_model_batch_number(t->m, r->batch),
                      tt_phase_name(t->m->batches[r->batch].phase));
    (void)fprintf(out, ", run %" PRIu32, r->id);
    if (v->has_layer && v->layer >= 0)
        (void)fprintf(out, ", layer %s", tt_layer_text((char[TT_LAYER_TEXT]){0}, v->layer));
    if (v->has_layer && v->layer < 0) (void)fputs(", outside any layer", out);
}

void tt_dot_begin(FILE *out, const tt_graph_view *v, const tt_dot_scale *scale, const char *note)
{
    (void)fputs("digraph tensortrace {\n"
                "  charset=\"UTF-8\"; rankdir=TB; labelloc=t; fontname=\"Helvetica\"; "
                "fontsize=14; nodesep=0.25; ranksep=0.35;\n"
                "  node [shape=box, style=filled, fillcolor=white, fontname=\"Helvetica\", "
                "fontsize=10, margin=\"0.08,0.04\", height=0.3];\n"
                "  edge [fontname=\"Helvetica\", fontsize=8, fontcolor=\"#777777\", "
                "color=\"#444444\", arrowsize=0.6];\n"
                "  label=<<TABLE BORDER=\"0\" CELLSPACING=\"2\"><TR><TD><B>",
                out);
    title(out, v);
    (void)fputs("</B></TD></TR><TR><TD>", out);
    tt_dot_html(out, note, 400);
    (void)fputs("</TD></TR>", out);
    legend(out, v, scale);
    (void)fputs("</TABLE>>;\n", out);
}
