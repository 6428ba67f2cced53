/* kills TENSORTRACE ENGINE MODEL N SEED: traces ./witness N times and kills it, or `run`, or both,
 * in a phase and after a delay of its own each time. Then everything that the witness had seen
 * done has to be in the trace, whole, and `verify` has to pass.
 *
 * Prints a line for each failure, and at the end how many kills there were by phase and victim. */
#include "witness.h"

#include "model/model.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRACE "kills.ttrace"
#define PART TRACE ".part"
#define WITNESS "kills.witness"
#define SECONDS_MAX 120 /* of one run, before it counts as hanging */

enum victim { PROGRAM, RUN, BOTH, BOTH_AND_AREA, VICTIMS };

static const char *const victim_names[VICTIMS] = {"the program", "run", "both",
                                                  "both, and the area is lost"};
static const char *const phase_names[WITNESS_PHASES] = {"start", "load", "prompt", "generate",
                                                        "exit"};

typedef struct setup {
    const char *tensortrace, *engine, *model;
    char *program;
    witness *w;
    unsigned failures, checked; /* traces with at least one decode that was done */
    unsigned kills[WITNESS_PHASES][VICTIMS];
} setup;

typedef struct attempt {
    unsigned number;
    enum victim victim;
    enum witness_phase aim, phase; /* when the kill was meant to be, and when it was */
    bool callback;
    const char *ring; /* a small one is drained to the file all the time */
    bool killed;      /* not over before */
    pid_t run;
    long delay_us;
} attempt;

#define FAIL(s, a, ...)                                                                            \
    do {                                                                                           \
        (void)printf("FAILED: kill %u of %s at %s: ", (a)->number, victim_names[(a)->victim],      \
                     phase_names[(a)->phase]);                                                     \
        (void)printf(__VA_ARGS__);                                                                 \
        (void)putchar('\n');                                                                       \
        (s)->failures++;                                                                           \
    } while (0)

static uint64_t random_state;

static uint64_t below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return n ? random_state % n : 0;
}

static void nap(long us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    (void)nanosleep(&t, NULL);
}

static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void open_witness(setup *s)
{
    int fd = open(WITNESS, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(witness)) != 0) exit(2);
    s->w = mmap(NULL, sizeof(witness), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (s->w == MAP_FAILED) exit(2);
    (void)close(fd);
}

static int quiet_fd(void)
{
    return open("kills.log", O_WRONLY | O_CREAT | O_APPEND, 0600);
}

/* A command to its end; its exit code, or 128 + signal. */
static int command(char *const argv[])
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        int fd = quiet_fd();
        (void)dup2(fd, 1);
        (void)dup2(fd, 2);
        (void)execv(argv[0], argv);
        _exit(127);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void start(setup *s, attempt *a)
{
    memset(s->w, 0, sizeof *s->w);
    s->w->generate = (uint32_t)(24 + below(24));
    s->w->threads = 1 + a->number % 2;
    a->run = fork();
    if (a->run != 0) return;
    int fd = quiet_fd();
    (void)dup2(fd, 1);
    (void)dup2(fd, 2);
    (void)execl(s->tensortrace, "tensortrace", "run", "-q", "-o", TRACE, "--mode",
                a->callback ? "callback" : "auto", "--ring", a->ring, "--", s->program, s->engine,
                s->model, WITNESS, (char *)NULL);
    _exit(127);
}

static bool is_over(pid_t child)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

/* Until the phase has begun and a while after. False when the program was over before. */
static bool await(setup *s, attempt *a)
{
    double limit = now_s() + SECONDS_MAX;
    while ((enum witness_phase)atomic_load(&s->w->phase) < a->aim && now_s() < limit) {
        if (is_over(a->run)) return false;
        nap(50);
    }
    nap(a->delay_us);
    return true;
}

static void kill_one(pid_t pid)
{
    if (pid > 0) (void)kill(pid, SIGKILL);
}

static void strike(setup *s, attempt *a)
{
    pid_t program = (pid_t)atomic_load(&s->w->pid);
    bool first = below(2);
    a->killed = !is_over(a->run);
    if (a->victim != PROGRAM && first) kill_one(a->run);
    /* Before it told its number there is nobody but run to kill. */
    if (a->victim != RUN && a->killed) kill_one(program);
    if (a->victim != PROGRAM && !first) kill_one(a->run);
    a->phase = (enum witness_phase)atomic_load(&s->w->phase);
}

/* Everybody of this attempt is gone, also a program that run has left to us. */
static void settle(setup *s, attempt *a)
{
    double limit = now_s() + SECONDS_MAX;
    while (now_s() < limit) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0 && errno == ECHILD) return;
        if (pid == 0) nap(200);
    }
    FAIL(s, a, "somebody hangs");
    kill_one((pid_t)atomic_load(&s->w->pid));
    kill_one(a->run);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* The area of the trace, by its run id. */
static void area_of(const char *trace, char out[64])
{
    uint8_t head[24] = {0};
    int fd = open(trace, O_RDONLY);
    if (fd < 0 || read(fd, head, sizeof head) != (ssize_t)sizeof head) head[0] = 0;
    if (fd >= 0) (void)close(fd);
    (void)strcpy(out, "/dev/shm/tensortrace-");
    for (int i = 0; i < 8; i++)
        (void)snprintf(out + strlen(out), 64 - strlen(out), "%02x", head[16 + i]);
    (void)strcat(out, ".area");
}

static void finish_trace(setup *s, attempt *a)
{
    char area[64];
    if (!exists(PART)) return;
    if (a->victim == PROGRAM) FAIL(s, a, "run has left a part file");
    area_of(PART, area);
    if (a->victim == BOTH_AND_AREA) (void)unlink(area);
    int code = command((char *[]){(char *)s->tensortrace, "recover", TRACE, NULL});
    /* Killed before the file had a header: there is nothing to recover. */
    if (code != 0 && atomic_load(&s->w->done) > 0) FAIL(s, a, "recover: exit code %d", code);
    if (code != 0) (void)unlink(PART);
}

/* Every lane has recorded each executed node of the run. */
static bool is_run_whole(const tt_model *m, const tt_run *r)
{
    size_t n;
    const tt_piece *list;
    uint64_t nodes = 0;
    bool hooked = r->observed == TT_OBSERVED_HOOK;
    if (!r->ended || r->graph == TT_NONE || (hooked && !r->threads)) return false;
    if (tt_pieces_of_run(m->pieces, r->id, &list, &n, NULL) != TT_OK) return false;
    for (size_t i = 0; i < n; i++) {
        tt_piece_ops ops;
        if (tt_pieces_get(m->pieces, &list[i], &ops, NULL) != TT_OK || ops.open) return false;
        for (size_t k = 0; k < ops.n; k++)
            nodes += 1u + ops.covers[k];
    }
    return nodes == (uint64_t)(hooked ? r->threads : 1) * m->graphs[r->graph].n_executed;
}

static void check_batch(setup *s, attempt *a, const tt_model *m, uint32_t i)
{
    const witness_decode *d = &s->w->decodes[i];
    if (i >= m->n_batches) {
        FAIL(s, a, "batch %u is missing: %u are there", i, m->n_batches);
        return;
    }
    const tt_batch *b = &m->batches[i];
    if (!b->ended || (int32_t)b->n_tokens != d->n || !b->tokens || b->tokens[0] != d->first_token)
        FAIL(s, a, "batch %u is not what was decoded", i);
    unsigned runs = 0;
    for (uint32_t k = 0; k < m->n_runs; k++) {
        if (m->runs[k].batch != i) continue;
        runs++;
        if (!is_run_whole(m, &m->runs[k]))
            FAIL(s, a, "run %u of batch %u is not whole", m->runs[k].id, i);
    }
    if (runs == 0) FAIL(s, a, "batch %u has no run", i);
}

static void check_batches(setup *s, attempt *a, const tt_model *m, uint32_t done)
{
    if (m->losses_total) FAIL(s, a, "%llu records were lost", (unsigned long long)m->losses_total);
    if (m->n_decodes < done) FAIL(s, a, "%u of %u decodes are there", m->n_decodes, done);
    for (uint32_t i = 0; i < done; i++)
        check_batch(s, a, m, i);
    s->checked += done > 0;
}

/* What was done when the kill came has to be in the trace. */
static void check_trace(setup *s, attempt *a, uint32_t done)
{
    tt_model *m;
    tt_error err;
    char area[64];
    if (!exists(TRACE)) {
        if (done) FAIL(s, a, "no trace, and %u decodes were done", done);
        return;
    }
    int code = command((char *[]){(char *)s->tensortrace, "verify", TRACE, NULL});
    if (code != 0) FAIL(s, a, "verify: exit code %d", code);
    if (tt_model_open(TRACE, &m, &err) != TT_OK) {
        FAIL(s, a, "%s", err.message);
        return;
    }
    if (!m->trace.complete) FAIL(s, a, "the trace has no end");
    /* Without the area only what had been written is there: of that, all fits (verify). */
    if (a->victim != BOTH_AND_AREA) check_batches(s, a, m, done);
    area_of(TRACE, area);
    if (exists(area)) {
        FAIL(s, a, "%s stays", area);
        (void)unlink(area);
    }
    tt_model_close(m);
}

static void one(setup *s, unsigned number)
{
    static const long delays_us[WITNESS_PHASES] = {20000, 60000, 8000, 25000, 4000};
    attempt a = {.number = number,
                 .victim = (enum victim)(number / WITNESS_PHASES % VICTIMS),
                 .aim = (enum witness_phase)(number % WITNESS_PHASES),
                 .callback = below(6) == 0,
                 .ring = below(2) ? "1M" : "2M"};
    a.delay_us = (long)below((uint64_t)delays_us[a.aim]);
    start(s, &a);
    if (await(s, &a)) strike(s, &a);
    uint32_t done = atomic_load(&s->w->done);
    settle(s, &a);
    /* A program that outlived run has gone on and tells more. */
    if (a.victim == RUN) done = atomic_load(&s->w->done);
    finish_trace(s, &a);
    unsigned before = s->failures;
    check_trace(s, &a, done);
    s->kills[a.phase][a.victim] += a.killed;
    if (s->failures != before) {
        char kept[64];
        (void)snprintf(kept, sizeof kept, "failed-%u.ttrace", number);
        (void)rename(TRACE, kept);
    }
    (void)unlink(TRACE);
}

static void report(const setup *s, unsigned n)
{
    unsigned total = 0;
    for (int v = 0; v < VICTIMS; v++) {
        (void)printf("%s:", victim_names[v]);
        for (int p = 0; p < WITNESS_PHASES; p++) {
            (void)printf(" %s %u", phase_names[p], s->kills[p][v]);
            total += s->kills[p][v];
        }
        (void)putchar('\n');
    }
    (void)printf("%u runs, %u kills, %u traces of decodes compared, %u failures\n", n, total,
                 s->checked, s->failures);
}

int main(int argc, char **argv)
{
    setup s = {0};
    if (argc < 6) return 64;
    s.tensortrace = argv[1];
    s.engine = argv[2];
    s.model = argv[3];
    unsigned n = (unsigned)strtoul(argv[4], NULL, 10);
    random_state = strtoull(argv[5], NULL, 10) * 2654435769u + 1;
    const char *slash = strrchr(argv[0], '/');
    if (asprintf(&s.program, "%.*s/witness", slash ? (int)(slash - argv[0]) : 1,
                 slash ? argv[0] : ".") < 0)
        return 2;
    /* Programs whose `run` was killed become our children. */
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return 2;
    open_witness(&s);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    for (unsigned i = 0; i < n; i++)
        one(&s, i);
    report(&s, n);
    /* A program that could not even start would pass everything. */
    return s.failures || s.checked < n / 8 || n == 0;
}
