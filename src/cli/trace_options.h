/* Shared by commands that read a trace: filter options, texts for tables. */
#ifndef TT_CLI_TRACE_OPTIONS_H
#define TT_CLI_TRACE_OPTIONS_H

#include "analyze/cache/whatif.h"
#include "analyze/filter.h"
#include "base/units.h"
#include "cli/options.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The set of the common filters: batch, layer, op, tensor, phase, model, context. */
#define TT_FILTER(S, m)                                                                            \
    {                                                                                              \
        .options = tt_filter_options, .at = TT_OF_(tt_filter, S, m)                                \
    }
extern const tt_option tt_filter_options[];

/* The same one by one, for options S with a tt_filter as member `f.` (with its point; nothing: S is
 * the filter). --batch, with its former name: */
#define TT_FILTER_BATCH(S, f, arg, group)                                                          \
    {"batch",                                                                                      \
     'b',                                                                                          \
     arg,                                                                                          \
     "Only these batches (0 is the first)",                                                        \
     group,                                                                                        \
     TT_RANGE(S, f batch_first, f batch_last),                                                     \
     TT_GIVEN(S, f has_batch)},                                                                    \
    {                                                                                              \
        "token", 't', TT_FORMER                                                                    \
    }
#define TT_FILTER_PHASE(S, f, group)                                                               \
    {                                                                                              \
        "phase", 'p', "PHASE", "Only prompt, generate, mixed or warmup", group,                    \
            TT_NAME(S, f phase, tt_trace_phases)                                                   \
    }
#define TT_FILTER_MODEL(S, f, group)                                                               \
    {                                                                                              \
        "model", 0,                                                                                \
        "NAME",  "Only of the model with a file of this name",                                     \
        group,   TT_TEXT(S, f model)},                                                             \
    {                                                                                              \
        "context", 0, "N", "Only batches of this context of the engine", group,                    \
            TT_WHOLE(S, f context, 0, UINT32_MAX), TT_GIVEN(S, f has_context)                      \
    }
#define TT_LAYER_ABOUT "Only this layer (enc 3: of this stack only; none: outside any)"
/* Where the value of --layer is stored. */
#define TT_FILTER_LAYER(S, f) TT_TAKE(S, f layer, tt_trace_take_layer), TT_GIVEN(S, f has_layer)
tt_option_take tt_trace_take_layer; /* of an int32_t */
#define TT_TRACE_PHASES 4
extern const tt_option_name tt_trace_phases[TT_TRACE_PHASES];

/* --unit, by tt_whatif_unit. */
#define TT_TRACE_UNITS 3
extern const tt_option_name tt_trace_units[TT_TRACE_UNITS];
/* --page-size, for options S and their member m: */
#define TT_TRACE_PAGE_SIZE(S, m, help, group)                                                      \
    {                                                                                              \
        "page-size", 0, "SIZE", help, group, TT_SIZE(S, m, 512, 1u << 30)                          \
    }
/* Rejects a page size that is not a power of two. */
void tt_trace_check_page(tt_parse *p, uint64_t bytes);

/* Both warn on stderr, and the command continues: missing data after a cut, and damaged
 * descriptions ... */
void tt_trace_note_cut(const tt_model *m);
/* ... and chunks of ops found to be damaged so far. */
void tt_trace_note_damage(const tt_model *m);

/* Nothing passed the filters: prints on stderr which of them match nothing in the trace, and what
 * the trace has instead. `what` was to be shown ("op"). TT_EXIT_DIFFERS; or TT_EXIT_OK, if there is
 * nothing of the kind without filters either. Reads every graph. */
int tt_trace_none(const tt_model *m, const tt_filter *f, const char *what);

/* Prints on stderr that a table was cut off after so many rows. */
void tt_trace_note_more(uint64_t rows);

/* A name from the file, made safe for a terminal: control bytes become '?'. In the caller's buffer,
 * which is also returned. */
char *tt_trace_text(char *out, size_t room, const char *text);

#endif
