#include "cli/export_interrupt.h"

#include "base/outfile.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIES 100 /* threads may be creating files in the folder meanwhile */

static char folder[PATH_MAX];    /* that contains the output */
static char beginning[PATH_MAX]; /* of the names of temporary folders in it */
static sigset_t awaited;
static atomic_bool interrupted;

/* Without its name no thread can create another file in it. */
static void remove_one(const char *name)
{
    char path[2 * PATH_MAX], gone[2 * PATH_MAX + 8];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)snprintf(gone, sizeof gone, "%s.gone", path);
    bool renamed = rename(path, gone) == 0;
    for (int i = 0; i < TRIES && !tt_outdir_remove(renamed ? gone : path); i++)
        (void)usleep(1000);
}

static void remove_unfinished(void)
{
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        size_t n = strlen(e->d_name);
        if (strncmp(e->d_name, beginning, strlen(beginning)) == 0 && n > 5 &&
            strcmp(e->d_name + n - 5, ".part") == 0)
            remove_one(e->d_name);
    }
    if (d) (void)closedir(d);
}

static void *wait_for_signal(void *unused)
{
    int signal = 0;
    (void)unused;
    if (sigwait(&awaited, &signal) != 0) return NULL;
    atomic_store(&interrupted, true);
    remove_unfinished();
    (void)pthread_sigmask(SIG_UNBLOCK, &awaited, NULL);
    (void)raise(signal);
    return NULL;
}

/* Folder and name as in tt_outdir_open: symbolic links resolved. */
static bool split(const char *output)
{
    char *path = realpath(output, NULL);
    if (!path) path = strdup(output);
    if (!path) return false;
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
    char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    int n = snprintf(beginning, sizeof beginning, "%s.%ld-", name, (long)getpid());
    if (slash) *slash = '\0';
    int m = snprintf(folder, sizeof folder, "%s", !slash ? "." : slash == path ? "/" : path);
    free(path);
    return n > 0 && (size_t)n < sizeof beginning && m > 0 && (size_t)m < sizeof folder;
}

void tt_export_guard(const char *output)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action;
    pthread_t thread;
    (void)sigemptyset(&awaited);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL)
            (void)sigaddset(&awaited, signals[i]);
    if (!split(output) || pthread_sigmask(SIG_BLOCK, &awaited, NULL) != 0) return;
    if (pthread_create(&thread, NULL, wait_for_signal, NULL) == 0)
        (void)pthread_detach(thread);
    else
        (void)pthread_sigmask(SIG_UNBLOCK, &awaited, NULL);
}

void tt_export_guard_end(void)
{
    while (atomic_load(&interrupted))
        (void)pause();
}
