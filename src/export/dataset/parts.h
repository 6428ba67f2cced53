/* Shared by the files of a dataset. Private to the format. */
#ifndef TT_EXPORT_DATASET_PARTS_H
#define TT_EXPORT_DATASET_PARTS_H

#include "base/json.h"
#include "base/outfile.h"
#include "export/dataset.h"
#include "export/dataset/file.h"
#include "gguf/reader.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TT_DATASET_TIME_TEXT 40

/* The model for the memory map: read from its file, or assembled from the trace. */
typedef struct tt_dataset_model {
    tt_gguf gguf;
    bool opened;           /* from the file */
    const char *source;    /* the file's path, or "trace" */
    const char *main_path; /* of the file with the model's metadata */
    /* By tt_model.files: the file's name in the dataset; only if there are several. */
    char **names;
    uint32_t n_names;
    /* Private: the memory of a gguf assembled from the trace. */
    tt_gguf_part *parts;
    tt_gguf_kv *kvs;
    tt_gguf_tensor *tensors;
    tt_ggml_type *types;
    uint8_t *values;
    char *path;
} tt_dataset_model;

struct tt_dataset {
    const tt_model *m;
    const tt_export_options *options;
    tt_outdir folder;
    tt_dataset_model model;
    char id[33];
    uint32_t *tokens; /* the batches to write, ascending: indices in m->batches */
    uint32_t n_tokens;
    uint64_t n_runs;                     /* of these */
    uint64_t done, total;                /* files, for the progress */
    atomic_uint_fast64_t orphan_records; /* left out of the traces */
    /* The runs of each batch to write, in the order of m->runs: first_run by batch, next_run by
     * run. */
    uint32_t *first_run, *next_run;
};

/* Finds the model file, checks that it is the traced one, and fills d->model. */
tt_status tt_dataset_find_model(tt_dataset *d, tt_error *err);
void tt_dataset_free_model(tt_dataset_model *model);
/* A low estimate of the size of graphs and traces in bytes. False if out of memory. */
bool tt_dataset_estimate(const tt_dataset *d, double *bytes);
/* A model file's name in the dataset; NULL: there is only one. */
const char *tt_dataset_file_name(const tt_dataset *d, uint32_t file);

/* A small file with one JSON object: begins it, and writes experiment_id; ends it. */
typedef struct tt_dataset_json {
    tt_json json;
    tt_dataset_file file;
    FILE *stream;
} tt_dataset_json;
tt_status tt_dataset_json_open(tt_dataset *d, tt_dataset_json *j, const char *name, tt_error *err);
tt_status tt_dataset_json_close(tt_dataset *d, tt_dataset_json *j, uint64_t n_items,
                                tt_dataset_sum *sum, tt_error *err);

/* A non-negative number, or null. */
void tt_dataset_known(tt_json *j, const char *key, bool known, uint64_t v);
/* "0x7f12": the address of the tensor's bytes; null if not observed. */
void tt_dataset_address(tt_json *j, const char *key, const tt_model *m, const tt_tensor *t);
/* As in model files if ggml uses the same name: "Q4_K", "F32". */
const char *tt_dataset_dtype(const tt_tensor *t);
/* RFC 3339 in UTC with nanoseconds; false: not observed. */
bool tt_dataset_time(uint64_t unix_ns, char out[TT_DATASET_TIME_TEXT]);
/* ns on CLOCK_REALTIME; 0: not observed. */
uint64_t tt_dataset_unix_ns(const tt_model *m, uint64_t ticks);
void tt_dataset_note(const tt_dataset *d, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
