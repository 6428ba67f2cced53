/* One experiment, stage by stage. */
#include "base/clock.h"
#include "cli/command.h"
#include "cli/experiment/work.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- when something fails --- */

bool tt_work_fail(tt_experiment_work *w, int code, const char *remedy, const char *fmt, ...)
{
    if (tt_interrupted()) return false;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(w->end->cause, sizeof w->end->cause, fmt, args);
    va_end(args);
    w->end->state = TT_OUTCOME_FAILED;
    w->end->stage = w->stage;
    w->end->code = code;
    tt_log_line(&w->b->log, w->stage, "FAILED: %s", w->end->cause);
    tt_log_line(&w->b->log, w->stage, "what to do: %s", remedy);
    return false;
}

bool tt_work_fail_with(tt_experiment_work *w, const tt_error *err)
{
    const char *remedy = "this should not happen: the message above says what is wrong with the "
                         "trace; `tensortrace run` and `tensortrace verify` show more";
    if (err->status == TT_E_IO || err->status == TT_E_EXISTS)
        remedy = "see to it that the output folder can be written and has room, or name another in "
                 "paths.webui_data_dir or with -o";
    else if (err->status == TT_E_MEMORY)
        remedy = "free memory, or generate fewer tokens";
    return tt_work_fail(w, TT_EXIT_USAGE, remedy, "%s", err->message);
}

void tt_work_path(const tt_experiment_work *w, char out[TT_WORK_PATH], const char *name)
{
    (void)snprintf(out, TT_WORK_PATH, "%s/%s", w->folder, name);
}

int tt_work_is_other_trace(const struct dirent *entry)
{
    static const char begin[] = "run-", end[] = ".ttrace";
    size_t n = strlen(entry->d_name), of_end = sizeof end - 1;
    return strncmp(entry->d_name, begin, sizeof begin - 1) == 0 && n > of_end &&
           strcmp(entry->d_name + n - of_end, end) == 0;
}

/* --- stages --- */

static void note_progress(void *context, const char *text)
{
    tt_experiment_work *w = context;
    tt_log_line(&w->b->log, w->stage, "%s", text);
}

void tt_work_begin(tt_experiment_work *w, const char *stage)
{
    w->stage = stage;
    w->result.stages[w->result.n_stages] =
        (tt_stage_sum){.name = stage, .duration_ns = tt_clock_ns(CLOCK_MONOTONIC)};
    tt_work_begin_progress(w, "files", 0);
}

void tt_work_begin_progress(tt_experiment_work *w, const char *unit, uint64_t total)
{
    tt_progress_end(&w->progress);
    tt_progress_begin(&w->progress, w->stage, total, unit);
    w->progress.note = note_progress;
    w->progress.context = w;
}

void tt_work_end(tt_experiment_work *w, uint64_t n_files, uint64_t size_bytes)
{
    tt_stage_sum *sum = &w->result.stages[w->result.n_stages++];
    tt_progress_end(&w->progress);
    sum->duration_ns = tt_clock_ns(CLOCK_MONOTONIC) - sum->duration_ns;
    sum->n_files = n_files;
    sum->size_bytes = size_bytes;
    w->result.n_files += n_files;
    w->result.size_bytes += size_bytes;
}

void tt_work_note(void *context, const char *text)
{
    tt_experiment_work *w = context;
    tt_progress_end(&w->progress);
    tt_log_line(&w->b->log, w->stage, "%s", text);
}

bool tt_work_flag(const tt_experiment *e, tt_setting setting, bool otherwise)
{
    return e->of[setting] ? e->of[setting]->integer != 0 : otherwise;
}

uint64_t tt_work_amount(const tt_experiment *e, tt_setting setting)
{
    return e->of[setting] ? (uint64_t)e->of[setting]->integer : 0;
}

const char *tt_work_word(const tt_experiment *e, tt_setting setting)
{
    return e->of[setting] ? e->of[setting]->text : NULL;
}

/* --- everything --- */

static bool is_up_to_date(tt_experiment_work *w, size_t twin)
{
    char changed[64];
    const tt_result *r = tt_results_find(&w->b->results, &w->result.identity, changed);
    if (r && !r->ending && !tt_store_has_data(&w->b->store, r->folder)) {
        tt_log_line(&w->b->log, TT_STAGE_INFERENCE, "the data of %s were removed since it was made",
                    r->folder);
        r = NULL;
    }
    if (r && !w->b->force) {
        w->stage = "up to date";
        if (twin)
            tt_log_line(&w->b->log, w->stage, "the same as %zu/%zu: not run again", twin,
                        tt_settings_experiments(&w->b->settings));
        tt_log_line(&w->b->log, w->stage,
                    "%s/%s, made with these settings, model, engine and tensortrace; --force makes "
                    "it again",
                    w->b->store.folder, r->folder);
        w->end->state = TT_OUTCOME_UP_TO_DATE;
        (void)snprintf(w->end->id, sizeof w->end->id, "%s", r->id);
        if (!r->ending) (void)tt_work_publish(w, r->folder);
        return true;
    }
    if (!r && changed[0])
        tt_log_line(&w->b->log, TT_STAGE_INFERENCE,
                    "there is a result with these settings, but since then "
                    "something changed: %s",
                    changed);
    return false;
}

static void run_stages(tt_experiment_work *w)
{
    tt_error err;
    w->stage = TT_STAGE_INFERENCE;
    tt_interrupt_hold(); /* an unregistered folder would stay */
    tt_status status = tt_store_begin(&w->b->store, w->folder, &err);
    tt_interrupt_guard(status == TT_OK ? w->folder : NULL);
    if (status != TT_OK) {
        (void)tt_work_fail_with(w, &err);
        return;
    }
    if (tt_work_infer(w))
        (void)(w->result.ending ? tt_work_keep_killed(w)
                                : tt_work_write(w) && tt_work_summarize(w));
    tt_progress_end(&w->progress);
    tt_dataset_abandon(w->dataset);
    tt_model_close(w->m);
    tt_interrupt_end();
    if (!tt_interrupted() || w->end->state != TT_OUTCOME_OPEN) return;
    w->end->state = TT_OUTCOME_INTERRUPTED;
    tt_log_line(&w->b->log, w->stage, "interrupted (%s); nothing of this experiment is kept",
                strsignal(tt_interrupted()));
}

size_t *tt_experiment_order(tt_bench *b)
{
    const size_t n = tt_settings_experiments(&b->settings);
    size_t *list = calloc(n, sizeof *list);
    b->place = list ? calloc(n, sizeof *b->place) : NULL;
    if (b->place) {
        tt_settings_order(list, n, !b->is_shuffled, b->order_seed);
        return list;
    }
    free(list);
    return NULL;
}

size_t tt_experiment_twin(tt_bench *b, size_t number, size_t position)
{
    size_t *place = &b->place[tt_settings_first_like(&b->settings, number)];
    const size_t before = *place;
    if (!before) *place = position + 1;
    return before;
}

void tt_experiment_run(tt_bench *b, size_t number, size_t position, tt_experiment_end *end)
{
    tt_error err;
    tt_experiment_work w = {.b = b,
                            .number = number,
                            .position = position,
                            .end = end,
                            .begun_ns = tt_clock_ns(CLOCK_MONOTONIC)};
    memset(end, 0, sizeof *end);
    tt_settings_experiment(&b->settings, number, &w.e);
    tt_log_experiment(&b->log, position, tt_settings_experiments(&b->settings));
    const size_t twin = tt_experiment_twin(b, number, position);
    w.stage = "verify prerequisites";
    if (tt_bench_inputs_identity(&b->inputs, &b->settings, &w.e, &w.result.identity, &err) != TT_OK)
        (void)tt_work_fail_with(&w, &err);
    else if (!is_up_to_date(&w, twin))
        run_stages(&w);
    tt_words_free(w.words);
    tt_result_free(&w.result);
}
