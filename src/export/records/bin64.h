/* The format `bin64`: records of 64 bytes, one for each source of each op; docs/bin64.md. */
#ifndef TT_EXPORT_BIN64_H
#define TT_EXPORT_BIN64_H

#include "export/export.h"

extern const tt_export_format tt_format_bin64;

#endif
