/* Shared by commands that read one file: FILE and --json on the command line, and opening a
 * trace. */
#ifndef TT_CLI_INPUT_H
#define TT_CLI_INPUT_H

#include "cli/options.h"
#include "model/model.h"

#include <stdbool.h>

typedef struct tt_input {
    const char *path; /* set once the command line is parsed: of an experiment's folder its trace */
    const char *given; /* as it was typed */
    bool json;
    const char *what; /* the argument's name in messages; NULL: FILE */
    const char *hint; /* appended to "one FILE only", or NULL */
} tt_input;

/* The set of the single argument and --json, for a command whose options have a tt_input. */
#define TT_INPUT(S, m)                                                                             \
    {                                                                                              \
        tt_input_options, TT_OF_(tt_input, S, m), tt_input_word, tt_input_check, NULL              \
    }
extern const tt_option tt_input_options[];
tt_option_take tt_input_word;
tt_options_check tt_input_check;

/* Who reports missing or damaged parts of a trace. */
typedef enum tt_input_damage {
    TT_INPUT_NOTES,    /* opening it, on stderr, after reading every chunk (tt_pieces_survey) */
    TT_INPUT_REPORTED, /* the command's own output; every chunk was read */
    TT_INPUT_WALKS /* the command, for chunks, with tt_trace_note_damage after it has read what it
                      wants: opening reads no chunk, so that the cost of a part is in proportion */
} tt_input_damage;

/* Opens the trace; *m is closed with tt_model_close. Returns the exit code; if that is not
 * TT_EXIT_OK, the reason was printed (*m may be set all the same). */
int tt_input_open_trace(const tt_input *input, tt_input_damage damage, tt_model **m);

/* Opens the requested part of the trace, or more of it (tt_model_open_part), like
 * TT_INPUT_WALKS. */
int tt_input_open_part(const tt_input *input, const tt_part *part, tt_model **m);

/* Whether writing to `output` would replace the file that is read. */
bool tt_input_is_within(const tt_input *input, const char *output);

/* For commands that want another kind of file. */
bool tt_input_is_trace(const char *path);

#endif
