#include "serve/columns.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {"u8", "u32", "f64"};
static const size_t type_sizes[] = {1, 4, 8};

void tt_columns_begin(tt_columns *c, const tt_rowset *head)
{
    memset(c, 0, offsetof(tt_columns, json));
    tt_bytes_init(&c->data, TT_REPLY_BYTES_MAX);
    c->text = open_memstream(&c->header, &c->header_size);
    tt_json_begin(&c->json, c->text, 0);
    tt_json_object(&c->json);
    if (head) tt_rowset_json(&c->json, head, head->rows);
}

static void pad(tt_bytes *b)
{
    static const uint8_t zeros[8];
    tt_bytes_put(b, zeros, (8 - b->size % 8) % 8);
}

void *tt_columns_add(tt_columns *c, const char *name, tt_column_type type, size_t n)
{
    c->data.failed |= c->n == TT_REPLY_COLUMNS_MAX || n > TT_REPLY_BYTES_MAX;
    if (c->data.failed) return NULL;
    pad(&c->data);
    const size_t size = n * type_sizes[type], at = c->data.size;
    if (!tt_bytes_reserve(&c->data, size + 1)) return NULL;
    memset(c->data.data + at, 0, size);
    c->data.size += size;
    c->list[c->n].name = name;
    c->list[c->n].type = type;
    c->list[c->n].offset = at;
    c->list[c->n++].n = n;
    return c->data.data + at;
}

static tt_column_type type_of(tt_cell_type type)
{
    return type == TT_CELL_BOOL || type == TT_CELL_U8   ? TT_COLUMN_U8
           : type == TT_CELL_U16 || type == TT_CELL_U32 ? TT_COLUMN_U32
                                                        : TT_COLUMN_F64;
}

static double real_of(const tt_column *column, const tt_cell *cell)
{
    if (!cell->known) return NAN;
    if (column->type == TT_CELL_F32 || column->type == TT_CELL_F64) return cell->f64;
    return column->type == TT_CELL_U64 ? (double)cell->u64 : (double)cell->i64;
}

static void fill(void *values, const tt_listing *l, const tt_column *column)
{
    const tt_column_type type = type_of(column->type);
    for (size_t i = 0; i < l->n; i++) {
        tt_cell cell;
        tt_cell_get(column, l->set->context, tt_listing_row(l, i), &cell);
        if (type == TT_COLUMN_F64)
            ((double *)values)[i] = real_of(column, &cell);
        else if (type == TT_COLUMN_U32)
            ((uint32_t *)values)[i] = cell.known ? (uint32_t)cell.u64 : TT_COLUMNS_NO_U32;
        else if (column->type == TT_CELL_BOOL)
            ((uint8_t *)values)[i] = cell.known && cell.boolean;
        else
            ((uint8_t *)values)[i] = (uint8_t)cell.u64;
    }
}

void tt_columns_add_rows(tt_columns *c, const tt_rowset *set, const tt_listing_wish *wish)
{
    tt_listing l;
    c->no_memory |= tt_listing_make(&l, set, wish, NULL) != TT_OK;
    for (size_t k = 0; k < l.n_columns && !c->no_memory; k++) {
        void *values = tt_columns_add(c, l.columns[k]->key, type_of(l.columns[k]->type), l.n);
        if (values) fill(values, &l, l.columns[k]);
    }
    tt_listing_free(&l);
}

TT_COLUMN_GET(get_type, tt_columns_one, one, tt_cell_text(cell, type_names[one->type]);)

static const tt_column list_columns[] = {
    TT_FIELD("name", "of the column", TT_MEMBER(tt_columns_one, name)),
    TT_FIELD("type", "of its values", .type = TT_CELL_NAME, .get = get_type),
    TT_FIELD("offset_bytes", "behind the header", TT_MEMBER(tt_columns_one, offset)),
    TT_FIELD("n", "its values", TT_MEMBER(tt_columns_one, n)),
};
static const tt_schema list_schema = TT_SCHEMA("columns", "a column", list_columns);

/* False on a write error. */
static bool end_header(tt_columns *c)
{
    tt_rowset_json_rows(&c->json, "columns", &TT_ROWSET(&list_schema, 0, NULL, c->list, c->n),
                        NULL);
    tt_json_object_end(&c->json);
    bool ok = tt_json_end(&c->json);
    ok &= fclose(c->text) == 0;
    c->text = NULL;
    return ok;
}

tt_status tt_columns_end(tt_columns *c, tt_reply *r, tt_error *err)
{
    const bool ok = c->text && !c->data.failed && !c->no_memory;
    const bool no_memory = ok || !c->text || c->no_memory;
    bool written = ok && r && end_header(c);
    if (written) {
        tt_bytes *out = tt_reply_binary(r);
        const size_t length = (c->header_size + 4 + 7) / 8 * 8 - 4;
        tt_bytes_u32(out, (uint32_t)length);
        tt_bytes_put(out, c->header, c->header_size);
        for (size_t i = c->header_size; i < length; i++)
            tt_bytes_u8(out, ' ');
        tt_bytes_put(out, c->data.data, c->data.size);
    }
    if (c->text) (void)fclose(c->text);
    free(c->header);
    tt_bytes_free(&c->data);
    memset(c, 0, offsetof(tt_columns, json));
    if (written || !r) return TT_OK;
    if (no_memory) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to answer");
    return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                        "the answer would be larger than %zu MiB; ask for a part",
                        TT_REPLY_BYTES_MAX >> 20);
}
