/* Whether a preloaded library would see a program's ggml. Read from the ELF files of the program
 * and its libraries; nothing is executed. */
#ifndef TT_RUNNER_PROGRAM_PROBE_H
#define TT_RUNNER_PROGRAM_PROBE_H

#include "base/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define TT_PROGRAM_LIBRARIES 192

typedef struct tt_program_library {
    char name[NAME_MAX + 1]; /* as the program requests it */
    char path[PATH_MAX];     /* "" when not found */
} tt_program_library;

typedef enum tt_program_verdict {
    TT_PROGRAM_NO = 0, /* cannot be traced */
    TT_PROGRAM_LATE,   /* links no ggml, but may load one while it runs */
    TT_PROGRAM_YES     /* links ggml's shared libraries */
} tt_program_verdict;

typedef struct tt_program_probe {
    char path[PATH_MAX];       /* the file that was examined */
    char script[PATH_MAX];     /* the script that it interprets; "" when not a script */
    bool is_static;            /* has no dynamic linker */
    bool is_secure;            /* set-user-id, set-group-id or capabilities: no preloading */
    bool defines_ggml;         /* has its own ggml functions */
    bool mentions_ggml;        /* contains ggml's assertion text, with or without symbols */
    char engine_dir[PATH_MAX]; /* folder of the linked ggml; "" when none */
    char inside[PATH_MAX]; /* the file, of it and its libraries, that has all of ggml; "" when none
                            */
    bool inside_is_called; /* ... and calls it where a preloaded library can take its place */
    tt_program_library libraries[TT_PROGRAM_LIBRARIES];
    size_t n_libraries;
    tt_program_verdict verdict;
    char why[320]; /* a sentence: the reason, and what to do */
} tt_program_probe;

/* Looks `program` up in PATH as a shell does. TT_E_NOT_FOUND when it does not exist, TT_E_FORMAT
 * when it is neither ELF nor a script. The result (large) is freed with free(). */
tt_status tt_program_probe_new(const char *program, tt_program_probe **out, tt_error *err);

const char *tt_program_verdict_name(tt_program_verdict verdict); /* "no", "late", "yes" */

#endif
