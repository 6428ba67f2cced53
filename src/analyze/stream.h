/* What the cache simulators replay: reads of ranges of one address space, in time order.
 *
 * The space is counted in blocks: pages of 4 KiB, say, or bytes. */
#ifndef TT_ANALYZE_STREAM_H
#define TT_ANALYZE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_extent {
    uint64_t begin;
    uint64_t end; /* not included; > begin */
} tt_extent;

/* Reads from `first` up to the next section's belong to a group: a token's, say. */
typedef struct tt_section {
    size_t first;
    uint32_t group;
} tt_section;

/* Nothing in it belongs to the stream. */
typedef struct tt_stream {
    const tt_extent *extents; /* distinct */
    uint32_t n_extents;
    const uint32_t *order; /* the extent of each read */
    size_t n;
    const tt_section *sections; /* the first one begins at read 0 */
    size_t n_sections;
    uint32_t n_groups;
    bool twice; /* replayed twice, and only the second time counts: a warm start */
} tt_stream;

/* Walks the reads: for (tt_stream_at a = {0}; tt_stream_next(s, &a);) ... */
typedef struct tt_stream_at {
    size_t next; /* reads taken, over both rounds */
    size_t section;
    const tt_extent *extent;
    uint32_t group;
    bool counts; /* false in the first of two rounds */
} tt_stream_at;

bool tt_stream_next(const tt_stream *s, tt_stream_at *a);
/* Reads over all rounds. */
size_t tt_stream_length(const tt_stream *s);

#endif
