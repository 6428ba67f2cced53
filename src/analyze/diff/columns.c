/* The columns of a comparison of two runs, for every output. */
#include "analyze/diff/columns.h"
#include "base/units.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define BY(family) (uint8_t)(1u << TT_DIFF_##family)
#define SCHEMA(name_, about_)                                                                      \
    static const tt_schema name_##_schema = {#name_, about_, name_##_columns,                      \
                                             COUNT(name_##_columns)}

/* --- words --- */

const char *tt_diff_phase_title(unsigned phase)
{
    return phase == TT_PHASE_UNKNOWN ? "other" : tt_phase_name(phase);
}

char *tt_diff_percent(char out[TT_DIFF_PERCENT], double change)
{
    out[0] = '\0';
    if (isnan(change)) return out;
    if (change >= TT_DIFF_TIMES_MOST)
        (void)snprintf(out, TT_DIFF_PERCENT, "any");
    else if (change >= TT_DIFF_TIMES_FROM)
        (void)snprintf(out, TT_DIFF_PERCENT, "%.*f x", change < 9 ? 2 : 0, 1 + change);
    else
        (void)snprintf(out, TT_DIFF_PERCENT, "%+.1f %%", 100 * change);
    return out;
}

/* --- one side of a row --- */

TT_COLUMN_KNOWN(side_timed, tt_diff_side, s, s->n_samples > 0)

#define SIDE_TIME(key_, about_)                                                                    \
    TT_COLUMN(#key_, NULL, NS, about_, .nullable = true, .known = side_timed,                      \
              TT_MEMBER(tt_diff_side, key_))

static const tt_column side_columns[] = {
    TT_COLUMN("count", NULL, COUNT, "times its ops ran", TT_MEMBER(tt_diff_side, count)),
    TT_COLUMN("samples", NULL, COUNT, "batches in which any ran, of those that were kept",
              TT_MEMBER(tt_diff_side, n_samples)),
    SIDE_TIME(time_ns, "a batch, undisturbed, or own work: what the change is of"),
    SIDE_TIME(median_ns, "a batch, the median"),
    SIDE_TIME(p25_ns, "a quarter of the batches took no longer"),
    SIDE_TIME(p75_ns, "three quarters of the batches took no longer"),
    SIDE_TIME(least_ns,
              "the least of the times that time_ns is of: undisturbed, whole, or own work"),
    SIDE_TIME(p90_ns, "nine of ten of these took no longer"),
    SIDE_TIME(mean_ns, "a batch, over all of them"),
    SIDE_TIME(wait_median_ns, "of it waiting, averaged over the threads"),
    TT_COLUMN("weight_bytes", NULL, BYTES, "of weights read, a batch", .nullable = true,
              TT_MEMBER(tt_diff_side, weight_bytes)),
    TT_COLUMN("weight_bytes_at_most", NULL, NONE,
              "an upper bound: rows or experts were not observed",
              TT_MEMBER(tt_diff_side, at_most)),
};

SCHEMA(side, "a side of a row");

/* --- rows of times --- */

/* Functions for a column of both sides. */
#define SIDES(side)                                                                                \
    TT_COLUMN_ROWS(inner_##side, tt_diff_row, r, &r->side, r->side.present)                        \
    TT_COLUMN_KNOWN(timed_##side, tt_diff_row, r, r->side.n_samples > 0)                           \
    TT_COLUMN_VALUE(get_bytes_##side, tt_diff_row, r, f64, r->side.weight_bytes + 0.5)             \
    static tt_certainty at_most_##side(const void *context, const void *row)                       \
    {                                                                                              \
        (void)context;                                                                             \
        return ((const tt_diff_row *)row)->side.at_most ? TT_AT_MOST : TT_EXACT;                   \
    }

SIDES(a)
SIDES(b)

/* With as many digits as tell the sides apart. */
static void show_time(const tt_diff_row *r, bool of_b, char *out, size_t room)
{
    char text[2][TT_UNITS_TEXT];
    const bool both = r->a.n_samples > 0 && r->b.n_samples > 0;
    const double own = of_b ? r->b.time_ns : r->a.time_ns;
    tt_units_ns_apart(text[0], text[1], both ? r->a.time_ns : own, both ? r->b.time_ns : own);
    tt_cell_text_copy(out, room, text[of_b]);
}

TT_COLUMN_SHOW(show_time_a, tt_diff_row, r, show_time(r, false, out, room);)
TT_COLUMN_SHOW(show_time_b, tt_diff_row, r, show_time(r, true, out, room);)
TT_COLUMN_SHOW(show_key, tt_diff_row, r, char text[256];
               if (r->key_b)(void) snprintf(text, sizeof text, "%s | %s", r->key, r->key_b);
               else(void) snprintf(text, sizeof text, "%s", *r->key ? r->key : "(between ops)");
               tt_cell_text_copy(out, room, text);)
TT_COLUMN_SHOW(show_layer, tt_diff_row, r, char text[TT_LAYER_TEXT];
               (void)snprintf(out, room, "%s",
                              r->layer_id < 0 ? "no layer" : tt_layer_text(text, r->layer_id));)
/* The context is the profile of the first run of A. */
static uint32_t layer_model(const tt_diff_row *r)
{
    return r->layer_id < 0 ? TT_NONE : tt_layer_model(r->layer_id);
}

TT_COLUMN_GET(get_layer_model, tt_diff_row, r,
              tt_cell_text(cell, tt_model_path(((const tt_profile *)context)->m, layer_model(r)));)
TT_COLUMN_SHOW(show_layer_model, tt_diff_row, r,
               tt_cell_text_copy(out, room,
                                 tt_model_label(((const tt_profile *)context)->m, layer_model(r)));)
TT_COLUMN_GET(get_name_b, tt_diff_row, r,
              tt_cell_text(cell, r->key_b  ? r->key_b
                                 : r->op_b ? r->key
                                           : NULL);)

static void get_ops(const void *context, const void *row, tt_cell *cell)
{
    const tt_diff_row *r = row;
    (void)context;
    if (!r->op_a)
        tt_cell_format(cell, "only B: %s", r->op_b ? r->op_b : "");
    else if (!r->op_b)
        tt_cell_format(cell, "only A: %s", r->op_a);
    else if (strcmp(r->op_a, r->op_b) == 0)
        tt_cell_text(cell, r->op_a);
    else
        tt_cell_format(cell, "%s | %s", r->op_a, r->op_b);
}

TT_COLUMN_VALUE(get_size_of_change, tt_diff_row, r, f64, fabs(tt_diff_own_delta(r)))
TT_COLUMN_KNOWN(has_expected, tt_diff_row, r, !isnan(r->expected_ns))
TT_COLUMN_KNOWN(was_tested, tt_diff_row, r, r->shift.tested)
TT_COLUMN_SHOW(show_change, tt_diff_row, r, char text[TT_DIFF_PERCENT];
               (void)snprintf(out, room, "%s", tt_diff_percent(text, r->change));)

static void get_interval(const void *context, const void *row, tt_cell *cell)
{
    const tt_diff_row *r = row;
    char low[TT_DIFF_PERCENT], high[TT_DIFF_PERCENT];
    (void)context;
    tt_cell_format(cell, "%s .. %s", tt_diff_percent(low, r->low), tt_diff_percent(high, r->high));
}

TT_COLUMN_SHOW(show_p, tt_diff_row, r,
               if (!isnan(r->p_adjusted))(void)
                   snprintf(out, room, r->p_adjusted < 0.0001 ? "<0.0001" : "%.4f", r->p_adjusted);)
TT_COLUMN_GET(get_mark, tt_diff_row, r,
              tt_cell_text(cell, r->matters       ? "!"
                                 : r->significant ? "*"
                                                  : "");)

#define KEY(family, key_, title_, about_)                                                          \
    TT_COLUMN(key_, title_, NONE, about_, .kinds = BY(family), .show = TT_SHOW_CUT | TT_SHOW_KEY,  \
              TT_MEMBER(tt_diff_row, key), .text = show_key)
#define OF_NODE(key_, about_)                                                                      \
    TT_COLUMN(#key_, NULL, NONE, about_, .nullable = true, .kinds = BY(OPS),                       \
              TT_MEMBER(tt_diff_row, key_))
#define SIDE(side_, about_)                                                                        \
    TT_COLUMN(#side_, NULL, NONE, about_, .type = TT_CELL_OBJECT, .inner = &side_schema,           \
              .rows = inner_##side_)
#define TIME(side_, title_)                                                                        \
    TT_COLUMN("time_" #side_ "_ns", title_, NS, "undisturbed time on that side",                   \
              .show = TT_SHOW_FLAT, .known = timed_##side_, TT_MEMBER(tt_diff_row, side_.time_ns), \
              .text = show_time_##side_)
#define READ(side_, title_)                                                                        \
    TT_COLUMN("weight_bytes_" #side_, title_, BYTES, "bytes of weights read on that side",         \
              .show = TT_SHOW_FLAT | TT_SHOW_ASKED, .type = TT_CELL_F64, .get = get_bytes_##side_, \
              .bound = at_most_##side_)
#define FIGURE(key_, about_)                                                                       \
    TT_COLUMN(#key_, NULL, NONE, about_, .nullable = true, TT_MEMBER(tt_diff_row, key_))

static const tt_column row_columns[] = {
    KEY(PARTS, "category", "PART", "the part of the network"),
    KEY(COMPONENTS, "component", "COMPONENT", "role in its layer"),
    KEY(KINDS, "op", "OP", "the kind of op"),
    KEY(OPS, "name", "NODE", "name of the node; of A if the sides differ"),
    TT_COLUMN("layer_id", "LAYER", ID, "the layer; null: none", TT_LAYER, .kinds = BY(LAYERS),
              .show = TT_SHOW_LEFT | TT_SHOW_CUT | TT_SHOW_KEY, TT_LAYER_AT(tt_diff_row, layer_id),
              .text = show_layer),
    TT_STACK(.kinds = BY(LAYERS), TT_LAYER_AT(tt_diff_row, layer_id)),
    TT_COLUMN("model_file", "MODEL", NONE, "path of the layer's model, in A if it is there",
              .type = TT_CELL_NAME, .nullable = true, .show = TT_SHOW_KNOWN | TT_SHOW_CUT,
              .kinds = BY(LAYERS), .get = get_layer_model, .text = show_layer_model),
    TT_COLUMN("layer_id", NULL, ID, "of the node; null: none", TT_LAYER, .kinds = BY(OPS),
              TT_LAYER_AT(tt_diff_row, layer_id)),
    TT_STACK(.kinds = BY(OPS), TT_LAYER_AT(tt_diff_row, layer_id)),
    TT_COLUMN("name_b", NULL, NONE, "name of the node in B", .type = TT_CELL_NAME, .nullable = true,
              .kinds = BY(OPS), .get = get_name_b),
    OF_NODE(op_a, "op that computes it in A"),
    OF_NODE(op_b, "op that computes it in B"),
    TT_COLUMN("ops", "OP", NONE, "both ops", .type = TT_CELL_NAME, .kinds = BY(OPS),
              .show = TT_SHOW_TEXT | TT_SHOW_CUT, .get = get_ops),
    OF_NODE(category, "the part of the network"),
    OF_NODE(component, "role in its layer"),
    SIDE(a, "side A"),
    SIDE(b, "side B"),
    TIME(a, "A"),
    TIME(b, "B"),
    READ(a, "A"),
    READ(b, "B"),
    TT_COLUMN(
        "expected_ns", "B AS OTHERS", NS,
        "busy machine: B's time if it had changed as others of the kind; null: not so compared",
        .nullable = true, .show = TT_SHOW_KNOWN, .known = has_expected,
        TT_MEMBER(tt_diff_row, expected_ns)),
    TT_COLUMN("delta_ns", "B - A", NS, "time_ns of B less that of A", .nullable = true,
              .show = TT_SHOW_SIGN, TT_MEMBER(tt_diff_row, delta_ns)),
    TT_COLUMN("size_of_change", NULL, NS, "of B's time less A's, or less expected_ns",
              .show = TT_SHOW_TEXT, .type = TT_CELL_F64, .get = get_size_of_change),
    TT_COLUMN("delta_wait_ns", "OF IT WAITING", NS, "of it waiting: by the medians",
              .nullable = true, .show = TT_SHOW_WIDE | TT_SHOW_SIGN,
              TT_MEMBER(tt_diff_row, delta_wait_ns)),
    TT_COLUMN("samples", NULL, COUNT, "number of pairs of batches",
              TT_MEMBER(tt_diff_row, shift.n)),
    TT_COLUMN("blocks", NULL, COUNT, "blocks of them, or runs, that were tested; null: none",
              .nullable = true, .known = was_tested, TT_MEMBER(tt_diff_row, shift.blocks)),
    TT_COLUMN("change", "CHANGE", NONE, "B / A - 1, or B / expected_ns - 1; 0.1: 10 % longer",
              .nullable = true, TT_MEMBER(tt_diff_row, change), .text = show_change),
    TT_COLUMN("change_low", NULL, NONE, "lower end of the confidence interval", .nullable = true,
              TT_MEMBER(tt_diff_row, low)),
    TT_COLUMN("change_high", NULL, NONE, "upper end of the confidence interval", .nullable = true,
              TT_MEMBER(tt_diff_row, high)),
    TT_COLUMN("interval", "SURE OF", NONE, "confidence interval", .type = TT_CELL_NAME,
              .show = TT_SHOW_TEXT | TT_SHOW_RIGHT | TT_SHOW_KNOWN, .known = was_tested,
              .get = get_interval),
    FIGURE(p, "probability that noise alone causes such a change"),
    TT_COLUMN("p_adjusted", "P", NONE, "the same, corrected for the number of rows",
              .nullable = true, .show = TT_SHOW_WIDEST | TT_SHOW_KNOWN,
              TT_MEMBER(tt_diff_row, p_adjusted), .text = show_p),
    FIGURE(p_matters, "p of the test that the change is within the threshold"),
    TT_COLUMN("significant", NULL, NONE, "the change is significant at the level",
              TT_MEMBER(tt_diff_row, significant)),
    TT_COLUMN("matters", NULL, NONE, "the change is significantly more than the threshold",
              TT_MEMBER(tt_diff_row, matters)),
    TT_COLUMN("mark", "", NONE, "!: matters; *: significant", .type = TT_CELL_NAME,
              .show = TT_SHOW_TEXT | TT_SHOW_KNOWN, .get = get_mark),
};

const tt_schema tt_diff_row_schema = {"row", "a part, component, op, layer or node", row_columns,
                                      COUNT(row_columns)};

tt_rowset tt_diff_rowset(const tt_diff_phase *p, tt_diff_family family)
{
    return TT_ROWSET(&tt_diff_row_schema, (1u << family), p->profiles ? p->profiles[0] : NULL,
                     p->rows[family], p->n_rows[family]);
}

/* --- what was computed --- */

#define CHANGE_OF(name, text)                                                                      \
    TT_COLUMN_GET(change_##name, tt_diff_change, c, tt_cell_text(cell, text);)

CHANGE_OF(kind, !c->a ? "added" : !c->b ? "removed" : "changed")
CHANGE_OF(name_a, c->a ? c->a->name : NULL)
CHANGE_OF(name_b, c->b ? c->b->name : NULL)
CHANGE_OF(op_a, c->a ? c->a->op_name : NULL)
CHANGE_OF(op_b, c->b ? c->b->op_name : NULL)
TT_COLUMN_GET(get_change_layer, tt_diff_change, c,
              tt_cell_id(cell, (c->a ? c->a : c->b)->place.layer_id);)

static void json_differs(tt_json *j, const void *context, const void *row)
{
    static const char *const names[] = {"name",    "op",     "type",    "shape",
                                        "sources", "fusion", "backend", "order"};
    (void)context;
    tt_json_array(j);
    for (size_t i = 0; i < COUNT(names); i++)
        if (((const tt_diff_change *)row)->what >> i & 1) tt_json_string(j, names[i]);
    tt_json_array_end(j);
}

TT_COLUMN_JSON(json_text, tt_diff_change, c, char text[512];
               tt_json_string(j, tt_diff_write_change(c, text, sizeof text));)

#define CHANGE_TEXT(key_, about_)                                                                  \
    TT_COLUMN(#key_, NULL, NONE, about_, .type = TT_CELL_NAME, .nullable = true,                   \
              .get = change_##key_)

static const tt_column change_columns[] = {
    CHANGE_TEXT(kind, "added, removed or changed"),
    CHANGE_TEXT(name_a, "of the node in A"),
    CHANGE_TEXT(name_b, "in B"),
    CHANGE_TEXT(op_a, "the node's op in A"),
    CHANGE_TEXT(op_b, "op that computes it in B"),
    TT_COLUMN("computed_by_a", NULL, NONE, "with what it is fused in A", .nullable = true,
              TT_MEMBER(tt_diff_change, op_a)),
    TT_COLUMN("computed_by_b", NULL, NONE, "in B", .nullable = true,
              TT_MEMBER(tt_diff_change, op_b)),
    TT_COLUMN("layer_id", NULL, ID, "null: none", TT_LAYER, .get = get_change_layer),
    TT_STACK(.get = get_change_layer),
    TT_COLUMN("differs", NULL, NONE, "what of it", .type = TT_CELL_ROWS, .json = json_differs),
    TT_COLUMN("text", NULL, NONE, "the same in words", .type = TT_CELL_ROWS, .json = json_text),
};

SCHEMA(change, "a node that differs");

TT_COLUMN_ROWS(changes, tt_diff_structure, s, s->list, s->n)
TT_COLUMN_VALUE(get_more, tt_diff_structure, s, boolean, s->added + s->removed + s->changed > s->n)

#define NODES(key_, about_)                                                                        \
    TT_COLUMN(#key_, NULL, COUNT, about_, TT_MEMBER(tt_diff_structure, key_))

static const tt_column structure_columns[] = {
    NODES(nodes_a, "nodes of A"),
    NODES(nodes_b, "of B"),
    NODES(common, "of both"),
    NODES(added, "of B alone"),
    NODES(removed, "of A alone"),
    NODES(changed, "of both that differ"),
    TT_COLUMN("shapes_compared", NULL, NONE, "as many tokens at the same places on both sides",
              TT_MEMBER(tt_diff_structure, shapes_compared)),
    TT_COLUMN("more", NULL, NONE, "not all changes are listed", .type = TT_CELL_BOOL,
              .get = get_more),
    TT_COLUMN("changes", NULL, NONE, "the nodes that differ", .type = TT_CELL_ROWS,
              .inner = &change_schema, .rows = changes),
};

SCHEMA(structure, "what was computed");

/* --- where it comes from --- */

TT_COLUMN_GET(get_title, tt_diff_cause, c, tt_cell_text(cell, c->title);)

TT_COLUMN_JSON(json_layers, tt_diff_cause, c, tt_json_array(j);
               for (uint32_t i = 0; i < c->n_layers; i++) tt_json_i64(j, c->layers[i]);
               tt_json_array_end(j);)

static const tt_column cause_columns[] = {
    TT_COLUMN("component", NULL, NONE, "where the change comes from",
              TT_MEMBER(tt_diff_cause, component)),
    TT_COLUMN("title", NULL, NONE, "its name for people", .type = TT_CELL_NAME, .get = get_title),
    TT_COLUMN("all_layers", NULL, NONE, "in all of them", TT_MEMBER(tt_diff_cause, all_layers)),
    TT_COLUMN("layers", NULL, NONE, "in which", .type = TT_CELL_ROWS, .json = json_layers),
    TT_COLUMN("delta_ns", NULL, NS, "of B less that of A", .nullable = true,
              TT_MEMBER(tt_diff_cause, delta_ns)),
    TT_COLUMN("delta_wait_ns", NULL, NS, "of it waiting", .nullable = true,
              TT_MEMBER(tt_diff_cause, delta_wait_ns)),
    TT_COLUMN("significant", NULL, NONE, "it is sure by itself",
              TT_MEMBER(tt_diff_cause, significant)),
};

SCHEMA(cause, "where most of the change comes from");

TT_COLUMN_ROWS(causes, tt_diff_phase, p, p->causes, p->n_causes)

/* --- phases --- */

enum { TIMED = 1, NOT_TIMED = 2 };

#define FAMILY(name, family)                                                                       \
    static void rows_of_##name(const void *context, const void *row, tt_rowset *out)               \
    {                                                                                              \
        (void)context;                                                                             \
        *out = tt_diff_rowset(row, TT_DIFF_##family);                                              \
    }

FAMILY(total, TOTAL)
FAMILY(parts, PARTS)
FAMILY(components, COMPONENTS)
FAMILY(ops, KINDS)
FAMILY(layers, LAYERS)
FAMILY(nodes, OPS)

static const tt_diff_row *whole(const tt_diff_phase *p)
{
    return &p->rows[TT_DIFF_TOTAL][0];
}

#define OF_PHASE(name, text) TT_COLUMN_GET(get_##name, tt_diff_phase, p, tt_cell_text(cell, text);)

OF_PHASE(phase, tt_phase_name(p->phase))
OF_PHASE(paired_by, p->pairs.by_position ? "position" : "order")
OF_PHASE(verdict, tt_diff_verdict_name(p->verdict))
TT_COLUMN_SHOW(show_phase, tt_diff_phase, p,
               (void)snprintf(out, room, "%s", tt_diff_phase_title(p->phase));)
TT_COLUMN_VALUE(get_batches_a, tt_diff_phase, p, u64, p->units[0].n)
TT_COLUMN_VALUE(get_batches_b, tt_diff_phase, p, u64, p->units[((const tt_diff *)context)->n_a].n)
TT_COLUMN_VALUE(get_time_a, tt_diff_phase, p, f64, whole(p)->a.time_ns)
TT_COLUMN_VALUE(get_time_b, tt_diff_phase, p, f64, whole(p)->b.time_ns)
TT_COLUMN_SHOW(show_whole_a, tt_diff_phase, p, show_time(whole(p), false, out, room);)
TT_COLUMN_SHOW(show_whole_b, tt_diff_phase, p, show_time(whole(p), true, out, room);)

static void set_span(const tt_diff_side *s, tt_cell *cell)
{
    char low[TT_UNITS_TEXT], high[TT_UNITS_TEXT];
    tt_cell_format(cell, "%s .. %s", tt_units_ns(low, s->least_ns), tt_units_ns(high, s->p90_ns));
}

TT_COLUMN_GET(get_span_a, tt_diff_phase, p, set_span(&whole(p)->a, cell);)
TT_COLUMN_GET(get_span_b, tt_diff_phase, p, set_span(&whole(p)->b, cell);)
TT_COLUMN_GET(get_whole_change, tt_diff_phase, p,
              tt_cell_text(cell, tt_diff_percent(cell->room, whole(p)->change));)
TT_COLUMN_GET(get_whole_interval, tt_diff_phase, p,
              if (whole(p)->shift.tested) get_interval(context, whole(p), cell);)

#define PAIRS(key_, member_, about_)                                                               \
    TT_COLUMN(key_, NULL, COUNT, about_, TT_MEMBER(tt_diff_phase, member_))
#define OFF(key_, member_, about_)                                                                 \
    TT_COLUMN(key_, NULL, SHARE, about_, .nullable = true, .kinds = TIMED,                         \
              TT_MEMBER(tt_diff_phase, member_))
/* Texts composed of figures: right-aligned. */
#define WHOLE(key_, title_, get_, show_)                                                           \
    TT_COLUMN(key_, title_, NONE, "of the whole", .type = TT_CELL_NAME,                            \
              .show = TT_SHOW_TEXT | TT_SHOW_RIGHT | (show_), .kinds = TIMED, .get = get_)
#define ROWS(key_, about_)                                                                         \
    TT_COLUMN(#key_, NULL, NONE, about_, .type = TT_CELL_ROWS, .kinds = TIMED,                     \
              .inner = &tt_diff_row_schema, .rows = rows_of_##key_)

static const tt_column phase_columns[] = {
    TT_COLUMN("phase", "PHASE", NONE, "what the batches were for", .type = TT_CELL_NAME,
              .get = get_phase, .text = show_phase),
    TT_COLUMN("batches_compared", "COMPARED", COUNT, "batches of each side that were compared",
              TT_MEMBER(tt_diff_phase, pairs.n)),
    TT_COLUMN("batches_a", NULL, COUNT, "batches of A", .type = TT_CELL_U64, .get = get_batches_a),
    TT_COLUMN("batches_b", NULL, COUNT, "batches of B", .type = TT_CELL_U64, .get = get_batches_b),
    TT_COLUMN("paired_by", NULL, NONE, "position, or order", .type = TT_CELL_NAME,
              .get = get_paired_by),
    PAIRS("tokens_differ", pairs.tokens_differ, "pairs with other tokens"),
    PAIRS("batch_sizes_differ", pairs.sizes_differ, "pairs with another number of tokens"),
    PAIRS("positions_differ", pairs.positions_differ, "pairs at other positions"),
    PAIRS("samples", n_samples, "pairs that medians and tests are of"),
    PAIRS("sample_every", stride, "every so many-th"),
    OFF("off_cpu_share_a", off_share_a, "of the ops' time in A off CPU; null: not observed"),
    OFF("off_cpu_share_b", off_share_b, "likewise in B"),
    TT_COLUMN("undisturbed", NULL, NONE, "times are without that", .kinds = TIMED,
              TT_MEMBER(tt_diff_phase, undisturbed)),
    TT_COLUMN("unsteady", NULL, NONE, "log of a usual batch's time by that of fast ones beside it",
              .kinds = TIMED, TT_MEMBER(tt_diff_phase, unsteady)),
    TT_COLUMN("busy", NULL, NONE, "others had the processors: more noise is allowed for",
              .kinds = TIMED, TT_MEMBER(tt_diff_phase, busy)),
    TT_COLUMN("structure", NULL, NONE, "what was computed",
              TT_MEMBER_OBJECT(tt_diff_phase, structure, &structure_schema)),
    TT_COLUMN("time_a_ns", "A", NS, "of the whole", .type = TT_CELL_F64, .show = TT_SHOW_TEXT,
              .kinds = TIMED, .get = get_time_a, .text = show_whole_a),
    WHOLE("span_a", "A: 0 .. 90 %", get_span_a, TT_SHOW_WIDE),
    TT_COLUMN("time_b_ns", "B", NS, "of the whole", .type = TT_CELL_F64, .show = TT_SHOW_TEXT,
              .kinds = TIMED, .get = get_time_b, .text = show_whole_b),
    WHOLE("span_b", "B: 0 .. 90 %", get_span_b, TT_SHOW_WIDE),
    WHOLE("change", "CHANGE", get_whole_change, 0),
    WHOLE("interval", "SURE OF", get_whole_interval, TT_SHOW_KNOWN),
    TT_COLUMN("verdict", "VERDICT", NONE, "on its time", .type = TT_CELL_NAME, .kinds = TIMED,
              .get = get_verdict),
    TT_COLUMN("total", NULL, NONE, "of a batch", .type = TT_CELL_OBJECT, .kinds = TIMED,
              .inner = &tt_diff_row_schema, .rows = rows_of_total),
    TT_COLUMN("causes", NULL, NONE, "where most of it comes from", .type = TT_CELL_ROWS,
              .kinds = TIMED, .inner = &cause_schema, .rows = causes),
    ROWS(parts, "by part of the network"),
    ROWS(components, "by component"),
    ROWS(ops, "by op"),
    ROWS(layers, "by layer"),
    ROWS(nodes, "each by itself"),
};

SCHEMA(phase, "a phase of both runs");

tt_rowset tt_diff_phases(const tt_diff *d, size_t i, size_t n)
{
    return (tt_rowset){.schema = &phase_schema,
                       .kind = d->phases[i].n_rows[TT_DIFF_TOTAL] > 0 ? TIMED : NOT_TIMED,
                       .context = d,
                       .rows = &d->phases[i],
                       .row_bytes = sizeof d->phases[i],
                       .n = n};
}

/* --- data besides the ops --- */

TT_COLUMN_SHOW(show_setting_a, tt_diff_setting, s,
               tt_cell_text_copy(out, room, s->a ? s->a : "not recorded");)
TT_COLUMN_SHOW(show_setting_b, tt_diff_setting, s,
               tt_cell_text_copy(out, room, s->b ? s->b : "not recorded");)

static const tt_column setting_columns[] = {
    TT_COLUMN("setting", "SETTING", NONE, "what differs", .show = TT_SHOW_KEY,
              TT_MEMBER(tt_diff_setting, key)),
    TT_COLUMN("a", "A", NONE, "null: not recorded", .nullable = true, .show = TT_SHOW_WRAP,
              TT_MEMBER(tt_diff_setting, a), .text = show_setting_a),
    TT_COLUMN("b", "B", NONE, "null: not recorded", .nullable = true, .show = TT_SHOW_WRAP,
              TT_MEMBER(tt_diff_setting, b), .text = show_setting_b),
};

SCHEMA(setting, "a setting that differs");

tt_rowset tt_diff_settings(const tt_diff_around *x)
{
    return TT_ROWSET(&setting_schema, 0, NULL, x->settings, x->n_settings);
}

/* The rows are A's summaries; the context has B's. */
static const tt_kind_summary *of_b(const tt_diff_around *x, const tt_kind_summary *a)
{
    return &x->summary_b.buffers[a - x->summary_a.buffers];
}

TT_COLUMN_GET(get_buffer_kind, tt_kind_summary, a,
              const tt_kind_summary *first = ((const tt_diff_around *)context)->summary_a.buffers;
              tt_cell_text(cell, tt_buffer_kind_name((tt_buffer_kind)(a - first)));)
TT_COLUMN_VALUE(get_count_b, tt_kind_summary, a, u64, of_b(context, a)->count)
TT_COLUMN_VALUE(get_size_b, tt_kind_summary, a, u64, of_b(context, a)->size_bytes)

bool tt_diff_has_buffers(const void *context, const void *row)
{
    const tt_kind_summary *a = row;
    return a->count > 0 || of_b(context, a)->count > 0;
}

bool tt_diff_buffers_differ(const void *context, const void *row)
{
    const tt_kind_summary *a = row;
    return a->size_bytes != of_b(context, a)->size_bytes;
}

static const tt_column buffer_columns[] = {
    TT_COLUMN("kind", "BUFFERS", NONE, "what is in them", .type = TT_CELL_NAME,
              .get = get_buffer_kind),
    TT_COLUMN("count_a", "A: COUNT", COUNT, "buffers of A", TT_MEMBER(tt_kind_summary, count)),
    TT_COLUMN("count_b", "B: COUNT", COUNT, "buffers of B", .type = TT_CELL_U64,
              .get = get_count_b),
    TT_COLUMN("size_bytes_a", "A", BYTES, "all of them, of A",
              TT_MEMBER(tt_kind_summary, size_bytes)),
    TT_COLUMN("size_bytes_b", "B", BYTES, "all of them, of B", .type = TT_CELL_U64,
              .get = get_size_b),
};

SCHEMA(buffer, "buffers by what is in them");

tt_rowset tt_diff_buffers(const tt_diff_around *x)
{
    return TT_ROWSET(&buffer_schema, 0, x, x->summary_a.buffers, COUNT(x->summary_a.buffers));
}

TT_COLUMN_VALUE(get_all, tt_diff_fault_row, f, boolean, f->layer_id == INT64_MIN)
TT_COLUMN_GET(get_fault_layer, tt_diff_fault_row, f, tt_cell_id(cell, f->layer_id);)
TT_COLUMN_SHOW(show_fault_layer, tt_diff_fault_row, f, char text[TT_LAYER_TEXT];
               (void)snprintf(out, room, "%s",
                              f->layer_id == INT64_MIN ? "all"
                              : f->layer_id < 0        ? "no layer"
                                                : tt_layer_text(text, (int32_t)f->layer_id));)
TT_COLUMN_KNOWN(has_reads, tt_diff_fault_row, f, f->has_reads)
/* How much a row's faults differ; faults that read from disk weigh most. The total comes first. */
TT_COLUMN_VALUE(get_weight, tt_diff_fault_row, f, f64,
                f->layer_id == INT64_MIN ? DBL_MAX
                                         : fabs((double)f->major_b - (double)f->major_a) * 1e3 +
                                               fabs((double)f->minor_b - (double)f->minor_a))

#define FAULTS(key_, title_, about_)                                                               \
    TT_COLUMN(#key_, title_, COUNT, about_, TT_MEMBER(tt_diff_fault_row, key_))

static const tt_column fault_columns[] = {
    TT_COLUMN("all", NULL, NONE, "the sum of all rows", .type = TT_CELL_BOOL, .get = get_all),
    TT_COLUMN("layer_id", "LAYER", ID, "null: ops of no layer, or all", TT_LAYER,
              .show = TT_SHOW_LEFT, .get = get_fault_layer, .text = show_fault_layer),
    TT_STACK(.get = get_fault_layer),
    FAULTS(minor_a, "MINOR A", "that read nothing, of A"),
    FAULTS(minor_b, "MINOR B", "of B"),
    FAULTS(major_a, "MAJOR A", "that read from disk, of A"),
    FAULTS(major_b, "MAJOR B", "of B"),
    TT_COLUMN("read_bytes_a", "READ A", BYTES, "read from disk, of A", .nullable = true,
              .show = TT_SHOW_DASH, .known = has_reads, TT_MEMBER(tt_diff_fault_row, read_a)),
    TT_COLUMN("read_bytes_b", "READ B", BYTES, "of B", .nullable = true, .show = TT_SHOW_DASH,
              .known = has_reads, TT_MEMBER(tt_diff_fault_row, read_b)),
    TT_COLUMN("weight", NULL, NONE, "how much it differs", .type = TT_CELL_F64,
              .show = TT_SHOW_TEXT, .get = get_weight),
};

SCHEMA(fault, "page faults of a layer");

tt_rowset tt_diff_faults(const tt_diff_around *x)
{
    return TT_ROWSET(&fault_schema, 0, NULL, x->faults, x->has_faults ? x->n_faults : 0);
}

TT_COLUMN_SHOW(show_divergence, tt_diff_router, r,
               if (!isnan(r->divergence_bits))(void)
                   snprintf(out, room, "%.4f bit", r->divergence_bits);)

#define ROUTER(key_, title_, about_)                                                               \
    TT_COLUMN(#key_, title_, COUNT, about_, TT_MEMBER(tt_diff_router, key_))

static const tt_column router_columns[] = {
    TT_COLUMN("layer_id", "LAYER", ID, "the router's", TT_LAYER, .show = TT_SHOW_LEFT,
              TT_LAYER_AT(tt_diff_router, layer_id)),
    TT_STACK(TT_LAYER_AT(tt_diff_router, layer_id)),
    ROUTER(experts_a, NULL, "experts that A has"),
    ROUTER(experts_b, NULL, "that B has"),
    ROUTER(n_tokens_a, "TOKENS A", "that A routed"),
    ROUTER(n_tokens_b, "TOKENS B", "that B routed"),
    TT_COLUMN("divergence_bits", "DIVERGENCE", NONE, "Jensen-Shannon, of the experts' shares",
              .nullable = true, TT_MEMBER(tt_diff_router, divergence_bits),
              .text = show_divergence),
    TT_COLUMN("jaccard", "JACCARD", NONE, "of the experts that were chosen at all",
              .nullable = true, TT_MEMBER(tt_diff_router, jaccard)),
};

SCHEMA(router, "how a layer's experts are chosen");

tt_rowset tt_diff_routing(const tt_diff_around *x)
{
    return TT_ROWSET(&router_schema, 0, NULL, x->routers, x->n_routers);
}
