#include "analyze/log/columns.h"

#include "base/path.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longest description that is kept, in bytes: longer ones are written anew each time. */
#define DESCRIPTION_KEPT_MAX 8192u
#define EXPERTS_SHOWN 8u /* by number, in text */

/* A tensor, and the location of its bytes; placed: what is read or written begins there. */
static void location(tt_json *j, const tt_model *m, const tt_graph *g, uint32_t tensor, bool placed)
{
    const tt_tensor *t = &g->tensors[tensor], *root = &g->tensors[t->root];
    uint32_t buffer = t->buffer != TT_NONE ? t->buffer : root->buffer;
    tt_json_kv_string(j, "name", t->name);
    if (root != t) tt_json_kv_string(j, "view_of", root->name);
    tt_json_kv_string(j, "type", t->type_name);
    tt_json_kv_u64(j, "size_bytes", t->size_bytes);
    tt_json_kv_string(j, "origin", tt_origin_name(t->origin));
    if (t->weight != TT_NONE) {
        const tt_weight *w = &m->weights[t->weight];
        tt_json_kv_string(j, "model_file", m->files[w->file].path);
        tt_json_kv_u64_or_null(j, "file_offset_bytes", placed,
                               w->offset_bytes + t->root_offset_bytes);
    }
    if (buffer == TT_NONE) return;
    tt_json_kv_u64(j, "buffer_id", m->buffers[buffer].id);
    tt_json_kv_u64_or_null(j, "buffer_offset_bytes", placed,
                           t->buffer != TT_NONE ? t->location
                                                : root->location + t->root_offset_bytes);
}

/* The parts selected from a source: ranges of rows, or experts. */
static void selections(tt_json *j, const tt_model *m, const tt_tensor *t, const tt_op_source *s,
                       const tt_access *accesses, size_t n)
{
    bool experts = false, any = false;
    for (size_t i = 0; i < n; i++) {
        const tt_access *a = &accesses[i];
        if (a->tensor != s->tensor || !tt_access_is_placed(a)) continue;
        uint64_t at = a->offset_bytes - m->weights[a->weight].offset_bytes - t->root_offset_bytes;
        if (!any) {
            experts = a->expert != TT_EXPERT_NONE;
            tt_json_key(j, experts ? "experts" : "rows");
            tt_json_array(j);
            any = true;
        }
        tt_json_object(j);
        if (experts) {
            tt_json_kv_i64(j, "expert_id", a->expert);
            tt_json_kv_u64(j, "n_tokens", a->uses);
        } else if (t->nb[1]) {
            tt_json_kv_u64(j, "first", at / t->nb[1]);
            tt_json_kv_u64(j, "count", (a->size_bytes + t->nb[1] - 1) / t->nb[1]);
        }
        tt_json_kv_u64(j, "file_offset_bytes", a->offset_bytes);
        tt_json_kv_u64(j, "read_bytes", a->size_bytes);
        tt_json_object_end(j);
    }
    if (any) tt_json_array_end(j);
}

static void source(tt_json *j, const tt_model *m, const tt_op *op, const tt_op_source *s,
                   const tt_access *accesses, size_t n)
{
    tt_json_object(j);
    bool placed = !tt_op_source_is_unplaced(op->graph, s);
    for (size_t i = 0; i < n; i++)
        placed |= accesses[i].tensor == s->tensor && tt_access_is_placed(&accesses[i]);
    location(j, m, op->graph, s->tensor, placed);
    tt_json_kv_u64(j, "read_bytes", s->read_bytes);
    if (s->at_most) tt_json_kv_bool(j, "read_bytes_at_most", true);
    if (s->picks && s->weight != TT_NONE)
        selections(j, m, &op->graph->tensors[s->tensor], s, accesses, n);
    tt_json_object_end(j);
}

static void sources(tt_json *j, const tt_model *m, const tt_op *op, const tt_access *accesses,
                    size_t n)
{
    tt_json_array(j);
    for (uint32_t i = 0; i < op->n_sources; i++)
        source(j, m, op, &op->sources[i], accesses, n);
    tt_json_array_end(j);
}

static void destination(tt_json *j, const tt_model *m, const tt_op *op)
{
    tt_json_object(j);
    location(j, m, op->graph, op->nodes[op->n_nodes - 1], true);
    tt_json_object_end(j);
}

/* --- columns --- */

/* Durations; null for an op whose end was not observed. In text, an unobserved one is a dash. */
#define SPAN(name, ticks, is_known)                                                                \
    TT_COLUMN_KNOWN(name##_known, tt_log_row, r, !r->row->open && (is_known))                      \
    TT_COLUMN_VALUE(get_##name, tt_log_row, r, u64,                                                \
                    tt_units_round_ns(tt_model_span_ns(context, ticks)))                           \
    TT_COLUMN_SHOW(show_##name, tt_log_row, r, (void)room; if (!r->row->open)                      \
                       tt_units_ns(out, (is_known) ? tt_model_span_ns(context, ticks) : NAN);)

SPAN(duration, r->row->arrive_ticks - r->row->start_ticks, true)
SPAN(busy, r->row->busy_ticks, true)
SPAN(wait, r->row->wait_ticks, tt_model_waits_known(context, r->row->run))
SPAN(off_cpu, r->row->off_cpu_ticks, r->row->off_cpu_known)
SPAN(wait_inside, r->row->inside_ticks, r->row->inside_known)

static void show_duration_or_why(const void *context, const void *row, char *out, size_t room)
{
    const tt_log_op *o = ((const tt_log_row *)row)->row;
    const tt_model *m = context;
    if (o->open)
        (void)snprintf(out, room, !m->trace.complete || !o->run->ended ? "(cut off)" : "(no end)");
    else
        show_duration(context, row, out, room);
}

TT_COLUMN_VALUE(get_start, tt_log_row, r, u64, tt_model_mono_ns(context, r->row->start_ticks))
TT_COLUMN_VALUE(get_start_relative, tt_log_row, r, f64, tt_model_ns(context, r->row->start_ticks))
TT_COLUMN_SHOW(show_start_relative, tt_log_row, r,
               (void)snprintf(out, room, "%.4f", tt_model_ns(context, r->row->start_ticks) / 1e6);)
TT_COLUMN_VALUE(get_start_ticks, tt_log_row, r, u64, r->row->start_ticks)
TT_COLUMN_KNOWN(in_batch, tt_log_row, r, r->row->run->batch != TT_NONE)
TT_COLUMN_VALUE(get_token, tt_log_row, r, u64, tt_model_batch_number(context, r->row->run->batch))

static void get_phase(const void *context, const void *row, tt_cell *cell)
{
    const tt_model *m = context;
    const uint32_t batch = ((const tt_log_row *)row)->row->run->batch;
    tt_cell_text(cell,
                 tt_phase_name(batch != TT_NONE ? m->batches[batch].phase : TT_PHASE_UNKNOWN));
}

static void show_phase(const void *context, const void *row, char *out, size_t room)
{
    tt_cell cell;
    get_phase(context, row, &cell);
    (void)snprintf(out, room, "%s", in_batch(context, row) ? cell.text.at : "-");
}

TT_COLUMN_VALUE(get_context, tt_log_row, r, u64,
                ((const tt_model *)context)->batches[r->row->run->batch].context)
TT_COLUMN_GET(get_model, tt_log_row, r,
              tt_cell_text(cell, tt_model_path(context, r->op->graph->model));)
TT_COLUMN_SHOW(show_model, tt_log_row, r,
               const char *path = tt_model_path(context, r->op->graph->model);
               tt_cell_text_copy(out, room, path ? tt_base_name(path) : "-");)
TT_COLUMN_VALUE(get_run, tt_log_row, r, u64, r->row->run->id)
TT_COLUMN_VALUE(get_graph, tt_log_row, r, u64, r->op->graph->id)
TT_COLUMN_VALUE(get_node, tt_log_row, r, u64, r->op->node)
TT_COLUMN_VALUE(get_nodes, tt_log_row, r, u64, r->op->n_nodes)
TT_COLUMN_VALUE(get_threads, tt_log_row, r, u64, r->row->lanes)
TT_COLUMN_VALUE(get_thread, tt_log_row, r, u64, r->row->lane)
TT_COLUMN_GET(get_op, tt_log_row, r, tt_cell_text(cell, r->op->op);)
TT_COLUMN_GET(get_name, tt_log_row, r, tt_cell_text(cell, r->op->name);)
TT_COLUMN_GET(get_layer, tt_log_row, r, tt_cell_id(cell, r->op->place.layer_id);)
TT_COLUMN_GET(get_category, tt_log_row, r, tt_cell_text(cell, r->op->place.category);)
TT_COLUMN_GET(get_component, tt_log_row, r, tt_cell_text(cell, r->op->place.component);)
TT_COLUMN_VALUE(get_weight_bytes, tt_log_row, r, u64, r->op->weight_bytes)

static tt_certainty bytes_bound(const void *context, const void *row)
{
    (void)context;
    return ((const tt_log_row *)row)->op->at_most ? TT_AT_MOST : TT_EXACT;
}

TT_COLUMN_VALUE(get_at_most, tt_log_row, r, boolean, r->op->at_most)

/* "@file:1024" of "blk.0.attn_q.weight@file:1024": the location of the tensor's bytes. */
static void write_location(const tt_log_row *r, const tt_model *m, uint32_t tensor, char text[64])
{
    const tt_graph *g = r->op->graph;
    const tt_tensor *t = &g->tensors[tensor], *root = &g->tensors[t->root];
    uint32_t buffer = t->buffer != TT_NONE ? t->buffer : root->buffer;
    const bool in_file = t->origin == TT_ORIGIN_FILE && t->weight != TT_NONE;
    const uint64_t at = in_file ? m->weights[t->weight].offset_bytes + t->root_offset_bytes
                        : t->buffer != TT_NONE ? t->location
                                               : root->location + t->root_offset_bytes;
    int n = 0;
    text[0] = '\0';
    if (in_file)
        n = snprintf(text, 64, "@file:");
    else if (buffer != TT_NONE)
        n = snprintf(text, 64, "@buffer%" PRIu64 ":", m->buffers[buffer].id);
    if (n > 0) (void)snprintf(text + n, 64 - (size_t)n, r->hex ? "0x%" PRIx64 : "%" PRIu64, at);
}

static void add_location(tt_bytes *out, const tt_model *m, const tt_log_row *r, uint32_t tensor)
{
    char text[64];
    const char *name = r->op->graph->tensors[tensor].name;
    write_location(r, m, tensor, text);
    tt_bytes_put(out, name, strlen(name));
    tt_bytes_put(out, text, strlen(text));
}

/* The same with its size, for text: " 1.5 MiB". */
static void show_location(const tt_log_row *r, const tt_model *m, uint32_t tensor, char *out,
                          size_t room)
{
    char size[TT_UNITS_TEXT];
    write_location(r, m, tensor, out);
    const size_t n = strlen(out);
    (void)snprintf(out + n, room - n, " %s",
                   tt_units_bytes(size, r->op->graph->tensors[tensor].size_bytes));
}

static void set_bytes(tt_cell *cell, const tt_bytes *text)
{
    cell->text.at = text->data ? (const char *)text->data : "";
    cell->text.n = text->size;
    cell->known = !text->failed;
}

static void get_sources(const void *context, const void *row, tt_cell *cell)
{
    const tt_log_row *r = row;
    tt_bytes_clear(r->text);
    for (uint32_t i = 0; i < r->op->n_sources; i++) {
        if (i) tt_bytes_put(r->text, "; ", 2);
        add_location(r->text, context, r, r->op->sources[i].tensor);
    }
    set_bytes(cell, r->text);
}

static void get_destination(const void *context, const void *row, tt_cell *cell)
{
    const tt_log_row *r = row;
    tt_bytes_clear(r->text);
    add_location(r->text, context, r, r->op->nodes[r->op->n_nodes - 1]);
    set_bytes(cell, r->text);
}

/* " {1,5}": the experts selected from a source, if observed. */
static void experts_text(const tt_log_row *r, const tt_op_source *s, char out[64])
{
    size_t used = 0, experts = 0;
    out[0] = '\0';
    for (size_t i = 0; i < r->n_accesses; i++) {
        const tt_access *a = &r->accesses[i];
        if (a->tensor != s->tensor || a->expert == TT_EXPERT_NONE) continue;
        if (experts++ < EXPERTS_SHOWN)
            used +=
                (size_t)snprintf(out + used, 64 - used, "%s%" PRId32, used ? "," : " {", a->expert);
    }
    if (experts > EXPERTS_SHOWN)
        (void)snprintf(out, 64, " {%zu experts}", experts);
    else if (experts)
        (void)snprintf(out + used, 64 - used, "}");
}

static void show_destination(const void *context, const void *row, char *out, size_t room)
{
    const tt_log_row *r = row;
    const uint32_t tensor = r->op->nodes[r->op->n_nodes - 1];
    char name[128], place[96];
    tt_cell_text_copy(name, sizeof name, r->op->graph->tensors[tensor].name);
    show_location(r, context, tensor, place, sizeof place);
    (void)snprintf(out, room, "%s%s", name, place);
}

/* The text is kept with the op, unless each execution selects what it reads. */
static void show_sources(const void *context, const void *row, char *out, size_t room)
{
    const tt_log_row *r = row;
    void **note = r->op->picks ? NULL : r->row->note;
    size_t used = 0;
    if (note && *note) {
        (void)snprintf(out, room, "%s", (const char *)*note);
        return;
    }
    for (uint32_t i = 0; i < r->op->n_sources && used < room - 1; i++) {
        const tt_tensor *t = &r->op->graph->tensors[r->op->sources[i].tensor];
        char name[128] = "", experts[64], place[96] = "";
        experts_text(r, &r->op->sources[i], experts);
        tt_cell_text_copy(name, sizeof name, t->name);
        if (r->places) show_location(r, context, r->op->sources[i].tensor, place, sizeof place);
        /* Buffers are the rule; only other origins are named. */
        int more =
            snprintf(out + used, room - used, "%s%s%s%s%s", i ? ", " : "", name, place, experts,
                     r->places                       ? ""
                     : t->origin == TT_ORIGIN_FILE   ? " [file]"
                     : t->origin == TT_ORIGIN_BUFFER ? ""
                                                     : " [?]");
        if (more < 0) return;
        used += (size_t)more < room - used ? (size_t)more : room - used - 1;
    }
    if (note) *note = strdup(out);
}

TT_COLUMN_JSON(json_sources, tt_log_row, r, sources(j, context, r->op, r->accesses, r->n_accesses);)
TT_COLUMN_JSON(json_destination, tt_log_row, r, destination(j, context, r->op);)

#define OF_THREAD 1u
#define OF_OP 2u
#define SPAN_COLUMN(name, title_, show_flags, show_text, about_)                                   \
    TT_COLUMN(#name "_ns", title_, NS, about_, .type = TT_CELL_U64, .nullable = true,              \
              .show = (show_flags), .known = name##_known, .get = get_##name, .text = show_text)
#define NUMBER(key_, title_, get_, about_, ...)                                                    \
    TT_COLUMN(key_, title_, ID, about_, .type = TT_CELL_U64, .get = get_, __VA_ARGS__)
#define TEXT(key_, title_, get_, about_, ...)                                                      \
    TT_COLUMN(key_, title_, NONE, about_, .type = TT_CELL_NAME, .get = get_, __VA_ARGS__)

/* The first columns describe the execution, the others (DESCRIPTION) the op. */
static const tt_column columns[] = {
    NUMBER("start_ns", NULL, get_start, "begin, on the machine's monotonic clock", .show = 0),
    TT_COLUMN("start_relative_ns", "TIME ms", MOMENT, "begin, since the begin of the first batch",
              .type = TT_CELL_F64, .get = get_start_relative, .text = show_start_relative),
    SPAN_COLUMN(duration, "DURATION", 0, show_duration_or_why,
                "from the first thread's start to the last thread's arrival"),
    SPAN_COLUMN(busy, NULL, 0, show_busy, "time of all threads, from start to arrival"),
    SPAN_COLUMN(wait, "WAIT", 0, show_wait, "time of all threads at the barrier after it"),
    SPAN_COLUMN(off_cpu, "OFF CPU", TT_SHOW_WIDE | TT_SHOW_KNOWN, show_off_cpu,
                "the part of busy_ns on no processor"),
    SPAN_COLUMN(wait_inside, NULL, 0, show_wait_inside,
                "the part of busy_ns that threads waited for others, at barriers inside the op"),
    NUMBER("start_ticks", NULL, get_start_ticks, "begin, in the trace's clock ticks", .show = 0),
    NUMBER("batch_id", "BATCH", get_token, "the batch; null: outside any", .nullable = true,
           .known = in_batch, .show = TT_SHOW_DASH),
    TEXT("phase", "PHASE", get_phase, "phase of the batch", .show = TT_SHOW_WIDE,
         .text = show_phase),
    NUMBER("context_id", "CONTEXT", get_context, "the engine's context; null: outside any batch",
           .nullable = true, .known = in_batch, .show = TT_SHOW_ASKED),
    TEXT("model_file", "MODEL", get_model, "path of the model; null: not known", .nullable = true,
         .show = TT_SHOW_ASKED | TT_SHOW_CUT, .text = show_model),
    NUMBER("graph_run", NULL, get_run, "the graph computation", .show = 0),
    NUMBER("graph_id", NULL, get_graph, "the graph", .show = 0),
    NUMBER("node", NULL, get_node, "number of the op's first node in the graph", .show = 0),
    TT_COLUMN("nodes", NULL, COUNT, "number of nodes that the op computes; several: fused",
              .type = TT_CELL_U64, .get = get_nodes, .show = 0),
    TT_COLUMN("threads", "THREADS", COUNT, "number of threads that executed it",
              .type = TT_CELL_U64, .get = get_threads, .kinds = OF_OP),
    NUMBER("thread_id", "THREAD", get_thread, "the thread", .kinds = OF_THREAD),
    TEXT("op", "OP", get_op, "the kind of op", .show = TT_SHOW_CUT | TT_SHOW_KEY),
    TEXT("name", "NODE", get_name, "name of the node; of a fused op, the last one",
         .show = TT_SHOW_CUT | TT_SHOW_KEY),
    TT_COLUMN("layer_id", "LAYER", ID, "the layer; null: none", TT_LAYER, .get = get_layer),
    TT_STACK(.get = get_layer),
    TEXT("category", NULL, get_category, "the part of the network", .show = 0),
    TEXT("component", NULL, get_component, "role in its layer", .show = 0),
    TT_COLUMN("weight_bytes", NULL, BYTES, "bytes read from weights", .type = TT_CELL_U64,
              .bound = bytes_bound, .get = get_weight_bytes),
    TT_COLUMN("weight_bytes_at_most", NULL, NONE,
              "an upper bound: rows or experts were not observed", .type = TT_CELL_BOOL,
              .get = get_at_most),
    TEXT("sources", "SOURCES", get_sources, "tensors that it is computed from, and their locations",
         .show = TT_SHOW_CUT, .text = show_sources, .json = json_sources),
    TEXT("destination", "DESTINATION", get_destination, "tensor that it writes, and its location",
         .show = TT_SHOW_CUT, .text = show_destination, .json = json_destination),
};

#define DESCRIPTION 18u

const tt_schema tt_log_schema = {"log", "an op, or a thread's part of it", columns,
                                 sizeof columns / sizeof *columns};

tt_rowset tt_log_rowset(const tt_model *m, const tt_log_row *row, bool by_lane)
{
    return TT_ROWSET(&tt_log_schema, by_lane ? OF_THREAD : OF_OP, m, row, 1);
}

/* --- as JSON --- */

/* What is the same for each execution of the op, unless it selects what it reads. */
static void description(tt_json *j, const tt_model *m, const tt_op *op, const tt_access *accesses,
                        size_t n)
{
    tt_json_kv_string(j, "op", op->op);
    tt_json_kv_string(j, "name", op->name);
    tt_json_kv_i64_or_null(j, "layer_id", op->place.layer_id >= 0,
                           tt_layer_number(op->place.layer_id));
    tt_json_kv_string(j, "stack", tt_layer_stack_name(op->place.layer_id));
    if (op->place.layer_id >= TT_LAYER_NUMBERS) tt_json_kv_i64(j, TT_LAYER_KEY, op->place.layer_id);
    tt_json_kv_string(j, "category", op->place.category);
    tt_json_kv_string(j, "component", op->place.component);
    tt_json_kv_u64(j, "weight_bytes", op->weight_bytes);
    if (op->at_most) tt_json_kv_bool(j, "weight_bytes_at_most", true);
    tt_json_key(j, "sources");
    sources(j, m, op, accesses, n);
    tt_json_key(j, "destination");
    destination(j, m, op);
}

/* A description's text, kept with the op. */
typedef struct kept_text {
    size_t n;
    char text[];
} kept_text;

static void keep_description(tt_json *j, const tt_model *m, const tt_op *op, void **note)
{
    size_t n;
    tt_json_position mark = tt_json_mark(j, DESCRIPTION_KEPT_MAX);
    description(j, m, op, NULL, 0);
    const char *text = tt_json_since(j, mark, &n);
    if (!text || n > DESCRIPTION_KEPT_MAX) return;
    kept_text *kept = malloc(sizeof *kept + n);
    if (!kept) return;
    kept->n = n;
    memcpy(kept->text, text, n);
    *note = kept;
}

void tt_log_json_op(tt_json *j, const tt_model *m, const tt_log_op *row, const tt_op *op,
                    const tt_access *accesses, size_t n)
{
    const kept_text *kept = op->picks || !row->note ? NULL : *row->note;
    const tt_log_row r = {.row = row, .op = op, .accesses = accesses, .n_accesses = n};
    const tt_rowset set = tt_log_rowset(m, &r, row->lane != TT_NONE);
    tt_json_object(j);
    for (size_t i = 0; i < DESCRIPTION; i++)
        if (tt_rowset_has(&set, &columns[i])) tt_column_json(j, &columns[i], m, &r);
    if (kept)
        tt_json_again(j, kept->text, kept->n);
    else if (op->picks || !row->note)
        description(j, m, op, accesses, n);
    else
        keep_description(j, m, op, row->note);
    tt_json_object_end(j);
}
