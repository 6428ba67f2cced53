#include "cli/diff/runs.h"

#include "analyze/diff/diff.h"
#include "cli/command.h"
#include "cli/report.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_same_key(const char *a, const char *b)
{
    const size_t n = strcspn(a, "=");
    return n == strcspn(b, "=") && strncmp(a, b, n) == 0;
}

/* B's selection: see diff_runs.h. */
static tt_where other_side(const tt_where *where, const tt_where *against)
{
    tt_where all = {.n = 0};
    for (size_t i = 0; i < where->n; i++) {
        bool replaced = false;
        for (size_t k = 0; k < against->n; k++)
            replaced = replaced || is_same_key(where->list[i], against->list[k]);
        if (!replaced) all.list[all.n++] = where->list[i];
    }
    for (size_t k = 0; k < against->n && all.n < TT_WHERE_MAX; k++)
        all.list[all.n++] = against->list[k];
    return all;
}

/* Whether they can pass for repeats; else prints advice. */
static int check_side(const char *side, const char *folder, const tt_chosen_runs *runs)
{
    const tt_result *list = runs->results.list, *first = &list[runs->chosen[0]];
    size_t prompts = 1;
    for (size_t i = 1; i < runs->n; i++)
        prompts += !tt_chosen_is_repeat(first, &list[runs->chosen[i]]);
    if (prompts > 1)
        return tt_report_usage(
            "%s: %zu runs, not all of the same prompt, model and number of tokens, which is what "
            "diff takes for repeats: choose further, as with --where %s=%s; `%s report %s` "
            "compares conditions over all prompts",
            side, runs->n, first->label ? "label" : "folder",
            first->label ? first->label : first->folder, tt_report_program(), folder);
    for (size_t i = 1; i < runs->n; i++)
        if (strcmp(first->condition ? first->condition : "",
                   list[runs->chosen[i]].condition ? list[runs->chosen[i]].condition : "") != 0)
            return tt_report_usage(
                "%s: %zu runs under several conditions, which diff would take for noise: choose "
                "further, as with --where \"condition=%s\"",
                side, runs->n, first->condition ? first->condition : "");
    return TT_EXIT_OK;
}

static int find_side(tt_chosen_runs *runs, const char *side, const char *folder,
                     const tt_where *where, const char **paths, size_t room, size_t *n)
{
    tt_error err;
    *n = 0;
    if (tt_chosen_find(runs, folder, where->list, where->n, &err) != TT_OK)
        return tt_report_error(&err);
    int code = check_side(side, folder, runs);
    for (size_t i = 0; code == TT_EXIT_OK && i < runs->n; i++) {
        const tt_result *r = &runs->results.list[runs->chosen[i]];
        if (r->ending) {
            tt_report_note("%s is left out: %s", r->folder, r->ending);
            continue;
        }
        if (*n == room)
            return tt_report_usage("more than %u runs in all: choose further with --where",
                                   TT_DIFF_FILES_MAX);
        paths[(*n)++] = runs->paths[i];
    }
    if (code == TT_EXIT_OK && *n == 0)
        code = tt_report_usage("%s: all of its runs were killed", side);
    return code;
}

int tt_diff_runs_find(tt_diff_runs *runs, const char *folder, const tt_where *where,
                      const tt_where *against, const char **paths, size_t *n_a, size_t *n_b)
{
    const tt_where other = other_side(where, against);
    *n_a = *n_b = 0;
    memset(runs, 0, sizeof *runs);
    if (!tt_chosen_is_folder(folder))
        return tt_report_usage("--where and --against go with one folder of experiments");
    int code = find_side(&runs->a, "A", folder, where, paths, TT_DIFF_FILES_MAX - 1, n_a);
    if (code != TT_EXIT_OK) return code;
    return find_side(&runs->b, "B", folder, &other, paths + *n_a, TT_DIFF_FILES_MAX - *n_a, n_b);
}

void tt_diff_runs_free(tt_diff_runs *runs)
{
    tt_chosen_free(&runs->a);
    tt_chosen_free(&runs->b);
}
