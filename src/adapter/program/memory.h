/* The program's buffers and model files, as it tells them. */
#ifndef TT_ADAPTER_PROGRAM_MEMORY_H
#define TT_ADAPTER_PROGRAM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* The buffer (what tt_engine's functions are given) that all of those bytes are in; NULL without.
 * tt_process_lock is held. */
void *tt_program_buffer_of(const void *data, uint64_t size_bytes);
/* Whether that one has not been removed. tt_process_lock is held. */
bool tt_program_buffer_is_there(const void *buffer);

#endif
