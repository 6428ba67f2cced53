/* Numbers with a fraction as decimal text, the same in every locale. */
#ifndef TT_BASE_DECIMAL_H
#define TT_BASE_DECIMAL_H

#include <stddef.h>

#define TT_DECIMAL_TEXT 40

/* The first of 15, 16 and 17 significant digits that reads back as the same number, as printf's
 * "%.*g" writes it. v is finite. Returns the length; out is NUL-terminated. */
size_t tt_decimal_write(double v, char out[TT_DECIMAL_TEXT]);

#endif
