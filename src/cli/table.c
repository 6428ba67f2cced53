#include "table/table.h"
#include "cli/table_cells.h"

#include <libsmartcols.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

struct tt_table_pool {
    tt_table_pool *next;
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

char *tt_table_take(tt_table *t, size_t n)
{
    if (!t->pools || n > t->pools->size - t->pools->used) {
        size_t size = n > POOL_BYTES ? n : POOL_BYTES;
        tt_table_pool *p = malloc(sizeof *p + size);
        if (!p) return NULL;
        *p = (tt_table_pool){t->pools, 0, size};
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

size_t tt_table_head(const char *text, size_t width, size_t *used)
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

size_t tt_table_text_width(const char *s)
{
    size_t width = 0;
    (void)tt_table_head(s, SIZE_MAX, &width);
    return width;
}

size_t tt_table_plain_length(const char *s)
{
    size_t n = 0;
    for (; s[n]; n++)
        if (s[n] < 0x20 || s[n] > 0x7e || s[n] == '\\') return SIZE_MAX;
    return n;
}

static void set_cell(tt_table *t, size_t column, tt_table_cell *c, const char *text)
{
    size_t n = tt_table_plain_length(text);
    c->width = n;
    if (n == SIZE_MAX) {
        t->plain = false;
        n = strlen(text);
        c->width = tt_table_text_width(text);
    }
    c->text = tt_table_take(t, n + 1);
    if (c->text)
        memcpy(c->text, text, n + 1);
    else
        t->failed = true;
    if (c->width > t->column[column].full) t->column[column].full = c->width;
}

void tt_table_column(tt_table *t, const char *title, int flags)
{
    if (t->columns == TT_TABLE_COLUMNS_MAX || t->rows > 0) {
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
    tt_table_cell *cells = reallocarray(t->cells, capacity * t->columns, sizeof *cells);
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
    tt_table_cell *row = t->cells + t->rows++ * t->columns;
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
        const size_t width = tt_table_text_width(word);
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

/* The first line of a text in a wrapped column, which it ends in `text`; the rest, or NULL. */
static char *wrap(tt_table *t, char *text, size_t width)
{
    size_t used;
    const size_t fits = tt_table_head(text, width, &used);
    size_t end = fits;
    if (!text[fits]) return NULL;
    while (end > 0 && text[end] != ' ')
        end--;
    if (end == 0) { /* a word that is too long, as a path: parted anywhere */
        char *rest = tt_table_take(t, strlen(text + fits) + 1);
        if (!rest || fits == 0) return NULL;
        memcpy(rest, text + fits, strlen(text + fits) + 1);
        text[fits] = '\0';
        return rest;
    }
    text[end] = '\0';
    return text + end + 1;
}

/* A line with the texts of a row; those of wrapped columns continue in the next one: *more. */
static bool fill_line(tt_table *t, struct libscols_table *table, tt_table_cell *row, bool *more)
{
    struct libscols_line *line = scols_table_new_line(table, NULL);
    if (!line) return false;
    *more = false;
    for (size_t i = 0, place = 0; i < t->columns; i++) {
        tt_table_cell *c = &row[i];
        char *rest = NULL;
        if (t->column[i].left_out) continue;
        if (t->column[i].flags & TT_COLUMN_WRAP)
            rest = wrap(t, c->text, t->column[i].width);
        else
            tt_table_cut(t, i, c);
        if (scols_line_set_data(line, place++, c->text) != 0) return false;
        *more |= rest != NULL;
        c->text = rest ? rest : c->text + strlen(c->text);
        c->width = rest ? tt_table_text_width(rest) : 0;
    }
    return true;
}

static bool fill(tt_table *t, struct libscols_table *table)
{
    for (size_t i = 0; i < t->columns; i++) {
        tt_table_cell *title = &t->column[i].title;
        const int right = t->column[i].flags & TT_COLUMN_RIGHT ? SCOLS_FL_RIGHT : 0;
        if (t->column[i].left_out) continue;
        tt_table_cut(t, i, title);
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
              scols_table_set_column_separator(table, TT_TABLE_SEPARATOR) == 0 &&
              scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER) == 0 &&
              scols_table_enable_minout(table, 1) == 0 && fill(t, table) &&
              scols_print_table(table) == 0 && !ferror(t->out);
    scols_unref_table(table);
    return ok;
}

/* A line in libsmartcols's format: nothing after the last text. */
static void print_plain_line(const tt_table *t, const tt_table_cell *cells, size_t step, char *line)
{
    size_t n = 0, end = 0;
    bool first = true;
    for (size_t i = 0; i < t->columns; i++) {
        const tt_table_cell *c = (const tt_table_cell *)((const char *)cells + i * step);
        if (t->column[i].left_out) continue;
        size_t pad = t->column[i].width - c->width;
        if (!first) {
            memset(line + n, ' ', TT_TABLE_SEPARATOR_WIDTH);
            n += TT_TABLE_SEPARATOR_WIDTH;
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
    size_t width = t->columns * TT_TABLE_SEPARATOR_WIDTH + 1;
    for (size_t i = 0; i < t->columns; i++)
        width += t->column[i].width;
    char *line = malloc(width);
    if (!line) return false;
    print_plain_line(t, &t->column[0].title, sizeof t->column[0], line);
    for (size_t r = 0; r < t->rows; r++)
        print_plain_line(t, t->cells + r * t->columns, sizeof(tt_table_cell), line);
    free(line);
    return !ferror(t->out);
}

static bool print(tt_table *t)
{
    size_t limit = tt_table_width(t->out);
    tt_table_fit(t, limit);
    return t->plain && limit == 0 && t->rows > 0 ? print_plain(t) : print_any(t);
}

bool tt_table_print(tt_table *t)
{
    if (!t) return false;
    bool ok = !t->failed && print(t);
    while (t->pools) {
        tt_table_pool *p = t->pools;
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
