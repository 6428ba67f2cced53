#include "answer/info.h"

#include "analyze/storage.h"
#include "base/hex.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What the trace's bytes are. */

static double per_op(const tt_content *c, uint64_t bytes)
{
    return c->records ? (double)bytes / (double)c->records : 0;
}

void tt_info_content_json(tt_json *j, const tt_info *info)
{
    const tt_content *c = &info->content;
    tt_json_key(j, "content");
    tt_json_array(j);
    for (size_t i = 0; i < c->n; i++) {
        const tt_content_row *r = &c->rows[i];
        tt_json_object(j);
        tt_json_kv_string(j, "part", r->part);
        tt_json_kv_string(j, "column", r->column);
        tt_json_kv_u64(j, "count", r->count);
        tt_json_kv_u64(j, "raw_bytes", r->raw_bytes);
        tt_json_kv_u64(j, "stored_bytes", r->stored_bytes);
        tt_json_key(j, "bytes_per_op");
        if (c->records)
            tt_json_double(j, per_op(c, r->stored_bytes));
        else
            tt_json_null(j);
        tt_json_kv_bool(j, "apportioned", r->apportioned);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

/* What was captured besides the ops, and the buffers by kind. */

tt_info_capture tt_info_find_capture(const tt_model *m, unsigned i)
{
    static const char *const names[TT_INFO_CAPTURES] = {
        "experts", "text", "faults", "residency", "io", "devices", "values", "page_faults"};
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

void tt_info_capture_json(tt_json *j, const tt_info *info)
{
    tt_json_key(j, "captured");
    tt_json_object(j);
    for (unsigned i = 0; i < TT_INFO_CAPTURES; i++) {
        tt_info_capture c = tt_info_find_capture(info->m, i);
        tt_json_key(j, c.name);
        if (!c.state) {
            tt_json_null(j);
            continue;
        }
        tt_json_object(j);
        tt_json_kv_string(j, "state", c.state);
        if (c.reason) tt_json_kv_string(j, "reason", c.reason);
        if (c.asked) tt_json_kv_string(j, "asked", c.asked);
        tt_json_object_end(j);
    }
    tt_json_object_end(j);
    tt_json_key(j, "buffers");
    tt_json_array(j);
    for (unsigned i = 0; i <= TT_BUFFER_OUTPUT; i++) {
        if (info->summary.buffers[i].count == 0) continue;
        tt_json_object(j);
        tt_json_kv_string(j, "kind", tt_buffer_kind_name((tt_buffer_kind)i));
        tt_json_kv_u64(j, "count", info->summary.buffers[i].count);
        tt_json_kv_u64(j, "size_bytes", info->summary.buffers[i].size_bytes);
        tt_json_kv_u64(j, "peak_count", info->peaks[i].count);
        tt_json_kv_u64(j, "peak_bytes", info->peaks[i].bytes);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void environment(tt_json *j, const tt_model *m)
{
    tt_json_key(j, "environment");
    tt_json_object(j);
    for (uint32_t i = 0; i < m->n_environment; i++) {
        const char *key = m->environment[i].key;
        /* Later values win; each key is written once. */
        if (tt_model_environment(m, key) == m->environment[i].value)
            tt_json_kv_string(j, key, m->environment[i].value);
    }
    tt_json_object_end(j);
}

static void files(tt_json *j, const tt_model *m)
{
    tt_json_key(j, "models");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_files; i++) {
        const tt_model_file *f = &m->files[i];
        tt_json_object(j);
        tt_json_kv_string(j, "path", f->path);
        tt_json_kv_u64(j, "size_bytes", f->size_bytes);
        tt_json_kv_u64(j, "data_offset_bytes", f->data_offset_bytes);
        tt_json_kv_u64(j, "tensors", f->n_weights);
        const char *state = tt_info_end_state(f);
        tt_json_key(j, "end_state");
        if (state)
            tt_json_string(j, state);
        else
            tt_json_null(j);
        tt_storage_json(j, m, f);
        tt_json_key(j, "metadata");
        tt_json_object(j);
        for (uint32_t k = 0; k < f->n_kvs; k++)
            tt_json_kv_string(j, f->kvs[k].key, f->kvs[k].value);
        tt_json_object_end(j);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

/* A time that the trace may not be able to tell: null then, not zero. */

static void phase(tt_json *j, const char *name, const tt_phase_summary *p, bool has_times)
{
    tt_json_key(j, name);
    tt_json_object(j);
    tt_json_kv_u64(j, "batches", p->batches);
    tt_json_kv_u64(j, "tokens", p->tokens);
    tt_json_kv_u64(j, "mixed_tokens", p->mixed_tokens);
    tt_json_kv_double_or_null(j, "total_ns", has_times, p->total_ns);
    tt_json_kv_double_or_null(j, "tokens_per_s", p->tokens_per_s > 0, p->tokens_per_s);
    tt_json_object_end(j);
}

static void counts(tt_json *j, const tt_info *info)
{
    const tt_model *m = info->m;
    tt_json_key(j, "counts");
    tt_json_object(j);
    tt_json_kv_u64(j, "batches", m->n_batches);
    tt_json_kv_u64(j, "runs", m->n_runs);
    tt_json_kv_u64(j, "runs_open", info->summary.runs_open);
    tt_json_kv_u64(j, "graphs", m->n_graphs);
    tt_json_kv_u64(j, "buffers", m->n_buffers);
    tt_json_kv_u64(j, "weights", m->n_weights);
    tt_json_kv_u64(j, "op_records", info->summary.records);
    tt_json_kv_u64(j, "threads", info->summary.lanes);
    tt_json_kv_u64(j, "losses", m->losses_total);
    tt_json_kv_u64(j, "details", info->summary.details);
    tt_json_kv_u64(j, "detail_losses", m->detail_losses_total);
    tt_json_kv_u64(j, "data_parts", info->summary.data_parts);
    tt_json_kv_u64(j, "data_bytes", info->summary.data_bytes);
    tt_json_kv_u64(j, "indices", m->n_indices);
    tt_json_kv_u64(j, "usages", m->n_usages);
    tt_json_kv_u64(j, "residencies", m->n_residencies);
    tt_json_kv_u64(j, "token_texts", m->n_token_texts);
    tt_json_key(j, "sequences");
    if (info->summary.sequences_observed)
        tt_json_u64(j, info->summary.sequences);
    else
        tt_json_null(j);
    tt_json_object_end(j);
    tt_json_key(j, "recorder_counts");
    tt_json_object(j);
    for (uint32_t i = 0; i < m->n_counts; i++)
        tt_json_kv_u64(j, m->counts[i].name, m->counts[i].value);
    tt_json_object_end(j);
}

/* A list for each token; null when sequences were not observed. */
static void batch_sequences(tt_json *j, const tt_batch *b)
{
    tt_json_key(j, "sequences");
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
}

/* A text or null for each token; null when token ids were not observed. */
static void batch_texts(tt_json *j, const tt_model *m, const tt_batch *b)
{
    tt_json_key(j, "texts");
    if (!b->tokens) {
        tt_json_null(j);
        return;
    }
    tt_json_array(j);
    for (uint32_t i = 0; i < b->n_tokens; i++) {
        size_t n = 0;
        const char *text = tt_model_token_text(m, b->vocabulary, b->tokens[i], &n);
        if (text)
            tt_json_string_n(j, text, n);
        else
            tt_json_null(j);
    }
    tt_json_array_end(j);
}

static void batches(tt_json *j, const tt_model *m)
{
    tt_json_key(j, "batches");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &m->batches[i];
        tt_json_object(j);
        tt_json_kv_u64(j, "batch_id", tt_model_batch_number(m, i));
        tt_json_kv_string(j, "phase", tt_phase_name(b->phase));
        tt_json_kv_u64(j, "context_id", b->context);
        tt_json_kv_u64_or_null(j, "start_ns", m->clock.known, tt_model_mono_ns(m, b->begin_ticks));
        tt_json_kv_u64_or_null(j, "end_ns", b->ended && m->clock.known,
                               tt_model_mono_ns(m, b->end_ticks));
        tt_json_kv_u64(j, "n_tokens", b->n_tokens);
        tt_json_kv_u64_or_null(j, "n_generate", b->phase != TT_PHASE_UNKNOWN, b->n_generate);
        tt_json_kv_u64(j, "runs", b->n_runs);
        tt_json_key(j, "tokens");
        if (b->tokens) tt_json_array(j);
        for (uint32_t k = 0; b->tokens && k < b->n_tokens; k++)
            tt_json_i64(j, b->tokens[k]);
        b->tokens ? tt_json_array_end(j) : tt_json_null(j);
        tt_json_key(j, "positions");
        if (b->positions) tt_json_array(j);
        for (uint32_t k = 0; b->positions && k < b->n_tokens; k++)
            tt_json_i64(j, b->positions[k]);
        b->positions ? tt_json_array_end(j) : tt_json_null(j);
        batch_sequences(j, b);
        batch_texts(j, m, b);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

/* The columns of `stats` that say most. */
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

static void head(tt_json *j, const tt_info *info)
{
    const tt_model *m = info->m;
    char id[33];
    tt_info_run_id(info, id);
    tt_json_kv_string(j, "file", info->path);
    tt_json_kv_u64(j, "size_bytes", info->summary.file_bytes);
    tt_json_kv_string(j, "run_id", id);
    tt_json_kv_u64(j, "created_unix_ns", m->trace.header.created_unix_ns);
    tt_json_kv_u64(j, "pid", m->trace.header.pid);
    tt_json_kv_bool(j, "complete", m->trace.complete);
    tt_json_kv_bool(j, "recovered", (m->trace.end_flags & TT_END_RECOVERED) != 0);
    tt_json_kv_bool(j, "snapshot", (m->trace.end_flags & TT_END_SNAPSHOT) != 0);
    tt_json_key(j, "flight_recorder");
    if (m->front.present) {
        tt_json_object(j);
        tt_json_kv_u64(j, "ring_bytes", m->front.was.ring_bytes);
        tt_json_kv_u64(j, "op_records_gone", m->front.was.ops);
        tt_json_kv_u64(j, "gone_bytes", m->front.was.bytes);
        tt_json_object_end(j);
    } else {
        tt_json_null(j);
    }
    tt_json_key(j, "cut_off");
    if (m->trace.complete) {
        tt_json_null(j);
    } else {
        tt_json_object(j);
        tt_json_kv_u64(j, "offset_bytes", m->trace.end_bytes);
        tt_json_kv_string(j, "reason", m->trace.cut.message);
        tt_json_object_end(j);
    }
    tt_json_kv_u64(j, "damaged_chunks",
                   tt_pieces_damaged(m->pieces, NULL) + (m->meta_damage.status != TT_OK ? 1 : 0));
}

void tt_info_json(tt_json *j, const tt_info *info)
{
    const tt_summary *s = &info->summary;
    tt_json_object(j);
    head(j, info);
    environment(j, info->m);
    tt_system_json(j, info->m);
    files(j, info->m);
    counts(j, info);
    tt_info_capture_json(j, info);
    bool has_times = info->m->clock.known;
    tt_json_kv_double_or_null(j, "elapsed_ns", has_times, s->elapsed_ns);
    tt_json_kv_double_or_null(j, "ns_per_tick", has_times, info->m->clock.ns_per_tick);
    tt_json_kv_double_or_null(j, "bytes_per_record", s->records > 0,
                              s->records ? (double)s->file_bytes / (double)s->records : 0);
    phase(j, "prompt", &s->prompt, has_times);
    phase(j, "generate", &s->generate, has_times);
    phase(j, "mixed", &s->mixed, has_times);
    phase(j, "warmup", &s->warmup, has_times);
    phase(j, "unknown", &s->unknown, has_times);
    batches(j, info->m);
    if (info->findings) {
        rows(j, "by_category", &tt_stats_dimensions[TT_BY_CATEGORY], info->by_category, 0);
        rows(j, "by_op", &tt_stats_dimensions[TT_BY_OP], info->by_op, 0);
        rows(j, "by_phase", &tt_stats_dimensions[TT_BY_PHASE], info->by_phase, 0);
        rows(j, "busiest_tensors", &tt_stats_dimensions[TT_BY_TENSOR], info->by_tensor, 10);
        rows(j, "by_thread", &tt_stats_dimensions[TT_BY_THREAD], info->by_thread, 0);
    }
    if (info->content.n) tt_info_content_json(j, info);
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
