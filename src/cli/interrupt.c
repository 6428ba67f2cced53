#include "cli/interrupt.h"

#include "base/outfile.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
#define SIGNALS (sizeof signals / sizeof *signals)

static volatile sig_atomic_t interrupted;
static char guarded[PATH_MAX], renamed[PATH_MAX + 8];
static struct sigaction before[SIGNALS];

/* Several rooms and threads may be writing below the folder. Without its name none of them can
 * create another file, and each ends with an error. rename may be called in a signal handler; on a
 * second signal there is nothing left to rename, and it must not end the process before the folder
 * is removed. */
static void on_signal(int signal)
{
    int saved = errno;
    interrupted = signal;
    if (guarded[0]) (void)rename(guarded, renamed);
    errno = saved;
}

static void on_pipe(int signal)
{
    (void)signal;
}

void tt_interrupt_outlive_pipes(void)
{
    /* Not SIG_IGN, which the traced program would inherit. */
    (void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = on_pipe, .sa_flags = SA_RESTART},
                    NULL);
}

static void set_blocked(int how)
{
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < SIGNALS; i++)
        (void)sigaddset(&set, signals[i]);
    (void)sigprocmask(how, &set, NULL);
}

void tt_interrupt_hold(void)
{
    set_blocked(SIG_BLOCK);
}

static void set_handlers(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < SIGNALS; i++) {
        (void)sigaction(signals[i], NULL, &before[i]);
        /* Ignored signals (nohup) stay ignored. */
        if (before[i].sa_handler != SIG_IGN) (void)sigaction(signals[i], &action, NULL);
    }
}

void tt_interrupt_guard(const char *folder)
{
    if (folder) {
        (void)snprintf(guarded, sizeof guarded, "%s", folder);
        (void)snprintf(renamed, sizeof renamed, "%s.gone", guarded);
        set_handlers();
    }
    set_blocked(SIG_UNBLOCK);
}

void tt_interrupt_watch(void)
{
    guarded[0] = '\0';
    set_handlers();
}

void tt_interrupt_end(void)
{
    if (guarded[0]) (void)tt_outdir_remove(guarded);
    if (guarded[0]) (void)tt_outdir_remove(renamed);
    for (size_t i = 0; i < SIGNALS; i++)
        (void)sigaction(signals[i], &before[i], NULL);
}

void tt_interrupt_note(int signal)
{
    interrupted = signal;
}

int tt_interrupted(void)
{
    return interrupted;
}
