/* The data of outputs on its way to the trace: `run --values=full`.
 *
 * Unlike ops it does not go through the area: it is large, and whoever asks for it accepts that the
 * program waits for the disk. A death loses what is still here. */
#ifndef TT_RECORD_DRAIN_H
#define TT_RECORD_DRAIN_H

#include "base/bytes.h"
#include "base/status.h"
#include "record/area.h"
#include "record/sink.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_DATA_QUEUE_BYTES ((uint64_t)64 << 20) /* that may be on their way */

/* One part of one output, see TT_CHUNK_VALUE. */
typedef struct tt_data_block {
    struct tt_data_block *next;
    uint32_t run, node, part;
    size_t n;
    uint8_t bytes[];
} tt_data_block;

typedef struct tt_data_queue {
    pthread_mutex_t lock;
    pthread_cond_t taken;
    tt_data_block *first, **last;
    uint64_t bytes;
    bool closed; /* nothing is taken out any more */
    bool stuck;  /* somebody has waited for as long as anybody does, and nothing was taken since */
} tt_data_queue;

void tt_data_queue_init(tt_data_queue *q);
/* A block of n bytes to be filled; NULL without memory. */
tt_data_block *tt_data_block_new(uint32_t run, uint32_t node, uint32_t part, size_t n);
/* Takes the block over. Waits while too much is on its way, for some seconds at most, and
 * not again before something has been taken. False when the block was dropped instead. Any thread.
 */
bool tt_data_queue_push(tt_data_queue *q, tt_data_block *block);
/* All that is there, oldest first; each is freed with free. */
tt_data_block *tt_data_queue_take(tt_data_queue *q);
/* What is pushed from here on is dropped. */
void tt_data_queue_close(tt_data_queue *q);

/* The drain: moves what is complete in an area into the container.
 *
 * It works on an area alone, so the traced process runs it in a thread of its own
 * while it lives, and `tensortrace run` or `recover` runs it after a death. */

enum tt_drain_what {
    TT_DRAIN_PILED, /* streams that have piled up: large chunks pack better */
    TT_DRAIN_ALL,   /* everything that is final */
    TT_DRAIN_CALM,  /* no run is under way, nor was any a while ago: also each thread's last op */
    TT_DRAIN_LAST   /* nobody records any more: also ops whose end was not seen */
};

#define TT_DRAIN_RUNS 64u

typedef struct tt_drain {
    tt_area_map *map;
    tt_sink *sink;
    tt_bytes raw;  /* the payload being made */
    void *records; /* a ring's, unrolled: of ops, or as large, of details */
    size_t records_max;
    bool full; /* the sink's limit is reached: only the meta stream is drained */
    /* Runs whose descriptions were drained, and whose ends were not. */
    uint64_t under_way[TT_DRAIN_RUNS];
    size_t n_under_way;
    bool lost_sight; /* there were more than that */
} tt_drain;

tt_status tt_drain_begin(tt_drain *d, tt_area_map *map, tt_sink *sink, tt_error *err);
void tt_drain_end(tt_drain *d);
/* One pass over the meta stream and all rings, those of details too. Shortly before the sink's
 * limit is reached, tt_area.stopped is set: the producers begin nothing new. Where that comes too
 * late, records stay in the rings until those are full and producers count what they drop. On
 * failure what was not written stays in the area. One thread at a time. */
tt_status tt_drain_step(tt_drain *d, enum tt_drain_what what, tt_error *err);
/* Appends the data of an output. What would leave no room for what is on its way to the
 * limit is only counted, and nothing new is begun. */
tt_status tt_drain_data(tt_drain *d, const tt_data_block *block, tt_error *err);
/* After the last step: appends the losses (also of what the limit has kept in the rings) and
 * the totals, closes a hole, and writes the index and the tail. path: where the container is. */
tt_status tt_drain_finish(tt_drain *d, uint8_t end_flags, const char *path, tt_error *err);
/* The losses and totals as they stand, as META records, replacing what is in *out. What is only on
 * its way is neither in the trace nor lost; `ended`: it is lost. */
bool tt_drain_totals(tt_drain *d, bool ended, tt_bytes *out);

#endif
