/* /api/v1/traces/ID/summary: the run, and its batches in columns. */
#include "analyze/copies.h"
#include "analyze/off_cpu.h"
#include "analyze/summary.h"
#include "analyze/values/outputs.h"
#include "answer/info.h"
#include "base/bytes.h"
#include "base/path.h"
#include "serve/endpoints.h"
#include "serve/generation.h"
#include "serve/traces.h"
#include "table/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum of one batch's text; longer ones are cut. */
#define TEXT_BYTES_MAX ((size_t)4 << 20)

/* A number of the model file's architecture; -1: none, or an impossible one. */
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

/* From the model file; else one more than the highest in a tensor's name. */
static int64_t layers(const tt_model *m)
{
    int64_t n = metadata(m, "block_count");
    for (uint32_t i = 0; n < 0 && i < m->n_weights; i++)
        if (m->weights[i].place.layer_id >= 0) n = 0;
    if (n != 0) return n;
    for (uint32_t i = 0; i < m->n_weights; i++)
        if (tt_layer_number(m->weights[i].place.layer_id) >= n)
            n = tt_layer_number(m->weights[i].place.layer_id) + 1;
    return n;
}

/* Then a missing end is not damage. */
static bool is_growing(const tt_request *q)
{
    return tt_traces_live(q->traces) && !q->m->trace.complete;
}

/* The document; `of.path` is the trace's path. */
typedef struct summary_row {
    tt_info of;
    const tt_model *m;
    const char *name, *model, *model_name, *architecture;
    char run_id[33];
    uint64_t generation, begin_ns;
    bool growing, values_recorded, pool_recorded, off_cpu_recorded;
    const char *off_cpu_option;
    int64_t n_layers, n_experts; /* -1: not known */
    tt_bytes *scratch;           /* for texts */
} summary_row;

TT_COLUMN_GET(get_buffer_kind, tt_buffer, b, tt_cell_text(cell, tt_buffer_kind_name(b->kind));)

/* By a buffer's index, as used in selections and regions: the id that commands use. */
static const tt_column buffer_columns[] = {
    TT_COLUMN("buffer_id", NULL, ID, "its id", TT_MEMBER(tt_buffer, id)),
    TT_COLUMN("name", NULL, NONE, "its name", TT_MEMBER(tt_buffer, name)),
    TT_COLUMN("kind", NULL, NONE, "what it is for", .type = TT_CELL_NAME, .get = get_buffer_kind),
};
static const tt_schema buffer_schema = TT_SCHEMA("buffers", "a buffer", buffer_columns);

/* Problems of the trace, as sentences. */
TT_COLUMN_JSON(json_problems, summary_row, r, {
    const tt_model *m = r->m;
    tt_error damage;
    char text[400];
    tt_json_array(j);
    if (!m->trace.complete && !r->growing) {
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
})

/* By their numbers in a layer's key. */
TT_COLUMN_JSON(json_models, summary_row, r, {
    tt_json_array(j);
    for (uint32_t i = 0; i < r->m->n_models && i < TT_LAYER_MODELS_MAX; i++)
        tt_json_string(j, tt_base_name(tt_model_path(r->m, i)));
    tt_json_array_end(j);
})
TT_COLUMN_JSON(json_stacks, summary_row, r, {
    (void)r;
    tt_json_array(j);
    for (unsigned i = 0; i < TT_STACKS; i++)
        tt_json_string(j, tt_layer_stack_name(tt_layer_make(0, i, 0)));
    tt_json_array_end(j);
})

/* Unexpected but correct facts. */
TT_COLUMN_JSON(json_notes, summary_row, r, {
    char text[TT_COPIES_TEXT];
    tt_copies copies;
    tt_json_array(j);
    if (tt_copies_find(r->m, &copies) && *tt_copies_text(&copies, text)) tt_json_string(j, text);
    tt_json_array_end(j);
})

/* The context of all columns is the document. */
static const tt_model *model_of(const void *context)
{
    return ((const summary_row *)context)->m;
}

/* The concatenated texts of a batch's tokens, since a character may span several. Null: none was
 * observed. */
static void get_text(const void *context, const void *row, tt_cell *cell)
{
    const tt_batch *b = row;
    tt_bytes *scratch = ((const summary_row *)context)->scratch;
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
    TT_COLUMN("start_relative_ns", NULL, MOMENT, "its begin", .type = TT_CELL_I64,
              .get = get_begin),
    TT_COLUMN("end_relative_ns", NULL, MOMENT, "its end", .type = TT_CELL_I64, .get = get_end),
    TT_COLUMN("phase", NULL, NONE, "its phase", .type = TT_CELL_NAME, .get = get_phase),
    TT_COLUMN("n_tokens", NULL, COUNT, "its tokens", TT_MEMBER(tt_batch, n_tokens)),
    TT_COLUMN("context_id", NULL, ID, "the context", TT_MEMBER(tt_batch, context)),
    TT_COLUMN("runs", NULL, COUNT, "its runs", TT_MEMBER(tt_batch, n_runs)),
    TT_COLUMN("text", NULL, NONE, "of its tokens", .type = TT_CELL_NAME, .get = get_text),
};
static const tt_schema batch_schema = TT_SCHEMA("batches", "a batch", batch_columns);

TT_COLUMN_KNOWN(has_layers, summary_row, r, r->n_layers >= 0)
TT_COLUMN_KNOWN(has_experts, summary_row, r, r->n_experts >= 0)
TT_COLUMN_KNOWN(has_clock, summary_row, r, r->m->clock.known)
TT_COLUMN_KNOWN(has_prompt_rate, summary_row, r, r->of.summary.prompt.tokens_per_s > 0)
TT_COLUMN_KNOWN(has_generate_rate, summary_row, r, r->of.summary.generate.tokens_per_s > 0)
TT_COLUMN_ROWSET(counts, summary_row, r,
                 TT_ROWSET(&tt_info_count_schema, TT_INFO_VIEWER, r->m, &r->of, 1))
TT_COLUMN_ROWSET(files, summary_row, r,
                 TT_ROWSET(&tt_info_file_schema, TT_INFO_VIEWER, r->m, r->m->files, r->m->n_files))
TT_COLUMN_ROWS(buffers, summary_row, r, r->m->buffers, r->m->n_buffers)
TT_COLUMN_ROWS(batches, summary_row, r, r->m->batches, r->m->n_batches)

#define OF_ROW(key_, member_, about_) TT_FIELD(key_, about_, TT_MEMBER(summary_row, member_))
#define OF_MODEL(key_, member_, about_)                                                            \
    TT_FIELD(key_, about_, TT_THROUGH(summary_row, m), TT_MEMBER(tt_model, member_))
static const tt_column summary_columns[] = {
    OF_ROW("generation", generation, "of the file, as it grows"),
    OF_ROW("growing", growing, "it is being recorded"),
    OF_ROW("name", name, "of the file"),
    OF_ROW("path", of.path, "of the file"),
    OF_ROW("size_bytes", of.summary.file_bytes, "of the file"),
    TT_FIELD("run_id", "of the recording", TT_MEMBER_CHARS(summary_row, run_id)),
    OF_MODEL("created_unix_ns", trace.header.created_unix_ns, "when recording began"),
    OF_MODEL("pid", trace.header.pid, "of the process"),
    OF_MODEL("complete", trace.complete, "the file has its end"),
    OF_MODEL("flight_recorder", front.present, "only the last part was kept"),
    OF_ROW("values_recorded", values_recorded, "there are outputs"),
    OF_ROW("pool_recorded", pool_recorded, "`boost` ran"),
    OF_ROW("off_cpu_recorded", off_cpu_recorded, "of ops' threads"),
    OF_ROW("off_cpu_option", off_cpu_option, "of `run`, which records it"),
    OF_ROW("model_file", model, "path of the first model file"),
    OF_ROW("model_name", model_name, "as the model file says"),
    OF_ROW("architecture", architecture, "as the model file says"),
    TT_FIELD("models", "names of the models of layers", .type = TT_CELL_LIST, .json = json_models),
    TT_FIELD("layer_stacks", "names of stacks of layers", .type = TT_CELL_LIST,
             .json = json_stacks),
    TT_FIELD("n_layers", "of the model", TT_MEMBER(summary_row, n_layers), .known = has_layers),
    TT_FIELD("n_experts", "of a layer", TT_MEMBER(summary_row, n_experts), .known = has_experts),
    OF_ROW("n_lanes", of.summary.lanes, "the most threads of a run"),
    OF_ROW("n_ops", of.summary.records, "of an op and a thread"),
    OF_MODEL("clock", clock.known, "there are times"),
    TT_FIELD("ns_per_tick", "of the clock", TT_THROUGH(summary_row, m),
             TT_MEMBER(tt_model, clock.ns_per_tick), .known = has_clock),
    OF_ROW("start_relative_ns", begin_ns, "the trace's zero"),
    TT_FIELD("end_relative_ns", "of all", TT_MEMBER(summary_row, of.summary.elapsed_ns),
             .known = has_clock),
    TT_FIELD("prompt_tokens_per_s", "of prompts",
             TT_MEMBER(summary_row, of.summary.prompt.tokens_per_s), .known = has_prompt_rate),
    TT_FIELD("generate_tokens_per_s", "of generated tokens",
             TT_MEMBER(summary_row, of.summary.generate.tokens_per_s), .known = has_generate_rate),
    TT_FIELD("counts", "its contents", .type = TT_CELL_OBJECT, .rows = counts),
    TT_FIELD("model_files", "by index", .type = TT_CELL_ROWS, .rows = files),
    TT_FIELD("buffers", "by index", .type = TT_CELL_COLUMNS, .inner = &buffer_schema,
             .rows = buffers),
    TT_FIELD("problems", "what is not right with it", .type = TT_CELL_ROWS, .json = json_problems),
    TT_FIELD("notes", "what is unexpected", .type = TT_CELL_ROWS, .json = json_notes),
    TT_FIELD("batches", "decode calls", .type = TT_CELL_COLUMNS, .inner = &batch_schema,
             .rows = batches),
};
static const tt_schema summary_schema = TT_SCHEMA("summary", "what ran", summary_columns);

tt_status tt_answer_summary(tt_request *q, tt_reply *r, tt_error *err)
{
    (void)err;
    const tt_model *m = q->m;
    const tt_file_kv *name = tt_model_file_kv(m, "general.name");
    const tt_file_kv *arch = tt_model_file_kv(m, "general.architecture");
    tt_bytes scratch;
    tt_bytes_init(&scratch, TEXT_BYTES_MAX);
    summary_row row = {.of = {.m = m, .path = tt_traces_path(q->traces, q->trace_id)},
                       .m = m,
                       .name = tt_traces_name(q->traces, q->trace_id),
                       .model = m->n_files ? m->files[0].path : NULL,
                       .model_name = name ? name->value : NULL,
                       .architecture = arch ? arch->value : NULL,
                       .generation = tt_generation_number(q->source),
                       .growing = is_growing(q),
                       .values_recorded = tt_outputs_any(m),
                       .pool_recorded = m->n_pool_states > 0,
                       .off_cpu_recorded = tt_off_cpu_observed(m),
                       .off_cpu_option = tt_off_cpu_option(m),
                       .n_layers = layers(m),
                       .n_experts = metadata(m, "expert_count"),
                       .scratch = &scratch};
    tt_summarize(m, &row.of.summary);
    tt_info_run_id(&row.of, row.run_id);
    const tt_status status = tt_reply_row(r, &summary_schema, &row, &row);
    tt_bytes_free(&scratch);
    return status;
}
