/* A folder of BitNet-style records (bitnet/read.h) as a dump. */
#ifndef TT_ANALYZE_DUMP_BITNET_H
#define TT_ANALYZE_DUMP_BITNET_H

#include "analyze/dumps/dump.h"
#include "bitnet/read.h"

/* Reads the whole folder; errors as tt_bitnet_read. One step for each seq, at that position;
 * records without one are a step of unknown position, the last. Values come by place in the network
 * (before all layers, layer by layer, behind them), the stages of one place in the order of the
 * stage map, those it does not have last. A record without the key `stage`, of which the layer is
 * not known, is looked up in the map by its name; a stage that the map does not have, too. *out is
 * closed with tt_dump_close; NULL on failure. */
tt_status tt_dump_of_bitnet(const char *path, const tt_stages *stages, tt_dump **out,
                            tt_error *err);

#endif
