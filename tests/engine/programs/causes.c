/* causes ENGINE MODEL N [TOKEN:CAUSE:AMOUNT ...]: a prompt and N tokens, some of which are made
 * slow on purpose. Prints "batch B WAITED READ CAUSE" on stderr for each: its number in the trace;
 * by the kernel, for how many ms its threads were ready but did not run, and how many bytes they
 * read from devices; and the cause or "none". AMOUNT is
 *
 *   sleep      ms before the decode
 *   sleep_op   ms in the engine's eval callback, after some op
 *   stop       ms that the process is stopped by SIGSTOP, somewhere inside the decode
 *   hog        busy processes on each processor, during the decode
 *   prompt     tokens of another sequence's prompt, in the same batch
 *   squeeze    MiB that the memory group $TT_GROUP may use, during the decode
 *   drop       a file of lines "OFFSET SIZE": ranges of the model file put out of the page cache */
#include "llama_program.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROMPT 12
#define SEQUENCES 2
#define ROWS 512
#define HOGS_MAX 64

/* --- a thread a processor --- */

static cpu_set_t processors; /* ours */

/* The main thread has the first processor, the others share the rest: as on a machine where nothing
 * else runs, they do not get in each other's way. */
static void pin(pthread_t thread, bool is_main)
{
    cpu_set_t wanted = processors;
    size_t first = 0;
    if (CPU_COUNT(&processors) < 2) return;
    while (!CPU_ISSET(first, &processors))
        first++;
    if (is_main) CPU_ZERO(&wanted);
    if (is_main) CPU_SET(first, &wanted);
    if (!is_main) CPU_CLR(first, &wanted);
    (void)pthread_setaffinity_np(thread, sizeof wanted, &wanted);
}

/* How long a thread was ready but not running, in ns: by the kernel's scheduler. */
static unsigned long long waited_ns(const char *task)
{
    char path[64 + NAME_MAX];
    unsigned long long ran, waited = 0;
    (void)snprintf(path, sizeof path, "/proc/%s/schedstat", task);
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%llu %llu", &ran, &waited) != 2) waited = 0;
    if (f) (void)fclose(f);
    return waited;
}

static atomic_ullong ended_waited_ns; /* of threads that have ended */

typedef struct started {
    void *(*run)(void *);
    void *data;
} started;

static void *run_thread(void *data)
{
    const started s = *(started *)data;
    free(data);
    void *result = s.run(s.data);
    (void)atomic_fetch_add(&ended_waited_ns, waited_ns("thread-self"));
    return result;
}

/* Before the C library's, also for the engine. */
__attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *data)
{
    typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    create *next;
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    started *s = malloc(sizeof *s);
    if (!s) return ENOMEM;
    *s = (started){run, data};
    const int code = next(thread, attr, run_thread, s);
    if (code == 0)
        pin(*thread, false);
    else
        free(s);
    return code;
}

/* Of all our threads, in ms. */
static double waited_ms(void)
{
    char task[16 + NAME_MAX];
    unsigned long long sum = atomic_load(&ended_waited_ns);
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *e; dir && (e = readdir(dir));) {
        (void)snprintf(task, sizeof task, "self/task/%s", e->d_name);
        if (e->d_name[0] != '.') sum += waited_ns(task);
    }
    if (dir) (void)closedir(dir);
    return (double)sum / 1e6;
}

/* What the process read from devices, in bytes. */
static unsigned long long read_bytes(void)
{
    char line[128];
    unsigned long long bytes = 0;
    FILE *io = fopen("/proc/self/io", "r");
    while (io && fgets(line, sizeof line, io))
        (void)sscanf(line, "read_bytes: %llu", &bytes);
    if (io) (void)fclose(io);
    return bytes;
}

typedef struct cause {
    int token;
    char name[16];
    char amount[PATH_MAX];
    bool done;
} cause;

static struct tt_llama_model *model;
static struct tt_llama_context *context;
static int sleep_in_op_ms; /* 0: the callback does not want to see anything */
static double usual_ms = 5;

static void sleep_ms(double ms)
{
    struct timespec t = {(time_t)(ms / 1000), (long)((ms - 1000 * (int)(ms / 1000)) * 1e6)};
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

static double now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool watch(void *tensor, bool ask, void *user)
{
    static int asked;
    (void)tensor;
    (void)user;
    if (!sleep_in_op_ms) return false;
    if (ask) return ++asked % 40 == 0;
    sleep_ms(sleep_in_op_ms);
    sleep_in_op_ms = 0;
    return true;
}

/* --- other processes --- */

static pid_t children[HOGS_MAX];
static int n_children;

static void end_children(void)
{
    for (int i = 0; i < n_children; i++) {
        (void)kill(children[i], SIGKILL);
        (void)waitpid(children[i], NULL, 0);
    }
    n_children = 0;
}

static void begin_hogs(int each)
{
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &processors)) continue;
        for (int i = 0; i < each && n_children < HOGS_MAX; i++) {
            pid_t pid = fork();
            if (pid == 0) {
                cpu_set_t one;
                CPU_ZERO(&one);
                CPU_SET(cpu, &one);
                (void)sched_setaffinity(0, sizeof one, &one);
                for (volatile unsigned long k = 0;; k++)
                    ;
            }
            if (pid > 0) children[n_children++] = pid;
        }
    }
}

/* Stops us soon, inside the decode, and lets us go on. */
static void begin_stop(double ms)
{
    const pid_t us = getpid();
    const double after_ms = usual_ms * (0.2 + 0.5 * (double)(rand() % 1000) / 1000);
    pid_t pid = fork();
    if (pid == 0) {
        sleep_ms(after_ms);
        (void)kill(us, SIGSTOP);
        sleep_ms(ms);
        (void)kill(us, SIGCONT);
        _exit(0);
    }
    if (pid > 0) children[n_children++] = pid;
}

/* --- memory --- */

static void set_limit(const char *text)
{
    char path[PATH_MAX];
    const char *group = getenv("TT_GROUP"), *knob = getenv("TT_GROUP_KNOB");
    if (!group || !knob) program_skip("no memory group");
    (void)snprintf(path, sizeof path, "%s/%s", group, knob);
    for (int i = 0; i < 20; i++) {
        int fd = open(path, O_WRONLY);
        if (fd < 0) program_fail("%s cannot be opened", path);
        const bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
        (void)close(fd);
        if (ok) return;
    }
}

static void untouch(const char *path, unsigned long offset, unsigned long size)
{
    char line[PATH_MAX + 128];
    struct stat wanted, st;
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps || stat(path, &wanted) != 0) program_fail("no maps");
    while (fgets(line, sizeof line, maps)) {
        unsigned long from, to, at;
        char *name = strchr(line, '/');
        if (!name || sscanf(line, "%lx-%lx %*s %lx", &from, &to, &at) != 3) continue;
        name[strcspn(name, "\n")] = '\0';
        if (stat(name, &st) != 0 || st.st_ino != wanted.st_ino || st.st_dev != wanted.st_dev)
            continue;
        const unsigned long begin = offset > at ? offset : at;
        const unsigned long end =
            offset + size < at + (to - from) ? offset + size : at + (to - from);
        if (begin < end && madvise((char *)from + (begin - at), end - begin, MADV_DONTNEED) != 0)
            program_fail("madvise: %s", strerror(errno));
    }
    (void)fclose(maps);
}

/* Whole pages inside the ranges. */
static void drop(const char *path, const char *list)
{
    unsigned long offset, size;
    const unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
    FILE *in = fopen(list, "r");
    int fd = open(path, O_RDONLY);
    if (!in || fd < 0) program_fail("%s or %s cannot be opened", list, path);
    while (fscanf(in, "%lu %lu", &offset, &size) == 2) {
        const unsigned long from = (offset + page - 1) / page * page;
        const unsigned long to = (offset + size) / page * page;
        if (from >= to) continue;
        untouch(path, from, to - from);
        (void)posix_fadvise(fd, (off_t)from, (off_t)(to - from), POSIX_FADV_DONTNEED);
    }
    (void)fclose(in);
    (void)close(fd);
}

/* --- decoding --- */

static int32_t position;
static int n_prompts;

/* A generated token, and perhaps the prompt of another sequence. */
static void decode(int32_t token, int prompt)
{
    static program_row rows[ROWS];
    int32_t n = 0;
    rows[n++] = (program_row){.token = token,
                              .position = position++,
                              .sequences = {0},
                              .n_sequences = 1,
                              .is_output = true,
                              .kind = 'g'};
    if (prompt) program_forget(context, 1, -1);
    for (int32_t i = 0; i < prompt && n < ROWS; i++)
        rows[n++] = (program_row){.token = 300 + 7 * (i % 100) + n_prompts,
                                  .position = i,
                                  .sequences = {1},
                                  .n_sequences = 1,
                                  .is_output = i + 1 == prompt,
                                  .kind = 'p'};
    n_prompts += prompt > 0;
    program_decode_rows(context, rows, n);
}

static void make_context(bool callback)
{
    tt_engine_params p;
    if (!callback) {
        context = program_context(model, &(program_sizes){2048, ROWS, ROWS, SEQUENCES, false});
        return;
    }
    tt_engine_params_fetch(&p, program_api.context_default_params);
    if (!tt_engine_params_sizes_ok(&p)) program_fail("unknown context parameters");
    tt_engine_params_set_u32(&p, 0, 2048);
    program_set_callback(&p, watch);
    context = program_api.context_new(model, p.blob);
    if (!context) program_fail("no context");
    program_api.set_n_threads(context, PROGRAM_THREADS, PROGRAM_THREADS);
}

/* Before the decode; returns the tokens of a prompt to add. */
static int begin(const cause *c, const char *path)
{
    const int amount = atoi(c->amount);
    if (strcmp(c->name, "sleep") == 0) sleep_ms(amount);
    if (strcmp(c->name, "sleep_op") == 0) sleep_in_op_ms = amount;
    if (strcmp(c->name, "stop") == 0) begin_stop(amount);
    if (strcmp(c->name, "hog") == 0) begin_hogs(amount);
    if (strcmp(c->name, "drop") == 0) drop(path, c->amount);
    if (strcmp(c->name, "squeeze") == 0) {
        char limit[32];
        (void)snprintf(limit, sizeof limit, "%lld", (long long)amount << 20);
        set_limit(limit);
    }
    return strcmp(c->name, "prompt") == 0 ? amount : 0;
}

static void end(const cause *c)
{
    end_children();
    sleep_in_op_ms = 0;
    if (strcmp(c->name, "squeeze") == 0) set_limit(getenv("TT_GROUP_ROOMY"));
}

static int read_causes(char **words, int n, cause *list)
{
    int found = 0;
    for (int i = 0; i < n; i++)
        if (sscanf(words[i], "%d:%15[^:]:%4095s", &list[found].token, list[found].name,
                   list[found].amount) == 3)
            found++;
    return found;
}

static void generate(int n, cause *causes, int n_causes, const char *path)
{
    int32_t token = program_greedy(context, -1);
    for (int i = 0; i < n; i++) {
        cause *now = NULL;
        for (int k = 0; k < n_causes; k++)
            if (causes[k].token == i) now = &causes[k];
        const int prompt = now ? begin(now, path) : 0;
        const double from = now_ms(), waited = waited_ms();
        const unsigned long long read = read_bytes();
        decode(token, prompt);
        if (!now) usual_ms = now_ms() - from;
        (void)fprintf(stderr, "batch %d %.3f %llu %s\n", i + 1, waited_ms() - waited,
                      read_bytes() - read, now ? now->name : "none");
        if (now) end(now);
        token = program_greedy(context, 0);
    }
}

int main(int argc, char **argv)
{
    static cause causes[64];
    int32_t tokens[PROMPT];
    if (argc < 4) return 64;
    const int n_causes = read_causes(argv + 4, argc - 4 > 64 ? 64 : argc - 4, causes);
    bool callback = false;
    for (int i = 0; i < n_causes; i++)
        callback |= strcmp(causes[i].name, "sleep_op") == 0;
    (void)sched_getaffinity(0, sizeof processors, &processors);
    pin(pthread_self(), true);
    srand((unsigned)atoi(getenv("TT_SEED") ? getenv("TT_SEED") : "1"));
    program_open(argv[1]);
    model = program_model(argv[2], true, false);
    make_context(callback);
    for (int i = 0; i < PROMPT; i++)
        tokens[i] = i ? 300 + 7 * i : 1;
    program_decode(context, tokens, PROMPT);
    position = PROMPT;
    generate(atoi(argv[3]), causes, n_causes, argv[2]);
    program_api.context_free(context);
    program_api.model_free(model);
    return 0;
}
