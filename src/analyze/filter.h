/* Filters: which ops the user wants. */
#ifndef TT_ANALYZE_FILTER_H
#define TT_ANALYZE_FILTER_H

#include "analyze/access.h"
#include "analyze/ops.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-filled passes everything. Texts belong to the caller. */
typedef struct tt_filter {
    bool has_batch;
    uint32_t batch_first; /* of tt_model_batch_number */
    uint32_t batch_last;
    bool has_layer;
    int32_t layer; /* of tt_layer_read, or a layer itself: for tt_layer_passes */
    bool has_context;
    uint32_t context; /* tt_batch.context */
    /* fnmatch pattern for the path or the name of one of a model's files: only ops whose graph is
     * of that model, only weights of it. NULL: any. */
    const char *model;
    bool has_lane;
    uint32_t lane;
    unsigned phase;   /* enum tt_phase; 0: any */
    tt_origin origin; /* of any source; TT_ORIGIN_UNKNOWN: any */
    const char *op;   /* name in any case, or one part of a fused op's; NULL: any */
    /* fnmatch pattern for a node's or a source's name; NULL: any. "NAME[N]" also means expert N of
     * the weights NAME: ops that may read it pass, and tt_slice_filter_passes decides which did. */
    const char *tensor;
    const char *text; /* part of the op's, a node's or a source's name, in any case; NULL: any */
    bool has_from, has_to;
    double from_ns, to_ns; /* since the trace's first batch: of the op's start, or with `overlaps`
                            * of any of its time */
    bool overlaps;
    /* For tt_filter_duration: the ops of a log. */
    bool has_least, has_most;
    double least_ns, most_ns;
} tt_filter;

/* Whether the batch (in m->batches, or TT_NONE: none) passes: token, phase, context. */
bool tt_filter_batch(const tt_filter *f, const tt_model *m, uint32_t batch);
/* Whether the pattern is that of the model file: its name, or its path. */
bool tt_filter_file(const char *pattern, const tt_model_file *file);
/* Whether ops of the graph (in m->graphs, or TT_NONE) pass: model. */
bool tt_filter_graph(const tt_filter *f, const tt_model *m, uint32_t graph);
/* By graph, whether a run that passes computed it; for free(). NULL: out of memory. */
bool *tt_filter_graphs(const tt_filter *f, const tt_model *m);
/* Whether the weight passes: model, layer, tensor. */
bool tt_filter_weight(const tt_filter *f, const tt_model *m, const tt_weight *w);
/* Whether the run can hold ops that pass (token, phase, context, model, time). */
bool tt_filter_run(const tt_filter *f, const tt_model *m, const tt_run *run);
/* Whether the op passes, apart from time, duration and lane. */
bool tt_filter_op(const tt_filter *f, const tt_op *op);
bool tt_filter_time(const tt_filter *f, double start_ns);
/* Whether an op on a lane, or on several together, passes: its start, and the end of its waits. */
bool tt_filter_span(const tt_filter *f, double start_ns, double end_ns);
/* Whether an op of that duration passes; open: its end was not observed, so the duration is
 * unknown. */
bool tt_filter_duration(const tt_filter *f, bool open, double duration_ns);

/* Which ops of a model pass (tt_filter_op), each evaluated once. Zero-filled except the first two
 * fields is ready; freed with tt_filter_ops_free. */
typedef struct tt_filter_ops {
    const tt_model *m;
    const tt_filter *filter;
    uint8_t **of_graph; /* by graph, by node; NULL until needed */
    uint32_t n_graphs;  /* private: of of_graph */
    bool failed;        /* out of memory: ops of later graphs do not pass */
} tt_filter_ops;

/* The results for a graph's ops (index in m->graphs), for tt_filter_ops_pass; NULL: all of them
 * pass, or, with `failed`, out of memory. */
uint8_t *tt_filter_ops_of(tt_filter_ops *f, uint32_t graph);
/* Private: evaluates the op and stores the result. */
bool tt_filter_ops_decide(tt_filter_ops *f, uint8_t *verdicts, uint32_t graph, uint32_t node,
                          uint8_t covers);
void tt_filter_ops_free(tt_filter_ops *f);

/* Whether the op at that node of the graph passes. */
static inline bool tt_filter_ops_pass(tt_filter_ops *f, uint8_t *verdicts, uint32_t graph,
                                      uint32_t node, uint8_t covers)
{
    if (!verdicts) return true;
    uint8_t known = verdicts[node];
    if ((known & 1) && known >> 2 == covers) return known & 2;
    return tt_filter_ops_decide(f, verdicts, graph, node, covers);
}

/* "blk.0.ffn_down_exps.weight[2]", expert 2 of that weight, as `heat` writes it, as a filter.
 *
 * Which experts an op reads differs from run to run, so the op's node is not enough
 * (analyze/filter.h); this uses the run's observed choices. If they were not observed, an op may
 * have read any expert: it passes. */

/* Whether the text ends with "[N]", N in decimal: *length is the length before that. */
bool tt_slice_name(const char *text, size_t *length, int32_t *expert);
/* Whether `name` matches the fnmatch pattern `pattern`, without its "[N]" if it ends so. */
bool tt_slice_name_matches(const char *pattern, const char *name);

/* Zero-filled except the first two fields is ready; freed with tt_slice_filter_free. Without a
 * pattern everything passes. */
typedef struct tt_slice_filter {
    const tt_model *m;
    const char *pattern; /* as tt_filter.tensor; belongs to the caller */
    tt_accesses *accesses;
    uint32_t run_plus_1; /* of the accesses */
} tt_slice_filter;

/* For the filter's `tensor`, if that names an expert. */
tt_slice_filter tt_slice_filter_of(const tt_model *m, const tt_filter *filter);
/* Private: with a pattern. */
tt_status tt_slice_filter_look(tt_slice_filter *f, uint32_t run, uint32_t node, uint8_t covers,
                               bool *passes, tt_error *err);
/* Whether the op of that run (index in m->runs), whose names match, read the expert of the pattern,
 * if that ends with "[N]". For each op: without a pattern no call. */
static inline tt_status tt_slice_filter_passes(tt_slice_filter *f, uint32_t run, uint32_t node,
                                               uint8_t covers, bool *passes, tt_error *err)
{
    *passes = true;
    return f->pattern ? tt_slice_filter_look(f, run, node, covers, passes, err) : TT_OK;
}
void tt_slice_filter_free(tt_slice_filter *f);

#endif
