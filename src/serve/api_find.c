/* /api/v1/traces/ID/find: a text in the names of tensors, ops, layers and buffers, and in the texts
 * of tokens. */
#include "analyze/find.h"
#include "serve/endpoints.h"
#include "serve/source.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TEXT_MAX 200u
#define LIMIT_MAX 1000u

static tt_status make(tt_model *m, void **out, tt_error *err)
{
    tt_names *names = malloc(sizeof *names);
    if (names && tt_names_make(m, names)) {
        *out = names;
        return TT_OK;
    }
    free(names);
    return tt_error_memory(err, "the names of the trace");
}

static void drop(void *made)
{
    tt_names_free(made);
    free(made);
}

static const tt_source_memo memo = {make, drop};

typedef struct search {
    tt_json *j;
    const tt_model *m;
    const char *text;
    uint64_t limit;
    uint64_t found; /* in the group under way */
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

/* Whether one more is listed; the others are only counted. */
static bool is_listed(search *s)
{
    return s->found++ < s->limit;
}

static void find_tensors(search *s, const tt_names *names)
{
    begin_group(s, "tensor");
    for (uint32_t i = 0; i < names->n_tensors; i++) {
        const tt_name *n = &names->tensors[i];
        if (!tt_find_in(n->name, s->text) || !is_listed(s)) continue;
        bool in_file = n->weight != TT_NONE;
        tt_json_object(s->j);
        tt_json_kv_string(s->j, "name", n->name);
        tt_json_kv_bool(s->j, "weight", in_file);
        tt_json_kv_u64_or_null(s->j, "layer_id", n->layer_id >= 0, (uint64_t)n->layer_id);
        tt_json_kv_u64(s->j, "size_bytes",
                       in_file ? s->m->weights[n->weight].size_bytes
                               : s->m->graphs[n->graph].tensors[n->tensor].size_bytes);
        tt_json_object_end(s->j);
    }
    end_group(s);
}

static void find_ops(search *s, const tt_names *names)
{
    begin_group(s, "op");
    for (uint32_t i = 0; i < names->n_ops; i++) {
        if (!tt_find_in(names->ops[i].name, s->text) || !is_listed(s)) continue;
        tt_json_object(s->j);
        tt_json_kv_string(s->j, "op", names->ops[i].name);
        tt_json_kv_u64(s->j, "nodes", names->ops[i].count);
        tt_json_object_end(s->j);
    }
    end_group(s);
}

/* Layers by number, or all of them. */
static void find_layers(search *s, const tt_names *names)
{
    const uint32_t number = tt_find_number(s->text, "layer");
    const bool all = strcasecmp(s->text, "layer") == 0 || strcasecmp(s->text, "layers") == 0;
    int64_t n = 0;
    for (uint32_t i = 0; i < names->n_tensors; i++)
        if (names->tensors[i].layer_id >= n) n = names->tensors[i].layer_id + (int64_t)1;
    begin_group(s, "layer");
    /* A number is one layer; how many there are is what a damaged name may say, and not walked. */
    int64_t first = all ? 0 : number, end = all ? n : first + 1;
    for (int64_t layer = first; layer < end && layer < n && s->found < s->limit; layer++) {
        s->found++;
        tt_json_object(s->j);
        tt_json_kv_u64(s->j, "layer_id", (uint64_t)layer);
        tt_json_object_end(s->j);
    }
    if (all) s->found = (uint64_t)n;
    end_group(s);
}

static bool put_batch(void *context, const tt_find_batch *found)
{
    search *s = context;
    const tt_batch *b = &s->m->batches[found->batch];
    if (!is_listed(s)) return true;
    tt_json_object(s->j);
    tt_json_kv_u64(s->j, "batch_id", tt_model_batch_number(s->m, found->batch));
    tt_json_kv_string(s->j, "phase", tt_phase_name(b->phase));
    tt_json_kv_u64(s->j, "n_tokens", b->n_tokens);
    tt_json_key(s->j, "text");
    if (found->n)
        tt_json_string_n(s->j, found->excerpt, found->n);
    else
        tt_json_null(s->j);
    tt_json_object_end(s->j);
    return true;
}

static void find_buffers(search *s)
{
    begin_group(s, "buffer");
    for (uint32_t i = 0; i < s->m->n_buffers; i++) {
        const tt_buffer *b = &s->m->buffers[i];
        const char *kind = tt_buffer_kind_name(b->kind);
        if ((!tt_find_in(b->name, s->text) && !tt_find_in(kind, s->text)) || !is_listed(s))
            continue;
        tt_json_object(s->j);
        tt_json_kv_u64(s->j, "buffer", i);
        tt_json_kv_u64(s->j, "buffer_id", b->id);
        tt_json_kv_string(s->j, "name", b->name);
        tt_json_kv_string(s->j, "buffer_kind", kind);
        tt_json_kv_u64(s->j, "size_bytes", b->size_bytes);
        tt_json_object_end(s->j);
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
    if (!s.j) return tt_error_memory(err, "an answer");
    tt_json_object(s.j);
    tt_json_kv_string(s.j, "q", s.text);
    tt_json_key(s.j, "groups");
    tt_json_array(s.j);
    find_tensors(&s, names);
    find_ops(&s, names);
    find_layers(&s, names);
    begin_group(&s, "batch");
    bool ok = tt_find_batches(q->m, s.text, put_batch, &s);
    end_group(&s);
    find_buffers(&s);
    tt_json_array_end(s.j);
    tt_json_kv_bool(s.j, "cut", ((const tt_names *)names)->cut);
    tt_json_object_end(s.j);
    return ok ? TT_OK : tt_error_memory(err, "token texts");
}
