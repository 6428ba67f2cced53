/* The columns of values, for every output. */
#include "analyze/values/columns.h"

#include "analyze/ops.h"
#include "analyze/values/outputs.h"
#include "base/hex.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
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
/* A count of 0 is empty in text. */
#define GROUP_SOME(key_, title_, flags_, about_)                                                   \
    TT_COLUMN(#key_, title_, COUNT, about_, .show = (flags_), TT_MEMBER(tt_values_group, key_),    \
              .text = show_##key_)
#define GROUP_RANGE(key_, title_, show_, about_)                                                   \
    RANGE(tt_values_group, #key_, title_, key_, has_range, show_, about_)

TT_COLUMN_GET(get_group_model, tt_values_group, g,
              tt_cell_text(cell, tt_model_path(context, g->model));)
TT_COLUMN_SHOW(show_group_model, tt_values_group, g,
               tt_cell_text_copy(out, room, tt_model_label(context, g->model));)
/* In text only where names do not tell layers apart. */
TT_COLUMN_SHOW(show_stacked, tt_values_group, g, char text[TT_LAYER_TEXT];
               if (tt_layer_stack_name(g->layer))(void)
                   snprintf(out, room, "%s", tt_layer_text(text, g->layer));)

static const tt_column group_columns[] = {
    KEY(TENSOR, "tensor", "NAME", "name of the node"),
    KEY(BASE_NAME, "base_name", "BASE NAME", "the node's name without its layer"),
    KEY(OP, "op", "OP", "the kind of op"),
    TT_COLUMN("layer_id", "LAYER", ID, "the layer; null: none", TT_LAYER, .kinds = BY(LAYER),
              .show = TT_SHOW_DASH, TT_LAYER_AT(tt_values_group, layer)),
    TT_COLUMN("layer_id", "LAYER", ID, "the layer; null: none", TT_LAYER, .kinds = BY(TENSOR),
              .show = TT_SHOW_KNOWN, TT_LAYER_AT(tt_values_group, layer), .text = show_stacked),
    TT_STACK(.kinds = BY(LAYER) | BY(TENSOR), TT_LAYER_AT(tt_values_group, layer)),
    TT_COLUMN("model_file", "MODEL", NONE, "path of its model; null: not known",
              .type = TT_CELL_NAME, .nullable = true, .show = TT_SHOW_KNOWN | TT_SHOW_CUT,
              .kinds = BY(LAYER) | BY(TENSOR), .get = get_group_model, .text = show_group_model),
    NUMBER(BATCH, "batch_id", "BATCH", "the batch; null: outside any"),
    GROUP(outputs, "OUTPUTS", 0, "number of measured outputs"),
    GROUP(elements, "ELEMENTS", TT_SHOW_WIDE, "number of elements in these"),
    GROUP_SOME(bad, "BAD", 0, "outputs with a NaN, or an infinity that is not a mask's"),
    GROUP(n_nan, NULL, 0, "elements that are NaN"),
    GROUP(n_inf, NULL, 0, "elements that are infinite"),
    GROUP(masking, NULL, 0, "outputs that hold the infinities of a mask"),
    GROUP_SOME(constant, "CONSTANT", TT_SHOW_WIDEST, "outputs with all elements equal"),
    GROUP_SOME(zero, "ZERO", TT_SHOW_WIDE, "outputs with all elements zero"),
    GROUP_SOME(repeated, "REPEATED", TT_SHOW_WIDE,
               "outputs with the same bytes as in the batch before"),
    GROUP_RANGE(min, "MIN", 0, "minimum of the finite elements"),
    GROUP_RANGE(max, "MAX", 0, "maximum of the finite elements"),
    GROUP_RANGE(mean, "MEAN", TT_SHOW_WIDEST, "mean of the finite elements"),
    GROUP_RANGE(rms, "RMS", 0, "RMS of the finite elements"),
    GROUP_RANGE(rms_min, "LEAST RMS", TT_SHOW_WIDE, "smallest RMS of an output"),
    GROUP_RANGE(rms_max, "MOST RMS", TT_SHOW_WIDE, "largest RMS of an output"),
};

const tt_schema tt_values_group_schema = {"groups", "outputs put together", group_columns,
                                          COUNT(group_columns)};

tt_rowset tt_values_groups_rowset(const tt_model *m, const tt_values_groups *g)
{
    return TT_ROWSET(&tt_values_group_schema, (1u << g->by), m, g->list, g->n);
}

/* --- growth --- */

TT_COLUMN_KNOWN(range_known, tt_values_growth, x, x->all.has_range)
TT_COLUMN_KNOWN(has_ratio, tt_values_growth, x, x->has_ratio)
TT_COLUMN_GET(get_phase, tt_values_growth, x, tt_cell_text(cell, tt_phase_name(x->phase));)
TT_COLUMN_GET(get_model, tt_values_growth, x,
              tt_cell_text(cell, tt_model_path(context, tt_layer_model(x->layer_id)));)
TT_COLUMN_SHOW(show_model, tt_values_growth, x,
               tt_cell_text_copy(out, room, tt_model_label(context, tt_layer_model(x->layer_id)));)
TT_COLUMN_GET(get_bad, tt_values_growth, x, cell->u64 = x->all.n_nan + x->all.n_inf;
              cell->known = cell->u64 && !x->all.masking;)

#define LAYER(key_, member_, about_)                                                               \
    TT_COLUMN(key_, NULL, COUNT, about_, TT_MEMBER(tt_values_growth, member_))
#define LAYER_RANGE(key_, title_, member_, about_)                                                 \
    RANGE(tt_values_growth, key_, title_, member_, range_known, 0, about_)

static const tt_column growth_columns[] = {
    TT_COLUMN("phase", "PHASE", NONE, "phase of the batches", .type = TT_CELL_NAME,
              .get = get_phase),
    LAYER("batches", batches, "number of batches of that phase with such outputs"),
    TT_COLUMN("layer_id", "LAYER", ID, "the layer; null: none", TT_LAYER, .show = TT_SHOW_DASH,
              TT_LAYER_AT(tt_values_growth, layer_id)),
    TT_STACK(TT_LAYER_AT(tt_values_growth, layer_id)),
    TT_COLUMN("model_file", "MODEL", NONE, "path of its model; null: not known",
              .type = TT_CELL_NAME, .nullable = true, .show = TT_SHOW_KNOWN | TT_SHOW_CUT,
              .get = get_model, .text = show_model),
    LAYER("outputs", outputs, "number of measured outputs"),
    LAYER("elements", all.elements, "number of elements in these"),
    LAYER("n_nan", all.n_nan, "elements that are NaN"),
    LAYER("n_inf", all.n_inf, "elements that are infinite"),
    LAYER_RANGE("min", "MIN", all.min, "minimum of the finite elements"),
    LAYER_RANGE("max", "MAX", all.max, "maximum of the finite elements"),
    LAYER_RANGE("mean", NULL, all.mean, "mean of the finite elements"),
    LAYER_RANGE("rms", "RMS", all.rms, "RMS of the finite elements"),
    LAYER_RANGE("rms_min", "LEAST RMS", rms_min, "smallest RMS of a batch"),
    LAYER_RANGE("rms_max", "MOST RMS", rms_max, "largest RMS of a batch"),
    RANGE(tt_values_growth, "ratio", "RATIO", ratio, has_ratio, 0,
          "RMS divided by the RMS of the layer before"),
    TT_COLUMN("n_bad", "BAD", COUNT, "elements that are NaN or infinite", .type = TT_CELL_U64,
              .show = TT_SHOW_TEXT, .get = get_bad),
};

const tt_schema tt_values_growth_schema = {"growth", "a layer's outputs", growth_columns,
                                           COUNT(growth_columns)};

bool tt_values_growth_measured(const void *context, const void *row)
{
    (void)context;
    return ((const tt_values_growth *)row)->outputs > 0;
}

tt_rowset tt_values_growth_rowset(const tt_model *m, const tt_values_growth *list, size_t n)
{
    return TT_ROWSET(&tt_values_growth_schema, 0, m, list, n);
}

/* --- outputs --- */

enum { HAS_OP = 1, HAS_PRINT = 2, HAS_SAMPLES = 4, STANDS_OUT = 8, HAS_NONE = 16 };

static const tt_run *run_of(const void *context, const tt_values_row *r)
{
    return &((const tt_model *)context)->runs[r->run];
}

static const tt_graph *graph_of(const void *context, const tt_values_row *r)
{
    return &((const tt_model *)context)->graphs[run_of(context, r)->graph];
}

static const tt_tensor *tensor_of(const void *context, const tt_values_row *r)
{
    return &graph_of(context, r)->tensors[r->node];
}

static void set_batch(const tt_model *m, uint32_t batch, tt_cell *cell)
{
    cell->known = batch != TT_NONE;
    if (cell->known) cell->u64 = tt_model_batch_number(m, batch);
}

static void put_four(tt_json *j, const uint64_t v[4])
{
    tt_json_array(j);
    for (unsigned d = 0; d < 4; d++)
        tt_json_u64(j, v[d]);
    tt_json_array_end(j);
}

static void place_text(tt_cell *cell, const uint64_t at[4])
{
    tt_cell_format(cell, "[%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", at[0], at[1],
                   at[2], at[3]);
}

/* NaN and infinities, which JSON lacks, are written as texts. */
static void put_floats(tt_json *j, const float *v, uint32_t n)
{
    tt_json_array(j);
    for (uint32_t i = 0; i < n; i++) {
        if (isfinite(v[i]))
            tt_json_double(j, (double)v[i]);
        else
            tt_json_string(j, isnan(v[i]) ? "nan" : v[i] > 0 ? "inf" : "-inf");
    }
    tt_json_array_end(j);
}

static void floats_text(tt_cell *cell, const float *v, uint32_t n)
{
    size_t used = 0;
    cell->room[0] = '\0';
    for (uint32_t i = 0; i < n && used < sizeof cell->room; i++) {
        const int written = snprintf(cell->room + used, sizeof cell->room - used, "%s%.5g",
                                     i ? " " : "", (double)v[i]);
        if (written > 0) used += (size_t)written;
    }
    tt_cell_text(cell, cell->room);
}

static bool bad_place(const void *context, const tt_values_row *r, uint64_t at[4])
{
    return r->print.first_bad != TT_VALUE_NONE &&
           tt_values_coordinates(graph_of(context, r), r->node, r->print.first_bad, at);
}

TT_COLUMN_GET(get_batch, tt_values_row, r, set_batch(context, run_of(context, r)->batch, cell);)
TT_COLUMN_GET(get_output_phase, tt_values_row, r, const uint32_t batch = run_of(context, r)->batch;
              const tt_model *m = context;
              tt_cell_text(cell, tt_phase_name(batch == TT_NONE ? 0 : m->batches[batch].phase));)
TT_COLUMN_VALUE(get_run_id, tt_values_row, r, u64, run_of(context, r)->id)
TT_COLUMN_VALUE(get_graph_id, tt_values_row, r, u64, graph_of(context, r)->id)
TT_COLUMN_GET(get_layer, tt_values_row, r, tt_cell_id(cell, tensor_of(context, r)->place.layer_id);)
TT_COLUMN_GET(get_name, tt_values_row, r, tt_cell_text(cell, tensor_of(context, r)->name);)
TT_COLUMN_GET(get_component, tt_values_row, r,
              tt_cell_text(cell, tensor_of(context, r)->place.component);)
TT_COLUMN_GET(get_type, tt_values_row, r, tt_cell_text(cell, tensor_of(context, r)->type_name);)
TT_COLUMN_GET(get_op, tt_values_row, r, tt_op op;
              tt_op_describe(context, graph_of(context, r), r->first, r->covers, &op);
              tt_cell_format(cell, "%s", op.op);)
TT_COLUMN_GET(get_shape, tt_values_row, r, tt_output_shape of;
              tt_output_shape_of(graph_of(context, r), r->node, &of);
              tt_cell_text(cell, tt_values_shape_text(cell->room, of.ne));)
TT_COLUMN_JSON(put_shape, tt_values_row, r, tt_output_shape of;
               tt_output_shape_of(graph_of(context, r), r->node, &of); put_four(j, of.ne);)
TT_COLUMN_KNOWN(has_bad, tt_values_row, r, r->print.first_bad != TT_VALUE_NONE)
TT_COLUMN_GET(get_bad_place, tt_values_row, r, uint64_t at[4];
              if (bad_place(context, r, at)) place_text(cell, at);)
TT_COLUMN_JSON(put_bad_place, tt_values_row, r, uint64_t at[4];
               if (bad_place(context, r, at)) put_four(j, at); else tt_json_null(j);)
TT_COLUMN_VALUE(get_n_bad, tt_values_row, r, u64, r->print.n_nan + r->print.n_inf)
TT_COLUMN_KNOWN(print_range, tt_values_row, r, r->print.has_range)
TT_COLUMN_VALUE(get_max_abs, tt_values_row, r, f64, tt_values_max_abs(&r->print))
TT_COLUMN_GET(get_hash, tt_values_row, r, tt_hex(cell->room, r->print.hash, sizeof r->print.hash);
              tt_cell_text(cell, cell->room);)
TT_COLUMN_GET(get_blake3, tt_values_row, r,
              tt_hex(cell->room, r->print.blake3, sizeof r->print.blake3);
              tt_cell_text(cell, r->print.has_blake3 ? cell->room : NULL);)
TT_COLUMN_GET(get_prefix, tt_values_row, r, floats_text(cell, r->print.prefix, r->print.n_prefix);)
TT_COLUMN_JSON(put_prefix, tt_values_row, r, put_floats(j, r->print.prefix, r->print.n_prefix);)
TT_COLUMN_JSON(put_samples, tt_values_row, r, put_floats(j, r->print.samples, r->print.n_samples);)
TT_COLUMN_JSON(put_sample_indexes, tt_values_row, r, tt_json_array(j);
               for (uint32_t i = 0; i < r->print.n_samples; i++)
                   tt_json_u64(j, tt_value_sample_index(r->print.n, i));
               tt_json_array_end(j);)
TT_COLUMN_SHOW(show_nan, tt_values_row, r, show_some(r->print.n_nan, out, room);)
TT_COLUMN_SHOW(show_inf, tt_values_row, r, char text[TT_UNITS_TEXT] = "";
               show_some(r->print.n_inf, text, sizeof text);
               (void)snprintf(out, room, "%s%s", text, r->masking ? " (mask)" : "");)
/* For outliers: the row is their first member. */
TT_COLUMN_GET(get_by, tt_values_outlier, x, tt_cell_text(cell, x->by_max ? "max_abs" : "rms");)
TT_COLUMN_SHOW(show_by, tt_values_outlier, x,
               (void)snprintf(out, room, "%s", x->by_max ? "largest" : "RMS");)
TT_COLUMN_SHOW(show_score, tt_values_outlier, x, (void)snprintf(out, room, "%+.1f", x->score);)
TT_COLUMN_VALUE(get_times, tt_values_outlier, x, f64, x->value / x->usual)
TT_COLUMN_SHOW(show_times, tt_values_outlier, x,
               (void)snprintf(out, room, "%.3g", x->value / x->usual);)

#define OUTPUT_TEXT(key_, title_, get_, about_, ...)                                               \
    TT_COLUMN(key_, title_, NONE, about_, .type = TT_CELL_NAME, .get = (get_), __VA_ARGS__)
#define OUTPUT_ID(key_, title_, get_, about_, ...)                                                 \
    TT_COLUMN(key_, title_, ID, about_, .get = (get_), __VA_ARGS__)
#define PRINT(key_, title_, unit_, member_, about_, ...)                                           \
    TT_COLUMN(key_, title_, unit_, about_, .kinds = HAS_PRINT,                                     \
              TT_MEMBER(tt_values_row, print.member_), __VA_ARGS__)
#define PRINT_RANGE(key_, title_, show_, about_)                                                   \
    TT_COLUMN(#key_, title_, FIGURE, about_, .nullable = true, .kinds = HAS_PRINT,                 \
              .show = (show_) | TT_SHOW_DASH, .known = print_range,                                \
              TT_MEMBER(tt_values_row, print.key_))
#define OUTLIER(key_, title_, unit_, about_, ...)                                                  \
    TT_COLUMN(key_, title_, unit_, about_, .kinds = STANDS_OUT, __VA_ARGS__)

static const tt_column output_columns[] = {
    OUTLIER("score", "SCORE", FIGURE,
            "signed distance from the median, in robust standard deviations",
            TT_MEMBER(tt_values_outlier, score), .text = show_score),
    OUTPUT_ID("batch_id", "BATCH", get_batch, "the batch; null: outside any", .nullable = true,
              .type = TT_CELL_U32, .show = TT_SHOW_DASH),
    OUTPUT_TEXT("phase", NULL, get_output_phase, "phase of the batch", .nullable = true),
    TT_COLUMN("run", NULL, ID, "index of the graph computation in the trace",
              TT_MEMBER(tt_values_row, run)),
    OUTPUT_ID("graph_run", NULL, get_run_id, "the graph computation", .type = TT_CELL_U32),
    OUTPUT_ID("graph_id", NULL, get_graph_id, "number of its graph", .type = TT_CELL_U32),
    TT_COLUMN("node", NULL, ID, "number of the node in the graph", TT_MEMBER(tt_values_row, node)),
    TT_COLUMN("layer_id", "LAYER", ID, "the layer; null: none", TT_LAYER,
              .show = TT_SHOW_DASH | TT_SHOW_WIDE, .get = get_layer),
    TT_STACK(.get = get_layer),
    OUTPUT_TEXT("name", "NAME", get_name, "name of the node", .show = TT_SHOW_CUT | TT_SHOW_KEY),
    OUTPUT_TEXT("op", "OP", get_op, "op that computed it", .kinds = HAS_OP,
                .show = TT_SHOW_CUT | TT_SHOW_KEY),
    TT_COLUMN("op_node", NULL, ID, "the op's first node", .kinds = HAS_OP,
              TT_MEMBER(tt_values_row, first)),
    OUTPUT_TEXT("component", NULL, get_component, "part of the layer", .nullable = true),
    OUTPUT_TEXT("type", "TYPE", get_type, "type of its elements", .show = TT_SHOW_WIDE),
    OUTPUT_TEXT("shape", "SHAPE", get_shape, "sizes of its dimensions; the first is contiguous",
                .show = TT_SHOW_RIGHT, .json = put_shape),
    TT_COLUMN("masking", NULL, NONE, "whether its infinities are those of a mask", .kinds = HAS_OP,
              TT_MEMBER(tt_values_row, masking)),
    PRINT("elements", NULL, COUNT, n, "number of elements"),
    PRINT("n_nan", "NAN", COUNT, n_nan, "elements that are NaN", .text = show_nan),
    PRINT("n_inf", "INF", COUNT, n_inf, "elements that are infinite", .text = show_inf),
    TT_COLUMN("n_bad", "BAD", COUNT, "elements that are NaN or infinite", .type = TT_CELL_U64,
              .kinds = HAS_PRINT, .show = TT_SHOW_TEXT | TT_SHOW_ASKED, .get = get_n_bad),
    PRINT("first_bad", NULL, ID, first_bad, "index of the first of these", .nullable = true,
          .known = has_bad),
    OUTPUT_TEXT("first_bad_at", NULL, get_bad_place, "its index in each dimension",
                .nullable = true, .kinds = HAS_PRINT, .json = put_bad_place),
    OUTLIER("by", "WHAT", NONE, "the unusual figure: rms, or max_abs (largest magnitude)",
            .type = TT_CELL_NAME, .get = get_by, .text = show_by),
    OUTLIER("value", "VALUE", FIGURE, "its value", TT_MEMBER(tt_values_outlier, value)),
    OUTLIER("usual", "USUAL", FIGURE, "median of comparable outputs",
            TT_MEMBER(tt_values_outlier, usual)),
    OUTLIER("times", "TIMES", FIGURE, "value / usual", .type = TT_CELL_F64, .get = get_times,
            .text = show_times),
    OUTLIER("among", "AMONG", COUNT, "number of outputs that were compared",
            TT_MEMBER(tt_values_outlier, among)),
    PRINT_RANGE(min, "MIN", 0, "minimum of the finite elements"),
    PRINT_RANGE(max, "MAX", 0, "maximum of the finite elements"),
    TT_COLUMN("max_abs", "LARGEST", FIGURE, "largest magnitude of the finite elements",
              .nullable = true, .type = TT_CELL_F64, .kinds = HAS_PRINT,
              .show = TT_SHOW_TEXT | TT_SHOW_ASKED, .known = print_range, .get = get_max_abs),
    PRINT_RANGE(mean, "MEAN", TT_SHOW_WIDE, "mean of the finite elements"),
    PRINT_RANGE(rms, "RMS", 0, "RMS of the finite elements"),
    OUTPUT_TEXT("hash", "HASH", get_hash, "hash of all bytes", .kinds = HAS_PRINT,
                .show = TT_SHOW_WIDEST),
    OUTPUT_TEXT("blake3", NULL, get_blake3, "BLAKE3 of all bytes", .nullable = true,
                .kinds = HAS_PRINT),
    OUTPUT_TEXT("prefix", "FIRST ELEMENTS", get_prefix, "the first elements", .kinds = HAS_SAMPLES,
                .json = put_prefix),
    TT_COLUMN("sample_indexes", NULL, NONE, "indexes of the samples", .type = TT_CELL_ROWS,
              .kinds = HAS_SAMPLES, .json = put_sample_indexes),
    TT_COLUMN("samples", NULL, NONE, "evenly spaced elements", .type = TT_CELL_ROWS,
              .kinds = HAS_SAMPLES, .json = put_samples),
};

const tt_schema tt_values_schema = {"values", "the output of a node in a graph computation",
                                    output_columns, COUNT(output_columns)};

const char *tt_values_shape_text(char out[TT_VALUES_SHAPE_TEXT], const uint64_t ne[4])
{
    unsigned dims = 4;
    size_t used = 0;
    while (dims > 1 && ne[dims - 1] == 1)
        dims--;
    out[0] = '\0';
    for (unsigned d = 0; d < dims; d++) {
        int n =
            snprintf(out + used, TT_VALUES_SHAPE_TEXT - used, "%s%" PRIu64, d ? "x" : "", ne[d]);
        if (n > 0) used += (size_t)n;
    }
    return out;
}

tt_rowset tt_values_rowset(const tt_model *m, const tt_values_row *rows, size_t n, bool samples)
{
    return TT_ROWSET(&tt_values_schema, HAS_OP | HAS_PRINT | (samples ? HAS_SAMPLES : 0), m, rows,
                     n);
}

tt_rowset tt_values_outliers_rowset(const tt_model *m, const tt_values_outliers *o, bool samples)
{
    return TT_ROWSET(&tt_values_schema,
                     HAS_OP | HAS_PRINT | STANDS_OUT | (samples ? HAS_SAMPLES : 0), m, o->list,
                     o->n);
}

/* --- all of them --- */

TT_COLUMN_GET(get_level, tt_values_counts, c, (void)c;
              tt_cell_text(cell, tt_model_environment(context, "capture_values"));)
TT_COLUMN_KNOWN(counts_range, tt_values_counts, c, c->has_range)

TT_COLUMN_KNOWN(was_measured, tt_values_counts, c, c->outputs > 0)

#define SUM(key_, about_) TT_COLUMN(#key_, NULL, COUNT, about_, TT_MEMBER(tt_values_counts, key_))
/* Of outputs: where none was measured, nobody knows. */
#define OF_OUTPUTS(key_, about_)                                                                   \
    TT_COLUMN(#key_, NULL, COUNT, about_, .nullable = true, .known = was_measured,                 \
              TT_MEMBER(tt_values_counts, key_))

static const tt_column summary_columns[] = {
    TT_COLUMN("capture_values", NULL, NONE, "what --values asked for", .type = TT_CELL_NAME,
              .get = get_level),
    SUM(runs, "graph computations with outputs"),
    SUM(outputs, "that were measured"),
    SUM(unmeasured, "executed ops whose output nobody took"),
    SUM(incomplete, "fingerprints of which a part was lost"),
    OF_OUTPUTS(elements, "in the outputs"),
    OF_OUTPUTS(bad, "outputs with a NaN, or an infinity that is not a mask's"),
    OF_OUTPUTS(n_nan, "elements that are NaN"),
    OF_OUTPUTS(n_inf, "elements that are infinite"),
    OF_OUTPUTS(masking, "outputs that hold the infinities of a mask"),
    OF_OUTPUTS(constant, "outputs with all elements equal"),
    OF_OUTPUTS(zero, "outputs with all elements zero"),
    TT_COLUMN("min", NULL, FIGURE, "minimum of the finite elements", .known = counts_range,
              TT_MEMBER(tt_values_counts, min)),
    TT_COLUMN("max", NULL, FIGURE, "maximum of the finite elements", .known = counts_range,
              TT_MEMBER(tt_values_counts, max)),
};

const tt_schema tt_values_summary_schema = {"summary", "all outputs that pass", summary_columns,
                                            COUNT(summary_columns)};

/* --- where NaN and infinities begin --- */

static const tt_tensor *source_tensor(const tt_values_source *s)
{
    return &s->graph->tensors[s->tensor];
}

TT_COLUMN_GET(get_file, tt_values_source, s, const tt_model *m = context;
              tt_cell_text(cell, m->files[m->weights[s->weight].file].path);)
TT_COLUMN_KNOWN(looked_at, tt_values_source, s, s->in_file.looked_at)
TT_COLUMN_KNOWN(nan_inf_known, tt_values_source, s,
                s->in_file.looked_at && s->in_file.nan_inf_known)
TT_COLUMN_KNOWN(weight_bad, tt_values_source, s, s->in_file.n_bad > 0)
TT_COLUMN_JSON(put_weight_place, tt_values_source, s,
               if (s->in_file.n_bad && s->in_file.has_place) put_four(j, s->in_file.first_bad_at);
               else tt_json_null(j);)

#define WEIGHT(member_, known_, about_)                                                            \
    TT_COLUMN(#member_, NULL, COUNT, about_, .nullable = true, .known = known_,                    \
              TT_MEMBER(tt_values_source, in_file.member_))

static const tt_column weight_columns[] = {
    TT_COLUMN("model_file", NULL, NONE, "the weight's", .type = TT_CELL_NAME, .get = get_file),
    WEIGHT(looked_at, NULL, "whether it was read in that file"),
    WEIGHT(why_not, NULL, "why it was not"),
    WEIGHT(elements, looked_at, "number of elements"),
    WEIGHT(n_bad, looked_at, "elements that are not finite"),
    WEIGHT(n_nan, nan_inf_known, "of them NaN"),
    WEIGHT(n_inf, nan_inf_known, "of them infinite"),
    WEIGHT(first_bad, weight_bad, "the first of them, by its place"),
    TT_COLUMN("first_bad_at", NULL, NONE, "its index in each dimension", .type = TT_CELL_ROWS,
              .json = put_weight_place),
};

static const tt_schema weight_schema = {"weight", "a weight in the model's file", weight_columns,
                                        COUNT(weight_columns)};

TT_COLUMN_GET(get_source_name, tt_values_source, s, tt_cell_text(cell, source_tensor(s)->name);)
TT_COLUMN_GET(get_root, tt_values_source, s,
              tt_cell_text(cell, s->graph->tensors[source_tensor(s)->root].name);)
TT_COLUMN_GET(get_source_type, tt_values_source, s,
              tt_cell_text(cell, source_tensor(s)->type_name);)
TT_COLUMN_GET(get_state, tt_values_source, s, tt_cell_text(cell, tt_values_state_name(s->state));)
TT_COLUMN_SHOW(show_state, tt_values_source, s, const tt_values_weight *w = &s->in_file;
               const char *text = s->state == TT_STATE_INPUT        ? "input, not measured"
                                  : s->state == TT_STATE_UNMEASURED ? "not measured"
                                  : s->state != TT_STATE_WEIGHT     ? tt_values_state_name(s->state)
                                  : !w->looked_at                   ? "weight, not looked at"
                                  : w->n_bad                        ? "weight, NOT FINITE"
                                                                    : "weight, finite";
               (void)snprintf(out, room, "%s", text);)
TT_COLUMN_KNOWN(is_weight, tt_values_source, s, s->weight != TT_NONE)
TT_COLUMN_GET(get_in_file, tt_values_source, s,
              tt_cell_text(cell,
                           tt_values_weight_text(cell->room, sizeof cell->room, &s->in_file));)
TT_COLUMN_KNOWN(was_written, tt_values_source, s, s->output.run != TT_NONE)
TT_COLUMN_GET(get_writer, tt_values_source, s,
              tt_cell_text(cell, tensor_of(context, &s->output)->name);)
TT_COLUMN_GET(get_where, tt_values_source, s,
              tt_cell_text(cell, tt_values_where_text(cell->room, context, s->output.run));)
TT_COLUMN_KNOWN(source_range, tt_values_source, s, s->measured && s->output.print.has_range)

static void output_of_source(const void *context, const void *row, tt_rowset *out)
{
    const tt_values_source *s = row;
    *out = TT_ROWSET(&tt_values_schema, s->measured ? HAS_PRINT : HAS_NONE, context, &s->output,
                     s->output.run != TT_NONE);
}

TT_COLUMN_ROWS(weight_of_source, tt_values_source, s, s, s->weight != TT_NONE)

#define SOURCE_FIGURE(member_, title_)                                                             \
    TT_COLUMN(#member_, title_, FIGURE, "of the output's finite elements", .show = TT_SHOW_TEXT,   \
              .known = source_range, TT_MEMBER(tt_values_source, output.print.member_))

static const tt_column source_columns[] = {
    TT_COLUMN("slot", "SOURCE", NONE, "of the op", TT_MEMBER(tt_values_source, slot)),
    OUTPUT_TEXT("name", "NAME", get_source_name, "of the tensor",
                .show = TT_SHOW_CUT | TT_SHOW_KEY),
    OUTPUT_TEXT("root", NULL, get_root, "the tensor that it is a view of"),
    OUTPUT_TEXT("type", NULL, get_source_type, "type of its elements"),
    OUTPUT_TEXT("state", "STATE", get_state, "what is known of it", .text = show_state),
    OUTPUT_TEXT("in_file", "IN THE FILE", get_in_file, "the check of a weight in the model's file",
                .known = is_weight, .show = TT_SHOW_TEXT | TT_SHOW_ASKED),
    OUTPUT_TEXT("written_by", "WRITTEN BY", get_writer, "the node", .known = was_written,
                .show = TT_SHOW_TEXT | TT_SHOW_WIDE),
    OUTPUT_TEXT("where", "IN", get_where, "the batch", .known = was_written,
                .show = TT_SHOW_TEXT | TT_SHOW_WIDEST),
    SOURCE_FIGURE(min, "MIN"),
    SOURCE_FIGURE(max, "MAX"),
    SOURCE_FIGURE(rms, "RMS"),
    TT_COLUMN("output", NULL, NONE, "that wrote it", .type = TT_CELL_OBJECT,
              .rows = output_of_source),
    TT_COLUMN("weight", NULL, NONE, "of the model", .type = TT_CELL_OBJECT, .inner = &weight_schema,
              .rows = weight_of_source),
};

static const tt_schema source_schema = {"sources", "what a bad output was computed from",
                                        source_columns, COUNT(source_columns)};

tt_rowset tt_values_sources_rowset(const tt_model *m, const tt_values_origin *b)
{
    return TT_ROWSET(&source_schema, 0, m, b->sources, b->n_sources);
}

TT_COLUMN_GET(get_kind, tt_values_origin, b,
              tt_cell_text(cell, tt_values_origin_kind_name(b->kind));)

static void output_of_origin(const void *context, const void *row, tt_rowset *out)
{
    *out = tt_values_rowset(context, &((const tt_values_origin *)row)->row, 1, true);
}

TT_COLUMN_ROWS(sources_of_origin, tt_values_origin, b, b->sources, b->n_sources)

#define NARROWED(name, statement)                                                                  \
    TT_COLUMN_GET(name, tt_values_origin, b, tt_values_narrowing n;                                \
                  cell->known = tt_values_narrowed(context, b, &n); if (cell->known) statement;)
NARROWED(get_narrowed_to, tt_cell_text(cell, n.to))
NARROWED(get_narrowed_source, tt_cell_text(cell, n.source->graph->tensors[n.source->tensor].name))
NARROWED(get_narrowed_largest, cell->f64 = n.largest)
NARROWED(get_narrowed_limit, cell->f64 = n.limit)

static const tt_column origin_columns[] = {
    OUTPUT_TEXT("kind", NULL, get_kind, "made, inherited or uncertain"),
    TT_COLUMN("times", NULL, COUNT, "outputs of that name that were made bad",
              TT_MEMBER(tt_values_origin, times)),
    TT_COLUMN("output", NULL, NONE, "first layer of these", .type = TT_CELL_OBJECT,
              .rows = output_of_origin),
    TT_COLUMN("sources", NULL, NONE, "what it was computed from", .type = TT_CELL_ROWS,
              .inner = &source_schema, .rows = sources_of_origin),
    TT_COLUMN("narrowed_source", NULL, NONE,
              "the source that the op converts to a type too narrow for it", .type = TT_CELL_NAME,
              .nullable = true, .get = get_narrowed_source),
    TT_COLUMN("narrowed_to", NULL, NONE, "that type", .type = TT_CELL_NAME, .nullable = true,
              .get = get_narrowed_to),
    TT_COLUMN("narrowed_largest", NULL, NONE, "the largest magnitude in it", .type = TT_CELL_F64,
              .nullable = true, .get = get_narrowed_largest),
    TT_COLUMN("narrowed_limit", NULL, NONE, "beyond it, elements become infinite",
              .type = TT_CELL_F64, .nullable = true, .get = get_narrowed_limit),
};

const tt_schema tt_values_origin_schema = {"origins", "a bad output without a bad source",
                                           origin_columns, COUNT(origin_columns)};

TT_COLUMN_GET(get_first_batch, tt_values_first, f, set_batch(context, f->first_batch, cell);)
TT_COLUMN_GET(get_last_batch, tt_values_first, f, set_batch(context, f->last_batch, cell);)
TT_COLUMN_GET(get_logits_batch, tt_values_first, f, const tt_model *m = context;
              if (f->first_logits_run != TT_NONE)
                  set_batch(m, m->runs[f->first_logits_run].batch, cell);)

TT_COLUMN_KNOWN(first_measured, tt_values_first, f, f->counts.outputs > 0)
TT_COLUMN_KNOWN(logits_measured, tt_values_first, f, f->logits > 0)

#define SPREAD(key_, member_, known_, about_)                                                      \
    TT_COLUMN(key_, NULL, COUNT, about_, .nullable = true, .known = known_,                        \
              TT_MEMBER(tt_values_first, member_))

static const tt_column spread_columns[] = {
    SPREAD("bad_after", bad_after, first_measured, "bad outputs behind the first"),
    SPREAD("inherited", inherited, first_measured, "of them, those with a bad source"),
    SPREAD("batches", tokens_bad, first_measured, "with a bad output"),
    OUTPUT_ID("first_batch_id", NULL, get_first_batch, "of them", .type = TT_CELL_U32),
    OUTPUT_ID("last_batch_id", NULL, get_last_batch, "of them", .type = TT_CELL_U32),
    SPREAD("logits_measured", logits, NULL, "outputs that are logits"),
    SPREAD("logits_bad", logits_bad, logits_measured, "of them bad"),
    OUTPUT_ID("logits_batch_id", NULL, get_logits_batch, "of the first of these",
              .type = TT_CELL_U32),
};

const tt_schema tt_values_spread_schema = {"spread", "how far bad outputs went", spread_columns,
                                           COUNT(spread_columns)};

/* --- words --- */

const char *tt_values_where_text(char out[TT_VALUES_WHERE_TEXT], const tt_model *m, uint32_t run)
{
    const uint32_t batch = m->runs[run].batch;
    if (batch == TT_NONE)
        (void)snprintf(out, TT_VALUES_WHERE_TEXT, "run %" PRIu32 ", outside any batch",
                       m->runs[run].id);
    else
        (void)snprintf(out, TT_VALUES_WHERE_TEXT, "batch %" PRIu32 " (%s)",
                       tt_model_batch_number(m, batch), tt_phase_name(m->batches[batch].phase));
    return out;
}

const char *tt_values_weight_text(char *out, size_t room, const tt_values_weight *w)
{
    char n[TT_UNITS_TEXT], of[TT_UNITS_TEXT], where[4 * 24] = "";
    const uint64_t *at = w->first_bad_at;
    if (!w->looked_at) {
        (void)snprintf(out, room, "was not looked at: %s", w->why_not ? w->why_not : "not asked");
        return out;
    }
    (void)tt_units_count(of, w->elements);
    if (w->n_bad == 0) {
        (void)snprintf(out, room, "all %s elements are finite", of);
        return out;
    }
    if (w->has_place)
        (void)snprintf(where, sizeof where, "[%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]",
                       at[0], at[1], at[2], at[3]);
    else
        (void)snprintf(where, sizeof where, "element %" PRIu64, w->first_bad);
    if (w->nan_inf_known)
        (void)snprintf(out, room, "%s NaN and %s infinite of %s elements, the first at %s",
                       tt_units_count(n, w->n_nan),
                       tt_units_count((char[TT_UNITS_TEXT]){0}, w->n_inf), of, where);
    else
        (void)snprintf(out, room, "%s of %s elements are not finite, the first at %s",
                       tt_units_count(n, w->n_bad), of, where);
    return out;
}
