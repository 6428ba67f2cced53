/* What experiments there are, and what became of those of a command: tables and JSON. */
#include "base/clock.h"
#include "base/units.h"
#include "cli/experiment/experiment.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_SHOWN 9u /* eight digits */
#define TEXT_SHOWN 60u

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash && slash[1] ? slash + 1 : path ? path : "";
}

/* Cut short, without cutting a character. */
static const char *shorten(char out[TEXT_SHOWN + 8], const char *text)
{
    size_t n = strlen(text);
    size_t keep = n > TEXT_SHOWN ? TEXT_SHOWN : n;
    while (keep < n && keep > 0 && ((unsigned char)text[keep] & 0xc0) == 0x80)
        keep--;
    (void)snprintf(out, TEXT_SHOWN + 8, "%.*s%s", (int)keep, text, keep < n ? "..." : "");
    return tt_trace_text(out, TEXT_SHOWN + 8, out);
}

static const char *rate(char out[TT_UNITS_TEXT], double tokens_per_s)
{
    if (tokens_per_s <= 0) return "-";
    (void)snprintf(out, TT_UNITS_TEXT, "%.1f", tokens_per_s);
    return out;
}

/* "2026-11-21 13:17:02" of "2026-11-21T13:17:02.123456Z" */
static const char *when(char out[32], const char *timestamp)
{
    (void)snprintf(out, 32, "%.19s", timestamp);
    if (strlen(out) == 19) out[10] = ' ';
    return tt_trace_text(out, 32, out);
}

static bool print_list(const tt_results *results)
{
    tt_table *t = tt_table_new(stdout);
    if (!t) return false;
    bool options_given = false;
    for (size_t i = 0; i < results->n; i++)
        options_given |= results->list[i].options && results->list[i].options[0];
    tt_table_column(t, "", 0);
    tt_table_column(t, "ID", 0);
    tt_table_column(t, "STARTED (UTC)", 0);
    tt_table_column(t, "MODEL", TT_COLUMN_SHRINK);
    tt_table_column(t, "PROMPT", TT_COLUMN_SHRINK);
    tt_table_column(t, "TOKENS", TT_COLUMN_RIGHT);
    tt_table_column(t, "THREADS", TT_COLUMN_RIGHT);
    tt_table_column(t, "BATCHES", TT_COLUMN_RIGHT);
    tt_table_column(t, "TOKENS/S", TT_COLUMN_RIGHT);
    tt_table_column(t, "SIZE", TT_COLUMN_RIGHT);
    tt_table_column(t, "ENGINE", TT_COLUMN_SHRINK);
    if (options_given) tt_table_column(t, "OPTIONS", TT_COLUMN_SHRINK);
    for (size_t i = 0; i < results->n; i++) {
        const tt_result *r = &results->list[i];
        char id[ID_SHOWN], time[32], model[TEXT_SHOWN + 8], prompt[TEXT_SHOWN + 8],
            engine[TEXT_SHOWN + 8], options[TEXT_SHOWN + 8], tokens[24], threads[24], batches[24],
            speed[TT_UNITS_TEXT], size[TT_UNITS_TEXT];
        (void)snprintf(id, sizeof id, "%.8s", r->id);
        (void)snprintf(tokens, sizeof tokens, "%" PRId64, r->tokens_to_generate);
        (void)snprintf(threads, sizeof threads, "%" PRIu64, r->threads);
        (void)snprintf(batches, sizeof batches, "%" PRIu64, r->n_batches);
        const char *cells[] = {r->is_current ? "*" : "",
                               id,
                               when(time, r->timestamp_start),
                               shorten(model, base_name(r->model_file)),
                               shorten(prompt, r->prompt ? r->prompt : ""),
                               tokens,
                               r->threads ? threads : "-",
                               batches,
                               rate(speed, r->tokens_per_s),
                               tt_units_bytes(size, r->size_bytes),
                               shorten(engine, r->engine ? r->engine : ""),
                               shorten(options, r->options ? r->options : "")};
        tt_table_row(t, cells);
    }
    return tt_table_print(t);
}

bool tt_experiment_list(const tt_results *results, const char *folder, bool json)
{
    tt_json j;
    if (!json) {
        if (results->n) return print_list(results);
        tt_report_note("no experiments in %s", folder);
        return true;
    }
    tt_json_begin(&j, stdout, 2);
    tt_json_object(&j);
    tt_json_kv_string(&j, "output_dir", folder);
    tt_json_kv_u64(&j, "n_unreadable", results->n_unreadable);
    tt_json_key(&j, "experiments");
    tt_results_json(&j, results);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

/* --- of one command --- */

static const char *const state_names[] = {"not tried", "done", "up to date", "failed",
                                          "interrupted"};
static const char *const state_keys[] = {"not_tried", "done", "up_to_date", "failed",
                                         "interrupted"};

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
    (void)snprintf(path, sizeof path, "%s/%s", b->store.folder, end->id);
    tt_json_kv_string(j, "folder", r ? path : NULL);
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

/* Columns that only some commands have something for. */
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
    char n[24], id[ID_SHOWN], model[TEXT_SHOWN + 8], prompt[TEXT_SHOWN + 8],
        options[TEXT_SHOWN + 8], tokens[TT_SETTING_TEXT], threads[24],
        batches[24] = "", speed[TT_UNITS_TEXT], took[TT_UNITS_TEXT] = "", size[TT_UNITS_TEXT] = "",
        why[400] = "";
    tt_settings_experiment(&b->settings, number, &e);
    const tt_result *r = end->id[0] ? tt_results_by_id(&b->results, end->id) : NULL;
    char *given = tt_experiment_options(&e);
    (void)snprintf(n, sizeof n, "%zu", number + 1);
    (void)snprintf(id, sizeof id, "%.8s", end->id);
    (void)snprintf(threads, sizeof threads, "%" PRIu64, r ? r->threads : 0);
    if (r) {
        (void)snprintf(batches, sizeof batches, "%" PRIu64, r->n_batches);
        tt_units_ns(took, (double)r->inference_ns);
        tt_units_bytes(size, r->size_bytes);
    } else if (e.of[TT_SET_THREADS]) {
        (void)snprintf(threads, sizeof threads, "%" PRId64, e.of[TT_SET_THREADS]->integer);
    }
    if (end->stage) (void)snprintf(why, sizeof why, "%s: %s", end->stage, end->cause);
    (void)tt_trace_text(why, sizeof why, why);
    const char *cells[] = {
        n,
        shorten(model, base_name(e.of[TT_SET_MODEL_PATH]->text)),
        shorten(prompt, tt_experiment_prompt(&e)),
        tt_setting_show(TT_SET_TOKENS_TO_GENERATE, e.of[TT_SET_TOKENS_TO_GENERATE], tokens),
        r || e.of[TT_SET_THREADS] ? threads : "",
        state_names[end->state],
        id,
        batches,
        r ? rate(speed, r->tokens_per_s) : "",
        took,
        size,
        has.options ? shorten(options, given ? given : "") : why,
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
    tt_table_column(t, "TOKENS", TT_COLUMN_RIGHT);
    tt_table_column(t, "THREADS", TT_COLUMN_RIGHT);
    tt_table_column(t, "STATE", 0);
    tt_table_column(t, "ID", 0);
    tt_table_column(t, "BATCHES", TT_COLUMN_RIGHT);
    tt_table_column(t, "TOKENS/S", TT_COLUMN_RIGHT);
    tt_table_column(t, "INFERENCE", TT_COLUMN_RIGHT);
    tt_table_column(t, "SIZE", TT_COLUMN_RIGHT);
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
