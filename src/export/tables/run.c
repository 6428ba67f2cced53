/* The tables `run` and `tokens`. */
#include "export/tables/tables.h"

#include "analyze/loading.h"
#include "analyze/storage.h"
#include "analyze/summary.h"
#include "export/damage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- run --- */

enum {
    RUN_ID,
    RUN_CREATED,
    RUN_HOST,
    RUN_KERNEL,
    RUN_CPU,
    RUN_PROCESSORS,
    RUN_PID,
    RUN_COMMAND,
    RUN_VERSION,
    RUN_ENGINE,
    RUN_GGML,
    RUN_GGML_COMMIT,
    RUN_MODE,
    RUN_MODEL,
    RUN_MODEL_NAME,
    RUN_ARCHITECTURE,
    RUN_MODEL_BYTES,
    RUN_COMPLETE,
    RUN_RECOVERED,
    RUN_SNAPSHOT,
    RUN_TEXT,
    RUN_EXPERTS,
    RUN_FAULTS,
    RUN_RESIDENCY,
    RUN_MEMORY,
    RUN_AVAILABLE,
    RUN_CGROUP_MAX,
    RUN_CGROUP_HIGH,
    RUN_CGROUP_SWAP,
    RUN_CGROUP_BOTH,
    RUN_MEMLOCK,
    RUN_ADDRESS_SPACE,
    RUN_SWAPPINESS,
    RUN_FILE_SYSTEM,
    RUN_DISK,
    RUN_DISK_MODEL,
    RUN_ROTATIONAL,
    RUN_READ_AHEAD,
    RUN_MAPPED,
    RUN_START_TIME,
    RUN_START,
    RUN_ELAPSED,
    RUN_THREADS,
    RUN_BATCHES,
    RUN_RUNS,
    RUN_GRAPHS,
    RUN_BUFFERS,
    RUN_WEIGHTS,
    RUN_RECORDS,
    RUN_LOSSES,
    RUN_DETAIL_LOSSES,
    RUN_DAMAGED,
    RUN_COLUMNS
};

_Static_assert(RUN_COLUMNS <= TT_COLUMNS_MAX, "the table has room for them");

/* A number, or `unlimited`. */
#define LIMIT(key_, about_)                                                                        \
    TT_EXPORT_COLUMN(key_, TT_CELL_NAME, true, about_ ": a number, or unlimited")

static const tt_column run_columns[RUN_COLUMNS] = {
    [RUN_ID] =
        TT_EXPORT_COLUMN("run_id", TT_CELL_NAME, false, "the trace's id, 32 hexadecimal digits"),
    [RUN_CREATED] = TT_EXPORT_COLUMN("created_time", TT_CELL_TIME, false, "when recording began"),
    [RUN_HOST] = TT_EXPORT_COLUMN("host", TT_CELL_NAME, true, "name of the machine"),
    [RUN_KERNEL] = TT_EXPORT_COLUMN("kernel", TT_CELL_NAME, true, "its kernel and architecture"),
    [RUN_CPU] = TT_EXPORT_COLUMN("cpu", TT_CELL_NAME, true, "its processor"),
    [RUN_PROCESSORS] =
        TT_EXPORT_COLUMN("processors", TT_CELL_U32, true, "processors that the program might use"),
    [RUN_PID] = TT_EXPORT_COLUMN("pid", TT_CELL_U32, false, "process id of the traced program"),
    [RUN_COMMAND] = TT_EXPORT_COLUMN("command", TT_CELL_NAME, true, "its command line"),
    [RUN_VERSION] =
        TT_EXPORT_COLUMN("tensortrace_version", TT_CELL_NAME, true, "version of the recorder"),
    [RUN_ENGINE] = TT_EXPORT_COLUMN("engine_version", TT_CELL_NAME, true, "version of the engine"),
    [RUN_GGML] = TT_EXPORT_COLUMN("engine_ggml_version", TT_CELL_NAME, true, "version of its ggml"),
    [RUN_GGML_COMMIT] =
        TT_EXPORT_COLUMN("engine_ggml_commit", TT_CELL_NAME, true, "commit of its ggml"),
    [RUN_MODE] = TT_EXPORT_COLUMN("mode", TT_CELL_NAME, true,
                                  "how ops were observed: hook, callback, api or import"),
    [RUN_MODEL] =
        TT_EXPORT_COLUMN("model_file", TT_CELL_NAME, true, "path of the first model file"),
    [RUN_MODEL_NAME] =
        TT_EXPORT_COLUMN("model_name", TT_CELL_NAME, true, "general.name in the model file"),
    [RUN_ARCHITECTURE] = TT_EXPORT_COLUMN("model_architecture", TT_CELL_NAME, true,
                                          "general.architecture in the model file"),
    [RUN_MODEL_BYTES] = TT_EXPORT_COLUMN("model_bytes", TT_CELL_U64, true,
                                         "size of all weights of all model files"),
    [RUN_COMPLETE] =
        TT_EXPORT_COLUMN("complete", TT_CELL_BOOL, false,
                         "the trace was finished, not cut off, and no part of it is damaged"),
    [RUN_RECOVERED] = TT_EXPORT_COLUMN("recovered", TT_CELL_BOOL, false,
                                       "it was completed after the program had died"),
    [RUN_SNAPSHOT] = TT_EXPORT_COLUMN("snapshot", TT_CELL_BOOL, false,
                                      "it is a copy taken while recording went on"),
    [RUN_TEXT] =
        TT_EXPORT_COLUMN("capture_text", TT_CELL_NAME, true, "whether tokens' texts were recorded"),
    [RUN_EXPERTS] = TT_EXPORT_COLUMN("capture_experts", TT_CELL_NAME, true,
                                     "whether the experts that were chosen were recorded"),
    [RUN_FAULTS] = TT_EXPORT_COLUMN("capture_faults", TT_CELL_NAME, true,
                                    "whether page faults and reads were recorded"),
    [RUN_RESIDENCY] = TT_EXPORT_COLUMN("capture_residency", TT_CELL_NAME, true,
                                       "whether the model's pages in RAM were recorded"),
    [RUN_MEMORY] =
        TT_EXPORT_COLUMN("memory_total_bytes", TT_CELL_U64, true, "memory of the machine"),
    [RUN_AVAILABLE] = TT_EXPORT_COLUMN("memory_available_bytes", TT_CELL_U64, true,
                                       "memory that was available to programs at the begin"),
    [RUN_CGROUP_MAX] = LIMIT("cgroup_memory_max_bytes", "memory limit of the control group"),
    [RUN_CGROUP_HIGH] =
        LIMIT("cgroup_memory_high_bytes", "memory above which the control group is throttled"),
    [RUN_CGROUP_SWAP] = LIMIT("cgroup_swap_max_bytes", "swap limit of the control group"),
    [RUN_CGROUP_BOTH] =
        LIMIT("cgroup_memory_and_swap_max_bytes", "limit of memory and swap together"),
    [RUN_MEMLOCK] = LIMIT("memlock_limit_bytes", "memory that the process may lock"),
    [RUN_ADDRESS_SPACE] = LIMIT("address_space_limit_bytes", "memory that the process may map"),
    [RUN_SWAPPINESS] =
        TT_EXPORT_COLUMN("swappiness", TT_CELL_U64, true, "the kernel's swappiness, 0 to 200"),
    [RUN_FILE_SYSTEM] = TT_EXPORT_COLUMN("model_file_system", TT_CELL_NAME, true,
                                         "file system of the first model file"),
    [RUN_DISK] = TT_EXPORT_COLUMN("model_disk", TT_CELL_NAME, true, "disk that holds it"),
    [RUN_DISK_MODEL] =
        TT_EXPORT_COLUMN("model_disk_model", TT_CELL_NAME, true, "model name of the disk"),
    [RUN_ROTATIONAL] = TT_EXPORT_COLUMN("model_disk_is_rotational", TT_CELL_BOOL, true,
                                        "whether the disk is rotational"),
    [RUN_READ_AHEAD] = TT_EXPORT_COLUMN("read_ahead_bytes", TT_CELL_U64, true,
                                        "the kernel's readahead on that disk"),
    [RUN_MAPPED] = TT_EXPORT_COLUMN("model_mapped", TT_CELL_NAME, true,
                                    "how the first model file was mapped: populated or not, and "
                                    "the program's advice; null: not mapped, or unknown"),
    [RUN_START_TIME] =
        TT_EXPORT_COLUMN("start_time", TT_CELL_TIME, true, "begin of the first batch, UTC"),
    [RUN_START] = TT_EXPORT_COLUMN("start_ns", TT_CELL_I64, true,
                                   "the same on CLOCK_MONOTONIC: the zero of all relative times"),
    [RUN_ELAPSED] = TT_EXPORT_COLUMN("elapsed_ns", TT_CELL_I64, true,
                                     "from the first batch or computation to the end of the last"),
    [RUN_THREADS] = TT_EXPORT_COLUMN("threads", TT_CELL_U32, false,
                                     "the most threads in any graph computation"),
    [RUN_BATCHES] = TT_EXPORT_COLUMN("batches", TT_CELL_U32, false, "batches in the trace"),
    [RUN_RUNS] = TT_EXPORT_COLUMN("runs", TT_CELL_U32, false, "graph computations in the trace"),
    [RUN_GRAPHS] = TT_EXPORT_COLUMN("graphs", TT_CELL_U32, false, "different graphs in the trace"),
    [RUN_BUFFERS] = TT_EXPORT_COLUMN("buffers", TT_CELL_U32, false, "buffers in the trace"),
    [RUN_WEIGHTS] = TT_EXPORT_COLUMN("weights", TT_CELL_U32, false, "tensors of the model files"),
    [RUN_RECORDS] = TT_EXPORT_COLUMN("op_records", TT_CELL_U64, false,
                                     "records in the trace: executed ops x threads"),
    [RUN_LOSSES] =
        TT_EXPORT_COLUMN("losses", TT_CELL_U64, false, "records that were lost while recording"),
    [RUN_DETAIL_LOSSES] = TT_EXPORT_COLUMN("detail_losses", TT_CELL_U64, false,
                                           "details (faults, experts) that were lost"),
    [RUN_DAMAGED] =
        TT_EXPORT_COLUMN("damaged_chunks", TT_CELL_U64, false,
                         "chunks of the trace that cannot be read; what they held is left out"),
};

static uint32_t one_part(const tt_model *m, const tt_filter *filter)
{
    (void)m;
    (void)filter;
    return 1;
}

static void put_environment(tt_rows *rows, const tt_model *m)
{
    static const uint32_t columns[] = {
        RUN_HOST,        RUN_KERNEL, RUN_CPU,  RUN_COMMAND, RUN_VERSION, RUN_ENGINE,   RUN_GGML,
        RUN_GGML_COMMIT, RUN_MODE,   RUN_TEXT, RUN_EXPERTS, RUN_FAULTS,  RUN_RESIDENCY};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        tt_rows_name(rows, columns[i], tt_model_environment(m, run_columns[columns[i]].key));
    const char *processors = tt_model_environment(m, "processors");
    char *end = NULL;
    unsigned long n = processors ? strtoul(processors, &end, 10) : 0;
    tt_tables_put_known(rows, RUN_PROCESSORS, n > 0 && n <= UINT32_MAX && !*end, n);
}

static void put_number(tt_rows *rows, uint32_t column, uint64_t value)
{
    tt_tables_put_known(rows, column, value != TT_HOST_UNKNOWN && value != TT_HOST_UNLIMITED,
                        value);
}

/* A copy, because rows only refer to their texts. */
static void put_text(tt_rows *rows, tt_tables_own *own, uint32_t column, const char *text)
{
    tt_rows_name(rows, column, text[0] ? tt_arena_text(&own->texts, text, strlen(text)) : NULL);
}

/* The machine's memory, and the storage of the first model file. */
static void put_machine(tt_rows *rows, tt_tables_own *own, const tt_model *m)
{
    static const uint32_t limits[] = {RUN_CGROUP_MAX,  RUN_CGROUP_HIGH, RUN_CGROUP_SWAP,
                                      RUN_CGROUP_BOTH, RUN_MEMLOCK,     RUN_ADDRESS_SPACE};
    tt_host_system s;
    tt_host_disk d = {.read_ahead_bytes = TT_HOST_UNKNOWN};
    char how[128] = "";
    tt_system_of(m, &s);
    put_number(rows, RUN_MEMORY, s.memory_total_bytes);
    put_number(rows, RUN_AVAILABLE, s.memory_available_bytes);
    put_number(rows, RUN_SWAPPINESS, s.swappiness);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        tt_rows_name(rows, limits[i], tt_model_environment(m, run_columns[limits[i]].key));
    if (m->n_files) tt_disk_of(m, &m->files[0], &d);
    if (m->n_files) tt_loading_how(m, 0, how, sizeof how);
    put_text(rows, own, RUN_FILE_SYSTEM, d.file_system);
    put_text(rows, own, RUN_DISK, d.disk);
    put_text(rows, own, RUN_DISK_MODEL, d.disk_model);
    tt_tables_put_known(rows, RUN_ROTATIONAL, d.rotational_known, d.is_rotational);
    put_number(rows, RUN_READ_AHEAD, d.read_ahead_bytes);
    put_text(rows, own, RUN_MAPPED, how);
}

static void put_model(tt_rows *rows, const tt_model *m, const tt_summary *s)
{
    const tt_file_kv *name = tt_model_file_kv(m, "general.name");
    const tt_file_kv *architecture = tt_model_file_kv(m, "general.architecture");
    tt_rows_name(rows, RUN_MODEL, m->n_files ? m->files[0].path : NULL);
    tt_rows_name(rows, RUN_MODEL_NAME, name ? name->value : NULL);
    tt_rows_name(rows, RUN_ARCHITECTURE, architecture ? architecture->value : NULL);
    tt_tables_put_known(rows, RUN_MODEL_BYTES, m->n_weights > 0, s->model_bytes);
}

static void put_counts(tt_rows *rows, const tt_model *m, const tt_summary *s)
{
    tt_rows_integer(rows, RUN_THREADS, s->lanes);
    tt_rows_integer(rows, RUN_BATCHES, m->n_batches);
    tt_rows_integer(rows, RUN_RUNS, m->n_runs);
    tt_rows_integer(rows, RUN_GRAPHS, m->n_graphs);
    tt_rows_integer(rows, RUN_BUFFERS, m->n_buffers);
    tt_rows_integer(rows, RUN_WEIGHTS, m->n_weights);
    tt_rows_integer(rows, RUN_RECORDS, s->records);
    tt_rows_integer(rows, RUN_LOSSES, m->losses_total);
    tt_rows_integer(rows, RUN_DETAIL_LOSSES, m->detail_losses_total);
}

static tt_status fill_run(const tt_model *m, const tt_filter *filter, uint32_t part, tt_rows *rows,
                          tt_error *err)
{
    tt_tables_own *own;
    tt_summary s;
    uint64_t damaged = 0;
    (void)filter;
    (void)part;
    tt_status status = tt_tables_begin(rows, &tt_table_run, m, &own, err);
    if (status == TT_OK) status = tt_rows_reserve(rows, 1, err);
    if (status == TT_OK) status = tt_damage_count(m, &damaged, err);
    if (status != TT_OK) return status;
    tt_summarize(m, &s);
    tt_tables_run_id(rows, 0, 1);
    tt_rows_integer(rows, RUN_CREATED, m->trace.header.created_unix_ns);
    tt_rows_integer(rows, RUN_PID, m->trace.header.pid);
    put_environment(rows, m);
    put_machine(rows, own, m);
    put_model(rows, m, &s);
    tt_rows_integer(rows, RUN_COMPLETE, tt_damage_is_complete(m, damaged));
    tt_rows_integer(rows, RUN_RECOVERED, (m->trace.end_flags & TT_END_RECOVERED) != 0);
    tt_rows_integer(rows, RUN_SNAPSHOT, (m->trace.end_flags & TT_END_SNAPSHOT) != 0);
    tt_tables_put_utc(rows, RUN_START_TIME, m, m->clock.zero_ticks);
    tt_tables_put_mono(rows, RUN_START, m, m->clock.zero_ticks);
    tt_tables_put_known(rows, RUN_ELAPSED, m->clock.known && s.elapsed_ns < 9e18,
                        (uint64_t)(int64_t)(s.elapsed_ns < 9e18 ? s.elapsed_ns : 0));
    put_counts(rows, m, &s);
    tt_rows_integer(rows, RUN_DAMAGED, damaged);
    rows->n++;
    return tt_tables_end(rows, err);
}

const tt_export_table tt_table_run = {
    .name = "run",
    .about = "One row: what was traced, where, with what, and how much of it the trace holds",
    .columns = run_columns,
    .n_columns = RUN_COLUMNS,
    .parts = one_part,
    .fill = fill_run,
};

/* --- tokens --- */

enum {
    TOKENS_RUN_ID,
    TOKENS_BATCH_ID,
    TOKENS_INDEX,
    TOKENS_IS_FIRST,
    TOKENS_N_TOKENS,
    TOKENS_PHASE,
    TOKENS_CONTEXT,
    TOKENS_TEXT_ID,
    TOKENS_TEXT,
    TOKENS_POSITION,
    TOKENS_SEQUENCE,
    TOKENS_SEQUENCES,
    TOKENS_START_TIME,
    TOKENS_START_RELATIVE,
    TOKENS_START,
    TOKENS_END,
    TOKENS_DURATION,
    TOKENS_RATE,
    TOKENS_RUNS,
    TOKENS_COLUMNS
};

static const tt_column tokens_columns[TOKENS_COLUMNS] = {
    [TOKENS_RUN_ID] = TT_EXPORT_COLUMN("run_id", TT_CELL_NAME, false, "the trace's id"),
    [TOKENS_BATCH_ID] =
        TT_EXPORT_COLUMN("batch_id", TT_CELL_U32, false, "the batch, counted from 0"),
    [TOKENS_INDEX] = TT_EXPORT_COLUMN(
        "token_index", TT_CELL_U32, true,
        "the token in its batch, from 0; null: nothing was observed of its tokens"),
    [TOKENS_IS_FIRST] =
        TT_EXPORT_COLUMN("is_first", TT_CELL_BOOL, false,
                         "true for the first row of each batch: to count or sum batches"),
    [TOKENS_N_TOKENS] = TT_EXPORT_COLUMN("n_tokens", TT_CELL_U32, false, "tokens in the batch"),
    [TOKENS_PHASE] = TT_EXPORT_COLUMN("phase", TT_CELL_NAME, false,
                                      "prompt, generate, mixed, warmup or unknown"),
    [TOKENS_CONTEXT] = TT_EXPORT_COLUMN("context_id", TT_CELL_U32, false,
                                        "context of the engine that computed it"),
    [TOKENS_TEXT_ID] =
        TT_EXPORT_COLUMN("text_id", TT_CELL_I32, true, "the token's number in the vocabulary"),
    [TOKENS_TEXT] = TT_EXPORT_COLUMN("text", TT_CELL_NAME, true,
                                     "its text, which may be a part of a character"),
    [TOKENS_POSITION] =
        TT_EXPORT_COLUMN("position", TT_CELL_I32, true, "its position in its sequence"),
    [TOKENS_SEQUENCE] =
        TT_EXPORT_COLUMN("sequence", TT_CELL_I32, true, "its sequence, the first of several"),
    [TOKENS_SEQUENCES] =
        TT_EXPORT_COLUMN("sequences", TT_CELL_U32, true, "sequences that it belongs to"),
    [TOKENS_START_TIME] =
        TT_EXPORT_COLUMN("start_time", TT_CELL_TIME, true, "begin of the batch, UTC"),
    [TOKENS_START_RELATIVE] = TT_EXPORT_COLUMN("start_relative_ns", TT_CELL_I64, true,
                                               "the same since the trace's first batch"),
    [TOKENS_START] = TT_EXPORT_COLUMN("start_ns", TT_CELL_I64, true, "the same on CLOCK_MONOTONIC"),
    [TOKENS_END] = TT_EXPORT_COLUMN("end_ns", TT_CELL_I64, true,
                                    "end of the batch on CLOCK_MONOTONIC; null: it was not seen"),
    [TOKENS_DURATION] = TT_EXPORT_COLUMN("duration_ns", TT_CELL_U64, true, "duration of the batch"),
    [TOKENS_RATE] =
        TT_EXPORT_COLUMN("tokens_per_s", TT_CELL_F64, true, "n_tokens / duration_ns, per second"),
    [TOKENS_RUNS] = TT_EXPORT_COLUMN("runs", TT_CELL_U32, false, "graph computations of the batch"),
};

/* A batch without known tokens has one row. */
static uint32_t rows_of_batch(const tt_batch *b)
{
    bool known = b->tokens || b->positions || b->sequence_first;
    return known && b->n_tokens ? b->n_tokens : 1;
}

static uint32_t count_batches(const tt_model *m)
{
    return m->n_batches;
}

static uint64_t batch_weight(const tt_model *m, const tt_filter *filter, uint32_t batch)
{
    return tt_filter_batch(filter, m, batch) ? rows_of_batch(&m->batches[batch]) : 0;
}

static const tt_parting by_batch = {count_batches, batch_weight, TT_ROWS_MAX / 2};

static uint32_t tokens_parts(const tt_model *m, const tt_filter *filter)
{
    return tt_parting_parts(&by_batch, m, filter);
}

static void put_token(tt_rows *rows, const tt_model *m, const tt_batch *b, uint32_t i)
{
    size_t n = 0;
    const char *text = b->tokens ? tt_model_token_text(m, b->vocabulary, b->tokens[i], &n) : NULL;
    bool known = b->tokens || b->positions || b->sequence_first;
    tt_tables_put_known(rows, TOKENS_INDEX, known && b->n_tokens, i);
    tt_tables_put_known(rows, TOKENS_TEXT_ID, b->tokens, b->tokens ? (uint64_t)b->tokens[i] : 0);
    if (text)
        tt_rows_text(rows, TOKENS_TEXT, text, n);
    else
        tt_rows_null(rows, TOKENS_TEXT);
    tt_tables_put_known(rows, TOKENS_POSITION, b->positions,
                        b->positions ? (uint64_t)b->positions[i] : 0);
    uint32_t first = b->sequence_first ? b->sequence_first[i] : 0;
    uint32_t sequences = b->sequence_first ? b->sequence_first[i + 1] - first : 0;
    tt_tables_put_known(rows, TOKENS_SEQUENCE, sequences > 0,
                        sequences ? (uint64_t)b->sequences[first] : 0);
    tt_tables_put_known(rows, TOKENS_SEQUENCES, b->sequence_first, sequences);
}

static void put_batch(tt_rows *rows, const tt_model *m, uint32_t batch)
{
    const tt_batch *b = &m->batches[batch];
    bool ended = b->ended && m->clock.known && b->end_ticks >= b->begin_ticks;
    uint64_t duration = ended ? tt_tables_span_ns(m, b->end_ticks - b->begin_ticks) : 0;
    tt_rows_integer(rows, TOKENS_BATCH_ID, tt_model_batch_number(m, batch));
    tt_rows_integer(rows, TOKENS_N_TOKENS, b->n_tokens);
    tt_rows_name(rows, TOKENS_PHASE, tt_phase_name(b->phase));
    tt_rows_integer(rows, TOKENS_CONTEXT, b->context);
    tt_tables_put_utc(rows, TOKENS_START_TIME, m, b->begin_ticks);
    tt_tables_put_relative(rows, TOKENS_START_RELATIVE, m, b->begin_ticks);
    tt_tables_put_mono(rows, TOKENS_START, m, b->begin_ticks);
    if (b->ended)
        tt_tables_put_mono(rows, TOKENS_END, m, b->end_ticks);
    else
        tt_rows_null(rows, TOKENS_END);
    tt_tables_put_known(rows, TOKENS_DURATION, ended, duration);
    if (duration)
        tt_rows_real(rows, TOKENS_RATE, b->n_tokens * 1e9 / (double)duration);
    else
        tt_rows_null(rows, TOKENS_RATE);
    tt_rows_integer(rows, TOKENS_RUNS, b->n_runs);
}

static tt_status fill_tokens(const tt_model *m, const tt_filter *filter, uint32_t part,
                             tt_rows *rows, tt_error *err)
{
    tt_tables_own *own;
    uint32_t first = 0, end = 0;
    tt_status status = tt_tables_begin(rows, &tt_table_tokens, m, &own, err);
    if (status == TT_OK) status = tt_parting_range(&by_batch, own, filter, part, &first, &end, err);
    for (uint32_t i = first; status == TT_OK && i < end; i++) {
        const tt_batch *b = &m->batches[i];
        const uint32_t n = rows_of_batch(b);
        if (!tt_filter_batch(tt_tables_filter(filter), m, i)) continue;
        status = tt_rows_reserve(rows, rows->n + n, err);
        if (status != TT_OK) return status;
        for (uint32_t k = 0; k < n; k++) {
            tt_rows_integer(rows, TOKENS_IS_FIRST, k == 0);
            put_token(rows, m, b, k);
            put_batch(rows, m, i);
            rows->n++;
        }
    }
    if (status != TT_OK) return status;
    tt_tables_run_id(rows, 0, rows->n);
    return tt_tables_end(rows, err);
}

const tt_export_table tt_table_tokens = {
    .name = "tokens",
    .about = "A row for each token of each batch; the batch's own columns are repeated",
    .columns = tokens_columns,
    .n_columns = TOKENS_COLUMNS,
    .filtered = true,
    .parts = tokens_parts,
    .fill = fill_tokens,
};
