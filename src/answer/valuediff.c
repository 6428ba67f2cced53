#include "answer/valuediff.h"

/* What was compared, and the paths of A and B. */
typedef struct view {
    const tt_valuediff *d;
    const char *a, *b;
} view;

TT_COLUMN_GET(get_verdict, view, v,
              tt_cell_text(cell, tt_valuediff_outcome_name(tt_valuediff_outcome_of(v->d)));)
TT_COLUMN_JSON(json_text, view, v, char text[TT_VALUEDIFF_SENTENCE];
               tt_json_string(j, tt_valuediff_text(v->d, text));)
TT_COLUMN_JSON(json_counts, view, v, tt_valuediff_json_counts(j, v->d->counts);)
TT_COLUMN_JSON(json_notes, view, v, {
    char text[TT_VALUEDIFF_SENTENCE];
    tt_json_array(j);
    for (unsigned i = 0; i < TT_VALUEDIFF_NOTES; i++)
        if (tt_valuediff_note(v->d, i, text)) tt_json_string(j, text);
    tt_json_array_end(j);
})

/* --- where the tokens differ --- */

TT_COLUMN_KNOWN(has_position, tt_valuediff, d, d->stopped_position != TT_DUMP_POSITION_UNKNOWN)

static const tt_column stopped_columns[] = {
    TT_FIELD("sequence", "of the token", TT_MEMBER(tt_valuediff, stopped_sequence)),
    TT_FIELD("position", "in the text", TT_MEMBER(tt_valuediff, stopped_position),
             .known = has_position),
    TT_FIELD("token_id_a", "in A", TT_MEMBER(tt_valuediff, stopped_token_a)),
    TT_FIELD("token_id_b", "in B", TT_MEMBER(tt_valuediff, stopped_token_b)),
};
static const tt_schema stopped_schema =
    TT_SCHEMA("not_comparable_from", "the first token that differs", stopped_columns);

/* --- the first values that differ --- */

TT_COLUMN_GET(get_cache, tt_valuediff, d,
              tt_cell_text(cell,
                           d->first_reads_cache ? tt_value_verdict_name(d->first_cache) : NULL);)

static void inputs(const void *context, const void *row, tt_rowset *out)
{
    const tt_valuediff *d = row;
    (void)context;
    *out = tt_valuediff_inputs(d->first_inputs, d->n_first_inputs);
}

static const tt_column first_columns[] = {
    TT_FIELD("inputs", "of its op", .type = TT_CELL_ROWS, .rows = inputs),
    TT_FIELD("cache", "what its op reads of it", .type = TT_CELL_NAME, .get = get_cache),
    TT_FIELD("cache_rel_l2", "error of that", TT_MEMBER(tt_valuediff, first_cache_rel_l2)),
};
static const tt_schema first_schema = TT_SCHEMA("first", "what its op read", first_columns);

TT_COLUMN_JSON(json_first, view, v, {
    const tt_rowset item = tt_valuediff_items(v->d, &v->d->first, 1);
    const tt_rowset more = TT_ROWSET(&first_schema, 0, v, v->d, 1);
    tt_json_object(j);
    tt_rowset_json(j, &item, item.rows);
    tt_rowset_json(j, &more, v->d);
    tt_json_object_end(j);
})
TT_COLUMN_KNOWN(has_first, view, v, v->d->has_first)
TT_COLUMN_KNOWN(has_certain, view, v, v->d->has_first_certain)
TT_COLUMN_KNOWN(has_unequal, view, v, v->d->has_first_unequal)

/* --- all of it --- */

#define ROWS(name, set_)                                                                           \
    static void name(const void *context, const void *row, tt_rowset *out)                         \
    {                                                                                              \
        const tt_valuediff *d = ((const view *)row)->d;                                            \
        (void)context;                                                                             \
        *out = (set_);                                                                             \
    }
ROWS(first_certain, tt_valuediff_items(d, &d->first_certain, 1))
ROWS(first_unequal, tt_valuediff_items(d, &d->first_unequal, 1))
ROWS(steps, tt_valuediff_steps(d))
ROWS(depths, tt_valuediff_depths(d))
ROWS(layers, tt_valuediff_rows(d, false))
ROWS(stages, tt_valuediff_rows(d, true))
ROWS(items, tt_valuediff_items(d, d->items, d->n_items))
TT_COLUMN_ROWS(stopped, view, v, v->d, v->d->stopped)

#define OF_DIFF(key_, about_)                                                                      \
    TT_FIELD(#key_, about_, TT_THROUGH(view, d), TT_MEMBER(tt_valuediff, key_))
#define NESTED(key_, type_, about_, ...)                                                           \
    TT_FIELD(key_, about_, .type = TT_CELL_##type_, __VA_ARGS__)

static const tt_column columns[] = {
    TT_FIELD("a", "the one side", TT_MEMBER(view, a)),
    TT_FIELD("b", "the other", TT_MEMBER(view, b)),
    TT_FIELD("verdict", "equal, close, tokens, differs or nothing", .type = TT_CELL_NAME,
             .get = get_verdict),
    TT_FIELD("text", "the verdict in words", .type = TT_CELL_NAME, .json = json_text),
    OF_DIFF(compared, "values"),
    NESTED("counts", OBJECT, "values by verdict", .json = json_counts),
    OF_DIFF(tokens_known, "the tokens were compared"),
    OF_DIFF(by_order, "batches were paired by their order"),
    OF_DIFF(incomplete_a, "values of A that could not be read"),
    OF_DIFF(incomplete_b, "values of B"),
    NESTED("not_comparable_from", OBJECT, "the first token that differs", .inner = &stopped_schema,
           .rows = stopped),
    NESTED("first", OBJECT, "that diverges", .known = has_first, .json = json_first),
    NESTED("first_certain", OBJECT, "that diverges for sure", .known = has_certain,
           .rows = first_certain),
    NESTED("first_unequal", OBJECT, "that is not equal", .known = has_unequal,
           .rows = first_unequal),
    NESTED("steps", ROWS, "a row for each batch", .rows = steps),
    NESTED("depth", ROWS, "a row for each depth", .rows = depths),
    NESTED("layers", ROWS, "a row for each layer", .rows = layers),
    NESTED("stages", ROWS, "a row for each stage", .rows = stages),
    NESTED("items", ROWS, "a row for each value", .rows = items),
    OF_DIFF(items_left_out, "of the values"),
    NESTED("notes", LIST, "for reading the figures", .json = json_notes),
};
static const tt_schema schema = TT_SCHEMA("valuediff", "values compared", columns);

void tt_valuediff_json(tt_json *j, const tt_valuediff *d, const char *const paths[2])
{
    const view v = {d, paths[0], paths[1]};
    tt_row_json(j, NULL, &schema, NULL, &v);
}
