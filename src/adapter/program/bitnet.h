/* Values as files of a BitNet-style folder: BITNET_TRACE_DIR. */
#ifndef TT_ADAPTER_PROGRAM_BITNET_H
#define TT_ADAPTER_PROGRAM_BITNET_H

#include "adapter/ggml/abi.h"

#include "tensortrace/record.h"

#include <stdint.h>

/* The folder; before anything is put there. It is made when it is needed. */
void tt_program_bitnet_begin(const char *path);
/* Writes the value, if there is a folder. What cannot be written is counted. */
void tt_program_bitnet_put(const tt_record_tensor *value, const struct ggml_tensor *t,
                           int32_t layer, const char *stage, int64_t position);
/* What went wrong first; "". */
const char *tt_program_bitnet_problem(void);
/* In a forked child: a lock may have been held, and the files are the parent's. */
void tt_program_bitnet_reset(void);

#endif
