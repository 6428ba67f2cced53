/* How a table fits into a line: columns are left out by their declared order, then texts become
 * narrower, names last. A number is never shortened. */
#include "cli/table_cells.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Texts that do not identify rows are left out rather than narrower than this, ... */
#define TEXT_WIDTH_GOOD 16
/* ... or than this if they may not be left out. */
#define TEXT_WIDTH_MIN 8
/* Sentences are not wrapped to less. */
#define WRAPPED_WIDTH_GOOD 24
/* Columns beside the names that are never left out. */
#define COLUMNS_KEPT 2

/* Rows compared to choose where to cut names. */
#define COMPARED_ROWS 4096u

static bool is_key(const tt_table *t, size_t column)
{
    return (t->column[column].flags & TT_COLUMN_KEY) != 0;
}

/* The first column stands for those that identify rows if there are none. */
static bool may_go(const tt_table *t, size_t column)
{
    const int flags = t->column[column].flags;
    size_t keys = 0;
    for (size_t i = 0; i < t->columns; i++)
        keys += is_key(t, i);
    return !t->column[column].left_out && (column > 0 || keys > 0) &&
           !(flags & (TT_COLUMN_KEY | TT_COLUMN_WRAP | TT_COLUMN_KEEP));
}

/* Names get two thirds of the line before other columns get any of it. */
static size_t name_width(const tt_table *t, size_t limit)
{
    size_t keys = 0;
    for (size_t i = 0; i < t->columns; i++)
        keys += is_key(t, i) && !t->column[i].left_out;
    const size_t share = limit * 2 / 3 / (keys ? keys : 1);
    return share > TEXT_WIDTH_GOOD ? share : TEXT_WIDTH_GOOD;
}

/* The width of a line whose texts are as narrow as is still good. */
static size_t good_width(const tt_table *t, size_t limit)
{
    const size_t name = name_width(t, limit);
    size_t total = 0, columns = 0;
    for (size_t i = 0; i < t->columns; i++) {
        const int flags = t->column[i].flags;
        const size_t good = flags & TT_COLUMN_WRAP        ? WRAPPED_WIDTH_GOOD
                            : !(flags & TT_COLUMN_SHRINK) ? SIZE_MAX
                            : is_key(t, i)                ? name
                                                          : TEXT_WIDTH_GOOD;
        if (t->column[i].left_out) continue;
        total += columns++ ? TT_TABLE_SEPARATOR_WIDTH : 0;
        total += t->column[i].full < good ? t->column[i].full : good;
    }
    return total;
}

/* Whether a text is the same in all rows, and so tells nothing apart. */
static bool is_alike(const tt_table *t, size_t column)
{
    if (!(t->column[column].flags & TT_COLUMN_SHRINK) || t->rows < 2) return false;
    for (size_t r = 1; r < t->rows; r++)
        if (strcmp(t->cells[r * t->columns + column].text, t->cells[column].text) != 0)
            return false;
    return true;
}

/* The column that is left out next: texts that are alike, then WIDEST, then WIDE, then others that
 * do not identify rows, the last first; t->columns: none. */
static size_t next_to_leave_out(const tt_table *t)
{
    size_t others = 0;
    for (size_t i = t->columns; i-- > 0;)
        if (may_go(t, i) && is_alike(t, i)) return i;
    for (int flag = TT_COLUMN_WIDEST; flag >= TT_COLUMN_WIDE; flag /= 2)
        for (size_t i = t->columns; i-- > 0;)
            if (t->column[i].flags & flag && !t->column[i].left_out) return i;
    for (size_t i = 0; i < t->columns; i++)
        others += !is_key(t, i) && !t->column[i].left_out;
    for (int text = TT_COLUMN_SHRINK; text >= 0; text -= TT_COLUMN_SHRINK) /* before numbers */
        for (size_t i = t->columns; i-- > 0 && others > COLUMNS_KEPT;)
            if (may_go(t, i) && (t->column[i].flags & text) == text) return i;
    return t->columns;
}

static bool leave_one_out(tt_table *t)
{
    const size_t i = next_to_leave_out(t);
    if (i == t->columns) return false;
    t->column[i].left_out = true;
    return true;
}

/* Takes width from the widest column with one of these flags, and none of the others, until the
 * line fits or none is wider than `least`; returns the remaining excess. */
static size_t shrink(tt_table *t, int with, int without, size_t least, size_t excess)
{
    while (excess > 0) {
        size_t widest = t->columns;
        for (size_t i = 0; i < t->columns; i++) {
            if (t->column[i].left_out || !(t->column[i].flags & with)) continue;
            if (t->column[i].flags & without || t->column[i].width <= least) continue;
            if (widest == t->columns || t->column[i].width > t->column[widest].width) widest = i;
        }
        if (widest == t->columns) break;
        t->column[widest].width--;
        excess--;
    }
    return excess;
}

static void choose_widths(tt_table *t, size_t limit)
{
    size_t total = 0, columns = 0;
    for (size_t i = 0; i < t->columns; i++) {
        t->column[i].width = t->column[i].full;
        if (t->column[i].left_out) continue;
        total += t->column[i].full + (columns++ ? TT_TABLE_SEPARATOR_WIDTH : 0);
    }
    if (total <= limit) return;
    size_t excess = shrink(t, TT_COLUMN_WRAP, 0, WRAPPED_WIDTH_GOOD, total - limit);
    excess = shrink(t, TT_COLUMN_SHRINK, TT_COLUMN_KEY, TEXT_WIDTH_GOOD, excess);
    excess = shrink(t, TT_COLUMN_SHRINK, 0, TEXT_WIDTH_GOOD, excess);
    (void)shrink(t, TT_COLUMN_SHRINK | TT_COLUMN_WRAP, 0, TEXT_WIDTH_MIN, excess);
}

/* Leaves out columns that are unknown in all rows. */
static void leave_out_unknown(tt_table *t)
{
    for (size_t i = 0; i < t->columns; i++) {
        if (!(t->column[i].flags & TT_COLUMN_IF_KNOWN)) continue;
        bool known = t->rows == 0;
        for (size_t r = 0; r < t->rows && !known; r++) {
            const char *text = t->cells[r * t->columns + i].text;
            known = text && text[0] && strcmp(text, "-") != 0;
        }
        t->column[i].left_out = !known;
    }
}

/* --- where names are cut --- */

static int by_cut_text(const void *a, const void *b, void *context)
{
    const tt_table_place *at = context;
    const tt_table_cell *x = *(const tt_table_cell *const *)a,
                        *y = *(const tt_table_cell *const *)b;
    const size_t width = at->head + 1 + at->tail;
    if (x->width <= width || y->width <= width) return strcmp(x->text, y->text);
    const int order = memcmp(x->text, y->text, at->head);
    return order ? order : strcmp(x->text + x->width - at->tail, y->text + y->width - at->tail);
}

/* How many different texts remain in a column that is cut in this way. */
static size_t different(const tt_table_cell **cells, size_t n, tt_table_place at)
{
    size_t found = n > 0;
    qsort_r(cells, n, sizeof(tt_table_cell *), by_cut_text, &at);
    for (size_t i = 1; i < n; i++)
        found += by_cut_text(&cells[i - 1], &cells[i], &at) != 0;
    return found;
}

/* Chooses where to cut ASCII names to the column's width so that most of them stay different, as
 * close to the middle as possible. Returns how many names become the same as another. */
static size_t place_cut(tt_table *t, size_t column)
{
    const size_t width = t->column[column].width, middle = width / 2;
    const size_t rows = t->rows < COMPARED_ROWS ? t->rows : COMPARED_ROWS;
    const tt_table_cell **cells = calloc(rows + 1, sizeof(tt_table_cell *));
    size_t n = 0, most = 0;
    t->column[column].at = (tt_table_place){middle, width - 1 - middle};
    for (size_t r = 0; cells && r < rows; r++) {
        const tt_table_cell *c = &t->cells[r * t->columns + column];
        if (c->width > width && tt_table_plain_length(c->text) == c->width) cells[n++] = c;
    }
    const size_t all = n ? different(cells, n, (tt_table_place){SIZE_MAX / 4, SIZE_MAX / 4}) : 0;
    for (size_t step = 0; most < all && step < 2 * width; step++) {
        const size_t off = (step + 1) / 2;
        if (step % 2 ? middle + off >= width : off > middle) continue;
        const tt_table_place at = {step % 2 ? middle + off : middle - off,
                                   width - 1 - (step % 2 ? middle + off : middle - off)};
        const size_t kept = different(cells, n, at);
        if (kept <= most) continue;
        most = kept;
        t->column[column].at = at;
    }
    free(cells);
    return all - most;
}

/* Whether the names that differ still do. */
static bool places_cuts(tt_table *t)
{
    size_t lost = 0;
    for (size_t i = 0; i < t->columns; i++)
        if (is_key(t, i) && !t->column[i].left_out && t->column[i].width < t->column[i].full)
            lost += place_cut(t, i);
    return lost == 0;
}

void tt_table_fit(tt_table *t, size_t limit)
{
    leave_out_unknown(t);
    for (size_t i = 0; i < t->columns; i++) { /* libsmartcols makes none narrower than 1 */
        if (!t->column[i].full) t->column[i].full = 1;
        t->column[i].width = t->column[i].full;
    }
    if (limit == 0) return;
    while (good_width(t, limit) > limit && leave_one_out(t))
        ;
    do
        choose_widths(t, limit);
    while (!places_cuts(t) && leave_one_out(t));
}

/* --- cutting --- */

/* Replaces what is cut out. */
static const char *ellipsis_text(void)
{
    return MB_CUR_MAX > 1 ? "\xe2\x80\xa6" : "~";
}

/* Keeps `head` bytes of the start and `tail` of the end. */
static void cut_out(tt_table *t, tt_table_cell *c, size_t head, size_t tail, size_t width)
{
    const char *ellipsis = ellipsis_text();
    const size_t size = strlen(ellipsis), length = strlen(c->text);
    char *shorter = tt_table_take(t, head + size + tail + 1);
    if (!shorter) return; /* too wide is better than lost */
    memcpy(shorter, c->text, head);
    memcpy(shorter + head, ellipsis, size);
    memcpy(shorter + head + size, c->text + length - tail, tail + 1);
    c->text = shorter;
    c->width = width;
}

void tt_table_cut(tt_table *t, size_t column, tt_table_cell *c)
{
    const size_t width = t->column[column].width;
    const tt_table_place at = t->column[column].at;
    size_t used = 0;
    if (c->width <= width) return;
    if (is_key(t, column) && tt_table_plain_length(c->text) == c->width) {
        cut_out(t, c, at.head, at.tail, width);
        return;
    }
    const size_t head = tt_table_head(c->text, width - 1, &used);
    cut_out(t, c, head, 0, used + 1);
}
