#include "answer/heat.h"

TT_COLUMN_LISTING(rows, tt_heat_view, v, v->rows)
TT_COLUMN_ROWS(summary, tt_heat_view, v, v->heat, 1)

static const tt_column columns[] = {
    TT_FIELD("file", "the trace", TT_MEMBER(tt_heat_view, path)),
    TT_FIELD("by", "what a row is", TT_MEMBER(tt_heat_view, by)),
    TT_FIELD("rows", "that are listed", .type = TT_CELL_ROWS, .rows = rows),
    TT_FIELD("rows_total", "also those behind the limit", TT_THROUGH(tt_heat_view, rows),
             TT_MEMBER(tt_listing, n_all)),
    TT_FIELD("summary", "of all weights", .type = TT_CELL_OBJECT, .inner = &tt_heat_summary_schema,
             .rows = summary),
};
static const tt_schema schema = TT_SCHEMA("heat", "how often weights are read", columns);

void tt_heat_json(tt_json *j, const tt_heat_view *v)
{
    tt_row_json(j, NULL, &schema, NULL, v);
}
