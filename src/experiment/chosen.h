/* The runs of a folder of experiments, or some of them: what commands take that compare several. */
#ifndef TT_EXPERIMENT_CHOSEN_H
#define TT_EXPERIMENT_CHOSEN_H

#include "base/status.h"
#include "experiment/results.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct tt_chosen_runs {
    tt_results results; /* of the folder: all of them */
    size_t *chosen;     /* places in that list, oldest first */
    char **paths;       /* of their traces; NULL of one that was killed before there was any */
    size_t n;
} tt_chosen_runs;

/* Whether commands that take several runs find some in it: a folder of experiments, and not that of
 * one. */
bool tt_chosen_is_folder(const char *folder);
/* Whether a and b are the same prompt, of as many tokens, by the same model and sampling: under
 * whatever conditions, they say the same of its routing. */
bool tt_chosen_is_repeat(const tt_result *a, const tt_result *b);
/* Those that pass all `where`, texts as "domain=code": a column of tt_result_schema by key or
 * title, and its value; or a setting of their condition, "memory_limit=60%". *runs is freed with tt_chosen_free also on failure. TT_E_USAGE: no such
 * column; TT_E_NOT_FOUND: none passes. */
tt_status tt_chosen_find(tt_chosen_runs *runs, const char *folder, const char *const *where,
                         size_t n_where, tt_error *err);
void tt_chosen_free(tt_chosen_runs *runs);

#endif
