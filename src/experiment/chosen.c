#include "experiment/chosen.h"

#include "base/path.h"
#include "base/units.h"
#include "experiment/store.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool tt_chosen_is_folder(const char *folder)
{
    char name[TT_RESULT_FOLDER], path[PATH_MAX];
    const int n = snprintf(path, sizeof path, "%s/" TT_RUN_TRACE, folder);
    return tt_result_current(folder, name) && n > 0 && (size_t)n < sizeof path &&
           access(path, F_OK) != 0;
}

bool tt_chosen_are_several(const char *folder)
{
    char path[PATH_MAX];
    size_t n = 0;
    DIR *all = opendir(folder);
    for (const struct dirent *e; n < 2 && all && (e = readdir(all));) {
        if (e->d_name[0] == '.' || strcmp(e->d_name, TT_RESULT_CURRENT) == 0) continue;
        const int length = snprintf(path, sizeof path, "%s/%s/" TT_RUN_TRACE, folder, e->d_name);
        n += length > 0 && (size_t)length < sizeof path && access(path, F_OK) == 0;
    }
    if (all) (void)closedir(all);
    return n > 1;
}

static bool is_same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* The value of a setting in the text of a result's options, up to the next blank. */
static size_t option(const tt_result *r, const char *key, const char **value)
{
    *value = r->options ? strstr(r->options, key) : NULL;
    return *value ? strcspn(*value, " ") : 0;
}

bool tt_chosen_is_repeat(const tt_result *a, const tt_result *b)
{
    static const char *const sampling[] = {"temperature=", "seed="};
    const char *x, *y;
    bool same = is_same(a->model_file, b->model_file) && is_same(a->prompt, b->prompt) &&
                a->tokens_to_generate == b->tokens_to_generate;
    for (size_t i = 0; same && i < sizeof sampling / sizeof *sampling; i++) {
        const size_t n = option(a, sampling[i], &x), m = option(b, sampling[i], &y);
        same = n == m && (n == 0 || strncmp(x, y, n) == 0);
    }
    return same;
}

static tt_rowset rowset_of(const tt_results *results)
{
    return TT_ROWSET(&tt_result_schema, 0, NULL, results->list, results->n);
}

/* A number as in CSV. */
static void write_value(const tt_column *column, const tt_cell *cell, char *out, size_t room)
{
    char number[TT_DECIMAL_TEXT] = "";
    if (!cell->known)
        out[0] = '\0';
    else if (column->type == TT_CELL_F64 && tt_decimal_write(cell->f64, number))
        (void)snprintf(out, room, "%s", number);
    else if (column->type == TT_CELL_I64 || column->type == TT_CELL_I32)
        (void)snprintf(out, room, "%" PRId64, cell->i64);
    else
        (void)snprintf(out, room, "%" PRIu64, cell->u64);
}

static bool passes(const tt_result *r, const tt_column *column, const char *value)
{
    char text[TT_RESULT_SHOWN + TT_DECIMAL_TEXT];
    tt_cell cell;
    tt_cell_get(column, NULL, r, &cell);
    if (cell.known && column->text) column->text(NULL, r, text, sizeof text);
    if (cell.known && column->text && strcmp(text, value) == 0) return true;
    if (cell.known && column->type == TT_CELL_NAME)
        return cell.text.n == strlen(value) && strncmp(cell.text.at, value, cell.text.n) == 0;
    write_value(column, &cell, text, sizeof text);
    return strcmp(text, value) == 0;
}

/* Whether it is KEY=VALUE with a key of settings. */
static bool is_setting(const char *where)
{
    const size_t n = strcspn(where, "=");
    for (size_t i = 0; where[n] && i < TT_SET_COUNT; i++) {
        const char *key = tt_setting_key((tt_setting)i);
        if (strlen(key) == n && strncmp(key, where, n) == 0) return true;
    }
    return false;
}

/* Whether the condition, "threads=2 memory_limit=60%", has this setting. */
static bool has_setting(const tt_result *r, const char *where)
{
    const size_t n = strlen(where);
    for (const char *at = r->condition; at && (at = strstr(at, where)); at++)
        if ((at == r->condition || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) return true;
    return false;
}

/* Removes chosen runs that do not pass. */
static tt_status choose(tt_chosen_runs *runs, const char *where, tt_error *err)
{
    const tt_rowset set = rowset_of(&runs->results);
    const char *equal = strchr(where, '=');
    const tt_column *column = equal ? tt_schema_find(&set, where, (size_t)(equal - where)) : NULL;
    size_t kept = 0;
    if (!column && !is_setting(where))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "\"%.60s\" is not COLUMN=VALUE with a column of `tensortrace "
                            "experiment list --columns help`, or a setting (memory_limit=60%%)",
                            where);
    for (size_t i = 0; i < runs->n; i++) {
        const tt_result *r = &runs->results.list[runs->chosen[i]];
        if (column ? passes(r, column, equal + 1) : has_setting(r, where))
            runs->chosen[kept++] = runs->chosen[i];
    }
    if (kept == 0)
        return tt_error_set(
            err, TT_E_NOT_FOUND, TT_NO_OFFSET,
            "of %zu run%s none has %.100s; `tensortrace experiment list` shows them", runs->n,
            runs->n == 1 ? "" : "s", where);
    runs->n = kept;
    return TT_OK;
}

tt_status tt_chosen_find(tt_chosen_runs *runs, const char *folder, const char *const *where,
                         size_t n_where, tt_error *err)
{
    memset(runs, 0, sizeof *runs);
    tt_status status = tt_results_scan(&runs->results, folder, err);
    if (status != TT_OK) return status;
    const size_t n = runs->results.n;
    if (n == 0)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "%.250s holds no experiment",
                            folder);
    runs->chosen = calloc(n, sizeof *runs->chosen);
    runs->paths = calloc(n, sizeof *runs->paths);
    if (!runs->chosen || !runs->paths) return tt_error_memory(err, "a list of runs");
    for (size_t i = 0; i < n; i++)
        runs->chosen[runs->n++] = i;
    for (size_t i = 0; status == TT_OK && i < n_where; i++)
        status = choose(runs, where[i], err);
    for (size_t i = 0; status == TT_OK && i < runs->n; i++) {
        const tt_result *r = &runs->results.list[runs->chosen[i]];
        if (asprintf(&runs->paths[i], "%s/%s/" TT_RUN_TRACE, folder, r->folder) < 0) {
            runs->paths[i] = NULL;
            status = tt_error_memory(err, "a list of runs");
        } else if (r->ending && access(runs->paths[i], F_OK) != 0) {
            free(runs->paths[i]);
            runs->paths[i] = NULL;
        }
    }
    return status;
}

bool tt_chosen_repeats(const tt_chosen_runs *runs, size_t n, const tt_result *r)
{
    for (size_t i = 0; i < n; i++)
        if (tt_chosen_is_repeat(&runs->results.list[runs->chosen[i]], r)) return true;
    return false;
}

void tt_chosen_free(tt_chosen_runs *runs)
{
    for (size_t i = 0; runs->paths && i < runs->results.n; i++)
        free(runs->paths[i]);
    free(runs->paths);
    free(runs->chosen);
    tt_results_free(&runs->results);
    memset(runs, 0, sizeof *runs);
}
