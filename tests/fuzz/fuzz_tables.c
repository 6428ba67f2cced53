/* Bytes as a trace with right checksums, written as tables: every part of one of them, which a byte
 * of the file header chooses (of the time of creation: nothing looks at it). */
#include "../golden/rechecksum.h"
#include "export/csv/csv.h"
#include "export/tables/columns.h"
#include "limits.h"

#include <stdlib.h>

#define PARTS_MAX 4u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What readers of the rows rely on. */
static void check_rows(const tt_rows *rows)
{
    for (uint32_t k = 0; k < rows->table->n_columns; k++) {
        const tt_column *c = &rows->table->columns[k];
        const tt_values *v = &rows->columns[k];
        if (v->valid && !c->nullable) abort();
        for (size_t i = 0; i < rows->n; i++) {
            if (v->valid && v->valid[i] > 1) abort();
            if (v->valid && !v->valid[i]) continue;
            if (c->type == TT_CELL_NAME && ((uint32_t *)v->values)[i] >= v->dictionary.n) abort();
            if (c->type == TT_CELL_BOOL && ((uint8_t *)v->values)[i] > 1) abort();
        }
    }
}

/* As many lines as rows, and as many fields in each as there are columns. */
static void check_text(const tt_rows *rows, const tt_bytes *text)
{
    size_t lines = 0, fields = 1;
    bool quoted = false;
    for (size_t i = 0; i < text->size; i++) {
        const uint8_t c = text->data[i];
        quoted ^= c == '"';
        if (quoted) continue;
        fields += c == ',';
        if (c != '\n') continue;
        if (fields != rows->table->n_columns) abort();
        fields = 1;
        lines++;
    }
    if (quoted || fields != 1 || lines != rows->n) abort();
}

static void look_at(const tt_model *m, const tt_export_table *table)
{
    tt_rows rows = {0};
    tt_bytes text;
    tt_csv *csv = tt_csv_new();
    tt_bytes_init(&text, (size_t)1 << 30);
    if (!csv) abort();
    const uint32_t parts = table->parts(m, NULL);
    for (uint32_t part = 0; part < parts && part < PARTS_MAX; part++) {
        tt_error err = {TT_OK, 0, ""};
        if (table->fill(m, NULL, part, &rows, &err) != TT_OK) {
            if (!err.message[0]) abort();
            continue;
        }
        check_rows(&rows);
        tt_bytes_clear(&text);
        if (tt_csv_put(csv, &rows, &text, &err) == TT_OK) check_text(&rows, &text);
    }
    tt_bytes_free(&text);
    tt_csv_free(csv);
    tt_rows_free(&rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *right = malloc(size + 1);
    tt_model *m = NULL;
    size_t n;
    if (!right) return 0;
    if (size) memcpy(right, data, size);
    rechecksum(right, size);
    limits_begin();
    const tt_export_table *const *tables = tt_export_tables(&n);
    if (tt_model_open_memory(right, size, &m, NULL) == TT_OK) look_at(m, tables[right[32] % n]);
    tt_model_close(m);
    limits_check(allocations_allowed(size) + LIMITS_ANSWER_BYTES);
    free(right);
    return 0;
}
