/* The format `bin64`: records of 64 bytes, one for each source of each op. docs/bin64.md describes
 * the fields, and what they contain if a number does not fit. */
#include "export/records/bin64.h"

#include "export/records/records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As in the file, little-endian. */
typedef struct record {
    uint64_t timestamp_ns;
    uint32_t batch_id;
    uint16_t layer_id;
    uint16_t thread_id;
    uint8_t operation_type;
    uint8_t phase;
    uint16_t zero_18;
    uint32_t zero_20;
    uint32_t tensor_idx;
    uint32_t zero_28;
    uint64_t tensor_ptr;
    uint64_t file_offset;
    uint32_t size_bytes;
    uint8_t attention_head;
    uint8_t qkv_type;
    uint16_t zero_54;
    uint8_t expert_id;
    uint8_t expert_rank;
    uint16_t routing_score;
    uint32_t zero_60;
} record;

_Static_assert(sizeof(record) == 64, "the records are 64 bytes");

/* Counts per written record: data that did not fit into the fields. */
enum loss { LOST_SIZES, LOST_OPS, LOST_EXPERTS, LOST_UNOBSERVED };

/* A source's record without what differs between executions. */
typedef struct source {
    record r;
    uint32_t router; /* of an expert matmul's experts; else TT_NONE */
    uint64_t expert_stride, expert_bytes;
    uint64_t lost_sizes, lost_ops;
} source;

typedef struct sources {
    uint32_t n;
    source list[];
} sources;

/* --- the fields of a source's record --- */

static uint8_t qkv_type(const tt_tensor *t)
{
    static const char *const names[][2] = {
        {"attn_q", "attn_q"}, {"attn_k", "cache_k"}, {"attn_v", "cache_v"}};
    for (uint8_t i = 0; i < 3; i++)
        if (strcmp(t->place.component, names[i][0]) == 0 ||
            strcmp(t->place.component, names[i][1]) == 0)
            return i;
    return TT_RECORD_NONE_8;
}

static void describe_source(const tt_model *m, const tt_export_options *options, const tt_op *op,
                            const tt_op_source *s, source *out)
{
    const tt_graph *g = op->graph;
    const tt_tensor *t = &g->tensors[s->tensor];
    const uint32_t type = g->tensors[s->node].op;
    *out = (source){.router = s->slot == 0 ? tt_access_router(g, s->node) : TT_NONE};
    record *r = &out->r;
    r->layer_id = tt_record_layer(op->place.layer_id);
    out->lost_ops = type > UINT8_MAX;
    r->operation_type = type > UINT8_MAX ? UINT8_MAX : (uint8_t)type;
    r->tensor_idx = t->weight == TT_NONE ? TT_RECORD_NONE_32 : t->weight;
    r->tensor_ptr = tt_record_address(m, g, t);
    if (!tt_record_on_disk(m, options, t, &r->file_offset)) r->file_offset = 0;
    r->attention_head = TT_RECORD_NONE_8;
    r->qkv_type = qkv_type(t);
    r->expert_id = r->expert_rank = TT_RECORD_NONE_8;
    uint64_t lost = 0;
    r->size_bytes = tt_record_u32(t->size_bytes, &lost);
    if (out->router == TT_NONE) {
        out->lost_sizes = lost;
        return;
    }
    out->expert_stride = t->nb[2];
    out->expert_bytes = t->ne[2] ? t->size_bytes / t->ne[2] : 0;
}

static void *describe(const tt_model *m, const tt_export_options *options, const tt_op *op)
{
    sources *made = calloc(1, sizeof *made + op->n_sources * sizeof *made->list);
    if (!made) return NULL;
    made->n = op->n_sources;
    for (uint32_t i = 0; i < made->n; i++)
        describe_source(m, options, op, &op->sources[i], &made->list[i]);
    return made;
}

/* --- records --- */

static record *put_source(tt_record_maker *k, const source *s, const tt_record_now *now,
                          tt_bytes *out)
{
    record *r = (record *)(void *)(out->data + out->size);
    *r = s->r;
    r->timestamp_ns = now->timestamp_ns;
    r->batch_id = now->batch_id;
    r->thread_id = now->thread_id;
    r->phase = now->phase;
    out->size += sizeof *r;
    k->losses[LOST_SIZES] += s->lost_sizes;
    k->losses[LOST_OPS] += s->lost_ops;
    return r;
}

static uint16_t score(float weight)
{
    if (!(weight > 0)) return 0; /* also NAN: not observed */
    return weight >= 1 ? UINT16_MAX : (uint16_t)lrintf(weight * 65535.0f);
}

static void put_choice(tt_record_maker *k, const source *s, const tt_choice *c,
                       const tt_record_now *now, tt_bytes *out)
{
    record *r = put_source(k, s, now, out);
    r->tensor_ptr += c->expert * s->expert_stride;
    if (r->file_offset) r->file_offset += c->expert * s->expert_stride;
    r->size_bytes = tt_record_u32(s->expert_bytes, &k->losses[LOST_SIZES]);
    k->losses[LOST_EXPERTS] += c->expert >= TT_RECORD_NONE_8 || c->rank >= TT_RECORD_NONE_8;
    r->expert_id = c->expert < TT_RECORD_NONE_8 ? (uint8_t)c->expert : TT_RECORD_NONE_8;
    r->expert_rank = c->rank < TT_RECORD_NONE_8 ? (uint8_t)c->rank : TT_RECORD_NONE_8;
    r->routing_score = score(c->weight);
}

static bool put_experts(tt_record_maker *k, const source *s, const tt_record_now *now,
                        tt_bytes *out)
{
    size_t n, at, end;
    const tt_choice *list = tt_accesses_choices(k->accesses, &n);
    tt_choices_of(list, n, s->router, &at, &end);
    if (at == end) {
        if (!tt_bytes_reserve(out, sizeof(record))) return false;
        (void)put_source(k, s, now, out);
        k->losses[LOST_UNOBSERVED]++;
        return true;
    }
    if (!tt_bytes_reserve(out, (end - at) * sizeof(record))) return false;
    for (; at < end; at++)
        put_choice(k, s, &list[at], now, out);
    return true;
}

static bool put(tt_record_maker *k, const void *described, const tt_record_now *now, tt_bytes *out)
{
    const sources *list = described;
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->list[i].router != TT_NONE) {
            if (!put_experts(k, &list->list[i], now, out)) return false;
            continue;
        }
        if (!tt_bytes_reserve(out, sizeof(record))) return false;
        (void)put_source(k, &list->list[i], now, out);
    }
    return true;
}

static tt_status write_bin64(const tt_model *m, const char *path, const tt_export_options *options,
                             tt_error *err)
{
    static const tt_record_kind kind = {
        .record_bytes = sizeof(record),
        .describe = describe,
        .put = put,
        .losses = {
            [LOST_SIZES] = "records say a size of 4294967295 bytes: it was as much or more",
            [LOST_OPS] = "records say the operation 255: its number is more",
            [LOST_EXPERTS] = "records say the expert or the rank 255: its number is as much or "
                             "more",
            [LOST_UNOBSERVED] = "expert matmuls have one record, without an expert: which were "
                                "chosen was not observed"}};
    return tt_records_write(&kind, m, path, options, err);
}

const tt_export_format tt_format_bin64 = {
    .name = "bin64",
    .summary = "records of 64 bytes, one for each source of each op (one file)",
    .takes = TT_EXPORT_TAKES_FILTER | TT_EXPORT_TAKES_COPIES,
    .write = write_bin64};
