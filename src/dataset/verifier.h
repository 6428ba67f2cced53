/* The checks of a dataset, file by file: the folder's driver (verify.c) and the tests pass it the
 * text of each. Private to this room. */
#ifndef TT_DATASET_VERIFIER_H
#define TT_DATASET_VERIFIER_H

#include "analyze/verify/checks.h"
#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which files of a dataset are in a folder. */

typedef enum tt_dataset_part {
    TT_DATASET_EXPERIMENT,
    TT_DATASET_MEMORY_MAP,
    TT_DATASET_BUFFERS,
    TT_DATASET_GRAPH, /* from here on: one per token */
    TT_DATASET_TRACE
} tt_dataset_part;

#define TT_DATASET_PARTS 5u
#define TT_FOLDER_FILES_MAX (16u << 20) /* files listed of a kind */

/* An existing file. */
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
    char odd_name[80]; /* the first "token-..." with an invalid name, or empty */
    uint64_t odd_names;
} tt_dataset_folder;

#define TT_DATASET_NAME 64

/* Lists the files. TT_E_FORMAT if none is of a dataset; TT_E_IO if the folder cannot be read;
 * TT_E_LIMIT. Freed with tt_dataset_folder_close, also on failure. */
tt_status tt_dataset_folder_open(tt_dataset_folder *f, const char *path, tt_error *err);
void tt_dataset_folder_close(tt_dataset_folder *f);
/* "traces/token-00003.json", with its compression's extension (0: none). */
void tt_dataset_name(tt_dataset_part part, uint32_t number, unsigned packing,
                     char out[TT_DATASET_NAME]);

typedef enum tt_dataset_check {
    TT_CHECK_FILES,
    TT_CHECK_JSON,
    TT_CHECK_KEYS,
    TT_CHECK_ID,
    TT_CHECK_COUNTS,
    TT_CHECK_ORDER,
    TT_CHECK_MAP,
    TT_CHECK_OFFSETS,
    TT_CHECK_LAYERS,
    TT_CHECK_BUFFERS,
    TT_CHECK_GRAPHS,
    TT_CHECK_EXPERTS
} tt_dataset_check;

#define TT_DATASET_CHECKS 12u

/* A tensor of the memory map, its slices together. */
typedef struct tt_map_tensor {
    char *name;
    char *file; /* "" if the map names none */
    uint64_t start, end;
    uint32_t slices; /* 0: a single entry */
} tt_map_tensor;

typedef struct tt_map_file {
    char *name;
    uint64_t size_bytes;
} tt_map_file;

/* Tokens that the dataset declares as missing. */
typedef struct tt_token_range {
    uint64_t first, last;
} tt_token_range;

/* A node of a token's graph that computes. */
typedef struct tt_dataset_op {
    uint64_t node;
    bool seen; /* it has an entry */
} tt_dataset_op;

typedef struct tt_dataset_verifier {
    tt_check *checks; /* TT_DATASET_CHECKS of them */
    const char *name; /* of the current file */
    bool no_memory;
    /* From experiment.json: */
    char id[80];
    char id_name[TT_DATASET_NAME]; /* the first file that had it */
    bool has_batches;
    uint64_t n_batches;
    tt_token_range *left_out; /* ascending, separate */
    size_t n_left_out;
    uint64_t tokens_left_out; /* in total */
    tt_map_file *files;
    size_t n_files;
    bool may_lack; /* entries: the trace was cut off, dropped records, or is damaged */
    /* From memory-map.json: */
    bool has_map;
    uint64_t total_size_bytes;
    tt_map_tensor *tensors; /* by file, name */
    size_t n_tensors;
    bool has_layers;
    uint64_t n_layers;
    /* From buffer-timeline.json: */
    bool has_buffers;
    uint64_t *buffers; /* ids, ascending */
    size_t n_buffers;
    /* Of the current token: */
    bool has_graph;
    uint32_t graph_token;
    uint64_t graph_nodes;
    json_t *nodes;      /* of the graph */
    tt_dataset_op *ops; /* by node */
    size_t n_ops;
} tt_dataset_verifier;

/* Names the checks, all passed so far. `checks` has room for TT_DATASET_CHECKS. */
void tt_dataset_verifier_begin(tt_dataset_verifier *v, tt_check *checks);
/* Checks a file's text. Files must come in the order of tt_dataset_part, a token's graph before its
 * trace: each file is compared with earlier ones. If out of memory, v->no_memory is set. */
void tt_dataset_verifier_file(tt_dataset_verifier *v, tt_dataset_part part, uint32_t number,
                              const char *name, const char *text, size_t n);
void tt_dataset_verifier_free(tt_dataset_verifier *v);

/* The checks of each kind of file, after its keys and types were checked. */
void tt_dataset_check_map(tt_dataset_verifier *v, const json_t *file);
void tt_dataset_check_buffers(tt_dataset_verifier *v, const json_t *file);
void tt_dataset_check_graph(tt_dataset_verifier *v, const json_t *file, uint32_t number);
void tt_dataset_check_trace(tt_dataset_verifier *v, const json_t *file, uint32_t number);

/* A token's entries against its graph: frees the computing nodes, marks the node of an entry (false
 * if the graph has no such op), reports those without an entry. */
void tt_dataset_ops_free(tt_dataset_verifier *v);

/* Reports a failed check of the current file. */
#define TT_OFFEND(v, check, format, ...)                                                           \
    tt_check_offend(&(v)->checks[check], TT_NO_OFFSET, "%s: " format, (v)->name, __VA_ARGS__)

/* Counts one examined thing; true if it is right. */
#define TT_EXAMINE(v, check, right) ((v)->checks[check].examined++, (right))

static inline uint64_t tt_count_of(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static inline double tt_number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static inline const char *tt_text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* Compares a count with the expected one: check `counts`. */
void tt_dataset_check_count(tt_dataset_verifier *v, const char *what, uint64_t is, uint64_t right);
/* The tensor with that name in that file (NULL: the map names none), or NULL. */
const tt_map_tensor *tt_dataset_find_tensor(const tt_dataset_verifier *v, const char *file,
                                            const char *name);
/* Size of the model file, or of the named one; false: not known. */
bool tt_dataset_file_size(const tt_dataset_verifier *v, const char *file, uint64_t *size_bytes);
/* N of "node_N"; false for anything else. */
bool tt_dataset_node_number(const char *id, uint64_t *number);

#endif
