/* Interned strings: each text is in the trace once, as a STRING record. */
#ifndef TT_ADAPTER_GGML_NAMES_H
#define TT_ADAPTER_GGML_NAMES_H

#include "record/recorder.h"

#include <stddef.h>
#include <stdint.h>

/* The text's string id; 0 for the empty text, or if the table or the trace is full. tt_process_lock
 * is held. */
uint32_t tt_names_id(tt_recorder *r, const char *text);
uint32_t tt_names_id_n(tt_recorder *r, const char *text, size_t n);

/* A recording begins that has none of them. tt_process_lock is held. */
void tt_names_forget(void);

#endif
