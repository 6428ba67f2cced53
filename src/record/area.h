/* What became of what a recorder saw. */
#ifndef TT_RECORD_AREA_H
#define TT_RECORD_AREA_H

#include "base/status.h"
#include "format/detail.h"
#include "format/ops.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_outcome {
    uint64_t ops;     /* records in the trace */
    uint64_t dropped; /* records that are not in it: a ring was full, or the file's limit reached */
    uint64_t batches; /* that were computed */
    uint64_t batches_after_limit; /* of those, not recorded as the limit was reached */
    uint64_t details_dropped;     /* as `dropped`, of what else was observed of ops */
    uint64_t data_dropped;        /* parts of outputs' data that are not in it */
    uint64_t outputs;             /* fingerprints that were taken */
    uint64_t outputs_not_finite;  /* fingerprints with NaN or infinity, of outputs */
} tt_outcome;

/* The shared area: where a traced process leaves what it records.
 *
 * A memory-mapped file (in /dev/shm, so that it outlives the process and costs no
 * disk writes) that holds one byte stream of META records and a number of rings of
 * op records, each written by one thread at a time, and a companion ring of details for
 * each of them, whose memory is taken only when a thread asks for it:
 *
 *   | tt_area | tt_ring x n_rings | meta stream | slots of ring 0 | slots of ring 1 | ...
 *   | tt_ring and slots of ring 0's details | those of ring 1's | ...
 *
 * Heads are moved by producers after the content is complete, tails by the drain
 * after the content is in the container. Between the two, content survives a kill. */

#define TT_AREA_VERSION 8u
#define TT_AREA_RINGS 256u /* fewer where the process has little address space */
#define TT_AREA_RING_BYTES_DEFAULT (1u << 20)
#define TT_AREA_RING_BYTES_MIN (1u << 13)
#define TT_AREA_RING_BYTES_MAX (1u << 30)
#define TT_AREA_META_BYTES (8u << 20)
#define TT_AREA_LOSSES 1024u
#define TT_AREA_PATH_MAX 1024u

/* Records that a full ring refused: `dropped` of them, just before record `position`. */
typedef struct tt_area_loss {
    uint64_t position;
    uint64_t dropped;
} tt_area_loss;

/* One thread's ring. The producer's line, the drain's line, then what is rare. */
typedef struct tt_ring {
    _Alignas(64) _Atomic uint64_t head;  /* records begun; the last may be under way */
    _Alignas(64) _Atomic uint64_t tail;  /* records that are in the container */
    _Alignas(64) _Atomic uint32_t owner; /* OS thread id; 0: free to be claimed (ops only) */
    _Atomic uint32_t reserved;  /* its slots have memory behind them: no store is a SIGBUS */
    _Atomic uint32_t populated; /* its pages are mapped: no first touch on the hot path */
    _Atomic uint32_t detailed;  /* its companion has memory behind it and may be looked at */
    _Atomic uint64_t dropped;
    _Atomic uint32_t n_losses; /* entries of losses; the last one takes what comes later */
    tt_area_loss losses[TT_AREA_LOSSES];
} tt_ring;

/* What the COUNTS record reports; ops come from the rings. */
typedef struct tt_area_counts {
    _Atomic uint64_t ops_unresolved;
    _Atomic uint64_t meta_dropped;
    _Atomic uint64_t batches;             /* all that were seen; the last one's id */
    _Atomic uint64_t batches_not_asked;   /* of those, not recorded: by the choice of batches */
    _Atomic uint64_t batches_after_limit; /* likewise: the trace's limit was reached before */
    _Atomic uint64_t runs;
    _Atomic uint64_t runs_left_out; /* of such batches; or of none, and only some were asked for */
    _Atomic uint64_t graphs;
    _Atomic uint64_t decode_calls;
    _Atomic uint64_t decode_tokens;
    _Atomic uint64_t decode_unseen; /* calls whose batch was not seen to be filled */
    _Atomic uint64_t data_dropped;  /* parts of outputs' data */
    _Atomic uint64_t outputs;       /* fingerprints that were taken */
    _Atomic uint64_t outputs_not_finite;
    _Atomic uint64_t token_texts; /* TOKEN_TEXT records that were taken */
    _Atomic uint64_t row_numbers; /* INDICES records that were taken */
    _Atomic uint64_t page_faults; /* in PAGE_FAULTS records */
    _Atomic uint64_t page_faults_lost;
} tt_area_counts;

typedef struct tt_area {
    char magic[8];
    uint32_t version;
    uint32_t n_rings;
    uint64_t ring_records; /* a power of two */
    uint64_t meta_bytes;   /* a power of two */
    uint64_t total_bytes;
    uint8_t run_id[16];
    uint64_t pid;
    uint64_t tick_hz;                 /* measured at the start, roughly: CLOCK records are exact */
    _Atomic uint32_t n_usable;        /* rings from here on found no memory: nobody claims them */
    _Atomic uint32_t n_claimed;       /* rings from here on never had a thread: nothing in them */
    _Atomic uint32_t details_refused; /* a companion found no memory: nobody asks again */
    _Atomic uint32_t stopped; /* the limit is reached: what is under way is recorded, nothing new */
    char trace[TT_AREA_PATH_MAX]; /* path of the finished trace; "" when that is too long */
    uint64_t trace_device;        /* st_dev of the trace's folder; 0: not known */
    char boot_id[40];             /* of the kernel whose ticks these are; "" when not known */
    tt_area_counts counts;
    _Alignas(64) _Atomic uint64_t meta_head;
    _Alignas(64) _Atomic uint64_t meta_tail;
} tt_area;

/* A mapped area: the parts at their addresses. */
typedef struct tt_area_map {
    tt_area *area;
    tt_ring *rings;
    uint8_t *meta;
    tt_op_record *slots;    /* ring r's begin at slots + r * ring_records */
    uint8_t *details;       /* the companions, one after the other */
    int fd;                 /* to reserve rings with; -1 in a map of tt_area_open */
    uint64_t device, inode; /* of the file behind fd: a traced program may close descriptors */
    char path[TT_AREA_PATH_MAX];
} tt_area_map;

/* Creates an area file (mode 0600) in /dev/shm, or, when there is no room, in fallback_dir,
 * and maps it. ring_bytes: 32 bytes a record, rounded up to a power of two, between the bounds
 * above. The file is locked for as long as it is open. Everything but the slots has its memory
 * then; on failure nothing stays behind. TT_E_LIMIT: a limit on address space would not leave the
 * program enough of it. May raise SIGXFSZ in the calling thread. */
tt_status tt_area_create(tt_area_map *map, uint64_t ring_bytes, const uint8_t run_id[16],
                         const char *fallback_dir, tt_error *err);
/* Maps an existing area after checking its header against the file's size. */
tt_status tt_area_open(tt_area_map *map, const char *path, tt_error *err);
/* Removes an area whose process died before it had made it; nothing else. */
void tt_area_remove_unmade(const char *path);
/* tt_area_open for the bytes of an area that are in memory already (aligned as a tt_area is), which
 * the caller keeps: not to be unmapped. */
tt_status tt_area_view(tt_area_map *map, void *base, uint64_t size, tt_error *err);
/* Also closes the file. */
void tt_area_unmap(tt_area_map *map);
/* Makes a claimed ring's pages present where the kernel can, so that stores on the hot path do
 * not fault. */
void tt_area_populate(tt_area_map *map, uint32_t ring);
/* Sees to it that the first `n` free rings are reserved and present before a thread asks. */
void tt_area_prepare_spares(tt_area_map *map, uint32_t n);
/* The area is of this boot: a clock read now goes on with its ticks. */
bool tt_area_is_of_this_boot(const tt_area_map *map);

static inline tt_op_record *tt_area_slots(const tt_area_map *map, uint32_t ring)
{
    return map->slots + (size_t)ring * map->area->ring_records;
}

/* The companion of an op ring; NULL until it is reserved. Its owner is the op ring's. */
tt_ring *tt_area_detail_ring(const tt_area_map *map, uint32_t ring);
/* Its slots, as many as an op ring has; to be touched only when it is reserved. */
tt_detail *tt_area_detail_slots(const tt_area_map *map, uint32_t ring);
/* Gives the companion of a claimed ring its memory, present where the kernel can, unless it has
 * it. False when there is none. By the ring's owner; not on the hot path. */
bool tt_area_reserve_detail(tt_area_map *map, uint32_t ring);

/* For a producer whose `head` has come to its `room`: looks how far the drain of a ring of
 * `slots` slots is. False when the ring is full: then one record is counted as dropped;
 * *dropped_at (0 at first) is where losses in a row are one entry. */
bool tt_ring_make_room(tt_ring *ring, uint64_t head, uint64_t slots, uint64_t *room,
                       uint64_t *dropped_at);

/* Appends a META record (enum tt_meta_type) with this payload to the stream; false, and counted in
 * meta_dropped, when the payload failed or the stream is full. One producer at a time: the caller
 * serializes. */
bool tt_area_meta_push(tt_area_map *map, uint8_t type, const tt_bytes *payload);
/* Copies n bytes at stream position `at` out of the meta ring. */
void tt_area_meta_copy(const tt_area_map *map, uint64_t at, uint8_t *out, size_t n);

/* The rings that may hold something are those below this. Each has pages of its own: to look at
 * all of them takes longer than to drain those in use. */
uint32_t tt_area_rings_used(const tt_area_map *map);
/* Records of a ring that are not in the container yet; 0 in a damaged one. */
uint64_t tt_area_kept(const tt_area_map *map, const tt_ring *ring);
/* Op records that are in the container, and those that never will be: dropped by full rings, or
 * kept in a ring that nobody drains any more. */
void tt_area_totals(const tt_area_map *map, uint64_t *ops, uint64_t *dropped);
/* What became of what was seen, as it stands. */
tt_outcome tt_area_outcome(const tt_area_map *map);
/* As tt_area_totals, of details. */
void tt_area_detail_totals(const tt_area_map *map, uint64_t *details, uint64_t *dropped);

/* Takes a free ring for the OS thread `thread`, and reserves its slots; NULL when all are taken
 * or there is no memory for another. Any thread. */
tt_ring *tt_area_claim(tt_area_map *map, uint32_t thread);

#endif
