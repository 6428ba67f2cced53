/* The calls of tensortrace/record.h. */
#ifndef TT_ADAPTER_PROGRAM_RECORDING_H
#define TT_ADAPTER_PROGRAM_RECORDING_H

#include <stdbool.h>

/* Whether there are sinks. */
void tt_program_record_sinks(bool on);

#endif
