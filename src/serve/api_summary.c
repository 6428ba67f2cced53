/* /api/v1/traces/ID/summary: what ran, and its batches in columns. */
#include "analyze/copies.h"
#include "analyze/summary.h"
#include "analyze/values/outputs.h"
#include "base/bytes.h"
#include "base/hex.h"
#include "base/path.h"
#include "serve/endpoints.h"
#include "serve/generation.h"
#include "serve/traces.h"
#include "table/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Of one batch's text: only the begin of one that is longer is shown. */
#define TEXT_BYTES_MAX ((size_t)4 << 20)

/* A number that the model file says of its architecture; -1: none, or no possible one. */
static int64_t metadata(const tt_model *m, const char *key)
{
    char name[160];
    const tt_file_kv *arch = tt_model_file_kv(m, "general.architecture");
    if (!arch || (size_t)snprintf(name, sizeof name, "%s.%s", arch->value, key) >= sizeof name)
        return -1;
    const tt_file_kv *kv = tt_model_file_kv(m, name);
    char *end = NULL;
    long n = kv ? strtol(kv->value, &end, 10) : -1;
    return kv && end != kv->value && *end == '\0' && n >= 0 && n <= INT32_MAX ? n : -1;
}

/* As the model file says; else one more than the highest that a tensor's name has. */
static int64_t layers(const tt_model *m)
{
    int64_t n = metadata(m, "block_count");
    for (uint32_t i = 0; n < 0 && i < m->n_weights; i++)
        if (m->weights[i].place.layer_id >= 0) n = 0;
    if (n != 0) return n;
    for (uint32_t i = 0; i < m->n_weights; i++)
        if (m->weights[i].place.layer_id >= n) n = m->weights[i].place.layer_id + 1;
    return n;
}

/* Then its missing end is no damage. */
static bool is_growing(const tt_request *q)
{
    return tt_traces_live(q->traces) && !q->m->trace.complete;
}

static void put_head(tt_json *j, tt_request *q, const tt_summary *s)
{
    const tt_model *m = q->m;
    char id[33];
    tt_hex(id, m->trace.header.run_id, 16);
    const tt_file_kv *name = tt_model_file_kv(m, "general.name");
    const tt_file_kv *arch = tt_model_file_kv(m, "general.architecture");
    const int64_t n_layers = layers(m), n_experts = metadata(m, "expert_count");
    tt_json_kv_u64(j, "generation", tt_generation_number(q->source));
    tt_json_kv_bool(j, "growing", is_growing(q));
    tt_json_kv_string(j, "name", tt_traces_name(q->traces, q->trace_id));
    tt_json_kv_string(j, "path", tt_traces_path(q->traces, q->trace_id));
    tt_json_kv_u64(j, "size_bytes", s->file_bytes);
    tt_json_kv_string(j, "run_id", id);
    tt_json_kv_u64(j, "created_unix_ns", m->trace.header.created_unix_ns);
    tt_json_kv_u64(j, "pid", m->trace.header.pid);
    tt_json_kv_bool(j, "complete", m->trace.complete);
    tt_json_kv_bool(j, "flight_recorder", m->front.present);
    tt_json_kv_bool(j, "values_recorded", tt_outputs_any(m));
    tt_json_kv_bool(j, "pool_recorded", m->n_pool_states > 0);
    tt_json_kv_string(j, "model", m->n_files ? tt_base_name(m->files[0].path) : NULL);
    tt_json_kv_string(j, "model_name", name ? name->value : NULL);
    tt_json_kv_string(j, "architecture", arch ? arch->value : NULL);
    tt_json_kv_u64_or_null(j, "n_layers", n_layers >= 0, (uint64_t)n_layers);
    tt_json_kv_u64_or_null(j, "n_experts", n_experts >= 0, (uint64_t)n_experts);
    tt_json_kv_u64(j, "n_lanes", s->lanes);
    tt_json_kv_u64(j, "n_ops", s->records);
    tt_json_kv_bool(j, "clock", m->clock.known);
    tt_json_kv_double_or_null(j, "ns_per_tick", m->clock.known, m->clock.ns_per_tick);
    tt_json_kv_u64(j, "begin_ns", 0);
    tt_json_kv_double_or_null(j, "end_ns", m->clock.known, s->elapsed_ns);
    tt_json_kv_double_or_null(j, "prompt_tokens_per_s", s->prompt.tokens_per_s > 0,
                              s->prompt.tokens_per_s);
    tt_json_kv_double_or_null(j, "generate_tokens_per_s", s->generate.tokens_per_s > 0,
                              s->generate.tokens_per_s);
}

static void put_counts(tt_json *j, const tt_model *m, const tt_summary *s)
{
    tt_json_key(j, "counts");
    tt_json_object(j);
    tt_json_kv_u64(j, "batches", m->n_batches);
    tt_json_kv_u64(j, "runs", m->n_runs);
    tt_json_kv_u64(j, "runs_open", s->runs_open);
    tt_json_kv_u64(j, "runs_hooked", s->runs_hooked);
    tt_json_kv_u64(j, "runs_called_back", s->runs_called_back);
    tt_json_kv_u64(j, "runs_by_program", s->runs_by_program);
    tt_json_kv_u64(j, "runs_bounds", s->runs_bounds);
    tt_json_kv_u64(j, "graphs", m->n_graphs);
    tt_json_kv_u64(j, "buffers", m->n_buffers);
    tt_json_kv_u64(j, "weights", m->n_weights);
    tt_json_kv_u64(j, "op_records", s->records);
    tt_json_kv_u64(j, "losses", m->losses_total);
    tt_json_kv_u64(j, "details", s->details);
    tt_json_kv_u64(j, "detail_losses", m->detail_losses_total);
    tt_json_kv_u64(j, "usages", m->n_usages);
    tt_json_kv_u64(j, "residencies", m->n_residencies);
    tt_json_object_end(j);
}

TT_COLUMN_GET(get_file_name, tt_model_file, f, tt_cell_text(cell, tt_base_name(f->path));)

static const tt_column file_columns[] = {
    TT_COLUMN("name", NULL, NONE, "without its folders", .type = TT_CELL_NAME,
              .get = get_file_name),
    TT_COLUMN("path", NULL, NONE, "where it was", TT_MEMBER(tt_model_file, path)),
    TT_COLUMN("size_bytes", NULL, BYTES, "its size", TT_MEMBER(tt_model_file, size_bytes)),
    TT_COLUMN("data_offset_bytes", NULL, BYTES, "where its tensors begin",
              TT_MEMBER(tt_model_file, data_offset_bytes)),
    TT_COLUMN("tensors", NULL, COUNT, "its tensors", TT_MEMBER(tt_model_file, n_weights)),
};
static const tt_schema file_schema = {"files", "a model file", file_columns, COUNT(file_columns)};

TT_COLUMN_GET(get_buffer_kind, tt_buffer, b, tt_cell_text(cell, tt_buffer_kind_name(b->kind));)

/* By a buffer's index, as selections and regions have it: the id by which commands name it. */
static const tt_column buffer_columns[] = {
    TT_COLUMN("buffer_id", NULL, ID, "its id", TT_MEMBER(tt_buffer, id)),
    TT_COLUMN("name", NULL, NONE, "its name", TT_MEMBER(tt_buffer, name)),
    TT_COLUMN("buffer_kind", NULL, NONE, "what it is for", .type = TT_CELL_NAME,
              .get = get_buffer_kind),
};
static const tt_schema buffer_schema = {"buffers", "a buffer", buffer_columns,
                                        COUNT(buffer_columns)};

/* What is not right with the trace, in words. */
static void put_problems(tt_json *j, const tt_model *m, bool growing)
{
    tt_error damage;
    char text[400];
    tt_json_key(j, "problems");
    tt_json_array(j);
    if (!m->trace.complete && !growing) {
        (void)snprintf(text, sizeof text, "the trace is cut off: %s", m->trace.cut.message);
        tt_json_string(j, text);
    }
    if (m->meta_damage.status != TT_OK) {
        (void)snprintf(text, sizeof text, "descriptions are damaged: %s", m->meta_damage.message);
        tt_json_string(j, text);
    }
    if (tt_pieces_damaged(m->pieces, &damage)) {
        (void)snprintf(text, sizeof text, "op records are damaged: %s", damage.message);
        tt_json_string(j, text);
    }
    if (m->losses_total)
        tt_json_string(j, "op records were lost while it was recorded: the rings were full");
    if (!m->clock.known) tt_json_string(j, "the trace has no clock: there are no times");
    for (uint32_t i = 0; i < m->n_problems && i < TT_MODEL_PROBLEMS_MAX; i++)
        tt_json_string(j, m->problems[i].text);
    tt_json_array_end(j);
}

/* What is right, and yet not what one may expect. */
static void put_notes(tt_json *j, const tt_model *m)
{
    char text[TT_COPIES_TEXT];
    tt_copies copies;
    tt_json_key(j, "notes");
    tt_json_array(j);
    if (tt_copies_find(m, &copies) && *tt_copies_text(&copies, text)) tt_json_string(j, text);
    tt_json_array_end(j);
}

typedef struct batch_context {
    const tt_model *m;
    tt_bytes *scratch;
} batch_context;

static const tt_model *model_of(const void *context)
{
    return ((const batch_context *)context)->m;
}

/* The texts of a batch's tokens in one, since a character may be of several. Null: none was
 * observed. */
static void get_text(const void *context, const void *row, tt_cell *cell)
{
    const tt_batch *b = row;
    tt_bytes *scratch = ((const batch_context *)context)->scratch;
    bool any = false;
    tt_bytes_clear(scratch);
    for (uint32_t i = 0; b->tokens && i < b->n_tokens; i++) {
        size_t n = 0;
        const char *text = tt_model_token_text(model_of(context), b->vocabulary, b->tokens[i], &n);
        if (!text) continue;
        if (n > TEXT_BYTES_MAX - scratch->size) break;
        any = true;
        tt_bytes_put(scratch, text, n);
    }
    cell->known = any && !scratch->failed;
    cell->text.at = scratch->size ? (const char *)scratch->data : "";
    cell->text.n = scratch->size;
}

static void set_moment(const void *context, tt_cell *cell, bool known, uint64_t ticks)
{
    const tt_model *m = model_of(context);
    tt_cell_ns(cell, known && m->clock.known, tt_model_ns(m, ticks));
}

TT_COLUMN_VALUE(get_batch, tt_batch, b, u64,
                tt_model_batch_number(model_of(context),
                                      (uint32_t)(b - model_of(context)->batches)))
TT_COLUMN_GET(get_begin, tt_batch, b, set_moment(context, cell, true, b->begin_ticks);)
TT_COLUMN_GET(get_end, tt_batch, b, set_moment(context, cell, b->ended, b->end_ticks);)
TT_COLUMN_GET(get_phase, tt_batch, b, tt_cell_text(cell, tt_phase_name(b->phase));)

static const tt_column batch_columns[] = {
    TT_COLUMN("batch_id", NULL, ID, "its number", .type = TT_CELL_U32, .get = get_batch),
    TT_COLUMN("begin_ns", NULL, MOMENT, "its begin", .type = TT_CELL_I64, .get = get_begin),
    TT_COLUMN("end_ns", NULL, MOMENT, "its end", .type = TT_CELL_I64, .get = get_end),
    TT_COLUMN("phase", NULL, NONE, "its phase", .type = TT_CELL_NAME, .get = get_phase),
    TT_COLUMN("n_tokens", NULL, COUNT, "its tokens", TT_MEMBER(tt_batch, n_tokens)),
    TT_COLUMN("context_id", NULL, ID, "the context", TT_MEMBER(tt_batch, context)),
    TT_COLUMN("runs", NULL, COUNT, "its runs", TT_MEMBER(tt_batch, n_runs)),
    TT_COLUMN("text", NULL, NONE, "of its tokens", .type = TT_CELL_NAME, .get = get_text),
};
static const tt_schema batch_schema = {"batches", "a batch", batch_columns, COUNT(batch_columns)};

static void put_batches(tt_json *j, const tt_model *m)
{
    tt_bytes scratch;
    tt_bytes_init(&scratch, TEXT_BYTES_MAX);
    const batch_context x = {m, &scratch};
    tt_rowset_json_columns(j, "batches",
                           &TT_ROWSET(&batch_schema, 0, &x, m->batches, m->n_batches));
    tt_bytes_free(&scratch);
}

tt_status tt_answer_summary(tt_request *q, tt_reply *r, tt_error *err)
{
    tt_summary s;
    tt_json *j = tt_reply_json(r);
    if (!j) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
    tt_summarize(q->m, &s);
    tt_json_object(j);
    put_head(j, q, &s);
    put_counts(j, q->m, &s);
    tt_rowset_json_rows(j, "files", &TT_ROWSET(&file_schema, 0, NULL, q->m->files, q->m->n_files),
                        NULL);
    tt_rowset_json_columns(j, "buffers",
                           &TT_ROWSET(&buffer_schema, 0, NULL, q->m->buffers, q->m->n_buffers));
    put_problems(j, q->m, is_growing(q));
    put_notes(j, q->m);
    put_batches(j, q->m);
    tt_json_object_end(j);
    return TT_OK;
}
