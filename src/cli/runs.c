#include "cli/runs.h"

#include "cli/command.h"
#include "cli/report.h"

#include <stdio.h>

void tt_where_take(void *member, char *arg, tt_parse *p)
{
    tt_where *where = member;
    if (where->n == TT_WHERE_MAX) tt_parse_refuse(p, "at most %u times", TT_WHERE_MAX);
    where->list[where->n++] = arg;
}

static int show_runs(tt_input *input, const tt_chosen_runs *runs, int (*show)(void *options),
                     void *options)
{
    int code = TT_EXIT_OK;
    size_t shown = 0;
    const bool many = runs->n > 1;
    if (input->json && many) puts("[");
    for (size_t i = 0; i < runs->n; i++) {
        const tt_result *r = &runs->results.list[runs->chosen[i]];
        if (!runs->paths[i]) {
            tt_report_note("%s has no trace: %s", r->folder, r->ending);
            continue;
        }
        if (many && input->json && shown) puts(",");
        if (many && !input->json) printf("%s== %s ==\n", shown ? "\n" : "", r->folder);
        shown++;
        input->path = input->given = runs->paths[i];
        const int next = show(options);
        if (code == TT_EXIT_OK) code = next;
    }
    if (input->json && many) puts("]");
    if (!shown) return tt_report_usage("none of these runs has a trace");
    return code;
}

int tt_runs_each(tt_input *input, const tt_where *where, bool csv, int (*show)(void *options),
                 void *options)
{
    tt_chosen_runs runs;
    tt_error err;
    int code;
    if (!where->n) return show(options);
    if (!tt_chosen_is_folder(input->given))
        return tt_report_usage("--where goes with a folder of experiments");
    if (tt_chosen_find(&runs, input->given, where->list, where->n, &err) != TT_OK)
        code = tt_report_error(&err);
    else if (csv && runs.n > 1)
        code = tt_report_usage("%zu runs have that, and CSV is of one: --where "
                               "folder=%s chooses one",
                               runs.n, runs.results.list[runs.chosen[0]].folder);
    else
        code = show_runs(input, &runs, show, options);
    tt_chosen_free(&runs);
    return code;
}
