/* The batches of one phase, and how those of several runs are paired. */
#ifndef TT_ANALYZE_DIFF_PROFILE_H
#define TT_ANALYZE_DIFF_PROFILE_H

#include "analyze/over.h"
#include "base/idmap.h"
#include "model/arena.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A batch with its runs; if a program has no batches, a run. */
typedef struct tt_unit {
    uint32_t batch; /* in tt_model.batches, or TT_NONE */
    uint32_t first; /* its runs in tt_units.runs, in the order they began */
    uint32_t n_runs;
    uint32_t n_tokens; /* 0: not known */
    int32_t token;     /* of the first one, if has_token */
    int32_t position;  /* likewise, if has_position */
    bool has_token, has_position;
    double time_ns; /* start to end; NAN: not observed */
} tt_unit;

typedef struct tt_units {
    tt_unit *list; /* in the order observed */
    size_t n;
    uint32_t *runs;   /* in tt_model.runs */
    size_t n_unended; /* left out: incomplete */
} tt_units;

/* The units of that phase (enum tt_phase) that have runs. */
tt_status tt_units_list(const tt_model *m, unsigned phase, tt_units *out, tt_error *err);
void tt_units_free(tt_units *u);

/* The k-th compared unit of each file. */
typedef struct tt_unit_pairs {
    size_t n;
    uint32_t **units; /* by file, n each */
    size_t n_files;
    bool by_position;        /* matched by position in the text; else in order */
    size_t tokens_compared;  /* pairs with known ids ... */
    size_t tokens_differ;    /* ... of these, with different ids */
    size_t sizes_differ;     /* pairs with different numbers of tokens */
    size_t positions_differ; /* pairs at different positions */
    bool one_token;          /* every unit is a batch of one token */
} tt_unit_pairs;

/* Pairs by position if all files have ascending positions and share at least half of the shortest
 * list; else in order. Texts are compared between the first file and the one at n_a < n_files. */
tt_status tt_units_pair(const tt_units *files, size_t n_files, size_t n_a, tt_unit_pairs *out,
                        tt_error *err);
void tt_unit_pairs_free(tt_unit_pairs *p);

/* The time that one run spent in each op, token by token: one side of a comparison.
 *
 * An op that recurs in each token is one slot, even if its graph changes (a cache that has grown):
 * it is identified by the names and kinds of its nodes. Sums cover all requested units; samples
 * every stride-th of them, so that memory depends on the graphs and not on the length of the
 * trace. */

#define TT_PROFILE_SAMPLES_MAX 1024u
#define TT_PROFILE_SAMPLES_MIN 64u
/* Of all slots together, 16 bytes each. Larger graphs get fewer samples. */
#define TT_PROFILE_CELLS_MAX ((size_t)8 << 20)
#define TT_PROFILE_SLOTS_MAX (1u << 16)
/* Nodes of all classes together. */
#define TT_PROFILE_NODES_MAX (4u << 20)
/* Size of the maps from graphs' nodes to slots. */
#define TT_PROFILE_MAPS_BYTES_MAX ((size_t)64 << 20)

/* The slot for the time of a unit outside of ops. */
#define TT_PROFILE_BETWEEN 0u

typedef struct tt_profile_slot {
    uint64_t key; /* identifies it in other runs of the program */
    const char *name;
    const char *op;
    uint32_t n_nodes;
    tt_place place;
    uint64_t count; /* executions */
    uint64_t ticks;
    double wait_ticks; /* of these, the part in which the lanes did not compute, averaged over
                          them */
    uint64_t weight_bytes;
    bool at_most;
    float *times_ns; /* by sample; NAN: it did not run */
    float *waits_ns;
    float *off_ns;  /* of times_ns, off CPU: of the thread that finished last; 0 if not observed */
    float *work_ns; /* its threads' own work: without waits and time off CPU, averaged over them */
} tt_profile_slot;

/* A node in the order in which a unit computed it. */
typedef struct tt_profile_node {
    uint32_t run; /* of the unit: its first, second, ... */
    uint32_t node;
    uint32_t slot;
} tt_profile_node;

/* Units that computed the same nodes in the same order, with the same fusions. */
typedef struct tt_profile_class {
    uint64_t key;
    uint32_t n_nodes;
    tt_profile_node *nodes;
} tt_profile_class;

typedef struct tt_profile {
    const tt_model *m;
    const tt_units *units;
    tt_profile_slot *slots;
    uint32_t n_slots, slots_capacity;
    uint32_t n_samples; /* per slot */
    uint32_t stride;    /* every stride-th unit is a sample */
    double off_ticks;   /* of all ops, as off_ns */
    float *unit_ns;     /* by sample: start to end; NAN: not observed */
    tt_profile_class *classes;
    uint32_t n_classes, classes_capacity;
    uint32_t *class_of; /* by requested unit */
    size_t n_units;
    uint64_t records; /* joined: ops x lanes */
    uint64_t orphan;
    uint32_t lanes; /* the most of any op */
    tt_idmap slot_of_key, class_of_key, class_of_signature;
    uint64_t n_class_nodes;
    tt_arena texts;
} tt_profile;

typedef void tt_profile_progress(void *context, uint64_t done, uint64_t total);

typedef struct tt_profile_plan {
    const tt_model *m;
    const tt_units *units;
    const uint32_t *list; /* n of them, in units->list */
    size_t n;
    uint32_t stride;
    bool waits_inside;             /* threads' waits inside ops are no computing: all sides know */
    bool structure_only;           /* classes only: known graphs are not read again */
    tt_profile_progress *progress; /* or NULL */
    void *context;                 /* for progress */
    tt_over over;
} tt_profile_plan;

/* The stride for n units at which samples of graphs with that many executed nodes fit. */
uint32_t tt_profile_stride(size_t n, uint32_t executed);
/* The most nodes that any unit's graphs execute. */
uint32_t tt_profile_executed(const tt_model *m, const tt_units *units, const uint32_t *list,
                             size_t n);
/* Free *out with tt_profile_free; NULL on failure. m and units must outlive it. Needs a clock. */
tt_status tt_profile_make(const tt_profile_plan *plan, tt_profile **out, tt_error *err);
void tt_profile_free(tt_profile *p);

/* The name of a node without the engine's number of unnamed nodes: "node_21 (view)" is "
 * (view)". */
const char *tt_profile_name(const char *name);
/* Mixes a text into a hash (64-bit FNV-1a). */
uint64_t tt_profile_hash(uint64_t hash, const char *text);
#define TT_PROFILE_HASH 0xcbf29ce484222325u

#endif
