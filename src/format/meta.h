/* The META stream's records: what was observed besides ops.
 * Specified in docs/format.md, record by record; encoders and decoders of one
 * record stand side by side in meta.c. */
#ifndef TT_FORMAT_META_H
#define TT_FORMAT_META_H

#include "base/bytes.h"
#include "format/chunk.h"

#include <stdbool.h>
#include <stdint.h>

enum tt_meta_type {
    TT_META_ENVIRONMENT = 1,
    TT_META_STRING = 2,
    TT_META_MODEL = 3,
    TT_META_BUFFER = 4,
    TT_META_BUFFER_FREE = 5,
    TT_META_GRAPH = 6,
    TT_META_BATCH = 7,
    TT_META_BATCH_END = 8,
    TT_META_RUN = 9,
    TT_META_RUN_END = 10,
    TT_META_CLOCK = 11,
    TT_META_RING = 12,
    TT_META_COUNTS = 13,
    TT_META_DECODE = 14,
    TT_META_LOSS = 15,
    TT_META_TOKEN_TEXT = 16,
    TT_META_INDICES = 17,
    TT_META_USAGE = 18,     /* format/usage.h */
    TT_META_RESIDENCY = 19, /* format/usage.h */
    TT_META_MODEL_CHECK = 20,
    TT_META_DETAIL_LOSS = 21,
    TT_META_FRONT = 22,
    TT_META_GRAPHS_END = 23
};

#define TT_META_RECORD_MAX (16u << 20)
#define TT_DIMS 4u
#define TT_SRC_MAX 10u

enum {
    TT_BUFFER_HOST = 1,
    TT_BUFFER_FILE = 2,
    TT_BUFFER_ALLOC_SEEN = 4,
    TT_BUFFER_PLACE_UNKNOWN = 8 /* whether it maps a file was not observed */
};

enum { TT_TENSOR_EXECUTES = 1, TT_TENSOR_INPUT = 2, TT_TENSOR_OUTPUT = 4 };

#define TT_PHASES 5u /* of enum tt_phase */
enum { TT_BATCH_TOKENS = 1, TT_BATCH_POSITIONS = 2, TT_BATCH_SEQUENCES = 4 };

/* MODEL_CHECK: the file at the model's path when recording ended. */
enum tt_model_state {
    TT_MODEL_SAME = 0,
    TT_MODEL_CHANGED = 1,  /* the same file, other size or mtime */
    TT_MODEL_REPLACED = 2, /* another file has the name */
    TT_MODEL_GONE = 3
};

typedef struct tt_meta_pair {
    tt_span key;
    tt_span value;
} tt_meta_pair;

typedef struct tt_meta_kv {
    tt_span key;
    uint32_t type; /* GGUF value type */
    tt_span value; /* as text */
} tt_meta_kv;

/* A tensor of a model file. */
typedef struct tt_meta_weight {
    tt_span name;
    uint32_t type;      /* ggml type number */
    uint32_t type_name; /* string id */
    uint32_t n_dims;    /* 0: ne was not observed */
    uint64_t ne[TT_DIMS];
    uint64_t offset_bytes; /* in the file */
    uint64_t size_bytes;
} tt_meta_weight;

typedef struct tt_meta_model {
    uint32_t id;
    tt_span path;
    uint64_t size_bytes;
    uint64_t mtime_ns;
    uint64_t device;
    uint64_t inode;
    uint64_t head_hash;
    uint64_t data_offset_bytes;
    uint32_t n_kv;
    uint32_t n_weights;
} tt_meta_model;

typedef struct tt_meta_buffer {
    uint64_t id;
    uint64_t ticks;
    uint32_t name; /* string id */
    uint8_t usage; /* ggml_backend_buffer_usage */
    uint8_t flags; /* TT_BUFFER_* */
    uint64_t base;
    uint64_t size_bytes;
    uint32_t path;              /* string id, with TT_BUFFER_FILE */
    uint64_t file_offset_bytes; /* of base, with TT_BUFFER_FILE */
    uint32_t model;             /* that the allocating thread had opened last; 0: none */
    uint32_t allocator;         /* string id: file name of the library that asked for it */
} tt_meta_buffer;

/* A tensor of a graph: a node or a leaf. References to others are index + 1; 0 is none. */
typedef struct tt_meta_tensor {
    uint32_t name; /* string ids: name, op_name, op_desc, type_name */
    uint32_t op;
    uint32_t op_name;
    uint32_t op_desc;
    uint32_t type;
    uint32_t type_name;
    uint32_t flags; /* TT_TENSOR_* */
    uint64_t ne[TT_DIMS];
    uint64_t nb[TT_DIMS]; /* strides in bytes */
    uint64_t size_bytes;
    uint32_t n_src;
    uint32_t src[TT_SRC_MAX];
    uint32_t view_src;
    uint64_t view_offset_bytes;
    uint64_t buffer;   /* id; 0: not known, then location is an address */
    uint64_t location; /* offset in the buffer, or address */
} tt_meta_tensor;

typedef struct tt_meta_graph {
    uint32_t id;
    uint32_t n_nodes;
    uint32_t n_tensors;
} tt_meta_graph;

typedef struct tt_meta_batch {
    uint32_t id;
    uint32_t context;
    uint64_t ticks;
    uint32_t thread;
    uint32_t n_tokens;
    uint32_t n_outputs_plus_1; /* 0: not observed */
    uint8_t phase;             /* enum tt_phase */
    uint8_t flags;             /* TT_BATCH_* */
    uint32_t vocabulary;       /* of its tokens' texts, see TOKEN_TEXT; 0: not known */
    uint32_t n_generate;       /* tokens that were generated, with TT_PHASE_MIXED */
} tt_meta_batch;

/* Per token of a batch: the sequences it belongs to. Token i's are
 * ids[first[i]] .. ids[first[i + 1] - 1]; first has n_tokens + 1 entries. */
typedef struct tt_batch_sequences {
    const uint32_t *first;
    const int32_t *ids;
} tt_batch_sequences;

/* The values of a leaf that holds row numbers (of GET_ROWS, SET_ROWS) in one run; behind it n
 * zigzag differences, the first to 0. */
typedef struct tt_meta_indices {
    uint32_t run;
    uint32_t tensor; /* in the run's graph */
    uint32_t n;
} tt_meta_indices;

typedef struct tt_meta_model_check {
    uint32_t model;
    uint64_t ticks;
    uint8_t state; /* enum tt_model_state */
} tt_meta_model_check;

typedef struct tt_meta_run {
    uint32_t id;
    uint32_t batch;
    uint32_t graph;
    uint8_t observed; /* enum tt_observed */
    uint32_t threads; /* asked for; 0: not observed */
    uint64_t ticks;
    uint32_t thread; /* the OS's id of the calling thread */
} tt_meta_run;

/* BATCH_END and RUN_END. */
typedef struct tt_meta_end {
    uint32_t id;
    uint64_t ticks;
    int64_t status; /* what the engine returned */
} tt_meta_end;

typedef struct tt_meta_clock {
    uint64_t ticks;
    uint64_t mono_ns;
    uint64_t unix_ns;
} tt_meta_clock;

/* FRONT: of a trace that keeps the last of what was recorded, what was thrown away before. */
typedef struct tt_meta_front {
    uint64_t ring_bytes; /* about what is kept */
    uint64_t last_run;   /* runs up to this one have lost ops, or all of them */
    uint64_t ops;        /* records of OPS chunks thrown away */
    uint64_t details;    /* of DETAIL chunks */
    uint64_t bytes;      /* of the chunks */
} tt_meta_front;

typedef struct tt_meta_decode {
    uint64_t begin_ticks;
    uint64_t end_ticks;
    uint32_t n_tokens;
    int64_t status;
    uint32_t thread;
} tt_meta_decode;

/* --- encode: each appends the payload of one record --- */

/* A whole record of the stream: type, length and a payload made by one of the functions below.
 * A failed payload makes out fail. */
void tt_meta_put_record(tt_bytes *out, uint8_t type, const tt_bytes *payload);
void tt_meta_put_pairs(tt_bytes *out, const tt_meta_pair *pairs, uint32_t n);
void tt_meta_put_string(tt_bytes *out, uint32_t id, tt_span text);
/* The head; then n_kv times _kv, a varint n_weights, n_weights times _weight. */
void tt_meta_put_model(tt_bytes *out, const tt_meta_model *m);
void tt_meta_put_kv(tt_bytes *out, const tt_meta_kv *kv);
void tt_meta_put_weight(tt_bytes *out, const tt_meta_weight *w);
void tt_meta_put_buffer(tt_bytes *out, const tt_meta_buffer *b);
void tt_meta_put_buffer_free(tt_bytes *out, uint64_t id, uint64_t ticks);
/* The head; then n_tensors times _tensor; then the backends of the nodes as stretches: a varint
 * number of stretches, each a string id (varint) and how many nodes (varint). */
void tt_meta_put_graph(tt_bytes *out, const tt_meta_graph *g);
void tt_meta_put_tensor(tt_bytes *out, const tt_meta_tensor *t);
/* What a program said of where a node belongs. A GRAPH of a program that records itself ends with a
 * varint number of them, and them. stage: string id; layer: as the program numbers it. */
void tt_meta_put_stage(tt_bytes *out, uint32_t node, uint32_t stage, int32_t layer);
/* tokens and positions: n_tokens each, NULL without the flag; so are the sequences. */
void tt_meta_put_batch(tt_bytes *out, const tt_meta_batch *b, const int32_t *tokens,
                       const int32_t *positions, const tt_batch_sequences *sequences);
void tt_meta_put_token_text(tt_bytes *out, uint32_t vocabulary, int32_t token, tt_span text);
/* The head; then n zigzag differences. */
void tt_meta_put_indices(tt_bytes *out, const tt_meta_indices *x);
void tt_meta_put_model_check(tt_bytes *out, const tt_meta_model_check *m);
void tt_meta_put_run(tt_bytes *out, const tt_meta_run *r);
void tt_meta_put_end(tt_bytes *out, const tt_meta_end *e);
void tt_meta_put_clock(tt_bytes *out, const tt_meta_clock *k);
void tt_meta_put_ring(tt_bytes *out, uint32_t ring, uint32_t thread, uint64_t ticks);
void tt_meta_put_front(tt_bytes *out, const tt_meta_front *f);
/* GRAPHS_END: no later run is of a graph with an id up to this. */
void tt_meta_put_graphs_end(tt_bytes *out, uint32_t graph);
void tt_meta_put_decode(tt_bytes *out, const tt_meta_decode *d);
/* LOSS and DETAIL_LOSS. */
void tt_meta_put_loss(tt_bytes *out, uint32_t ring, uint64_t position, uint64_t dropped);

/* --- decode: each reads the payload of one record; spans point into it.
 * False (c->failed set) when it is cut off or out of range. --- */

/* The next record of a META chunk's payload. False at the end (c->failed tells whether
 * by damage). */
bool tt_meta_next(tt_cursor *c, uint8_t *type, tt_span *payload);
/* What the records of a META payload are about, and how many they are. A record that is malformed
 * ends it: then `kinds` is 0. */
void tt_meta_describe(tt_span meta, tt_index_meta *about, uint32_t *n);
/* The value of `key` in the first ENVIRONMENT record of a META payload that has it, cut to
 * size and NUL-terminated; false when there is none. */
bool tt_meta_find_environment(tt_span meta, const char *key, char *out, size_t size);
bool tt_meta_get_string(tt_cursor *c, uint32_t *id, tt_span *text);
/* Reads n_kv too, but not n_weights: call tt_meta_get_count after the kvs. */
bool tt_meta_get_model(tt_cursor *c, tt_meta_model *m);
bool tt_meta_get_kv(tt_cursor *c, tt_meta_kv *kv);
/* A varint count that cannot exceed what is left at min_bytes each. */
bool tt_meta_get_count(tt_cursor *c, uint32_t *count, uint32_t min_bytes);
bool tt_meta_get_weight(tt_cursor *c, tt_meta_weight *w);
bool tt_meta_get_buffer(tt_cursor *c, tt_meta_buffer *b);
bool tt_meta_get_buffer_free(tt_cursor *c, uint64_t *id, uint64_t *ticks);
bool tt_meta_get_graph(tt_cursor *c, tt_meta_graph *g);
bool tt_meta_get_tensor(tt_cursor *c, tt_meta_tensor *t);
bool tt_meta_get_stage(tt_cursor *c, uint32_t *node, uint32_t *stage, int32_t *layer);
/* After it, with the flags: n_tokens zigzags of tokens, n_tokens of position differences, n_tokens
 * lists of sequences (a varint count, then zigzags); then tt_meta_get_batch_end. */
bool tt_meta_get_batch(tt_cursor *c, tt_meta_batch *b);
bool tt_meta_get_batch_end(tt_cursor *c, tt_meta_batch *b);
bool tt_meta_get_token_text(tt_cursor *c, uint32_t *vocabulary, int32_t *token, tt_span *text);
/* x->n is checked against what is left. */
bool tt_meta_get_indices(tt_cursor *c, tt_meta_indices *x);
bool tt_meta_get_model_check(tt_cursor *c, tt_meta_model_check *m);
bool tt_meta_get_run(tt_cursor *c, tt_meta_run *r);
bool tt_meta_get_end(tt_cursor *c, tt_meta_end *e);
bool tt_meta_get_clock(tt_cursor *c, tt_meta_clock *k);
bool tt_meta_get_ring(tt_cursor *c, uint32_t *ring, uint32_t *thread, uint64_t *ticks);
bool tt_meta_get_front(tt_cursor *c, tt_meta_front *f);
bool tt_meta_get_decode(tt_cursor *c, tt_meta_decode *d);
bool tt_meta_get_loss(tt_cursor *c, uint32_t *ring, uint64_t *position, uint64_t *dropped);

#endif
