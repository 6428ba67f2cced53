/* One experiment, stage by stage. */
#include "analyze/summary.h"
#include "base/clock.h"
#include "base/outdir.h"
#include "cli/command.h"
#include "cli/experiment.h"
#include "cli/traced.h"
#include "cli/units.h"
#include "export/dataset.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TRACE_FILE "run.ttrace"
#define TEXT_FILE "output.txt"       /* what the program prints */
#define MESSAGES_FILE "messages.txt" /* what it says on standard error */
#define LAST_LINES 10
#define LAST_BYTES 4096

static const char inference[] = "run inference";

/* What the stages of one experiment share. */
typedef struct work {
    tt_bench *b;
    tt_experiment e;
    tt_experiment_end *end;
    char folder[PATH_MAX]; /* of the unfinished one */
    char **words;
    tt_model *m;
    tt_dataset *dataset;
    tt_export_options options;
    tt_progress progress;
    const char *stage; /* at work */
    tt_result result;
    uint64_t begun_ns;
} work;

/* --- when something fails --- */

/* The cause, and what to do. Interrupted is not failed. Always false. */
static bool fail(work *w, int code, const char *remedy, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static bool fail(work *w, int code, const char *remedy, const char *fmt, ...)
{
    if (tt_interrupted()) return false;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(w->end->cause, sizeof w->end->cause, fmt, args);
    va_end(args);
    w->end->state = TT_OUTCOME_FAILED;
    w->end->stage = w->stage;
    w->end->code = code;
    tt_log_say(&w->b->log, w->stage, "FAILED: %s", w->end->cause);
    tt_log_say(&w->b->log, w->stage, "what to do: %s", remedy);
    return false;
}

static bool fail_with(work *w, const tt_error *err)
{
    const char *remedy = "this should not happen: the message above says what is wrong with the "
                         "trace; `tensortrace run` and `tensortrace verify` show more";
    if (err->status == TT_E_IO || err->status == TT_E_EXISTS)
        remedy = "see to it that the output folder can be written and has room, or name another in "
                 "paths.webui_data_dir or with -o";
    else if (err->status == TT_E_MEMORY)
        remedy = "free memory, or generate fewer tokens";
    return fail(w, TT_EXIT_USAGE, remedy, "%s", err->message);
}

static void put_path(const work *w, char out[PATH_MAX + 32], const char *name)
{
    (void)snprintf(out, PATH_MAX + 32, "%s/%s", w->folder, name);
}

/* The last words of a program that failed, one line of them each. */
static void show_last_lines(const work *w, const char *name)
{
    char path[PATH_MAX + 32], text[LAST_BYTES + 1];
    put_path(w, path, name);
    FILE *f = fopen(path, "rbe");
    if (!f) return;
    if (fseek(f, -LAST_BYTES, SEEK_END) != 0) rewind(f);
    size_t n = fread(text, 1, LAST_BYTES, f);
    (void)fclose(f);
    while (n > 0 && text[n - 1] == '\n')
        n--;
    text[n] = '\0';
    size_t lines = 0, at = n;
    while (at > 0 && lines < LAST_LINES)
        if (text[--at] == '\n') lines++;
    if (n == 0) return;
    tt_log_say(&w->b->log, w->stage, "%s ends with:", name);
    char *save = NULL;
    for (char *line = strtok_r(text + at, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        tt_log_say(&w->b->log, w->stage, "  %s", line);
}

/* --- stages --- */

static void begin_stage(work *w, const char *stage)
{
    w->stage = stage;
    w->result.stages[w->result.n_stages] =
        (tt_stage_sum){.name = stage, .duration_ns = tt_clock_ns(CLOCK_MONOTONIC)};
    tt_progress_begin(&w->progress, stage, 0, "files");
}

static void end_stage(work *w, uint64_t n_files, uint64_t size_bytes)
{
    tt_stage_sum *sum = &w->result.stages[w->result.n_stages++];
    tt_progress_end(&w->progress);
    sum->duration_ns = tt_clock_ns(CLOCK_MONOTONIC) - sum->duration_ns;
    sum->n_files = n_files;
    sum->size_bytes = size_bytes;
    w->result.n_files += n_files;
    w->result.size_bytes += size_bytes;
}

static void note(void *context, const char *text)
{
    work *w = context;
    tt_progress_end(&w->progress);
    tt_log_say(&w->b->log, w->stage, "%s", text);
}

/* --- run inference --- */

static bool flag(const tt_experiment *e, tt_setting setting, bool otherwise)
{
    return e->of[setting] ? e->of[setting]->integer != 0 : otherwise;
}

static uint64_t amount(const tt_experiment *e, tt_setting setting)
{
    return e->of[setting] ? (uint64_t)e->of[setting]->integer : 0;
}

static const char *word(const tt_experiment *e, tt_setting setting)
{
    return e->of[setting] ? e->of[setting]->text : NULL;
}

static tt_capture capture_of(const tt_experiment *e)
{
    return (tt_capture){.mode = word(e, TT_SET_CAPTURE_MODE),
                        .tokens = word(e, TT_SET_CAPTURE_TOKENS),
                        .every = amount(e, TT_SET_CAPTURE_EVERY),
                        .thread_bytes = amount(e, TT_SET_CAPTURE_THREAD_MEMORY_BYTES),
                        .limit_bytes = amount(e, TT_SET_CAPTURE_LIMIT_BYTES),
                        .residency_every = amount(e, TT_SET_CAPTURE_RESIDENCY_EVERY),
                        .faults = flag(e, TT_SET_CAPTURE_FAULTS, false),
                        .no_text = !flag(e, TT_SET_CAPTURE_TEXT, true)};
}

static int create(const work *w, const char *name)
{
    char path[PATH_MAX + 32];
    put_path(w, path, name);
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

static bool open_streams(work *w, tt_spawn_setup *setup)
{
    setup->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    setup->out = create(w, TEXT_FILE);
    setup->error = create(w, MESSAGES_FILE);
    setup->ends_with_parent = true;
    return setup->in >= 0 && setup->out >= 0 && setup->error >= 0;
}

static void close_streams(const tt_spawn_setup *setup)
{
    if (setup->in >= 0) (void)close(setup->in);
    if (setup->out >= 0) (void)close(setup->out);
    if (setup->error >= 0) (void)close(setup->error);
}

/* What the program's end says. */
static bool judge_program(work *w, const tt_traced_end *end)
{
    char by_hand[400];
    const char *how = w->result.command ? w->result.command : "";
    (void)snprintf(by_hand, sizeof by_hand, "see what it said, or run it by hand: %.340s", how);
    if (end->program.asked) {
        tt_interrupt_note(end->program.asked);
        return false;
    }
    if (end->program.signal || end->program.code) show_last_lines(w, MESSAGES_FILE);
    if (end->program.signal)
        return fail(w, TT_EXIT_DIFFERS, by_hand, "the program was ended by signal %d (%s)",
                    end->program.signal, strsignal(end->program.signal));
    if (end->program.code)
        return fail(w, TT_EXIT_DIFFERS, by_hand, "the program failed with exit code %d",
                    end->program.code);
    if (end->unfinished)
        return fail(w, TT_EXIT_USAGE, "see the line above", "the trace could not be finished");
    if (end->n_traces == 0)
        return fail(w, TT_EXIT_NO_TRACE,
                    w->b->settings.program ? "`tensortrace doctor -- PROGRAM` tells what can be "
                                             "seen of it"
                                           : "`tensortrace doctor` tells what can be seen of the "
                                             "engine",
                    "nothing was traced: %s", end->why_nothing);
    return true;
}

static uint64_t size_of(const work *w, const char *name)
{
    char path[PATH_MAX + 32];
    struct stat st;
    put_path(w, path, name);
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void tick(void *context, uint64_t graphs)
{
    work *w = context;
    tt_progress_update(&w->progress, graphs);
}

static bool run_program(work *w)
{
    tt_traced_end end;
    tt_spawn_setup setup = {-1, -1, -1, false};
    tt_error err;
    char output[PATH_MAX + 32];
    put_path(w, output, TRACE_FILE);
    if (!open_streams(w, &setup)) {
        (void)tt_error_set(&err, TT_E_IO, TT_NO_OFFSET, "cannot create a file in %.200s: %s",
                           w->folder, strerror(errno));
        close_streams(&setup);
        return fail_with(w, &err);
    }
    tt_traced traced = {.capture = capture_of(&w->e),
                        .output = output,
                        .setup = &setup,
                        .quiet = true,
                        .note = note,
                        .tick = isatty(STDERR_FILENO) ? tick : NULL,
                        .context = w};
    tt_status status = TT_OK;
    if (!tt_interrupted()) status = tt_traced_run(&traced, w->words, &end, &err);
    close_streams(&setup);
    if (tt_interrupted()) return false;
    tt_progress_end(&w->progress);
    if (status != TT_OK)
        return end.not_started
                   ? fail(w, TT_EXIT_USAGE, "correct paths.llama_binary", "%s", err.message)
                   : fail_with(w, &err);
    return judge_program(w, &end);
}

static bool run_inference(work *w)
{
    char size[TT_UNITS_TEXT], took[TT_UNITS_TEXT];
    tt_result *r = &w->result;
    begin_stage(w, inference);
    w->progress.unit = "graphs";
    w->words = tt_experiment_words(&w->b->settings, &w->e);
    r->command = w->words ? tt_words_quote(w->words) : NULL;
    if (!r->command) return fail(w, TT_EXIT_USAGE, "free memory", "out of memory");
    tt_log_say(&w->b->log, inference, "%s", r->command);
    if (!run_program(w)) return false;
    uint64_t trace_bytes = size_of(w, TRACE_FILE);
    end_stage(w, 3, trace_bytes + size_of(w, TEXT_FILE) + size_of(w, MESSAGES_FILE));
    r->inference_ns = r->stages[r->n_stages - 1].duration_ns;
    tt_log_say(&w->b->log, inference, "traced in %s, %s",
               tt_units_ns(took, (double)r->inference_ns), tt_units_bytes(size, trace_bytes));
    return true;
}

/* --- the dataset --- */

static void export_progress(void *context, uint64_t done, uint64_t total)
{
    work *w = context;
    tt_progress_callback(&w->progress, done, total);
}

static bool open_dataset(work *w)
{
    char path[PATH_MAX + 32];
    tt_error err;
    const char *compress = word(&w->e, TT_SET_DATASET_COMPRESS);
    put_path(w, path, TRACE_FILE);
    if (tt_model_open(path, &w->m, &err) != TT_OK) return fail_with(w, &err);
    w->options = (tt_export_options){.threads = (unsigned)amount(&w->e, TT_SET_DATASET_THREADS),
                                     .has_experts = w->e.of[TT_SET_DATASET_EXPERTS] != NULL,
                                     .experts = flag(&w->e, TT_SET_DATASET_EXPERTS, false),
                                     .command = w->b->command,
                                     .progress = export_progress,
                                     .progress_context = w,
                                     .note = note,
                                     .note_context = w};
    if (compress && strcmp(compress, "zstd") == 0) w->options.compress = TT_COMPRESS_ZSTD;
    if (compress && strcmp(compress, "gzip") == 0) w->options.compress = TT_COMPRESS_GZIP;
    put_path(w, path, "data");
    return tt_dataset_open(w->m, path, &w->options, &w->dataset, &err) == TT_OK ||
           fail_with(w, &err);
}

typedef tt_status dataset_step(tt_dataset *, tt_dataset_sum *, tt_error *);

static bool write_part(work *w, const char *stage, dataset_step *step, const char *items)
{
    tt_dataset_sum sum;
    tt_error err;
    char size[TT_UNITS_TEXT], count[TT_UNITS_TEXT], files[TT_UNITS_TEXT];
    begin_stage(w, stage);
    if (!w->dataset && !open_dataset(w)) return false;
    if (step(w->dataset, &sum, &err) != TT_OK) return fail_with(w, &err);
    end_stage(w, sum.n_files, sum.size_bytes);
    tt_log_say(&w->b->log, stage, "%s file%s, %s, %s %s", tt_units_count(files, sum.n_files),
               sum.n_files == 1 ? "" : "s", tt_units_bytes(size, sum.size_bytes),
               tt_units_count(count, sum.n_items), items);
    return !tt_interrupted();
}

static bool write_dataset(work *w)
{
    static const struct {
        const char *stage;
        dataset_step *step;
        const char *items;
    } parts[] = {{"memory map", tt_dataset_memory_map, "tensors"},
                 {"traces", tt_dataset_traces, "entries"},
                 {"graphs", tt_dataset_graphs, "nodes"},
                 {"buffers", tt_dataset_buffers, "events"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!write_part(w, parts[i].stage, parts[i].step, parts[i].items)) return false;
    return true;
}

/* --- summary --- */

static char *engine_name(const work *w)
{
    char *name = NULL;
    const char *version = tt_model_environment(w->m, "engine_version");
    const char *ggml = tt_model_environment(w->m, "engine_ggml_version");
    const char *commit = tt_model_environment(w->m, "engine_ggml_commit");
    const char *said = version ? version : ggml;
    int n =
        said ? asprintf(&name, "%s%s%s%s%s", version ? "" : "ggml ", said,
                        commit ? " (commit " : "", commit ? commit : "", commit ? ")" : "")
             : asprintf(&name, "%s",
                        tt_ingredients_engine(&w->b->ingredients, &w->b->settings, &w->e)->about);
    return n < 0 ? NULL : name;
}

/* The moment that experiment.json names too. */
static void put_start_time(tt_result *r, uint64_t unix_ns)
{
    char date[24];
    struct tm utc;
    time_t seconds = (time_t)(unix_ns / 1000000000u);
    if (unix_ns == 0 || !gmtime_r(&seconds, &utc) ||
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc) == 0)
        return;
    (void)snprintf(r->timestamp_start, sizeof r->timestamp_start, "%s.%06uZ", date,
                   (unsigned)(unix_ns / 1000 % 1000000));
}

static bool fill_result(work *w)
{
    tt_summary summary;
    tt_result *r = &w->result;
    tt_summarize(w->m, &summary);
    const char *prompt = tt_experiment_prompt(&w->e);
    (void)snprintf(r->id, sizeof r->id, "%s", tt_dataset_id(w->dataset));
    put_start_time(r, w->m->trace.header.created_unix_ns);
    r->model_file = strdup(word(&w->e, TT_SET_MODEL_PATH));
    r->prompt = prompt ? strdup(prompt) : NULL;
    r->engine = engine_name(w);
    r->options = tt_experiment_options(&w->e);
    r->tokens_to_generate = w->e.of[TT_SET_TOKENS_TO_GENERATE]->integer;
    r->threads = summary.lanes;
    r->n_batches = w->m->n_batches;
    r->tokens_per_s = summary.generate.tokens_per_s;
    return r->model_file && r->prompt && r->engine && r->options;
}

static bool move_in(const work *w, const char *name)
{
    char from[PATH_MAX + 32], to[PATH_MAX + 64];
    put_path(w, from, name);
    (void)snprintf(to, sizeof to, "%s/%s", tt_dataset_folder(w->dataset), name);
    return rename(from, to) == 0;
}

static tt_status write_own_file(const work *w, const char *name, tt_error *err)
{
    const tt_outdir folder = {.temporary = (char *)tt_dataset_folder(w->dataset)};
    FILE *f = tt_outdir_file(&folder, name, err);
    if (!f) return err->status;
    if (strcmp(name, TT_LOG_FILE) == 0)
        (void)fwrite(w->b->log.text.data, 1, w->b->log.text.size, f);
    else
        (void)tt_result_write(&w->result, &w->b->settings, &w->e, f);
    return tt_outdir_close(f, name, err);
}

static bool finish_folder(work *w, tt_error *err)
{
    static const char *const kept[] = {TRACE_FILE, TEXT_FILE, MESSAGES_FILE};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (!move_in(w, kept[i])) {
            (void)tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot move %s: %s", kept[i],
                               strerror(errno));
            return false;
        }
    if (write_own_file(w, TT_LOG_FILE, err) != TT_OK ||
        write_own_file(w, TT_RESULT_FILE, err) != TT_OK)
        return false;
    tt_dataset *dataset = w->dataset;
    w->dataset = NULL; /* the commit frees it */
    return tt_dataset_commit(dataset, err) == TT_OK;
}

static bool publish(work *w, const char *id)
{
    tt_error err;
    if (tt_store_publish(&w->b->store, id, &w->b->results, &err) == TT_OK) return true;
    return fail(w, TT_EXIT_USAGE,
                "the experiment itself is kept in a folder of its own: open that, or see to it "
                "that links can be made in the output folder",
                "%s", err.message);
}

static bool summarize(work *w)
{
    static const char summary[] = "summary";
    tt_dataset_sum sum;
    tt_error err;
    char path[PATH_MAX + 32], size[TT_UNITS_TEXT], took[TT_UNITS_TEXT], files[TT_UNITS_TEXT];
    tt_result *r = &w->result;
    begin_stage(w, summary);
    if (tt_dataset_experiment(w->dataset, &sum, &err) != TT_OK) return fail_with(w, &err);
    if (!fill_result(w)) return fail(w, TT_EXIT_USAGE, "free memory", "out of memory");
    end_stage(w, sum.n_files, sum.size_bytes);
    r->duration_ns = tt_clock_ns(CLOCK_MONOTONIC) - w->begun_ns;
    tt_log_say(&w->b->log, summary, "%s files, %s, in %s; inference %" PRIu64 " batches",
               tt_units_count(files, r->n_files), tt_units_bytes(size, r->size_bytes),
               tt_units_ns(took, (double)r->duration_ns), r->n_batches);
    tt_log_say(&w->b->log, summary, "%s/%s", w->b->store.folder, r->id);
    if (!finish_folder(w, &err)) return fail_with(w, &err);
    put_path(w, path, "data");
    if (tt_store_keep(&w->b->store, path, r->id, &err) != TT_OK) return fail_with(w, &err);
    (void)snprintf(w->end->id, sizeof w->end->id, "%s", r->id);
    w->end->state = TT_OUTCOME_DONE;
    if (!tt_results_add(&w->b->results, r))
        return fail(w, TT_EXIT_USAGE, "free memory", "out of memory");
    return publish(w, w->end->id);
}

/* --- the whole --- */

static bool is_up_to_date(work *w)
{
    char changed[64];
    const tt_result *r = tt_results_find(&w->b->results, &w->result.identity, changed);
    if (r && !w->b->force) {
        w->stage = "up to date";
        tt_log_say(&w->b->log, w->stage,
                   "%s/%s, made with these settings, model, engine and tensortrace; --force makes "
                   "it again",
                   w->b->store.folder, r->id);
        w->end->state = TT_OUTCOME_UP_TO_DATE;
        (void)snprintf(w->end->id, sizeof w->end->id, "%s", r->id);
        (void)publish(w, r->id);
        return true;
    }
    if (!r && changed[0])
        tt_log_say(&w->b->log, inference,
                   "there is a result with these settings, but since then "
                   "something changed: %s",
                   changed);
    return false;
}

static void run_stages(work *w)
{
    tt_error err;
    w->stage = inference;
    tt_interrupt_hold(); /* a folder that nobody knows of yet would stay */
    tt_status status = tt_store_begin(&w->b->store, w->folder, &err);
    tt_interrupt_guard(status == TT_OK ? w->folder : NULL);
    if (status != TT_OK) {
        (void)fail_with(w, &err);
        return;
    }
    (void)(run_inference(w) && write_dataset(w) && summarize(w));
    tt_progress_end(&w->progress);
    tt_dataset_abandon(w->dataset);
    tt_model_close(w->m);
    tt_interrupt_end();
    if (!tt_interrupted() || w->end->state != TT_OUTCOME_OPEN) return;
    w->end->state = TT_OUTCOME_INTERRUPTED;
    tt_log_say(&w->b->log, w->stage, "interrupted (%s); nothing of this experiment is kept",
               strsignal(tt_interrupted()));
}

void tt_experiment_run(tt_bench *b, size_t number, tt_experiment_end *end)
{
    tt_error err;
    work w = {.b = b, .end = end, .begun_ns = tt_clock_ns(CLOCK_MONOTONIC)};
    memset(end, 0, sizeof *end);
    tt_settings_experiment(&b->settings, number, &w.e);
    tt_log_experiment(&b->log, number, tt_settings_experiments(&b->settings));
    w.stage = "verify prerequisites";
    if (tt_ingredients_identity(&b->ingredients, &b->settings, &w.e, &w.result.identity, &err) !=
        TT_OK)
        (void)fail_with(&w, &err);
    else if (!is_up_to_date(&w))
        run_stages(&w);
    tt_words_free(w.words);
    tt_result_free(&w.result);
}
