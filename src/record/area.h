/* Counts of what a recorder observed. */
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
    uint64_t dropped; /* records that are not in it: a ring was full, or the file's limit was
                         reached */
    uint64_t batches; /* computed */
    uint64_t batches_after_limit; /* of those, not recorded because of the limit */
    uint64_t details_dropped;     /* like `dropped`, for details */
    uint64_t data_dropped;        /* parts of outputs' data that are not in it */
    uint64_t outputs;             /* fingerprints captured */
    uint64_t outputs_not_finite;  /* fingerprints of outputs with NaN or infinity */
} tt_outcome;

/* The shared area, into which a traced process records.
 *
 * It is a memory-mapped file, in /dev/shm so that it outlives the process without disk writes. It
 * holds a byte stream of META records, a number of rings of op records, each written by one thread
 * at a time, and for each ring a companion ring of details, whose memory is reserved only on
 * demand:
 *
 *   | tt_area | tt_ring x n_rings | meta stream | slots of ring 0 | slots of ring 1 | ...
 *   | tt_ring and slots of ring 0's details | those of ring 1's | ...
 *
 * Producers advance heads after the content is complete; the drain advances tails after the content
 * is in the container. Content between the two survives a kill. */

#define TT_AREA_VERSION 9u
#define TT_AREA_RINGS 256u /* fewer if the process has little address space */
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

/* A ring of one thread: the producer's cache line, the drain's, then rarely used members. */
typedef struct tt_ring {
    _Alignas(64) _Atomic uint64_t head;  /* records begun; the last may be incomplete */
    _Alignas(64) _Atomic uint64_t tail;  /* records that are in the container */
    _Alignas(64) _Atomic uint32_t owner; /* OS thread id; 0: free (op rings only) */
    _Atomic uint32_t reserved;           /* its slots have memory: no store raises SIGBUS */
    _Atomic uint32_t populated;          /* its pages are mapped: no page fault on the hot path */
    _Atomic uint32_t detailed;           /* its companion has memory and may be read */
    _Atomic uint64_t dropped;
    _Atomic uint32_t n_losses; /* entries of losses; the last one collects all later losses */
    tt_area_loss losses[TT_AREA_LOSSES];
} tt_ring;

/* What the COUNTS record reports; ops come from the rings. */
typedef struct tt_area_counts {
    _Atomic uint64_t ops_unresolved;
    _Atomic uint64_t meta_dropped;
    _Atomic uint64_t batches;             /* all that were seen; the id of the last */
    _Atomic uint64_t batches_not_asked;   /* of those, not recorded: not selected */
    _Atomic uint64_t batches_after_limit; /* likewise, because the trace's limit was reached */
    _Atomic uint64_t runs;
    _Atomic uint64_t runs_left_out; /* runs of such batches, or of no batch while only some were
                                       selected */
    _Atomic uint64_t graphs;
    _Atomic uint64_t decode_calls;
    _Atomic uint64_t decode_tokens;
    _Atomic uint64_t decode_unseen; /* calls whose batch was not observed being filled */
    _Atomic uint64_t data_dropped;  /* parts of outputs' data */
    _Atomic uint64_t outputs;       /* fingerprints captured */
    _Atomic uint64_t outputs_not_finite;
    _Atomic uint64_t token_texts; /* TOKEN_TEXT records captured */
    _Atomic uint64_t row_numbers; /* INDICES records captured */
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
    uint64_t tick_hz;                 /* what the processor says, or a rough measurement at the
                                         start; CLOCK records are exact */
    _Atomic uint32_t n_usable;        /* rings from here on got no memory: they are not claimed */
    _Atomic uint32_t n_claimed;       /* rings from here on were never claimed: they are empty */
    _Atomic uint32_t details_refused; /* a companion got no memory: none is requested again */
    _Atomic uint32_t stopped;     /* the limit is reached: open batches are recorded, no new ones */
    char trace[TT_AREA_PATH_MAX]; /* path of the finished trace; "" if too long */
    uint64_t trace_device;        /* st_dev of the trace's folder; 0: not known */
    char boot_id[40];             /* of the kernel that counted the ticks; "" if not known */
    tt_area_counts counts;
    _Alignas(64) _Atomic uint64_t meta_head;
    _Alignas(64) _Atomic uint64_t meta_tail;
} tt_area;

/* A mapped area: pointers to its parts. */
typedef struct tt_area_map {
    tt_area *area;
    tt_ring *rings;
    uint8_t *meta;
    tt_op_record *slots;    /* ring r's begin at slots + r * ring_records */
    uint8_t *details;       /* the companions, one after the other */
    int fd;                 /* for reserving rings; -1 in a map of tt_area_open */
    uint64_t device, inode; /* of the file behind fd: a traced program may close descriptors */
    char path[TT_AREA_PATH_MAX];
} tt_area_map;

/* Creates and maps an area file (mode 0600) in /dev/shm, or in fallback_dir if there is no space.
 * ring_bytes: 32 bytes per record, rounded up to a power of two, between the bounds above. The file
 * is locked while it is open. Everything but the slots has memory on return; on failure no file is
 * left. TT_E_LIMIT: a limit on address space would leave the program too little. May raise SIGXFSZ
 * in the calling thread. */
tt_status tt_area_create(tt_area_map *map, uint64_t ring_bytes, const uint8_t run_id[16],
                         const char *fallback_dir, tt_error *err);
/* Maps an existing area after checking its header against the file's size. */
tt_status tt_area_open(tt_area_map *map, const char *path, tt_error *err);
/* Removes an area whose process died while creating it; nothing else. */
void tt_area_remove_unmade(const char *path);
/* tt_area_open for an area whose bytes are in memory (aligned like a tt_area). The caller owns
 * them: do not unmap. */
tt_status tt_area_view(tt_area_map *map, void *base, uint64_t size, tt_error *err);
/* Closes the file; the memory stays. */
void tt_area_close(tt_area_map *map);
/* Does both. */
void tt_area_unmap(tt_area_map *map);
/* Maps the pages of a claimed ring if the kernel can, so that stores on the hot path do not
 * fault. */
void tt_area_populate(tt_area_map *map, uint32_t ring);
/* Reserves and maps the first `n` free rings before a thread needs one. */
void tt_area_prepare_spares(tt_area_map *map, uint32_t n);
/* Whether the area is of this boot, so that a clock read now continues its ticks. */
bool tt_area_is_of_this_boot(const tt_area_map *map);

static inline tt_op_record *tt_area_slots(const tt_area_map *map, uint32_t ring)
{
    return map->slots + (size_t)ring * map->area->ring_records;
}

/* The companion of an op ring; NULL until it is reserved. It has the op ring's owner. */
tt_ring *tt_area_detail_ring(const tt_area_map *map, uint32_t ring);
/* Its slots, as many as an op ring has; do not touch them until it is reserved. */
tt_detail *tt_area_detail_slots(const tt_area_map *map, uint32_t ring);
/* Reserves the companion of a claimed ring, and maps its pages if the kernel can. False if there is
 * no memory. Called by the ring's owner; not on the hot path. */
bool tt_area_reserve_detail(tt_area_map *map, uint32_t ring);

/* For a producer whose `head` has reached its `room`: reads the drain's progress in a ring of
 * `slots` slots. False if the ring is full: one record is counted as dropped. *dropped_at (0 at
 * first) joins consecutive losses into one entry. */
bool tt_ring_make_room(tt_ring *ring, uint64_t head, uint64_t slots, uint64_t *room,
                       uint64_t *dropped_at);

/* Appends a META record (enum tt_meta_type) with this payload to the stream. False, and counted in
 * meta_dropped, if the payload failed or the stream is full. The caller serializes calls. */
bool tt_area_meta_push(tt_area_map *map, uint8_t type, const tt_bytes *payload);
/* Copies n bytes at stream offset `at` out of the meta ring. */
void tt_area_meta_copy(const tt_area_map *map, uint64_t at, uint8_t *out, size_t n);

/* The number of rings that may hold records: all of them come first. Reading the others would take
 * longer than draining, as each has pages of its own. */
uint32_t tt_area_rings_used(const tt_area_map *map);
/* Records of a ring that are not in the container yet; 0 for a damaged one. */
uint64_t tt_area_kept(const tt_area_map *map, const tt_ring *ring);
/* Op records that are in the container, and those that never will be: dropped by full rings, or
 * left in a ring that is not drained any more. */
void tt_area_totals(const tt_area_map *map, uint64_t *ops, uint64_t *dropped);
/* The counts so far. */
tt_outcome tt_area_outcome(const tt_area_map *map);
/* Like tt_area_totals, for details. */
void tt_area_detail_totals(const tt_area_map *map, uint64_t *details, uint64_t *dropped);

/* Claims a free ring for the OS thread `thread`, and reserves its slots; NULL if all are claimed or
 * there is no memory. Any thread. */
tt_ring *tt_area_claim(tt_area_map *map, uint32_t thread);

#endif
