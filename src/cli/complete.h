/* What a shell offers for the last word of an unfinished command line (completions/). */
#ifndef TT_CLI_COMPLETE_H
#define TT_CLI_COMPLETE_H

/* From then on tt_options_parse prints what the last argument may be, and ends the process: a line
 * each, with a word, a tab and what it is; or what the shell has to find: ":files SUFFIX..."
 * (folders, too), ":folders", ":programs". */
void tt_complete_options(void);
/* Whether the columns are listed for a shell: one per line, each after this text. NULL: no. */
const char *tt_complete_columns(void);
/* The script that connects a shell ("bash", "zsh", "fish"); NULL: there is none. */
const char *tt_complete_script(const char *shell);

#endif
