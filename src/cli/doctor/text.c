#include "analyze/storage.h"
#include "base/json.h"
#include "base/units.h"
#include "boost/uring.h"
#include "boost/weights.h"
#include "cli/doctor/doctor.h"
#include "cli/list.h"
#include "cli/table.h"
#include "record/fault_log.h"
#include "runner/runner.h"
#include "table/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SHM_TRY_BYTES 4096

/* Whether `word` is one of the blank-separated words of `text`. */
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
    (void)tt_host_processor("", h->cpu, sizeof h->cpu);
    FILE *in = fopen("/proc/cpuinfo", "re");
    while (in && fgets(line, sizeof line, in)) {
        const char *value = strchr(line, ':');
        if (!value) continue;
        value += value[1] == ' ' ? 2 : 1;
        if (strncmp(line, "flags", 5) != 0) continue;
        h->has_invariant_tsc = has_word(value, "constant_tsc") && has_word(value, "nonstop_tsc");
        h->is_virtual = has_word(value, "hypervisor");
        break;
    }
    if (in) (void)fclose(in);
#if defined(__aarch64__)
    h->has_invariant_tsc = true; /* the architecture's counter is invariant */
#endif
}

/* Rings are mapped files: tests one. 0 or an errno. */
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

/* In shared memory, if possible. */
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

/* What `boost` would find. */
static void try_boost(tt_doctor_host *h)
{
    char line[64];
    char *word = NULL, *end = NULL;
    tt_uring uring;
    h->has_io_uring = tt_uring_begin(&uring, 1);
    if (h->has_io_uring) tt_uring_end(&uring);
    if (tt_host_line("/sys/kernel/mm/transparent_hugepage", "enabled", line, sizeof line))
        word = strchr(line, '[');
    if (word) end = strchr(++word, ']');
    if (end) (void)snprintf(h->huge_pages, sizeof h->huge_pages, "%.*s", (int)(end - word), word);
    if (sysconf(_SC_PAGESIZE) != TT_PAGEPOOL_PAGE) {
        (void)snprintf(h->boost_problem, sizeof h->boost_problem,
                       "pages of this machine are not of %u bytes", TT_PAGEPOOL_PAGE);
        return;
    }
    h->boost_bytes = tt_budget_now(0).pool_bytes;
    if (h->boost_bytes == 0)
        (void)snprintf(h->boost_problem, sizeof h->boost_problem, "there is no memory left");
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
    try_boost(h);
}

#define IN(row_, key_, about_) TT_FIELD(#key_, about_, TT_MEMBER(row_, key_))
#define TEXT_IN(row_, key_, about_) TT_FIELD(#key_, about_, TT_MEMBER_CHARS(row_, key_))

TT_COLUMN_GET(get_source, tt_engine_probe, p,
              tt_cell_text(cell, tt_engine_source_name(p->engine.source));)
TT_COLUMN_VALUE(get_loadable, tt_engine_probe, p, boolean,
                p->answer.loaded && !p->answer.failure[0])
TT_COLUMN_GET(get_cpu_library, tt_engine_probe, p,
              tt_cell_text(cell, p->cpu && p->cpu->file[0] ? p->cpu->file : NULL);)
TT_COLUMN_GET(get_threads, tt_engine_probe, p,
              tt_cell_text(cell, !p->cpu               ? NULL
                                 : p->cpu->uses_openmp ? "openmp"
                                                       : "own");)
TT_COLUMN_KNOWN(has_overhead, tt_engine_probe, p, p->answer.tensor_overhead > 0)

#define OF_ENGINE(key_, member_, about_)                                                           \
    TT_FIELD(key_, about_, TT_MEMBER_CHARS(tt_engine_probe, member_))
static const tt_column engine_columns[] = {
    OF_ENGINE("dir", engine.dir, "with its libraries"),
    TT_FIELD("source", "how it was found", .type = TT_CELL_NAME, .get = get_source),
    OF_ENGINE("llama", engine.llama, "its libllama"),
    OF_ENGINE("release", engine.release, "of llama.cpp"),
    TT_FIELD("is_loadable", "it loads here", .type = TT_CELL_BOOL, .get = get_loadable),
    OF_ENGINE("ggml_version", answer.ggml_version, "of its ggml"),
    OF_ENGINE("ggml_commit", answer.ggml_commit, "of its ggml"),
    OF_ENGINE("system_info", answer.system_info, "what it says of the machine"),
    TT_FIELD("cpu_library", "that it takes", .type = TT_CELL_NAME, .get = get_cpu_library),
    TT_FIELD("threads", "openmp or own", .type = TT_CELL_NAME, .get = get_threads),
    TT_FIELD("tensor_overhead_bytes", "of a tensor", .known = has_overhead, .show = TT_SHOW_OMIT,
             TT_MEMBER(tt_engine_probe, answer.tensor_overhead)),
    IN(tt_engine_probe, is_layout_known, "hooks can read its tensors"),
};
static const tt_schema engine_schema = TT_SCHEMA("engine", "what was found", engine_columns);

TT_COLUMN_GET(get_role, tt_probe_library, l, tt_cell_text(cell, tt_library_role_name(l->role));)
TT_COLUMN_GET(get_soname, tt_probe_library, l, {
    const char *name = tt_elf_soname(l->elf);
    tt_cell_text(cell, name && name[0] ? name : NULL);
})
TT_COLUMN_KNOWN(has_score, tt_probe_library, l, l->has_score)
TT_COLUMN_KNOWN(is_cpu, tt_probe_library, l, (l->role & TT_LIBRARY_CPU) != 0)

static const tt_column library_columns[] = {
    TT_COLUMN("file", "LIBRARY", NONE, "its name", TT_MEMBER_CHARS(tt_probe_library, file),
              .show = TT_SHOW_CUT | TT_SHOW_KEY),
    TEXT_IN(tt_probe_library, dir, "where it is"),
    TT_COLUMN("role", "ROLE", NONE, "what it is", .type = TT_CELL_NAME, .get = get_role),
    TT_COLUMN("soname", "SONAME", NONE, "of the ELF file", .type = TT_CELL_NAME, .get = get_soname,
              .show = TT_SHOW_CUT | TT_SHOW_WIDE),
    TT_COLUMN("uses_openmp", "OPENMP", NONE, "for its threads",
              TT_MEMBER(tt_probe_library, uses_openmp)),
    TT_COLUMN("score", "SCORE", NONE, "of a CPU library here", TT_MEMBER(tt_probe_library, score),
              .known = has_score, .show = TT_SHOW_OMIT),
    TT_COLUMN("is_chosen", "USED", NONE, "of a CPU library: it is taken",
              TT_MEMBER(tt_probe_library, is_chosen), .known = is_cpu, .show = TT_SHOW_OMIT),
};
static const tt_schema library_schema = TT_SCHEMA("libraries", "of the engine", library_columns);

TT_COLUMN_GET(get_library, tt_probe_hook, h,
              tt_cell_text(cell, h->library && h->library->file[0] ? h->library->file : NULL);)

static bool is_of_program(const tt_probe_hook *h)
{
    return strncmp(h->name, "llama_", 6) == 0;
}

TT_COLUMN_SHOW(text_caller, tt_probe_hook, h,
               tt_cell_text_copy(out, room,
                                 is_of_program(h) ? "the program"
                                 : h->library     ? h->library->file
                                                  : "-");)
TT_COLUMN_SHOW(text_plt, tt_probe_hook, h,
               tt_cell_text_copy(out, room,
                                 h->is_called       ? "yes"
                                 : !h->is_defined   ? "absent"
                                 : is_of_program(h) ? "-"
                                                    : "no");)
TT_COLUMN_SHOW(text_gives, tt_probe_hook, h,
               tt_cell_text_copy(out, room, h->is_known ? h->gives : "unknown fused op");)

static const tt_column hook_columns[] = {
    TT_COLUMN("name", "HOOK", NONE, "of the function", TT_MEMBER(tt_probe_hook, name),
              .show = TT_SHOW_CUT | TT_SHOW_KEY),
    TT_COLUMN("library", "CALLED BY", NONE, "that calls it", .type = TT_CELL_NAME,
              .get = get_library, .text = text_caller, .show = TT_SHOW_CUT | TT_SHOW_KEY),
    IN(tt_probe_hook, is_defined, "by that library"),
    TT_COLUMN("is_called", "PLT", NONE, "so that it can be replaced",
              TT_MEMBER(tt_probe_hook, is_called), .text = text_plt),
    IN(tt_probe_hook, is_known, "to this program"),
    IN(tt_probe_hook, is_needed, "for hook mode"),
    TT_COLUMN("gives", "GIVES", NONE, "what a trace has of it", TT_MEMBER(tt_probe_hook, gives),
              .text = text_gives, .show = TT_SHOW_WRAP),
};
static const tt_schema hook_schema = TT_SCHEMA("hooks", "functions", hook_columns);

static const tt_column finding_columns[] = {
    IN(tt_probe_finding, is_warning, "else a plain fact"),
    TEXT_IN(tt_probe_finding, text, "what is missing, and what that costs"),
};
static const tt_schema finding_schema = TT_SCHEMA("findings", "of the engine", finding_columns);

static const tt_column host_columns[] = {
    TEXT_IN(tt_doctor_host, cpu, "its name"),
    IN(tt_doctor_host, cpus, "that this process may use"),
    IN(tt_doctor_host, is_virtual, "a hypervisor says so"),
    IN(tt_doctor_host, has_invariant_tsc, "ticks run evenly on all CPUs"),
    TT_FIELD("kernel", "its release", TT_MEMBER_CHARS(tt_doctor_host, kernel.release)),
    IN(tt_doctor_host, has_shm, "files in /dev/shm can be mapped"),
    IN(tt_doctor_host, shm_free_bytes, "in /dev/shm"),
    IN(tt_doctor_host, has_fault_events, "page faults come one by one"),
    TEXT_IN(tt_doctor_host, fault_problem, "why not, and what to do"),
    IN(tt_doctor_host, boost_bytes, "for weights, that boost --ram auto would take now"),
    TEXT_IN(tt_doctor_host, boost_problem, "why it would take none"),
    TEXT_IN(tt_doctor_host, huge_pages, "for memory that asks: always, madvise, never"),
    IN(tt_doctor_host, has_io_uring, "boost reads by io_uring; else by threads"),
};
static const tt_schema host_schema = TT_SCHEMA("host", "this machine", host_columns);

static const tt_column needed_columns[] = {
    TEXT_IN(tt_program_library, name, "as the program asks for it"),
    TEXT_IN(tt_program_library, path, "where it is"),
};
static const tt_schema needed_schema = TT_SCHEMA("libraries", "it asks for", needed_columns);

TT_COLUMN_ROWS(needed, tt_program_probe, p, p->libraries, p->n_libraries)
TT_COLUMN_GET(get_traceable, tt_program_probe, p,
              tt_cell_text(cell, tt_program_verdict_name(p->verdict));)

static const tt_column program_columns[] = {
    TEXT_IN(tt_program_probe, path, "the file that was examined"),
    TEXT_IN(tt_program_probe, script, "whose interpreter that is"),
    IN(tt_program_probe, is_static, "has no dynamic linker"),
    IN(tt_program_probe, is_secure, "no preloading"),
    IN(tt_program_probe, defines_ggml, "has ggml functions of its own"),
    IN(tt_program_probe, mentions_ggml, "has ggml's text in it"),
    TEXT_IN(tt_program_probe, engine_dir, "of the ggml that it links"),
    TT_FIELD("libraries", "it asks for", .type = TT_CELL_ROWS, .inner = &needed_schema,
             .rows = needed),
    TT_FIELD("can_be_traced", "the verdict", .type = TT_CELL_NAME, .get = get_traceable),
    TEXT_IN(tt_program_probe, why, "and what to do"),
};
static const tt_schema program_schema = TT_SCHEMA("program", "to be traced", program_columns);

TT_COLUMN_JSON(json_tried, tt_doctor, d, {
    tt_json_array(j);
    for (const char *line = d->engine.tried; *line;) {
        const size_t n = strcspn(line, "\n");
        tt_json_string_n(j, line, n);
        line += n + (line[n] == '\n');
    }
    tt_json_array_end(j);
})
TT_COLUMN_ROWS(engine, tt_doctor, d, d->probe, d->probe != NULL)
TT_COLUMN_ROWS(libraries, tt_doctor, d, d->probe ? d->probe->libraries : NULL,
               d->probe ? d->probe->n_libraries : 0)
TT_COLUMN_ROWS(hooks, tt_doctor, d, d->probe ? d->probe->hooks : NULL,
               d->probe ? d->probe->n_hooks : 0)
TT_COLUMN_ROWS(findings, tt_doctor, d, d->probe ? d->probe->findings : NULL,
               d->probe ? d->probe->n_findings : 0)
TT_COLUMN_ROWS(program, tt_doctor, d, d->program, d->program != NULL)
TT_COLUMN_GET(get_hook_library, tt_doctor, d,
              tt_cell_text(cell, d->has_hook ? d->hook_path : NULL);)

#define ROWS_OF(name_, schema_, about_)                                                            \
    TT_FIELD(#name_, about_, .type = TT_CELL_ROWS, .inner = &schema_, .rows = name_)
#define ROW_OF(name_, about_)                                                                      \
    TT_FIELD(#name_, about_, .type = TT_CELL_OBJECT, .inner = &name_##_schema, .rows = name_)
static const tt_column columns[] = {
    IN(tt_doctor, can_trace, "tracing can work"),
    IN(tt_doctor, mode, "how"),
    TEXT_IN(tt_doctor, verdict, "a sentence"),
    ROW_OF(engine, "what was found"),
    TT_FIELD("tried", "places without an engine", .type = TT_CELL_ROWS, .json = json_tried),
    ROWS_OF(libraries, library_schema, "of the engine"),
    ROWS_OF(hooks, hook_schema, "functions that are replaced"),
    ROWS_OF(findings, finding_schema, "what is missing"),
    TT_FIELD("host", "this machine", TT_MEMBER_OBJECT(tt_doctor, host, &host_schema)),
    TT_FIELD("hook_library", "its path", .type = TT_CELL_NAME, .get = get_hook_library),
    TT_FIELD("system", "memory and limits",
             TT_MEMBER_OBJECT(tt_doctor, host.system, &tt_system_schema)),
    ROW_OF(program, "null: none was asked about"),
};
static const tt_schema doctor_schema = TT_SCHEMA("doctor", "what can be traced", columns);

bool tt_doctor_print_json(const tt_doctor *d, FILE *out)
{
    return tt_row_json_print(out, &doctor_schema, NULL, d);
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

/* "b6673, ggml 0.9.4 (abc123)" from the known parts. */
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
    if (!p && !d->engine_problem[0]) return; /* the program has its own, or none */
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
    if (p->answer.system_info[0]) fprintf(out, "  system info  %s\n", p->answer.system_info);
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
    char bytes[TT_UNITS_TEXT];
    if (h->boost_bytes)
        fprintf(out, "  boost        %s for weights, read by %s; huge pages: %s\n",
                h->boost_bytes == UINT64_MAX ? "no limit" : tt_units_bytes(bytes, h->boost_bytes),
                h->has_io_uring ? "io_uring" : "threads",
                h->huge_pages[0] ? h->huge_pages : "not known");
    else
        fprintf(out, "  boost        can do nothing: %s\n", h->boost_problem);
    fprintf(out, "  hook library %s\n", d->has_hook ? d->hook_path : d->hook_problem);
}

static void print_program(const tt_doctor *d, FILE *out)
{
    const tt_program_probe *p = d->program;
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

/* Lines "  what         the text", wrapped below the text. */
static void wrapped(void (*print)(const tt_doctor *d, FILE *out), const tt_doctor *d, FILE *out)
{
    char *text = NULL;
    size_t n;
    FILE *lines = open_memstream(&text, &n);
    if (!lines) {
        print(d, out);
        return;
    }
    print(d, lines);
    if (fclose(lines) == 0 && n) tt_table_text(out, 15, text);
    free(text);
}

void tt_doctor_print_text(const tt_doctor *d, FILE *out)
{
    static const tt_listing_wish shown = {.text = true};
    wrapped(print_engine, d, out);
    if (d->probe) {
        fputs("\nLibraries\n", out);
        (void)tt_list_print_set(
            &TT_ROWSET(&library_schema, 0, NULL, d->probe->libraries, d->probe->n_libraries),
            &shown, out);
        tt_table_text(out, 0,
                      "\nHooks (PLT yes: called through the dynamic linker's table, so a preloaded "
                      "library sees it)");
        (void)tt_list_print_set(
            &TT_ROWSET(&hook_schema, 0, NULL, d->probe->hooks, d->probe->n_hooks), &shown, out);
    }
    if (d->probe || d->engine_problem[0]) fputc('\n', out);
    wrapped(print_host, d, out);
    fputs("\nMemory and limits\n", out);
    tt_doctor_print_facts(&tt_system_schema, &d->host.system, out);
    if (d->program) wrapped(print_program, d, out);
    if (d->probe && d->probe->n_findings) fputs("\nWhat is missing, and what that costs\n", out);
    for (size_t i = 0; d->probe && i < d->probe->n_findings; i++)
        fprintf(out, "  %s%s\n", d->probe->findings[i].is_warning ? "warning: " : "",
                d->probe->findings[i].text);
    fprintf(out, "\nMode: %s\n%s\n", d->mode, d->verdict);
}
