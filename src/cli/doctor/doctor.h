/* The findings of `tensortrace doctor`, and their two outputs. Internal to the command. */
#ifndef TT_CLI_DOCTOR_H
#define TT_CLI_DOCTOR_H

#include "cli/list.h"
#include "host/system.h"
#include "runner/engine_probe.h"
#include "runner/program_probe.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/utsname.h>

typedef struct tt_doctor_host {
    struct utsname kernel;
    char cpu[128];          /* "" unknown */
    int cpus;               /* this process may use */
    bool has_invariant_tsc; /* ticks have a constant rate and are synchronous on all CPUs */
    bool is_virtual;        /* the hypervisor flag is set */
    bool has_shm;           /* a file in /dev/shm can be created and mapped */
    uint64_t shm_free_bytes;
    char shm_problem[128];   /* why has_shm is false */
    bool has_tmp;            /* the same for /tmp, the fallback */
    bool has_fault_events;   /* page faults can be recorded as events */
    char fault_problem[256]; /* why not, and what to do */
    tt_host_system system;
    uint64_t boost_bytes;   /* what `boost --ram auto` would use for weights now; 0: see below */
    char boost_problem[96]; /* why it cannot work here */
    char huge_pages[16];    /* "always", "madvise", "never"; "": not known */
    bool has_io_uring;      /* this process may use it */
} tt_doctor_host;

typedef struct tt_doctor {
    tt_doctor_host host;
    bool has_hook;
    char hook_path[PATH_MAX];
    char hook_problem[320];    /* why has_hook is false */
    tt_engine_found engine;    /* `tried` is set in every case */
    tt_engine_probe *probe;    /* NULL: no engine */
    char engine_problem[320];  /* why probe is NULL */
    tt_program_probe *program; /* NULL: no program was given */
    bool can_trace;
    const char *mode; /* "hook", "callback", "none", "unknown" (what PROGRAM will load) */
    char verdict[400];
} tt_doctor;

void tt_doctor_host_look(tt_doctor_host *host);

void tt_doctor_print_text(const tt_doctor *d, FILE *out);
bool tt_doctor_print_json(const tt_doctor *d, FILE *out);

/* A line for each column with a title: the title, and the row's value or "unknown". */
void tt_doctor_print_facts(const tt_schema *schema, const void *row, FILE *out);

/* --disk: measures how fast the file at `path` is read, and prints it. Returns the exit code. */
extern const tt_schema tt_doctor_disk_schema;
int tt_doctor_disk(const char *path, const tt_list_options *list, bool json);

#endif
