/* Token loop of the runner: prompt in, tokens out. Internal to src/runner. */
#ifndef TT_RUNNER_GENERATE_H
#define TT_RUNNER_GENERATE_H

#include "runner/engine_load.h"
#include "runner/runner.h"

typedef struct tt_generated {
    const tt_engine_api *api;
    const tt_runner_options *options;
    const tt_runner_events *events;
    tt_runner_result *result;
    struct tt_llama_model *model;
    const struct tt_llama_vocab *vocab;
    struct tt_llama_context *context;
    int32_t *tokens; /* of the prompt */
    int32_t n_tokens;
} tt_generated;

/* Fills g->tokens (malloc; the caller frees) from the prompt, or with the ids that are given for
 * it. Needs the vocabulary only. */
tt_status tt_generate_tokenize(tt_generated *g, tt_error *err);
/* Decodes the prompt and generates. Needs everything in *g. */
tt_status tt_generate(tt_generated *g, tt_error *err);

#endif
