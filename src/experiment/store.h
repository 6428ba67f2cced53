/* The folder of the results, and how a viewer finds the newest in it:
 *
 *     OUT/ID/experiment.json, memory-map.json, ...   an experiment, whole
 *     OUT/current -> ID                              the one that was asked for last
 *     OUT/memory-map.json -> current/memory-map.json likewise experiment.json,
 * buffer-timeline.json, graphs, traces: the names that readers of the earlier pipeline open
 *     OUT/experiments.json                           the list, for viewers that cannot list folders
 *     OUT/.unfinished-XXXXXX                         one that is being made, or was killed
 *
 * The links in OUT never change but for `current`, which is replaced in one step: a reader sees one
 * experiment or the next, never a mixture. */
#ifndef TT_EXPERIMENT_STORE_H
#define TT_EXPERIMENT_STORE_H

#include "base/status.h"
#include "experiment/diagnostics.h"
#include "experiment/results.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether this can be the name of an experiment's folder: 32 hexadecimal digits. */
bool tt_store_is_id(const char *name);
/* The id that OUT/current leads to; false when there is none. */
bool tt_store_current(const char *folder, char id[TT_RESULT_ID]);

/* Names in OUT that readers open and that are there, but are none of ours: of an earlier pipeline.
 * Calls `found` (or NULL) for each; how many. */
size_t tt_store_foreign(const char *folder, void (*found)(void *context, const char *name),
                        void *context);
/* Moves them into a new folder in OUT, whose path goes to out. */
tt_status tt_store_move_foreign(const char *folder, char out[PATH_MAX], tt_error *err);

typedef struct tt_store {
    char *folder;
    int lock; /* held as long as the store is open; -1: the file system has none */
} tt_store;

/* Makes the folder if it is not there and keeps others out: TT_E_EXISTS when somebody is at work in
 * it. */
tt_status tt_store_open(tt_store *s, const char *folder, tt_error *err);
void tt_store_close(tt_store *s);
/* Removes what experiments that were killed have left; how many. Nothing without a lock, which
 * would tell whether they are. */
size_t tt_store_clean(const tt_store *s);
/* A new empty folder for one that is being made; its path goes to out. */
tt_status tt_store_begin(const tt_store *s, char out[PATH_MAX], tt_error *err);
/* Gives `made` its place OUT/ID. */
tt_status tt_store_keep(const tt_store *s, const char *made, const char *id, tt_error *err);
/* Whether OUT/ID still has the per-token files: people remove what is large. */
bool tt_store_has_data(const tt_store *s, const char *id);
/* Lets the names in OUT lead to OUT/ID, and writes experiments.json: these results, which are those
 * in OUT. Their is_current is set. */
tt_status tt_store_publish(const tt_store *s, const char *id, tt_results *results, tt_error *err);

#endif
