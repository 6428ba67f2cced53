/* Converts the program's descriptions of tensors, and of itself, into the adapter's. */
#ifndef TT_ADAPTER_PROGRAM_DESCRIBE_H
#define TT_ADAPTER_PROGRAM_DESCRIBE_H

#include "adapter/program/batch.h"

#include "tensortrace/record.h"

/* Records, once per trace, which program records. */
void tt_program_describe(tt_recorder *r);
/* Whether ops of an engine are recorded: not under `tensortrace run`, which hooks the engine. */
bool tt_program_records_engines(void);
/* Sets the program's name and version, and which values are captured; NULL: none given. Call it
 * before recording begins. */
void tt_program_set_name(const char *name, const char *values);

/* The key of a tensor in a batch: its name, or else the address of its data. */
uint64_t tt_program_key(const char *name, const void *data);
/* Fills in what does not depend on a batch; sources and op are zero, data as given. */
void tt_program_tensor(const tt_record_tensor *from, struct ggml_tensor *to);
/* Adds an output and what it reads to the batch, with its stage and layer if given. Returns its
 * number + 1; 0 if that is impossible. *copy: what was added, with the program's own data.
 * tt_process_lock is held. */
uint32_t tt_program_add(tt_recorder *r, tt_program_batch *b, const tt_record_tensor *output,
                        struct ggml_tensor *copy);

#endif
