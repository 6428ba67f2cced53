/* What the commands that look at one file share: FILE and --json on the command line,
 * and opening a trace. */
#ifndef TT_CLI_INPUT_H
#define TT_CLI_INPUT_H

#include "cli/options.h"
#include "model/model.h"

#include <stdbool.h>

typedef struct tt_input {
    const char *path; /* set once the command line is parsed: of an experiment's folder its trace */
    const char *given; /* as it was typed */
    bool json;
    const char *what; /* what messages call the file; NULL: FILE */
    const char *hint; /* behind "one FILE only", or NULL */
} tt_input;

/* The set of the one argument and --json, of a command whose options have it as a tt_input. */
#define TT_INPUT(S, m)                                                                             \
    {                                                                                              \
        tt_input_options, TT_OF_(tt_input, S, m), tt_input_word, tt_input_check                    \
    }
extern const tt_option tt_input_options[];
tt_option_take tt_input_word;
tt_options_check tt_input_check;

/* Who says what is missing or damaged in a trace. */
typedef enum tt_input_damage {
    TT_INPUT_NOTES, /* opening it, on stderr, after a look at every chunk (tt_pieces_survey) */
    TT_INPUT_TELLS, /* the command's own output; every chunk was looked at */
    TT_INPUT_WALKS  /* of chunks the command, with tt_trace_note_damage when it has read what it
                       wants: no chunk was looked at, so that a part costs no more than a part */
} tt_input_damage;

/* Opens the trace; *m is closed with tt_model_close. Returns the exit code; when that is not
 * TT_EXIT_OK, the reason was told (*m may be there all the same). */
int tt_input_open_trace(const tt_input *input, tt_input_damage damage, tt_model **m);

/* Opens the part of the trace that is asked for, or more of it (tt_model_open_part), as with
 * TT_INPUT_WALKS. */
int tt_input_open_part(const tt_input *input, const tt_part *part, tt_model **m);

/* Whether writing to `output` would put something instead of the file that is read. */
bool tt_input_is_within(const tt_input *input, const char *output);

/* For commands that want another kind of file. */
bool tt_input_is_trace(const char *path);

#endif
