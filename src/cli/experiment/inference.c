/* The stage "run inference": runs the program. */
#include "base/units.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/experiment/work.h"
#include "cli/traced.h"
#include "record/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tt_capture_options capture_of(const tt_experiment *e)
{
    return (tt_capture_options){
        .mode = tt_work_word(e, TT_SET_CAPTURE_MODE),
        .tokens = tt_work_word(e, TT_SET_CAPTURE_TOKENS),
        .values = tt_work_word(e, TT_SET_CAPTURE_VALUES),
        .every = tt_work_amount(e, TT_SET_CAPTURE_EVERY),
        .thread_bytes = tt_work_amount(e, TT_SET_CAPTURE_THREAD_MEMORY_BYTES),
        .limit_bytes = tt_work_amount(e, TT_SET_CAPTURE_LIMIT_BYTES),
        .residency_every = tt_work_amount(e, TT_SET_CAPTURE_RESIDENCY_EVERY),
        .faults = tt_work_flag(e, TT_SET_CAPTURE_FAULTS, false) ? TT_FAULTS_AUTO : TT_FAULTS_OFF,
        .no_text = !tt_work_flag(e, TT_SET_CAPTURE_TEXT, true)};
}

static int create(const tt_experiment_work *w, const char *name)
{
    char path[TT_WORK_PATH];
    tt_work_path(w, path, name);
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

static bool open_streams(tt_experiment_work *w, tt_spawn_setup *setup)
{
    setup->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    setup->out = create(w, TT_WORK_TEXT);
    setup->error = create(w, TT_WORK_MESSAGES);
    setup->ends_with_parent = true;
    return setup->in >= 0 && setup->out >= 0 && setup->error >= 0;
}

static void close_streams(const tt_spawn_setup *setup)
{
    if (setup->in >= 0) (void)close(setup->in);
    if (setup->out >= 0) (void)close(setup->out);
    if (setup->error >= 0) (void)close(setup->error);
}

/* Processes that the kernel has killed because memory was exhausted, since the machine started. */
static uint64_t system_kills(void)
{
    char line[128];
    uint64_t n, kills = 0;
    FILE *f = fopen("/proc/vmstat", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "oom_kill %" SCNu64, &n) == 1) kills = n;
    if (f) (void)fclose(f);
    return kills;
}

/* A program that the kernel killed because memory was exhausted is a result: it does not run under
 * these conditions. The killed process may be one that the program started, and waits for. */
static bool was_killed_by_system(tt_experiment_work *w, int signal)
{
    const tt_held *held = &w->held;
    char limit[TT_UNITS_TEXT], *ending = NULL;
    tt_units_bytes(limit, held->limit_bytes);
    const bool in_group = held->has_kills && held->kills > 0,
               by_any = signal == SIGKILL && system_kills() != w->kills_before,
               by_limit = in_group || (by_any && held->by_systemd);
    if (!in_group && !by_any) return false;
    if (by_limit ? asprintf(&ending, "killed at the memory limit of %s", limit) < 0
                 : asprintf(&ending, "killed: the machine's memory was full") < 0)
        return false;
    w->result.ending = ending;
    tt_log_line(&w->b->log, w->stage, "%s", ending);
    return true;
}

/* Evaluates the program's end. */
static bool evaluate_program(tt_experiment_work *w, const tt_traced_end *end)
{
    char by_hand[400], messages[TT_WORK_PATH];
    const char *how = w->result.command ? w->result.command : "";
    (void)snprintf(by_hand, sizeof by_hand, "see what it said, or run it by hand: %.340s", how);
    if (end->program.asked) {
        tt_interrupt_note(end->program.asked);
        return false;
    }
    tt_work_path(w, messages, TT_WORK_MESSAGES);
    if (end->program.signal || end->program.code)
        tt_log_last_lines(&w->b->log, w->stage, messages, TT_WORK_MESSAGES);
    if ((end->program.signal || end->program.code) && was_killed_by_system(w, end->program.signal))
        return true;
    if (end->program.signal)
        return tt_work_fail(w, TT_EXIT_DIFFERS, by_hand, "the program was ended by signal %d (%s)",
                            end->program.signal, strsignal(end->program.signal));
    if (end->program.code)
        return tt_work_fail(w, TT_EXIT_DIFFERS, by_hand, "the program failed with exit code %d",
                            end->program.code);
    if (end->unfinished)
        return tt_work_fail(w, TT_EXIT_USAGE,
                            "mend what the line above tells of, and run this command again",
                            "the trace could not be finished");
    if (w->result.ending) return true;
    if (end->n_traces == 0)
        return tt_work_fail(w, TT_EXIT_NO_TRACE,
                            w->b->settings.program
                                ? "`tensortrace doctor -- PROGRAM` tells what can be "
                                  "seen of it"
                                : "`tensortrace doctor` tells what can be seen of the "
                                  "engine",
                            "nothing was traced: %s", end->why_nothing);
    return true;
}

static uint64_t size_of(const tt_experiment_work *w, const char *name)
{
    char path[TT_WORK_PATH];
    struct stat st;
    tt_work_path(w, path, name);
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void tick(void *context, uint64_t graphs)
{
    tt_experiment_work *w = context;
    tt_progress_update(&w->progress, graphs);
}

/* A program may start more programs, each with a trace of its own ("run-PID.ttrace"). The first
 * existing one becomes the experiment's; the others are kept beside it. */
static void choose_trace(const tt_experiment_work *w)
{
    char path[TT_WORK_PATH], other[2 * PATH_MAX];
    struct dirent **entries;
    tt_work_path(w, path, TT_RUN_TRACE);
    int n = scandir(w->folder, &entries, tt_work_is_other_trace, alphasort);
    if (n > 0 && access(path, F_OK) != 0) {
        (void)snprintf(other, sizeof other, "%s/%s", w->folder, entries[0]->d_name);
        (void)rename(other, path);
    }
    for (int i = 0; i < n; i++)
        free(entries[i]);
    if (n >= 0) free(entries);
    if (w->n_traces > 1)
        tt_log_line(&w->b->log, TT_STAGE_INFERENCE,
                    "%u processes were traced; the data are those of " TT_RUN_TRACE
                    ", the other traces are kept beside it",
                    (unsigned)w->n_traces);
}

/* Runs with a limit begin cold. So do runs without one that are compared with them, or they would
 * begin with whatever the previous run left. */
static bool is_compared_with_limits(const tt_settings *s)
{
    const tt_setting_values *limits = &s->of[TT_SET_MEMORY_LIMIT];
    for (size_t i = 0; i < limits->n; i++)
        if (limits->values[i].number > 0 || limits->values[i].integer > 0) return true;
    return false;
}

static tt_conditions conditions_of(const tt_experiment_work *w)
{
    const tt_experiment *e = &w->e;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const tt_setting_value *limit = e->of[TT_SET_MEMORY_LIMIT], *cold = e->of[TT_SET_COLD_START],
                           *swappiness = e->of[TT_SET_SWAPPINESS];
    const tt_setting_value *readahead = e->of[TT_SET_READAHEAD];
    tt_conditions wish = {.swappiness = swappiness ? swappiness->integer : -1,
                          .readahead_bytes =
                              readahead && readahead->number == 0 ? readahead->integer : -1};
    if (limit && limit->number > 0)
        wish.memory_bytes =
            (uint64_t)(limit->number / 100 *
                       (double)tt_bench_inputs_model(&w->b->inputs, &w->b->settings, e)
                           ->size_bytes);
    else if (limit && limit->integer > 0)
        wish.memory_bytes = (uint64_t)limit->integer;
    /* However small the model is, a share of it is not "no limit". */
    if (limit && limit->number > 0 && wish.memory_bytes < page) wish.memory_bytes = page;
    if (is_compared_with_limits(&w->b->settings)) wish.start = TT_START_COLD;
    if (cold) wish.start = cold->integer ? TT_START_COLD : TT_START_WARM;
    return wish;
}

static bool read_progress(void *context, uint64_t done, uint64_t total)
{
    tt_experiment_work *w = context;
    tt_progress_callback(&w->progress, done, total);
    return !tt_interrupted();
}

static tt_status begin_conditions(tt_experiment_work *w, tt_spawn_setup *setup, char ***words,
                                  tt_error *err)
{
    const tt_bench_input *model = tt_bench_inputs_model(&w->b->inputs, &w->b->settings, &w->e);
    const tt_conditions wish = conditions_of(w);
    tt_held *held = &w->held;
    char limit[TT_UNITS_TEXT];
    if (!w->b->settings.has_conditions) return TT_OK;
    w->start = wish.start;
    tt_work_begin_progress(w, "bytes", 0);
    tt_status status =
        tt_conditions_begin(held, &wish, model->files, model->n_files, read_progress, w, err);
    if (status != TT_OK) return status;
    if (held->procs[0]) setup->group = held->procs;
    if (held->by_systemd && !(*words = tt_conditions_words(held, w->words)))
        return tt_error_memory(err, "a command line");
    if (held->limit_bytes)
        tt_log_line(&w->b->log, w->stage, "memory limit: %s",
                    tt_units_bytes(limit, held->limit_bytes));
    if (held->unmet[0]) tt_log_line(&w->b->log, w->stage, "not as asked for: %s", held->unmet);
    return TT_OK;
}

/* What the engine or the runner reported that it could not do. */
static void look_for_refusals(tt_experiment_work *w)
{
    static const char *const marks[] = {"had no effect", "failed to mlock"};
    char path[TT_WORK_PATH], line[512];
    tt_held *held = &w->held;
    tt_work_path(w, path, TT_WORK_MESSAGES);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
            const size_t n = strlen(held->unmet);
            line[strcspn(line, "\n")] = '\0';
            if (strstr(line, marks[i]) && !strstr(held->unmet, marks[i]))
                (void)snprintf(held->unmet + n, sizeof held->unmet - n, "%s%.300s", n ? "; " : "",
                               line);
        }
    if (f) (void)fclose(f);
}

static bool run_program(tt_experiment_work *w)
{
    tt_traced_end end = {.not_started = false};
    char **words = w->words;
    tt_spawn_setup setup = {.in = -1, .out = -1, .error = -1};
    tt_error err;
    char output[TT_WORK_PATH];
    tt_work_path(w, output, TT_RUN_TRACE);
    if (!open_streams(w, &setup)) {
        (void)tt_error_set(&err, TT_E_IO, TT_NO_OFFSET, "cannot create a file in %.200s: %s",
                           w->folder, strerror(errno));
        close_streams(&setup);
        return tt_work_fail_with(w, &err);
    }
    tt_traced traced = {.capture = capture_of(&w->e),
                        .output = output,
                        .setup = &setup,
                        .quiet = true,
                        .discards = true,
                        .note = tt_work_note,
                        .tick = tick,
                        .context = w};
    tt_status status = begin_conditions(w, &setup, &words, &err);
    const bool begun = status == TT_OK;
    const int64_t tokens = w->e.of[TT_SET_TOKENS_TO_GENERATE]->integer;
    /* At least one graph for the prompt, and one for each token but the last, whose outputs are not
     * needed. */
    tt_work_begin_progress(w, "graphs", tokens > 0 ? (uint64_t)tokens : tokens == 0);
    w->kills_before = system_kills();
    if (begun && !tt_interrupted()) status = tt_traced_run(&traced, words, &end, &err);
    const size_t length = strlen(w->held.unmet);
    tt_conditions_end(&w->held);
    if (w->held.unmet[length])
        tt_log_line(&w->b->log, w->stage, "%s", w->held.unmet + length + (length ? 2 : 0));
    close_streams(&setup);
    if (words != w->words) free(words);
    if (tt_interrupted()) return false;
    tt_progress_end(&w->progress);
    if (!begun) return tt_work_fail(w, TT_EXIT_USAGE, "see to the conditions", "%s", err.message);
    if (status != TT_OK)
        return end.not_started
                   ? tt_work_fail(w, TT_EXIT_USAGE, "correct paths.llama_binary", "%s", err.message)
                   : tt_work_fail(w, TT_EXIT_USAGE, "mend that, and run this command again", "%s",
                                  err.message);
    if (!evaluate_program(w, &end)) return false;
    w->n_traces = end.n_traces;
    choose_trace(w);
    return true;
}

bool tt_work_infer(tt_experiment_work *w)
{
    char size[TT_UNITS_TEXT], took[TT_UNITS_TEXT];
    tt_result *r = &w->result;
    tt_work_begin(w, TT_STAGE_INFERENCE);
    w->words = tt_experiment_words(&w->b->settings, &w->e);
    r->command = w->words ? tt_words_quote(w->words) : NULL;
    if (!r->command) return tt_work_fail(w, TT_EXIT_NO_MEMORY, "free memory", "out of memory");
    tt_log_line(&w->b->log, TT_STAGE_INFERENCE, "%s", r->command);
    if (!run_program(w)) return false;
    uint64_t trace_bytes = size_of(w, TT_RUN_TRACE);
    tt_work_end(w, 2 + w->n_traces,
                trace_bytes + size_of(w, TT_WORK_TEXT) + size_of(w, TT_WORK_MESSAGES));
    look_for_refusals(w);
    r->inference_ns = r->stages[r->n_stages - 1].duration_ns;
    tt_log_line(&w->b->log, TT_STAGE_INFERENCE, "traced in %s, %s",
                tt_units_ns(took, (double)r->inference_ns), tt_units_bytes(size, trace_bytes));
    return true;
}
