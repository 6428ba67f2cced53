/* The table `values`: what was captured of the ops' outputs. */
#include "export/tables/tables.h"

#include "analyze/values/values.h"
#include "base/hex.h"

#include <stdio.h>
#include <string.h>

enum {
    VALUES_RUN_ID,
    VALUES_OP_ID,
    VALUES_TOKEN_ID,
    VALUES_NODE,
    VALUES_LAYER,
    VALUES_STACK,
    VALUES_NAME,
    VALUES_TYPE,
    VALUES_ELEMENTS,
    VALUES_N_NAN,
    VALUES_N_INF,
    VALUES_FIRST_BAD,
    VALUES_MASKING,
    VALUES_MIN,
    VALUES_MAX,
    VALUES_MEAN,
    VALUES_RMS,
    VALUES_HASH,
    VALUES_BLAKE3,
    VALUES_COLUMNS
};

/* Each row has texts of its own. */
#define VALUES_ROWS_MAX (TT_ROWS_MAX / 4)

static const tt_column values_columns[VALUES_COLUMNS] = {
    [VALUES_RUN_ID] = TT_EXPORT_COLUMN("run_id", TT_CELL_NAME, false, "the trace's id"),
    [VALUES_OP_ID] = TT_EXPORT_COLUMN("op_id", TT_CELL_U64, false,
                                      "the executed op; not in `ops` when its record was lost"),
    [VALUES_TOKEN_ID] =
        TT_EXPORT_COLUMN("batch_id", TT_CELL_U32, true, "the batch; null: outside any"),
    [VALUES_NODE] = TT_EXPORT_COLUMN("node", TT_CELL_U32, false,
                                     "the node whose output it is; of a fused op the last"),
    [VALUES_LAYER] = TT_EXPORT_COLUMN("layer_id", TT_CELL_I32, true, "layer; null: outside any"),
    [VALUES_STACK] = TT_TABLES_STACK,
    [VALUES_NAME] = TT_EXPORT_COLUMN("name", TT_CELL_NAME, false, "the node's name"),
    [VALUES_TYPE] = TT_EXPORT_COLUMN("type", TT_CELL_NAME, false, "type of its elements"),
    [VALUES_ELEMENTS] = TT_EXPORT_COLUMN("elements", TT_CELL_U64, false,
                                         "number of elements; for SET_ROWS, of the written rows"),
    [VALUES_N_NAN] =
        TT_EXPORT_COLUMN("n_nan", TT_CELL_U64, false, "elements that are not a number"),
    [VALUES_N_INF] = TT_EXPORT_COLUMN("n_inf", TT_CELL_U64, false, "elements that are infinite"),
    [VALUES_FIRST_BAD] =
        TT_EXPORT_COLUMN("first_bad", TT_CELL_U64, true,
                         "index of the first NaN or infinity in logical order; null: none"),
    [VALUES_MASKING] = TT_EXPORT_COLUMN("masking", TT_CELL_BOOL, false,
                                        "the infinities are those of a mask, and not an error"),
    [VALUES_MIN] = TT_EXPORT_COLUMN("min", TT_CELL_F32, true,
                                    "minimum of the finite elements; null: there are none"),
    [VALUES_MAX] = TT_EXPORT_COLUMN("max", TT_CELL_F32, true, "maximum of the finite elements"),
    [VALUES_MEAN] = TT_EXPORT_COLUMN("mean", TT_CELL_F64, true, "mean of the finite elements"),
    [VALUES_RMS] = TT_EXPORT_COLUMN("rms", TT_CELL_F64, true,
                                    "RMS of the finite elements (square root of the mean square)"),
    [VALUES_HASH] = TT_EXPORT_COLUMN("hash", TT_CELL_NAME, false,
                                     "XXH3-128 of the bytes, 32 hexadecimal digits (values.md)"),
    [VALUES_BLAKE3] =
        TT_EXPORT_COLUMN("blake3", TT_CELL_NAME, true,
                         "BLAKE3 of the elements as float32, 64 digits; null: not taken"),
};

static uint64_t values_weight(const tt_model *m, const tt_filter *filter, uint32_t run)
{
    if (!tt_tables_run_passes(m, filter, run)) return 0;
    return 1 + m->graphs[m->runs[run].graph].n_executed;
}

static const tt_parting values_parting = {tt_tables_runs, values_weight, VALUES_ROWS_MAX};

static uint32_t values_parts(const tt_model *m, const tt_filter *filter)
{
    if (!tt_outputs_any(m)) return 0;
    return tt_parting_parts(&values_parting, m, filter);
}

static void put_hex(tt_rows *rows, uint32_t column, const uint8_t *bytes, size_t n)
{
    char text[65] = "";
    tt_hex(text, bytes, n);
    char *kept = tt_arena_text(&rows->own->hashes, text, 2 * n);
    if (kept)
        tt_rows_text(rows, column, kept, 2 * n);
    else
        rows->failed = true;
}

static void put_range(tt_rows *rows, const tt_fingerprint *p)
{
    if (!p->has_range) {
        for (uint32_t column = VALUES_MIN; column <= VALUES_RMS; column++)
            tt_rows_null(rows, column);
        return;
    }
    tt_rows_real(rows, VALUES_MIN, (double)p->min);
    tt_rows_real(rows, VALUES_MAX, (double)p->max);
    tt_rows_real(rows, VALUES_MEAN, p->mean);
    tt_rows_real(rows, VALUES_RMS, p->rms);
}

static tt_status put_value(void *context, tt_values_walk *w, const tt_values_seen *seen,
                           tt_error *err)
{
    tt_rows *rows = context;
    const tt_model *m = rows->own->m;
    const tt_run *r = &m->runs[seen->run];
    const tt_tensor *t = &m->graphs[seen->graph].tensors[seen->node];
    const tt_fingerprint *p = seen->print;
    const bool in_batch = r->batch != TT_NONE, bad = p && p->first_bad != TT_VALUE_NONE;
    (void)w;
    if (!p) return TT_OK;
    tt_status status = tt_rows_reserve(rows, rows->n + 1, err);
    if (status != TT_OK) return status;
    tt_rows_integer(rows, VALUES_OP_ID, tt_op_id(r->id, seen->first));
    tt_tables_put_known(rows, VALUES_TOKEN_ID, in_batch,
                        in_batch ? tt_model_batch_number(m, r->batch) : 0);
    tt_rows_integer(rows, VALUES_NODE, seen->node);
    tt_tables_put_layer(rows, VALUES_LAYER, VALUES_STACK, t->place.layer_id);
    tt_rows_name(rows, VALUES_NAME, t->name);
    tt_rows_name(rows, VALUES_TYPE, t->type_name);
    tt_rows_integer(rows, VALUES_ELEMENTS, p->n);
    tt_rows_integer(rows, VALUES_N_NAN, p->n_nan);
    tt_rows_integer(rows, VALUES_N_INF, p->n_inf);
    tt_tables_put_known(rows, VALUES_FIRST_BAD, bad, p->first_bad);
    tt_rows_integer(rows, VALUES_MASKING, seen->state == TT_STATE_MASKING);
    put_range(rows, p);
    put_hex(rows, VALUES_HASH, p->hash, sizeof p->hash);
    if (p->has_blake3)
        put_hex(rows, VALUES_BLAKE3, p->blake3, sizeof p->blake3);
    else
        tt_rows_null(rows, VALUES_BLAKE3);
    rows->n++;
    return TT_OK;
}

static tt_status put_values(tt_rows *rows, tt_tables_own *own, uint32_t run, tt_error *err)
{
    static const tt_values_query everything;
    if (!own->values)
        own->values = tt_values_walk_new(own->m, &everything, false, put_value, rows, &own->counts);
    if (!own->values) return tt_error_memory(err, "the values of a run");
    return tt_values_walk_run(own->values, run, err);
}

static tt_status fill_values(const tt_model *m, const tt_filter *filter, uint32_t part,
                             tt_rows *rows, tt_error *err)
{
    if (rows->own) {
        tt_arena_free(&rows->own->hashes);
        tt_arena_init(&rows->own->hashes, TT_TABLES_HASHES_MAX);
    }
    return tt_tables_fill_runs(&tt_table_values, &values_parting, put_values, m, filter, part, rows,
                               err);
}

const tt_export_table tt_table_values = {
    .name = "values",
    .about = "A row for each output of which values were taken (`run --values`)",
    .columns = values_columns,
    .n_columns = VALUES_COLUMNS,
    .filtered = true,
    .parts = values_parts,
    .fill = fill_values,
};
