/* The format `csv`. */
#ifndef TT_EXPORT_CSV_CSV_H
#define TT_EXPORT_CSV_CSV_H

#include "export/export.h"

extern const tt_export_format tt_format_csv;

#endif
