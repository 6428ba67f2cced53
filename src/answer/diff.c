#include "answer/diff.h"

#include <string.h>

/* --- verdict --- */

static bool is_timed(const tt_diff *d)
{
    return tt_diff_main(d) && tt_diff_common(d) > 0 && !d->options.structure_only;
}

TT_COLUMN_VALUE(get_differs, tt_diff_view, v, boolean, tt_diff_outcome_of(v) != TT_DIFF_ALIKE)
TT_COLUMN_VALUE(get_models, tt_diff_view, v, boolean, v->d->around.models.differ)
TT_COLUMN_GET(get_models_text, tt_diff_view, v, const char *text = v->d->around.models.text;
              tt_cell_text(cell, text[0] ? text : NULL);)
TT_COLUMN_VALUE(get_structure, tt_diff_view, v, boolean,
                tt_diff_common(v->d) == 0 || tt_diff_changes(v->d) > 0)
TT_COLUMN_GET(get_times, tt_diff_view, v, const tt_diff_phase *p = tt_diff_main(v->d);
              tt_cell_text(cell, is_timed(v->d) ? tt_diff_verdict_name(p->verdict) : NULL);)
TT_COLUMN_GET(get_phase, tt_diff_view, v, const tt_diff_phase *p = tt_diff_main(v->d);
              tt_cell_text(cell, p ? tt_phase_name(p->phase) : NULL);)
TT_COLUMN_JSON(json_text, tt_diff_view, v, char text[TT_DIFF_SENTENCE];
               tt_json_string(j, tt_diff_write_times(v, text));)
TT_COLUMN_JSON(json_structure, tt_diff_view, v, char text[TT_DIFF_SENTENCE];
               tt_json_string(j, tt_diff_write_structure(v, text));)

static const tt_column verdict_columns[] = {
    TT_FIELD("differs", "the runs do", .type = TT_CELL_BOOL, .get = get_differs),
    TT_FIELD("models_differ", "no model is on both sides", .type = TT_CELL_BOOL, .get = get_models),
    TT_FIELD("models_text", "what differs in the model files; null: nothing that was observed",
             .type = TT_CELL_NAME, .nullable = true, .get = get_models_text),
    TT_FIELD("structure_differs", "what they computed does", .type = TT_CELL_BOOL,
             .get = get_structure),
    TT_FIELD("times", "how their times differ", .type = TT_CELL_NAME, .get = get_times),
    TT_FIELD("phase", "of the times", .type = TT_CELL_NAME, .get = get_phase),
    TT_FIELD("text", "the times in words", .type = TT_CELL_NAME, .json = json_text),
    TT_FIELD("structure_text", "what they computed in words", .type = TT_CELL_NAME,
             .json = json_structure),
};
static const tt_schema verdict_schema = TT_SCHEMA("verdict", "how they differ", verdict_columns);

/* --- all of it --- */

static const tt_column path_columns[] = {TT_FIELD("file", "a trace", .type = TT_CELL_NAME)};
static const tt_schema path_schema = TT_SCHEMA("files", "of one side", path_columns);

TT_COLUMN_JSON(json_notes, tt_diff_view, v, {
    char text[TT_DIFF_SENTENCE];
    tt_json_array(j);
    for (unsigned i = 0; i < TT_DIFF_NOTES; i++)
        if (tt_diff_note(v, i, text)) tt_json_string(j, text);
    tt_json_array_end(j);
})
TT_COLUMN_ROWS(files_a, tt_diff_view, v, v->paths, v->d->n_a)
TT_COLUMN_ROWS(files_b, tt_diff_view, v, v->paths + v->d->n_a, v->d->n_files - v->d->n_a)

/* Each phase has the columns of its own kind. */
TT_COLUMN_JSON(json_phases, tt_diff_view, v, {
    tt_json_array(j);
    for (size_t i = 0; i < TT_DIFF_PHASES; i++) {
        const tt_rowset phase = tt_diff_phases(v->d, i, 1);
        if (v->d->phases[i].pairs.n == 0) continue;
        tt_json_object(j);
        tt_rowset_json(j, &phase, phase.rows);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
})

#define AROUND(name, set_)                                                                         \
    static void name(const void *context, const void *row, tt_rowset *out)                         \
    {                                                                                              \
        (void)context;                                                                             \
        *out = set_(&((const tt_diff_view *)row)->d->around);                                      \
    }
AROUND(settings, tt_diff_settings)
AROUND(all_buffers, tt_diff_buffers)
AROUND(faults, tt_diff_faults)
AROUND(routing, tt_diff_routing)
TT_COLUMN_KNOWN(has_faults, tt_diff_view, v, v->d->around.has_faults)

static void buffers(const void *context, const void *row, tt_rowset *out)
{
    all_buffers(context, row, out);
    out->passes = tt_diff_has_buffers;
}

#define OF_DIFF(member_) TT_THROUGH(tt_diff_view, d), TT_MEMBER(tt_diff, member_)
#define ROWS(key_, about_, rows_) TT_FIELD(key_, about_, .type = TT_CELL_ROWS, .rows = (rows_))

static const tt_column columns[] = {
    TT_FIELD("files_a", "traces of A", .type = TT_CELL_LIST, .inner = &path_schema,
             .rows = files_a),
    TT_FIELD("files_b", "traces of B", .type = TT_CELL_LIST, .inner = &path_schema,
             .rows = files_b),
    TT_FIELD("threshold", "a change that matters", OF_DIFF(options.threshold)),
    TT_FIELD("level", "of the tests", OF_DIFF(options.level)),
    TT_FIELD("verdict", "how they differ", .type = TT_CELL_OBJECT, .inner = &verdict_schema),
    TT_FIELD("notes", "for reading the figures", .type = TT_CELL_LIST, .json = json_notes),
    TT_FIELD("phases", "the times by phase", .type = TT_CELL_ROWS, .json = json_phases),
    ROWS("settings", "that differ", settings),
    ROWS("buffers", "by kind", buffers),
    TT_FIELD("faults", "null: not of both", .type = TT_CELL_ROWS, .known = has_faults,
             .rows = faults),
    ROWS("routing", "by layer", routing),
    TT_FIELD("records", "that were read", OF_DIFF(records)),
    TT_FIELD("orphan_records", "of no run", OF_DIFF(orphan)),
};
static const tt_schema schema = TT_SCHEMA("diff", "two runs compared", columns);

void tt_diff_json(tt_json *j, const tt_diff_view *v)
{
    tt_row_json(j, NULL, &schema, NULL, v);
}
