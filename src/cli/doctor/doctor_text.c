#include "base/units.h"
#include "cli/doctor/doctor.h"
#include "cli/table.h"

#include <string.h>

static void print_tried(const tt_doctor *d, FILE *out)
{
    const char *line = d->engine.tried;
    while (*line) {
        size_t n = strcspn(line, "\n");
        fprintf(out, "  tried        %.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
}

/* "b6673, ggml 0.9.4 (abc123)" from what is known of it. */
static void print_version(const tt_engine_probe *p, FILE *out)
{
    const tt_engine_answer *a = &p->answer;
    fprintf(out, "  release      %s", p->engine.release[0] ? p->engine.release : "unknown");
    if (a->ggml_version[0]) fprintf(out, ", ggml %s", a->ggml_version);
    if (a->ggml_commit[0]) fprintf(out, " (commit %s)", a->ggml_commit);
    fputc('\n', out);
}

static void print_engine(const tt_doctor *d, FILE *out)
{
    const tt_engine_probe *p = d->probe;
    if (!p && !d->engine_problem[0]) return; /* the program brings its own, or none */
    fputs("Engine\n", out);
    if (!p) {
        fprintf(out, "  problem      %s\n", d->engine_problem);
        print_tried(d, out);
        return;
    }
    size_t variants = 0;
    for (size_t i = 0; i < p->n_libraries; i++)
        variants += (p->libraries[i].role & TT_LIBRARY_CPU) != 0;
    fprintf(out, "  folder       %s\n", p->engine.dir);
    fprintf(out, "  found by     %s\n",
            d->program && d->program->engine_dir[0] ? "the program links it"
                                                    : tt_engine_source_name(p->engine.source));
    print_version(p, out);
    const char *elsewhere = p->cpu && strcmp(p->cpu->dir, p->engine.dir) != 0 ? p->cpu->dir : "";
    fprintf(out, "  CPU library  %s%s%s", elsewhere, elsewhere[0] ? "/" : "",
            p->cpu                              ? p->cpu->file
            : p->mode == TT_ENGINE_MODE_UNKNOWN ? "unknown"
                                                : "none");
    if (variants > 1)
        fprintf(out, " (of %zu; %s)", variants,
                p->answer.cpu_path[0] ? "the one for this CPU"
                                      : "which one fits this CPU is not known");
    fprintf(out, "\n  threads      %s\n",
            !p->cpu               ? "unknown"
            : p->cpu->uses_openmp ? "OpenMP"
                                  : "ggml's own");
    char name[24] = "";
    if (p->answer.name_bytes) (void)snprintf(name, sizeof name, "%zu", p->answer.name_bytes);
    if (p->answer.tensor_overhead)
        fprintf(out, "  ggml_tensor  %s (%zu bytes with its header%s%s)\n",
                p->is_layout_known ? "layout known" : "layout unknown", p->answer.tensor_overhead,
                name[0] ? ", names of " : "", name);
    if (!p->answer.system_info[0]) return;
    char info[sizeof p->answer.system_info + 16];
    (void)snprintf(info, sizeof info, "  system info  %s", p->answer.system_info);
    tt_table_text(out, 15, info);
}

static void print_libraries(const tt_engine_probe *p, FILE *out)
{
    tt_table *t = tt_table_new(out);
    if (!t) return;
    tt_table_column(t, "LIBRARY", TT_COLUMN_SHRINK | TT_COLUMN_KEY);
    tt_table_column(t, "ROLE", TT_COLUMN_LEFT);
    tt_table_column(t, "SONAME", TT_COLUMN_LEFT | TT_COLUMN_SHRINK);
    tt_table_column(t, "OPENMP", TT_COLUMN_LEFT);
    tt_table_column(t, "SCORE", TT_COLUMN_RIGHT);
    tt_table_column(t, "USED", TT_COLUMN_LEFT);
    for (size_t i = 0; i < p->n_libraries; i++) {
        const tt_probe_library *l = &p->libraries[i];
        char score[24] = "";
        if (l->has_score) (void)snprintf(score, sizeof score, "%d", l->score);
        const char *used = !(l->role & TT_LIBRARY_CPU) ? "" : l->is_chosen ? "yes" : "no";
        const char *cells[] = {l->file,
                               tt_library_role_name(l->role),
                               tt_elf_soname(l->elf),
                               l->uses_openmp ? "yes" : "no",
                               score,
                               used};
        tt_table_row(t, cells);
    }
    (void)tt_table_print(t);
}

static void print_hooks(const tt_engine_probe *p, FILE *out)
{
    tt_table *t = tt_table_new(out);
    if (!t) return;
    tt_table_column(t, "HOOK", TT_COLUMN_LEFT);
    tt_table_column(t, "CALLED BY", TT_COLUMN_SHRINK | TT_COLUMN_KEY);
    tt_table_column(t, "PLT", TT_COLUMN_LEFT);
    tt_table_column(t, "GIVES", TT_COLUMN_LEFT | TT_COLUMN_SHRINK);
    for (size_t i = 0; i < p->n_hooks; i++) {
        const tt_probe_hook *h = &p->hooks[i];
        bool by_program = strncmp(h->name, "llama_", 6) == 0;
        const char *caller = by_program ? "the program" : h->library ? h->library->file : "-";
        const char *plt = h->is_called                  ? "yes"
                          : by_program && h->is_defined ? "-"
                          : h->is_defined               ? "no"
                                                        : "absent";
        const char *cells[] = {h->name, caller, plt, h->is_known ? h->gives : "unknown fused op"};
        tt_table_row(t, cells);
    }
    (void)tt_table_print(t);
}

static void print_host(const tt_doctor *d, FILE *out)
{
    const tt_doctor_host *h = &d->host;
    char size[TT_UNITS_TEXT];
    fputs("This machine\n", out);
    fprintf(out, "  CPU          %s, %d usable%s\n", h->cpu[0] ? h->cpu : "unknown", h->cpus,
            h->is_virtual ? ", virtual" : "");
    fprintf(out, "  clock        %s\n",
            h->has_invariant_tsc
                ? "invariant time-stamp counter"
                : "the time-stamp counter may change its rate: times are less certain");
    fprintf(out, "  kernel       %s %s\n", h->kernel.sysname, h->kernel.release);
    if (h->has_shm)
        fprintf(out, "  /dev/shm     usable, %s free\n", tt_units_bytes(size, h->shm_free_bytes));
    else
        fprintf(out, "  /dev/shm     not usable (%s): files in %s are used instead\n",
                h->shm_problem, h->has_tmp ? "/tmp and beside the trace" : "no place");
    fprintf(out, "  hook library %s\n", d->has_hook ? d->hook_path : d->hook_problem);
}

static void print_program(const tt_program_probe *p, FILE *out)
{
    fputs("\nProgram\n", out);
    if (p->script[0]) fprintf(out, "  script       %s\n", p->script);
    fprintf(out, "  file         %s\n", p->path);
    fprintf(out, "  linking      %s%s\n", p->is_static ? "static" : "dynamic",
            p->is_secure ? ", gains rights when started" : "");
    for (size_t i = 0; i < p->n_libraries; i++) {
        const tt_program_library *l = &p->libraries[i];
        fprintf(out, "  library      %s => %s\n", l->name, l->path[0] ? l->path : "not found");
    }
    fprintf(out, "  can be traced: %s; %s\n", tt_program_verdict_name(p->verdict), p->why);
}

void tt_doctor_print_text(const tt_doctor *d, FILE *out)
{
    print_engine(d, out);
    if (d->probe) {
        fputs("\nLibraries\n", out);
        print_libraries(d->probe, out);
        fputs("\nHooks (PLT yes: called through the dynamic linker's table, so a preloaded\n"
              "library sees it)\n",
              out);
        print_hooks(d->probe, out);
    }
    if (d->probe || d->engine_problem[0]) fputc('\n', out);
    print_host(d, out);
    if (d->program) print_program(d->program, out);
    if (d->probe && d->probe->n_findings) fputs("\nWhat is missing, and what that costs\n", out);
    for (size_t i = 0; d->probe && i < d->probe->n_findings; i++)
        fprintf(out, "  %s%s\n", d->probe->findings[i].is_warning ? "warning: " : "",
                d->probe->findings[i].text);
    fprintf(out, "\nMode: %s\n%s\n", d->mode, d->verdict);
}
