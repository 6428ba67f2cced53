/* Selected runs of a folder of experiments, for commands that compare several. */
#ifndef TT_EXPERIMENT_CHOSEN_H
#define TT_EXPERIMENT_CHOSEN_H

#include "base/status.h"
#include "experiment/results.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct tt_chosen_runs {
    tt_results results; /* of the folder: all of them */
    size_t *chosen;     /* indices in that list, oldest first */
    char **paths;       /* of their traces; NULL for one that was killed before it had a trace */
    size_t n;
} tt_chosen_runs;

/* Whether it is a folder of experiments, and not that of a single one. */
bool tt_chosen_is_folder(const char *folder);
/* Whether such a folder holds the traces of several experiments. */
bool tt_chosen_are_several(const char *folder);
/* Whether a and b have the same prompt, number of tokens, model and sampling: then their routing is
 * the same, whatever the conditions. */
bool tt_chosen_is_repeat(const tt_result *a, const tt_result *b);
/* Those that pass all `where`, texts such as "domain=code": a column of tt_result_schema by key or
 * title, and its value, as in JSON or as in the list (model_file=moe.gguf); or a setting of their
 * condition, "memory_limit=60%". *runs is freed with
 * tt_chosen_free also on failure. TT_E_USAGE: no such column; TT_E_NOT_FOUND: none passes. */
tt_status tt_chosen_find(tt_chosen_runs *runs, const char *folder, const char *const *where,
                         size_t n_where, tt_error *err);
/* Whether it repeats one of the first n: as independent observations both would count twice. */
bool tt_chosen_repeats(const tt_chosen_runs *runs, size_t n, const tt_result *r);
void tt_chosen_free(tt_chosen_runs *runs);

#endif
