#include "table/table.h"

#include "base/layer.h"
#include "base/units.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Room for the largest formatted number. */
#define CELL_NUMBER 64

const void *tt_rowset_row(const tt_rowset *set, size_t i)
{
    return (const char *)set->rows + i * set->row_bytes;
}

bool tt_rowset_has(const tt_rowset *set, const tt_column *column)
{
    return column->kinds == 0 || set->kind == 0 || (column->kinds & set->kind) != 0;
}

bool tt_column_nested(const tt_column *column)
{
    return column->type >= TT_CELL_OBJECT;
}

bool tt_column_right(const tt_column *column)
{
    return (column->type != TT_CELL_NAME && column->type != TT_CELL_BOOL &&
            !(column->show & TT_SHOW_LEFT)) ||
           column->show & TT_SHOW_RIGHT;
}

void tt_cell_text(tt_cell *cell, const char *text)
{
    cell->known = text != NULL;
    cell->text.at = text;
    cell->text.n = text ? strlen(text) : 0;
}

void tt_cell_format(tt_cell *cell, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(cell->room, sizeof cell->room, fmt, args);
    va_end(args);
    tt_cell_text(cell, cell->room);
}

void tt_cell_id(tt_cell *cell, int64_t id)
{
    cell->known = id >= 0;
    cell->i64 = id;
}

void tt_cell_ns(tt_cell *cell, bool known, double ns)
{
    cell->known = known && fabs(ns) < 9e18;
    if (cell->known) cell->i64 = llround(ns);
}

/* The member of the row that the column shows. */
static void get_member(const tt_column *column, const void *row, tt_cell *cell)
{
    if (column->through) row = *(const void *const *)((const char *)row + column->through - 1);
    const void *at = (const char *)row + column->offset;
    if (column->layer) {
        tt_cell_id(cell, *(const int32_t *)at);
        return;
    }
    switch (column->type) {
    case TT_CELL_BOOL:
        cell->boolean = *(const bool *)at;
        break;
    case TT_CELL_U8:
        cell->u64 = *(const uint8_t *)at;
        break;
    case TT_CELL_U16:
        cell->u64 = *(const uint16_t *)at;
        break;
    case TT_CELL_U32:
        cell->u64 = *(const uint32_t *)at;
        break;
    case TT_CELL_U64:
        cell->u64 = *(const uint64_t *)at;
        break;
    case TT_CELL_I32:
        cell->i64 = *(const int32_t *)at;
        break;
    case TT_CELL_I64:
    case TT_CELL_TIME:
        cell->i64 = *(const int64_t *)at;
        break;
    case TT_CELL_F32:
        cell->f64 = *(const float *)at;
        break;
    case TT_CELL_F64:
        cell->f64 = *(const double *)at;
        break;
    case TT_CELL_NAME:
        tt_cell_text(cell, !column->chars      ? *(const char *const *)at
                           : *(const char *)at ? at
                                               : NULL);
        return;
    case TT_CELL_OBJECT:
    case TT_CELL_ROWS:
    case TT_CELL_LIST:
    case TT_CELL_COLUMNS:
        return;
    }
    cell->known = true;
}

/* Of a column of a layer: that part of it. */
static void take_part_of_layer(const tt_column *column, tt_cell *cell)
{
    const int32_t layer = (int32_t)cell->i64;
    if (column->layer == TT_OF_LAYER_NUMBER)
        cell->i64 = tt_layer_number(layer);
    else if (column->layer == TT_OF_LAYER_STACK)
        tt_cell_text(cell, cell->known ? tt_layer_stack_name(layer) : NULL);
}

static void get_whole(const tt_column *column, const void *context, const void *row, tt_cell *cell)
{
    cell->known = false;
    cell->bound = TT_EXACT;
    cell->u64 = 0;
    if (column->known && !column->known(context, row)) return;
    if (column->get)
        column->get(context, row, cell);
    else
        get_member(column, row, cell);
    if ((column->type == TT_CELL_F32 || column->type == TT_CELL_F64) && !isfinite(cell->f64))
        cell->known = false;
    if (cell->known && column->bound) cell->bound = column->bound(context, row);
}

void tt_cell_get(const tt_column *column, const void *context, const void *row, tt_cell *cell)
{
    get_whole(column, context, row, cell);
    if (column->layer) take_part_of_layer(column, cell);
}

static void show_real(tt_cell_unit unit, double v, char out[CELL_NUMBER])
{
    switch (unit) {
    case TT_UNIT_BYTES:
        if (v < 0) *out++ = '-';
        (void)tt_units_bytes(out, fabs(v) < 1.8e19 ? (uint64_t)fabs(v) : UINT64_MAX);
        break;
    case TT_UNIT_NS:
    case TT_UNIT_MOMENT:
        (void)tt_units_ns(out, v);
        break;
    case TT_UNIT_SHARE:
        (void)snprintf(out, CELL_NUMBER, "%.1f %%", 100 * v);
        break;
    case TT_UNIT_BYTES_PER_S:
        (void)tt_units_rate(out, v);
        break;
    case TT_UNIT_FIGURE:
        (void)snprintf(out, CELL_NUMBER, "%.5g", v);
        break;
    case TT_UNIT_COUNT:
        if (v == floor(v) && fabs(v) < 1.8e19) {
            if (v < 0) *out++ = '-';
            (void)tt_units_count(out, (uint64_t)fabs(v));
            break;
        }
        __attribute__((fallthrough));
    case TT_UNIT_NONE:
    case TT_UNIT_ID:
        (void)snprintf(out, CELL_NUMBER, "%.3f", v);
        break;
    }
}

static void show_digits(uint64_t v, char out[CELL_NUMBER])
{
    char digits[CELL_NUMBER];
    size_t n = 0;
    do
        digits[n++] = (char)('0' + v % 10);
    while (v /= 10);
    while (n > 0)
        *out++ = digits[--n];
    *out = '\0';
}

static void show_unsigned(tt_cell_unit unit, uint64_t v, char out[CELL_NUMBER])
{
    if (unit == TT_UNIT_COUNT)
        (void)tt_units_count(out, v);
    else if (unit == TT_UNIT_BYTES)
        (void)tt_units_bytes(out, v);
    else if (unit == TT_UNIT_NONE || unit == TT_UNIT_ID)
        show_digits(v, out);
    else
        show_real(unit, (double)v, out);
}

/* Texts come from files: no control byte may reach a terminal. */
static void show_text(const tt_cell *cell, char *out, size_t room)
{
    size_t n = cell->text.n < room - 1 ? cell->text.n : room - 1;
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)cell->text.at[i];
        out[i] = c < ' ' || c == 0x7f ? '?' : (char)c;
    }
    out[n] = '\0';
}

void tt_cell_text_copy(char *out, size_t room, const char *text)
{
    tt_cell cell;
    tt_cell_text(&cell, text);
    if (cell.known) show_text(&cell, out, room);
}

void tt_cell_show(const tt_column *column, const void *context, const void *row, char *out,
                  size_t room)
{
    static const char *const signs[] = {
        [TT_EXACT] = "", [TT_AT_MOST] = "<= ", [TT_AT_LEAST] = ">= ", [TT_ABOUT] = "~"};
    tt_cell cell;
    char text[CELL_NUMBER];
    out[0] = '\0';
    if (column->text) {
        column->text(context, row, out, room);
        return;
    }
    if (column->layer == TT_OF_LAYER_NUMBER) {
        get_whole(column, context, row, &cell);
        const bool dash = !cell.known || cell.i64 < 0;
        if (!dash) (void)snprintf(out, room, "%s", tt_layer_text(text, (int32_t)cell.i64));
        if (dash && column->show & TT_SHOW_DASH) (void)snprintf(out, room, "-");
        return;
    }
    tt_cell_get(column, context, row, &cell);
    /* A dash: it applies but was not observed; empty: it does not apply. */
    const bool real = column->type == TT_CELL_F32 || column->type == TT_CELL_F64;
    if (!cell.known && (column->show & TT_SHOW_DASH || (real && isnan(cell.f64))))
        (void)snprintf(out, room, "-");
    if (!cell.known) return;
    switch (column->type) {
    case TT_CELL_BOOL:
        (void)snprintf(out, room, "%s", cell.boolean ? "yes" : "no");
        return;
    case TT_CELL_NAME:
        show_text(&cell, out, room);
        return;
    case TT_CELL_U8:
    case TT_CELL_U16:
    case TT_CELL_U32:
    case TT_CELL_U64:
        show_unsigned(column->unit, cell.u64, text);
        break;
    case TT_CELL_I32:
    case TT_CELL_I64:
    case TT_CELL_TIME:
        if (column->unit == TT_UNIT_NS || column->unit == TT_UNIT_MOMENT) {
            show_real(column->unit, (double)cell.i64, text);
            break;
        }
        text[0] = '-';
        show_digits(cell.i64 < 0 ? 0 - (uint64_t)cell.i64 : (uint64_t)cell.i64,
                    text + (cell.i64 < 0));
        break;
    case TT_CELL_F32:
    case TT_CELL_F64:
        if (column->show & TT_SHOW_SIGN) {
            (void)snprintf(out, room, "%s", cell.f64 < 0 ? "-" : "+");
            cell.f64 = fabs(cell.f64);
            out++;
            room--;
        }
        show_real(column->unit, cell.f64, text);
        break;
    case TT_CELL_OBJECT:
    case TT_CELL_ROWS:
    case TT_CELL_LIST:
    case TT_CELL_COLUMNS:
        return;
    }
    const size_t n = strlen(text);
    if (cell.bound == TT_EXACT && n < room)
        memcpy(out, text, n + 1);
    else
        (void)snprintf(out, room, "%s%s", signs[cell.bound], text);
}
