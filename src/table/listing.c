#include "table/table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- columns by name --- */

static bool same_name(const char *name, size_t n, const char *of)
{
    if (!of || strlen(of) != n) return false;
    for (size_t i = 0; i < n; i++) {
        const char a = name[i] == '-' || name[i] == '_' ? ' ' : name[i];
        const char b = of[i] == '-' || of[i] == '_' ? ' ' : of[i];
        if (tolower((unsigned char)a) != tolower((unsigned char)b)) return false;
    }
    return true;
}

const tt_column *tt_schema_find(const tt_rowset *set, const char *name, size_t n)
{
    const tt_schema *s = set->schema;
    for (size_t i = 0; i < s->n_columns; i++)
        if (tt_rowset_has(set, &s->columns[i]) && same_name(name, n, s->columns[i].key))
            return &s->columns[i];
    for (size_t i = 0; i < s->n_columns; i++)
        if (tt_rowset_has(set, &s->columns[i]) && same_name(name, n, s->columns[i].title))
            return &s->columns[i];
    return NULL;
}

static tt_status no_such_column(const tt_rowset *set, const char *what, const char *name, size_t n,
                                tt_error *err)
{
    const tt_rowset all = {.schema = set->schema};
    const tt_column *other = tt_schema_find(&all, name, n);
    if (other && !tt_rowset_has(set, other))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "%s: these rows have no column \"%s\", only those by something else",
                            what, other->key);
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "%s: there is no column \"%.*s\"", what,
                        (int)(n < 64 ? n : 64), name);
}

static tt_status only_json(const char *what, const tt_column *c, tt_error *err)
{
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "%s: \"%s\" has parts: only JSON shows it",
                        what, c->key);
}

static bool add_column(tt_listing *l, const tt_column *c)
{
    if (l->n_columns == TT_LISTING_COLUMNS_MAX) return false;
    l->columns[l->n_columns++] = c;
    return true;
}

static bool is_flat(const tt_listing_wish *wish)
{
    return wish->text || wish->csv;
}

/* shown: those that text shows by default. */
static void all_columns(tt_listing *l, const tt_listing_wish *wish, bool shown)
{
    const tt_schema *s = l->set->schema;
    for (size_t i = 0; i < s->n_columns; i++) {
        const tt_column *c = &s->columns[i];
        if (!tt_rowset_has(l->set, c)) continue;
        if (is_flat(wish) && tt_column_nested(c)) continue;
        if (shown ? !c->title || c->show & TT_SHOW_ASKED : c->show & TT_SHOW_TEXT) continue;
        if (c->show & TT_SHOW_FLAT && !is_flat(wish)) continue;
        (void)add_column(l, c);
    }
}

static tt_status named_columns(tt_listing *l, const tt_listing_wish *wish, tt_error *err)
{
    const char *names = wish->columns;
    l->chosen = true;
    for (const char *at = names;; at++) {
        const size_t n = strcspn(at, ",");
        const tt_column *c = tt_schema_find(l->set, at, n);
        if (!c) return no_such_column(l->set, "columns", at, n, err);
        if (is_flat(wish) && tt_column_nested(c))
            return only_json("columns", c, err);
        if (!add_column(l, c))
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "columns: more than %u columns",
                                TT_LISTING_COLUMNS_MAX);
        at += n;
        if (!*at) return TT_OK;
    }
}

static tt_status choose_columns(tt_listing *l, const tt_listing_wish *wish, tt_error *err)
{
    if (!wish->columns) {
        all_columns(l, wish, wish->text);
        return TT_OK;
    }
    if (strcmp(wish->columns, "all") != 0) return named_columns(l, wish, err);
    l->chosen = true;
    all_columns(l, wish, false);
    return TT_OK;
}

/* --- the order of rows --- */

#define SORT_KEYS_MAX 4u

typedef struct sorting {
    const tt_rowset *set;
    size_t n;
    tt_sort_key by[SORT_KEYS_MAX];
} sorting;

static int compare_numbers(tt_cell_type type, const tt_cell *a, const tt_cell *b)
{
    switch (type) {
    case TT_CELL_BOOL:
        return a->boolean - b->boolean;
    case TT_CELL_I32:
    case TT_CELL_I64:
    case TT_CELL_TIME:
        return (a->i64 > b->i64) - (a->i64 < b->i64);
    case TT_CELL_F32:
    case TT_CELL_F64:
        return (a->f64 > b->f64) - (a->f64 < b->f64);
    case TT_CELL_U8:
    case TT_CELL_U16:
    case TT_CELL_U32:
    case TT_CELL_U64:
    case TT_CELL_NAME:
    case TT_CELL_OBJECT:
    case TT_CELL_ROWS:
    case TT_CELL_LIST:
    case TT_CELL_COLUMNS:
        break;
    }
    return (a->u64 > b->u64) - (a->u64 < b->u64);
}

/* Unknown values come last in both directions. */
static int compare_cells(const sorting *s, size_t by, const void *x, const void *y)
{
    const tt_column *c = s->by[by].column;
    tt_cell a, b;
    int order;
    tt_cell_get(c, s->set->context, x, &a);
    tt_cell_get(c, s->set->context, y, &b);
    if (a.known != b.known) return a.known ? -1 : 1;
    if (!a.known) return 0;
    if (c->type == TT_CELL_NAME) {
        order = memcmp(a.text.at, b.text.at, a.text.n < b.text.n ? a.text.n : b.text.n);
        if (order == 0) order = (a.text.n > b.text.n) - (a.text.n < b.text.n);
    } else {
        order = compare_numbers(c->type, &a, &b);
    }
    return s->by[by].falling ? -order : order;
}

static int compare_rows(const void *x, const void *y, void *context)
{
    const sorting *s = context;
    const size_t i = *(const size_t *)x, k = *(const size_t *)y;
    int order = 0;
    for (size_t by = 0; by < s->n && order == 0; by++)
        order = compare_cells(s, by, tt_rowset_row(s->set, i), tt_rowset_row(s->set, k));
    return order ? order : (i > k) - (i < k);
}

tt_status tt_sort_key_read(tt_sort_key *key, const tt_rowset *set, const char *name, size_t n,
                           tt_error *err)
{
    const char sign = n > 0 && (*name == '-' || *name == '+') ? *name : 0;
    const char *text = sign ? name + 1 : name;
    const size_t length = sign ? n - 1 : n;
    const tt_column *c = tt_schema_find(set, text, length);
    if (c && c->sort) c = tt_schema_find(set, c->sort, strlen(c->sort));
    if (!c) return no_such_column(set, "sort", text, length, err);
    if (tt_column_nested(c)) return only_json("sort", c, err);
    key->column = c;
    key->falling =
        sign ? sign == '-'
             : c->type != TT_CELL_NAME && c->unit != TT_UNIT_ID && c->unit != TT_UNIT_MOMENT;
    return TT_OK;
}

/* `name` has n bytes. */
static tt_status add_sort_key(sorting *s, const char *name, size_t n, tt_error *err)
{
    tt_sort_key key;
    const tt_status status = tt_sort_key_read(&key, s->set, name, n, err);
    if (status != TT_OK) return status;
    if (s->n == SORT_KEYS_MAX)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "sort: more than %u columns",
                            SORT_KEYS_MAX);
    s->by[s->n++] = key;
    return TT_OK;
}

static tt_status sort_rows(tt_listing *l, const char *names, tt_error *err)
{
    sorting s = {.set = l->set};
    if (strcmp(names, "key") == 0) return TT_OK;
    for (const char *at = names;; at++) {
        const size_t n = strcspn(at, ",");
        const tt_status status = add_sort_key(&s, at, n, err);
        if (status != TT_OK) return status;
        at += n;
        if (!*at) break;
    }
    if (*names == '-' || *names == '+') names++;
    l->sorted_by = tt_schema_find(l->set, names, strcspn(names, ","));
    qsort_r(l->order, l->n_all, sizeof *l->order, compare_rows, &s);
    return TT_OK;
}

/* --- the listing --- */

tt_status tt_listing_make(tt_listing *l, const tt_rowset *set, const tt_listing_wish *wish,
                          tt_error *err)
{
    *l = (tt_listing){.set = set};
    tt_status status = choose_columns(l, wish, err);
    if (status != TT_OK) return status;
    l->order = reallocarray(NULL, set->n ? set->n : 1, sizeof *l->order);
    if (!l->order) return tt_error_memory(err, "the order of the rows");
    for (size_t i = 0; i < set->n; i++)
        if (!wish->passes || wish->passes(set->context, tt_rowset_row(set, i)))
            l->order[l->n_all++] = i;
    if (wish->sort) status = sort_rows(l, wish->sort, err);
    l->n = wish->limit && wish->limit < l->n_all ? (size_t)wish->limit : l->n_all;
    return status;
}

void tt_listing_free(tt_listing *l)
{
    free(l->order);
    l->order = NULL;
}

const void *tt_listing_row(const tt_listing *l, size_t i)
{
    return tt_rowset_row(l->set, l->order[i]);
}
