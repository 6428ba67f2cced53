/* The commands of `tensortrace`: one cmd_<verb>.c each, listed once in main.c. */
#ifndef TT_CLI_COMMAND_H
#define TT_CLI_COMMAND_H

/* Exit codes (see docs and man page). */
enum {
    TT_EXIT_OK = 0,       /* done */
    TT_EXIT_DIFFERS = 1,  /* a check failed, nothing passes the filters, or tracing cannot work */
    TT_EXIT_USAGE = 2,    /* wrong usage, or unusable input */
    TT_EXIT_NO_TRACE = 3, /* nothing in the program could be traced */
    TT_EXIT_NO_MEMORY = 4 /* out of memory: neither the usage nor the input is at fault */
};

typedef struct tt_command {
    const char *name;
    const char *summary; /* one line, for `tensortrace --help` */
    /* argv[0] is "tensortrace <verb>"; returns the process's exit code. */
    int (*run)(int argc, char **argv);
    int hidden; /* not listed in --help */
} tt_command;

int tt_cmd_run(int argc, char **argv);
int tt_cmd_info(int argc, char **argv);
int tt_cmd_why(int argc, char **argv);
int tt_cmd_stats(int argc, char **argv);
int tt_cmd_heat(int argc, char **argv);
int tt_cmd_whatif(int argc, char **argv);
int tt_cmd_log(int argc, char **argv);
int tt_cmd_boost(int argc, char **argv);
int tt_cmd_buffers(int argc, char **argv);
int tt_cmd_graph(int argc, char **argv);
int tt_cmd_faults(int argc, char **argv);
int tt_cmd_values(int argc, char **argv);
int tt_cmd_routing(int argc, char **argv);
int tt_cmd_diff(int argc, char **argv);
int tt_cmd_export(int argc, char **argv);
int tt_cmd_experiment(int argc, char **argv);
int tt_cmd_crossval(int argc, char **argv);
int tt_cmd_bisect(int argc, char **argv);
int tt_cmd_report(int argc, char **argv);
int tt_cmd_serve(int argc, char **argv);
int tt_cmd_verify(int argc, char **argv);
int tt_cmd_recover(int argc, char **argv);
int tt_cmd_gguf(int argc, char **argv);
int tt_cmd_import(int argc, char **argv);
int tt_cmd_synth(int argc, char **argv);
int tt_cmd_doctor(int argc, char **argv);
int tt_cmd_runner(int argc, char **argv);

#endif
