/* One side of a comparison of values: a trace, or a folder of BitNet-style records.
 *
 * A dump is a list of steps (batches) in order of execution. The list is made when the dump is
 * opened; the values of a step are read when they are asked for, so that memory is that of one step
 * (and some 100 bytes a step). A dump is of one thread. */
#ifndef TT_ANALYZE_DUMPS_DUMP_H
#define TT_ANALYZE_DUMPS_DUMP_H

#include "analyze/dumps/stages.h"
#include "base/status.h"
#include "bitnet/read.h"
#include "model/model.h"
#include "value/fingerprint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_DUMP_INPUTS_MAX TT_SRC_MAX
#define TT_DUMP_VALUES_MAX ((size_t)1 << 20) /* of one step */
#define TT_DUMP_POSITION_UNKNOWN INT32_MIN

/* What is known of a value: its fingerprint holds no more than these. */
enum {
    TT_KNOWN_RMS = 1,      /* print.rms */
    TT_KNOWN_STATS = 2,    /* NaN and Inf counts, first bad index, min, max, mean, RMS */
    TT_KNOWN_HASH = 4,     /* print.hash: of the native bytes */
    TT_KNOWN_BLAKE3 = 8,   /* print.blake3: of the elements as float32 */
    TT_KNOWN_PREFIX = 16,  /* print.prefix */
    TT_KNOWN_SAMPLES = 32, /* print.samples */
    TT_KNOWN_DATA = 64     /* tt_dump_data reads all elements */
};

/* A value of a step. Texts belong to the dump or to the step, until the next tt_dump_load into it.
 */
typedef struct tt_dump_value {
    const char *stage;
    int32_t layer;       /* 0, 1, ...; or TT_STAGE_LAYER_* */
    uint32_t occurrence; /* 0, 1, ... of the same layer and stage in the step, in order */
    const char *name;    /* the side's own */
    const char *op;      /* "MUL_MAT"; "" unknown */
    const char *type;    /* ggml's name of the data's type: "f32"; "" unknown */
    uint32_t n_dims;     /* of ne; 0: the shape is not known, only print.n */
    uint64_t ne[8];      /* dimension 0 runs fastest, as in ggml */
    unsigned known;      /* TT_KNOWN_* */
    tt_fingerprint print;
    /* Where it was computed from, when the dump has_inputs: earlier values of the step. What was
     * not fingerprinted is looked through; weights and other leaves are left out. */
    uint32_t n_inputs;
    uint32_t inputs[TT_DUMP_INPUTS_MAX];
    bool more_inputs;   /* the list was cut, or something on the way is not known */
    bool ops_between;   /* ops that were looked through computed, did not only move elements */
    bool reads_cache;   /* it also reads what earlier steps wrote into a KV cache (or a state) */
    const char *weight; /* of the model, that it was computed from; NULL: none, or not known */
    /* The coarsest type (tt_type_coarseness) among its own, its weights' and caches', and of all
     * that its inputs were computed from; "" unknown. */
    const char *coarsest_type;
    /* Likewise, but only of what came in between its inputs and itself: how coarsely its own step
     * rounds. */
    const char *own_type;
    /* Of a trace: */
    uint32_t run;  /* in tt_model.runs, or TT_NONE */
    uint32_t node; /* in the run's graph, or TT_NONE */
} tt_dump_value;

/* A step without its values. */
typedef struct tt_dump_head {
    int32_t position;         /* in the text, of its first token; TT_DUMP_POSITION_UNKNOWN */
    int32_t sequence;         /* that its first token belongs to; 0 when not known */
    uint32_t n_tokens;        /* 0: not known */
    const int32_t *tokens;    /* n_tokens, or NULL: not known */
    const int32_t *positions; /* likewise */
    uint32_t batch;           /* of a trace: in tt_model.batches, or TT_NONE */
    uint32_t token;        /* what the commands call it (tt_model_batch_number); TT_NONE: nothing */
    uint8_t phase;         /* enum tt_phase */
    bool no_place;         /* nobody knows where it belongs: it is in no pair */
    uint64_t first, count; /* private to the kind of dump: where its values are */
} tt_dump_head;

/* Values of a step, in order of execution where the dump has_order. Zero-filled is ready; memory is
 * kept from step to step. */
typedef struct tt_dump_step {
    tt_dump_value *values;
    size_t n, capacity;
    uint64_t incomplete; /* values of which a part is missing or unreadable: not in the list */
    void *texts;         /* private: what `values` points to */
    void (*free_texts)(void *texts);
} tt_dump_step;

typedef struct tt_dump tt_dump;

/* What the positions of a folder's records are worth. BitNet.rs computes a prompt position by
 * position, names each one's records "t0/..." and writes them over those before: what is left in
 * the layers is of the last position, and says that it is of the first. */
typedef enum tt_dump_places {
    TT_PLACES_TOLD,   /* each step is where its records say */
    TT_PLACES_FOUND,  /* such a folder; other records tell the last position: its step is there */
    TT_PLACES_UNKNOWN /* such a folder of one step, which may be of any position */
} tt_dump_places;

/* A kind of dump. */
typedef struct tt_dump_kind {
    const char *title; /* "trace", "folder" */
    /* Fills step->n, values (with tt_dump_add), incomplete; occurrences are counted by
     * tt_dump_load. */
    tt_status (*load)(tt_dump *d, size_t step, tt_dump_step *out, tt_error *err);
    /* Elements [first, first + n) of a value that has TT_KNOWN_DATA, as float32; of a type in
     * blocks, first and n are of whole blocks. NULL: this kind never has them. */
    tt_status (*data)(tt_dump *d, const tt_dump_value *v, uint64_t first, size_t n, float *out,
                      tt_error *err);
    void (*close)(void *context);
} tt_dump_kind;

struct tt_dump {
    const tt_dump_kind *kind;
    void *context; /* of the kind */
    const char *path;
    const tt_stages *stages;
    tt_dump_head *steps; /* in order; malloc'ed */
    size_t n_steps;
    bool has_order;  /* the values of a step come in the order of execution */
    bool has_inputs; /* values know what they were computed from */
    tt_dump_places places;
    const tt_model *model; /* of a trace; else NULL */
    uint64_t unreadable;   /* calls of tt_dump_data that failed: values with damaged data */
};

/* Of a trace, which is kept open by the caller, as the stages are. TT_OK also when no step has
 * values: n_steps is 0 then. *out is closed with tt_dump_close; NULL on failure. */
tt_status tt_dump_of_trace(const tt_model *m, const char *path, const tt_stages *stages,
                           tt_dump **out, tt_error *err);
/* The values of step < d->n_steps, with their occurrences counted. */
tt_status tt_dump_load(tt_dump *d, size_t step, tt_dump_step *out, tt_error *err);
/* See tt_dump_kind. */
tt_status tt_dump_data(tt_dump *d, const tt_dump_value *v, uint64_t first, size_t n, float *out,
                       tt_error *err);
void tt_dump_close(tt_dump *d);
void tt_dump_step_free(tt_dump_step *s);

/* How coarsely numbers of that type (ggml's name) are rounded: 0 as float32, or exact; 1 float16, 2
 * bfloat16, 3 in 8 bits, 4 in 5 or 6, 5 in 4, 6 in less. 0 for one that is not known. */
#define TT_TYPE_COARSENESS_MAX 6u
unsigned tt_type_coarseness(const char *type);

/* Whether an op (ggml's name) only moves elements of what it reads: it makes no error of its own.
 */
bool tt_op_only_moves(const char *op);

/* For kinds of dumps: */

/* A new dump of that kind, without steps; NULL: no memory (then `context` is the caller's still).
 */
tt_dump *tt_dump_new(const tt_dump_kind *kind, void *context, const char *path,
                     const tt_stages *stages);
/* A new value at the end of the step: zero, but run and node, which are TT_NONE. NULL: no memory,
 * or TT_DUMP_VALUES_MAX are there. */
tt_dump_value *tt_dump_add(tt_dump_step *s);

/* A folder of BitNet-style records (bitnet/read.h) as a dump. */

/* Reads the whole folder; errors as tt_bitnet_read. One step for each seq, at that position;
 * records without one are a step of unknown position, the last. Values come by place in the network
 * (before all layers, layer by layer, behind them), the stages of one place in the order of the
 * stage map, those it does not have last. A record without the key `stage`, of which the layer is
 * not known, is looked up in the map by its name; a stage that the map does not have, too. *out is
 * closed with tt_dump_close; NULL on failure. */
tt_status tt_dump_of_bitnet(const char *path, const tt_stages *stages, tt_dump **out,
                            tt_error *err);

#endif
