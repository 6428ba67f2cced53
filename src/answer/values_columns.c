/* What the rows of values that are put together are made of, for every output. */
#include "answer/values.h"

#include "base/units.h"

#include <stdio.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define BY(dimension) (uint8_t)(1u << TT_VALUES_BY_##dimension)

static void show_some(uint64_t n, char *out, size_t room)
{
    char text[TT_UNITS_TEXT];
    if (n) (void)snprintf(out, room, "%s", tt_units_count(text, n));
}

#define RANGE(type, key_, title_, member_, known_, show_, about_)                                  \
    TT_COLUMN(key_, title_, FIGURE, about_, .nullable = true, .show = (show_) | TT_SHOW_DASH,      \
              .known = known_, TT_MEMBER(type, member_))

/* --- groups --- */

TT_COLUMN_KNOWN(has_number, tt_values_group, g, g->number >= 0)
TT_COLUMN_KNOWN(has_range, tt_values_group, g, g->has_range)
TT_COLUMN_SHOW(show_bad, tt_values_group, g, show_some(g->bad, out, room);)
TT_COLUMN_SHOW(show_constant, tt_values_group, g, show_some(g->constant, out, room);)
TT_COLUMN_SHOW(show_zero, tt_values_group, g, show_some(g->zero, out, room);)
TT_COLUMN_SHOW(show_repeated, tt_values_group, g, show_some(g->repeated, out, room);)

#define KEY(dimension, key_, title_, about_)                                                       \
    TT_COLUMN(key_, title_, NONE, about_, .kinds = BY(dimension),                                  \
              .show = TT_SHOW_CUT | TT_SHOW_KEY, TT_MEMBER(tt_values_group, key))
#define NUMBER(dimension, key_, title_, about_)                                                    \
    TT_COLUMN(key_, title_, ID, about_, .nullable = true, .kinds = BY(dimension),                  \
              .show = TT_SHOW_DASH, .known = has_number, TT_MEMBER(tt_values_group, number))
#define GROUP(key_, title_, show_, about_)                                                         \
    TT_COLUMN(#key_, title_, COUNT, about_, .show = (show_), TT_MEMBER(tt_values_group, key_))
/* None is nothing in text. */
#define GROUP_SOME(key_, title_, flags_, about_)                                                   \
    TT_COLUMN(#key_, title_, COUNT, about_, .show = (flags_), TT_MEMBER(tt_values_group, key_),    \
              .text = show_##key_)
#define GROUP_RANGE(key_, title_, show_, about_)                                                   \
    RANGE(tt_values_group, #key_, title_, key_, has_range, show_, about_)

static const tt_column group_columns[] = {
    KEY(TENSOR, "name", "NAME", "of the node"),
    KEY(PLACE, "place", "PLACE", "the node's name without its layer"),
    KEY(OP, "op", "OP", "the kind of op"),
    NUMBER(LAYER, "layer_id", "LAYER", "the layer; null: none"),
    NUMBER(BATCH, "batch_id", "BATCH", "the batch; null: outside any"),
    GROUP(outputs, "OUTPUTS", 0, "outputs that were measured"),
    GROUP(elements, "ELEMENTS", TT_SHOW_WIDE, "in them"),
    GROUP_SOME(bad, "BAD", 0, "outputs with a NaN, or an infinity that is no mask's"),
    GROUP(n_nan, NULL, 0, "elements that are NaN"),
    GROUP(n_inf, NULL, 0, "elements that are infinite"),
    GROUP(masking, NULL, 0, "outputs that hold the infinities of a mask"),
    GROUP_SOME(constant, "CONSTANT", TT_SHOW_WIDEST, "outputs of one value"),
    GROUP_SOME(zero, "ZERO", TT_SHOW_WIDE, "of them zero"),
    GROUP_SOME(repeated, "REPEATED", TT_SHOW_WIDE, "outputs that are as in the batch before"),
    GROUP_RANGE(min, "MIN", 0, "of the finite elements"),
    GROUP_RANGE(max, "MAX", 0, "of the finite elements"),
    GROUP_RANGE(mean, "MEAN", TT_SHOW_WIDEST, "of the finite elements"),
    GROUP_RANGE(rms, "RMS", 0, "of the finite elements"),
    GROUP_RANGE(rms_min, "LEAST RMS", TT_SHOW_WIDE, "of one output"),
    GROUP_RANGE(rms_max, "MOST RMS", TT_SHOW_WIDE, "of one output"),
};

static const tt_schema group_schema = {"groups", "outputs put together", group_columns,
                                       COUNT(group_columns)};

tt_rowset tt_values_groups_rowset(const tt_values_groups *g)
{
    return TT_ROWSET(&group_schema, (1u << g->by), NULL, g->list, g->n);
}

/* --- growth --- */

TT_COLUMN_KNOWN(in_layer, tt_values_growth, x, x->layer_id >= 0)
TT_COLUMN_KNOWN(range_known, tt_values_growth, x, x->all.has_range)
TT_COLUMN_KNOWN(has_ratio, tt_values_growth, x, x->has_ratio)
TT_COLUMN_GET(get_phase, tt_values_growth, x, tt_cell_text(cell, tt_phase_name(x->phase));)
TT_COLUMN_GET(get_bad, tt_values_growth, x, cell->u64 = x->all.n_nan + x->all.n_inf;
              cell->known = cell->u64 && !x->all.masking;)

#define LAYER(key_, member_, about_)                                                               \
    TT_COLUMN(key_, NULL, COUNT, about_, TT_MEMBER(tt_values_growth, member_))
#define LAYER_RANGE(key_, title_, member_, about_)                                                 \
    RANGE(tt_values_growth, key_, title_, member_, range_known, 0, about_)

static const tt_column growth_columns[] = {
    TT_COLUMN("phase", "PHASE", NONE, "of the batches", .type = TT_CELL_NAME, .show = TT_SHOW_TEXT,
              .get = get_phase),
    TT_COLUMN("layer_id", "LAYER", ID, "the layer; null: none", .nullable = true,
              .show = TT_SHOW_DASH, .known = in_layer, TT_MEMBER(tt_values_growth, layer_id)),
    LAYER("outputs", outputs, "outputs that were measured"),
    LAYER("elements", all.elements, "in them"),
    LAYER("n_nan", all.n_nan, "elements that are NaN"),
    LAYER("n_inf", all.n_inf, "elements that are infinite"),
    LAYER_RANGE("min", "MIN", all.min, "of the finite elements"),
    LAYER_RANGE("max", "MAX", all.max, "of the finite elements"),
    LAYER_RANGE("mean", NULL, all.mean, "of the finite elements"),
    LAYER_RANGE("rms", "RMS", all.rms, "of the finite elements"),
    LAYER_RANGE("rms_min", "LEAST RMS", rms_min, "of one batch"),
    LAYER_RANGE("rms_max", "MOST RMS", rms_max, "of one batch"),
    RANGE(tt_values_growth, "ratio", "RATIO", ratio, has_ratio, 0,
          "to the RMS of the layer before"),
    TT_COLUMN("bad", "BAD", COUNT, "elements that are NaN or infinite", .type = TT_CELL_U64,
              .show = TT_SHOW_TEXT, .get = get_bad),
};

static const tt_schema growth_schema = {"growth", "a layer's outputs", growth_columns,
                                        COUNT(growth_columns)};

bool tt_values_growth_measured(const void *context, const void *row)
{
    (void)context;
    return ((const tt_values_growth *)row)->outputs > 0;
}

tt_rowset tt_values_growth_rowset(const tt_values_growth *list, size_t n)
{
    return TT_ROWSET(&growth_schema, 0, NULL, list, n);
}
