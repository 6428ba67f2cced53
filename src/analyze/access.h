/* Accesses: which bytes of which weights an executed op read. All analyses and exports take from
 * here how much was read and where.
 *
 * A plain op reads the view that it names; a row gather (GET_ROWS) reads the requested rows; an
 * expert matmul (MUL_MAT_ID) reads the slices of the chosen experts. If rows or experts were not
 * observed, there is one access for the source: its span is the whole tensor, its size what so many
 * numbers can select. That is the amount for one number; for several, which may be equal, it is an
 * upper bound. */
#ifndef TT_ANALYZE_ACCESS_H
#define TT_ANALYZE_ACCESS_H

#include "analyze/ops.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_EXPERT_NONE (-1)

typedef struct tt_access {
    uint32_t weight;       /* in tt_model.weights */
    uint32_t tensor;       /* the source, in the op's graph */
    int32_t expert;        /* of an expert matmul's slice or bias; else TT_EXPERT_NONE */
    uint32_t uses;         /* tokens that chose that expert, rows merged into the range; else 1 */
    uint64_t offset_bytes; /* absolute, in the weight's file */
    uint64_t span_bytes;   /* what was read is in [offset, offset + span) ... */
    uint64_t size_bytes;   /* ... and is this much of it */
    bool at_most;          /* size_bytes is an upper bound */
} tt_access;

/* Whether it is known where it read: all of its span. */
static inline bool tt_access_is_placed(const tt_access *a)
{
    return !a->at_most && a->size_bytes == a->span_bytes;
}

/* The experts chosen by one expert matmul, for the rows that it computes. */
typedef struct tt_choice {
    uint32_t node;  /* the first node that uses these ids: the one in the details */
    uint32_t token; /* row of the ids: of the batch, or (after a GET_ROWS) of its outputs */
    uint32_t rank;
    uint32_t expert;
    float weight; /* NAN: not observed */
} tt_choice;

typedef struct tt_accesses tt_accesses;

/* NULL if out of memory. m must outlive it. */
tt_accesses *tt_accesses_new(const tt_model *m);
void tt_accesses_free(tt_accesses *a);

/* Ops are of this run from now on (index in tt_model.runs): loads its details and indices. */
tt_status tt_accesses_run(tt_accesses *a, uint32_t run, tt_error *err);
/* The bytes of weights that the op reads, in the order of its sources, each by ascending offset;
 * they do not overlap within a source. The list is valid until the next call. */
tt_status tt_accesses_of(tt_accesses *a, const tt_op *op, const tt_access **list, size_t *n,
                         tt_error *err);
/* Replaces what tt_op_describe assumed to be read by the bytes of the accesses. */
void tt_access_apply(tt_op *op, const tt_access *list, size_t n);
/* The choices of the run, by ascending node, token, rank; valid until tt_accesses_run. Weights are
 * taken from the routing weights. */
const tt_choice *tt_accesses_choices(const tt_accesses *a, size_t *n);
/* The choices of one router (a node of tt_access_router) in such a list: list[*first] .. list[*end
 * - 1]. */
void tt_choices_of(const tt_choice *list, size_t n, uint32_t router, size_t *first, size_t *end);
/* The node under which the choices of this expert matmul (a node of g) are listed: the first one
 * that uses the same ids; TT_NONE if it is no expert matmul. */
uint32_t tt_access_router(const tt_graph *g, uint32_t node);
/* Whether the choices of that router (as of tt_access_router) are to be counted. A program's own
 * eval callback makes the engine compute node by node: then each expert matmul is a run of its own,
 * and shows the same choices again. They count where the ids are computed, or else in the first run
 * of the batch that takes ids of that name. */
bool tt_access_router_counts(const tt_model *m, uint32_t run, uint32_t router);
/* Whether the choices of every row of a router were observed in this run. */
bool tt_accesses_router_known(const tt_accesses *a, uint32_t router);

#endif
