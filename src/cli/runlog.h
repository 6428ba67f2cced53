/* The log of a command that runs several things: stderr, and a copy of it for the folder of the
 * results. What `experiment` and `crossval` share. */
#ifndef TT_CLI_RUNLOG_H
#define TT_CLI_RUNLOG_H

#include "base/bytes.h"

#include <stddef.h>

#define TT_LOG_FILE "log.txt"

typedef struct tt_log {
    tt_bytes text;    /* of the experiment at work, the stages before all of them included */
    size_t n_common;  /* bytes of those */
    char counter[48]; /* "2/6 " of a sweep */
} tt_log;

void tt_log_begin(tt_log *log);
void tt_log_free(tt_log *log);
/* What was said so far is common to all experiments. */
void tt_log_common(tt_log *log);
/* Begins the copy of an experiment's own; number counts from 0, of `n`. */
void tt_log_experiment(tt_log *log, size_t number, size_t n);
/* "[HH:MM:SS] 2/6 STAGE: text". */
void tt_log_line(tt_log *log, const char *stage, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The last words of a file, each line of them as one of the log. `name` is what it is called. */
void tt_log_last_lines(tt_log *log, const char *stage, const char *path, const char *name);

/* Words as a shell takes them; to be freed. NULL without memory. */
char *tt_words_quote(char *const *words);

#endif
