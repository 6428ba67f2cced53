/* ggml's numbers and symbols of ops. */
#ifndef TT_EXPORT_GGML_OP_H
#define TT_EXPORT_GGML_OP_H

#include <stdint.h>

#define TT_GGML_OP_NO_NUMBER UINT8_MAX

/* The op's number in ggml of January 2026, whatever it is in the trace's engine: readers of that
 * time have those numbers built in. TT_GGML_OP_NO_NUMBER: it had no such op. */
uint8_t tt_ggml_op_number(const char *name);
/* ggml's symbol, "X*Y" for MUL_MAT; for an unknown op its name. */
const char *tt_ggml_op_symbol(const char *name);

#endif
