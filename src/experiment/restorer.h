/* Restores the system's settings whatever happens to this process: a separate process is informed
 * of each change beforehand, and undoes them on request, or when this one is gone (killed, out of
 * memory, crashed).
 *
 * It holds nothing of its parent: no terminal, no signals, no open files but one. */
#ifndef TT_EXPERIMENT_RESTORER_H
#define TT_EXPERIMENT_RESTORER_H

#include "base/status.h"

#include <stdbool.h>
#include <sys/types.h>

#define TT_RESTORER_PATH 4032u /* with the text it goes through a pipe in one piece */
#define TT_RESTORER_TEXT 32u
#define TT_RESTORER_CHANGES_MAX 16u

typedef struct tt_restorer {
    int pipe;  /* to the process */
    pid_t pid; /* 0: none */
} tt_restorer;

/* keep: a file (or -1) that it holds until all is undone, as a lock on what is changed. TT_E_IO: no
 * process can be started. End it with tt_restorer_end also on failure. */
tt_status tt_restorer_begin(tt_restorer *r, int keep, tt_error *err);
/* Call before the change: `text` is to be written to the file at `path` again. False: not
 * registered (then do not change it), with errno. */
bool tt_restorer_file(const tt_restorer *r, const char *path, const char *text);
/* Call after creating it: the control group at `path` is to be removed. Processes that stay in it
 * for a while are killed. */
bool tt_restorer_group(const tt_restorer *r, const char *path);
/* Undoes everything and waits for it. Does nothing if zero-filled or ended. */
void tt_restorer_end(tt_restorer *r);

#endif
