/* The folder of the results, and how a viewer finds the newest in it:
 *
 *     OUT/03-code-quicksort/experiment.json, ...     a complete experiment
 *     OUT/current -> 03-code-quicksort               the last one requested
 *     OUT/memory-map.json -> current/memory-map.json likewise experiment.json,
 *                                                    buffer-timeline.json, graphs, traces: the
 *                                                    names that earlier pipelines' readers open
 *     OUT/experiments.json                           the list, for viewers that cannot list folders
 *     OUT/.unfinished-XXXXXX                         an unfinished or killed one
 *
 * Only the link `current` ever changes, in one step: a reader sees one experiment or the next,
 * never a mixture. */
#ifndef TT_EXPERIMENT_STORE_H
#define TT_EXPERIMENT_STORE_H

#include "base/status.h"
#include "experiment/diagnostics.h"
#include "experiment/results.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Names in OUT that readers open and that exist, but come from an earlier pipeline. Calls
 * `found` (or NULL) for each; returns their number. */
size_t tt_store_foreign(const char *folder, void (*found)(void *context, const char *name),
                        void *context);
/* Moves them into a new folder in OUT, whose path goes to out. */
tt_status tt_store_move_foreign(const char *folder, char out[PATH_MAX], tt_error *err);

typedef struct tt_store {
    char *folder;
    int lock; /* held while the store is open; -1: the file system has no locks */
} tt_store;

/* Makes the folder if it is missing and locks it: TT_E_EXISTS if it is locked. */
tt_status tt_store_open(tt_store *s, const char *folder, tt_error *err);
void tt_store_close(tt_store *s);
/* Removes the remains of killed experiments and returns their number. Without a lock nothing is
 * removed, because an experiment may be running. */
size_t tt_store_clean(const tt_store *s);
/* Makes an empty folder for a new experiment; its path goes to out. */
tt_status tt_store_begin(const tt_store *s, char out[PATH_MAX], tt_error *err);
/* Makes the name of a new folder: the highest number in OUT + 1, and the words of the label, after
 * the domain unless the label has it; without a label those of `otherwise`. */
void tt_store_name(const tt_store *s, const char *domain, const char *label, const char *otherwise,
                   char name[TT_RESULT_FOLDER]);
/* Moves `made` to OUT/NAME. */
tt_status tt_store_keep(const tt_store *s, const char *made, const char *name, tt_error *err);
/* Whether OUT/NAME still has the per-token files, which users may remove as large. */
bool tt_store_has_data(const tt_store *s, const char *name);
/* Points the names in OUT to OUT/NAME and writes experiments.json with these results, which are
 * those in OUT. Sets their is_current. */
tt_status tt_store_publish(const tt_store *s, const char *name, tt_results *results, tt_error *err);

#endif
