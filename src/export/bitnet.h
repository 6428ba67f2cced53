/* The format `bitnet`: a folder with one JSON file per value, as BitNet.rs writes them;
 * docs/bitnet.md. */
#ifndef TT_EXPORT_BITNET_H
#define TT_EXPORT_BITNET_H

#include "export/export.h"

extern const tt_export_format tt_format_bitnet;

#endif
