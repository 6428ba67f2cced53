/* What a tracer can hook in an engine: which of the hooked functions are called through the
 * dynamic linker's tables, read from the ELF files. */
#ifndef TT_RUNNER_ENGINE_PROBE_H
#define TT_RUNNER_ENGINE_PROBE_H

#include "base/status.h"
#include "runner/elf_file.h"
#include "runner/engine_find.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* The engine's own answers after loading. It is loaded in a child process, so that a crash or
 * hang does not affect the caller. */

#define TT_ENGINE_ANSWER_SCORES 64

typedef struct tt_engine_score {
    char file[NAME_MAX + 1]; /* name of a CPU variant's library */
    int score;               /* ggml's; 0: does not run on this CPU */
} tt_engine_score;

typedef struct tt_engine_answer {
    bool loaded;            /* the engine was loaded */
    char failure[320];      /* why not */
    char system_info[1024]; /* llama_print_system_info; "" unknown, as below */
    char llama_version[64];
    char ggml_version[64];
    char ggml_commit[64];
    char cpu_path[PATH_MAX]; /* the CPU library that stayed loaded, wherever it is */
    size_t tensor_overhead;  /* ggml_tensor_overhead(), bytes; 0 unknown */
    size_t name_bytes;       /* room for a tensor's name; 0: unknown layout */
    size_t name_at;          /* where it is in struct ggml_tensor; 0: unknown */
    tt_engine_score scores[TT_ENGINE_ANSWER_SCORES];
    size_t n_scores;
} tt_engine_answer;

typedef enum tt_library_role {
    TT_LIBRARY_LLAMA = 1,
    TT_LIBRARY_GGML = 2,     /* the registry of backends */
    TT_LIBRARY_BASE = 4,     /* tensors, graphs, the scheduler */
    TT_LIBRARY_CPU = 8,      /* one CPU variant */
    TT_LIBRARY_BACKEND = 16, /* any other backend: BLAS, GPU, RPC */
    TT_LIBRARY_OTHER = 32,
    /* All of llama.cpp in one file, such as a Python wheel's module. */
    TT_LIBRARY_ALL = TT_LIBRARY_LLAMA | TT_LIBRARY_GGML | TT_LIBRARY_BASE | TT_LIBRARY_CPU
} tt_library_role;

typedef struct tt_probe_library {
    char file[NAME_MAX + 1];
    char dir[PATH_MAX]; /* the engine's folder, or another one with its backends */
    tt_library_role role;
    tt_elf_file *elf; /* owned by the probe */
    bool uses_openmp;
    bool has_score; /* CPU variants: ggml's score on this machine */
    int score;
    bool is_chosen; /* the CPU library that the engine uses here */
} tt_probe_library;

typedef enum tt_engine_mode {
    TT_ENGINE_MODE_NONE = 0,
    TT_ENGINE_MODE_CALLBACK,
    TT_ENGINE_MODE_HOOK,
    TT_ENGINE_MODE_UNKNOWN /* the engine cannot be loaded here, and its CPU library is not in its
                              folder */
} tt_engine_mode;

typedef struct tt_probe_hook {
    const char *name;                /* owned by the probe */
    const tt_probe_library *library; /* which calls it; NULL: none does */
    bool is_defined;                 /* by that library */
    bool is_called;                  /* through the dynamic linker's table: can be replaced */
    bool is_known;                   /* false: an unknown fused op */
    bool is_needed;                  /* for hook mode */
    const char *gives;               /* what it adds to a trace */
} tt_probe_hook;

#define TT_PROBE_LIBRARIES 96
#define TT_PROBE_HOOKS 96
#define TT_PROBE_FINDINGS 24

typedef struct tt_probe_finding {
    bool is_warning; /* else information about what is lost */
    char text[320];
} tt_probe_finding;

typedef struct tt_engine_probe {
    tt_engine_found engine;
    tt_probe_library libraries[TT_PROBE_LIBRARIES];
    size_t n_libraries;
    const tt_probe_library *cpu; /* the chosen one, or NULL */
    tt_engine_answer answer;
    tt_probe_hook hooks[TT_PROBE_HOOKS];
    size_t n_hooks;
    tt_engine_mode mode;
    bool is_layout_known; /* the hooks can read struct ggml_tensor (or nothing is known) */
    tt_probe_finding findings[TT_PROBE_FINDINGS]; /* what is missing and what that costs */
    size_t n_findings;
} tt_engine_probe;

/* Examines the libraries in engine->dir and those beside the CPU library that the engine uses,
 * which may be elsewhere; queries the engine in a child process unless `ask` is false. The
 * result (large: on the heap) is freed with tt_engine_probe_free. */
tt_status tt_engine_probe_new(const tt_engine_found *engine, bool ask, tt_engine_probe **out,
                              tt_error *err);
void tt_engine_probe_free(tt_engine_probe *probe);

/* The library's role, from its file name. */
tt_library_role tt_library_role_of(const char *file);
const char *tt_library_role_name(tt_library_role role); /* "llama", "cpu", "all", ... */
const char *tt_mode_name(tt_engine_mode mode);          /* "hook", "callback", "none", "unknown" */

#endif
