#include "analyze/storage.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/doctor/doctor.h"
#include "cli/table.h"
#include "record/fault_events.h"
#include "runner/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SHM_TRY_BYTES 4096

/* Is `word` one of the blank-separated words of `text`? */
static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += n)
        if ((at == text || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\n' || at[n] == '\0'))
            return true;
    return false;
}

static void read_cpuinfo(tt_doctor_host *h)
{
    char line[8192];
    FILE *in = fopen("/proc/cpuinfo", "re");
    while (in && fgets(line, sizeof line, in)) {
        const char *value = strchr(line, ':');
        if (!value) continue;
        value += value[1] == ' ' ? 2 : 1;
        if (strncmp(line, "model name", 10) == 0)
            (void)snprintf(h->cpu, sizeof h->cpu, "%.*s", (int)strcspn(value, "\n"), value);
        if (strncmp(line, "flags", 5) != 0) continue;
        h->has_invariant_tsc = has_word(value, "constant_tsc") && has_word(value, "nonstop_tsc");
        h->is_virtual = has_word(value, "hypervisor");
        break;
    }
    if (in) (void)fclose(in);
#if defined(__aarch64__)
    h->has_invariant_tsc = true; /* the architecture's counter is */
#endif
}

/* Rings are mapped files: try one. 0 or an errno. */
static int try_file(const char *dir)
{
    char path[64];
    (void)snprintf(path, sizeof path, "%s/tensortrace-doctor-XXXXXX", dir);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) return errno;
    (void)unlink(path);
    void *map = MAP_FAILED;
    if (ftruncate(fd, SHM_TRY_BYTES) == 0)
        map = mmap(NULL, SHM_TRY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int why = map == MAP_FAILED ? errno : 0;
    if (!why) (void)munmap(map, SHM_TRY_BYTES);
    (void)close(fd);
    return why;
}

/* In shared memory, if that can be. */
static void try_shm(tt_doctor_host *h)
{
    struct statvfs fs;
    int why = try_file("/dev/shm");
    h->has_shm = why == 0;
    h->has_tmp = try_file("/tmp") == 0;
    if (why) (void)snprintf(h->shm_problem, sizeof h->shm_problem, "%s", strerror(why));
    if (statvfs("/dev/shm", &fs) == 0) h->shm_free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
}

static void try_fault_events(tt_doctor_host *h)
{
    tt_fault_events *events;
    tt_error err;
    h->has_fault_events = tt_fault_events_open(&events, 0, &err) == TT_OK;
    if (h->has_fault_events) {
        tt_fault_events_close(events);
        return;
    }
    (void)snprintf(h->fault_problem, sizeof h->fault_problem,
                   "%.100s; allow it: sysctl kernel.perf_event_paranoid=2, and in a container "
                   "seccomp rules with perf_event_open",
                   err.message);
}

void tt_doctor_host_look(tt_doctor_host *h)
{
    memset(h, 0, sizeof *h);
    try_fault_events(h);
    (void)uname(&h->kernel);
    h->cpus = tt_runner_cpus();
    read_cpuinfo(h);
    try_shm(h);
    tt_host_system_look("", &h->system);
}

/* A text that may be unknown: then null, never "". */
static void put_text(tt_json *j, const char *key, const char *text)
{
    tt_json_kv_string(j, key, text && text[0] ? text : NULL);
}

static void put_engine(tt_json *j, const tt_doctor *d)
{
    const tt_engine_probe *p = d->probe;
    tt_json_key(j, "engine");
    if (!p) {
        tt_json_null(j);
        return;
    }
    const tt_engine_answer *a = &p->answer;
    tt_json_object(j);
    tt_json_kv_string(j, "dir", p->engine.dir);
    tt_json_kv_string(j, "source", tt_engine_source_name(p->engine.source));
    put_text(j, "llama", p->engine.llama);
    put_text(j, "release", p->engine.release);
    tt_json_kv_bool(j, "is_loadable", a->loaded && !a->failure[0]);
    put_text(j, "ggml_version", a->ggml_version);
    put_text(j, "ggml_commit", a->ggml_commit);
    put_text(j, "system_info", a->system_info);
    put_text(j, "cpu_library", p->cpu ? p->cpu->file : NULL);
    put_text(j, "threads", !p->cpu ? NULL : p->cpu->uses_openmp ? "openmp" : "own");
    if (a->tensor_overhead) tt_json_kv_u64(j, "tensor_overhead_bytes", a->tensor_overhead);
    tt_json_kv_bool(j, "is_layout_known", p->is_layout_known);
    tt_json_object_end(j);
}

static void put_libraries(tt_json *j, const tt_engine_probe *p)
{
    tt_json_key(j, "libraries");
    tt_json_array(j);
    for (size_t i = 0; p && i < p->n_libraries; i++) {
        const tt_probe_library *l = &p->libraries[i];
        tt_json_object(j);
        tt_json_kv_string(j, "file", l->file);
        tt_json_kv_string(j, "dir", l->dir);
        tt_json_kv_string(j, "role", tt_library_role_name(l->role));
        put_text(j, "soname", tt_elf_soname(l->elf));
        tt_json_kv_bool(j, "uses_openmp", l->uses_openmp);
        if (l->has_score) tt_json_kv_i64(j, "score", l->score);
        if (l->role & TT_LIBRARY_CPU) tt_json_kv_bool(j, "is_chosen", l->is_chosen);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void put_hooks(tt_json *j, const tt_engine_probe *p)
{
    tt_json_key(j, "hooks");
    tt_json_array(j);
    for (size_t i = 0; p && i < p->n_hooks; i++) {
        const tt_probe_hook *h = &p->hooks[i];
        tt_json_object(j);
        tt_json_kv_string(j, "name", h->name);
        put_text(j, "library", h->library ? h->library->file : NULL);
        tt_json_kv_bool(j, "is_defined", h->is_defined);
        tt_json_kv_bool(j, "is_called", h->is_called);
        tt_json_kv_bool(j, "is_known", h->is_known);
        tt_json_kv_bool(j, "is_needed", h->is_needed);
        tt_json_kv_string(j, "gives", h->gives);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void put_findings(tt_json *j, const tt_engine_probe *p)
{
    tt_json_key(j, "findings");
    tt_json_array(j);
    for (size_t i = 0; p && i < p->n_findings; i++) {
        tt_json_object(j);
        tt_json_kv_bool(j, "is_warning", p->findings[i].is_warning);
        tt_json_kv_string(j, "text", p->findings[i].text);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void put_host(tt_json *j, const tt_doctor *d)
{
    const tt_doctor_host *h = &d->host;
    tt_json_key(j, "host");
    tt_json_object(j);
    put_text(j, "cpu", h->cpu);
    tt_json_kv_i64(j, "cpus", h->cpus);
    tt_json_kv_bool(j, "is_virtual", h->is_virtual);
    tt_json_kv_bool(j, "has_invariant_tsc", h->has_invariant_tsc);
    tt_json_kv_string(j, "kernel", h->kernel.release);
    tt_json_kv_bool(j, "has_shm", h->has_shm);
    tt_json_kv_u64(j, "shm_free_bytes", h->shm_free_bytes);
    tt_json_kv_bool(j, "has_fault_events", h->has_fault_events);
    put_text(j, "fault_problem", h->fault_problem);
    tt_json_object_end(j);
    tt_json_key(j, "hook_library");
    tt_json_string(j, d->has_hook ? d->hook_path : NULL);
}

static void put_program(tt_json *j, const tt_program_probe *p)
{
    tt_json_key(j, "program");
    if (!p) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    tt_json_kv_string(j, "path", p->path);
    put_text(j, "script", p->script);
    tt_json_kv_bool(j, "is_static", p->is_static);
    tt_json_kv_bool(j, "is_secure", p->is_secure);
    tt_json_kv_bool(j, "defines_ggml", p->defines_ggml);
    tt_json_kv_bool(j, "mentions_ggml", p->mentions_ggml);
    put_text(j, "engine_dir", p->engine_dir);
    tt_json_key(j, "libraries");
    tt_json_array(j);
    for (size_t i = 0; i < p->n_libraries; i++) {
        tt_json_object(j);
        tt_json_kv_string(j, "name", p->libraries[i].name);
        put_text(j, "path", p->libraries[i].path);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_kv_string(j, "can_be_traced", tt_program_verdict_name(p->verdict));
    tt_json_kv_string(j, "why", p->why);
    tt_json_object_end(j);
}

static void put_tried(tt_json *j, const char *line)
{
    tt_json_key(j, "tried");
    tt_json_array(j);
    while (*line) {
        size_t n = strcspn(line, "\n");
        tt_json_string_n(j, line, n);
        line += n + (line[n] == '\n');
    }
    tt_json_array_end(j);
}

bool tt_doctor_print_json(const tt_doctor *d, FILE *out)
{
    tt_json j;
    tt_json_begin(&j, out, 2);
    tt_json_object(&j);
    tt_json_kv_bool(&j, "can_trace", d->can_trace);
    tt_json_kv_string(&j, "mode", d->mode);
    tt_json_kv_string(&j, "verdict", d->verdict);
    put_engine(&j, d);
    put_tried(&j, d->engine.tried);
    put_libraries(&j, d->probe);
    put_hooks(&j, d->probe);
    put_findings(&j, d->probe);
    put_host(&j, d);
    tt_doctor_put_system(&j, &d->host.system);
    put_program(&j, d->program);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

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
    fprintf(out, "  page faults  %s%s\n",
            h->has_fault_events ? "each with its address" : "counted for each op only: ",
            h->fault_problem);
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
    fputs("\nMemory and limits\n", out);
    tt_doctor_print_facts(&tt_system_schema, &d->host.system, out);
    if (d->program) print_program(d->program, out);
    if (d->probe && d->probe->n_findings) fputs("\nWhat is missing, and what that costs\n", out);
    for (size_t i = 0; d->probe && i < d->probe->n_findings; i++)
        fprintf(out, "  %s%s\n", d->probe->findings[i].is_warning ? "warning: " : "",
                d->probe->findings[i].text);
    fprintf(out, "\nMode: %s\n%s\n", d->mode, d->verdict);
}
