/* The columns of a comparison of values, for every output. */
#include "analyze/dumps/valuediff_columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define SCHEMA(name_, about_)                                                                      \
    static const tt_schema name_##_schema = {#name_, about_, name_##_columns,                      \
                                             COUNT(name_##_columns)}
/* A column with text only. */
#define SHOWN(key_, title_, about_, show_, get_)                                                   \
    TT_COLUMN(key_, title_, NONE, about_, .type = TT_CELL_NAME, .show = TT_SHOW_TEXT | (show_),    \
              .get = get_)

/* "" for unknown figures; in JSON they are null, as are infinite ones. */
static void figure(double v, char *out, size_t room)
{
    if (!isnan(v)) (void)snprintf(out, room, v == 0 ? "0" : "%.3g", v);
}

#define LAYER_TEXT 40
/* "layer 3", "after all layers" ... */
static char *layer_text(int32_t layer, bool behind, char out[LAYER_TEXT])
{
    if (layer >= 0)
        (void)snprintf(out, LAYER_TEXT, "layer %" PRId32, layer);
    else if (layer == TT_STAGE_LAYER_UNKNOWN)
        (void)snprintf(out, LAYER_TEXT, "layer unknown");
    else
        (void)snprintf(out, LAYER_TEXT, "%s",
                       layer == TT_STAGE_LAYER_AFTER_ALL ? "after all layers"
                       : behind                          ? "output"
                                                         : "input");
    return out;
}

static const char *verdict(tt_value_verdict v)
{
    return v == TT_VALUE_UNMEASURED   ? "not measured"
           : v == TT_VALUE_OTHER_BITS ? "other bits"
                                      : tt_value_verdict_name(v);
}

static void stage(tt_cell *cell, const char *name, uint32_t occurrence)
{
    tt_cell_format(cell, occurrence ? "%s (no. %" PRIu32 ")" : "%s", name, occurrence + 1);
}

static void position(tt_cell *cell, const tt_valuediff *d, uint32_t pair)
{
    const tt_valuediff_step *s = &d->steps[pair];
    if (s->position == TT_DUMP_POSITION_UNKNOWN)
        tt_cell_format(cell, "#%" PRIu32, pair);
    else if (s->n_tokens > 1)
        tt_cell_format(cell, "%" PRId32 "-%" PRId64, s->position,
                       (int64_t)s->position + s->n_tokens - 1);
    else
        tt_cell_format(cell, "%" PRId32, s->position);
}

void tt_valuediff_json_counts(tt_json *j, const uint64_t counts[TT_VALUE_VERDICTS])
{
    tt_json_object(j);
    for (unsigned v = 0; v < TT_VALUE_VERDICTS; v++)
        tt_json_kv_u64(j, tt_value_verdict_name(v), counts[v]);
    tt_json_object_end(j);
}

/* Columns shared by rows of several kinds, for a row of struct TYPE. */
#define LAYER(type)                                                                                \
    TT_COLUMN("layer", NULL, ID, "the layer; negative: before or after all layers; null: unknown", \
              .nullable = true, .known = type##_layer_known,                                       \
              TT_MEMBER(tt_valuediff_##type, layer))
#define POSITION(type)                                                                             \
    TT_COLUMN("position", NULL, ID, "position of the first token in the text", .nullable = true,   \
              .known = type##_position_known, TT_MEMBER(tt_valuediff_##type, position))
#define COUNTS(of)                                                                                 \
    TT_COLUMN("counts", NULL, NONE, "values by verdict", .type = TT_CELL_ROWS,                     \
              .json = of##_json_counts)
#define MEMBER(type, key_, member_, about_)                                                        \
    TT_COLUMN(key_, NULL, NONE, about_, .nullable = true, TT_MEMBER(tt_valuediff_##type, member_))

#define LAYER_KNOWN(type)                                                                          \
    TT_COLUMN_KNOWN(type##_layer_known, tt_valuediff_##type, r, r->layer != TT_STAGE_LAYER_UNKNOWN)
#define POSITION_KNOWN(type)                                                                       \
    TT_COLUMN_KNOWN(type##_position_known, tt_valuediff_##type, r,                                 \
                    r->position != TT_DUMP_POSITION_UNKNOWN)
#define JSON_COUNTS(type)                                                                          \
    TT_COLUMN_JSON(type##_json_counts, tt_valuediff_##type, r,                                     \
                   tt_valuediff_json_counts(j, r->counts);)

LAYER_KNOWN(input)
LAYER_KNOWN(item)
LAYER_KNOWN(depth)
LAYER_KNOWN(row)
POSITION_KNOWN(item)
POSITION_KNOWN(step)
JSON_COUNTS(step)
JSON_COUNTS(depth)
JSON_COUNTS(row)

/* --- a side of a value --- */

TT_COLUMN_GET(place_op, tt_valuediff_place, p, tt_cell_text(cell, *p->op ? p->op : NULL);)
TT_COLUMN_GET(place_type, tt_valuediff_place, p, tt_cell_text(cell, *p->type ? p->type : NULL);)
TT_COLUMN_KNOWN(has_token, tt_valuediff_place, p, p->token != TT_NONE)
TT_COLUMN_KNOWN(has_run, tt_valuediff_place, p, p->run != TT_NONE)
TT_COLUMN_KNOWN(has_node, tt_valuediff_place, p, p->node != TT_NONE)
TT_COLUMN_KNOWN(has_counts, tt_valuediff_place, p, p->has_counts)
TT_COLUMN_KNOWN(has_rms, tt_valuediff_place, p, p->has_rms)

TT_COLUMN_JSON(json_ne, tt_valuediff_place, p, tt_json_array(j);
               for (uint32_t i = 0; i < p->n_dims && i < 8; i++) tt_json_u64(j, p->ne[i]);
               tt_json_array_end(j);)

#define PLACE(key_, known_, member_, about_)                                                       \
    TT_COLUMN(key_, NULL, NONE, about_, .nullable = true, .known = known_,                         \
              TT_MEMBER(tt_valuediff_place, member_))

static const tt_column place_columns[] = {
    MEMBER(place, "name", name, "name of the node"),
    TT_COLUMN("op", NULL, NONE, "what computed it", .type = TT_CELL_NAME, .nullable = true,
              .get = place_op),
    TT_COLUMN("type", NULL, NONE, "type of its elements", .type = TT_CELL_NAME, .nullable = true,
              .get = place_type),
    MEMBER(place, "tensor", weight, "that the op reads"),
    MEMBER(place, "step", step, "number of the batch in the file"),
    PLACE("batch_id", has_token, token, "the batch"),
    PLACE("run", has_run, run, "number of the run"),
    PLACE("node", has_node, node, "number in the graph"),
    TT_COLUMN("ne", NULL, NONE, "its shape", .type = TT_CELL_ROWS, .json = json_ne),
    MEMBER(place, "elements", n, "number of elements"),
    PLACE("n_nan", has_counts, n_nan, "of them NaN"),
    PLACE("n_inf", has_counts, n_inf, "of them infinite"),
    PLACE("rms", has_rms, rms, "their root of the mean square"),
};

SCHEMA(place, "a side of a value");

/* --- values --- */

TT_COLUMN_GET(item_verdict, tt_valuediff_item, i,
              tt_cell_text(cell, tt_value_verdict_name(i->verdict));)
TT_COLUMN_GET(item_blame, tt_valuediff_item, i, tt_cell_text(cell, tt_value_blame_name(i->blame));)
TT_COLUMN_GET(item_basis, tt_valuediff_item, i,
              tt_cell_text(cell, tt_value_basis_name(i->error.basis));)
TT_COLUMN_VALUE(is_infinite, tt_valuediff_item, i, boolean, isinf(i->error.rel_l2))
TT_COLUMN_KNOWN(has_worst, tt_valuediff_item, i, i->error.worst != TT_VALUE_NONE)
TT_COLUMN_ROWS(item_a, tt_valuediff_item, i, &i->a, i->a.present)
TT_COLUMN_ROWS(item_b, tt_valuediff_item, i, &i->b, i->b.present)
TT_COLUMN_GET(text_position, tt_valuediff_item, i, position(cell, context, i->pair);)
TT_COLUMN_GET(text_layer, tt_valuediff_item, i,
              if (i->layer >= 0) tt_cell_format(cell, "%" PRId32, i->layer);)
TT_COLUMN_GET(text_stage, tt_valuediff_item, i, stage(cell, i->stage, i->occurrence);)
TT_COLUMN_GET(text_name, tt_valuediff_item, i,
              tt_cell_text(cell, i->a.present ? i->a.name : i->b.name);)
TT_COLUMN_SHOW(show_verdict, tt_valuediff_item, i,
               (void)snprintf(out, room, "%s", verdict(i->verdict));)
TT_COLUMN_SHOW(show_rel_l2, tt_valuediff_item, i, const bool bound = i->error.at_least;
               if (bound && !isnan(i->error.rel_l2))(void)
                   snprintf(out, room, "≥%.3g", i->error.rel_l2);
               else figure(i->error.rel_l2, out, room);)
TT_COLUMN_SHOW(show_gap, tt_valuediff_item, i, figure(tt_cosine_gap(i->error.cosine), out, room);)
TT_COLUMN_SHOW(show_max_abs, tt_valuediff_item, i, figure(i->error.max_abs, out, room);)
TT_COLUMN_SHOW(show_allowed, tt_valuediff_item, i,
               if (i->verdict >= TT_VALUE_CLOSE && i->verdict <= TT_VALUE_DIFFERS)
                   figure(i->tolerance.rel_l2, out, room);)
TT_COLUMN_SHOW(show_blame, tt_valuediff_item, i,
               static const char *const texts[] = {"", "made here", "inherited", "unknown",
                                                   "here, or ops on one side"};
               (void)snprintf(out, room, "%s", texts[i->blame]);)

#define WORST(key_, member_, about_)                                                               \
    TT_COLUMN(key_, NULL, NONE, about_, .nullable = true, .known = has_worst,                      \
              TT_MEMBER(tt_valuediff_item, error.member_))
#define SIDE(key_, rows_, about_)                                                                  \
    TT_COLUMN(key_, NULL, NONE, about_, .type = TT_CELL_OBJECT, .inner = &place_schema,            \
              .rows = rows_)

static const tt_column item_columns[] = {
    MEMBER(item, "pair", pair, "number of the pair of batches"),
    MEMBER(item, "order", order, "position in the batch, in order of execution"),
    SHOWN("text_position", "POSITION", "position in the text", TT_SHOW_RIGHT, text_position),
    POSITION(item),
    SHOWN("text_layer", "LAYER", "the layer", TT_SHOW_RIGHT, text_layer),
    LAYER(item),
    SHOWN("text_stage", "STAGE", "stage, with its number if there are several", 0, text_stage),
    MEMBER(item, "stage", stage, "stage of the computation"),
    MEMBER(item, "occurrence", occurrence, "occurrence of the stage in the layer, from 0"),
    TT_COLUMN("name", "NODE", NONE, "name in A, if A has it", .type = TT_CELL_NAME,
              .show = TT_SHOW_FLAT | TT_SHOW_CUT | TT_SHOW_KEY, .get = text_name),
    TT_COLUMN("verdict", "IT IS", NONE, "equal, close, ...", .type = TT_CELL_NAME,
              .get = item_verdict, .text = show_verdict),
    TT_COLUMN("blame", NULL, NONE, "whether the error is made here or inherited",
              .type = TT_CELL_NAME, .get = item_blame),
    TT_COLUMN("only_a", NULL, NONE, "ops since its inputs that only A has, if blame is own or extra",
              .nullable = true, TT_MEMBER(tt_valuediff_item, only_a)),
    TT_COLUMN("only_b", NULL, NONE, "likewise of B", .nullable = true,
              TT_MEMBER(tt_valuediff_item, only_b)),
    TT_COLUMN("other_axes", NULL, NONE,
              "not measured: one side was multiplied with an input, as a rotation is",
              TT_MEMBER(tt_valuediff_item, other_axes)),
    MEMBER(item, "jump", jump, "the error that this step alone adds is too large"),
    TT_COLUMN("basis", NULL, NONE, "data from which the error was computed", .type = TT_CELL_NAME,
              .get = item_basis),
    MEMBER(item, "elements_compared", error.n_compared, "elements that both sides know"),
    TT_COLUMN("rel_l2", "REL L2", NONE, "the relative error", .nullable = true,
              TT_MEMBER(tt_valuediff_item, error.rel_l2), .text = show_rel_l2),
    MEMBER(item, "rel_l2_at_least", error.at_least, "it is a lower bound"),
    TT_COLUMN("rel_l2_infinite", NULL, NONE, "it is infinite, for which JSON has no number",
              .type = TT_CELL_BOOL, .get = is_infinite),
    TT_COLUMN("cosine", "1 - COSINE", NONE, "cosine of the angle between both", .nullable = true,
              TT_MEMBER(tt_valuediff_item, error.cosine), .text = show_gap),
    TT_COLUMN("max_abs", "MAX ABS", NONE, "the largest difference", .nullable = true,
              TT_MEMBER(tt_valuediff_item, error.max_abs), .text = show_max_abs),
    WORST("worst_index", worst, "index of the element with the largest difference"),
    WORST("worst_a", worst_a, "that element in A"),
    WORST("worst_b", worst_b, "that element in B"),
    MEMBER(item, "rms_change", error.rms_change, "change of the RMS"),
    MEMBER(item, "input_rel_l2", input_rel_l2, "the largest error of its inputs"),
    TT_COLUMN("tolerance_rel_l2", "ALLOWED", NONE, "tolerance: rel_l2 at most", .nullable = true,
              TT_MEMBER(tt_valuediff_item, tolerance.rel_l2), .text = show_allowed),
    TT_COLUMN("error", "ERROR", NONE, "the error, and where it is made", .type = TT_CELL_NAME,
              .show = TT_SHOW_TEXT, .get = item_blame, .text = show_blame),
    MEMBER(item, "tolerance_cosine", tolerance.cosine, "tolerance: cosine at least"),
    MEMBER(item, "tolerance_max_abs", tolerance.max_abs, "tolerance: max_abs at most"),
    SIDE("a", item_a, "side A"),
    SIDE("b", item_b, "side B"),
};

const tt_schema tt_valuediff_item_schema = {"item", "a value of both sides", item_columns,
                                            COUNT(item_columns)};

tt_rowset tt_valuediff_items(const tt_valuediff *d, const tt_valuediff_item *items, size_t n)
{
    return TT_ROWSET(&tt_valuediff_item_schema, 0, d, items, n);
}

/* --- what a value was computed from --- */

TT_COLUMN_GET(input_stage, tt_valuediff_input, i, stage(cell, i->stage, i->occurrence);)
TT_COLUMN_GET(input_layer, tt_valuediff_input, i,
              if (i->layer >= 0) tt_cell_format(cell, "%" PRId32, i->layer);)
TT_COLUMN_GET(input_verdict, tt_valuediff_input, i,
              tt_cell_text(cell, tt_value_verdict_name(i->verdict));)
TT_COLUMN_SHOW(show_input_verdict, tt_valuediff_input, i,
               (void)snprintf(out, room, "%s", verdict(i->verdict));)
TT_COLUMN_SHOW(show_input_rel_l2, tt_valuediff_input, i, figure(i->rel_l2, out, room);)

static const tt_column input_columns[] = {
    SHOWN("input", "INPUT", "the stage", 0, input_stage),
    SHOWN("text_layer", "LAYER", "the layer", TT_SHOW_RIGHT, input_layer),
    LAYER(input),
    MEMBER(input, "stage", stage, "stage of the computation"),
    MEMBER(input, "occurrence", occurrence, "occurrence of the stage in the layer, from 0"),
    TT_COLUMN("name", "NODE", NONE, "name of the node", .show = TT_SHOW_CUT | TT_SHOW_KEY,
              TT_MEMBER(tt_valuediff_input, name)),
    TT_COLUMN("verdict", "IT IS", NONE, "equal, close, ...", .type = TT_CELL_NAME,
              .get = input_verdict, .text = show_input_verdict),
    TT_COLUMN("rel_l2", "REL L2", NONE, "its error", .nullable = true,
              TT_MEMBER(tt_valuediff_input, rel_l2), .text = show_input_rel_l2),
};

SCHEMA(input, "a value that another was computed from");

tt_rowset tt_valuediff_inputs(const tt_valuediff_input *inputs, size_t n)
{
    return TT_ROWSET(&input_schema, 0, NULL, inputs, n);
}

/* --- batches, layers, stages --- */

static void step_number(tt_cell *cell, uint32_t v)
{
    cell->u64 = v;
    cell->known = v != TT_NONE;
}

TT_COLUMN_GET(step_pairing, tt_valuediff_step, s,
              tt_cell_text(cell, tt_valuediff_pairing_name(s->pairing));)
TT_COLUMN_GET(step_a, tt_valuediff_step, s, step_number(cell, s->a);)
TT_COLUMN_GET(step_b, tt_valuediff_step, s, step_number(cell, s->b);)
TT_COLUMN_GET(step_token_a, tt_valuediff_step, s, const tt_valuediff *d = context;
              if (s->a != TT_NONE) step_number(cell, d->a->steps[s->a].token);)
TT_COLUMN_GET(step_token_b, tt_valuediff_step, s, const tt_valuediff *d = context;
              if (s->b != TT_NONE) step_number(cell, d->b->steps[s->b].token);)
TT_COLUMN_KNOWN(step_has_tokens, tt_valuediff_step, s, s->n_tokens > 0)

#define STEP_NUMBER(key_, get_, about_)                                                            \
    TT_COLUMN(key_, NULL, ID, about_, .type = TT_CELL_U32, .nullable = true, .get = get_)

static const tt_column step_columns[] = {
    TT_COLUMN("pairing", NULL, NONE, "both, only_a, ...", .type = TT_CELL_NAME,
              .get = step_pairing),
    STEP_NUMBER("a", step_a, "number of the batch in A"),
    STEP_NUMBER("b", step_b, "in B"),
    STEP_NUMBER("batch_id_a", step_token_a, "what A calls the batch"),
    STEP_NUMBER("batch_id_b", step_token_b, "what B calls it"),
    MEMBER(step, "sequence", sequence, "of its tokens"),
    POSITION(step),
    TT_COLUMN("n_tokens", NULL, COUNT, "in the batch", .nullable = true, .known = step_has_tokens,
              TT_MEMBER(tt_valuediff_step, n_tokens)),
    COUNTS(step),
    MEMBER(step, "rel_l2", worst_rel_l2, "the largest"),
};

SCHEMA(step, "a pair of batches");

tt_rowset tt_valuediff_steps(const tt_valuediff *d)
{
    return TT_ROWSET(&step_schema, 0, d, d->steps, d->n_steps);
}

static const tt_column depth_columns[] = {
    MEMBER(depth, "pair", pair, "number of the pair of batches"),
    LAYER(depth),
    MEMBER(depth, "behind", behind, "of what is in no layer: behind them"),
    COUNTS(depth),
    MEMBER(depth, "rel_l2", rel_l2, "the largest"),
    MEMBER(depth, "cosine_gap", cosine_gap, "the largest 1 - cosine"),
    MEMBER(depth, "stage", stage, "whose rel_l2 it is"),
};

SCHEMA(depth, "a layer in a pair of batches");

tt_rowset tt_valuediff_depths(const tt_valuediff *d)
{
    return TT_ROWSET(&depth_schema, 0, d, d->depth, d->n_depth);
}

#define BAR_CELLS 32
#define BAR_LEAST (-8.0) /* decades: rel L2 from 1e-8 to 1 */

/* A bar on a logarithmic scale, of block characters. */
static void bar(double rel_l2, char *out)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const double share = rel_l2 > 0 ? (log10(rel_l2) - BAR_LEAST) / -BAR_LEAST : 0;
    int n = share >= 1 ? BAR_CELLS * 8 : share <= 0 ? 0 : (int)(share * BAR_CELLS * 8);
    if (!n && rel_l2 > 0) n = 1;
    for (; n >= 8; n -= 8)
        out = stpcpy(out, "█");
    (void)stpcpy(out, eighths[n]);
}

TT_COLUMN_GET(row_depth, tt_valuediff_row, r, char name[LAYER_TEXT];
              tt_cell_format(cell, "%s", layer_text(r->layer, r->behind, name));)
TT_COLUMN_SHOW(show_row_rel_l2, tt_valuediff_row, r,
               if (!r->stage && r->counts[TT_VALUE_NAN])(void) snprintf(out, room, "NaN");
               else figure(r->rel_l2, out, room);)
TT_COLUMN_GET(row_bar, tt_valuediff_row, r,
              bar(r->counts[TT_VALUE_NAN] ? 1 : r->rel_l2, cell->room);
              tt_cell_text(cell, cell->room);)
TT_COLUMN_GET(row_at, tt_valuediff_row, r,
              if (r->worst_pair != TT_NONE && r->rel_l2 > 0)
                  position(cell, context, r->worst_pair);)
TT_COLUMN_KNOWN(has_pair, tt_valuediff_row, r, r->worst_pair != TT_NONE)
TT_COLUMN_SHOW(show_row_gap, tt_valuediff_row, r, figure(r->cosine_gap, out, room);)
TT_COLUMN_SHOW(show_row_max_abs, tt_valuediff_row, r, figure(r->max_abs, out, room);)

/* A count of 0 is empty in text. */
#define ROW_COUNT(name_, n_)                                                                       \
    TT_COLUMN_VALUE(get_##name_, tt_valuediff_row, r, u64, n_)                                     \
    TT_COLUMN_SHOW(show_##name_, tt_valuediff_row, r,                                              \
                   if (n_)(void) snprintf(out, room, "%" PRIu64, (uint64_t)(n_));)
ROW_COUNT(equal, r->counts[TT_VALUE_EQUAL])
ROW_COUNT(close, r->counts[TT_VALUE_CLOSE])
ROW_COUNT(not, tt_value_diverging(r->counts))
ROW_COUNT(unmeasured, r->counts[TT_VALUE_UNMEASURED])

enum { OF_LAYERS = 1, OF_STAGES = 2 };

#define SOME(key_, title_)                                                                         \
    TT_COLUMN(#key_, title_, NONE, "values of that verdict", .type = TT_CELL_U64,                  \
              .show = TT_SHOW_FLAT, .get = get_##key_, .text = show_##key_)

static const tt_column row_columns[] = {
    TT_COLUMN("stage", "STAGE", NONE, "stage of the computation", .kinds = OF_STAGES,
              .show = TT_SHOW_CUT | TT_SHOW_KEY, TT_MEMBER(tt_valuediff_row, stage)),
    TT_COLUMN("layer", NULL, ID, "negative: before or behind all; null: unknown", .nullable = true,
              .kinds = OF_LAYERS, .known = row_layer_known, TT_MEMBER(tt_valuediff_row, layer)),
    TT_COLUMN("behind", NULL, NONE, "of what is in no layer: behind them", .kinds = OF_LAYERS,
              TT_MEMBER(tt_valuediff_row, behind)),
    TT_COLUMN("depth", "DEPTH", NONE, "the layer", .type = TT_CELL_NAME, .kinds = OF_LAYERS,
              .show = TT_SHOW_TEXT, .get = row_depth),
    COUNTS(row),
    TT_COLUMN("rel_l2", "REL L2", NONE, "the largest", .nullable = true,
              TT_MEMBER(tt_valuediff_row, rel_l2), .text = show_row_rel_l2),
    TT_COLUMN("bar", "1e-8 TO 1, LOGARITHMIC", NONE, "of rel_l2", .type = TT_CELL_NAME,
              .kinds = OF_LAYERS, .show = TT_SHOW_TEXT, .get = row_bar),
    TT_COLUMN("at", "AT", NONE, "whose rel_l2 it is", .type = TT_CELL_NAME, .kinds = OF_STAGES,
              .show = TT_SHOW_TEXT | TT_SHOW_RIGHT, .get = row_at),
    TT_COLUMN("cosine_gap", "1 - COSINE", NONE, "the largest", .nullable = true,
              .show = TT_SHOW_WIDE, TT_MEMBER(tt_valuediff_row, cosine_gap), .text = show_row_gap),
    TT_COLUMN("max_abs", NULL, NONE, "the largest", .nullable = true, .kinds = OF_LAYERS,
              TT_MEMBER(tt_valuediff_row, max_abs)),
    TT_COLUMN("max_abs", "MAX ABS", NONE, "the largest", .nullable = true, .kinds = OF_STAGES,
              TT_MEMBER(tt_valuediff_row, max_abs), .text = show_row_max_abs),
    TT_COLUMN("worst_pair", NULL, ID, "the pair of batches whose rel_l2 it is", .nullable = true,
              .known = has_pair, TT_MEMBER(tt_valuediff_row, worst_pair)),
    SOME(equal, "EQUAL"),
    SOME(close, "CLOSE"),
    SOME(not, "NOT"),
    SOME(unmeasured, "NOT MEASURED"),
};

SCHEMA(row, "a layer or a stage");

tt_rowset tt_valuediff_rows(const tt_valuediff *d, bool stages)
{
    tt_rowset set = TT_ROWSET(&row_schema, 0, d, stages ? d->stages : d->layers,
                              stages ? d->n_stages : d->n_layers);
    set.kind = stages ? OF_STAGES : OF_LAYERS;
    return set;
}
