/* Prompts that were computed again: the same tokens behind the same text had been computed before
 * in the same context, so that it could have kept them.
 *
 * A token is the same if all tokens before it in its sequence are. The last token of a prompt is
 * computed again to get its outputs: one token alone is not listed. */
#ifndef TT_ANALYZE_RECOMPUTED_H
#define TT_ANALYZE_RECOMPUTED_H

#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why the context did not have them any more. */
typedef enum tt_loss {
    TT_LOSS_UNKNOWN,      /* nothing of that kind was seen */
    TT_LOSS_NOT_RECORDED, /* changes of sequences were not recorded */
    TT_LOSS_ELSEWHERE,    /* they are in another sequence, and were never in this one */
    TT_LOSS_REMOVED,      /* the program removed positions of the sequence that held them */
    TT_LOSS_CLEARED,      /* it removed all positions of all sequences, or all other sequences */
    TT_LOSS_NOT_HELD, /* likewise, but the engine held only later positions: a window, or a state */
    TT_LOSS_REFUSED,  /* the engine refused to remove what is behind them */
    TT_LOSS_REPLACED, /* a saved state was restored into their sequence */
    TT_LOSSES
} tt_loss;

typedef struct tt_recomputed {
    uint32_t first_batch, last_batch; /* in m->batches: those that computed them again */
    int32_t sequence;
    int64_t first_position;
    uint32_t n_tokens;  /* computed again, from that position on */
    uint32_t n_prompt;  /* of the prompt that was computed, with those */
    bool is_cut;        /* n_tokens and n_prompt are at least so many */
    bool time_at_least; /* the time of some of them is not known */
    double time_ns; /* their share of the batches' time, by tokens; NAN: not known of any of them */
    uint32_t before; /* in m->batches: the one that had computed the first of them */
    int32_t before_sequence;
    int32_t holder; /* a sequence that still held the first of them; -1: none was seen */
    tt_loss loss;
    uint32_t change; /* in m->sequence_changes; TT_NONE: none */
} tt_recomputed;

typedef struct tt_recomputed_list {
    tt_recomputed *rows; /* in the order of their first batches */
    size_t n;
    bool is_cut; /* too much work, or not all of the trace was loaded: there may be more */
} tt_recomputed_list;

const char *tt_loss_name(tt_loss loss); /* "removed" */
/* Free *out with tt_recomputed_free, also after an error. Takes time in proportion to the tokens
 * and changes: where that is not enough, the list is cut. */
tt_status tt_recomputed_find(const tt_model *m, tt_recomputed_list *out, tt_error *err);
void tt_recomputed_free(tt_recomputed_list *list);
/* Why, as a sentence. */
#define TT_RECOMPUTED_TEXT 400u
const char *tt_recomputed_text(const tt_model *m, const tt_recomputed *r,
                               char out[TT_RECOMPUTED_TEXT]);

#endif
