/* Which tokens a program generates, and which are a prompt's: known from what it passed before.
 *
 * A token is generated when its sequence had an output at the position before it (since the end of
 * its prompt) that was read, so that it can have been chosen from that, and when it is alone in its
 * sequence in its call. Several tokens of a sequence in one call are a prompt, or more of one; but
 * where they follow an output and outputs are asked for more than one of them, they are a draft
 * that is being checked, which is generating. But a call that asks for 64 or more outputs of a
 * sequence scores a text (perplexity): that, and more of it, is a prompt.
 *
 * Contexts that work together, on drafts, compute the same text: what is generated for one is
 * generated for another one that computes the same token at the same position. */
#ifndef TT_ADAPTER_GGML_PHASES_H
#define TT_ADAPTER_GGML_PHASES_H

#include "format/meta.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_PHASES_LAST 256u
#define TT_PHASES_RECENT 512u
#define TT_PHASES_OTHERS 8u

/* The rows of one call of the engine, as the program passed them. */
typedef struct tt_phases_rows {
    uint32_t n;
    const int32_t *positions; /* NULL: the engine continues each sequence */
    const uint32_t *first;    /* n + 1: row i's sequences are ids[first[i]] ... */
    const int32_t *ids;
    const uint8_t *outputs; /* n: logits or embeddings are asked for */
    const int32_t *tokens;  /* NULL: not known */
} tt_phases_rows;

/* A row that was computed. */
typedef struct tt_phases_row {
    int32_t sequence, position, token; /* the first sequence */
    uint32_t call;
    uint8_t phase;
    bool has_output;
} tt_phases_row;

/* Where a sequence stands. Each position from first_output to next - 1 had an output. */
typedef struct tt_phases_sequence {
    int64_t next, first_output; /* one behind the highest int32_t has to fit, too */
    bool seen, is_scored;
    uint32_t call; /* the last one that computed rows of it */
    /* In the call that is looked at: */
    bool touched, generates, is_unknown, ends_in_output;
    uint32_t rows, outputs;
    int64_t first, last, at;          /* positions */
    int64_t outputs_reach;            /* from here to the last row each had an output */
    struct tt_phases_sequence *other; /* that was touched */
} tt_phases_sequence;

/* Of one context. Zero-initialised. One thread at a time. */
typedef struct tt_phases {
    tt_phases_sequence *list; /* by id */
    uint32_t n;
    bool called;  /* a call was looked at */
    bool shifted; /* the engine has moved positions for the call under way */
    /* Whether it would be seen that outputs are read; and whether those of the last call were. */
    bool reads_are_seen, was_read;
    uint32_t n_calls;
    const void *engine_context, *engine_memory; /* whose phases these are; to be compared only */
    /* Other contexts of the process, for the call under way. */
    const struct tt_phases *others[TT_PHASES_OTHERS];
    uint32_t n_others;
    tt_phases_row *recent; /* a ring; NULL: none yet */
    uint64_t n_recent;     /* that were ever put into it */
    /* For batches of unknown sequences: positions of the batch before that had outputs. */
    bool had_output;
    uint32_t n_last;
    int32_t last[TT_PHASES_LAST];
} tt_phases;

/* What each row of a call is (enum tt_phase), into out (n bytes); the sequences move on.
 * first_position: of row 0, where the engine chose it; -1: not known. Unknown rows: of sequences
 * that cannot be, without memory, or behind positions that nobody was seen to compute. */
void tt_phases_judge(tt_phases *p, const tt_phases_rows *rows, int32_t first_position,
                     uint8_t *out);
/* enum tt_phase of a batch whose sequences are not known: by the positions of the one before.
 * positions: n, or NULL. To be asked of every batch. */
uint8_t tt_phases_guess(tt_phases *p, const int32_t *positions, uint32_t n,
                        uint32_t n_outputs_plus_1);
/* The phase of a batch that holds so many tokens of each. */
uint8_t tt_phases_of(uint32_t n_prompt, uint32_t n_generate, uint32_t n_unknown);
/* What the program does to the engine's memory, with the engine's words: of positions from `from`
 * up to, not including, `to`; negative: from the first, to the last. sequence < 0: of all. */
void tt_phases_remove(tt_phases *p, int32_t sequence, int32_t from, int32_t to);
void tt_phases_copy(tt_phases *p, int32_t source, int32_t target, int32_t from, int32_t to);
void tt_phases_keep(tt_phases *p, int32_t sequence); /* removes all others */
void tt_phases_add(tt_phases *p, int32_t sequence, int32_t from, int32_t to, int32_t delta);
void tt_phases_divide(tt_phases *p, int32_t sequence, int32_t from, int32_t to, int32_t divisor);
void tt_phases_free(tt_phases *p);

#endif
