/* The result of an experiment, stored with its data as run.json: for the list, and to decide
 * whether a repetition would give the same. */
#ifndef TT_EXPERIMENT_RESULTS_H
#define TT_EXPERIMENT_RESULTS_H

#include "base/bytes.h"
#include "base/json.h"
#include "base/status.h"
#include "experiment/settings.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Stamps show whether an input has changed: path, size and modification time (ns) of its files.
 * Never their content: reading a model would bring it into RAM, and what is in RAM is often the
 * subject of the study. */

#define TT_STAMP_KEY 17
#define TT_STAMP_BYTES_MAX ((size_t)16 << 20) /* a reasonable limit for the buffers below */

/* Appends the file's stamp. */
tt_status tt_stamp_file(tt_bytes *out, const char *path, tt_error *err);
/* Appends the stamps of the shared libraries in a folder ("*.so", "*.so.*"), sorted by name. */
tt_status tt_stamp_libraries(tt_bytes *out, const char *folder, tt_error *err);
/* Appends the checksum of a file's content, of at most `limit` bytes; TT_E_LIMIT when it is
 * larger. For small input files. */
tt_status tt_stamp_content(tt_bytes *out, const char *path, size_t limit, tt_error *err);
/* 16 hexadecimal digits. TT_E_MEMORY if the buffer has failed. */
tt_status tt_stamp_key(const tt_bytes *stamp, char out[TT_STAMP_KEY], tt_error *err);

#define TT_RESULT_FILE "run.json"
#define TT_RESULT_ID 33
#define TT_RESULT_FOLDER 64
#define TT_RESULT_CURRENT "current"           /* a link to the last one requested */
#define TT_RESULT_BYTES_MAX ((size_t)8 << 20) /* of a run.json */
#define TT_RESULT_CONDITION_MAX 16384u        /* bytes of tt_result.condition */
#define TT_RESULTS_MAX 100000u                /* in a folder */
#define TT_RESULT_STAGES_MAX 8u

/* What an experiment depends on: with an equal identity its result would be the same. */
typedef struct tt_identity {
    char settings[TT_STAMP_KEY];
    char model[TT_STAMP_KEY];
    char engine[TT_STAMP_KEY];
    char version[32]; /* of tensortrace */
} tt_identity;

typedef struct tt_stage_sum {
    const char *name;
    uint64_t duration_ns;
    uint64_t n_files;
    uint64_t size_bytes;
} tt_stage_sum;

/* Texts are owned; NULL and 0 if unknown. */
typedef struct tt_result {
    char id[TT_RESULT_ID];
    char folder[TT_RESULT_FOLDER]; /* its name in the folder of results; not in the file */
    char timestamp_start[32];      /* RFC 3339, UTC */
    tt_identity identity;
    char *experiment_name; /* common to a command's runs */
    char *label, *domain;
    char *model_file;
    char *prompt;  /* or the name of its file */
    char *engine;  /* name and version, or the program */
    char *options; /* the other settings: "seed=3 mmap=false" */
    /* Its conditions: "memory_limit=60%"; equal for runs under the same conditions, whatever the
     * prompt; "" if none are set. */
    char *condition;
    char *unmet;   /* what the system did not allow of that, in sentences */
    char *ending;  /* how the system killed it: then it has only the folder and perhaps a trace */
    char start[8]; /* "cold", "warm"; "": unchanged */
    uint64_t memory_limit_bytes, group_peak_bytes;
    bool has_resident;
    uint64_t resident_bytes; /* of the model, in RAM when the program was started */
    uint64_t repetition, run_order;
    bool has_order_seed;
    uint64_t order_seed;
    char *command; /* the traced command */
    int64_t tokens_to_generate;
    uint64_t threads;
    uint64_t n_batches;
    double tokens_per_s; /* during generation; 0: unknown */
    uint64_t inference_ns;
    uint64_t duration_ns; /* of all stages together */
    uint64_t n_files;
    uint64_t size_bytes;
    tt_stage_sum stages[TT_RESULT_STAGES_MAX]; /* only written */
    size_t n_stages;
    bool is_current; /* not in the file: the target of the folder's links */
} tt_result;

/* Writes run.json. `e` (of `s`): the settings it was made with. */
bool tt_result_write(const tt_result *r, const tt_settings *s, const tt_experiment *e, FILE *out);
/* *r is freed with tt_result_free also on failure. `name` is for messages. */
tt_status tt_result_parse(tt_result *r, const char *text, size_t size, const char *name,
                          tt_error *err);
void tt_result_free(tt_result *r);

/* Whether this can be the id of an experiment: 32 hexadecimal digits. */
bool tt_result_is_id(const char *name);
/* Whether this can be the name of an experiment's folder: a number of at least two digits and
 * words, "03-code-quicksort"; or an id, as in earlier versions. */
bool tt_result_is_name(const char *name);
/* The target of OUT/current; false if there is none. */
bool tt_result_current(const char *folder, char name[TT_RESULT_FOLDER]);

typedef struct tt_results {
    tt_result *list; /* oldest first */
    size_t n, capacity;
    size_t n_unreadable;  /* folders named like experiments without a readable run.json */
    char unreadable[320]; /* the reason, for the first one */
} tt_results;

/* Lists the experiments in a folder: its folders named by a number and words, or by an id, as in
 * earlier versions. None if the folder is missing. */
tt_status tt_results_scan(tt_results *results, const char *folder, tt_error *err);
void tt_results_free(tt_results *results);
/* Takes ownership of *r, which is then empty. False if out of memory. */
bool tt_results_add(tt_results *results, tt_result *r);
/* The result with that id, or NULL. */
const tt_result *tt_results_by_id(const tt_results *results, const char *id);
/* The newest with this identity; NULL if none. If one differs only in other things than its
 * settings, *changed (at least 64 bytes) names them: "the model, the engine". */
const tt_result *tt_results_find(const tt_results *results, const tt_identity *wanted,
                                 char changed[64]);
extern const tt_schema tt_result_schema;
/* The text for tables (NULL: empty): at most TT_RESULT_SHOWN bytes and "...", without cut
 * characters or control bytes. Returns out. */
#define TT_RESULT_SHOWN 60u
const char *tt_result_short(char *out, size_t room, const char *text);
/* The path's last name; NULL for NULL. */
const char *tt_result_file(const char *path);
/* Writes them as an array, for `list --json` and the index experiments.json. */
void tt_results_json(tt_json *j, const tt_results *results);
/* Writes the keys of one into an open object. */
void tt_result_json(tt_json *j, const tt_result *r);

#endif
