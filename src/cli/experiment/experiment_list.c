/* Lists experiments, and the outcomes of a command's: tables and JSON. */
#include "base/clock.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/experiment/experiment.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SHOWN (TT_RESULT_SHOWN + 8u)

static const char *rate(char out[TT_UNITS_TEXT], double tokens_per_s)
{
    if (tokens_per_s <= 0) return "-";
    (void)snprintf(out, TT_UNITS_TEXT, "%.1f", tokens_per_s);
    return out;
}

int tt_experiment_list(const tt_results *results, const char *folder, const tt_list_options *o,
                       bool json)
{
    const tt_rowset set = TT_ROWSET(&tt_result_schema, 0, NULL, results->list, results->n);
    const tt_listing_wish wish = {.columns = o->columns, .sort = o->sort, .limit = o->limit};
    tt_listing rows;
    tt_json j;
    if (!json && (results->n || o->csv)) return tt_list_show(&set, o, NULL);
    if (!json) {
        tt_report_note("no experiments in %s", folder);
        return TT_EXIT_OK;
    }
    int code = tt_list_make(&rows, &set, &wish);
    if (code == TT_EXIT_OK) {
        tt_json_begin(&j, stdout, 2);
        tt_json_object(&j);
        tt_json_kv_string(&j, "output_dir", folder);
        tt_json_kv_u64(&j, "n_unreadable", results->n_unreadable);
        tt_json_key(&j, "experiments");
        tt_listing_json(&j, &rows);
        tt_json_object_end(&j);
        code = tt_report_output(tt_json_end(&j));
    }
    tt_listing_free(&rows);
    return code;
}

/* --- of one command --- */

static const char *const state_names[] = {"not tried", "done",   "up to date",
                                          "killed",    "failed", "interrupted"};
static const char *const state_keys[] = {"not_tried", "done",   "up_to_date",
                                         "killed",    "failed", "interrupted"};

static size_t count(const tt_experiment_end *ends, size_t n, tt_outcome_state state)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += ends[i].state == state;
    return found;
}

static void put_end(tt_json *j, const tt_bench *b, size_t number, const tt_experiment_end *end)
{
    tt_experiment e;
    char path[2 * PATH_MAX];
    const tt_result *r = end->id[0] ? tt_results_by_id(&b->results, end->id) : NULL;
    tt_settings_experiment(&b->settings, number, &e);
    tt_json_object(j);
    tt_json_kv_string(j, "state", state_keys[end->state]);
    if (end->stage) tt_json_kv_string(j, "failed_stage", end->stage);
    if (end->stage) tt_json_kv_string(j, "cause", end->cause);
    (void)snprintf(path, sizeof path, "%s/%s", b->store.folder, r ? r->folder : "");
    tt_json_kv_string(j, "path", r ? path : NULL);
    if (r) {
        tt_result_json(j, r);
    } else {
        tt_json_kv_string(j, "model_file", e.of[TT_SET_MODEL_PATH]->text);
        tt_json_kv_string(j, "prompt", tt_experiment_prompt(&e));
    }
    tt_json_object_end(j);
}

static bool print_json(const tt_bench *b, const tt_experiment_end *ends, size_t n)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_json_object(&j);
    tt_json_kv_string(&j, "output_dir", b->store.folder);
    tt_json_kv_u64(&j, "n_done", count(ends, n, TT_OUTCOME_DONE));
    tt_json_kv_u64(&j, "n_up_to_date", count(ends, n, TT_OUTCOME_UP_TO_DATE));
    tt_json_kv_u64(&j, "n_killed", count(ends, n, TT_OUTCOME_KILLED));
    tt_json_kv_u64(&j, "n_failed", count(ends, n, TT_OUTCOME_FAILED));
    tt_json_kv_u64(&j, "n_not_tried",
                   count(ends, n, TT_OUTCOME_OPEN) + count(ends, n, TT_OUTCOME_INTERRUPTED));
    tt_json_key(&j, "experiments");
    tt_json_array(&j);
    for (size_t i = 0; i < n; i++)
        put_end(&j, b, i, &ends[i]);
    tt_json_array_end(&j);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

/* Columns that only some commands need. */
typedef struct optional {
    bool options, cause;
} optional;

static optional find_optional(const tt_bench *b, const tt_experiment_end *ends, size_t n)
{
    optional has = {.cause = count(ends, n, TT_OUTCOME_FAILED) > 0};
    for (size_t i = TT_SET_ENGINE_PATH; i < TT_SET_PROGRAM_ARGUMENTS; i++)
        has.options |= b->settings.of[i].n && !tt_experiment_has_column((tt_setting)i);
    return has;
}

static void put_row(tt_table *t, const tt_bench *b, size_t number, const tt_experiment_end *end,
                    optional has)
{
    tt_experiment e;
    char n[24], model[TEXT_SHOWN], prompt[TEXT_SHOWN], options[TEXT_SHOWN], tokens[TT_SETTING_TEXT],
        threads[24] = "", batches[24] = "", speed[TT_UNITS_TEXT], took[TT_UNITS_TEXT] = "",
        size[TT_UNITS_TEXT] = "", why[400] = "";
    tt_settings_experiment(&b->settings, number, &e);
    const tt_result *r = end->id[0] ? tt_results_by_id(&b->results, end->id) : NULL;
    char *given = tt_experiment_options(&e);
    (void)snprintf(n, sizeof n, "%zu", number + 1);
    if (r) {
        (void)snprintf(threads, sizeof threads, "%" PRIu64, r->threads);
        (void)snprintf(batches, sizeof batches, "%" PRIu64, r->n_batches);
        tt_units_ns(took, (double)r->inference_ns);
        tt_units_bytes(size, r->size_bytes);
    }
    /* One that was killed before it recorded how many: those that were asked for. */
    if ((!r || !r->threads) && e.of[TT_SET_THREADS]) {
        (void)snprintf(threads, sizeof threads, "%" PRId64, e.of[TT_SET_THREADS]->integer);
    }
    if (end->stage) (void)snprintf(why, sizeof why, "%s: %s", end->stage, end->cause);
    (void)tt_trace_text(why, sizeof why, why);
    const char *cells[] = {
        n,
        tt_result_short(model, sizeof model, tt_result_file(e.of[TT_SET_MODEL_PATH]->text)),
        tt_result_short(prompt, sizeof prompt, tt_experiment_prompt(&e)),
        tt_setting_show(TT_SET_TOKENS_TO_GENERATE, e.of[TT_SET_TOKENS_TO_GENERATE], tokens),
        threads,
        state_names[end->state],
        r ? r->folder : "",
        batches,
        r ? rate(speed, r->tokens_per_s) : "",
        took,
        size,
        has.options ? tt_result_short(options, sizeof options, given) : why,
        why};
    tt_table_row(t, cells);
    free(given);
}

static bool print_table(const tt_bench *b, const tt_experiment_end *ends, size_t n)
{
    tt_table *t = tt_table_new(stdout);
    if (!t) return false;
    optional has = find_optional(b, ends, n);
    tt_table_column(t, "#", TT_COLUMN_RIGHT);
    tt_table_column(t, "MODEL", TT_COLUMN_SHRINK);
    tt_table_column(t, "PROMPT", TT_COLUMN_SHRINK);
    tt_table_column(t, "TOKENS", TT_COLUMN_RIGHT | TT_COLUMN_WIDE);
    tt_table_column(t, "THREADS", TT_COLUMN_RIGHT | TT_COLUMN_WIDE);
    tt_table_column(t, "STATE", 0);
    tt_table_column(t, "FOLDER", TT_COLUMN_SHRINK | TT_COLUMN_KEY);
    tt_table_column(t, "BATCHES", TT_COLUMN_RIGHT | TT_COLUMN_WIDE);
    tt_table_column(t, "TOKENS/S", TT_COLUMN_RIGHT);
    tt_table_column(t, "INFERENCE", TT_COLUMN_RIGHT | TT_COLUMN_WIDE);
    tt_table_column(t, "SIZE", TT_COLUMN_RIGHT | TT_COLUMN_WIDE);
    if (has.options) tt_table_column(t, "OPTIONS", TT_COLUMN_SHRINK);
    if (has.cause) tt_table_column(t, "CAUSE", TT_COLUMN_SHRINK);
    for (size_t i = 0; i < n; i++)
        put_row(t, b, i, &ends[i], has);
    return tt_table_print(t);
}

bool tt_experiment_summary(const tt_bench *b, const tt_experiment_end *ends, size_t n, bool json)
{
    return json ? print_json(b, ends, n) : print_table(b, ends, n);
}
