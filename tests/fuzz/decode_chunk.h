/* What stands in a chunk, by its kind. */
#ifndef TT_TESTS_DECODE_CHUNK_H
#define TT_TESTS_DECODE_CHUNK_H

#include "format/chunk.h"
#include "format/detail.h"
#include "format/meta.h"
#include "format/ops.h"

#include <stdlib.h>

/* Whether the stream of records is whole; each has to lie inside it. */
static inline bool decode_meta(tt_span payload)
{
    tt_cursor c = tt_cursor_of(payload.data, payload.size);
    uint8_t type;
    char value[16];
    tt_span record;
    while (tt_meta_next(&c, &type, &record))
        if (record.data < payload.data || record.data + record.size > payload.data + payload.size)
            abort();
    (void)tt_meta_find_environment(payload, "area", value, sizeof value);
    return !c.failed;
}

/* False when it is malformed. Kinds that are not known are as they should be. */
static inline bool decode_chunk(const tt_chunk_header *h, tt_span payload)
{
    tt_ops_block b;
    tt_detail *details;
    size_t n;
    switch (h->type) {
    case TT_CHUNK_META:
        return decode_meta(payload);
    case TT_CHUNK_OPS:
        if (tt_ops_decode(payload, h->count, true, &b, NULL) != TT_OK) return false;
        tt_ops_block_free(&b);
        return true;
    case TT_CHUNK_DETAIL:
        if (tt_detail_decode(payload, h->count, &details, &n, NULL) != TT_OK) return false;
        free(details);
        return true;
    default:
        return true;
    }
}

#endif
