/* The table `sources`. */
#include "export/tables/tables.h"

enum {
    SOURCES_RUN_ID,
    SOURCES_OP_ID,
    SOURCES_INDEX,
    SOURCES_PART,
    SOURCES_NODE,
    SOURCES_SLOT,
    SOURCES_SOURCE,
    SOURCES_PLACE,
    SOURCES_READ = SOURCES_PLACE + TT_PLACE_COLUMNS,
    SOURCES_AT_MOST,
    SOURCES_TENSOR,
    SOURCES_LAYER,
    SOURCES_STACK,
    SOURCES_COMPONENT,
    SOURCES_EXPERT,
    SOURCES_TOKENS,
    SOURCES_COLUMNS
};

static const tt_column columns[SOURCES_COLUMNS] = {
    [SOURCES_RUN_ID] = TT_EXPORT_COLUMN("run_id", TT_CELL_NAME, false, "the trace's id"),
    [SOURCES_OP_ID] = TT_EXPORT_COLUMN("op_id", TT_CELL_U64, false, "the executed op, in `ops`"),
    [SOURCES_INDEX] =
        TT_EXPORT_COLUMN("source_index", TT_CELL_U16, false, "the source among the op's, from 0"),
    [SOURCES_PART] = TT_EXPORT_COLUMN(
        "part", TT_CELL_U32, false,
        "interval of a source that was read in several intervals (rows, experts), from 0"),
    [SOURCES_NODE] =
        TT_EXPORT_COLUMN("node", TT_CELL_U32, false, "the node, of those of the op, that reads it"),
    [SOURCES_SLOT] =
        TT_EXPORT_COLUMN("slot", TT_CELL_U16, false, "index among that node's sources"),
    [SOURCES_SOURCE] =
        TT_EXPORT_COLUMN("source", TT_CELL_U32, false, "the tensor in the graph: `nodes.node`"),
    [SOURCES_PLACE + TT_PLACE_NAME] = TT_EXPORT_COLUMN("name", TT_CELL_NAME, false, "its name"),
    [SOURCES_PLACE + TT_PLACE_VIEW_OF] =
        TT_EXPORT_COLUMN("view_of", TT_CELL_NAME, true, "the tensor whose bytes it shows"),
    [SOURCES_PLACE + TT_PLACE_TYPE] = TT_EXPORT_COLUMN("type", TT_CELL_NAME, false, "its type"),
    [SOURCES_PLACE + TT_PLACE_SIZE] =
        TT_EXPORT_COLUMN("size_bytes", TT_CELL_U64, false, "its whole size"),
    [SOURCES_PLACE + TT_PLACE_ORIGIN] = TT_EXPORT_COLUMN(
        "origin", TT_CELL_NAME, false, "file: in a mapping of the model file; buffer; unknown"),
    [SOURCES_PLACE + TT_PLACE_FILE] = TT_EXPORT_COLUMN(
        "model_file", TT_CELL_NAME, true, "of a weight, the model file that it comes from"),
    [SOURCES_PLACE + TT_PLACE_FILE_OFFSET] = TT_EXPORT_COLUMN(
        "file_offset_bytes", TT_CELL_U64, true,
        "offset in that file at which the read begins; null: of no file, or not observed"),
    [SOURCES_PLACE + TT_PLACE_BUFFER] =
        TT_EXPORT_COLUMN("buffer_id", TT_CELL_U64, true, "buffer that holds it"),
    [SOURCES_PLACE + TT_PLACE_BUFFER_OFFSET] =
        TT_EXPORT_COLUMN("buffer_offset_bytes", TT_CELL_U64, true,
                         "offset in that buffer at which the read begins; null: not observed"),
    [SOURCES_READ] =
        TT_EXPORT_COLUMN("read_bytes", TT_CELL_U64, false, "bytes of it that this op read"),
    [SOURCES_AT_MOST] = TT_EXPORT_COLUMN("read_bytes_at_most", TT_CELL_BOOL, false,
                                         "rows or experts were not observed: an upper bound"),
    [SOURCES_TENSOR] =
        TT_EXPORT_COLUMN("tensor_id", TT_CELL_U32, true, "of a weight, its row in `tensors`"),
    [SOURCES_LAYER] = TT_EXPORT_COLUMN("layer_id", TT_CELL_I32, true, "layer of the source"),
    [SOURCES_STACK] = TT_TABLES_STACK,
    [SOURCES_COMPONENT] = TT_EXPORT_COLUMN("component", TT_CELL_NAME, false, "part of the layer"),
    [SOURCES_EXPERT] =
        TT_EXPORT_COLUMN("expert_id", TT_CELL_I32, true, "the expert whose slice was read"),
    [SOURCES_TOKENS] =
        TT_EXPORT_COLUMN("n_tokens", TT_CELL_U32, true, "tokens that chose that expert"),
};

/* Most ops have two or three, some of which are read in several intervals. */
static uint64_t weight(const tt_model *m, const tt_filter *filter, uint32_t run)
{
    if (!tt_tables_run_passes(m, filter, run)) return 0;
    return (uint64_t)m->graphs[m->runs[run].graph].n_executed * 4;
}

static const tt_parting by_run = {tt_tables_runs, weight, TT_ROWS_MAX / 2};

static uint32_t parts(const tt_model *m, const tt_filter *filter)
{
    return tt_parting_parts(&by_run, m, filter);
}

/* What all rows of a source have in common. */
static void put_source(tt_rows *rows, tt_tables_own *own, uint32_t run, const tt_op *op,
                       uint32_t index)
{
    const tt_op_source *s = &op->sources[index];
    const tt_run *r = &own->m->runs[run];
    const tt_tensor *t = &op->graph->tensors[s->tensor];
    tt_rows_integer(rows, SOURCES_OP_ID, tt_op_id(r->id, op->node));
    tt_rows_integer(rows, SOURCES_INDEX, index);
    tt_rows_integer(rows, SOURCES_PART, 0);
    tt_rows_integer(rows, SOURCES_NODE, s->node);
    tt_rows_integer(rows, SOURCES_SLOT, s->slot);
    tt_rows_integer(rows, SOURCES_SOURCE, s->tensor);
    tt_tables_place(rows, own, SOURCES_PLACE, r->graph, s->tensor);
    tt_rows_integer(rows, SOURCES_READ, s->read_bytes);
    tt_rows_integer(rows, SOURCES_AT_MOST, s->at_most);
    tt_tables_put_known(rows, SOURCES_TENSOR, s->weight != TT_NONE, s->weight);
    tt_tables_put_layer(rows, SOURCES_LAYER, SOURCES_STACK, t->place.layer_id);
    tt_rows_name(rows, SOURCES_COMPONENT, t->place.component);
    tt_rows_null(rows, SOURCES_EXPERT);
    tt_rows_null(rows, SOURCES_TOKENS);
}

/* What differs for one of the intervals that were read. */
static void put_interval(tt_rows *rows, const tt_model *m, const tt_tensor *t, const tt_access *a,
                         uint32_t part)
{
    const uint32_t offset = SOURCES_PLACE + TT_PLACE_BUFFER_OFFSET;
    uint64_t begin = m->weights[a->weight].offset_bytes + t->root_offset_bytes;
    tt_rows_integer(rows, SOURCES_PART, part);
    tt_rows_integer(rows, SOURCES_PLACE + TT_PLACE_FILE_OFFSET, a->offset_bytes);
    if (!rows->columns[offset].valid || rows->columns[offset].valid[rows->n])
        ((uint64_t *)rows->columns[offset].values)[rows->n] += a->offset_bytes - begin;
    tt_rows_integer(rows, SOURCES_READ, a->size_bytes);
    tt_rows_integer(rows, SOURCES_AT_MOST, false);
    if (a->expert == TT_EXPERT_NONE) return;
    tt_rows_valid(rows, SOURCES_EXPERT)[rows->n] = 1;
    tt_rows_valid(rows, SOURCES_TOKENS)[rows->n] = 1;
    tt_rows_integer(rows, SOURCES_EXPERT, (uint64_t)a->expert);
    tt_rows_integer(rows, SOURCES_TOKENS, a->uses);
}

/* The intervals that were observed of a source; without any, the source has a single row. */
static tt_status put_rows(tt_rows *rows, tt_tables_own *own, uint32_t run, const tt_op *op,
                          uint32_t index, const tt_access *list, size_t n, tt_error *err)
{
    const tt_op_source *s = &op->sources[index];
    uint32_t intervals = 0;
    for (size_t i = 0; i < n && s->picks; i++)
        intervals += list[i].tensor == s->tensor && tt_access_is_placed(&list[i]);
    tt_status status = tt_rows_reserve(rows, rows->n + (intervals ? intervals : 1), err);
    if (status != TT_OK) return status;
    if (intervals == 0) {
        put_source(rows, own, run, op, index);
        if (tt_op_source_is_unplaced(op->graph, s)) {
            tt_rows_null(rows, SOURCES_PLACE + TT_PLACE_FILE_OFFSET);
            tt_rows_null(rows, SOURCES_PLACE + TT_PLACE_BUFFER_OFFSET);
        }
        rows->n++;
        return TT_OK;
    }
    for (size_t i = 0, part = 0; i < n; i++) {
        if (list[i].tensor != s->tensor || !tt_access_is_placed(&list[i])) continue;
        put_source(rows, own, run, op, index);
        put_interval(rows, own->m, &op->graph->tensors[s->tensor], &list[i], (uint32_t)part++);
        rows->n++;
    }
    return TT_OK;
}

static tt_status put_op(tt_rows *rows, tt_tables_own *own, uint32_t run, uint32_t node,
                        tt_error *err)
{
    const tt_access *list = NULL;
    size_t n = 0;
    const tt_op *op =
        tt_op_table_get(own->ops, own->m->runs[run].graph, node, own->join.ops[node].covers);
    if (!op) return tt_error_memory(err, "the tables");
    tt_status status = TT_OK;
    if (op->picks) status = tt_tables_accesses(own, run, err);
    if (op->picks && status == TT_OK) status = tt_accesses_of(own->accesses, op, &list, &n, err);
    for (uint32_t i = 0; i < op->n_sources && status == TT_OK; i++)
        status = put_rows(rows, own, run, op, i, list, n, err);
    return status;
}

static tt_status put_run(tt_rows *rows, tt_tables_own *own, uint32_t run, tt_error *err)
{
    tt_status status = tt_tables_join(own, run, err);
    for (uint32_t i = 0; i < own->join.n_touched && status == TT_OK; i++)
        status = put_op(rows, own, run, own->join.touched[i], err);
    return status;
}

static tt_status fill(const tt_model *m, const tt_filter *filter, uint32_t part, tt_rows *rows,
                      tt_error *err)
{
    return tt_tables_fill_runs(&tt_table_sources, &by_run, put_run, m, filter, part, rows, err);
}

const tt_export_table tt_table_sources = {
    .name = "sources",
    .about = "A row for each source of each executed op, or for each interval that was read of it",
    .columns = columns,
    .n_columns = SOURCES_COLUMNS,
    .filtered = true,
    .of_ops = true,
    .parts = parts,
    .fill = fill,
};
