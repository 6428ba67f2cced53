/* tensortrace report FILE: one page that answers the usual questions about a run, or a folder of
 * them. */
#include "analyze/cache/paging.h"
#include "analyze/work.h"
#include "base/outfile.h"
#include "base/path.h"
#include "cli/command.h"
#include "cli/doctor/doctor.h"
#include "cli/export_interrupt.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/runs.h"
#include "cli/trace_options.h"
#include "experiment/chosen.h"
#include "report/json.h"
#include "report/render.h"
#include "report/sections.h"
#include "report/svg.h"
#include "study/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

struct options {
    tt_input input;
    bool markdown, force, no_measure;
    const char *output;                                /* NULL: not given; "-": standard output */
    double bytes_per_s, flops_per_s, disk_bytes_per_s; /* 0: not given */
    tt_where where;
};

static void take_disk(void *bytes_per_s, char *arg, tt_parse *p)
{
    tt_disk_speed disk;
    tt_error err;
    if (tt_disk_speed_parse(arg, &disk, &err) != TT_OK) tt_parse_refuse(p, "%s", err.message);
    *(double *)bytes_per_s = disk.bytes_per_s;
}

static const tt_option option_table[] = {
    {"output", 'o', "OUTPUT",
     "Write to OUTPUT (- for standard output); default: standard output, or on a terminal a file "
     "with the trace's name and .html",
     1, TT_TEXT(struct options, output)},
    {"markdown", 0, 0,
     "Markdown instead of HTML; plots go into the folder OUTPUT.plots beside OUTPUT", 1,
     TT_FLAG(struct options, markdown), .excludes = "json"},
    {"force", 0, 0, "Overwrite OUTPUT if it exists", 1, TT_FLAG(struct options, force)},
    TT_WHERE(struct options, where, 1),
    {"bandwidth", 0, "RATE", "What the machine reads from memory a second: 25G", 2,
     TT_RATE(struct options, bytes_per_s)},
    {"peak", 0, "FLOPS", "The machine's operations per second: 400G, 1.5T", 2,
     TT_RATE(struct options, flops_per_s)},
    {"no-measure", 0, 0, "Measure nothing: without the two options above, there is no roofline", 2,
     TT_FLAG(struct options, no_measure)},
    {"disk", 0, "RATE[,...]",
     "The disk's bytes per second (default: 2G; for the bounds of boost, its own); what follows, "
     "as "
     "in `doctor --disk` and `whatif`, is not used",
     2, TT_TAKE(struct options, disk_bytes_per_s, take_disk)},
    {0},
};

/* --- the machine --- */

/* Whether the trace was made on this machine; else why nothing is measured. */
static bool is_this_machine(const tt_model *m, char *why, size_t room)
{
    struct utsname here;
    tt_doctor_host host;
    const char *name = tt_model_environment(m, "host"), *cpu = tt_model_environment(m, "cpu");
    memset(&host, 0, sizeof host);
    tt_doctor_host_look(&host);
    if (uname(&here) != 0) here.nodename[0] = '\0';
    if (!name || !cpu)
        (void)snprintf(why, room, "the trace does not say which machine it was made on");
    else if (strcmp(name, here.nodename) != 0)
        (void)snprintf(
            why, room,
            "the trace was made on another machine (%.60s; this one is %.60s): --bandwidth and "
            "--peak say what that one can do",
            name, here.nodename);
    else if (strcmp(cpu, host.cpu) != 0)
        (void)snprintf(
            why, room,
            "the trace was made on another processor (%.60s): --bandwidth and --peak say what it "
            "can do",
            cpu);
    else
        return true;
    return false;
}

static uint32_t most_threads(const tt_model *m)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < m->n_runs; i++)
        if (m->runs[i].threads > most && m->runs[i].threads <= TT_MACHINE_THREADS_MAX)
            most = m->runs[i].threads;
    return most;
}

static void find_edges(const struct options *o, const tt_model *m, tt_edges *e)
{
    tt_error err;
    *e = (tt_edges){.bytes_per_s = o->bytes_per_s, .flops_per_s = o->flops_per_s};
    if (o->bytes_per_s > 0) e->bandwidth_from = TT_EDGES_GIVEN;
    if (o->flops_per_s > 0) e->peak_from = TT_EDGES_GIVEN;
    if (e->bandwidth_from && e->peak_from) return;
    if (o->no_measure) {
        (void)snprintf(e->why_not, sizeof e->why_not, "--no-measure was given");
        return;
    }
    if (m->n_runs == 0) {
        (void)snprintf(e->why_not, sizeof e->why_not, "there are no ops to compare with them");
        return;
    }
    if (!is_this_machine(m, e->why_not, sizeof e->why_not)) return;
    if (tt_machine_measure(most_threads(m), &e->machine, &err) != TT_OK) {
        (void)snprintf(e->why_not, sizeof e->why_not, "%.190s", err.message);
        return;
    }
    if (!e->bandwidth_from) {
        e->bandwidth_from = TT_EDGES_MEASURED;
        e->bytes_per_s = e->machine.read_bytes_per_s;
    }
    if (!e->peak_from) {
        e->peak_from = TT_EDGES_MEASURED;
        e->flops_per_s = e->machine.flops_per_s;
        e->int8_ops_per_s = e->machine.int8_ops_per_s;
    }
}

/* --- writing --- */

static tt_status write_plot(const tt_plot *plot, tt_outdir *dir, tt_error *err)
{
    char name[64], *shown = NULL;
    (void)snprintf(name, sizeof name, "%.40s.svg", plot->id);
    if (asprintf(&shown, "%s/%s", dir->path, name) < 0)
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    FILE *out = tt_outdir_file(dir, name, err);
    if (out) tt_svg_write(plot, true, out);
    tt_status status = out ? tt_outdir_close(out, shown, err) : err->status;
    free(shown);
    return status;
}

/* The plots as files. */
static tt_status write_plots(const tt_page *p, tt_outdir *dir, tt_error *err)
{
    tt_status status = TT_OK;
    for (const tt_page_section *s = p->sections; s; s = s->next)
        for (const tt_page_block *b = s->blocks; b && status == TT_OK; b = b->next)
            if (b->kind == TT_BLOCK_PLOT && b->plot && !tt_plot_is_empty(b->plot))
                status = write_plot(b->plot, dir, err);
    return status;
}

/* FILE.plots, then FILE: when FILE exists, its plots do. Everything that can fail for lack of space
 * has been written before; if FILE fails all the same, the plots are removed. */
static tt_status commit_both(tt_outdir *dir, tt_outfile *file, const char *folder, tt_error *err)
{
    struct stat st;
    const bool replaces = lstat(folder, &st) == 0;
    if (fflush(file->stream) != 0)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write %s: %s", file->path,
                            strerror(errno));
    tt_status status = tt_outdir_commit(dir, err);
    if (status != TT_OK) return status;
    status = tt_outfile_commit(file, err);
    if (status != TT_OK && !replaces) (void)tt_outdir_remove(folder);
    return status;
}

static tt_status write_both(const tt_page *p, const char *path, const char *folder, bool force,
                            tt_error *err)
{
    tt_outdir dir;
    tt_outfile file;
    tt_status status = tt_outfile_open(&file, path, force, err);
    if (status != TT_OK) return status;
    status = tt_outdir_open(&dir, folder, force, err);
    if (status == TT_OK) {
        tt_page_markdown(p, tt_base_name(folder), file.stream);
        status = write_plots(p, &dir, err);
        if (status == TT_OK) status = commit_both(&dir, &file, folder, err);
        tt_outdir_abandon(&dir);
    }
    tt_outfile_abandon(&file);
    return status;
}

static tt_status write_markdown(const tt_page *p, const char *path, bool force, tt_error *err)
{
    char *folder = NULL;
    if (asprintf(&folder, "%s.plots", path) < 0)
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    tt_export_guard(folder);
    tt_status status = write_both(p, path, folder, force, err);
    tt_export_guard_end();
    free(folder);
    return status;
}

/* The output: a page, or the JSON of a run or a study. */
typedef struct content {
    const tt_page *page;
    tt_analysis *run;      /* or */
    const tt_study *study; /* the other one is NULL */
} content;

static bool write_json(const content *c, FILE *out)
{
    return c->run ? tt_report_json(c->page, c->run, out) : tt_study_json(c->study, out);
}

static tt_status write_file(const struct options *o, const content *c, const char *path,
                            tt_error *err)
{
    tt_outfile file;
    tt_status status = tt_outfile_open(&file, path, o->force, err);
    if (status != TT_OK) return status;
    if (o->input.json)
        (void)write_json(c, file.stream);
    else
        tt_page_html(c->page, file.stream);
    status = tt_outfile_commit(&file, err);
    tt_outfile_abandon(&file);
    return status;
}

/* The output; NULL for standard output. The name is for free(). */
static char *choose_output(const struct options *o)
{
    char *name = NULL;
    if (o->output) return strcmp(o->output, "-") == 0 ? NULL : strdup(o->output);
    if (o->markdown || o->input.json || !isatty(STDOUT_FILENO)) return NULL;
    const bool is_folder = tt_chosen_is_folder(o->input.given);
    const char *base = tt_base_name(is_folder ? o->input.given : o->input.path),
               *end = strstr(base, ".ttrace");
    int n = end && end[strlen(".ttrace")] == '\0' ? (int)(end - base) : (int)strlen(base);
    return asprintf(&name, "%.*s.html", n, base) < 0 ? NULL : name;
}

static int write_page(const struct options *o, const content *c, const char *path)
{
    const tt_page *p = c->page;
    tt_error err;
    tt_status status = TT_OK;
    int code = TT_EXIT_OK;
    if (path && o->markdown)
        status = write_markdown(p, path, o->force, &err);
    else if (path)
        status = write_file(o, c, path, &err);
    else if (o->input.json)
        code = tt_report_output(write_json(c, stdout));
    else {
        if (o->markdown) /* it has no plots on standard output */
            tt_page_markdown(p, NULL, stdout);
        else
            tt_page_html(p, stdout);
        code = tt_report_output(true);
    }
    if (status != TT_OK) code = tt_report_error(&err);
    if (code == TT_EXIT_OK && path && !o->output) tt_report_note("wrote %s", path);
    return code;
}

/* Before all the work: checks existing output that may not be replaced, and the trace itself. */
static int check_target(const struct options *o, const char *path)
{
    struct stat st;
    if (!path) return TT_EXIT_OK;
    if (tt_input_is_within(&o->input, path))
        return tt_report_usage("%s is, or holds, the trace that is read; name another -o", path);
    if (o->force || stat(path, &st) != 0 || S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode))
        return TT_EXIT_OK;
    return tt_report_usage("%s exists; --force overwrites it", path);
}

static int check_targets(const struct options *o, const char *path)
{
    char *folder = NULL;
    int code = check_target(o, path);
    if (code != TT_EXIT_OK || !path || !o->markdown) return code;
    if (asprintf(&folder, "%s.plots", path) < 0) return tt_report_memory();
    code = check_target(o, folder);
    free(folder);
    return code;
}

static int make_report(const struct options *o, const tt_model *m, const char *path)
{
    tt_error err;
    tt_progress bar;
    tt_analysis a;
    tt_page page;
    tt_analysis_options options = {
        .disk_bytes_per_s = o->disk_bytes_per_s, .progress = tt_progress_callback, .context = &bar};
    find_edges(o, m, &options.edges);
    tt_progress_begin(&bar, "reading", 1000, "parts");
    tt_status status = tt_analysis_make(m, o->input.path, &options, &a, &err);
    tt_progress_end(&bar);
    tt_page_open(&page);
    int code;
    if (status == TT_OK) {
        tt_report_page(&page, &a);
        const content c = {&page, &a, NULL};
        code = page.failed ? tt_report_memory() : write_page(o, &c, path);
    } else {
        code = tt_report_error(&err);
    }
    tt_page_close(&page);
    tt_analysis_free(&a);
    return code;
}

/* --- a folder of runs --- */

/* As typed, unless that has ".." parts. For free(). */
static char *shown_folder(const char *given)
{
    const char *base = tt_base_name(given);
    const bool has_dots = strstr(given, "/../") || strstr(given, "/./") ||
                          strncmp(given, "../", 3) == 0 || strcmp(base, ".") == 0 ||
                          strcmp(base, "..") == 0;
    char *real = has_dots ? realpath(given, NULL) : NULL;
    return real ? real : strdup(given);
}

static int make_study(const struct options *o, const tt_chosen_runs *runs, const char *path)
{
    tt_error err;
    tt_progress bar;
    tt_study study;
    tt_page page;
    const tt_result **results = calloc(runs->n, sizeof *results);
    char *folder = shown_folder(o->input.given);
    if (!results || !folder) {
        free(results);
        free(folder);
        return tt_report_memory();
    }
    for (size_t i = 0; i < runs->n; i++)
        results[i] = &runs->results.list[runs->chosen[i]];
    tt_progress_begin(&bar, "reading", runs->n, "runs");
    tt_status status = tt_study_make(&study, folder, results, runs->paths, runs->n,
                                     o->disk_bytes_per_s, tt_progress_callback, &bar, &err);
    tt_progress_end(&bar);
    for (size_t i = 0; status == TT_OK && study.n_unread && i < study.n_runs; i++)
        if (study.runs[i].unread)
            tt_report_note("%s is %s", study.runs[i].result->folder, study.runs[i].unread);
    tt_page_open(&page);
    const content c = {&page, NULL, &study};
    if (status == TT_OK) tt_study_page(&page, &study);
    int code = status != TT_OK ? tt_report_error(&err)
               : page.failed   ? tt_report_memory()
                               : write_page(o, &c, path);
    tt_page_close(&page);
    tt_study_free(&study);
    free(folder);
    free(results);
    return code;
}

static int report_run(const struct options *o, const char *path)
{
    tt_model *m = NULL;
    int code = tt_input_open_trace(&o->input, TT_INPUT_NOTES, &m);
    if (code == TT_EXIT_OK) code = make_report(o, m, path);
    tt_model_close(m);
    return code;
}

/* Several runs of a folder are a study; one is a trace. */
static int report_folder(struct options *o, const char *path)
{
    tt_chosen_runs runs;
    tt_error err;
    int code = TT_EXIT_OK;
    if (tt_chosen_find(&runs, o->input.given, o->where.list, o->where.n, &err) != TT_OK)
        code = tt_report_error(&err);
    else if (runs.n > 1)
        code = make_study(o, &runs, path);
    else if (!runs.paths[0])
        code = tt_report_usage("there is one run, without a trace: %s",
                               runs.results.list[runs.chosen[0]].ending);
    else {
        o->input.path = o->input.given = runs.paths[0];
        code = report_run(o, path);
    }
    tt_chosen_free(&runs);
    return code;
}

int tt_cmd_report(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE",
        .about =
            "Writes one self-contained page about a run: where the time went, what bounds it, who "
            "waited for whom, how the model file is read, what is hot, what more RAM would win, "
            "and what is missing. For a folder of experiments: a comparison of its conditions.\v"
            "On the machine that made the trace, memory bandwidth and peak speed are "
            "measured, in some 1.5 s.",
        .sets = {{.options = option_table}, TT_INPUT(struct options, input)}};
    struct options o = {0};
    tt_options_parse(&command, argc, argv, &o);
    char *path = choose_output(&o);
    int code = check_targets(&o, path);
    const bool is_folder = code == TT_EXIT_OK && tt_chosen_is_folder(o.input.given);
    if (code == TT_EXIT_OK && o.where.n && !is_folder)
        code = tt_report_usage("--where goes with a folder of experiments");
    if (code == TT_EXIT_OK) code = is_folder ? report_folder(&o, path) : report_run(&o, path);
    free(path);
    return code;
}
