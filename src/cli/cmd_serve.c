/* tensortrace serve FILE...: the viewer, as a page of a local web server. */
#include "base/units.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/runs.h"
#include "experiment/chosen.h"
#include "serve/server.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long a running computation may continue after the user wants to end. */
#define END_WITHIN_S 3u

struct options {
    const char *paths[TT_SERVE_TRACES_MAX];
    tt_serve_options serve;
    tt_where where;
    bool opens;
};

static const tt_option option_table[] = {
    {"port", 0, "N", "Listen on this port (default: any free port)", 1,
     TT_WHOLE(struct options, serve.port, 0, 65535)},
    {"no-open", 0, 0, "Print the address only; do not open a browser", 1,
     TT_SET(struct options, opens, false)},
    TT_WHERE(struct options, where, 1),
    {"no-notes", 0, 0, "Show notes, but keep no new ones (they go into FILE.notes.json)", 1,
     TT_FLAG(struct options, serve.no_notes)},
    {"live", 0, 0, "Follow traces that are still being recorded", 1,
     TT_FLAG(struct options, serve.live)},
    {0},
};

static void take_file(void *options, char *arg, tt_parse *p)
{
    struct options *o = options;
    if (o->serve.n_paths == TT_SERVE_TRACES_MAX)
        tt_parse_error(p, "%u traces at most", TT_SERVE_TRACES_MAX);
    o->paths[o->serve.n_paths++] = arg;
}

static void check_files(void *options, tt_parse *p)
{
    const struct options *o = options;
    if (o->serve.n_paths == 0) tt_parse_error(p, "which FILE?");
    if (o->where.n && (o->serve.n_paths > 1 || !tt_chosen_is_folder(o->paths[0])))
        tt_parse_error(p, "--where goes with one folder of experiments");
}

static bool has_display(void)
{
    const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return (x && *x) || (wayland && *wayland);
}

/* Not waited for, and not our child: its output is not ours to show. */
static void open_browser(const char *url)
{
    pid_t child = fork();
    if (child == 0) {
        sigset_t none;
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)signal(SIGPIPE, SIG_DFL);
        if (fork() != 0) _exit(0);
        (void)setsid();
        if (!freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stdout) ||
            !freopen("/dev/null", "w", stderr))
            _exit(127);
        (void)execlp("xdg-open", "xdg-open", url, (char *)NULL);
        _exit(127);
    }
    if (child > 0) (void)waitpid(child, NULL, 0);
}

static void give_up(int signal)
{
    (void)signal;
    _exit(TT_EXIT_OK);
}

/* A second signal ends the program at once, and so does a computation that takes too long. */
static void hurry(const sigset_t *signals)
{
    (void)signal(SIGALRM, give_up);
    (void)pthread_sigmask(SIG_UNBLOCK, signals, NULL);
    (void)alarm(END_WITHIN_S);
}

static int serve(const struct options *o)
{
    tt_server *server;
    tt_error err;
    sigset_t signals;
    int which = 0;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGHUP);
    /* Before threads exist, which inherit the mask, so that sigwait gets all signals. */
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    if (tt_server_start(&o->serve, &server, &err) != TT_OK) return tt_report_error(&err);
    int code = tt_report_output(puts(tt_server_url(server)) >= 0);
    if (code == TT_EXIT_OK) {
        fprintf(stderr, "tensortrace: open this address in a browser on this machine; Ctrl-C "
                        "ends\n");
        if (o->opens && has_display()) open_browser(tt_server_once_url(server));
        while (sigwait(&signals, &which) == EINTR)
            ;
    }
    hurry(&signals);
    tt_server_stop(server);
    (void)alarm(0);
    return code;
}

/* Replaces a folder of experiments by their traces. */
static int serve_runs(struct options *o)
{
    tt_chosen_runs runs;
    tt_error err;
    int code = TT_EXIT_USAGE;
    tt_status status = tt_chosen_find(&runs, o->paths[0], o->where.list, o->where.n, &err);
    if (status != TT_OK) {
        code = tt_report_error(&err);
    } else if (runs.n > TT_SERVE_TRACES_MAX) {
        code =
            tt_report_usage("%s: of %zu runs %u at most can be shown at once; --where chooses, as "
                            "in --where domain=code",
                            o->paths[0], runs.n, TT_SERVE_TRACES_MAX);
    } else {
        o->serve.n_paths = 0;
        for (size_t i = 0; i < runs.n; i++)
            if (runs.paths[i]) o->paths[o->serve.n_paths++] = runs.paths[i];
        code = o->serve.n_paths ? serve(o) : tt_report_usage("none of these runs has a trace");
    }
    tt_chosen_free(&runs);
    return code;
}

int tt_cmd_serve(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE...",
        .about = "The traces FILE... as a page in the browser: memory, timeline, graph, log, "
                 "experts, buffers, statistics, values and differences, linked. Prints the page's "
                 "address, which only this machine can reach, and which holds a secret: whoever "
                 "has it can see the traces.\v"
                 "See also: tensortrace report and diff.",
        .sets = {{option_table, 0, take_file, check_files, NULL}}};
    struct options o = {.opens = true};
    o.serve.paths = o.paths;
    tt_options_parse(&command, argc, argv, &o);
    return o.serve.n_paths == 1 && tt_chosen_is_folder(o.paths[0]) ? serve_runs(&o) : serve(&o);
}
