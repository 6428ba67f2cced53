/* A recorder in the traced process: an area, a container, and the thread that drains one into the
 * other. */
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
    uint64_t ring_bytes;  /* size of a thread's ring; 0: the default */
    uint64_t limit_bytes; /* of the trace; 0: none */
    uint64_t keep_bytes;  /* keep only the last bytes of the trace, this many; 0: keep all */
    uint64_t flush_ns;    /* everything is written so often; 0: the default */
    bool page_faults;     /* each with its address, if the kernel allows it */
} tt_recorder_options;

/* Creates "<path>.part" (mode 0600; TT_E_EXISTS if it exists, or path does and `replace` is not
 * set), locked while it is written, an area, and the drain thread, which blocks all signals. On
 * failure no file is left. */
tt_status tt_recorder_open(tt_recorder **recorder, const tt_recorder_options *options,
                           tt_error *err);
/* From now on the recorder makes the snapshots that the session requests, and reports them in
 * `file`. Both must outlive the recorder's thread. */
void tt_recorder_follow(tt_recorder *r, tt_session *session, tt_session_file *file);
tt_area_map *tt_recorder_area(tt_recorder *r);
const char *tt_recorder_path(const tt_recorder *r);
/* Whether page faults are recorded; otherwise *why has the reason (status TT_OK: not requested). */
bool tt_recorder_page_faults(const tt_recorder *r, tt_error *why);

/* Appends a META record (enum tt_meta_type) with this payload. False if it was dropped (payload
 * failed, stream full), which is counted. Any thread. */
bool tt_recorder_meta(tt_recorder *r, uint8_t type, const tt_bytes *payload);
/* Queues data of an output; takes ownership of the block. May wait for the disk, see
 * tt_data_queue_push; dropped blocks are counted. Any thread. */
void tt_recorder_data(tt_recorder *r, tt_data_block *block);

/* Stops the drain thread and finishes the file: it has everything recorded and its final name
 * (tt_place_rename, if that is taken by now; in the file's folder, if that was moved), and the area
 * is removed. TT_E_NOT_FOUND: the file was removed or replaced; a file that has its name now is
 * left alone. The recorder itself is not freed: running threads may still read it. With `discard`
 * no file is left. */
tt_status tt_recorder_close(tt_recorder *r, bool discard, tt_error *err);
/* After close: releases the memory of the area, and its descriptor. Threads that still write there do no harm. */
void tt_recorder_release_memory(tt_recorder *r);
/* After close, when no thread can read it any more. */
void tt_recorder_free(tt_recorder *r);
/* In a forked child: closes the files and unmaps the area. Frees nothing, not even r: at the fork,
 * the drain thread may have been changing it, or may have held a lock of the allocator or the
 * loader. */
void tt_recorder_forget(tt_recorder *r);

#endif
