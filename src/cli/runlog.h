/* The log of a command that runs several things: stderr, and a copy for the folder of the results.
 * Shared by `experiment` and `crossval`. */
#ifndef TT_CLI_RUNLOG_H
#define TT_CLI_RUNLOG_H

#include "base/bytes.h"

#include <stddef.h>

#define TT_LOG_FILE "log.txt"

typedef struct tt_log {
    tt_bytes text;    /* of the current experiment, including what is common to all */
    size_t n_common;  /* bytes of those */
    char counter[48]; /* "2/6 " in a sweep */
} tt_log;

void tt_log_begin(tt_log *log);
void tt_log_free(tt_log *log);
/* Everything logged so far is common to all experiments. */
void tt_log_common(tt_log *log);
/* Begins an experiment's own copy; number counts from 0, of `n`. */
void tt_log_experiment(tt_log *log, size_t number, size_t n);
/* "[HH:MM:SS] 2/6 STAGE: text". */
void tt_log_line(tt_log *log, const char *stage, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The last lines of a file, each as a line of the log. `name` is the file's name for messages. */
void tt_log_last_lines(tt_log *log, const char *stage, const char *path, const char *name);

#endif
