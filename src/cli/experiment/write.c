/* The stages that write: memory map, traces, graphs, buffers, and the summary. */
#include "analyze/storage.h"
#include "analyze/summary.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/outfile.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/experiment/work.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static void export_progress(void *context, uint64_t done, uint64_t total)
{
    tt_experiment_work *w = context;
    tt_progress_callback(&w->progress, done, total);
}

static bool open_dataset(tt_experiment_work *w)
{
    char path[TT_WORK_PATH];
    tt_error err;
    const char *compress = tt_work_word(&w->e, TT_SET_DATASET_COMPRESS);
    tt_work_path(w, path, TT_RUN_TRACE);
    if (tt_model_open(path, &w->m, &err) != TT_OK) return tt_work_fail_with(w, &err);
    w->options =
        (tt_export_options){.threads = (unsigned)tt_work_amount(&w->e, TT_SET_DATASET_THREADS),
                            .has_experts = w->e.of[TT_SET_DATASET_EXPERTS] != NULL,
                            .experts = tt_work_flag(&w->e, TT_SET_DATASET_EXPERTS, false),
                            .copies_as_file = tt_work_flag(&w->e, TT_SET_DATASET_COPIES, false),
                            .command = w->b->command,
                            .progress = export_progress,
                            .progress_context = w,
                            .note = tt_work_note,
                            .note_context = w};
    if (compress && strcmp(compress, "zstd") == 0) w->options.compress = TT_COMPRESS_ZSTD;
    if (compress && strcmp(compress, "gzip") == 0) w->options.compress = TT_COMPRESS_GZIP;
    tt_work_path(w, path, TT_WORK_DATA);
    return tt_dataset_open(w->m, path, &w->options, &w->dataset, &err) == TT_OK ||
           tt_work_fail_with(w, &err);
}

typedef tt_status dataset_step(tt_dataset *, tt_dataset_sum *, tt_error *);

static bool write_part(tt_experiment_work *w, const char *stage, dataset_step *step,
                       const char *items)
{
    tt_dataset_sum sum;
    tt_error err;
    char size[TT_UNITS_TEXT], count[TT_UNITS_TEXT], files[TT_UNITS_TEXT];
    tt_work_begin(w, stage);
    if (!w->dataset && !open_dataset(w)) return false;
    if (step(w->dataset, &sum, &err) != TT_OK) return tt_work_fail_with(w, &err);
    tt_work_end(w, sum.n_files, sum.size_bytes);
    tt_log_line(&w->b->log, stage, "%s file%s, %s, %s %s", tt_units_count(files, sum.n_files),
                sum.n_files == 1 ? "" : "s", tt_units_bytes(size, sum.size_bytes),
                tt_units_count(count, sum.n_items), items);
    return !tt_interrupted();
}

bool tt_work_write(tt_experiment_work *w)
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

static char *engine_name(const tt_experiment_work *w)
{
    char *name = NULL;
    const char *version = w->m ? tt_model_environment(w->m, "engine_version") : NULL;
    const char *ggml = w->m ? tt_model_environment(w->m, "engine_ggml_version") : NULL;
    const char *commit = w->m ? tt_model_environment(w->m, "engine_ggml_commit") : NULL;
    const char *said = version ? version : ggml;
    int n = said ? asprintf(&name, "%s%s%s%s%s", version ? "" : "ggml ", said,
                            commit ? " (commit " : "", commit ? commit : "", commit ? ")" : "")
                 : asprintf(&name, "%s",
                            tt_bench_inputs_engine(&w->b->inputs, &w->b->settings, &w->e)->about);
    return n < 0 ? NULL : name;
}

/* The time in experiment.json. */
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

/* NULL without it, or if out of memory. */
static char *copy_word(const tt_experiment_work *w, tt_setting setting)
{
    const char *word = tt_work_word(&w->e, setting);
    return word ? strdup(word) : NULL;
}

static void __attribute__((format(printf, 2, 3)))
note_unmet(tt_experiment_work *w, const char *fmt, ...)
{
    char *unmet = w->held.unmet;
    size_t n = strlen(unmet);
    va_list args;
    if (n) n += (size_t)snprintf(unmet + n, sizeof w->held.unmet - n, "; ");
    if (n >= sizeof w->held.unmet) return;
    va_start(args, fmt);
    (void)vsnprintf(unmet + n, sizeof w->held.unmet - n, fmt, args);
    va_end(args);
    tt_log_line(&w->b->log, w->stage, "not as asked for: %s", unmet + n);
}

/* What the program itself observed of the conditions: only that was in force. */
static void check_seen(tt_experiment_work *w)
{
    tt_host_system seen;
    char text[TT_UNITS_TEXT] = "none";
    const tt_setting_value *swappiness = w->e.of[TT_SET_SWAPPINESS];
    tt_system_of(w->m, &seen);
    const uint64_t limit = seen.cgroup_memory_max_bytes, wanted = w->held.limit_bytes;
    const uint64_t own =
        seen.cgroup_swappiness == TT_HOST_UNKNOWN ? seen.swappiness : seen.cgroup_swappiness;
    if (wanted && limit == TT_HOST_UNKNOWN && w->held.by_systemd)
        note_unmet(w, "memory_limit: the program did not see whether it is in force");
    else if (wanted && limit != TT_HOST_UNKNOWN && (limit > wanted || wanted - limit >= 65536))
        note_unmet(w, "memory_limit: the program saw another one: %s",
                   limit == TT_HOST_UNLIMITED ? text : tt_units_bytes(text, limit));
    if (swappiness && own < TT_HOST_UNLIMITED && own != (uint64_t)swappiness->integer &&
        !strstr(w->held.unmet, "swappiness"))
        note_unmet(w, "swappiness: the program saw another one: %" PRIu64, own);
}

static bool fill_conditions(tt_experiment_work *w)
{
    tt_result *r = &w->result;
    const tt_held *held = &w->held;
    const tt_setting_value *repetition = w->e.of[TT_SET_REPETITIONS];
    r->condition = tt_experiment_condition(&w->e);
    r->repetition = repetition ? (uint64_t)repetition->integer : 0;
    r->run_order = w->position + 1;
    r->has_order_seed = w->b->is_shuffled;
    r->order_seed = w->b->order_seed;
    r->memory_limit_bytes = held->limit_bytes;
    r->group_peak_bytes = held->has_peak ? held->peak_bytes : 0;
    r->has_resident = held->has_resident;
    r->resident_bytes = held->resident_bytes;
    if (held->limit_bytes || w->start != TT_START_AS_IS)
        (void)snprintf(r->start, sizeof r->start, "%s",
                       held->limit_bytes || w->start == TT_START_COLD ? "cold" : "warm");
    if (held->unmet[0] && !(r->unmet = strdup(held->unmet))) return false;
    return r->condition != NULL;
}

/* What is known without a trace. */
static bool fill_settings(tt_experiment_work *w)
{
    tt_result *r = &w->result;
    const char *prompt = tt_experiment_prompt(&w->e);
    r->experiment_name = copy_word(w, TT_SET_EXPERIMENT_NAME);
    r->label = copy_word(w, TT_SET_LABEL);
    r->domain = copy_word(w, TT_SET_DOMAIN);
    r->model_file = copy_word(w, TT_SET_MODEL_PATH);
    r->prompt = prompt ? strdup(prompt) : NULL;
    r->engine = engine_name(w);
    r->options = tt_experiment_options(&w->e);
    r->tokens_to_generate = w->e.of[TT_SET_TOKENS_TO_GENERATE]->integer;
    return fill_conditions(w) && r->model_file && r->prompt && r->engine && r->options;
}

static bool fill_result(tt_experiment_work *w)
{
    tt_summary summary;
    tt_result *r = &w->result;
    tt_summarize(w->m, &summary);
    tt_hex(r->id, w->m->trace.header.run_id, 16);
    put_start_time(r, w->m->trace.header.created_unix_ns);
    r->threads = summary.lanes;
    r->n_batches = w->m->n_batches;
    r->tokens_per_s = summary.generate.tokens_per_s;
    check_seen(w);
    return fill_settings(w);
}

static bool move_in(const tt_experiment_work *w, const char *name)
{
    char from[2 * PATH_MAX], to[2 * PATH_MAX];
    (void)snprintf(from, sizeof from, "%s/%s", w->folder, name);
    (void)snprintf(to, sizeof to, "%s/%s", tt_dataset_folder(w->dataset), name);
    return rename(from, to) == 0;
}

static bool move_other_traces(const tt_experiment_work *w)
{
    struct dirent **entries;
    bool ok = true;
    int n = scandir(w->folder, &entries, tt_work_is_other_trace, alphasort);
    for (int i = 0; i < n; i++) {
        ok = ok && move_in(w, entries[i]->d_name);
        free(entries[i]);
    }
    if (n >= 0) free(entries);
    return ok && n >= 0;
}

static tt_status write_own_file(const tt_experiment_work *w, const char *where, const char *name,
                                tt_error *err)
{
    const tt_outdir folder = {.temporary = (char *)where};
    FILE *f = tt_outdir_file(&folder, name, err);
    if (!f) return err->status;
    if (strcmp(name, TT_LOG_FILE) == 0)
        (void)fwrite(w->b->log.text.data, 1, w->b->log.text.size, f);
    else
        (void)tt_result_write(&w->result, &w->b->settings, &w->e, f);
    return tt_outdir_close(f, name, err);
}

static bool finish_folder(tt_experiment_work *w, tt_error *err)
{
    static const char *const kept[] = {TT_RUN_TRACE, TT_WORK_TEXT, TT_WORK_MESSAGES};
    bool moved = move_other_traces(w);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        moved = moved && move_in(w, kept[i]);
    if (!moved) {
        (void)tt_error_set(err, TT_E_IO, TT_NO_OFFSET,
                           "cannot move what was traced to its data: %s", strerror(errno));
        return false;
    }
    const char *folder = tt_dataset_folder(w->dataset);
    if (write_own_file(w, folder, TT_LOG_FILE, err) != TT_OK ||
        write_own_file(w, folder, TT_RESULT_FILE, err) != TT_OK)
        return false;
    tt_dataset *dataset = w->dataset;
    w->dataset = NULL; /* the commit frees it */
    return tt_dataset_commit(dataset, err) == TT_OK;
}

bool tt_work_publish(tt_experiment_work *w, const char *name)
{
    tt_error err;
    if (tt_store_publish(&w->b->store, name, &w->b->results, &err) == TT_OK) return true;
    return tt_work_fail(
        w, TT_EXIT_USAGE,
        "the experiment itself is kept, in a folder of its own; see to it that the output "
        "folder can be written and has room, and that its file system has links",
        "%s", err.message);
}

/* Moves the folder to its final path among the results. */
static bool keep_folder(tt_experiment_work *w, const char *made, tt_outcome_state state)
{
    tt_error err;
    tt_result *r = &w->result;
    if (tt_store_keep(&w->b->store, made, r->folder, &err) != TT_OK)
        return tt_work_fail_with(w, &err);
    (void)snprintf(w->end->id, sizeof w->end->id, "%s", r->id);
    w->end->state = state;
    return tt_results_add(&w->b->results, r) ||
           tt_work_fail(w, TT_EXIT_NO_MEMORY, "free memory", "out of memory");
}

static void name_folder(tt_experiment_work *w)
{
    tt_result *r = &w->result;
    r->duration_ns = tt_clock_ns(CLOCK_MONOTONIC) - w->begun_ns;
    tt_store_name(&w->b->store, r->domain, r->label, r->prompt, r->folder);
}

/* Until it was killed, if a trace could be made. */
static bool fill_killed(tt_experiment_work *w)
{
    char path[TT_WORK_PATH];
    uint8_t id[16];
    tt_error err;
    tt_work_path(w, path, TT_RUN_TRACE);
    if (tt_model_open(path, &w->m, &err) == TT_OK) return fill_result(w);
    (void)unlink(path);
    if (getrandom(id, sizeof id, 0) != (ssize_t)sizeof id) return false;
    tt_hex(w->result.id, id, sizeof id);
    put_start_time(&w->result, tt_clock_ns(CLOCK_REALTIME) - w->result.inference_ns);
    return fill_settings(w);
}

bool tt_work_keep_killed(tt_experiment_work *w)
{
    tt_error err;
    tt_work_begin(w, "summary");
    if (!fill_killed(w)) return tt_work_fail(w, TT_EXIT_NO_MEMORY, "free memory", "out of memory");
    tt_work_end(w, 2, 0);
    name_folder(w);
    tt_log_line(&w->b->log, w->stage, "%s/%s: %s", w->b->store.folder, w->result.folder,
                w->result.ending);
    if (write_own_file(w, w->folder, TT_LOG_FILE, &err) != TT_OK ||
        write_own_file(w, w->folder, TT_RESULT_FILE, &err) != TT_OK)
        return tt_work_fail_with(w, &err);
    return keep_folder(w, w->folder, TT_OUTCOME_KILLED);
}

bool tt_work_summarize(tt_experiment_work *w)
{
    static const char summary[] = "summary";
    tt_dataset_sum sum;
    tt_error err;
    char path[TT_WORK_PATH], size[TT_UNITS_TEXT], took[TT_UNITS_TEXT], files[TT_UNITS_TEXT],
        folder[TT_RESULT_FOLDER];
    tt_result *r = &w->result;
    tt_work_begin(w, summary);
    if (tt_dataset_experiment(w->dataset, &sum, &err) != TT_OK) return tt_work_fail_with(w, &err);
    if (!fill_result(w)) return tt_work_fail(w, TT_EXIT_NO_MEMORY, "free memory", "out of memory");
    tt_work_end(w, sum.n_files, sum.size_bytes);
    name_folder(w);
    tt_log_line(&w->b->log, summary, "%s files, %s, in %s; inference %" PRIu64 " batches",
                tt_units_count(files, r->n_files), tt_units_bytes(size, r->size_bytes),
                tt_units_ns(took, (double)r->duration_ns), r->n_batches);
    tt_log_line(&w->b->log, summary, "%s/%s", w->b->store.folder, r->folder);
    if (!finish_folder(w, &err)) return tt_work_fail_with(w, &err);
    tt_work_path(w, path, TT_WORK_DATA);
    (void)snprintf(folder, sizeof folder, "%s", r->folder);
    return keep_folder(w, path, TT_OUTCOME_DONE) && tt_work_publish(w, folder);
}
