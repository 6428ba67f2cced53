#include "cli/traced.h"

#include "analyze/copies.h"
#include "analyze/summary.h"
#include "analyze/values/first.h"
#include "base/path.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/hook_path.h"
#include "cli/report.h"
#include "cli/trace_options.h"
#include "model/model.h"
#include "record/place.h"
#include "record/recover.h"
#include "record/session.h"
#include "runner/program_probe.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NOTE_TEXT (PATH_MAX + 512)

static void __attribute__((format(printf, 2, 3)))
print_note(const tt_traced *t, const char *fmt, ...)
{
    char text[NOTE_TEXT];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    t->note(t->context, text);
}

/* --- before --- */

static bool set_number(const char *name, uint64_t value)
{
    char text[32];
    if (value == 0) return unsetenv(name) == 0;
    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    return setenv(name, text, 1) == 0;
}

static bool set_text(const char *name, const char *value)
{
    return (value ? setenv(name, value, 1) : unsetenv(name)) == 0;
}

/* The program's environment: this process's own, while it is started. */
static bool set_environment(const tt_traced *t, const char *hook, const char *session)
{
    const tt_capture_options *c = &t->capture;
    char preload[2 * PATH_MAX];
    const char *before = getenv("LD_PRELOAD");
    int n = snprintf(preload, sizeof preload, "%s%s%s", hook, before && before[0] ? ":" : "",
                     before ? before : "");
    if (n < 0 || (size_t)n >= sizeof preload) return false;
    return setenv("LD_PRELOAD", preload, 1) == 0 && setenv(TT_ENV_OUT, t->output, 1) == 0 &&
           setenv(TT_ENV_SESSION, session, 1) == 0 &&
           setenv(TT_ENV_MODE, c->mode ? c->mode : "auto", 1) == 0 &&
           set_number(TT_ENV_THREAD, c->thread_bytes) && set_number(TT_ENV_EVERY, c->every) &&
           set_number(TT_ENV_RING, c->keep_bytes) && set_text(TT_ENV_TOKENS, c->tokens) &&
           set_text(TT_ENV_VALUES, c->values) && set_number(TT_ENV_LIMIT, c->limit_bytes) &&
           set_number(TT_ENV_FAULTS, c->faults) &&
           set_number(TT_ENV_RESIDENCY, c->residency_every) &&
           set_text(TT_ENV_TEXT, c->no_text ? "0" : NULL);
}

/* --- snapshots --- */

typedef struct snapshots {
    const tt_traced *t;
    tt_session *session;
    uint32_t reported[TT_SESSION_FILES]; /* the last one reported, for each process */
} snapshots;

static void ask_snapshot(void *context)
{
    snapshots *s = context;
    bool anybody = false;
    uint32_t n = atomic_load(&s->session->n_files);
    for (uint32_t i = 0; i < n && i < TT_SESSION_FILES; i++)
        anybody |= atomic_load(&s->session->files[i].state) == TT_SESSION_WRITING;
    if (!anybody) print_note(s->t, "no snapshot: nothing is being recorded yet");
    if (anybody) atomic_fetch_add(&s->session->snapshots, 1);
}

/* Reports finished snapshots. Whether some are unfinished, or another reason to check again. */
static bool look_around(void *context)
{
    snapshots *s = context;
    bool due = s->t->tick != NULL;
    if (s->t->tick) s->t->tick(s->t->context, atomic_load(&s->session->graphs));
    uint32_t n = atomic_load(&s->session->n_files), asked = atomic_load(&s->session->snapshots);
    for (uint32_t i = 0; i < n && i < TT_SESSION_FILES; i++) {
        tt_session_file *file = &s->session->files[i];
        bool recording = atomic_load(&file->state) == TT_SESSION_WRITING;
        uint32_t done = atomic_load(&file->snapshots);
        due |= recording && done != asked;
        if (done == s->reported[i] || !file->snapshot[0]) continue;
        s->reported[i] = done;
        if (atomic_load(&file->snapshot_failed))
            print_note(s->t, "no snapshot: %.4000s", file->snapshot);
        else
            print_note(s->t, "wrote the snapshot %.4000s", file->snapshot);
    }
    return due;
}

/* --- after --- */

static bool is_unfinished(const tt_session_file *file)
{
    uint32_t state = atomic_load(&file->state);
    return state == TT_SESSION_WRITING || state == TT_SESSION_FAILED;
}

static void lose(tt_session *session, tt_session_file *file, const char *part)
{
    (void)snprintf(file->problem, sizeof file->problem,
                   "%.150s was moved, removed or replaced while it was written (where it is still "
                   "there, `tensortrace recover` finishes it)",
                   part);
    tt_session_problem(session, file->problem);
    atomic_store(&file->state, TT_SESSION_LOST);
}

/* Whether its process was killed after it had named the trace, perhaps with a number (see
 * tt_place_rename): sets file->path. */
static bool has_its_name(tt_session_file *file)
{
    char path[PATH_MAX];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s", file->path);
    for (long n = 2; lstat(path, &st) == 0; n++) {
        if (tt_recover_is_of(path, file->run_id)) {
            (void)snprintf(file->path, sizeof file->path, "%s", path);
            return true;
        }
        if (tt_place_numbered(path, sizeof path, file->path, n, NULL) != TT_OK) return false;
    }
    return false;
}

/* How a process ended whose trace was not finished, as far as that is known. */
static const char *ending_of(const tt_session_file *file, const tt_spawn_end *program,
                             char text[96])
{
    if ((pid_t)file->pid != program->pid) return "by a signal, _exit or exec";
    if (!program->signal) return "by _exit or exec";
    (void)snprintf(text, 96, "by signal %d, %s", program->signal, strsignal(program->signal));
    return text;
}

/* Finishes the trace of a process that could not do it itself. */
static void recover(const tt_traced *t, tt_session *session, tt_session_file *file,
                    const tt_spawn_end *program)
{
    tt_recover_report report;
    tt_error err;
    char part[PATH_MAX], ending[96];
    const bool failed = atomic_load(&file->state) == TT_SESSION_FAILED;
    if (tt_place_part(part, sizeof part, file->path, NULL) != TT_OK) return;
    if (!tt_recover_is_of(part, file->run_id)) {
        if (has_its_name(file))
            atomic_store(&file->state, TT_SESSION_FINISHED);
        else
            lose(session, file, part);
        return;
    }
    /* Only the requested file may replace one: children's names are our choice. */
    bool replace = t->force && strcmp(file->path, t->output) == 0;
    const unsigned how = TT_RECOVER_DISCARD | (replace ? TT_RECOVER_REPLACE : 0);
    if (tt_recover(part, how, &report, &err) != TT_OK) {
        print_note(t, "the trace could not be finished: %s", err.message);
        if (!t->discards)
            print_note(
                t, "what was recorded is kept: when that is mended, run `tensortrace recover %s`",
                part);
        return;
    }
    if (report.discarded) {
        atomic_store(&file->state, TT_SESSION_DISCARDED);
        return;
    }
    file->outcome = report.outcome;
    (void)snprintf(file->path, sizeof file->path, "%s", report.path);
    atomic_store(&file->state, TT_SESSION_FINISHED);
    if (t->quiet) return;
    if (failed)
        print_note(t,
                   "process %" PRIu32
                   " could not finish its trace (%s); that is done, and what it recorded is in it",
                   file->pid, file->problem);
    else
        print_note(
            t,
            "process %" PRIu32
            " ended before its trace was finished (%s); what it recorded until then is in it",
            file->pid, ending_of(file, program, ending));
}

static bool is_listed(tt_session *session, const char *path)
{
    uint32_t n = atomic_load(&session->n_files);
    for (uint32_t i = 0; i < n && i < TT_SESSION_FILES; i++)
        if (strcmp(session->files[i].path, path) == 0) return true;
    return false;
}

/* A process that died while it opened its trace could not report it, and had recorded nothing:
 * removes what it left, which would obstruct the next run. */
static void remove_unlisted(const tt_traced *t, tt_session *session)
{
    tt_recover_report report;
    tt_error err;
    struct stat st;
    char part[PATH_MAX];
    if (is_listed(session, t->output) ||
        tt_place_part(part, sizeof part, t->output, NULL) != TT_OK || lstat(part, &st) != 0 ||
        !S_ISREG(st.st_mode))
        return;
    if (tt_recover(part, 0, &report, &err) == TT_OK)
        (void)unlink(report.path);
    else if (st.st_size == 0)
        (void)unlink(part);
}

/* Finds bad outputs in the trace, like `values --first-bad`: infinities of attention masks do not
 * count. "ffn_down-3 in batch 0" is the first; "" if none. False if the trace cannot be read. */
static bool find_bad(const char *path, tt_values_counts *counts, char *text, size_t size)
{
    static const tt_values_query all;
    tt_values_first f;
    tt_model *m;
    char name[4 * 64];
    text[0] = 0;
    if (tt_model_open(path, &m, NULL) != TT_OK) return false;
    const bool asked = tt_values_first_bad(m, &all, NULL, &f, NULL) == TT_OK;
    if (asked && f.found) {
        const tt_values_row *row = &f.origins[0].row;
        const tt_run *r = &m->runs[row->run];
        tt_trace_text(name, sizeof name, m->graphs[r->graph].tensors[row->node].name);
        if (r->batch == TT_NONE)
            (void)snprintf(text, size, "%s", name);
        else
            (void)snprintf(text, size, "%s in batch %" PRIu32, name,
                           tt_model_batch_number(m, r->batch));
    }
    *counts = f.counts;
    tt_values_first_free(&f);
    tt_model_close(m);
    return asked;
}

static void report_bad(const tt_traced *t, const tt_session_file *file)
{
    const uint64_t taken = file->outcome.outputs_not_finite;
    char count[TT_UNITS_TEXT], first[5 * 64];
    tt_values_counts c;
    if (!taken) return;
    const bool asked = find_bad(file->path, &c, first, sizeof first);
    if (asked && c.bad)
        print_note(
            t,
            "%s output%s hold%s NaN or infinity, first: %s: see `tensortrace values --first-bad "
            "%s`",
            tt_units_count(count, c.bad), c.bad == 1 ? "" : "s", c.bad == 1 ? "s" : "", first,
            file->path);
    /* A flight recorder discarded them, or parts were dropped. */
    else if (!asked || c.masking < taken)
        print_note(
            t,
            "%s outputs held NaN or infinity (a mask's, perhaps), and %s does not hold all of them",
            tt_units_count(count, taken), file->path);
}

static void report_outputs(const tt_traced *t, const tt_session_file *file)
{
    char count[TT_UNITS_TEXT];
    const tt_outcome *o = &file->outcome;
    const char *full = t->capture.limit_bytes ? "see --limit and --thread-memory"
                                              : "a thread's memory was full: see --thread-memory";
    if (o->details_dropped && t->capture.values)
        print_note(t, "%s parts of fingerprints and other details were dropped (%s)",
                   tt_units_count(count, o->details_dropped), full);
    if (o->data_dropped)
        print_note(t, "%s parts of the data of outputs were dropped (%s)",
                   tt_units_count(count, o->data_dropped),
                   t->capture.limit_bytes ? "see --limit" : "the disk did not take them in time");
    if (t->capture.values && o->ops && o->outputs == 0)
        print_note(t,
                   "no output was taken: --values=%s selects no node that was computed "
                   "(`tensortrace log %s` lists them)",
                   t->capture.values, file->path);
    report_bad(t, file);
}

/* Most engines repack weights by default, which matters to users who study reads of the
 * file. */
static void report_copies(const tt_traced *t, const tt_model *m)
{
    char text[TT_COPIES_TEXT];
    tt_copies copies;
    if (m && tt_copies_find(m, &copies) && *tt_copies_text(&copies, text))
        print_note(t, "%s", text);
}

/* ": 255 ops, 9 tokens in 5 batches": what the trace holds; nothing if it cannot be read. */
static const char *count_up(const tt_model *m, char *text, size_t size)
{
    char ops[TT_UNITS_TEXT], tokens[TT_UNITS_TEXT], batches[TT_UNITS_TEXT];
    uint64_t n_tokens = 0;
    tt_summary s;
    text[0] = '\0';
    if (!m) return text;
    tt_summarize(m, &s);
    for (uint32_t i = 0; i < m->n_batches; i++)
        n_tokens += m->batches[i].n_tokens;
    (void)snprintf(text, size, ": %s op%s, %s token%s in %s batch%s", tt_units_count(ops, s.ops),
                   s.ops == 1 ? "" : "s", tt_units_count(tokens, n_tokens),
                   n_tokens == 1 ? "" : "s", tt_units_count(batches, m->n_batches),
                   m->n_batches == 1 ? "" : "es");
    return text;
}

static void report_file(const tt_traced *t, const tt_session_file *file)
{
    struct stat st;
    char size[TT_UNITS_TEXT], ops[TT_UNITS_TEXT], dropped[TT_UNITS_TEXT];
    char counts[3 * TT_UNITS_TEXT + 40];
    tt_model *m = NULL;
    if (stat(file->path, &st) != 0) return;
    if (!t->quiet && tt_model_open(file->path, &m, NULL) != TT_OK) m = NULL;
    (void)tt_units_bytes(size, (uint64_t)st.st_size);
    /* An incomplete trace is reported even when quiet. */
    const tt_outcome *o = &file->outcome;
    if (o->dropped)
        print_note(t, "wrote %s (%s); it has %s records, %s more were dropped (%s)", file->path,
                   size, tt_units_count(ops, o->ops), tt_units_count(dropped, o->dropped),
                   t->capture.limit_bytes ? "see --limit and --thread-memory"
                                          : "a thread's memory was full: see --thread-memory");
    else if (!t->quiet || o->batches_after_limit)
        print_note(t, "wrote %s (%s)%s", file->path, size, count_up(m, counts, sizeof counts));
    if (o->batches_after_limit)
        print_note(t,
                   "recording stopped at the limit: %" PRIu64 " of %" PRIu64
                   " batches were computed before",
                   o->batches - o->batches_after_limit, o->batches);
    report_outputs(t, file);
    report_copies(t, m);
    tt_model_close(m);
}

/* Those who want to read what was asked for have to know what there is instead. */
static void report_others(const tt_traced *t, tt_session *session)
{
    char names[NOTE_TEXT / 2] = "";
    const uint32_t n = atomic_load(&session->n_files);
    for (uint32_t i = 0; i < n && i < TT_SESSION_FILES; i++) {
        const tt_session_file *file = &session->files[i];
        const size_t at = strlen(names);
        if (atomic_load(&file->state) != TT_SESSION_FINISHED) continue;
        if (strcmp(file->path, t->output) == 0) return;
        (void)snprintf(names + at, sizeof names - at, "%s%s", at ? ", " : "", file->path);
    }
    if (names[0])
        print_note(t,
                   "%s was not written: what computed were other processes of the program, in %s",
                   tt_base_name(t->output), names);
}

static uint32_t finish_files(const tt_traced *t, tt_session *session, const tt_spawn_end *program)
{
    uint32_t n = atomic_load(&session->n_files), finished = 0;
    for (uint32_t i = 0; i < n && i < TT_SESSION_FILES; i++) {
        tt_session_file *file = &session->files[i];
        if (is_unfinished(file)) recover(t, session, file, program);
        if (atomic_load(&file->state) != TT_SESSION_FINISHED) continue;
        finished++;
        report_file(t, file);
    }
    /* If there is no other, the caller reports it. */
    for (uint32_t i = 0; finished && i < n && i < TT_SESSION_FILES; i++)
        if (atomic_load(&session->files[i].state) == TT_SESSION_LOST)
            print_note(t, "a trace is lost: %s", session->files[i].problem);
    if (n > TT_SESSION_FILES)
        print_note(t,
                   "traces not listed here, of more processes: %" PRIu32
                   "; one that is still called .part needs `tensortrace recover`",
                   n - TT_SESSION_FILES);
    report_others(t, session);
    remove_unlisted(t, session);
    return finished;
}

/* Whether there is a trace that could not be finished: that is not nothing. */
static bool has_unfinished(tt_session *session)
{
    uint32_t n = atomic_load(&session->n_files);
    for (uint32_t i = 0; i < n && i < TT_SESSION_FILES; i++)
        if (is_unfinished(&session->files[i])) return true;
    return false;
}

/* Why there is no trace. *certain: false: a possible reason if the program did not fail. */
static void why_nothing(const tt_traced *t, tt_session *session, tt_traced_end *end)
{
    const uint32_t attached = atomic_load(&session->attached);
    const bool chooses = t->capture.tokens || t->capture.every;
    const char *why = NULL;
    end->why_is_certain = true;
    end->ask_doctor = !attached && !atomic_load(&session->other_builds);
    if (atomic_load(&session->has_problem))
        why = session->problem;
    else if (!attached && atomic_load(&session->other_builds))
        why = "the hook library (see `tensortrace doctor`) is of another build than this program: "
              "build or install both anew";
    else if (!attached)
        why = "the preload library was not loaded: the program is statically linked, has more "
              "privileges than you (setuid), or drops LD_PRELOAD";
    else if (atomic_load(&session->graphs) && chooses)
        why = "none of the batches that --batches and --every ask for was computed";
    else if (atomic_load(&session->models))
        why = "a model was opened, but no graph was computed";
    if (why) {
        (void)snprintf(end->why_nothing, sizeof end->why_nothing, "%s", why);
        return;
    }
    end->why_is_certain = false;
    end->ask_doctor = true;
    (void)snprintf(
        end->why_nothing, sizeof end->why_nothing,
        "no ggml shared library computed anything in the %s that had the hook library: it does not "
        "use ggml, links it statically, ended before it computed, or started the one that computes "
        "without LD_PRELOAD (as env -i and sudo do)",
        attached == 1 ? "process" : "processes");
}

/* The program that `env` or `nohup` starts, as far as their words are known; else argv itself. */
static char *const *program_of(char *const *argv)
{
    char *const *word = argv;
    const char *name = tt_base_name(argv[0]);
    if (strcmp(name, "nohup") == 0 && argv[1]) return program_of(argv + 1);
    if (strcmp(name, "env") != 0) return argv;
    for (word++; *word && (strchr(*word, '=') || (*word)[0] == '-'); word++) {
        const char *option = *word;
        if (option[0] != '-' || strcmp(option, "-i") == 0 || strcmp(option, "-") == 0) continue;
        if (strcmp(option, "-u") != 0 || !word[1]) return argv;
        word++;
    }
    return *word ? program_of(word) : argv;
}

/* Before the program runs: whether it is certain that nothing in it can be traced. What it starts
 * or loads may be, unless it is static and has its ggml inside. */
static bool is_hopeless(const tt_traced *t, char *const *argv, tt_traced_end *end)
{
    tt_program_probe *p;
    char *const *program = program_of(argv);
    if (tt_program_probe_new(program[0], &p, NULL) != TT_OK) return false;
    const bool hopeless = p->is_static && (p->defines_ggml || p->mentions_ggml);
    if (hopeless) {
        (void)snprintf(end->why_nothing, sizeof end->why_nothing, "%.60s was not run: %.320s",
                       tt_base_name(program[0]), p->why);
        end->why_is_certain = end->refused = true;
    } else if (p->is_static || p->is_secure || p->inside[0] || p->mentions_ggml) {
        if (p->verdict == TT_PROGRAM_NO)
            print_note(t, "%s: %s; only what it starts or loads can be traced",
                       tt_base_name(program[0]), p->why);
    }
    free(p);
    return hopeless;
}

/* A limit on the size of files (ulimit -f) should be an error here, not a signal. */
static void ignore_file_limit(struct sigaction *before)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGXFSZ, &ignore, before);
}

static tt_status make_session(const tt_traced *t, tt_session **session, char path[PATH_MAX],
                              int *lock, tt_error *err)
{
    struct sigaction before;
    ignore_file_limit(&before);
    tt_status status = tt_session_create(session, path, PATH_MAX, t->force, lock, err);
    (void)sigaction(SIGXFSZ, &before, NULL);
    return status;
}

/* Finishes and reports after the program's end. */
static void conclude(const tt_traced *t, tt_session *session, tt_traced_end *end)
{
    end->n_traces = finish_files(t, session, &end->program);
    end->unfinished = has_unfinished(session);
    uint32_t n = atomic_load(&session->n_files);
    for (uint32_t i = 0; i < n && i < TT_SESSION_FILES; i++)
        if (strcmp(session->files[i].path, t->output) == 0)
            end->outcome = session->files[i].outcome;
    if (end->n_traces == 0) why_nothing(t, session, end);
}

/* This process is itself traced: what it starts is recorded by it, not by the outer run. */
static void report_outer_session(void)
{
    const char *path = getenv(TT_ENV_SESSION);
    tt_session *outer = path && path[0] ? tt_session_open(path) : NULL;
    if (!outer) return;
    tt_session_problem(outer, "another `tensortrace run` was started in it, and records what it "
                              "starts itself: one of the two is enough");
    tt_session_close(outer);
}

static tt_status run_in(const tt_traced *t, char **argv, tt_session *session, char *session_path,
                        tt_traced_end *end, tt_error *err)
{
    snapshots state = {.t = t, .session = session};
    const tt_spawn_watch watch = {ask_snapshot, look_around, &state};
    tt_status status = tt_spawn_and_wait(argv, t->setup, &watch, &end->program, err);
    end->not_started = status != TT_OK;
    (void)unlink(session_path);
    if (status != TT_OK) return status;
    tt_session_sanitize(session);
    (void)look_around(&state);
    conclude(t, session, end);
    return TT_OK;
}

tt_status tt_traced_run(const tt_traced *t, char **argv, tt_traced_end *end, tt_error *err)
{
    tt_session *session;
    int lock;
    char hook[PATH_MAX], session_path[PATH_MAX];
    const char *preload = getenv("LD_PRELOAD");
    char *before = preload ? strdup(preload) : NULL;
    memset(end, 0, sizeof *end);
    if (is_hopeless(t, argv, end)) {
        free(before);
        return TT_OK;
    }
    if (preload && !before) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    tt_status status = tt_hook_path_find(hook, sizeof hook, err);
    if (status == TT_OK) status = make_session(t, &session, session_path, &lock, err);
    if (status != TT_OK) {
        free(before);
        return status;
    }
    report_outer_session();
    if (set_environment(t, hook, session_path)) {
        status = run_in(t, argv, session, session_path, end, err);
    } else {
        (void)unlink(session_path);
        status =
            tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot set up the program's environment");
    }
    (void)set_text("LD_PRELOAD", before);
    free(before);
    tt_session_close(session);
    (void)close(lock);
    return status;
}

/* --- of commands --- */

static int choose_output(char *out, const char *named, bool force)
{
    tt_error err;
    char name[64], dir[PATH_MAX];
    time_t now = time(NULL);
    struct tm local;
    (void)strftime(name, sizeof name, "tensortrace-%Y%m%d-%H%M%S.ttrace",
                   localtime_r(&now, &local));
    if (tt_place_absolute(out, PATH_MAX, named ? named : name, &err) != TT_OK)
        return tt_report_error(&err);
    if (tt_place_check(out, &err) != TT_OK) return tt_report_usage("%s with -o", err.message);
    if (!force && access(out, F_OK) == 0)
        return tt_report_usage("%s exists: choose another name with -o, or replace it with --force",
                               out);
    tt_place_dir(dir, sizeof dir, out);
    if (access(dir, F_OK) != 0 && errno == ENOENT)
        return tt_report_usage("folder %s does not exist", dir);
    if (access(dir, W_OK | X_OK) != 0)
        return tt_report_usage("cannot write into %s: choose another place with -o", dir);
    return TT_EXIT_OK;
}

/* With a part file of an earlier run the first process would use another name. A folder may take no
 * files, whatever its permissions say, and a disk be full: better to know that before the run. */
static int check_part(const char *output)
{
    tt_error err;
    char part[PATH_MAX];
    if (tt_place_part(part, sizeof part, output, &err) != TT_OK) return tt_report_error(&err);
    if (access(part, F_OK) != 0) {
        struct sigaction before;
        ignore_file_limit(&before);
        const tt_status status = tt_place_try(part, &err);
        (void)sigaction(SIGXFSZ, &before, NULL);
        if (status == TT_OK) return TT_EXIT_OK;
        return tt_report_usage("%s: choose another place with -o", err.message);
    }
    return tt_report_usage("%s is there, left by a run that did not end well: finish it with "
                           "`tensortrace recover %s`, or remove it",
                           part, part);
}

int tt_traced_output(char *out, const char *named, bool force)
{
    const int code = choose_output(out, named, force);
    return code == TT_EXIT_OK ? check_part(out) : code;
}

int tt_traced_conclude(const tt_traced_end *end, bool built_in)
{
    bool built_in_failed = built_in && end->program.code != 0;
    bool nothing = end->n_traces == 0 && !built_in_failed && !end->unfinished;
    const bool failed = !end->program.signal && end->program.code != 0;
    if (nothing && failed)
        tt_report_note("nothing was traced: the program itself exited with %d", end->program.code);
    if (nothing && (!failed || end->why_is_certain))
        tt_report_note("%s%s%s", failed ? "" : "nothing was traced: ", end->why_nothing,
                       !built_in && end->ask_doctor ? " (see `tensortrace doctor -- PROGRAM`)"
                                                    : "");
    if (end->program.signal) tt_spawn_die_by(end->program.signal);
    return nothing ? TT_EXIT_NO_TRACE : end->program.code;
}
