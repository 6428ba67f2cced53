/* The table `page_faults`: single page faults. */
#include "analyze/page_faults.h"

#include "analyze/access.h"
#include "export/tables/tables.h"

#define FAULTS_EACH (TT_ROWS_MAX / 2)

enum {
    FAULTS_RUN_ID,
    FAULTS_TIME,
    FAULTS_OS_THREAD,
    FAULTS_MAJOR,
    FAULTS_OP_ID,
    FAULTS_THREAD,
    FAULTS_TOKEN_ID,
    FAULTS_ADDRESS,
    FAULTS_MAPPING,
    FAULTS_FILE_OFFSET,
    FAULTS_TENSOR,
    FAULTS_TENSOR_OFFSET,
    FAULTS_EXPERT,
    FAULTS_COLUMNS
};

static const tt_column columns[FAULTS_COLUMNS] = {
    [FAULTS_RUN_ID] = TT_EXPORT_COLUMN("run_id", TT_CELL_NAME, false, "the trace's id"),
    [FAULTS_TIME] = TT_EXPORT_COLUMN("end_relative_ns", TT_CELL_I64, true,
                                     "end of the fault, since the trace's first batch"),
    [FAULTS_OS_THREAD] =
        TT_EXPORT_COLUMN("os_thread_id", TT_CELL_U32, false, "the thread's number in the system"),
    [FAULTS_MAJOR] =
        TT_EXPORT_COLUMN("major", TT_CELL_BOOL, false, "the kernel had to wait for a device"),
    [FAULTS_OP_ID] = TT_EXPORT_COLUMN("op_id", TT_CELL_U64, true,
                                      "the op that its thread was computing; null: none"),
    [FAULTS_THREAD] =
        TT_EXPORT_COLUMN("thread_id", TT_CELL_U32, true,
                         "number of the thread in the graph computation; null: unknown"),
    [FAULTS_TOKEN_ID] =
        TT_EXPORT_COLUMN("batch_id", TT_CELL_U32, true, "the batch; null: outside any"),
    [FAULTS_ADDRESS] =
        TT_EXPORT_COLUMN("address", TT_CELL_U64, false, "address that the program accessed"),
    [FAULTS_MAPPING] =
        TT_EXPORT_COLUMN("mapping", TT_CELL_NAME, true,
                         "the mapped file, or the kernel's name of the memory; null: unknown"),
    [FAULTS_FILE_OFFSET] = TT_EXPORT_COLUMN("file_offset_bytes", TT_CELL_U64, true,
                                            "offset of the address in the mapped file"),
    [FAULTS_TENSOR] = TT_EXPORT_COLUMN("tensor_id", TT_CELL_U32, true,
                                       "the weight at this address, in `tensors`"),
    [FAULTS_TENSOR_OFFSET] = TT_EXPORT_COLUMN("tensor_offset_bytes", TT_CELL_U64, true,
                                              "offset of the address in the weight"),
    [FAULTS_EXPERT] = TT_EXPORT_COLUMN("expert_id", TT_CELL_I32, true,
                                       "expert, if the weight is a tensor of experts"),
};

static uint32_t parts(const tt_model *m, const tt_filter *filter)
{
    (void)filter;
    return tt_parts_of(m->n_page_faults, FAULTS_EACH);
}

static void put(tt_rows *rows, const tt_page_faults *f, uint32_t i)
{
    const tt_model *m = f->m;
    const tt_page_fault *p = &m->page_faults[i];
    const tt_fault_location *at = &f->places[i];
    const tt_fault_target t = tt_page_faults_target(f, i);
    const uint32_t batch = tt_page_faults_batch(f, i);
    const tt_run *run = at->run == TT_NONE ? NULL : &m->runs[at->run];
    const bool is_file = t.mapping != TT_MAPPING_NONE && m->mappings[t.mapping].inode;
    tt_tables_put_relative(rows, FAULTS_TIME, m, p->ticks);
    tt_rows_integer(rows, FAULTS_OS_THREAD, p->thread);
    tt_rows_integer(rows, FAULTS_MAJOR, p->major);
    tt_tables_put_known(rows, FAULTS_OP_ID, run, run ? tt_op_id(run->id, at->node) : 0);
    tt_tables_put_known(rows, FAULTS_THREAD, run && run->observed == TT_OBSERVED_HOOK, at->lane);
    tt_tables_put_known(rows, FAULTS_TOKEN_ID, batch != TT_NONE,
                        batch == TT_NONE ? 0 : tt_model_batch_number(m, batch));
    tt_rows_integer(rows, FAULTS_ADDRESS, p->address);
    tt_rows_name(rows, FAULTS_MAPPING, tt_page_faults_path(f, t.mapping));
    tt_tables_put_known(rows, FAULTS_FILE_OFFSET, is_file, t.file_offset_bytes);
    tt_tables_put_known(rows, FAULTS_TENSOR, t.weight != TT_NONE, t.weight);
    tt_tables_put_known(rows, FAULTS_TENSOR_OFFSET, t.weight != TT_NONE, t.weight_offset_bytes);
    tt_tables_put_known(rows, FAULTS_EXPERT, t.expert != TT_EXPERT_NONE, (uint64_t)t.expert);
    rows->n++;
}

static bool passes(const tt_page_faults *f, const tt_filter *filter, uint32_t i)
{
    return tt_filter_batch(tt_tables_filter(filter), f->m, tt_page_faults_batch(f, i));
}

static tt_status fill(const tt_model *m, const tt_filter *filter, uint32_t part, tt_rows *rows,
                      tt_error *err)
{
    tt_tables_own *own;
    const uint32_t n = m->n_page_faults;
    tt_status status = tt_tables_begin(rows, &tt_table_page_faults, m, &own, err);
    uint32_t i = part < tt_parts_of(n, FAULTS_EACH) ? part * FAULTS_EACH : n;
    const uint32_t end = n - i < FAULTS_EACH ? n : i + FAULTS_EACH;
    if (status == TT_OK) status = tt_rows_reserve(rows, end - i, err);
    /* Finding their ops takes a walk over the trace: once for all parts. */
    if (status == TT_OK && !own->faults.m) status = tt_page_faults_find(&own->faults, m, err);
    for (; status == TT_OK && i < end; i++)
        if (passes(&own->faults, filter, i)) put(rows, &own->faults, i);
    if (status != TT_OK) return status;
    tt_tables_run_id(rows, 0, rows->n);
    return tt_tables_end(rows, err);
}

const tt_export_table tt_table_page_faults = {
    .name = "page_faults",
    .about = "A row for each page fault, in ops and outside of them, with what it hit",
    .columns = columns,
    .n_columns = FAULTS_COLUMNS,
    .filtered = true,
    .parts = parts,
    .fill = fill,
};
