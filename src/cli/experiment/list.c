/* Lists experiments, and the outcomes of a command's: tables and JSON. */
#include "cli/command.h"
#include "cli/experiment/experiment.h"

#include <stdio.h>
#include <stdlib.h>

int tt_experiment_list(const tt_results *results, const char *folder, const tt_list_options *o,
                       bool json)
{
    const tt_rowset set = TT_ROWSET(&tt_result_schema, 0, NULL, results->list, results->n);
    const tt_listing_wish wish = tt_list_wish(o, true, NULL);
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

typedef struct outcome {
    size_t number;
    const tt_experiment_end *end;
    const tt_result *r; /* NULL: it has none */
    tt_experiment e;
} outcome;

static const char *model_of(const outcome *x)
{
    return x->e.of[TT_SET_MODEL_PATH]->text;
}

TT_COLUMN_KNOWN(is_kept, outcome, x, x->r != NULL)
TT_COLUMN_VALUE(get_number, outcome, x, u64, x->number + 1)
/* In JSON those of the result. */
TT_COLUMN_GET(get_model, outcome, x, if (!x->r) tt_cell_text(cell, model_of(x));)
TT_COLUMN_GET(get_prompt, outcome, x, if (!x->r) tt_cell_text(cell, tt_experiment_prompt(&x->e));)
TT_COLUMN_SHOW(show_model, outcome, x,
               (void)tt_result_short(out, room, tt_result_file(model_of(x)));)
TT_COLUMN_SHOW(show_prompt, outcome, x,
               (void)tt_result_short(out, room, tt_experiment_prompt(&x->e));)
TT_COLUMN_GET(get_tokens, outcome, x, const tt_setting n = TT_SET_TOKENS_TO_GENERATE;
              char text[TT_SETTING_TEXT];
              tt_cell_format(cell, "%s", tt_setting_show(n, x->e.of[n], text));)
/* One that was killed before it recorded how many: those that were asked for. */
TT_COLUMN_GET(get_threads, outcome, x, const tt_setting_value *asked = x->e.of[TT_SET_THREADS];
              cell->known = x->r || asked; if (x->r) cell->u64 = x->r->threads;
              if (cell->u64 == 0 && asked) cell->u64 = (uint64_t)asked->integer;)
TT_COLUMN_GET(get_state, outcome, x, tt_cell_text(cell, state_keys[x->end->state]);)
TT_COLUMN_SHOW(show_state, outcome, x, (void)snprintf(out, room, "%s", state_names[x->end->state]);)
TT_COLUMN_JSON(put_path, outcome, x, const tt_bench *b = context; char path[2 * PATH_MAX];
               (void)snprintf(path, sizeof path, "%s/%s", b->store.folder, x->r->folder);
               tt_json_string(j, path);)
TT_COLUMN_SHOW(show_rate, outcome, x, const double rate = x->r ? x->r->tokens_per_s : 0;
               if (x->r)(void) snprintf(out, room, rate > 0 ? "%.1f" : "-", rate);)
TT_COLUMN_SHOW(show_options, outcome, x, char *options = tt_experiment_options(&x->e);
               (void)tt_result_short(out, room, options); free(options);)
TT_COLUMN_GET(get_stage, outcome, x, tt_cell_text(cell, x->end->stage);)
TT_COLUMN_GET(get_cause, outcome, x, tt_cell_text(cell, x->end->stage ? x->end->cause : NULL);)

static void show_cause(const void *context, const void *row, char *out, size_t room)
{
    const tt_experiment_end *end = ((const outcome *)row)->end;
    char text[400];
    (void)context;
    if (!end->stage) return;
    (void)snprintf(text, sizeof text, "%s: %s", end->stage, end->cause);
    tt_cell_text_copy(out, room, text);
}

#define TEXT(key_, title_, ...) TT_COLUMN(key_, title_, NONE, "", .type = TT_CELL_NAME, __VA_ARGS__)
#define OF_RESULT(key_, title_, unit_, member_)                                                    \
    TT_COLUMN(key_, title_, unit_, "", .show = TT_SHOW_TEXT | TT_SHOW_WIDE, .known = is_kept,      \
              TT_THROUGH(outcome, r), TT_MEMBER(tt_result, member_))
/* In JSON with the columns of the result, if there is one. */
static const tt_column columns[] = {
    TT_COLUMN("number", "#", NONE, "", .type = TT_CELL_U64, .get = get_number,
              .show = TT_SHOW_TEXT),
    TEXT("model_file", "MODEL", .get = get_model, .text = show_model,
         .show = TT_SHOW_CUT | TT_SHOW_OMIT),
    TEXT("prompt", "PROMPT", .get = get_prompt, .text = show_prompt,
         .show = TT_SHOW_CUT | TT_SHOW_OMIT),
    TEXT("tokens", "TOKENS", .get = get_tokens,
         .show = TT_SHOW_TEXT | TT_SHOW_RIGHT | TT_SHOW_WIDE),
    TT_COLUMN("threads", "THREADS", NONE, "", .type = TT_CELL_U64, .get = get_threads,
              .show = TT_SHOW_TEXT | TT_SHOW_WIDE),
    TEXT("state", "STATE", .get = get_state, .text = show_state),
    TT_COLUMN("folder", "FOLDER", NONE, "", .show = TT_SHOW_TEXT | TT_SHOW_CUT | TT_SHOW_KEY,
              .known = is_kept, TT_THROUGH(outcome, r), TT_MEMBER_CHARS(tt_result, folder)),
    TEXT("path", NULL, .known = is_kept, .json = put_path),
    OF_RESULT("batches", "BATCHES", NONE, n_batches),
    TT_COLUMN("tokens_per_s", "TOKENS/S", NONE, "", .type = TT_CELL_F64, .text = show_rate,
              .show = TT_SHOW_TEXT),
    OF_RESULT("inference", "INFERENCE", NS, inference_ns),
    OF_RESULT("size", "SIZE", BYTES, size_bytes),
    TEXT("options", "OPTIONS", .text = show_options,
         .show = TT_SHOW_TEXT | TT_SHOW_CUT | TT_SHOW_KNOWN),
    TEXT("failed_stage", NULL, .get = get_stage, .show = TT_SHOW_OMIT),
    TEXT("cause", "CAUSE", .get = get_cause, .text = show_cause,
         .show = TT_SHOW_CUT | TT_SHOW_KNOWN | TT_SHOW_OMIT),
};
static const tt_schema schema = TT_SCHEMA("outcomes", "an experiment of the command", columns);

static bool print_json(const tt_bench *b, const tt_rowset *set, const tt_experiment_end *ends)
{
    const size_t n = set->n;
    const outcome *rows = set->rows;
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
    for (size_t i = 0; i < n; i++) {
        tt_json_object(&j);
        tt_rowset_json(&j, set, &rows[i]);
        if (rows[i].r) tt_result_json(&j, rows[i].r);
        tt_json_object_end(&j);
    }
    tt_json_array_end(&j);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

bool tt_experiment_summary(const tt_bench *b, const tt_experiment_end *ends, size_t n, bool json)
{
    outcome *rows = calloc(n + 1, sizeof *rows);
    if (!rows) return false;
    for (size_t i = 0; i < n; i++) {
        rows[i] = (outcome){.number = i,
                            .end = &ends[i],
                            .r = ends[i].id[0] ? tt_results_by_id(&b->results, ends[i].id) : NULL};
        tt_settings_experiment(&b->settings, i, &rows[i].e);
    }
    const tt_rowset set = TT_ROWSET(&schema, 0, b, rows, n);
    const bool ok = json ? print_json(b, &set, ends)
                         : tt_list_print_set(&set, &(tt_listing_wish){.text = true}, stdout);
    free(rows);
    return ok;
}
