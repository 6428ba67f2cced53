/* The tables `routing` and `faults`: what was observed of ops besides their times. */
#include "export/tables/tables.h"

#include "analyze/routers.h"
#include "model/faults.h"

#include <math.h>

/* --- routing --- */

enum {
    ROUTING_RUN_ID,
    ROUTING_OP_ID,
    ROUTING_TOKEN_ID,
    ROUTING_TOKEN_INDEX,
    ROUTING_LAYER,
    ROUTING_STACK,
    ROUTING_ROW,
    ROUTING_RANK,
    ROUTING_EXPERT,
    ROUTING_WEIGHT,
    ROUTING_COLUMNS
};

static const tt_column routing_columns[ROUTING_COLUMNS] = {
    [ROUTING_RUN_ID] = TT_EXPORT_COLUMN("run_id", TT_CELL_NAME, false, "the trace's id"),
    [ROUTING_OP_ID] =
        TT_EXPORT_COLUMN("op_id", TT_CELL_U64, false,
                         "the first op, in `ops`, that computes with the experts chosen"),
    [ROUTING_TOKEN_ID] =
        TT_EXPORT_COLUMN("batch_id", TT_CELL_U32, true, "the batch; null: outside any"),
    [ROUTING_TOKEN_INDEX] =
        TT_EXPORT_COLUMN("token_index", TT_CELL_U32, true,
                         "the token in its batch, as in `tokens`; null: not known"),
    [ROUTING_LAYER] = TT_EXPORT_COLUMN("layer_id", TT_CELL_I32, true, "layer"),
    [ROUTING_STACK] = TT_TABLES_STACK,
    [ROUTING_ROW] = TT_EXPORT_COLUMN(
        "row", TT_CELL_U32, false,
        "row of the router's output; the last layer has only the rows with a requested output"),
    [ROUTING_RANK] = TT_EXPORT_COLUMN("rank", TT_CELL_U32, false, "0: the token's first choice"),
    [ROUTING_EXPERT] = TT_EXPORT_COLUMN("expert_id", TT_CELL_U32, false, "the expert chosen"),
    [ROUTING_WEIGHT] =
        TT_EXPORT_COLUMN("weight", TT_CELL_F32, true, "its routing weight; null: not observed"),
};

/* At most one router for every few ops; their number is known only from the records. */
static uint64_t routing_weight(const tt_model *m, const tt_filter *filter, uint32_t run)
{
    if (!tt_tables_run_passes(m, filter, run)) return 0;
    const tt_run *r = &m->runs[run];
    uint64_t n_tokens = r->batch == TT_NONE ? 1 : m->batches[r->batch].n_tokens;
    return 1 + (n_tokens + 1) * m->graphs[r->graph].n_executed / 4;
}

static const tt_parting routing_parting = {tt_tables_runs, routing_weight, TT_ROWS_MAX};

static uint32_t routing_parts(const tt_model *m, const tt_filter *filter)
{
    if (!tt_details_has(m->details, TT_DETAIL_EXPERTS)) return 0;
    return tt_parting_parts(&routing_parting, m, filter);
}

static void put_choice(tt_rows *rows, const tt_model *m, uint32_t run, const tt_choice *c,
                       const tt_router_rows *of)
{
    const tt_run *r = &m->runs[run];
    const bool in_batch = r->batch != TT_NONE;
    const int32_t layer = m->graphs[r->graph].tensors[c->node].place.layer_id;
    uint64_t token =
        of->known && c->token < of->n ? tt_router_rows_token(of, c->token) : UINT64_MAX;
    const bool placed = in_batch && token < m->batches[r->batch].n_tokens;
    tt_rows_integer(rows, ROUTING_OP_ID, tt_op_id(r->id, c->node));
    tt_tables_put_known(rows, ROUTING_TOKEN_ID, in_batch,
                        in_batch ? tt_model_batch_number(m, r->batch) : 0);
    tt_tables_put_known(rows, ROUTING_TOKEN_INDEX, placed, token);
    tt_tables_put_layer(rows, ROUTING_LAYER, ROUTING_STACK, layer);
    tt_rows_integer(rows, ROUTING_ROW, c->token);
    tt_rows_integer(rows, ROUTING_RANK, c->rank);
    tt_rows_integer(rows, ROUTING_EXPERT, c->expert);
    if (isfinite(c->weight))
        tt_rows_real(rows, ROUTING_WEIGHT, (double)c->weight);
    else
        tt_rows_null(rows, ROUTING_WEIGHT);
    rows->n++;
}

static tt_status put_choices(tt_rows *rows, tt_tables_own *own, uint32_t run, tt_error *err)
{
    size_t n = 0;
    tt_router_rows of = {0};
    bool counts = false;
    tt_status status = tt_tables_accesses(own, run, err);
    if (status != TT_OK) return status;
    const tt_choice *list = tt_accesses_choices(own->accesses, &n);
    status = tt_rows_reserve(rows, rows->n + n, err);
    if (status != TT_OK) return status;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || list[i].node != list[i - 1].node) {
            of = tt_routers_rows(own->m, run, list[i].node);
            counts = tt_access_router_counts(own->m, run, list[i].node);
        }
        if (counts) put_choice(rows, own->m, run, &list[i], &of);
    }
    return TT_OK;
}

static tt_status fill_routing(const tt_model *m, const tt_filter *filter, uint32_t part,
                              tt_rows *rows, tt_error *err)
{
    return tt_tables_fill_runs(&tt_table_routing, &routing_parting, put_choices, m, filter, part,
                               rows, err);
}

const tt_export_table tt_table_routing = {
    .name = "routing",
    .about = "A row for each expert chosen for a token in a layer",
    .columns = routing_columns,
    .n_columns = ROUTING_COLUMNS,
    .filtered = true,
    .parts = routing_parts,
    .fill = fill_routing,
};

/* --- faults --- */

enum {
    FAULTS_RUN_ID,
    FAULTS_OP_ID,
    FAULTS_THREAD,
    FAULTS_MINOR,
    FAULTS_MAJOR,
    FAULTS_READ,
    FAULTS_CPU,
    FAULTS_COLUMNS
};

static const tt_column faults_columns[FAULTS_COLUMNS] = {
    [FAULTS_RUN_ID] = TT_EXPORT_COLUMN("run_id", TT_CELL_NAME, false, "the trace's id"),
    [FAULTS_OP_ID] = TT_EXPORT_COLUMN("op_id", TT_CELL_U64, false,
                                      "the executed op; not in `ops` when its record was lost"),
    [FAULTS_THREAD] =
        TT_EXPORT_COLUMN("thread_id", TT_CELL_U16, true,
                         "the thread; null: counted for the whole process (callback)"),
    [FAULTS_MINOR] =
        TT_EXPORT_COLUMN("minor_faults", TT_CELL_U32, false, "page faults without a read"),
    [FAULTS_MAJOR] =
        TT_EXPORT_COLUMN("major_faults", TT_CELL_U32, false, "page faults that had to read"),
    [FAULTS_READ] =
        TT_EXPORT_COLUMN("read_bytes", TT_CELL_U64, true,
                         "bytes requested from devices, including readahead; null: not observed"),
    [FAULTS_CPU] =
        TT_EXPORT_COLUMN("cpu_ns", TT_CELL_U64, true, "time on the processor; null: not observed"),
};

static const tt_parting faults_parting = {tt_tables_runs, tt_tables_lane_rows, TT_ROWS_MAX};

static uint32_t faults_parts(const tt_model *m, const tt_filter *filter)
{
    if (!tt_model_has_faults(m)) return 0;
    return tt_parting_parts(&faults_parting, m, filter);
}

static void put_fault(tt_rows *rows, const tt_run *r, const tt_detail *d)
{
    const tt_detail_faults *f = &d->faults;
    tt_rows_integer(rows, FAULTS_OP_ID, tt_op_id(r->id, tt_detail_node(d)));
    tt_tables_put_known(rows, FAULTS_THREAD, r->observed == TT_OBSERVED_HOOK, tt_detail_lane(d));
    tt_rows_integer(rows, FAULTS_MINOR, f->minor);
    tt_rows_integer(rows, FAULTS_MAJOR, f->major);
    tt_tables_put_known(rows, FAULTS_READ, f->read_bytes != UINT64_MAX, f->read_bytes);
    tt_tables_put_known(rows, FAULTS_CPU, f->cpu_ns != TT_FAULTS_NO_CPU, f->cpu_ns);
    rows->n++;
}

static tt_status put_faults(tt_rows *rows, tt_tables_own *own, uint32_t run, tt_error *err)
{
    const tt_run *r = &own->m->runs[run];
    const uint32_t n_nodes = own->m->graphs[r->graph].n_nodes;
    const tt_detail *list;
    size_t n;
    tt_status status = tt_model_faults_of_run(own->m, run, &list, &n, err);
    if (status == TT_OK) status = tt_rows_reserve(rows, rows->n + n, err);
    for (size_t i = 0; status == TT_OK && i < n; i++)
        if (tt_detail_node(&list[i]) < n_nodes) put_fault(rows, r, &list[i]);
    return status;
}

static tt_status fill_faults(const tt_model *m, const tt_filter *filter, uint32_t part,
                             tt_rows *rows, tt_error *err)
{
    return tt_tables_fill_runs(&tt_table_faults, &faults_parting, put_faults, m, filter, part, rows,
                               err);
}

const tt_export_table tt_table_faults = {
    .name = "faults",
    .about = "A row for each executed op and thread, with what the kernel counted meanwhile",
    .columns = faults_columns,
    .n_columns = FAULTS_COLUMNS,
    .filtered = true,
    .parts = faults_parts,
    .fill = fill_faults,
};
