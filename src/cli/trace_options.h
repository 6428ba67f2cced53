/* What the commands that read a trace share: filter options, texts for tables. */
#ifndef TT_CLI_TRACE_OPTIONS_H
#define TT_CLI_TRACE_OPTIONS_H

#include "analyze/filter.h"
#include "base/units.h"
#include "model/model.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TT_OPT_BATCH = 'b',
    TT_OPT_TOKEN = 't', /* what TT_OPT_BATCH was called: scripts go on */
    TT_OPT_LAYER = 'l',
    TT_OPT_OP = 'o',
    TT_OPT_PHASE = 'p',
    TT_OPT_TENSOR = 'T',
    TT_OPT_THREAD = 1024,
    TT_OPT_ORIGIN,
    TT_OPT_FROM,
    TT_OPT_TO,
    TT_OPT_TEXT,
    TT_OPT_MIN_DURATION,
    TT_OPT_MAX_DURATION
};

/* An argp child with the filters that all have: batch, layer, op, tensor, phase. Its input
 * is a tt_filter. */
extern const struct argp tt_trace_filter_argp;
/* Rows of an option table: --batch, and its former name, which help does not list. */
#define TT_OPTIONS_BATCH(arg, about, group)                                                        \
    {"batch", TT_OPT_BATCH, arg, 0, about, group},                                                 \
    {                                                                                              \
        "token", TT_OPT_TOKEN, arg, OPTION_HIDDEN, about, group                                    \
    }
/* Takes one of the options above; argp_error (exit 2) when its value is off.
 * False: another key. */
bool tt_trace_filter_option(int key, char *arg, struct argp_state *state, tt_filter *filter);

/* Which row of a table the value of `option` ("--by") names; argp_error, which lists the names,
 * when none. Each of the n rows, row_bytes long, begins with its name (const char *), as JSON has
 * it. "token" is the former name of "batch". */
size_t tt_trace_name_option(const char *option, const char *arg, struct argp_state *state,
                            const void *table, size_t n, size_t row_bytes);

/* The value of --limit. */
uint64_t tt_trace_limit_option(const char *arg, struct argp_state *state);

/* "1.5ms", "200us", "7ns", "2s"; a bare number is milliseconds. */
bool tt_trace_parse_time(const char *text, double *ns);

/* Both say it on stderr, and the command goes on: what is missing behind a cut, and descriptions
 * that are damaged ... */
void tt_trace_note_cut(const tt_model *m);
/* ... and chunks of ops that turned out to be damaged so far. */
void tt_trace_note_damage(const tt_model *m);

/* Nothing passed the filters: says on stderr which of them the trace has nothing of, and what it
 * has instead. `what` was to be shown ("op"). TT_EXIT_DIFFERS; or TT_EXIT_OK, when there is nothing
 * of the kind without filters either. Looks at every graph. */
int tt_trace_none(const tt_model *m, const tt_filter *f, const char *what);

/* Says on stderr that a table was cut short after so many rows. */
void tt_trace_note_more(uint64_t rows);

/* A name from the file, made fit for a terminal: control bytes become '?'. In the
 * caller's buffer, which is also returned. */
char *tt_trace_text(char *out, size_t room, const char *text);

#endif
