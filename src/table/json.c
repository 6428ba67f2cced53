#include "base/layer.h"
#include "table/table.h"

static void put_cell(tt_json *j, const tt_column *column, const tt_cell *cell)
{
    if (!cell->known) {
        tt_json_null(j);
        return;
    }
    switch (column->type) {
    case TT_CELL_BOOL:
        tt_json_bool(j, cell->boolean);
        break;
    case TT_CELL_U8:
    case TT_CELL_U16:
    case TT_CELL_U32:
    case TT_CELL_U64:
        tt_json_u64(j, cell->u64);
        break;
    case TT_CELL_I32:
    case TT_CELL_I64:
    case TT_CELL_TIME:
        tt_json_i64(j, cell->i64);
        break;
    case TT_CELL_F32:
    case TT_CELL_F64:
        tt_json_double(j, cell->f64);
        break;
    case TT_CELL_NAME:
        tt_json_string_n(j, cell->text.at, cell->text.n);
        break;
    case TT_CELL_OBJECT:
    case TT_CELL_ROWS:
    case TT_CELL_LIST:
    case TT_CELL_COLUMNS:
        tt_json_null(j);
        break;
    }
}

static void put_value(tt_json *j, const tt_column *column, const void *context, const void *row);

static void put_row(tt_json *j, const tt_rowset *set, const void *row)
{
    tt_json_object(j);
    tt_rowset_json(j, set, row);
    tt_json_object_end(j);
}

static void put_rows(tt_json *j, const tt_rowset *set, bool plain)
{
    tt_json_array(j);
    for (size_t i = 0; i < set->n; i++) {
        const void *row = tt_rowset_row(set, i);
        if (set->passes && !set->passes(set->context, row)) continue;
        if (plain)
            put_value(j, &set->schema->columns[0], set->context, row);
        else
            put_row(j, set, row);
    }
    tt_json_array_end(j);
}

static void put_inner(tt_json *j, const tt_column *column, const void *context, const void *row)
{
    tt_rowset inner = {.schema = column->inner,
                       .context = context,
                       .rows = (const char *)row + column->offset,
                       .n = 1};
    if (column->known && !column->known(context, row)) {
        tt_json_null(j);
        return;
    }
    if (column->rows) column->rows(context, row, &inner);
    if (inner.listing) {
        tt_listing_json(j, inner.listing);
    } else if (column->type == TT_CELL_COLUMNS) {
        tt_json_object(j);
        tt_rowset_json_columns(j, NULL, &inner);
        tt_json_object_end(j);
    } else if (column->type != TT_CELL_OBJECT) {
        put_rows(j, &inner, column->type == TT_CELL_LIST);
    } else if (inner.n) {
        put_row(j, &inner, inner.rows);
    } else {
        tt_json_null(j);
    }
}

static void put_value(tt_json *j, const tt_column *column, const void *context, const void *row)
{
    tt_cell cell;
    if (column->json && column->known && !column->known(context, row)) {
        tt_json_null(j);
    } else if (column->json) {
        column->json(j, context, row);
    } else if (tt_column_nested(column)) {
        put_inner(j, column, context, row);
    } else {
        tt_cell_get(column, context, row, &cell);
        put_cell(j, column, &cell);
    }
}

static bool is_known(const tt_column *column, const void *context, const void *row)
{
    tt_cell cell;
    if (column->json || tt_column_nested(column))
        return !column->known || column->known(context, row);
    tt_cell_get(column, context, row, &cell);
    return cell.known;
}

/* Of a column of a stack: the whole layer; negative: none. */
static int32_t layer_of(const tt_column *column, const void *context, const void *row)
{
    tt_cell cell;
    tt_column whole = *column;
    whole.layer = TT_OF_LAYER_WHOLE;
    tt_cell_get(&whole, context, row, &cell);
    return cell.known ? (int32_t)cell.i64 : -1;
}

/* Whether its number tells which layer it is. */
static bool is_plain(int32_t layer)
{
    return layer < TT_LAYER_NUMBERS;
}

static void put_layer_key(tt_json *j, const tt_column *column, const void *context, const void *row)
{
    const int32_t layer = column->layer == TT_OF_LAYER_STACK ? layer_of(column, context, row) : -1;
    if (!is_plain(layer)) tt_json_kv_i64(j, TT_LAYER_KEY, layer);
}

void tt_column_json(tt_json *j, const tt_column *column, const void *context, const void *row)
{
    if (column->show & TT_SHOW_OMIT && !is_known(column, context, row)) return;
    tt_json_key(j, column->key);
    put_value(j, column, context, row);
    put_layer_key(j, column, context, row);
}

void tt_rowset_json(tt_json *j, const tt_rowset *set, const void *row)
{
    const unsigned without =
        TT_SHOW_TEXT | TT_SHOW_FLAT | (set->sum ? TT_SHOW_KEY | TT_SHOW_ROW : 0u);
    for (size_t i = 0; i < set->schema->n_columns; i++) {
        const tt_column *c = &set->schema->columns[i];
        if (tt_rowset_has(set, c) && !(c->show & without)) tt_column_json(j, c, set->context, row);
    }
}

void tt_row_json(tt_json *j, const char *key, const tt_schema *schema, const void *context,
                 const void *row)
{
    const tt_rowset set = {.schema = schema, .context = context, .rows = row, .n = 1};
    if (key) tt_json_key(j, key);
    if (!row) {
        tt_json_null(j);
        return;
    }
    put_row(j, &set, row);
}

bool tt_row_json_print(FILE *out, const tt_schema *schema, const void *context, const void *row)
{
    tt_json j;
    tt_json_begin(&j, out, 2);
    tt_row_json(&j, NULL, schema, context, row);
    return tt_json_end(&j);
}

void tt_rowset_json_rows(tt_json *j, const char *key, const tt_rowset *set,
                         bool (*passes)(const void *context, const void *row))
{
    tt_rowset rows = *set;
    rows.passes = passes;
    tt_json_key(j, key);
    put_rows(j, &rows, false);
}

/* All of them, or none. */
static void put_layer_keys(tt_json *j, const tt_column *column, const tt_rowset *set)
{
    bool plain = true;
    if (column->layer != TT_OF_LAYER_STACK) return;
    for (size_t i = 0; i < set->n && plain; i++)
        plain = is_plain(layer_of(column, set->context, tt_rowset_row(set, i)));
    if (plain) return;
    tt_json_key(j, TT_LAYER_KEY);
    tt_json_array(j);
    for (size_t i = 0; i < set->n; i++) {
        const int32_t layer = layer_of(column, set->context, tt_rowset_row(set, i));
        if (layer < 0)
            tt_json_null(j);
        else
            tt_json_i64(j, layer);
    }
    tt_json_array_end(j);
}

void tt_rowset_json_columns(tt_json *j, const char *key, const tt_rowset *set)
{
    if (key) {
        tt_json_key(j, key);
        tt_json_object(j);
    }
    for (size_t c = 0; c < set->schema->n_columns; c++) {
        const tt_column *column = &set->schema->columns[c];
        if (!tt_rowset_has(set, column) || column->show & TT_SHOW_TEXT) continue;
        tt_json_key(j, column->key);
        tt_json_array(j);
        for (size_t i = 0; i < set->n; i++)
            put_value(j, column, set->context, tt_rowset_row(set, i));
        tt_json_array_end(j);
        put_layer_keys(j, column, set);
    }
    if (key) tt_json_object_end(j);
}

void tt_listing_json_row(tt_json *j, const tt_listing *l, const void *row)
{
    for (size_t i = 0; i < l->n_columns; i++)
        tt_column_json(j, l->columns[i], l->set->context, row);
}

void tt_listing_json(tt_json *j, const tt_listing *l)
{
    tt_json_array(j);
    for (size_t i = 0; i < l->n; i++) {
        tt_json_object(j);
        tt_listing_json_row(j, l, tt_listing_row(l, i));
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}
