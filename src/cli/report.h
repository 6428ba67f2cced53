/* What commands say to people: errors on stderr, progress on a terminal. */
#ifndef TT_CLI_REPORT_H
#define TT_CLI_REPORT_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* "tensortrace: message" (and the byte offset where there is one) on stderr;
 * returns the exit code that fits the status (TT_EXIT_USAGE for bad input). */
int tt_report_error(const tt_error *err);
/* The same from a format, for messages that have no tt_error. Returns TT_EXIT_USAGE. */
int tt_report_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "tensortrace: message" on stderr, no judgement. */
void tt_report_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The program as it was called, for commands that a person may type next: its path when
 * it was called by one, else "tensortrace". Set once, at the beginning. */
void tt_report_called_as(const char *argv0);
const char *tt_report_program(void);

/* After a command's output: flushes it. TT_EXIT_OK; or, when `ok` is false or the output
 * failed, TT_EXIT_USAGE, and the reason on stderr, once a process. */
int tt_report_output(bool ok);

/* How far a work is, on stderr, once it has taken over a second: on a terminal a line that is
 * redrawn (share, rate, time left), else a line now and then. */
typedef struct tt_progress {
    const char *what;
    uint64_t total;   /* in units of `unit`; 0: unknown */
    const char *unit; /* "bytes" prints sizes, anything else counts */
    /* Where lines go that are not redrawn, without `what`; NULL: "tensortrace: WHAT: ..." */
    void (*note)(void *context, const char *text);
    void *context;
    uint64_t begin_ns;
    uint64_t next_ns; /* private: nothing is shown before */
    uint64_t gap_ns;  /* private: from one line to the next, where they are not redrawn */
    bool on;
    bool drawn;
} tt_progress;

/* From now on there are no lines now and then: of a command whose output others read. */
void tt_progress_only_drawn(void);
void tt_progress_begin(tt_progress *p, const char *what, uint64_t total, const char *unit);
void tt_progress_update(tt_progress *p, uint64_t done);
/* The same for the rooms that report progress themselves: `progress` is a tt_progress. */
void tt_progress_callback(void *progress, uint64_t done, uint64_t total);
/* Clears the line. */
void tt_progress_end(tt_progress *p);

#endif
