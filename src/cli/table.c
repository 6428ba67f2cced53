#include "cli/table.h"

#include "table/table.h"

#include <libsmartcols.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define COLUMNS_MAX 64
#define SEPARATOR "  "
#define SEPARATOR_WIDTH 2
/* A shortened column keeps at least this width: less is useless. */
#define SHRUNK_WIDTH_MIN 8
/* Before a column becomes narrower than this, dispensable columns are left out. */
#define SHRUNK_WIDTH_GOOD 16

/* Rows compared to choose where to shorten names. */
#define COMPARED_ROWS 4096u

/* Texts of cells, one after another. */
typedef struct pool {
    struct pool *next;
    size_t used, size;
    char bytes[];
} pool;

#define POOL_BYTES ((size_t)256 << 10)

typedef struct cell {
    char *text; /* in a pool */
    size_t width;
} cell;

/* Cells are kept until the end, because only then the widths are known: the ellipsis of a shortened
 * cell must be inserted before libsmartcols gets the text. */
struct tt_table {
    FILE *out;
    size_t columns;
    struct {
        cell title;
        int flags;
        size_t width;
        bool left_out;
    } column[COLUMNS_MAX];
    cell *cells; /* rows x columns */
    size_t rows;
    size_t capacity; /* in rows */
    pool *pools;
    bool plain; /* all texts are ASCII: one column per byte, no escapes */
    bool failed;
};

tt_table *tt_table_new(FILE *out)
{
    tt_table *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->out = out;
    t->plain = true;
    return t;
}

/* Room for n bytes; NULL if out of memory. */
static char *take(tt_table *t, size_t n)
{
    if (!t->pools || n > t->pools->size - t->pools->used) {
        size_t size = n > POOL_BYTES ? n : POOL_BYTES;
        pool *p = malloc(sizeof *p + size);
        if (!p) return NULL;
        *p = (pool){t->pools, 0, size};
        t->pools = p;
    }
    char *at = t->pools->bytes + t->pools->used;
    t->pools->used += n;
    return at;
}

/* A text's width on a terminal. libsmartcols shows bytes that are invalid in this locale as \xNN:
 * counted as four. */
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

/* Length of a text of which each byte has width 1, without escapes (libsmartcols escapes a
 * backslash); SIZE_MAX for others. */
static size_t plain_length(const char *s)
{
    size_t n = 0;
    for (; s[n]; n++)
        if (s[n] < 0x20 || s[n] > 0x7e || s[n] == '\\') return SIZE_MAX;
    return n;
}

static void set_cell(tt_table *t, size_t column, cell *c, const char *text)
{
    size_t n = plain_length(text);
    c->width = n;
    if (n == SIZE_MAX) {
        t->plain = false;
        n = strlen(text);
        c->width = text_width(text);
    }
    c->text = take(t, n + 1);
    if (c->text)
        memcpy(c->text, text, n + 1);
    else
        t->failed = true;
    if (c->width > t->column[column].width) t->column[column].width = c->width;
}

void tt_table_column(tt_table *t, const char *title, int flags)
{
    if (t->columns == COLUMNS_MAX || t->rows > 0) {
        t->failed = true;
        return;
    }
    t->column[t->columns].flags = flags;
    set_cell(t, t->columns, &t->column[t->columns].title, title);
    t->columns++;
}

static bool grow(tt_table *t)
{
    if (t->rows < t->capacity) return true;
    size_t capacity = t->capacity ? t->capacity * 2 : 64;
    cell *cells = reallocarray(t->cells, capacity * t->columns, sizeof *cells);
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
    cell *row = t->cells + t->rows++ * t->columns;
    for (size_t i = 0; i < t->columns; i++)
        set_cell(t, i, &row[i], cells[i] ? cells[i] : "");
}

/* An exported COLUMNS takes precedence over the terminal's width, even for a pipe. Without it a
 * file or a pipe has no width: its readers want complete names. */
size_t tt_table_width(FILE *out)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    long wish = columns ? strtol(columns, NULL, 10) : 0;
    if (wish > 0 && wish < 10000) return (size_t)wish;
    if (!isatty(fileno(out))) return 0;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

static void put_line(FILE *out, size_t indent, const char *text)
{
    const size_t limit = tt_table_width(out);
    size_t used = 0;
    bool first = true; /* in its line */
    while (*text) {
        const size_t spaces = strspn(text, " "), letters = strcspn(text + spaces, " ");
        char word[256];
        (void)snprintf(word, sizeof word, "%.*s", (int)letters, text + spaces);
        const size_t width = text_width(word);
        if (limit && !first && letters < sizeof word && used + spaces + width > limit) {
            fprintf(out, "\n%*s", (int)indent, "");
            used = indent;
        } else {
            fprintf(out, "%*s", (int)spaces, "");
            used += spaces;
        }
        (void)fwrite(text + spaces, 1, letters, out);
        used += width;
        first = false;
        text += spaces + letters;
    }
    putc('\n', out);
}

void tt_table_text(FILE *out, size_t indent, const char *text)
{
    char *lines = strdup(text), *save = NULL;
    if (!lines || !strchr(text, '\n')) {
        put_line(out, indent, text);
    } else {
        for (char *line = strtok_r(lines, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
            put_line(out, indent, line);
    }
    free(lines);
}

/* The width of a line whose shrinkable columns are as narrow as is still good. */
static size_t good_width(const tt_table *t)
{
    size_t total = 0, columns = 0;
    for (size_t i = 0; i < t->columns; i++) {
        const int cut = t->column[i].flags & (TT_COLUMN_SHRINK | TT_COLUMN_KEY);
        const size_t width = t->column[i].width;
        if (t->column[i].left_out) continue;
        total += columns++ ? SEPARATOR_WIDTH : 0;
        total += cut == TT_COLUMN_SHRINK && width > SHRUNK_WIDTH_GOOD ? SHRUNK_WIDTH_GOOD : width;
    }
    return total;
}

/* Takes width from the widest column with these flags of SHRINK and KEY until the line fits or none
 * is left; returns the remaining excess. */
static size_t shrink(tt_table *t, int flags, size_t excess)
{
    while (excess > 0) {
        size_t widest = t->columns;
        for (size_t i = 0; i < t->columns; i++) {
            if ((t->column[i].flags & (TT_COLUMN_SHRINK | TT_COLUMN_KEY)) != flags) continue;
            if (t->column[i].left_out) continue;
            if (widest == t->columns || t->column[i].width > t->column[widest].width) widest = i;
        }
        if (widest == t->columns || t->column[widest].width <= SHRUNK_WIDTH_MIN) break;
        t->column[widest].width--;
        excess--;
    }
    return excess;
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

static void fit(tt_table *t, size_t limit)
{
    leave_out_unknown(t);
    size_t total = 0, columns = 0;
    for (size_t i = 0; i < t->columns; i++) /* libsmartcols makes none narrower */
        if (!t->column[i].width) t->column[i].width = 1;
    for (int flag = TT_COLUMN_WIDEST; limit > 0 && flag >= TT_COLUMN_WIDE; flag /= 2)
        for (size_t i = t->columns; i-- > 0 && good_width(t) > limit;)
            t->column[i].left_out |= (t->column[i].flags & flag) != 0;
    for (size_t i = 0; i < t->columns; i++)
        if (!t->column[i].left_out) total += t->column[i].width + (columns++ ? SEPARATOR_WIDTH : 0);
    if (limit == 0 || total <= limit) return;
    const size_t excess = shrink(t, TT_COLUMN_SHRINK, total - limit);
    (void)shrink(t, TT_COLUMN_SHRINK | TT_COLUMN_KEY, excess);
}

/* Replaces what is cut out. */
static const char *ellipsis_text(void)
{
    return MB_CUR_MAX > 1 ? "\xe2\x80\xa6" : "~";
}

/* The parts of a shortened name that stay: at its start and end. */
typedef struct cut_place {
    size_t head, tail;
} cut_place;

static int by_cut_text(const void *a, const void *b, void *context)
{
    const cut_place *at = context;
    const cell *x = *(const cell *const *)a, *y = *(const cell *const *)b;
    const size_t width = at->head + 1 + at->tail;
    if (x->width <= width || y->width <= width) return strcmp(x->text, y->text);
    const int order = memcmp(x->text, y->text, at->head);
    return order ? order : strcmp(x->text + x->width - at->tail, y->text + y->width - at->tail);
}

/* How many different texts remain in a column that is shortened in this way. */
static size_t different(const cell **cells, size_t n, cut_place at)
{
    size_t found = n > 0;
    qsort_r(cells, n, sizeof(cell *), by_cut_text, &at);
    for (size_t i = 1; i < n; i++)
        found += by_cut_text(&cells[i - 1], &cells[i], &at) != 0;
    return found;
}

/* Where to cut ASCII names to the column's width so that most of them stay different, as close to
 * the middle as possible. */
static cut_place best_cut(const tt_table *t, size_t column)
{
    const size_t width = t->column[column].width, middle = width / 2;
    const size_t rows = t->rows < COMPARED_ROWS ? t->rows : COMPARED_ROWS;
    cut_place best = {middle, width - 1 - middle};
    const cell **cells = calloc(rows + 1, sizeof(cell *));
    size_t n = 0, most = 0;
    for (size_t r = 0; cells && r < rows; r++) {
        const cell *c = &t->cells[r * t->columns + column];
        if (c->width > width && plain_length(c->text) == c->width) cells[n++] = c;
    }
    for (size_t step = 0; n > 1 && most < n && step < 2 * width; step++) {
        const size_t off = (step + 1) / 2;
        if (step % 2 ? middle + off >= width : off > middle) continue;
        const cut_place at = {step % 2 ? middle + off : middle - off,
                              width - 1 - (step % 2 ? middle + off : middle - off)};
        const size_t kept = different(cells, n, at);
        if (kept <= most) continue;
        most = kept;
        best = at;
    }
    free(cells);
    return best;
}

static void cut_out(tt_table *t, cell *c, cut_place at)
{
    const char *ellipsis = ellipsis_text();
    const size_t size = strlen(ellipsis);
    char *shorter = take(t, at.head + size + at.tail + 1);
    if (!shorter) return; /* too wide is better than lost */
    memcpy(shorter, c->text, at.head);
    memcpy(shorter + at.head, ellipsis, size);
    memcpy(shorter + at.head + size, c->text + c->width - at.tail, at.tail + 1);
    c->text = shorter;
    c->width = at.head + 1 + at.tail;
}

/* Shortens a text to `width`, including the ellipsis. */
static void cut(tt_table *t, cell *c, size_t width)
{
    const char *ellipsis = ellipsis_text(), *text = c->text;
    size_t used = 0, at = 0;
    mbstate_t state;
    if (c->width <= width) return;
    memset(&state, 0, sizeof state);
    while (text[at]) {
        wchar_t wide;
        size_t n = mbrtowc(&wide, text + at, MB_LEN_MAX, &state);
        int w = n == (size_t)-1 || n == (size_t)-2 ? -1 : wcwidth(wide);
        if (n == (size_t)-1 || n == (size_t)-2) {
            memset(&state, 0, sizeof state);
            n = 1;
        }
        size_t places = w >= 0 ? (size_t)w : 4 * n;
        if (used + places + 1 > width) break;
        used += places;
        at += n;
    }
    char *shorter = take(t, at + strlen(ellipsis) + 1);
    if (!shorter) return; /* too wide is better than lost */
    memcpy(shorter, text, at);
    memcpy(shorter + at, ellipsis, strlen(ellipsis) + 1);
    c->text = shorter;
    c->width = used + 1;
}

static bool fill(tt_table *t, struct libscols_table *table)
{
    cut_place at[COLUMNS_MAX];
    for (size_t i = 0; i < t->columns; i++) {
        if (t->column[i].flags & TT_COLUMN_KEY && !t->column[i].left_out) at[i] = best_cut(t, i);
        int right = t->column[i].flags & TT_COLUMN_RIGHT ? SCOLS_FL_RIGHT : 0;
        if (t->column[i].left_out) continue;
        cut(t, &t->column[i].title, t->column[i].width);
        if (!scols_table_new_column(table, t->column[i].title.text, 0, right)) return false;
    }
    for (size_t r = 0; r < t->rows; r++) {
        struct libscols_line *line = scols_table_new_line(table, NULL);
        if (!line) return false;
        for (size_t i = 0, place = 0; i < t->columns; i++) {
            cell *c = &t->cells[r * t->columns + i];
            const size_t width = t->column[i].width;
            if (t->column[i].left_out) continue;
            if (t->column[i].flags & TT_COLUMN_KEY && c->width > width &&
                plain_length(c->text) == c->width)
                cut_out(t, c, at[i]);
            cut(t, c, width);
            if (scols_line_set_data(line, place++, c->text) != 0) return false;
        }
    }
    return true;
}

static bool print_any(tt_table *t)
{
    struct libscols_table *table = scols_new_table();
    if (!table) return false;
    /* The width is final: libsmartcols must not shorten anything itself. */
    bool ok = scols_table_set_stream(table, t->out) == 0 &&
              scols_table_set_column_separator(table, SEPARATOR) == 0 &&
              scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER) == 0 &&
              scols_table_enable_minout(table, 1) == 0 && fill(t, table) &&
              scols_print_table(table) == 0 && !ferror(t->out);
    scols_unref_table(table);
    return ok;
}

/* A line in libsmartcols's format: nothing after the last text. */
static void print_plain_line(const tt_table *t, const cell *cells, size_t step, char *line)
{
    size_t n = 0, end = 0;
    bool first = true;
    for (size_t i = 0; i < t->columns; i++) {
        const cell *c = (const cell *)((const char *)cells + i * step);
        if (t->column[i].left_out) continue;
        size_t pad = t->column[i].width - c->width;
        if (!first) {
            memset(line + n, ' ', SEPARATOR_WIDTH);
            n += SEPARATOR_WIDTH;
        }
        first = false;
        if (t->column[i].flags & TT_COLUMN_RIGHT) {
            memset(line + n, ' ', pad);
            n += pad;
            pad = 0;
        }
        memcpy(line + n, c->text, c->width);
        n += c->width;
        if (c->width) end = n;
        memset(line + n, ' ', pad);
        n += pad;
    }
    line[end] = '\n';
    (void)fwrite(line, 1, end + 1, t->out);
}

/* The same in a hundredth of the time, for millions of rows in a file. */
static bool print_plain(tt_table *t)
{
    size_t width = t->columns * SEPARATOR_WIDTH + 1;
    for (size_t i = 0; i < t->columns; i++)
        width += t->column[i].width;
    char *line = malloc(width);
    if (!line) return false;
    print_plain_line(t, &t->column[0].title, sizeof t->column[0], line);
    for (size_t r = 0; r < t->rows; r++)
        print_plain_line(t, t->cells + r * t->columns, sizeof(cell), line);
    free(line);
    return !ferror(t->out);
}

static bool print(tt_table *t)
{
    size_t limit = tt_table_width(t->out);
    fit(t, limit);
    return t->plain && limit == 0 && t->rows > 0 ? print_plain(t) : print_any(t);
}

bool tt_table_print(tt_table *t)
{
    if (!t) return false;
    bool ok = !t->failed && print(t);
    while (t->pools) {
        pool *p = t->pools;
        t->pools = p->next;
        free(p);
    }
    free(t->cells);
    free(t);
    return ok;
}

void tt_table_line(FILE *out, const char *what, const char *fmt, ...)
{
    char text[2048], line[2064];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const int indent = snprintf(line, sizeof line, "%-13.40s", what);
    tt_cell_text_copy(line + indent, sizeof line - (size_t)indent, text);
    tt_table_text(out, 13, line);
}
