/* Messages of commands: errors on stderr, progress on a terminal. */
#ifndef TT_CLI_REPORT_H
#define TT_CLI_REPORT_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Prints "tensortrace: message" (and the byte offset if there is one) on stderr; returns the exit
 * code for the status: TT_EXIT_USAGE for bad input, TT_EXIT_NO_MEMORY. */
int tt_report_error(const tt_error *err);
/* The same from a format, for messages that have no tt_error. Returns TT_EXIT_USAGE. */
int tt_report_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Prints that memory ran out; returns TT_EXIT_NO_MEMORY. */
int tt_report_memory(void);
/* Prints "tensortrace: message" on stderr. */
void tt_report_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The program's name in suggested commands: its path if it was called by one, else "tensortrace".
 * Set once, at the beginning. */
void tt_report_called_as(const char *argv0);
const char *tt_report_program(void);

/* Flushes a command's output. TT_EXIT_OK; if it failed, TT_EXIT_USAGE; if only `ok` is false, the
 * memory for it ran out: TT_EXIT_NO_MEMORY. With the reason on stderr, once per process. */
int tt_report_output(bool ok);

/* Progress on stderr, once the work has taken over a second: on a terminal a line that is redrawn
 * (share, rate, time left), else an occasional line. */
typedef struct tt_progress {
    const char *what;
    uint64_t total;   /* in units of `unit`; 0: unknown */
    const char *unit; /* "bytes" prints sizes, anything else counts */
    /* Receives lines that are not redrawn, without `what`; NULL: "tensortrace: WHAT: ..." */
    void (*note)(void *context, const char *text);
    void *context;
    uint64_t begin_ns;
    uint64_t next_ns; /* private: nothing is shown before */
    uint64_t gap_ns;  /* private: between lines that are not redrawn */
    bool on;
    bool drawn;
} tt_progress;

/* From now on no occasional lines: for a command whose output is read by a program. */
void tt_progress_only_drawn(void);
void tt_progress_begin(tt_progress *p, const char *what, uint64_t total, const char *unit);
void tt_progress_update(tt_progress *p, uint64_t done);
/* The same for rooms that report progress by callback: `progress` is a tt_progress. */
void tt_progress_callback(void *progress, uint64_t done, uint64_t total);
/* Clears the line. */
void tt_progress_end(tt_progress *p);

#endif
