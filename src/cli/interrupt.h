/* Interruption between child programs and while one runs: shared by `experiment` and `crossval`. */
#ifndef TT_CLI_INTERRUPT_H
#define TT_CLI_INTERRUPT_H

/* From now on a broken pipe is an error of that output, not the end. */
void tt_interrupt_outlive_pipes(void);
/* Delays signals to end until the next call of tt_interrupt_guard. */
void tt_interrupt_hold(void);
/* From now on a signal to end (SIGINT, SIGTERM, SIGHUP) renames `folder`, so that writers in it
 * fail; further signals change nothing. NULL: no folder, signals have their usual effect. */
void tt_interrupt_guard(const char *folder);
/* From now on a signal to end is only noted. */
void tt_interrupt_watch(void);
/* Removes the folder, if any, by either name, unless it was moved; signals have their usual effect
 * again. */
void tt_interrupt_end(void);
/* Records that a child program was asked to end by this signal. */
void tt_interrupt_note(int signal);
/* The signal received; 0: none. */
int tt_interrupted(void);

#endif
