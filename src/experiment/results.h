/* What an experiment came to, kept beside its data as run.json: for the list, and to tell whether
 * it would come out the same today. */
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

/* Whether an input is what it was: path, size and time of last change (ns) of its files. Never
 * their content: to read a model would bring it into RAM, and what of it is there is what many
 * study. */

#define TT_STAMP_KEY 17
#define TT_STAMP_BYTES_MAX ((size_t)16 << 20) /* a good limit for the buffers below */

/* Appends what tells this file from another state of it. */
tt_status tt_stamp_file(tt_bytes *out, const char *path, tt_error *err);
/* The same of the shared libraries in a folder ("*.so", "*.so.*"), sorted by name. */
tt_status tt_stamp_libraries(tt_bytes *out, const char *folder, tt_error *err);
/* Appends the checksum of a file's content, of at most `limit` bytes; TT_E_LIMIT when it is
 * larger. For small files that are input themselves. */
tt_status tt_stamp_content(tt_bytes *out, const char *path, size_t limit, tt_error *err);
/* 16 hexadecimal digits. TT_E_MEMORY when the buffer has failed. */
tt_status tt_stamp_key(const tt_bytes *stamp, char out[TT_STAMP_KEY], tt_error *err);

#define TT_RESULT_FILE "run.json"
#define TT_RESULT_ID 33
#define TT_RESULT_BYTES_MAX ((size_t)8 << 20) /* of a run.json */
#define TT_RESULTS_MAX 100000u                /* in a folder */
#define TT_RESULT_STAGES_MAX 8u

/* What an experiment depends on: equal, and it would come out the same. */
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

/* Texts are owned; NULL and 0 when they are not known. */
typedef struct tt_result {
    char id[TT_RESULT_ID];
    char timestamp_start[32]; /* RFC 3339, UTC */
    tt_identity identity;
    char *model_file;
    char *prompt;  /* or the name of the file it is in */
    char *engine;  /* name and version, or the program */
    char *options; /* the other settings: "seed=3 mmap=false" */
    char *command; /* that was traced */
    int64_t tokens_to_generate;
    uint64_t threads;
    uint64_t n_batches;
    double tokens_per_s; /* of generation; 0: not known */
    uint64_t inference_ns;
    uint64_t duration_ns; /* of all stages */
    uint64_t n_files;
    uint64_t size_bytes;
    tt_stage_sum stages[TT_RESULT_STAGES_MAX]; /* only written */
    size_t n_stages;
    bool is_current; /* not in the file: what the folder's own names lead to */
} tt_result;

/* run.json. `e` (of `s`): the settings it was made with. */
bool tt_result_write(const tt_result *r, const tt_settings *s, const tt_experiment *e, FILE *out);
/* *r is freed with tt_result_free also on failure. `name` is for messages. */
tt_status tt_result_parse(tt_result *r, const char *text, size_t size, const char *name,
                          tt_error *err);
void tt_result_free(tt_result *r);

typedef struct tt_results {
    tt_result *list; /* oldest first */
    size_t n, capacity;
    size_t n_unreadable;  /* folders that look like an experiment's but have no run.json to read */
    char unreadable[320]; /* why, of the first */
} tt_results;

/* Those in a folder. A folder that is not there has none. */
tt_status tt_results_scan(tt_results *results, const char *folder, tt_error *err);
void tt_results_free(tt_results *results);
/* Takes over *r, which is empty then. False without memory. */
bool tt_results_add(tt_results *results, tt_result *r);
/* The one of that id, or NULL. */
const tt_result *tt_results_by_id(const tt_results *results, const char *id);
/* The newest with this identity; NULL when there is none. When one differs only in what is not its
 * settings, *changed (of at least 64 bytes) says in what: "the model, the engine". */
const tt_result *tt_results_find(const tt_results *results, const tt_identity *wanted,
                                 char changed[64]);
extern const tt_schema tt_result_schema;
/* What a table shows of a text (NULL: nothing): at most TT_RESULT_SHOWN bytes of it and "...", no
 * cut character, no control byte. Returns out. */
#define TT_RESULT_SHOWN 60u
const char *tt_result_short(char *out, size_t room, const char *text);
/* The path's last name; NULL of NULL. */
const char *tt_result_file(const char *path);
/* An array of them, for `list --json` and the index experiments.json. */
void tt_results_json(tt_json *j, const tt_results *results);
/* The keys of one, in an object that is open. */
void tt_result_json(tt_json *j, const tt_result *r);

#endif
