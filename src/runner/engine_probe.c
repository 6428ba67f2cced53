#include "runner/engine_probe.h"

#include "base/clock.h"
#include "base/ggml_layout.h"
#include "runner/engine_load.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MAX 65536
#define TIME_LIMIT_MS 30000

/* In the child: writes "key=value" on a line. */
static void put(FILE *out, const char *key, const char *value)
{
    if (!value || !value[0]) return;
    fprintf(out, "%s=", key);
    for (; *value; value++)
        (void)fputc(*value == '\n' ? ' ' : *value, out);
    (void)fputc('\n', out);
}

static bool is_cpu_file(const char *file)
{
    return strncmp(file, "libggml-cpu", 11) == 0 && strstr(file, ".so");
}

/* ggml opens every variant to score it and keeps the best one mapped. Its search path was set at
 * build time or by the environment. */
static bool find_cpu(char path[PATH_MAX])
{
    char line[PATH_MAX + 128];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !found && fgets(line, sizeof line, maps)) {
        char *at = strchr(line, '/');
        if (!at) continue;
        at[strcspn(at, "\n")] = '\0';
        found = is_cpu_file(strrchr(at, '/') + 1);
        if (found) (void)snprintf(path, PATH_MAX, "%s", at);
    }
    if (maps) (void)fclose(maps);
    return found;
}

static void put_scores(FILE *out, const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[PATH_MAX + NAME_MAX + 2];
        if (!is_cpu_file(e->d_name)) continue;
        (void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        int (*score)(void) = NULL;
        if (handle) *(void **)&score = dlsym(handle, "ggml_backend_score");
        if (score) fprintf(out, "score=%d %s\n", score(), e->d_name);
    }
    if (d) (void)closedir(d);
}

static void *open_named(const tt_engine_found *engine, const char *start)
{
    char path[PATH_MAX + NAME_MAX + 2] = "";
    DIR *d = opendir(engine->dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, start, strlen(start)) == 0 && strstr(e->d_name, ".so"))
            (void)snprintf(path, sizeof path, "%s/%s", engine->dir, e->d_name);
    if (d) (void)closedir(d);
    return path[0] ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
}

typedef size_t (*overhead_of)(void);
typedef void *(*name_setter)(void *tensor, const char *name);

static void put_layout(FILE *out, overhead_of overhead, name_setter set_name)
{
    if (!overhead) return;
    fprintf(out, "tensor_overhead=%zu\n", overhead());
    fprintf(out, "name_bytes=%u\n", tt_ggml_name_bytes(overhead(), set_name));
    fprintf(out, "name_at=%zu\n", tt_ggml_name_at(set_name));
}

/* An engine without libllama (whisper.cpp, other programs): ggml alone. */
static void put_ggml(FILE *out, const tt_engine_found *engine)
{
    void *base = open_named(engine, "libggml-base");
    overhead_of overhead = NULL;
    name_setter set_name = NULL;
    void (*load_backends)(void) = NULL;
    if (!base) {
        const char *why = dlerror();
        put(out, "failure", why ? why : "no libggml-base in its folder");
        return;
    }
    void *registry = open_named(engine, "libggml.");
    *(void **)&overhead = dlsym(base, "ggml_tensor_overhead");
    *(void **)&set_name = dlsym(base, "ggml_set_name");
    if (registry) *(void **)&load_backends = dlsym(registry, "ggml_backend_load_all");
    put(out, "loaded", "1");
    put_layout(out, overhead, set_name);
    (void)fflush(out);
    if (load_backends) load_backends();
}

static void child(FILE *out, const tt_engine_found *engine)
{
    static tt_engine_log log;
    static tt_engine_api api;
    char cpu[PATH_MAX];
    tt_error err;
    if (!engine->llama[0]) {
        put_ggml(out, engine);
    } else {
        tt_engine_log_init(&log, NULL, NULL);
        if (tt_engine_load(engine, &log, &api, &err) != TT_OK) {
            put(out, "failure", err.message);
            return;
        }
        put(out, "loaded", "1");
        if (api.print_system_info) put(out, "system_info", api.print_system_info());
        if (api.llama_version) put(out, "llama_version", api.llama_version());
        if (api.ggml_version) put(out, "ggml_version", api.ggml_version());
        if (api.ggml_commit) put(out, "ggml_commit", api.ggml_commit());
        put_layout(out, api.tensor_overhead, api.set_name);
    }
    if (!find_cpu(cpu)) return;
    put(out, "cpu_path", cpu);
    (void)fflush(out);
    *strrchr(cpu, '/') = '\0';
    put_scores(out, cpu);
}

static void take(char *to, size_t n, const char *value)
{
    (void)snprintf(to, n, "%s", value);
}

static void take_line(tt_engine_answer *a, char *line)
{
    char *value = strchr(line, '=');
    if (!value) return;
    *value++ = '\0';
    if (!strcmp(line, "loaded")) a->loaded = true;
    if (!strcmp(line, "failure")) take(a->failure, sizeof a->failure, value);
    if (!strcmp(line, "system_info")) take(a->system_info, sizeof a->system_info, value);
    if (!strcmp(line, "llama_version")) take(a->llama_version, sizeof a->llama_version, value);
    if (!strcmp(line, "ggml_version")) take(a->ggml_version, sizeof a->ggml_version, value);
    if (!strcmp(line, "ggml_commit")) take(a->ggml_commit, sizeof a->ggml_commit, value);
    if (!strcmp(line, "cpu_path")) take(a->cpu_path, sizeof a->cpu_path, value);
    if (!strcmp(line, "tensor_overhead")) a->tensor_overhead = strtoul(value, NULL, 10);
    if (!strcmp(line, "name_bytes")) a->name_bytes = strtoul(value, NULL, 10);
    if (!strcmp(line, "name_at")) a->name_at = strtoul(value, NULL, 10);
    char *file = strchr(value, ' ');
    if (!strcmp(line, "score") && file && a->n_scores < TT_ENGINE_ANSWER_SCORES) {
        tt_engine_score *s = &a->scores[a->n_scores++];
        s->score = (int)strtol(value, NULL, 10);
        take(s->file, sizeof s->file, file + 1);
    }
}

/* Reads what the child writes until it closes the pipe, or until the time limit (false). */
static bool read_all(int fd, char *text, size_t n, size_t *size)
{
    uint64_t begin = tt_clock_ns(CLOCK_MONOTONIC);
    *size = 0;
    while (*size < n) {
        int64_t left = TIME_LIMIT_MS - (int64_t)((tt_clock_ns(CLOCK_MONOTONIC) - begin) / 1000000);
        struct pollfd p = {fd, POLLIN, 0};
        if (left <= 0) return false;
        int ready = poll(&p, 1, (int)left);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return false;
        ssize_t got = read(fd, text + *size, n - *size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return true;
        *size += (size_t)got;
    }
    return true;
}

static void be_child(int fd, const tt_engine_found *engine)
{
    const struct rlimit no_core = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &no_core);
    int null = open("/dev/null", O_RDWR);
    if (null >= 0) {
        (void)dup2(null, STDIN_FILENO);
        (void)dup2(null, STDOUT_FILENO);
        (void)dup2(null, STDERR_FILENO);
    }
    FILE *out = fdopen(fd, "w");
    if (!out) _exit(1);
    child(out, engine);
    (void)fflush(out);
    _exit(0);
}

/* Loads the engine in a child process and reads its answers. Scores are of the CPU variants in
 * the folder of the one that stayed loaded. Takes as long as the engine needs to load, 30 s at
 * most. Not for multi-threaded processes, because the forked child allocates. */
static void engine_ask(const tt_engine_found *engine, tt_engine_answer *answer)
{
    static char text[ANSWER_MAX + 1];
    int pipes[2], status = 0;
    size_t size = 0;
    memset(answer, 0, sizeof *answer);
    if (pipe2(pipes, O_CLOEXEC) != 0) {
        take(answer->failure, sizeof answer->failure, strerror(errno));
        return;
    }
    pid_t pid = fork();
    if (pid == 0) be_child(pipes[1], engine);
    (void)close(pipes[1]);
    bool in_time = pid > 0 && read_all(pipes[0], text, ANSWER_MAX, &size);
    (void)close(pipes[0]);
    if (pid > 0 && !in_time) (void)kill(pid, SIGKILL);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    text[size] = '\0';
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save))
        take_line(answer, line);
    if (pid < 0)
        take(answer->failure, sizeof answer->failure, "cannot fork");
    else if (!in_time)
        take(answer->failure, sizeof answer->failure, "loading takes over 30 s");
    else if (WIFSIGNALED(status))
        (void)snprintf(answer->failure, sizeof answer->failure, "the engine dies of signal %d (%s)",
                       WTERMSIG(status), strsignal(WTERMSIG(status)));
}

typedef struct hook_spec {
    const char *name;
    unsigned callers; /* roles of the libraries that call it */
    bool needed;      /* for hook mode */
    const char *gives;
    const char *costs; /* when it is missing; NULL: as the mode implies */
} hook_spec;

#define EXTRA_FORWARD "ggml_cpu_extra_compute_forward"
#define GRAPH_ASYNC "ggml_backend_sched_graph_compute_async"
#define EVAL_CALLBACK "ggml_backend_sched_set_eval_callback"
#define FUSED_KNOWN "ggml_compute_forward_rms_norm_mul_fused"

static const hook_spec specs[] = {
    {EXTRA_FORWARD, TT_LIBRARY_CPU, true, "start of each op on each thread", NULL},
    {"ggml_barrier", TT_LIBRARY_CPU, false, "each thread's arrival, wait and release",
     "threads' waits for each other are not observed, and are part of the ops' times"},
    {"ggml_graph_compute", TT_LIBRARY_CPU, true, "begin and end of a graph on the CPU", NULL},
    {GRAPH_ASYNC, TT_LIBRARY_LLAMA | TT_LIBRARY_BASE, false, "batches: token ids and positions",
     "batches and tokens are not distinguished"},
    {EVAL_CALLBACK, TT_LIBRARY_LLAMA, false, "ops on any backend (callback mode)", NULL},
    {"ggml_backend_buft_alloc_buffer", TT_LIBRARY_LLAMA | TT_LIBRARY_BASE | TT_LIBRARY_CPU, false,
     "buffers: name, size, begin", "buffers are seen only when an op uses them"},
    {"ggml_backend_buffer_free", TT_LIBRARY_LLAMA | TT_LIBRARY_BASE, false, "buffers: end",
     "the end of a buffer's life is unknown"},
    {"gguf_init_from_file", TT_LIBRARY_LLAMA, false, "which model file",
     "the model file is not known; weights have no place in a file"},
};

static void find(tt_engine_probe *p, bool is_warning, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void find(tt_engine_probe *p, bool is_warning, const char *fmt, ...)
{
    if (p->n_findings == TT_PROBE_FINDINGS) return;
    tt_probe_finding *f = &p->findings[p->n_findings++];
    va_list args;
    f->is_warning = is_warning;
    va_start(args, fmt);
    (void)vsnprintf(f->text, sizeof f->text, fmt, args);
    va_end(args);
}

/* Wheels carry libraries as "libggml-<8 hex digits>.so". */
static bool is_hash(const char *text)
{
    for (int i = 0; i < 8; i++)
        if (!isxdigit((unsigned char)text[i])) return false;
    return text[8] == '.';
}

tt_library_role tt_library_role_of(const char *file)
{
    if (tt_engine_is_llama_name(file)) return TT_LIBRARY_LLAMA;
    if (strncmp(file, "libggml-base", 12) == 0) return TT_LIBRARY_BASE;
    if (strncmp(file, "libggml-cpu", 11) == 0) return TT_LIBRARY_CPU;
    if (strncmp(file, "libggml.", 8) == 0) return TT_LIBRARY_GGML;
    if (strncmp(file, "libggml-", 8) == 0 && is_hash(file + 8)) return TT_LIBRARY_GGML;
    if (strncmp(file, "libggml-", 8) == 0) return TT_LIBRARY_BACKEND;
    return TT_LIBRARY_OTHER;
}

const char *tt_library_role_name(tt_library_role role)
{
    switch (role) {
    case TT_LIBRARY_LLAMA:
        return "llama";
    case TT_LIBRARY_GGML:
        return "ggml";
    case TT_LIBRARY_BASE:
        return "base";
    case TT_LIBRARY_CPU:
        return "cpu";
    case TT_LIBRARY_BACKEND:
        return "backend";
    case TT_LIBRARY_ALL:
        return "all";
    default:
        return "other";
    }
}

const char *tt_mode_name(tt_engine_mode mode)
{
    static const char *const names[] = {"none", "callback", "hook", "unknown"};
    return names[mode];
}

static bool uses_openmp(const tt_elf_file *elf)
{
    for (size_t i = 0; i < tt_elf_n_needed(elf); i++) {
        const char *name = tt_elf_needed(elf, i);
        if (strstr(name, "libgomp") || strstr(name, "libomp") || strstr(name, "libiomp"))
            return true;
    }
    return tt_elf_symbol_flags(elf, "GOMP_parallel") ||
           tt_elf_symbol_flags(elf, "__kmpc_fork_call");
}

/* Whether the library is already listed under another name (libx.so -> libx.so.0). */
static bool is_listed(const tt_engine_probe *p, const struct stat *st)
{
    for (size_t i = 0; i < p->n_libraries; i++) {
        char path[PATH_MAX + NAME_MAX + 2];
        struct stat other;
        (void)snprintf(path, sizeof path, "%s/%s", p->libraries[i].dir, p->libraries[i].file);
        if (stat(path, &other) == 0 && other.st_ino == st->st_ino && other.st_dev == st->st_dev)
            return true;
    }
    return false;
}

static bool is_named_as_ours(const char *file)
{
    return (strncmp(file, "libggml", 7) == 0 || strncmp(file, "libllama", 8) == 0) &&
           strstr(file, ".so");
}

/* Read from the symbols, because a module may have any name. */
static bool has_all_of_ggml(const tt_elf_file *elf)
{
    return (tt_elf_symbol_flags(elf, "ggml_graph_compute") & TT_ELF_DEFINED) &&
           (tt_elf_symbol_flags(elf, GRAPH_ASYNC) & TT_ELF_DEFINED);
}

/* role: 0: by the file's name. */
static void add_library(tt_engine_probe *p, const char *dir, const char *file, unsigned role)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct stat st;
    if (p->n_libraries == TT_PROBE_LIBRARIES) return;
    (void)snprintf(path, sizeof path, "%s/%s", dir, file);
    if (stat(path, &st) != 0 || is_listed(p, &st)) return;
    tt_probe_library *l = &p->libraries[p->n_libraries];
    tt_error err;
    if (tt_elf_open(path, &l->elf, &err) != TT_OK) {
        if (!role) find(p, true, "cannot examine a library: %.280s", err.message);
        return;
    }
    if (role == TT_LIBRARY_ALL && !has_all_of_ggml(l->elf)) {
        tt_elf_close(l->elf);
        l->elf = NULL;
        return;
    }
    (void)snprintf(l->file, sizeof l->file, "%s", file);
    (void)snprintf(l->dir, sizeof l->dir, "%s", dir);
    l->role = role ? (tt_library_role)role : tt_library_role_of(file);
    l->uses_openmp = uses_openmp(l->elf);
    p->n_libraries++;
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

/* False when the folder cannot be listed. */
static bool add_folder(tt_engine_probe *p, const char *dir, unsigned role)
{
    struct dirent **names = NULL;
    int n = scandir(dir, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *file = names[i]->d_name;
        if (role ? strstr(file, ".so") || ends_in(file, ".node") : is_named_as_ours(file))
            add_library(p, dir, file, role);
        free(names[i]);
    }
    free(names);
    return n >= 0;
}

static tt_status add_libraries(tt_engine_probe *p, tt_error *err)
{
    if (!add_folder(p, p->engine.dir, 0))
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot list %.250s", p->engine.dir);
    if (p->n_libraries == 0) (void)add_folder(p, p->engine.dir, TT_LIBRARY_ALL);
    if (p->n_libraries > 0) return TT_OK;
    return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "no ggml library in %.250s",
                        p->engine.dir);
}

static bool has_role(const tt_engine_probe *p, unsigned roles)
{
    for (size_t i = 0; i < p->n_libraries; i++)
        if (p->libraries[i].role & roles) return true;
    return false;
}

/* Distributions may install CPU variants elsewhere (Debian: ggml/backends0 below the engine).
 * The engine reports where; if it cannot be loaded, that folder is tried. */
static void add_backends(tt_engine_probe *p)
{
    char dir[2 * PATH_MAX];
    const char *slash = strrchr(p->answer.cpu_path, '/');
    if (slash) {
        (void)snprintf(dir, sizeof dir, "%.*s", (int)(slash - p->answer.cpu_path),
                       p->answer.cpu_path);
        if (strcmp(dir, p->engine.dir) != 0) (void)add_folder(p, dir, 0);
    } else if (!has_role(p, TT_LIBRARY_CPU)) {
        (void)snprintf(dir, sizeof dir, "%s/ggml/backends0", p->engine.dir);
        (void)add_folder(p, dir, 0);
    }
}

static void ask_engine(tt_engine_probe *p)
{
    engine_ask(&p->engine, &p->answer);
    const tt_engine_answer *a = &p->answer;
    if (!p->engine.release[0])
        (void)snprintf(p->engine.release, sizeof p->engine.release, "%s", a->llama_version);
    add_backends(p);
    for (size_t i = 0; i < p->n_libraries; i++)
        for (size_t k = 0; k < a->n_scores; k++)
            if (strcmp(p->libraries[i].file, a->scores[k].file) == 0) {
                p->libraries[i].has_score = true;
                p->libraries[i].score = a->scores[k].score;
            }
    if (!a->loaded || a->failure[0])
        find(p, true, "the engine cannot be loaded here: %.260s",
             a->failure[0] ? a->failure : "no answer");
}

/* The one that the engine kept; else the best score; else the only one. */
static void choose_cpu(tt_engine_probe *p)
{
    tt_probe_library *best = NULL;
    const char *slash = strrchr(p->answer.cpu_path, '/'), *kept = slash ? slash + 1 : "";
    for (size_t i = 0; i < p->n_libraries; i++) {
        tt_probe_library *l = &p->libraries[i];
        if (!(l->role & TT_LIBRARY_CPU)) continue;
        if (strcmp(l->file, kept) == 0) {
            best = l;
            break;
        }
        if (!best || l->score > best->score) best = l;
    }
    if (best) best->is_chosen = true;
    p->cpu = best;
}

static void add_hook(tt_engine_probe *p, const char *name, const tt_probe_library *l,
                     unsigned flags, bool needed, bool known, const char *gives)
{
    if (p->n_hooks == TT_PROBE_HOOKS) return;
    bool bound = l && tt_elf_is_symbolic(l->elf) && (flags & TT_ELF_DEFINED);
    p->hooks[p->n_hooks++] = (tt_probe_hook){
        .name = name,
        .library = l,
        .is_defined = (flags & (TT_ELF_DEFINED | TT_ELF_STATIC)) != 0,
        .is_called = (flags & TT_ELF_CALLED) && !bound,
        .is_known = known,
        .is_needed = needed,
        .gives = gives,
    };
}

static void add_spec(tt_engine_probe *p, const hook_spec *spec)
{
    bool any = false, called = false;
    for (size_t i = 0; i < p->n_libraries; i++) {
        const tt_probe_library *l = &p->libraries[i];
        if (!(l->role & spec->callers) || ((l->role & TT_LIBRARY_CPU) && !l->is_chosen)) continue;
        unsigned flags = tt_elf_symbol_flags(l->elf, spec->name);
        if (!flags) continue;
        /* A library that only defines what others call needs no hook. */
        if (!(flags & TT_ELF_CALLED) && !spec->needed) continue;
        add_hook(p, spec->name, l, flags, spec->needed, true, spec->gives);
        called = called || p->hooks[p->n_hooks - 1].is_called;
        any = true;
    }
    if (!any) add_hook(p, spec->name, NULL, 0, spec->needed, true, spec->gives);
    if (!called && spec->costs) find(p, false, "no calls of %s: %s", spec->name, spec->costs);
}

static void add_fused(tt_engine_probe *p)
{
    if (!p->cpu) return;
    const tt_elf_symbol *symbols = tt_elf_symbols(p->cpu->elf);
    for (size_t i = 0; i < tt_elf_n_symbols(p->cpu->elf); i++) {
        const tt_elf_symbol *s = &symbols[i];
        if (strncmp(s->name, "ggml_", 5) != 0 || !ends_in(s->name, "_fused")) continue;
        bool known = strcmp(s->name, FUSED_KNOWN) == 0;
        add_hook(p, s->name, p->cpu, s->flags, false, known, "start of a fused pair of ops");
        if (!known)
            find(p, true,
                 "%s fuses ops in %s, which this version does not know: the time of such ops "
                 "falls to the op before them",
                 p->cpu->file, s->name);
    }
}

/* Programs call these, not the engine, so they only have to exist. Which of them a program calls
 * depends on its age: since 0.7.0 it is llama_process. */
static void add_decode(tt_engine_probe *p)
{
    static const char *const names[] = {"llama_decode", "llama_process"};
    for (size_t i = 0; i < p->n_libraries; i++)
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            const tt_probe_library *l = &p->libraries[i];
            unsigned flags = tt_elf_symbol_flags(l->elf, names[k]);
            if ((l->role & TT_LIBRARY_LLAMA) && (flags & TT_ELF_DEFINED))
                add_hook(p, names[k], l, flags, false, true,
                         "bounds of a batch (called by the program)");
        }
}

/* Whether a library of one of these roles calls it replaceably. */
static bool is_hooked(const tt_engine_probe *p, const char *name, unsigned roles)
{
    for (size_t i = 0; i < p->n_hooks; i++)
        if (p->hooks[i].is_called && (p->hooks[i].library->role & roles) &&
            strcmp(p->hooks[i].name, name) == 0)
            return true;
    return false;
}

static bool is_exported(const tt_engine_probe *p, const char *name)
{
    for (size_t i = 0; i < p->n_libraries; i++)
        if (tt_elf_symbol_flags(p->libraries[i].elf, name) & TT_ELF_DEFINED) return true;
    return false;
}

static void choose_mode(tt_engine_probe *p)
{
    bool hook = true;
    if (p->answer.failure[0] && !has_role(p, TT_LIBRARY_CPU)) {
        p->mode = TT_ENGINE_MODE_UNKNOWN;
        return;
    }
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
        if (specs[i].needed && !is_hooked(p, specs[i].name, specs[i].callers)) {
            hook = false;
            find(p, false, "%s calls no %s through the linker's table: no %s",
                 p->cpu ? p->cpu->file : "the engine", specs[i].name, specs[i].gives);
        }
    /* libllama calls it directly; other users of ggml call the function without _async, which
     * calls it inside the base library. */
    unsigned callers = has_role(p, TT_LIBRARY_LLAMA) ? TT_LIBRARY_LLAMA : TT_LIBRARY_BASE;
    bool callback = is_hooked(p, GRAPH_ASYNC, callers) && is_exported(p, EVAL_CALLBACK);
    p->mode = hook ? TT_ENGINE_MODE_HOOK : callback ? TT_ENGINE_MODE_CALLBACK : TT_ENGINE_MODE_NONE;
    if (p->mode == TT_ENGINE_MODE_CALLBACK)
        find(p, false,
             "callback mode: times are of whole ops, not of threads; the scheduler runs each op by "
             "itself and waits for it, so decoding is slower (how much was not measured on this "
             "engine)");
    if (p->mode == TT_ENGINE_MODE_NONE)
        find(p, true,
             "nothing can be traced: neither the CPU backend nor the scheduler is "
             "reached through the dynamic linker (a static or hidden-visibility build)");
}

static void check_layout(tt_engine_probe *p)
{
    size_t overhead = p->answer.tensor_overhead;
    p->is_layout_known = overhead == 0 || p->answer.name_bytes > 0;
    if (!p->is_layout_known)
        find(p, true,
             "struct ggml_tensor has an unknown layout (" TT_GGML_LAYOUT_WHERE
             "): tracing is refused",
             overhead, p->answer.name_at);
    for (size_t i = 0; i < p->n_libraries; i++)
        if (p->libraries[i].role == TT_LIBRARY_BACKEND)
            find(p, false,
                 "%s: a model that is offloaded to it is observed in callback mode: ops on "
                 "this backend pass no hook",
                 p->libraries[i].file);
}

tt_status tt_engine_probe_new(const tt_engine_found *engine, bool ask, tt_engine_probe **out,
                              tt_error *err)
{
    tt_engine_probe *p = calloc(1, sizeof *p);
    if (!p) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    p->engine = *engine;
    tt_status status = add_libraries(p, err);
    if (status != TT_OK) {
        tt_engine_probe_free(p);
        return status;
    }
    /* A Python module cannot be loaded outside of Python. */
    if (ask && p->libraries[0].role != TT_LIBRARY_ALL) ask_engine(p);
    choose_cpu(p);
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        add_spec(p, &specs[i]);
        if (strcmp(specs[i].name, EXTRA_FORWARD) == 0) add_fused(p);
    }
    add_decode(p);
    choose_mode(p);
    check_layout(p);
    *out = p;
    return TT_OK;
}

void tt_engine_probe_free(tt_engine_probe *p)
{
    if (!p) return;
    for (size_t i = 0; i < p->n_libraries; i++)
        tt_elf_close(p->libraries[i].elf);
    free(p);
}
