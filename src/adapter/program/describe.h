/* What the program says of tensors, as the adapter knows them; and of itself. */
#ifndef TT_ADAPTER_PROGRAM_DESCRIBE_H
#define TT_ADAPTER_PROGRAM_DESCRIBE_H

#include "adapter/program/batch.h"

#include "tensortrace/record.h"

/* Says once a trace who records. */
void tt_program_describe(tt_recorder *r);
/* Whether ops of an engine are recorded: not under `tensortrace run`, which hooks it. */
bool tt_program_records_engines(void);
/* The program's name and version, and which values are taken; NULL: not told. Before recording
 * begins. */
void tt_program_set_name(const char *name, const char *values);

/* What tensors are known by in a batch: their names, or where their data is. */
uint64_t tt_program_key(const char *name, const void *data);
/* Zero but for what does not depend on a batch: no sources, no op; data as told. */
void tt_program_tensor(const tt_record_tensor *from, struct ggml_tensor *to);
/* Adds an output with what it reads to the batch, and its place if told: its number + 1, 0 when
 * that is not possible. *copy is what was added, with the program's own data. tt_process_lock is
 * held. */
uint32_t tt_program_add(tt_recorder *r, tt_program_batch *b, const tt_record_tensor *output,
                        struct ggml_tensor *copy);

#endif
