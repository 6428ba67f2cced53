/* What a shell offers for the last word of an unfinished command line (completions/). */
#ifndef TT_CLI_COMPLETE_H
#define TT_CLI_COMPLETE_H

#include "cli/options.h"

/* From then on tt_options_parse prints what the last argument may be, and ends the process. */
void tt_complete_options(void);
/* Whether tt_complete_options was called, and tt_complete has not yet begun. */
bool tt_complete_is_due(void);
/* Prints it, a line each: a word, a tab and what it is; or what the shell has to find:
 * ":files SUFFIX..." (folders, too), ":folders", ":programs". Does not return, but for a column of
 * the command's list: then `words` is a command line, for free(), that lists them. */
char **tt_complete(const tt_options *command, int argc, char **argv);
/* Whether the columns are listed for a shell: one per line, each after this text. NULL: no. */
const char *tt_complete_columns(void);
/* The script that connects a shell ("bash", "zsh", "fish"); NULL: there is none. */
const char *tt_complete_script(const char *shell);

#endif
