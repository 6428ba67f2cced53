#include "cli/table.h"

#include <libsmartcols.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define COLUMNS_MAX 64
#define SEPARATOR "  "
#define SEPARATOR_WIDTH 2
/* A shrunk column keeps at least this many places: less says nothing. */
#define SHRUNK_WIDTH_MIN 8

/* Cells are kept until the end, because only then the widths are known: the
 * ellipsis of a cut cell has to be put in before libsmartcols sees the text. */
struct tt_table {
    FILE *out;
    size_t columns;
    struct {
        char *title;
        int flags;
        size_t width;
    } column[COLUMNS_MAX];
    char **cells; /* rows x columns */
    size_t rows;
    size_t capacity; /* in rows */
    bool failed;
};

tt_table *tt_table_new(FILE *out)
{
    tt_table *t = calloc(1, sizeof *t);
    if (t) t->out = out;
    return t;
}

/* Places a text takes on a terminal. Bytes that are no text in this locale are
 * shown as \xNN by libsmartcols: counted as four. */
static size_t text_width(const char *s)
{
    mbstate_t state;
    size_t width = 0;
    memset(&state, 0, sizeof state);
    while (*s) {
        wchar_t c;
        size_t n = mbrtowc(&c, s, MB_LEN_MAX, &state);
        int w = n == (size_t)-1 || n == (size_t)-2 ? -1 : wcwidth(c);
        if (n == (size_t)-1 || n == (size_t)-2) {
            memset(&state, 0, sizeof state);
            n = 1;
        }
        width += w >= 0 ? (size_t)w : 4 * n;
        s += n;
    }
    return width;
}

static void widen(tt_table *t, size_t column, const char *text)
{
    size_t width = text_width(text);
    if (width > t->column[column].width) t->column[column].width = width;
}

void tt_table_column(tt_table *t, const char *title, int flags)
{
    char *copy = strdup(title);
    if (!copy || t->columns == COLUMNS_MAX || t->rows > 0) {
        free(copy);
        t->failed = true;
        return;
    }
    t->column[t->columns].title = copy;
    t->column[t->columns].flags = flags;
    widen(t, t->columns++, copy);
}

static bool grow(tt_table *t)
{
    if (t->rows < t->capacity) return true;
    size_t capacity = t->capacity ? t->capacity * 2 : 64;
    char **cells = reallocarray(t->cells, capacity * t->columns, sizeof *cells);
    if (!cells) return false;
    t->cells = cells;
    t->capacity = capacity;
    return true;
}

void tt_table_row(tt_table *t, const char *const *cells)
{
    if (t->failed || t->columns == 0 || !grow(t)) {
        t->failed = true;
        return;
    }
    char **row = t->cells + t->rows++ * t->columns;
    for (size_t i = 0; i < t->columns; i++) {
        row[i] = strdup(cells[i] ? cells[i] : "");
        if (row[i])
            widen(t, i, row[i]);
        else
            t->failed = true;
    }
}

/* COLUMNS, when somebody exported it, is a wish and wins over the terminal's own idea.
 * It is none for a file or a pipe: what reads those wants whole names. */
size_t tt_table_width(FILE *out)
{
    struct winsize size;
    if (!isatty(fileno(out))) return 0;
    const char *columns = getenv("COLUMNS");
    long wish = columns ? strtol(columns, NULL, 10) : 0;
    if (wish > 0 && wish < 10000) return (size_t)wish;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

/* Takes places from the widest shrinkable column until the line fits or none is
 * left to take from. */
static void fit(tt_table *t, size_t limit)
{
    size_t total = t->columns ? (t->columns - 1) * SEPARATOR_WIDTH : 0;
    for (size_t i = 0; i < t->columns; i++)
        total += t->column[i].width;
    while (limit > 0 && total > limit) {
        size_t widest = t->columns;
        for (size_t i = 0; i < t->columns; i++) {
            if (!(t->column[i].flags & TT_COLUMN_SHRINK)) continue;
            if (widest == t->columns || t->column[i].width > t->column[widest].width) widest = i;
        }
        if (widest == t->columns || t->column[widest].width <= SHRUNK_WIDTH_MIN) return;
        t->column[widest].width--;
        total--;
    }
}

/* Cuts a text to `width` places, the last of them an ellipsis. */
static void cut(char **text, size_t width)
{
    const char *ellipsis = MB_CUR_MAX > 1 ? "\xe2\x80\xa6" : "~";
    size_t used = 0, at = 0;
    mbstate_t state;
    if (text_width(*text) <= width) return;
    memset(&state, 0, sizeof state);
    while ((*text)[at]) {
        wchar_t c;
        size_t n = mbrtowc(&c, *text + at, MB_LEN_MAX, &state);
        int w = n == (size_t)-1 || n == (size_t)-2 ? -1 : wcwidth(c);
        if (n == (size_t)-1 || n == (size_t)-2) {
            memset(&state, 0, sizeof state);
            n = 1;
        }
        size_t places = w >= 0 ? (size_t)w : 4 * n;
        if (used + places + 1 > width) break;
        used += places;
        at += n;
    }
    char *shorter = malloc(at + strlen(ellipsis) + 1);
    if (!shorter) return; /* too wide is better than lost */
    memcpy(shorter, *text, at);
    memcpy(shorter + at, ellipsis, strlen(ellipsis) + 1);
    free(*text);
    *text = shorter;
}

static bool fill(tt_table *t, struct libscols_table *table)
{
    for (size_t i = 0; i < t->columns; i++) {
        int right = t->column[i].flags & TT_COLUMN_RIGHT ? SCOLS_FL_RIGHT : 0;
        cut(&t->column[i].title, t->column[i].width);
        if (!scols_table_new_column(table, t->column[i].title, 0, right)) return false;
    }
    for (size_t r = 0; r < t->rows; r++) {
        struct libscols_line *line = scols_table_new_line(table, NULL);
        if (!line) return false;
        for (size_t i = 0; i < t->columns; i++) {
            char **cell = &t->cells[r * t->columns + i];
            cut(cell, t->column[i].width);
            if (scols_line_refer_data(line, i, *cell) != 0) return false;
            *cell = NULL; /* the line owns it now */
        }
    }
    return true;
}

static bool print(tt_table *t)
{
    struct libscols_table *table = scols_new_table();
    if (!table) return false;
    fit(t, tt_table_width(t->out));
    /* The width is settled: libsmartcols must not cut by its own idea of it. */
    bool ok = scols_table_set_stream(table, t->out) == 0 &&
              scols_table_set_column_separator(table, SEPARATOR) == 0 &&
              scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER) == 0 &&
              scols_table_enable_minout(table, 1) == 0 && fill(t, table) &&
              scols_print_table(table) == 0 && !ferror(t->out);
    scols_unref_table(table);
    return ok;
}

bool tt_table_print(tt_table *t)
{
    if (!t) return false;
    bool ok = !t->failed && print(t);
    for (size_t i = 0; i < t->rows * t->columns; i++)
        free(t->cells[i]);
    for (size_t i = 0; i < t->columns; i++)
        free(t->column[i].title);
    free(t->cells);
    free(t);
    return ok;
}
