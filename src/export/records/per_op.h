/* The formats `bin256` and `bin1024`: a record for each op, as earlier tools wrote and read them;
 * docs/bin1024.md. */
#ifndef TT_EXPORT_RECORDS_PER_OP_H
#define TT_EXPORT_RECORDS_PER_OP_H

#include "export/export.h"

extern const tt_export_format tt_format_bin256;
extern const tt_export_format tt_format_bin1024;

#endif
