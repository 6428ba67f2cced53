#include "report/page.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

tt_series *tt_plot_series(tt_plot *p, const char *name, tt_series_style style, unsigned color,
                          size_t capacity)
{
    if (!p || p->n_series == TT_PLOT_SERIES_MAX) return NULL;
    tt_series *s = &p->series[p->n_series];
    if (capacity > TT_PLOT_POINTS_MAX) capacity = TT_PLOT_POINTS_MAX;
    *s = (tt_series){.name = tt_arena_text(p->arena, name, strlen(name)),
                     .style = style,
                     .color = color,
                     .capacity = capacity};
    double **columns[] = {&s->x, &s->y, &s->x2, &s->y2};
    for (size_t i = 0; i < 4; i++) {
        *columns[i] = tt_arena_take(p->arena, capacity + 1, sizeof(double));
        *p->failed |= !*columns[i];
    }
    if (!s->name || *p->failed) {
        *p->failed = true;
        return NULL;
    }
    p->n_series++;
    return s;
}

void tt_series_add(tt_series *s, double x, double y, double x2, double y2)
{
    if (!s || s->n == s->capacity || !isfinite(x) || !isfinite(y) || !isfinite(x2) || !isfinite(y2))
        return;
    s->x[s->n] = x;
    s->y[s->n] = y;
    s->x2[s->n] = x2;
    s->y2[s->n] = y2;
    s->n++;
}

void tt_series_label(tt_plot *p, tt_series *s, const char *text)
{
    if (!s || s->n == 0) return;
    if (!s->texts) s->texts = tt_arena_take(p->arena, s->capacity + 1, sizeof *s->texts);
    if (s->texts) s->texts[s->n - 1] = tt_arena_text(p->arena, text, strlen(text));
    *p->failed |= !s->texts;
}

void tt_plot_label(tt_plot *p, const char *text)
{
    if (!p || p->n_labels == TT_PLOT_LABELS_MAX) return;
    const char *copy = tt_arena_text(p->arena, text, strlen(text));
    *p->failed |= !copy;
    p->labels[p->n_labels++] = copy ? copy : "";
}

void tt_plot_describe(tt_plot *p, const char *text)
{
    if (!p) return;
    const char *copy = tt_arena_text(p->arena, text, strlen(text));
    *p->failed |= !copy;
    p->description = copy ? copy : "";
}

bool tt_plot_is_empty(const tt_plot *p)
{
    for (unsigned i = 0; i < p->n_series; i++)
        if (p->series[i].n > 0) return false;
    return true;
}

void tt_page_open(tt_page *p)
{
    memset(p, 0, sizeof *p);
    tt_arena_init(&p->arena, TT_PAGE_BYTES_MAX);
    p->title = p->subtitle = p->footer = "";
}

void tt_page_close(tt_page *p)
{
    for (tt_page_table *t = p->listed; t; t = t->next_listed)
        tt_listing_free(&t->listing);
    tt_arena_free(&p->arena);
}

void *tt_page_take(tt_page *p, size_t n)
{
    void *memory = tt_arena_take(&p->arena, 1, n);
    p->failed |= !memory;
    return memory;
}

const void *tt_page_keep(tt_page *p, const void *bytes, size_t n)
{
    void *copy = tt_page_take(p, n);
    return copy ? memcpy(copy, bytes, n) : NULL;
}

const char *tt_page_text(tt_page *p, const char *text)
{
    const char *copy = tt_arena_text(&p->arena, text, strlen(text));
    p->failed |= !copy;
    return copy ? copy : "";
}

static const char *format(tt_page *p, const char *fmt, va_list args)
{
    char text[2048];
    int n = vsnprintf(text, sizeof text, fmt, args);
    if (n < 0) text[0] = '\0';
    return tt_page_text(p, text);
}

const char *tt_page_format(tt_page *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = format(p, fmt, args);
    va_end(args);
    return text;
}

static void append(tt_page_block **first, tt_page_block **last, tt_page_block *b)
{
    if (*last)
        (*last)->next = b;
    else
        *first = b;
    *last = b;
}

static tt_page_block *block(tt_page *p, tt_block_kind kind)
{
    tt_page_block *b = p->last ? tt_page_take(p, sizeof *b) : NULL;
    if (!b) return NULL;
    b->kind = kind;
    append(&p->last->blocks, &p->last->last, b);
    return b;
}

void tt_page_figure_add(tt_page *p, const char *value, const char *label)
{
    tt_page_figure *f = tt_page_take(p, sizeof *f);
    if (!f) return;
    f->value = tt_page_text(p, value);
    f->label = tt_page_text(p, label);
    if (p->last_figure)
        p->last_figure->next = f;
    else
        p->figures = f;
    p->last_figure = f;
}

void tt_page_summary(tt_page *p, const char *fmt, ...)
{
    tt_page_block *b = tt_page_take(p, sizeof *b);
    va_list args;
    if (!b) return;
    va_start(args, fmt);
    b->text = format(p, fmt, args);
    va_end(args);
    append(&p->summary, &p->last_summary, b);
}

void tt_page_section_begin(tt_page *p, const char *id, const char *title)
{
    tt_page_section *s = tt_page_take(p, sizeof *s);
    if (!s) return;
    s->id = id;
    s->title = title;
    if (p->last)
        p->last->next = s;
    else
        p->sections = s;
    p->last = s;
}

void tt_page_add(tt_page *p, tt_block_kind kind, const char *fmt, ...)
{
    tt_page_block *b = block(p, kind);
    va_list args;
    if (!b) return;
    va_start(args, fmt);
    b->text = format(p, fmt, args);
    va_end(args);
}

static tt_page_table *table(tt_page *p, const char *caption, size_t n)
{
    tt_page_block *b = block(p, TT_BLOCK_TABLE);
    tt_page_table *t = b ? tt_page_take(p, sizeof *t) : NULL;
    if (!t) return NULL;
    b->table = t;
    t->caption = caption ? tt_page_text(p, caption) : p->last->title;
    t->captioned = caption != NULL;
    t->n_columns = n < TT_PAGE_COLUMNS_MAX ? (unsigned)n : TT_PAGE_COLUMNS_MAX;
    t->head = true;
    return t;
}

tt_page_table *tt_page_table_begin(tt_page *p, const char *caption, unsigned n,
                                   const char *const *titles)
{
    tt_page_table *t = table(p, caption, n);
    for (unsigned i = 0; t && i < t->n_columns; i++) {
        size_t length = strlen(titles[i]);
        t->right[i] = length > 0 && titles[i][length - 1] == '>';
        const char *title = tt_arena_text(&p->arena, titles[i], length - t->right[i]);
        p->failed |= !title;
        t->titles[i] = title ? title : "";
    }
    return t;
}

void tt_page_table_row(tt_page *p, tt_page_table *t, const char *const *cells)
{
    tt_page_row *row = t ? tt_page_take(p, sizeof *row) : NULL;
    if (!row) return;
    for (unsigned i = 0; i < t->n_columns; i++)
        row->cells[i] = cells[i] ? tt_page_text(p, cells[i]) : "";
    if (t->last)
        t->last->next = row;
    else
        t->rows = row;
    t->last = row;
}

tt_page_table *tt_page_rows(tt_page *p, const char *caption, const tt_rowset *set,
                            const tt_listing_wish *wish)
{
    tt_page_table *t = table(p, caption, 0);
    if (!t) return NULL;
    t->set = *set;
    t->more = "";
    t->next_listed = p->listed;
    p->listed = t;
    p->failed |= tt_listing_make(&t->listing, &t->set, wish, NULL) != TT_OK;
    const size_t n = t->listing.n_columns;
    t->n_columns = n < TT_PAGE_COLUMNS_MAX ? (unsigned)n : TT_PAGE_COLUMNS_MAX;
    for (unsigned i = 0; i < t->n_columns; i++) {
        const tt_column *c = t->listing.columns[i];
        t->titles[i] = c->title ? c->title : c->key;
        t->right[i] = tt_column_right(c);
    }
    return t;
}

void tt_page_retitle(tt_page *p, tt_page_table *t, const char *key, const char *title)
{
    for (unsigned i = 0; t && i < t->n_columns; i++)
        if (strcmp(t->listing.columns[i]->key, key) == 0) t->titles[i] = tt_page_text(p, title);
}

size_t tt_page_table_rows(const tt_page_table *t)
{
    return t->set.schema ? t->listing.n : t->rows != NULL;
}

/* Puts abbreviations back into capitals. */
static void restore_capitals(char *title)
{
    static const char *const words[] = {"KV", "JSD"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t n = strlen(words[i]);
        for (char *at = title; (at = strcasestr(at, words[i])); at += n)
            if ((at == title || at[-1] == ' ') && (at[n] == ' ' || !at[n])) memcpy(at, words[i], n);
    }
}

void tt_page_title(const tt_page_table *t, unsigned column, char out[TT_PAGE_CELL_TEXT])
{
    (void)snprintf(out, TT_PAGE_CELL_TEXT, "%s", t->titles[column]);
    if (!t->set.schema) return;
    for (unsigned char *at = (unsigned char *)out; *at && at[1]; at++)
        if (isalnum(at[0]) || isalpha(at[2]) || at[0] == '/' || strncmp((char *)at, " A ", 3) == 0)
            at[1] = (unsigned char)tolower(at[1]);
    restore_capitals(out);
}

void tt_page_cursor_begin(tt_page_cursor *c, const tt_page_table *t)
{
    c->t = t;
    c->next = t->rows;
    c->i = SIZE_MAX;
}

static bool next_listed(tt_page_cursor *c)
{
    const tt_page_table *t = c->t;
    const tt_listing *l = &t->listing;
    const bool total = c->i == l->n && t->total;
    if (c->i >= l->n && !total) return false;
    const void *row = total ? t->total : tt_listing_row(l, c->i);
    for (unsigned i = 0; i < t->n_columns; i++) {
        c->cells[i] = c->texts[i];
        if (total && i == 0)
            c->cells[i] = "all";
        else
            tt_cell_show(l->columns[i], t->set.context, row, c->texts[i], TT_PAGE_CELL_TEXT);
    }
    c->bar = t->bar ? t->bar(row) / t->full : NAN;
    c->marked = t->marked && t->marked(t->set.context, row);
    return true;
}

bool tt_page_cursor_next(tt_page_cursor *c)
{
    c->i++;
    if (c->t->set.schema) return next_listed(c);
    if (!c->next) return false;
    memcpy(c->cells, c->next->cells, sizeof c->cells);
    c->bar = NAN;
    c->marked = false;
    c->next = c->next->next;
    return true;
}

tt_plot *tt_page_plot(tt_page *p, const char *title, const char *x_label, const char *y_label)
{
    tt_page_block *b = block(p, TT_BLOCK_PLOT);
    tt_plot *plot = b ? tt_page_take(p, sizeof *plot) : NULL;
    if (!plot) return NULL;
    b->plot = plot;
    plot->id = tt_page_format(p, "plot-%u", ++p->n_plots);
    plot->title = tt_page_text(p, title);
    plot->x_label = tt_page_text(p, x_label);
    plot->y_label = tt_page_text(p, y_label);
    plot->description = "";
    plot->height = 300;
    plot->arena = &p->arena;
    plot->failed = &p->failed;
    return plot;
}
