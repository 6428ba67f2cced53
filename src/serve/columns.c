#include "serve/columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {"u8", "u32", "f64"};
static const size_t type_sizes[] = {1, 4, 8};

bool tt_columns_begin(tt_columns *c)
{
    memset(c, 0, sizeof *c);
    tt_bytes_init(&c->data, TT_REPLY_BYTES_MAX);
    c->json = malloc(sizeof *c->json);
    c->text = open_memstream(&c->header, &c->header_size);
    if (!c->json || !c->text) return false;
    tt_json_begin(c->json, c->text, 0);
    tt_json_object(c->json);
    return true;
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

/* False when it could not be written. */
static bool end_header(tt_columns *c)
{
    tt_json *j = c->json;
    tt_json_key(j, "columns");
    tt_json_array(j);
    for (size_t i = 0; i < c->n; i++) {
        tt_json_object(j);
        tt_json_kv_string(j, "name", c->list[i].name);
        tt_json_kv_string(j, "type", type_names[c->list[i].type]);
        tt_json_kv_u64(j, "offset_bytes", c->list[i].offset);
        tt_json_kv_u64(j, "n", c->list[i].n);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_object_end(j);
    bool ok = tt_json_end(j);
    ok &= fclose(c->text) == 0;
    c->text = NULL;
    return ok;
}

tt_status tt_columns_end(tt_columns *c, tt_reply *r, tt_error *err)
{
    const bool begun = c->json && c->text, ok = begun && !c->data.failed && !c->no_memory;
    const bool no_memory = ok || !begun || c->no_memory;
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
    free(c->json);
    tt_bytes_free(&c->data);
    memset(c, 0, sizeof *c);
    if (written || !r) return TT_OK;
    if (no_memory) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to answer");
    return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                        "the answer would be larger than %zu MiB; ask for a part",
                        TT_REPLY_BYTES_MAX >> 20);
}
