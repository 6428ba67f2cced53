/* What the files of a dataset share. Private to the format. */
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

/* The model as the memory map tells it: read from its file, or put together from what the trace
 * holds of it. */
typedef struct tt_dataset_model {
    tt_gguf gguf;
    bool opened;           /* from the file */
    const char *source;    /* the file's path, or "trace" */
    const char *main_path; /* of the file with the model's metadata */
    /* By tt_model.files: what the file is called in the dataset; only when there are several. */
    char **names;
    uint32_t n_names;
    /* Private: what a gguf from the trace points into. */
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
    uint32_t *tokens; /* the batches that are written, ascending: in m->batches */
    uint32_t n_tokens;
    uint64_t n_runs;                     /* of these */
    uint64_t done, total;                /* files, for the progress */
    atomic_uint_fast64_t orphan_records; /* left out of the traces */
    /* The runs of each batch that is written, in the order of m->runs: first_run by batch, next_run
     * by run. */
    uint32_t *first_run, *next_run;
};

/* Finds the model file, checks that it is the one that was traced, and fills d->model. */
tt_status tt_dataset_find_model(tt_dataset *d, tt_error *err);
void tt_dataset_forget_model(tt_dataset_model *model);
/* About how many bytes the graphs and traces will have, rather too few. False without memory. */
bool tt_dataset_estimate(const tt_dataset *d, double *bytes);
/* What a model file is called in the dataset; NULL: there is one only. */
const char *tt_dataset_file_name(const tt_dataset *d, uint32_t file);

/* A small file, as one JSON object: begins it, and writes experiment_id; ends it. */
typedef struct tt_dataset_json {
    tt_json json;
    tt_dataset_file file;
    FILE *stream;
} tt_dataset_json;
tt_status tt_dataset_json_open(tt_dataset *d, tt_dataset_json *j, const char *name, tt_error *err);
tt_status tt_dataset_json_close(tt_dataset *d, tt_dataset_json *j, uint64_t n_items,
                                tt_dataset_sum *sum, tt_error *err);

/* A number that is not negative, or null. */
void tt_dataset_known(tt_json *j, const char *key, bool known, uint64_t v);
/* "0x7f12": where the tensor's bytes are; null when that was not observed. */
void tt_dataset_address(tt_json *j, const char *key, const tt_model *m, const tt_tensor *t);
/* As stored in model files when ggml calls it the same: "Q4_K", "F32". */
const char *tt_dataset_dtype(const tt_tensor *t);
/* RFC 3339 in UTC with as many digits of the second as ns tell; false: not observed. */
bool tt_dataset_time(uint64_t unix_ns, char out[TT_DATASET_TIME_TEXT]);
/* ns on CLOCK_REALTIME; 0: not observed. */
uint64_t tt_dataset_unix_ns(const tt_model *m, uint64_t ticks);
void tt_dataset_note(const tt_dataset *d, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
