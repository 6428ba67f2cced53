/* The table `ops`. */
#include "export/tables/tables.h"

#include "base/array.h"

#include <string.h>

enum {
    OPS_RUN_ID,
    OPS_OP_ID,
    OPS_GRAPH_RUN,
    OPS_TOKEN_ID,
    OPS_CONTEXT,
    OPS_MODEL,
    OPS_PHASE,
    OPS_GRAPH_ID,
    OPS_NODE,
    OPS_NODES,
    OPS_OP,
    OPS_NAME,
    OPS_LAYER,
    OPS_STACK,
    OPS_CATEGORY,
    OPS_COMPONENT,
    OPS_TYPE,
    OPS_NE0,
    OPS_NE1,
    OPS_NE2,
    OPS_NE3,
    OPS_SIZE,
    OPS_BACKEND,
    OPS_OBSERVED,
    OPS_THREADS,
    OPS_START_TIME,
    OPS_START_RELATIVE,
    OPS_START,
    OPS_ARRIVE,
    OPS_RELEASE,
    OPS_DURATION,
    OPS_BUSY,
    OPS_WAIT,
    OPS_OFF_CPU,
    OPS_INSIDE,
    OPS_WEIGHT_BYTES,
    OPS_AT_MOST,
    OPS_COLUMNS
};

static const tt_column columns[OPS_COLUMNS] = {
    [OPS_RUN_ID] = TT_EXPORT_COLUMN("run_id", TT_CELL_NAME, false, "the trace's id"),
    [OPS_OP_ID] =
        TT_EXPORT_COLUMN("op_id", TT_CELL_U64, false,
                         "graph_run x 2^20 + node: one execution of one op, ascending as executed"),
    [OPS_GRAPH_RUN] = TT_EXPORT_COLUMN("graph_run", TT_CELL_U32, false, "the graph computation"),
    [OPS_CONTEXT] =
        TT_EXPORT_COLUMN("context_id", TT_CELL_U32, true, "the engine's context; null: no batch"),
    [OPS_MODEL] = TT_EXPORT_COLUMN("model_file", TT_CELL_NAME, true,
                                   "path of the model's first file; null: not known"),
    [OPS_TOKEN_ID] =
        TT_EXPORT_COLUMN("batch_id", TT_CELL_U32, true, "its batch; null: outside any"),
    [OPS_PHASE] = TT_EXPORT_COLUMN("phase", TT_CELL_NAME, false,
                                   "prompt, generate, mixed, warmup or unknown"),
    [OPS_GRAPH_ID] =
        TT_EXPORT_COLUMN("graph_id", TT_CELL_U32, false, "the graph that was computed"),
    [OPS_NODE] = TT_EXPORT_COLUMN("node", TT_CELL_U32, false, "the op's first node in it"),
    [OPS_NODES] = TT_EXPORT_COLUMN("nodes", TT_CELL_U32, false,
                                   "nodes that the op computes; more than 1: fused"),
    [OPS_OP] = TT_EXPORT_COLUMN("op", TT_CELL_NAME, false,
                                "ggml's names of what it does, a fused op's with +"),
    [OPS_NAME] =
        TT_EXPORT_COLUMN("name", TT_CELL_NAME, false, "name of the tensor that it computes"),
    [OPS_LAYER] = TT_EXPORT_COLUMN("layer_id", TT_CELL_I32, true, "layer; null: belongs to none"),
    [OPS_STACK] = TT_TABLES_STACK,
    [OPS_CATEGORY] = TT_EXPORT_COLUMN(
        "category", TT_CELL_NAME, false,
        "input, attention, ffn, norm, output, ssm, rwkv, conv, projector or other"),
    [OPS_COMPONENT] =
        TT_EXPORT_COLUMN("component", TT_CELL_NAME, false, "part of the layer, as attn_q"),
    [OPS_TYPE] =
        TT_EXPORT_COLUMN("type", TT_CELL_NAME, false, "type of the tensor that it computes"),
    [OPS_NE0] =
        TT_EXPORT_COLUMN("ne0", TT_CELL_U64, false, "its shape, the contiguous dimension first"),
    [OPS_NE1] = TT_EXPORT_COLUMN("ne1", TT_CELL_U64, false, "second dimension"),
    [OPS_NE2] = TT_EXPORT_COLUMN("ne2", TT_CELL_U64, false, "third dimension"),
    [OPS_NE3] = TT_EXPORT_COLUMN("ne3", TT_CELL_U64, false, "fourth dimension"),
    [OPS_SIZE] = TT_EXPORT_COLUMN("size_bytes", TT_CELL_U64, false, "its size"),
    [OPS_BACKEND] = TT_EXPORT_COLUMN("backend", TT_CELL_NAME, true, "backend assigned to the node"),
    [OPS_OBSERVED] =
        TT_EXPORT_COLUMN("observed", TT_CELL_NAME, false,
                         "hook: by each thread; callback: by the scheduler, threads not known; "
                         "program: reported by the program itself"),
    [OPS_THREADS] = TT_EXPORT_COLUMN("threads", TT_CELL_U32, false, "threads with a record"),
    [OPS_START_TIME] =
        TT_EXPORT_COLUMN("start_time", TT_CELL_TIME, true, "when the first thread began, UTC"),
    [OPS_START_RELATIVE] = TT_EXPORT_COLUMN("start_relative_ns", TT_CELL_I64, true,
                                            "the same since the trace's first batch"),
    [OPS_START] = TT_EXPORT_COLUMN("start_ns", TT_CELL_I64, true, "the same on CLOCK_MONOTONIC"),
    [OPS_ARRIVE] = TT_EXPORT_COLUMN("arrive_ns", TT_CELL_I64, true,
                                    "arrival of the last thread; null: not seen on some thread"),
    [OPS_RELEASE] = TT_EXPORT_COLUMN("release_ns", TT_CELL_I64, true, "release of the last thread"),
    [OPS_DURATION] = TT_EXPORT_COLUMN("duration_ns", TT_CELL_U64, true, "from start to arrive"),
    [OPS_BUSY] = TT_EXPORT_COLUMN("busy_ns", TT_CELL_U64, true, "work, summed over the threads"),
    [OPS_WAIT] = TT_EXPORT_COLUMN("wait_ns", TT_CELL_U64, true,
                                  "waiting for the others, summed over the threads"),
    [OPS_OFF_CPU] = TT_EXPORT_COLUMN("off_cpu_ns", TT_CELL_U64, true,
                                     "the part of busy_ns on no processor; null: not observed"),
    [OPS_INSIDE] =
        TT_EXPORT_COLUMN("wait_inside_ns", TT_CELL_U64, true,
                         "the part of busy_ns at barriers inside the op; null: not observed"),
    [OPS_WEIGHT_BYTES] =
        TT_EXPORT_COLUMN("weight_bytes", TT_CELL_U64, false, "bytes read from weights"),
    [OPS_AT_MOST] = TT_EXPORT_COLUMN("weight_bytes_at_most", TT_CELL_BOOL, false,
                                     "rows or experts were not observed: an upper bound"),
};

static uint64_t weight(const tt_model *m, const tt_filter *filter, uint32_t run)
{
    if (!tt_tables_run_passes(m, filter, run)) return 0;
    return m->graphs[m->runs[run].graph].n_executed;
}

static const tt_parting by_run = {tt_tables_runs, weight, TT_ROWS_MAX / 2};

static uint32_t parts(const tt_model *m, const tt_filter *filter)
{
    return tt_parting_parts(&by_run, m, filter);
}

/* Each column is filled in a loop of its own, if it is wanted. */
#define VALUES(type, column) ((type *)rows->columns[column].values + rows->n)

/* Sets a column of n rows. */
#define EACH(type, column, value)                                                                  \
    if (tt_rows_wants(rows, column)) {                                                             \
        type *const out = VALUES(type, column);                                                    \
        for (uint32_t i = 0; i < n; i++)                                                           \
            out[i] = (type)(value);                                                                \
    }

static void fill_u32(tt_rows *rows, uint32_t column, size_t n, uint32_t v)
{
    EACH(uint32_t, column, v)
}

static void fill_name(tt_rows *rows, uint32_t column, size_t n, const char *text)
{
    uint32_t code = tt_dictionary_code(&rows->columns[column].dictionary, text, strlen(text));
    rows->failed |= code == TT_NONE;
    fill_u32(rows, column, n, code);
}

static void fill_nulls(tt_rows *rows, uint32_t column, size_t n)
{
    memset(tt_rows_valid(rows, column) + rows->n, 0, n);
    size_t size = tt_cell_size(rows->table->columns[column].type);
    memset((uint8_t *)rows->columns[column].values + rows->n * size, 0, n * size);
}

/* What is the same for all ops of a graph computation. */
static void put_run(tt_rows *rows, const tt_model *m, const tt_run *r, size_t n)
{
    bool in_batch = r->batch != TT_NONE;
    fill_u32(rows, OPS_GRAPH_RUN, n, r->id);
    if (in_batch)
        fill_u32(rows, OPS_TOKEN_ID, n, tt_model_batch_number(m, r->batch));
    else
        fill_nulls(rows, OPS_TOKEN_ID, n);
    if (in_batch)
        fill_u32(rows, OPS_CONTEXT, n, m->batches[r->batch].context);
    else
        fill_nulls(rows, OPS_CONTEXT, n);
    const char *model = tt_model_path(m, m->graphs[r->graph].model);
    if (model)
        fill_name(rows, OPS_MODEL, n, model);
    else
        fill_nulls(rows, OPS_MODEL, n);
    fill_name(rows, OPS_PHASE, n,
              tt_phase_name(in_batch ? m->batches[r->batch].phase : TT_PHASE_UNKNOWN));
    fill_u32(rows, OPS_GRAPH_ID, n, m->graphs[r->graph].id);
    fill_name(rows, OPS_OBSERVED, n,
              r->observed == TT_OBSERVED_HOOK       ? "hook"
              : r->observed == TT_OBSERVED_CALLBACK ? "callback"
              : r->observed == TT_OBSERVED_PROGRAM  ? "program"
                                                    : "bounds");
}

#define JOINED (&join->ops[join->touched[i]])

static void put_moments(tt_rows *rows, const tt_model *m, const tt_join *join)
{
    const uint32_t n = join->n_touched;
    EACH(int64_t, OPS_START, tt_tables_mono_ns(m, JOINED->start))
    EACH(int64_t, OPS_ARRIVE, tt_tables_mono_ns(m, JOINED->arrive))
    EACH(int64_t, OPS_RELEASE, tt_tables_mono_ns(m, JOINED->release))
    EACH(int64_t, OPS_START_RELATIVE, tt_tables_relative_ns(m, JOINED->start))
    EACH(int64_t, OPS_START_TIME, tt_tables_utc_ns(m, tt_tables_mono_ns(m, JOINED->start)))
    if (!tt_tables_has_utc(m)) fill_nulls(rows, OPS_START_TIME, n);
}

static void put_lengths(tt_rows *rows, const tt_model *m, const tt_join *join)
{
    const uint32_t n = join->n_touched;
    EACH(uint64_t, OPS_DURATION, tt_tables_span_ns(m, tt_joined_ticks(JOINED)))
    EACH(uint64_t, OPS_BUSY, tt_tables_span_ns(m, JOINED->busy))
    EACH(uint64_t, OPS_WAIT, tt_tables_span_ns(m, JOINED->wait))
    EACH(uint64_t, OPS_OFF_CPU, tt_tables_span_ns(m, JOINED->off_cpu))
    EACH(uint64_t, OPS_INSIDE, tt_tables_span_ns(m, JOINED->inside))
    if (!join->off_cpu.known) fill_nulls(rows, OPS_OFF_CPU, n);
    if (!join->off_cpu.inside_known) fill_nulls(rows, OPS_INSIDE, n);
}

/* Without a clock no time is known, and without an observed end only the op's start. */
static void put_times(tt_rows *rows, const tt_model *m, const tt_join *join)
{
    static const uint32_t ends[] = {OPS_ARRIVE, OPS_RELEASE, OPS_DURATION, OPS_BUSY,
                                    OPS_WAIT,   OPS_OFF_CPU, OPS_INSIDE};
    static const uint32_t starts[] = {OPS_START, OPS_START_RELATIVE, OPS_START_TIME};
    const size_t n_ends = sizeof ends / sizeof *ends, at = rows->n;
    if (!m->clock.known) {
        for (size_t k = 0; k < n_ends; k++)
            fill_nulls(rows, ends[k], join->n_touched);
        for (size_t k = 0; k < sizeof starts / sizeof *starts; k++)
            fill_nulls(rows, starts[k], join->n_touched);
        return;
    }
    put_moments(rows, m, join);
    put_lengths(rows, m, join);
    for (uint32_t i = 0; i < join->n_touched; i++) {
        if (!join->ops[join->touched[i]].open) continue;
        rows->n = at + i;
        for (size_t k = 0; k < n_ends; k++)
            tt_rows_null(rows, ends[k]);
    }
    rows->n = at;
}

/* What the op read of weights in this run. */
static tt_status put_picked(tt_rows *rows, tt_tables_own *own, uint32_t run, uint32_t node,
                            uint8_t covers, tt_error *err)
{
    tt_op measured;
    const tt_access *list;
    size_t n;
    const tt_op *op = tt_op_table_get(own->ops, own->m->runs[run].graph, node, covers);
    if (!op) return tt_error_memory(err, "the tables");
    tt_status status = tt_tables_accesses(own, run, err);
    if (status == TT_OK) status = tt_accesses_of(own->accesses, op, &list, &n, err);
    if (status != TT_OK) return status;
    measured = *op;
    tt_access_apply(&measured, list, n);
    tt_rows_integer(rows, OPS_WEIGHT_BYTES, measured.weight_bytes);
    tt_rows_integer(rows, OPS_AT_MOST, measured.at_most);
    return TT_OK;
}

/* What is known of each op, whenever it is executed. */
static void put_facts(tt_rows *rows, const tt_op_facts *const *facts, uint32_t n)
{
    EACH(uint32_t, OPS_NODES, facts[i]->n_nodes)
    EACH(uint32_t, OPS_OP, facts[i]->codes[0])
    EACH(uint32_t, OPS_NAME, facts[i]->codes[1])
    EACH(uint32_t, OPS_CATEGORY, facts[i]->codes[2])
    EACH(uint32_t, OPS_COMPONENT, facts[i]->codes[3])
    EACH(uint32_t, OPS_TYPE, facts[i]->codes[4])
    for (uint32_t d = 0; d < TT_DIMS; d++)
        EACH(uint64_t, OPS_NE0 + d, facts[i]->ne[d])
    EACH(uint64_t, OPS_SIZE, facts[i]->size_bytes)
    EACH(uint64_t, OPS_WEIGHT_BYTES, facts[i]->weight_bytes)
    EACH(uint8_t, OPS_AT_MOST, facts[i]->at_most)
    EACH(uint32_t, OPS_BACKEND, facts[i]->backend ? facts[i]->codes[5] : 0)
    for (uint32_t i = 0; i < n; i++)
        if (!facts[i]->backend) tt_rows_valid(rows, OPS_BACKEND)[rows->n + i] = 0;
    if (!tt_rows_wants(rows, OPS_LAYER) && !tt_rows_wants(rows, OPS_STACK)) return;
    const size_t begin = rows->n;
    for (uint32_t i = 0; i < n; i++) {
        rows->n = begin + i;
        tt_tables_put_layer(rows, OPS_LAYER, OPS_STACK, facts[i]->layer_id);
    }
    rows->n = begin;
}

/* Of all touched ops. */
static tt_status find_facts(tt_rows *rows, tt_tables_own *own, uint32_t graph, tt_error *err)
{
    static const uint32_t texts[6] = {OPS_OP,        OPS_NAME, OPS_CATEGORY,
                                      OPS_COMPONENT, OPS_TYPE, OPS_BACKEND};
    const tt_join *join = &own->join;
    if (!tt_array_room(own->row_facts, own->row_facts_capacity, join->n_touched))
        return tt_error_memory(err, "the tables");
    for (uint32_t i = 0; i < join->n_touched; i++) {
        const uint32_t node = join->touched[i];
        own->row_facts[i] = tt_tables_op(own, rows, graph, node, join->ops[node].covers, texts);
        if (!own->row_facts[i]) return tt_error_memory(err, "the tables");
    }
    return TT_OK;
}

static tt_status put_ops(tt_rows *rows, tt_tables_own *own, uint32_t run, tt_error *err)
{
    const tt_run *r = &own->m->runs[run];
    const tt_join *join = &own->join;
    const uint32_t n = join->n_touched;
    const size_t begin = rows->n;
    tt_status status = find_facts(rows, own, r->graph, err);
    if (status != TT_OK) return status;
    EACH(uint64_t, OPS_OP_ID, tt_op_id(r->id, join->touched[i]))
    EACH(uint32_t, OPS_NODE, join->touched[i])
    EACH(uint32_t, OPS_THREADS, join->ops[join->touched[i]].lanes)
    put_facts(rows, own->row_facts, n);
    const bool measured = tt_rows_wants(rows, OPS_WEIGHT_BYTES) || tt_rows_wants(rows, OPS_AT_MOST);
    for (uint32_t i = 0; i < n && measured && status == TT_OK; i++) {
        const uint32_t node = join->touched[i];
        rows->n = begin + i;
        if (own->row_facts[i]->picks)
            status = put_picked(rows, own, run, node, join->ops[node].covers, err);
    }
    rows->n = begin + n;
    return status;
}

static tt_status fill_one(tt_rows *rows, tt_tables_own *own, uint32_t run, tt_error *err)
{
    const tt_join *join = &own->join;
    tt_status status = tt_tables_join(own, run, err);
    if (status == TT_OK) status = tt_rows_reserve(rows, rows->n + join->n_touched, err);
    if (status != TT_OK || join->n_touched == 0) return status;
    put_run(rows, own->m, &own->m->runs[run], join->n_touched);
    put_times(rows, own->m, join);
    if (!tt_model_waits_known(own->m, &own->m->runs[run]))
        fill_nulls(rows, OPS_WAIT, join->n_touched);
    return put_ops(rows, own, run, err);
}

static tt_status fill(const tt_model *m, const tt_filter *filter, uint32_t part, tt_rows *rows,
                      tt_error *err)
{
    return tt_tables_fill_runs(&tt_table_ops, &by_run, fill_one, m, filter, part, rows, err);
}

const tt_export_table tt_table_ops = {
    .name = "ops",
    .about = "A row for each executed op, its threads put together",
    .columns = columns,
    .n_columns = OPS_COLUMNS,
    .filtered = true,
    .of_ops = true,
    .parts = parts,
    .fill = fill,
};
