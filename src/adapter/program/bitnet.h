/* Values as BitNet-style records: in a folder (BITNET_TRACE_DIR), and for sinks. */
#ifndef TT_ADAPTER_PROGRAM_BITNET_H
#define TT_ADAPTER_PROGRAM_BITNET_H

#include "adapter/ggml/abi.h"

#include "tensortrace/record.h"

#include <stdint.h>

/* Sets the folder, which is created on demand; call it before anything is written. lines: all
 * records in one file. */
void tt_program_bitnet_begin(const char *path, bool lines);
/* Writes the value, if there is a folder, and passes it to the sinks. */
void tt_program_bitnet_put(const tt_record_tensor *value, const struct ggml_tensor *t,
                           int32_t layer, const char *stage, int64_t position);
/* Passes an op's output to the sinks. */
void tt_program_bitnet_output(const tt_record_tensor *output);
/* The first problem, or "". */
const char *tt_program_bitnet_problem(void);
/* Call in a forked child: a lock may have been held, and the files are the parent's. */
void tt_program_bitnet_reset(void);

#endif
