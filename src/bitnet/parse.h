/* A record from its parsed JSON. Private to the reader. */
#ifndef TT_BITNET_PARSE_H
#define TT_BITNET_PARSE_H

#include "bitnet/read.h"

#include <jansson.h>

/* Fills the item's record, which points into memory of f. The message names the key, not the file.
 */
tt_status tt_bitnet_parse(tt_bitnet_folder *f, const json_t *object, tt_bitnet_item *item,
                          tt_error *err);

#endif
