/* Which files of a dataset are in a folder. */
#ifndef TT_DATASET_FOLDER_H
#define TT_DATASET_FOLDER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tt_dataset_part {
    TT_DATASET_EXPERIMENT,
    TT_DATASET_MEMORY_MAP,
    TT_DATASET_BUFFERS,
    TT_DATASET_GRAPH, /* from here on: one for each token */
    TT_DATASET_TRACE
} tt_dataset_part;

#define TT_DATASET_PARTS 5u
#define TT_FOLDER_FILES_MAX (16u << 20) /* files listed of a kind */

/* A file that is there. */
typedef struct tt_dataset_entry {
    uint32_t number;
    uint8_t packing; /* 0: none, 1: .zst, 2: .gz */
} tt_dataset_entry;

typedef struct tt_dataset_list {
    tt_dataset_entry *entries; /* by number, packing */
    size_t n, capacity;
} tt_dataset_list;

typedef struct tt_dataset_folder {
    char *path;
    tt_dataset_list parts[TT_DATASET_PARTS];
    char odd_name[80]; /* the first "token-..." that is none, or empty */
    uint64_t odd_names;
} tt_dataset_folder;

#define TT_DATASET_NAME 64

/* Lists what is there. TT_E_FORMAT when nothing of a dataset is; TT_E_IO for a folder that cannot
 * be read; TT_E_LIMIT. Freed with tt_dataset_folder_close, also on failure. */
tt_status tt_dataset_folder_open(tt_dataset_folder *f, const char *path, tt_error *err);
void tt_dataset_folder_close(tt_dataset_folder *f);
/* "traces/token-00003.json", with the end of its packing (0: none). */
void tt_dataset_name(tt_dataset_part part, uint32_t number, unsigned packing,
                     char out[TT_DATASET_NAME]);

#endif
