/* Finds the engine (llama.cpp as shared libraries). Nothing is loaded except, as the last
 * resort, the system's own libllama. */
#ifndef TT_RUNNER_ENGINE_FIND_H
#define TT_RUNNER_ENGINE_FIND_H

#include "base/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* The npm alias of the engine that the lock file in engines/ pins. */
#define TT_ENGINE_BUNDLED "engine-v0.5.0"
/* Environment variable that names an engine folder. */
#define TT_ENGINE_ENV "TENSORTRACE_ENGINE"

typedef enum tt_engine_source {
    TT_ENGINE_OPTION = 0, /* --engine DIR */
    TT_ENGINE_ENVIRONMENT,
    TT_ENGINE_NPM,   /* engines/node_modules of the source tree, or installed */
    TT_ENGINE_SYSTEM /* the dynamic linker's own search */
} tt_engine_source;

/* A found engine; plain values, nothing to free. */
typedef struct tt_engine_found {
    tt_engine_source source;
    char dir[PATH_MAX];   /* folder with the libraries, absolute */
    char llama[PATH_MAX]; /* the libllama in it */
    char release[64];     /* "b6673", "v0.5.0"; "" when unknown */
    char tried[4096];     /* one line for each place tried before */
} tt_engine_found;

/* Finds an engine: in `dir` (NULL: not given), then $TENSORTRACE_ENGINE, then the bundled one,
 * then the system's. A place that the user names must hold an engine: otherwise this fails, and
 * later places are not tried. On failure `engine->tried` still lists the places. May dlopen the
 * system's libllama. */
tt_status tt_engine_find(const char *dir, tt_engine_found *engine, tt_error *err);

/* Finds the libraries in one folder: their own, an npm package's root, or a llama.cpp build or
 * install tree. Fills dir, llama, release. */
bool tt_engine_find_in(const char *dir, tt_engine_found *engine);

/* Whether this is the file name of a libllama ("libllama.so", "libllama.so.0",
 * "libllama.b6673.so"), and not of a sibling such as libllama-common.so. */
bool tt_engine_is_llama_name(const char *name);

/* Extracts "b6673" from the build metadata's text; false when there is none. */
bool tt_engine_release_of(const char *metadata, size_t size, char *out, size_t n);

/* "option", "environment", "npm", "system". */
const char *tt_engine_source_name(tt_engine_source source);

#endif
