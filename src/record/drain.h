/* The queue of outputs' data for the trace: `run --values=full`.
 *
 * Unlike ops, the data does not go through the area: it is large, and this option lets the program
 * wait for the disk. If the process dies, data in the queue is lost. */
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

#define TT_DATA_QUEUE_BYTES ((uint64_t)64 << 20) /* queued at most */

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
    bool closed; /* nothing is taken any more */
    bool stuck;  /* a push has timed out, and nothing was taken since */
} tt_data_queue;

void tt_data_queue_init(tt_data_queue *q);
/* A block of n bytes to be filled; NULL if out of memory. */
tt_data_block *tt_data_block_new(uint32_t run, uint32_t node, uint32_t part, size_t n);
/* Takes ownership of the block. Waits while too much is queued, for some seconds at most, and after
 * that only once something has been taken. False if the block was dropped instead. Any thread. */
bool tt_data_queue_push(tt_data_queue *q, tt_data_block *block);
/* All blocks, oldest first; the caller frees each with free. */
tt_data_block *tt_data_queue_take(tt_data_queue *q);
/* From now on, blocks that are pushed are dropped. */
void tt_data_queue_close(tt_data_queue *q);

/* The drain: moves complete records from an area into the container.
 *
 * It needs only the area: the traced process runs it in a thread of its own, and `tensortrace run`
 * or `recover` runs it after the process died. */

enum tt_drain_what {
    TT_DRAIN_PILED, /* streams that have grown: large chunks compress better */
    TT_DRAIN_ALL,   /* everything that is complete */
    TT_DRAIN_CALM,  /* no run is open or was open recently: also each thread's last op */
    TT_DRAIN_LAST   /* recording has ended: also ops whose end was not observed */
};

#define TT_DRAIN_RUNS 64u

typedef struct tt_drain {
    tt_area_map *map;
    tt_sink *sink;
    tt_bytes raw;  /* the payload under construction */
    void *records; /* records of a ring, unrolled: ops, or details of the same size */
    size_t records_max;
    bool full; /* the sink's limit is reached: only the meta stream is drained */
    /* Runs whose descriptions were drained, but not their ends. */
    uint64_t under_way[TT_DRAIN_RUNS];
    size_t n_under_way;
    bool lost_sight; /* there were more than these */
} tt_drain;

tt_status tt_drain_begin(tt_drain *d, tt_area_map *map, tt_sink *sink, tt_error *err);
void tt_drain_end(tt_drain *d);
/* One pass over the meta stream and all rings, including those of details. Shortly before the
 * sink's limit is reached it sets tt_area.stopped: producers begin nothing new. If that is too
 * late, records stay in the rings until these are full and producers count what they drop. On
 * failure, unwritten records stay in the area. One thread at a time. */
tt_status tt_drain_step(tt_drain *d, enum tt_drain_what what, tt_error *err);
/* Appends the data of an output. If it would leave too little space below the limit for what is
 * queued, it is only counted, and nothing new is begun. */
tt_status tt_drain_data(tt_drain *d, const tt_data_block *block, tt_error *err);
/* After the last step: appends the losses (including records that the limit left in the rings) and
 * the totals, closes a hole, and writes the index and the tail. path: the container's. */
tt_status tt_drain_finish(tt_drain *d, uint8_t end_flags, const char *path, tt_error *err);
/* The losses and totals so far, as META records; replaces the content of *out. Records still in the
 * rings count as neither stored nor lost; with `ended`, as lost. */
bool tt_drain_totals(tt_drain *d, bool ended, tt_bytes *out);

#endif
