/* tensortrace diff --values A B: the values of two sides compared. */
#include "analyze/dumps/dump.h"
#include "base/outfile.h"
#include "bitnet/read.h"
#include "cli/command.h"
#include "cli/diff/valuediff_view.h"
#include "cli/input.h"
#include "cli/list.h"
#include "cli/report.h"
#include "cli/trace_options.h"
#include "report/render.h"
#include "report/svg.h"

#include <string.h>
#include <sys/stat.h>

/* `map`: file of a stage map, or NULL. Returns the exit code; if it is not TT_EXIT_OK, the reason
 * was printed. Closed with tt_dump_input_close in every case. */
static int dump_input_open(const char *path, const char *map, tt_dump_input *out)
{
    tt_error err;
    memset(out, 0, sizeof *out);
    if (map) {
        if (tt_stages_read(map, &out->stages, &err) != TT_OK) return tt_report_error(&err);
    } else if (!(out->stages = tt_stages_builtin())) {
        (void)tt_error_memory(&err, "a map of stages");
        return tt_report_error(&err);
    }
    struct stat st;
    if (tt_bitnet_is(path) || (stat(path, &st) == 0 && S_ISDIR(st.st_mode))) {
        if (tt_dump_of_bitnet(path, out->stages, &out->dump, &err) != TT_OK)
            return tt_report_error(&err);
        return TT_EXIT_OK;
    }
    const tt_input input = {.path = path};
    int code = tt_input_open_trace(&input, TT_INPUT_WALKS, &out->model);
    if (code != TT_EXIT_OK) return code;
    if (tt_dump_of_trace(out->model, path, out->stages, &out->dump, &err) != TT_OK)
        return tt_report_error(&err);
    return TT_EXIT_OK;
}

void tt_dump_input_close(tt_dump_input *in)
{
    tt_dump_close(in->dump);
    tt_model_close(in->model);
    tt_stages_free(in->stages);
    memset(in, 0, sizeof *in);
}

/* A file that is written besides the output. */
typedef struct extra {
    tt_outfile file;
    const char *path, *option;
} extra;

/* Before all the work; never replaces an input. */
static int open_extra(extra *x, const char *const paths[2], const tt_valuediff_settings *s,
                      bool force)
{
    tt_error err;
    const char *const read[] = {paths[0], paths[1], s->maps[0], s->maps[1]};
    if (!x->path) return TT_EXIT_OK;
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        const tt_input input = {.path = read[i]};
        if (read[i] && tt_input_is_within(&input, x->path))
            return tt_report_usage("%s is, or holds, what is read; name another %s", x->path,
                                   x->option);
    }
    return tt_outfile_open(&x->file, x->path, force, &err) == TT_OK ? TT_EXIT_OK
                                                                    : tt_report_error(&err);
}

static bool print_json(const tt_valuediff_view *v)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_valuediff_json(&j, v->d, v->paths);
    return tt_json_end(&j);
}

/* The first plot of the page as a file. */
static void write_plot(const tt_page *p, FILE *out)
{
    for (const tt_page_section *s = p->sections; s; s = s->next)
        for (const tt_page_block *b = s->blocks; b; b = b->next)
            if (b->kind == TT_BLOCK_PLOT && b->plot) tt_svg_write(b->plot, true, out);
}

static int write_files(const tt_page *p, extra *page, extra *svg)
{
    tt_error err;
    if (p->failed) return tt_report_memory();
    if (page->path) {
        tt_page_html(p, page->file.stream);
        if (tt_outfile_commit(&page->file, &err) != TT_OK) return tt_report_error(&err);
    }
    if (svg->path) {
        write_plot(p, svg->file.stream);
        if (tt_outfile_commit(&svg->file, &err) != TT_OK) return tt_report_error(&err);
    }
    return TT_EXIT_OK;
}

static tt_rowset rows_by(const tt_valuediff *d, tt_valuediff_by by)
{
    return by == TT_VALUEDIFF_BY_VALUE   ? tt_valuediff_items(d, d->items, d->n_items)
           : by == TT_VALUEDIFF_BY_BATCH ? tt_valuediff_steps(d)
                                         : tt_valuediff_rows(d, by == TT_VALUEDIFF_BY_STAGE);
}

/* by: the list to show, or NONE: all of it. */
static int show(const tt_valuediff_view *v, tt_valuediff_by by, const tt_list_options *list,
                bool json, extra *page, extra *svg)
{
    tt_page p;
    tt_valuediff_page_make(&p, v);
    int code = write_files(&p, page, svg);
    if (code == TT_EXIT_OK && by) {
        const tt_rowset set = rows_by(v->d, by);
        code = tt_list_show(&set, list, NULL);
    } else if (code == TT_EXIT_OK) {
        code = tt_report_output(json ? print_json(v) : tt_page_print(&p, stdout));
    }
    tt_page_close(&p);
    if (code != TT_EXIT_OK) return code;
    tt_valuediff_outcome outcome = tt_valuediff_outcome_of(v->d);
    return outcome == TT_VALUEDIFF_EQUAL || outcome == TT_VALUEDIFF_CLOSE ? TT_EXIT_OK
                                                                          : TT_EXIT_DIFFERS;
}

static int compare(const tt_valuediff_settings *s, tt_dump_input sides[2], tt_valuediff **out)
{
    tt_error err;
    tt_progress bar;
    tt_valuediff_options options = s->options;
    tt_progress_begin(&bar, "comparing", 0, "batches");
    options.progress = tt_progress_callback;
    options.context = &bar;
    tt_status status = tt_valuediff_make(sides[0].dump, sides[1].dump, &options, out, &err);
    tt_progress_end(&bar);
    for (unsigned i = 0; i < 2; i++) {
        if (sides[i].model) tt_trace_note_damage(sides[i].model);
    }
    return status == TT_OK ? TT_EXIT_OK : tt_report_error(&err);
}

int tt_valuediff_run(const tt_valuediff_settings *s, const char *const paths[2],
                     const tt_list_options *list, bool json, const char *html, bool force)
{
    extra page = {.path = html, .option = "--html"}, svg = {.path = s->svg, .option = "--svg"};
    tt_dump_input sides[2] = {0};
    tt_valuediff *d = NULL;
    int code = open_extra(&page, paths, s, force);
    if (code == TT_EXIT_OK) code = open_extra(&svg, paths, s, force);
    for (unsigned i = 0; i < 2 && code == TT_EXIT_OK; i++)
        code = dump_input_open(paths[i], s->maps[i], &sides[i]);
    if (code == TT_EXIT_OK) code = compare(s, sides, &d);
    if (code == TT_EXIT_OK) {
        const tt_valuediff_view v = {d, {paths[0], paths[1]}, list->limit};
        char text[TT_VALUEDIFF_SENTENCE], safe[TT_VALUEDIFF_SENTENCE];
        if (tt_valuediff_outcome_of(d) == TT_VALUEDIFF_NOTHING)
            code =
                tt_report_usage("%s", tt_trace_text(safe, sizeof safe, tt_valuediff_text(d, text)));
        else
            code = show(&v, s->by, list, json, &page, &svg);
    }
    tt_outfile_abandon(&page.file);
    tt_outfile_abandon(&svg.file);
    tt_valuediff_free(d);
    for (unsigned i = 0; i < 2; i++)
        tt_dump_input_close(&sides[i]);
    return code;
}
