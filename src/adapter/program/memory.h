/* The program's buffers and model files, as reported by it. */
#ifndef TT_ADAPTER_PROGRAM_MEMORY_H
#define TT_ADAPTER_PROGRAM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* The buffer (argument of tt_engine's functions) that contains all of those bytes; NULL if none.
 * tt_process_lock is held. */
void *tt_program_buffer_of(const void *data, uint64_t size_bytes);
/* Whether any is known; takes no lock. */
bool tt_program_has_buffers(void);
/* Whether that buffer still exists. tt_process_lock is held. */
bool tt_program_buffer_is_there(const void *buffer);

#endif
