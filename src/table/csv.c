#include "table/table.h"

#include "base/units.h"
#include "table/csv_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Escapes tabs, line ends and backslashes. */
static void put_escaped(tt_bytes *out, const char *text, size_t n)
{
    static const char signs[] = "\t\n\r\\", letters[] = "tnr\\";
    for (size_t i = 0; i < n; i++) {
        const char *sign = text[i] ? strchr(signs, text[i]) : NULL;
        if (sign) tt_bytes_u8(out, '\\');
        tt_bytes_u8(out, (uint8_t)(sign ? letters[sign - signs] : text[i]));
    }
}

static void put_text(tt_bytes *out, bool tabs, const char *text, size_t n)
{
    if (tabs)
        put_escaped(out, text, n);
    else
        tt_csv_put_text(out, text, n);
}

void tt_listing_csv_header(tt_bytes *out, const tt_listing *l)
{
    bool first = true;
    for (size_t i = 0; i < l->n_columns; i++) {
        if (tt_column_nested(l->columns[i])) continue;
        if (!first) tt_bytes_u8(out, l->tabs ? '\t' : ',');
        put_text(out, l->tabs, l->columns[i]->key, strlen(l->columns[i]->key));
        first = false;
    }
    tt_bytes_u8(out, '\n');
}

static void put_cell(tt_bytes *out, bool tabs, const tt_column *column, const tt_cell *cell)
{
    char text[TT_DECIMAL_TEXT];
    int n = 0;
    switch (column->type) {
    case TT_CELL_BOOL:
        n = snprintf(text, sizeof text, "%s", cell->boolean ? "true" : "false");
        break;
    case TT_CELL_U8:
    case TT_CELL_U16:
    case TT_CELL_U32:
    case TT_CELL_U64:
        n = snprintf(text, sizeof text, "%" PRIu64, cell->u64);
        break;
    case TT_CELL_I32:
    case TT_CELL_I64:
    case TT_CELL_TIME:
        n = snprintf(text, sizeof text, "%" PRId64, cell->i64);
        break;
    case TT_CELL_F32:
    case TT_CELL_F64:
        n = (int)tt_decimal_write(cell->f64, text);
        break;
    case TT_CELL_NAME:
        put_text(out, tabs, cell->text.at, cell->text.n);
        return;
    case TT_CELL_OBJECT:
    case TT_CELL_ROWS:
    case TT_CELL_LIST:
    case TT_CELL_COLUMNS:
        return;
    }
    if (n > 0) tt_bytes_put(out, text, (size_t)n);
}

void tt_listing_csv_row(tt_bytes *out, const tt_listing *l, const void *row)
{
    bool first = true;
    for (size_t i = 0; i < l->n_columns; i++) {
        tt_cell cell;
        if (tt_column_nested(l->columns[i])) continue;
        if (!first) tt_bytes_u8(out, l->tabs ? '\t' : ',');
        first = false;
        tt_cell_get(l->columns[i], l->set->context, row, &cell);
        if (cell.known) put_cell(out, l->tabs, l->columns[i], &cell);
    }
    tt_bytes_u8(out, '\n');
}
