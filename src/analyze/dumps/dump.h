/* One side of a comparison of values: a trace, or a folder of BitNet-style records.
 *
 * A dump is a list of steps (batches) in execution order. Opening a dump makes the list; the values
 * of a step are read on demand, so that memory is that of one step (and about 100 bytes per step).
 * One thread at a time. */
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
#define TT_DUMP_VALUES_MAX ((size_t)1 << 20) /* per step */
#define TT_DUMP_POSITION_UNKNOWN INT32_MIN

/* Which members of a value's fingerprint are known. */
enum {
    TT_KNOWN_RMS = 1,      /* print.rms */
    TT_KNOWN_STATS = 2,    /* NaN and Inf counts, first bad index, min, max, mean, RMS */
    TT_KNOWN_HASH = 4,     /* print.hash: of the native bytes */
    TT_KNOWN_BLAKE3 = 8,   /* print.blake3: of the elements as float32 */
    TT_KNOWN_PREFIX = 16,  /* print.prefix */
    TT_KNOWN_SAMPLES = 32, /* print.samples */
    TT_KNOWN_DATA = 64     /* tt_dump_data reads all elements */
};

/* An op, with the weight, or the named input of the graph, that it reads: else NULL. */
typedef struct tt_dump_op {
    const char *op, *operand;
} tt_dump_op;
#define TT_DUMP_BETWEEN_MAX 8u

/* A value of a step. Texts belong to the dump or to the step, until the next tt_dump_load into
 * it. */
typedef struct tt_dump_value {
    const char *stage;
    int32_t layer;       /* 0, 1, ...; or TT_STAGE_LAYER_* */
    uint32_t occurrence; /* number among values of the same layer and stage in the step, in order,
                            from 0 */
    const char *name;    /* on this side */
    const char *op;      /* "MUL_MAT"; "" unknown */
    const char *type;    /* ggml's name of the data's type: "f32"; "" unknown */
    uint32_t n_dims;     /* of ne; 0: the shape is unknown, only print.n is known */
    uint64_t ne[8];      /* dimension 0 varies fastest, as in ggml */
    unsigned known;      /* TT_KNOWN_* */
    tt_fingerprint print;
    /* The earlier values of the step that it was computed from, if the dump has_inputs. Values
     * without a fingerprint are replaced by their inputs; weights and other leaves are left out. */
    uint32_t n_inputs;
    uint32_t inputs[TT_DUMP_INPUTS_MAX];
    bool more_inputs; /* the list was cut, or something in between is unknown */
    /* The first ops in between that computed, rather than only moved elements: without a
     * fingerprint, such as what was fused. */
    uint32_t n_between;
    tt_dump_op between[TT_DUMP_BETWEEN_MAX];
    bool ops_between;    /* there are any */
    const char *operand; /* that its op reads, as in tt_dump_op */
    /* The inputs of the graph that it was multiplied with, as a rotation is, joined by "+": its
     * elements are along other axes than those of a value without. A second multiplication with the
     * same one undoes the first. "" none, or unknown. */
    const char *basis;
    bool reads_cache;   /* it also reads what earlier steps wrote into a KV cache (or a state) */
    const char *weight; /* the model's weight that it was computed from; NULL: none, or unknown */
    /* The coarsest type (tt_type_coarseness) of itself, its weights and caches, and everything that
     * its inputs were computed from; "" unknown. */
    const char *coarsest_type;
    /* Likewise, but only of what is between its inputs and itself: the rounding of its own step. */
    const char *own_type;
    /* Of a trace: */
    uint32_t run;  /* in tt_model.runs, or TT_NONE */
    uint32_t node; /* in the run's graph, or TT_NONE */
} tt_dump_value;

/* A step without its values. */
typedef struct tt_dump_head {
    int32_t position;         /* in the text, of its first token; TT_DUMP_POSITION_UNKNOWN */
    int32_t sequence;         /* of its first token; 0 if unknown */
    uint32_t n_tokens;        /* 0: not known */
    const int32_t *tokens;    /* n_tokens, or NULL: unknown */
    const int32_t *positions; /* likewise */
    uint32_t batch;           /* for a trace: in tt_model.batches, or TT_NONE */
    uint32_t token;           /* its number in commands (tt_model_batch_number); TT_NONE: none */
    uint8_t phase;            /* enum tt_phase */
    bool no_place;            /* its position is unknown: it is in no pair */
    uint64_t first, count;    /* private to the kind of dump: location of its values */
} tt_dump_head;

/* Values of a step, in execution order if the dump has_order. Zero-filled is ready; memory is
 * reused for each step. */
typedef struct tt_dump_step {
    tt_dump_value *values;
    size_t n, capacity;
    uint64_t incomplete; /* values with a missing or unreadable part: not in the list */
    void *texts;         /* private: the memory of `values` */
    void (*free_texts)(void *texts);
} tt_dump_step;

typedef struct tt_dump tt_dump;

/* Whether the positions of a folder's records can be trusted. BitNet.rs computes a prompt position
 * by position, names the records of each "t0/..." and overwrites the previous ones: layers then
 * hold the last position, labelled as the first. */
typedef enum tt_dump_locations {
    TT_PLACES_REPORTED, /* each step is at its records' position */
    TT_PLACES_FOUND,  /* such a folder; other records have the last position, which the step gets */
    TT_PLACES_UNKNOWN /* such a folder of one step, of unknown position */
} tt_dump_locations;

/* A kind of dump. */
typedef struct tt_dump_kind {
    const char *title; /* "trace", "folder" */
    /* Fills step->n, values (with tt_dump_add), incomplete; tt_dump_load counts occurrences. */
    tt_status (*load)(tt_dump *d, size_t step, tt_dump_step *out, tt_error *err);
    /* Elements [first, first + n) of a value with TT_KNOWN_DATA, as float32; for a block type,
     * first and n are whole blocks. NULL: this kind has no data. */
    tt_status (*data)(tt_dump *d, const tt_dump_value *v, uint64_t first, size_t n, float *out,
                      tt_error *err);
    void (*close)(void *context);
} tt_dump_kind;

struct tt_dump {
    const tt_dump_kind *kind;
    void *context; /* for the kind */
    const char *path;
    const tt_stages *stages;
    tt_dump_head *steps; /* in order; malloc'ed */
    size_t n_steps;
    bool has_order;  /* a step's values are in execution order */
    bool has_inputs; /* the inputs of values are known */
    tt_dump_locations places;
    const tt_model *model; /* for a trace; else NULL */
    uint64_t unreadable;   /* failed calls of tt_dump_data: values with damaged data */
};

/* Opens a trace, which the caller keeps open, like the stages. TT_OK even if no step has values:
 * n_steps is then 0. *out is closed with tt_dump_close; NULL on failure. */
tt_status tt_dump_of_trace(const tt_model *m, const char *path, const tt_stages *stages,
                           tt_dump **out, tt_error *err);
/* The values of step < d->n_steps, with their occurrences counted. */
tt_status tt_dump_load(tt_dump *d, size_t step, tt_dump_step *out, tt_error *err);
/* See tt_dump_kind. */
tt_status tt_dump_data(tt_dump *d, const tt_dump_value *v, uint64_t first, size_t n, float *out,
                       tt_error *err);
void tt_dump_close(tt_dump *d);
void tt_dump_step_free(tt_dump_step *s);

/* How coarsely numbers of that type (ggml's name) are rounded: 0 like float32, or exact; 1 float16,
 * 2 bfloat16, 3 8 bits, 4 5 or 6, 5 4, 6 fewer. 0 for an unknown type. */
#define TT_TYPE_COARSENESS_MAX 6u
unsigned tt_type_coarseness(const char *type);

/* Whether an op (ggml's name) only moves elements, so that it makes no error of its own. */
bool tt_op_only_moves(const char *op);

/* For kinds of dumps: */

/* A new dump of that kind, without steps; NULL: out of memory (the caller keeps `context`). */
tt_dump *tt_dump_new(const tt_dump_kind *kind, void *context, const char *path,
                     const tt_stages *stages);
/* A new value at the end of the step: zero, except run and node, which are TT_NONE. NULL: out of
 * memory, or TT_DUMP_VALUES_MAX reached. */
tt_dump_value *tt_dump_add(tt_dump_step *s);

/* A folder of BitNet-style records (bitnet/read.h) as a dump. */

/* Reads the whole folder; errors as in tt_bitnet_read. One step per seq, at that position; records
 * without one are a last step of unknown position. Values are ordered by location in the network
 * (before all layers, layer by layer, after them), within a location by the stage map, unknown
 * stages last. A record without the key `stage` and of unknown layer is looked up in the map by its
 * name; likewise an unknown stage. *out is closed with tt_dump_close; NULL on failure. */
tt_status tt_dump_of_bitnet(const char *path, const tt_stages *stages, tt_dump **out,
                            tt_error *err);

#endif
