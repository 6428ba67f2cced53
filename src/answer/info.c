#include "answer/info.h"

#include "analyze/loading.h"
#include "analyze/pool.h"
#include "analyze/storage.h"
#include "base/hex.h"
#include "base/path.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What was captured besides ops; buffers by kind. */

tt_info_capture tt_info_find_capture(const tt_model *m, unsigned i)
{
    static const char *const names[TT_INFO_CAPTURES] = {"experts",   "text",        "faults",
                                                        "residency", "io",          "devices",
                                                        "values",    "page_faults", "calls"};
    static const char none[] = "not observed";
    char key[32];
    (void)snprintf(key, sizeof key, "capture_%s", names[i]);
    const char *value = tt_model_environment(m, key);
    tt_info_capture c = {.name = names[i], .state = value};
    if (value && strcmp(names[i], "values") == 0 && strcmp(value, "off") != 0 &&
        strncmp(value, none, sizeof none - 1) != 0) {
        c.state = "on";
        c.asked = value;
    }
    if (!value || strncmp(value, none, sizeof none - 1) != 0) return c;
    value += sizeof none - 1;
    c.state = none;
    c.reason = value + strspn(value, ": ");
    return c;
}

const char *tt_info_end_state(const tt_model_file *f)
{
    static const char *const names[] = {[TT_MODEL_SAME] = "same",
                                        [TT_MODEL_CHANGED] = "changed",
                                        [TT_MODEL_REPLACED] = "replaced",
                                        [TT_MODEL_GONE] = "removed"};
    if (!f->checked_at_end) return NULL;
    return f->end_state < sizeof names / sizeof *names ? names[f->end_state] : "changed";
}

static const tt_column capture_columns[] = {
    TT_FIELD("state", "on, off, or not observed", TT_MEMBER(tt_info_capture, state)),
    TT_FIELD("reason", "why not", TT_MEMBER(tt_info_capture, reason), .show = TT_SHOW_OMIT),
    TT_FIELD("asked", "in the words of run --values", TT_MEMBER(tt_info_capture, asked),
             .show = TT_SHOW_OMIT),
};
static const tt_schema capture_schema = TT_SCHEMA("captured", "besides ops", capture_columns);

TT_COLUMN_JSON(json_captured, tt_info, info, {
    tt_json_object(j);
    for (unsigned i = 0; i < TT_INFO_CAPTURES; i++) {
        const tt_info_capture c = tt_info_find_capture(info->m, i);
        tt_row_json(j, c.name, &capture_schema, NULL, c.state ? &c : NULL);
    }
    tt_json_object_end(j);
})

/* The buffers of a kind. */
typedef struct kind_row {
    const char *kind;
    tt_kind_summary all;
    tt_buffers_peak peak;
} kind_row;

static const tt_column kind_columns[] = {
    TT_FIELD("kind", "what they are for", TT_MEMBER(kind_row, kind)),
    TT_FIELD("count", "freed ones included", TT_MEMBER(kind_row, all.count)),
    TT_FIELD("size_bytes", "of all of them", TT_MEMBER(kind_row, all.size_bytes)),
    TT_FIELD("peak_count", "when they were the largest", TT_MEMBER(kind_row, peak.count)),
    TT_FIELD("peak_bytes", "the most at one moment", TT_MEMBER(kind_row, peak.bytes)),
};
static const tt_schema kind_schema = TT_SCHEMA("buffers", "by kind", kind_columns);

TT_COLUMN_JSON(json_buffers, tt_info, info, {
    tt_json_array(j);
    for (unsigned i = 0; i <= TT_BUFFER_OUTPUT; i++) {
        const kind_row r = {tt_buffer_kind_name((tt_buffer_kind)i), info->summary.buffers[i],
                            info->peaks[i]};
        if (r.all.count) tt_row_json(j, NULL, &kind_schema, NULL, &r);
    }
    tt_json_array_end(j);
})

/* Later values win, so each key is written once. */
TT_COLUMN_JSON(json_environment, tt_info, info, {
    const tt_model *m = info->m;
    tt_json_object(j);
    for (uint32_t i = 0; i < m->n_environment; i++) {
        const tt_pair *p = &m->environment[i];
        if (tt_model_environment(m, p->key) == p->value) tt_json_kv_string(j, p->key, p->value);
    }
    tt_json_object_end(j);
})

TT_COLUMN_JSON(json_metadata, tt_model_file, f, {
    tt_json_object(j);
    for (uint32_t k = 0; k < f->n_kvs; k++)
        tt_json_kv_string(j, f->kvs[k].key, f->kvs[k].value);
    tt_json_object_end(j);
})
TT_COLUMN_JSON(json_disk, tt_model_file, f, tt_disk_json(j, context, f);)
TT_COLUMN_GET(get_file_name, tt_model_file, f, tt_cell_text(cell, tt_base_name(f->path));)
TT_COLUMN_GET(get_end_state, tt_model_file, f, tt_cell_text(cell, tt_info_end_state(f));)

TT_COLUMN_ROWS(extents, tt_model_file, f, f->extents, f->extents != NULL)

static const tt_column file_columns[] = {
    TT_FIELD("name", "without its folders", .type = TT_CELL_NAME, .get = get_file_name,
             .kinds = TT_INFO_VIEWER),
    TT_FIELD("path", "of the file", TT_MEMBER(tt_model_file, path)),
    TT_FIELD("size_bytes", "of the file", TT_MEMBER(tt_model_file, size_bytes)),
    TT_FIELD("data_offset_bytes", "where the weights begin",
             TT_MEMBER(tt_model_file, data_offset_bytes)),
    TT_FIELD("tensors", "in it", TT_MEMBER(tt_model_file, n_weights)),
    TT_FIELD("end_state", "when recording ended", .type = TT_CELL_NAME, .get = get_end_state,
             .kinds = TT_INFO_COMMAND),
    TT_FIELD("disk", "that it lies on", .type = TT_CELL_OBJECT, .json = json_disk,
             .kinds = TT_INFO_COMMAND),
    TT_FIELD("extents", "where on it", .type = TT_CELL_OBJECT, .inner = &tt_extents_schema,
             .rows = extents, .kinds = TT_INFO_COMMAND),
    TT_FIELD("metadata", "of the file", .type = TT_CELL_OBJECT, .json = json_metadata,
             .kinds = TT_INFO_COMMAND),
};
const tt_schema tt_info_file_schema = TT_SCHEMA("model_files", "by index", file_columns);

TT_COLUMN_KNOWN(has_sequences, tt_info, i, i->summary.sequences_observed)

#define OF_MODEL(key_, member_, about_)                                                            \
    TT_FIELD(key_, about_, TT_THROUGH(tt_info, m), TT_MEMBER(tt_model, member_))
#define OF_INFO(key_, member_, about_) TT_FIELD(key_, about_, TT_MEMBER(tt_info, member_))
#define OF_KIND(key_, member_, kind_, about_)                                                      \
    TT_FIELD(key_, about_, TT_MEMBER(tt_info, member_), .kinds = TT_INFO_##kind_)
static const tt_column count_columns[] = {
    OF_MODEL("batches", n_batches, "decode calls"),
    OF_MODEL("runs", n_runs, "graph computations"),
    OF_INFO("runs_open", summary.runs_open, "that never ended"),
    OF_KIND("runs_hooked", summary.runs_hooked, VIEWER, "observed by hooks"),
    OF_KIND("runs_called_back", summary.runs_called_back, VIEWER, "by the eval callback"),
    OF_KIND("runs_by_program", summary.runs_by_program, VIEWER, "reported by the program"),
    OF_KIND("runs_bounds", summary.runs_bounds, VIEWER, "of which only begin and end are known"),
    OF_MODEL("graphs", n_graphs, "different ones"),
    OF_MODEL("buffers", n_buffers, "freed ones included"),
    OF_MODEL("weights", n_weights, "tensors of the model files"),
    OF_INFO("op_records", summary.records, "of an op and a thread"),
    OF_KIND("threads", summary.lanes, COMMAND, "the most in a run"),
    OF_MODEL("losses", losses_total, "op records that were dropped"),
    OF_INFO("details", summary.details, "records of details"),
    OF_MODEL("detail_losses", detail_losses_total, "details that were dropped"),
    OF_KIND("data_parts", summary.data_parts, COMMAND, "outputs' data"),
    OF_KIND("data_bytes", summary.data_bytes, COMMAND, "of these, in the file"),
    TT_FIELD("indices", "row numbers that were kept", TT_THROUGH(tt_info, m),
             TT_MEMBER(tt_model, n_indices), .kinds = TT_INFO_COMMAND),
    OF_MODEL("usages", n_usages, "of buffers"),
    OF_MODEL("residencies", n_residencies, "samples of what was in RAM"),
    TT_FIELD("token_texts", "texts of tokens", TT_THROUGH(tt_info, m),
             TT_MEMBER(tt_model, n_token_texts), .kinds = TT_INFO_COMMAND),
    TT_FIELD("sequences", "different ones", TT_MEMBER(tt_info, summary.sequences),
             .known = has_sequences, .kinds = TT_INFO_COMMAND),
};
const tt_schema tt_info_count_schema = TT_SCHEMA("counts", "its contents", count_columns);

/* What the recorder found where it looked; null where it did not look. */
static bool was_looked_for(const tt_model *m, const char *count)
{
    uint64_t outputs = 0;
    if (strcmp(count, "outputs_not_finite") == 0)
        return tt_model_count(m, "outputs", &outputs) && outputs > 0;
    return strncmp(count, "page_faults", strlen("page_faults")) != 0 || m->n_fault_spans > 0;
}

TT_COLUMN_JSON(json_recorder_counts, tt_info, info, {
    const tt_model *m = info->m;
    tt_json_object(j);
    for (uint32_t i = 0; i < m->n_counts; i++) {
        tt_json_key(j, m->counts[i].name);
        tt_json_u64_or_null(j, was_looked_for(m, m->counts[i].name), m->counts[i].value);
    }
    tt_json_object_end(j);
})

/* A list per token; null when sequences were not observed. */
TT_COLUMN_JSON(json_sequences, tt_batch, b, {
    if (!b->sequence_first) {
        tt_json_null(j);
        return;
    }
    tt_json_array(j);
    for (uint32_t i = 0; i < b->n_tokens; i++) {
        tt_json_array(j);
        for (uint32_t k = b->sequence_first[i]; k < b->sequence_first[i + 1]; k++)
            tt_json_i64(j, b->sequences[k]);
        tt_json_array_end(j);
    }
    tt_json_array_end(j);
})

/* A text or null per token; null when token ids were not observed. */
TT_COLUMN_JSON(json_texts, tt_batch, b, {
    if (!b->tokens) {
        tt_json_null(j);
        return;
    }
    tt_json_array(j);
    for (uint32_t i = 0; i < b->n_tokens; i++) {
        size_t n = 0;
        const char *text = tt_model_token_text(context, b->vocabulary, b->tokens[i], &n);
        if (text)
            tt_json_string_n(j, text, n);
        else
            tt_json_null(j);
    }
    tt_json_array_end(j);
})

static void put_ids(tt_json *j, const int32_t *ids, uint32_t n)
{
    if (!ids) {
        tt_json_null(j);
        return;
    }
    tt_json_array(j);
    for (uint32_t i = 0; i < n; i++)
        tt_json_i64(j, ids[i]);
    tt_json_array_end(j);
}
TT_COLUMN_JSON(json_tokens, tt_batch, b, put_ids(j, b->tokens, b->n_tokens);)
TT_COLUMN_JSON(json_positions, tt_batch, b, put_ids(j, b->positions, b->n_tokens);)

static void set_ns(const tt_model *m, bool known, uint64_t ticks, tt_cell *cell)
{
    cell->known = known && m->clock.known;
    cell->u64 = tt_model_mono_ns(m, ticks);
}
TT_COLUMN_GET(get_start, tt_batch, b, set_ns(context, true, b->begin_ticks, cell);)
TT_COLUMN_GET(get_end, tt_batch, b, set_ns(context, b->ended, b->end_ticks, cell);)
TT_COLUMN_GET(get_phase, tt_batch, b, tt_cell_text(cell, tt_phase_name(b->phase));)
TT_COLUMN_KNOWN(has_phase, tt_batch, b, b->phase != TT_PHASE_UNKNOWN)

static const tt_column batch_columns[] = {
    TT_FIELD("batch_id", "the batch", TT_MEMBER(tt_batch, number)),
    TT_FIELD("phase", "of its tokens", .type = TT_CELL_NAME, .get = get_phase),
    TT_FIELD("context_id", "of the engine", TT_MEMBER(tt_batch, context)),
    TT_FIELD("start_ns", "begin, on CLOCK_MONOTONIC", .type = TT_CELL_U64, .get = get_start),
    TT_FIELD("end_ns", "end, on CLOCK_MONOTONIC", .type = TT_CELL_U64, .get = get_end),
    TT_FIELD("n_tokens", "in it", TT_MEMBER(tt_batch, n_tokens)),
    TT_FIELD("n_generate", "generated ones", TT_MEMBER(tt_batch, n_generate), .known = has_phase),
    TT_FIELD("runs", "graph computations", TT_MEMBER(tt_batch, n_runs)),
    TT_FIELD("tokens", "their ids", .type = TT_CELL_ROWS, .json = json_tokens),
    TT_FIELD("positions", "of the tokens", .type = TT_CELL_ROWS, .json = json_positions),
    TT_FIELD("sequences", "of each token", .type = TT_CELL_ROWS, .json = json_sequences),
    TT_FIELD("texts", "of the tokens", .type = TT_CELL_ROWS, .json = json_texts),
};
static const tt_schema batch_schema = TT_SCHEMA("batches", "decode calls", batch_columns);

static const tt_column front_columns[] = {
    TT_FIELD("ring_bytes", "room for records", TT_MEMBER(tt_meta_front, ring_bytes)),
    TT_FIELD("op_records_gone", "discarded", TT_MEMBER(tt_meta_front, ops)),
    TT_FIELD("gone_bytes", "of what was discarded", TT_MEMBER(tt_meta_front, bytes)),
};
static const tt_schema front_schema = TT_SCHEMA("flight_recorder", "its ring", front_columns);

static const tt_column cut_columns[] = {
    TT_FIELD("offset_bytes", "where the usable part ends", TT_MEMBER(tt_trace, end_bytes)),
    TT_FIELD("reason", "what is wrong there", TT_MEMBER_CHARS(tt_trace, cut.message)),
};
static const tt_schema cut_schema = TT_SCHEMA("cut_off", "its end", cut_columns);

TT_COLUMN_GET(get_run_id, tt_info, i, {
    tt_info_run_id(i, cell->room);
    tt_cell_text(cell, cell->room);
})
TT_COLUMN_VALUE(get_recovered, tt_info, i, boolean, (i->m->trace.end_flags & TT_END_RECOVERED) != 0)
TT_COLUMN_VALUE(get_snapshot, tt_info, i, boolean, (i->m->trace.end_flags & TT_END_SNAPSHOT) != 0)
TT_COLUMN_VALUE(get_damaged, tt_info, i, u64,
                tt_pieces_damaged(i->m->pieces, NULL) + (i->m->meta_damage.status != TT_OK))
TT_COLUMN_KNOWN(has_clock, tt_info, i, i->m->clock.known)
TT_COLUMN_GET(get_record_bytes, tt_info, i, {
    cell->known = i->summary.records > 0;
    if (cell->known) cell->f64 = (double)i->summary.file_bytes / (double)i->summary.records;
})
TT_COLUMN_ROWS(front, tt_info, i, &i->m->front.was, i->m->front.present)
TT_COLUMN_ROWS(cut_off, tt_info, i, &i->m->trace, !i->m->trace.complete)
TT_COLUMN_ROWSET(counts, tt_info, i, TT_ROWSET(&tt_info_count_schema, TT_INFO_COMMAND, i->m, i, 1))
TT_COLUMN_ROWSET(files, tt_info, i,
                 TT_ROWSET(&tt_info_file_schema, TT_INFO_COMMAND, i->m, i->m->files, i->m->n_files))
TT_COLUMN_ROWS(batches, tt_info, i, i->m->batches, i->m->n_batches)

TT_COLUMN_ROWS(speculation, tt_info, i, &i->summary.speculation,
               i->summary.speculation.known && i->summary.speculation.any)
TT_COLUMN_ROWS(first_tokens, tt_info, i, &i->summary.first_tokens, i->summary.first_tokens.n > 0)

#define OF_PHASE(phase_, about_)                                                                   \
    TT_FIELD(#phase_, about_, TT_MEMBER_OBJECT(tt_info, summary.phase_, &tt_phase_summary_schema))
TT_COLUMN_JSON(json_system, tt_info, info, tt_system_json(j, info->m);)

/* Without a walk through the ops: what became of the bytes is null. */
TT_COLUMN_JSON(json_loading, tt_info, info, {
    tt_loading l;
    if (tt_loading_find(&l, info->m, false, NULL) == TT_OK) {
        const tt_rowset set = tt_loading_rowset(&l);
        tt_json_array(j);
        for (size_t i = 0; i < l.n; i++)
            tt_row_json(j, NULL, &tt_loading_schema, l.m, tt_rowset_row(&set, i));
        tt_json_array_end(j);
    } else {
        tt_json_null(j);
    }
    tt_loading_free(&l);
})

TT_COLUMN_JSON(json_pool, tt_info, info, {
    tt_pool_report pool;
    if (info->m->n_pool_states && tt_pool_find(&pool, info->m, NULL) == TT_OK) {
        tt_row_json(j, NULL, &tt_pool_schema, &pool, &pool.total);
        tt_pool_free(&pool);
    } else {
        tt_json_null(j);
    }
})

static const tt_column info_columns[] = {
    OF_INFO("file", path, "the trace"),
    OF_INFO("size_bytes", summary.file_bytes, "of the trace"),
    TT_FIELD("run_id", "of the recording", .type = TT_CELL_NAME, .get = get_run_id),
    OF_MODEL("created_unix_ns", trace.header.created_unix_ns, "when recording began"),
    OF_MODEL("pid", trace.header.pid, "of the process"),
    OF_MODEL("complete", trace.complete, "the file has its end"),
    TT_FIELD("recovered", "it was cut off", .type = TT_CELL_BOOL, .get = get_recovered),
    TT_FIELD("snapshot", "the program went on", .type = TT_CELL_BOOL, .get = get_snapshot),
    TT_FIELD("flight_recorder", "null: all was kept", .type = TT_CELL_OBJECT,
             .inner = &front_schema, .rows = front),
    TT_FIELD("cut_off", "null: it is complete", .type = TT_CELL_OBJECT, .inner = &cut_schema,
             .rows = cut_off),
    TT_FIELD("damaged_chunks", "that cannot be read", .type = TT_CELL_U64, .get = get_damaged),
    TT_FIELD("environment", "of the process", .type = TT_CELL_OBJECT, .json = json_environment),
    TT_FIELD("system", "memory and limits", .type = TT_CELL_OBJECT, .json = json_system),
    TT_FIELD("model_files", "by index", .type = TT_CELL_ROWS, .rows = files),
    TT_FIELD("loading", "how they came into RAM", .type = TT_CELL_ROWS, .json = json_loading),
    TT_FIELD("pool", "what `boost` kept and read; null: it did not", .type = TT_CELL_OBJECT,
             .json = json_pool),
    TT_FIELD("counts", "its contents", .type = TT_CELL_OBJECT, .rows = counts),
    TT_FIELD("recorder_counts", "by the recorder", .type = TT_CELL_OBJECT,
             .json = json_recorder_counts),
    TT_FIELD("captured", "besides the ops", .type = TT_CELL_OBJECT, .json = json_captured),
    TT_FIELD("buffers", "by kind", .type = TT_CELL_ROWS, .json = json_buffers),
    TT_FIELD("elapsed_ns", "of all", TT_MEMBER(tt_info, summary.elapsed_ns), .known = has_clock),
    TT_FIELD("ns_per_tick", "of the clock", TT_THROUGH(tt_info, m),
             TT_MEMBER(tt_model, clock.ns_per_tick), .known = has_clock),
    TT_FIELD("bytes_per_record", "of the file", .type = TT_CELL_F64, .get = get_record_bytes),
    OF_PHASE(prompt, "batches of prompts"),
    OF_PHASE(generate, "batches of generated tokens"),
    OF_PHASE(mixed, "batches with both"),
    OF_PHASE(warmup, "batches of the engine's warm-up"),
    OF_PHASE(training, "batches of training a model, and of evaluating that"),
    OF_PHASE(unknown, "other batches"),
    TT_FIELD("speculation", "if some generated tokens were guesses", .type = TT_CELL_OBJECT,
             .inner = &tt_speculation_schema, .rows = speculation),
    TT_FIELD("first_token", "of prompts behind which tokens were generated", .type = TT_CELL_OBJECT,
             .inner = &tt_first_tokens_schema, .rows = first_tokens),
    TT_FIELD("batches", "decode calls", .type = TT_CELL_ROWS, .inner = &batch_schema,
             .rows = batches),
};
static const tt_schema info_schema = TT_SCHEMA("info", "what a trace holds", info_columns);

/* The main columns of `stats`. */
static void rows(tt_json *j, const char *name, const tt_stats_dimension *by, const tt_stats *s,
                 size_t limit)
{
    size_t n;
    char columns[160];
    const tt_stats_row *list = tt_stats_rows(s, &n);
    const tt_stats_context context = {tt_stats_total(s)};
    const tt_rowset set = tt_stats_rowset(&context, by->by, list, n);
    const tt_listing_wish wish = {.columns = columns, .sort = by->sort, .limit = limit};
    tt_listing l;
    (void)snprintf(columns, sizeof columns,
                   "%s,count,without_end,times_bent,total_ns,share,work_ns,off_cpu_ns,wait_ns%s",
                   by->key, by->by == TT_BY_THREAD ? "" : ",weight_bytes");
    tt_json_key(j, name);
    if (tt_listing_make(&l, &set, &wish, NULL) == TT_OK)
        tt_listing_json(j, &l);
    else
        tt_json_null(j);
    tt_listing_free(&l);
}

void tt_info_json(tt_json *j, const tt_info *info)
{
    const tt_rowset all = TT_ROWSET(&info_schema, 0, info->m, info, 1);
    tt_json_object(j);
    tt_rowset_json(j, &all, info);
    if (info->findings) {
        rows(j, "by_category", &tt_stats_dimensions[TT_BY_CATEGORY], info->by_category, 0);
        rows(j, "by_op", &tt_stats_dimensions[TT_BY_OP], info->by_op, 0);
        rows(j, "by_phase", &tt_stats_dimensions[TT_BY_PHASE], info->by_phase, 0);
        rows(j, "busiest_tensors", &tt_stats_dimensions[TT_BY_TENSOR], info->by_tensor, 10);
        rows(j, "by_thread", &tt_stats_dimensions[TT_BY_THREAD], info->by_thread, 0);
    }
    if (info->content.n) {
        const tt_content *c = &info->content;
        const tt_rowset set = TT_ROWSET(&tt_content_schema, 0, c, c->rows, c->n);
        tt_rowset_json_rows(j, "content", &set, NULL);
    }
    tt_json_object_end(j);
}

tt_status tt_info_collect(tt_info *info, const tt_model *m, const char *path, bool findings,
                          tt_stats_progress *progress, void *context, tt_error *err)
{
    memset(info, 0, sizeof *info);
    info->m = m;
    info->path = path;
    tt_summarize(m, &info->summary);
    tt_status status = tt_buffers_peaks(m, info->peaks, err);
    if (status != TT_OK || !findings) return status;
    status = tt_content_measure(m, &info->content, err);
    if (status != TT_OK || !m->clock.known) return status;
    info->by_category = tt_stats_new(m, TT_BY_CATEGORY, NULL);
    info->by_op = tt_stats_new(m, TT_BY_OP, NULL);
    info->by_tensor = tt_stats_new(m, TT_BY_TENSOR, NULL);
    info->by_phase = tt_stats_new(m, TT_BY_PHASE, NULL);
    info->by_thread = tt_stats_new(m, TT_BY_THREAD, NULL);
    tt_stats *const all[] = {info->by_category, info->by_op, info->by_tensor, info->by_phase,
                             info->by_thread};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!all[i]) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
    info->findings = true;
    return tt_stats_walk(all, sizeof all / sizeof *all, m, progress, context, err);
}

void tt_info_free(tt_info *info)
{
    tt_stats_free(info->by_category);
    tt_stats_free(info->by_op);
    tt_stats_free(info->by_tensor);
    tt_stats_free(info->by_phase);
    tt_stats_free(info->by_thread);
    memset(info, 0, sizeof *info);
}

void tt_info_run_id(const tt_info *info, char out[33])
{
    tt_hex(out, info->m->trace.header.run_id, 16);
}

const tt_stats_row *tt_info_row(tt_stats *s, const char *key)
{
    size_t n;
    const tt_stats_row *rows = tt_stats_rows(s, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].key, key) == 0) return &rows[i];
    return NULL;
}
