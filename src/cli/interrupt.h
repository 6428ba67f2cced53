/* Being interrupted between the programs that are run, and while one runs: what `experiment` and
 * `crossval` share. */
#ifndef TT_CLI_INTERRUPT_H
#define TT_CLI_INTERRUPT_H

/* From now on a broken pipe is an error of that output, not the end: nobody has to look on. */
void tt_interrupt_outlive_pipes(void);
/* Signals to end wait until the next call of tt_interrupt_guard. */
void tt_interrupt_hold(void);
/* From now on a signal to end (SIGINT, SIGTERM, SIGHUP) takes the name from `folder`, so that no
 * writer in it gets any further, whichever it is; more of them change nothing. NULL: there is none,
 * signals have their usual meaning. */
void tt_interrupt_guard(const char *folder);
/* From now on a signal to end is only noted. */
void tt_interrupt_watch(void);
/* Removes the folder, if any, by whichever name, unless it was given another place; signals have
 * their usual meaning again. */
void tt_interrupt_end(void);
/* A program that was run meanwhile was asked to end by this signal. */
void tt_interrupt_note(int signal);
/* The signal that came; 0: none. */
int tt_interrupted(void);

#endif
