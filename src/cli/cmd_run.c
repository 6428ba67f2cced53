/* tensortrace run: starts a program, or the built-in runner, under the preload library,
 * and sees to it that the trace is whole when it ends, however it ends. */
#include "cli/command.h"
#include "cli/hook_path.h"
#include "cli/report.h"
#include "cli/runner_options.h"
#include "cli/spawn.h"
#include "cli/units.h"
#include "record/area.h"
#include "record/place.h"
#include "record/recover.h"
#include "record/session.h"
#include "record/sweep.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    KEY_FORCE = 0x5400,
    KEY_MODE,
    KEY_THREAD_MEMORY,
    KEY_LIMIT,
    KEY_RING,
    KEY_TOKENS,
    KEY_EVERY,
    KEY_FAULTS,
    KEY_RESIDENCY,
    KEY_NO_TEXT
};

#define LIMIT_MIN (64u << 10)
#define RING_MIN (1u << 20)
#define PROGRAM_NOT_FOUND 127

typedef struct arguments {
    tt_runner_args runner;
    const char *output;
    const char *mode;
    const char *tokens;       /* "A..B"; NULL: all */
    uint64_t every;           /* batches; 0: each */
    uint64_t thread_bytes;    /* 0: the default */
    uint64_t limit_bytes;     /* 0: none */
    uint64_t keep_bytes;      /* 0: all */
    uint64_t residency_every; /* batches; 0: not asked for */
    bool faults;
    bool no_text;
    bool force;
    bool quiet;
    char **program; /* PROGRAM ARGS..., NULL-terminated; NULL: the built-in runner */
} arguments;

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "The trace (default: tensortrace-DATE-TIME.ttrace here)", 0},
    {"force", KEY_FORCE, 0, 0, "Replace FILE if it exists", 0},
    {"mode", KEY_MODE, "MODE", 0,
     "How ops are observed: hook (each thread), callback (the scheduler's), or auto: hook "
     "where the engine allows it (default)",
     0},
    {"faults", KEY_FAULTS, 0, 0,
     "Also record what the kernel counts: page faults, CPU time and bytes read from disk, for each "
     "op and thread and for each batch",
     0},
    {"residency", KEY_RESIDENCY, "N", OPTION_ARG_OPTIONAL,
     "Also record which pages of the model are in RAM, after every Nth batch (default: each)", 0},
    {"no-text", KEY_NO_TEXT, 0, 0,
     "Keep token ids, their texts and the program's arguments out of the trace", 0},
    {"tokens", KEY_TOKENS, "A..B", 0,
     "Record only these batches, counted from 0 (also N, A.. and ..B)", 0},
    {"every", KEY_EVERY, "N", 0, "Record only every Nth batch (of --tokens, from A on)", 0},
    {"limit", KEY_LIMIT, "SIZE", 0,
     "Stop recording when the trace has come to this size; what is computed from then on is "
     "only counted",
     0},
    {"ring", KEY_RING, "SIZE", 0,
     "Keep only the last SIZE of the trace (a flight recorder), however long the program runs", 0},
    {"thread-memory", KEY_THREAD_MEMORY, "SIZE", 0,
     "Memory for a thread's records on their way to the trace (default: 1M)", 0},
    {"quiet", 'q', 0, 0, "Say nothing when all is well", 0},
    {0}};

static void parse_size(struct argp_state *state, const char *option, const char *text, uint64_t min,
                       uint64_t max, uint64_t *bytes)
{
    tt_error err;
    char least[TT_UNITS_TEXT], most[TT_UNITS_TEXT];
    if (tt_units_parse_size(text, bytes, &err) != TT_OK)
        argp_error(state, "%s: %s", option, err.message);
    if (*bytes < min || *bytes > max)
        argp_error(state, "%s: %s is out of range (%s to %s)", option, text,
                   tt_units_bytes(least, min), tt_units_bytes(most, max));
}

static void parse_every(struct argp_state *state, const char *option, const char *text,
                        uint64_t *every)
{
    tt_error err;
    int64_t n = 1;
    if (text && tt_units_parse_int(text, option, 1, INT32_MAX, &n, &err) != TT_OK)
        argp_error(state, "%s", err.message);
    *every = (uint64_t)n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->runner;
        return 0;
    case 'o':
        args->output = arg;
        return 0;
    case KEY_FORCE:
        args->force = true;
        return 0;
    case KEY_MODE:
        if (strcmp(arg, "auto") != 0 && strcmp(arg, "hook") != 0 && strcmp(arg, "callback") != 0)
            argp_error(state, "--mode: \"%s\" is not auto, hook or callback", arg);
        args->mode = arg;
        return 0;
    case KEY_THREAD_MEMORY:
        parse_size(state, "--thread-memory", arg, TT_AREA_RING_BYTES_MIN, TT_AREA_RING_BYTES_MAX,
                   &args->thread_bytes);
        return 0;
    case KEY_RING:
        parse_size(state, "--ring", arg, RING_MIN, INT64_MAX, &args->keep_bytes);
        return 0;
    case KEY_TOKENS: {
        uint32_t first, last;
        if (!tt_units_parse_range(arg, &first, &last))
            argp_error(state, "--tokens: \"%.40s\" is not a number or a range like 3..9", arg);
        args->tokens = arg;
        return 0;
    }
    case KEY_EVERY:
        parse_every(state, "--every", arg, &args->every);
        return 0;
    case KEY_LIMIT:
        parse_size(state, "--limit", arg, LIMIT_MIN, INT64_MAX, &args->limit_bytes);
        return 0;
    case KEY_FAULTS:
        args->faults = true;
        return 0;
    case KEY_RESIDENCY:
        parse_every(state, "--residency", arg, &args->residency_every);
        return 0;
    case KEY_NO_TEXT:
        args->no_text = true;
        return 0;
    case 'q':
        args->quiet = true;
        return 0;
    case ARGP_KEY_ARGS:
        args->program = state->argv + state->next;
        return 0;
    case ARGP_KEY_END:
        if (!args->program && !args->runner.options.model)
            argp_error(state, "nothing to run: give -m MODEL, or -- PROGRAM ARGS...");
        if (args->keep_bytes && args->limit_bytes)
            argp_error(state, "--ring keeps the last of the trace, --limit the first: not both");
        if (args->program && args->runner.any)
            argp_error(state,
                       "\"%s\" is taken for a PROGRAM, and -m and the other options of the "
                       "built-in runner do not go with one",
                       args->program[0]);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&tt_runner_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    options,
    parse,
    "-m MODEL\n-- PROGRAM [ARGS...]",
    "Runs a model with the built-in runner, or any program that uses ggml's shared "
    "libraries, and records every op into a trace.\v"
    "Exit code: the program's own (126 or 127 when it cannot be started), 2 for misuse, "
    "3 when the program ran but nothing could be traced. A program that dies by a signal "
    "makes this command die by the same.",
    children,
    NULL,
    NULL};

/* --- before --- */

static int choose_output(const arguments *args, char out[PATH_MAX])
{
    tt_error err;
    char name[64], dir[PATH_MAX];
    struct stat st;
    time_t now = time(NULL);
    struct tm local;
    (void)strftime(name, sizeof name, "tensortrace-%Y%m%d-%H%M%S.ttrace",
                   localtime_r(&now, &local));
    if (tt_place_absolute(out, PATH_MAX, args->output ? args->output : name, &err) != TT_OK)
        return tt_report_error(&err);
    if (stat(out, &st) == 0 && S_ISDIR(st.st_mode))
        return tt_report_usage("%s is a folder: name a file with -o", out);
    if (!args->force && access(out, F_OK) == 0)
        return tt_report_usage("%s exists: choose another name with -o, or replace it with --force",
                               out);
    tt_place_dir(dir, sizeof dir, out);
    if (access(dir, W_OK | X_OK) != 0)
        return tt_report_usage("cannot write into %s: choose another place with -o", dir);
    return TT_EXIT_OK;
}

/* A part file of an earlier run would make the first process take another name. */
static int check_part(const char *output)
{
    char part[PATH_MAX];
    if (tt_place_part(part, sizeof part, output, NULL) != TT_OK || access(part, F_OK) != 0)
        return TT_EXIT_OK;
    return tt_report_usage("%s is there, left by a run that did not end well: finish it with "
                           "`tensortrace recover %s`, or remove it",
                           part, part);
}

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

/* The environment that the program is started with; this process's own, which needs it
 * no more. */
static bool set_environment(const arguments *args, const char *hook, const char *output,
                            const char *session)
{
    char preload[2 * PATH_MAX];
    const char *before = getenv("LD_PRELOAD");
    int n = snprintf(preload, sizeof preload, "%s%s%s", hook, before && before[0] ? ":" : "",
                     before ? before : "");
    if (n < 0 || (size_t)n >= sizeof preload) return false;
    return setenv("LD_PRELOAD", preload, 1) == 0 && setenv(TT_ENV_OUT, output, 1) == 0 &&
           setenv(TT_ENV_SESSION, session, 1) == 0 &&
           setenv(TT_ENV_MODE, args->mode ? args->mode : "auto", 1) == 0 &&
           set_number(TT_ENV_THREAD, args->thread_bytes) && set_number(TT_ENV_EVERY, args->every) &&
           set_number(TT_ENV_RING, args->keep_bytes) && set_text(TT_ENV_TOKENS, args->tokens) &&
           set_number(TT_ENV_LIMIT, args->limit_bytes) && set_number(TT_ENV_FAULTS, args->faults) &&
           set_number(TT_ENV_RESIDENCY, args->residency_every) &&
           set_text(TT_ENV_TEXT, args->no_text ? "0" : NULL);
}

/* --- snapshots --- */

typedef struct snapshots {
    tt_session *session;
    uint32_t told[TT_SESSION_FILES]; /* the last one of each process that was spoken of */
} snapshots;

static void ask_snapshot(void *context)
{
    snapshots *s = context;
    bool anybody = false;
    uint32_t n = atomic_load(&s->session->n_files);
    for (uint32_t i = 0; i < n && i < TT_SESSION_FILES; i++)
        anybody |= atomic_load(&s->session->files[i].state) == TT_SESSION_WRITING;
    if (!anybody) tt_report_note("no snapshot: nothing is being recorded yet");
    if (anybody) atomic_fetch_add(&s->session->snapshots, 1);
}

/* Speaks of those that are done. Whether some are not. */
static bool look_for_snapshots(void *context)
{
    snapshots *s = context;
    bool due = false;
    uint32_t n = atomic_load(&s->session->n_files), asked = atomic_load(&s->session->snapshots);
    for (uint32_t i = 0; i < n && i < TT_SESSION_FILES; i++) {
        tt_session_file *file = &s->session->files[i];
        bool recording = atomic_load(&file->state) == TT_SESSION_WRITING;
        uint32_t done = atomic_load(&file->snapshots);
        due |= recording && done != asked;
        if (done == s->told[i] || !file->snapshot[0]) continue;
        s->told[i] = done;
        if (atomic_load(&file->snapshot_failed))
            tt_report_note("no snapshot: %.4000s", file->snapshot);
        else
            tt_report_note("wrote the snapshot %.4000s", file->snapshot);
    }
    return due;
}

/* --- after --- */

/* Finishes the trace of a process that could not do it itself. */
static void recover(const arguments *args, tt_session_file *file, const char *output)
{
    tt_recover_report report;
    tt_error err;
    char part[PATH_MAX];
    if (tt_place_part(part, sizeof part, file->path, NULL) != TT_OK || access(part, F_OK) != 0)
        return;
    /* Only the file that was asked for may replace one: children have names of our choice. */
    bool replace = args->force && strcmp(file->path, output) == 0;
    if (tt_recover(part, replace ? TT_RECOVER_REPLACE : 0, &report, &err) != TT_OK) {
        tt_report_note("the trace could not be finished: %s", err.message);
        tt_report_note(
            "what was recorded is kept: when that is mended, run `tensortrace recover %s`", part);
        return;
    }
    file->outcome = report.outcome;
    (void)snprintf(file->path, sizeof file->path, "%s", report.path);
    atomic_store(&file->state, TT_SESSION_FINISHED);
    if (!args->quiet)
        tt_report_note("process %" PRIu32
                       " did not end by itself; what it recorded until then is in the trace",
                       file->pid);
}

static bool is_listed(tt_session *session, const char *path)
{
    uint32_t n = atomic_load(&session->n_files);
    for (uint32_t i = 0; i < n && i < TT_SESSION_FILES; i++)
        if (strcmp(session->files[i].path, path) == 0) return true;
    return false;
}

/* A process that died while it opened its trace could not tell of it, and had recorded nothing:
 * what it left would only be in the way of the next run. */
static void remove_unlisted(tt_session *session, const char *output)
{
    tt_recover_report report;
    tt_error err;
    struct stat st;
    char part[PATH_MAX];
    if (is_listed(session, output) || tt_place_part(part, sizeof part, output, NULL) != TT_OK ||
        stat(part, &st) != 0)
        return;
    if (tt_recover(part, 0, &report, &err) == TT_OK)
        (void)unlink(report.path);
    else if (st.st_size == 0)
        (void)unlink(part);
}

static void report_file(const arguments *args, const tt_session_file *file)
{
    struct stat st;
    char size[TT_UNITS_TEXT], ops[TT_UNITS_TEXT], dropped[TT_UNITS_TEXT];
    if (stat(file->path, &st) != 0) return;
    (void)tt_units_bytes(size, (uint64_t)st.st_size);
    /* A trace that is not whole is worth a word even when asked to be quiet. */
    const tt_outcome *o = &file->outcome;
    if (o->dropped)
        tt_report_note("wrote %s (%s); it has %s records, %s more were dropped (%s)", file->path,
                       size, tt_units_count(ops, o->ops), tt_units_count(dropped, o->dropped),
                       args->limit_bytes ? "see --limit and --thread-memory"
                                         : "a thread's memory was full: see --thread-memory");
    else if (!args->quiet || o->batches_after_limit)
        tt_report_note("wrote %s (%s)", file->path, size);
    if (o->batches_after_limit)
        tt_report_note("recording stopped at the limit: %" PRIu64 " of %" PRIu64
                       " batches were computed before",
                       o->batches - o->batches_after_limit, o->batches);
}

static uint32_t finish_files(const arguments *args, tt_session *session, const char *output)
{
    uint32_t n = atomic_load(&session->n_files), finished = 0;
    for (uint32_t i = 0; i < n && i < TT_SESSION_FILES; i++) {
        tt_session_file *file = &session->files[i];
        if (atomic_load(&file->state) == TT_SESSION_WRITING) recover(args, file, output);
        if (atomic_load(&file->state) != TT_SESSION_FINISHED) continue;
        finished++;
        report_file(args, file);
    }
    if (n > TT_SESSION_FILES)
        tt_report_note("traces not listed here, of more processes: %" PRIu32
                       "; one that is still called .part needs `tensortrace recover`",
                       n - TT_SESSION_FILES);
    remove_unlisted(session, output);
    return finished;
}

/* Whether a trace is there that could not be finished: that is not nothing. */
static bool has_unfinished(tt_session *session)
{
    uint32_t n = atomic_load(&session->n_files);
    for (uint32_t i = 0; i < n && i < TT_SESSION_FILES; i++)
        if (atomic_load(&session->files[i].state) == TT_SESSION_WRITING) return true;
    return false;
}

static const char *why_nothing(const arguments *args, tt_session *session)
{
    if (atomic_load(&session->has_problem)) return session->problem;
    if (!atomic_load(&session->attached))
        return "the preload library was not loaded: the program is statically linked, has more "
               "privileges than you (setuid), or drops LD_PRELOAD";
    if (atomic_load(&session->graphs) && (args->tokens || args->every))
        return "none of the batches that --tokens and --every ask for was computed";
    if (atomic_load(&session->models)) return "a model was opened, but no graph was computed";
    return "no ggml shared library computed anything in it: it does not use ggml, links it "
           "statically, or ended before it computed";
}

/* What this command exits with, once the program is gone. */
static int conclude(const arguments *args, tt_session *session, const char *output,
                    const tt_spawn_end *end)
{
    uint32_t traces = finish_files(args, session, output);
    bool built_in_failed = !args->program && end->code != 0;
    bool nothing = traces == 0 && !built_in_failed && !has_unfinished(session);
    if (nothing) {
        tt_report_note("nothing was traced: %s%s", why_nothing(args, session),
                       args->program ? " (see `tensortrace doctor -- PROGRAM`)" : "");
        if (!end->signal && end->code != 0)
            tt_report_note("the program itself exited with %d", end->code);
    }
    if (end->signal) tt_spawn_die_by(end->signal);
    return nothing ? TT_EXIT_NO_TRACE : end->code;
}

/* A limit on the size of files (ulimit -f) is to be an error here, not a signal. */
static tt_status make_session(const arguments *args, tt_session **session, char path[PATH_MAX],
                              int *lock, tt_error *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    (void)sigaction(SIGXFSZ, &ignore, &before);
    tt_status status = tt_session_create(session, path, PATH_MAX, args->force, lock, err);
    (void)sigaction(SIGXFSZ, &before, NULL);
    return status;
}

static int run_program(const arguments *args, char **argv, const char *output)
{
    tt_session *session;
    int lock;
    tt_spawn_end end;
    char hook[PATH_MAX], session_path[PATH_MAX];
    tt_error err;
    if (tt_hook_path_find(hook, sizeof hook, &err) != TT_OK ||
        make_session(args, &session, session_path, &lock, &err) != TT_OK)
        return tt_report_error(&err);
    snapshots state = {.session = session};
    const tt_spawn_watch watch = {ask_snapshot, look_for_snapshots, &state};
    int code;
    if (!set_environment(args, hook, output, session_path)) {
        code = tt_report_usage("cannot set up the program's environment");
    } else if (tt_spawn_and_wait(argv, &watch, &end, &err) != TT_OK) {
        const char *dot = strrchr(argv[0], '.');
        (void)tt_report_error(&err);
        if (dot && strcmp(dot, ".gguf") == 0) tt_report_note("a model? run it with -m %s", argv[0]);
        code = err.status == TT_E_NOT_FOUND ? PROGRAM_NOT_FOUND : PROGRAM_NOT_FOUND - 1;
    } else {
        (void)unlink(session_path);
        session_path[0] = '\0';
        tt_session_settle(session);
        (void)look_for_snapshots(&state);
        code = conclude(args, session, output, &end);
    }
    if (session_path[0]) (void)unlink(session_path);
    tt_session_close(session);
    (void)close(lock);
    return code;
}

int tt_cmd_run(int argc, char **argv)
{
    arguments args = {.mode = NULL};
    char output[PATH_MAX], self[PATH_MAX];
    char **words = NULL;
    tt_runner_args_init(&args.runner);
    tt_report_parse(&argp, argc, argv, ARGP_IN_ORDER, &args);
    int code = choose_output(&args, output);
    if (code == TT_EXIT_OK) code = check_part(output);
    if (code != TT_EXIT_OK) return code;
    (void)tt_sweep();
    if (args.program) return run_program(&args, args.program, output);
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return tt_report_usage("/proc/self/exe cannot be read");
    self[n] = '\0';
    if (tt_runner_args_to_argv(&args.runner, self, 1, &words) < 0)
        return tt_report_usage("out of memory");
    code = run_program(&args, words, output);
    tt_runner_argv_free(words);
    return code;
}
