/* Decides which tokens a program generates and which are part of a prompt, from the calls so far.
 *
 * A token is generated if it is alone in its sequence in its call, and its sequence had an output
 * at the previous position (since the end of its prompt) that was read, so that the token can be
 * chosen from it. Several tokens of a sequence in one call are a prompt, or more of one; but if
 * they follow an output and more than one of them requests outputs, they are a draft under
 * verification, which counts as generating. A call that requests 64 or more outputs of a sequence
 * scores a text (perplexity), unless the one before left it one output to choose from, or
 * generated: that text, and more of it, is a prompt.
 *
 * Contexts that cooperate on drafts compute the same text: what is generated for one is generated
 * for another one that computes the same token at the same position.
 *
 * The first generated row of a sequence in a call was chosen before it is computed. The others are
 * drafts: which of them were right shows where the sequence goes on, in its next call or by what is
 * removed from the engine's memory. This is reported afterwards, as the fate of their batch. */
#ifndef TT_ADAPTER_GGML_PHASES_H
#define TT_ADAPTER_GGML_PHASES_H

#include "format/meta.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_PHASES_LAST 256u
#define TT_PHASES_RECENT 512u
#define TT_PHASES_OTHERS 8u
#define TT_PHASES_DRAFTS_MAX 1024u /* rows of a context whose fate is open */

/* The rows of one call of the engine, as passed by the program. */
typedef struct tt_phases_rows {
    uint32_t n;
    const int32_t *positions; /* NULL: the engine continues each sequence */
    const uint32_t *first;    /* n + 1: row i's sequences are ids[first[i]] ... */
    const int32_t *ids;
    const uint8_t *outputs; /* n: logits or embeddings are requested */
    const int32_t *tokens;  /* NULL: not known */
} tt_phases_rows;

/* A row that was computed. */
typedef struct tt_phases_row {
    int32_t sequence, position, token; /* the first sequence */
    uint32_t call;
    uint8_t phase;
    bool has_output;
} tt_phases_row;

/* A draft. */
typedef struct tt_phases_draft {
    int32_t root;           /* the first sequence of the row that it follows in its call */
    int64_t base, position; /* of that row, and its own */
    uint32_t batch;         /* id */
} tt_phases_draft;

/* State of a sequence. Each position from first_output to next - 1 had an output. */
typedef struct tt_phases_sequence {
    int64_t next, first_output; /* highest position + 1, which int32_t may not hold */
    bool seen, is_scored;
    uint32_t call;       /* the last call that computed rows of it */
    bool drafted;        /* drafts were among them */
    bool had_one_output; /* that was the only output of its rows, at their end */
    bool halted;         /* since then the program has cut it where it ends */
    /* In the current call: */
    bool touched, begins, generates, is_unknown, ends_in_output;
    uint32_t rows, outputs;
    uint32_t first_row;
    int32_t root;                     /* the first sequence of that row */
    int64_t first, last, at;          /* positions; first: of the last call until the next one */
    int64_t outputs_reach;            /* from here to the last row, each row had an output */
    struct tt_phases_sequence *other; /* next sequence in the call */
} tt_phases_sequence;

/* State of one context. Zero-initialised. Not thread-safe. */
typedef struct tt_phases {
    tt_phases_sequence *list; /* by id */
    uint32_t n;
    bool called;      /* a call has been processed */
    bool was_cleared; /* all sequences were removed since */
    bool shifted;     /* the engine has moved positions for the current call */
    /* Whether the hooks see reads of outputs; whether those of the last call were read. */
    bool reads_are_seen;
    bool was_read, was_fetched, was_chosen_from; /* not only waited for; not only embeddings */
    /* It has generated a token without a cut after the one before. Then such a cut begins a text.
     */
    bool goes_on;
    bool
        is_trial; /* the last call may have tried the memory: two tokens of id 0 in a new context */
    bool is_lone; /* the last call was one token at position 0 */
    bool drafts, drafts_told; /* another context verifies what this one computes */
    uint32_t n_calls;
    uint32_t last_batch;   /* id of the last call's last batch; 0: not recorded */
    tt_phases_draft *open; /* drafts whose fate is not known */
    size_t n_open, open_capacity;
    tt_meta_fate *fates; /* to be recorded */
    size_t n_fates, fates_capacity;
    const void *engine_context, *engine_memory; /* owner of the phases; only for comparison */
    /* Other contexts of the process, for the current call. */
    struct tt_phases *others[TT_PHASES_OTHERS];
    uint32_t n_others;
    tt_phases_row *recent; /* a ring; NULL: none yet */
    uint64_t n_recent;     /* rows ever put into it */
    /* For batches of unknown sequences: positions of the batch before, which had outputs. */
    bool is_late; /* there may have been batches that were not observed */
    bool has_guessed, had_output;
    uint32_t n_last;
    int32_t last[TT_PHASES_LAST];
} tt_phases;

/* Writes each row's phase (enum tt_phase) into out (n bytes) and advances the sequences.
 * first_position: of row 0 if the engine chose it; -1: unknown. A row is UNKNOWN if its sequence id
 * is invalid, out of memory, or if earlier positions were not observed. drafted (n bytes): whether
 * a row is a draft. */
void tt_phases_assign(tt_phases *p, const tt_phases_rows *rows, int32_t first_position,
                      uint8_t *out, uint8_t *drafted);
/* A drafted row of the current call, whose first sequence this is, is computed by that batch.
 * position < 0: not known. */
void tt_phases_drafted(tt_phases *p, uint32_t batch, int32_t sequence, int32_t position);
/* Notes for the record of that batch that it trains. */
void tt_phases_note_training(tt_phases *p, uint32_t batch);
/* Notes for the record of its last batch that the context drafts, if it does. */
void tt_phases_note_drafting(tt_phases *p);
/* The phase (enum tt_phase) of a batch with unknown sequences, by the positions of the previous
 * batch. positions: n, or NULL. Call it for every batch. */
uint8_t tt_phases_guess(tt_phases *p, const int32_t *positions, uint32_t n,
                        uint32_t n_outputs_plus_1);
/* The phase of a batch with these numbers of tokens. */
uint8_t tt_phases_of(uint32_t n_prompt, uint32_t n_generate, uint32_t n_unknown);
/* The program's changes to the engine's memory, with the engine's arguments: positions from
 * `from` up to, not including, `to`; negative: from the first, to the last. sequence < 0: all. */
void tt_phases_remove(tt_phases *p, int32_t sequence, int32_t from, int32_t to);
void tt_phases_copy(tt_phases *p, int32_t source, int32_t target, int32_t from, int32_t to);
void tt_phases_keep(tt_phases *p, int32_t sequence); /* removes all other sequences */
void tt_phases_add(tt_phases *p, int32_t sequence, int32_t from, int32_t to, int32_t delta);
void tt_phases_divide(tt_phases *p, int32_t sequence, int32_t from, int32_t to, int32_t divisor);
/* A saved state of the sequence was restored, whose last position this is. */
void tt_phases_restore(tt_phases *p, int32_t sequence, int32_t last);
/* Whether the sequence has been computed or restored. */
bool tt_phases_has(const tt_phases *p, int32_t sequence);
void tt_phases_free(tt_phases *p);

#endif
