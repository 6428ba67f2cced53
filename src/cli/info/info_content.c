/* `tensortrace info`: what the trace's bytes are. */
#include "base/units.h"
#include "cli/info/info.h"
#include "cli/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define META_SHOWN 4u /* of the types of META records, the largest */

static double per_op(const tt_content *c, uint64_t bytes)
{
    return c->records ? (double)bytes / (double)c->records : 0;
}

static void content_row(tt_table *t, const tt_content *c, const tt_content_row *r)
{
    char bytes[TT_UNITS_TEXT], stored[TT_UNITS_TEXT + 2], share[16], each[16] = "";
    (void)snprintf(stored, sizeof stored, "%s%s", r->apportioned ? "~ " : "",
                   tt_units_bytes(bytes, r->stored_bytes));
    (void)snprintf(share, sizeof share, "%.1f %%",
                   100 * (double)r->stored_bytes / (double)c->file_bytes);
    if (c->records) (void)snprintf(each, sizeof each, "%.3f", per_op(c, r->stored_bytes));
    const char *cells[] = {r->part, r->column, stored, share, each};
    tt_table_row(t, cells);
}

static int by_size(const void *x, const void *y)
{
    const tt_content_row *const *a = x, *const *b = y;
    if ((*a)->stored_bytes != (*b)->stored_bytes)
        return (*a)->stored_bytes < (*b)->stored_bytes ? 1 : -1;
    return strcmp((*a)->column, (*b)->column);
}

/* The largest types of META records, then the others in one row. */
static void meta_rows(tt_table *t, const tt_content *c)
{
    const tt_content_row *list[TT_CONTENT_ROWS_MAX];
    size_t n = 0;
    char name[48];
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->rows[i].part, "meta") == 0) list[n++] = &c->rows[i];
    qsort(list, n, sizeof *list, by_size);
    size_t shown = n > META_SHOWN + 1 ? META_SHOWN : n;
    tt_content_row rest = {.part = "meta", .column = name};
    for (size_t i = 0; i < n; i++) {
        if (i < shown) {
            content_row(t, c, list[i]);
            continue;
        }
        rest.stored_bytes += list[i]->stored_bytes;
        rest.apportioned |= list[i]->apportioned;
    }
    (void)snprintf(name, sizeof name, "%zu other types", n - shown);
    if (n > shown) content_row(t, c, &rest);
}

bool tt_info_content_text(const tt_info *info)
{
    static const char *const parts[] = {"ops", "meta", "detail", "value", "container"};
    const tt_content *c = &info->content;
    tt_table *t = tt_table_new(stdout);
    if (!t) return false;
    printf("\nWhat the trace's bytes are\n");
    tt_table_column(t, "PART", TT_COLUMN_LEFT);
    tt_table_column(t, "COLUMN", TT_COLUMN_LEFT);
    tt_table_column(t, "STORED", TT_COLUMN_RIGHT);
    tt_table_column(t, "SHARE", TT_COLUMN_RIGHT);
    tt_table_column(t, "BYTES/OP", TT_COLUMN_RIGHT);
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        if (strcmp(parts[p], "meta") == 0) {
            meta_rows(t, c);
            continue;
        }
        for (size_t i = 0; i < c->n; i++)
            if (strcmp(c->rows[i].part, parts[p]) == 0) content_row(t, c, &c->rows[i]);
    }
    return tt_table_print(t);
}
