/* The files per token, written by several threads. Private to the format. */
#ifndef TT_EXPORT_DATASET_TOKENS_H
#define TT_EXPORT_DATASET_TOKENS_H

#include "export/dataset/parts.h"
#include "export/workers.h"

/* One kind of file. */
typedef struct tt_dataset_kind {
    const char *folder; /* FOLDER/token-00000.json and so on */
    /* A thread's own memory; NULL if out of memory. */
    void *(*open)(tt_dataset *d);
    void (*close)(void *own);
    /* Writes the file's text; *n_items gets its number of items. m is the thread's share. */
    tt_status (*write)(const tt_dataset *d, void *own, const tt_model *m, uint32_t batch,
                       tt_dataset_file *file, uint64_t *n_items, tt_error *err);
} tt_dataset_kind;

tt_status tt_dataset_write_tokens(tt_dataset *d, const tt_dataset_kind *kind, tt_dataset_sum *sum,
                                  tt_error *err);

#endif
