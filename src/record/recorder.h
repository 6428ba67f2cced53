/* A recorder in the process that is observed: an area, a container and the thread
 * that drains the one into the other. */
#ifndef TT_RECORD_RECORDER_H
#define TT_RECORD_RECORDER_H

#include "base/bytes.h"
#include "base/status.h"
#include "record/area.h"
#include "record/drain.h"
#include "record/session.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_recorder tt_recorder;

typedef struct tt_recorder_options {
    const char *path;     /* of the finished trace; "<path>.part" until then */
    bool replace;         /* an existing trace may be replaced at the end */
    uint64_t ring_bytes;  /* memory of a thread's ring; 0: the default */
    uint64_t limit_bytes; /* of the trace; 0: none */
    uint64_t keep_bytes;  /* of the trace, of which only the last stay; 0: all */
    bool page_faults;     /* each with its address, where the kernel allows it */
} tt_recorder_options;

/* Creates "<path>.part" (mode 0600; TT_E_EXISTS when it, or without `replace` path, is
 * there), locked for as long as it is written, an area, and the drain thread, which takes no
 * signals. On failure nothing stays behind. */
tt_status tt_recorder_open(tt_recorder **recorder, const tt_recorder_options *options,
                           tt_error *err);
/* From here on the recorder makes the snapshots that the session asks for, and enters them in
 * `file`. Both outlive the recorder's thread. */
void tt_recorder_follow(tt_recorder *r, tt_session *session, tt_session_file *file);
tt_area_map *tt_recorder_area(tt_recorder *r);
const char *tt_recorder_path(const tt_recorder *r);
/* Whether page faults are recorded; otherwise why they are not (status TT_OK: nobody asked). */
bool tt_recorder_page_faults(const tt_recorder *r, tt_error *why);

/* Appends a META record (enum tt_meta_type) with this payload; false when it was
 * dropped (payload failed, stream full): counted. Any thread. */
bool tt_recorder_meta(tt_recorder *r, uint8_t type, const tt_bytes *payload);
/* Data of an output; takes the block over. It may wait for the disk, see tt_data_queue_push; what
 * is dropped is counted. Any thread. */
void tt_recorder_data(tt_recorder *r, tt_data_block *block);

/* Stops the drain thread and finishes the file: everything recorded is in it, it has
 * its final name (see tt_place_rename when that was taken meanwhile; beside the file, where that
 * was moved), the area is gone. TT_E_NOT_FOUND: the file was removed or replaced meanwhile; what
 * has its name is left alone. The recorder itself stays allocated: threads that still run may look
 * at it. With `discard` nothing stays on disk. */
tt_status tt_recorder_close(tt_recorder *r, bool discard, tt_error *err);
/* After close: gives back the memory of its area. Threads that still write there do no harm. */
void tt_recorder_release_memory(tt_recorder *r);
/* After close, when no thread can look at it any more. */
void tt_recorder_free(tt_recorder *r);
/* In the child of a fork: closes the files and unmaps the area. The rest, r with it, is left
 * allocated: the drain thread may have been in the middle of changing it, or may have held a
 * lock of the allocator or the loader, when the fork took its picture. */
void tt_recorder_forget(tt_recorder *r);

#endif
