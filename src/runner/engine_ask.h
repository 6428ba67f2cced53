/* What an engine says about itself when it is loaded. It is loaded in a child
 * process, so that one that crashes or hangs cannot take the caller with it. */
#ifndef TT_RUNNER_ENGINE_ASK_H
#define TT_RUNNER_ENGINE_ASK_H

#include "runner/engine_find.h"

#include <stdbool.h>
#include <stddef.h>

#define TT_ENGINE_ANSWER_SCORES 64

typedef struct tt_engine_score {
    char file[NAME_MAX + 1]; /* name of a CPU variant's library */
    int score;               /* ggml's; 0: does not run on this CPU */
} tt_engine_score;

typedef struct tt_engine_answer {
    bool loaded;            /* the engine could be loaded */
    char failure[320];      /* why not */
    char system_info[1024]; /* llama_print_system_info; "" unknown, as below */
    char llama_version[64];
    char ggml_version[64];
    char ggml_commit[64];
    char cpu_path[PATH_MAX]; /* the CPU library that stayed loaded, wherever it was found */
    size_t tensor_overhead;  /* ggml_tensor_overhead(), bytes; 0 unknown */
    size_t name_bytes;       /* room for a tensor's name; 0: its layout is not known */
    tt_engine_score scores[TT_ENGINE_ANSWER_SCORES];
    size_t n_scores;
} tt_engine_answer;

/* Asks. Scores are of the CPU variants in the folder of the one that stayed loaded.
 * Takes as long as the engine needs to load, 30 s at most. Not for processes
 * with several threads: the child of a fork goes on to allocate. */
void tt_engine_ask(const tt_engine_found *engine, tt_engine_answer *answer);

#endif
