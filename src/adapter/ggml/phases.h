/* Decides which tokens a program generates and which are part of a prompt, from the calls so far.
 *
 * A token is generated if it is alone in its sequence in its call, and its sequence had an output
 * at the previous position (since the end of its prompt) that was read, so that the token can be
 * chosen from it. Several tokens of a sequence in one call are a prompt, or more of one; but if
 * they follow an output and more than one of them requests outputs, they are a draft under
 * verification, which counts as generating. A call that requests 64 or more outputs of a sequence
 * scores a text (perplexity): that text, and more of it, is a prompt.
 *
 * Contexts that cooperate on drafts compute the same text: what is generated for one is generated
 * for another one that computes the same token at the same position. */
#ifndef TT_ADAPTER_GGML_PHASES_H
#define TT_ADAPTER_GGML_PHASES_H

#include "format/meta.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_PHASES_LAST 256u
#define TT_PHASES_RECENT 512u
#define TT_PHASES_OTHERS 8u

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

/* State of a sequence. Each position from first_output to next - 1 had an output. */
typedef struct tt_phases_sequence {
    int64_t next, first_output; /* highest position + 1, which int32_t may not hold */
    bool seen, is_scored;
    uint32_t call; /* the last call that computed rows of it */
    /* In the current call: */
    bool touched, generates, is_unknown, ends_in_output;
    uint32_t rows, outputs;
    int64_t first, last, at;          /* positions */
    int64_t outputs_reach;            /* from here to the last row, each row had an output */
    struct tt_phases_sequence *other; /* next sequence in the call */
} tt_phases_sequence;

/* State of one context. Zero-initialised. Not thread-safe. */
typedef struct tt_phases {
    tt_phases_sequence *list; /* by id */
    uint32_t n;
    bool called;  /* a call has been processed */
    bool shifted; /* the engine has moved positions for the current call */
    /* Whether the hooks see reads of outputs; whether those of the last call were read. */
    bool reads_are_seen, was_read;
    uint32_t n_calls;
    const void *engine_context, *engine_memory; /* owner of the phases; only for comparison */
    /* Other contexts of the process, for the current call. */
    const struct tt_phases *others[TT_PHASES_OTHERS];
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
 * is invalid, out of memory, or if earlier positions were not observed. */
void tt_phases_assign(tt_phases *p, const tt_phases_rows *rows, int32_t first_position,
                      uint8_t *out);
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
void tt_phases_free(tt_phases *p);

#endif
