/* Checks the elements of a weight in the model's file for NaN and infinity. */
#ifndef TT_ANALYZE_VALUES_FIRST_H
#define TT_ANALYZE_VALUES_FIRST_H

#include "analyze/over.h"
#include "analyze/values/values.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* Zero-filled: not checked, without a reason. */
typedef struct tt_values_weight {
    bool looked_at;
    const char *why_not; /* static; NULL if it was checked, or not requested */
    uint64_t elements;
    uint64_t n_bad; /* NaN or infinite */
    /* n_nan and n_inf are valid. For quantised types that are not decoded (q4_K) only the scales
     * are checked; if one is not finite, no element of its block is. */
    bool nan_inf_known;
    uint64_t n_nan, n_inf;
    uint64_t first_bad; /* if n_bad: its index, dimension 0 fastest */
    bool has_place;     /* the shape is known: first_bad_at is valid */
    uint64_t first_bad_at[TT_DIMS];
} tt_values_weight;

/* Reads the weight piece by piece (about 200 KiB of memory), from the file at its path when the
 * trace was made, if that is still the traced one. If it is not, or cannot be read, that is no
 * error: see out->why_not. */
tt_status tt_values_weight_look(const tt_model *m, uint32_t weight, const tt_over *over,
                                tt_values_weight *out, tt_error *err);

/* Where NaN and infinities come from: the first outputs that have some although their sources do
 * not, the state of those sources, and how far they spread. */

#define TT_VALUES_ORIGINS_MAX 32u
#define TT_VALUES_SOURCES_MAX 10u

typedef struct tt_values_source {
    const tt_graph *graph; /* the op's */
    uint32_t tensor;       /* in it */
    uint32_t slot;         /* of the op */
    tt_values_state state;
    /* The output that made it, through views, or the last one that wrote to it (a KV cache), or the
     * one that left NaN or infinities there: its run, node and fingerprint. Run TT_NONE: none was
     * executed while traced. */
    tt_values_row output;
    bool measured;            /* output.print is valid */
    uint32_t weight;          /* in m->weights, or TT_NONE */
    tt_values_weight in_file; /* of a weight, after tt_values_first_weights */
} tt_values_source;

typedef enum tt_values_origin_kind {
    TT_VALUES_MADE_HERE, /* no source was bad, all are known */
    TT_VALUES_INHERITED, /* a source is bad */
    TT_VALUES_UNCERTAIN  /* no source is known to be bad, but one was not measured */
} tt_values_origin_kind;

const char *
tt_values_origin_kind_name(tt_values_origin_kind k); /* "made" "inherited" "uncertain" */

/* A bad output whose sources are not known to be bad. */
typedef struct tt_values_origin {
    tt_values_row row;
    tt_values_origin_kind kind; /* INHERITED: only the first one, if the filter hides its source */
    uint64_t times; /* outputs of that name that originate bad values, over all tokens: this is the
                       first */
    uint32_t n_sources;
    tt_values_source sources[TT_VALUES_SOURCES_MAX];
} tt_values_origin;

/* A bad output's op narrows what it reads: ggml's CPU products convert the other factor to a type
 * that the weight's type decides, and an op may write halves. */
typedef struct tt_values_narrowing {
    const tt_values_source *source; /* a finite, measured one beyond the limit */
    const char *to;                 /* static: "f16", or a type whose scales are f16, as "q8_0" */
    double largest;                 /* magnitude in the source */
    double limit;                   /* what is beyond becomes infinite */
} tt_values_narrowing;

/* Whether that explains the origin. */
bool tt_values_narrowed(const tt_model *m, const tt_values_origin *b, tt_values_narrowing *out);

typedef struct tt_values_first {
    tt_values_counts counts; /* of everything that passes the filter */
    bool found;
    tt_values_origin *origins; /* in execution order: origins[0] is the first bad output */
    size_t n_origins;          /* of different names; kept: at most TT_VALUES_ORIGINS_MAX */
    uint64_t origins_total;    /* all, including repeated names */
    /* How far it spread: */
    uint64_t bad_after;  /* bad outputs after the first, in any run */
    uint64_t inherited;  /* of those, the ones with a bad source */
    uint64_t tokens_bad; /* batches with a bad output */
    uint32_t first_batch,
        last_batch;            /* the first and the last of them (in m->batches), or TT_NONE */
    uint64_t logits;           /* outputs that are logits, and were measured ... */
    uint64_t logits_bad;       /* ... and the bad ones of these */
    uint32_t first_logits_run; /* in m->runs: of the first bad ones, or TT_NONE */
} tt_values_first;

/* Walks the whole trace once, so that sources are known; what passes q's filter and name may be an
 * origin and is counted. *out is freed with tt_values_first_free, also after an error. */
tt_status tt_values_first_bad(const tt_model *m, const tt_values_query *q, const tt_over *over,
                              tt_values_first *out, tt_error *err);
/* Checks the weights among the sources of origins, each once, in the model's file. Takes the time
 * to read them. */
tt_status tt_values_first_weights(const tt_model *m, const tt_over *over, tt_values_first *f,
                                  tt_error *err);
void tt_values_first_free(tt_values_first *f);

#endif
