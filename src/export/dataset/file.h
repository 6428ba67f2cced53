/* A file of a dataset: text that is compressed into the folder. Memory is bounded whatever the
 * file's size, and reused for each file. */
#ifndef TT_EXPORT_DATASET_FILE_H
#define TT_EXPORT_DATASET_FILE_H

#include "base/bytes.h"
#include "base/outfile.h"
#include "export/compress.h"

#include <stdio.h>

/* Zero-filled is closed and ready. One thread at a time. */
typedef struct tt_dataset_file {
    FILE *out;
    char *path; /* for messages: the final path */
    tt_compress compress;
    char *text; /* not passed on yet */
    size_t used, capacity;
    tt_compressor *compressor; /* NULL: uncompressed */
    tt_bytes packed;
    uint64_t size_bytes; /* as stored, so far */
    int failed;          /* errno of the first failed write */
} tt_dataset_file;

/* Begins NAME (plus .zst or .gz if compressed). */
tt_status tt_dataset_file_open(tt_dataset_file *f, const tt_outdir *folder, const char *name,
                               tt_compress compress, tt_error *err);
/* Room for n more bytes of text, to be used at once: the caller writes there and adds to f->used.
 * NULL if out of memory. */
char *tt_dataset_file_room(tt_dataset_file *f, size_t n);
void tt_dataset_file_put(tt_dataset_file *f, const char *text, size_t n);
/* A stream that writes into the file; the caller closes it before the file. NULL if out of
 * memory. */
FILE *tt_dataset_file_stream(tt_dataset_file *f);
/* Ends the file and reports errors of earlier writes. f->size_bytes is then its size. */
tt_status tt_dataset_file_close(tt_dataset_file *f, tt_error *err);
/* Frees what is kept between files; the written part of an open one stays in the folder. */
void tt_dataset_file_free(tt_dataset_file *f);

#endif
