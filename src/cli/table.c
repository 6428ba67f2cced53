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

/* Texts of cells, one after another. */
typedef struct pool pool;

typedef struct cell {
    char *text; /* in a pool */
    size_t width;
} cell;

/* The parts of a name cut in its middle that stay: at its start and end. */
typedef struct cut_at {
    size_t head, tail;
} cut_at;

/* Cells are kept until the end, because only then the widths are known: the ellipsis of a shortened
 * cell must be inserted before libsmartcols gets the text. */
struct tt_table {
    FILE *out;
    size_t columns;
    struct {
        cell title;
        int flags;
        size_t full;  /* the width of its widest cell */
        size_t width; /* the width it gets */
        cut_at at;
        bool left_out;
    } column[COLUMNS_MAX];
    cell *cells; /* rows x columns */
    size_t rows;
    size_t capacity; /* in rows */
    pool *pools;
    bool plain; /* all texts are ASCII: one column per byte, no escapes */
    bool failed;
};

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

struct pool {
    pool *next;
    size_t used, size;
    char bytes[];
};

#define POOL_BYTES ((size_t)256 << 10)

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

/* The bytes of the character at s, and its width. */
static size_t character(const char *s, mbstate_t *state, size_t *width)
{
    wchar_t c;
    size_t n = mbrtowc(&c, s, MB_LEN_MAX, state);
    int w = n == (size_t)-1 || n == (size_t)-2 ? -1 : wcwidth(c);
    if (n == (size_t)-1 || n == (size_t)-2) {
        memset(state, 0, sizeof *state);
        n = 1;
    }
    *width = w >= 0 ? (size_t)w : 4 * n;
    return n;
}

/* Bytes of the start of a text that is at most `width` wide; *used: how wide it is. */
static size_t head_bytes(const char *text, size_t width, size_t *used)
{
    mbstate_t state;
    size_t at = 0, places = 0;
    memset(&state, 0, sizeof state);
    *used = 0;
    while (text[at]) {
        const size_t n = character(text + at, &state, &places);
        if (*used + places > width) break;
        *used += places;
        at += n;
    }
    return at;
}

/* A text's width on a terminal. libsmartcols shows bytes that are invalid in this locale as \xNN:
 * counted as four. */
static size_t text_width(const char *s)
{
    size_t width = 0;
    (void)head_bytes(s, SIZE_MAX, &width);
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
    if (c->width > t->column[column].full) t->column[column].full = c->width;
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

/* Bytes of the word at `text`: of a number its unit, too, from which no line break parts it. */
static size_t word_length(const char *text)
{
    static const char *const units[] = {"B",  "KiB",  "MiB",  "GiB",  "TiB",     "ns",
                                        "us", "ms",   "s",    "min",  "h",       "%",
                                        "x",  "kB/s", "MB/s", "GB/s", "tokens/s"};
    const size_t n = strcspn(text, " ");
    if (n == 0 || text[n - 1] < '0' || text[n - 1] > '9' || !text[n]) return n;
    const char *next = text + n + 1;
    const size_t after = strcspn(next, " "), unit = strcspn(next, " ,;.:)");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i]) == unit && memcmp(next, units[i], unit) == 0) return n + 1 + after;
    return n;
}

static void put_line(FILE *out, size_t indent, const char *text)
{
    const size_t limit = tt_table_width(out);
    size_t used = 0;
    bool first = true; /* in its line */
    while (*text) {
        const size_t spaces = strspn(text, " "), letters = word_length(text + spaces);
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
    char *lines = strdup(text), *at = lines;
    if (!lines) put_line(out, indent, text);
    while (at) {
        char *end = strchr(at, '\n');
        if (end) *end++ = '\0';
        put_line(out, indent, at);
        at = end && *end ? end : NULL;
    }
    free(lines);
}

void tt_table_printf(FILE *out, size_t indent, const char *fmt, ...)
{
    char *text;
    va_list args;
    va_start(args, fmt);
    const int n = vasprintf(&text, fmt, args);
    va_end(args);
    if (n < 0) return;
    tt_table_text(out, indent, text);
    free(text);
}

/* --- how a table fits into a line: columns are left out by their declared order, then texts become
 * narrower, names last; a number is never shortened --- */

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
        total += columns++ ? SEPARATOR_WIDTH : 0;
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
        total += t->column[i].full + (columns++ ? SEPARATOR_WIDTH : 0);
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
    const cut_at *at = context;
    const cell *x = *(const cell *const *)a, *y = *(const cell *const *)b;
    const size_t width = at->head + 1 + at->tail;
    if (x->width <= width || y->width <= width) return strcmp(x->text, y->text);
    const int order = memcmp(x->text, y->text, at->head);
    return order ? order : strcmp(x->text + x->width - at->tail, y->text + y->width - at->tail);
}

/* How many different texts remain in a column that is cut in this way. */
static size_t different(const cell **cells, size_t n, cut_at at)
{
    size_t found = n > 0;
    qsort_r(cells, n, sizeof(cell *), by_cut_text, &at);
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
    const cell **cells = calloc(rows + 1, sizeof(cell *));
    size_t n = 0, most = 0;
    t->column[column].at = (cut_at){middle, width - 1 - middle};
    for (size_t r = 0; cells && r < rows; r++) {
        const cell *c = &t->cells[r * t->columns + column];
        if (c->width > width && plain_length(c->text) == c->width) cells[n++] = c;
    }
    const size_t all = n ? different(cells, n, (cut_at){SIZE_MAX / 4, SIZE_MAX / 4}) : 0;
    for (size_t step = 0; most < all && step < 2 * width; step++) {
        const size_t off = (step + 1) / 2;
        if (step % 2 ? middle + off >= width : off > middle) continue;
        const cut_at at = {step % 2 ? middle + off : middle - off,
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

/* Chooses the columns that are shown, their widths, and where their names are cut. 0: no limit. */
static void fit(tt_table *t, size_t limit)
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
static void cut_out(tt_table *t, cell *c, size_t head, size_t tail, size_t width)
{
    const char *ellipsis = ellipsis_text();
    const size_t size = strlen(ellipsis), length = strlen(c->text);
    char *shorter = take(t, head + size + tail + 1);
    if (!shorter) return; /* too wide is better than lost */
    memcpy(shorter, c->text, head);
    memcpy(shorter + head, ellipsis, size);
    memcpy(shorter + head + size, c->text + length - tail, tail + 1);
    c->text = shorter;
    c->width = width;
}

/* Shortens a cell of a column to the column's width. */
static void cut(tt_table *t, size_t column, cell *c)
{
    const size_t width = t->column[column].width;
    const cut_at at = t->column[column].at;
    size_t used = 0;
    if (c->width <= width) return;
    if (is_key(t, column) && plain_length(c->text) == c->width) {
        cut_out(t, c, at.head, at.tail, width);
        return;
    }
    const size_t head = head_bytes(c->text, width - 1, &used);
    cut_out(t, c, head, 0, used + 1);
}

/* --- printing --- */

/* The first line of a text in a wrapped column, which it ends in `text`; the rest, or NULL. */
static char *wrap(tt_table *t, char *text, size_t width)
{
    size_t used;
    const size_t fits = head_bytes(text, width, &used);
    size_t end = fits;
    if (!text[fits]) return NULL;
    while (end > 0 && text[end] != ' ')
        end--;
    if (end == 0) { /* a word that is too long, as a path: parted anywhere */
        char *rest = take(t, strlen(text + fits) + 1);
        if (!rest || fits == 0) return NULL;
        memcpy(rest, text + fits, strlen(text + fits) + 1);
        text[fits] = '\0';
        return rest;
    }
    text[end] = '\0';
    return text + end + 1;
}

/* A line with the texts of a row; those of wrapped columns continue in the next one: *more. */
static bool fill_line(tt_table *t, struct libscols_table *table, cell *row, bool *more)
{
    struct libscols_line *line = scols_table_new_line(table, NULL);
    if (!line) return false;
    *more = false;
    for (size_t i = 0, place = 0; i < t->columns; i++) {
        cell *c = &row[i];
        char *rest = NULL;
        if (t->column[i].left_out) continue;
        if (t->column[i].flags & TT_COLUMN_WRAP)
            rest = wrap(t, c->text, t->column[i].width);
        else
            cut(t, i, c);
        if (scols_line_set_data(line, place++, c->text) != 0) return false;
        *more |= rest != NULL;
        c->text = rest ? rest : c->text + strlen(c->text);
        c->width = rest ? text_width(rest) : 0;
    }
    return true;
}

static bool fill(tt_table *t, struct libscols_table *table)
{
    for (size_t i = 0; i < t->columns; i++) {
        cell *title = &t->column[i].title;
        const int right = t->column[i].flags & TT_COLUMN_RIGHT ? SCOLS_FL_RIGHT : 0;
        if (t->column[i].left_out) continue;
        cut(t, i, title);
        if (!scols_table_new_column(table, title->text, 0, right)) return false;
    }
    for (size_t r = 0; r < t->rows; r++)
        for (bool more = true; more;)
            if (!fill_line(t, table, t->cells + r * t->columns, &more)) return false;
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
