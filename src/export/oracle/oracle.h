/* The format `oraclegeneral`: the reads that whatif replays, for libCacheSim and others. */
#ifndef TT_EXPORT_ORACLE_ORACLE_H
#define TT_EXPORT_ORACLE_ORACLE_H

#include "export/export.h"

extern const tt_export_format tt_format_oraclegeneral;

#endif
