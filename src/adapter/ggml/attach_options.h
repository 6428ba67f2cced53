/* What to record, as texts: the options of tt_attach. */
#ifndef TT_ADAPTER_GGML_ATTACH_OPTIONS_H
#define TT_ADAPTER_GGML_ATTACH_OPTIONS_H

#include "adapter/ggml/capture.h"
#include "adapter/ggml/process.h"

#define TT_ATTACH_MODELS_MAX 64u

typedef struct tt_attach_options {
    tt_process_setup setup;
    tt_capture capture; /* its text of values is the caller's */
    const char *models[TT_ATTACH_MODELS_MAX];
    size_t n_models;
} tt_attach_options;

/* TT_E_USAGE names the option. `options` may be NULL; texts must outlive *out. */
tt_status tt_attach_options_read(const char *const *options, tt_attach_options *out, tt_error *err);

#endif
