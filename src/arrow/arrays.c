#include "arrow/arrays.h"

#include "base/bytes.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* --- columns by name --- */

static uint32_t find_column(const tt_export_table *table, const char *key, size_t n)
{
    for (uint32_t i = 0; i < table->n_columns; i++)
        if (strlen(table->columns[i].key) == n && memcmp(table->columns[i].key, key, n) == 0)
            return i;
    return TT_NONE;
}

static tt_status choose_one(tt_arrow_shape *shape, const char *key, size_t n, tt_error *err)
{
    const uint32_t column = find_column(shape->table, key, n);
    const int shown = (int)(n < 64 ? n : 64);
    if (column == TT_NONE)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "columns: %s has no column \"%.*s\"",
                            shape->table->name, shown, key);
    for (uint32_t i = 0; i < shape->n_columns; i++)
        if (shape->columns[i] == column)
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "columns: \"%.*s\" is named twice",
                                shown, key);
    shape->columns[shape->n_columns++] = column;
    return TT_OK;
}

tt_status tt_arrow_choose(tt_arrow_shape *shape, const char *columns, tt_error *err)
{
    shape->n_columns = 0;
    for (uint32_t i = 0; !columns && i < shape->table->n_columns; i++)
        shape->columns[shape->n_columns++] = i;
    for (const char *at = columns; at;) {
        const size_t n = strcspn(at, ",");
        tt_status status = choose_one(shape, at, n, err);
        if (status != TT_OK) return status;
        at = at[n] ? at + n + 1 : NULL;
    }
    return TT_OK;
}

/* --- the schema --- */

static void release_schema(struct ArrowSchema *s)
{
    for (int64_t i = 0; i < s->n_children; i++)
        if (s->children[i]->release) s->children[i]->release(s->children[i]);
    if (s->dictionary && s->dictionary->release) s->dictionary->release(s->dictionary);
    free(s->private_data);
    s->release = NULL;
}

/* Metadata as the interface has it: a number of pairs, and of each text its length before it. */
typedef struct pair {
    const char *key, *value;
} pair;

static size_t metadata_bytes(const pair *pairs, size_t n)
{
    size_t bytes = 4;
    for (size_t i = 0; i < n; i++)
        bytes += 8 + strlen(pairs[i].key) + strlen(pairs[i].value);
    return bytes;
}

static char *put_number(char *p, size_t n)
{
    const int32_t v = (int32_t)n;
    memcpy(p, &v, sizeof v);
    return p + sizeof v;
}

static char *put_metadata(char *p, const pair *pairs, size_t n)
{
    p = put_number(p, n);
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < 2; k++) {
            const char *text = k ? pairs[i].value : pairs[i].key;
            const size_t length = strlen(text);
            p = put_number(p, length);
            memcpy(p, text, length);
            p += length;
        }
    return p;
}

/* One block a node: the texts, of a struct also its children. False if out of memory. */
static bool make_node(struct ArrowSchema *out, const char *format, const char *name,
                      const pair *pairs, size_t n_pairs, uint32_t n_children)
{
    const size_t each = sizeof(struct ArrowSchema) + sizeof(struct ArrowSchema *);
    const size_t name_bytes = strlen(name) + 1;
    char *block = calloc(1, n_children * each + metadata_bytes(pairs, n_pairs) + name_bytes);
    memset(out, 0, sizeof *out);
    if (!block) return false;
    struct ArrowSchema *children = (struct ArrowSchema *)(void *)block;
    struct ArrowSchema **list = (struct ArrowSchema **)(void *)(children + n_children);
    char *metadata = (char *)(list + n_children);
    char *text = put_metadata(metadata, pairs, n_pairs);
    memcpy(text, name, name_bytes);
    for (uint32_t i = 0; i < n_children; i++)
        list[i] = &children[i];
    *out = (struct ArrowSchema){.format = format,
                                .name = text,
                                .metadata = n_pairs ? metadata : NULL,
                                .n_children = n_children,
                                .children = n_children ? list : NULL,
                                .release = release_schema,
                                .private_data = block};
    return true;
}

static const char *format_of(tt_cell_type type)
{
    static const char *const formats[] = {
        [TT_CELL_BOOL] = "b", [TT_CELL_U8] = "C",   [TT_CELL_U16] = "S",       [TT_CELL_U32] = "I",
        [TT_CELL_U64] = "L",  [TT_CELL_I32] = "i",  [TT_CELL_I64] = "l",       [TT_CELL_F32] = "f",
        [TT_CELL_F64] = "g",  [TT_CELL_NAME] = "i", [TT_CELL_TIME] = "tsn:UTC"};
    return formats[type];
}

/* A text is a code of a dictionary, whose node is made as if it were a child. */
static bool make_field(struct ArrowSchema *out, const tt_column *c)
{
    const pair about = {"tensortrace.about", c->about ? c->about : ""};
    const bool text = c->type == TT_CELL_NAME;
    if (!make_node(out, format_of(c->type), c->key, &about, 1, text)) return false;
    out->flags = c->nullable ? ARROW_FLAG_NULLABLE : 0;
    if (!text) return true;
    out->dictionary = out->children[0];
    out->children = NULL;
    out->n_children = 0;
    return make_node(out->dictionary, "u", "", NULL, 0, 0);
}

tt_status tt_arrow_schema(const tt_arrow_shape *shape, struct ArrowSchema *out, tt_error *err)
{
    const pair pairs[] = {{"tensortrace.run_id", shape->run_id},
                          {"tensortrace.version", TT_VERSION},
                          {"tensortrace.table", shape->table->name}};
    bool made = make_node(out, "+s", "", pairs, sizeof pairs / sizeof *pairs, shape->n_columns);
    for (uint32_t i = 0; i < shape->n_columns && made; i++)
        made = make_field(out->children[i], &shape->table->columns[shape->columns[i]]);
    if (made) return TT_OK;
    if (out->release) out->release(out);
    return tt_error_memory(err, "the schema");
}

/* --- batches --- */

/* What an array holds, in a block of its own: free() ends each buffer. */
typedef struct held {
    const void *buffers[3];
    struct ArrowArray *children[1];
} held;

static void release_array(struct ArrowArray *a)
{
    for (int64_t i = 0; i < a->n_buffers; i++)
        free((void *)(uintptr_t)a->buffers[i]);
    for (int64_t i = 0; i < a->n_children; i++)
        if (a->children[i]->release) a->children[i]->release(a->children[i]);
    if (a->dictionary && a->dictionary->release) a->dictionary->release(a->dictionary);
    free(a->private_data);
    a->release = NULL;
}

/* An array of so many buffers, none of which is there yet, with room for `nodes` arrays below it.
 * False if out of memory. */
static bool make_array(struct ArrowArray *out, size_t length, unsigned n_buffers, uint32_t nodes)
{
    const size_t each = sizeof(struct ArrowArray) + sizeof(struct ArrowArray *);
    held *h = calloc(1, sizeof *h + nodes * each);
    memset(out, 0, sizeof *out);
    if (!h) return false;
    struct ArrowArray *list = (struct ArrowArray *)(void *)(h + 1);
    struct ArrowArray **pointers = (struct ArrowArray **)(void *)(list + nodes);
    for (uint32_t i = 0; i < nodes; i++)
        pointers[i] = &list[i];
    *out = (struct ArrowArray){.length = (int64_t)length,
                               .n_buffers = n_buffers,
                               .n_children = nodes,
                               .buffers = h->buffers,
                               .children = nodes ? pointers : NULL,
                               .release = release_array,
                               .private_data = h};
    return true;
}

/* A bit for each of n bytes that are 0 or 1; *ones: how many are 1. NULL if out of memory. */
static uint8_t *make_bits(const uint8_t *bytes, size_t n, size_t *ones)
{
    const size_t whole = n / 8;
    uint8_t *bits = malloc(whole + 1);
    *ones = 0;
    if (!bits) return NULL;
    for (size_t i = 0; i < whole; i++) {
        uint64_t eight;
        memcpy(&eight, bytes + 8 * i, sizeof eight);
        /* Byte k of the eight (from the lowest) to bit k of the highest byte. */
        bits[i] = (uint8_t)((le64toh(eight) & 0x0101010101010101u) * 0x0102040810204080u >> 56);
        *ones += (size_t)__builtin_popcount(bits[i]);
    }
    bits[whole] = 0;
    for (size_t i = 8 * whole; i < n; i++) {
        bits[whole] = (uint8_t)(bits[whole] | (bytes[i] & 1u) << (i - 8 * whole));
        *ones += bytes[i] & 1u;
    }
    return bits;
}

static tt_status no_memory(const tt_rows *rows, tt_error *err)
{
    return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory for a batch of %s",
                        rows->table->name);
}

/* An empty dictionary gets a text that nothing means: rows without a value have the code 0. */
static tt_status put_texts(const tt_rows *rows, const tt_dictionary *d, struct ArrowArray *out,
                           tt_error *err)
{
    const size_t n = d->n ? d->n : 1;
    tt_bytes text;
    int32_t *ends = calloc(n + 1, sizeof *ends);
    tt_bytes_init(&text, INT32_MAX);
    bool ok = ends && tt_bytes_reserve(&text, 1) && make_array(out, n, 3, 0);
    for (uint32_t i = 0; ok && i < d->n; i++) {
        tt_bytes_utf8(&text, d->texts[i], d->lengths[i]);
        ends[i + 1] = (int32_t)text.size;
    }
    ok = ok && !text.failed;
    if (ok) {
        out->buffers[1] = ends;
        out->buffers[2] = text.data;
        return TT_OK;
    }
    const bool large = text.failed && text.size > INT32_MAX / 2;
    free(ends);
    tt_bytes_free(&text);
    if (!large) return no_memory(rows, err);
    return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                        "%s: the texts of a batch take more than 2 GiB; the trace is damaged",
                        rows->table->name);
}

/* `values` becomes the array's, also on failure. */
static tt_status put_column(const tt_rows *rows, uint32_t column, size_t n, void *values,
                            struct ArrowArray *out, tt_error *err)
{
    const tt_values *v = &rows->columns[column];
    const tt_cell_type type = rows->table->columns[column].type;
    size_t ones = n;
    if (!make_array(out, n, 2, type == TT_CELL_NAME)) {
        free(values);
        return no_memory(rows, err);
    }
    out->buffers[1] = values;
    if (type == TT_CELL_BOOL) {
        out->buffers[1] = make_bits(values, n, &ones);
        free(values);
        if (!out->buffers[1]) return no_memory(rows, err);
    }
    ones = n;
    if (v->valid) out->buffers[0] = make_bits(v->valid, n, &ones);
    if (v->valid && !out->buffers[0]) return no_memory(rows, err);
    out->null_count = (int64_t)(n - ones);
    if (type != TT_CELL_NAME) return TT_OK;
    out->dictionary = out->children[0];
    out->children = NULL;
    out->n_children = 0;
    return put_texts(rows, &v->dictionary, out->dictionary, err);
}

tt_status tt_arrow_batch(const tt_arrow_shape *shape, tt_rows *rows, struct ArrowArray *out,
                         tt_error *err)
{
    void *values[TT_COLUMNS_MAX];
    const size_t n = rows->n;
    tt_status status = TT_OK;
    if (!make_array(out, n, 1, shape->n_columns)) return no_memory(rows, err);
    tt_rows_take(rows, shape->columns, shape->n_columns, values);
    for (uint32_t i = 0; i < shape->n_columns; i++) {
        if (status == TT_OK)
            status = put_column(rows, shape->columns[i], n, values[i], out->children[i], err);
        else
            free(values[i]);
    }
    if (status != TT_OK) out->release(out);
    return status;
}
