/* The data of outputs on its way to the trace: `run --values=full`.
 *
 * Unlike ops it does not go through the area: it is large, and whoever asks for it accepts that the
 * program waits for the disk. A death loses what is still here. */
#ifndef TT_RECORD_DATA_QUEUE_H
#define TT_RECORD_DATA_QUEUE_H

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

#endif
