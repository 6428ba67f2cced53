#include "runner/engine_ask.h"

#include "base/clock.h"
#include "base/ggml_layout.h"
#include "runner/engine_load.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MAX 65536
#define TIME_LIMIT_MS 30000

/* In the child: one "key=value" a line. */
static void tell(FILE *out, const char *key, const char *value)
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

/* ggml opens every variant to score it and keeps the best: the one still mapped. Where it looks
 * was decided when it was built, or by the environment. */
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

static void tell_scores(FILE *out, const char *dir)
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

static void tell_layout(FILE *out, overhead_of overhead, name_setter set_name)
{
    if (!overhead) return;
    fprintf(out, "tensor_overhead=%zu\n", overhead());
    fprintf(out, "name_bytes=%u\n", tt_ggml_name_bytes(overhead(), set_name));
}

/* An engine without libllama (whisper.cpp, a program of its own): ggml alone. */
static void tell_ggml(FILE *out, const tt_engine_found *engine)
{
    void *base = open_named(engine, "libggml-base");
    overhead_of overhead = NULL;
    name_setter set_name = NULL;
    void (*load_backends)(void) = NULL;
    if (!base) {
        const char *why = dlerror();
        tell(out, "failure", why ? why : "no libggml-base in its folder");
        return;
    }
    void *registry = open_named(engine, "libggml.");
    *(void **)&overhead = dlsym(base, "ggml_tensor_overhead");
    *(void **)&set_name = dlsym(base, "ggml_set_name");
    if (registry) *(void **)&load_backends = dlsym(registry, "ggml_backend_load_all");
    tell(out, "loaded", "1");
    tell_layout(out, overhead, set_name);
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
        tell_ggml(out, engine);
    } else {
        tt_engine_log_init(&log, NULL, NULL);
        if (tt_engine_load(engine, &log, &api, &err) != TT_OK) {
            tell(out, "failure", err.message);
            return;
        }
        tell(out, "loaded", "1");
        if (api.print_system_info) tell(out, "system_info", api.print_system_info());
        if (api.llama_version) tell(out, "llama_version", api.llama_version());
        if (api.ggml_version) tell(out, "ggml_version", api.ggml_version());
        if (api.ggml_commit) tell(out, "ggml_commit", api.ggml_commit());
        tell_layout(out, api.tensor_overhead, api.set_name);
    }
    if (!find_cpu(cpu)) return;
    tell(out, "cpu_path", cpu);
    (void)fflush(out);
    *strrchr(cpu, '/') = '\0';
    tell_scores(out, cpu);
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
    char *file = strchr(value, ' ');
    if (!strcmp(line, "score") && file && a->n_scores < TT_ENGINE_ANSWER_SCORES) {
        tt_engine_score *s = &a->scores[a->n_scores++];
        s->score = (int)strtol(value, NULL, 10);
        take(s->file, sizeof s->file, file + 1);
    }
}

/* Everything the child writes, until it closes or its time is up (false). */
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

void tt_engine_ask(const tt_engine_found *engine, tt_engine_answer *answer)
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
