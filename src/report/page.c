#include "report/page.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tt_page_open(tt_page *p)
{
    memset(p, 0, sizeof *p);
    tt_arena_init(&p->arena, TT_PAGE_BYTES_MAX);
    p->title = p->subtitle = p->footer = "";
}

void tt_page_close(tt_page *p)
{
    tt_arena_free(&p->arena);
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

/* Room for what a cell shows. */
#define TT_PAGE_CELL_TEXT 320

static void *take(tt_page *p, size_t size)
{
    void *memory = tt_arena_take(&p->arena, 1, size);
    p->failed |= !memory;
    return memory;
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
    tt_page_block *b = p->last ? take(p, sizeof *b) : NULL;
    if (!b) return NULL;
    b->kind = kind;
    append(&p->last->blocks, &p->last->last, b);
    return b;
}

void tt_page_figure_add(tt_page *p, const char *value, const char *label)
{
    tt_page_figure *f = take(p, sizeof *f);
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
    tt_page_block *b = take(p, sizeof *b);
    va_list args;
    if (!b) return;
    va_start(args, fmt);
    b->text = format(p, fmt, args);
    va_end(args);
    append(&p->summary, &p->last_summary, b);
}

void tt_page_section_begin(tt_page *p, const char *id, const char *title)
{
    tt_page_section *s = take(p, sizeof *s);
    if (!s) return;
    s->id = id;
    s->title = title;
    if (p->last)
        p->last->next = s;
    else
        p->sections = s;
    p->last = s;
}

void tt_page_say(tt_page *p, tt_block_kind kind, const char *fmt, ...)
{
    tt_page_block *b = block(p, kind);
    va_list args;
    if (!b) return;
    va_start(args, fmt);
    b->text = format(p, fmt, args);
    va_end(args);
}

tt_page_table *tt_page_table_begin(tt_page *p, const char *caption, unsigned n,
                                   const char *const *titles)
{
    tt_page_block *b = block(p, TT_BLOCK_TABLE);
    tt_page_table *t = b ? take(p, sizeof *t) : NULL;
    if (!t) return NULL;
    b->table = t;
    t->caption = tt_page_text(p, caption);
    t->n_columns = n < TT_PAGE_COLUMNS_MAX ? n : TT_PAGE_COLUMNS_MAX;
    t->head = true;
    for (unsigned i = 0; i < t->n_columns; i++) {
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
    tt_page_row *row = t ? take(p, sizeof *row) : NULL;
    if (!row) return;
    for (unsigned i = 0; i < t->n_columns; i++)
        row->cells[i] = cells[i] ? tt_page_text(p, cells[i]) : "";
    if (t->last)
        t->last->next = row;
    else
        t->rows = row;
    t->last = row;
}

void tt_page_listing(tt_page *p, const char *caption, const tt_listing *l)
{
    char texts[TT_PAGE_COLUMNS_MAX][TT_PAGE_CELL_TEXT];
    const char *cells[TT_PAGE_COLUMNS_MAX];
    const size_t n = l->n_columns < TT_PAGE_COLUMNS_MAX ? l->n_columns : TT_PAGE_COLUMNS_MAX;
    for (size_t i = 0; i < n; i++) {
        const tt_column *c = l->columns[i];
        /* "TENSOR OR EXPERT" of a terminal is "Tensor or expert" here. */
        (void)snprintf(texts[i], sizeof texts[i], "%s%s", c->title ? c->title : c->key,
                       c->type == TT_CELL_NAME ? "" : ">");
        for (char *at = texts[i]; *at && at[1]; at++)
            at[1] = (char)tolower((unsigned char)at[1]);
        cells[i] = texts[i];
    }
    tt_page_table *t = tt_page_table_begin(p, caption, (unsigned)n, cells);
    for (size_t r = 0; r < l->n && t; r++) {
        for (size_t i = 0; i < n; i++)
            tt_cell_show(l->columns[i], l->set->context, tt_listing_row(l, r), texts[i],
                         sizeof texts[i]);
        tt_page_table_row(p, t, cells);
    }
}

tt_plot *tt_page_plot(tt_page *p, const char *title, const char *x_label, const char *y_label)
{
    tt_page_block *b = block(p, TT_BLOCK_PLOT);
    tt_plot *plot = b ? take(p, sizeof *plot) : NULL;
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
