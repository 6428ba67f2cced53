/* /api/v1/traces/ID/find: searches the names of tensors, ops, layers and buffers, and the tokens'
 * texts. */
#include "analyze/find.h"
#include "base/order.h"
#include "serve/endpoints.h"
#include "serve/source.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TEXT_MAX 200u
#define LIMIT_MAX 1000u

static tt_status find(tt_names *names, tt_model *m, tt_error *err)
{
    return tt_names_make(m, names) ? TT_OK : tt_error_memory(err, "the names of the trace");
}

TT_SOURCE_MEMO(memo, tt_names, "the names of the trace", find, tt_names_free)

typedef struct search {
    tt_json *j;
    const tt_model *m;
    const char *text;
    uint64_t limit;
    uint64_t found; /* in the current group */
} search;

static void begin_group(search *s, const char *kind)
{
    s->found = 0;
    tt_json_object(s->j);
    tt_json_kv_string(s->j, "kind", kind);
    tt_json_key(s->j, "results");
    tt_json_array(s->j);
}

static void end_group(search *s)
{
    tt_json_array_end(s->j);
    tt_json_kv_u64(s->j, "count", s->found);
    tt_json_object_end(s->j);
}

/* A match: the first ones are listed, the others only counted. */
static void list(search *s, const tt_schema *schema, const void *row)
{
    if (s->found++ < s->limit) tt_row_json(s->j, NULL, schema, s->m, row);
}

/* A tensor of a model file or a graph. */
TT_COLUMN_VALUE(is_weight, tt_name, n, boolean, n->weight != TT_NONE)
TT_COLUMN_VALUE(get_size, tt_name, n, u64,
                n->weight != TT_NONE
                    ? ((const tt_model *)context)->weights[n->weight].size_bytes
                    : ((const tt_model *)context)->graphs[n->graph].tensors[n->tensor].size_bytes)

static const tt_column tensor_columns[] = {
    TT_FIELD("name", "", TT_MEMBER(tt_name, name)),
    TT_FIELD("weight", "of a model file", .type = TT_CELL_BOOL, .get = is_weight),
    TT_FIELD("layer_id", "", TT_LAYER, TT_LAYER_AT(tt_name, layer_id)),
    TT_STACK(TT_LAYER_AT(tt_name, layer_id)),
    TT_FIELD("size_bytes", "", .type = TT_CELL_U64, .get = get_size),
};
static const tt_schema tensor_schema = TT_SCHEMA("tensor", "by name", tensor_columns);

static void find_tensors(search *s, const tt_names *names)
{
    begin_group(s, "tensor");
    for (uint32_t i = 0; i < names->n_tensors; i++)
        if (tt_find_in(names->tensors[i].name, s->text))
            list(s, &tensor_schema, &names->tensors[i]);
    end_group(s);
}

static const tt_column op_columns[] = {
    TT_FIELD("op", "", TT_MEMBER(tt_name, name)),
    TT_FIELD("nodes", "in all graphs", TT_MEMBER(tt_name, count)),
};
static const tt_schema op_schema = TT_SCHEMA("op", "by name", op_columns);

static void find_ops(search *s, const tt_names *names)
{
    begin_group(s, "op");
    for (uint32_t i = 0; i < names->n_ops; i++)
        if (tt_find_in(names->ops[i].name, s->text)) list(s, &op_schema, &names->ops[i]);
    end_group(s);
}

/* Layers by number, and stack, or all of them. */
#define LAYERS_MAX 4096u

typedef struct found_layers {
    bool all;
    int32_t wanted;
    int32_t list[LAYERS_MAX]; /* ascending */
    size_t n;
} found_layers;

static void find_layer(found_layers *f, int32_t layer)
{
    size_t at;
    if (layer < 0 || f->n == LAYERS_MAX || !(f->all || tt_layer_passes(f->wanted, layer))) return;
    tt_lower_bound(at, f->n, f->list[at] < layer);
    if (at < f->n && f->list[at] == layer) return;
    memmove(f->list + at + 1, f->list + at, (f->n++ - at) * sizeof *f->list);
    f->list[at] = layer;
}

static void find_layers(search *s)
{
    static const tt_column of_layer[] = {{.key = "layer_id", TT_LAYER}, TT_STACK(.offset = 0)};
    static const tt_schema schema = {"layer", "by number", of_layer, 2};
    const size_t word = strncasecmp(s->text, "layer", 5) == 0 ? 5 : 0;
    found_layers f = {.all =
                          strcasecmp(s->text, "layer") == 0 || strcasecmp(s->text, "layers") == 0};
    if (!tt_layer_read(s->text + word + strspn(s->text + word, " "), &f.wanted))
        f.wanted = TT_LAYER_NONE;
    for (uint32_t i = 0; i < s->m->n_weights; i++)
        find_layer(&f, s->m->weights[i].place.layer_id);
    for (uint32_t g = 0; g < s->m->n_graphs; g++)
        for (uint32_t i = 0; i < s->m->graphs[g].n_tensors; i++)
            find_layer(&f, s->m->graphs[g].tensors[i].place.layer_id);
    begin_group(s, "layer");
    for (size_t i = 0; i < f.n; i++)
        list(s, &schema, &f.list[i]);
    end_group(s);
}

/* A batch, and the position of the match in its text. */
typedef struct batch_row {
    const tt_find_batch *found;
    const tt_batch *batch;
    uint32_t number;
} batch_row;

TT_COLUMN_GET(get_phase, batch_row, r, tt_cell_text(cell, tt_phase_name(r->batch->phase));)
TT_COLUMN_GET(get_excerpt, batch_row, r, {
    cell->known = r->found->n > 0;
    cell->text.at = r->found->excerpt;
    cell->text.n = r->found->n;
})

static const tt_column batch_columns[] = {
    TT_FIELD("batch_id", "", TT_MEMBER(batch_row, number)),
    TT_FIELD("phase", "", .type = TT_CELL_NAME, .get = get_phase),
    TT_FIELD("n_tokens", "", TT_THROUGH(batch_row, batch), TT_MEMBER(tt_batch, n_tokens)),
    TT_FIELD("text", "around it", .type = TT_CELL_NAME, .get = get_excerpt),
};
static const tt_schema batch_schema = TT_SCHEMA("batch", "by its tokens", batch_columns);

static bool put_batch(void *context, const tt_find_batch *found)
{
    search *s = context;
    const batch_row row = {found, &s->m->batches[found->batch],
                           tt_model_batch_number(s->m, found->batch)};
    list(s, &batch_schema, &row);
    return true;
}

TT_COLUMN_VALUE(get_buffer, tt_buffer, b, u64, (uint64_t)(b - ((const tt_model *)context)->buffers))
TT_COLUMN_GET(get_kind, tt_buffer, b, tt_cell_text(cell, tt_buffer_kind_name(b->kind));)

static const tt_column buffer_columns[] = {
    TT_FIELD("buffer", "its place", .type = TT_CELL_U64, .get = get_buffer),
    TT_FIELD("buffer_id", "", TT_MEMBER(tt_buffer, id)),
    TT_FIELD("name", "", TT_MEMBER(tt_buffer, name)),
    TT_FIELD("kind", "", .type = TT_CELL_NAME, .get = get_kind),
    TT_FIELD("size_bytes", "", TT_MEMBER(tt_buffer, size_bytes)),
};
static const tt_schema buffer_schema = TT_SCHEMA("buffer", "by name or kind", buffer_columns);

static void find_buffers(search *s)
{
    begin_group(s, "buffer");
    for (uint32_t i = 0; i < s->m->n_buffers; i++) {
        const tt_buffer *b = &s->m->buffers[i];
        if (tt_find_in(b->name, s->text) || tt_find_in(tt_buffer_kind_name(b->kind), s->text))
            list(s, &buffer_schema, b);
    }
    end_group(s);
}

tt_status tt_answer_find(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *names;
    search s = {.m = q->m, .text = tt_request_text(q, "q")};
    if (!s.text || !*s.text || strlen(s.text) > TEXT_MAX)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "q: what is looked for, up to %u bytes",
                            TEXT_MAX);
    if (!tt_request_u64(q, "limit", 1, LIMIT_MAX, 50, &s.limit, err)) return TT_E_USAGE;
    tt_status status = tt_source_get(q, &memo, &names, err);
    if (status != TT_OK) return status;
    s.j = tt_reply_json(r);
    tt_json_object(s.j);
    tt_json_kv_string(s.j, "q", s.text);
    tt_json_key(s.j, "groups");
    tt_json_array(s.j);
    find_tensors(&s, names);
    find_ops(&s, names);
    find_layers(&s);
    begin_group(&s, "batch");
    bool ok = tt_find_batches(q->m, s.text, put_batch, &s);
    end_group(&s);
    find_buffers(&s);
    tt_json_array_end(s.j);
    tt_json_kv_bool(s.j, "cut", ((const tt_names *)names)->cut);
    tt_json_object_end(s.j);
    return ok ? TT_OK : tt_error_memory(err, "token texts");
}
